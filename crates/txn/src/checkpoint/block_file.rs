//! Files of blocks and of marks of deleted rows. Written once, never changed.
//!
//! ```text
//! | magic 8 | version u32 | crc32c u32 of the rest of the header | kind u32 | 0 u32 |
//! | database | table | block | version | content bytes | dead bytes |      u64 each
//! | content crc32c u32 | dead crc32c u32 | content | dead |
//! ```

use std::path::Path;
use std::sync::Arc;

use host::{Failure, Finding};
use host::{File, Io, OpenMode, Pace, read_file, write_uncached};
use types::codec::{read_u32, read_u64};

const MAGIC: &[u8; 8] = b"TESSBLK\n";
const FORMAT_VERSION: u32 = 1;
const HEADER_BYTES: usize = 80;

/// Content of a file in `blocks/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlockFileKind {
    /// A block and the marks of its deleted rows (`.blk`).
    Block,
    /// Newer marks only (`.dead`).
    Dead,
}

/// The parts of the name of a file in `blocks/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockFileName {
    /// Table.
    pub table: u64,
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
            _ => return None,
        };
        let mut parts = numbers.splitn(3, '-').map(|part| part.parse().ok());
        let (table, block, version) = (parts.next()??, parts.next()??, parts.next()??);
        let parsed = Self { table, block, version, kind };
        (parsed.to_string() == name).then_some(parsed)
    }
}

impl std::fmt::Display for BlockFileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let extension = match self.kind {
            BlockFileKind::Block => "blk",
            BlockFileKind::Dead => "dead",
        };
        write!(f, "{}-{}-{}.{extension}", self.table, self.block, self.version)
    }
}

/// A block as one write left it: the ids that name its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockVersion {
    /// Table.
    pub table: u64,
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

/// Bytes of a block, and a bit per row, set when it is deleted; nothing when none is.
#[derive(Clone, Copy)]
pub struct BlockContent<'a> {
    /// The block.
    pub block: &'a [u8],
    /// Marks of its deleted rows.
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

/// The content of a file in `blocks/`, verified.
#[derive(Clone, Debug)]
pub struct BlockFile {
    file: Vec<u8>,
    content_bytes: usize,
}

impl BlockFile {
    /// The block, for `storage::Block::from_bytes`; nothing in a file of marks only.
    pub fn content(&self) -> &[u8] {
        &self.file[HEADER_BYTES..HEADER_BYTES + self.content_bytes]
    }

    /// One bit per row, set when it is deleted; nothing when none is.
    pub fn dead(&self) -> &[u8] {
        &self.file[HEADER_BYTES + self.content_bytes..]
    }

    /// Writes a file; returns it, to be synced, and what tells it from others.
    pub(super) fn write(
        io: &dyn Io,
        path: &Path,
        of: Owner<'_>,
        BlockContent { block: content, dead }: BlockContent<'_>,
        pace: Pace<'_>,
    ) -> types::Result<(Arc<dyn File>, Seal)> {
        let Owner { database, name } = of;
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[16..20].copy_from_slice(&kind_code(name.kind).to_le_bytes());
        let lengths = [content.len() as u64, dead.len() as u64];
        let numbers = [database, name.table, name.block, name.version, lengths[0], lengths[1]];
        for (index, number) in numbers.iter().enumerate() {
            header[24 + index * 8..32 + index * 8].copy_from_slice(&number.to_le_bytes());
        }
        header[72..76].copy_from_slice(&crc32c::crc32c(content).to_le_bytes());
        header[76..80].copy_from_slice(&crc32c::crc32c(dead).to_le_bytes());
        let crc = header_crc(&header);
        header[12..16].copy_from_slice(&crc.to_le_bytes());
        let file = write_uncached(io, path, &[&header, content, dead], pace)?;
        Ok((file, Seal { bytes: HEADER_BYTES as u64 + lengths[0] + lengths[1], crc }))
    }

    /// Reads the block of a file into `into`, which is as long, and verifies it.
    pub(super) fn read_content(
        io: &dyn Io,
        path: &Path,
        of: Owner<'_>,
        seal: Seal,
        into: &mut [u8],
    ) -> Result<(), Failure> {
        let damaged = |(offset, expectation)| Finding::new(path, offset, expectation);
        let file = io.open(path, OpenMode::Read)?;
        let mut header = [0; HEADER_BYTES];
        let read = file.read_at(0, &mut header)?;
        let found = file.bytes()?;
        verify_header(&header[..read], found, of, seal).map_err(damaged)?;
        let content_bytes = read_u64(&header, 56);
        if content_bytes != into.len() as u64 {
            return Err(damaged((56, format!("{} bytes of content", into.len()))).into());
        }
        let read = file.read_at(HEADER_BYTES as u64, into)?;
        if read < into.len() {
            let end = (HEADER_BYTES + read) as u64;
            return Err(damaged((end, format!("{content_bytes} bytes of content"))).into());
        }
        verify_part(&header, 72, into, HEADER_BYTES as u64).map_err(damaged)?;
        Ok(())
    }

    /// Reads a file and verifies all of it; `seal` is from who names it.
    pub(super) fn read(
        io: &dyn Io,
        path: &Path,
        of: Owner<'_>,
        seal: Seal,
    ) -> Result<Self, Failure> {
        let file = read_file(io, path)?;
        let content_bytes = verify(&file, of, seal)
            .map_err(|(offset, expectation)| Finding::new(path, offset, expectation))?;
        Ok(Self { file, content_bytes })
    }
}

fn kind_code(kind: BlockFileKind) -> u32 {
    match kind {
        BlockFileKind::Block => 1,
        BlockFileKind::Dead => 2,
    }
}

fn header_crc(header: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..HEADER_BYTES])
}

/// Bytes of content; or an offset and what was expected there.
fn verify(file: &[u8], of: Owner<'_>, seal: Seal) -> Result<usize, (u64, String)> {
    verify_header(file, file.len() as u64, of, seal)?;
    let content_bytes = read_u64(file, 56);
    let (content, dead) = file[HEADER_BYTES..].split_at(content_bytes as usize);
    verify_part(file, 72, content, HEADER_BYTES as u64)?;
    verify_part(file, 76, dead, HEADER_BYTES as u64 + content_bytes)?;
    Ok(content_bytes as usize)
}

/// Compares the bytes of a part, from `offset` on, with the checksum at `at` of the header.
fn verify_part(header: &[u8], at: usize, part: &[u8], offset: u64) -> Result<(), (u64, String)> {
    let (stored, computed) = (read_u32(header, at), crc32c::crc32c(part));
    if stored == computed {
        return Ok(());
    }
    let expectation = format!("{} bytes of checksum {stored:08x}", part.len());
    Err((offset, format!("{expectation}, found {computed:08x}")))
}

/// Looks at the header of a file of `found` bytes that begins with `file`.
fn verify_header(
    file: &[u8],
    found: u64,
    Owner { database, name }: Owner<'_>,
    Seal { bytes, crc }: Seal,
) -> Result<(), (u64, String)> {
    if found != bytes || file.len() < HEADER_BYTES {
        return Err((found, format!("{bytes} bytes, found {found}")));
    }
    if &file[..8] != MAGIC {
        return Err((0, "the first bytes of a block file".into()));
    }
    let version = read_u32(file, 8);
    if version != FORMAT_VERSION {
        return Err((8, format!("format version {FORMAT_VERSION}, found {version}")));
    }
    let (stored, computed) = (read_u32(file, 12), header_crc(file));
    if stored != computed || stored != crc {
        let found = format!("found {stored:08x} over {computed:08x}");
        return Err((12, format!("header checksum {crc:08x}, {found}")));
    }
    let kind = u64::from(kind_code(name.kind));
    let expected = [kind, database, name.table, name.block, name.version];
    for (index, number) in expected.iter().enumerate() {
        let found = read_u64(file, 16 + index * 8);
        if found != *number {
            return Err((16 + index as u64 * 8, format!("{number}, found {found}")));
        }
    }
    let (content_bytes, dead_bytes) = (read_u64(file, 56), read_u64(file, 64));
    let rest = found - HEADER_BYTES as u64;
    if content_bytes.checked_add(dead_bytes) != Some(rest) {
        return Err((56, format!("{rest} bytes of content, found {content_bytes}, {dead_bytes}")));
    }
    Ok(())
}
