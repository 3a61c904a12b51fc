//! LIMIT and OFFSET over a stream, in stream order.
//!
//! ```text
//! orders   0 1 | 2 3 4 5 | 6 ...      waves: each twice as long as the one before
//! rows kept per order: at most limit + offset; when a wave leaves enough, no other begins
//! ```

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernels::Batch;
use parking_lot::Mutex;
use plan::physical::{Node, Operator};
use storage::{MemoryCategory, Reservation};
use types::{Error, Result};

use super::Bounds;
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Place, Push, Segment, Sink, Source, Stream, Turns, drive};
use crate::result::StoredRows;
use crate::simple::{BatchesSource, orders_of, push_all};

/// Opens [`Operator::Limit`].
///
/// # Errors
/// 2201W and 2201X for negative bounds; whatever the input meets.
pub(crate) fn open_limit(opener: &mut Opener, node: &Node) -> Result<Stream> {
    let Operator::Limit { input, limit, offset } = &node.operator else {
        return Err(Error::internal("not a limit"));
    };
    let bounds = Bounds::new(opener, limit.as_ref(), offset.as_ref())?;
    if bounds.limit == Some(0) {
        return Ok(Stream::new(Arc::new(BatchesSource::new(Vec::new())), Some(node.id)));
    }
    let stream = opener.open(input, Vec::new())?;
    let Some(needed) = bounds.needed() else {
        if bounds.offset == 0 {
            return Ok(stream);
        }
        let rows = StoredRows::collect(&opener.context, &stream, &input.output)?;
        let range = bounds.range(rows.rows() as u64);
        let positions: Vec<u32> = (range.start as u32..range.end as u32).collect();
        let rows = Arc::new(rows);
        return Ok(Stream::new(rows.source_in(positions), Some(node.id)));
    };
    let batches = first_rows(&opener.context, &stream, needed)?;
    let batches = clip(batches, bounds);
    Ok(Stream::new(Arc::new(KeptRows::new(batches)), Some(node.id)))
}

/// Batches and the memory that they take.
pub(super) struct KeptRows {
    batches: Kept,
    orders: Vec<Range<usize>>,
}

impl KeptRows {
    pub(super) fn new(batches: Kept) -> Self {
        let orders = orders_of(batches.iter().map(|(batch, _)| batch.rows));
        Self { batches, orders }
    }
}

impl Source for KeptRows {
    fn orders(&self) -> usize {
        self.orders.len()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        push_all(self.batches[self.orders[order].clone()].iter().map(|(batch, _)| batch), push)
    }
}

/// Batches in their order, and their memory.
pub(super) type Kept = Vec<(Batch, Arc<Reservation>)>;

/// The rows within `bounds`.
pub(super) fn clip(batches: Kept, bounds: Bounds) -> Kept {
    let total: u64 = batches.iter().map(|(b, _)| b.rows as u64).sum();
    let range = bounds.range(total);
    let mut start = 0u64;
    let mut clipped = Vec::new();
    for (batch, memory) in batches {
        let end = start + batch.rows as u64;
        let (from, to) = (range.start.max(start), range.end.min(end));
        if from < to {
            let batch = if to - from == batch.rows as u64 {
                batch
            } else {
                let rows: Vec<u32> = ((from - start) as u32..(to - start) as u32).collect();
                batch.gather(&rows)
            };
            clipped.push((batch, memory));
        }
        start = end;
    }
    clipped
}

/// Rows that each work order of a wave has given, by its number.
type Given = Arc<Mutex<HashMap<usize, Arc<AtomicU64>>>>;

/// Rows of the first flow of a work order, a quarter of those of the next: a join may do much for
/// each.
const FIRST_ROWS: usize = 16;

/// Some work orders of a source, each stopped when it has given enough.
struct Wave {
    source: Arc<dyn Source>,
    start: usize,
    count: usize,
    needed: u64,
    given: Given,
}

impl Source for Wave {
    fn orders(&self) -> usize {
        self.count
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let given = Arc::clone(self.given.lock().entry(order).or_default());
        let (mut full, mut rows_max) = (false, FIRST_ROWS);
        let demand = self.source.run(self.start + order, &mut |flow| {
            let mut start = 0;
            while start < flow.rows() {
                let end = flow.rows().min(start + rows_max);
                let whole = end - start == flow.rows();
                let rows: Vec<u32> = (start as u32..end as u32).collect();
                let demand = push(if whole { flow.clone() } else { flow.select(&rows) })?;
                full = given.load(Ordering::Relaxed) >= self.needed;
                if full || demand == Demand::Enough {
                    return Ok(Demand::Enough);
                }
                (start, rows_max) = (end, rows_max.saturating_mul(4));
            }
            Ok(Demand::More)
        })?;
        // This order has enough; the others of the wave go on.
        Ok(if full { Demand::More } else { demand })
    }
}

/// Keeps the first rows of each work order.
struct WaveSink {
    context: Arc<QueryContext>,
    needed: u64,
    given: Given,
}

struct WaveRows {
    batches: Vec<(Place, Batch)>,
    memory: Reservation,
    bytes: u64,
}

impl Sink for WaveSink {
    type Local = WaveRows;

    fn local(&self) -> WaveRows {
        let memory = Reservation::empty(&self.context.pool, MemoryCategory::Temporary);
        WaveRows { batches: Vec::new(), memory, bytes: 0 }
    }

    fn consume(&self, local: &mut WaveRows, flow: Flow, place: Place) -> Result<Demand> {
        let given = Arc::clone(self.given.lock().entry(place.order).or_default());
        let before = given.fetch_add(flow.rows() as u64, Ordering::Relaxed);
        let left = self.needed.saturating_sub(before);
        if left == 0 {
            return Ok(Demand::Enough);
        }
        let is_last = left <= flow.rows() as u64;
        let flow = if left < flow.rows() as u64 {
            flow.select(&(0..left as u32).collect::<Vec<_>>())
        } else {
            flow
        };
        let batch = flow.into_batch()?;
        local.bytes += (batch.rows * batch.columns.len() * 16) as u64;
        local.memory.resize(local.bytes)?;
        local.batches.push((place, batch));
        // The work order stops; the wave goes on.
        Ok(if is_last { Demand::Enough } else { Demand::More })
    }
}

/// The first `needed` rows of `stream`, or all.
pub(super) fn first_rows(
    context: &Arc<QueryContext>,
    stream: &Stream,
    needed: u64,
) -> Result<Kept> {
    let mut kept: Kept = Vec::new();
    let mut rows = 0u64;
    let mut turns = Turns::of(stream);
    while rows < needed
        && let Some(segment) = turns.next()?
    {
        let orders = segment.source.orders();
        let (mut start, mut count) = (0, context.scheduler.workers());
        while start < orders && rows < needed {
            let given = Given::default();
            let wave = Wave {
                source: Arc::clone(&segment.source),
                start,
                count: count.min(orders - start),
                needed: needed - rows,
                given: Arc::clone(&given),
            };
            start += wave.count;
            count = count.saturating_mul(2);
            let sink = WaveSink { context: Arc::clone(context), needed: needed - rows, given };
            let part =
                Stream { segments: vec![Segment { source: Arc::new(wave), ..segment.clone() }] };
            let mut batches = Vec::new();
            for local in drive(context, &part, &Arc::new(sink))? {
                let memory = Arc::new(local.memory);
                let held = |(place, batch)| (place, (batch, Arc::clone(&memory)));
                batches.extend(local.batches.into_iter().map(held));
            }
            batches.sort_by_key(|(place, _)| *place);
            rows += batches.iter().map(|(_, (batch, _))| batch.rows as u64).sum::<u64>();
            kept.extend(batches.into_iter().map(|(_, batch)| batch));
        }
    }
    Ok(kept)
}
