//! An index as a query uses it: keys as bytes, rows as batches.

use std::ops::ControlFlow;
use std::sync::Arc;

use hashbrown::HashSet;
use kernels::{Batch, Column, Vector, VectorBuilder, VectorData};
use plan::physical::ScanRestriction;
use sql::catalog::TableRef;
use storage::{
    BufferPool, Datum, Direction, IndexKind, KeyBatch, KeyBuffer, KeyRange, KeyRead,
    MemoryCategory, NearCursor, RangeState, Reservation, Restriction, RowBuffer, ScanPlan,
    Snapshot, TID_COLUMN, Table, TableIndex, Tid, Uniqueness,
};
use types::{Error, PhysicalType, Result};

use crate::opener::Opener;
use crate::stored::{stored_index, stored_table};

/// A table, one of its indexes, and what is read of the rows it leads to.
pub(super) struct Access {
    pub(super) table: Arc<Table>,
    pub(super) index: Arc<TableIndex>,
    at: Snapshot,
    /// Rows to look at, ascending: those that a statement looks at again; None for all.
    only: Option<Vec<Tid>>,
    /// Columns of the output: places in `stored`, None for the TID.
    columns: Vec<Option<usize>>,
    /// Ordinals of the stored columns read, each once.
    stored: Vec<usize>,
    physical: Vec<PhysicalType>,
    /// Restrictions that the index does not answer.
    plan: ScanPlan,
}

/// Rows read so far, column by column.
pub(super) struct Found {
    builders: Vec<VectorBuilder>,
    tids: Vec<i64>,
}

impl Found {
    pub(super) fn rows(&self) -> usize {
        self.tids.len()
    }
}

/// Where the reading of one key or range is, with memory that is used again.
pub(super) struct Cursor {
    pub(super) range: RangeState,
    row: RowBuffer,
    /// Rows found by one index, which others do not give again.
    seen: Option<Seen>,
}

/// The TIDs of rows found so far.
struct Seen {
    tids: HashSet<Tid>,
    memory: Reservation,
    /// There was no room for another one.
    failed: Option<Error>,
}

/// Bytes of a TID in a set, with the free places around it.
const SEEN_BYTES: u64 = 24;

impl Seen {
    /// True when `tid` was not there.
    fn insert(&mut self, tid: Tid) -> bool {
        let is_new = self.tids.insert(tid);
        let bytes = self.tids.capacity() as u64 * SEEN_BYTES;
        if bytes > self.memory.bytes()
            && let Err(error) = self.memory.resize(bytes)
        {
            self.failed.get_or_insert(error);
        }
        is_new
    }
}

impl Cursor {
    pub(super) fn new() -> Self {
        Self { range: RangeState::new(), row: RowBuffer::new(), seen: None }
    }

    /// TIDs of rows that several indexes find, each once.
    pub(super) fn of_several(pool: &Arc<BufferPool>) -> Self {
        let memory = Reservation::empty(pool, MemoryCategory::Temporary);
        Self { seen: Some(Seen { tids: HashSet::new(), memory, failed: None }), ..Self::new() }
    }

    /// # Errors
    /// 53200 when the rows found had no room.
    pub(super) fn check(&mut self) -> Result<()> {
        let failed = self.seen.as_mut().and_then(|seen| seen.failed.take());
        failed.map_or(Ok(()), Err)
    }
}

impl Access {
    /// `columns` of the rows of `table` that index number `index` finds.
    pub(super) fn new(
        opener: &Opener,
        table: &TableRef,
        index: usize,
        columns: &[usize],
    ) -> Result<Self> {
        let index = stored_index(table, index)?;
        let table = stored_table(table)?;
        let (mut at, mut only) = (opener.context.at, None);
        // Only the target of a statement hands out TIDs.
        if let Some(recheck) = &opener.context.recheck
            && columns.contains(&TID_COLUMN)
        {
            (at, only) = (recheck.at, Some(recheck.tids_of(&table)));
        }
        let mut stored: Vec<usize> = Vec::new();
        let place = |&ordinal: &usize| {
            if ordinal == TID_COLUMN {
                return None;
            }
            let known = stored.iter().position(|&other| other == ordinal);
            Some(known.unwrap_or_else(|| {
                stored.push(ordinal);
                stored.len() - 1
            }))
        };
        let columns = columns.iter().map(place).collect();
        let schema = table.schema().columns();
        let physical = stored.iter().map(|&ordinal| schema[ordinal].physical()).collect();
        let plan = ScanPlan::new(table.schema(), Vec::new())?;
        Ok(Self { table, index, at, only, columns, stored, physical, plan })
    }

    /// Lets rows pass that satisfy these restrictions of columns that are read.
    pub(super) fn restrict(&mut self, restrictions: Vec<Restriction>) -> Result<()> {
        self.plan = ScanPlan::new(self.table.schema(), restrictions)?;
        Ok(())
    }

    /// True when restrictions can be satisfied by no row.
    pub(super) fn is_never(&self) -> bool {
        self.plan.is_never()
    }

    pub(super) fn has_restrictions(&self) -> bool {
        !self.plan.is_empty()
    }

    /// The physical form of output column `i`.
    pub(super) fn physical(&self, i: usize) -> PhysicalType {
        self.columns[i].map_or(PhysicalType::I64, |place| self.physical[place])
    }

    /// The form of key column `i`.
    pub(super) fn key_physical(&self, i: usize) -> PhysicalType {
        self.index.key_fields()[i].physical
    }

    /// True when `count` key values are looked up as a whole key, which is one step; else the rows
    /// are a range of the index, however many they are.
    pub(super) fn is_lookup(&self, count: usize) -> bool {
        let spec = self.index.spec();
        let whole = count == spec.columns.len();
        spec.kind == IndexKind::Hash || (whole && spec.unique != Uniqueness::No)
    }

    pub(super) fn found(&self) -> Found {
        let builders = self.physical.iter().map(|&p| VectorBuilder::new(p)).collect();
        Found { builders, tids: Vec::new() }
    }

    fn take(&self, tid: Tid, row: &RowBuffer, seen: &mut Option<Seen>, found: &mut Found) {
        if self.only.as_ref().is_some_and(|only| only.binary_search(&tid).is_err())
            || seen.as_mut().is_some_and(|seen| !seen.insert(tid))
        {
            return;
        }
        for (builder, datum) in found.builders.iter_mut().zip(row.iter()) {
            push(builder, datum);
        }
        found.tids.push(tid.0 as i64);
    }

    fn key_read(&self) -> KeyRead<'_> {
        KeyRead { index: &self.index, at: self.at, columns: &self.stored }
    }

    /// Adds the rows that have the whole key `key`.
    pub(super) fn look_up(
        &self,
        key: &KeyBuffer,
        cursor: &mut Cursor,
        found: &mut Found,
    ) -> Result<()> {
        let Cursor { row, seen, .. } = cursor;
        let _ = self.table.read_key(self.key_read(), key, row, |tid, row| {
            self.take(tid, row, seen, found);
            ControlFlow::<()>::Continue(())
        })?;
        Ok(())
    }

    /// Adds the rows that have key number `i` of `keys`.
    pub(super) fn look_up_nth(
        &self,
        keys: &mut KeyBatch,
        i: usize,
        cursor: &mut Cursor,
        found: &mut Found,
    ) -> Result<()> {
        let Cursor { row, seen, .. } = cursor;
        let _ = self.table.read_nth(self.key_read(), keys, i, row, |tid, row| {
            self.take(tid, row, seen, found);
            ControlFlow::<()>::Continue(())
        })?;
        Ok(())
    }

    /// Adds those of `tids`, ascending candidates, that are rows.
    pub(super) fn read_candidates(
        &self,
        tids: &mut Vec<Tid>,
        cursor: &mut Cursor,
        found: &mut Found,
    ) -> Result<()> {
        let Cursor { row, seen, .. } = cursor;
        let _ = self.table.read_candidates(self.key_read(), tids, row, |tid, row| {
            self.take(tid, row, seen, found);
            ControlFlow::<()>::Continue(())
        })?;
        Ok(())
    }

    /// Adds the rows that the entries lead to which `near` read last.
    pub(super) fn read_near(
        &self,
        near: &NearCursor,
        cursor: &mut Cursor,
        found: &mut Found,
    ) -> Result<()> {
        let Cursor { row, seen, .. } = cursor;
        let _ = self.table.read_near(self.key_read(), near, row, |tid, row| {
            self.take(tid, row, seen, found);
            ControlFlow::<()>::Continue(())
        })?;
        Ok(())
    }

    /// How many entries the range has, counted up to `most`.
    pub(super) fn count(&self, range: KeyRange<'_>, cursor: &mut Cursor, most: u64) -> u64 {
        self.index.start(range, Direction::Forward, &mut cursor.range);
        let mut count = 0;
        while count < most && self.index.next(&mut cursor.range).is_some() {
            count += 1;
        }
        count
    }

    /// Starts to read a range.
    pub(super) fn start(&self, range: KeyRange<'_>, direction: Direction, cursor: &mut Cursor) {
        self.index.start(range, direction, &mut cursor.range);
    }

    /// Adds the next rows of the range until there are `rows_max`; true when it has ended.
    pub(super) fn read(
        &self,
        cursor: &mut Cursor,
        found: &mut Found,
        rows_max: usize,
    ) -> Result<bool> {
        let Cursor { range, row, seen } = cursor;
        let flow = self.table.read_range(self.key_read(), range, row, |tid, row| {
            self.take(tid, row, seen, found);
            if found.rows() < rows_max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        Ok(flow?.is_continue())
    }

    /// The rows found as output columns, and which of them satisfy the restrictions.
    pub(super) fn finish(&self, found: Found) -> Result<(Batch, Vec<u32>)> {
        let rows = found.rows();
        let vectors: Vec<Arc<Vector>> =
            found.builders.into_iter().map(|b| Arc::new(b.finish())).collect();
        let kept = self.plan.select(rows, |ordinal| {
            let place = self.stored.iter().position(|&stored| stored == ordinal);
            &vectors[place.expect("restrictions are of columns that are read")]
        })?;
        let tids = self.columns.contains(&None).then(|| {
            let tids = Vector::new(VectorData::I64(found.tids));
            Arc::new(tids)
        });
        let column = |place: &Option<usize>| {
            let vector = place.map_or(tids.as_ref(), |place| vectors.get(place));
            let vector = vector.ok_or_else(|| Error::internal("a column that was read"))?;
            Ok(Column::Plain(Arc::clone(vector)))
        };
        let columns = self.columns.iter().map(column).collect::<Result<_>>()?;
        Ok((Batch::new(columns, rows), kept))
    }
}

/// The restrictions of a scan of `columns` with their constants.
pub(super) fn constants(
    opener: &Opener,
    access: &Access,
    restrictions: &[ScanRestriction],
    columns: &[usize],
    names: &dyn Fn(usize) -> String,
) -> Result<Vec<Restriction>> {
    let constant = |restriction: &ScanRestriction| {
        let name = names(restriction.column);
        let physical = access.physical(restriction.column);
        let kind = crate::scan::restriction_kind(opener, &restriction.kind, physical, name)?;
        Ok(Restriction { column: columns[restriction.column], kind })
    };
    restrictions.iter().map(constant).collect()
}

#[inline]
fn push(builder: &mut VectorBuilder, datum: Datum<'_>) {
    match datum {
        Datum::Null => builder.push_null(),
        Datum::Str(bytes) => builder.push_str(bytes),
        other => builder.push_value(&other.to_value()),
    }
}
