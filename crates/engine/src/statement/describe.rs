//! Describes the rows of a statement before it runs.

use sql::algebra::{OutputColumn, Query};
use sql::statement::{ExplainFormat, FetchAction, Statement};
use types::{DataType, Result};

use crate::Session;
use crate::session::prepared::ColumnOrigin;
use crate::words::settings::shown_name;

type Columns = Vec<(String, DataType)>;

fn of_query(query: &Query) -> Columns {
    query.columns.iter().map(|column| (column.name.clone(), column.ty)).collect()
}

/// The columns of the rows of `statement`; None when it has none, or when only running it tells.
pub(crate) fn columns(session: &Session, statement: &Statement) -> Result<Option<Columns>> {
    let returning = |returning: &Option<sql::statement::Returning>| {
        returning.as_ref().map(|returning| of_query(&returning.query))
    };
    let text = |name: &str| (name.to_owned(), DataType::Text);
    Ok(match statement {
        Statement::Query(query) => Some(of_query(query)),
        Statement::SelectForUpdate(select) => {
            let mut columns = of_query(&select.query);
            columns.truncate(select.width);
            Some(columns)
        }
        Statement::Insert(insert) => returning(&insert.returning),
        Statement::Update(update) => returning(&update.returning),
        Statement::Delete(delete) => returning(&delete.returning),
        Statement::Merge(merge) => returning(&merge.returning),
        Statement::WithChanges(with) => columns(session, &with.main)?,
        Statement::AtCursor(at) => columns(session, &at.statement)?,
        Statement::Explain { options, .. } if options.format == ExplainFormat::Json => {
            Some(vec![("QUERY PLAN".to_owned(), DataType::Json)])
        }
        Statement::Explain { .. } => Some(vec![text("QUERY PLAN")]),
        Statement::Show { name } if name == "all" => {
            Some(vec![text("name"), text("setting"), text("description")])
        }
        Statement::Fetch(fetch) if fetch.action == FetchAction::Fetch => {
            session.cursors.columns(&fetch.name).map(<[_]>::to_vec)
        }
        Statement::Show { name } => Some(vec![text(shown_name(name))]),
        Statement::Execute(execute) => {
            let kept = session.kept_statement(&execute.name);
            kept.and_then(|kept| kept.columns()).map(<[_]>::to_vec)
        }
        _ => None,
    })
}

/// The columns of the rows of `statement` as they were bound; none where another one has them.
pub(crate) fn output(statement: &Statement) -> &[OutputColumn] {
    match statement {
        Statement::Query(query) => &query.columns,
        Statement::SelectForUpdate(select) => &select.query.columns[..select.width],
        Statement::WithChanges(with) => output(&with.main),
        Statement::AtCursor(at) => output(&at.statement),
        other => returning(other).map_or(&[], |query| &query.columns),
    }
}

/// The query of the rows that a statement which writes gives.
fn returning(statement: &Statement) -> Option<&Query> {
    let returning = match statement {
        Statement::Insert(insert) => &insert.returning,
        Statement::Update(update) => &update.returning,
        Statement::Delete(delete) => &delete.returning,
        Statement::Merge(merge) => &merge.returning,
        _ => return None,
    };
    returning.as_ref().map(|returning| &returning.query)
}

/// The origins of the columns of a query, and of RETURNING; those of other statements are not
/// followed.
pub(crate) fn origins(session: &Session, statement: &Statement) -> Vec<ColumnOrigin> {
    let (query, width) = match statement {
        Statement::Query(query) => (query, query.columns.len()),
        Statement::SelectForUpdate(select) => (&select.query, select.width),
        other => match returning(other) {
            Some(query) => (query, query.columns.len()),
            None => return Vec::new(),
        },
    };
    // Temporary relations, and those that nobody else sees yet, have none.
    let state = session.inner().stores.relations.snapshot();
    let number = |column: &OutputColumn| {
        let origin = column.origin.as_ref()?;
        let relation = state.relation_number(&origin.relation)?;
        Some((u32::try_from(relation).ok()?, u16::try_from(origin.ordinal + 1).ok()?))
    };
    query.columns.iter().take(width).map(|column| number(column).unwrap_or_default()).collect()
}
