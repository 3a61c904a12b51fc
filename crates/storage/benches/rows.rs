//! Nanoseconds of one row operation on one thread: `cargo bench -p storage --bench rows`.
//! Run by `cargo test` it checks itself on tiny input.

use std::sync::Arc;
use std::time::Instant;

use kernels::{Vector, VectorData};
use storage::{
    BufferPool, ColumnSpec, Datum, Layout, Positions, RowBuffer, ScanPlan, Schema, Snapshot, Table,
    TableId, Tid, Timestamp, TxnId, UndoBuffer, batch_of,
};
use testkit::Random;
use types::DataType;

const SEED: u64 = 5;
const ROUNDS: usize = 5;
/// Operations of one transaction.
const TXN_OPS: usize = 10;

/// Six numbers, three texts and a decimal, as in a row of TPC-C's stock.
const TYPES: [DataType; 10] = [
    DataType::BigInt,
    DataType::Integer,
    DataType::Integer,
    DataType::BigInt,
    DataType::numeric(12, 2),
    DataType::Double,
    DataType::Text,
    DataType::Text,
    DataType::Text,
    DataType::BigInt,
];

fn table(layout: Layout) -> Arc<Table> {
    let specs = TYPES.iter().enumerate();
    let specs: Vec<ColumnSpec> =
        specs.map(|(i, &ty)| ColumnSpec::new(format!("c{i}"), ty)).collect();
    Table::new(TableId(1), "t", Schema::new(specs), layout, BufferPool::new(8 << 30))
}

fn row<'a>(i: i64, text: &'a str) -> [Datum<'a>; 10] {
    [
        Datum::I64(i),
        Datum::I32(i as i32),
        Datum::I32(7),
        Datum::I64(i * 3),
        Datum::I64(i % 10_000),
        Datum::F64(i as f64),
        Datum::Str(b"sixteen bytes it"),
        Datum::Str(text.as_bytes()),
        Datum::Str(b"ok"),
        Datum::Null,
    ]
}

/// Transactions of `TXN_OPS` operations that end at once and are collected.
struct Clock(u64);

impl Clock {
    fn run(&mut self, count: usize, mut f: impl FnMut(usize, Snapshot, &mut UndoBuffer)) {
        for start in (0..count).step_by(TXN_OPS) {
            let txn = TxnId(TxnId::BIT | (self.0 + 1));
            let at = Snapshot::new(Timestamp(self.0), txn);
            let mut undo = UndoBuffer::new(txn);
            (start..count.min(start + TXN_OPS)).for_each(|i| f(i, at, &mut undo));
            self.0 += 1;
            undo.stamp(Timestamp(self.0));
            undo.collect();
        }
    }

    fn now(&self) -> Snapshot {
        Snapshot::new(Timestamp(self.0), TxnId::NONE)
    }
}

fn best(count: usize, mut f: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        f();
        start.elapsed().as_nanos() as f64 / count as f64
    };
    (0..ROUNDS).map(time).fold(f64::INFINITY, f64::min)
}

fn points(layout: Layout, count: usize) {
    let mut clock = Clock(0);
    let mut random = Random::new(SEED);
    let mut held = Vec::new();
    let inserted = best(count, || {
        let table = table(layout);
        let mut tids = Vec::with_capacity(count);
        clock.run(count, |i, _, undo| {
            tids.push(table.insert(undo, &row(i as i64, "a text of its own")).expect("fits"));
        });
        held = vec![(table, tids)];
    });
    let (table, tids) = held.pop().expect("made above");
    let picks: Vec<Tid> = (0..count).map(|_| tids[random.below(count as u64) as usize]).collect();
    let mut buffer = RowBuffer::new();
    let at = clock.now();
    let read = best(count, || {
        for &tid in &picks {
            assert!(table.read(at, tid, &[0, 3, 5, 6], &mut buffer).expect("in memory"));
        }
    });
    let updated = best(count, || {
        clock.run(count, |i, at, undo| {
            let n = i as i64;
            let changes = [
                (2, Datum::I32(n as i32)),
                (3, Datum::I64(n)),
                (4, Datum::I64(n)),
                (5, Datum::F64(n as f64)),
            ];
            table.update(undo, at, picks[i], &changes).expect("alone");
        });
    });
    println!(
        "{:8} insert {inserted:6.0} ns   read {read:6.0} ns   update {updated:6.0} ns",
        layout.name()
    );
}

/// Scans of two columns with no versions, and with those of a tenth of the rows.
fn scans(layout: Layout, count: usize) {
    let specs = ["a", "b"].map(|name| ColumnSpec::new(name, DataType::BigInt)).to_vec();
    let table = Table::new(TableId(1), "t", Schema::new(specs), layout, BufferPool::new(8 << 30));
    let numbers = || Vector::new(VectorData::I64((0..count as i64).collect()));
    let mut writer = table.bulk_writer();
    writer.push(&batch_of(vec![numbers(), numbers()])).expect("fits");
    writer.finish().expect("fits");
    let plan = ScanPlan::new(table.schema(), vec![]).expect("nothing");
    let scan = |at: Snapshot| {
        let snapshot = table.snapshot(at);
        let mut positions = Positions::default();
        let mut rows = 0;
        for b in 0..snapshot.block_count() {
            let mut cursor = plan.open(&snapshot, b).expect("nothing").expect("rows");
            while cursor.next(2048, &mut positions).expect("nothing") {
                for column in [0, 1] {
                    rows += snapshot.unpack(b, column, &positions).expect("in memory").len();
                }
            }
        }
        assert_eq!(rows, 2 * count);
    };
    let old = Snapshot::new(Timestamp(1), TxnId::NONE);
    let mut times = vec![best(count, || scan(old))];
    let mut undos = Vec::new();
    let mut changed = 0;
    for percent in [1, 10] {
        let txn = TxnId(TxnId::BIT | percent);
        let mut undo = UndoBuffer::new(txn);
        let at = Snapshot::new(Timestamp(percent), txn);
        let ids: Vec<u64> = table.block_infos().iter().map(|b| b.id).collect();
        for i in (0..count).filter(|i| i % 100 >= changed && i % 100 < percent as usize) {
            let tid = Tid::new(ids[i / 65_536], (i % 65_536) as u32);
            let target = table.update(&mut undo, at, tid, &[(1, Datum::I64(-1))]);
            target.expect("alone");
        }
        undo.stamp(Timestamp(percent + 1));
        undos.push(undo);
        changed = percent as usize;
        times.push(best(count, || scan(old)));
    }
    undos.into_iter().for_each(UndoBuffer::collect);
    times.push(best(count, || scan(Snapshot::new(Timestamp(100), TxnId::NONE))));
    println!(
        "{:8} scan {:.2} ns a row, 1 % updated and an old reader {:.2}, 10 % {:.2}, \
         collected {:.2}",
        layout.name(),
        times[0],
        times[1],
        times[2],
        times[3]
    );
}

fn main() {
    let is_bench = std::env::args().any(|a| a == "--bench");
    let count = if is_bench { 400_000 } else { 3_000 };
    for layout in [Layout::Row, Layout::Column] {
        points(layout, count);
    }
    for layout in [Layout::Row, Layout::Column, Layout::Frozen] {
        scans(layout, if is_bench { 1_000_000 } else { 10_000 });
    }
}
