//! Comparison of snapshots, points and indexes of a table with the state of the model.

use super::batches::check_batches;
use super::*;

/// Compares what `snapshot` shows with `state`.
pub(super) fn check(
    random: &mut Random,
    table: &Arc<Table>,
    snapshot: &Arc<TableSnapshot>,
    state: &State,
) {
    let expected: BTreeMap<Tid, &Row> = state.values().map(|(tid, row)| (*tid, row)).collect();
    let unrestricted = ScanPlan::new(table.schema(), vec![]).expect("nothing");
    let found = scan(snapshot, &unrestricted, 1 + random.below(100) as usize);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (tid, row) in &found {
        assert!(same(row, expected[tid]), "{tid:?}: {row:?}, not {:?}", expected[tid]);
    }
    let bound = random.below(1000) as i64 - 500;
    let kind = RestrictionKind::Compare(CompareOp::Less, Value::I64(bound));
    let texts = RestrictionKind::Compare(CompareOp::GreaterEqual, Value::text("5"));
    let restrictions =
        vec![Restriction { column: 2, kind }, Restriction { column: OTHER, kind: texts }];
    let paths = [BlockPaths::Avoid, BlockPaths::Consider, BlockPaths::Prefer];
    let plan = ScanPlan::new(table.schema(), restrictions).expect("well typed");
    let plan = plan.with_paths(paths[random.below(3) as usize]);
    let found = scan(snapshot, &plan, 1 + random.below(100) as usize);
    let below = |v: &Value| matches!(v, Value::I64(v) if *v < bound);
    let above = |v: &Value| matches!(v, Value::Str(v) if v[..] >= b"5"[..]);
    let passing = expected.iter().filter(|(_, row)| below(&row[2]) && above(&row[OTHER]));
    assert_eq!(found.keys().collect::<Vec<_>>(), passing.map(|p| p.0).collect::<Vec<_>>());
    check_points(random, table, snapshot, &expected);
    check_entries(table, &expected);
    check_batches(random, table, snapshot, &expected);
}

fn scan(snapshot: &Arc<TableSnapshot>, plan: &ScanPlan, rows_max: usize) -> BTreeMap<Tid, Row> {
    let mut found = BTreeMap::new();
    let mut positions = Positions::default();
    for b in 0..snapshot.block_count() {
        let Some(mut cursor) = plan.open(snapshot, b).expect("no errors") else { continue };
        while cursor.next(rows_max, &mut positions).expect("no errors") {
            let unpack = |c| snapshot.unpack(b, c, &positions).expect("in memory");
            let columns: Vec<Column> = (0..TYPES.len()).map(unpack).collect();
            let tids = unpack(TID_COLUMN);
            for i in 0..positions.len() {
                let Value::I64(tid) = tids.value(i) else { panic!("a TID") };
                let row = columns.iter().map(|c| c.value(i)).collect();
                assert!(found.insert(Tid(tid as u64), row).is_none());
            }
        }
    }
    found
}

fn check_points(
    random: &mut Random,
    table: &Arc<Table>,
    snapshot: &Arc<TableSnapshot>,
    expected: &BTreeMap<Tid, &Row>,
) {
    let mut buffer = RowBuffer::new();
    let columns = [6, 0, 3, 1];
    for b in 0..snapshot.block_count() {
        let view = snapshot.block(b);
        let list = (0..view.rows() as u32).filter(|_| random.chance(30)).collect();
        let positions = Positions::List(list);
        let unpack = |c| snapshot.unpack(b, c, &positions).expect("in memory");
        let unpacked: Vec<Column> = (0..TYPES.len()).map(unpack).collect();
        for i in 0..positions.len() {
            let tid = Tid::new(view.id(), positions.get(i));
            let is_there = table.read(snapshot.at(), tid, &columns, &mut buffer);
            let is_there = is_there.expect("readable");
            match expected.get(&tid) {
                None => assert!(!is_there, "{tid:?}"),
                Some(row) => {
                    assert!(is_there, "{tid:?}");
                    let read: Row = buffer.iter().map(|d| d.to_value()).collect();
                    let wanted: Row = columns.iter().map(|&c| row[c].clone()).collect();
                    assert!(same(&read, &wanted), "{read:?}, not {wanted:?}");
                    let late: Row = unpacked.iter().map(|c| c.value(i)).collect();
                    assert!(same(&late, row), "{late:?}, not {row:?}");
                }
            }
        }
    }
}

/// Every visible row is found by its keys.
fn check_entries(table: &Arc<Table>, expected: &BTreeMap<Tid, &Row>) {
    for index in table.indexes().iter() {
        let mut key = KeyBuffer::new();
        for (tid, row) in expected {
            let ordinals = index.ordinals().iter();
            let values: Vec<Datum<'_>> = ordinals.map(|&c| Datum::from(&row[c])).collect();
            index.encode_row(&values, &mut key).expect("nothing fails");
            if key.is_absent() {
                assert!(!is_inside(row));
                continue;
            }
            let mut found = false;
            let _ = index.lookup(&key, |entry| {
                found |= entry == *tid;
                std::ops::ControlFlow::Continue(())
            });
            assert!(found, "{tid:?} of {row:?} in {}", index.spec().name);
        }
    }
}
