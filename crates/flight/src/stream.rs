//! Rows on their way to a client: batch by batch, as fast as it reads.

use std::pin::Pin;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader as _};
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_schema::SchemaRef;
use engine::QueryResult;
use formats::{Intervals, ResultReader};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use tonic::Status;
use types::Error;

use crate::status::{status_of, status_of_arrow, status_of_flight};

/// Messages of a call, one after the other.
pub(crate) type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// These messages.
pub(crate) fn messages<T: Send + 'static>(all: Vec<T>) -> Messages<T> {
    Box::pin(futures::stream::iter(all.into_iter().map(Ok)))
}

/// The next batch of a reader, made on a thread where that takes long.
async fn next(mut reader: ResultReader) -> Result<Option<(RecordBatch, ResultReader)>, Status> {
    let made = tokio::task::spawn_blocking(move || {
        let batch = reader.next();
        (batch, reader)
    });
    let (batch, reader) =
        made.await.map_err(|_| status_of(&Error::internal("a batch could not be made")))?;
    Ok(batch.transpose().map_err(status_of_arrow)?.map(|batch| (batch, reader)))
}

/// Batches of the rows of `result`.
pub(crate) fn batches(
    result: QueryResult,
) -> (SchemaRef, impl Stream<Item = Result<RecordBatch, Status>> + Send) {
    let reader = ResultReader::new(Arc::new(result), Intervals::Calendar);
    (reader.schema(), futures::stream::try_unfold(reader, next))
}

/// Batches as messages.
pub(crate) fn encoded(
    schema: SchemaRef,
    batches: impl Stream<Item = Result<RecordBatch, Status>> + Send + 'static,
) -> Messages<FlightData> {
    let batches = batches.map_err(FlightError::from);
    let encoder = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
    encoder.map_err(status_of_flight).boxed()
}

/// The rows of `result` as messages. It is kept until they are read.
pub(crate) fn rows(result: QueryResult) -> Messages<FlightData> {
    let (schema, batches) = batches(result);
    encoded(schema, batches)
}

/// One batch as messages.
pub(crate) fn one(batch: RecordBatch) -> Messages<FlightData> {
    encoded(batch.schema(), futures::stream::iter([Ok(batch)]))
}
