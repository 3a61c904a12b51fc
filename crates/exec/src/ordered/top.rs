//! ORDER BY with a small LIMIT: each worker keeps the best rows; rows that cannot be among them are
//! dropped before their other columns are loaded.

use std::sync::Arc;
use std::sync::atomic::Ordering as Atomic;

use kernels::compare::{compare, true_bits};
use kernels::keys::SortKeys;
use kernels::sort_rows::{entries, keep_first, sort};
use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorBuilder};
use parking_lot::Mutex;
use plan::Technique;
use plan::physical::{Node, OperatorId};
use sql::algebra::{Direction, NullsOrder};
use storage::{MemoryCategory, Reservation};
use types::{CompareOp, PhysicalType, Result};

use super::Bounds;
use super::sort::SortSpec;
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Place, Sink, Stream, drive};
use crate::simple::BatchesSource;

/// Rows up to which a limit is small.
pub(super) const ROWS_MAX: u64 = 100_000;
/// Rows that a buffer takes beyond twice the limit before it is cut.
const SLACK_ROWS: usize = 4 * BATCH_ROWS;

/// The last of the best rows of some worker: no row after it can be in the result.
struct Threshold {
    key: Vec<u8>,
    /// The first key's value, one row.
    first: Vector,
}

struct TopSink {
    context: Arc<QueryContext>,
    id: OperatorId,
    spec: SortSpec,
    /// Payload columns, then key columns.
    physical: Vec<PhysicalType>,
    count: usize,
    threshold: Mutex<Option<Arc<Threshold>>>,
}

/// Rows and their keys.
struct TopLocal {
    columns: Vec<VectorBuilder>,
    keys: SortKeys,
    memory: Reservation,
}

impl TopSink {
    /// The rows that may be before the threshold, by the first key; None when all may.
    fn candidates(&self, first: &Vector, threshold: &Threshold) -> Option<Vec<u32>> {
        let key = &self.spec.keys[0];
        if threshold.first.is_null(0) {
            return None;
        }
        let alone = self.spec.keys.len() == 1;
        let comparison = match (key.direction, alone) {
            (Direction::Ascending, true) => CompareOp::Less,
            (Direction::Ascending, false) => CompareOp::LessEqual,
            (Direction::Descending, true) => CompareOp::Greater,
            (Direction::Descending, false) => CompareOp::GreaterEqual,
        };
        let mut bits = true_bits(&compare(comparison, first, &threshold.first));
        if let (NullsOrder::First, Some(valid)) = (key.nulls, &first.validity) {
            bits = bits.or(&valid.not());
        }
        Some(bits.ones())
    }

    /// Keeps the best rows of a buffer and tells others what is no longer good enough.
    fn cut(&self, local: &mut TopLocal) -> Result<()> {
        let mut best = entries(&local.keys);
        keep_first(&local.keys, &mut best, self.count);
        sort(&local.keys, &mut best);
        let rows: Vec<u32> = best.iter().map(|e| e.row).collect();
        let (columns, keys) = self.pick(local, &rows);
        if let (true, Some(&last)) = (rows.len() == self.count, rows.last()) {
            let key = local.keys.get(last as usize);
            let mut shared = self.threshold.lock();
            if shared.as_ref().is_none_or(|t| key < t.key.as_slice()) {
                let first =
                    columns[self.physical.len() - self.spec.keys.len()].slice(rows.len() - 1, 1);
                *shared = Some(Arc::new(Threshold { key: key.to_vec(), first }));
            }
        }
        local.keys = keys;
        local.columns = builders(&self.physical);
        local.columns.iter_mut().zip(&columns).for_each(|(b, c)| b.append(c, None));
        Ok(())
    }

    /// The rows of a buffer, and their keys.
    fn pick(&self, local: &mut TopLocal, rows: &[u32]) -> (Vec<Vector>, SortKeys) {
        let columns = std::mem::take(&mut local.columns);
        let columns: Vec<Vector> = columns.into_iter().map(|c| c.finish().gather(rows)).collect();
        let mut keys = self.spec.sort_keys();
        let payload = self.physical.len() - self.spec.keys.len();
        keys.append(&columns[payload..].iter().collect::<Vec<_>>());
        (columns, keys)
    }
}

fn builders(physical: &[PhysicalType]) -> Vec<VectorBuilder> {
    physical.iter().map(|&p| VectorBuilder::new(p)).collect()
}

impl Sink for TopSink {
    type Local = TopLocal;

    fn local(&self) -> TopLocal {
        TopLocal {
            columns: builders(&self.physical),
            keys: self.spec.sort_keys(),
            memory: Reservation::empty(&self.context.pool, MemoryCategory::Sort),
        }
    }

    fn consume(&self, local: &mut TopLocal, mut flow: Flow, _: Place) -> Result<Demand> {
        let feedback = self.context.has(Technique::TopKFeedback);
        let threshold = feedback.then(|| self.threshold.lock().clone()).flatten();
        if let Some(threshold) = threshold {
            let first = self.spec.inputs.evaluate_one(self.spec.numbers[0], &mut flow)?;
            if let Some(rows) = self.candidates(&first.to_vector(), &threshold) {
                if rows.is_empty() {
                    return Ok(Demand::More);
                }
                if rows.len() < flow.rows() {
                    flow = flow.select(&rows);
                }
            }
        }
        let keys = self.spec.columns(&mut flow)?;
        let batch = flow.into_batch()?;
        let (payload, key_columns) = local.columns.split_at_mut(batch.columns.len());
        for (builder, column) in payload.iter_mut().zip(&batch.columns) {
            builder.append(&column.to_vector(), None);
        }
        for (builder, key) in key_columns.iter_mut().zip(&keys) {
            builder.append(key, None);
        }
        local.keys.append(&keys.iter().map(|k| &**k).collect::<Vec<_>>());
        let columns: usize = local.columns.iter().map(VectorBuilder::bytes).sum();
        let bytes = (columns + local.keys.bytes()) as u64;
        local.memory.resize(bytes)?;
        self.context.counters(self.id).memory_bytes.fetch_max(bytes, Atomic::Relaxed);
        if local.keys.len() >= 2 * self.count + SLACK_ROWS {
            self.cut(local)?;
        }
        Ok(Demand::More)
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// A sort of which a few rows are wanted.
pub(super) struct Top {
    pub(super) spec: SortSpec,
    /// Types of the input's columns.
    pub(super) payload: Vec<PhysicalType>,
    pub(super) bounds: Bounds,
}

impl Top {
    /// The rows of `stream` that the bounds keep, in order.
    pub(super) fn open(self, opener: &Opener, node: &Node, stream: &Stream) -> Result<Stream> {
        open(opener, node, stream, self)
    }
}

fn open(opener: &Opener, node: &Node, stream: &Stream, top: Top) -> Result<Stream> {
    let Top { spec, payload, bounds } = top;
    let count = bounds.needed().unwrap_or(0) as usize;
    if bounds.limit == Some(0) {
        return Ok(Stream::new(Arc::new(BatchesSource::new(Vec::new())), Some(node.id)));
    }
    let width = payload.len();
    let mut physical = payload;
    physical.extend(spec.keys.iter().map(|k| k.expr.physical));
    let context = Arc::clone(&opener.context);
    let threshold = Mutex::new(None);
    let sink = Arc::new(TopSink { context, id: node.id, spec, physical, count, threshold });
    let locals = drive(&opener.context, stream, &sink)?;
    let mut all = sink.local();
    for local in locals {
        all.memory.grow(local.memory.bytes())?;
        for (to, from) in all.columns.iter_mut().zip(local.columns) {
            to.append(&from.finish(), None);
        }
    }
    let rows = all.columns.first().map_or(0, VectorBuilder::len);
    let every: Vec<u32> = (0..rows as u32).collect();
    let (columns, keys) = sink.pick(&mut all, &every);
    let mut best = entries(&keys);
    keep_first(&keys, &mut best, count);
    sort(&keys, &mut best);
    let range = bounds.range(best.len() as u64);
    let rows: Vec<u32> =
        best[range.start as usize..range.end as usize].iter().map(|e| e.row).collect();
    let batch = |rows: &[u32]| {
        let columns = columns[..width].iter().map(|c| Column::plain(c.gather(rows))).collect();
        Batch::new(columns, rows.len())
    };
    let batches = rows.chunks(BATCH_ROWS).map(batch).collect();
    Ok(Stream::new(Arc::new(BatchesSource::counted(batches, all.memory)), Some(node.id)))
}
