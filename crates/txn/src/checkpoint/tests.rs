//! A small database of keys and values, crashed thousands of times against a map.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use host::{Fault, Io, OpenMode, RealIo, SimIo, Tear};
use storage::{Datum, TableId, Tid, Timestamp};
use testkit::Random;
use types::{Result, SqlState};
use wal::{Background, Log, LogOptions, Lsn, RecordBuffer, Stamp};

use super::*;
use crate::redo::{BlockReference, Redo, RedoReader, RedoWriter};

const TABLE: TableId = TableId(7);
/// Rows of a block of the model.
const BLOCK_KEYS: u64 = 8;

fn base() -> &'static Path {
    Path::new("/data/base")
}

fn options() -> LogOptions {
    LogOptions {
        segment_bytes: 4096,
        waiting_bytes_max: 20_000,
        background: Background::None,
        ..LogOptions::default()
    }
}

type Rows = BTreeMap<u64, u64>;

/// A block as the bytes of its rows.
fn content(rows: &Rows, block: u64) -> Vec<u8> {
    let keys = block * BLOCK_KEYS..(block + 1) * BLOCK_KEYS;
    rows.range(keys)
        .flat_map(|(key, value)| [key.to_le_bytes(), value.to_le_bytes()])
        .flatten()
        .collect()
}

/// An identity longer than what is read of a file at first, for some blocks.
fn identity_of(bytes: &[u8]) -> Vec<u8> {
    let count = bytes.len() as u64;
    let times = if count.is_multiple_of(32) { 1 } else { 40 };
    count.to_le_bytes().repeat(times)
}

/// The rows of a file, read whole or in two steps.
fn read_rows(directory: &Directory, file: &BlockReference, rows: &mut Rows) -> Result<()> {
    let whole = directory.read_block(TABLE, file)?;
    if let Some(start) = directory.read_start(TABLE, file)? {
        let count = types::codec::read_u64(&start.identity, 0);
        let mut bytes = vec![0; count as usize];
        assert_eq!(start.identity, identity_of(&bytes));
        directory.reader().read_content(TABLE, file, &mut bytes)?;
        assert_eq!((&bytes[..], &start.dead[..]), (whole.content(), whole.dead()));
    }
    read_content(whole.content(), rows);
    Ok(())
}

/// Keys in two indexes, of which one is called after the number of the block.
fn keys_of(block: u64) -> Vec<storage::IndexKeys> {
    let keys = |definition: u64, run: Vec<u8>| storage::IndexKeys {
        definition: definition.to_le_bytes().to_vec(),
        run,
    };
    vec![keys(block, vec![7; 300]), keys(1000, block.to_le_bytes().to_vec())]
}

/// Statistics as of a version.
fn statistics_of(version: u64) -> Vec<u8> {
    version.to_le_bytes().repeat(version as usize % 100)
}

fn read_content(bytes: &[u8], rows: &mut Rows) {
    for row in bytes.chunks(16) {
        let number = |at: usize| types::codec::read_u64(row, at);
        rows.insert(number(0), number(8));
    }
}

/// The database as a program over this crate would have it.
struct Database {
    directory: Directory,
    log: Log,
    manifest: Manifest,
    rows: Rows,
    /// Block, and the timestamp of its last change.
    changed: BTreeMap<u64, u64>,
    ts: u64,
    next_version: u64,
}

impl Database {
    fn open(io: &Arc<dyn Io>) -> Result<Self> {
        let directory = Directory::open(io, base(), options())?;
        let manifest = directory.read_manifest()?;
        let (mut rows, mut changed, mut next_version) = (Rows::new(), BTreeMap::new(), 0);
        let mut ts = manifest.snapshot.0;
        next_version = next_version.max(manifest.next_version);
        assert!(ts == 0 || manifest.catalog == ts.to_le_bytes());
        for entry in manifest.tables.iter().flat_map(|table| &table.blocks) {
            read_rows(&directory, &entry.file, &mut rows)?;
            let block = entry.file.block;
            if let Some(file) = &entry.keys {
                let read = |definition: u64| {
                    directory.read_keys(TABLE, block, file, &definition.to_le_bytes())
                };
                for storage::IndexKeys { definition, run } in keys_of(block) {
                    let definition = types::codec::read_u64(&definition, 0);
                    assert_eq!(read(definition)?, Some(run));
                }
                assert_eq!(read(1001)?, None);
            }
            if let Some(dead) = &entry.dead {
                let dead = directory.read_dead(TABLE, entry.file.block, dead)?;
                for key in dead.dead().chunks(8) {
                    rows.remove(&types::codec::read_u64(key, 0));
                }
            }
        }
        for table in &manifest.tables {
            let file = table.statistics.as_ref().expect("each checkpoint writes them");
            let read = directory.reader().read_statistics(TABLE, file)?;
            assert_eq!((read, file.changes), (statistics_of(file.generation), manifest.snapshot.0));
        }
        let mut reader = directory.read_log(&manifest)?;
        let mut used = Vec::new();
        while let Some(record) = reader.next()? {
            assert!(record.stamp.0 > ts, "commits in order");
            ts = record.stamp.0;
            let mut redo = RedoReader::new(record.payload);
            while let Some(redo) = redo.next()? {
                next_version =
                    next_version.max(apply(&directory, redo, &mut rows, &mut changed, ts)?);
                if let Redo::Block { file, .. } = redo {
                    used.push(file.version);
                }
            }
        }
        let log = Log::resume(reader, options())?;
        directory.sweep(&manifest, |name| used.contains(&name.version))?;
        Ok(Self { directory, log, manifest, rows, changed, ts, next_version })
    }

    /// Commits `changes`: keys with new values, or none; as redo of rows or as a whole block.
    fn commit(&mut self, changes: &[(u64, Option<u64>)], bulk: bool) -> Result<Lsn> {
        let mut record = RecordBuffer::default();
        let mut rows = self.rows.clone();
        for (key, value) in changes {
            match value {
                Some(value) => rows.insert(*key, *value),
                None => rows.remove(key),
            };
        }
        if bulk {
            let block = changes[0].0 / BLOCK_KEYS;
            let version = self.next_version;
            self.next_version += 1;
            let bytes = content(&rows, block);
            let identity = identity_of(&bytes);
            let content = BlockContent { block: &bytes, identity: &identity, dead: &[] };
            let of = BlockVersion { table: TABLE, block, version };
            let file = self.directory.write_block(of, content, Syncing::Now)?;
            self.directory.sync_blocks()?;
            RedoWriter::new(record.output()).block(TABLE, &file);
        } else {
            let mut writer = RedoWriter::new(record.output());
            for (key, value) in changes {
                match value {
                    None => writer.delete(TABLE, Tid(*key), None),
                    Some(v) => writer.insert(TABLE, Tid(*key), [Datum::I64(*v as i64)].into_iter()),
                }
            }
        }
        let space = self.log.reserve(&record)?;
        let lsn = self.log.append(space, Stamp(self.ts + 1), &mut record)?;
        self.ts += 1;
        self.rows = rows;
        for (key, _) in changes {
            self.changed.insert(key / BLOCK_KEYS, self.ts);
        }
        Ok(lsn)
    }

    /// A checkpoint that writes what changed only; blocks that lost rows only get marks.
    fn checkpoint(&mut self, random: &mut Random) -> Result<()> {
        let position = self.log.position();
        let old = self.manifest.clone();
        let mut blocks: BTreeMap<u64, BlockEntry> = BTreeMap::new();
        for entry in old.tables.iter().flat_map(|table| &table.blocks) {
            blocks.insert(entry.file.block, *entry);
        }
        for (block, ts) in self.changed.clone() {
            let version = self.next_version;
            self.next_version += 1;
            let keys = block * BLOCK_KEYS..(block + 1) * BLOCK_KEYS;
            let dead: Vec<u8> = keys
                .filter(|key| !self.rows.contains_key(key))
                .flat_map(|key| key.to_le_bytes())
                .collect();
            let of = BlockVersion { table: TABLE, block, version };
            match blocks.get_mut(&block) {
                Some(entry) if self.only_lost_rows(entry)? && random.chance(70) => {
                    entry.dead = Some(self.directory.write_dead(of, &dead, Syncing::Now)?);
                }
                _ => {
                    let bytes = content(&self.rows, block);
                    // Not every block is frozen.
                    let identity =
                        if block.is_multiple_of(2) { identity_of(&bytes) } else { Vec::new() };
                    let content = BlockContent { block: &bytes, identity: &identity, dead: &dead };
                    let file = self.directory.write_block(of, content, Syncing::Now)?;
                    let entry = BlockEntry {
                        file,
                        changed: Timestamp(ts),
                        temperature: BlockTemperature::Hot,
                        dead: None,
                        keys: None,
                    };
                    blocks.insert(block, entry);
                }
            }
        }
        for entry in blocks.values_mut().filter(|entry| entry.keys.is_none()) {
            if random.chance(30) {
                let (block, version) = (entry.file.block, self.next_version);
                self.next_version += 1;
                let of = BlockVersion { table: TABLE, block, version };
                let keys = self.directory.write_keys(of, &keys_of(block), Syncing::Now)?;
                entry.keys = Some(keys);
            }
        }
        let blocks = blocks.into_values().collect();
        let version = self.next_version;
        self.next_version += 1;
        let of = BlockVersion { table: TABLE, block: 0, version };
        let known = statistics_of(version);
        let statistics = self.directory.write_statistics(of, &known, version, Syncing::Now)?;
        let statistics = Some(StatisticsReference { changes: self.ts, ..statistics });
        let manifest = Manifest {
            snapshot: Timestamp(self.ts),
            position,
            next_version: self.next_version,
            catalog: self.ts.to_le_bytes().to_vec(),
            sequences: vec![(1, -5), (9, i64::MAX)],
            tables: vec![TableEntry { id: TABLE, next_block: 100, blocks, statistics }],
        };
        self.directory.publish(&manifest)?;
        self.directory.remove_replaced(&old, &manifest)?;
        self.manifest = manifest;
        self.changed.clear();
        self.log.remove_below(position.lsn)?;
        Ok(())
    }

    fn only_lost_rows(&self, entry: &BlockEntry) -> Result<bool> {
        let mut before = Rows::new();
        read_content(self.directory.read_block(TABLE, &entry.file)?.content(), &mut before);
        let block = entry.file.block;
        let mut now = self.rows.range(block * BLOCK_KEYS..(block + 1) * BLOCK_KEYS);
        Ok(now.all(|(key, value)| before.get(key) == Some(value)))
    }
}

/// Applies one change; returns the first version behind those it names.
fn apply(
    directory: &Directory,
    redo: Redo<'_>,
    rows: &mut Rows,
    changed: &mut BTreeMap<u64, u64>,
    ts: u64,
) -> Result<u64> {
    match redo {
        Redo::Insert { table: TABLE, tid, values: [Datum::I64(value)] } => {
            rows.insert(tid.0, *value as u64);
            changed.insert(tid.0 / BLOCK_KEYS, ts);
        }
        Redo::Delete { table: TABLE, tid, moved_to: None } => {
            rows.remove(&tid.0);
            changed.insert(tid.0 / BLOCK_KEYS, ts);
        }
        Redo::Block { table: TABLE, file } => {
            rows.retain(|key, _| key / BLOCK_KEYS != file.block);
            read_rows(directory, &file, rows)?;
            changed.insert(file.block, ts);
            return Ok(file.version + 1);
        }
        other => panic!("nobody wrote {other:?}"),
    }
    Ok(0)
}

/// States by timestamp, and the newest that was acknowledged.
struct Model {
    states: Vec<Rows>,
    acked: usize,
}

impl Model {
    fn recovered(&mut self, database: &Database, seed: u64) {
        let ts = database.ts as usize;
        assert!(ts >= self.acked, "seed {seed}: commit {} is lost, {ts} the last", self.acked);
        assert!(ts < self.states.len(), "seed {seed}: a commit from nowhere");
        assert_eq!(database.rows, self.states[ts], "seed {seed}: other rows at {ts}");
        self.states.truncate(ts + 1);
        self.acked = ts;
    }
}

/// Works until something fails that only a reopening mends.
fn work(database: &mut Database, model: &mut Model, random: &mut Random) -> Result<()> {
    let mut waiting = Vec::new();
    for _ in 0..random.below(40) {
        let outcome = match random.below(12) {
            0 => database.checkpoint(random),
            1..5 => match waiting.pop() {
                Some((lsn, ts)) => database.log.wait_durable(lsn).map(|()| {
                    model.acked = model.acked.max(ts);
                }),
                None => Ok(()),
            },
            choice => {
                let first = random.below(64);
                let value = |random: &mut Random| random.chance(70).then(|| random.bits() >> 1);
                let changes: Vec<_> = (0..1 + random.below(4))
                    .map(|n| (first / 4 * 4 + (first + n) % 4, value(random)))
                    .collect();
                let committed = database.commit(&changes, choice == 11);
                committed.map(|lsn| {
                    model.states.push(database.rows.clone());
                    waiting.push((lsn, database.ts as usize));
                })
            }
        };
        match outcome {
            Err(error) if error.state() != SqlState::DISK_FULL => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn crash_run(seed: u64) {
    let mut random = Random::new(seed);
    let tear = if random.chance(50) { Tear::Bytes } else { Tear::Sectors };
    let sim = SimIo::new(random.bits(), tear);
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let mut model = Model { states: vec![Rows::new()], acked: 0 };
    for _ in 0..5 {
        match random.below(6) {
            0 | 1 => sim.inject(Fault::PowerLoss(1 + random.below(120))),
            2 => sim.inject(Fault::Sync(1 + random.below(30))),
            3 => sim.inject(Fault::Write(1 + random.below(60))),
            4 => sim.set_capacity(Some(sim.used_bytes() + random.below(30_000))),
            _ => {}
        }
        // A failed opening is a life as well, which ends as others do.
        let database = Database::open(&io);
        let mut database = database.inspect(|database| model.recovered(database, seed));
        if let Ok(database) = &mut database {
            let _ = work(database, &mut model, &mut random);
        }
        match random.below(4) {
            0 => {}
            1 => sim.kill(),
            _ => sim.crash(),
        }
        if let Err(error) = &database {
            assert_ne!(error.state(), SqlState::DATA_CORRUPTED, "seed {seed}: {error}");
        }
        drop(database);
        sim.set_capacity(None);
        sim.kill();
    }
    if !sim.files().iter().any(|(path, _)| path.ends_with("tessera.db")) {
        return assert_eq!(model.acked, 0, "seed {seed}: no database");
    }
    let findings = check(&io, base()).unwrap();
    assert_eq!(findings, [], "seed {seed}");
    let mut database = Database::open(&io).unwrap_or_else(|error| panic!("{seed}: {error}"));
    model.recovered(&database, seed);
    // Nothing is left behind.
    database.checkpoint(&mut random).unwrap();
    let next = database.next_version;
    database.directory.sweep(&database.manifest, |name| name.version >= next).unwrap();
    let blocks = database.manifest.files().count();
    assert_eq!(io.list(&base().join("blocks")).unwrap().len(), blocks, "seed {seed}");
}

#[test]
fn acknowledged_commits_survive_crashes_and_checkpoints() {
    for seed in 0..2000 {
        crash_run(seed);
    }
}

#[test]
#[ignore = "minutes; for nightly runs and after changes of the formats"]
fn acknowledged_commits_survive_many_crashes_and_checkpoints() {
    for seed in 1_000_000..1_100_000 {
        crash_run(seed);
    }
}

/// A closed database with checkpointed blocks, marks, and a log behind them.
fn closed_database(sim: &SimIo) -> Rows {
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let mut random = Random::new(2);
    let mut database = Database::open(&io).unwrap();
    for round in 0..4 {
        for key in 0..20 {
            let value = (round == 0 || key % 3 > 0).then_some(key * round);
            database.commit(&[(key, value)], false).unwrap();
        }
        if round < 3 {
            database.checkpoint(&mut random).unwrap();
        }
    }
    let lsn = database.commit(&[(60, Some(1)), (61, Some(2))], true).unwrap();
    database.log.wait_durable(lsn).unwrap();
    sim.sync_directory(&base().join("blocks")).unwrap();
    database.rows.clone()
}

#[test]
fn a_flipped_bit_in_any_file_is_found_and_never_served() {
    let sim = SimIo::new(3, Tear::Bytes);
    let rows = closed_database(&sim);
    let clean: Arc<dyn Io> = Arc::new(sim.fork(1));
    assert_eq!(check(&clean, base()).unwrap(), []);
    let mut random = Random::new(4);
    for (path, bytes) in sim.files() {
        if path.ends_with("LOCK") {
            continue;
        }
        let in_log = path.extension().is_some_and(|extension| extension == "log");
        for offset in 0..bytes {
            let copy = sim.fork(1);
            copy.flip(&path, offset, 1 << random.below(8)).unwrap();
            let io: Arc<dyn Io> = Arc::new(copy);
            let findings = check(&io, base());
            let opened = Database::open(&io);
            match (&findings, &opened) {
                // Space of the log that is not used yet, or not any more.
                (Ok(findings), Ok(database)) if findings.is_empty() => {
                    assert!(in_log, "{path:?} {offset}");
                    assert_eq!(database.rows, rows, "{path:?} {offset}");
                }
                (Ok(findings), Err(error)) if !findings.is_empty() => {
                    assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{path:?} {offset}");
                    assert_eq!(findings[0].path, path, "{offset}");
                    assert!(error.message().contains(&path.display().to_string()), "{error}");
                }
                // A format of the future, to go by the version.
                (Err(one), Err(two)) => {
                    assert_eq!(one, two);
                    assert_eq!(one.state(), SqlState::FEATURE_NOT_SUPPORTED);
                }
                (findings, opened) => {
                    let error = opened.as_ref().err();
                    panic!("{path:?} {offset}: {findings:?} but {error:?}");
                }
            }
        }
    }
}

#[test]
fn missing_and_cut_files_are_found() {
    let sim = SimIo::new(3, Tear::Bytes);
    closed_database(&sim);
    let last_segment =
        sim.files().iter().rfind(|(path, _)| path.starts_with("/data/base/wal")).cloned();
    for (path, bytes) in sim.files() {
        if path.ends_with("LOCK") || Some(&path) == last_segment.as_ref().map(|(path, _)| path) {
            continue;
        }
        for cut in [true, false] {
            let io: Arc<dyn Io> = Arc::new(sim.fork(1));
            if cut {
                io.open(&path, OpenMode::Write).unwrap().truncate(bytes - 1).unwrap()
            } else {
                io.remove(&path).unwrap()
            }
            let findings = check(&io, base()).unwrap();
            let error = Database::open(&io).map(|_| ()).unwrap_err();
            assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{path:?} {error}");
            assert_eq!(findings.len(), 1, "{path:?} {findings:?}");
        }
    }
}

#[test]
fn manifests_come_back_and_bad_bytes_do_not() {
    let mut random = Random::new(6);
    for _ in 0..300 {
        let mut number = || random.bits() >> random.below(64);
        let manifest = Manifest {
            snapshot: Timestamp(number()),
            position: wal::Position { lsn: Lsn(number()), incarnation: number() },
            next_version: number(),
            catalog: number().to_le_bytes().to_vec(),
            sequences: vec![(number(), number() as i64)],
            tables: (0..3)
                .map(|id| TableEntry {
                    id: TableId(id),
                    next_block: number(),
                    blocks: (0..id)
                        .map(|block| BlockEntry {
                            file: BlockReference {
                                block,
                                version: number(),
                                bytes: number(),
                                crc: number() as u32,
                            },
                            changed: Timestamp(number()),
                            temperature: match number() % 2 {
                                0 => BlockTemperature::Hot,
                                _ => BlockTemperature::Frozen,
                            },
                            dead: (number() % 2 == 0).then(|| DeadReference {
                                version: number(),
                                bytes: number(),
                                crc: number() as u32,
                            }),
                            keys: (number() % 2 == 0).then(|| KeysReference {
                                version: number(),
                                bytes: number(),
                                crc: number() as u32,
                                indexes: number() as u32,
                            }),
                        })
                        .collect(),
                    statistics: (number() % 2 == 0).then(|| StatisticsReference {
                        version: number(),
                        bytes: number(),
                        crc: number() as u32,
                        generation: number(),
                        changes: number(),
                    }),
                })
                .collect(),
        };
        let path = Path::new("manifest-1");
        let bytes = manifest.write(5);
        assert_eq!(Manifest::read(&bytes, 5, path).unwrap(), manifest);
        assert!(Manifest::read(&bytes, 6, path).is_err());
        for _ in 0..20 {
            // Past the checksum, too: the body is decoded whatever it says.
            let mut bytes = bytes.clone();
            let at = random.below(bytes.len() as u64 - 32) as usize + 32;
            bytes[at] = random.bits() as u8;
            let length = (random.below(bytes.len() as u64 - 32) + 32) as usize;
            bytes.truncate(if random.chance(50) { length } else { bytes.len() });
            let length = bytes.len() as u64;
            bytes[16..24].copy_from_slice(&length.to_le_bytes());
            let crc = crc32c::crc32c(&bytes[16..]);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
            let _ = Manifest::read(&bytes, 5, path);
        }
    }
}

#[test]
fn a_database_is_opened_by_one_process_and_nothing_else_is_taken_for_one() {
    let path = std::env::temp_dir().join(format!("txn-directory-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let directory = Directory::open(&io, &path, options()).unwrap();
    let error = Directory::open(&io, &path, options()).unwrap_err();
    assert_eq!(error.state(), SqlState::OBJECT_IN_USE);
    assert!(error.message().contains(&path.display().to_string()), "{error}");
    assert_eq!(check(&io, &path).unwrap_err().state(), SqlState::OBJECT_IN_USE);
    let database = directory.database();
    drop(directory);
    assert_eq!(Directory::open(&io, &path, options()).unwrap().database(), database);
    assert_eq!(check(&io, &path).unwrap(), []);
    std::fs::remove_file(path.join("tessera.db")).unwrap();
    std::fs::write(path.join("letter.txt"), "dear reader").unwrap();
    let error = Directory::open(&io, &path, options()).unwrap_err();
    assert_eq!(error.state(), SqlState::UNDEFINED_FILE);
    assert!(error.detail().unwrap().contains("letter.txt"));
    std::fs::remove_dir_all(&path).unwrap();
}
