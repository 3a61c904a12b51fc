//! Arrow's record batches in FROM.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use engine::registry::{OpenedFile, SourceFunction};
use exec::BatchSource;
use kernels::{BATCH_ROWS, Batch, Column};
use sql::catalog::TableFunctionRef;
use types::Result;

use super::{sql_type, vector_of};

/// Rows of a work order: those of a block.
const ORDER_ROWS: usize = 1 << 16;

/// The rows of `batches`, all of `schema`, called `name` by EXPLAIN. Their memory is shared; a scan
/// copies the columns that it reads, a batch of the engine at a time.
///
/// # Errors
/// 0A000 for a column whose type has no counterpart.
pub fn table(name: &str, schema: &Schema, batches: Vec<RecordBatch>) -> Result<TableFunctionRef> {
    let column = |field: &Arc<arrow_schema::Field>| {
        Ok((field.name().clone(), sql_type(field.name(), field.data_type())?))
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let orders = orders(&batches);
    let source = Arc::new(ArrowSource { batches, orders });
    Ok(SourceFunction::bound(name.to_owned(), OpenedFile { columns, rows: Some(rows), source }))
}

/// Rows `start..end` of a batch.
struct Order {
    batch: usize,
    start: usize,
    end: usize,
}

fn orders(batches: &[RecordBatch]) -> Vec<Order> {
    let of_batch = |(batch, rows): (usize, usize)| {
        let starts = (0..rows).step_by(ORDER_ROWS);
        starts.map(move |start| Order { batch, start, end: rows.min(start + ORDER_ROWS) })
    };
    batches.iter().map(RecordBatch::num_rows).enumerate().flat_map(of_batch).collect()
}

struct ArrowSource {
    batches: Vec<RecordBatch>,
    orders: Vec<Order>,
}

impl BatchSource for ArrowSource {
    fn orders(&self) -> usize {
        self.orders.len()
    }

    fn run(
        &self,
        order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let Order { batch, start, end } = self.orders[order];
        let (batch, schema) = (&self.batches[batch], self.batches[batch].schema_ref());
        for start in (start..end).step_by(BATCH_ROWS) {
            let rows = BATCH_ROWS.min(end - start);
            let read = |&column: &usize| {
                let slice = batch.column(column).slice(start, rows);
                Ok(Column::plain(vector_of(schema.field(column).name(), &*slice)?))
            };
            let read = columns.iter().map(read).collect::<Result<Vec<_>>>()?;
            if !push(Batch::new(read, rows))? {
                break;
            }
        }
        Ok(())
    }
}
