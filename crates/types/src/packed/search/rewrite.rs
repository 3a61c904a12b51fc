//! `ts_rewrite`: parts of a query that are equal to a target become another query.
//!
//! Sides of `&` and `|` are a list in the order of queries, so that a target is found whatever
//! stands between its words; what was put in is not looked at again.

use std::cmp::Ordering;

use super::query::{Joint, Node, Operand, checksum, push_query, query};
use crate::Result;
use crate::packed::{Call, Given};
use crate::stack::deep;

/// An operator of a list of sides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Not,
    Join(Joint),
}

impl Kind {
    const fn number(self) -> u8 {
        match self {
            Self::Not => 1,
            Self::Join(joint) => joint.number(),
        }
    }
}

/// A part of a query; the right sides come first.
#[derive(Clone)]
enum Part<'a> {
    Operand(Operand<'a>),
    Operator(Kind, Vec<Tree<'a>>),
}

#[derive(Clone)]
struct Tree<'a> {
    part: Part<'a>,
    /// True for what was put in.
    is_new: bool,
}

fn tree(node: Node<'_>) -> Tree<'_> {
    let part = match node {
        Node::Operand(operand) => Part::Operand(operand),
        Node::Not(inner) => Part::Operator(Kind::Not, vec![deep(|| tree(*inner))]),
        Node::Join(joint, left, right) => {
            let sides = deep(|| [tree(*right), tree(*left)]);
            let kind = Kind::Join(joint);
            let mut list = Vec::new();
            for side in sides {
                match side.part {
                    Part::Operator(inner, sides)
                        if inner == kind && !matches!(joint, Joint::Phrase(_)) =>
                    {
                        list.extend(sides);
                    }
                    part => list.push(Tree { part, is_new: false }),
                }
            }
            Part::Operator(kind, list)
        }
    };
    Tree { part, is_new: false }
}

/// The sides of `&` and `|` in order, on all levels.
fn sort(tree: &mut Tree<'_>) {
    if let Part::Operator(kind, sides) = &mut tree.part {
        deep(|| sides.iter_mut().for_each(sort));
        if !matches!(kind, Kind::Join(Joint::Phrase(_))) {
            sides.sort_by(order);
        }
    }
}

fn order(a: &Tree<'_>, b: &Tree<'_>) -> Ordering {
    match (&a.part, &b.part) {
        (Part::Operand(a), Part::Operand(b)) => {
            // Checksums are numbers with a sign, larger ones first.
            let sum = |operand: &Operand<'_>| checksum(&operand.word) as i32;
            sum(b).cmp(&sum(a)).then_with(|| a.word.cmp(&b.word))
        }
        (Part::Operator(..), Part::Operand(_)) => Ordering::Less,
        (Part::Operand(_), Part::Operator(..)) => Ordering::Greater,
        (Part::Operator(x, a), Part::Operator(y, b)) => {
            let kinds = y.number().cmp(&x.number()).then_with(|| b.len().cmp(&a.len()));
            let sides = || {
                let pairs = a.iter().zip(b).map(|(a, b)| deep(|| order(a, b)));
                pairs.fold(Ordering::Equal, Ordering::then)
            };
            kinds.then_with(sides).then_with(|| match (x, y) {
                (Kind::Join(Joint::Phrase(a)), Kind::Join(Joint::Phrase(b))) => b.cmp(a),
                _ => Ordering::Equal,
            })
        }
    }
}

/// A query that is looked for, and what takes its place; None leaves nothing.
struct Change<'c, 'a> {
    target: &'c Tree<'a>,
    new: Option<&'c Tree<'a>>,
}

impl<'a> Change<'_, 'a> {
    fn put_in(&self) -> Option<Tree<'a>> {
        self.new.map(|new| Tree { is_new: true, ..new.clone() })
    }

    /// A tree without the target at its top.
    fn at_top(&self, mut tree: Tree<'a>) -> Option<Tree<'a>> {
        if tree.is_new {
            return Some(tree);
        }
        if order(&tree, self.target).is_eq() {
            return self.put_in();
        }
        let (Part::Operator(kind, sides), Part::Operator(wanted, targets)) =
            (&mut tree.part, &self.target.part)
        else {
            return Some(tree);
        };
        if kind != wanted || sides.len() <= targets.len() {
            return Some(tree);
        }
        let mut found = Vec::new();
        let mut at = 0;
        for target in targets {
            while at < sides.len() && order(&sides[at], target).is_lt() {
                at += 1;
            }
            if at == sides.len() || order(&sides[at], target).is_ne() {
                return Some(tree);
            }
            found.push(at);
            at += 1;
        }
        found.iter().rev().for_each(|at| drop(sides.remove(*at)));
        sides.extend(self.put_in());
        sort(&mut tree);
        Some(tree)
    }

    fn everywhere(&self, tree: Tree<'a>) -> Option<Tree<'a>> {
        let tree = self.at_top(tree)?;
        let is_new = tree.is_new;
        match tree.part {
            Part::Operator(kind, sides) if !is_new => {
                let changed = sides.into_iter().filter_map(|side| deep(|| self.everywhere(side)));
                let mut sides: Vec<Tree<'a>> = changed.collect();
                match sides.len() {
                    0 => None,
                    1 if kind != Kind::Not => sides.pop(),
                    _ => Some(Tree { part: Part::Operator(kind, sides), is_new }),
                }
            }
            part => Some(Tree { part, is_new }),
        }
    }
}

/// The query of a tree: lists become pairs.
fn node(tree: Tree<'_>) -> Option<Node<'_>> {
    let (kind, sides) = match tree.part {
        Part::Operand(operand) => return Some(Node::Operand(operand)),
        Part::Operator(kind, sides) => (kind, sides),
    };
    let nodes = sides.into_iter().filter_map(|side| deep(|| node(side)));
    let mut nodes: Vec<Node<'_>> = nodes.collect();
    let Kind::Join(joint) = kind else { return nodes.pop().map(Node::not) };
    // The last side follows the first pair, as in PostgreSQL.
    while nodes.len() > 1 {
        let left = nodes.swap_remove(1);
        let rest = nodes.split_off(1);
        let right = nodes.pop()?;
        nodes.push(Node::join(joint, left, right));
        nodes.extend(rest);
    }
    nodes.pop()
}

fn sorted(bytes: &[u8]) -> Option<Tree<'_>> {
    let mut found = tree(query(bytes)?);
    sort(&mut found);
    Some(found)
}

/// `ts_rewrite(query, target, new)`.
pub(super) fn rewrite(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    let (Some(whole), Some(target)) = (sorted(call.bytes(0)), sorted(call.bytes(1))) else {
        out.extend_from_slice(call.bytes(0));
        return Ok(Given::Bytes);
    };
    let new = query(call.bytes(2)).map(tree_as_is);
    let change = Change { target: &target, new: new.as_ref() };
    let changed = change.everywhere(whole).and_then(node);
    push_query(out, changed.as_ref());
    Ok(Given::Bytes)
}

/// A tree whose operators have two sides.
fn tree_as_is(node: Node<'_>) -> Tree<'_> {
    let part = match node {
        Node::Operand(operand) => Part::Operand(operand),
        Node::Not(inner) => Part::Operator(Kind::Not, vec![deep(|| tree_as_is(*inner))]),
        Node::Join(joint, left, right) => {
            let sides = deep(|| vec![tree_as_is(*right), tree_as_is(*left)]);
            Part::Operator(Kind::Join(joint), sides)
        }
    };
    Tree { part, is_new: false }
}
