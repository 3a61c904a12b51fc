//! Time behind a trait, so that a simulation decides how late it is.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Source of the current time.
pub trait Clock: Send + Sync + Debug {
    /// Microseconds since 1970-01-01 00:00 UTC.
    fn micros(&self) -> i64;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn micros(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
    }
}

/// A clock that stands until a test moves it. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct SimClock(Arc<AtomicI64>);

impl SimClock {
    /// A clock that shows `micros`, in microseconds since 1970-01-01 00:00 UTC.
    pub fn at(micros: i64) -> Self {
        Self(Arc::new(AtomicI64::new(micros)))
    }

    /// Moves the clock forwards.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn micros(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
