//! Values behind read-write locks: what HybridCC is compared with.

use std::ops::Deref;

use parking_lot::{RwLock, RwLockReadGuard};

use super::{Cell, Concurrency};

/// Read-write locks.
#[derive(Clone, Copy, Debug, Default)]
pub struct RwLocks;

impl Concurrency for RwLocks {
    type Cell<T: Clone + Send + Sync + 'static> = Locked<T>;

    fn cell<T: Clone + Send + Sync + 'static>(&self, value: T) -> Locked<T> {
        Locked(RwLock::new(value))
    }
}

/// A value behind a lock.
#[derive(Debug)]
pub struct Locked<T>(RwLock<T>);

/// A value that is locked for readers.
#[derive(Debug)]
pub struct Shared<'a, T>(RwLockReadGuard<'a, T>);

impl<T> Deref for Shared<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + 'static> Cell<T> for Locked<T> {
    type Guard<'a> = Shared<'a, T>;

    #[inline]
    fn read(&self) -> Shared<'_, T> {
        Shared(self.0.read())
    }

    #[inline]
    fn is_current(&self, _: &Shared<'_, T>) -> bool {
        // Nobody changes it while it is locked.
        true
    }

    fn update(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.0.write());
    }
}
