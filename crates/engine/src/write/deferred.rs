//! Foreign keys that are looked at later: when the transaction commits, or at SET CONSTRAINTS.
//!
//! ```text
//! statement -> keys it wrote, keys that are gone -> Deferred -> COMMIT | SET CONSTRAINTS IMMEDIATE
//! ```
//! What waits are keys and not rows: both sides ask whether a row still refers to a key that no row
//! has. So a row that was corrected or deleted again needs no care, and a key waits once however
//! many rows have it.
//! Invariants: they are looked for as at the end of a statement (`foreign`), after all writes and
//! before the transaction commits. One that was found in order stays noted, for ROLLBACK TO.
//! Source of the rules: PostgreSQL 15, SET CONSTRAINTS.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;
use sql::catalog::{Deferral, ForeignKeyDef, TableMeta};
use sql::statement::{ConstraintMode, Persistence, RelationName, SetConstraints};
use storage::{BufferPool, Datum, MemoryCategory, Reservation};
use types::{Error, Result, SqlState, Value};

use super::foreign;
use super::rows::lost_update;
use crate::Session;
use crate::catalog::{State, TableEntry};

/// Times the checks begin again because a table changed while they waited for it.
const STALE_MAX: usize = 1000;

/// A foreign key, whatever it and its table are called: its table's storage and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KeyId {
    storage: u64,
    index: u64,
}

impl KeyId {
    fn of(entry: &TableEntry, fk: &ForeignKeyDef) -> Result<Self> {
        let position = entry.def.indexes.iter().position(|index| index.name == fk.name);
        let index = position.and_then(|position| entry.indexes_built().get(position));
        let index = index.ok_or_else(|| Error::internal("a foreign key has an index"))?;
        Ok(Self { storage: entry.storage().id(), index: index.spec().id })
    }

    /// The foreign key and its table as they are now; None when one of them is gone.
    fn find(self, state: &State) -> Option<(Arc<TableEntry>, ForeignKeyDef)> {
        let entry = state.tables.values().find(|table| table.storage().id() == self.storage)?;
        let position = entry.indexes_built().iter().position(|i| i.spec().id == self.index)?;
        let name = &entry.def.indexes.get(position)?.name;
        let fk = entry.def.foreign_keys.iter().find(|fk| fk.name == *name)?;
        Some((Arc::clone(entry), fk.clone()))
    }
}

/// Which side of a foreign key changed, and so whose types a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// Rows refer to the key now.
    Referring,
    /// A row no longer has the key.
    Referenced,
}

/// A foreign key for which something waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiting {
    key: KeyId,
    side: Side,
    /// Storage of the table whose rows changed.
    changed: u64,
}

/// One key to look for.
struct Check {
    /// Position of its foreign key.
    of: u32,
    is_done: bool,
    /// Values in the order of the foreign key's columns.
    key: Box<[Value]>,
}

impl Check {
    fn values(&self) -> impl Iterator<Item = Datum<'_>> {
        self.key.iter().map(Datum::from)
    }
}

/// What SET CONSTRAINTS said; of all where no foreign keys are named.
struct Said {
    keys: Option<Vec<KeyId>>,
    mode: ConstraintMode,
}

/// What a transaction has to look at before it commits.
#[derive(Default)]
pub(crate) struct Deferred {
    waiting: Vec<Waiting>,
    /// In the order in which they came up.
    checks: Vec<Check>,
    /// Positions of the checks, by their keys.
    known: HashTable<u32>,
    /// Checks done by SET CONSTRAINTS, in order.
    done: Vec<u32>,
    said: Vec<Said>,
    reserved: Option<Reservation>,
}

/// Where [`Deferred`] was at one moment.
#[derive(Clone, Copy)]
pub(crate) struct DeferredPlace {
    checks: usize,
    done: usize,
    said: usize,
}

impl Deferred {
    /// Whether nothing is to be looked at, and nothing was said of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.checks.is_empty() && self.said.is_empty()
    }

    /// This place, to come back to.
    pub(crate) fn place(&self) -> DeferredPlace {
        DeferredPlace { checks: self.checks.len(), done: self.done.len(), said: self.said.len() }
    }

    /// Forgets what came up since `place`, and what was found in order since then.
    pub(crate) fn go_back(&mut self, place: DeferredPlace) {
        for at in self.done.drain(place.done..) {
            if let Some(check) = self.checks.get_mut(at as usize) {
                check.is_done = false;
            }
        }
        if self.checks.len() > place.checks {
            self.checks.truncate(place.checks);
            self.known.retain(|at| (*at as usize) < place.checks);
        }
        self.said.truncate(place.said);
    }

    /// When the foreign key is tested now.
    fn mode(&self, key: KeyId, deferral: Deferral) -> ConstraintMode {
        let says = |said: &&Said| said.keys.as_ref().is_none_or(|keys| keys.contains(&key));
        match (self.said.iter().rev().find(says), deferral) {
            (_, Deferral::Never) => ConstraintMode::Immediate,
            (Some(said), _) => said.mode,
            (None, Deferral::Immediate) => ConstraintMode::Immediate,
            (None, Deferral::Deferred) => ConstraintMode::Deferred,
        }
    }

    /// Notes a key, unless it waits already.
    fn add(&mut self, pool: &Arc<BufferPool>, waiting: Waiting, key: &[Datum<'_>]) -> Result<()> {
        let known = self.waiting.iter().position(|known| *known == waiting);
        let of = known.unwrap_or(self.waiting.len()) as u32;
        let hash = hash_of(of, key.iter().copied());
        let waits = |at: &u32| {
            let check = &self.checks[*at as usize];
            check.of == of && !check.is_done && check.values().eq(key.iter().copied())
        };
        if self.known.find(hash, waits).is_some() {
            return Ok(());
        }
        let at = u32::try_from(self.checks.len()).map_err(|_| {
            Error::new(SqlState::OUT_OF_MEMORY, "too many deferred checks in a transaction")
        })?;
        let key: Box<[Value]> = key.iter().map(Datum::to_value).collect();
        let empty = || Reservation::empty(pool, MemoryCategory::Temporary);
        self.reserved.get_or_insert_with(empty).grow(bytes_of(&key))?;
        if known.is_none() {
            self.waiting.push(waiting);
        }
        self.checks.push(Check { of, is_done: false, key });
        let again = |at: &u32| {
            let check = &self.checks[*at as usize];
            hash_of(check.of, check.values())
        };
        self.known.insert_unique(hash, at, again);
        Ok(())
    }

    /// Whether a check waits whose foreign key `is_meant`.
    fn waits(&self, is_meant: impl Fn(&Waiting) -> bool) -> bool {
        let meant: Vec<bool> = self.waiting.iter().map(is_meant).collect();
        let waits = |check: &Check| !check.is_done && meant[check.of as usize];
        meant.contains(&true) && self.checks.iter().any(waits)
    }
}

/// A hash that equal keys of the same foreign key share.
fn hash_of<'k>(of: u32, key: impl Iterator<Item = Datum<'k>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    for value in key {
        match value {
            Datum::Null => {}
            Datum::Bool(v) => v.hash(&mut hasher),
            Datum::I32(v) => v.hash(&mut hasher),
            Datum::I64(v) => v.hash(&mut hasher),
            Datum::I128(v) => v.hash(&mut hasher),
            // 0 for both zeros.
            Datum::F64(v) => (v + 0.0).to_bits().hash(&mut hasher),
            Datum::Interval(v) => v.comparable().hash(&mut hasher),
            Datum::Str(text) => text.hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// Memory of a check with this key.
fn bytes_of(key: &[Value]) -> u64 {
    let text = |value: &Value| if let Value::Str(bytes) = value { bytes.len() + 16 } else { 0 };
    let texts: usize = key.iter().map(text).sum();
    // Twice the entry of `known`: its table is never full.
    (size_of::<Check>() + size_of_val(key) + texts + 2 * size_of::<u32>()) as u64
}

/// Whether the foreign key of the table is to be looked at later.
pub(super) fn is_later(session: &Session, entry: &TableEntry, fk: &ForeignKeyDef) -> Result<bool> {
    if !fk.deferral.is_deferrable() {
        return Ok(false);
    }
    let mode = session.work().deferred.mode(KeyId::of(entry, fk)?, fk.deferral);
    Ok(mode == ConstraintMode::Deferred)
}

/// What waits for foreign key `fk` of `child`, when the rows of `changed` on its `side` change.
///
/// # Errors
/// None for a foreign key of the table.
pub(super) fn waiting(
    (child, fk): (&TableEntry, &ForeignKeyDef),
    side: Side,
    changed: &TableEntry,
) -> Result<Waiting> {
    Ok(Waiting { key: KeyId::of(child, fk)?, side, changed: changed.storage().id() })
}

/// Notes `key`, in the order of the columns of its foreign key: rows got it, or have lost it.
///
/// # Errors
/// 53200.
pub(super) fn note(session: &mut Session, waiting: Waiting, key: &[Datum<'_>]) -> Result<()> {
    let pool = Arc::clone(&session.inner().pool);
    session.work_mut().deferred.add(&pool, waiting, key)
}

/// Which checks are done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Those that SET CONSTRAINTS made immediate.
    Immediate,
}

/// Does all checks that wait, before the transaction commits.
///
/// # Errors
/// 23503; 40001, 40P01, 57014 from waiting for others.
pub(crate) fn before_commit(session: &mut Session) -> Result<()> {
    let waits = session.work.as_ref().is_some_and(|work| !work.deferred.checks.is_empty());
    if waits { check(session, Which::All) } else { Ok(()) }
}

fn check(session: &mut Session, which: Which) -> Result<()> {
    // No check writes, so none comes up meanwhile.
    let mut deferred = std::mem::take(&mut session.work_mut().deferred);
    let mut tries = 0;
    let outcome = loop {
        match check_each(session, &mut deferred, which) {
            Err(error) if error.state() == SqlState::STALE_CATALOG && tries < STALE_MAX => {
                tries += 1
            }
            Err(error) if error.state() == SqlState::STALE_CATALOG => break Err(lost_update()),
            other => break other,
        }
    };
    session.work_mut().deferred = deferred;
    outcome
}

fn check_each(session: &mut Session, deferred: &mut Deferred, which: Which) -> Result<()> {
    let state = session.state();
    let found = |waiting: &Waiting| {
        let found = waiting.key.find(&state)?;
        let mode = deferred.mode(waiting.key, found.1.deferral);
        (which == Which::All || mode == ConstraintMode::Immediate).then_some(found)
    };
    let keys: Vec<Option<_>> = deferred.waiting.iter().map(found).collect();
    drop(state);
    let cancel = session.cancel_handle();
    for (at, check) in deferred.checks.iter_mut().enumerate() {
        let of = check.of as usize;
        let (Some(Some((child, fk))), Some(waiting), false) =
            (keys.get(of), deferred.waiting.get(of), check.is_done)
        else {
            continue;
        };
        cancel.check()?;
        let key: Vec<Datum<'_>> = check.values().collect();
        match waiting.side {
            Side::Referring => foreign::check_key(session, child, fk, &key)?,
            Side::Referenced => foreign::check_gone(session, child, fk, &key)?,
        }
        check.is_done = true;
        deferred.done.push(at as u32);
    }
    Ok(())
}

/// SET CONSTRAINTS. What becomes immediate is looked at at once.
///
/// # Errors
/// 42704, 42809, 3F000 for names; 23503.
pub(crate) fn set(session: &mut Session, set: &SetConstraints) -> Result<()> {
    let state = session.state();
    let keys = match &set.names {
        None => None,
        Some(names) => {
            let mut keys = Vec::new();
            for name in names {
                keys.extend(named(&state, name, set.mode)?);
            }
            Some(keys)
        }
    };
    drop(state);
    let work = session.work_mut();
    work.deferred.said.push(Said { keys, mode: set.mode });
    let waits = !work.deferred.checks.is_empty();
    if set.mode == ConstraintMode::Immediate && waits {
        return check(session, Which::Immediate);
    }
    Ok(())
}

/// The deferrable constraints of a name: of temporary tables if they have any, like a relation.
fn named(state: &State, name: &RelationName, mode: ConstraintMode) -> Result<Vec<KeyId>> {
    let constraint = name.name.as_str();
    let key = state.key_of(name)?;
    let schema = name.schema.as_ref().map(|_| RelationName::schema_of_key(&key));
    for persistence in [Persistence::Temporary, Persistence::Permanent] {
        let (mut keys, mut is_any, mut is_fixed) = (Vec::new(), false, false);
        let is_meant = |t: &&Arc<TableEntry>| {
            t.def.persistence == persistence
                && schema.is_none_or(|s| s == RelationName::schema_of_key(&t.def.name))
        };
        for table in state.tables.values().filter(is_meant) {
            for fk in table.foreign_keys().iter().filter(|fk| fk.name == constraint) {
                is_any = true;
                match fk.deferral {
                    Deferral::Never => is_fixed = true,
                    _ => keys.push(KeyId::of(table, fk)?),
                }
            }
            let is_other = table.keys().iter().any(|key| key.name == constraint)
                || table.checks().iter().any(|check| check.name == constraint);
            is_any |= is_other;
            is_fixed |= is_other;
        }
        if is_fixed && mode == ConstraintMode::Deferred {
            let message = format!("constraint \"{constraint}\" is not deferrable");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if is_any {
            return Ok(keys);
        }
    }
    let message = format!("constraint \"{constraint}\" does not exist");
    Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
}

/// Refuses `command` on a table whose rows changed in a way that is still to be looked at.
///
/// # Errors
/// 55006.
pub(crate) fn refuse_waiting(session: &Session, entry: &TableEntry, command: &str) -> Result<()> {
    let storage = entry.storage().id();
    refuse(session, entry, command, |waiting| waiting.changed == storage)
}

/// As [`refuse_waiting`] for ALTER TABLE, after which the foreign keys of the table are others.
/// Departure from PostgreSQL: keys that a referenced table lost are in its way, too.
///
/// # Errors
/// 55006.
pub(crate) fn refuse_altered(session: &Session, entry: &TableEntry) -> Result<()> {
    let storage = entry.storage().id();
    let concerns = |w: &Waiting| w.changed == storage || w.key.storage == storage;
    refuse(session, entry, "ALTER TABLE", concerns)
}

fn refuse(
    session: &Session,
    entry: &TableEntry,
    command: &str,
    is_meant: impl Fn(&Waiting) -> bool,
) -> Result<()> {
    if !session.work().deferred.waits(is_meant) {
        return Ok(());
    }
    let name = entry.def.bare_name();
    let message = format!("cannot {command} \"{name}\" because it has pending trigger events");
    Err(Error::new(SqlState::OBJECT_IN_USE, message))
}
