//! Changes as bytes and back; bytes that are no changes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use storage::{
    BufferPool, ColumnSpec, Layout, Schema, Snapshot, Table, TableId, Timestamp, TxnId, UndoBuffer,
};
use types::{DataType, Interval, SqlState, Value};

use super::*;

/// A change that owns its values.
#[derive(Clone, Debug)]
enum Owned {
    Insert(u64, u64, Vec<OwnedValue>),
    Update(u64, u64, Vec<(usize, OwnedValue)>),
    Delete(u64, u64, Option<u64>),
    Block(u64, BlockReference),
    Catalog(u8, String, Vec<u8>),
    Sequence(u64, i64),
}

#[derive(Clone, Debug)]
enum OwnedValue {
    Null,
    Bool(bool),
    I32(i32),
    I64(i64),
    I128(i128),
    F64(u64),
    Str(Vec<u8>),
    Interval(i32, i32, i64),
}

impl OwnedValue {
    fn borrowed(&self) -> Datum<'_> {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(v) => Datum::Bool(*v),
            Self::I32(v) => Datum::I32(*v),
            Self::I64(v) => Datum::I64(*v),
            Self::I128(v) => Datum::I128(*v),
            Self::F64(bits) => Datum::F64(f64::from_bits(*bits)),
            Self::Str(v) => Datum::Str(v),
            Self::Interval(months, days, micros) => {
                Datum::Interval(Interval { months: *months, days: *days, micros: *micros })
            }
        }
    }

    /// Equal bit by bit: intervals and floats have more than one form of a value.
    fn is(&self, value: &Datum<'_>) -> bool {
        match (self, value) {
            (Self::F64(bits), Datum::F64(v)) => *bits == v.to_bits(),
            (Self::Interval(months, days, micros), Datum::Interval(v)) => {
                (*months, *days, *micros) == (v.months, v.days, v.micros)
            }
            (mine, value) => mine.borrowed().to_value() == value.to_value(),
        }
    }
}

fn write(changes: &[Owned]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = RedoWriter::new(&mut out);
    for change in changes {
        match change {
            Owned::Insert(table, tid, values) => {
                writer.insert(TableId(*table), Tid(*tid), values.iter().map(OwnedValue::borrowed));
            }
            Owned::Update(table, tid, changed) => {
                let columns: Vec<usize> = changed.iter().map(|(column, _)| *column).collect();
                let values = changed.iter().map(|(_, value)| value.borrowed());
                writer.update(TableId(*table), Tid(*tid), &columns, values);
            }
            Owned::Delete(table, tid, moved_to) => {
                writer.delete(TableId(*table), Tid(*tid), moved_to.map(Tid))
            }
            Owned::Block(table, file) => writer.block(TableId(*table), file),
            Owned::Catalog(kind, name, bytes) => writer.catalog(*kind, name, bytes),
            Owned::Sequence(sequence, value) => writer.sequence(*sequence, *value),
        }
    }
    out
}

fn same_values(mine: &[&OwnedValue], values: &[Datum<'_>]) -> bool {
    mine.len() == values.len() && mine.iter().zip(values).all(|(mine, value)| mine.is(value))
}

fn same(mine: &Owned, found: &Redo<'_>) -> bool {
    match (mine, found) {
        (Owned::Insert(table, tid, values), Redo::Insert { table: t, tid: i, values: v }) => {
            (TableId(*table), Tid(*tid)) == (*t, *i)
                && same_values(&values.iter().collect::<Vec<_>>(), v)
        }
        (
            Owned::Update(table, tid, changed),
            Redo::Update { table: t, tid: i, columns, values },
        ) => {
            let mine: Vec<_> = changed.iter().map(|(_, value)| value).collect();
            (TableId(*table), Tid(*tid)) == (*t, *i)
                && changed.iter().map(|(column, _)| column).eq(*columns)
                && same_values(&mine, values)
        }
        (Owned::Delete(table, tid, target), Redo::Delete { table: t, tid: i, moved_to }) => {
            (TableId(*table), Tid(*tid), target.map(Tid)) == (*t, *i, *moved_to)
        }
        (Owned::Block(table, file), Redo::Block { table: t, file: f }) => {
            (TableId(*table), file) == (*t, f)
        }
        (Owned::Catalog(kind, name, bytes), Redo::Catalog { kind: k, name: n, bytes: b }) => {
            kind == k && name == n && bytes == b
        }
        (Owned::Sequence(sequence, value), Redo::Sequence { sequence: s, value: v }) => {
            (sequence, value) == (s, v)
        }
        _ => false,
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..200u64, any::<u64>(), Just(u64::MAX), (0..4u64).prop_map(|t| t << 16 | 7)]
}

fn value() -> impl Strategy<Value = OwnedValue> {
    prop_oneof![
        Just(OwnedValue::Null),
        any::<bool>().prop_map(OwnedValue::Bool),
        prop_oneof![-70..70i32, any::<i32>(), Just(i32::MIN)].prop_map(OwnedValue::I32),
        prop_oneof![-70..70i64, any::<i64>(), Just(i64::MIN)].prop_map(OwnedValue::I64),
        prop_oneof![-70..70i128, any::<i128>(), Just(i128::MIN), Just(i128::MAX)]
            .prop_map(OwnedValue::I128),
        any::<u64>().prop_map(OwnedValue::F64),
        prop::collection::vec(any::<u8>(), 0..150).prop_map(OwnedValue::Str),
        any::<(i32, i32, i64)>().prop_map(|(m, d, u)| OwnedValue::Interval(m, d, u)),
    ]
}

fn update() -> impl Strategy<Value = Owned> {
    let changed = prop::collection::btree_map(0..300usize, value(), 0..8);
    (0..4u64, number(), changed)
        .prop_map(|(table, tid, changed)| Owned::Update(table, tid, changed.into_iter().collect()))
}

fn change() -> impl Strategy<Value = Owned> {
    let file = (number(), number(), number(), any::<u32>());
    let file =
        file.prop_map(|(block, version, bytes, crc)| BlockReference { block, version, bytes, crc });
    prop_oneof![
        (0..4u64, number(), prop::collection::vec(value(), 0..12))
            .prop_map(|(table, tid, values)| Owned::Insert(table, tid, values)),
        update(),
        (number(), number(), any::<Option<u64>>()).prop_map(|(t, i, m)| Owned::Delete(t, i, m)),
        (number(), file).prop_map(|(table, file)| Owned::Block(table, file)),
        (any::<u8>(), ".{0,20}", prop::collection::vec(any::<u8>(), 0..100))
            .prop_map(|(kind, name, bytes)| Owned::Catalog(kind, name, bytes)),
        (number(), any::<i64>()).prop_map(|(sequence, value)| Owned::Sequence(sequence, value)),
    ]
}

/// Reads all of `payload`; the count of entries, or the error's state.
fn read(payload: &[u8]) -> std::result::Result<usize, SqlState> {
    let mut reader = RedoReader::new(payload);
    let mut count = 0;
    while reader.next().map_err(|error| error.state())?.is_some() {
        count += 1;
    }
    Ok(count)
}

proptest! {
    #[test]
    fn what_was_written_is_read(changes in prop::collection::vec(change(), 0..20)) {
        let bytes = write(&changes);
        let mut reader = RedoReader::new(&bytes);
        for change in &changes {
            let found = reader.next().unwrap().unwrap();
            prop_assert!(same(change, &found), "{change:?} {found:?}");
        }
        prop_assert!(reader.next().unwrap().is_none());
    }

    #[test]
    fn a_cut_payload_is_refused_or_ends_between_changes(
        changes in prop::collection::vec(change(), 1..8),
    ) {
        let bytes = write(&changes);
        let ends: Vec<usize> = (0..=changes.len()).map(|n| write(&changes[..n]).len()).collect();
        for end in 0..bytes.len() {
            match read(&bytes[..end]) {
                Ok(count) => prop_assert_eq!(ends[count], end),
                Err(state) => prop_assert_eq!(state, SqlState::DATA_CORRUPTED),
            }
        }
    }

    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec(change(), 1..8),
        flips in prop::collection::vec(any::<(usize, u8)>(), 1..6),
    ) {
        let mut bytes = write(&changes);
        for (at, mask) in flips {
            let at = at % bytes.len();
            bytes[at] ^= mask;
        }
        let outcome = read(&bytes);
        prop_assert!(outcome.is_ok() || outcome == Err(SqlState::DATA_CORRUPTED));
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut random = testkit::Random::new(11);
    for _ in 0..200_000 {
        let count = random.below(64);
        let bytes: Vec<u8> = (0..count)
            .map(|_| {
                if random.chance(50) {
                    // Kinds and small counts, so that more than the first byte is read.
                    random.below(9) as u8
                } else {
                    random.bits() as u8
                }
            })
            .collect();
        if let Err(state) = read(&bytes) {
            assert_eq!(state, SqlState::DATA_CORRUPTED);
        }
    }
}

/// Tables as they come out of changes: values by row.
fn apply(rows: &mut BTreeMap<u64, Vec<Value>>, payload: &[u8], table: TableId) {
    let mut reader = RedoReader::new(payload);
    while let Some(redo) = reader.next().unwrap() {
        match redo {
            Redo::Insert { table: t, tid, values } => {
                assert_eq!(t, table);
                let values = values.iter().map(Datum::to_value).collect();
                assert!(rows.insert(tid.0, values).is_none(), "{tid:?} was free");
            }
            Redo::Update { tid, columns, values, .. } => {
                let row = rows.get_mut(&tid.0).unwrap();
                for (column, value) in columns.iter().zip(values) {
                    row[*column] = value.to_value();
                }
            }
            Redo::Delete { tid, .. } => assert!(rows.remove(&tid.0).is_some()),
            other => panic!("nobody wrote {other:?}"),
        }
    }
}

#[test]
fn changes_of_a_transaction_bring_its_rows_back() {
    let columns = [
        ("k", DataType::BigInt),
        ("t", DataType::Text),
        ("f", DataType::Double),
        ("i", DataType::Integer),
    ];
    let schema = columns.map(|(name, data_type)| ColumnSpec::new(name, data_type)).to_vec();
    for layout in [Layout::Row, Layout::Column] {
        let pool = BufferPool::new(64 << 20);
        let table = Table::new(TableId(9), "t", Schema::new(schema.clone()), layout, pool);
        let mut random = testkit::Random::new(3);
        let (mut redone, mut tids) = (BTreeMap::new(), Vec::new());
        for ts in 1..200 {
            let mut undo = UndoBuffer::new(TxnId(TxnId::BIT | ts));
            let at = Snapshot::new(Timestamp(ts - 1), undo.txn());
            for _ in 0..1 + random.below(6) {
                let text = "x".repeat(random.below(40) as usize);
                let value = |column: usize, random: &mut testkit::Random| match column {
                    _ if random.chance(15) => Datum::Null,
                    0 => Datum::I64(random.bits() as i64),
                    1 => Datum::Str(text.as_bytes()),
                    2 => Datum::F64(random.unit()),
                    _ => Datum::I32(random.below(100) as i32),
                };
                let index = random.below(tids.len() as u64 + 1) as usize;
                match (random.below(4), tids.get(index).copied()) {
                    (0, Some(tid)) => {
                        table.delete(&mut undo, at, tid).unwrap();
                        tids.swap_remove(index);
                    }
                    (1 | 2, Some(tid)) => {
                        let mut changed: Vec<_> =
                            (0..4).rev().filter(|_| random.chance(50)).collect();
                        changed.dedup();
                        let changes: Vec<_> =
                            changed.iter().map(|c| (*c, value(*c, &mut random))).collect();
                        tids[index] = table.update(&mut undo, at, tid, &changes).unwrap();
                    }
                    _ => {
                        let row: Vec<_> = (0..4).map(|c| value(c, &mut random)).collect();
                        tids.push(table.insert(&mut undo, &row).unwrap());
                    }
                }
            }
            let (mut payload, mut buffer) = (Vec::new(), RowBuffer::new());
            let mut writer = RedoWriter::new(&mut payload);
            undo.changes().for_each(|change| writer.change(&change, &mut buffer));
            undo.stamp(Timestamp(ts));
            apply(&mut redone, &payload, table.id());
            undo.collect();
        }
        assert_eq!(redone.len(), tids.len());
        let mut buffer = RowBuffer::new();
        for tid in tids {
            let seen = table.read(Snapshot::ALL, tid, &[0, 1, 2, 3], &mut buffer);
            assert!(seen.expect("in memory"));
            let row: Vec<Value> = buffer.iter().map(|datum| datum.to_value()).collect();
            assert_eq!(redone[&tid.0], row, "{tid:?}");
        }
    }
}

#[test]
fn changes_are_compact() {
    let payment = [
        Owned::Update(3, 17 << 16 | 5, vec![(8, OwnedValue::I64(123_456))]),
        Owned::Update(3, 17 << 16 | 6, vec![(8, OwnedValue::I64(123_456))]),
        Owned::Delete(3, 17 << 16 | 7, None),
    ];
    let sizes: Vec<usize> = (0..=3).map(|n| write(&payment[..n]).len()).collect::<Vec<_>>();
    // Kind, table, 4 bytes of tid, bitmap of 2 with its length, tag and 3 bytes of value.
    assert_eq!(sizes[1], 1 + 1 + 4 + 3 + 4);
    // The same table and the next tid.
    assert_eq!(sizes[2] - sizes[1], 1 + 1 + 3 + 4);
    assert_eq!(sizes[3] - sizes[2], 2);
}
