//! CREATE SCHEMA with tables, views and others that it is to hold.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::Result;

use super::{LineIndex, ParsedStatement, SessionTree, Tree, is_word, parse_statement, parse_tree};

/// Kinds of elements, in the order in which they are made.
const KINDS: [&str; 5] = ["sequence", "table", "view", "index", "grant"];

/// `CREATE SCHEMA ... element ...`, and a table of what EXECUTE gives; None for other statements,
/// and without elements.
pub(super) fn parse(
    text: &str,
    index: &LineIndex<'_>,
    tokens: &[TokenWithSpan],
) -> Result<Option<Tree>> {
    let places: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    let word = |at: usize, text: &str| {
        let token = places.get(at).map(|at| &tokens[*at].token);
        matches!(token, Some(Token::Word(word)) if is_word(word, text))
    };
    if !(word(0, "create") && word(1, "schema")) {
        return super::executed::parse(text, index, tokens);
    }
    let (mut depth, mut starts) = (0_usize, Vec::new());
    for at in 2..places.len() {
        match tokens[places[at]].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth == 0 && word(at, "grant") => starts.push((at, "grant")),
            _ if depth == 0 && word(at, "create") => {
                // Behind TEMPORARY, UNIQUE and others.
                let kind = (at + 1..at + 4)
                    .find_map(|at| KINDS.iter().find(|kind| word(at, kind)).copied());
                starts.extend(kind.map(|kind| (at, kind)));
            }
            _ => {}
        }
    }
    let Some((first, _)) = starts.first() else { return Ok(None) };
    let head = parse_tree(super::prepare(&tokens[..places[*first]]))?;
    let Tree::Session(head) = head else { return Ok(None) };
    let SessionTree::Schema(schema) = *head else { return Ok(None) };
    let mut elements: Vec<(usize, ParsedStatement)> = Vec::with_capacity(starts.len());
    for (number, (start, kind)) in starts.iter().enumerate() {
        let end = starts.get(number + 1).map_or(tokens.len(), |(next, _)| places[*next]);
        let rank = KINDS.iter().position(|known| known == kind).unwrap_or(KINDS.len());
        let element = parse_statement(text, index, &tokens[places[*start]..end])?;
        elements.extend(element.map(|element| (rank, element)));
    }
    elements.sort_by_key(|(rank, _)| *rank);
    let elements = elements.into_iter().map(|(_, element)| element).collect();
    Ok(Some(Tree::Session(Box::new(SessionTree::SchemaElements(schema, elements)))))
}
