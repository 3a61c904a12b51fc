//! A manifest: everything that a checkpoint consists of.
//!
//! ```text
//! | magic 8 | version u32 | crc32c u32 of all that follows | bytes u64 | database u64 | body |
//! body: varints: snapshot, lsn, incarnation, next file version; catalog; sequences; tables;
//!       statistics of tables that have some
//! ```

use std::collections::HashSet;
use std::path::Path;

use host::Finding;
use storage::{TableId, Timestamp};
use types::codec::{Input, Malformed, put_bytes, put_i64, put_u64, read_u32, read_u64};
use wal::{Lsn, Position};

use super::block_file::{BlockFileKind, BlockFileName};
use super::keys::KeysReference;
use crate::redo::BlockReference;

const MAGIC: &[u8; 8] = b"TESSMAN\n";
/// Version 1 knew no files of keys, version 2 none of statistics; otherwise they are the same.
const FORMAT_VERSION: u32 = 3;
/// Bytes in front of the body.
const HEADER_BYTES: usize = 32;

/// Temperature of a block: its rows can change in place, or cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTemperature {
    /// Rows can change: the file is replaced when they did.
    Hot,
    /// Rows cannot change: the file stays as long as the block.
    Frozen,
}

/// A file with marks of deleted rows, which replaces the marks in the block's own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadReference {
    /// Version in its name.
    pub version: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// CRC-32C of its header, which holds that of its content.
    pub crc: u32,
}

/// A block of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Its file.
    pub file: BlockReference,
    /// The newest commit that the file holds changes of.
    pub changed: Timestamp,
    /// Temperature of the block.
    pub temperature: BlockTemperature,
    /// Newer marks of deleted rows.
    pub dead: Option<DeadReference>,
    /// Keys of its rows, if it is frozen.
    pub keys: Option<KeysReference>,
}

/// A file with statistics of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticsReference {
    /// Version in its name.
    pub version: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// CRC-32C of its header, which holds that of its content.
    pub crc: u32,
    /// Number of the estimates in it among those that were made for the table.
    pub generation: u64,
    /// Changes of the table between the moment they were made and the checkpoint.
    pub changes: u64,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableEntry {
    /// Table.
    pub id: TableId,
    /// The id of its next block.
    pub next_block: u64,
    /// Its blocks in order.
    pub blocks: Vec<BlockEntry>,
    /// Its statistics.
    pub statistics: Option<StatisticsReference>,
}

/// A checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Newest commit that it holds.
    pub snapshot: Timestamp,
    /// Where in the log replay starts.
    pub position: Position,
    /// The next version for the name of a block file.
    pub next_version: u64,
    /// The catalog in the engine's encoding.
    pub catalog: Vec<u8>,
    /// Last values given out, by sequence.
    pub sequences: Vec<(u64, i64)>,
    /// Tables.
    pub tables: Vec<TableEntry>,
}

impl Manifest {
    /// The files that it names and `new` does not.
    pub fn replaced_by(&self, new: &Self) -> Vec<BlockFileName> {
        let kept: HashSet<_> = new.files().collect();
        self.files().filter(|name| !kept.contains(name)).collect()
    }

    /// The files in `blocks/` that it names.
    pub fn files(&self) -> impl Iterator<Item = BlockFileName> {
        self.tables.iter().flat_map(|table| {
            let name = |entry: &BlockEntry, version, kind| BlockFileName {
                table: table.id,
                block: entry.file.block,
                version,
                kind,
            };
            let statistics = table.statistics.iter().map(|statistics| BlockFileName {
                table: table.id,
                block: 0,
                version: statistics.version,
                kind: BlockFileKind::Statistics,
            });
            let blocks = table.blocks.iter().flat_map(move |entry| {
                let block = name(entry, entry.file.version, BlockFileKind::Block);
                let dead = entry.dead.map(|dead| name(entry, dead.version, BlockFileKind::Dead));
                let keys = entry.keys.map(|keys| name(entry, keys.version, BlockFileKind::Keys));
                [Some(block), dead, keys].into_iter().flatten()
            });
            blocks.chain(statistics)
        })
    }

    /// As bytes for a file of the database.
    pub fn write(&self, database: u64) -> Vec<u8> {
        let mut out = vec![0; HEADER_BYTES];
        put_u64(&mut out, self.snapshot.0);
        put_u64(&mut out, self.position.lsn.0);
        put_u64(&mut out, self.position.incarnation);
        put_u64(&mut out, self.next_version);
        put_bytes(&mut out, &self.catalog);
        put_u64(&mut out, self.sequences.len() as u64);
        for (sequence, value) in &self.sequences {
            put_u64(&mut out, *sequence);
            put_i64(&mut out, *value);
        }
        put_u64(&mut out, self.tables.len() as u64);
        for table in &self.tables {
            put_u64(&mut out, table.id.0);
            put_u64(&mut out, table.next_block);
            put_u64(&mut out, table.blocks.len() as u64);
            for entry in &table.blocks {
                put_entry(&mut out, entry);
            }
        }
        self.put_statistics(&mut out);
        let bytes = out.len() as u64;
        out[..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        out[16..24].copy_from_slice(&bytes.to_le_bytes());
        out[24..32].copy_from_slice(&database.to_le_bytes());
        let crc = crc32c::crc32c(&out[16..]);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// Where `bytes`, the content of the file `path`, are no manifest of the database.
    pub fn read(bytes: &[u8], database: u64, path: &Path) -> Result<Self, Finding> {
        let wrong = |offset: u64, expectation: String| Finding::new(path, offset, expectation);
        if bytes.len() < HEADER_BYTES {
            return Err(wrong(bytes.len() as u64, "the header of a manifest".into()));
        }
        if &bytes[..8] != MAGIC {
            return Err(wrong(0, "the first bytes of a manifest".into()));
        }
        let version = read_u32(bytes, 8);
        if !(1..=FORMAT_VERSION).contains(&version) {
            return Err(wrong(8, format!("format version {FORMAT_VERSION}, found {version}")));
        }
        let length = read_u64(bytes, 16);
        if length != bytes.len() as u64 {
            return Err(wrong(16, format!("{} bytes, found {length}", bytes.len())));
        }
        let (stored, computed) = (read_u32(bytes, 12), crc32c::crc32c(&bytes[16..]));
        if stored != computed {
            return Err(wrong(12, format!("checksum {computed:08x}, found {stored:08x}")));
        }
        let found = read_u64(bytes, 24);
        if found != database {
            return Err(wrong(24, format!("database {database:016x}, found {found:016x}")));
        }
        Self::read_body(&mut Input::new(&bytes[HEADER_BYTES..]))
            .map_err(|error| wrong((HEADER_BYTES + error.offset) as u64, error.expectation))
    }

    /// Appends which tables have statistics; nothing where none has.
    fn put_statistics(&self, out: &mut Vec<u8>) {
        let statistics = |table: &TableEntry| Some((table.id, table.statistics?));
        let all: Vec<_> = self.tables.iter().filter_map(statistics).collect();
        if all.is_empty() {
            return;
        }
        put_u64(out, all.len() as u64);
        for (table, file) in all {
            put_u64(out, table.0);
            put_u64(out, file.version);
            put_u64(out, file.bytes);
            out.extend_from_slice(&file.crc.to_le_bytes());
            put_u64(out, file.generation);
            put_u64(out, file.changes);
        }
    }

    fn read_statistics(&mut self, input: &mut Input<'_>) -> Result<(), Malformed> {
        for _ in 0..input.count(9)? {
            let id = TableId(input.u64()?);
            let statistics = StatisticsReference {
                version: input.u64()?,
                bytes: input.u64()?,
                crc: read_u32(input.take(4)?, 0),
                generation: input.u64()?,
                changes: input.u64()?,
            };
            let table = self.tables.iter_mut().find(|table| table.id == id);
            let table = table.ok_or_else(|| input.malformed("statistics of a table before"))?;
            table.statistics = Some(statistics);
        }
        Ok(())
    }

    fn read_body(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let mut manifest = Self {
            snapshot: Timestamp(input.u64()?),
            position: Position { lsn: Lsn(input.u64()?), incarnation: input.u64()? },
            next_version: input.u64()?,
            catalog: input.bytes()?.to_vec(),
            ..Self::default()
        };
        for _ in 0..input.count(2)? {
            manifest.sequences.push((input.u64()?, input.i64()?));
        }
        for _ in 0..input.count(3)? {
            let (id, next_block) = (TableId(input.u64()?), input.u64()?);
            let mut blocks = Vec::new();
            for _ in 0..input.count(9)? {
                blocks.push(read_entry(input)?);
            }
            manifest.tables.push(TableEntry { id, next_block, blocks, statistics: None });
        }
        if !input.is_empty() {
            manifest.read_statistics(input)?;
        }
        if input.is_empty() { Ok(manifest) } else { Err(input.malformed("the end")) }
    }
}

fn put_entry(out: &mut Vec<u8>, entry: &BlockEntry) {
    entry.file.put(out);
    put_u64(out, entry.changed.0);
    let frozen = u8::from(entry.temperature == BlockTemperature::Frozen);
    out.push(frozen | u8::from(entry.dead.is_some()) << 1 | u8::from(entry.keys.is_some()) << 2);
    if let Some(dead) = &entry.dead {
        put_u64(out, dead.version);
        put_u64(out, dead.bytes);
        out.extend_from_slice(&dead.crc.to_le_bytes());
    }
    if let Some(keys) = &entry.keys {
        put_u64(out, keys.version);
        put_u64(out, keys.bytes);
        out.extend_from_slice(&keys.crc.to_le_bytes());
        out.extend_from_slice(&keys.indexes.to_le_bytes());
    }
}

fn read_entry(input: &mut Input<'_>) -> Result<BlockEntry, Malformed> {
    let file = BlockReference::take(input)?;
    let changed = Timestamp(input.u64()?);
    let flags = input.u8()?;
    if flags > 7 {
        return Err(input.malformed(format!("flags of a block, found {flags} before")));
    }
    let temperature = match flags & 1 {
        0 => BlockTemperature::Hot,
        _ => BlockTemperature::Frozen,
    };
    let dead = match flags & 2 {
        0 => None,
        _ => Some(DeadReference {
            version: input.u64()?,
            bytes: input.u64()?,
            crc: read_u32(input.take(4)?, 0),
        }),
    };
    let keys = match flags & 4 {
        0 => None,
        _ => Some(KeysReference {
            version: input.u64()?,
            bytes: input.u64()?,
            crc: read_u32(input.take(4)?, 0),
            indexes: read_u32(input.take(4)?, 0),
        }),
    };
    Ok(BlockEntry { file, changed, temperature, dead, keys })
}
