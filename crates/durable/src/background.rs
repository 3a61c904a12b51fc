//! The thread that writes checkpoints when the log has grown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use types::Error;

#[derive(Debug, Default)]
struct Wishes {
    checkpoint: bool,
    stop: bool,
}

#[derive(Debug, Default)]
struct Signal {
    /// Spares askers the latch.
    asked: AtomicBool,
    wishes: Mutex<Wishes>,
    changed: Condvar,
}

/// The thread and what it is asked for. Without [`Checkpointer::start`] nothing happens.
#[derive(Debug, Default)]
pub(super) struct Checkpointer {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Why the last checkpoint in the background failed, until somebody is told.
    failure: Mutex<Option<Error>>,
}

impl Checkpointer {
    /// Starts the thread, which calls `checkpoint` when one is asked for.
    pub(super) fn start(&self, checkpoint: impl Fn() + Send + 'static) {
        let signal = Arc::clone(&self.signal);
        let thread = std::thread::Builder::new().name("checkpoint".into());
        // Without the thread the log grows until somebody says CHECKPOINT.
        let started = thread.spawn(move || run(&signal, &checkpoint));
        *self.thread.lock() = started.ok();
    }

    /// Asks for a checkpoint.
    pub(super) fn ask(&self) {
        if !self.signal.asked.swap(true, Ordering::AcqRel) {
            self.signal.wishes.lock().checkpoint = true;
            self.signal.changed.notify_one();
        }
    }

    pub(super) fn note_failure(&self, error: Error) {
        eprintln!("tessera: a checkpoint failed: {error}");
        *self.failure.lock() = Some(error);
    }

    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().take()
    }

    /// Ends the thread, after the checkpoint it may be writing.
    pub(super) fn stop(&self) {
        self.signal.wishes.lock().stop = true;
        self.signal.changed.notify_one();
        let thread = self.thread.lock().take();
        // The thread itself ends the database when it was the last to use it.
        if let Some(thread) = thread.filter(|t| t.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(signal: &Signal, checkpoint: &dyn Fn()) {
    let mut wishes = signal.wishes.lock();
    while !wishes.stop {
        if !wishes.checkpoint {
            signal.changed.wait(&mut wishes);
            continue;
        }
        wishes.checkpoint = false;
        drop(wishes);
        checkpoint();
        signal.asked.store(false, Ordering::Release);
        wishes = signal.wishes.lock();
    }
}
