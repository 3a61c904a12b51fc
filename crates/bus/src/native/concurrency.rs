//! Values that many threads read and few change: three ways to share them, with one interface.
//!
//! ```text
//! Hybrid   versions with one count each                     readers write to one line per version
//! Numa     versions with a count for each node              readers write to their node's line
//! RwLocks  a value behind a read-write lock                 the twin to compare with
//! ```
//! Source: Chasseur 2015, section 4.4.

mod hazard;
mod counts;
mod threads;
mod hybrid;
mod rw_lock;

use std::fmt::Debug;
use std::ops::Deref;

pub use hybrid::{Hybrid, Numa, live_versions};
pub use rw_lock::RwLocks;
pub use threads::set_thread_node;

/// A way to share values.
pub trait Concurrency: Debug + Send + Sync + 'static {
    /// A shared value.
    type Cell<T: Clone + Send + Sync + 'static>: Cell<T>;

    /// Shares `value`.
    fn cell<T: Clone + Send + Sync + 'static>(&self, value: T) -> Self::Cell<T>;
}

/// A value that threads share.
pub trait Cell<T>: Send + Sync {
    /// The value as it was at one moment, for as long as the guard lives.
    type Guard<'a>: Deref<Target = T>
    where
        Self: 'a;

    /// The value as it is.
    fn read(&self) -> Self::Guard<'_>;

    /// True while nobody has changed the value since `guard` was made.
    fn is_current(&self, guard: &Self::Guard<'_>) -> bool;

    /// Changes the value; one writer at a time.
    fn update(&self, change: impl FnOnce(&mut T));
}
