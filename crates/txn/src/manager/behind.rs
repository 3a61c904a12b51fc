//! Roll-backs of many changes, in threads of their own: who cancelled a statement has its answer
//! before. Run by [`super::Ending`].

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How long who needs the memory waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts what is not done yet.
#[derive(Default)]
pub(super) struct Behind {
    running: Mutex<usize>,
    ended: Condvar,
}

/// One that is not done yet.
struct Running(Arc<Behind>);

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_all();
    }
}

impl Behind {
    /// Does `work` in a thread of its own; in this one when there is none to be had.
    pub(super) fn run(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) {
        *self.running.lock() += 1;
        let running = Running(Arc::clone(self));
        // Shared, as a thread that does not start drops what it was given.
        let work = Arc::new(Mutex::new(Some((work, running))));
        let given = Arc::clone(&work);
        let take = move || {
            let taken = given.lock().take();
            if let Some((work, _running)) = taken {
                work();
            }
        };
        if std::thread::Builder::new().name("undo".into()).spawn(take.clone()).is_err() {
            take();
        }
    }

    /// Waits until all is done, but not for long.
    pub(super) fn wait(&self) {
        let mut running = self.running.lock();
        if *running > 0 {
            self.ended.wait_while_for(&mut running, |running| *running > 0, PATIENCE);
        }
    }
}
