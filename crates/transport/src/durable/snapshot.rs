//! The file of a snapshot: what a store had while its log grew from one place to another.
//!
//! ```text
//! snapshot | frame | frame | ...          frame  | bytes u32 | crc32c u32 | kind | content |
//! kinds    begin   format, place of the log from which on calls are done again
//!          placement  keys that the store answered for at that place
//!          table   name, schema, layout   in the order of their making, then for each table
//!          rows    number, a piece of its image
//!          horizon number, version up to which one version of each key is left
//!          session client, answers that it may ask for again       fences  clients
//!          end     place of the log from which on no call is in the snapshot
//! ```
//! A checksum covers the number of its frame, too. The file is written under another name and has
//! its own when it is whole and on disk, so one that is not whole is damaged.
//! Elsewhere: when it is made, and what happens to the log (`durable`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{File, Finding, Io, OpenMode};
use store::codec;
use store::server::{Definition, Layout, Store, TableId};
use store::{Schema, Version};
use types::codec::{Input, Malformed, put_bytes, put_u64, read_u32};
use types::{Error, Result, SqlState};
use wal::{Lsn, Position};

use crate::exchange::SessionAnswers;
use crate::message::{layout, put_layout};
use crate::placement::Kept;

/// Version of the format.
const FORMAT: u64 = 1;

/// Bytes before a frame's content, its kind apart.
const FRAME_HEADER_BYTES: usize = 8;

/// Bytes that a frame has at most: pieces of images are smaller, and rows that are larger, too.
const FRAME_BYTES_MAX: usize = 1 << 30;

/// Bytes written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Bytes after which the disk is waited for, so that a commit does not wait behind more of them.
const SYNC_BYTES: u64 = 8 << 20;

/// Bytes read at once.
const READ_BYTES: usize = 4 << 20;

const BEGIN: u8 = 0;
const TABLE: u8 = 1;
const ROWS: u8 = 2;
const HORIZON: u8 = 3;
const SESSION: u8 = 4;
const FENCES: u8 = 5;
const END: u8 = 6;
const PLACEMENT: u8 = 7;

/// Name of a snapshot.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join("snapshot")
}

/// Name of one that is being written.
pub(super) fn unfinished(directory: &Path) -> PathBuf {
    directory.join("snapshot.tmp")
}

/// Writes a snapshot.
pub(super) struct SnapshotWriter {
    file: Arc<dyn File>,
    bytes: Vec<u8>,
    written: u64,
    synced: u64,
    frames: u32,
}

impl SnapshotWriter {
    /// A snapshot after which calls are done again from `from` on.
    pub(super) fn create(io: &dyn Io, path: &Path, from: Position) -> Result<Self> {
        let file = io.open(path, OpenMode::Create)?;
        let mut writer = Self { file, bytes: Vec::new(), written: 0, synced: 0, frames: 0 };
        writer.frame(BEGIN, |out| {
            [FORMAT, from.lsn.0, from.incarnation].iter().for_each(|number| put_u64(out, *number));
        })?;
        Ok(writer)
    }

    pub(super) fn placement(&mut self, placement: &Kept) -> Result<()> {
        self.frame(PLACEMENT, |out| placement.put(out))
    }

    pub(super) fn table(&mut self, table: &Definition) -> Result<()> {
        self.frame(TABLE, |out| {
            put_bytes(out, table.name.as_bytes());
            codec::put_schema(out, &table.schema);
            put_layout(out, table.layout);
        })
    }

    pub(super) fn rows(&mut self, table: TableId, image: &[u8]) -> Result<()> {
        self.frame(ROWS, |out| {
            put_u64(out, table.0);
            out.extend_from_slice(image);
        })
    }

    pub(super) fn horizon(&mut self, table: TableId, horizon: Version) -> Result<()> {
        self.frame(HORIZON, |out| {
            put_u64(out, table.0);
            put_u64(out, horizon.0);
        })
    }

    pub(super) fn session(&mut self, session: &SessionAnswers) -> Result<()> {
        self.frame(SESSION, |out| {
            put_u64(out, session.client);
            for (number, answer) in &session.answers {
                put_u64(out, *number);
                put_bytes(out, answer);
            }
        })
    }

    pub(super) fn fences(&mut self, clients: &[u64]) -> Result<()> {
        self.frame(FENCES, |out| clients.iter().for_each(|client| put_u64(out, *client)))
    }

    /// Ends the file: it is on disk when this returns. No call from `end` on is in it. Returns its
    /// bytes.
    pub(super) fn finish(mut self, end: Lsn) -> Result<u64> {
        self.frame(END, |out| put_u64(out, end.0))?;
        self.write()?;
        self.file.sync()?;
        Ok(self.written)
    }

    fn frame(&mut self, kind: u8, put: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
        self.bytes.push(kind);
        put(&mut self.bytes);
        let content = &self.bytes[start + FRAME_HEADER_BYTES..];
        if content.len() > FRAME_BYTES_MAX {
            let message = "a part of the snapshot exceeds 1 GiB";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        let (bytes, crc) = (content.len() as u32, checksum(self.frames, content));
        self.bytes[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
        self.bytes[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
        self.frames += 1;
        if self.bytes.len() >= WRITE_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        self.file.write_at(self.written, &self.bytes)?;
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
        if self.written - self.synced >= SYNC_BYTES {
            self.file.sync()?;
            self.synced = self.written;
        }
        Ok(())
    }
}

fn checksum(frame: u32, content: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&frame.to_le_bytes()), content)
}

/// Content of a snapshot that is not in the store yet.
#[derive(Default)]
pub(super) struct Loaded {
    /// Place from which on calls are done again.
    pub(super) from: Position,
    /// Place from which on no call is in the snapshot.
    pub(super) end: Lsn,
    /// Bytes of its file.
    pub(super) bytes: u64,
    /// For each table, the version up to which one of each key is left.
    pub(super) horizons: Vec<(TableId, Version)>,
    pub(super) sessions: Vec<SessionAnswers>,
    pub(super) fences: Vec<u64>,
    pub(super) placement: Kept,
}

/// Reads a snapshot into `store`, which is empty.
///
/// # Errors
/// XX001 for one that is damaged; errors of the disk; 53200 without room.
pub(super) fn load(io: &dyn Io, path: &Path, store: &Store) -> Result<Loaded> {
    let mut reader = SnapshotReader::open(io, path)?;
    let mut loaded = Loaded::default();
    let mut restored = 0;
    while let Some(frame) = reader.next()? {
        let (kind, content) = (frame[0], &frame[1..]);
        let place = reader.place();
        let damaged = |malformed: Malformed| {
            let Malformed { offset, expectation } = malformed;
            Error::from(Finding::new(path, place + offset as u64, expectation))
        };
        if kind == ROWS {
            restored += content.len();
        }
        let mut input = Input::new(content);
        match kind {
            ROWS => {
                let table = TableId(input.u64().map_err(damaged)?);
                store.restore(table, input.rest())?;
            }
            TABLE => {
                let (name, schema, layout) = definition(&mut input).map_err(damaged)?;
                store.create(name, schema, layout)?;
            }
            _ => loaded.frame(kind, &mut input).map_err(damaged)?,
        }
        if kind == END {
            loaded.bytes = reader.finish()?;
            return Ok(loaded);
        }
        if restored >= MERGE_BYTES {
            restored = 0;
            merge(store)?;
        }
    }
    Err(reader.damaged("the end of the snapshot"))
}

/// Bytes of images after which rows are brought into pages.
const MERGE_BYTES: usize = 256 << 20;

/// Brings rows into pages, and frees nothing else.
pub(super) fn merge(store: &Store) -> Result<()> {
    for table in store.definitions() {
        store.table(table.id)?.collect(Version(0))?;
    }
    Ok(())
}

/// Name, schema and layout of a table.
fn definition<'a>(input: &mut Input<'a>) -> Result<(&'a str, Schema, Layout), Malformed> {
    Ok((input.text()?, codec::schema(input)?, layout(input)?))
}

impl Loaded {
    fn frame(&mut self, kind: u8, input: &mut Input<'_>) -> Result<(), Malformed> {
        match kind {
            BEGIN => {
                if input.u64()? != FORMAT {
                    return Err(input.malformed("a snapshot of format 1"));
                }
                self.from = Position { lsn: Lsn(input.u64()?), incarnation: input.u64()? };
            }
            HORIZON => self.horizons.push((TableId(input.u64()?), Version(input.u64()?))),
            SESSION => {
                let (client, mut answers) = (input.u64()?, Vec::new());
                while !input.is_empty() {
                    answers.push((input.u64()?, input.bytes()?.to_vec()));
                }
                self.sessions.push(SessionAnswers { client, answers });
            }
            FENCES => {
                while !input.is_empty() {
                    self.fences.push(input.u64()?);
                }
            }
            END => self.end = Lsn(input.u64()?),
            PLACEMENT => self.placement = Kept::read(input)?,
            _ => return Err(input.malformed("a kind of frame")),
        }
        Ok(())
    }
}

/// Reads frames one after the other.
struct SnapshotReader<'a> {
    file: Arc<dyn File>,
    path: &'a Path,
    bytes: u64,
    /// Place of the frame that was read last, and of the next one.
    at: u64,
    next: u64,
    frames: u32,
    /// Bytes of the file from `buffered` on.
    buffer: Vec<u8>,
    buffered: u64,
}

impl<'a> SnapshotReader<'a> {
    fn open(io: &dyn Io, path: &'a Path) -> Result<Self> {
        let file = io.open(path, OpenMode::Read)?;
        let bytes = file.bytes()?;
        let (buffer, buffered) = (Vec::new(), 0);
        Ok(Self { file, path, bytes, at: 0, next: 0, frames: 0, buffer, buffered })
    }

    fn damaged(&self, expectation: &str) -> Error {
        Finding::new(self.path, self.at, expectation).into()
    }

    /// Place of the content of the frame that was read last.
    fn place(&self) -> u64 {
        self.at + FRAME_HEADER_BYTES as u64 + 1
    }

    /// The next frame from its kind on; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        self.at = self.next;
        if self.at == self.bytes {
            return Ok(None);
        }
        let header = self.take(FRAME_HEADER_BYTES)?;
        let (bytes, crc) = (read_u32(&header, 0) as usize, read_u32(&header, 4));
        if bytes == 0 || bytes > FRAME_BYTES_MAX {
            return Err(self.damaged("the length of a frame"));
        }
        let content = self.take(bytes)?;
        if checksum(self.frames, &content) != crc {
            return Err(self.damaged("a frame with its checksum"));
        }
        self.frames += 1;
        Ok(Some(content))
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>> {
        if self.next + count as u64 > self.bytes {
            return Err(self.damaged("a frame that ends before the file"));
        }
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            let from = (self.next - self.buffered) as usize;
            if from == self.buffer.len() {
                self.buffered += from as u64;
                let more = READ_BYTES.min((self.bytes - self.buffered) as usize);
                self.buffer.resize(more, 0);
                if self.file.read_at(self.buffered, &mut self.buffer)? < more {
                    return Err(self.damaged("more bytes, as its length promised"));
                }
                continue;
            }
            let some = (count - taken.len()).min(self.buffer.len() - from);
            taken.extend_from_slice(&self.buffer[from..from + some]);
            self.next += some as u64;
        }
        Ok(taken)
    }

    /// Looks that nothing stands behind the end; gives the bytes.
    fn finish(&self) -> Result<u64> {
        if self.next != self.bytes {
            return Err(self.damaged("nothing behind the end of the snapshot"));
        }
        Ok(self.bytes)
    }
}
