//! Opening a database without its rows: how little is read, damage that is found late, files of
//! earlier builds.

use std::path::{Path, PathBuf};

use engine::{Database, Session};
use host::{Io, SimIo, Tear, read_file, write_file};
use storage::TableId;
use txn::checkpoint::{DeadReference, Manifest, StatisticsReference};
use types::codec::{read_u32, read_u64};
use types::{SqlState, Value};

use super::{ENDS, End};
use super::{PATH, config, end, files_of, open, rows, run, state_of};

/// Rows of a table of the tests: of several blocks.
const ROWS: i64 = 60_000;

/// Names and lengths of the files in `blocks/` with this extension.
fn files_with(io: &SimIo, extension: &str) -> Vec<(PathBuf, u64)> {
    let has = |path: &Path| path.extension().is_some_and(|found| found == extension);
    io.files().into_iter().filter(|(path, _)| has(path)).collect()
}

fn bytes_of(files: &[(PathBuf, u64)]) -> u64 {
    files.iter().map(|(_, bytes)| bytes).sum()
}

/// The number of a table, with which the names of its files begin.
fn number_of(database: &Database, table: &str) -> TableId {
    database.table(table).expect("it exists").storage().id()
}

/// How many blocks a table has in files.
fn block_count(io: &SimIo, table: TableId) -> usize {
    let start = format!("/{table}-");
    let blocks = files_with(io, "blk").into_iter();
    blocks.filter(|(path, _)| path.to_string_lossy().contains(&start)).count()
}

/// A table of wide rows in frozen blocks, with two indexes; one without any.
fn fill(session: &mut Session) {
    let wide = "repeat(md5(i::text), 4)";
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, k INT, s TEXT) WITH (layout = frozen)",
        "CREATE TABLE plain (id BIGINT, s TEXT) WITH (layout = frozen)",
    ] {
        run(session, sql);
    }
    for first in (0..ROWS).step_by(10_000) {
        let source = format!("FROM generate_series({}, {}) AS g(i)", first + 1, first + 10_000);
        run(session, &format!("INSERT INTO t SELECT i, i % 7, {wide} {source}"));
        run(session, &format!("INSERT INTO plain SELECT i, {wide} {source}"));
    }
    run(session, "CREATE INDEX t_k ON t (k, id)");
    run(session, "CHECKPOINT");
    run(session, "DELETE FROM t WHERE id % 1000 = 3");
    run(session, "DELETE FROM plain WHERE id = 17");
}

/// Queries over [`fill`]'s tables say what arithmetic does.
fn check(session: &mut Session) {
    let (left, sum) = (ROWS - ROWS / 1000, (1..=ROWS).filter(|i| i % 1000 != 3).sum::<i64>());
    let found = rows(session, "SELECT count(*), sum(id), sum(length(s)) FROM t");
    assert_eq!(found, [format!("{left}|{sum}|{}", left * 128)]);
    assert_eq!(rows(session, "SELECT k FROM t WHERE id = 4711"), [(4711 % 7).to_string()]);
    assert_eq!(rows(session, "SELECT id FROM t WHERE id = 5003"), [""; 0]);
    let few = "SELECT min(id), max(id) FROM t WHERE k = 2 AND id BETWEEN 20000 AND 20010";
    let matching: Vec<i64> = (20_000..=20_010).filter(|id| id % 7 == 2 && id % 1000 != 3).collect();
    let ends = format!("{}|{}", matching[0], matching[matching.len() - 1]);
    assert_eq!(rows(session, few), [ends]);
    assert_eq!(state_of(session, "INSERT INTO t VALUES (59999, 0, '')"), "23505");
    assert_eq!(rows(session, "SELECT count(*) FROM plain"), [(ROWS - 1).to_string()]);
}

#[test]
fn opening_reads_little_of_the_files() {
    for how in ENDS {
        let io = SimIo::new(31, Tear::Bytes);
        let database = open(&io);
        let mut session = database.session();
        fill(&mut session);
        let t = number_of(&database, "t");
        drop(session);
        end(database, &io, how);
        let (blocks, keys) = (files_with(&io, "blk"), files_with(&io, "keys"));
        let block_bytes = bytes_of(&blocks);
        assert_eq!(keys.len(), block_count(&io, t), "one for each block of t: {keys:?}");
        let before = io.read_bytes();
        let database = open(&io);
        let opened = io.read_bytes() - before;
        let others = bytes_of(&files_with(&io, "log")) + bytes_of(&keys);
        assert!(block_bytes > 10 * (opened - others.min(opened)), "{opened} of {block_bytes}");
        assert!(opened < block_bytes / 2, "{opened} of {block_bytes}, {others} of keys and log");
        assert_eq!(database.pool().evictions().loads, 0, "{how:?}");
        // One row by its key needs one block.
        let mut session = database.session();
        let mut get = session.prepare("SELECT k FROM t WHERE id = $1", &[]).expect("prepares");
        let found = session.execute_prepared(&mut get, &[Value::I64(4711)]).expect("readable");
        assert_eq!(found.text_rows(), [[Some("0".to_owned())]]);
        assert_eq!(database.pool().evictions().loads, 1, "{how:?}");
        let largest = blocks.iter().map(|(_, bytes)| *bytes).max().expect("blocks");
        let queried = io.read_bytes() - before - opened;
        assert!(queried <= largest + 4096, "{queried} of {largest}");
        // Who plans knows what was known before, and looks at no other rows.
        assert_eq!(rows(&mut session, "SELECT k FROM t WHERE id = 4712"), ["1"]);
        assert!(database.pool().evictions().loads <= 2, "{how:?}");
        check(&mut session);
        let report = database.check_indexes();
        assert!(report.is_sound(), "{how:?} {:?}", report.problems);
    }
}

#[test]
fn scans_ask_for_blocks_before_they_need_them() {
    let io = SimIo::new(33, Tear::Bytes);
    let database = open(&io);
    fill(&mut database.session());
    end(database, &io, End::Closed);
    let sum = [((ROWS - 1) * 128).to_string()];
    let told = |setting: &str, query: &str| {
        let database = open(&io);
        let mut session = database.session();
        run(&mut session, setting);
        let before = io.expected_bytes();
        let found = rows(&mut session, query);
        drop(session);
        let told = io.expected_bytes() - before;
        end(database, &io, End::Closed);
        (told, found)
    };
    let (bytes, found) = told("SET read_ahead = on", "SELECT sum(length(s)) FROM plain");
    assert_eq!(found, sum);
    let all = bytes_of(&files_with(&io, "blk"));
    assert!(bytes > all / 4 && bytes <= all, "{bytes} of {all}: each block but the first, once");
    let (bytes, found) = told("SET read_ahead = off", "SELECT sum(length(s)) FROM plain");
    assert_eq!((bytes, found), (0, sum.to_vec()));
    let (bytes, found) = told("SET read_ahead = on", "SELECT count(*) FROM plain");
    assert_eq!((bytes, found), (0, vec![(ROWS - 1).to_string()]), "no values are needed");
    let one = "SELECT length(s) FROM plain WHERE id = 4711";
    let (bytes, found) = told("SET read_ahead = on", one);
    assert_eq!(found, ["128"]);
    assert!(bytes < all / 8, "{bytes} of {all}: most blocks have no such key");
}

#[test]
fn damage_of_rows_is_found_by_who_reads_them() {
    let io = SimIo::new(32, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    fill(&mut session);
    let t = number_of(&database, "t");
    drop(session);
    end(database, &io, End::Closed);
    let blocks = files_with(&io, "blk");
    let (path, bytes) = blocks.iter().max_by_key(|(_, bytes)| *bytes).expect("blocks");
    io.flip(path, bytes / 2, 4).expect("the byte is there");
    let report = Database::check(Path::new(PATH), &config(), &files_of(&io)).expect("readable");
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!(report.findings[0].path, *path);
    let database = open(&io);
    let mut session = database.session();
    let is_of_t = path.to_string_lossy().contains(&format!("/{t}-"));
    let table = if is_of_t { "t" } else { "plain" };
    let all = format!("SELECT sum(length(s)) FROM {table}");
    for _ in 0..2 {
        let error = session.execute(&all).err().expect("damaged");
        assert_eq!(error.state(), SqlState::DATA_CORRUPTED);
        assert!(error.message().contains(&*path.to_string_lossy()), "{error}");
    }
    // Nothing that can be done without these rows is in the way, and nothing is changed.
    let update = format!("UPDATE {table} SET s = ''");
    assert_eq!(state_of(&mut session, &update), "XX001");
    let counted = rows(&mut session, &format!("SELECT count(*) FROM {table}"));
    let other = if table == "t" { "plain" } else { "t" };
    assert_eq!(rows(&mut session, &format!("SELECT count(length(s)) FROM {other}")).len(), 1);
    run(&mut session, "CREATE TABLE more (a INT)");
    run(&mut session, "INSERT INTO more VALUES (1)");
    run(&mut session, "CHECKPOINT");
    drop(session);
    end(database, &io, End::Crashed);
    io.flip(path, bytes / 2, 4).expect("the file is still there");
    let database = open(&io);
    let mut session = database.session();
    assert_eq!(rows(&mut session, &format!("SELECT count(*) FROM {table}")), counted);
    check(&mut session);
    assert!(database.check_indexes().is_sound());
}

#[test]
fn keys_that_are_damaged_or_missing_are_made_of_rows() {
    let io = SimIo::new(33, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    fill(&mut session);
    drop(session);
    end(database, &io, End::Closed);
    let keys = files_with(&io, "keys");
    for (path, bytes) in &keys[..2] {
        io.flip(path, bytes / 2, 64).expect("the byte is there");
    }
    io.remove(&keys[2].0).expect("it is there");
    let report = Database::check(Path::new(PATH), &config(), &files_of(&io)).expect("readable");
    assert_eq!(report.findings.len(), 3, "{report:?}");
    let database = open(&io);
    let loads = database.pool().evictions().loads;
    assert!((1..=3).contains(&loads), "{loads} blocks without keys");
    let mut session = database.session();
    check(&mut session);
    assert!(database.check_indexes().is_sound());
    // The next checkpoint writes them anew. Another index is another list: so does the one after.
    for sql in ["CREATE TABLE more (a INT)", "DROP INDEX t_k"] {
        run(&mut session, sql);
        run(&mut session, "CHECKPOINT");
        assert_eq!(files_with(&io, "keys").len(), keys.len() + 2, "and those that were damaged");
    }
    drop(session);
    end(database, &io, End::Crashed);
    let report = Database::check(Path::new(PATH), &config(), &files_of(&io)).expect("readable");
    assert!(report.is_sound(), "{report:?}");
    let database = open(&io);
    assert_eq!(files_with(&io, "keys").len(), keys.len());
    assert_eq!(database.pool().evictions().loads, 0);
    check(&mut database.session());
}

#[test]
fn keys_of_another_definition_are_not_used() {
    let io = SimIo::new(34, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    for sql in [
        "CREATE TABLE t (a INT, b INT NOT NULL, s TEXT) WITH (layout = frozen)",
        "INSERT INTO t SELECT i % 50, i, 'x' || i % 9 FROM generate_series(1, 5000) AS g(i)",
        "CREATE INDEX i ON t (a)",
        "CREATE INDEX few ON t ((b % 10)) WHERE s = 'x3'",
        "CREATE INDEX h ON t USING hash (s)",
        "CHECKPOINT",
        // Indexes of the same names, with other keys; the rows stay where they are.
        "DROP INDEX i, few",
        "CREATE INDEX i ON t (a DESC)",
        "CREATE INDEX few ON t ((b % 11)) WHERE s = 'x3'",
        "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
    ] {
        run(&mut session, sql);
    }
    drop(session);
    for round in 0..2 {
        // Without a checkpoint, then with one.
        io.crash();
        let database = open(&io);
        let mut session = database.session();
        assert!(database.check_indexes().is_sound());
        let wanted = (1..=5000).filter(|i| i % 50 == 7).count().to_string();
        assert_eq!(rows(&mut session, "SELECT count(*) FROM t WHERE a = 7"), [wanted]);
        let wanted = (1..=5000).filter(|i| i % 11 == 4 && i % 9 == 3).count().to_string();
        let few = "SELECT count(*) FROM t WHERE b % 11 = 4 AND s = 'x3'";
        assert_eq!(rows(&mut session, few), [wanted]);
        let wanted = (1..=5000).filter(|i| i % 9 == 5).count().to_string();
        assert_eq!(rows(&mut session, "SELECT count(*) FROM t WHERE s = 'x5'"), [wanted]);
        if round == 0 {
            run(&mut session, "CHECKPOINT");
        }
    }
    drop(database);
}

/// Estimates of column `column` of a table without looking at a row.
fn known_of(database: &Database, table: &str, column: usize) -> (f64, f64, usize) {
    let entry = database.table(table).expect("it exists");
    let statistics = entry.storage().statistics();
    let estimates = &statistics.columns[column].estimates;
    (estimates.distinct, estimates.bytes_average, statistics.sample().rows)
}

#[test]
fn statistics_are_those_of_before() {
    for how in ENDS {
        let io = SimIo::new(36, Tear::Bytes);
        let database = open(&io);
        let mut session = database.session();
        fill(&mut session);
        // Rows that no load brought, in a table that was looked at.
        run(&mut session, "CREATE TABLE slow (id INT, k INT) WITH (layout = row)");
        let slow = "INSERT INTO slow SELECT i, i % 700 FROM generate_series(1, 9000) AS g(i)";
        run(&mut session, slow);
        run(&mut session, "ANALYZE");
        run(&mut session, "CHECKPOINT");
        let known = |database: &Database| {
            let of = [("t", 0), ("t", 1), ("t", 2), ("plain", 0), ("slow", 1)];
            of.map(|(table, column)| known_of(database, table, column))
        };
        let before = known(&database);
        assert!((before[4].0 / 700.0 - 1.0).abs() < 0.1, "{before:?}");
        let files = files_with(&io, "stats");
        assert_eq!(files.len(), 3, "{files:?}");
        // Nothing was looked at since: the next checkpoint has them as they are.
        run(&mut session, "DELETE FROM slow WHERE id = 5");
        run(&mut session, "CHECKPOINT");
        assert_eq!(files_with(&io, "stats"), files);
        drop(session);
        end(database, &io, how);
        let database = open(&io);
        assert_eq!(known(&database), before, "{how:?}");
        assert_eq!(database.pool().evictions().loads, 0, "{how:?}");
        for name in ["t", "plain", "slow"] {
            let table = database.table(name).expect("it exists");
            let table = table.storage();
            assert!(!table.has_peeked_statistics() && !table.wants_statistics(), "{name}");
        }
        // What changes from now on is known as before, without a look at what loads brought.
        let mut session = database.session();
        run(&mut session, "INSERT INTO slow SELECT id, k + 5000 FROM slow");
        run(&mut session, "ANALYZE slow");
        let (distinct, ..) = known_of(&database, "slow", 1);
        assert!((distinct / 1400.0 - 1.0).abs() < 0.1, "{distinct}");
        assert_eq!(database.pool().evictions().loads, 0, "{how:?}");
        run(&mut session, "DROP TABLE plain");
        run(&mut session, "CHECKPOINT");
        let now = files_with(&io, "stats");
        assert_eq!(now.iter().filter(|file| files.contains(file)).count(), 1, "{now:?}");
        assert_eq!(now.len(), 2);
    }
}

#[test]
fn statistics_that_are_damaged_or_old_are_made_anew() {
    let io = SimIo::new(37, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    fill(&mut session);
    run(&mut session, "CHECKPOINT");
    let (t, plain) = (number_of(&database, "t"), number_of(&database, "plain"));
    drop(session);
    end(database, &io, End::Closed);
    let files = files_with(&io, "stats");
    let of = |table: TableId| {
        let start = format!("/{}-", table.0);
        files.iter().find(|(path, _)| path.to_string_lossy().contains(&start)).expect("a file")
    };
    let (path, bytes) = of(t);
    io.flip(path, bytes / 2, 64).expect("the byte is there");
    io.remove(&of(plain).0).expect("it is there");
    let report = Database::check(Path::new(PATH), &config(), &files_of(&io)).expect("readable");
    assert_eq!(report.findings.len(), 2, "{report:?}");
    let database = open(&io);
    let mut session = database.session();
    check(&mut session);
    let table = database.table("t").expect("it exists");
    assert!(table.storage().has_peeked_statistics());
    run(&mut session, "ANALYZE");
    run(&mut session, "CHECKPOINT");
    // A quarter of the table changes behind the checkpoint: what is known is old, and says so.
    run(&mut session, "UPDATE t SET k = 9 WHERE id <= 15000");
    drop(session);
    drop(table);
    end(database, &io, End::Crashed);
    let report = Database::check(Path::new(PATH), &config(), &files_of(&io)).expect("readable");
    assert!(report.is_sound(), "{report:?}");
    let database = open(&io);
    let (distinct, ..) = known_of(&database, "t", 1);
    assert!((6.0..8.5).contains(&distinct), "{distinct}");
    let table = database.table("t").expect("it exists");
    assert!(!table.storage().has_peeked_statistics() && table.storage().wants_statistics());
}

/// CRC-32C, bit by bit.
fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut crc = u32::MAX;
    for byte in parts.iter().flat_map(|part| part.iter()) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !crc
}

/// The file as version 1 had it: no identity, content in front of marks. Returns its length and the
/// checksum of its header.
fn to_version_1(io: &SimIo, path: &Path) -> (u64, u32) {
    let file = read_file(io, path).expect("readable");
    assert_eq!(read_u32(&file, 8), 2);
    let (identity, dead) = (read_u32(&file, 20) as usize, read_u64(&file, 64) as usize);
    let (dead, content) = file[88 + identity..].split_at(dead);
    let mut header = file[..80].to_vec();
    header[8..12].copy_from_slice(&1u32.to_le_bytes());
    header[20..24].fill(0);
    let crc = crc32c(&[&header[..12], &header[16..]]);
    header[12..16].copy_from_slice(&crc.to_le_bytes());
    write_file(io, path, &[&header, content, dead]).expect("there is room");
    ((header.len() + content.len() + dead.len()) as u64, crc)
}

/// Makes the files of a closed database those of an earlier build.
fn downgrade(io: &SimIo) {
    let directory = Path::new(PATH);
    let current = directory.join("CURRENT");
    let line = String::from_utf8(read_file(io, &current).expect("readable")).expect("text");
    let name = line.split(' ').next().expect("a name");
    let path = directory.join(name);
    let bytes = read_file(io, &path).expect("readable");
    let database = read_u64(&bytes, 24);
    let mut manifest = Manifest::read(&bytes, database, &path).expect("a manifest");
    for table in &mut manifest.tables {
        if let Some(StatisticsReference { version, .. }) = table.statistics.take() {
            let name = format!("{}-0-{version}.stats", table.id);
            io.remove(&directory.join("blocks").join(name)).expect("it is there");
        }
        for entry in &mut table.blocks {
            let path = |version: u64, extension: &str| {
                let name = format!("{}-{}-{version}.{extension}", table.id, entry.file.block);
                directory.join("blocks").join(name)
            };
            if let Some(keys) = entry.keys {
                io.remove(&path(keys.version, "keys")).expect("it is there");
            }
            let dead = entry.dead.map(|DeadReference { version, .. }| {
                let (bytes, crc) = to_version_1(io, &path(version, "dead"));
                DeadReference { version, bytes, crc }
            });
            let (bytes, crc) = to_version_1(io, &path(entry.file.version, "blk"));
            (entry.file.bytes, entry.file.crc) = (bytes, crc);
            (entry.dead, entry.keys) = (dead, None);
        }
    }
    let mut bytes = manifest.write(database);
    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
    write_file(io, &path, &[&bytes]).expect("there is room");
    let line = format!("{name} {:08x}", crc32c(&[&bytes]));
    let line = format!("{line} {:08x}\n", crc32c(&[line.as_bytes()]));
    write_file(io, &current, &[line.as_bytes()]).expect("there is room");
    io.sync_directory(directory).expect("it is there");
}

#[test]
fn a_database_of_an_earlier_build_opens_and_is_changed() {
    let io = SimIo::new(35, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    fill(&mut session);
    let t = number_of(&database, "t");
    run(&mut session, "CREATE TABLE hot (a INT PRIMARY KEY, b TEXT) WITH (layout = row)");
    run(&mut session, "INSERT INTO hot SELECT i, 'v' || i FROM generate_series(1, 500) AS g(i)");
    run(&mut session, "CHECKPOINT");
    drop(session);
    end(database, &io, End::Closed);
    downgrade(&io);
    assert!(!files_with(&io, "dead").is_empty() && files_with(&io, "keys").is_empty());
    let blocks = files_with(&io, "blk");
    let report = Database::check(Path::new(PATH), &config(), &files_of(&io)).expect("readable");
    assert!(report.is_sound(), "{report:?}");
    for round in 0..2 {
        let before = io.read_bytes();
        let database = open(&io);
        let opened = io.read_bytes() - before;
        assert!(opened > bytes_of(&blocks), "files of version 1 are read whole");
        let mut session = database.session();
        check(&mut session);
        assert_eq!(rows(&mut session, "SELECT b FROM hot WHERE a = 77"), ["v77"]);
        assert!(database.check_indexes().is_sound());
        run(&mut session, "DELETE FROM plain WHERE id = 18");
        run(&mut session, "INSERT INTO plain VALUES (18, 'back')");
        if round == 0 {
            run(&mut session, "CHECKPOINT");
        }
        drop(session);
        end(database, &io, End::Crashed);
    }
    // Only the block that changed was written again; the keys of all blocks were made.
    let now = files_with(&io, "blk");
    let (frozen, written): (Vec<_>, Vec<_>) =
        blocks.iter().filter(|(_, bytes)| *bytes > 100_000).partition(|file| now.contains(file));
    assert_eq!(written.len(), 1, "{frozen:?} {now:?}");
    assert!(frozen.iter().all(|(path, _)| version_of(&io, path) == 1));
    let newer = now.iter().filter(|(path, _)| version_of(&io, path) == 2);
    assert!(newer.map(|(_, bytes)| *bytes).max() > Some(100_000), "{now:?}");
    assert_eq!(files_with(&io, "keys").len(), block_count(&io, t));
}

/// The format version of a file.
fn version_of(io: &SimIo, path: &Path) -> u32 {
    read_u32(&read_file(io, path).expect("readable"), 8)
}
