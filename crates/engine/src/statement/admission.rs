//! Leave for queries that need much memory: what they ask for, and how they wait for it.
//!
//! Short statements never ask. Elsewhere: the queue (`sched::admission`), what a plan needs
//! (`plan::memory`).

use std::sync::atomic::Ordering;

use exec::QueryContext;
use plan::physical::PhysicalPlan;
use sched::{Ask, Asker, Room, Wait};
use types::Result;

use crate::instance::database::Inner;
use crate::statement::running::Running;

/// Fate of the rows of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All are kept until the last is there.
    Kept,
    /// Each goes on as it comes.
    HandedOn,
}

/// The part of the limit from which on a query asks: others would not notice less.
const SMALL_SHARE: u64 = 64;
/// The part of the limit that a query asks for at most: more than that it can spill.
const LARGE_SHARE: u64 = 4;
/// The part of the limit that is not granted: for short statements and for reading spilled rows.
const FREE_SHARE: u64 = 8;
/// Queries with a grant at once, at least.
const QUERIES_MIN: usize = 4;

/// The room for grants: what data leaves of the limit that cannot leave memory.
fn room(inner: &Inner) -> Room {
    let limit = inner.pool.limit();
    let of_data = inner.pool.usage().into_iter().filter(|(category, _)| !category.is_of_queries());
    let data: u64 = of_data.map(|(_, bytes)| bytes).sum();
    let data = data.saturating_sub(inner.pool.cached());
    let queries = match inner.heavy_max.load(Ordering::Relaxed) {
        0 => QUERIES_MIN.max(2 * inner.scheduler.workers()),
        count => count,
    };
    Room { bytes: (limit - limit / FREE_SHARE).saturating_sub(data), queries }
}

/// Bytes that the query of `plan` asks for; None when it is not worth asking. What cannot spill is
/// asked for whole, as often as there are workers.
fn asked_bytes(inner: &Inner, plan: &PhysicalPlan, rows: Rows) -> Option<u64> {
    let limit = inner.pool.limit();
    let kept = if rows == Rows::Kept { plan::result_bytes(&plan.root) } else { 0 };
    let arrays = plan.array_bytes.saturating_mul(inner.scheduler.workers() as u64);
    let bytes = plan.memory_bytes.saturating_add(kept).saturating_add(arrays);
    (bytes > limit / SMALL_SHARE).then(|| bytes.min((limit / LARGE_SHARE).saturating_add(arrays)))
}

impl Running<'_> {
    /// Waits until there is room for the memory of the query, which has it as long as `context`
    /// lives. Whoever may be waited for by others begins at once.
    ///
    /// # Errors
    /// 53200 after `admission_timeout`; 57014 after a cancel.
    pub(crate) fn admit(
        &mut self,
        plan: &PhysicalPlan,
        context: &QueryContext,
        rows: Rows,
    ) -> Result<()> {
        let session = &*self.session;
        let inner = session.inner();
        let Some(bytes) = asked_bytes(inner, plan, rows) else { return Ok(()) };
        let in_the_way = session.calls.has_locked()
            || session.work.as_ref().is_some_and(|work| work.is_in_the_way());
        let ask = Ask {
            owner: session.info().id,
            priority: session.settings.priority(),
            bytes,
            asker: if in_the_way { Asker::Holder } else { Asker::Free },
            since_micros: inner.clock.micros(),
        };
        let wait = Wait {
            room: &|| room(inner),
            patience: session.settings.admission_limit(),
            check: &|| session.cancel.check(),
        };
        let grant = inner.admission.admit(ask, &wait);
        let grant = grant.inspect_err(|_| session.end_progress())?;
        // A context runs one plan: there is none before.
        let _ = context.grant.set(grant);
        Ok(())
    }
}
