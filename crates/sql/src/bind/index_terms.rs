//! Expressions and predicates of indexes: what they may be, and what they are over a row.
//!
//! Source of the rules: PostgreSQL 15.

use sqlparser::ast;
use types::{Collation, DataType, ElementType, Result, SqlState};

use super::comparable::{ComparedFor, comparable};
use super::constraint::{renamed_column, unqualified};
use super::generated::is_mutable;
use super::name::{expr_at, stored_name};
use super::scope::Clause;
use super::types::Context;
use super::{Binder, Bound, fail};
use crate::algebra::{Expr, ExprKind, Function};
use crate::catalog::{
    BoundTerms, Catalog, CheckDef, ColumnDef, IndexExpression, IndexMeta, IndexTerms, TableRef,
};
use crate::definition::is_json_keyed;
use crate::parse::folded;
use crate::parse::visit::rewrite_expressions;
use crate::statement::RelationName;

/// Binds the terms of an index of table `table` over a row of it, as [`crate::bind_row_exprs`]
/// does. An index without terms has none.
///
/// # Errors
/// Whatever is wrong with a term; none when they were bound before and the columns are the same.
pub fn bind_index_terms(
    table: &str,
    columns: &[ColumnDef],
    terms: &IndexTerms,
    catalog: &dyn Catalog,
) -> Result<BoundTerms> {
    let mut binder = Binder::new(catalog, &[]);
    let mut expressions = Vec::with_capacity(terms.expressions.len());
    for expression in &terms.expressions {
        let tree = crate::parse::parse_expr(&expression.sql)?;
        let expr = binder.index_expression(&tree, table, columns)?.expr;
        let expr = binder.held_key(expr, expression.ty)?;
        // The index holds what its definition says, whatever a type is derived as today.
        let is_held = super::types::interchangeable(expr.ty, expression.ty);
        expressions.push(if is_held { expr } else { expr.cast(expression.ty) });
    }
    let predicate = match &terms.predicate {
        Some(sql) => {
            let tree = crate::parse::parse_expr(sql)?;
            Some(binder.index_predicate(&tree, table, columns)?)
        }
        None => None,
    };
    Ok(BoundTerms { expressions, predicate })
}

/// Place of an expression in the definition of an index, and its name in messages.
struct Term {
    clause: Clause,
    name: &'static str,
}

const EXPRESSION: Term = Term { clause: Clause::IndexExpression, name: "index expression" };
const PREDICATE: Term = Term { clause: Clause::IndexPredicate, name: "index predicate" };

impl Binder<'_> {
    /// The key that an index holds in the place of JSONB, and of texts with a collation; None where
    /// it holds the values: texts that are told apart by their bytes are found by these, unless
    /// COLLATE asks for an order.
    pub(super) fn index_key(&self, expr: &Expr) -> Result<Option<Expr>> {
        if is_json_keyed(expr.ty) {
            return comparable(expr.clone(), ComparedFor::Order, None).map(Some);
        }
        if expr.ty.is_array() {
            return Ok(None);
        }
        let explicit = matches!(expr.kind, ExprKind::Call(Function::Collate(_), _));
        let collation = self.common_collation(&[expr], None)?;
        let is_keyed = |of: &Collation| of.has_own_equality() || explicit;
        Ok(collation.filter(is_keyed).map(|of| super::collation::key_of(expr.clone(), of)))
    }

    /// The collations of users that the texts of an index name.
    pub(super) fn collations_of(&self, terms: &IndexTerms) -> Vec<(String, Collation)> {
        let texts = terms.expressions.iter().map(|expression| &expression.sql);
        let mut found: Vec<(String, Collation)> = Vec::new();
        for (name, _) in
            texts.chain(&terms.predicate).flat_map(|sql| crate::parse::collations_in(sql))
        {
            let known = self.catalog.collation(name.schema.as_deref(), &name.name);
            let (key, known) = (name.key(), known.map(|(_, collation)| collation));
            if let Some(collation) = known.filter(|_| found.iter().all(|(of, _)| *of != key)) {
                found.push((key, collation));
            }
        }
        found
    }

    /// An expression of an index whose type is `held`: its key, where that is held.
    fn held_key(&self, expr: Expr, held: DataType) -> Result<Expr> {
        let is_key = held == DataType::Bytea || held == DataType::Array(ElementType::Bytea);
        if !is_key || expr.ty == held {
            return Ok(expr);
        }
        Ok(self.index_key(&expr)?.unwrap_or(expr))
    }

    /// An expression of an index, which may be a mere column.
    pub(super) fn index_expression(
        &mut self,
        expr: &ast::Expr,
        table: &str,
        columns: &[ColumnDef],
    ) -> Result<Bound> {
        let bound = self.term(&EXPRESSION, expr, table, columns)?;
        let bound = self.retyped(bound);
        if bound.ty() != DataType::Unknown {
            return Ok(bound);
        }
        let at = bound.at;
        Ok(Bound::new(self.coerce(bound, DataType::Text, Context::Implicit)?, at))
    }

    /// WHERE of an index.
    pub(super) fn index_predicate(
        &mut self,
        expr: &ast::Expr,
        table: &str,
        columns: &[ColumnDef],
    ) -> Result<Expr> {
        let bound = self.term(&PREDICATE, expr, table, columns)?;
        self.coerce_clause(bound, DataType::Boolean, "WHERE")
    }

    fn term(
        &mut self,
        term: &Term,
        expr: &ast::Expr,
        table: &str,
        columns: &[ColumnDef],
    ) -> Result<Bound> {
        let is_told = self.is_told(expr);
        let bound = self.over_timed_row(term.clause, expr, table, columns)?;
        let at = bound.at;
        if super::insert::contains_subquery(&bound.expr) && !is_told {
            let message = format!("cannot use subquery in {}", term.name);
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        if let Some(number) = parameter(&bound.expr) {
            let message = format!("there is no parameter ${}", number + 1);
            return fail(SqlState::UNDEFINED_PARAMETER, message, at);
        }
        if is_told || is_mutable(&bound.expr, columns.len()) {
            let message = format!("functions in {} must be marked IMMUTABLE", term.name);
            return fail(SqlState::INVALID_OBJECT_DEFINITION, message, at);
        }
        Ok(bound)
    }

    /// Ordinals of the columns that the terms of an index read.
    pub(super) fn term_reads(
        &mut self,
        table: &str,
        columns: &[ColumnDef],
        terms: &IndexTerms,
    ) -> Result<Vec<usize>> {
        bind_index_terms(table, columns, terms, self.catalog).map(|bound| bound.reads())
    }
}

fn parameter(expr: &Expr) -> Option<u32> {
    let mut found = match expr.kind {
        ExprKind::Parameter(number) => Some(number),
        _ => None,
    };
    expr.each_child(&mut |child| found = found.or(parameter(child)));
    found
}

/// The terms with column `from` under its new name.
///
/// # Errors
/// None for terms that were bound before.
pub(super) fn renamed(terms: &IndexTerms, from: &str, to: &ast::Ident) -> Result<IndexTerms> {
    let mut terms = terms.clone();
    for expression in &mut terms.expressions {
        expression.sql = renamed_column(&expression.sql, from, to)?;
    }
    if let Some(predicate) = &mut terms.predicate {
        *predicate = renamed_column(predicate, from, to)?;
    }
    Ok(terms)
}

/// The indexes of a table that have terms, by name.
pub(super) fn of_table(table: &TableRef) -> Vec<(String, IndexTerms)> {
    let derived = table.indexes().iter().filter(|index| !index.terms.is_empty());
    derived.map(|index| (index.name.clone(), index.terms.clone())).collect()
}

/// An expression as the catalog keeps it, named apart from the `others`.
pub(super) fn expression_of(
    expr: &ast::Expr,
    ty: DataType,
    others: &[IndexExpression],
) -> IndexExpression {
    let first = stored_name(expr).unwrap_or_else(|| "expr".to_owned());
    let mut name = first.clone();
    let mut number = 0;
    while others.iter().any(|other| other.name == name) {
        number += 1;
        name = format!("{first}{number}");
    }
    IndexExpression { name, sql: stored(expr), ty }
}

/// The text of a term as the catalog keeps it: names without their table, quoted where they have
/// to be.
pub(super) fn stored(expr: &ast::Expr) -> String {
    let given = unqualified(bare(expr));
    let mut expr = given.clone();
    rewrite_expressions(&mut expr, &mut |inner| match inner {
        ast::Expr::Identifier(ident) => *ident = plain(folded(ident)),
        ast::Expr::Function(function) => {
            if let [ast::ObjectNamePart::Identifier(ident)] = function.name.0.as_mut_slice() {
                let name = folded(ident);
                *ident = if GRAMMAR.contains(&name.as_str()) {
                    ast::Ident::new(name.to_uppercase())
                } else {
                    plain(name)
                };
            }
        }
        _ => {}
    });
    let text = expr.to_string();
    // A name may be a word of the grammar.
    if crate::parse::parse_expr(&text).is_ok_and(|again| again == expr) {
        text
    } else {
        given.to_string()
    }
}

/// Functions that are part of the grammar, which PostgreSQL writes in capitals.
const GRAMMAR: [&str; 4] = ["coalesce", "greatest", "least", "nullif"];

/// A name in quotes if it needs them.
fn plain(name: String) -> ast::Ident {
    let named = RelationName { schema: None, name };
    let quotes = named.quoted().starts_with('"') || crate::parse::is_reserved(&named.name);
    if quotes { ast::Ident::with_quote('"', named.name) } else { ast::Ident::new(named.name) }
}

/// The expression inside of parentheses.
pub(super) fn bare(expr: &ast::Expr) -> &ast::Expr {
    match expr {
        ast::Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// Refuses what the grammar of CREATE INDEX takes in parentheses only.
pub(super) fn check_form(expr: &ast::Expr) -> Result<()> {
    let is_taken = match expr {
        ast::Expr::Identifier(_) | ast::Expr::Nested(_) => true,
        ast::Expr::Collate { expr, .. } => return check_form(expr),
        other => is_call(other),
    };
    if is_taken {
        return Ok(());
    }
    fail(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{expr}\""), expr_at(expr))
}

fn is_call(expr: &ast::Expr) -> bool {
    use ast::Expr as E;
    match expr {
        E::Cast { kind, .. } => *kind == ast::CastKind::Cast,
        other => matches!(
            other,
            E::Function(_)
                | E::Extract { .. }
                | E::Substring { .. }
                | E::Position { .. }
                | E::Overlay { .. }
                | E::Trim { .. }
                | E::Ceil { .. }
                | E::Floor { .. }
        ),
    }
}

impl IndexExpression {
    /// The keys of a column that indexes hold in the place of its values.
    pub fn keys_of(column: &ColumnDef) -> Self {
        let name = column.name.clone();
        let ty = match column.ty {
            DataType::Array(_) => DataType::Array(ElementType::Bytea),
            _ => DataType::Bytea,
        };
        Self { sql: plain(name.clone()).to_string(), name, ty }
    }

    /// The column of the table that it is, in the order of its keys, by its ordinal.
    pub fn keyed_column(&self, columns: &[ColumnDef]) -> Option<usize> {
        let tree = crate::parse::parse_expr(&self.sql).ok()?;
        let ast::Expr::Identifier(ident) = without_collation(&tree) else { return None };
        let name = folded(ident);
        columns.iter().position(|column| column.name == name)
    }

    /// The collation that it is written with.
    pub fn collation(&self) -> Option<RelationName> {
        let tree = crate::parse::parse_expr(&self.sql).ok()?;
        let ast::Expr::Collate { collation, .. } = bare(&tree) else { return None };
        named(collation)
    }

    /// As a column of a definition: in parentheses unless it is a call.
    pub fn definition(&self) -> String {
        column_text(&self.sql)
    }

    /// As [`Self::definition`], and every operation in parentheses.
    pub fn full_definition(&self) -> String {
        column_text(&self.full_text())
    }

    /// Its text with every operation in parentheses.
    pub fn full_text(&self) -> String {
        full_text(&self.sql)
    }
}

impl CheckDef {
    /// Its text with every operation in parentheses.
    pub fn full_text(&self) -> String {
        full_text(&self.sql)
    }
}

impl IndexMeta {
    /// The text of its predicate with every operation in parentheses.
    pub fn full_predicate(&self) -> Option<String> {
        self.terms.predicate.as_deref().map(full_text)
    }
}

/// An expression as a column of CREATE INDEX: in parentheses unless it is a column or a call.
fn column_text(sql: &str) -> String {
    match crate::parse::parse_expr(sql) {
        Ok(ast::Expr::Collate { expr, collation }) => {
            let name = named(&collation).map(|name| name.quoted());
            let name = name.unwrap_or_else(|| collation.to_string());
            format!("{} COLLATE {name}", column_text(&expr.to_string()))
        }
        Ok(ast::Expr::Identifier(_)) => sql.to_owned(),
        Ok(expr) if is_call(&expr) => sql.to_owned(),
        _ => format!("({sql})"),
    }
}

/// The name of a collation.
fn named(collation: &ast::ObjectName) -> Option<RelationName> {
    let mut parts = super::name::object_parts(collation).ok()?;
    let name = parts.pop()?;
    Some(RelationName { schema: parts.pop(), name })
}

/// The expression without COLLATE behind it.
fn without_collation(expr: &ast::Expr) -> &ast::Expr {
    match bare(expr) {
        ast::Expr::Collate { expr, .. } => without_collation(expr),
        other => other,
    }
}

/// The expression with every operation in parentheses, as PostgreSQL writes definitions.
fn full_text(sql: &str) -> String {
    let Ok(mut expr) = crate::parse::parse_expr(sql) else { return sql.to_owned() };
    rewrite_expressions(&mut expr, &mut |inner| {
        use ast::Expr as E;
        let found = std::mem::replace(inner, E::Identifier(ast::Ident::new("")));
        *inner = match found {
            E::Nested(nested) if matches!(*nested, E::Nested(_)) => *nested,
            E::BinaryOp { .. }
            | E::UnaryOp { op: ast::UnaryOperator::Not, .. }
            | E::IsNull(_)
            | E::IsNotNull(_)
            | E::Between { .. }
            | E::InList { .. }
            | E::Like { .. } => E::Nested(Box::new(found)),
            other => other,
        };
    });
    expr.to_string()
}
