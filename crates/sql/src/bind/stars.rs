//! `*`, and `* EXCLUDE (a) REPLACE (b + 1 AS b) RENAME (c AS d)`.
//!
//! A view keeps the columns that `*` had when it was made. While CREATE VIEW is bound, each `*`
//! notes the columns that it means; the text that is kept of the view has those in its place. What
//! cannot be written so (two columns of one name in one relation) stays a `*`.

use sqlparser::ast;
use types::{DataType, Position, Result, SqlState};

use super::clauses::Target;
use super::name::{ident_at, object_at};
use super::scope::ScopeColumn;
use super::{Binder, Bound, Place, at_span, fail, unsupported};
use crate::parse::{folded, is_reserved, rewrite_queries};

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

/// Options of a `*`.
#[derive(Default)]
pub(super) struct StarOptions<'q> {
    /// Columns that are left out, by relation, if that is said, and name.
    excluded: Vec<(Option<String>, String, Place)>,
    /// Expressions in the place of columns.
    replaced: Vec<(String, &'q ast::Expr, Place)>,
    /// Columns with other names.
    renamed: Vec<(String, String, Place)>,
}

impl<'q> StarOptions<'q> {
    /// # Errors
    /// 0A000 for options that DuckDB does not have.
    pub(super) fn of(options: &'q ast::WildcardAdditionalOptions) -> Result<Self> {
        let is_other = options.opt_alias.is_some()
            || options.opt_except.is_some()
            || options.opt_ilike.is_some();
        if is_other {
            return unsupported("this option of *", at_span(options.wildcard_token.0.span));
        }
        let mut found = Self::default();
        let names: &[ast::ObjectName] = match &options.opt_exclude {
            None => &[],
            Some(ast::ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
            Some(ast::ExcludeSelectItem::Multiple(names)) => names,
        };
        for name in names {
            let mut parts = super::name::object_parts(name)?;
            let column = parts.pop().unwrap_or_default();
            found.excluded.push((parts.pop(), column, object_at(name)));
        }
        for item in options.opt_replace.iter().flat_map(|replace| &replace.items) {
            let at = ident_at(&item.column_name);
            found.replaced.push((folded(&item.column_name), &item.expr, at));
        }
        let pairs: &[ast::IdentWithAlias] = match &options.opt_rename {
            None => &[],
            Some(ast::RenameSelectItem::Single(pair)) => std::slice::from_ref(pair),
            Some(ast::RenameSelectItem::Multiple(pairs)) => pairs,
        };
        for pair in pairs {
            let at = ident_at(&pair.ident);
            found.renamed.push((folded(&pair.ident), folded(&pair.alias), at));
        }
        Ok(found)
    }

    /// # Errors
    /// 42703 for the name of a column that is not among `columns`.
    fn check(&self, columns: &[ScopeColumn]) -> Result<()> {
        let known = |relation: Option<&str>, name: &str| {
            columns.iter().any(|column| is_named(column, relation, name))
        };
        let excluded = self.excluded.iter().map(|(r, n, at)| (r.as_deref(), n, at, "EXCLUDE"));
        let replaced = self.replaced.iter().map(|(n, _, at)| (None, n, at, "REPLACE"));
        let renamed = self.renamed.iter().map(|(n, _, at)| (None, n, at, "RENAME"));
        for (relation, name, at, list) in excluded.chain(replaced).chain(renamed) {
            if !known(relation, name) {
                let message = format!("column \"{name}\" in {list} list not found in FROM clause");
                return fail(SqlState::UNDEFINED_COLUMN, message, *at);
            }
        }
        Ok(())
    }

    fn excludes(&self, column: &ScopeColumn) -> bool {
        let is_it = |(relation, name, _): &(Option<String>, String, Place)| {
            is_named(column, relation.as_deref(), name)
        };
        self.excluded.iter().any(is_it)
    }

    /// The expression in the place of `column`.
    fn replacement(&self, column: &ScopeColumn) -> Option<&'q ast::Expr> {
        let found = self.replaced.iter().find(|(name, ..)| *name == column.name);
        found.map(|(_, expr, _)| *expr)
    }

    /// The name that `column` has in the result.
    fn name<'c>(&'c self, column: &'c ScopeColumn) -> &'c str {
        let found = self.renamed.iter().find(|(name, ..)| *name == column.name);
        found.map_or(&column.name, |(_, to, _)| to)
    }
}

fn is_named(column: &ScopeColumn, relation: Option<&str>, name: &str) -> bool {
    column.name == name && relation.is_none_or(|relation| column.relation == relation)
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
    /// The columns that a `*` means.
    pub(super) fn wildcard(
        &mut self,
        mut columns: Vec<ScopeColumn>,
        options: &StarOptions<'_>,
        at: Place,
    ) -> Result<Vec<Target>> {
        options.check(&columns)?;
        self.note_star(at, &columns, options);
        columns.retain(|column| !options.excludes(column));
        let mut targets = Vec::with_capacity(columns.len());
        for column in columns {
            let level = self.level()?;
            if column.expr.as_column().is_some_and(|id| level.hidden.contains(&id)) {
                continue;
            }
            let name = options.name(&column).to_owned();
            if let Some(expr) = options.replacement(&column) {
                targets.push(Target { name, bound: self.bind_expr(expr)? });
                continue;
            }
            let level = self.level()?;
            column.expr.each_column(&mut |id| level.references.push((id, at)));
            self.note_read(column.source);
            targets.push(Target { name, bound: Bound::new(column.expr, at) });
        }
        Ok(targets)
    }

    pub(super) fn qualified_wildcard(
        &mut self,
        kind: &ast::SelectItemQualifiedWildcardKind,
        options: &StarOptions<'_>,
    ) -> Result<Vec<Target>> {
        let ast::SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
            return unsupported("this form of wildcard", None);
        };
        self.columns_of(name, options)
    }

    /// `t.*`: the columns of a relation.
    pub(super) fn columns_of(
        &mut self,
        name: &ast::ObjectName,
        options: &StarOptions<'_>,
    ) -> Result<Vec<Target>> {
        let at = object_at(name);
        let full = self.written_name(name)?;
        for depth in (0..self.levels.len()).rev() {
            let Some(level) = self.levels.get(depth) else {
                continue;
            };
            let schema = full.schema.as_deref();
            if let Some(relation) = level.scope.relation(schema, &full.name, at)? {
                let columns = relation.columns.clone();
                return self.wildcard(columns, options, at);
            }
        }
        if let Some(record) = self.record_variable(name)
            && let DataType::Record(row) = record.ty()
        {
            let mut targets = Vec::with_capacity(row.fields().len());
            for field in row.fields() {
                let ident = ast::Ident::with_quote('"', &field.name);
                let bound = self.named_field(record.clone(), &ident)?;
                targets.push(Target { name: field.name.clone(), bound });
            }
            return Ok(targets);
        }
        let message = format!("missing FROM-clause entry for table \"{}\"", full.name);
        fail(SqlState::UNDEFINED_TABLE, message, at)
    }

    /// Notes what the `*` at a place of the view's own text means.
    fn note_star(&mut self, at: Place, columns: &[ScopeColumn], options: &StarOptions<'_>) {
        let (Some(stars), Some(at), 0) = (&mut self.stars, at, self.definition_depth) else {
            return;
        };
        let kept = columns.iter().filter(|column| !options.excludes(column));
        let items: Option<Vec<_>> = kept
            .map(|column| {
                let name = options.name(column);
                let item = match options.replacement(column) {
                    Some(expr) => ast::SelectItem::UnnamedExpr(expr.clone()),
                    None => item(column, columns)?,
                };
                Some(match item {
                    ast::SelectItem::UnnamedExpr(expr)
                        if name != column.name || options.replacement(column).is_some() =>
                    {
                        ast::SelectItem::ExprWithAlias { expr, alias: written(name) }
                    }
                    item => item,
                })
            })
            .collect();
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
