//! How well a document answers a query: `ts_rank` by the words, `ts_rank_cd` by how near they
//! stand to each other.
//!
//! Source: Clarke, Cormack, Tudhope 1999, "Relevance Ranking for One to Three Term Queries", for
//! covers: stretches of the document that match the query and hold no shorter one.

use super::matching::{DocumentWords, Found, Lookup, Places, matches};
use super::query::{Joint, Node, Operand, query};
use super::vector::{self, POSITION_MAX, Place, Stored, stored};
use crate::packed::{Call, Given};
use crate::{DataType, Error, Result, SqlState, Value, array};

type Computed = Result<Given>;

/// Weights of D, C, B and A.
const WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// The place of words whose places are not known.
const NOWHERE: Place = Place { position: POSITION_MAX, weight: 0 };

/// Bits of the argument that says what a rank is divided by.
mod by {
    pub(super) const LOG_LENGTH: i64 = 1;
    pub(super) const LENGTH: i64 = 2;
    pub(super) const DISTANCE: i64 = 4;
    pub(super) const LEXEMES: i64 = 8;
    pub(super) const LOG_LEXEMES: i64 = 16;
    pub(super) const ITSELF: i64 = 32;
}

/// The weights of an argument; those below zero are the usual ones.
///
/// # Errors
/// 2202E, 22004 and 22023 in PostgreSQL's words.
fn weights(call: &Call<'_>, at: usize) -> Result<[f32; 4]> {
    let Some(DataType::Array(element)) = call.types.get(at).copied() else { return Ok(WEIGHTS) };
    let shape = array::Shape::of(call.bytes(at), element);
    let subscript = |message: &str| Err(Error::new(SqlState::ARRAY_SUBSCRIPT, message));
    if shape.dimensions().len() != 1 {
        return subscript("array of weight must be one-dimensional");
    }
    let values = array::values(call.bytes(at), element);
    if values.len() < WEIGHTS.len() {
        return subscript("array of weight is too short");
    }
    if values.iter().any(Value::is_null) {
        let message = "array of weight must not contain nulls";
        return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
    }
    let mut weights = WEIGHTS;
    for (weight, value) in weights.iter_mut().zip(values) {
        // A REAL.
        match value {
            Value::F64(value) if value >= 0.0 => *weight = value as f32,
            _ => {}
        }
        if *weight > 1.0 {
            return Err(Error::new(SqlState::INVALID_PARAMETER, "weight out of range"));
        }
    }
    Ok(weights)
}

/// Words of a document, each as often as it stands there.
fn length(vector: &[u8]) -> usize {
    stored(vector).map(|lexeme| lexeme.places().len().max(1)).sum()
}

/// The operands of a query, by their words, each word once.
fn operands<'n, 'a>(node: &'n Node<'a>) -> Vec<&'n Operand<'a>> {
    let mut all = Vec::new();
    node.each_operand(&mut |operand| all.push(operand));
    all.sort_by(|a, b| a.word.cmp(&b.word));
    all.dedup_by(|next, kept| next.word == kept.word);
    all
}

/// Places of a lexeme; one place nowhere when they are not known.
fn places(lexeme: Stored<'_>, nowhere: Place) -> Vec<Place> {
    if lexeme.has_places() { lexeme.places().collect() } else { vec![nowhere] }
}

/// Worth of two words that stand so far from each other.
fn nearness(distance: u16) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (f64::from(f32::from(distance)) / 1.5 - 2.0).exp())) as f32
}

/// The rank of words that stand beside each other.
fn rank_near(words: &DocumentWords<'_>, node: &Node<'_>, weights: [f32; 4]) -> f32 {
    let operands = operands(node);
    if operands.len() < 2 {
        return rank_any(words, node, weights);
    }
    let weight = |place: Place| weights[usize::from(place.weight)];
    let mut known: Vec<(Vec<Place>, bool)> = Vec::new();
    let mut rank = -1.0_f32;
    for operand in operands {
        let mut last = None;
        for lexeme in words.taken(operand) {
            let (here, is_known) = (places(*lexeme, NOWHERE), lexeme.has_places());
            for (others, others_known) in &known {
                for (a, b) in here.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
                    let mut distance = a.position.abs_diff(b.position);
                    if distance == 0 && is_known && *others_known {
                        continue;
                    }
                    if distance == 0 {
                        distance = POSITION_MAX + 1;
                    }
                    let product = weight(*a) * weight(*b) * nearness(distance);
                    let worth = f64::from(product).sqrt() as f32;
                    rank = if rank < 0.0 {
                        worth
                    } else {
                        (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(worth))) as f32
                    };
                }
            }
            last = Some((here, is_known));
        }
        known.extend(last);
    }
    rank
}

/// The rank of words wherever they stand.
fn rank_any(words: &DocumentWords<'_>, node: &Node<'_>, weights: [f32; 4]) -> f32 {
    let operands = operands(node);
    let mut rank = 0.0_f32;
    for lexeme in operands.iter().flat_map(|operand| words.taken(operand)) {
        let (mut sum, mut best, mut best_at) = (0.0_f32, -1.0_f32, 1.0_f32);
        let nowhere = Place { position: 0, weight: 0 };
        for (at, place) in places(*lexeme, nowhere).into_iter().enumerate() {
            // At most 256 squared.
            let square = ((at + 1) * (at + 1)) as f32;
            let weight = weights[usize::from(place.weight)];
            sum += weight / square;
            if weight > best {
                (best, best_at) = (weight, square);
            }
        }
        // The sum of all 1 / n².
        let part = f64::from(best + sum - best / best_at) / 1.644_934_066_85;
        rank = (f64::from(rank) + part) as f32;
    }
    if operands.is_empty() { rank } else { rank / operands.len() as f32 }
}

/// A rank of `ts_rank`, divided by what the method says.
fn normalized(mut rank: f32, vector: &[u8], method: i64) -> f32 {
    let lexemes = vector::count(vector);
    let divided = |rank: f32, by: f64| (f64::from(rank) / by) as f32;
    if method & by::LOG_LENGTH != 0 {
        rank = divided(rank, ((length(vector) + 1) as f64).ln() / 2.0_f64.ln());
    }
    if method & by::LENGTH != 0 {
        rank /= length(vector) as f32;
    }
    if method & by::LEXEMES != 0 {
        rank /= lexemes as f32;
    }
    if method & by::LOG_LEXEMES != 0 {
        rank = divided(rank, f64::from(lexemes + 1).ln() / 2.0_f64.ln());
    }
    if method & by::ITSELF != 0 {
        rank /= rank + 1.0;
    }
    rank
}

/// The arguments of a rank.
struct Asked<'a> {
    weights: [f32; 4],
    vector: &'a [u8],
    query: Option<Node<'a>>,
    method: i64,
}

impl<'a> Asked<'a> {
    /// The arguments of a call: weights may stand before the document, the method behind the query.
    fn of(call: &Call<'a>) -> Result<Self> {
        let has_weights = matches!(call.types.first(), Some(DataType::Array(_)));
        let first = usize::from(has_weights);
        let method = if call.types.len() > first + 2 { call.int(first + 2) } else { 0 };
        Ok(Self {
            weights: if has_weights { weights(call, 0)? } else { WEIGHTS },
            vector: call.bytes(first),
            query: query(call.bytes(first + 1)),
            method,
        })
    }
}

/// `ts_rank`.
pub(super) fn rank(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let Asked { weights, vector, query, method } = Asked::of(call)?;
    let Some(node) = query.filter(|_| vector::count(vector) > 0) else {
        return Ok(Given::Double(0.0));
    };
    let words = DocumentWords::new(vector);
    let is_near = matches!(node, Node::Join(Joint::And | Joint::Phrase(_), ..));
    let found =
        if is_near { rank_near(&words, &node, weights) } else { rank_any(&words, &node, weights) };
    let found = if found < 0.0 { 1e-20 } else { found };
    Ok(Given::Double(f64::from(normalized(found, vector, method))))
}

/// A word of the query in the document: its place, and the operands that take it.
struct Occurrence {
    place: Place,
    lexeme: usize,
    operands: Vec<usize>,
}

/// All places of words of the query, in order.
fn occurrences(vector: &[u8], operands: &[&Operand<'_>]) -> Vec<Occurrence> {
    let mut all = Vec::new();
    let words = DocumentWords::new(vector);
    for (number, operand) in operands.iter().enumerate() {
        let begin = words.begin(operand);
        for (at, lexeme) in words.taken(operand).iter().enumerate() {
            let is_wanted =
                |place: &Place| operand.weights == 0 || operand.weights & 1 << place.weight != 0;
            let places = lexeme.places().filter(is_wanted);
            let lexeme = begin + at;
            all.extend(places.map(|place| Occurrence { place, lexeme, operands: vec![number] }));
        }
    }
    all.sort_by_key(|one| (one.place, one.lexeme));
    all.dedup_by(|next, kept| {
        let same = (next.place, next.lexeme) == (kept.place, kept.lexeme);
        if same {
            kept.operands.append(&mut next.operands);
        }
        same
    });
    all
}

/// Operands that were met so far, and where.
struct Met<'n, 'a> {
    operands: &'n [&'n Operand<'a>],
    at: Vec<Option<Vec<i32>>>,
}

impl<'n, 'a> Met<'n, 'a> {
    fn nothing(operands: &'n [&'n Operand<'a>]) -> Self {
        Self { operands, at: vec![None; operands.len()] }
    }

    fn meet(&mut self, one: &Occurrence) {
        let position = i32::from(one.place.position);
        for operand in &one.operands {
            let at = self.at[*operand].get_or_insert_with(Vec::new);
            if at.last() != Some(&position) {
                at.push(position);
            }
        }
    }

    fn of(&self, operand: &Operand<'_>) -> Option<&Vec<i32>> {
        let same = |known: &&Operand<'a>| std::ptr::addr_eq(*known, operand);
        let number = self.operands.iter().position(same)?;
        self.at[number].as_ref()
    }
}

impl Lookup for Met<'_, '_> {
    fn has(&mut self, operand: &Operand<'_>) -> bool {
        self.of(operand).is_some()
    }

    fn places(&mut self, operand: &Operand<'_>) -> Found {
        let Some(at) = self.of(operand) else { return Found::No };
        let mut at = at.clone();
        at.sort_unstable();
        Found::Yes(Places { at, is_negated: false, width: 0 })
    }
}

/// A cover: its first and last occurrence.
struct Cover {
    first: usize,
    last: usize,
}

/// The next cover from `begin` on, which moves behind its first occurrence.
fn next_cover(
    all: &[Occurrence],
    begin: &mut usize,
    node: &Node<'_>,
    operands: &[&Operand<'_>],
) -> Option<Cover> {
    loop {
        let mut met = Met::nothing(operands);
        let ends = |at: &usize| {
            met.meet(&all[*at]);
            matches(node, &mut met)
        };
        let last = (*begin..all.len()).find(ends).filter(|at| all[*at].place.position > 0)?;
        let mut met = Met::nothing(operands);
        let begins = |at: &usize| {
            met.meet(&all[*at]);
            matches(node, &mut met)
        };
        match (*begin..=last).rev().find(begins) {
            Some(first) => {
                *begin = first + 1;
                return Some(Cover { first, last });
            }
            None => *begin += 1,
        }
    }
}

/// `ts_rank_cd`.
pub(super) fn rank_covers(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let Asked { weights, vector, query, method } = Asked::of(call)?;
    let Some(node) = query else { return Ok(Given::Double(0.0)) };
    let mut operands = Vec::new();
    node.each_operand(&mut |operand| operands.push(operand));
    let all = occurrences(vector, &operands);
    if all.is_empty() {
        return Ok(Given::Double(0.0));
    }
    let weights = weights.map(|weight| 1.0 / f64::from(weight));
    let (mut rank, mut nearness, mut covers, mut before) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    let mut begin = 0;
    while let Some(Cover { first, last }) = next_cover(&all, &mut begin, &node, &operands) {
        let weight = |one: &Occurrence| weights[usize::from(one.place.weight)];
        let sum: f64 = all[first..=last].iter().map(weight).sum();
        let steps = last - first;
        let position = |at: usize| i32::from(all[at].place.position);
        // Occurrences of a document are below 2³¹.
        let noise = position(last) - position(first) - steps as i32;
        let noise = if noise < 0 { (steps / 2) as i32 } else { noise };
        rank += (steps + 1) as f64 / sum / f64::from(1 + noise);
        let middle = f64::from(position(last) + position(first)) / 2.0;
        if covers > 0.0 && middle > before {
            nearness += 1.0 / (middle - before);
        }
        before = middle;
        covers += 1.0;
    }
    let lexemes = f64::from(vector::count(vector));
    if method & by::LOG_LENGTH != 0 {
        rank /= ((length(vector) + 1) as f64).ln();
    }
    if method & by::LENGTH != 0 {
        rank /= length(vector) as f64;
    }
    if method & by::DISTANCE != 0 && covers > 0.0 && nearness > 0.0 {
        rank /= covers / nearness;
    }
    if method & by::LEXEMES != 0 {
        rank /= lexemes;
    }
    if method & by::LOG_LEXEMES != 0 {
        rank /= (lexemes + 1.0).ln() / 2.0_f64.ln();
    }
    if method & by::ITSELF != 0 {
        rank /= rank + 1.0;
    }
    Ok(Given::Double(f64::from(rank as f32)))
}
