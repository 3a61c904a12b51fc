//! Values of parameters, which clients send as record batches: a row for each execution.

use std::pin::Pin;

use arrow_array::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use futures::{Stream, StreamExt as _};
use kernels::Vector;
use tonic::{Status, Streaming};
use types::calendar::TimeZone;
use types::{DataType, Error, Result, SqlState, Value, text};

use crate::status::unreadable;

/// Batches that a client sends; the first message with its descriptor was taken already.
pub(crate) struct Sent(Pin<Box<dyn Stream<Item = Result<RecordBatch, FlightError>> + Send>>);

impl Sent {
    /// The batches of `first` and what follows in `rest`. Messages without data are none.
    pub(crate) fn new(first: FlightData, rest: Streaming<FlightData>) -> Self {
        let all = futures::stream::iter([Ok(first)]).chain(rest);
        let with_data = all.filter(|message: &Result<FlightData, Status>| {
            let is_data = message.as_ref().map_or(true, |data| !data.data_header.is_empty());
            std::future::ready(is_data)
        });
        let data = with_data.map(|message| message.map_err(FlightError::from));
        Self(Box::pin(FlightRecordBatchStream::new_from_flight_data(data).fuse()))
    }

    /// The next batch with rows.
    ///
    /// # Errors
    /// 08P01 for what is no record batch.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.0.next().await {
            let batch = batch.map_err(unreadable)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// A column of values for parameters of type `wanted`; texts are read by the clocks of `zone`.
fn column(vector: &Vector, ty: DataType, wanted: DataType, zone: &TimeZone) -> Result<Vec<Value>> {
    let values = |vector: &Vector| (0..vector.len()).map(|row| vector.value(row)).collect();
    if ty == wanted || ty.is_text() && wanted.is_text() {
        return Ok(values(vector));
    }
    if !ty.is_text() {
        return Ok(values(&kernels::cast::cast(vector, ty, wanted)?));
    }
    let parsed = |value: Value| match &value {
        Value::Str(bytes) => {
            text::parse_in(std::str::from_utf8(bytes).unwrap_or_default(), wanted, zone)
        }
        _ => Ok(value),
    };
    values(vector).into_iter().map(parsed).collect()
}

/// The rows of `batch` as values for parameters of these types.
///
/// # Errors
/// 08P01 for another number of columns; errors of the casts.
pub(crate) fn rows(
    batch: &RecordBatch,
    types: &[DataType],
    zone: &TimeZone,
) -> Result<Vec<Vec<Value>>> {
    let given = formats::arrow_columns(batch)?;
    if given.len() != types.len() {
        let message = format!("{} parameter values for {}", given.len(), types.len());
        return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
    }
    let mut rows = vec![Vec::with_capacity(types.len()); batch.num_rows()];
    for ((ty, vector), wanted) in given.iter().zip(types) {
        let values = column(vector, *ty, *wanted, zone)?;
        rows.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
    }
    Ok(rows)
}
