//! A result as Arrow's record batches.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{DurationMicrosecondType, IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType as Arrow, Field, Schema, SchemaRef, TimeUnit};
use engine::QueryResult;
use types::{Error, Result, SqlState};

use super::{arrow_schema, record_batch};

/// Rows that a batch has at least, unless it is the last: what reads many small ones is slow.
const READER_ROWS: usize = 1 << 16;

/// Representation of intervals in Arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intervals {
    /// Months, days and nanoseconds.
    Calendar,
    /// Microseconds, for readers that know nothing else; a day is 24 hours, and an interval with
    /// months fails with 22008.
    Durations,
}

/// Reads a result batch by batch. An error has the SQLSTATE in its text.
pub struct ResultReader {
    result: Arc<QueryResult>,
    /// Schema with intervals of months, days and nanoseconds.
    plain: SchemaRef,
    schema: SchemaRef,
    next: usize,
}

impl ResultReader {
    /// All rows of `result`.
    pub fn new(result: Arc<QueryResult>, intervals: Intervals) -> Self {
        let plain = arrow_schema(result.columns());
        let schema = match intervals {
            Intervals::Calendar => Arc::clone(&plain),
            Intervals::Durations => with_durations(&plain),
        };
        Self { result, plain, schema, next: 0 }
    }

    fn read(&mut self) -> Result<Vec<RecordBatch>> {
        let (mut parts, mut rows) = (Vec::new(), 0);
        while rows < READER_ROWS
            && let Some(batch) = self.result.batches().get(self.next)
        {
            self.next += 1;
            rows += batch.rows;
            if batch.rows > 0 {
                let part = record_batch(batch, self.result.columns(), &self.plain)?;
                parts.push(durations_of(part, &self.schema)?);
            }
        }
        Ok(parts)
    }
}

/// `schema` with durations where intervals are.
fn with_durations(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &Arc<Field>| match field.data_type() {
        Arrow::Interval(_) => {
            Field::new(field.name(), Arrow::Duration(TimeUnit::Microsecond), true)
        }
        _ => Field::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// `batch` in the form of `schema`.
fn durations_of(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.schema_ref() == schema {
        return Ok(batch);
    }
    let column = |(array, field): (&ArrayRef, &Arc<Field>)| match field.data_type() {
        Arrow::Duration(_) => duration_array(array),
        _ => Ok(Arc::clone(array)),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<_>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
        .map_err(|e| Error::internal(format!("Arrow batch: {e}")))
}

fn duration_array(array: &ArrayRef) -> Result<ArrayRef> {
    let micros = |interval: IntervalMonthDayNano| {
        if interval.months != 0 {
            let message = "an interval with months has no fixed length";
            let hint = "Cast it to text, or take parts of it with extract.";
            return Err(Error::new(SqlState::DATETIME_OVERFLOW, message).with_hint(hint));
        }
        let days = i64::from(interval.days).checked_mul(86_400_000_000);
        days.and_then(|days| days.checked_add(interval.nanoseconds / 1_000))
            .ok_or_else(types::calendar::interval_out_of_range)
    };
    let intervals = array.as_primitive::<IntervalMonthDayNanoType>();
    Ok(Arc::new(intervals.try_unary::<_, DurationMicrosecondType, _>(micros)?))
}

impl Iterator for ResultReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let parts = match self.read() {
            Ok(parts) => parts,
            Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
        };
        match parts.as_slice() {
            [] => None,
            [batch] => Some(Ok(batch.clone())),
            _ => Some(arrow_select::concat::concat_batches(&self.schema, &parts)),
        }
    }
}

impl RecordBatchReader for ResultReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
