//! Functions of the system catalog that give rows: each stands for a query.
//!
//! ```text
//! FROM f(a) AS x              FROM LATERAL (query of a) AS x
//! SELECT f(a), (f(a)).field   unnest(array of the query's rows)
//! ```
//! Elsewhere: those that give one value (`system`).

use sqlparser::ast::{self, Expr as Ast};
use types::Result;

use super::from::FunctionItem;
use super::name::object_parts;
use super::scope::Scope;
use super::system::filled;
use super::{Binder, Bound};
use crate::algebra::Plan;

/// The rows of `_pg_expandarray`.
const EXPANDED: &str = "SELECT x, n::int AS n FROM unnest($1) WITH ORDINALITY AS pgu (x, n)";

/// The rows of `aclexplode`: a text of an item is `grantee=letters/grantor`, with a star behind the
/// letter of a privilege that can be granted on.
const EXPLODED: &str = "SELECT \
     coalesce((SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = pgi.part[3]), 0) \
         AS grantor, \
     coalesce((SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = pgi.part[1]), 0) \
         AS grantee, \
     CASE pgl.letter[1] WHEN 'a' THEN 'INSERT' WHEN 'r' THEN 'SELECT' WHEN 'w' THEN 'UPDATE' \
         WHEN 'd' THEN 'DELETE' WHEN 'D' THEN 'TRUNCATE' WHEN 'x' THEN 'REFERENCES' \
         WHEN 't' THEN 'TRIGGER' WHEN 'X' THEN 'EXECUTE' WHEN 'U' THEN 'USAGE' \
         WHEN 'C' THEN 'CREATE' WHEN 'T' THEN 'TEMPORARY' WHEN 'c' THEN 'CONNECT' \
         WHEN 's' THEN 'SET' WHEN 'A' THEN 'ALTER SYSTEM' END AS privilege_type, \
     pgl.letter[2] = '*' AS is_grantable \
     FROM (SELECT pgt.place, regexp_match(replace(pgt.item::text, '\"', ''), \
         '^(.*)=([a-zA-Z*]*)/(.*)$') AS part \
         FROM unnest($1::aclitem[]) WITH ORDINALITY AS pgt (item, place)) AS pgi, \
     LATERAL regexp_matches(pgi.part[2], '([a-zA-Z])([*]?)', 'g') \
         WITH ORDINALITY AS pgl (letter, place) \
     ORDER BY pgi.place, pgl.place";

/// The query that a call of this name with so many arguments stands for.
fn query_of(name: &str, count: usize) -> Option<&'static str> {
    match (name, count) {
        ("_pg_expandarray", 1) => Some(EXPANDED),
        ("aclexplode", 1) => Some(EXPLODED),
        _ => None,
    }
}

/// True for the name of a function that gives rows.
pub(super) fn has_system_rows(name: &str, count: usize) -> bool {
    query_of(name, count).is_some()
}

impl Binder<'_> {
    /// The call outside of FROM: its rows as values; None for any other function.
    pub(super) fn system_rows(&mut self, name: &str, arguments: &[&Ast]) -> Result<Option<Bound>> {
        let Some(query) = query_of(name, arguments.len()) else { return Ok(None) };
        let rows = format!("unnest(ARRAY(SELECT pgq FROM ({query}) AS pgq))");
        self.bind_expr(&filled(&rows, arguments)?).map(Some)
    }

    /// The call in FROM; None for any other function.
    pub(super) fn system_rows_scan(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
        item: FunctionItem<'_>,
    ) -> Result<Option<(Plan, Scope)>> {
        let function = object_parts(name)?.pop().unwrap_or_default();
        let Some(query) = query_of(&function, args.len()) else { return Ok(None) };
        let arguments = args.iter().map(|arg| match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        });
        let Some(arguments) = arguments.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let query = if item.ordinality {
            let counted = "SELECT pgq.*, row_number() OVER () AS ordinality FROM";
            format!("({counted} ({query}) AS pgq)")
        } else {
            format!("({query})")
        };
        let Ast::Subquery(query) = filled(&query, &arguments)? else { return Ok(None) };
        let own = ast::TableAlias {
            explicit: false,
            name: ast::Ident::new(function),
            columns: Vec::new(),
            at: None,
        };
        self.bind_derived(true, &query, Some(item.alias.unwrap_or(&own))).map(Some)
    }
}
