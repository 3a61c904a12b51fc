//! Queries of our own, of definitions: the values of defaults.

use exec::ResultSet;
use sql::catalog::ColumnDef;
use sql::statement::Statement;
use types::calendar::TimeZone;
use types::{Error, Result, Value};

use super::catalog::{Names, StatementCatalog};
use super::running::{Run, Running};

/// Runs a query of our own, of definitions.
pub(crate) fn query_of(running: &mut Running<'_>, text: &str) -> Result<ResultSet> {
    let statement = sql::parse(text)?.pop();
    let statement = statement.ok_or_else(|| Error::internal("a default is an expression"))?;
    let (literal_zone, names) = (TimeZone::UTC, Names::Public);
    let catalog = StatementCatalog { literal_zone, names, ..running.session.catalog() };
    match sql::bind(&statement, &catalog, &[])? {
        Statement::Query(query) => running.run_query(&query, Run::default()),
        _ => Err(Error::internal("a default is an expression")),
    }
}

/// The value of a column's default; NULL without one.
pub(crate) fn default_of(running: &mut Running<'_>, column: &ColumnDef) -> Result<Value> {
    let Some(default) = column.default_or_domains() else {
        return Ok(Value::Null);
    };
    let result = query_of(running, &format!("SELECT CAST(({default}) AS {})", column.ty))?;
    Ok(result.batches.first().map_or(Value::Null, |batch| batch.columns[0].value(0)))
}
