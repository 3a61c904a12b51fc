//! A copy of a database's files while it is in use.
//!
//! ```text
//! backup.incomplete -> blocks, segments of the log up to a position, manifest, CURRENT -> marker
//! -> backup.incomplete goes
//! ```
//! Invariant: until the marker is there, `backup.incomplete` makes the directory one that nobody
//! opens as a database. The caller keeps the newest checkpoint and its log from being removed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{Io, OpenMode, read_file, write_file};
use types::{Error, Result, SqlState};
use wal::{Lsn, SEGMENT_HEADER_BYTES, segment_first};

use super::block_file::BlockFileName;
use super::directory::{BLOCKS_NAME, CURRENT_NAME, Directory, LOG_NAME, MARKER_NAME, read_current};

/// In a directory that is not yet, or never became, a whole copy.
const INCOMPLETE_NAME: &str = "backup.incomplete";

/// Bytes copied at once.
const COPY_BYTES: usize = 1 << 20;

impl Directory {
    /// Copies the newest checkpoint and the log up to `end`, which is durable, to `target`, where
    /// everything is durable when this returns. `check` is asked before each file and piece.
    /// Returns the bytes copied.
    ///
    /// # Errors
    /// 58P02 when `target` is there and not empty; what `check` says; those of `io`. What was
    /// copied stays, and is no database.
    pub fn copy_to(&self, target: &Path, end: Lsn, check: &dyn Fn() -> Result<()>) -> Result<u64> {
        let io = self.io();
        io.create_directory(target)?;
        if !io.list(target)?.is_empty() {
            let message = format!("directory \"{}\" is not empty", target.display());
            return Err(Error::new(SqlState::DUPLICATE_FILE, message));
        }
        let incomplete = target.join(INCOMPLETE_NAME);
        write_file(&**io, &incomplete, &[b"This backup did not end.\n"])?;
        io.sync_directory(target)?;
        let copy = Copy { io, check };
        let mut bytes = 0;
        for name in [BLOCKS_NAME, LOG_NAME] {
            io.create_directory(&target.join(name))?;
        }
        let (from, to) = (self.path().join(BLOCKS_NAME), target.join(BLOCKS_NAME));
        for name in io.list(&from)? {
            if BlockFileName::parse(&name).is_none() {
                continue;
            }
            match copy.file(from.join(&name), to.join(&name), u64::MAX) {
                Ok(copied) => bytes += copied,
                // One of a load that was given up: no record and no manifest names it.
                Err(error) if error.state() == SqlState::UNDEFINED_FILE => {}
                Err(error) => return Err(error),
            }
        }
        let (from, to) = (self.path().join(LOG_NAME), target.join(LOG_NAME));
        for name in io.list(&from)? {
            // The first segment beyond is there when the log ends with one.
            let Some(first) = segment_first(&name).filter(|first| *first <= end.0) else {
                continue;
            };
            let until = SEGMENT_HEADER_BYTES + (end.0 - first);
            bytes += copy.file(from.join(&name), to.join(&name), until)?;
        }
        let (manifest, _) = read_current(&**io, self.path(), self.database())?;
        for name in [manifest, CURRENT_NAME.to_owned()] {
            bytes += copy.file(self.path().join(&name), target.join(&name), u64::MAX)?;
        }
        for name in [BLOCKS_NAME, LOG_NAME] {
            io.sync_directory(&target.join(name))?;
        }
        io.sync_directory(target)?;
        let marker = read_file(&**io, &self.path().join(MARKER_NAME))?;
        write_file(&**io, &target.join(MARKER_NAME), &[&marker])?;
        io.sync_directory(target)?;
        io.remove(&incomplete)?;
        io.sync_directory(target)?;
        if let Some(parent) = target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            io.sync_directory(parent)?;
        }
        Ok(bytes)
    }
}

struct Copy<'a> {
    io: &'a Arc<dyn Io>,
    check: &'a dyn Fn() -> Result<()>,
}

impl Copy<'_> {
    /// Copies a file up to `until`; what follows are zeros. Returns the bytes copied.
    fn file(&self, from: PathBuf, to: PathBuf, until: u64) -> Result<u64> {
        (self.check)()?;
        let source = self.io.open(&from, OpenMode::Read)?;
        let whole = source.bytes()?;
        let target = self.io.open(&to, OpenMode::Create)?;
        let end = whole.min(until);
        let mut buffer = vec![0; COPY_BYTES.min(end as usize)];
        let mut at = 0;
        while at < end {
            (self.check)()?;
            let count = (buffer.len() as u64).min(end - at) as usize;
            let read = source.read_at(at, &mut buffer[..count])?;
            if read == 0 {
                break;
            }
            target.write_at(at, &buffer[..read])?;
            at += read as u64;
        }
        if end < whole {
            target.truncate(whole)?;
        }
        target.sync()?;
        Ok(at)
    }
}
