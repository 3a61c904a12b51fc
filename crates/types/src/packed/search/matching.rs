//! Whether a document matches a query.
//!
//! ```text
//! a & (b | !c)   by the words
//! a <-> b        by the positions of the words: sets of positions, or of all but those
//! ```
//! Documents without positions match no phrase.

use super::query::{Joint, Node, Operand};
use super::vector::{Stored, stored};
use crate::stack::deep;

/// Where an operand was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// The last positions of what was found, in order.
    pub at: Vec<i32>,
    /// True for everywhere but there.
    pub is_negated: bool,
    /// Positions that it takes besides the last one.
    pub width: i32,
}

/// An answer about a phrase.
pub(super) enum Found {
    No,
    /// Nobody knows: the words are there, but their positions are not known.
    Unknown,
    Yes(Places),
}

/// Words that operands are looked up in.
pub(super) trait Lookup {
    /// True when the operand is there.
    fn has(&mut self, operand: &Operand<'_>) -> bool;

    /// Where the operand is.
    fn places(&mut self, operand: &Operand<'_>) -> Found;
}

/// The lexemes of a document, where they lie.
pub(super) struct DocumentWords<'a>(Vec<Stored<'a>>);

impl<'a> DocumentWords<'a> {
    pub(super) fn new(vector: &'a [u8]) -> Self {
        Self(stored(vector).collect())
    }

    /// The place of the first lexeme that an operand may take.
    pub(super) fn begin(&self, operand: &Operand<'_>) -> usize {
        self.0.partition_point(|lexeme| *lexeme.word < *operand.word)
    }

    /// The lexemes that an operand takes.
    pub(super) fn taken(&self, operand: &Operand<'_>) -> &[Stored<'a>] {
        let begin = self.begin(operand);
        let is_same = |lexeme: &Stored<'_>| *lexeme.word == *operand.word;
        let begins = |lexeme: &Stored<'_>| lexeme.word.starts_with(&operand.word);
        let fits = |lexeme: &Stored<'_>| is_same(lexeme) || operand.is_prefix && begins(lexeme);
        let count = self.0[begin..].iter().take_while(|lexeme| fits(lexeme)).count();
        &self.0[begin..begin + count]
    }
}

/// True for a weight that an operand takes.
fn takes(operand: &Operand<'_>, weight: u8) -> bool {
    operand.weights == 0 || operand.weights & 1 << weight != 0
}

impl Lookup for DocumentWords<'_> {
    fn has(&mut self, operand: &Operand<'_>) -> bool {
        self.taken(operand).iter().any(|lexeme| {
            operand.weights == 0
                || !lexeme.has_places()
                || lexeme.places().any(|place| takes(operand, place.weight))
        })
    }

    fn places(&mut self, operand: &Operand<'_>) -> Found {
        let mut at: Vec<i32> = Vec::new();
        let mut is_unknown = false;
        for lexeme in self.taken(operand) {
            is_unknown |= !lexeme.has_places();
            let places = lexeme.places().filter(|place| takes(operand, place.weight));
            at.extend(places.map(|place| i32::from(place.position)));
        }
        if is_unknown {
            return Found::Unknown;
        }
        if at.is_empty() {
            return Found::No;
        }
        at.sort_unstable();
        at.dedup();
        Found::Yes(Places { at, is_negated: false, width: 0 })
    }
}

/// True when what is looked up matches the query.
pub(super) fn matches(node: &Node<'_>, lookup: &mut dyn Lookup) -> bool {
    match node {
        Node::Operand(operand) => lookup.has(operand),
        Node::Not(inner) => !deep(|| matches(inner, lookup)),
        Node::Join(Joint::And, left, right) => {
            deep(|| matches(left, lookup) && matches(right, lookup))
        }
        Node::Join(Joint::Or, left, right) => {
            deep(|| matches(left, lookup) || matches(right, lookup))
        }
        Node::Join(Joint::Phrase(_), ..) => matches!(phrase(node, lookup), Found::Yes(_)),
    }
}

/// Which positions of two sides count.
#[derive(Clone, Copy)]
struct Wanted {
    both: bool,
    left: bool,
    right: bool,
}

const BOTH: Wanted = Wanted { both: true, left: false, right: false };
const LEFT: Wanted = Wanted { both: false, left: true, right: false };
const RIGHT: Wanted = Wanted { both: false, left: false, right: true };
const ANY: Wanted = Wanted { both: true, left: true, right: true };

/// A side of an operator: its positions, and how far they are moved.
struct Moved<'p> {
    at: &'p [i32],
    by: i32,
}

impl Moved<'_> {
    fn get(&self, index: usize) -> Option<i32> {
        self.at.get(index).map(|position| position + self.by)
    }
}

fn merged(left: &Moved<'_>, right: &Moved<'_>, wanted: Wanted) -> Vec<i32> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    loop {
        let (a, b) = (left.get(i), right.get(j));
        let (position, is_wanted) = match (a, b) {
            (None, None) => return out,
            (Some(a), Some(b)) if a == b => (a, wanted.both),
            (Some(a), b) if b.is_none_or(|b| a < b) => (a, wanted.left),
            (_, Some(b)) => (b, wanted.right),
            (Some(a), None) => (a, wanted.left),
        };
        i += usize::from(a == Some(position));
        j += usize::from(b == Some(position));
        if is_wanted {
            out.push(position);
        }
    }
}

/// Where a phrase, or a part of one, is found.
pub(super) fn phrase(node: &Node<'_>, lookup: &mut dyn Lookup) -> Found {
    let (joint, left, right) = match node {
        Node::Operand(operand) => return lookup.places(operand),
        Node::Not(inner) => return negated(deep(|| phrase(inner, lookup))),
        Node::Join(joint, left, right) => (*joint, left, right),
    };
    let left = deep(|| phrase(left, lookup));
    if joint != Joint::Or && matches!(left, Found::No) {
        return Found::No;
    }
    let right = deep(|| phrase(right, lookup));
    match (joint, left, right) {
        (Joint::Or, Found::No, Found::No) => Found::No,
        (Joint::Or, Found::Unknown, _) | (Joint::Or, _, Found::Unknown) => Found::Unknown,
        (Joint::Or, left, right) => either(places_of(left), places_of(right)),
        (_, _, Found::No) => Found::No,
        (joint, Found::Yes(left), Found::Yes(right)) => both(joint, &left, &right),
        _ => Found::Unknown,
    }
}

fn places_of(found: Found) -> Places {
    match found {
        Found::Yes(places) => places,
        Found::No | Found::Unknown => Places::default(),
    }
}

fn negated(found: Found) -> Found {
    match found {
        Found::No => Found::Yes(Places { is_negated: true, ..Places::default() }),
        Found::Unknown => Found::Unknown,
        Found::Yes(places) if places.at.is_empty() && places.is_negated => Found::No,
        Found::Yes(places) => Found::Yes(Places { is_negated: !places.is_negated, ..places }),
    }
}

/// The positions, which must be some unless everywhere else is meant.
fn found(at: Vec<i32>, width: i32, is_negated: bool) -> Found {
    if at.is_empty() && !is_negated {
        return Found::No;
    }
    Found::Yes(Places { at, is_negated, width })
}

fn both(joint: Joint, left: &Places, right: &Places) -> Found {
    let (by, width) = match joint {
        Joint::Phrase(distance) => {
            let distance = i32::from(distance);
            ((distance + right.width, 0), distance + left.width + right.width)
        }
        _ => {
            let width = left.width.max(right.width);
            ((width - left.width, width - right.width), width)
        }
    };
    let sides = (Moved { at: &left.at, by: by.0 }, Moved { at: &right.at, by: by.1 });
    let (wanted, is_negated) = match (left.is_negated, right.is_negated) {
        (true, true) => (ANY, true),
        (true, false) => (RIGHT, false),
        (false, true) => (LEFT, false),
        (false, false) => (BOTH, false),
    };
    found(merged(&sides.0, &sides.1, wanted), width, is_negated)
}

fn either(left: Places, right: Places) -> Found {
    let width = left.width.max(right.width);
    let sides = (
        Moved { at: &left.at, by: width - left.width },
        Moved { at: &right.at, by: width - right.width },
    );
    let (wanted, is_negated) = match (left.is_negated, right.is_negated) {
        (true, true) => (BOTH, true),
        (true, false) => (LEFT, true),
        (false, true) => (RIGHT, true),
        (false, false) => (ANY, false),
    };
    found(merged(&sides.0, &sides.1, wanted), width, is_negated)
}
