//! Lexemes of documents and queries, for inverted indexes.

use super::query::{Joint, Node, query};
use super::vector::stored;
use crate::element_query::{ELEMENT_BYTES_MAX, ElementQuery};
use crate::stack::deep;

/// The lexemes of a document, in order.
pub(crate) fn vector_lexemes(vector: &[u8]) -> impl Iterator<Item = &[u8]> {
    stored(vector).map(|lexeme| lexeme.word)
}

/// The condition of a query on the lexemes of a document: weights and distances are left out, and
/// lexemes that a query denies may be there.
pub(crate) fn query_lexemes(bytes: &[u8]) -> ElementQuery {
    query(bytes).map_or(ElementQuery::Nothing, |node| asked(&node))
}

fn asked(node: &Node<'_>) -> ElementQuery {
    match node {
        Node::Operand(operand) => {
            let word = &operand.word[..operand.word.len().min(ELEMENT_BYTES_MAX)];
            if operand.is_prefix {
                ElementQuery::prefix(word)
            } else {
                ElementQuery::Key(word.to_vec())
            }
        }
        Node::Not(_) => ElementQuery::All,
        Node::Join(joint, left, right) => {
            let sides = deep(|| vec![asked(left), asked(right)]);
            match joint {
                Joint::Or => ElementQuery::any_of(sides),
                _ => ElementQuery::all_of(sides),
            }
        }
    }
}
