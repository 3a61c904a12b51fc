//! A log that crashes thousands of times against a list of what was appended.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{Fault, Io, RealIo, SimIo, Tear};
use testkit::Random;
use types::{Result, SqlState};

use super::*;

const DATABASE: u64 = 0x7e55_e7a0_0000_0001;

fn place(io: &Arc<dyn Io>) -> LogPlace<'_> {
    LogPlace { io, directory: Path::new("/wal"), database: DATABASE }
}

fn small() -> LogOptions {
    LogOptions {
        segment_bytes: 4096,
        waiting_bytes_max: 20_000,
        background: Background::None,
        ..LogOptions::default()
    }
}

fn append(log: &Log, ts: u64, payload: &[u8]) -> Result<Lsn> {
    let mut record = RecordBuffer::default();
    record.output().extend_from_slice(payload);
    let space = log.reserve(&record)?;
    log.append(space, Stamp(ts), &mut record)
}

fn read_all(place: &LogPlace<'_>, from: Position) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut reader = LogReader::open(place, from, Stamp(0))?;
    let mut records = Vec::new();
    while let Some(record) = reader.next()? {
        records.push((record.stamp.0, record.payload.to_vec()));
    }
    Ok(records)
}

/// Expected log: records behind the last checkpoint, the first `acked` of them for sure.
struct Model {
    from: Position,
    records: Vec<(u64, Vec<u8>)>,
    acked: usize,
    next_ts: u64,
}

impl Model {
    /// Compares what a crash left; from now on that is what there is.
    fn recovered(&mut self, found: &[(u64, Vec<u8>)], seed: u64) {
        assert!(found.len() >= self.acked, "seed {seed}: acknowledged records are lost");
        assert!(found.len() <= self.records.len(), "seed {seed}: records from nowhere");
        assert_eq!(found, &self.records[..found.len()], "seed {seed}: other records");
        self.records.truncate(found.len());
        self.acked = found.len();
    }
}

fn payload(random: &mut Random) -> Vec<u8> {
    let bytes = match random.below(20) {
        0 => random.below(12_000),
        1..4 => random.below(1500),
        _ => random.below(80),
    };
    (0..bytes).map(|_| random.bits() as u8).collect()
}

/// One life of the log: appends, waits and checkpoints until something fails or enough is done.
fn live(log: &Log, model: &mut Model, random: &mut Random) {
    let mut waiting: Vec<(Lsn, usize)> = Vec::new();
    for _ in 0..random.below(60) {
        match random.below(10) {
            0..6 => {
                let payload = payload(random);
                let ts = model.next_ts;
                model.next_ts += 1 + random.below(3);
                match append(log, ts, &payload) {
                    Ok(lsn) => {
                        model.records.push((ts, payload));
                        waiting.push((lsn, model.records.len()));
                    }
                    Err(error) if error.state() == SqlState::DISK_FULL => {}
                    Err(_) => return,
                }
            }
            6..9 => {
                if let Some((lsn, count)) = waiting.pop() {
                    match log.wait_durable(lsn) {
                        Ok(()) => model.acked = model.acked.max(count),
                        Err(error) if error.state() == SqlState::DISK_FULL => {}
                        Err(_) => return,
                    }
                }
            }
            _ => {
                // A checkpoint that holds everything appended so far.
                model.from = log.position();
                model.records.clear();
                model.acked = 0;
                waiting.clear();
                if log.remove_below(model.from.lsn).is_err() {
                    return;
                }
            }
        }
    }
}

fn inject(sim: &SimIo, random: &mut Random) {
    sim.set_capacity(None);
    match random.below(6) {
        0 => sim.inject(Fault::PowerLoss(1 + random.below(80))),
        1 => sim.inject(Fault::Sync(1 + random.below(15))),
        2 => sim.inject(Fault::Write(1 + random.below(25))),
        3 => sim.set_capacity(Some(sim.used_bytes() + random.below(20_000))),
        _ => {}
    }
}

fn crash_run(seed: u64) {
    let mut random = Random::new(seed);
    let tear = if random.chance(50) { Tear::Bytes } else { Tear::Sectors };
    let sim = SimIo::new(random.bits(), tear);
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let mut model = Model { from: Position::default(), records: Vec::new(), acked: 0, next_ts: 1 };
    let mut log = Some(Log::create(&place(&io), small()).unwrap());
    for _ in 0..6 {
        inject(&sim, &mut random);
        if let Some(log) = &log {
            live(log, &mut model, &mut random);
        }
        match random.below(4) {
            // Closed in order; what waits is written, unless a fault prevents it.
            0 => {}
            1 => {
                sim.kill();
            }
            _ => sim.crash(),
        }
        drop(log.take());
        sim.set_capacity(None);
        sim.clear_faults();
        if random.chance(20) {
            sim.crash();
        }
        sim.kill();
        let found = read_all(&place(&io), model.from).unwrap_or_else(|e| panic!("{seed}: {e}"));
        model.recovered(&found, seed);
        let reader = LogReader::open(&place(&io), model.from, Stamp(0)).unwrap();
        // Opening may crash as well.
        if random.chance(20) {
            sim.inject(Fault::PowerLoss(1 + random.below(6)));
            if Log::resume(reader, small()).is_err() {
                model.acked = 0;
                sim.crash();
                let found = read_all(&place(&io), model.from).unwrap();
                model.recovered(&found, seed);
            }
            sim.kill();
            let reader = LogReader::open(&place(&io), model.from, Stamp(0)).unwrap();
            log = Some(Log::resume(reader, small()).unwrap());
        } else {
            log = Some(Log::resume(reader, small()).unwrap());
        }
    }
}

#[test]
fn acknowledged_records_survive_crashes_in_order() {
    for seed in 0..3000 {
        crash_run(seed);
    }
}

#[test]
#[ignore = "minutes; for nightly runs and after changes of the format"]
fn acknowledged_records_survive_many_crashes_in_order() {
    for seed in 1_000_000..1_200_000 {
        crash_run(seed);
    }
}

#[test]
fn a_full_disk_is_met_before_the_commit_and_passes() {
    let sim = SimIo::new(1, Tear::Bytes);
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let log = Log::create(&place(&io), small()).unwrap();
    sim.set_capacity(Some(sim.used_bytes() + 5000));
    let mut appended = 0;
    let error = loop {
        match append(&log, appended + 1, &[7; 500]) {
            Ok(lsn) => log.wait_durable(lsn).unwrap(),
            Err(error) => break error,
        }
        appended += 1;
    };
    assert_eq!(error.state(), SqlState::DISK_FULL);
    assert!(error.message().contains("/wal/"), "{error}");
    assert!(append(&log, appended + 1, &[7; 5000]).is_err(), "still full");
    sim.set_capacity(None);
    let lsn = append(&log, appended + 1, &[7; 500]).unwrap();
    log.wait_durable(lsn).unwrap();
    sim.crash();
    let found = read_all(&place(&io), Position::default()).unwrap();
    assert_eq!(found.len() as u64, appended + 1);
}

#[test]
fn a_write_that_meets_a_full_disk_is_tried_again() {
    // Not through the reservation: the file system breaks its promise.
    let sim = SimIo::new(1, Tear::Bytes);
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let log = Log::create(&place(&io), small()).unwrap();
    let lsn = append(&log, 1, b"one").unwrap();
    let files = sim.files();
    let segment = io.open(&files[0].0, host::OpenMode::Write).unwrap();
    segment.truncate(4096).unwrap();
    sim.set_capacity(Some(4096));
    assert_eq!(log.wait_durable(lsn).unwrap_err().state(), SqlState::DISK_FULL);
    let later = append(&log, 2, b"two").unwrap();
    assert_eq!(log.wait_durable(lsn).unwrap_err().state(), SqlState::DISK_FULL);
    sim.set_capacity(None);
    log.wait_durable(later).unwrap();
    sim.crash();
    let found = read_all(&place(&io), Position::default()).unwrap();
    assert_eq!(found, [(1, b"one".to_vec()), (2, b"two".to_vec())]);
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged() {
    let sim = SimIo::new(1, Tear::Bytes);
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let log = Log::create(&place(&io), small()).unwrap();
    let first = append(&log, 1, b"one").unwrap();
    log.wait_durable(first).unwrap();
    let second = append(&log, 2, b"two").unwrap();
    let mut record = RecordBuffer::default();
    let space = log.reserve(&record).unwrap();
    sim.inject(Fault::Sync(1));
    for _ in 0..2 {
        let error = log.wait_durable(second).unwrap_err();
        assert_eq!(error.state(), SqlState::IO_ERROR);
        assert!(error.message().starts_with("the log failed: cannot sync"), "{error}");
    }
    assert!(log.wait_durable(first).is_ok(), "what was acknowledged stays so");
    assert!(log.append(space, Stamp(3), &mut record).is_err());
    assert_eq!(append(&log, 3, b"three").unwrap_err().state(), SqlState::IO_ERROR);
    drop(log);
    sim.crash();
    let found = read_all(&place(&io), Position::default()).unwrap();
    assert_eq!(found[0], (1, b"one".to_vec()));
}

/// A log of several batches and segments, closed in order.
fn closed_log(sim: &SimIo) -> Vec<(u64, Vec<u8>)> {
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let mut random = Random::new(9);
    let log = Log::create(&place(&io), small()).unwrap();
    let mut records = Vec::new();
    for ts in 1..40 {
        let bytes = random.below(600);
        let payload: Vec<u8> = (0..bytes).map(|_| random.bits() as u8).collect();
        let lsn = append(&log, ts, &payload).unwrap();
        if ts % 3 == 0 {
            log.wait_durable(lsn).unwrap();
        }
        records.push((ts, payload));
    }
    records
}

#[test]
fn a_flipped_bit_anywhere_is_noticed_or_harmless() {
    let sim = SimIo::new(3, Tear::Bytes);
    let records = closed_log(&sim);
    let (mut refused, mut random) = (0, Random::new(4));
    let used: u64 = records.iter().map(|(_, payload)| payload.len() as u64 + 16).sum();
    for (path, bytes) in sim.files() {
        for offset in 0..bytes {
            let copy = sim.fork(1);
            copy.flip(&path, offset, 1 << random.below(8)).unwrap();
            let io: Arc<dyn Io> = Arc::new(copy);
            match read_all(&place(&io), Position::default()) {
                Ok(found) => assert_eq!(found, records, "{path:?} {offset}"),
                Err(error) => {
                    assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{error}");
                    assert!(error.message().contains("damaged at byte"), "{error}");
                    assert!(error.message().contains("/wal/"), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused >= used, "{refused} of {used} bytes");
}

#[test]
fn cut_and_missing_segments_are_refused() {
    let sim = SimIo::new(3, Tear::Bytes);
    let records = closed_log(&sim);
    let files = sim.files();
    assert!(files.len() > 3);
    for (index, (path, bytes)) in files.iter().enumerate() {
        let copy = sim.fork(1);
        let io: Arc<dyn Io> = Arc::new(copy.clone());
        io.remove(path).unwrap();
        let found = read_all(&place(&io), Position::default());
        assert!(found.is_err() || index + 1 == files.len(), "without {path:?}");
        let copy = sim.fork(1);
        let io: Arc<dyn Io> = Arc::new(copy.clone());
        io.open(path, host::OpenMode::Write).unwrap().truncate(bytes - 8).unwrap();
        match read_all(&place(&io), Position::default()) {
            Ok(found) => assert_eq!(found, records),
            Err(error) => assert_eq!(error.state(), SqlState::DATA_CORRUPTED),
        }
    }
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let other = LogPlace { io: &io, directory: Path::new("/wal"), database: 5 };
    let error = read_all(&other, Position::default()).unwrap_err();
    assert!(error.message().contains("database"), "{error}");
}

#[test]
fn a_torn_tail_is_cut_and_never_read_again() {
    let sim = SimIo::new(3, Tear::Bytes);
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let log = Log::create(&place(&io), small()).unwrap();
    for ts in 1..4 {
        append(&log, ts, &[ts as u8; 24]).unwrap();
    }
    let lsn = append(&log, 4, &[4; 24]).unwrap();
    log.wait_durable(lsn).unwrap();
    sim.kill();
    drop(log);
    // The second record is damaged, those behind it are whole: one batch, so a torn one.
    let path = PathBuf::from("/wal/0000000000000000.log");
    sim.flip(&path, 4096 + 24 + 40 + 20, 1).unwrap();
    let reader = LogReader::open(&place(&io), Position::default(), Stamp(0)).unwrap();
    let log = Log::resume(reader, small()).unwrap();
    assert_eq!(log.position().lsn, Lsn(24 + 40));
    // A mark and a record that end where the old third record starts.
    let lsn = append(&log, 5, &[]).unwrap();
    assert_eq!(lsn, Lsn(24 + 40 + 24 + 16));
    log.wait_durable(lsn).unwrap();
    sim.kill();
    let found = read_all(&place(&io), Position::default()).unwrap();
    assert_eq!(found, [(1, vec![1; 24]), (5, vec![])]);
}

#[test]
fn segments_are_used_again_and_their_old_records_forgotten() {
    let sim = SimIo::new(3, Tear::Bytes);
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    let log = Log::create(&place(&io), small()).unwrap();
    let mut from = Position::default();
    for ts in 1..500 {
        let lsn = append(&log, ts, &[3; 400]).unwrap();
        log.wait_durable(lsn).unwrap();
        if ts % 40 == 0 {
            from = log.position();
            assert!(log.remove_below(from.lsn).unwrap() > 0);
        }
    }
    assert!(sim.files().len() < 12, "{:?}", sim.files());
    sim.crash();
    drop(log);
    let found = read_all(&place(&io), from).unwrap();
    assert_eq!(found.first().unwrap().0, 481);
    assert_eq!(found.len(), 19);
    let error = read_all(&place(&io), Position::default()).unwrap_err();
    assert!(error.message().contains("lsn 0x0"), "{error}");
}

#[test]
fn stamps_are_passed_over_up_to_the_snapshot() {
    let sim = SimIo::new(3, Tear::Bytes);
    closed_log(&sim);
    let io: Arc<dyn Io> = Arc::new(sim);
    let mut reader = LogReader::open(&place(&io), Position::default(), Stamp(30)).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().stamp, Stamp(31));
}

/// A directory of the real file system that goes with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("txn-log-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn large_records_cross_segments() {
    let scratch = Scratch::new("large");
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let place = LogPlace { io: &io, directory: &scratch.0, database: DATABASE };
    let options = LogOptions { segment_bytes: 1 << 20, ..LogOptions::default() };
    let log = Log::create(&place, options).unwrap();
    let mut random = Random::new(1);
    let sizes = [10, 3 << 20, 5, (1 << 20) - 16, 9 << 20, 100];
    let mut expected = Vec::new();
    for (ts, bytes) in sizes.into_iter().enumerate() {
        let payload: Vec<u8> = (0..bytes).map(|_| random.bits() as u8).collect();
        append(&log, ts as u64 + 1, &payload).unwrap();
        log.flush_later();
        expected.push((ts as u64 + 1, payload));
    }
    drop(log);
    assert!(read_all(&place, Position::default()).unwrap() == expected);
}

#[test]
fn threads_share_syncs_and_all_records_arrive_in_order() {
    let scratch = Scratch::new("threads");
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let place = LogPlace { io: &io, directory: &scratch.0, database: DATABASE };
    let log = Log::create(&place, LogOptions::default()).unwrap();
    let latch = parking_lot::Mutex::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let (log, latch) = (&log, &latch);
            scope.spawn(move || {
                let mut record = RecordBuffer::default();
                for commit in 0..100u8 {
                    record.output().extend_from_slice(&[thread, commit]);
                    let space = log.reserve(&record).unwrap();
                    let lsn = {
                        let mut ts = latch.lock();
                        *ts += 1;
                        log.append(space, Stamp(*ts), &mut record).unwrap()
                    };
                    log.wait_durable(lsn).unwrap();
                    assert!(log.durable() >= lsn);
                }
            });
        }
    });
    let durable = log.durable();
    // A mark of 24 bytes per batch, a record of 24 bytes per commit.
    let batches = (durable.0 - 800 * 24) / 24;
    assert!(batches <= 800, "{batches} batches");
    drop(log);
    let found = read_all(&place, Position::default()).unwrap();
    assert_eq!(found.len(), 800);
    assert!(found.iter().map(|(ts, _)| *ts).eq(1..=800));
    for thread in 0..8 {
        let commits = found.iter().filter(|(_, p)| p[0] == thread).map(|(_, p)| p[1]);
        assert!(commits.eq(0..100));
    }
}

#[test]
fn what_threads_were_told_is_durable_survives_a_crash_among_them() {
    for seed in 0..300 {
        let sim = SimIo::new(seed, Tear::Bytes);
        let io: Arc<dyn Io> = Arc::new(sim.clone());
        let log = Log::create(&place(&io), small()).unwrap();
        match seed % 3 {
            0 => sim.inject(Fault::PowerLoss(10 + seed / 2)),
            1 => sim.inject(Fault::Sync(5 + seed / 10)),
            _ => {}
        }
        let latch = parking_lot::Mutex::new(0);
        let acked = parking_lot::Mutex::new(Vec::new());
        let commit = |record: &mut RecordBuffer, thread: u8| -> Result<()> {
            record.clear();
            record.output().extend_from_slice(&[thread; 50]);
            let space = log.reserve(record)?;
            let (ts, lsn) = {
                let mut ts = latch.lock();
                let lsn = log.append(space, Stamp(*ts + 1), record)?;
                *ts += 1;
                (*ts, lsn)
            };
            log.wait_durable(lsn)?;
            acked.lock().push((ts, vec![thread; 50]));
            Ok(())
        };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let commit = &commit;
                scope.spawn(move || {
                    let mut record = RecordBuffer::default();
                    (0..30).all(|_| commit(&mut record, thread).is_ok())
                });
            }
        });
        sim.crash();
        let found = read_all(&place(&io), Position::default()).unwrap();
        assert!(found.iter().map(|(ts, _)| *ts).eq(1..=found.len() as u64), "seed {seed}");
        for (ts, payload) in acked.lock().iter() {
            let survivor = found.get(*ts as usize - 1);
            assert_eq!(survivor.map(|(_, found)| found), Some(payload), "seed {seed}: {ts}");
        }
    }
}

#[test]
fn asynchronous_commits_become_durable_by_themselves() {
    let scratch = Scratch::new("async");
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let place = LogPlace { io: &io, directory: &scratch.0, database: DATABASE };
    let log = Log::create(&place, LogOptions::default()).unwrap();
    for ts in 1..20 {
        let lsn = append(&log, ts, b"later").unwrap();
        log.flush_later();
        while ts % 10 == 0 && log.durable() < lsn {
            std::thread::yield_now();
        }
    }
}
