//! Wake-ups: a thread with a connection of its own that hears of changes of other processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ::postgres::Client;
use ::postgres::fallible_iterator::FallibleIterator as _;

use crate::semantics::{Bell, Result, Ring as _};
use crate::tables::Wakes;

/// How long the thread listens until it looks whether it is to end.
const PART: Duration = Duration::from_millis(500);

/// A thread that listens; it ends with this value.
#[derive(Debug)]
pub struct Heard {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Heard {
    /// Rings at what `client` listens to from now on.
    pub(super) fn start(mut client: Client, bell: &Arc<Bell>) -> Result<Self> {
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
}

impl Wakes for Heard {
    /// True while the connection stands.
    fn are_heard(&mut self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Heard {
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
