//! Texts of views whose relations change: they keep their meaning under new names.
//!
//! ```text
//! t renamed to u             FROM t            ->  FROM u AS t
//! column b of t renamed      FROM t, FROM t x  ->  FROM t AS t(a, b), FROM t x(a, b)
//! column a of t dropped      FROM t x(a, b)    ->  FROM t x(b)
//! ```
//! Invariant: what a text names of a relation stays what it was, so that nothing but the places
//! where relations are read is rewritten.

use sqlparser::ast;
use types::Position;

use super::shown::byte_of;
use super::visit::visit_factors;
use super::{at_location, parse_query, position};

/// Change of a relation.
#[derive(Clone, Copy, Debug)]
pub enum Followed<'a> {
    /// The relation, now written so.
    Name(&'a str),
    /// The last of these columns, as they were called, first to last.
    Column(&'a [String]),
    /// The column at this place is gone.
    Dropped(usize),
}

/// A piece of text and what stands in its place.
struct Piece {
    begin: usize,
    end: usize,
    text: String,
}

/// The query `sql`, which reads a relation at each of `places`, after changes of the relation.
/// None when it cannot be written.
pub fn followed(sql: &str, places: &[Position], changes: &[Followed<'_>]) -> Option<String> {
    let mut query = parse_query(sql).ok()?;
    let mut pieces = Vec::new();
    visit_factors(&mut query, &mut |factor| {
        let ast::TableFactor::Table { name, alias, .. } = factor else { return };
        let first = name.0.first().and_then(|part| part.as_ident());
        let at = first.and_then(|ident| position(ident.span));
        if at.is_some_and(|at| places.contains(&at)) {
            pieces.push(changed(sql, name, alias.as_ref(), changes));
        }
    });
    let mut pieces = pieces.into_iter().collect::<Option<Vec<Vec<_>>>>()?;
    let mut text = sql.to_owned();
    let mut all: Vec<Piece> = pieces.drain(..).flatten().collect();
    all.sort_by_key(|piece| std::cmp::Reverse((piece.begin, piece.end)));
    for piece in all {
        text.replace_range(piece.begin..piece.end, &piece.text);
    }
    Some(text)
}

/// Text to rewrite where a relation is read.
fn changed(
    sql: &str,
    name: &ast::ObjectName,
    alias: Option<&ast::TableAlias>,
    changes: &[Followed<'_>],
) -> Option<Vec<Piece>> {
    let part = |part: Option<&ast::ObjectNamePart>| part?.as_ident().cloned();
    let (first, last) = (part(name.0.first())?, part(name.0.last())?);
    let begin = byte_of(sql, position(first.span)?)?;
    let end = byte_of(sql, at_location(last.span.end)?)?;
    let given = alias.iter().flat_map(|alias| &alias.columns);
    let given: Vec<String> = given.map(|column| column.name.to_string()).collect();
    let (mut columns, mut to) = (given.clone(), None);
    for change in changes {
        match change {
            Followed::Name(name) => to = Some(*name),
            Followed::Column(names) => {
                columns.extend(names.iter().skip(columns.len()).cloned());
            }
            Followed::Dropped(place) if *place < columns.len() => {
                columns.remove(*place);
            }
            Followed::Dropped(_) => {}
        }
    }
    let mut pieces = Vec::new();
    pieces.extend(to.map(|to| Piece { begin, end, text: to.to_owned() }));
    let list = if columns.is_empty() { String::new() } else { format!("({})", columns.join(", ")) };
    match alias {
        None if to.is_some() || columns != given => {
            pieces.push(Piece { begin: end, end, text: format!(" AS {last}{list}") });
        }
        Some(alias) if columns != given => {
            let begin = byte_of(sql, at_location(alias.name.span.end)?)?;
            let end = match alias.columns.last() {
                None => begin,
                Some(column) => {
                    let behind = byte_of(sql, at_location(column.name.span.end)?)?;
                    behind + sql.get(behind..)?.find(')')? + 1
                }
            };
            pieces.push(Piece { begin, end, text: list });
        }
        _ => {}
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(column: u32) -> Position {
        Position { line: 1, column }
    }

    #[test]
    fn names_of_relations_follow() {
        let shown =
            |sql, column| followed(sql, &[at(column)], &[Followed::Name("s.u")]).expect("a text");
        assert_eq!(shown("SELECT t.a FROM t", 17), "SELECT t.a FROM s.u AS t");
        assert_eq!(shown("SELECT 1 FROM s.t x, t", 15), "SELECT 1 FROM s.u x, t");
        let in_query = "SELECT (SELECT 1 FROM \"T\")";
        assert_eq!(shown(in_query, 23), "SELECT (SELECT 1 FROM s.u AS \"T\")");
    }

    #[test]
    fn columns_keep_their_old_names() {
        let names = ["a".to_owned(), "b".to_owned()];
        let shown = |sql| followed(sql, &[at(15)], &[Followed::Column(&names)]).expect("a text");
        assert_eq!(shown("SELECT b FROM  t"), "SELECT b FROM  t");
        assert_eq!(shown("SELECT b FROM t, u"), "SELECT b FROM t AS t(a, b), u");
        assert_eq!(shown("SELECT b FROM t x JOIN u"), "SELECT b FROM t x(a, b) JOIN u");
        assert_eq!(shown("SELECT b FROM t x(i)"), "SELECT b FROM t x(i, b)");
        assert_eq!(shown("SELECT b FROM t x(i, j)"), "SELECT b FROM t x(i, j)");
        let gone =
            |sql, place| followed(sql, &[at(15)], &[Followed::Dropped(place)]).expect("a text");
        assert_eq!(gone("SELECT b FROM t x(i, j), u", 0), "SELECT b FROM t x(j), u");
        assert_eq!(gone("SELECT b FROM t x(i)", 0), "SELECT b FROM t x");
        assert_eq!(gone("SELECT b FROM t x(i)", 1), "SELECT b FROM t x(i)");
    }
}
