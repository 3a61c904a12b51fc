//! Files of blocks, marks of deleted rows, keys and statistics. Written once, never changed.
//!
//! ```text
//! | magic 8 | version u32 | crc32c u32 of the header's rest | kind u32 | identity bytes u32 |
//! | database | table | block | version | content bytes | dead bytes |      u64 each
//! | content crc32c u32 | dead crc32c u32 | identity crc32c u32 | 0 u32 |
//! | identity | dead | content |
//!
//! version 1: | ... 0 u32 | ... | content crc32c u32 | dead crc32c u32 | content | dead |
//! ```
//! Each part has a checksum of its own, so that opening a database reads the start of a frozen
//! block's file, and the content when somebody wants its rows. Files of hot blocks have no identity
//! and are read whole, and so are those of version 1, which earlier builds wrote.

use std::path::Path;
use std::sync::Arc;

use host::{Failure, Finding};
use host::{File, Io, OpenMode, Pace, read_file, write_uncached};
use storage::TableId;
use types::codec::{read_u32, read_u64};

const MAGIC: &[u8; 8] = b"TESSBLK\n";
const FORMAT_VERSION: u32 = 2;
const HEADER_BYTES: usize = 88;
/// Bytes of the header of version 1, which ended before the identity's checksum.
const HEADER_BYTES_1: usize = 80;

/// Bytes read at first of a file whose content is not wanted: header and identity of a block of a
/// dozen columns.
pub(super) const START_BYTES: u64 = if cfg!(test) { 256 } else { 4096 };

/// Content of a file in `blocks/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlockFileKind {
    /// A block and the marks of its deleted rows (`.blk`).
    Block,
    /// Newer marks only (`.dead`).
    Dead,
    /// Keys of the rows of a frozen block (`.keys`).
    Keys,
    /// Statistics of a table (`.stats`), as of its block 0.
    Statistics,
}

/// The parts of the name of a file in `blocks/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockFileName {
    /// Table.
    pub table: TableId,
    /// Block of the table.
    pub block: u64,
    /// Tells files of one block apart; never used twice.
    pub version: u64,
    /// Content of the file.
    pub kind: BlockFileKind,
}

impl BlockFileName {
    /// The parts of `name`, if it is such a name.
    pub fn parse(name: &str) -> Option<Self> {
        let (numbers, extension) = name.split_once('.')?;
        let kind = match extension {
            "blk" => BlockFileKind::Block,
            "dead" => BlockFileKind::Dead,
            "keys" => BlockFileKind::Keys,
            "stats" => BlockFileKind::Statistics,
            _ => return None,
        };
        let mut parts = numbers.splitn(3, '-').map(|part| part.parse().ok());
        let (table, block, version) = (TableId(parts.next()??), parts.next()??, parts.next()??);
        let parsed = Self { table, block, version, kind };
        (parsed.to_string() == name).then_some(parsed)
    }
}

impl std::fmt::Display for BlockFileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let extension = match self.kind {
            BlockFileKind::Block => "blk",
            BlockFileKind::Dead => "dead",
            BlockFileKind::Keys => "keys",
            BlockFileKind::Statistics => "stats",
        };
        write!(f, "{}-{}-{}.{extension}", self.table, self.block, self.version)
    }
}

/// A block as one write left it: the ids that name its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockVersion {
    /// Table.
    pub table: TableId,
    /// Block of the table.
    pub block: u64,
    /// Tells files of one block apart; never used twice.
    pub version: u64,
}

impl BlockVersion {
    /// The name of a file of it.
    pub(super) fn file(self, kind: BlockFileKind) -> BlockFileName {
        let Self { table, block, version } = self;
        BlockFileName { table, block, version, kind }
    }
}

/// Parts that go into the file of a block.
#[derive(Clone, Copy)]
pub struct BlockContent<'a> {
    /// The block.
    pub block: &'a [u8],
    /// Identity of a frozen block, for whoever does not want its rows; nothing for a hot one.
    pub identity: &'a [u8],
    /// A bit per row, set when it is deleted; nothing when none is.
    pub dead: &'a [u8],
}

/// Database and name of a file, which its header repeats.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) database: u64,
    pub(super) name: &'a BlockFileName,
}

/// Length of a file and checksum of its header.
#[derive(Clone, Copy)]
pub(super) struct Seal {
    pub(super) bytes: u64,
    pub(super) crc: u32,
}

/// An offset and what was expected there.
pub(super) type Wrong = (u64, String);

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) crc: u32,
}

impl Part {
    fn end(self) -> u64 {
        self.offset + self.bytes
    }

    /// The part of a whole file, whose header was verified.
    fn of(self, file: &[u8]) -> &[u8] {
        &file[self.offset as usize..self.end() as usize]
    }

    fn verify(self, bytes: &[u8]) -> Result<(), Wrong> {
        let (stored, computed) = (self.crc, crc32c::crc32c(bytes));
        if stored == computed {
            return Ok(());
        }
        let expectation = format!("{} bytes of checksum {stored:08x}", self.bytes);
        Err((self.offset, format!("{expectation}, found {computed:08x}")))
    }
}

/// The parts of a file, all inside of it.
#[derive(Clone, Copy, Debug)]
struct Parts {
    identity: Part,
    dead: Part,
    content: Part,
}

/// The content of a file in `blocks/`, verified.
#[derive(Clone, Debug)]
pub struct BlockFile {
    file: Vec<u8>,
    parts: Parts,
}

/// The start of the file of a frozen block, verified: all but its content.
#[derive(Clone, Debug)]
pub struct BlockStart {
    /// Identity of the block, for `storage::Table::restore_evicted`.
    pub identity: Vec<u8>,
    /// One bit per row, set when it is deleted; nothing when none is.
    pub dead: Vec<u8>,
}

impl BlockFile {
    /// The block, for `storage::Block::from_bytes`; nothing in a file of marks only.
    pub fn content(&self) -> &[u8] {
        self.parts.content.of(&self.file)
    }

    /// One bit per row, set when it is deleted; nothing when none is.
    pub fn dead(&self) -> &[u8] {
        self.parts.dead.of(&self.file)
    }

    /// Writes a file; returns it, to be synced, and what tells it from others.
    pub(super) fn write(
        io: &dyn Io,
        path: &Path,
        of: Owner<'_>,
        BlockContent { block: content, identity, dead }: BlockContent<'_>,
        pace: Pace<'_>,
    ) -> types::Result<(Arc<dyn File>, Seal)> {
        let Owner { database, name } = of;
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[16..20].copy_from_slice(&kind_code(name.kind).to_le_bytes());
        // A block has less than 4 GiB, and its identity some strings of it.
        header[20..24].copy_from_slice(&(identity.len() as u32).to_le_bytes());
        let lengths = [content.len() as u64, dead.len() as u64];
        let numbers = [database, name.table.0, name.block, name.version, lengths[0], lengths[1]];
        for (index, number) in numbers.iter().enumerate() {
            header[24 + index * 8..32 + index * 8].copy_from_slice(&number.to_le_bytes());
        }
        for (index, part) in [content, dead, identity].iter().enumerate() {
            let at = 72 + index * 4;
            header[at..at + 4].copy_from_slice(&crc32c::crc32c(part).to_le_bytes());
        }
        let crc = header_crc(&header);
        header[12..16].copy_from_slice(&crc.to_le_bytes());
        let parts = [&header[..], identity, dead, content];
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        let file = write_uncached(io, path, &parts, pace)?;
        Ok((file, Seal { bytes, crc }))
    }

    /// Reads the block of a file into `into`, which is as long, and verifies it.
    pub(super) fn read_content(
        io: &dyn Io,
        path: &Path,
        of: Owner<'_>,
        seal: Seal,
        into: &mut [u8],
    ) -> Result<(), Failure> {
        let start = Start::read(io, path, of, seal, HEADER_BYTES as u64)?;
        let content = start.parts.content;
        if content.bytes != into.len() as u64 {
            return Err(start.damaged((56, format!("{} bytes of content", into.len()))));
        }
        start.read_into(content, into)
    }

    /// Reads and verifies all of the file of a frozen block but its content; None when the file has
    /// no identity and is to be read whole.
    pub(super) fn read_start(
        io: &dyn Io,
        path: &Path,
        of: Owner<'_>,
        seal: Seal,
    ) -> Result<Option<BlockStart>, Failure> {
        let start = Start::read(io, path, of, seal, START_BYTES)?;
        let Parts { identity, dead, .. } = start.parts;
        if identity.bytes == 0 {
            return Ok(None);
        }
        Ok(Some(BlockStart { identity: start.part(identity)?, dead: start.part(dead)? }))
    }

    /// Reads a file and verifies all of it; `seal` is from who names it.
    pub(super) fn read(
        io: &dyn Io,
        path: &Path,
        of: Owner<'_>,
        seal: Seal,
    ) -> Result<Self, Failure> {
        let file = read_file(io, path)?;
        let parts = verify(&file, of, seal)
            .map_err(|(offset, expectation)| Finding::new(path, offset, expectation))?;
        Ok(Self { file, parts })
    }
}

/// A file of which the start was read and the header verified.
pub(super) struct Start<'p> {
    file: Arc<dyn File>,
    path: &'p Path,
    bytes: Vec<u8>,
    parts: Parts,
}

impl<'p> Start<'p> {
    /// Reads the first `bytes` bytes of a file, if it has so many.
    pub(super) fn read(
        io: &dyn Io,
        path: &'p Path,
        of: Owner<'_>,
        seal: Seal,
        bytes: u64,
    ) -> Result<Self, Failure> {
        let file = io.open(path, OpenMode::Read)?;
        let found = file.bytes()?;
        let mut start = vec![0; found.min(bytes) as usize];
        let read = file.read_at(0, &mut start)?;
        start.truncate(read);
        let parts = verify_header(&start, found, of, seal)
            .map_err(|(offset, expectation)| Finding::new(path, offset, expectation))?;
        Ok(Self { file, path, bytes: start, parts })
    }

    /// Reads the part in front of the content, which says what that is.
    pub(super) fn identity(&self) -> Result<Vec<u8>, Failure> {
        self.part(self.parts.identity)
    }

    /// A piece of the content, whose offset is that in the content.
    pub(super) fn piece(&self, Part { offset, bytes, crc }: Part) -> Result<Vec<u8>, Failure> {
        let content = self.parts.content;
        if offset.checked_add(bytes).is_none_or(|end| end > content.bytes) {
            let expectation = format!("{bytes} bytes at {offset} of {}", content.bytes);
            return Err(self.damaged((content.offset, expectation)));
        }
        self.part(Part { offset: content.offset + offset, bytes, crc })
    }

    /// Damage, as `wrong` says.
    pub(super) fn damaged(&self, wrong: Wrong) -> Failure {
        let (offset, expectation) = wrong;
        Finding::new(self.path, offset, expectation).into()
    }

    /// Reads and verifies a part.
    fn part(&self, part: Part) -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![0; part.bytes as usize];
        self.read_into(part, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads and verifies a part into memory that is as long.
    fn read_into(&self, part: Part, into: &mut [u8]) -> Result<(), Failure> {
        let known = self.bytes.get(part.offset as usize..).unwrap_or_default();
        let (first, rest) = into.split_at_mut(known.len().min(into.len()));
        first.copy_from_slice(&known[..first.len()]);
        if !rest.is_empty() {
            let offset = part.offset + first.len() as u64;
            let read = self.file.read_at(offset, rest)?;
            if read < rest.len() {
                let expectation = format!("a part up to byte {}", part.end());
                return Err(self.damaged((offset + read as u64, expectation)));
            }
        }
        part.verify(into).map_err(|wrong| self.damaged(wrong))
    }
}

fn kind_code(kind: BlockFileKind) -> u32 {
    match kind {
        BlockFileKind::Block => 1,
        BlockFileKind::Dead => 2,
        BlockFileKind::Keys => 3,
        BlockFileKind::Statistics => 4,
    }
}

fn header_crc(header: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..])
}

/// Verifies a whole file; returns its parts.
fn verify(file: &[u8], of: Owner<'_>, seal: Seal) -> Result<Parts, Wrong> {
    let parts = verify_header(file, file.len() as u64, of, seal)?;
    for part in [parts.identity, parts.dead, parts.content] {
        part.verify(part.of(file))?;
    }
    Ok(parts)
}

/// Looks at the header of a file of `found` bytes that begins with `file`.
fn verify_header(
    file: &[u8],
    found: u64,
    Owner { database, name }: Owner<'_>,
    Seal { bytes, crc }: Seal,
) -> Result<Parts, Wrong> {
    if found != bytes || file.len() < HEADER_BYTES_1 {
        return Err((found, format!("{bytes} bytes, found {found}")));
    }
    if &file[..8] != MAGIC {
        return Err((0, "the first bytes of a block file".into()));
    }
    let version = read_u32(file, 8);
    let header_bytes = match version {
        1 => HEADER_BYTES_1,
        FORMAT_VERSION => HEADER_BYTES,
        _ => return Err((8, format!("format version {FORMAT_VERSION}, found {version}"))),
    };
    let Some(header) = file.get(..header_bytes) else {
        return Err((found, format!("a header of {header_bytes} bytes")));
    };
    let (stored, computed) = (read_u32(header, 12), header_crc(header));
    if stored != computed || stored != crc {
        let found = format!("found {stored:08x} over {computed:08x}");
        return Err((12, format!("header checksum {crc:08x}, {found}")));
    }
    let (kind, wanted) = (read_u32(header, 16), kind_code(name.kind));
    if kind != wanted {
        return Err((16, format!("{wanted}, found {kind}")));
    }
    let expected = [database, name.table.0, name.block, name.version];
    for (index, number) in expected.iter().enumerate() {
        let found = read_u64(header, 24 + index * 8);
        if found != *number {
            return Err((24 + index as u64 * 8, format!("{number}, found {found}")));
        }
    }
    parts_of(header, found - header_bytes as u64)
}

/// The parts that a header names, which together have `rest` bytes.
fn parts_of(header: &[u8], rest: u64) -> Result<Parts, Wrong> {
    let start = header.len() as u64;
    let (content_bytes, dead_bytes) = (read_u64(header, 56), read_u64(header, 64));
    let is_first = header.len() == HEADER_BYTES_1;
    let identity_bytes = if is_first { 0 } else { u64::from(read_u32(header, 20)) };
    let sum = content_bytes.checked_add(dead_bytes).and_then(|sum| sum.checked_add(identity_bytes));
    if sum != Some(rest) {
        let found = format!("found {content_bytes}, {dead_bytes}, {identity_bytes}");
        return Err((56, format!("{rest} bytes of content, {found}")));
    }
    let (content_crc, dead_crc) = (read_u32(header, 72), read_u32(header, 76));
    let part = |offset, bytes, crc| Part { offset, bytes, crc };
    if is_first {
        return Ok(Parts {
            identity: part(start, 0, 0),
            content: part(start, content_bytes, content_crc),
            dead: part(start + content_bytes, dead_bytes, dead_crc),
        });
    }
    let (dead_at, end) = (start + identity_bytes, start + rest);
    Ok(Parts {
        identity: part(start, identity_bytes, read_u32(header, 80)),
        dead: part(dead_at, dead_bytes, dead_crc),
        content: part(end - content_bytes, content_bytes, content_crc),
    })
}
