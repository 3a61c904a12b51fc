//! EXCLUDE: looked at when a statement has written all its rows (`foreign`), or later (`deferred`).
//!
//! ```text
//! key of a row -> rows with the same values of what is compared with `=`, by the index
//!              |  ranges compared with && alone: its neighbours on both sides
//!              -> those that all operators hold for, but the row itself: 23P01
//! ```
//! Invariant: as with keys that are DEFERRABLE, rows are written first and looked at afterwards in
//! their newest state. Transactions that run are waited for where their rows would be in the way,
//! and only there; so of two that exclude each other, one sees the other.
//! Why neighbours are enough: where rows do not overlap, and one more overlaps some of them, it
//! overlaps the next one on one of its sides; each new row looks for itself.

use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::exclusions::PairTest;
use sql::statement::{ConflictAction, OnConflict};
use storage::{
    Datum, Direction, KeyBuffer, KeySearch, RowBuffer, Seeker, Snapshot, TableIndex, Tid,
};
use types::{Error, Result, SqlState, Value};

use super::rows::{attempt, index_number};
use crate::statement::running::Running;
use crate::transaction::work::{newest, stale};

/// A row that a new one meets.
struct Met {
    tid: Tid,
    key: Vec<Value>,
    /// True when it has the key of the new one: it may be the new one.
    is_own: bool,
}

/// Rows that a search came by.
#[derive(Default)]
struct Found {
    /// Rows that the new one meets, itself among them if it meets itself.
    met: Vec<Met>,
    /// Rows that have the key of the new one.
    own: Vec<Tid>,
}

impl Found {
    /// One that the new row meets and that is another one.
    fn other(&self, meets_itself: bool) -> Option<&Met> {
        let is_there = self.met.len() > usize::from(meets_itself);
        self.met.iter().find(|met| !met.is_own).or(self.met.first()).filter(|_| is_there)
    }
}

/// Hands on the key that a row, whose values `row` tells by ordinal, has in an index. A row without
/// one, or with a NULL in it, is in nobody's way: None.
fn with_key<'v, T>(
    index: &TableIndex,
    row: impl Fn(usize) -> Datum<'v>,
    then: impl FnOnce(&[Datum<'_>]) -> Result<T>,
) -> Result<Option<T>> {
    let mut made = RowBuffer::new();
    // Values that live as long as `made`.
    let value = |ordinal| row(ordinal);
    match index.key_values(value, &mut made)? {
        Some(key) if !key.iter().any(Datum::is_null) => then(&key).map(Some),
        _ => Ok(None),
    }
}

/// As [`with_key`] of a new row, which may have narrower numbers than the table, and the index at
/// `position`.
pub(super) fn with_new_key<'v, T>(
    entry: &TableEntry,
    position: usize,
    row: impl Fn(usize) -> Datum<'v>,
    then: impl FnOnce(&[Datum<'_>]) -> Result<T>,
) -> Result<Option<T>> {
    let index = entry.indexes_built().get(position).ok_or_else(stale)?;
    let schema = entry.storage().schema().columns();
    let widened = |ordinal: usize| {
        let datum = row(ordinal);
        datum.widened(schema[ordinal].physical()).unwrap_or(datum)
    };
    with_key(index, widened, then)
}

/// Refuses that a row which has the key `key`, if one still has it, meets another one.
///
/// # Errors
/// 23P01; 40001, 40P01, 57014 from waiting for others.
pub(super) fn check(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    position: usize,
    key: &[Datum<'_>],
) -> Result<()> {
    let test = entry.pair_test(position)?;
    let meets_itself = test.meets(key, key)?;
    if test.is_of_neighbours() && !meets_itself {
        // An empty range.
        return Ok(());
    }
    let found = search(running, entry, position, key)?;
    let Some(other) = found.other(meets_itself).filter(|_| !found.own.is_empty()) else {
        return Ok(());
    };
    let other: Vec<Datum<'_>> = other.key.iter().map(Datum::from).collect();
    let index = &entry.def.indexes[position];
    let message = format!("conflicting key value violates exclusion constraint \"{}\"", index.name);
    let detail = format!(
        "Key {} conflicts with existing key {}.",
        test.shown(&entry.def, index, key),
        test.shown(&entry.def, index, &other)
    );
    let about = entry.def.about_constraint(&index.name);
    Err(Error::new(SqlState::EXCLUSION_VIOLATION, message).with_detail(detail).about_part(about))
}

/// A row that keeps a row, which ON CONFLICT DO NOTHING has just inserted, from staying: all
/// constraints count that the statement names, or all there are.
///
/// # Errors
/// 40001, 40P01, 57014 from waiting for others.
pub(super) fn arbiter(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    row: &[Datum<'_>],
    on_conflict: &OnConflict,
) -> Result<Option<Tid>> {
    if !matches!(on_conflict.action, ConflictAction::Nothing) {
        return Ok(None);
    }
    for position in entry.exclusions() {
        let exclusion = entry.def.indexes[position].terms.exclusion.as_ref();
        let is_later = exclusion.is_some_and(|exclusion| exclusion.deferral.is_deferrable());
        let target = on_conflict.target.as_ref();
        if is_later || target.is_some_and(|target| !target.indexes.contains(&position)) {
            continue;
        }
        let other = with_new_key(
            entry,
            position,
            |ordinal| row[ordinal],
            |key| {
                let meets_itself = entry.pair_test(position)?.meets(key, key)?;
                let found = search(running, entry, position, key)?;
                Ok(found.other(meets_itself).map(|met| met.tid))
            },
        )?;
        if let Some(Some(tid)) = other {
            return Ok(Some(tid));
        }
    }
    Ok(None)
}

/// The rows that a key meets.
fn search(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    position: usize,
    key: &[Datum<'_>],
) -> Result<Found> {
    let number = index_number(entry, position).ok_or_else(stale)?;
    let index = entry.indexes_built().get(position).ok_or_else(stale)?;
    let exclusion = entry.def.indexes[position].terms.exclusion.as_ref();
    let equal = exclusion.map_or(0, sql::catalog::Exclusion::equal);
    let test = entry.pair_test(position)?;
    let cancel = running.session.cancel_handle();
    let work = running.session.work_mut();
    let (txn, now) = (work.txn.id(), newest(work));
    let mut own = KeyBuffer::new();
    index.encode(key, &mut own);
    let (direction, found) = (None, Found::default());
    let mut seeker = PairSeeker { entry, index, test, key, own: &own, now, direction, found };
    let directions: &[Option<Direction>] = if test.is_of_neighbours() {
        &[Some(Direction::Backward), Some(Direction::Forward)]
    } else {
        &[None]
    };
    let outcome = attempt(work, &cancel, |_| {
        seeker.found = Found::default();
        for &direction in directions {
            seeker.direction = direction;
            let from = direction.map(|direction| (key, direction));
            let search = KeySearch { index: number, prefix: &key[..equal], from, txn };
            entry.storage().seek(search, &mut seeker)?;
        }
        Ok(())
    });
    let found = seeker.found;
    outcome.map_err(|error| error.into_error(running.session.work(), entry))?;
    Ok(found)
}

struct PairSeeker<'a> {
    entry: &'a Arc<TableEntry>,
    index: &'a TableIndex,
    test: &'a PairTest,
    key: &'a [Datum<'a>],
    /// The key as the index has it.
    own: &'a KeyBuffer,
    now: Snapshot,
    /// Way of a search among neighbours.
    direction: Option<Direction>,
    found: Found,
}

impl PairSeeker<'_> {
    /// Hands the key of a row on, as `at` sees it; None when it has none.
    fn with_key_at<T>(
        &self,
        tid: Tid,
        at: Snapshot,
        then: impl FnOnce(&[Datum<'_>]) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut row = RowBuffer::new();
        let ordinals = self.index.ordinals();
        if !self.entry.storage().read(at, tid, ordinals, &mut row)? {
            return Ok(None);
        }
        let value = |ordinal: usize| {
            let place = ordinals.iter().position(|known| *known == ordinal);
            place.map_or(Datum::Null, |place| row.get(place))
        };
        with_key(self.index, value, then)
    }
}

impl Seeker for PairSeeker<'_> {
    fn concerns(&mut self, tid: Tid, at: Snapshot) -> Result<bool> {
        let meets = self.with_key_at(tid, at, |other| self.test.meets(self.key, other))?;
        Ok(meets == Some(true))
    }

    fn found(&mut self, tid: Tid) -> Result<ControlFlow<()>> {
        let seen = self.with_key_at(tid, self.now, |other| {
            let mut bytes = KeyBuffer::new();
            self.index.encode(other, &mut bytes);
            let is_own = bytes[..] == self.own[..];
            let key = other.iter().map(Datum::to_value).collect();
            let met = self.test.meets(self.key, other)?.then_some(Met { tid, key, is_own });
            let is_apart = match self.direction {
                Some(direction) => self.test.is_apart(direction, self.key, other)?,
                None => false,
            };
            Ok((is_own, met, is_apart))
        })?;
        let Some((is_own, met, is_apart)) = seen else { return Ok(ControlFlow::Continue(())) };
        if is_own && self.found.own.contains(&tid) {
            // Both ways begin here.
            return Ok(ControlFlow::Continue(()));
        }
        self.found.own.extend(is_own.then_some(tid));
        self.found.met.extend(met);
        Ok(if is_apart { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
