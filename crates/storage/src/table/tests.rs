//! Tables under loads, appends, failures and many threads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kernels::VectorBuilder;
use types::{DataType, SqlState, Value};

use super::*;
use crate::manager::Manager;
use crate::positions::Positions;
use crate::table::old_keys::OldKeys;
use crate::version::{Timestamp, WriteError};
use crate::{
    BlockShape, BulkWriter, ColumnSpec, Datum, Direction, IndexColumn, IndexKind, IndexSpec,
    KeyBatch, KeyBuffer, KeyRange, KeyRead, RangeState, RowBuffer, Uniqueness, batch_of,
};

fn numbers(range: std::ops::Range<i64>) -> Batch {
    let texts: Vec<String> = range.clone().map(|i| format!("the text of row number {i}")).collect();
    batch_of(vec![
        Vector::new(VectorData::I64(range.collect())),
        Vector::new(VectorData::Str(texts.iter().map(|t| t.as_bytes()).collect())),
    ])
}

fn table(layout: Layout, limit: u64) -> Arc<Table> {
    let mut key = ColumnSpec::new("k", DataType::BigInt);
    key.not_null = true;
    let schema = Schema::new(vec![key, ColumnSpec::new("t", DataType::Text)]);
    Table::new(TableId(1), "t", schema, layout, BufferPool::new(limit))
}

fn keys(snapshot: &Arc<TableSnapshot>) -> Vec<i64> {
    let mut keys = Vec::new();
    for b in 0..snapshot.block_count() {
        let all = Positions::List(snapshot.visible(b));
        let texts = snapshot.unpack(b, 1, &all).expect("in memory");
        let column = snapshot.unpack(b, 0, &all).expect("in memory").to_plain();
        for (i, key) in column.as_i64().iter().enumerate().step_by(97) {
            assert_eq!(texts.value(i), Value::text(&format!("the text of row number {key}")));
        }
        keys.extend(column.as_i64());
    }
    keys
}

const LAYOUTS: [Layout; 4] = [Layout::Row, Layout::Column, Layout::Frozen, Layout::Auto];

#[test]
fn loads_appear_whole_and_in_order() {
    for layout in LAYOUTS {
        let table = table(layout, 1 << 30);
        let load = table.begin_load();
        let writers: Vec<BulkWriter> = (0..3).map(|_| load.writer()).collect();
        thread::scope(|scope| {
            for (w, mut writer) in writers.into_iter().enumerate() {
                scope.spawn(move || {
                    let first = w as i64 * 100_000;
                    for start in (first..first + 100_000).step_by(1000) {
                        writer.push(&numbers(start..start + 1000)).expect("fits");
                    }
                    assert_eq!(writer.finish().expect("fits"), 100_000);
                });
            }
        });
        let manager = Manager::default();
        let mut txn = manager.begin();
        let before = manager.enter(TxnId::NONE);
        assert_eq!(load.commit(&mut txn.undo).expect("once"), 300_000);
        assert!(load.commit(&mut txn.undo).is_err());
        assert_eq!(table.snapshot(before).rows(), 0);
        assert_eq!(keys(&table.snapshot(txn.at)).len(), 300_000);
        assert_eq!(table.live_rows(), 0);
        manager.commit(txn);
        assert_eq!(table.snapshot(before).rows(), 0);
        assert_eq!(table.live_rows(), 300_000);
        manager.leave(before);
        assert_eq!(keys(&table.snapshot(Snapshot::ALL)), (0..300_000).collect::<Vec<i64>>());
        let infos = table.block_infos();
        assert_eq!(infos.iter().map(|b| b.rows).sum::<usize>(), 300_000);
        manager.append(&table, &numbers(300_000..300_010)).expect("fits");
        assert_eq!(keys(&table.snapshot(Snapshot::ALL)), (0..300_010).collect::<Vec<i64>>());
    }
}

#[test]
fn blocks_have_the_shape_of_their_writer() {
    for layout in LAYOUTS {
        let table = table(layout, 1 << 30);
        let load = table.begin_load();
        let mut writer = load.writer_of(BlockShape { rows_max: 1500, sorted_by: Some(0) });
        for start in [3000, 2000, 1000, 0] {
            writer.push(&numbers(start..start + 1000)).expect("fits");
        }
        writer.finish().expect("fits");
        assert_eq!(load.commit_for_all().expect("once"), 4000);
        assert!(load.commit_for_all().is_err());
        let rows: Vec<usize> = table.block_infos().iter().map(|block| block.rows).collect();
        assert_eq!(rows, [1500, 1500, 1000]);
        let mut expected: Vec<i64> = (3000..4000).chain(2000..2500).collect();
        expected.sort_unstable();
        let found = keys(&table.snapshot(Snapshot::ALL));
        assert_eq!(found[..1500], expected);
        assert!([&found[..1500], &found[1500..3000], &found[3000..]].iter().all(|b| b.is_sorted()));
        let mut all = found;
        all.sort_unstable();
        assert_eq!(all, (0..4000).collect::<Vec<i64>>());
    }
}

#[test]
fn a_dropped_load_leaves_nothing() {
    let table = table(Layout::Auto, 1 << 30);
    let manager = Manager::default();
    let load = table.begin_load();
    let mut finished = load.writer();
    finished.push(&numbers(0..100_000)).expect("fits");
    finished.finish().expect("fits");
    let mut open = load.writer();
    open.push(&numbers(0..70_000)).expect("fits");
    assert!(table.pool().total() > 0);
    drop((load, open));
    assert_eq!(table.snapshot(Snapshot::ALL).rows(), 0);
    assert_eq!(table.statistics().rows, 0);
    assert_eq!(table.pool().total(), 0);
    let mut writer = table.begin_load();
    for undone in [true, false] {
        let mut part = writer.writer();
        part.push(&numbers(0..100_000)).expect("fits");
        part.finish().expect("fits");
        let mut txn = manager.begin();
        writer.commit(&mut txn.undo).expect("once");
        assert_eq!(keys(&table.snapshot(txn.at)).len(), 100_000);
        if undone {
            manager.abort(txn);
        } else {
            manager.commit(txn);
        }
        writer = table.begin_load();
        assert_eq!(table.snapshot(manager.now()).rows(), if undone { 0 } else { 100_000 });
        assert_eq!(table.live_rows(), if undone { 0 } else { 100_000 });
    }
}

#[test]
fn memory_that_runs_out_is_an_error_and_changes_nothing() {
    for layout in LAYOUTS {
        let table = table(layout, 1 << 20);
        let manager = Manager::default();
        manager.append(&table, &numbers(0..100)).expect("fits");
        let mut writer = table.bulk_writer();
        let result = (0..1000).try_for_each(|i| writer.push(&numbers(i * 1000..i * 1000 + 1000)));
        let error = result.expect_err("too much").into_failure();
        assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
        drop(writer);
        let error = manager.append(&table, &numbers(0..200_000)).expect_err("too much");
        let error = error.into_failure();
        assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
        assert_eq!(keys(&table.snapshot(Snapshot::ALL)), (0..100).collect::<Vec<i64>>());
        manager.append(&table, &numbers(100..200)).expect("fits");
        assert_eq!(keys(&table.snapshot(Snapshot::ALL)), (0..200).collect::<Vec<i64>>());
        drop((manager, table));
    }
}

#[test]
fn null_where_it_may_not_be_is_refused() {
    let table = table(Layout::Auto, 1 << 20);
    let manager = Manager::default();
    let mut key = VectorBuilder::new(PhysicalType::I64);
    key.push_null();
    let text = Vector::new(VectorData::Str([&b"x"[..]].into_iter().collect()));
    let batch = batch_of(vec![key.finish(), text]);
    let error = manager.append(&table, &batch).expect_err("NULL");
    assert!(matches!(error, WriteError::Null { column: 0, row } if *row == *"null, x"));
    assert!(table.bulk_writer().push(&batch).is_err());
    assert_eq!(table.snapshot(Snapshot::ALL).rows(), 0);
}

#[test]
fn small_inserts_make_few_blocks() {
    for layout in LAYOUTS {
        let table = table(layout, 1 << 30);
        let manager = Manager::default();
        for i in 0..3000 {
            manager.append(&table, &numbers(i..i + 1)).expect("fits");
        }
        assert_eq!(keys(&table.snapshot(Snapshot::ALL)), (0..3000).collect::<Vec<i64>>());
        let most = if layout == Layout::Frozen { 64 + 12 } else { 12 };
        assert!(table.block_infos().len() <= most, "{}", table.block_infos().len());
        let statistics = table.statistics();
        assert_eq!(statistics.rows, 3000);
        assert_eq!(statistics.columns[0].min, Some(Value::I64(0)));
        // Bounds grow by more than they must, so that they seldom grow.
        let Some(Value::I64(max)) = statistics.columns[0].max else { panic!("a bound") };
        assert!((2999..3900).contains(&max), "{max}");
        assert!(table.range_epoch() < 40, "{}", table.range_epoch());
        assert!((statistics.columns[1].estimates.distinct - 3000.0).abs() < 150.0);
        assert_eq!(statistics.sample().rows, 3000);
    }
}

#[test]
fn readers_see_whole_appends_while_a_writer_works() {
    for layout in LAYOUTS {
        let table = table(layout, 1 << 30);
        let manager = Manager::default();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut before = 0;
                    while !done.load(Ordering::Relaxed) {
                        let at = manager.enter(TxnId::NONE);
                        let snapshot = table.snapshot(at);
                        let found = keys(&snapshot);
                        manager.leave(at);
                        assert!(found.len().is_multiple_of(33) && found.len() >= before);
                        assert!(found.iter().enumerate().all(|(i, &k)| i as i64 == k));
                        before = found.len();
                    }
                });
            }
            for i in 0..600 {
                manager.append(&table, &numbers(i * 33..i * 33 + 33)).expect("fits");
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(table.snapshot(Snapshot::ALL).rows(), 600 * 33);
    }
}

#[test]
fn statistics_describe_the_rows() {
    let table = table(Layout::Frozen, 1 << 30);
    let mut writer = table.bulk_writer();
    for start in (0..500_000).step_by(10_000) {
        writer.push(&numbers(start..start + 10_000)).expect("fits");
    }
    writer.finish().expect("fits");
    let statistics = table.statistics();
    let key = &statistics.columns[0];
    assert_eq!(
        (key.min.clone(), key.max.clone()),
        (Some(Value::I64(0)), Some(Value::I64(499_999)))
    );
    assert!((key.estimates.distinct / 500_000.0 - 1.0).abs() < 0.06, "{}", key.estimates.distinct);
    assert!(key.estimates.clustered && key.bounds_exact && key.estimates.null_fraction == 0.0);
    let average = statistics.columns[1].estimates.bytes_average;
    assert!((28.5..29.0).contains(&average), "{average}");
    assert!((1800..=4200).contains(&statistics.sample().rows));
    let histogram = statistics.histogram(0);
    assert_eq!(histogram.len(), 65);
    let Value::I64(middle) = histogram[32] else { panic!("integers") };
    assert!((220_000..280_000).contains(&middle), "{middle}");
    assert!(Arc::ptr_eq(&statistics, &table.statistics()));
}

#[test]
fn long_strings_pass_through_every_layout() {
    for layout in LAYOUTS {
        let table = table(layout, 1 << 32);
        let manager = Manager::default();
        let text = vec![b'x'; 40 << 20];
        for i in 0..3 {
            let key = Vector::new(VectorData::I64(vec![i, i]));
            let texts = Vector::new(VectorData::Str([&b"short"[..], &text].into_iter().collect()));
            manager.append(&table, &batch_of(vec![key, texts])).expect("fits");
        }
        let snapshot = table.snapshot(Snapshot::ALL);
        assert_eq!(snapshot.rows(), 6);
        let mut long = 0;
        for b in 0..snapshot.block_count() {
            let all = Positions::List(snapshot.visible(b));
            let column = snapshot.unpack(b, 1, &all).expect("in memory").to_plain();
            long += column.as_str().iter().filter(|s| *s == text).count();
        }
        assert_eq!(long, 3);
    }
}

#[test]
fn rows_that_moved_together_are_each_as_old_as_before() {
    let (table, manager) = (table(Layout::Row, 1 << 30), Manager::default());
    let load = |rows| {
        let load = table.begin_load();
        let mut writer = load.writer();
        writer.push(&numbers(rows)).expect("fits");
        writer.finish().expect("fits");
        let mut txn = manager.begin();
        load.commit(&mut txn.undo).expect("once");
        manager.commit(txn);
    };
    load(0..10);
    let mut old = manager.begin();
    load(10..20);
    let blocks: Vec<u64> = table.block_uses().iter().map(|found| found.id).collect();
    assert_eq!(blocks.len(), 2);
    let mut mover = manager.begin();
    let moving = table.move_rows(&mut mover.undo, mover.at, &blocks).expect("fits");
    let mut moving = moving.expect("nobody writes them");
    assert!(moving.retire());
    manager.commit(mover);
    moving.keep();
    // The transaction is older than the second of the blocks, and does not see its rows.
    let mut delete = |block| table.delete(&mut old.undo, old.at, Tid::new(block, 3));
    assert!(delete(blocks[0]).is_ok());
    assert!(matches!(delete(blocks[1]), Err(WriteError::Conflict { .. })));
    manager.commit(old);
    assert_eq!(table.live_rows(), 19);
}

#[test]
fn a_copy_is_stale_after_commits_that_it_may_lack() {
    for layout in [Layout::Row, Layout::Column] {
        let (table, manager) = (table(layout, 1 << 30), Manager::default());
        manager.append(&table, &numbers(0..10)).expect("fits");
        let images = table.blocks_at(manager.now());
        let [image] = &images[..] else { panic!("one block") };
        // Others commit into the block before its rows are counted, and after.
        let newest = manager.now().base();
        manager.append(&table, &numbers(10..12)).expect("fits");
        let mut copy = image.copy(newest).expect("fits");
        manager.append(&table, &numbers(12..17)).expect("fits");
        while !copy.is_whole() {
            copy.next(manager.now()).expect("fits");
        }
        assert_eq!(copy.newest(), newest);
        assert!(image.changed() > copy.newest(), "its file is written again");
        let other = self::table(layout, 1 << 30);
        let (dead, bytes) = (copy.dead(), copy.finish().expect("fits"));
        other.restore_block(image.id(), &bytes, &dead, Timestamp(1)).expect("whole");
        other.end_recovery(Timestamp(1));
        assert_eq!(keys(&other.snapshot(Snapshot::ALL)), (0..12).collect::<Vec<i64>>());
    }
}

/// An index over the first column.
fn index_of(table: &Table) -> TableIndex {
    let spec = IndexSpec {
        id: IndexId(1),
        name: "t_k".into(),
        columns: vec![IndexColumn::new(0)],
        unique: Uniqueness::No,
        kind: IndexKind::Ordered,
    };
    TableIndex::new(spec, table.schema(), table.pool()).expect("fits")
}

#[test]
fn entries_of_older_keys_go_though_an_index_was_built_meanwhile() {
    let table = table(Layout::Row, 1 << 30);
    let manager = Manager::default();
    manager.append(&table, &numbers(0..10)).expect("fits");
    let rekey = |row: u32, to: i64| {
        let mut txn = manager.begin();
        let changes = [(0, Datum::I64(to))];
        let tid = Tid::new(table.block_infos()[0].id, row);
        table.update(&mut txn.undo, txn.at, tid, &changes).expect("nobody else writes");
        manager.commit(txn);
    };
    let has = |index: &TableIndex, key: i64| {
        let mut buffer = KeyBuffer::new();
        index.encode_row(&[Datum::I64(key)], &mut buffer).expect("no expression");
        index.lookup(&buffer, |_| ControlFlow::Break(())).is_break()
    };
    let early = manager.enter(TxnId::NONE);
    rekey(1, 101);
    let late = manager.enter(TxnId::NONE);
    (2..4).for_each(|row| rekey(row, 100 + i64::from(row)));

    let index = index_of(&table);
    let old_keys = OldKeys::default();
    let blocks = Arc::clone(&table.blocks.lock().all);
    let built = index.bulk_build(1, blocks.len(), |part, run| {
        table.enter_versions(&blocks[part], &index, run, &old_keys)
    });
    built.expect("fits");
    // One version goes before the table knows of the index, the others after that.
    manager.leave(early);
    manager.collect(|_| {});
    let index = table.put_index(index);
    assert!(index.removals().is_none() && has(&index, 1), "who collected it knew of no index");
    old_keys.settle(&table, &index);
    assert!(index.removals().is_some() && !has(&index, 1));
    let keys = [101, 2, 102, 3, 103];
    assert!(keys.iter().all(|&key| has(&index, key)), "these have versions");
    manager.leave(late);
    manager.collect(|_| {});
    assert!(manager.is_collected() && !has(&index, 2) && !has(&index, 3));
    assert!([0, 101, 102, 103, 4].iter().all(|&key| has(&index, key)));
}

#[test]
fn entries_found_before_their_removal_lead_to_no_row() {
    let table = table(Layout::Row, 1 << 30);
    let manager = Manager::default();
    manager.append(&table, &numbers(0..10)).expect("fits");
    let index = index_of(&table);
    table.add_index(index, 1, TxnId::NONE).expect("no keys are in the way");
    let rekey = |from: i64, to: i64| {
        let mut tids = Vec::new();
        let key = [Datum::I64(from)];
        table.tids_of(0, manager.now(), &key, &mut KeyBuffer::new(), &mut tids).expect("in memory");
        let mut txn = manager.begin();
        let changes = [(0, Datum::I64(to))];
        table.update(&mut txn.undo, txn.at, tids[0], &changes).expect("nobody else writes");
        manager.commit(txn);
        manager.collect(|_| {});
        assert!(manager.is_collected());
    };
    let guard = epoch::pin();
    let index = &table.index_list(&guard)[0];
    let (mut state, mut row, mut found) = (RangeState::new(), RowBuffer::new(), Vec::new());
    let mut read = |state: &mut RangeState, rows_max| {
        let read = KeyRead { index, at: manager.now(), columns: &[0] };
        found.clear();
        let _ = table.read_range(read, state, &mut row, |_, row| {
            found.push(row.get(0).to_value());
            if found.len() < rows_max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        found.clone()
    };
    let values = |keys: &[i64]| keys.iter().map(|key| Value::I64(*key)).collect::<Vec<_>>();
    index.start(KeyRange::ALL, Direction::Forward, &mut state);
    assert_eq!(read(&mut state, 1), values(&[0]));
    rekey(1, 100);
    assert_eq!(read(&mut state, usize::MAX), values(&[2, 3, 4, 5, 6, 7, 8, 9]));
    index.start(KeyRange::ALL, Direction::Forward, &mut state);
    assert_eq!(read(&mut state, usize::MAX), values(&[0, 2, 3, 4, 5, 6, 7, 8, 9, 100]));

    let mut batch = KeyBatch::new();
    (2..6).for_each(|key| batch.push(index, &[Datum::I64(key)]));
    let mut row = RowBuffer::new();
    let mut get = |i| {
        let found = table.get_nth(0, manager.now(), &mut batch, i, &[0], &mut row);
        found.expect("in memory").is_some()
    };
    assert!(get(0));
    rekey(3, 101);
    assert!(!get(1), "its entry was found before it went");
    assert!(get(2));
}
