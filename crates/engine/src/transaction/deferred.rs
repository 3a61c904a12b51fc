//! Foreign keys, and keys, that a transaction looks at later: what waits, and what SET CONSTRAINTS
//! said.
//!
//! Elsewhere: how it is looked for (`write::deferred`).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use catalog::{State, TableEntry};
use hashbrown::HashTable;
use kernels::Batch;
use sql::catalog::{Deferral, ForeignKeyDef, KeyDef, TriggerDef, TriggerEvent};
use sql::statement::ConstraintMode;
use storage::{BufferPool, Datum, IndexId, MemoryCategory, Reservation, TableId};
use types::{Error, Result, SqlState, Value};

/// A foreign key or a key, whatever it and its table are called: its table's storage and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyId {
    pub(crate) storage: TableId,
    pub(crate) index: IndexId,
}

impl KeyId {
    /// The constraint of this name.
    pub(crate) fn of(entry: &TableEntry, name: &str) -> Result<Self> {
        let position = entry.def.indexes.iter().position(|index| index.name == name);
        let index = position.and_then(|position| entry.indexes_built().get(position));
        let index = index.ok_or_else(|| Error::internal("a constraint has an index"))?;
        Ok(Self { storage: entry.storage().id(), index: index.spec().id })
    }

    /// The constraint triggers of this name, of whatever tables.
    pub(crate) fn of_trigger(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        // No table has this storage.
        Self { storage: TableId(u64::MAX), index: IndexId(hasher.finish()) }
    }

    /// The constraint and its table as they are now; None when one of them is gone.
    pub(crate) fn find(self, state: &State) -> Option<(Arc<TableEntry>, Constraint)> {
        let entry = state.tables.values().find(|table| table.storage().id() == self.storage)?;
        let position = entry.indexes_built().iter().position(|i| i.spec().id == self.index)?;
        let name = &entry.def.indexes.get(position)?.name;
        let foreign = entry.def.foreign_keys.iter().find(|fk| fk.name == *name);
        let key = || entry.def.keys.iter().find(|key| key.name == *name);
        let exclusion = entry.def.indexes[position].terms.exclusion.as_ref();
        let constraint = match (foreign, exclusion) {
            (Some(fk), _) => Constraint::Foreign(fk.clone()),
            (_, Some(exclusion)) => Constraint::Exclusion(position, exclusion.deferral),
            _ => Constraint::Unique(key()?.clone()),
        };
        Some((Arc::clone(entry), constraint))
    }
}

/// A constraint that may be looked at later.
pub(crate) enum Constraint {
    Foreign(ForeignKeyDef),
    Unique(KeyDef),
    /// EXCLUDE: the position of its index in the definition.
    Exclusion(usize, Deferral),
}

impl Constraint {
    pub(crate) fn deferral(&self) -> Deferral {
        match self {
            Self::Foreign(fk) => fk.deferral,
            Self::Unique(key) => key.deferral,
            Self::Exclusion(_, deferral) => *deferral,
        }
    }
}

/// Which side of a constraint changed, and so whose types a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// Rows refer to the key now.
    Referring,
    /// A row no longer has the key.
    Referenced,
    /// Rows got the key, which is to be theirs alone.
    Unique,
}

/// A foreign key for which something waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) key: KeyId,
    pub(crate) side: Side,
    /// Storage of the table whose rows changed.
    pub(crate) changed: TableId,
}

/// One key to look for.
pub(crate) struct Check {
    /// Position of its foreign key.
    pub(crate) of: u32,
    pub(crate) is_done: bool,
    /// Values in the order of the foreign key's columns.
    pub(crate) key: Box<[Value]>,
}

impl Check {
    pub(crate) fn values(&self) -> impl Iterator<Item = Datum<'_>> {
        self.key.iter().map(Datum::from)
    }
}

/// Rows for which a constraint trigger fires later.
#[derive(Clone)]
pub(crate) struct LaterRows {
    pub(crate) entry: Arc<TableEntry>,
    pub(crate) event: TriggerEvent,
    /// All columns as they were; None for new rows.
    pub(crate) old: Option<Batch>,
    /// All columns as they are; None for rows that are gone.
    pub(crate) new: Option<Batch>,
    pub(crate) def: Arc<TriggerDef>,
    pub(crate) is_done: bool,
}

/// Mode that SET CONSTRAINTS set; for all where no foreign keys are named.
pub(crate) struct Said {
    pub(crate) keys: Option<Vec<KeyId>>,
    pub(crate) mode: ConstraintMode,
}

/// Checks that a transaction has to do before it commits.
#[derive(Default)]
pub(crate) struct Deferred {
    pub(crate) waiting: Vec<Waiting>,
    /// In the order in which they came up.
    pub(crate) checks: Vec<Check>,
    /// Positions of the checks, by their keys.
    pub(crate) known: HashTable<u32>,
    /// Checks done by SET CONSTRAINTS, in order.
    pub(crate) done: Vec<u32>,
    pub(crate) said: Vec<Said>,
    /// Rows for which triggers fire later, in the order in which they were written.
    pub(crate) later: Vec<LaterRows>,
    /// Positions of those that SET CONSTRAINTS let fire, in order.
    pub(crate) fired: Vec<usize>,
    pub(crate) reserved: Option<Reservation>,
}

/// Where [`Deferred`] was at one moment.
#[derive(Clone, Copy)]
pub(crate) struct DeferredPlace {
    pub(crate) checks: usize,
    pub(crate) done: usize,
    pub(crate) said: usize,
    pub(crate) later: usize,
    pub(crate) fired: usize,
}

impl Deferred {
    /// True when no check waits and SET CONSTRAINTS changed no mode.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
            && self.checks.is_empty()
            && self.said.is_empty()
            && self.later.is_empty()
    }

    /// This place, to come back to.
    pub(crate) fn place(&self) -> DeferredPlace {
        DeferredPlace {
            checks: self.checks.len(),
            done: self.done.len(),
            said: self.said.len(),
            later: self.later.len(),
            fired: self.fired.len(),
        }
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
        for at in self.fired.drain(place.fired..) {
            if let Some(rows) = self.later.get_mut(at) {
                rows.is_done = false;
            }
        }
        self.later.truncate(place.later);
    }

    /// True when the trigger fires at the end of the transaction.
    pub(crate) fn is_later(&self, def: &TriggerDef) -> bool {
        let mode = |deferral| self.mode(KeyId::of_trigger(&def.name), deferral);
        def.constraint.map(mode) == Some(ConstraintMode::Deferred)
    }

    /// The first rows that wait for triggers that `is_meant`; they wait no longer.
    pub(crate) fn next_rows(
        &mut self,
        is_meant: impl Fn(&Self, &LaterRows) -> bool,
    ) -> Option<LaterRows> {
        let at = self.later.iter().position(|rows| !rows.is_done && is_meant(self, rows))?;
        let rows = self.later.get_mut(at)?;
        rows.is_done = true;
        self.fired.push(at);
        Some(rows.clone())
    }

    /// When the foreign key is tested now.
    pub(crate) fn mode(&self, key: KeyId, deferral: Deferral) -> ConstraintMode {
        let says = |said: &&Said| said.keys.as_ref().is_none_or(|keys| keys.contains(&key));
        match (self.said.iter().rev().find(says), deferral) {
            (_, Deferral::Never) => ConstraintMode::Immediate,
            (Some(said), _) => said.mode,
            (None, Deferral::Immediate) => ConstraintMode::Immediate,
            (None, Deferral::Deferred) => ConstraintMode::Deferred,
        }
    }

    /// Notes a key, unless it waits already.
    pub(crate) fn add(
        &mut self,
        pool: &Arc<BufferPool>,
        waiting: Waiting,
        key: &[Datum<'_>],
    ) -> Result<()> {
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

    /// True when a trigger waits for rows of the table with this storage.
    pub(crate) fn waits_for_rows(&self, storage: TableId) -> bool {
        self.later.iter().any(|rows| !rows.is_done && rows.entry.storage().id() == storage)
    }

    /// True when a check waits whose foreign key `is_meant`.
    pub(crate) fn waits(&self, is_meant: impl Fn(&Waiting) -> bool) -> bool {
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
