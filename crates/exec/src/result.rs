//! Stored rows: query results, materialised CTEs, build sides of nested loops.

use std::sync::Arc;

use kernels::{Batch, Column, Vector, VectorBuilder, VectorData};
use parking_lot::Mutex;
use plan::physical::OutputColumn;
use storage::{BufferPool, MemoryCategory, Positions, Reservation};
use types::{DataType, Result, Value};

use crate::context::QueryContext;
use crate::flow::{Flow, RowSource};
use crate::pipeline::{Demand, Place, Push, Sink, Source, Stream, drive};

/// Gathers whole batches with their place, so that they can be put in order.
struct BatchSink {
    context: Arc<QueryContext>,
}

/// Rows that a worker gathered.
struct Gathered {
    batches: Vec<(Place, Batch)>,
    bytes: u64,
    memory: Reservation,
}

/// Approximate bytes of a batch: fixed-width values and string views. Strings belong to tables, or
/// are counted by their makers (`kernels::strings`).
pub(crate) fn batch_bytes(batch: &Batch) -> u64 {
    let row_bytes: u64 = batch.columns.iter().map(column_bytes).sum();
    row_bytes + 64
}

fn column_bytes(column: &Column) -> u64 {
    use types::PhysicalType as P;
    match column {
        Column::Constant(..) => 16,
        Column::Dictionary(codes, _) => codes.len() as u64 * 4,
        Column::Plain(v) => {
            let width = match v.physical() {
                P::Bool => 1,
                P::I32 => 4,
                P::I64 | P::F64 => 8,
                P::I128 | P::Interval | P::Str => 16,
            };
            v.len() as u64 * width
        }
    }
}

/// Bytes of the strings of `batch` that a copy of it would copy: those of tables are shared.
pub(crate) fn string_bytes(batch: &Batch) -> u64 {
    let of = |vector: &Vector| -> usize {
        let VectorData::Str(strings) = &vector.data else { return 0 };
        if strings.is_pinned() {
            return 0;
        }
        strings.views().iter().map(|view| if view.is_inline() { 0 } else { view.len() }).sum()
    };
    let of_column = |column: &Column| match column {
        Column::Plain(vector) => of(vector),
        Column::Constant(vector, rows) => of(vector) * rows,
        Column::Dictionary(codes, vector) if !vector.is_empty() => {
            of(vector) / vector.len() * codes.len()
        }
        Column::Dictionary(..) => 0,
    };
    batch.columns.iter().map(of_column).sum::<usize>() as u64
}

impl Sink for BatchSink {
    type Local = Gathered;

    fn local(&self) -> Gathered {
        let memory = Reservation::empty(&self.context.pool, MemoryCategory::Temporary);
        Gathered { batches: Vec::new(), bytes: 0, memory }
    }

    fn consume(&self, local: &mut Gathered, flow: Flow, place: Place) -> Result<Demand> {
        let batch = flow.into_batch()?;
        local.bytes += batch_bytes(&batch);
        local.memory.resize(local.bytes)?;
        local.batches.push((place, batch));
        Ok(Demand::More)
    }
}

/// The rows of a query, in order, as batches.
pub struct ResultSet {
    /// Name and type of each column.
    pub columns: Arc<[(String, DataType)]>,
    /// Rows.
    pub batches: Vec<Batch>,
    memory: Vec<Reservation>,
}

impl ResultSet {
    /// Runs `stream` and keeps its rows in stream order.
    ///
    /// # Errors
    /// Whatever running meets, 53200 when the result does not fit in memory.
    pub fn collect(
        context: &Arc<QueryContext>,
        stream: &Stream,
        output: &[OutputColumn],
    ) -> Result<Self> {
        let sink = Arc::new(BatchSink { context: Arc::clone(context) });
        let gathered = drive(context, stream, &sink)?;
        let mut batches = Vec::new();
        let mut memory = Vec::new();
        for local in gathered {
            batches.extend(local.batches);
            memory.push(local.memory);
        }
        Ok(Self::of_parts(batches, memory, output))
    }

    /// Rows that the workers gathered, in stream order.
    pub(crate) fn of_parts(
        mut batches: Vec<(Place, Batch)>,
        memory: Vec<Reservation>,
        output: &[OutputColumn],
    ) -> Self {
        // Stable: flows of one work order arrived in their order.
        batches.sort_by_key(|(place, _)| *place);
        let batches = batches.into_iter().map(|(_, batch)| batch).collect();
        let columns = output.iter().map(|c| (c.name.to_string(), c.ty)).collect();
        Self { columns, batches, memory }
    }

    /// Some columns or rows of this result as `batches`, counted as this result is.
    #[must_use]
    pub fn with_batches(
        self,
        columns: impl Into<Arc<[(String, DataType)]>>,
        batches: Vec<Batch>,
    ) -> Self {
        Self { columns: columns.into(), batches, memory: self.memory }
    }

    /// A result of `batches` that were copied, and are counted from now on.
    ///
    /// # Errors
    /// 53200 when there is no room for them.
    pub fn counted(
        pool: &Arc<BufferPool>,
        columns: impl Into<Arc<[(String, DataType)]>>,
        batches: Vec<Batch>,
    ) -> Result<Self> {
        let bytes = batches.iter().map(batch_bytes).sum();
        let memory = vec![pool.reserve(MemoryCategory::Temporary, bytes)?];
        Ok(Self { columns: columns.into(), batches, memory })
    }

    /// A result made elsewhere: SHOW, EXPLAIN.
    pub fn from_batches(
        columns: impl Into<Arc<[(String, DataType)]>>,
        batches: Vec<Batch>,
    ) -> Self {
        Self { columns: columns.into(), batches, memory: Vec::new() }
    }

    /// Rows in all.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(|b| b.rows).sum()
    }

    /// Bytes of memory that the result holds.
    pub fn bytes(&self) -> u64 {
        self.memory.iter().map(Reservation::bytes).sum()
    }
}

/// Rows kept as one batch, readable by row number and as a source.
pub struct StoredRows {
    batch: Batch,
    _memory: Vec<Reservation>,
}

/// Rows per work order of a stored source.
const ORDER_ROWS: usize = 1 << 16;

impl StoredRows {
    /// Runs `stream` and keeps its rows in stream order.
    ///
    /// # Errors
    /// Whatever running meets, 53200 when the rows do not fit in memory.
    pub fn collect(
        context: &Arc<QueryContext>,
        stream: &Stream,
        output: &[OutputColumn],
    ) -> Result<Self> {
        Self::of(ResultSet::collect(context, stream, output)?, output)
    }

    /// The rows of `result`. Its batches' reservation stays for the copy; strings that are copied
    /// are counted besides. Each batch goes as soon as it was copied.
    ///
    /// # Errors
    /// 53200 when the copy does not fit in memory.
    pub(crate) fn of(mut result: ResultSet, output: &[OutputColumn]) -> Result<Self> {
        let rows = result.rows();
        let mut builders: Vec<VectorBuilder> =
            output.iter().map(|c| VectorBuilder::with_capacity(c.physical, rows)).collect();
        for batch in std::mem::take(&mut result.batches) {
            if let Some(memory) = result.memory.first_mut() {
                memory.grow(string_bytes(&batch))?;
            }
            for (builder, column) in builders.iter_mut().zip(&batch.columns) {
                builder.append(&column.to_vector(), None);
            }
        }
        let columns = builders.into_iter().map(|b| Column::plain(b.finish_pinned())).collect();
        Ok(Self { batch: Batch::new(columns, rows), _memory: result.memory })
    }

    /// Rows held by `batch`, accounted for by `memory`.
    pub fn from_batch(batch: Batch, memory: Vec<Reservation>) -> Self {
        Self { batch, _memory: memory }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.batch.rows
    }

    /// All rows.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// One value.
    pub fn value(&self, column: usize, row: usize) -> Value {
        self.batch.columns[column].value(row)
    }

    /// A source of these columns of all rows, in order.
    pub fn source(self: &Arc<Self>, columns: &[usize]) -> Arc<dyn Source> {
        let rows = Arc::new(Picked { rows: Arc::clone(self), columns: columns.to_vec() });
        Arc::new(StoredSource { rows, order: None })
    }

    /// A source of all columns of the rows that `order` lists, in its order.
    pub fn source_in(self: &Arc<Self>, order: Vec<u32>) -> Arc<dyn Source> {
        let columns = (0..self.batch.columns.len()).collect();
        let rows = Arc::new(Picked { rows: Arc::clone(self), columns });
        Arc::new(StoredSource { rows, order: Some(order) })
    }
}

/// The rows of the last round of a recursion, which a stream of the step reads when it runs.
#[derive(Default)]
pub(crate) struct LastRound(Mutex<Option<Arc<StoredRows>>>);

impl LastRound {
    /// A round of these rows.
    #[cfg(test)]
    pub(crate) fn of(rows: Arc<StoredRows>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(rows))))
    }

    /// Replaces the rows.
    pub(crate) fn replace(&self, rows: Arc<StoredRows>) {
        *self.0.lock() = Some(rows);
    }

    /// These columns of the rows that are there when the source runs.
    pub(crate) fn source(self: &Arc<Self>, columns: &[usize]) -> Arc<dyn Source> {
        Arc::new(RoundSource { round: Arc::clone(self), columns: columns.to_vec() })
    }
}

/// Columns of the last round.
struct RoundSource {
    round: Arc<LastRound>,
    columns: Vec<usize>,
}

impl RoundSource {
    fn rows(&self) -> Option<Arc<dyn Source>> {
        self.round.0.lock().as_ref().map(|rows| rows.source(&self.columns))
    }
}

impl Source for RoundSource {
    fn orders(&self) -> usize {
        self.rows().map_or(0, |rows| rows.orders())
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        self.rows().map_or(Ok(Demand::More), |rows| rows.run(order, push))
    }
}

/// Some columns of stored rows.
struct Picked {
    rows: Arc<StoredRows>,
    columns: Vec<usize>,
}

impl RowSource for Picked {
    fn fetch(&self, column: usize, positions: &Positions) -> Result<Column> {
        let column = &self.rows.batch.columns[self.columns[column]];
        Ok(match positions {
            Positions::Range { start, len } => {
                Column::plain(column.to_vector().slice(*start as usize, *len as usize))
            }
            Positions::List(list) => column.gather(list),
        })
    }
}

/// Stored rows as a source.
struct StoredSource {
    rows: Arc<Picked>,
    /// The rows and their order, unless it is all of them as they are stored.
    order: Option<Vec<u32>>,
}

impl StoredSource {
    fn count(&self) -> usize {
        self.order.as_ref().map_or_else(|| self.rows.rows.rows(), Vec::len)
    }
}

impl Source for StoredSource {
    fn orders(&self) -> usize {
        self.count().div_ceil(ORDER_ROWS)
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let end = ((order + 1) * ORDER_ROWS).min(self.count());
        let mut start = order * ORDER_ROWS;
        while start < end {
            let len = (end - start).min(kernels::BATCH_ROWS);
            let positions = match &self.order {
                None => Positions::Range { start: start as u32, len: len as u32 },
                Some(order) => Positions::List(order[start..start + len].into()),
            };
            let source = Arc::clone(&self.rows) as Arc<dyn RowSource>;
            let flow = Flow::from_source(source, self.rows.columns.len(), positions);
            if push(flow)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
            start += len;
        }
        Ok(Demand::More)
    }
}
