//! Files and directories behind a trait, so that a seeded simulation can lose what was not synced.
//!
//! Invariants: a name is durable only after its directory was synced, bytes only after their file
//! was.
//! Every error names the path: 53100 disk or quota full, 55006 locked by another process,
//! 58P01 no such file, 58030 anything else.

mod real;
mod sim;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use types::Result;

pub use real::RealIo;
pub use sim::{Fault, HeldSyncs, SimIo, Tear};

/// How [`Io::open`] opens a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Opens to read; the file must exist.
    Read,
    /// Opens to read and write; the file must exist.
    Write,
    /// Opens to read and write; made when absent, emptied when present.
    Create,
    /// As [`Self::Create`]. Where the system can, writes go past its cache up to the first that is
    /// not of whole pages ([`PAGE_BYTES`]: place, length and memory), so that no more of them wait
    /// for the disk than the caller has just written.
    CreateUncached,
}

/// Unit of uncached writes.
pub const PAGE_BYTES: usize = 4096;

/// Bytes written at once to an uncached file: what a commit's sync may wait behind.
const PIECE_BYTES: usize = 128 << 10;

/// Told how long each write took; may rest before the next.
pub type Pace<'p> = &'p dyn Fn(Duration);

/// A file system: what the log and checkpoints need of one.
pub trait Io: Send + Sync + Debug {
    /// Opens a file.
    ///
    /// # Errors
    /// See the module.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>>;

    /// Makes a directory and those above it; it may exist.
    ///
    /// # Errors
    /// See the module.
    fn create_directory(&self, path: &Path) -> Result<()>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// See the module.
    fn sync_directory(&self, path: &Path) -> Result<()>;

    /// Gives a file another name in the same file system; a file of that name is replaced.
    ///
    /// # Errors
    /// See the module.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file, or an empty directory.
    ///
    /// # Errors
    /// See the module.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Names of files and directories in a directory, sorted.
    ///
    /// # Errors
    /// See the module.
    fn list(&self, path: &Path) -> Result<Vec<String>>;

    /// Locks the file at `path` (made when absent) until the value is dropped or the process ends.
    ///
    /// # Errors
    /// 55006 when it is locked already; otherwise see the module.
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>>;

    /// A number nobody can guess or repeat, to tell databases and runs apart.
    fn entropy(&self) -> u64;
}

/// An open file. Offsets are explicit, so that threads can share it.
pub trait File: Send + Sync + Debug {
    /// Its length.
    ///
    /// # Errors
    /// See the module.
    fn bytes(&self) -> Result<u64>;

    /// Fills `into` from `offset` on; returns how many bytes there were, fewer only at the end.
    ///
    /// # Errors
    /// See the module.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize>;

    /// Tells the system that so many bytes from `offset` on will be read soon, so that it begins to
    /// bring them into its cache. Returns at once; a system that cannot does nothing.
    fn expect(&self, offset: u64, bytes: u64);

    /// Writes all of `bytes` at `offset`; the file grows as needed. After an error any part of the
    /// range may be written.
    ///
    /// # Errors
    /// See the module.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Makes everything written durable, by anybody and in any process (fdatasync). After an
    /// error nothing is known about what was written since the last success.
    ///
    /// # Errors
    /// See the module.
    fn sync(&self) -> Result<()>;

    /// Cuts or extends (with zeros) the file to `bytes`.
    ///
    /// # Errors
    /// See the module.
    fn truncate(&self, bytes: u64) -> Result<()>;
}

/// A lock held on a file while the value lives.
pub trait FileLock: Send + Sync + Debug {}

/// Reads a whole file.
///
/// # Errors
/// See the module.
pub fn read_file(io: &dyn Io, path: &Path) -> Result<Vec<u8>> {
    let file = io.open(path, OpenMode::Read)?;
    let mut content = vec![0; file.bytes()? as usize];
    let read = file.read_at(0, &mut content)?;
    content.truncate(read);
    Ok(content)
}

/// Writes and syncs a whole new file; its name is durable once its directory is synced.
///
/// # Errors
/// See the module.
pub fn write_file(io: &dyn Io, path: &Path, parts: &[&[u8]]) -> Result<()> {
    let file = io.open(path, OpenMode::Create)?;
    let mut offset = 0;
    for part in parts {
        file.write_at(offset, part)?;
        offset += part.len() as u64;
    }
    file.sync()
}

/// Writes a whole new file past the cache, at a pace, which is durable once it and its directory
/// are synced.
///
/// # Errors
/// See the module.
pub fn write_uncached(
    io: &dyn Io,
    path: &Path,
    parts: &[&[u8]],
    pace: Pace<'_>,
) -> Result<Arc<dyn File>> {
    let file = io.open(path, OpenMode::CreateUncached)?;
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    let piece_bytes = bytes.clamp(1, PIECE_BYTES);
    let mut memory = vec![0; piece_bytes + PAGE_BYTES];
    let start = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
    let piece = &mut memory[start..start + piece_bytes];
    let (mut offset, mut filled) = (0, 0);
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(piece_bytes - filled));
            piece[filled..filled + now.len()].copy_from_slice(now);
            (filled, rest) = (filled + now.len(), later);
            if filled == piece_bytes {
                let begin = Instant::now();
                file.write_at(offset, piece)?;
                pace(begin.elapsed());
                (offset, filled) = (offset + piece_bytes as u64, 0);
            }
        }
    }
    file.write_at(offset, &piece[..filled])?;
    Ok(file)
}

/// Puts a file in place of `path` such that after a crash either the old or the new one is there.
///
/// # Errors
/// See the module.
pub fn replace_file(io: &dyn Io, path: &Path, content: &[u8]) -> Result<()> {
    let temporary = path.with_extension("tmp");
    write_file(io, &temporary, &[content])?;
    io.rename(&temporary, path)?;
    match path.parent() {
        Some(parent) => io.sync_directory(parent),
        None => Ok(()),
    }
}
