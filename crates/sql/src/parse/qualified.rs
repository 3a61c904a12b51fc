//! Functions and operators in texts of definitions under the names that they have somewhere else.

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::shown::byte_of;
use super::tokens::significant;
use super::{DIALECT, at_location, position};

/// The text with the schema that `schema_of` gives a function or an operator before its name; those
/// for which it gives none stay as they are. Operators that have other meanings, too, do as well.
/// It is asked for types of casts by `::name`, for collations by `collate name`.
pub fn with_schemas(sql: &str, schema_of: &dyn Fn(&str) -> Option<String>) -> String {
    let Ok(tokens) = Tokenizer::new(&DIALECT, sql).tokenize_with_location() else {
        return sql.to_owned();
    };
    let tokens = super::operator::with_distances(tokens);
    let places = significant(&tokens);
    let at = |place: usize| places.get(place).and_then(|at| tokens.get(*at));
    let is = |place: Option<usize>, wanted: &Token| {
        place.and_then(at).is_some_and(|token| token.token == *wanted)
    };
    let mut text = String::with_capacity(sql.len());
    let mut done = 0;
    for place in 0..places.len() {
        let Some(token) = at(place) else { continue };
        // A schema that is written already gives way.
        let has_schema = is(place.checked_sub(1), &Token::Period);
        let first = if has_schema { place.checked_sub(2).and_then(at) } else { Some(token) };
        let written = match &token.token {
            Token::Word(word) => {
                let before = place.checked_sub(if has_schema { 3 } else { 1 });
                let is_type = is(before, &Token::DoubleColon);
                let is_call = is(Some(place + 1), &Token::LParen);
                let is_quoted = word.quote_style.is_some();
                let name =
                    if is_quoted { word.value.clone() } else { word.value.to_ascii_lowercase() };
                let is_collation =
                    before.and_then(at).is_some_and(|token| super::tokens::is(token, "collate"));
                let schema = if is_type {
                    schema_of(&format!("::{name}"))
                } else if is_collation {
                    schema_of(&format!("collate {name}"))
                } else {
                    is_call.then(|| schema_of(&name)).flatten()
                };
                schema.map(|schema| (format!("{schema}."), position(token.span)))
            }
            Token::CustomBinaryOperator(_) | Token::TwoWayArrow => {
                let symbol = token.token.to_string();
                let whole = |schema| (format!("OPERATOR({schema}.{symbol})"), end_of(token));
                let part = |schema| (format!("{schema}."), position(token.span));
                schema_of(&symbol).map(|s| if has_schema { part(s) } else { whole(s) })
            }
            _ => None,
        };
        let Some((written, end)) = written else { continue };
        let bytes = first.and_then(|first| byte_of(sql, position(first.span)?));
        let (Some(begin), Some(end)) = (bytes, end.and_then(|end| byte_of(sql, end))) else {
            continue;
        };
        if begin < done {
            continue;
        }
        text.push_str(&sql[done..begin]);
        text.push_str(&written);
        done = end;
    }
    text.push_str(&sql[done..]);
    text
}

fn end_of(token: &TokenWithSpan) -> Option<types::Position> {
    at_location(token.span.end)
}

/// True for operators that only extensions have, as `OPERATOR(schema.op)` names them.
pub(super) fn is_of_extensions(operator: &Token) -> bool {
    matches!(operator, Token::CustomBinaryOperator(_) | Token::TwoWayArrow | Token::Mod)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_operators_get_their_schema() {
        let of = |name: &str| ["f", "<->", "collate c"].contains(&name).then(|| "s".to_owned());
        let shown = |sql: &str| with_schemas(sql, &of);
        assert_eq!(shown("F(1) + g(f) -- f(1)"), "s.F(1) + g(f) -- f(1)");
        assert_eq!(shown("old.f (a <-> 'b <-> f(x)')"), "s.f (a OPERATOR(s.<->) 'b <-> f(x)')");
        assert_eq!(shown("SELECT 'ü', f(f(2))"), "SELECT 'ü', s.f(s.f(2))");
        assert_eq!(shown("a OPERATOR(old.<->) b"), "a OPERATOR(s.<->) b");
        assert_eq!(shown("c COLLATE c > 'x' COLLATE d"), "c COLLATE s.c > 'x' COLLATE d");
    }
}
