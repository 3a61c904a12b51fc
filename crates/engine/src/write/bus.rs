//! Calls of the message bus, in the session's transaction.
//!
//! ```text
//! bus.client    id | name, owner                          who sends and receives
//! bus.sender    client, type                              who may send what
//! bus.receiver  client, type | limits of receipts         who receives what
//! bus.message   receiver, rank, deadline, id | the copy   one row for each copy; the primary key
//!                                                         is the order of the queue
//! bus.archive   copies that were to be kept
//! ```
//! The tables are ordinary ones, so log, recovery, backups, savepoints and isolation are those of
//! all rows; the calls are what writes them. Invariants: a message is in the queue of a client that
//! is connected and registered: who writes either side looks for the other one afterwards
//! ([`table::Tables::newest`]), as foreign keys do. Calls see what is committed when they are made,
//! at any level of isolation: a queue as it was is of no use.
//! Elsewhere: how calls stand in a statement (`sql::bind`), how the tables are made
//! (`define::bus`), who is woken (`instance::arrivals`).
//! Source: Chasseur 2015, sections 4.3 and 4.4. Departures: decision 039.

mod table;
mod arguments;
mod clients;
mod sending;
mod receiving;
mod removing;

use catalog::rows::Rows;
use exec::ResultSet;
use kernels::{Batch, Column, VectorBuilder};
use sql::algebra::BusFunction;
use sql::statement::{BusCall, BusCalls};
use types::{DataType, Result, Value, budget};

use crate::QueryResult;
use crate::session::compiled::OwnQuery;
use crate::statement::running::{Run, Running};
use crate::transaction::work::Begun;
use arguments::Arguments;
use table::Tables;
use txn::manager::Isolation;

/// Runs the calls for each row of their source.
///
/// # Errors
/// 42704, 55000 for clients and types that are not there; 22004, 22023 for arguments; 42501;
/// errors of writes.
pub(crate) fn run(running: &mut Running<'_>, calls: &BusCalls) -> Result<QueryResult> {
    running.session.work().check_writable("a call of the message bus")?;
    let sees = Sees::of(running);
    let source = running.run_query(&calls.source, Run::of(OwnQuery::Source))?;
    let tables = Tables::locked(running.session)?;
    let types: Vec<DataType> = calls.source.columns.iter().map(|column| column.ty).collect();
    if let [BusCall { function: BusFunction::Receive, arguments: first, .. }] = calls.calls[..] {
        let rows = source.batches.first().map(Rows::new);
        let rows = rows.ok_or_else(|| types::Error::internal("a call in FROM has one row"))?;
        let arguments = Arguments { rows: &rows, row: 0, first, types: &types };
        let batch = receiving::receive(running, &tables, arguments, sees)?;
        let columns: Vec<_> = BusFunction::rows().map(|(name, ty)| (name.to_owned(), ty)).into();
        return Ok(QueryResult::from_rows(ResultSet::from_batches(columns, vec![batch])));
    }
    let mut batches = Vec::with_capacity(source.batches.len());
    for batch in &source.batches {
        let rows = Rows::new(batch);
        let result = |call: &BusCall| VectorBuilder::new(call.function.result().physical());
        let mut results: Vec<VectorBuilder> = calls.calls.iter().map(result).collect();
        for row in 0..rows.count {
            budget::check()?;
            for (call, result) in calls.calls.iter().zip(&mut results) {
                let arguments =
                    Arguments { rows: &rows, row, first: call.arguments, types: &types };
                result.push_value(&one(running, &tables, call.function, arguments)?);
            }
        }
        let mut columns: Vec<Column> = batch.columns[..calls.width].to_vec();
        for (call, result) in calls.calls.iter().zip(results) {
            columns[call.column] = Column::plain(result.finish());
        }
        batches.push(Batch::new(columns, batch.rows));
    }
    let columns = calls.source.columns[..calls.width].iter();
    let columns: Vec<_> = columns.map(|column| (column.name.clone(), column.ty)).collect();
    Ok(QueryResult::from_rows(ResultSet::from_batches(columns, batches)))
}

/// One call that gives a value.
fn one(
    running: &mut Running<'_>,
    tables: &Tables,
    function: BusFunction,
    arguments: Arguments<'_>,
) -> Result<Value> {
    let done = |()| Value::text("");
    match function {
        BusFunction::Connect => clients::connect(running, tables, arguments).map(Value::I64),
        BusFunction::Disconnect => clients::disconnect(running, tables, arguments).map(Value::Bool),
        BusFunction::RegisterSender => {
            clients::register_sender(running, tables, arguments).map(done)
        }
        BusFunction::RegisterReceiver => {
            clients::register_receiver(running, tables, arguments).map(done)
        }
        BusFunction::Send => sending::send(running, tables, arguments).map(Value::I64),
        BusFunction::Delete => removing::delete(running, tables, arguments).map(Value::I64),
        BusFunction::Cancel => removing::cancel(running, tables, arguments).map(Value::I64),
        BusFunction::Extend => removing::extend(running, tables, arguments).map(Value::I64),
        BusFunction::Receive => Err(types::Error::internal("rows are no value")),
    }
}

/// Commits that the statement around a call sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sees {
    /// Commits of before, whatever the call waits for.
    Snapshot,
    /// Commits that the call saw, too: what was committed with a message is seen with it.
    Newest,
}

impl Sees {
    /// To be asked before the statement has run a query.
    fn of(running: &Running<'_>) -> Self {
        let work = running.session.work();
        let is_new = work.begun == Begun::ForOneStatement || work.statements == 0;
        if is_new || work.txn.isolation() == Isolation::ReadCommitted {
            Self::Newest
        } else {
            Self::Snapshot
        }
    }

    /// Sees what is committed now, if it may.
    fn refresh(self, running: &mut Running<'_>) {
        if self == Self::Newest {
            running.refresh_view();
        }
    }
}
