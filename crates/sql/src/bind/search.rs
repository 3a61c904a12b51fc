//! SEARCH and CYCLE: columns that a recursive query has beside its own.
//!
//! ```text
//! base            -> SELECT *, ARRAY[ROW(a)] AS o FROM (base)
//! step (reads r)  -> SELECT *, o || ROW(a) AS o FROM (step, with r.o beside its own columns)
//! ```
//! Breadth first, `o` is ROW(depth, a); CYCLE adds the path as SEARCH DEPTH does, and a mark that
//! says whether the row is on it already: such rows are not followed.
//! Source: PostgreSQL, "Search Order" and "Cycle Detection", which rewrites queries likewise.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::name::{ident_at, renamed};
use super::{Binder, Unknowns, fail};
use crate::algebra::Place;
use crate::parse::{
    Cycle, RecursionClauses, Search, SearchOrder, folded, parse_query, recursion_clauses,
};

/// Names of the queries that both terms are wrapped in.
const BASE: &str = "\"*TLOCRN*\"";
const STEP: &str = "\"*TROCRN*\"";

/// The clauses of a query of WITH, and the query without the column that stands for them.
pub(super) fn taken_clauses(cte: &ast::Cte) -> Result<Option<(ast::Cte, RecursionClauses)>> {
    let Some(last) = cte.alias.columns.last() else { return Ok(None) };
    let Some(clauses) = recursion_clauses(&last.name.value)? else { return Ok(None) };
    let mut own = cte.clone();
    own.alias.columns.pop();
    Ok(Some((own, clauses)))
}

impl Binder<'_> {
    /// The terms of the recursive query `cte` with the columns that `clauses` add.
    ///
    /// # Errors
    /// 42601 for columns that are not there or there twice, 0A000 for terms that are no SELECT.
    pub(super) fn with_clauses(
        &mut self,
        cte: &ast::Cte,
        clauses: &RecursionClauses,
        left: &ast::SetExpr,
        right: &ast::SetExpr,
    ) -> Result<(ast::SetExpr, ast::SetExpr)> {
        let (name, at) = (folded(&cte.alias.name), ident_at(&cte.alias.name));
        let must = |side: &str, state| {
            let message = format!(
                "with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT"
            );
            fail(state, message, at)
        };
        if matches!(left, ast::SetExpr::SetOperation { .. }) {
            return must("left", SqlState::FEATURE_NOT_SUPPORTED);
        }
        let ast::SetExpr::Select(step) = right else {
            return must("right", SqlState::SYNTAX_ERROR);
        };
        let bound = self.bind_set_expr(left, Unknowns::Text)?;
        let columns: Vec<(String, DataType)> =
            bound.columns.into_iter().map(|column| (column.name, column.ty)).collect();
        let columns = renamed(columns, &cte.alias)?;
        let columns: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
        check(clauses, &columns, at)?;
        let Some(alias) = own_alias(step, &name) else {
            let message = format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{name}\" \
                 must be at the top level of its right-hand SELECT"
            );
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        };
        let added = added_names(clauses);
        let mut step = (**step).clone();
        for column in &added {
            let expr = ast::Expr::CompoundIdentifier(vec![alias.clone(), ident(column)]);
            step.projection.push(ast::SelectItem::UnnamedExpr(expr));
        }
        let listed: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let all: Vec<String> = columns.iter().chain(&added).map(|name| quoted(name)).collect();
        let base = format!(
            "SELECT {}, {} FROM (SELECT 1) AS {BASE} ({})",
            listed.join(", "),
            first_values(clauses).join(", "),
            listed.join(", ")
        );
        let follows = match &clauses.cycle {
            Some(cycle) => format!(" WHERE {} <> {}", quoted(&cycle.mark), cycle.values.0),
            None => String::new(),
        };
        let next = format!(
            "SELECT {}, {} FROM (SELECT 1) AS {STEP} ({}){follows}",
            listed.join(", "),
            next_values(clauses).join(", "),
            all.join(", ")
        );
        let step = ast::SetExpr::Select(Box::new(step));
        Ok((around(&base, left.clone())?, around(&next, step)?))
    }
}

/// The query `text` with `inner` in the place of the query in its FROM. The text is not the
/// statement's, so that only what stands in `inner` has places.
fn around(text: &str, inner: ast::SetExpr) -> Result<ast::SetExpr> {
    let mut query = parse_query(text)?;
    if let ast::SetExpr::Select(select) = &mut *query.body
        && let Some(item) = select.from.first_mut()
        && let ast::TableFactor::Derived { subquery, .. } = &mut item.relation
    {
        *subquery.body = inner;
    }
    Ok(*query.body)
}

fn ident(name: &str) -> ast::Ident {
    ast::Ident::with_quote('"', name)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

/// How many columns the clauses add.
pub(super) fn added_count(clauses: &RecursionClauses) -> usize {
    added_names(clauses).len()
}

/// The columns that the clauses add, in order.
fn added_names(clauses: &RecursionClauses) -> Vec<String> {
    let mut names: Vec<String> = clauses.search.iter().map(|search| search.set.clone()).collect();
    if let Some(cycle) = &clauses.cycle {
        names.extend([cycle.mark.clone(), cycle.path.clone()]);
    }
    names
}

/// The added columns of rows of the base.
fn first_values(clauses: &RecursionClauses) -> Vec<String> {
    let mut values = Vec::new();
    if let Some(Search { order, by, set }) = &clauses.search {
        let value = match order {
            SearchOrder::Depth => format!("ARRAY[ROW({})]", list(by)),
            SearchOrder::Breadth => format!("ROW(0::bigint, {})", list(by)),
        };
        values.push(format!("{value} AS {}", quoted(set)));
    }
    if let Some(Cycle { columns, mark, values: (_, default), path }) = &clauses.cycle {
        values.push(format!("{default} AS {}", quoted(mark)));
        values.push(format!("ARRAY[ROW({})] AS {}", list(columns), quoted(path)));
    }
    values
}

/// The added columns of rows of the step, which have those of the row before.
fn next_values(clauses: &RecursionClauses) -> Vec<String> {
    let mut values = Vec::new();
    if let Some(Search { order, by, set }) = &clauses.search {
        let (set, by) = (quoted(set), list(by));
        let value = match order {
            SearchOrder::Depth => format!("array_append({STEP}.{set}, ROW({by}))"),
            SearchOrder::Breadth => format!("ROW(({STEP}.{set}).f1 + 1, {by})"),
        };
        values.push(format!("{value} AS {set}"));
    }
    if let Some(Cycle { columns, mark, values: (value, default), path }) = &clauses.cycle {
        let (columns, mark, path) = (list(columns), quoted(mark), quoted(path));
        values.push(format!(
            "CASE WHEN ROW({columns}) = ANY ({STEP}.{path}) THEN {value} ELSE {default} END \
             AS {mark}"
        ));
        values.push(format!("array_append({STEP}.{path}, ROW({columns})) AS {path}"));
    }
    values
}

/// The name by which `step` reads the recursive query in its FROM.
fn own_alias(step: &ast::Select, name: &str) -> Option<ast::Ident> {
    let of = |factor: &ast::TableFactor| {
        let ast::TableFactor::Table { name: relation, alias, .. } = factor else { return None };
        let [ast::ObjectNamePart::Identifier(ident)] = relation.0.as_slice() else { return None };
        let alias = alias.as_ref().map_or(ident, |alias| &alias.name);
        (folded(ident) == name).then(|| alias.clone())
    };
    let joined = |item: &ast::TableWithJoins| {
        of(&item.relation).or_else(|| item.joins.iter().find_map(|join| of(&join.relation)))
    };
    step.from.iter().find_map(joined)
}

/// Refuses columns that are not there, and names that are.
fn check(clauses: &RecursionClauses, columns: &[String], at: Place) -> Result<()> {
    let wrong = |message: String| fail(SqlState::SYNTAX_ERROR, message, at);
    let listed = |what: &str, names: &[String]| {
        for (number, name) in names.iter().enumerate() {
            if !columns.contains(name) {
                return wrong(format!("{what} column \"{name}\" not in WITH query column list"));
            }
            if names[..number].contains(name) {
                let message = format!("{what} column \"{name}\" specified more than once");
                return fail(SqlState::DUPLICATE_COLUMN, message, at);
            }
        }
        Ok(())
    };
    let free = |what: &str, name: &String| {
        if columns.contains(name) {
            let message =
                format!("{what} column name \"{name}\" already used in WITH query column list");
            fail(SqlState::AMBIGUOUS_COLUMN, message, at)
        } else {
            Ok(())
        }
    };
    if let Some(search) = &clauses.search {
        listed("search", &search.by)?;
        free("search sequence", &search.set)?;
    }
    let Some(cycle) = &clauses.cycle else { return Ok(()) };
    listed("cycle", &cycle.columns)?;
    free("cycle mark", &cycle.mark)?;
    free("cycle path", &cycle.path)?;
    if cycle.mark == cycle.path {
        return wrong("cycle mark column name and cycle path column name are the same".to_owned());
    }
    if let Some(search) = &clauses.search {
        for (what, name) in [("mark", &cycle.mark), ("path", &cycle.path)] {
            if search.set == *name {
                let message = format!(
                    "search sequence column name and cycle {what} column name are the same"
                );
                return wrong(message);
            }
        }
    }
    Ok(())
}
