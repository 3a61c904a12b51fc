//! Where a log is, where one is in it, and what it may cost: words that all of the log uses.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host::Io;

/// The number that a writer gives a record, in the order of its own clock: the commit timestamp of
/// a database. A reader can pass over records up to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// A position in the stream of the log, in bytes from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// Where to start reading: between two records. The default is the beginning of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Place of the next record.
    pub lsn: Lsn,
    /// Incarnation of the log that wrote the records in front.
    pub incarnation: u64,
}

/// Writer of bytes that nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// A thread of the log: asynchronous commits, and segments allocated ahead of need.
    Thread,
    /// No thread: waiting threads do all. For simulations, which must not depend on timing.
    None,
}

/// Sizes and times of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Bytes of the stream in one file, a multiple of 8; kept from the first segment on.
    pub segment_bytes: u64,
    /// Bytes that may wait for the disk before [`Log::reserve`] holds its caller back.
    pub waiting_bytes_max: u64,
    /// Time an asynchronous commit may wait for the disk.
    pub flush_interval: Duration,
    /// Writer of bytes that nobody waits for.
    pub background: Background,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            waiting_bytes_max: 64 << 20,
            flush_interval: Duration::from_millis(20),
            background: Background::Thread,
        }
    }
}

/// Identity of a log and its place.
#[derive(Clone, Debug)]
pub struct LogPlace<'a> {
    /// The files.
    pub io: &'a Arc<dyn Io>,
    /// The directory `wal/`.
    pub directory: &'a Path,
    /// The database that it belongs to.
    pub database: u64,
}
