//! Versions of one row under a model checker: one writer that commits or rolls back, one reader,
//! and a collection, in all orders and with all values that weak memory lets them see.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

    pub(crate) fn pause(_: u32) {
        loom::thread::yield_now();
    }
}

#[allow(dead_code)]
#[path = "../src/row/word.rs"]
mod word;

use loom::sync::Arc;
use loom::thread;
use sync::{AtomicU64, Ordering};

const RUNNING: u64 = 1 << 63;

/// One row of two values with room for two undo records. A word is 0 or twice the number of a
/// record, from 1; `older` likewise.
struct Row {
    word: AtomicU64,
    values: [AtomicU64; 2],
    records: [Record; 2],
    /// The newest commit that snapshots may start from.
    published: AtomicU64,
}

struct Record {
    stamp: AtomicU64,
    older: AtomicU64,
    before: [AtomicU64; 2],
}

impl Row {
    fn new() -> Arc<Self> {
        let zero = || [AtomicU64::new(0), AtomicU64::new(0)];
        let record =
            || Record { stamp: AtomicU64::new(RUNNING), older: AtomicU64::new(0), before: zero() };
        let (word, published) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { word, values: zero(), records: [record(), record()], published })
    }

    fn write(&self, record: usize, value: u64) {
        let found = word::latch(&self.word);
        for (value, before) in self.values.iter().zip(&self.records[record].before) {
            before.store(value.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.records[record].older.store(found, Ordering::Relaxed);
        word::order();
        self.values.iter().for_each(|v| v.store(value, Ordering::Relaxed));
        word::publish(&self.word, (record as u64 + 1) * 2);
    }

    fn restore(&self, record: usize) {
        let found = word::latch(&self.word);
        for (value, before) in self.values.iter().zip(&self.records[record].before) {
            value.store(before.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        word::publish(&self.word, found);
    }

    fn end(&self, records: &[usize], ts: u64) {
        records.iter().for_each(|&r| self.records[r].stamp.store(ts, Ordering::Release));
        self.published.store(ts, Ordering::Release);
    }

    fn unlink(&self) {
        word::latch(&self.word);
        word::publish(&self.word, 0);
    }

    /// The values as a snapshot taken now sees them, and its timestamp.
    fn read(&self) -> (u64, [u64; 2]) {
        let ts = self.published.load(Ordering::Acquire);
        let mut values = [0, 1].map(|i| self.values[i].load(Ordering::Relaxed));
        let mut next = word::settled(&self.word);
        while next != 0 {
            let record = &self.records[next as usize / 2 - 1];
            if record.stamp.load(Ordering::Acquire) <= ts {
                break;
            }
            values = [0, 1].map(|i| record.before[i].load(Ordering::Relaxed));
            next = record.older.load(Ordering::Acquire);
        }
        (ts, values)
    }
}

fn with_reader(write: impl FnOnce(&Row) + Send + 'static, expected: fn(u64) -> u64) {
    let row = Row::new();
    let writer = {
        let row = Arc::clone(&row);
        thread::spawn(move || write(&row))
    };
    let (ts, values) = row.read();
    assert_eq!(values, [expected(ts); 2]);
    writer.join().expect("the writer ends");
}

#[test]
fn a_commit_is_seen_whole_or_not_at_all() {
    loom::model(|| {
        let write = |row: &Row| {
            row.write(0, 7);
            row.end(&[0], 1);
        };
        with_reader(write, |ts| if ts == 0 { 0 } else { 7 });
    });
}

#[test]
fn an_undone_change_is_never_seen() {
    loom::model(|| {
        let write = |row: &Row| {
            row.write(0, 7);
            row.restore(0);
            row.end(&[0], 1);
        };
        with_reader(write, |_| 0);
    });
}

#[test]
fn the_second_of_two_changes_does_not_hide_the_first() {
    loom::model(|| {
        let write = |row: &Row| {
            row.write(0, 7);
            row.end(&[0], 1);
            row.write(1, 8);
        };
        with_reader(write, |ts| if ts == 0 { 0 } else { 7 });
    });
}

/// A snapshot that sees all commits reads right while the record goes.
#[test]
fn collection_does_not_disturb_who_sees_the_change() {
    loom::model(|| {
        let row = Row::new();
        row.write(0, 7);
        row.end(&[0], 1);
        let collector = {
            let row = Arc::clone(&row);
            thread::spawn(move || {
                row.unlink();
                row.write(1, 8);
            })
        };
        assert_eq!(row.read(), (1, [7; 2]));
        collector.join().expect("the collector ends");
    });
}
