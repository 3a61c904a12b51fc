//! Sessions, and the threads on which their statements run.
//!
//! ```text
//! call (a task) --work--> thread: session runs it     call ends before it -> cancel
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{CancelHandle, Session};
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit};
use types::{Error, Result, SqlState};

/// A session, and its place among those that there may be.
pub(crate) struct Seat {
    pub(crate) session: Session,
    _place: OwnedSemaphorePermit,
}

impl Seat {
    /// `session` in this place.
    pub(crate) fn new(session: Session, place: OwnedSemaphorePermit) -> Self {
        Self { session, _place: place }
    }
}

/// Cancels what runs when the call that waits for it is dropped: its client is gone.
struct Waiting {
    cancel: CancelHandle,
    is_over: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_over.swap(true, Ordering::SeqCst) {
            self.cancel.cancel();
        }
    }
}

fn canceled(reason: &str) -> Error {
    Error::new(SqlState::QUERY_CANCELED, reason)
}

/// A seat that several calls come back to, one after the other.
pub(crate) type SharedSeat = Arc<Mutex<Seat>>;

/// A seat while a call has it.
pub(crate) type Taken = OwnedMutexGuard<Seat>;

/// Runs `work` with the session of `seat` on a thread of its own; both come back. It is cancelled
/// when it takes longer than `statement_timeout`, and when nobody waits for it any more.
///
/// # Errors
/// Errors of `work`; 57014 when it took too long.
pub(crate) async fn run<T: Send + 'static>(
    mut seat: Taken,
    work: impl FnOnce(&mut Session) -> Result<T> + Send + 'static,
) -> Result<(Taken, T)> {
    let cancel = seat.session.cancel_handle();
    let limit = seat.session.time_limit("statement_timeout");
    let is_over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&is_over);
    let mut running = tokio::task::spawn_blocking(move || {
        if ended.load(Ordering::SeqCst) {
            return Err(canceled("connection to client lost"));
        }
        let outcome = work(&mut seat.session);
        ended.store(true, Ordering::SeqCst);
        outcome.map(|value| (seat, value))
    });
    let _waiting = Waiting { cancel: cancel.clone(), is_over };
    let mut is_late = false;
    let joined = match limit {
        None => running.await,
        Some(limit) => match tokio::time::timeout(limit, &mut running).await {
            Ok(joined) => joined,
            Err(_) => {
                is_late = true;
                cancel.cancel();
                running.await
            }
        },
    };
    let outcome =
        joined.map_err(|_| Error::internal("the session met a mistake of the program"))?;
    match outcome {
        Err(error) if is_late && error.state() == SqlState::QUERY_CANCELED => {
            Err(canceled("canceling statement due to statement timeout"))
        }
        outcome => outcome,
    }
}
