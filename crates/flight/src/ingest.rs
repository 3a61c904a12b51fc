//! Rows that a client sends to a table, which is made if it says so.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::sql::{CommandStatementIngest, TableExistsOption, TableNotExistOption};
use engine::Session;
use engine::registry::Outside;
use sql::catalog::TableFunctionRef;
use types::{Error, Result, SqlState};

use crate::door::Caller;
use crate::flights::{Flights, refused};
use crate::lists::{identifier, literal};
use crate::parameters::Sent;
use crate::seat::run;

/// The name under which statements find the rows.
const ROWS: &str = "rows of the client";

/// One batch, in FROM.
struct Batch(RecordBatch);

impl Outside for Batch {
    fn find(&self, name: &str) -> Option<Result<TableFunctionRef>> {
        let rows = || formats::arrow_table(name, self.0.schema_ref(), vec![self.0.clone()]);
        (name == ROWS).then(rows)
    }
}

/// Rules for a table that is there, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    missing: TableNotExistOption,
    there: TableExistsOption,
}

impl Rules {
    fn of(asked: &CommandStatementIngest) -> Self {
        let given = asked.table_definition_options.unwrap_or_default();
        Self {
            missing: TableNotExistOption::try_from(given.if_not_exist).unwrap_or_default(),
            there: TableExistsOption::try_from(given.if_exists).unwrap_or_default(),
        }
    }
}

fn names(batch: &RecordBatch) -> String {
    let schema = batch.schema_ref();
    let names: Vec<String> = schema.fields().iter().map(|field| identifier(field.name())).collect();
    names.join(", ")
}

/// Adds the rows of `batch` to `table`; how many.
fn append(session: &mut Session, table: &str, batch: &RecordBatch) -> Result<i64> {
    let (columns, rows) = (names(batch), identifier(ROWS));
    session.execute(&format!("INSERT INTO {table} ({columns}) SELECT {columns} FROM {rows}"))?;
    Ok(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX))
}

/// Adds the first rows, after the table was made ready.
fn first(session: &mut Session, table: &str, rules: Rules, batch: &RecordBatch) -> Result<i64> {
    let known = session.execute(&format!("SELECT to_regclass({}) IS NOT NULL", literal(table)))?;
    let is_there = known.text_rows().concat() == [Some("t".to_owned())];
    let error = |state, what: &str| Err(Error::new(state, format!("relation {table} {what}")));
    match (is_there, rules.there, rules.missing) {
        (true, TableExistsOption::Fail, _) => error(SqlState::DUPLICATE_TABLE, "already exists"),
        (true, TableExistsOption::Replace, _) => {
            session.execute(&format!("DROP TABLE {table}"))?;
            create(session, table, batch)
        }
        (true, ..) => append(session, table, batch),
        (false, _, TableNotExistOption::Create) => create(session, table, batch),
        (false, ..) => error(SqlState::UNDEFINED_TABLE, "does not exist"),
    }
}

/// Makes the table of the columns and rows of `batch`.
fn create(session: &mut Session, table: &str, batch: &RecordBatch) -> Result<i64> {
    session.execute(&format!("CREATE TABLE {table} AS SELECT * FROM {}", identifier(ROWS)))?;
    Ok(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX))
}

/// Runs `work` with the rows of `batch` in FROM, in the session's implicit transaction.
fn with_rows(
    session: &mut Session,
    batch: &RecordBatch,
    work: impl FnOnce(&mut Session) -> Result<i64>,
) -> Result<i64> {
    session.begin_implicit()?;
    session.set_outside(Some(Arc::new(Batch(batch.clone()))));
    let outcome = work(session);
    session.set_outside(None);
    if outcome.is_err() {
        session.fail_transaction()?;
    }
    outcome
}

impl Flights {
    /// Adds the rows that a client sends to a table, all in one transaction; how many.
    ///
    /// # Errors
    /// 42P07 and 42P01 for a table that is there, or is not; errors of INSERT and CREATE TABLE,
    /// after which nothing happened.
    pub(crate) async fn ingest(
        &self,
        caller: &Caller,
        asked: CommandStatementIngest,
        mut sent: Sent,
    ) -> Result<i64> {
        if asked.temporary {
            return Err(refused("a temporary table"));
        }
        let schema = asked.schema.as_ref().filter(|schema| !schema.is_empty());
        let schema = schema.map(|schema| identifier(schema) + ".").unwrap_or_default();
        let (table, rules) = (schema + &identifier(&asked.table), Rules::of(&asked));
        let mut seat = self.take(self.seat(caller, asked.transaction_id.as_ref())?).await?;
        let (mut count, mut is_first) = (0, true);
        loop {
            let batch = match sent.next().await {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) => {
                    seat.session.fail_transaction()?;
                    return Err(error);
                }
            };
            let table = table.clone();
            let (back, more) = run(seat, move |session| {
                with_rows(session, &batch, |session| {
                    if is_first {
                        first(session, &table, rules, &batch)
                    } else {
                        append(session, &table, &batch)
                    }
                })
            })
            .await?;
            (seat, count, is_first) = (back, count + more, false);
        }
        run(seat, Session::end_implicit).await?;
        Ok(count)
    }
}
