//! The stored build side.

use std::sync::Arc;

use kernels::join_table::verify::gather_or_null;
use kernels::{Batch, Column, Vector, VectorBuilder};
use plan::physical::{Expr, ExprKind, Node};
use storage::{MemoryCategory, Positions, Reservation};
use types::{Error, PhysicalType, Result, SqlState};

use crate::context::QueryContext;
use crate::expr::Evaluator;
use crate::flow::{Flow, NULL_ROW, RowSource};
use crate::open::columns_of;
use crate::pipeline::{Demand, Place, Sink, Stream, drive};

use super::layout::{Layout, place_of};
use super::parallel::compute_all;

/// What is stored of each row: columns of the build child, then computed keys.
pub(super) struct BuildInput {
    columns: Vec<usize>,
    computed: Vec<Evaluator>,
    /// All columns that are loaded: stored ones and those that computed keys use.
    loaded: Vec<usize>,
    types: Vec<PhysicalType>,
    /// Per key its place among the stored columns.
    keys: Vec<usize>,
}

impl BuildInput {
    /// What the layout and the key expressions `keys` need of `build`.
    pub(super) fn new(build: &Node, layout: &mut Layout, keys: &[&Expr]) -> Result<Self> {
        let mut columns = layout.build.clone();
        for key in keys {
            if let ExprKind::Column(column) = key.kind {
                place_of(&mut columns, column);
            }
        }
        let mut loaded = columns.clone();
        let mut types: Vec<_> = columns.iter().map(|&c| build.output[c].physical).collect();
        let (mut computed, mut places) = (Vec::new(), Vec::new());
        for key in keys {
            if let ExprKind::Column(column) = key.kind {
                places.push(place_of(&mut columns, column));
                continue;
            }
            places.push(columns.len() + computed.len());
            computed.push(Evaluator::new(key)?);
            types.push(key.physical);
            columns_of(key).into_iter().for_each(|column| {
                place_of(&mut loaded, column);
            });
        }
        Ok(Self { columns, computed, loaded, types, keys: places })
    }

    fn stored(&self, mut flow: Flow) -> Result<Batch> {
        flow.load(&self.loaded)?;
        let batch = flow.batch();
        let mut columns: Vec<_> = self.columns.iter().map(|&c| batch.columns[c].clone()).collect();
        for key in &self.computed {
            columns.push(key.evaluate(batch)?);
        }
        Ok(Batch::new(columns, batch.rows))
    }
}

/// Bytes of one value; strings beyond their views are not counted.
fn width(physical: PhysicalType) -> u64 {
    match physical {
        PhysicalType::Bool => 1,
        PhysicalType::I32 => 4,
        PhysicalType::I64 | PhysicalType::F64 => 8,
        PhysicalType::I128 | PhysicalType::Interval | PhysicalType::Str => 16,
    }
}

/// Keeps batches as they come, with their place.
struct BuildSink {
    context: Arc<QueryContext>,
    input: BuildInput,
}

struct Gathered {
    batches: Vec<(Place, Batch)>,
    bytes: u64,
    memory: Reservation,
}

impl Sink for BuildSink {
    type Local = Gathered;

    fn local(&self) -> Gathered {
        let memory = Reservation::empty(&self.context.pool, MemoryCategory::HashTables);
        Gathered { batches: Vec::new(), bytes: 0, memory }
    }

    fn consume(&self, local: &mut Gathered, flow: Flow, place: Place) -> Result<Demand> {
        let batch = self.input.stored(flow)?;
        let row_bytes: u64 = self.input.types.iter().map(|&t| width(t)).sum();
        local.bytes += row_bytes * batch.rows as u64 + 64;
        // In steps, so that the pool is not asked for each flow.
        if local.bytes > local.memory.bytes() {
            local.memory.resize(local.bytes + local.bytes / 4 + (64 << 10))?;
        }
        local.batches.push((place, batch));
        Ok(Demand::More)
    }
}

/// The rows of column `column` of all `batches`, as one vector whose strings may be shared.
fn concatenate(batches: &[Batch], column: usize, physical: PhysicalType) -> Vector {
    let rows = batches.iter().map(|b| b.rows).sum();
    let mut builder = VectorBuilder::with_capacity(physical, rows);
    for batch in batches {
        match &batch.columns[column] {
            Column::Plain(vector) => builder.append(vector, None),
            Column::Constant(vector, rows) => builder.append(vector, Some(&vec![0; *rows])),
            Column::Dictionary(codes, vector) => builder.append(vector, Some(codes)),
        }
    }
    builder.finish_pinned()
}

/// The build side: the layout's build columns, then keys; rows in the order its stream gave them.
pub(super) struct BuildRows {
    columns: Vec<Arc<Vector>>,
    keys: Vec<Arc<Vector>>,
    rows: usize,
    nullable: bool,
    bytes: u64,
    _memory: Vec<Reservation>,
}

/// Rows from which on columns are put together by several workers.
const PARALLEL_ROWS: usize = 1 << 15;

impl BuildRows {
    /// Runs `stream` and stores what `input` says. `nullable`: [`NULL_ROW`] may be asked for.
    ///
    /// # Errors
    /// Whatever running meets; 53200 when the rows do not fit; 54000 beyond 2^32 rows.
    pub(super) fn collect(
        context: &Arc<QueryContext>,
        stream: &Stream,
        input: BuildInput,
        nullable: bool,
    ) -> Result<Self> {
        let sink = Arc::new(BuildSink { context: Arc::clone(context), input });
        let mut batches = Vec::new();
        let mut memory = Vec::new();
        for local in drive(context, stream, &sink)? {
            batches.extend(local.batches);
            memory.push(local.memory);
        }
        batches.sort_by_key(|(place, _)| *place);
        let batches: Vec<Batch> = batches.into_iter().map(|(_, batch)| batch).collect();
        let rows: usize = batches.iter().map(|b| b.rows).sum();
        if rows >= NULL_ROW as usize {
            let message = "a join's build side has more than 4294967294 rows";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        let columns = sink.input.types.len();
        // The copy, beside the batches, which go when it is complete.
        let bytes: u64 = sink.input.types.iter().map(|&t| width(t)).sum::<u64>() * rows as u64;
        let mut copy = Reservation::empty(&context.pool, MemoryCategory::HashTables);
        copy.resize(bytes)?;
        let together = {
            let sink = Arc::clone(&sink);
            let batches = Arc::new(batches);
            move |c: usize| Arc::new(concatenate(&batches, c, sink.input.types[c]))
        };
        let columns: Vec<_> = if rows < PARALLEL_ROWS {
            (0..columns).map(together).collect()
        } else {
            compute_all(context, columns, together)?
        };
        let keys = sink.input.keys.iter().map(|&k| Arc::clone(&columns[k])).collect();
        Ok(Self { columns, keys, rows, nullable, bytes, _memory: vec![copy] })
    }

    /// Rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The key columns.
    pub(super) fn keys(&self) -> &[Arc<Vector>] {
        &self.keys
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The rows of a stored column at `rows`.
    pub(super) fn gather(&self, column: usize, rows: &[u32]) -> Column {
        Column::plain(self.columns[column].gather(rows))
    }
}

impl RowSource for BuildRows {
    fn fetch(&self, column: usize, positions: &Positions) -> Result<Column> {
        let vector = &self.columns[column];
        Ok(Column::plain(match positions {
            Positions::Range { start, len } => vector.slice(*start as usize, *len as usize),
            Positions::List(list) if self.nullable => gather_or_null(vector, list),
            Positions::List(list) => vector.gather(list),
        }))
    }
}
