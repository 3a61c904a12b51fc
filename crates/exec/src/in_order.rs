//! Rows of a stream handed on in order while they are made, for whoever does not keep them: files.
//!
//! ```text
//! workers: order 2 -> waits     order 0 -> handed on at once     order 1 -> waits
//!                                  '-- ended --> 1, then 2 are handed on
//! ```
//! Invariant: batches arrive as [`ResultSet::collect`](crate::ResultSet::collect) would have them;
//! what waits is what workers made ahead of the first order that runs, and is reserved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kernels::Batch;
use parking_lot::Mutex;
use plan::physical::PhysicalPlan;
use storage::{MemoryCategory, Reservation};
use types::{Error, Result};

use crate::context::QueryContext;
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Place, Sink, drive};
use crate::result::batch_bytes;

/// Takes the rows of a query.
pub trait Receiver: Send + 'static {
    /// Takes the next batch; one call at a time, by any thread.
    ///
    /// # Errors
    /// Whatever ends the query.
    fn take(&mut self, batch: &Batch) -> Result<()>;
}

/// Runs `plan` and hands its rows to `receiver`, which is given back.
///
/// # Errors
/// Whatever a query can end with, and what the receiver returns.
pub fn execute_into<R: Receiver>(
    plan: &PhysicalPlan,
    context: &Arc<QueryContext>,
    receiver: R,
) -> Result<R> {
    let mut opener = Opener::new(Arc::clone(context));
    opener.run_preludes(plan)?;
    let stream = opener.open(&plan.root, Vec::new())?;
    let memory = Reservation::empty(&context.pool, MemoryCategory::Temporary);
    let sink = Arc::new(InOrder { queue: Mutex::new(Queue::new(receiver, memory)) });
    drive(context, &stream, &sink)?;
    let sink = Arc::into_inner(sink);
    let mut queue = sink.ok_or_else(|| Error::internal("a pipeline ends with its query"))?.queue;
    // A stream that had enough leaves orders that never ran.
    queue.get_mut().reach(Place { segment: usize::MAX, order: 0 })?;
    Ok(queue.into_inner().receiver)
}

struct InOrder<R> {
    queue: Mutex<Queue<R>>,
}

struct Queue<R> {
    receiver: R,
    /// The order whose batches are handed on at once.
    first: Place,
    waiting: BTreeMap<Place, Vec<Batch>>,
    /// Orders behind the first that have ended.
    ended: BTreeSet<Place>,
    /// Bytes of what waits.
    bytes: u64,
    memory: Reservation,
}

impl<R: Receiver> Queue<R> {
    fn new(receiver: R, memory: Reservation) -> Self {
        let first = Place { segment: 0, order: 0 };
        let (waiting, ended) = (BTreeMap::new(), BTreeSet::new());
        Self { receiver, first, waiting, ended, bytes: 0, memory }
    }

    fn add(&mut self, place: Place, batch: Batch) -> Result<()> {
        if place.segment > self.first.segment {
            self.reach(Place { segment: place.segment, order: 0 })?;
        }
        if place == self.first {
            return self.receiver.take(&batch);
        }
        self.bytes += batch_bytes(&batch);
        self.memory.resize(self.bytes)?;
        self.waiting.entry(place).or_default().push(batch);
        Ok(())
    }

    fn end(&mut self, place: Place) -> Result<()> {
        self.ended.insert(place);
        while self.ended.remove(&self.first) {
            let next = Place { order: self.first.order + 1, ..self.first };
            self.reach(next)?;
        }
        Ok(())
    }

    /// Hands on all that waits before `place` and at it.
    fn reach(&mut self, place: Place) -> Result<()> {
        self.first = place;
        while let Some(entry) = self.waiting.first_entry() {
            if *entry.key() > place {
                break;
            }
            for batch in entry.remove() {
                self.bytes -= batch_bytes(&batch);
                self.receiver.take(&batch)?;
            }
        }
        self.memory.resize(self.bytes)
    }
}

impl<R: Receiver> Sink for InOrder<R> {
    type Local = ();

    fn local(&self) {}

    fn consume(&self, (): &mut (), flow: Flow, place: Place) -> Result<Demand> {
        let batch = flow.into_batch()?;
        self.queue.lock().add(place, batch)?;
        Ok(Demand::More)
    }

    fn ended(&self, place: Place) -> Result<()> {
        self.queue.lock().end(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use kernels::{Column, Vector, VectorData};
    use types::Value;

    #[derive(Default)]
    struct Taken(Vec<Value>);

    impl Receiver for Taken {
        fn take(&mut self, batch: &Batch) -> Result<()> {
            self.0.push(batch.columns[0].value(0));
            Ok(())
        }
    }

    fn batch(value: i32) -> Batch {
        Batch::new(vec![Column::plain(Vector::new(VectorData::I32(vec![value])))], 1)
    }

    fn place(segment: usize, order: usize) -> Place {
        Place { segment, order }
    }

    #[test]
    fn batches_come_in_order_of_their_work_orders() -> Result<()> {
        let pool = storage::BufferPool::new(1 << 20);
        let memory = Reservation::empty(&pool, MemoryCategory::Temporary);
        let mut queue = Queue::new(Taken::default(), memory);
        let up_to = |last| (1..=last).map(Value::I32).collect::<Vec<_>>();
        queue.add(place(0, 2), batch(5))?;
        queue.end(place(0, 2))?;
        queue.add(place(0, 1), batch(3))?;
        queue.add(place(0, 0), batch(1))?;
        assert_eq!(queue.receiver.0, up_to(1));
        queue.add(place(0, 0), batch(2))?;
        queue.end(place(0, 0))?;
        assert_eq!(queue.receiver.0, up_to(3));
        queue.add(place(0, 1), batch(4))?;
        queue.end(place(0, 1))?;
        assert_eq!(queue.receiver.0, up_to(5));
        queue.add(place(1, 1), batch(7))?;
        queue.add(place(1, 0), batch(6))?;
        queue.reach(place(usize::MAX, 0))?;
        assert_eq!(queue.receiver.0, up_to(7));
        assert_eq!(queue.bytes, 0);
        Ok(())
    }
}
