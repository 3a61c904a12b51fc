//! Waiting for messages, and a bell for simple buses.

use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};
use types::waiting::waiting;

use super::error::{BusError, Result};
use super::interrupt::{Attached, Interrupt, Ring};
use super::message::Delivery;
use super::options::{ReceiveOptions, Wait};

/// How long a receive may wait, as a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitUntil {
    Now,
    Moment(Instant),
    Forever,
}

impl WaitUntil {
    pub(crate) fn of(wait: Wait) -> Self {
        match wait {
            Wait::No => Self::Now,
            // What no clock reaches is for ever.
            Wait::AtMost(time) => {
                Instant::now().checked_add(time).map_or(Self::Forever, Self::Moment)
            }
            Wait::Forever => Self::Forever,
        }
    }
}

/// A bell for buses of which all waiting threads may wake at each change.
#[derive(Debug, Default)]
pub struct Bell {
    changes: Mutex<u64>,
    changed: Condvar,
}

impl Ring for Bell {
    fn ring(&self) {
        *self.changes.lock() += 1;
        self.changed.notify_all();
    }
}

impl Bell {
    /// Calls `look` until it finds something or `options` say that the wait ends. Only a look
    /// whose receive must not wait returns nothing.
    ///
    /// # Errors
    /// [`BusError::Timeout`], [`BusError::Interrupted`]; those of `look`.
    pub fn receive(
        self: &Arc<Self>,
        options: &ReceiveOptions<'_>,
        mut look: impl FnMut() -> Result<Vec<Delivery>>,
    ) -> Result<Vec<Delivery>> {
        let until = WaitUntil::of(options.wait);
        let listener: Weak<dyn Ring> = Arc::<Self>::downgrade(self);
        let _attached = options.interrupt.map(|interrupt| Attached::new(interrupt, listener));
        loop {
            let seen = *self.changes.lock();
            let found = look()?;
            if !found.is_empty() || matches!(until, WaitUntil::Now) {
                return Ok(found);
            }
            let mut changes = self.changes.lock();
            while *changes == seen {
                if options.interrupt.is_some_and(Interrupt::is_triggered) {
                    return Err(BusError::Interrupted);
                }
                wait(&self.changed, &mut changes, until)?;
            }
        }
    }
}

/// Waits once.
///
/// # Errors
/// [`BusError::Timeout`] when it is too late.
pub(crate) fn wait<T>(
    changed: &Condvar,
    guard: &mut MutexGuard<'_, T>,
    until: WaitUntil,
) -> Result<()> {
    match until {
        WaitUntil::Now => Err(BusError::Timeout),
        WaitUntil::Forever => {
            waiting(|| changed.wait(guard));
            Ok(())
        }
        WaitUntil::Moment(moment) if Instant::now() >= moment => Err(BusError::Timeout),
        WaitUntil::Moment(moment) => {
            waiting(|| changed.wait_until(guard, moment));
            Ok(())
        }
    }
}
