//! A database as the storage of a bus that is in memory: it is read once, and then written to only.

use std::fmt::Debug;

use crate::record::Record;
use crate::semantics::Result;

/// Storage for the changes of one bus, which has it alone.
pub trait Store: Debug + Send + Sync {
    /// Calls `each` with records that make what the store holds.
    ///
    /// # Errors
    /// [`crate::BusError::Storage`].
    fn load(&self, each: &mut dyn FnMut(Record)) -> Result<()>;

    /// Makes all changes, in order, durable and as one.
    ///
    /// # Errors
    /// [`crate::BusError::Storage`]: all of it happened or nothing.
    fn apply(&self, changes: Vec<Record>) -> Result<()>;
}
