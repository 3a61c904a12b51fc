//! Foreign keys, keys and EXCLUDE that are looked at later: when the transaction commits, or at SET
//! CONSTRAINTS.
//!
//! ```text
//! statement -> keys it wrote, keys that are gone -> Deferred -> COMMIT | SET CONSTRAINTS IMMEDIATE
//! ```
//! Keys wait, not rows: both sides ask whether a row still refers to a key that no row
//! has. So a row that was corrected or deleted again needs no care, and a key waits once however
//! many rows have it.
//! Invariants: they are looked for as at the end of a statement (`foreign`), after all writes and
//! before the transaction commits. One that was found in order stays noted, for ROLLBACK TO.
//! Source of the rules: PostgreSQL 15, SET CONSTRAINTS.

use std::sync::Arc;

use catalog::{State, TableEntry};
use sql::catalog::{Deferral, TableMeta};
use sql::statement::{ConstraintMode, Persistence, RelationName, SetConstraints};
use storage::Datum;
use types::{Error, Result, SqlState};

use super::{exclusion, foreign, triggers, unique};
use crate::Session;
use crate::statement::running::Running;
use crate::transaction::deferred::{Constraint, Deferred, KeyId, LaterRows, Said, Side, Waiting};
use crate::transaction::work::lost_update;

/// Times the checks begin again because a table changed while they waited for it.
const STALE_MAX: usize = 1000;

/// True when the constraint of the table is to be looked at later.
pub(super) fn is_later(
    session: &Session,
    entry: &TableEntry,
    name: &str,
    deferral: Deferral,
) -> Result<bool> {
    if !deferral.is_deferrable() {
        return Ok(false);
    }
    let mode = session.work().deferred.mode(KeyId::of(entry, name)?, deferral);
    Ok(mode == ConstraintMode::Deferred)
}

/// Check that waits for a constraint of `owner` when rows of `changed` on its `side` change.
///
/// # Errors
/// None for a constraint of the table.
pub(super) fn waiting(
    owner: &TableEntry,
    name: &str,
    side: Side,
    changed: &TableEntry,
) -> Result<Waiting> {
    Ok(Waiting { key: KeyId::of(owner, name)?, side, changed: changed.storage().id() })
}

/// Notes `key`, in the order of the columns of its foreign key: rows got it, or have lost it.
///
/// # Errors
/// 53200.
pub(super) fn note(running: &mut Running<'_>, waiting: Waiting, key: &[Datum<'_>]) -> Result<()> {
    let pool = Arc::clone(&running.session.inner().pool);
    running.session.work_mut().deferred.add(&pool, waiting, key)
}

/// Which checks are done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Checks that SET CONSTRAINTS made immediate.
    Immediate,
}

/// Runs all checks that wait, before the transaction commits.
///
/// # Errors
/// 23503; 40001, 40P01, 57014 from waiting for others.
pub(crate) fn before_commit(running: &mut Running<'_>) -> Result<()> {
    let Some(work) = running.session.work.as_ref() else { return Ok(()) };
    if !work.deferred.later.is_empty() {
        fire(running, Which::All)?;
    }
    let waits = running.session.work.as_ref().is_some_and(|work| !work.deferred.checks.is_empty());
    if waits { check(running, Which::All) } else { Ok(()) }
}

/// Fires constraint triggers that wait, also for rows that their functions write.
fn fire(running: &mut Running<'_>, which: Which) -> Result<()> {
    let is_meant = |deferred: &Deferred, rows: &LaterRows| {
        which == Which::All || !deferred.is_later(&rows.def)
    };
    while let Some(rows) = running.session.work_mut().deferred.next_rows(is_meant) {
        triggers::fire_later(running, rows)?;
    }
    Ok(())
}

fn check(running: &mut Running<'_>, which: Which) -> Result<()> {
    // No check writes, so none comes up meanwhile.
    let mut deferred = std::mem::take(&mut running.session.work_mut().deferred);
    let mut tries = 0;
    let outcome = loop {
        match check_each(running, &mut deferred, which) {
            Err(error) if error.state() == SqlState::STALE_CATALOG && tries < STALE_MAX => {
                tries += 1
            }
            Err(error) if error.state() == SqlState::STALE_CATALOG => break Err(lost_update()),
            other => break other,
        }
    };
    running.session.work_mut().deferred = deferred;
    outcome
}

fn check_each(running: &mut Running<'_>, deferred: &mut Deferred, which: Which) -> Result<()> {
    let state = running.session.state();
    let found = |waiting: &Waiting| {
        let found = waiting.key.find(&state)?;
        let mode = deferred.mode(waiting.key, found.1.deferral());
        (which == Which::All || mode == ConstraintMode::Immediate).then_some(found)
    };
    let keys: Vec<Option<_>> = deferred.waiting.iter().map(found).collect();
    drop(state);
    let cancel = running.session.cancel_handle();
    for (at, check) in deferred.checks.iter_mut().enumerate() {
        let of = check.of as usize;
        let (Some(Some((owner, constraint))), Some(waiting), false) =
            (keys.get(of), deferred.waiting.get(of), check.is_done)
        else {
            continue;
        };
        cancel.check()?;
        let key: Vec<Datum<'_>> = check.values().collect();
        match (constraint, waiting.side) {
            (Constraint::Unique(unique), _) => unique::check(running, owner, unique, &key)?,
            (Constraint::Exclusion(position, _), _) => {
                exclusion::check(running, owner, *position, &key)?;
            }
            (Constraint::Foreign(fk), Side::Referenced) => {
                foreign::check_gone(running, owner, fk, &key)?;
            }
            (Constraint::Foreign(fk), _) => foreign::check_key(running, owner, fk, &key)?,
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
pub(crate) fn set(running: &mut Running<'_>, set: &SetConstraints) -> Result<()> {
    let state = running.session.state();
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
    let work = running.session.work_mut();
    work.deferred.said.push(Said { keys, mode: set.mode });
    if set.mode != ConstraintMode::Immediate {
        return Ok(());
    }
    fire(running, Which::Immediate)?;
    if running.session.work_mut().deferred.checks.is_empty() {
        return Ok(());
    }
    check(running, Which::Immediate)
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
            let foreign = table.foreign_keys().iter().map(|fk| (&fk.name, fk.deferral));
            let own = table.keys().iter().map(|key| (&key.name, key.deferral));
            if own.clone().any(|(name, _)| *name == constraint) {
                of_parts(state, table, constraint, &mut keys)?;
            }
            let excluding = table.def.indexes.iter();
            let excluding =
                excluding.filter_map(|i| Some((&i.name, i.terms.exclusion.as_ref()?.deferral)));
            for (_, deferral) in
                foreign.chain(own).chain(excluding).filter(|(name, _)| *name == constraint)
            {
                is_any = true;
                match deferral {
                    Deferral::Never => is_fixed = true,
                    _ => keys.push(KeyId::of(table, constraint)?),
                }
            }
            for def in state.triggers_of(&table.def.name) {
                let Some(deferral) = def.constraint.filter(|_| def.name == constraint) else {
                    continue;
                };
                is_any = true;
                match deferral {
                    Deferral::Never => is_fixed = true,
                    _ => keys.push(KeyId::of_trigger(constraint)),
                }
            }
            let is_check = table.checks().iter().any(|check| check.name == constraint);
            is_any |= is_check;
            is_fixed |= is_check;
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

/// The keys of partitions that are parts of the key `name` of a table.
fn of_parts(state: &State, table: &TableEntry, name: &str, out: &mut Vec<KeyId>) -> Result<()> {
    let parts = table.partitions().into_iter().flat_map(|tree| &tree.root.parts);
    for part in parts {
        let Some(entry) = state.tables.get(&part.table) else { continue };
        let place = entry.def.partition_of.as_ref();
        let own = place.and_then(|place| place.indexes.iter().find(|(of, _)| of == name));
        let Some((_, own)) = own else { continue };
        if entry.def.keys.iter().any(|key| key.name == *own && key.deferral.is_deferrable()) {
            out.push(KeyId::of(entry, own)?);
        }
        of_parts(state, entry, own, out)?;
    }
    Ok(())
}

/// Refuses `command` on a table that a statement around it uses, or whose rows changed in a way
/// that is still to be looked at.
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
    let deferred = &session.work().deferred;
    let reason = if session.in_use.contains(&entry.storage().id()) {
        "is being used by active queries in this session"
    } else if deferred.waits(is_meant) || deferred.waits_for_rows(entry.storage().id()) {
        "has pending trigger events"
    } else {
        return Ok(());
    };
    let name = entry.def.bare_name();
    let message = format!("cannot {command} \"{name}\" because it {reason}");
    Err(Error::new(SqlState::OBJECT_IN_USE, message))
}
