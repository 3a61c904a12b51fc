//! Threads that wait. Whoever shares out turns among threads learns here when one of them stands
//! still, for a lock, the disk or the workers of a query, so that another can go on meanwhile.

use std::cell::RefCell;
use std::rc::Rc;

/// Learns when its thread waits.
pub trait Waits {
    /// The thread is about to wait.
    fn begin(&self);
    /// The thread goes on.
    fn end(&self);
}

thread_local! {
    static OBSERVER: RefCell<Option<Rc<dyn Waits>>> = const { RefCell::new(None) };
}

/// Lets `observer` know of this thread's waits from now on.
pub fn observe(observer: Rc<dyn Waits>) {
    OBSERVER.set(Some(observer));
}

/// Puts the observer back, also after a panic.
struct Wait(Option<Rc<dyn Waits>>);

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(observer) = self.0.take() {
            observer.end();
            OBSERVER.set(Some(observer));
        }
    }
}

/// Runs `wait`, which may stand still. A wait inside of another is the same wait.
pub fn waiting<R>(wait: impl FnOnce() -> R) -> R {
    let guard = Wait(OBSERVER.take());
    if let Some(observer) = &guard.0 {
        observer.begin();
    }
    wait()
}
