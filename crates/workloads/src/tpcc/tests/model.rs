//! A naive database in memory, one session: what the native transactions are run on here.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::tpcc::native::{Datum, Direction, Index, Nth, Range, Row, Session, Transaction};
use crate::tpcc::{
    Access, CUSTOMER_BY_NAME, Failure, ORDERS_BY_CUSTOMER, RowSink, Scale, Table, populate,
};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Null,
    Number(i64),
    Text(Vec<u8>),
}

impl From<Datum<'_>> for Value {
    fn from(datum: Datum<'_>) -> Self {
        match datum {
            Datum::Null => Self::Null,
            Datum::I32(value) => Self::Number(value.into()),
            Datum::I64(value) => Self::Number(value),
            Datum::Str(text) => Self::Text(text.to_vec()),
            other => panic!("no table of TPC-C has a column for {other:?}"),
        }
    }
}

#[derive(Default)]
pub(super) struct ModelRow(Vec<Value>);

impl Row for ModelRow {
    fn is_null(&self, i: usize) -> bool {
        self.0[i] == Value::Null
    }

    fn i32(&self, i: usize) -> i32 {
        i32::try_from(self.i64(i)).unwrap()
    }

    fn i64(&self, i: usize) -> i64 {
        match &self.0[i] {
            Value::Number(value) => *value,
            other => panic!("{other:?} is no number"),
        }
    }

    fn text(&self, i: usize) -> &[u8] {
        match &self.0[i] {
            Value::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }
}

struct Tree {
    index: Index,
    table: Table,
    columns: &'static [usize],
    /// The key's values, then the row's number.
    entries: BTreeMap<Vec<Value>, usize>,
}

pub(super) struct Model {
    tables: Vec<Vec<Option<Vec<Value>>>>,
    trees: Vec<Tree>,
    /// Rows as they were before this transaction.
    undo: Vec<(Table, usize, Option<Vec<Value>>)>,
    running: Option<Access>,
}

impl Model {
    pub(super) fn new(scale: &Scale, seed: u64) -> Self {
        let primary = |table: &Table| Tree {
            index: Index::Primary(*table),
            table: *table,
            columns: table.key(),
            entries: BTreeMap::new(),
        };
        let mut trees: Vec<Tree> =
            Table::ALL.iter().filter(|table| !table.key().is_empty()).map(primary).collect();
        for index in [CUSTOMER_BY_NAME, ORDERS_BY_CUSTOMER] {
            let (table, columns) = (index.table, index.columns);
            let index = Index::Secondary(index);
            trees.push(Tree { index, table, columns, entries: BTreeMap::new() });
        }
        let tables = Table::ALL.iter().map(|_| Vec::new()).collect();
        let mut model = Self { tables, trees, undo: Vec::new(), running: None };
        for table in Table::ALL {
            let mut collect = Collect::default();
            populate(table, scale, seed, 1..=scale.warehouses, &mut collect).unwrap();
            for row in collect.rows {
                let place = model.tables[table as usize].len();
                model.set(table, place, Some(row));
            }
        }
        model
    }

    /// The rows of a table, sorted.
    pub(super) fn sorted(&self, table: Table) -> Vec<Vec<Value>> {
        let mut rows: Vec<_> = self.tables[table as usize].iter().flatten().cloned().collect();
        rows.sort();
        rows
    }

    fn set(&mut self, table: Table, row: usize, values: Option<Vec<Value>>) -> Option<Vec<Value>> {
        let rows = &mut self.tables[table as usize];
        if row == rows.len() {
            rows.push(None);
        }
        let before = std::mem::replace(&mut rows[row], values);
        for tree in self.trees.iter_mut().filter(|tree| tree.table == table) {
            let key = |values: &Vec<Value>| {
                let mut key: Vec<Value> = tree.columns.iter().map(|i| values[*i].clone()).collect();
                key.push(Value::Number(row as i64));
                key
            };
            if let Some(values) = &before {
                assert_eq!(tree.entries.remove(&key(values)), Some(row));
            }
            if let Some(values) = &rows[row] {
                tree.entries.insert(key(values), row);
            }
        }
        before
    }

    fn write(&mut self, table: Table, row: usize, values: Option<Vec<Value>>) {
        assert_eq!(self.running, Some(Access::ReadWrite));
        let before = self.set(table, row, values);
        self.undo.push((table, row, before));
    }
}

impl Transaction for Model {
    type RowId = usize;
    type Row = ModelRow;
    type Batch = Vec<Vec<i32>>;

    fn start_batch<const N: usize>(
        &mut self,
        _: Table,
        keys: &[[Datum<'_>; N]],
        batch: &mut Vec<Vec<i32>>,
    ) -> Result<(), Failure> {
        let number = |datum: &Datum<'_>| match datum {
            Datum::I32(number) => *number,
            other => panic!("keys are numbers, not {other:?}"),
        };
        *batch = keys.iter().map(|key| key.iter().map(number).collect()).collect();
        Ok(())
    }

    fn get_nth(
        &mut self,
        table: Table,
        Nth { batch, i }: Nth<'_, Vec<Vec<i32>>>,
        columns: &[usize],
        row: &mut ModelRow,
    ) -> Result<Option<usize>, Failure> {
        let key: Vec<Datum<'_>> = batch[i].iter().map(|number| Datum::I32(*number)).collect();
        self.get(table, &key, columns, row)
    }

    fn get(
        &mut self,
        table: Table,
        key: &[Datum<'_>],
        columns: &[usize],
        row: &mut ModelRow,
    ) -> Result<Option<usize>, Failure> {
        assert_eq!(key.len(), table.key().len());
        let (mut found, up) = (None, Direction::Ascending);
        let range = Range::of(Index::Primary(table), key, up);
        self.range(range, columns, row, |id, _| {
            assert_eq!(found.replace(id), None, "the key is unique");
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn read(
        &mut self,
        table: Table,
        id: usize,
        columns: &[usize],
        row: &mut ModelRow,
    ) -> Result<(), Failure> {
        let values = self.tables[table as usize][id].as_ref().unwrap();
        row.0 = columns.iter().map(|i| values[*i].clone()).collect();
        Ok(())
    }

    fn range(
        &mut self,
        Range { index, low, high, direction }: Range<'_>,
        columns: &[usize],
        row: &mut ModelRow,
        mut visit: impl FnMut(usize, &ModelRow) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        assert!(self.running.is_some());
        let tree = self.trees.iter().find(|tree| tree.index == index).unwrap();
        let values = |key: &[Datum<'_>]| key.iter().map(|d| (*d).into()).collect::<Vec<Value>>();
        let (low, high) = (values(low), values(high));
        let inside = tree.entries.range(low..).take_while(|(key, _)| key[..high.len()] <= high[..]);
        let mut ids: Vec<usize> = inside.map(|(_, id)| *id).collect();
        if direction == Direction::Descending {
            ids.reverse();
        }
        let table = tree.table;
        for id in ids {
            self.read(table, id, columns, row)?;
            if visit(id, row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn update(
        &mut self,
        table: Table,
        id: usize,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<(), Failure> {
        let mut values = self.tables[table as usize][id].clone().unwrap();
        for (column, value) in changes {
            values[*column] = (*value).into();
        }
        self.write(table, id, Some(values));
        Ok(())
    }

    fn insert(&mut self, table: Table, row: &[Datum<'_>]) -> Result<(), Failure> {
        assert_eq!(row.len(), table.columns().len());
        let place = self.tables[table as usize].len();
        self.write(table, place, Some(row.iter().map(|datum| (*datum).into()).collect()));
        Ok(())
    }

    fn delete(&mut self, table: Table, id: usize) -> Result<(), Failure> {
        self.write(table, id, None);
        Ok(())
    }
}

impl Session for Model {
    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        assert_eq!(self.running.replace(access), None);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.undo.clear();
        assert!(self.running.take().is_some());
        Ok(())
    }

    fn rollback(&mut self) {
        while let Some((table, row, before)) = self.undo.pop() {
            self.set(table, row, before);
        }
        assert!(self.running.take().is_some());
    }
}

/// Keeps all rows.
#[derive(Default)]
pub(super) struct Collect {
    pub(super) rows: Vec<Vec<Value>>,
    row: Vec<Value>,
}

impl RowSink for Collect {
    type Error = std::convert::Infallible;

    fn integer(&mut self, value: i64) {
        self.row.push(Value::Number(value));
    }

    fn decimal(&mut self, scaled: i64, _scale: u8) {
        self.row.push(Value::Number(scaled));
    }

    fn text(&mut self, value: &str) {
        self.row.push(Value::Text(value.as_bytes().to_vec()));
    }

    fn time(&mut self, micros: i64) {
        self.row.push(Value::Number(micros));
    }

    fn null(&mut self) {
        self.row.push(Value::Null);
    }

    fn end(&mut self) -> Result<(), Self::Error> {
        self.rows.push(std::mem::take(&mut self.row));
        Ok(())
    }
}
