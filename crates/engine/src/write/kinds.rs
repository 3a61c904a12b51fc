//! Statements that read or write rows, each by its kind.

use sql::statement::Statement;
use types::Result;

use super::{at_end, bus, change, insert, lock, merge, parts, triggers};
use crate::QueryResult;
use crate::session::compiled::OwnQuery;
use crate::statement::at_end::AtEnd;
use crate::statement::running::{Run, Running};

impl Running<'_> {
    /// Runs a statement that reads or writes rows; None for another one.
    pub(crate) fn run_rows(&mut self, statement: &Statement) -> Option<Result<QueryResult>> {
        let writes = matches!(
            statement,
            Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_)
                | Statement::WithChanges(_)
        );
        if writes {
            match self.session.work_mut().txn.begin_statement() {
                Ok(view) => self.view = Some(view),
                Err(error) => return Some(Err(error)),
            }
        }
        self.at_end = AtEnd::of(statement);
        match self.run_part(statement) {
            Some(Ok(result)) => {
                let settled = at_end::settle(self).and_then(|()| triggers::settle(self));
                Some(settled.map(|()| result))
            }
            other => other,
        }
    }

    /// Runs a part of the statement, which sees what that does; None as [`Self::run_rows`].
    pub(crate) fn run_part(&mut self, statement: &Statement) -> Option<Result<QueryResult>> {
        Some(match statement {
            Statement::Query(query) => {
                self.run_query(query, Run::of(OwnQuery::Source)).map(QueryResult::from_rows)
            }
            Statement::SelectForUpdate(select) => lock::select(self, select),
            Statement::BusCalls(calls) => bus::run(self, calls),
            Statement::Insert(insert) => insert::insert(self, insert),
            Statement::Update(update) => change::update(self, update),
            Statement::Delete(delete) => change::delete(self, delete),
            Statement::Merge(merge) => merge::merge(self, merge),
            Statement::WithChanges(with) => parts::run(self, with),
            _ => return None,
        })
    }
}
