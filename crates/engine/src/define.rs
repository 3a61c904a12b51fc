//! Statements that define, change and drop tables, views, indexes and sequences.
//!
//! All of them change the transaction's own catalog, which others see when it commits.

pub(crate) mod index;
pub(crate) mod table;
mod view;

use sql::statement::{IfExists, RelationName, Statement};
use storage::Layout;
use types::{Error, Result, SqlState};

use crate::catalog::State;
use crate::{QueryResult, Session};

/// Runs a statement of this module.
pub(crate) fn run(session: &mut Session, statement: Statement) -> Result<QueryResult> {
    match statement {
        Statement::CreateTable(create) => table::create(session, *create),
        Statement::CreateTableAs(create) => table::create_as(session, *create),
        Statement::CreateView(create) => view::create(session, *create),
        Statement::DropTable(drop) => table::drop_all(session, &drop),
        Statement::DropView(drop) => view::drop_all(session, &drop),
        Statement::Truncate(truncate) => table::truncate(session, &truncate),
        _ => Err(Error::unsupported("this statement")),
    }
}

/// The name without schema; only `public` (and `main`, as DuckDB calls it) exists.
pub(crate) fn local_name(name: &RelationName) -> Result<&str> {
    match name.schema.as_deref() {
        None | Some("public" | "main" | "pg_temp") => Ok(&name.name),
        Some(schema) => {
            let message = format!("schema \"{schema}\" does not exist");
            Err(Error::new(SqlState(*b"3F000"), message))
        }
    }
}

/// The layout that WITH (...) asks for, else the database's.
fn layout_of(session: &Session, options: &[(String, String)]) -> Result<Layout> {
    let mut layout = session.inner().layout;
    for (name, value) in options {
        if name != "layout" {
            let message = format!("unrecognized parameter \"{name}\"");
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        layout = Layout::from_name(&value.to_ascii_lowercase()).ok_or_else(|| {
            let message = format!("invalid value for option \"layout\": \"{value}\"");
            Error::new(SqlState::INVALID_PARAMETER, message)
                .with_hint("Valid values are \"row\", \"column\", \"frozen\" and \"auto\".")
        })?;
    }
    Ok(layout)
}

/// Whether a relation of this name may be created: `Ok(false)` when IF NOT EXISTS skips it.
fn may_create(state: &State, name: &str, if_exists: IfExists) -> Result<bool> {
    match if_exists {
        _ if !state.contains(name) => Ok(true),
        IfExists::Skip => Ok(false),
        IfExists::Fail | IfExists::Replace => {
            let message = format!("relation \"{name}\" already exists");
            Err(Error::new(SqlState::DUPLICATE_TABLE, message))
        }
    }
}
