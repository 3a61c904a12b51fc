//! Shared data on loopback: `cargo bench -p shared --bench cluster`, or `cargo xtask bench shared`.
//! One line for each figure. Run by `cargo test` it checks itself on tiny input.
//!
//! YCSB#: eight fixed fields and two texts; gets alone, and half gets with inserts, updates and
//! removals in equal parts, so that the size stays; Q1 to Q3 (Pilman 2017, section 5.3). Sums of
//! rows of 1 kB. Stores are threads of this program, each behind a port of its own; a client is one
//! thread with tasks. Peers that are not on this machine are left out, with a line that says so.

#[path = "cluster/stand.rs"]
mod stand;
#[path = "cluster/ycsb.rs"]
mod ycsb;
#[path = "cluster/wide.rs"]
mod wide;
#[path = "cluster/beside.rs"]
mod beside;
#[path = "cluster/redis.rs"]
mod redis;
#[path = "cluster/kudu.rs"]
mod kudu;
#[path = "../../store/benches/layouts/wide_row.rs"]
mod wide_row;

use std::sync::Arc;
use std::time::Instant;

use host::{Clock as _, RealClock, RealIo};
use shared::manager::{Class, FileKeeper, Manager, ManagerOptions, NodeId};
use shared::{Result, SharedTable, Transaction};
use stand::{Disk, Stand, all};
use store::server::Layout;
use store::{Field, FieldType, Schema, TableKind, Tuple};
use testkit::{Random, Scratch};
use types::Value;
use ycsb::Ycsb;

/// How much is done.
#[derive(Clone, Copy)]
struct Sizes {
    rows: u64,
    calls: u64,
    scans: u32,
    /// Gets and puts in a second, beside queries.
    rate: u64,
}

const LAYOUTS: [(&str, Layout); 3] =
    [("columns", Layout::Columns), ("rows", Layout::Rows), ("log", Layout::Log)];

/// Rows of YCSB# for each row of 1 kB.
const WIDE: u64 = 5;

/// Work in a second.
fn rate(count: u64, begin: Instant) -> f64 {
    count as f64 / begin.elapsed().as_secs_f64()
}

fn named(stores: usize) -> String {
    if stores == 1 { "1 store".into() } else { format!("{stores} stores") }
}

/// Begins and ends of transactions at the manager alone, without a network.
fn manager(sizes: Sizes) {
    let scratch = Scratch::new("bench-manager");
    let keeper = FileKeeper::open(Arc::new(RealIo), scratch.path().to_path_buf()).expect("opens");
    let now = RealClock.micros();
    let mut manager = Manager::open(keeper, ManagerOptions::default(), now).expect("opens");
    let node: NodeId = manager.join(now).expect("is let in");
    for (name, open) in [("one open", 1), ("64 open", 64), ("1000 open", 1000)] {
        let mut tickets = Vec::new();
        let begin = Instant::now();
        for _ in 0..sizes.calls {
            tickets.push(manager.begin(node, Class::ReadWrite).expect("serves").ticket);
            if tickets.len() == open {
                tickets.drain(..).for_each(|ticket| manager.finish(node, ticket).expect("ends"));
            }
        }
        tickets.drain(..).for_each(|ticket| manager.finish(node, ticket).expect("ends"));
        println!("manager, {name}: {:.0} transactions/s", rate(sizes.calls, begin));
    }
}

/// Gets, puts and scans on some stores.
fn stores(count: usize, sizes: Sizes) {
    for (name, layout) in LAYOUTS {
        let stand = Stand::start(count, Disk::None);
        let ycsb = Ycsb::load(&stand.cluster, layout, sizes.rows);
        let what = format!("{}, {name}", named(count));
        for batch in [1, 16, 64] {
            let begin = Instant::now();
            ycsb.gets(&stand.cluster, sizes.calls, batch);
            println!("{what}: {:.0} gets/s, {batch} at a time", rate(sizes.calls, begin));
            let begin = Instant::now();
            drop(ycsb.mix(&stand.cluster, sizes.calls, batch));
            println!("{what}: {:.0} gets and puts/s, {batch} at a time", rate(sizes.calls, begin));
        }
        ycsb.collect();
        for (query, rows) in ycsb.queries() {
            let begin = Instant::now();
            (0..sizes.scans).for_each(|_| ycsb.scan(&query));
            let scanned = u64::from(sizes.scans) * ycsb.rows();
            println!("{what}: {:.2} million rows/s, {rows}", rate(scanned, begin) / 1e6);
        }
    }
}

/// Sums of rows of 1 kB, of which there are fewer.
fn wide(count: usize, sizes: Sizes) {
    for (name, layout) in LAYOUTS {
        let stand = Stand::start(count, Disk::None);
        let rows = sizes.rows / WIDE;
        let ms = wide::sum(&stand.cluster, layout, rows, sizes.scans);
        println!("{}, {name}: {ms:.2} ms for a sum over {rows} rows of 1 kB", named(count));
    }
}

/// Gets and puts on a store that answers when its log is on disk.
fn durable(sizes: Sizes) {
    let scratch = Scratch::new("bench-store");
    let stand = Stand::start(1, Disk::At(scratch.path()));
    let ycsb = Ycsb::load(&stand.cluster, Layout::Rows, sizes.rows.min(10_000));
    for batch in [1, 16, 64] {
        let calls = sizes.calls.min(500 * batch as u64);
        let begin = Instant::now();
        drop(ycsb.mix(&stand.cluster, calls, batch));
        let rate = rate(calls, begin);
        println!("1 store with a log: {rate:.0} gets and puts/s, {batch} at a time");
    }
}

/// Transactions of a node, each a read and a write of one row of many.
fn transactions(sizes: Sizes) {
    for count in [1, 3] {
        let stand = Stand::start(count, Disk::None);
        let member = stand.join();
        let fields = vec![Field::new("amount", FieldType::I64)];
        let schema = Schema::new(TableKind::Transactional, fields).expect("fits");
        let table = member.run(member.node().table("accounts", &schema, &[])).expect("is new");
        let row = |n| Tuple::encode(&schema, &[Value::I64(n)]).expect("fits");
        let rows = sizes.rows.min(10_000);
        let write = async |key: u64, random: Option<&mut Random>| -> Result<()> {
            let tables: Vec<&SharedTable> = vec![&table];
            let mut txn = Transaction::begin(&**member.node(), tables, Class::ReadWrite).await?;
            match random {
                None => txn.insert(0, key, row(0)).await?,
                Some(random) => {
                    txn.get(0, key).await?;
                    txn.update(0, key, row(random.within(0..1000))).await?;
                }
            }
            txn.commit().await
        };
        all(
            64,
            rows,
            || member.node().flush(),
            async |key| write(key, None).await.expect("is new"),
        );
        for batch in [1, 16, 64] {
            let (calls, conflicts) = (sizes.calls.min(50_000), std::cell::Cell::new(0_u64));
            let begin = Instant::now();
            all(
                batch,
                calls,
                || member.node().flush(),
                async |n| {
                    let mut random = Random::new(n);
                    let key = random.below(rows);
                    if write(key, Some(&mut random)).await.is_err() {
                        conflicts.set(conflicts.get() + 1);
                    }
                },
            );
            let (rate, conflicts) = (rate(calls, begin), conflicts.get());
            let what = format!("{batch} at a time, {conflicts} conflicts");
            println!("{}: {rate:.0} transactions/s, {what}", named(count));
        }
    }
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let number = |name: &str, default: u64| {
        let given = std::env::var(name).ok();
        given.map_or(default, |text| text.parse().expect("a number"))
    };
    let sizes = if is_bench {
        let scans = number("SCANS", 5) as u32;
        let (rows, calls) = (number("ROWS", 500_000), number("CALLS", 200_000));
        Sizes { rows, calls, scans, rate: number("RATE", 35_000) }
    } else {
        Sizes { rows: 300, calls: 200, scans: 1, rate: 2000 }
    };
    println!("{} rows, {} calls, {} scans of each kind", sizes.rows, sizes.calls, sizes.scans);
    manager(sizes);
    [1, 3].into_iter().for_each(|count| stores(count, sizes));
    [1, 3].into_iter().for_each(|count| wide(count, sizes));
    beside::compare(beside::Mix { rows: sizes.rows, rate: sizes.rate, scans: sizes.scans });
    durable(sizes);
    transactions(sizes);
    redis::compare(sizes.rows, sizes.calls);
    if is_bench {
        kudu::compare(sizes.rows, sizes.calls, sizes.scans);
    }
}
