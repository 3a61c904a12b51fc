//! Rows per second into frozen blocks on one thread, by kind of column: `cargo bench -p storage`.
//! Run by `cargo test` it checks itself on tiny input.

use std::time::Instant;

use kernels::{Batch, Vector, VectorData};
use storage::{BufferPool, ColumnSpec, Layout, Table, TableId, batch_of};
use testkit::Random;
use types::DataType;

const SEED: u64 = 11;
const ROUNDS: usize = 5;

type Make = fn(&mut Random, usize) -> VectorData;

fn numbers(random: &mut Random, f: impl Fn(&mut Random) -> i64, rows: usize) -> VectorData {
    VectorData::I64((0..rows).map(|_| f(random)).collect())
}

fn texts(f: impl Fn() -> String, rows: usize) -> VectorData {
    let texts: Vec<String> = (0..rows).map(|_| f()).collect();
    VectorData::Str(texts.iter().map(|t| t.as_bytes()).collect())
}

const KINDS: [(&str, DataType, Make); 7] = [
    ("one byte", DataType::BigInt, |r, n| numbers(r, |r| r.within(0..50), n)),
    ("two bytes", DataType::BigInt, |r, n| numbers(r, |r| r.within(0..2500), n)),
    ("four bytes", DataType::BigInt, |r, n| numbers(r, |r| r.within(0..10_000_000), n)),
    ("plain", DataType::BigInt, |r, n| numbers(r, |r| r.bits() as i64, n)),
    ("few strings", DataType::Text, |r, n| {
        let r = std::cell::RefCell::new(r);
        texts(|| format!("mode {}", r.borrow_mut().below(7)), n)
    }),
    ("comments", DataType::Text, |r, n| {
        let r = std::cell::RefCell::new(r);
        texts(|| format!("carefully final deposits {}", r.borrow_mut().below(1 << 40)), n)
    }),
    ("long comments", DataType::Text, |r, n| {
        let r = std::cell::RefCell::new(r);
        texts(|| comment(&mut r.borrow_mut()), n)
    }),
];

const WORDS: [&str; 24] = [
    "furiously",
    "carefully",
    "slyly",
    "quickly",
    "blithely",
    "final",
    "regular",
    "special",
    "pending",
    "express",
    "ironic",
    "bold",
    "even",
    "deposits",
    "requests",
    "packages",
    "accounts",
    "theodolites",
    "instructions",
    "sleep",
    "haggle",
    "nag",
    "among",
    "about",
];

/// 49 to 198 bytes of text, like the comments of TPC-H partsupp.
fn comment(random: &mut Random) -> String {
    let bytes = random.within(49..199) as usize;
    let mut text = String::new();
    while text.len() < bytes {
        text.push_str(WORDS[random.below(WORDS.len() as u64) as usize]);
        text.push_str([" ", " ", " ", ". ", ", "][random.below(5) as usize]);
    }
    text.truncate(bytes);
    text
}

fn main() {
    let rows = if std::env::args().any(|a| a == "--bench") { 1 << 20 } else { 1 << 12 };
    println!("{:>13}  M rows/s  bytes/row   (median of {ROUNDS}, seed {SEED})", "column");
    for (name, ty, make) in KINDS {
        let random = &mut Random::new(SEED);
        let batches: Vec<Batch> =
            (0..rows / 2048).map(|_| batch_of(vec![Vector::new(make(random, 2048))])).collect();
        let mut seconds = Vec::new();
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            let schema = vec![ColumnSpec::new("c", ty)].into();
            let table =
                Table::new(TableId(1), "t", schema, Layout::Frozen, BufferPool::new(1 << 32));
            let start = Instant::now();
            let mut writer = table.bulk_writer();
            batches.iter().for_each(|b| writer.push(b).expect("memory for the bench"));
            let loaded = writer.finish().expect("memory for the bench");
            seconds.push(start.elapsed().as_secs_f64());
            assert_eq!(
                (loaded, table.snapshot(storage::Snapshot::ALL).rows()),
                (rows as u64, rows as u64)
            );
            bytes = table.snapshot(storage::Snapshot::ALL).bytes();
        }
        seconds.sort_by(f64::total_cmp);
        let rate = rows as f64 / seconds[ROUNDS / 2] / 1e6;
        println!("{name:>13}  {rate:8.1}  {:9.2}", bytes as f64 / rows as f64);
    }
}
