//! Foreign keys, looked at when a statement has written all its rows.
//!
//! ```text
//! referring row written  -> is the key there?          (index of the referenced key)
//! referenced key gone    -> who refers to it still?    (index of the foreign key) -> action
//! ```
//! Where a foreign key is deferred, the keys are noted, and looked for before COMMIT (`deferred`).
//! Both sides write first and look afterwards, at the newest state of the rows, waiting for
//! transactions that are changing it: so of two transactions that meet, one sees the other.
//! Source of the rules: SQL:2016, MATCH SIMPLE; PostgreSQL 15: RESTRICT is tested at the end of the
//! statement, too, but refuses though another row took the key over.

use std::sync::Arc;

use catalog::keys::{self, referring, referring_index};
use catalog::rows::Rows;
use catalog::triggers::ReplicationRole;
use catalog::{TableDef, TableEntry, wide};
use kernels::{Batch, Column, Vector, VectorBuilder};
use sql::catalog::{ForeignKeyDef, KeyMatch, TableMeta};
use sql::statement::RelationName;
use storage::{Datum, KeyBuffer, RowBuffer, Tid};
use types::cast::assign_value;
use types::{Error, PhysicalType, Result, SqlState, Value};

use super::change::{Action, cascade};
use super::deferred;
use super::exclusion;
use super::fitted::fit;
use super::parent::{Parent, types_of};
use super::rows::{find, index_number, key_of};
use super::unique;
use crate::Session;
use crate::statement::at_end::After;
use crate::statement::defaults::default_of;
use crate::statement::running::Running;
use crate::transaction::deferred::Side;
use crate::transaction::work::newest;

/// Looks for the referenced keys of new rows `batch` (all columns), or notes them for the end of
/// the statement. After an update only foreign keys over its `columns` count.
///
/// # Errors
/// 23503.
pub(crate) fn check_present(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    batch: &Batch,
    columns: Option<&[usize]>,
) -> Result<()> {
    if batch.rows == 0 || !entry.looks_at_keys() {
        return Ok(());
    }
    if let Some(at_end) = &mut running.at_end {
        at_end.written(entry, batch, columns);
        return Ok(());
    }
    look_for(running, entry, batch, columns)
}

/// [`check_present`], now; and no second row has the keys that are DEFERRABLE, none is excluded.
pub(super) fn look_for(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    batch: &Batch,
    columns: Option<&[usize]>,
) -> Result<()> {
    let rows = Rows::new(batch);
    look_for_second(running, entry, &rows, columns)?;
    look_for_excluded(running, entry, &rows, columns)?;
    let own = &entry.def.foreign_keys;
    if own.is_empty() || is_replica(running.session, entry)? {
        return Ok(());
    }
    for fk in own.iter().filter(|fk| !fk.untested.has_new_keys()) {
        if columns.is_some_and(|columns| !fk.columns.iter().any(|c| columns.contains(c))) {
            continue;
        }
        if deferred::is_later(running.session, entry, &fk.name, fk.deferral)? {
            note_keys(running, entry, fk, &rows)?;
            continue;
        }
        let parent = Parent::of(running, fk, types_of(entry, &fk.columns))?;
        let mut parent = parent.for_keys(rows.count);
        for row in 0..rows.count {
            let key: Vec<Datum<'_>> = fk.columns.iter().map(|&c| rows.get(c, row)).collect();
            if key.iter().any(Datum::is_null) {
                refuse_mixed(entry, fk, &key)?;
            } else if !parent.has(running, &key)? {
                refuse_missing(running.session, entry, fk, &key)?;
            }
        }
    }
    Ok(())
}

/// True when the session's `session_replication_role` leaves foreign keys alone.
///
/// # Errors
/// 0A000 for a table of which a wide table relies on its keys.
fn is_replica(session: &Session, entry: &TableEntry) -> Result<bool> {
    let role = ReplicationRole::of(session.settings.changed("session_replication_role"));
    if role == ReplicationRole::Origin {
        return Ok(false);
    }
    if wide::over(&session.state(), &entry.def.name).next().is_some() {
        let what = "session_replication_role = replica for tables of wide tables";
        return Err(Error::unsupported(what));
    }
    Ok(true)
}

/// Looks for second rows with the keys of new `rows` that are DEFERRABLE, or notes the keys.
fn look_for_second(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    rows: &Rows,
    columns: Option<&[usize]>,
) -> Result<()> {
    for key in keys::deferrable(entry) {
        if columns.is_some_and(|columns| !key.columns.iter().any(|c| columns.contains(c))) {
            continue;
        }
        let is_later = deferred::is_later(running.session, entry, &key.name, key.deferral)?;
        let waiting = deferred::waiting(entry, &key.name, Side::Unique, entry)?;
        let mut values = Vec::with_capacity(key.columns.len());
        for row in 0..rows.count {
            values.clear();
            values.extend(key.columns.iter().map(|&column| rows.get(column, row)));
            if values.iter().any(Datum::is_null) {
                continue;
            }
            if is_later {
                deferred::note(running, waiting, &values)?;
            } else {
                unique::check(running, entry, key, &values)?;
            }
        }
    }
    Ok(())
}

/// Looks for rows that new `rows` (all columns) exclude, or notes their keys. After an update only
/// constraints over its `columns` count.
///
/// # Errors
/// 23P01; 40001, 40P01, 57014 from waiting for others.
fn look_for_excluded(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    rows: &Rows,
    columns: Option<&[usize]>,
) -> Result<()> {
    for position in entry.exclusions() {
        let own = entry.columns_of_index(position);
        if columns.is_some_and(|columns| !own.iter().any(|c| columns.contains(c))) {
            continue;
        }
        let index = &entry.def.indexes[position];
        let deferral = index.terms.exclusion.as_ref().map(|exclusion| exclusion.deferral);
        let deferral = deferral.unwrap_or_default();
        let is_later = deferred::is_later(running.session, entry, &index.name, deferral)?;
        let waiting = deferred::waiting(entry, &index.name, Side::Unique, entry)?;
        for row in 0..rows.count {
            let value = |ordinal: usize| rows.get(ordinal, row);
            exclusion::with_new_key(entry, position, value, |key| {
                if is_later {
                    deferred::note(running, waiting, key)
                } else {
                    exclusion::check(running, entry, position, key)
                }
            })?;
        }
    }
    Ok(())
}

/// Notes the keys of all rows, to be looked for later.
fn note_keys(
    running: &mut Running<'_>,
    entry: &TableEntry,
    fk: &ForeignKeyDef,
    rows: &Rows,
) -> Result<()> {
    let waiting = deferred::waiting(entry, &fk.name, Side::Referring, entry)?;
    let mut key = Vec::with_capacity(fk.columns.len());
    for row in 0..rows.count {
        key.clear();
        key.extend(fk.columns.iter().map(|&c| rows.get(c, row)));
        if key.iter().any(Datum::is_null) {
            refuse_mixed(entry, fk, &key)?
        } else {
            deferred::note(running, waiting, &key)?
        }
    }
    Ok(())
}

/// Looks for a key that rows of `entry` got some time ago, if they still have it.
///
/// # Errors
/// 23503.
pub(super) fn check_key(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    fk: &ForeignKeyDef,
    key: &[Datum<'_>],
) -> Result<()> {
    if Parent::of(running, fk, types_of(entry, &fk.columns))?.has(running, key)? {
        return Ok(());
    }
    refuse_missing(running.session, entry, fk, key)
}

/// Refuses that rows of `entry` have a key that is not there; an action may have taken them away.
fn refuse_missing(
    session: &Session,
    entry: &TableEntry,
    fk: &ForeignKeyDef,
    key: &[Datum<'_>],
) -> Result<()> {
    // Rows of others that run are theirs to look after.
    let index = referring_index(entry, fk)?;
    let index = index_number(entry, index).ok_or_else(crate::transaction::work::stale)?;
    let (now, mut tids) = (newest(session.work()), Vec::new());
    // New rows may have narrower numbers than the table.
    let columns = entry.storage().schema().columns();
    let widened = key.iter().zip(&fk.columns);
    let widened: Vec<Datum<'_>> = widened
        .map(|(datum, &column)| datum.widened(columns[column].physical()).unwrap_or(*datum))
        .collect();
    entry.storage().tids_of(index, now, &widened, &mut KeyBuffer::new(), &mut tids)?;
    if tids.is_empty() { Ok(()) } else { Err(missing(&entry.def, fk, &values_of(key))) }
}

/// Looks for rows of `child` that refer to a key that was gone some time ago, if it still is.
///
/// # Errors
/// 23503.
pub(super) fn check_gone(
    running: &mut Running<'_>,
    child: &Arc<TableEntry>,
    fk: &ForeignKeyDef,
    key: &[Datum<'_>],
) -> Result<()> {
    let entry = running.session.write_table_named(&fk.table.name)?;
    let index = referring_index(child, fk)?;
    let types = fk.references.iter().map(|&c| entry.def.columns[c].ty);
    let mut fitted = RowBuffer::new();
    let Some(child_key) = fit(child, index, types, key, &mut fitted) else { return Ok(()) };
    if find(running, child, index, &child_key, 1)?.is_empty() {
        return Ok(());
    }
    refuse_gone(running, &entry, child, fk, key)
}

/// Refuses that rows of `child` refer to a key that is gone, unless another row has taken it over.
fn refuse_gone(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    child: &TableEntry,
    fk: &ForeignKeyDef,
    key: &[Datum<'_>],
) -> Result<()> {
    // A key of a partition may be in another one now.
    let declared = child.def.foreign_keys.iter().find(|known| known.name == fk.name);
    let types = types_of(entry, &fk.references);
    let mut parent = Parent::of(running, declared.unwrap_or(fk), types)?;
    if parent.has(running, key)? {
        return Ok(());
    }
    Err(still_referenced(&entry.def, &child.def, fk, &values_of(key)))
}

/// # Errors
/// 23503 for a key of NULLs and values under MATCH FULL.
fn refuse_mixed(entry: &TableEntry, fk: &ForeignKeyDef, key: &[Datum<'_>]) -> Result<()> {
    if fk.matching == KeyMatch::Simple || key.iter().all(Datum::is_null) {
        return Ok(());
    }
    Err(mixed(&entry.def, fk))
}

/// 23503 for NULLs and values in one key.
pub(crate) fn mixed(def: &TableDef, fk: &ForeignKeyDef) -> Error {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        def.bare_name(),
        fk.name
    );
    let detail = "MATCH FULL does not allow mixing of null and nonnull key values.";
    let about = def.about_constraint(&fk.name);
    Error::new(SqlState::FOREIGN_KEY_VIOLATION, message).with_detail(detail).about_part(about)
}

/// The values of a key.
fn values_of(key: &[Datum<'_>]) -> Vec<Value> {
    key.iter().map(Datum::to_value).collect()
}

/// 23503 for rows of `def` whose key `fk` refers to nothing.
pub(super) fn missing(def: &TableDef, fk: &ForeignKeyDef, key: &[Value]) -> Error {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        def.bare_name(),
        fk.name
    );
    let key = key_of(&def.columns, &fk.columns, &mut key.iter().map(Datum::from));
    let name = RelationName::name_of_key(&fk.table.name);
    let detail = format!("Key {key} is not present in table \"{name}\".");
    let about = def.about_constraint(&fk.name);
    Error::new(SqlState::FOREIGN_KEY_VIOLATION, message).with_detail(detail).about_part(about)
}

/// Looks after rows that refer to keys that `before` (all columns, rows as they were) had and that
/// they no longer have `after`: refuses, or does the key's action; or notes them for the end of the
/// statement.
///
/// # Errors
/// 23503; whatever the actions meet.
pub(crate) fn keys_gone(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    before: &Batch,
    after: After,
) -> Result<()> {
    if before.rows == 0 {
        return Ok(());
    }
    if let Some(at_end) = &mut running.at_end {
        at_end.gone(entry, before, after);
        return Ok(());
    }
    react(running, entry, before, &after)
}

/// [`keys_gone`], now.
pub(super) fn react(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    before: &Batch,
    after: &After,
) -> Result<()> {
    let old = Rows::new(before);
    let new = match after {
        // Rows may be gone again by an action on themselves: then there is no new key.
        After::At(tids) => Some(new_rows(running.session, entry, tids)?),
        After::Elsewhere(rows) => {
            let rows = Rows::new(rows);
            let row = |at| {
                let mut row = RowBuffer::new();
                (0..rows.width()).for_each(|column| row.push(rows.get(column, at)));
                Some(row)
            };
            Some((0..rows.count).map(row).collect())
        }
        After::Nowhere => None,
    };
    let mut all = referring(&running.session.state(), entry, None);
    all.retain(|(_, fk)| !fk.untested.has_gone_keys());
    if all.is_empty() || is_replica(running.session, entry)? {
        return Ok(());
    }
    for (child, fk) in all {
        for row in 0..old.count {
            let key: Vec<Datum<'_>> = fk.references.iter().map(|&c| old.get(c, row)).collect();
            if key.iter().any(Datum::is_null) {
                continue;
            }
            let changed = new.as_ref().and_then(|new| new[row].as_ref());
            if changed.is_some_and(|new| same_key(&fk, &key, new)) {
                continue;
            }
            gone(running, entry, Gone { child: &child, fk: &fk, key: &key, new: changed })?;
        }
    }
    Ok(())
}

/// True when a key has the same values in the changed row.
fn same_key(fk: &ForeignKeyDef, key: &[Datum<'_>], new: &RowBuffer) -> bool {
    fk.references.iter().zip(key).all(|(&column, old)| match (new.get(column), old) {
        (Datum::F64(new), Datum::F64(old)) => new == *old || new.is_nan() && old.is_nan(),
        (new, old) => new == *old,
    })
}

fn new_rows(session: &Session, entry: &TableEntry, tids: &[Tid]) -> Result<Vec<Option<RowBuffer>>> {
    let now = newest(session.work());
    let ordinals: Vec<usize> = (0..entry.def.columns.len()).collect();
    let read = |&tid: &Tid| {
        let mut row = RowBuffer::new();
        Ok(entry.storage().read(now, tid, &ordinals, &mut row)?.then_some(row))
    };
    tids.iter().map(read).collect()
}

/// A key that a row had, and a foreign key that may refer to it.
struct Gone<'a> {
    child: &'a Arc<TableEntry>,
    fk: &'a ForeignKeyDef,
    key: &'a [Datum<'a>],
    /// The row as it is now, unless it is deleted.
    new: Option<&'a RowBuffer>,
}

/// One key of `entry` is gone: what becomes of the rows that refer to it.
fn gone(running: &mut Running<'_>, entry: &Arc<TableEntry>, gone: Gone<'_>) -> Result<()> {
    use sql::catalog::ReferentialAction as Reaction;
    let Gone { child, fk, key, new } = gone;
    let child = running.session.write_table_named(&child.def.name)?;
    let index = referring_index(&child, fk)?;
    let reaction = if new.is_some() { fk.on_update } else { fk.on_delete };
    if reaction == Reaction::NoAction
        && deferred::is_later(running.session, &child, &fk.name, fk.deferral)?
    {
        let waiting = deferred::waiting(&child, &fk.name, Side::Referenced, entry)?;
        return deferred::note(running, waiting, key);
    }
    let refuses = matches!(reaction, Reaction::NoAction | Reaction::Restrict);
    let enough = if refuses { 1 } else { usize::MAX };
    let types = || fk.references.iter().map(|&c| entry.def.columns[c].ty);
    let mut fitted = RowBuffer::new();
    let Some(child_key) = fit(&child, index, types(), key, &mut fitted) else { return Ok(()) };
    let tids = find(running, &child, index, &child_key, enough)?;
    if tids.is_empty() {
        return Ok(());
    }
    let values = match reaction {
        Reaction::Restrict => {
            return Err(still_referenced(&entry.def, &child.def, fk, &values_of(key)));
        }
        Reaction::NoAction => {
            return refuse_gone(running, entry, &child, fk, key);
        }
        Reaction::Cascade if new.is_none() => {
            let batch = Batch::new(vec![tid_column(&tids)], tids.len());
            return cascade(running, &child, Action::Delete, &batch);
        }
        Reaction::Cascade => {
            let new = new.ok_or_else(|| Error::internal("an updated row"))?;
            let own = fk.columns.iter().map(|&c| child.def.columns[c].ty);
            let values = fk.references.iter().map(|&c| new.get(c).to_value());
            let converted = values.zip(types().zip(own));
            let converted = converted.map(|(value, (from, to))| assign_value(&value, from, to));
            converted.collect::<Result<_>>()?
        }
        Reaction::SetNull => vec![Value::Null; fk.columns.len()],
        Reaction::SetDefault => {
            let columns = fk.columns.iter().map(|&c| &child.def.columns[c]);
            columns.map(|c| default_of(running, c)).collect::<Result<_>>()?
        }
    };
    let mut columns = vec![tid_column(&tids)];
    for (value, &column) in values.iter().zip(&fk.columns) {
        let physical = child.storage().schema().columns()[column].physical();
        columns.push(Column::plain(Vector::repeat(physical, value, tids.len())));
    }
    let batch = Batch::new(columns, tids.len());
    cascade(running, &child, Action::update(&fk.columns), &batch)
}

fn tid_column(tids: &[Tid]) -> Column {
    let mut builder = VectorBuilder::with_capacity(PhysicalType::I64, tids.len());
    tids.iter().for_each(|tid| builder.push_value(&Value::I64(tid.0 as i64)));
    Column::plain(builder.finish())
}

/// 23503 for a key of `parent` that rows of `child` refer to by `fk`.
pub(super) fn still_referenced(
    parent: &TableDef,
    child: &TableDef,
    fk: &ForeignKeyDef,
    key: &[Value],
) -> Error {
    let (name, child_name) = (parent.bare_name(), child.bare_name());
    let message = format!(
        "update or delete on table \"{name}\" violates foreign key constraint \"{}\" on table \
         \"{child_name}\"",
        fk.name
    );
    let key = key_of(&parent.columns, &fk.references, &mut key.iter().map(Datum::from));
    let detail = format!("Key {key} is still referenced from table \"{child_name}\".");
    let about = child.about_constraint(&fk.name);
    Error::new(SqlState::FOREIGN_KEY_VIOLATION, message).with_detail(detail).about_part(about)
}
