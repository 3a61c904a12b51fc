//! A database as the storage of a bus that is in memory: it is read once, and then written to only.

use std::fmt::Debug;

use crate::record::Record;
use crate::semantics::Result;

/// Storage for the changes of one bus, which has it alone.
pub trait Store: Debug + Send + Sync {
    /// Takes the store for this value alone, and calls `each` with records that make what it holds:
    /// first the next ids, then clients, their registrations, messages, and copies.
    ///
    /// # Errors
    /// [`crate::BusError::Storage`], 55006 for a store that another has;
    /// [`crate::BusError::Network`].
    fn load(&self, each: &mut dyn FnMut(Record)) -> Result<()>;

    /// Refuses a call that the store could not hold, before it happens in memory.
    ///
    /// # Errors
    /// 54000 for one that is too large.
    fn check(&self, call: &[Record]) -> types::Result<()> {
        let _ = call;
        Ok(())
    }

    /// Makes calls durable, in order, each as a whole.
    ///
    /// # Errors
    /// [`crate::BusError::Storage`] and [`crate::BusError::Network`]: the first of the calls may
    /// have happened, and none behind them. Nothing is applied afterwards.
    fn apply(&self, calls: Vec<Vec<Record>>) -> Result<()>;
}
