//! Rows read by batches of keys equal the model's.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use types::Value;

use super::{Random, Row, TYPES, same};
use crate::datum::{Datum, RowBuffer};
use crate::index::TableIndex;
use crate::snapshot::TableSnapshot;
use crate::table::{KeyBatch, KeyRead, Table};
use crate::tid::Tid;

/// Keys of a batch: more than one group of them.
const KEYS: u64 = 20;

/// Reads the rows of some keys, in order or not, some of which are of no row.
pub(super) fn check_batches(
    random: &mut Random,
    table: &Arc<Table>,
    snapshot: &Arc<TableSnapshot>,
    expected: &BTreeMap<Tid, &Row>,
) {
    // Each check asks for a few keys: there are many checks.
    if expected.is_empty() || random.chance(80) {
        return;
    }
    let (mut batch, mut buffer, at) = (KeyBatch::new(), RowBuffer::new(), snapshot.at());
    let columns: Vec<usize> = (0..TYPES.len()).filter(|_| random.chance(60)).collect();
    let rows: Vec<&Row> = expected.values().copied().collect();
    let indexes = table.indexes();
    let plain = indexes.iter().enumerate().filter(|(_, index)| index.derivation().is_none());
    for (number, index) in plain {
        let keys: Vec<Row> =
            (0..random.below(KEYS)).map(|_| any_key(random, index, &rows)).collect();
        batch.clear();
        for key in &keys {
            batch.push(index, &key.iter().map(Datum::from).collect::<Vec<_>>());
        }
        assert_eq!((batch.len(), batch.is_empty()), (keys.len(), keys.is_empty()));
        let in_order = random.chance(50);
        for i in 0..keys.len() {
            let i = if in_order { i } else { random.below(keys.len() as u64) as usize };
            let mut all = BTreeSet::new();
            let (keys_left, row) = (&mut batch, &mut buffer);
            let read = KeyRead { index, at, columns: &columns };
            let _ = table.read_nth(read, keys_left, i, row, |tid, _| {
                assert!(all.insert(tid), "a row is found once");
                ControlFlow::<()>::Continue(())
            });
            let wanted = expected.iter().filter(|(_, row)| key_of(index, row) == keys[i]);
            assert_eq!(all, wanted.map(|(tid, _)| *tid).collect());
            let found = table.get_nth(number, at, &mut batch, i, &columns, &mut buffer);
            let Some(tid) = found.expect("in memory") else {
                assert!(all.is_empty(), "{:?} of {all:?}", keys[i]);
                continue;
            };
            assert!(all.contains(&tid), "{tid:?} has not {:?}", keys[i]);
            let read: Row = buffer.iter().map(|d| d.to_value()).collect();
            let wanted: Row = columns.iter().map(|&c| expected[&tid][c].clone()).collect();
            assert!(same(&read, &wanted), "{read:?}, not {wanted:?}");
        }
    }
}

fn key_of(index: &TableIndex, row: &Row) -> Row {
    index.spec().columns.iter().map(|c| row[c.ordinal].clone()).collect()
}

/// The key of a row, or one beside it.
fn any_key(random: &mut Random, index: &TableIndex, rows: &[&Row]) -> Row {
    let mut key = key_of(index, rows[random.below(rows.len() as u64) as usize]);
    if random.chance(30) {
        for value in &mut key {
            *value = match std::mem::replace(value, Value::Null) {
                Value::I32(v) => Value::I32(v.wrapping_add(1)),
                Value::I64(v) => Value::I64(v.wrapping_add(1)),
                Value::Str(v) => Value::Str([&v[..], b"x"].concat().into()),
                other => other,
            };
        }
    }
    key
}
