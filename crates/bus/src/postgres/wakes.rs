//! Wake-ups: a thread with a connection of its own that hears of changes of other processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ::postgres::fallible_iterator::FallibleIterator as _;
use ::postgres::{Client, NoTls};

use super::Place;
use crate::semantics::{Bell, Result, Ring as _};

/// How long the thread listens until it looks whether it is to end.
const PART: Duration = Duration::from_millis(500);

/// The thread; it ends with this value.
#[derive(Debug)]
pub(super) struct Wakes {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wakes {
    /// Listens to the changes of the place from now on.
    pub(super) fn start(place: &Place, bell: &Arc<Bell>) -> Result<Self> {
        let mut client = place.config.connect(NoTls)?;
        client.batch_execute(&format!("LISTEN {}", place.schema))?;
        let ends = Arc::new(AtomicBool::new(false));
        let (told, bell) = (Arc::clone(&ends), Arc::clone(bell));
        let thread = std::thread::Builder::new()
            .name("bus wake-ups".to_owned())
            .spawn(move || listen(&mut client, &told, &bell))
            .map_err(|error| {
                types::Error::new(types::SqlState::IO_ERROR, format!("no thread: {error}"))
            })?;
        Ok(Self { ends, thread: Some(thread) })
    }

    /// Whether the connection still stands.
    pub(super) fn are_heard(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Rings at each change until it is told to end or the connection ends: then those who wait look,
/// and learn what is wrong.
fn listen(client: &mut Client, ends: &AtomicBool, bell: &Bell) {
    while !ends.load(Ordering::Relaxed) {
        let heard = client.notifications().timeout_iter(PART).next();
        match heard {
            Ok(Some(_)) => bell.ring(),
            Ok(None) if !client.is_closed() => {}
            Ok(None) | Err(_) => break,
        }
    }
    bell.ring();
}
