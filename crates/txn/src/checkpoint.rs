//! The directory of a database: which files make up its newest checkpoint.
//!
//! ```text
//! tessera.db    marker: database id, format version; written last when a database is made
//! LOCK          locked by the one process that has the database open
//! CURRENT       name and checksum of the newest complete manifest; replaced by renaming
//! manifest-<n>  snapshot, position in the log, catalog, sequences, tables and their block files
//! blocks/       <table>-<block>-<version>.blk; .dead: newer marks of deleted rows; .keys: keys of
//!               its rows, for indexes; .stats: statistics of the table
//! wal/          see the crate `wal`
//! ```
//! Order of a checkpoint: block files synced, their names synced, manifest synced, its name synced,
//! CURRENT replaced, directory synced; only then old files and log segments go. A crash in between
//! leaves the former checkpoint and files that nobody names, which [`Directory::sweep`] removes.
//!
//! Invariants: files that CURRENT leads to never change; each is checked by a checksum that the
//! file before it holds (CURRENT: manifest; manifest: headers of block files; headers: contents).
//! Elsewhere: what goes into blocks (`storage`), catalog bytes (`engine`).

mod manifest;
mod directory;
mod backup;
mod block_file;
mod keys;
mod check;
#[cfg(test)]
mod tests;

pub use block_file::{
    BlockContent, BlockFile, BlockFileKind, BlockFileName, BlockStart, BlockVersion,
};
pub use check::check;
pub use directory::{BlockReader, Directory, Syncing, Unsynced};
pub use keys::{KeysReference, checksum_of};
pub use manifest::{
    BlockEntry, BlockTemperature, DeadReference, Manifest, StatisticsReference, TableEntry,
};
