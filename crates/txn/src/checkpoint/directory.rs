//! Opening a database's directory, and replacing its checkpoint.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{Failure, Finding};
use host::{File, FileLock, Io, OpenMode, Pace, read_file, replace_file, write_file};
use parking_lot::Mutex;
use storage::{IndexKeys, TableId};
use types::codec::{read_u32, read_u64};
use types::{Error, Result, SqlState};
use wal::{Log, LogOptions, LogPlace, LogReader, holds_records};

use super::block_file::{
    BlockContent, BlockFile, BlockFileKind, BlockFileName, BlockStart, BlockVersion, Owner,
    START_BYTES, Seal, Start,
};
use super::keys::{self, KeysReference, checksum_of};
use super::manifest::{BlockEntry, DeadReference, Manifest, StatisticsReference, TableEntry};
use crate::redo::{BlockReference, stamp_of};

pub(super) const MARKER_NAME: &str = "tessera.db";
pub(super) const CURRENT_NAME: &str = "CURRENT";
pub(super) const LOCK_NAME: &str = "LOCK";
pub(super) const LOG_NAME: &str = "wal";
pub(super) const BLOCKS_NAME: &str = "blocks";
const MANIFEST_PREFIX: &str = "manifest-";
const MARKER_MAGIC: &[u8; 8] = b"TESSERA\n";
const FORMAT_VERSION: u32 = 1;
const MARKER_BYTES: usize = 24;

/// The directory of a database, held by this process while the value lives.
#[derive(Debug)]
pub struct Directory {
    io: Arc<dyn Io>,
    path: PathBuf,
    database: u64,
    /// Number of the newest manifest that was tried.
    number: Mutex<u64>,
    _lock: Box<dyn FileLock>,
}

/// When the content of a file becomes durable.
pub enum Syncing<'u> {
    /// Before the call returns.
    Now,
    /// Syncs with [`Unsynced::sync`]; the file is written at a pace.
    Later(&'u mut Unsynced, Pace<'u>),
}

/// Files whose content is not durable yet. They stay open, for only who has a file open is told
/// for certain that it could not be written.
#[derive(Debug, Default)]
pub struct Unsynced(Vec<Arc<dyn File>>);

/// Files that are kept open: a quarter of what processes may have by default. More are synced at
/// once.
const UNSYNCED_MAX: usize = 256;

impl Unsynced {
    /// Makes the content of all durable.
    ///
    /// # Errors
    /// Errors of `io`: none of the files may be named then.
    pub fn sync(self) -> Result<()> {
        self.0.iter().try_for_each(|file| file.sync())
    }
}

impl Directory {
    /// Opens the database in `path`, or makes one there when there is nothing.
    ///
    /// # Errors
    /// 55006 when another process has it open; 58P01 when `path` holds something else; XX001 when
    /// the marker is damaged or missing; those of `io`.
    pub fn open(io: &Arc<dyn Io>, path: &Path, options: LogOptions) -> Result<Self> {
        io.create_directory(path)?;
        refuse_foreign(&**io, path)?;
        let lock = io.lock(&path.join(LOCK_NAME))?;
        let database = if io.list(path)?.iter().any(|name| name == MARKER_NAME) {
            read_marker(&**io, path)?
        } else {
            create(io, path, options)?
        };
        // A process that died may have left names in the machine's memory only.
        io.sync_directory(path)?;
        let names = io.list(path)?;
        let number = names.iter().filter_map(|name| manifest_number(name)).max().unwrap_or(0);
        let (io, path) = (Arc::clone(io), path.to_owned());
        Ok(Self { io, path, database, number: Mutex::new(number), _lock: lock })
    }

    /// The database's id.
    pub fn database(&self) -> u64 {
        self.database
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files it is in.
    pub(super) fn io(&self) -> &Arc<dyn Io> {
        &self.io
    }

    /// The newest checkpoint. A new database has an empty one, at timestamp 0.
    ///
    /// # Errors
    /// XX001 when CURRENT or the manifest is damaged; those of `io`.
    pub fn read_manifest(&self) -> Result<Manifest> {
        Ok(read_current(&*self.io, &self.path, self.database)?.1)
    }

    /// Reads the log behind a checkpoint. To be handed to [`Log::resume`].
    ///
    /// # Errors
    /// Errors of [`LogReader::open`].
    pub fn read_log(&self, manifest: &Manifest) -> Result<LogReader> {
        let directory = self.path.join(LOG_NAME);
        let place = LogPlace { io: &self.io, directory: &directory, database: self.database };
        LogReader::open(&place, manifest.position, stamp_of(manifest.snapshot))
    }

    /// Makes `manifest` the newest checkpoint. All its files must be written. When this returns,
    /// what only former checkpoints needed may be removed.
    ///
    /// # Errors
    /// Errors of `io`; which checkpoint counts after a crash is unknown then, so neither's files
    /// may be removed. The next call may succeed.
    pub fn publish(&self, manifest: &Manifest) -> Result<()> {
        let mut number = self.number.lock();
        // Never written twice: after a failure CURRENT may name it.
        *number += 1;
        self.io.sync_directory(&self.path.join(BLOCKS_NAME))?;
        publish(&*self.io, &self.path, self.database, *number, manifest)?;
        for old in self.io.list(&self.path)? {
            if manifest_number(&old).is_some_and(|old| old < *number) {
                self.io.remove(&self.path.join(old))?;
            }
        }
        Ok(())
    }

    /// Writes a block. The name becomes durable with
    /// [`Self::publish`] or [`Self::sync_blocks`], the content as `syncing` says.
    ///
    /// # Errors
    /// Errors of `io`: 53100 above all; what was written of the file is removed.
    pub fn write_block(
        &self,
        of: BlockVersion,
        content: BlockContent<'_>,
        syncing: Syncing<'_>,
    ) -> Result<BlockReference> {
        let Seal { bytes, crc } =
            self.write_file(of.file(BlockFileKind::Block), content, syncing)?;
        Ok(BlockReference { block: of.block, version: of.version, bytes, crc })
    }

    /// Writes marks of deleted rows of a block whose file stays.
    ///
    /// # Errors
    /// As [`Self::write_block`].
    pub fn write_dead(
        &self,
        of: BlockVersion,
        dead: &[u8],
        syncing: Syncing<'_>,
    ) -> Result<DeadReference> {
        let content = BlockContent { block: &[], identity: &[], dead };
        let Seal { bytes, crc } =
            self.write_file(of.file(BlockFileKind::Dead), content, syncing)?;
        Ok(DeadReference { version: of.version, bytes, crc })
    }

    /// Writes keys of a frozen block whose file stays.
    ///
    /// # Errors
    /// As [`Self::write_block`].
    pub fn write_keys(
        &self,
        of: BlockVersion,
        keys: &[IndexKeys],
        syncing: Syncing<'_>,
    ) -> Result<KeysReference> {
        let (identity, content) = keys::parts_of(keys);
        let content = BlockContent { block: &content, identity: &identity, dead: &[] };
        let Seal { bytes, crc } =
            self.write_file(of.file(BlockFileKind::Keys), content, syncing)?;
        let indexes = checksum_of(keys.iter().map(|keys| &keys.definition[..]));
        Ok(KeysReference { version: of.version, bytes, crc, indexes })
    }

    /// Writes statistics of a table: `bytes`, which are the estimates of this number.
    ///
    /// # Errors
    /// As [`Self::write_block`].
    pub fn write_statistics(
        &self,
        of: BlockVersion,
        bytes: &[u8],
        generation: u64,
        syncing: Syncing<'_>,
    ) -> Result<StatisticsReference> {
        let content = BlockContent { block: bytes, identity: &[], dead: &[] };
        let Seal { bytes, crc } =
            self.write_file(of.file(BlockFileKind::Statistics), content, syncing)?;
        Ok(StatisticsReference { version: of.version, bytes, crc, generation, changes: 0 })
    }

    fn write_file(
        &self,
        name: BlockFileName,
        content: BlockContent<'_>,
        syncing: Syncing<'_>,
    ) -> Result<Seal> {
        let path = self.block_path(&name);
        let (unsynced, pace): (_, Pace<'_>) = match syncing {
            Syncing::Now => (None, &|_| ()),
            Syncing::Later(unsynced, pace) => (Some(unsynced), pace),
        };
        let of = Owner { database: self.database, name: &name };
        let written = BlockFile::write(&*self.io, &path, of, content, pace);
        let synced = written.and_then(|(file, seal)| match unsynced {
            Some(unsynced) if unsynced.0.len() < UNSYNCED_MAX => {
                unsynced.0.push(file);
                Ok(seal)
            }
            _ => file.sync().map(|()| seal),
        });
        synced.inspect_err(|_| {
            // Best effort: a sweep removes what stays.
            let _ = self.io.remove(&path);
        })
    }

    /// Makes the names of all block files written so far durable, before a log record names them.
    ///
    /// # Errors
    /// Errors of `io`.
    pub fn sync_blocks(&self) -> Result<()> {
        self.io.sync_directory(&self.path.join(BLOCKS_NAME))
    }

    /// Reads and verifies a block's file.
    ///
    /// # Errors
    /// XX001 for damage, also when the file is missing; those of `io`.
    pub fn read_block(&self, table: TableId, file: &BlockReference) -> Result<BlockFile> {
        Ok(self.files().read_block(table, file)?)
    }

    /// Reads and verifies all of the file of a frozen block but its rows; None when it has to be
    /// read whole: that of a hot block, or one that an earlier build wrote.
    ///
    /// # Errors
    /// As [`Self::read_block`].
    pub fn read_start(&self, table: TableId, file: &BlockReference) -> Result<Option<BlockStart>> {
        let BlockReference { block, version, bytes, crc } = *file;
        let name = BlockVersion { table, block, version }.file(BlockFileKind::Block);
        let (path, of) = (self.block_path(&name), Owner { database: self.database, name: &name });
        let read = BlockFile::read_start(&*self.io, &path, of, Seal { bytes, crc });
        Ok(read.map_err(|failure| missing(failure, &path))?)
    }

    /// Reads and verifies the keys of `block` in the index of this definition, which are
    /// [`IndexKeys::run`]; None when the file has none.
    ///
    /// # Errors
    /// As [`Self::read_block`].
    pub fn read_keys(
        &self,
        table: TableId,
        block: u64,
        file: &KeysReference,
        definition: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let KeysReference { version, bytes, crc, .. } = *file;
        let name = BlockVersion { table, block, version }.file(BlockFileKind::Keys);
        let (path, of) = (self.block_path(&name), Owner { database: self.database, name: &name });
        let read = || {
            let start = Start::read(&*self.io, &path, of, Seal { bytes, crc }, START_BYTES)?;
            let found = keys::find(&start.identity()?, definition);
            let place = found.map_err(|e| start.damaged((e.offset as u64, e.expectation)))?;
            place.map(|place| start.piece(place)).transpose()
        };
        Ok(read().map_err(|failure| missing(failure, &path))?)
    }

    /// Reads and verifies newer marks of deleted rows of a block.
    ///
    /// # Errors
    /// As [`Self::read_block`].
    pub fn read_dead(&self, table: TableId, block: u64, dead: &DeadReference) -> Result<BlockFile> {
        Ok(self.files().read_dead(table, block, dead)?)
    }

    /// The path of a block's file, for errors.
    pub fn path_of(&self, table: TableId, file: &BlockReference) -> PathBuf {
        let BlockReference { block, version, .. } = *file;
        self.block_path(&BlockFileName { table, block, version, kind: BlockFileKind::Block })
    }

    fn files(&self) -> Files<'_> {
        Files { io: &*self.io, path: &self.path, database: self.database }
    }

    fn block_path(&self, name: &BlockFileName) -> PathBuf {
        self.path.join(BLOCKS_NAME).join(name.to_string())
    }

    /// Reader of block files that does not hold the directory.
    pub fn reader(&self) -> BlockReader {
        let (io, path) = (Arc::clone(&self.io), Arc::from(&*self.path));
        BlockReader { io, path, database: self.database }
    }

    /// Removes the block files that `old` names and `new`, which is published, does not. Returns
    /// how many.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub fn remove_replaced(&self, old: &Manifest, new: &Manifest) -> Result<usize> {
        let replaced = old.replaced_by(new);
        self.remove(&replaced)?;
        Ok(replaced.len())
    }

    /// Removes block files that nobody names any more; one that is not there is no error.
    ///
    /// # Errors
    /// Errors of `io`; files that stay are removed by the next [`Self::sweep`].
    pub fn remove(&self, names: &[BlockFileName]) -> Result<()> {
        names.iter().try_for_each(|name| match self.io.remove(&self.block_path(name)) {
            Err(error) if error.state() == SqlState::UNDEFINED_FILE => Ok(()),
            removed => removed,
        })
    }

    /// Removes everything in `blocks/` that neither `manifest`, the newest, names nor `is_used`
    /// claims, and other manifests. `is_used` must claim files that log records behind the
    /// manifest's position name, and files that running loads and checkpoints write: those from
    /// some version on. Returns how many.
    ///
    /// # Errors
    /// Errors of `io`.
    pub fn sweep(
        &self,
        manifest: &Manifest,
        is_used: impl Fn(&BlockFileName) -> bool,
    ) -> Result<usize> {
        let kept: HashSet<_> = manifest.files().collect();
        let mut removed = 0;
        for name in self.io.list(&self.path.join(BLOCKS_NAME))? {
            let parsed = BlockFileName::parse(&name);
            if parsed.is_none_or(|parsed| !kept.contains(&parsed) && !is_used(&parsed)) {
                self.io.remove(&self.path.join(BLOCKS_NAME).join(name))?;
                removed += 1;
            }
        }
        let (current, _) = read_current(&*self.io, &self.path, self.database)?;
        for name in self.io.list(&self.path)? {
            if manifest_number(&name).is_some() && name != current {
                self.io.remove(&self.path.join(name))?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Reads block files of a database again and again, whoever has it open.
#[derive(Clone, Debug)]
pub struct BlockReader {
    io: Arc<dyn Io>,
    path: Arc<Path>,
    database: u64,
}

impl BlockReader {
    /// Fills `into`, which is as long as the block, with the block of a file, verified.
    ///
    /// # Errors
    /// As [`Directory::read_block`].
    pub fn read_content(
        &self,
        table: TableId,
        file: &BlockReference,
        into: &mut [u8],
    ) -> Result<()> {
        let BlockReference { block, version, bytes, crc } = *file;
        let name = BlockFileName { table, block, version, kind: BlockFileKind::Block };
        let path = self.path.join(BLOCKS_NAME).join(name.to_string());
        let of = Owner { database: self.database, name: &name };
        let read = BlockFile::read_content(&*self.io, &path, of, Seal { bytes, crc }, into);
        Ok(read.map_err(|failure| missing(failure, &path))?)
    }

    /// Tells the system that [`Self::read_content`] of this file comes soon. What is wrong with it
    /// is met by that.
    pub fn expect(&self, table: TableId, file: &BlockReference) {
        let BlockReference { block, version, bytes, .. } = *file;
        let name = BlockFileName { table, block, version, kind: BlockFileKind::Block };
        let path = self.path.join(BLOCKS_NAME).join(name.to_string());
        if let Ok(file) = self.io.open(&path, OpenMode::Read) {
            file.expect(0, bytes);
        }
    }
}

impl BlockReader {
    /// Reads and verifies statistics of a table.
    ///
    /// # Errors
    /// As [`Directory::read_block`].
    pub fn read_statistics(&self, table: TableId, file: &StatisticsReference) -> Result<Vec<u8>> {
        let files = Files { io: &*self.io, path: &self.path, database: self.database };
        Ok(files.read_statistics(table, file)?.content().to_vec())
    }
}

/// Damage, when a file that is named is missing.
fn missing(failure: Failure, path: &Path) -> Failure {
    match failure {
        Failure::Other(error) if error.state() == SqlState::UNDEFINED_FILE => {
            Finding::new(path, 0, "the file, which is missing").into()
        }
        other => other,
    }
}

/// Writes a manifest and has CURRENT name it.
fn publish(
    io: &dyn Io,
    path: &Path,
    database: u64,
    number: u64,
    manifest: &Manifest,
) -> Result<()> {
    let name = format!("{MANIFEST_PREFIX}{number}");
    let bytes = manifest.write(database);
    write_file(io, &path.join(&name), &[&bytes])?;
    io.sync_directory(path)?;
    replace_file(io, &path.join(CURRENT_NAME), current_line(&name, &bytes).as_bytes())
}

/// Makes a database: everything first, the marker last.
fn create(io: &Arc<dyn Io>, path: &Path, options: LogOptions) -> Result<u64> {
    let log = path.join(LOG_NAME);
    let names = io.list(path)?;
    let has_checkpoint =
        names.iter().any(|name| manifest_number(name).is_some_and(|number| number > 1));
    if has_checkpoint || (names.iter().any(|name| name == LOG_NAME) && holds_records(&**io, &log)?)
    {
        let expectation = "the marker file of the database, which is missing";
        return Err(Finding::new(path.join(MARKER_NAME), 0, expectation).into());
    }
    let database = io.entropy();
    io.create_directory(&path.join(BLOCKS_NAME))?;
    io.create_directory(&log)?;
    drop(Log::create(&LogPlace { io, directory: &log, database }, options)?);
    publish(&**io, path, database, 1, &Manifest::default())?;
    let mut marker = [0; MARKER_BYTES];
    marker[..8].copy_from_slice(MARKER_MAGIC);
    marker[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    marker[16..24].copy_from_slice(&database.to_le_bytes());
    let crc = marker_crc(&marker);
    marker[12..16].copy_from_slice(&crc.to_le_bytes());
    replace_file(&**io, &path.join(MARKER_NAME), &marker)?;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        io.sync_directory(parent)?;
    }
    Ok(database)
}

/// 58P01 for a directory that was not made for a database.
fn refuse_foreign(io: &dyn Io, path: &Path) -> Result<()> {
    let ours = |name: &String| {
        [MARKER_NAME, CURRENT_NAME, LOCK_NAME, LOG_NAME, BLOCKS_NAME].contains(&name.as_str())
            || manifest_number(name).is_some()
            || name.ends_with(".tmp")
    };
    let names = io.list(path)?;
    if names.iter().any(|name| name == MARKER_NAME) {
        return Ok(());
    }
    match names.iter().find(|name| !ours(name)) {
        None => Ok(()),
        Some(foreign) => {
            let message = format!("\"{}\" is not a database", path.display());
            let detail = format!("There is no \"{MARKER_NAME}\", but there is \"{foreign}\".");
            let hint = "Name an empty or new directory.";
            Err(Error::new(SqlState::UNDEFINED_FILE, message).with_detail(detail).with_hint(hint))
        }
    }
}

fn marker_crc(marker: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&marker[..12]), &marker[16..])
}

/// The database's id.
pub(super) fn read_marker(io: &dyn Io, path: &Path) -> Result<u64, Failure> {
    let path = path.join(MARKER_NAME);
    let marker = read_file(io, &path)?;
    if marker.len() != MARKER_BYTES {
        let expectation = format!("{MARKER_BYTES} bytes, found {}", marker.len());
        return Err(Finding::new(path, marker.len() as u64, expectation).into());
    }
    if &marker[..8] != MARKER_MAGIC {
        return Err(Finding::new(path, 0, "the first bytes of a marker").into());
    }
    let (stored, computed) = (read_u32(&marker, 12), marker_crc(&marker));
    if stored != computed {
        let expectation = format!("checksum {computed:08x}, found {stored:08x}");
        return Err(Finding::new(path, 12, expectation).into());
    }
    let version = read_u32(&marker, 8);
    if version != FORMAT_VERSION {
        let message = format!(
            "\"{}\" has format version {version}, this program reads {FORMAT_VERSION}",
            path.display()
        );
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).into());
    }
    Ok(read_u64(&marker, 16))
}

fn manifest_number(name: &str) -> Option<u64> {
    name.strip_prefix(MANIFEST_PREFIX)?.parse().ok()
}

/// `<name> <crc32c of the manifest> <crc32c of what is in front>`
fn current_line(name: &str, manifest: &[u8]) -> String {
    let line = format!("{name} {:08x}", crc32c::crc32c(manifest));
    format!("{line} {:08x}\n", crc32c::crc32c(line.as_bytes()))
}

/// The newest manifest and its name.
pub(super) fn read_current(
    io: &dyn Io,
    path: &Path,
    database: u64,
) -> Result<(String, Manifest), Failure> {
    let names = io.list(path)?;
    let current = path.join(CURRENT_NAME);
    if !names.iter().any(|name| name == CURRENT_NAME) {
        return Err(Finding::new(current, 0, "the file, which is missing").into());
    }
    let line = read_file(io, &current)?;
    let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    if manifest_number(&name).is_none() {
        return Err(Finding::new(current, 0, "the name of a manifest").into());
    }
    let manifest_path = path.join(&name);
    let bytes = if names.contains(&name) {
        read_file(io, &manifest_path)?
    } else {
        let expectation = "the manifest that CURRENT names, which is missing";
        return Err(Finding::new(manifest_path, 0, expectation).into());
    };
    let manifest = Manifest::read(&bytes, database, &manifest_path)?;
    let expected = current_line(&name, &bytes);
    if line != expected.as_bytes() {
        let expectation = format!("{:?}", expected.trim_end());
        return Err(Finding::new(current, name.len() as u64, expectation).into());
    }
    Ok((name, manifest))
}

/// Where the files of a database are.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) io: &'a dyn Io,
    pub(super) path: &'a Path,
    pub(super) database: u64,
}

impl Files<'_> {
    /// See [`Directory::read_block`].
    pub(super) fn read_block(
        self,
        table: TableId,
        file: &BlockReference,
    ) -> Result<BlockFile, Failure> {
        let BlockReference { block, version, bytes, crc } = *file;
        let of = BlockVersion { table, block, version };
        self.read_named(&of.file(BlockFileKind::Block), Seal { bytes, crc })
    }

    /// See [`Directory::read_dead`].
    pub(super) fn read_dead(
        self,
        table: TableId,
        block: u64,
        dead: &DeadReference,
    ) -> Result<BlockFile, Failure> {
        let DeadReference { version, bytes, crc } = *dead;
        let of = BlockVersion { table, block, version };
        self.read_named(&of.file(BlockFileKind::Dead), Seal { bytes, crc })
    }

    /// Verifies keys of a block.
    fn verify_keys(self, table: TableId, block: u64, keys: &KeysReference) -> Result<(), Failure> {
        let KeysReference { version, bytes, crc, .. } = *keys;
        let of = BlockVersion { table, block, version };
        self.read_named(&of.file(BlockFileKind::Keys), Seal { bytes, crc }).map(|_| ())
    }

    /// See [`BlockReader::read_statistics`].
    fn read_statistics(
        self,
        table: TableId,
        file: &StatisticsReference,
    ) -> Result<BlockFile, Failure> {
        let StatisticsReference { version, bytes, crc, .. } = *file;
        let of = BlockVersion { table, block: 0, version };
        self.read_named(&of.file(BlockFileKind::Statistics), Seal { bytes, crc })
    }

    /// Verifies the files of a table that are of none of its blocks.
    pub(super) fn verify_table(self, table: &TableEntry) -> Option<Failure> {
        self.read_statistics(table.id, table.statistics.as_ref()?).err()
    }

    fn read_named(self, name: &BlockFileName, seal: Seal) -> Result<BlockFile, Failure> {
        let path = self.path.join(BLOCKS_NAME).join(name.to_string());
        let of = Owner { database: self.database, name };
        BlockFile::read(self.io, &path, of, seal).map_err(|failure| missing(failure, &path))
    }

    /// Verifies all files of an entry.
    pub(super) fn verify_entry(self, table: TableId, entry: &BlockEntry) -> [Option<Failure>; 3] {
        let id = entry.file.block;
        let block = self.read_block(table, &entry.file).err();
        let dead = entry.dead.and_then(|dead| self.read_dead(table, id, &dead).err());
        let keys = entry.keys.and_then(|keys| self.verify_keys(table, id, &keys).err());
        [block, dead, keys]
    }
}
