//! Nanoseconds per operation of table indexes, one thread: `cargo bench -p storage --bench index`.
//! Run by `cargo test` it checks itself on tiny input.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};
use std::time::Instant;

use storage::{
    BufferPool, ColumnSpec, Datum, Direction, IndexColumn, IndexId, IndexKind, IndexSpec,
    KeyBuffer, KeyRange, RangeState, Schema, TableIndex, Tid, Uniqueness,
};
use testkit::Random;
use types::DataType;

const SEED: u64 = 11;
const ROUNDS: usize = 3;

#[derive(Clone, Copy, PartialEq)]
enum Keys {
    Eight,
    Sixteen,
    Text,
}

impl Keys {
    fn types(self) -> Vec<DataType> {
        match self {
            Self::Eight => vec![DataType::BigInt],
            Self::Sixteen => vec![DataType::Integer; 4],
            Self::Text => vec![DataType::Text],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Eight => "8 bytes",
            Self::Sixteen => "16 bytes",
            Self::Text => "text of 27 bytes",
        }
    }

    /// Key number `i`, in the order of `i`.
    fn encode(self, index: &TableIndex, i: u64, key: &mut KeyBuffer) {
        match self {
            Self::Eight => index.encode(&[Datum::I64(i as i64)], key),
            Self::Sixteen => {
                // Warehouse, district, order, line.
                let (line, order) = ((i % 10) as i32, (i / 10 % 3_000) as i32);
                let (district, warehouse) = ((i / 30_000 % 10) as i32, (i / 300_000) as i32);
                let key_of = [warehouse, district, order, line].map(Datum::I32);
                index.encode(&key_of, key);
            }
            Self::Text => {
                let mut text = *b"customer number 0000000000";
                let (mut rest, mut at) = (i, text.len());
                while rest > 0 {
                    at -= 1;
                    text[at] = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
                index.encode(&[Datum::Str(&text)], key);
            }
        }
    }
}

fn index(kind: IndexKind, keys: Keys) -> TableIndex {
    let column = |ty| ColumnSpec { name: "c".into(), ty, not_null: true };
    let schema = Schema::new(keys.types().into_iter().map(column).collect());
    let columns = (0..schema.len()).map(IndexColumn::new).collect();
    let (name, unique) = ("i".into(), Uniqueness::No);
    let spec = IndexSpec { id: IndexId(1), name, columns, unique, kind };
    TableIndex::new(spec, &schema, &BufferPool::new(8 << 30)).expect("the pool has room")
}

/// Nanoseconds that this thread was on a core, if the system tells: others may be busy.
fn on_core_ns(start: Instant) -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|t| t.split(' ').next().and_then(|ns| ns.parse().ok()));
    ns.unwrap_or_else(|| start.elapsed().as_nanos() as u64)
}

/// Nanoseconds for each of `count`.
fn time(count: u64, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    let before = on_core_ns(start);
    work();
    (on_core_ns(start) - before) as f64 / count.max(1) as f64
}

struct Results {
    names: Vec<&'static str>,
    best: Vec<f64>,
}

impl Results {
    fn note(&mut self, name: &'static str, ns: f64) {
        match self.names.iter().position(|&n| n == name) {
            Some(i) => self.best[i] = self.best[i].min(ns),
            None => {
                self.names.push(name);
                self.best.push(ns);
            }
        }
    }
}

fn shuffled(count: u64) -> Vec<u64> {
    let mut random = Random::new(SEED);
    let mut numbers: Vec<u64> = (0..count).collect();
    for i in (1..numbers.len()).rev() {
        numbers.swap(i, random.below(i as u64 + 1) as usize);
    }
    numbers
}

fn build(keys: Keys, count: u64, results: &mut Results) {
    let index = index(IndexKind::Ordered, keys);
    let ns = time(count, || {
        let built = index.bulk_build(1, 1, |_, run| {
            let mut key = KeyBuffer::new();
            (0..count).try_for_each(|i| {
                keys.encode(&index, i, &mut key);
                run.push(&key, Tid(i))
            })
        });
        built.expect("the pool has room");
    });
    assert_eq!(index.len(), count);
    results.note("bulk build", ns);
    let order = shuffled(count);
    let ns = time(count, || look_up_all(&index, keys, &order));
    results.note("lookup, after bulk build", ns);
    results.note("bytes an entry, bulk", index.bytes() as f64 / count as f64);
}

fn look_up_all(index: &TableIndex, keys: Keys, order: &[u64]) {
    let mut key = KeyBuffer::new();
    for &i in order {
        keys.encode(index, i, &mut key);
        let mut found = None;
        let _ = index.lookup(&key, |tid| {
            found = Some(tid);
            ControlFlow::Break(())
        });
        assert_eq!(black_box(found), Some(Tid(i)));
    }
}

fn ascending(kind: IndexKind, keys: Keys, count: u64, results: &mut Results) {
    let (index, mut key) = (index(kind, keys), KeyBuffer::new());
    let ns = time(count, || {
        for i in 0..count {
            keys.encode(&index, i, &mut key);
            index.insert(&key, Tid(i)).expect("the pool has room");
        }
    });
    results.note("insert, ascending", ns);
    results.note("bytes an entry, ascending", index.bytes() as f64 / count as f64);
}

fn random(kind: IndexKind, keys: Keys, order: &[u64], results: &mut Results) {
    let (index, mut key) = (index(kind, keys), KeyBuffer::new());
    let count = order.len() as u64;
    let ns = time(count, || {
        for &i in order {
            keys.encode(&index, i, &mut key);
            index.insert(&key, Tid(i)).expect("the pool has room");
        }
    });
    results.note("insert, random", ns);
    results.note("bytes an entry, random", index.bytes() as f64 / count as f64);
    let mut reverse = order.to_vec();
    reverse.reverse();
    results.note("lookup, random", time(count, || look_up_all(&index, keys, &reverse)));
    if kind == IndexKind::Ordered {
        scan(&index, keys, &reverse, results);
    }
    let ns = time(count, || {
        for &i in &reverse {
            keys.encode(&index, i, &mut key);
            assert!(index.remove(&key, Tid(i)));
        }
    });
    results.note("remove, random", ns);
    index.check().expect("a sound structure");
}

fn scan(index: &TableIndex, keys: Keys, order: &[u64], results: &mut Results) {
    let (mut state, mut key) = (RangeState::new(), KeyBuffer::new());
    for direction in [Direction::Forward, Direction::Backward] {
        let ns = time(index.len(), || {
            index.start(KeyRange::ALL, direction, &mut state);
            let mut sum = 0;
            while let Some((key, tid)) = index.next(&mut state) {
                sum += tid.0 + u64::from(key[key.len() - 1]);
            }
            black_box(sum);
        });
        let forward = direction == Direction::Forward;
        results.note(if forward { "scan, an entry" } else { "scan backward, an entry" }, ns);
    }
    let ns = time(order.len() as u64, || {
        for &i in order {
            keys.encode(index, i, &mut key);
            let range = KeyRange { low: Bound::Included(&key), high: Bound::Unbounded };
            index.start(range, Direction::Forward, &mut state);
            assert_eq!(index.next(&mut state).map(|e| e.1), Some(Tid(i)));
        }
    });
    results.note("first of a range", ns);
}

/// The standard library's tree of the same pairs of words, for one thread alone.
fn peer(order: &[u64], results: &mut Results) {
    let (mut tree, count) = (BTreeSet::new(), order.len() as u64);
    let ns = time(count, || tree.extend(order.iter().map(|&i| (i, i))));
    results.note("peer BTreeSet: insert, random", ns);
    let ns = time(count, || {
        for &i in order.iter().rev() {
            let found = tree.range((i, 0)..).next();
            assert_eq!(black_box(found), Some(&(i, i)));
        }
    });
    results.note("peer BTreeSet: lookup, random", ns);
}

fn main() {
    let is_bench = std::env::args().any(|a| a == "--bench");
    let (count, rounds) = if is_bench { (1_000_000, ROUNDS) } else { (2_000, 1) };
    let order = shuffled(count);
    for keys in [Keys::Eight, Keys::Sixteen, Keys::Text] {
        for kind in [IndexKind::Ordered, IndexKind::Hash] {
            let mut results = Results { names: Vec::new(), best: Vec::new() };
            for _ in 0..rounds {
                if kind == IndexKind::Ordered {
                    build(keys, count, &mut results);
                }
                ascending(kind, keys, count, &mut results);
                random(kind, keys, &order, &mut results);
                if (keys, kind) == (Keys::Eight, IndexKind::Ordered) {
                    peer(&order, &mut results);
                }
            }
            println!("{kind:?}, {}, {count} entries", keys.name());
            for (name, best) in results.names.iter().zip(results.best) {
                println!(
                    "  {name:30} {best:8.1}{}",
                    if name.contains("bytes") { "" } else { " ns" }
                );
            }
        }
    }
}
