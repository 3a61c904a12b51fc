//! Handles that end waits for messages from outside.
//!
//! Invariant: whoever rings does so after the change that it rings for; whoever waits looks for
//! the change under the lock that ringing takes. So no wake-up is lost.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Something that waiting threads listen to.
pub trait Ring: Send + Sync {
    /// Has the threads that wait look again.
    fn ring(&self);
}

/// Ends receives that wait, from another thread. Clones are the same handle; once triggered, it
/// stays so.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_triggered: AtomicBool,
    listeners: Mutex<Vec<Weak<dyn Ring>>>,
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.is_triggered()).finish()
    }
}

impl Interrupt {
    /// Ends the receives that wait with it, now and later.
    pub fn trigger(&self) {
        self.0.is_triggered.store(true, Ordering::SeqCst);
        let listeners = self.0.listeners.lock().clone();
        listeners.iter().filter_map(Weak::upgrade).for_each(|listener| listener.ring());
    }

    /// True once it was triggered.
    pub fn is_triggered(&self) -> bool {
        self.0.is_triggered.load(Ordering::SeqCst)
    }
}

/// A wait that an [`Interrupt`] rings for, until it is dropped.
pub struct Attached<'a> {
    interrupt: &'a Interrupt,
    listener: Weak<dyn Ring>,
}

impl fmt::Debug for Attached<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attached").field(self.interrupt).finish()
    }
}

impl<'a> Attached<'a> {
    /// Has `listener` rung when `interrupt` is triggered. Whoever waits looks at
    /// [`Interrupt::is_triggered`] once more afterwards.
    pub fn new(interrupt: &'a Interrupt, listener: Weak<dyn Ring>) -> Self {
        interrupt.0.listeners.lock().push(Weak::clone(&listener));
        Self { interrupt, listener }
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        let mut listeners = self.interrupt.0.listeners.lock();
        let mine = listeners.iter().position(|listener| listener.ptr_eq(&self.listener));
        if let Some(mine) = mine {
            listeners.swap_remove(mine);
        }
    }
}
