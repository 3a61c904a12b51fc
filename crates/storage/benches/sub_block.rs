//! Microseconds of finding the rows of one frozen block, by the path to them and the share of rows
//! found: `cargo bench -p storage --bench sub_block`. Run by `cargo test` it checks itself on tiny
//! input.

use std::sync::Arc;
use std::time::Instant;

use kernels::{Vector, VectorData};
use storage::{
    AccessPath, BlockPaths, BufferPool, ColumnSpec, IndexId, Layout, Positions, Restriction,
    RestrictionKind, ScanPlan, Schema, Snapshot, SubBlockKind, SubBlockSpec, Table, TableId,
    TableSnapshot, WeaveForm, batch_of,
};
use testkit::Random;
use types::{CompareOp, DataType, Value};

const SEED: u64 = 14;
const BLOCK_ROWS: usize = 65_536;

/// Percent of the rows that are found.
const PERCENT: [f64; 9] = [0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];

const KINDS: [SubBlockKind; 4] = [
    SubBlockKind::Csb,
    SubBlockKind::BitWeaving(WeaveForm::Vertical),
    SubBlockKind::BitWeaving(WeaveForm::Horizontal),
    SubBlockKind::Bloom { bits_per_key: 10 },
];

fn name(kind: SubBlockKind) -> &'static str {
    match kind {
        SubBlockKind::Csb => "csb",
        SubBlockKind::BitWeaving(WeaveForm::Vertical) => "bitweaving/v",
        SubBlockKind::BitWeaving(WeaveForm::Horizontal) => "bitweaving/h",
        SubBlockKind::Bloom { .. } => "bloom",
    }
}

/// `rows` rows of `columns` columns of multiples of `step`, numbers of `bits` bits at random.
fn table(bits: u32, step: i64, columns: usize, rows: usize) -> Arc<Table> {
    let specs = (0..columns).map(|i| ColumnSpec::new(format!("c{i}"), DataType::BigInt)).collect();
    let table =
        Table::new(TableId(1), "t", Schema::new(specs), Layout::Frozen, BufferPool::new(8 << 30));
    let random = &mut Random::new(SEED);
    let mut column = || {
        let number = |_| (random.bits() >> (64 - bits)) as i64 * step;
        Vector::new(VectorData::I64((0..rows).map(number).collect()))
    };
    let mut writer = table.bulk_writer();
    writer.push(&batch_of((0..columns).map(|_| column()).collect())).expect("fits");
    writer.finish().expect("fits");
    table
}

fn plan(table: &Table, restrictions: &[Restriction], paths: BlockPaths) -> ScanPlan {
    ScanPlan::new(table.schema(), restrictions.to_vec()).expect("fits").with_paths(paths)
}

/// Rows found in all blocks, and the path taken in the first.
fn find(plan: &ScanPlan, snapshot: &Arc<TableSnapshot>) -> (usize, AccessPath) {
    let mut positions = Positions::default();
    let (mut rows, mut first) = (0, AccessPath::Scan);
    for block in 0..snapshot.block_count() {
        let (path, cursor) = plan.open_by(snapshot, block).expect("no predicate");
        first = if block == 0 { path } else { first };
        if let Some(mut cursor) = cursor {
            while cursor.next(2048, &mut positions).expect("no predicate") {
                rows += positions.len();
            }
        }
    }
    (rows, first)
}

/// Microseconds a block, the median of `rounds`.
fn time(
    table: &Table,
    restrictions: &[Restriction],
    paths: BlockPaths,
    rounds: usize,
) -> (f64, usize, AccessPath) {
    let plan = plan(table, restrictions, paths);
    let snapshot = table.snapshot(Snapshot::ALL);
    let mut times = Vec::new();
    let mut found = (0, AccessPath::Scan);
    for _ in 0..rounds {
        let start = Instant::now();
        found = find(&plan, &snapshot);
        let nanos = start.elapsed().as_nanos() as f64;
        times.push(nanos / 1e3 / snapshot.block_count().max(1) as f64);
    }
    times.sort_by(f64::total_cmp);
    (times[rounds / 2], found.0, found.1)
}

fn below(column: usize, bits: u32, percent: f64) -> Restriction {
    let bound = (2f64.powi(bits as i32) * percent / 100.0) as i64;
    let kind = RestrictionKind::Compare(CompareOp::Less, Value::I64(bound));
    Restriction { column, kind }
}

/// One width of codes: every path at every share of rows.
fn ranges(bits: u32, rows: usize, rounds: usize) {
    let table = table(bits, 1, 1, rows);
    let block = &table.block_infos()[0].segments[0];
    println!("\n{bits} bits, held as {:?} of {} bytes; us a block", block.scheme, block.width);
    let percents: Vec<f64> =
        PERCENT.into_iter().filter(|p| p * 2f64.powi(bits as i32) >= 100.0 || *p == 50.0).collect();
    let head = percents.iter().map(|p| format!("{p:>8} %")).collect::<String>();
    println!("{:14}{head}", "path");
    let mut expected = Vec::new();
    print!("{:14}", "scan");
    for percent in &percents {
        let (us, found, _) = time(&table, &[below(0, bits, *percent)], BlockPaths::Avoid, rounds);
        expected.push(found);
        print!("{us:10.2}");
    }
    println!();
    for (id, kind) in KINDS.into_iter().take(3).enumerate() {
        let spec =
            SubBlockSpec { id: IndexId(id as u64), name: name(kind).into(), column: 0, kind };
        let start = Instant::now();
        table.add_sub_blocks(spec, 1).expect("fits");
        let build = start.elapsed().as_nanos() as f64 / rows as f64;
        let bytes = table.sub_block_info(IndexId(id as u64)).bytes as f64 / rows as f64;
        for paths in [BlockPaths::Prefer, BlockPaths::Consider] {
            let chosen = paths == BlockPaths::Consider;
            print!("{:14}", if chosen { "  chosen" } else { name(kind) });
            for (percent, expected) in percents.iter().zip(&expected) {
                let (us, found, path) = time(&table, &[below(0, bits, *percent)], paths, rounds);
                assert_eq!(found, *expected, "every path finds the same rows");
                let mark = if chosen && path != AccessPath::Scan { '*' } else { ' ' };
                print!("{us:9.2}{mark}");
            }
            if chosen {
                println!()
            } else {
                println!("   build {build:.1} ns a row, {bytes:.2} bytes a row")
            }
        }
        table.remove_index(IndexId(id as u64));
    }
}

/// Equality with values that no block has.
fn absent(bits: u32, rows: usize, rounds: usize) {
    let table = table(bits, 2, 1, rows);
    let block = &table.block_infos()[0].segments[0];
    let about = format!("{:?} of {} bytes", block.scheme, block.width);
    let values: Vec<Restriction> = (0..50)
        .map(|i| {
            let odd = Value::I64(((1 << bits) / 50 * i) | 1);
            Restriction { column: 0, kind: RestrictionKind::Compare(CompareOp::Equal, odd) }
        })
        .collect();
    let mean = |paths| {
        let times =
            values.iter().map(|value| time(&table, std::slice::from_ref(value), paths, rounds));
        times.map(|(us, ..)| us).sum::<f64>() / values.len() as f64
    };
    let scan = mean(BlockPaths::Avoid);
    let kind = KINDS[3];
    let start = Instant::now();
    let spec = SubBlockSpec { id: IndexId(0), name: name(kind).into(), column: 0, kind };
    table.add_sub_blocks(spec, 1).expect("fits");
    let build = start.elapsed().as_nanos() as f64 / rows as f64;
    let bytes = table.sub_block_info(IndexId(0)).bytes as f64 / rows as f64;
    let bloom = mean(BlockPaths::Consider);
    let snapshot = table.snapshot(Snapshot::ALL);
    let opened = values.iter().map(|value| {
        let plan = plan(&table, std::slice::from_ref(value), BlockPaths::Consider);
        (0..snapshot.block_count())
            .filter(|&b| plan.open_by(&snapshot, b).expect("no predicate").1.is_some())
            .count()
    });
    let share =
        opened.sum::<usize>() as f64 / (values.len() * snapshot.block_count().max(1)) as f64;
    println!(
        "absent values, {bits} bits ({about}): scan {scan:.2} us, bloom {bloom:.3} us a block, \
         {:.1} % not denied; build {build:.1} ns a row, {bytes:.2} bytes a row",
        share * 100.0
    );
}

/// Three conjuncts of 5 % each, by a scan and by what resolves the first of them.
fn conjunction(bits: u32, rows: usize, rounds: usize) {
    let table = table(bits, 1, 3, rows);
    let all: Vec<Restriction> = (0..3).map(|c| below(c, bits, 5.0)).collect();
    let (scan, expected, _) = time(&table, &all, BlockPaths::Avoid, rounds);
    print!("three conjuncts of 5 %, {bits} bits: scan {scan:.2} us");
    for kind in KINDS.into_iter().take(3) {
        for columns in [1, 3] {
            for column in 0..columns {
                let (id, name) = (IndexId(column as u64), name(kind).into());
                table.add_sub_blocks(SubBlockSpec { id, name, column, kind }, 1).expect("fits");
            }
            let (us, found, _) = time(&table, &all, BlockPaths::Prefer, rounds);
            assert_eq!(found, expected, "every path finds the same rows");
            print!(", {} on {columns} {us:.2}", name(kind));
            (0..columns).for_each(|id| table.remove_index(IndexId(id as u64)));
        }
    }
    println!();
}

fn main() {
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let (blocks, rounds) = if is_test { (1, 1) } else { (16, 31) };
    let rows = if is_test { 5_000 } else { blocks * BLOCK_ROWS };
    for bits in [4, 8, 10, 12, 16, 20, 24, 30, 48] {
        ranges(bits, rows, rounds);
    }
    println!();
    for bits in [24, 48] {
        absent(bits, rows, rounds);
    }
    for bits in [8, 12, 24] {
        conjunction(bits, rows, rounds);
    }
}
