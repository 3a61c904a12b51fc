//! Snapshots and the manifest that names one: where a start begins.
//!
//! ```text
//! snapshot-<n>: | frame | frame | ... | end |     frame: | bytes u32 | crc32c u32 | record |
//! bus.manifest: | magic 8 | version u32 | crc32c u32 | identity u64 | lsn u64 | incarnation u64 |
//!               | stamp u64 | snapshot n u64, 0: none |
//! ```
//! The end is a frame without bytes whose checksum is that of the count of frames before it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{File, Finding, Io, OpenMode, read_file, replace_file};
use types::Result;
use types::codec::{Input, read_u32, read_u64};
use wal::{Lsn, Position, Stamp};

use super::queue::Queue;
use super::state::State;
use crate::record::Record;

/// Bytes written and read at once.
const PIECE_BYTES: usize = 1 << 20;
pub(super) const MANIFEST_NAME: &str = "bus.manifest";
const MAGIC: &[u8; 8] = b"TESSBUS\n";
const FORMAT_VERSION: u32 = 1;
const MANIFEST_BYTES: usize = 56;

/// Where a start begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Identity of the bus, for its log.
    pub(super) identity: u64,
    /// Position in the log: the snapshot holds all in front of it.
    pub(super) from: Position,
    /// The newest stamp in front of it.
    pub(super) stamp: Stamp,
    /// Number of the snapshot, 0 for none.
    pub(super) snapshot: u64,
}

pub(super) fn manifest_path(directory: &Path) -> PathBuf {
    directory.join(MANIFEST_NAME)
}

pub(super) fn snapshot_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("snapshot-{number}"))
}

impl Manifest {
    /// Puts this manifest in place of the one before.
    pub(super) fn replace(&self, io: &dyn Io, directory: &Path) -> Result<()> {
        let mut bytes = vec![0; MANIFEST_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        let numbers =
            [self.identity, self.from.lsn.0, self.from.incarnation, self.stamp.0, self.snapshot];
        for (place, number) in bytes[16..].chunks_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let crc = manifest_crc(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        replace_file(io, &manifest_path(directory), &bytes)
    }

    /// Reads the manifest, which is there.
    pub(super) fn read(io: &dyn Io, directory: &Path) -> Result<Self> {
        let path = manifest_path(directory);
        let bytes = read_file(io, &path)?;
        let damaged = |offset, expectation: String| Finding::new(&path, offset, expectation);
        if bytes.len() != MANIFEST_BYTES || &bytes[..8] != MAGIC {
            return Err(damaged(0, format!("{MANIFEST_BYTES} bytes of a bus's manifest")).into());
        }
        let version = read_u32(&bytes, 8);
        if version != FORMAT_VERSION {
            let expectation = format!("format version {FORMAT_VERSION}, found {version}");
            return Err(damaged(8, expectation).into());
        }
        let (stored, computed) = (read_u32(&bytes, 12), manifest_crc(&bytes));
        if stored != computed {
            return Err(damaged(12, format!("checksum {computed:08x}, found {stored:08x}")).into());
        }
        let number = |at| read_u64(&bytes, at);
        Ok(Self {
            identity: number(16),
            from: Position { lsn: Lsn(number(24)), incarnation: number(32) },
            stamp: Stamp(number(40)),
            snapshot: number(48),
        })
    }
}

fn manifest_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..])
}

/// A snapshot that is being written.
#[derive(Debug)]
pub(super) struct SnapshotWriter {
    file: Arc<dyn File>,
    piece: Vec<u8>,
    written: u64,
    frames: u64,
}

impl SnapshotWriter {
    pub(super) fn create(io: &dyn Io, path: &Path) -> Result<Self> {
        let file = io.open(path, OpenMode::Create)?;
        Ok(Self { file, piece: Vec::new(), written: 0, frames: 0 })
    }

    pub(super) fn add(&mut self, record: &Record) -> Result<()> {
        let start = self.piece.len();
        self.piece.extend_from_slice(&[0; 8]);
        record.write(&mut self.piece);
        let payload = &self.piece[start + 8..];
        let (bytes, crc) = (payload.len() as u32, crc32c::crc32c(payload));
        self.piece[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
        self.piece[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
        self.frames += 1;
        if self.piece.len() >= PIECE_BYTES { self.write_piece() } else { Ok(()) }
    }

    fn write_piece(&mut self) -> Result<()> {
        self.file.write_at(self.written, &self.piece)?;
        self.written += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    /// Ends and syncs the file; returns its bytes.
    pub(super) fn finish(mut self) -> Result<u64> {
        let crc = crc32c::crc32c(&self.frames.to_le_bytes());
        self.piece.extend_from_slice(&0_u32.to_le_bytes());
        self.piece.extend_from_slice(&crc.to_le_bytes());
        self.write_piece()?;
        self.file.sync()?;
        Ok(self.written)
    }
}

/// Applies all records of a snapshot.
pub(super) fn load<Q: Queue>(io: &dyn Io, path: &Path, state: &mut State<Q>) -> Result<u64> {
    let content = read_file(io, path)?;
    let damaged = |at: usize, expectation: &str| Finding::new(path, at as u64, expectation);
    let (mut at, mut frames) = (0, 0_u64);
    loop {
        if content.len() < at + 8 {
            return Err(damaged(at, "a frame or the end of the snapshot").into());
        }
        let (bytes, crc) = (read_u32(&content, at) as usize, read_u32(&content, at + 4));
        if bytes == 0 {
            if crc != crc32c::crc32c(&frames.to_le_bytes()) || content.len() != at + 8 {
                return Err(damaged(at, "the end of the snapshot, with the count of frames").into());
            }
            break;
        }
        let payload = content.get(at + 8..at + 8 + bytes);
        let Some(payload) = payload.filter(|payload| crc32c::crc32c(payload) == crc) else {
            return Err(damaged(at, "a frame with its checksum").into());
        };
        let record = Record::read(&mut Input::new(payload))
            .map_err(|malformed| damaged(at + 8 + malformed.offset, &malformed.expectation))?;
        state.apply_snapshot(record);
        frames += 1;
        at += 8 + bytes;
    }
    state.end_snapshot();
    Ok(content.len() as u64)
}
