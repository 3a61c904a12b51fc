//! A thread that makes snapshots when they are due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

/// Where the thread is asked. The flag spares askers the lock.
#[derive(Debug, Default)]
pub(super) struct Wish {
    is_asked: AtomicBool,
    asked: Mutex<Asked>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asked {
    #[default]
    Nothing,
    Snapshot,
    End,
}

impl Wish {
    /// Asks for a snapshot.
    pub(super) fn ask(&self) {
        if !self.is_asked.swap(true, Ordering::Relaxed) {
            let mut asked = self.asked.lock();
            if *asked == Asked::Nothing {
                *asked = Asked::Snapshot;
            }
            self.changed.notify_one();
        }
    }

    /// Waits for the next wish; false when the thread shall end.
    fn is_next(&self) -> bool {
        let mut asked = self.asked.lock();
        self.changed.wait_while(&mut asked, |asked| *asked == Asked::Nothing);
        if *asked == Asked::Snapshot {
            *asked = Asked::Nothing;
        }
        *asked != Asked::End
    }
}

/// The thread; ends when dropped.
#[derive(Debug)]
pub(super) struct Compactor {
    wish: Arc<Wish>,
    thread: Option<JoinHandle<()>>,
}

impl Compactor {
    /// Starts it: it calls `snapshot` for each wish.
    pub(super) fn start(wish: Arc<Wish>, snapshot: impl Fn() + Send + 'static) -> Self {
        let mine = Arc::clone(&wish);
        let run = move || {
            while mine.is_next() {
                snapshot();
                mine.is_asked.store(false, Ordering::Relaxed);
            }
        };
        let thread = std::thread::Builder::new().name("bus".into()).spawn(run).ok();
        Self { wish, thread }
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        *self.wish.asked.lock() = Asked::End;
        self.wish.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
