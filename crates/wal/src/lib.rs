//! The write-ahead log: redo records in commit order, durable before they are acknowledged.
//!
//! ```text
//! wal/0000000000000000.log | header 4096 | stream bytes 0 .. S |      S = 64 MiB
//! wal/0000000004000000.log | header 4096 | stream bytes S .. 2 S |    (names: first lsn, hex)
//! stream: | mark | record | record | mark | record | ...    each padded to 8 bytes
//! record: | bytes u32 | crc32c u32 | stamp u64     | payload |        bytes: 16 + payload
//! mark:   | 24    u32 | crc32c u32 | u64::MAX      | incarnation u64 |
//! ```
//! An lsn is a position in the stream; records may cross segments. A mark starts each batch that
//! one leader wrote, and is written only after all before it was synced. So damage with a valid
//! mark behind it hit what was durable (XX001), damage without one is a torn last batch: the log
//! ends there. Checksums are seeded with database, incarnation (a number drawn at each opening)
//! and lsn, so that bytes of recycled segments and of cut tails are never taken for records.
//!
//! Invariants: one batch is in flight at a time; a record lies within space that was allocated and
//! synced before its commit became visible, so a full disk is met by [`Log::reserve`], before;
//! after a failed sync nothing is acknowledged any more (58030).
//! Elsewhere: files (`host`); what payloads say, and from where to replay (the users: `txn`).
//! Source: Mohan et al. 1992 (ARIES), group commit: DeWitt et al. 1984. Departures: redo only.
#![forbid(unsafe_code)]

// Floors: lowest first.
mod place;
mod format;
mod segments;
mod flush;
mod reader;
mod log;
#[cfg(test)]
mod tests;

pub use format::SEGMENT_HEADER_BYTES;
pub use log::{Log, RecordBuffer, Space};
pub use place::{Background, LogOptions, LogPlace, Lsn, Position, Stamp};
pub use reader::{LogReader, Record};
pub use segments::{holds_records, segment_first};
