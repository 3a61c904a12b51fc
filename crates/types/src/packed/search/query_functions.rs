//! Functions on TSQUERY.

use std::collections::BTreeSet;

use super::query::{
    DISTANCE_MAX, Joint, Node, node_count, push_node_text, push_query, query, wrong_distance,
};
use crate::Result;
use crate::packed::{Call, Given};
use crate::stack::deep;

type Computed = Result<Given>;

/// Both queries joined; an empty one leaves the other.
fn join(call: &Call<'_>, joint: Joint, out: &mut Vec<u8>) -> Computed {
    let joined = match (query(call.bytes(0)), query(call.bytes(1))) {
        (Some(left), Some(right)) => Some(Node::join(joint, left, right)),
        (left, right) => left.or(right),
    };
    push_query(out, joined.as_ref());
    Ok(Given::Bytes)
}

/// `&&`.
pub(super) fn and(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    join(call, Joint::And, out)
}

/// `||`.
pub(super) fn or(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    join(call, Joint::Or, out)
}

/// `<->`.
pub(super) fn phrase(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    join(call, Joint::Phrase(1), out)
}

/// `tsquery_phrase` with a distance.
pub(super) fn distant_phrase(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let distance = u16::try_from(call.int(2)).ok();
    let distance = distance.filter(|distance| *distance <= DISTANCE_MAX);
    join(call, Joint::Phrase(distance.ok_or_else(wrong_distance)?), out)
}

/// `!!`.
pub(super) fn not(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    push_query(out, query(call.bytes(0)).map(Node::not).as_ref());
    Ok(Given::Bytes)
}

/// The words of a query.
fn words(bytes: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut words = BTreeSet::new();
    if let Some(node) = query(bytes) {
        node.each_operand(&mut |operand| {
            words.insert(operand.word.to_vec());
        });
    }
    words
}

/// `@>`: all words of the second are words of the first.
pub(super) fn contains(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(words(call.bytes(1)).is_subset(&words(call.bytes(0)))))
}

/// `<@`.
pub(super) fn contained(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(words(call.bytes(0)).is_subset(&words(call.bytes(1)))))
}

/// `numnode`.
pub(super) fn nodes(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(i64::from(node_count(call.bytes(0)))))
}

/// The part of a query that an index finds: without what is not there. None is everything.
fn indexed(node: Node<'_>) -> Option<Node<'_>> {
    match node {
        Node::Operand(_) => Some(node),
        Node::Not(_) => None,
        Node::Join(joint, left, right) => {
            let (left, right) = deep(|| (indexed(*left), indexed(*right)));
            match (joint, left, right) {
                (_, Some(left), Some(right)) => Some(Node::join(joint, left, right)),
                (Joint::Or, ..) => None,
                (_, left, right) => left.or(right),
            }
        }
    }
}

/// `querytree`: what of a query an index can find; `T` is everything.
pub(super) fn tree(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    if let Some(node) = query(call.bytes(0)) {
        match indexed(node) {
            Some(node) => push_node_text(out, &node),
            None => out.push(b'T'),
        }
    }
    Ok(Given::Bytes)
}
