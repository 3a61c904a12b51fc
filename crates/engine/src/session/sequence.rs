//! Values that a session got from sequences: `currval` and `lastval`.

use std::collections::HashMap;

/// Values that a session got from sequences: currval and lastval.
#[derive(Debug, Default)]
pub(crate) struct SequenceMemory {
    /// Values by number of the sequence.
    pub(crate) values: HashMap<u64, i64>,
    pub(crate) last: Option<u64>,
}
