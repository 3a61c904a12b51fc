//! Independent parts of one computation, given to the workers.

use std::sync::Arc;

use parking_lot::Mutex;
use sched::{Extent, RunError, WorkOrders};
use types::{Error, Result};

use crate::context::QueryContext;

struct Parts<T, F> {
    context: Arc<QueryContext>,
    compute: F,
    results: Vec<Mutex<Option<Result<T>>>>,
}

impl<T: Send, F: Fn(usize) -> Result<T> + Send + Sync> WorkOrders for Parts<T, F> {
    fn run(&self, _worker: usize, order: usize) {
        let _entry = self.context.enter();
        let result = self.context.check().and_then(|()| (self.compute)(order));
        *self.results[order].lock() = Some(result);
    }

    fn stopped(&self) -> bool {
        self.context.check().is_err()
    }
}

/// `compute(0)` to `compute(count - 1)`, computed by the workers. Must not be called by a worker.
///
/// # Errors
/// The first error of a part; 57014 after a cancel; XX000 when a part panicked.
pub(super) fn compute_all<T: Send + 'static>(
    context: &Arc<QueryContext>,
    count: usize,
    compute: impl Fn(usize) -> Result<T> + Send + Sync + 'static,
) -> Result<Vec<T>> {
    let results = (0..count).map(|_| Mutex::new(None)).collect();
    let parts = Arc::new(Parts { context: Arc::clone(context), compute, results });
    let orders = Arc::clone(&parts) as Arc<dyn WorkOrders>;
    let extent = Extent { slots: context.scheduler.slots(), count };
    let outcome = context.scheduler.run(&context.ticket, orders, extent);
    context.check()?;
    if let Err(RunError::Panicked(message)) = outcome {
        return Err(Error::internal(format!("a work order failed: {message}")));
    }
    let taken = parts.results.iter().map(|result| result.lock().take());
    taken
        .map(|result| result.unwrap_or_else(|| Err(Error::internal("a work order did not run"))))
        .collect()
}
