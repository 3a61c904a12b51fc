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

use sql::statement::{ConflictAction, OnConflict};
use storage::{
    Datum, Direction, KeyBuffer, KeySearch, RowBuffer, Seeker, Snapshot, TableIndex, Tid,
};
use types::{Error, Result, SqlState};

use super::rows::{attempt, index_number};
use crate::catalog::TableEntry;
use crate::catalog::exclusions::{Meeting, PairTest};
use crate::statement::running::Running;
use crate::transaction::work::{newest, stale};

/// Values of a key that outlive the row they were read from.
type Key = Vec<types::Value>;

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
    let meets_itself = test.meeting(key, key)? == Meeting::Excluded;
    if test.is_of_neighbours() && !meets_itself {
        // An empty range.
        return Ok(());
    }
    let found = search(running, entry, position, key)?;
    // The row itself is among them.
    let others = found.met.len().saturating_sub(usize::from(meets_itself));
    if !found.has_own || others == 0 {
        return Ok(());
    }
    let index = &entry.def.indexes[position];
    let other = found.other.as_ref().or(found.met.first());
    let other: Vec<Datum<'_>> =
        other.into_iter().flat_map(|(_, key)| key).map(Datum::from).collect();
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
        let built = entry.indexes_built().get(position).cloned().ok_or_else(stale)?;
        let schema = entry.storage().schema().columns();
        let value = |ordinal: usize| {
            let datum: Datum<'_> = row[ordinal];
            datum.widened(schema[ordinal].physical()).unwrap_or(datum)
        };
        let mut made = RowBuffer::new();
        let Some(key) = built.key_values(value, &mut made)? else { continue };
        if key.iter().any(Datum::is_null) {
            continue;
        }
        let found = search(running, entry, position, &key)?;
        let meets_itself = entry.pair_test(position)?.meeting(&key, &key)? == Meeting::Excluded;
        if found.met.len() > usize::from(meets_itself) {
            let other = found.other.or(found.met.into_iter().next());
            return Ok(other.map(|(tid, _)| tid));
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
    let index = entry.indexes_built().get(position).cloned().ok_or_else(stale)?;
    let exclusion = entry.def.indexes[position].terms.exclusion.as_ref();
    let equal = exclusion.map_or(0, sql::catalog::Exclusion::equal);
    let test = entry.pair_test(position)?;
    let cancel = running.session.cancel_handle();
    let work = running.session.work_mut();
    let (txn, now) = (work.txn.id(), newest(work));
    let mut own = KeyBuffer::new();
    index.encode(key, &mut own);
    let (side, found) = (0, Found::default());
    let mut seeker = PairSeeker { entry, index: &index, test, key, own: &own, now, side, found };
    let directions: &[Option<Direction>] = if test.is_of_neighbours() {
        &[Some(Direction::Backward), Some(Direction::Forward)]
    } else {
        &[None]
    };
    let outcome = attempt(work, &cancel, |_| {
        seeker.found = Found::default();
        for (side, direction) in directions.iter().enumerate() {
            seeker.side = side;
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

/// Rows that a search came by.
#[derive(Default)]
struct Found {
    /// Keys of those that the new one meets, itself among them if it meets itself.
    met: Vec<(Tid, Key)>,
    /// One of them that has another key than the new one.
    other: Option<(Tid, Key)>,
    /// True when a row has the key that was asked for.
    has_own: bool,
    /// Rows that have it, which both sides of it come by.
    own_rows: Vec<Tid>,
}

struct PairSeeker<'a> {
    entry: &'a Arc<TableEntry>,
    index: &'a TableIndex,
    test: &'a PairTest,
    key: &'a [Datum<'a>],
    own: &'a KeyBuffer,
    now: Snapshot,
    side: usize,
    found: Found,
}

impl PairSeeker<'_> {
    /// Hands the key of a row on, as `at` sees it; None when it has none.
    fn with_key<T>(
        &self,
        tid: Tid,
        at: Snapshot,
        then: impl FnOnce(&[Datum<'_>]) -> Result<T>,
    ) -> Result<Option<T>> {
        let (mut row, mut made) = (RowBuffer::new(), RowBuffer::new());
        let ordinals = self.index.ordinals();
        if !self.entry.storage().read(at, tid, ordinals, &mut row)? {
            return Ok(None);
        }
        let value = |ordinal: usize| {
            let place = ordinals.iter().position(|known| *known == ordinal);
            place.map_or(Datum::Null, |place| row.get(place))
        };
        match self.index.key_values(value, &mut made)? {
            Some(key) if !key.iter().any(Datum::is_null) => then(&key).map(Some),
            _ => Ok(None),
        }
    }
}

impl Seeker for PairSeeker<'_> {
    fn concerns(&mut self, tid: Tid, at: Snapshot) -> Result<bool> {
        let meeting = self.with_key(tid, at, |other| self.test.meeting(self.key, other))?;
        Ok(meeting == Some(Meeting::Excluded))
    }

    fn found(&mut self, tid: Tid) -> Result<ControlFlow<()>> {
        let seen = self.with_key(tid, self.now, |other| {
            let mut bytes = KeyBuffer::new();
            self.index.encode(other, &mut bytes);
            let key: Key = other.iter().map(Datum::to_value).collect();
            let meeting = self.test.meeting(self.key, other)?;
            let is_apart = self.test.is_apart(self.side, self.key, other)?;
            Ok((key, bytes[..] == self.own[..], meeting, is_apart))
        })?;
        let Some((key, is_own, meeting, is_apart)) = seen else {
            return Ok(ControlFlow::Continue(()));
        };
        if is_own {
            if self.found.own_rows.contains(&tid) {
                return Ok(ControlFlow::Continue(()));
            }
            self.found.own_rows.push(tid);
            self.found.has_own = true;
        }
        if meeting == Meeting::Excluded {
            if !is_own {
                self.found.other = Some((tid, key.clone()));
            }
            self.found.met.push((tid, key));
        }
        Ok(if is_apart { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
