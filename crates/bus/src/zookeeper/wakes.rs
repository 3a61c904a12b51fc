//! Wake-ups: a thread that hears of the changes of all processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_lite::future::block_on;
use types::{Error, SqlState};
use zookeeper_client::{EventType, PersistentWatcher};

use super::session::Session;
use crate::semantics::{Bell, Result, Ring as _};

/// The thread; it ends with the session.
#[derive(Debug)]
pub(super) struct Wakes {
    is_heard: Arc<AtomicBool>,
}

impl Wakes {
    /// Listens to the changes of the bus from now on.
    pub(super) fn start(session: &Session, bell: &Arc<Bell>) -> Result<Self> {
        let watcher = session.watch()?;
        let is_heard = Arc::new(AtomicBool::new(true));
        let (told, bell) = (Arc::clone(&is_heard), Arc::clone(bell));
        std::thread::Builder::new()
            .name("bus wake-ups".to_owned())
            .spawn(move || listen(watcher, &told, &bell))
            .map_err(|error| Error::new(SqlState::IO_ERROR, format!("no thread: {error}")))?;
        Ok(Self { is_heard })
    }

    /// True as long as the session lasts.
    pub(super) fn are_heard(&self) -> bool {
        self.is_heard.load(Ordering::Acquire)
    }
}

/// Rings at each change, and when the connection comes or goes: changes meanwhile were not heard.
fn listen(mut watcher: PersistentWatcher, is_heard: &AtomicBool, bell: &Bell) {
    loop {
        let event = block_on(watcher.changed());
        let is_over = event.event_type == EventType::Session && event.session_state.is_terminated();
        // Before it rings: who looks then listens anew.
        is_heard.store(!is_over, Ordering::Release);
        bell.ring();
        if is_over {
            return;
        }
    }
}
