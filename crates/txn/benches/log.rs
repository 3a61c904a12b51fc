//! Measures the log on this disk: `cargo bench -p txn`, in the directory TESSERA_BENCH_DIR or
//! that for temporary files. Run by `cargo test` it does everything once, in small.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::{Io, RealIo};
use parking_lot::Mutex;
use storage::{Datum, TableId, Tid};
use txn::redo::{RedoReader, RedoWriter};
use wal::{Log, LogOptions, LogPlace, LogReader, Position, RecordBuffer, Stamp};

const ROUNDS: usize = 5;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let base = std::env::var_os("TESSERA_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let base = base.join(format!("txn-bench-{}", std::process::id()));
    append_cost(&base.join("append"), full);
    for threads in [1, 2, 8] {
        durable_commits(&base.join(format!("commits-{threads}")), threads, full);
    }
    replay(&base.join("replay"), full);
    std::fs::remove_dir_all(&base).expect("the directory was made above");
}

fn with_log<T>(directory: &Path, run: impl FnOnce(&LogPlace<'_>, Log) -> T) -> T {
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let place = LogPlace { io: &io, directory, database: 1 };
    let log = Log::create(&place, LogOptions::default()).expect("a log in a new directory");
    run(&place, log)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds for a record of 1 KiB: reserved, and appended in what would be the commit latch.
fn append_cost(directory: &Path, full: bool) {
    let count = if full { 8_000 } else { 100 };
    with_log(directory, |_, log| {
        let (mut reserving, mut appending) = (Vec::new(), Vec::new());
        let mut record = RecordBuffer::default();
        for round in 0..ROUNDS {
            for ts in 1..=count {
                record.output().extend_from_slice(&[7; 1024]);
                let start = Instant::now();
                let space = log.reserve(&record).expect("space");
                let middle = Instant::now();
                log.append(space, Stamp(ts), &mut record).expect("a log that works");
                let end = Instant::now();
                // The first round touches the memory of the buffers for the first time.
                if round > 0 {
                    reserving.push((middle - start).as_nanos() as f64);
                    appending.push((end - middle).as_nanos() as f64);
                }
            }
            log.wait_durable(log.position().lsn).expect("a disk that works");
        }
        let clock = (0..1000).map(|_| Instant::now().elapsed().as_nanos() as f64).collect();
        println!(
            "append of 1 KiB, medians: reserve {:.0} ns, append {:.0} ns, clock {:.0} ns in each",
            median(reserving),
            median(appending),
            median(clock)
        );
    });
}

/// Commits of 256 bytes per second, each waited for.
fn durable_commits(directory: &Path, threads: u64, full: bool) {
    let time = if full { Duration::from_secs(3) } else { Duration::from_millis(20) };
    with_log(directory, |_, log| {
        let latch = Mutex::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut record = RecordBuffer::default();
                    while start.elapsed() < time {
                        record.output().extend_from_slice(&[7; 256]);
                        let space = log.reserve(&record).expect("space");
                        let lsn = {
                            let mut ts = latch.lock();
                            *ts += 1;
                            log.append(space, Stamp(*ts), &mut record).expect("works")
                        };
                        log.wait_durable(lsn).expect("a disk that works");
                    }
                });
            }
        });
        let commits = *latch.lock();
        let batches = (log.durable().0 - commits * 272) / 24;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "durable commits, {threads} threads: {:.0}/s, {:.0} syncs/s",
            commits as f64 / seconds,
            batches as f64 / seconds
        );
    });
}

/// Bytes of log per second: records only, and with their changes decoded.
fn replay(directory: &Path, full: bool) {
    let count: u64 = if full { 500_000 } else { 1000 };
    with_log(directory, |place, log| {
        let mut record = RecordBuffer::default();
        for ts in 1..=count {
            let mut writer = RedoWriter::new(record.output());
            for row in 0..24 {
                let values = [
                    Datum::I64((ts * 24 + row) as i64),
                    Datum::I32(row as i32),
                    Datum::Str(b"a string of 24 bytes or so"),
                ];
                writer.insert(TableId(1), Tid(ts * 24 + row), values.into_iter());
            }
            let space = log.reserve(&record).expect("space");
            log.append(space, Stamp(ts), &mut record).expect("a log that works");
        }
        let bytes = log.position().lsn.0 as f64;
        drop(log);
        for decode in [false, true] {
            let rates = (0..ROUNDS).map(|_| {
                let start = Instant::now();
                let mut reader = LogReader::open(place, Position::default(), Stamp(0))
                    .expect("the log just written");
                let (mut records, mut rows) = (0, 0);
                while let Some(record) = reader.next().expect("a whole log") {
                    records += 1;
                    let mut redo = RedoReader::new(record.payload);
                    while decode && redo.next().expect("whole changes").is_some() {
                        rows += 1;
                    }
                }
                assert_eq!((records, rows), (count, if decode { count * 24 } else { 0 }));
                bytes / 1e6 / start.elapsed().as_secs_f64()
            });
            let rate = median(rates.collect());
            let what = if decode { "read and decoded" } else { "read" };
            println!("log of {:.0} MB {what}: {rate:.0} MB/s", bytes / 1e6);
        }
    });
}
