//! Rows of a shared table: those that an index finds, or all that the stores do not leave out; as
//! the transaction left them.
//!
//! ```text
//! restrictions -> equal to constants in the first columns of a key -> look-ups, rows by number
//!              -> tests that stores know -> scan of all stores, then rows that were changed here
//! ```
//! Keys with expressions or WHERE count where they were offered: they have all rows that are
//! wanted.
//! Whoever asks tests the restrictions anyway: rows may come that do not meet them.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use engine::attached::{AttachedKeySource, HeldOrder};
use exec::{BatchSource, OfferedIndex, SharedBatchSource, WantedRows};
use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorBuilder, VectorData};
use shared::Mark;
use sql::catalog::SourcePart;
use storage::{Restriction, RestrictionKind};
use store::{
    FieldId, FieldValue, Key, Partition, Predicate, Query, Rows, Schema, Selection, Table as _,
    Test,
};
use types::{CompareOp, Error, PhysicalType, Result, Value};

use super::{LookUp, NodeTransaction};
use crate::node::definitions::Definition;
use crate::node::scan::rows_of;
use crate::node::values::{from_field, push_field, to_field};

/// Values of a list that are looked for one by one.
const LIST_MAX: usize = 256;

/// A shared table's rows in one transaction.
#[derive(Clone)]
pub(crate) struct RowsSource {
    transaction: Arc<NodeTransaction>,
    definition: Arc<Definition>,
    restrictions: Vec<Restriction>,
    /// Indexes with terms that have all rows that are wanted.
    offers: Vec<OfferedIndex>,
    /// Place in the transaction up to which its changes are seen.
    mark: Mark,
    /// Keys that count; None for all.
    part: Option<Partition>,
}

impl RowsSource {
    /// All rows, with changes up to `mark`.
    pub(crate) fn new(
        transaction: Arc<NodeTransaction>,
        definition: Arc<Definition>,
        mark: Mark,
    ) -> Self {
        let (restrictions, offers) = (Vec::new(), Vec::new());
        Self { transaction, definition, restrictions, offers, mark, part: None }
    }

    fn physical(&self, column: usize) -> PhysicalType {
        self.definition.columns.get(column).map_or(PhysicalType::I64, |column| column.physical)
    }

    /// Values that a column of the index at `index` may have, when they are few: fields.
    fn values(&self, index: usize, column: usize) -> Option<Vec<Value>> {
        let Some(number) = column.checked_sub(self.definition.columns.len()) else {
            return few(&self.restrictions, column);
        };
        let offered = self.offers.iter().find(|offer| offer.position == index)?;
        few(&offered.restrictions, number)
    }

    /// True when an index has all rows that are wanted.
    fn has_all(&self, index: usize) -> bool {
        self.definition.keys[index].source == AttachedKeySource::Columns
            || self.offers.iter().any(|offer| offer.position == index)
    }

    /// The look-ups that find all rows that count: an index, and values of its first columns.
    fn look_ups(&self) -> Option<(usize, Vec<Vec<Value>>)> {
        let keys = self.definition.keys.iter().enumerate();
        let ways = keys.filter(|(index, _)| self.has_all(*index)).filter_map(|(index, key)| {
            let mut prefixes = vec![Vec::new()];
            let mut width = 0;
            for column in &key.columns {
                let Some(values) = self.values(index, *column) else { break };
                if prefixes.len() * values.len() > LIST_MAX {
                    break;
                }
                let with = |prefix: &Vec<Value>| -> Vec<Vec<Value>> {
                    let longer = |value: &Value| prefix.iter().chain([value]).cloned().collect();
                    values.iter().map(longer).collect()
                };
                prefixes = prefixes.iter().flat_map(with).collect();
                width += 1;
            }
            (width > 0).then_some((key.columns.len() - width, index, prefixes))
        });
        let best = ways.min_by_key(|(missing, index, _)| (*missing, *index));
        best.map(|(_, index, prefixes)| (index, prefixes))
    }

    /// The restrictions that stores can test.
    fn selection(&self, schema: &Schema) -> Selection {
        let mut selection = Selection::all();
        for restriction in &self.restrictions {
            let Some(column) = self.definition.columns.get(restriction.column) else { continue };
            let field = FieldId(restriction.column as u16);
            let tests = match column.order {
                HeldOrder::Same => tests_of(&restriction.kind),
                HeldOrder::Other => null_tests(&restriction.kind),
            };
            for any in tests.into_iter().flatten() {
                let predicates = any.into_iter().map(|test| Predicate { field, test }).collect();
                let mut with = selection.clone();
                with.conjuncts.push(predicates);
                if Query::fields(Vec::new()).of(with.clone()).check(schema).is_ok() {
                    selection = with;
                }
            }
        }
        selection
    }

    /// The rows of look-ups, in batches of `columns`.
    fn found(
        &self,
        index: usize,
        prefixes: &[Vec<Value>],
        columns: &[usize],
    ) -> Result<Vec<Batch>> {
        let wanted = LookUp { index, prefixes, mark: self.mark };
        let mut rows = self.transaction.look_up(&self.definition, &wanted)?;
        rows.retain(|(key, _)| self.holds(*key));
        let batches = rows.chunks(BATCH_ROWS).map(|rows| {
            let rows = rows.iter().map(|(key, values)| (*key, values.as_slice()));
            self.batch(rows, columns)
        });
        Ok(batches.collect())
    }

    fn holds(&self, key: Key) -> bool {
        self.part.is_none_or(|part| part.holds(key))
    }

    fn batch<'r>(
        &self,
        rows: impl Iterator<Item = (Key, &'r [Value])>,
        columns: &[usize],
    ) -> Batch {
        let mut builders: Vec<VectorBuilder> =
            columns.iter().map(|column| VectorBuilder::new(self.physical(*column))).collect();
        let mut count = 0;
        for (key, values) in rows {
            for (builder, column) in builders.iter_mut().zip(columns) {
                let value = values.get(*column).map_or(Value::I64(key as i64), |value| {
                    from_field(self.physical(*column), value)
                });
                builder.push_value(&value);
            }
            count += 1;
        }
        let columns = builders.into_iter().map(|builder| Column::plain(builder.finish()));
        Batch::new(columns.collect(), count)
    }

    fn scan(&self, columns: &[usize], push: &mut dyn FnMut(Batch) -> Result<bool>) -> Result<()> {
        let scan = self.transaction.scan(&self.definition, self.mark)?;
        let schema = Arc::clone(scan.rows.schema());
        let own = self.definition.columns.len();
        let fields: Vec<FieldId> = columns
            .iter()
            .filter(|column| **column < own)
            .map(|column| FieldId(*column as u16))
            .collect();
        let selection = self.selection(&schema);
        let is_whole = selection.conjuncts.is_empty() && self.part.is_none();
        let query = Query { partition: self.part, ..Query::fields(fields.clone()).of(selection) };
        let projected = schema.project(&fields);
        let projected = projected.ok_or_else(|| Error::internal("a field of the table"))?;
        let hidden: HashSet<Key> = scan.changed.iter().map(|(key, _)| *key).collect();
        let picked = Picked { source: self, schema: &projected, columns, hidden: &hidden };
        let whole = rows_of(&scan, &query, &mut |rows| push(picked.batch(&rows)))?;
        let Some(count) = whole else { return Ok(()) };
        if is_whole {
            self.transaction.note_rows(self.definition.id, count);
        }
        let changed: Vec<(Key, Vec<Value>)> = scan
            .changed
            .iter()
            .filter(|(key, _)| self.holds(*key))
            .filter_map(|(key, tuple)| Some((*key, tuple.as_ref()?.decode(&schema))))
            .collect();
        for rows in changed.chunks(BATCH_ROWS) {
            let rows = rows.iter().map(|(key, values)| (*key, values.as_slice()));
            if !push(self.batch(rows, columns))? {
                break;
            }
        }
        Ok(())
    }
}

impl BatchSource for RowsSource {
    fn orders(&self) -> usize {
        1
    }

    fn run(
        &self,
        _order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        if self.restrictions.iter().any(|r| matches!(r.kind, RestrictionKind::Never)) {
            return Ok(());
        }
        let Some((index, prefixes)) = self.look_ups() else { return self.scan(columns, push) };
        for batch in self.found(index, &prefixes, columns)? {
            if !push(batch)? {
                break;
            }
        }
        Ok(())
    }

    fn restricted(&self, wanted: WantedRows) -> Option<SharedBatchSource> {
        let WantedRows { restrictions, offers } = wanted;
        Some(Arc::new(Self { restrictions, offers, ..self.clone() }))
    }

    fn part(&self, part: SourcePart) -> Option<SharedBatchSource> {
        let SourcePart { number, count } = part;
        Some(Arc::new(Self { part: Some(Partition { count, number }), ..self.clone() }))
    }
}

/// Values that a column may have by these restrictions, when they are few: fields.
fn few(restrictions: &[Restriction], column: usize) -> Option<Vec<Value>> {
    let of_column = restrictions.iter().filter(|restriction| restriction.column == column);
    of_column.into_iter().find_map(|restriction| match &restriction.kind {
        RestrictionKind::Compare(CompareOp::Equal, value) => Some(vec![to_field(value)]),
        RestrictionKind::InList(list) | RestrictionKind::BuildKeys(list)
            if list.len() <= LIST_MAX =>
        {
            Some(list.iter().map(to_field).collect())
        }
        _ => None,
    })
}

/// A condition as tests of one field: all of the outer ones hold, any of the inner ones.
type Tests = Vec<Vec<Test>>;

/// Tests of a condition on values that stores order as SQL does; None where they have none.
fn tests_of(kind: &RestrictionKind) -> Option<Tests> {
    let compare = |op, value: &Value| Test::Compare(op, to_field(value));
    match kind {
        RestrictionKind::Compare(op, value) => Some(vec![vec![compare(*op, value)]]),
        RestrictionKind::Between { low, high } => {
            let low = match low {
                Bound::Included(value) => Some(compare(CompareOp::GreaterEqual, value)),
                Bound::Excluded(value) => Some(compare(CompareOp::Greater, value)),
                Bound::Unbounded => None,
            };
            let high = match high {
                Bound::Included(value) => Some(compare(CompareOp::LessEqual, value)),
                Bound::Excluded(value) => Some(compare(CompareOp::Less, value)),
                Bound::Unbounded => None,
            };
            Some(low.into_iter().chain(high).map(|test| vec![test]).collect())
        }
        RestrictionKind::InList(list) | RestrictionKind::BuildKeys(list)
            if list.len() <= LIST_MAX =>
        {
            Some(vec![list.iter().map(|value| compare(CompareOp::Equal, value)).collect()])
        }
        kind => null_tests(kind),
    }
}

/// Tests of a condition on any values.
fn null_tests(kind: &RestrictionKind) -> Option<Tests> {
    match kind {
        RestrictionKind::IsNull => Some(vec![vec![Test::IsNull]]),
        RestrictionKind::IsNotNull => Some(vec![vec![Test::IsNotNull]]),
        _ => None,
    }
}

/// Rows as they come from stores, on their way to batches.
struct Picked<'a> {
    source: &'a RowsSource,
    /// The fields that were asked for.
    schema: &'a Schema,
    columns: &'a [usize],
    /// Rows that the transaction changed: theirs are others.
    hidden: &'a HashSet<Key>,
}

impl Picked<'_> {
    fn batch(&self, rows: &Rows) -> Batch {
        let own = self.source.definition.columns.len();
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut field = 0;
        for column in self.columns {
            if *column >= own {
                let keys = (0..rows.len()).map(|row| rows.key(row) as i64).collect();
                columns.push(Column::plain(Vector::new(VectorData::I64(keys))));
                continue;
            }
            let physical = self.source.physical(*column);
            let mut builder = VectorBuilder::with_capacity(physical, rows.len());
            rows.each(self.schema, field, |value: FieldValue<'_>| {
                push_field(&mut builder, physical, value);
            });
            columns.push(Column::plain(builder.finish()));
            field += 1;
        }
        let batch = Batch::new(columns, rows.len());
        if self.hidden.is_empty() {
            return batch;
        }
        let stays = |row: &u32| !self.hidden.contains(&rows.key(*row as usize));
        let kept: Vec<u32> = (0..rows.len() as u32).filter(stays).collect();
        let columns = batch.columns.iter().map(|column| column.gather(&kept)).collect();
        Batch::new(columns, kept.len())
    }
}
