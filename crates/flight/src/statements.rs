//! Statements: run, or prepared and run with values.

use std::sync::Arc;

use arrow_flight::sql::{
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult,
    CommandPreparedStatementQuery, CommandPreparedStatementUpdate, CommandStatementQuery,
    CommandStatementUpdate, DoPutPreparedStatementResult, ProstMessageExt as _,
    TicketStatementQuery,
};
use arrow_flight::{
    FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc, SchemaResult, Ticket,
};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::Schema;
use bytes::Bytes;
use engine::{PreparedStatement, QueryResult, Session};
use parking_lot::Mutex;
use prost::Message as _;
use types::{DataType, Error, Result, Value};

use crate::door::Caller;
use crate::flights::{Flights, Prepared, refused};
use crate::parameters::{Sent, rows};
use crate::seat::{Taken, run};

fn unmade(error: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("an Arrow schema: {error}"))
}

/// A FlightInfo with this schema and one ticket.
pub(crate) fn info_of(
    descriptor: FlightDescriptor,
    schema: &Schema,
    tickets: Vec<Bytes>,
) -> Result<FlightInfo> {
    let info = FlightInfo::new().try_with_schema(schema).map_err(unmade)?;
    let endpoint = |ticket| FlightEndpoint::new().with_ticket(Ticket::new(ticket));
    let endpoints = tickets.into_iter().map(endpoint).collect();
    Ok(info.with_descriptor(descriptor).with_endpoints(endpoints))
}

/// A schema as the answer to GetSchema.
pub(crate) fn schema_result(schema: &Schema) -> Result<SchemaResult> {
    let options = IpcWriteOptions::default();
    SchemaAsIpc::new(schema, &options).try_into().map_err(unmade)
}

fn schema_bytes(schema: &Schema) -> Result<Bytes> {
    let options = IpcWriteOptions::default();
    let message: IpcMessage = SchemaAsIpc::new(schema, &options).try_into().map_err(unmade)?;
    Ok(message.0)
}

/// Rows that a statement changed, by its tag.
fn changed(tag: &str) -> i64 {
    if tag.starts_with("SELECT") {
        return 0;
    }
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Runs the prepared statement with each of these rows of values, in an implicit transaction; how
/// many rows they changed.
fn execute_all(
    session: &mut Session,
    statement: &Mutex<PreparedStatement>,
    rows: &[Vec<Value>],
) -> Result<i64> {
    session.begin_implicit()?;
    let mut count = 0;
    for values in rows {
        match session.execute_prepared(&mut statement.lock(), values) {
            Ok(result) => count += changed(result.tag()),
            Err(error) => {
                session.fail_transaction()?;
                return Err(error);
            }
        }
    }
    Ok(count)
}

/// The next rows of values that a client sends; the transaction of `seat` fails with them.
async fn next_rows(
    sent: &mut Sent,
    prepared: &Prepared,
    seat: &mut Taken,
) -> Result<Option<Arc<Vec<Vec<Value>>>>> {
    let batch = sent.next().await;
    let read = batch.and_then(|batch| {
        let zone = seat.session.time_zone();
        batch.map(|batch| rows(&batch, &prepared.types, zone)).transpose()
    });
    if read.is_err() {
        seat.session.fail_transaction()?;
    }
    Ok(read?.map(Arc::new))
}

impl Flights {
    /// Keeps the rows of a statement that ran; the FlightInfo with their ticket.
    fn keep(
        &self,
        caller: &Caller,
        descriptor: FlightDescriptor,
        result: QueryResult,
    ) -> Result<FlightInfo> {
        let schema = formats::arrow_schema(result.columns());
        let (count, tag) = (result.row_count(), result.tag().to_owned());
        let statement_handle = self.results.put(&caller.user, Mutex::new(Some(result)))?;
        let ticket = TicketStatementQuery { statement_handle }.as_any().encode_to_vec();
        let info = info_of(descriptor, &schema, vec![ticket.into()])?;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        Ok(info.with_total_records(count).with_app_metadata(tag).with_ordered(true))
    }

    /// Runs a statement, and keeps its rows.
    ///
    /// # Errors
    /// Errors of the statement.
    pub(crate) async fn query(
        &self,
        caller: &Caller,
        descriptor: FlightDescriptor,
        asked: CommandStatementQuery,
    ) -> Result<FlightInfo> {
        let seat = self.seat(caller, asked.transaction_id.as_ref())?;
        let ran = run(self.take(seat).await?, move |session| session.execute(&asked.query));
        let (_, result) = ran.await?;
        self.keep(caller, descriptor, result)
    }

    /// The columns of a statement's rows; it does not run.
    ///
    /// # Errors
    /// Errors of preparing it.
    pub(crate) async fn query_schema(
        &self,
        caller: &Caller,
        asked: CommandStatementQuery,
    ) -> Result<SchemaResult> {
        let seat = self.seat(caller, asked.transaction_id.as_ref())?;
        let prepare = move |session: &mut Session| session.prepare(&asked.query, &[]);
        let (_, prepared) = run(self.take(seat).await?, prepare).await?;
        schema_result(&formats::arrow_schema(prepared.columns().unwrap_or_default()))
    }

    /// Rows that wait, which are given once.
    ///
    /// # Errors
    /// 26000 when there are none any more.
    pub(crate) fn result(&self, caller: &Caller, handle: &[u8]) -> Result<QueryResult> {
        let waiting = self.results.take(&caller.user, handle)?;
        let result = waiting.lock().take();
        result.ok_or_else(|| Error::internal("rows that were read"))
    }

    /// Runs a statement for what it changes; how many rows.
    ///
    /// # Errors
    /// Errors of the statement.
    pub(crate) async fn update(
        &self,
        caller: &Caller,
        asked: CommandStatementUpdate,
    ) -> Result<i64> {
        let seat = self.seat(caller, asked.transaction_id.as_ref())?;
        let ran = run(self.take(seat).await?, move |session| session.execute(&asked.query));
        let (_, result) = ran.await?;
        Ok(changed(result.tag()))
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// Errors of parsing and binding it.
    pub(crate) async fn prepare(
        &self,
        caller: &Caller,
        asked: ActionCreatePreparedStatementRequest,
    ) -> Result<ActionCreatePreparedStatementResult> {
        let seat = self.seat(caller, asked.transaction_id.as_ref())?;
        let text: Arc<str> = asked.query.as_str().into();
        let prepare = move |session: &mut Session| session.prepare(&asked.query, &[]);
        let (_, statement) = run(self.take(Arc::clone(&seat)).await?, prepare).await?;
        let types = statement.parameters().to_vec();
        let named = types.iter().enumerate().map(|(at, ty)| (format!("${}", at + 1), *ty));
        let named: Vec<(String, DataType)> = named.collect();
        let columns = formats::arrow_schema(statement.columns().unwrap_or_default());
        let (dataset_schema, parameter_schema) =
            (schema_bytes(&columns)?, schema_bytes(&formats::arrow_schema(&named))?);
        let (statement, rows) = (Arc::new(Mutex::new(statement)), Mutex::default());
        let prepared = Prepared { text, seat, statement, types, rows };
        let prepared_statement_handle = self.prepared.put(&caller.user, prepared)?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle,
            dataset_schema,
            parameter_schema,
        })
    }

    /// Keeps rows of values for the executions of a prepared statement.
    ///
    /// # Errors
    /// 26000 for an unknown statement, 08P01 for values that do not fit it.
    pub(crate) async fn bind(
        &self,
        caller: &Caller,
        asked: CommandPreparedStatementQuery,
        mut sent: Sent,
    ) -> Result<DoPutPreparedStatementResult> {
        let handle = asked.prepared_statement_handle;
        let prepared = self.prepared.get(&caller.user, &handle)?;
        let seat = self.take(Arc::clone(&prepared.seat)).await?;
        let mut bound = Vec::new();
        while let Some(batch) = sent.next().await? {
            bound.extend(rows(&batch, &prepared.types, seat.session.time_zone())?);
        }
        *prepared.rows.lock() = Arc::new(bound);
        Ok(DoPutPreparedStatementResult { prepared_statement_handle: Some(handle) })
    }

    /// Runs a prepared statement with the values that were bound, and keeps its rows.
    ///
    /// # Errors
    /// 26000 for an unknown statement, 0A000 for several rows of values; errors of the statement.
    pub(crate) async fn prepared_query(
        &self,
        caller: &Caller,
        descriptor: FlightDescriptor,
        asked: CommandPreparedStatementQuery,
    ) -> Result<FlightInfo> {
        let prepared = self.prepared.get(&caller.user, &asked.prepared_statement_handle)?;
        if prepared.rows.lock().len() > 1 {
            return Err(refused("a query with several rows of parameters"));
        }
        let seat = self.take(Arc::clone(&prepared.seat)).await?;
        let (_, result) = self.execute_once(&prepared, seat).await?;
        self.keep(caller, descriptor, result)
    }

    /// The columns of a prepared statement's rows.
    ///
    /// # Errors
    /// 26000 for an unknown statement.
    pub(crate) fn prepared_schema(
        &self,
        caller: &Caller,
        asked: &CommandPreparedStatementQuery,
    ) -> Result<SchemaResult> {
        let prepared = self.prepared.get(&caller.user, &asked.prepared_statement_handle)?;
        let statement = prepared.statement.lock();
        schema_result(&formats::arrow_schema(statement.columns().unwrap_or_default()))
    }

    /// Runs a prepared statement for what it changes, once for each row of values, all in one
    /// transaction; how many rows.
    ///
    /// # Errors
    /// 26000 for an unknown statement; errors of the statement, after which nothing happened.
    pub(crate) async fn prepared_update(
        &self,
        caller: &Caller,
        asked: CommandPreparedStatementUpdate,
        mut sent: Sent,
    ) -> Result<i64> {
        let prepared = self.prepared.get(&caller.user, &asked.prepared_statement_handle)?;
        let mut seat = self.take(Arc::clone(&prepared.seat)).await?;
        let mut given = next_rows(&mut sent, &prepared, &mut seat).await?;
        if given.is_none() {
            let bound = prepared.rows.lock().clone();
            if bound.len() <= 1 {
                return self
                    .execute_once(&prepared, seat)
                    .await
                    .map(|(_, result)| changed(result.tag()));
            }
            given = Some(bound);
        }
        let mut count = 0;
        while let Some(rows) = given {
            let statement = Arc::clone(&prepared.statement);
            let work = move |session: &mut Session| execute_all(session, &statement, &rows);
            let (back, more) = run(seat, work).await?;
            (seat, count) = (back, count + more);
            given = next_rows(&mut sent, &prepared, &mut seat).await?;
        }
        run(seat, Session::end_implicit).await?;
        Ok(count)
    }

    /// Runs a prepared statement with the row of values that was bound, if there is one.
    async fn execute_once(&self, prepared: &Prepared, seat: Taken) -> Result<(Taken, QueryResult)> {
        let (statement, bound) = (Arc::clone(&prepared.statement), prepared.rows.lock().clone());
        let text = Arc::clone(&prepared.text);
        run(seat, move |session| {
            session.show_query(&text);
            let values = bound.first().map_or(&[][..], Vec::as_slice);
            session.execute_prepared(&mut statement.lock(), values)
        })
        .await
    }

    /// Forgets a prepared statement.
    pub(crate) fn close(&self, caller: &Caller, handle: &[u8]) {
        // One that is gone is closed.
        let _ = self.prepared.take(&caller.user, handle);
    }
}
