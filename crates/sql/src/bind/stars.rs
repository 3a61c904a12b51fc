//! `*` in views: a view keeps the columns that it had when it was made.
//!
//! While CREATE VIEW is bound, each `*` notes the columns that it means; the text that is kept of
//! the view has those in its place. What cannot be written so (two columns of one name in one
//! relation) stays a `*`.

use sqlparser::ast;
use types::Position;

use super::name::object_at;
use super::scope::ScopeColumn;
use super::{Binder, at_span};
use crate::parse::{is_reserved, rewrite_queries};

/// A `*` and the columns that it means.
pub(super) struct Star {
    at: Position,
    items: Vec<ast::SelectItem>,
}

/// A name as it is written, in quotes where it needs them.
fn written(name: &str) -> ast::Ident {
    let is_plain = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
    let is_word = name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_word && !name.is_empty() && !is_reserved(name) {
        ast::Ident::new(name)
    } else {
        ast::Ident::with_quote('"', name)
    }
}

/// `column` by its name; None when that means another one, too, among `all`.
fn item(column: &ScopeColumn, all: &[ScopeColumn]) -> Option<ast::SelectItem> {
    let is_merged = column.relation.is_empty();
    let is_meant = |other: &&ScopeColumn| {
        other.name == column.name && (is_merged || other.relation == column.relation)
    };
    if all.iter().filter(is_meant).count() != 1 {
        return None;
    }
    Some(ast::SelectItem::UnnamedExpr(if is_merged {
        ast::Expr::Identifier(written(&column.name))
    } else {
        let parts = vec![written(&column.relation), written(&column.name)];
        ast::Expr::CompoundIdentifier(parts)
    }))
}

impl Binder<'_> {
    /// Notes what the `*` at a place of the view's own text means.
    pub(super) fn note_star(&mut self, at: super::Place, columns: &[ScopeColumn]) {
        let (Some(stars), Some(at), 0) = (&mut self.stars, at, self.definition_depth) else {
            return;
        };
        let items: Option<Vec<_>> = columns.iter().map(|column| item(column, columns)).collect();
        if let Some(items) = items.filter(|items| !items.is_empty()) {
            stars.push(Star { at, items });
        }
    }

    /// Puts the columns in the places of those that mean them; true when there were some.
    pub(super) fn put_stars(&mut self, query: &mut ast::Query) -> bool {
        let stars = self.stars.take().unwrap_or_default();
        if stars.is_empty() {
            return false;
        }
        let mut replace = |select: &mut ast::Select| {
            let items = std::mem::take(&mut select.projection);
            let columns = |item: ast::SelectItem| {
                let at = match &item {
                    ast::SelectItem::Wildcard(options) => at_span(options.wildcard_token.0.span),
                    ast::SelectItem::QualifiedWildcard(
                        ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                        _,
                    ) => object_at(name),
                    _ => None,
                };
                match stars.iter().find(|star| at == Some(star.at)) {
                    Some(star) => star.items.clone(),
                    None => vec![item],
                }
            };
            select.projection = items.into_iter().flat_map(columns).collect();
        };
        rewrite_queries(query, &mut |inner| each_select(&mut inner.body, &mut replace));
        true
    }
}

/// The SELECTs of a query's body, those of queries in it apart.
fn each_select(body: &mut ast::SetExpr, each: &mut dyn FnMut(&mut ast::Select)) {
    match body {
        ast::SetExpr::Select(select) => each(select),
        ast::SetExpr::SetOperation { left, right, .. } => {
            each_select(left, each);
            each_select(right, each);
        }
        _ => {}
    }
}
