//! Foreign keys of attached tables, looked at when a statement has written all its rows.
//!
//! ```text
//! key is gone  -> sole claim of the row -> rows that refer to it -> 23503, or the key's action,
//!                                          whose rows are looked at in their turn
//! then: rows that were written -> row that has the key -> shared claim of it, or 23503
//! ```
//! All is looked for in the snapshot with the transaction's own changes. What others do meanwhile
//! is up to the claims: of two transactions, one that takes a key away and one that begins to refer
//! to it, one fails with 40001.
//! Source of the rules: `write::foreign`, for tables of the database.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use catalog::TableDef;
use exec::WantedRows;
use kernels::{Batch, Column, Vector};
use sql::catalog::{ForeignKeyDef, IndexMeta, KeyMatch, ReferentialAction, Uniqueness};
use sql::statement::RelationName;
use storage::{Restriction, RestrictionKind, Tid};
use types::cast::assign_value;
use types::{CompareOp, Error, PhysicalType, Result, Value};

use super::super::foreign::{missing, mixed, still_referenced};
use super::{Target, Wanted};
use crate::instance::attached::{AttachedClaim, AttachedRow, AttachedTableId, AttachedTransaction};
use crate::statement::attached::{AttachedRows, definition_in};
use crate::statement::defaults::default_of;
use crate::statement::running::Running;

/// Rows that a statement wrote, as far as foreign keys have to know of them.
#[derive(Default)]
pub(super) struct Touched {
    /// Rows that refer to others.
    new: Vec<AttachedRow>,
    /// Rows that others refer to, as they were.
    gone: Vec<(AttachedRow, Vec<Value>)>,
}

/// Foreign keys as a target knows them.
#[derive(Default)]
pub(super) struct Keys {
    touched: RefCell<Touched>,
    referring: OnceCell<Vec<Referring>>,
}

impl Keys {
    /// Hands over what was noted, to be looked at later.
    pub(super) fn hand_over(&self, to: &mut Touched) {
        let Touched { new, gone } = self.touched.take();
        to.new.extend(new);
        to.gone.extend(gone);
    }

    /// Takes over what was noted before.
    pub(super) fn take_over(&self, from: &mut Touched) {
        self.touched.replace(std::mem::take(from));
    }
}

/// A foreign key that refers to the target.
struct Referring {
    id: AttachedTableId,
    table: TableDef,
    key: ForeignKeyDef,
}

/// Rows of a table that are to be looked at.
struct Waiting {
    rows: Arc<AttachedRows>,
    touched: Touched,
}

impl Target<'_> {
    /// Notes that a row has been written: all of it, or these columns.
    pub(super) fn note_new(&self, row: Tid, columns: Option<&[usize]>) {
        let is_met = |key: &ForeignKeyDef| {
            columns.is_none_or(|columns| key.columns.iter().any(|at| columns.contains(at)))
        };
        if self.rows.def.foreign_keys.iter().any(is_met) {
            self.keys.touched.borrow_mut().new.push(AttachedRow(row.0));
        }
    }

    /// Notes rows as they are before they go, or before these columns change.
    pub(super) fn note_gone(&self, rows: &[Tid], columns: Option<&[usize]>) -> Result<()> {
        // Nobody refers to what is no key.
        let is_key = |index: &IndexMeta| {
            let mut own = index.columns.iter();
            index.unique != Uniqueness::No
                && columns.is_none_or(|columns| own.any(|at| columns.contains(&at.ordinal)))
        };
        if rows.is_empty() || !self.rows.def.indexes.iter().any(is_key) {
            return Ok(());
        }
        let is_met = |referring: &Referring| {
            let mut references = referring.key.references.iter();
            columns.is_none_or(|columns| references.any(|at| columns.contains(at)))
        };
        if !self.referring()?.iter().any(is_met) {
            return Ok(());
        }
        let numbers: Vec<AttachedRow> = rows.iter().map(|tid| AttachedRow(tid.0)).collect();
        let before = self.transaction.rows(self.rows.id, &numbers)?;
        let known = numbers.into_iter().zip(before);
        let known = known.filter_map(|(row, values)| Some((row, values?)));
        self.keys.touched.borrow_mut().gone.extend(known);
        Ok(())
    }

    /// The foreign keys that refer to the table.
    fn referring(&self) -> Result<&[Referring]> {
        if let Some(known) = self.keys.referring.get() {
            return Ok(known);
        }
        let (name, mut all) = (&self.rows.def.name, Vec::new());
        for found in self.transaction.all()? {
            let table = definition_in(RelationName::schema_of_key(name), &found)?;
            for key in table.foreign_keys.iter().filter(|key| key.table.name == *name) {
                all.push(Referring { id: found.id, table: table.clone(), key: key.clone() });
            }
        }
        Ok(self.keys.referring.get_or_init(|| all))
    }

    /// Looks at foreign keys, now that all rows are written.
    ///
    /// # Errors
    /// 23503; whatever actions meet.
    pub(super) fn settle(&self, running: &mut Running<'_>) -> Result<()> {
        let mut waiting = VecDeque::new();
        self.react(running, &mut waiting)?;
        let new = std::mem::take(&mut self.keys.touched.borrow_mut().new);
        let mut written = Vec::new();
        while let Some(Waiting { rows, touched }) = waiting.pop_front() {
            running.session.cancel_handle().check()?;
            let target = Target::of(running, &rows, "UPDATE")?;
            target.keys.touched.replace(touched);
            target.react(running, &mut waiting)?;
            let new = std::mem::take(&mut target.keys.touched.borrow_mut().new);
            if !new.is_empty() {
                written.push((Arc::clone(&rows), new));
            }
        }
        self.look_for(running, &new)?;
        for (rows, new) in written {
            Target::of(running, &rows, "UPDATE")?.look_for(running, &new)?;
        }
        Ok(())
    }

    /// Claims the rows whose keys are gone, and does what foreign keys say of those who refer to
    /// them; the rows of actions come to those that wait.
    fn react(&self, running: &mut Running<'_>, waiting: &mut VecDeque<Waiting>) -> Result<()> {
        let gone = std::mem::take(&mut self.keys.touched.borrow_mut().gone);
        if gone.is_empty() {
            return Ok(());
        }
        let numbers: Vec<AttachedRow> = gone.iter().map(|(row, _)| *row).collect();
        let now = self.transaction.rows(self.rows.id, &numbers)?;
        for ((row, before), now) in gone.iter().zip(&now) {
            let mut is_claimed = false;
            for referring in self.referring()? {
                let key = values_at(before, &referring.key.references);
                let new = now.as_ref().map(|now| values_at(now, &referring.key.references));
                if key.contains(&Value::Null) || new.as_ref().is_some_and(|n| are_equal(n, &key)) {
                    continue;
                }
                if !std::mem::replace(&mut is_claimed, true) {
                    self.transaction.claim(self.rows.id, *row, AttachedClaim::Sole)?;
                }
                let lost = Lost { referring, key: &key, new: new.as_deref() };
                waiting.extend(self.lose(running, &lost)?);
            }
        }
        Ok(())
    }

    /// Does what a foreign key says of a key that is gone; the rows that this wrote.
    fn lose(&self, running: &mut Running<'_>, lost: &Lost<'_>) -> Result<Option<Waiting>> {
        use ReferentialAction as Action;
        let Referring { id, table, key } = lost.referring;
        let rows = rows_that_refer(&*self.transaction, lost.referring, lost.key)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let action = if lost.new.is_some() { key.on_update } else { key.on_delete };
        let refuse = || Err(still_referenced(&self.rows.def, table, key, lost.key));
        let values: Option<Vec<Value>> = match (action, lost.new) {
            (Action::Restrict, _) => return refuse(),
            // Another row may have taken it over.
            (Action::NoAction, _) => match self.holder(key, lost.key)? {
                Some(_) => return Ok(None),
                None => return refuse(),
            },
            (Action::Cascade, None) => None,
            (Action::Cascade, Some(new)) => {
                let types = key.references.iter().zip(&key.columns);
                let types = types
                    .map(|(other, own)| (self.rows.def.columns[*other].ty, table.columns[*own].ty));
                let converted = new.iter().zip(types);
                let converted = converted.map(|(value, (from, to))| assign_value(value, from, to));
                Some(converted.collect::<Result<_>>()?)
            }
            (Action::SetNull, _) => Some(vec![Value::Null; key.columns.len()]),
            (Action::SetDefault, _) => {
                let columns = key.columns.iter().map(|at| &table.columns[*at]);
                Some(columns.map(|column| default_of(running, column)).collect::<Result<_>>()?)
            }
        };
        let child = running.session.own_catalog().attached(table.bare_name())?;
        let child = child.as_ref().and_then(AttachedRows::of).filter(|child| child.id == *id);
        let child = child.ok_or_else(|| Error::internal("a table that refers to another"))?;
        let touched = {
            let target = Target::of(running, &child, "UPDATE")?;
            let tids: Vec<Tid> = rows.iter().map(|row| Tid(row.0)).collect();
            match values {
                None => target.delete(running, &tids)?,
                Some(values) => target.assign(running, &tids, &key.columns, &values)?,
            }
            target.keys.touched.take()
        };
        Ok(Some(Waiting { rows: child, touched }))
    }

    /// Gives columns of rows the same values.
    fn assign(
        &self,
        running: &Running<'_>,
        tids: &[Tid],
        columns: &[usize],
        values: &[Value],
    ) -> Result<()> {
        let held = values.iter().zip(columns).map(|(value, column)| {
            let physical = self.rows.def.columns[*column].ty.physical();
            Column::plain(Vector::repeat(physical, value, tids.len()))
        });
        let batch = Batch::new(held.collect(), tids.len());
        let rows: Vec<(u32, Tid)> = (0..).zip(tids.iter().copied()).collect();
        let wanted = Wanted { rows: &rows, columns, batch: &batch, first: 0 };
        let (met, _) = self.read(running, &wanted)?;
        self.update(running, &met, columns)
    }

    /// The row of this table that has the key that `key` refers to.
    fn holder(&self, key: &ForeignKeyDef, values: &[Value]) -> Result<Option<AttachedRow>> {
        holder(&*self.transaction, self.rows, key, values)
    }

    /// Looks for the keys that rows refer to, and claims who has them.
    ///
    /// # Errors
    /// 23503.
    fn look_for(&self, running: &Running<'_>, new: &[AttachedRow]) -> Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        let def = &self.rows.def;
        let now = self.transaction.rows(self.rows.id, new)?;
        for key in &def.foreign_keys {
            let other;
            let parent: &AttachedRows = if key.table.name == def.name {
                self.rows
            } else {
                let name = RelationName::name_of_key(&key.table.name);
                let found = running.session.own_catalog().attached(name)?;
                other = found.as_ref().and_then(AttachedRows::of);
                other.as_deref().ok_or_else(|| Error::internal("a table that is referred to"))?
            };
            let mut known = HashSet::new();
            for row in now.iter().flatten() {
                let values = values_at(row, &key.columns);
                if values.contains(&Value::Null) {
                    if key.matching == KeyMatch::Full && values.iter().any(|v| !v.is_null()) {
                        return Err(mixed(def, key));
                    }
                    continue;
                }
                if !known.insert(format!("{values:?}")) {
                    continue;
                }
                running.session.cancel_handle().check()?;
                let Some(found) = holder(&*self.transaction, parent, key, &values)? else {
                    return Err(missing(def, key, &values));
                };
                self.transaction.claim(parent.id, found, AttachedClaim::Shared)?;
            }
        }
        Ok(())
    }
}

/// A key that is gone, and a foreign key that refers to it.
struct Lost<'a> {
    referring: &'a Referring,
    key: &'a [Value],
    /// The key that the row has now; None for a row that is gone.
    new: Option<&'a [Value]>,
}

fn values_at(row: &[Value], columns: &[usize]) -> Vec<Value> {
    columns.iter().map(|column| row[*column].clone()).collect()
}

/// The value as it is held; None for a number that is too large for that.
fn fit(value: &Value, physical: PhysicalType) -> Option<Value> {
    match (value, physical) {
        (Value::I64(wide), PhysicalType::I32) => i32::try_from(*wide).ok().map(Value::I32),
        (Value::I32(narrow), PhysicalType::I64) => Some(Value::I64(i64::from(*narrow))),
        (value, _) => Some(value.clone()),
    }
}

/// True for equal keys, whose numbers may be held in other widths.
fn are_equal(a: &[Value], b: &[Value]) -> bool {
    a.iter().zip(b).all(|(a, b)| match (a, b) {
        (Value::F64(a), Value::F64(b)) => a == b || a.is_nan() && b.is_nan(),
        (a, b) => {
            let wide = |value| fit(value, PhysicalType::I64);
            wide(a) == wide(b)
        }
    })
}

/// The position of the unique index over the columns that a foreign key refers to.
fn referenced_index(parent: &TableDef, key: &ForeignKeyDef) -> Option<usize> {
    let is_it = |index: &IndexMeta| {
        index.unique != Uniqueness::No
            && index.terms.is_empty()
            && index.columns.len() == key.references.len()
            && index.columns.iter().all(|column| key.references.contains(&column.ordinal))
    };
    parent.indexes.iter().position(is_it)
}

/// The row of `parent` that has the values that `key` refers to.
fn holder(
    transaction: &dyn AttachedTransaction,
    parent: &AttachedRows,
    key: &ForeignKeyDef,
    values: &[Value],
) -> Result<Option<AttachedRow>> {
    let index = referenced_index(&parent.def, key);
    let index = index.ok_or_else(|| Error::internal("a foreign key refers to a key"))?;
    let mut row = vec![Value::Null; parent.def.columns.len()];
    for (column, value) in key.references.iter().zip(values) {
        match fit(value, parent.def.columns[*column].ty.physical()) {
            Some(held) => row[*column] = held,
            None => return Ok(None),
        }
    }
    transaction.holder(parent.id, index, &row)
}

/// Rows that refer to a key, as the transaction sees them.
fn rows_that_refer(
    transaction: &dyn AttachedTransaction,
    referring: &Referring,
    values: &[Value],
) -> Result<Vec<AttachedRow>> {
    let Referring { id, table, key } = referring;
    let mut restrictions = Vec::with_capacity(values.len());
    for (column, value) in key.columns.iter().zip(values) {
        let Some(held) = fit(value, table.columns[*column].ty.physical()) else {
            return Ok(Vec::new());
        };
        let kind = RestrictionKind::Compare(CompareOp::Equal, held);
        restrictions.push(Restriction { column: *column, kind });
    }
    let source = transaction.source(*id)?;
    let wanted = WantedRows { restrictions, offers: Vec::new() };
    let source = source.restricted(wanted).unwrap_or(source);
    let mut columns = key.columns.clone();
    // Behind the table's own the number of the row.
    columns.push(table.columns.len());
    let mut found = Vec::new();
    for order in 0..source.orders() {
        source.run(order, &columns, &mut |batch| {
            for row in 0..batch.rows {
                let mut cells: Vec<Value> =
                    batch.columns.iter().map(|column| column.value(row)).collect();
                if let Some(Value::I64(number)) = cells.pop()
                    && are_equal(&cells, values)
                {
                    found.push(AttachedRow(number as u64));
                }
            }
            Ok(true)
        })?;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
