//! Sequences of the attached database: CREATE, ALTER and DROP SEQUENCE, those of columns.
//!
//! A restart begins a new counter, which those use who see the change: values that nodes took of
//! the old one are not given any more. The sequence keeps the number of its first counter, by which
//! sessions know the value that they got last. Other options leave the counter, of which others
//! take values meanwhile, so that none comes twice.

use std::cell::Cell;
use std::sync::Arc;

use catalog::codec::{decode_sequence, encode_sequence};
use catalog::{Sequence, SequenceValue, TableDef, undefined_table};
use sql::catalog::TableRef;
use sql::statement::{
    AlterSequence, ColumnSequence, CreateSequence, CreateTable, DropRelations, IfExists,
    Persistence, RelationName, SequenceChange,
};
use types::{Error, Result, SqlState};

use super::{hold, is_attached, missing, redefine, rights};
use crate::QueryResult;
use crate::define::names::{free, taken};
use crate::define::sequence::{Options, change_options, owner_of, value_at};
use crate::define::{sequence, tell_taken};
use crate::instance::attached::{
    AttachedRights, AttachedSequence, AttachedTableId, AttachedTransaction, Counted,
};
use crate::session::Session;
use crate::statement::attached::definition_in;
use crate::statement::running::Running;
use crate::statement::sequence::ATTACHED;
use crate::transaction::holds::Needs;

fn make(transaction: &dyn AttachedTransaction, sequence: &Sequence) -> Result<()> {
    let mut definition = Vec::new();
    encode_sequence(sequence, &mut definition);
    transaction.create_sequence(RelationName::name_of_key(&sequence.name), &definition)
}

/// CREATE SEQUENCE.
pub(super) fn create(running: &mut Running<'_>, new: CreateSequence) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("CREATE SEQUENCE")?;
    rights::check_creates(session, new.name.schema_name())?;
    let done = QueryResult::command("CREATE SEQUENCE");
    if new.persistence == Persistence::Temporary {
        return Err(Error::unsupported("TEMPORARY in CREATE SEQUENCE of a shared one"));
    }
    let transaction = session.work().attached_to_change(session.database().registry())?;
    if transaction.has_name(&new.name.name)? {
        return match new.if_exists {
            IfExists::Skip => {
                tell_taken(&mut session.definer(), &new.name.key());
                Ok(done)
            }
            _ => Err(taken(&new.name.name)),
        };
    }
    let value = SequenceValue { last: new.definition.start, called: false };
    let sequence = Sequence {
        id: 0,
        name: new.name.key(),
        def: new.definition,
        owner: None,
        persistence: Persistence::Permanent,
        value: Arc::new(parking_lot::Mutex::new(value)),
    };
    let before = rights::now(session)?;
    make(&*transaction, &sequence)?;
    rights::settle(session, &before, None)?;
    Ok(done)
}

/// Makes the sequences of the columns of a new table, under names that are free; defaults and
/// identities in `def` follow.
pub(super) fn for_columns(session: &Session, def: &mut TableDef, new: &CreateTable) -> Result<()> {
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let mut made: Vec<String> = Vec::new();
    for column in &new.sequences {
        let failed = Cell::new(None);
        let name = free(&column.name.key(), |key| {
            let bare = RelationName::name_of_key(key);
            let is_own = bare == def.name
                || made.iter().any(|name| name == key)
                || def.keys.iter().any(|known| known.name == bare);
            is_own
                || transaction.has_name(bare).unwrap_or_else(|error| {
                    failed.set(Some(error));
                    false
                })
        });
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        let mut sequence = sequence::for_column(session, def, column, name.clone());
        sequence.owner = Some((new.name.key(), def.columns[column.column].name.clone()));
        make(&*transaction, &sequence)?;
        made.push(name);
    }
    Ok(())
}

/// Makes the sequence of a column that is there, under the name that the statement was bound to.
///
/// # Errors
/// 42P07 when the name is taken.
pub(super) fn for_column(
    session: &Session,
    def: &mut TableDef,
    new: &ColumnSequence,
) -> Result<()> {
    let transaction = session.work().attached_to_change(session.database().registry())?;
    if transaction.has_name(&new.name.name)? {
        return Err(taken(&new.name.name));
    }
    make(&*transaction, &sequence::for_column(session, def, new, new.name.key()))
}

/// The sequences that belong to columns of the table `name`.
fn owned(
    transaction: &dyn AttachedTransaction,
    name: &str,
) -> Result<Vec<(AttachedSequence, Sequence)>> {
    let mut found = Vec::new();
    for attached in transaction.sequences()? {
        let sequence = decode_sequence(&attached.definition)?;
        if sequence.owner.as_ref().is_some_and(|(table, _)| table == name) {
            found.push((attached, sequence));
        }
    }
    Ok(found)
}

/// Drops the sequences of a table that is gone.
pub(super) fn drop_owned(transaction: &dyn AttachedTransaction, name: &str) -> Result<()> {
    let owned = owned(transaction, name)?.into_iter();
    owned.map(|(found, _)| found.counter).try_for_each(|counter| transaction.drop_sequence(counter))
}

/// Drops the sequence of an identity column that is none any more.
pub(super) fn lose(session: &Session, name: &RelationName) -> Result<()> {
    let transaction = session.work().attached_to_change(session.database().registry())?;
    transaction.drop_sequence(existing(&*transaction, name)?.counter)
}

/// Has the sequences of a table begin again.
pub(super) fn restart_owned(transaction: &dyn AttachedTransaction, name: &str) -> Result<()> {
    let mut owned = owned(transaction, name)?.into_iter();
    owned.try_for_each(|(found, mut sequence)| {
        sequence.value = value_at(sequence.def.start);
        begin_counter(transaction, &found, sequence)
    })
}

/// Gives a sequence a counter that nobody took values of; it begins with the sequence's value.
fn begin_counter(
    transaction: &dyn AttachedTransaction,
    found: &AttachedSequence,
    mut sequence: Sequence,
) -> Result<()> {
    if sequence.id & ATTACHED == 0 {
        sequence.id = found.counter.0 | ATTACHED;
    }
    transaction.drop_sequence(found.counter)?;
    make(transaction, &sequence)?;
    if found.rights.is_empty() {
        return Ok(());
    }
    let made = transaction.sequence(RelationName::name_of_key(&sequence.name))?;
    let made = made.ok_or_else(|| undefined_table(&sequence.name))?;
    transaction.set_rights(AttachedRights::Sequence(made.counter), &found.rights)
}

/// The sequence of this name.
///
/// # Errors
/// 42P01 when there is none.
fn existing(
    transaction: &dyn AttachedTransaction,
    name: &RelationName,
) -> Result<AttachedSequence> {
    transaction.sequence(&name.name)?.ok_or_else(|| undefined_table(&name.to_string()))
}

/// Gives the sequence `name` other options, or another next value.
///
/// # Errors
/// 42P01 when there is none; 22023 for bounds beyond where it stands.
pub(super) fn change(
    session: &Session,
    name: &RelationName,
    Options { definition, restart }: Options<'_>,
) -> Result<()> {
    let registry = session.database().registry();
    let transaction = session.work().attached_to_change(registry)?;
    let Some(attachment) = registry.attachment() else {
        return Err(Error::internal("no database is attached"));
    };
    let found = existing(&*transaction, name)?;
    let mut sequence = decode_sequence(&found.definition)?;
    if sequence.def == *definition && restart.is_none() {
        return Ok(());
    }
    if let Some(stands) = attachment.counted(found.counter)? {
        sequence.value = value_at(stands.last);
    }
    change_options(&mut sequence, definition.clone(), restart)?;
    let Some(last) = restart else {
        let mut definition = Vec::new();
        encode_sequence(&sequence, &mut definition);
        return transaction.redefine_sequence(found.counter, &name.name, &definition);
    };
    begin_counter(&*transaction, &found, sequence)?;
    let made = existing(&*transaction, name)?;
    attachment.set_counter(made.counter, Counted { last, called: false })
}

/// ALTER SEQUENCE.
///
/// # Errors
/// 42P01 when there is none; as [`change`] and [`rename`].
pub(super) fn alter(running: &mut Running<'_>, alter: &AlterSequence) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("ALTER SEQUENCE")?;
    rights::check_owns(session, "sequence", &alter.name.key())?;
    match &alter.change {
        SequenceChange::Options { definition, restart, owner } => {
            change(session, &alter.name, Options { definition, restart: *restart })?;
            if let Some(owner) = owner {
                give(session, &alter.name, owner.as_ref())?;
            }
        }
        SequenceChange::Rename(to) => rename(running, &alter.name, to)?,
    }
    Ok(QueryResult::command("ALTER SEQUENCE"))
}

/// OWNED BY.
///
/// # Errors
/// 0A000 for a table that is not shared.
fn give(session: &Session, name: &RelationName, owner: Option<&(TableRef, usize)>) -> Result<()> {
    if owner.is_some_and(|(table, _)| !is_attached(table)) {
        return Err(Error::unsupported("OWNED BY a table that is not shared"));
    }
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let found = existing(&*transaction, name)?;
    let mut sequence = decode_sequence(&found.definition)?;
    sequence.owner = owner.map(|(table, column)| owner_of(table, *column));
    let mut definition = Vec::new();
    encode_sequence(&sequence, &mut definition);
    transaction.redefine_sequence(found.counter, &name.name, &definition)
}

/// RENAME TO: defaults and identities of shared tables follow.
///
/// # Errors
/// 42P07 for a name that is taken; 0A000 when tables of the node take numbers of it.
fn rename(running: &mut Running<'_>, name: &RelationName, to: &str) -> Result<()> {
    let session = &mut *running.session;
    let schema = session.database().attached_schema().unwrap_or_default().to_owned();
    let transaction = session.work().attached_to_change(session.database().registry())?;
    existing(&*transaction, name)?;
    if transaction.has_name(to)? {
        return Err(taken(to));
    }
    let (from, key) = (name.key(), RelationName::key_beside(&name.key(), to));
    let takes = |def: &TableDef| {
        let mut defaults = def.columns.iter().filter_map(|column| column.default.as_deref());
        defaults.any(|default| sequence::uses(default, &from))
    };
    if session.state().tables.values().any(|table| takes(&table.def)) {
        let what = "RENAME of a shared sequence that tables of the node take numbers of";
        return Err(Error::unsupported(what));
    }
    let mut tables = Vec::new();
    for found in transaction.all()? {
        let before = definition_in(&schema, &found)?;
        let mut def = before.clone();
        for column in &mut def.columns {
            let default = column.default.take();
            column.default = default.map(|default| sequence::renamed(&default, &from, &key));
        }
        let identities = def.identities.iter_mut().map(|(_, identity)| &mut identity.sequence);
        identities
            .filter(|sequence| sequence.key() == from)
            .for_each(|sequence| *sequence = RelationName::of_key(&key));
        if def != before {
            tables.push((found.id, def));
        }
    }
    drop(transaction);
    let ids: Vec<AttachedTableId> = tables.iter().map(|(id, _)| *id).collect();
    hold(running, &ids, Needs::Nothing)?;
    for (id, def) in &tables {
        redefine(running.session, *id, def)?;
    }
    let session = &*running.session;
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let found = existing(&*transaction, name)?;
    let mut sequence = decode_sequence(&found.definition)?;
    sequence.name = key;
    let mut definition = Vec::new();
    encode_sequence(&sequence, &mut definition);
    transaction.redefine_sequence(found.counter, to, &definition)
}

/// Has the sequences of a table's columns follow them: `column` gives the column that one is now,
/// None when it is gone, and its sequence with it.
pub(super) fn follow(
    transaction: &dyn AttachedTransaction,
    from: &str,
    to: &str,
    column: impl Fn(&str) -> Option<String>,
) -> Result<()> {
    for AttachedSequence { counter, definition, .. } in transaction.sequences()? {
        let mut sequence = decode_sequence(&definition)?;
        let Some((table, of)) = &sequence.owner else { continue };
        if table != from {
            continue;
        }
        let Some(now) = column(of) else {
            transaction.drop_sequence(counter)?;
            continue;
        };
        if now == *of && from == to {
            continue;
        }
        sequence.owner = Some((to.to_owned(), now));
        let mut definition = Vec::new();
        encode_sequence(&sequence, &mut definition);
        let name = RelationName::name_of_key(&sequence.name);
        transaction.redefine_sequence(counter, name, &definition)?;
    }
    Ok(())
}

/// A column of a shared table that takes its values of the sequence called `key`: its table and its
/// name.
fn taker(
    session: &Session,
    transaction: &dyn AttachedTransaction,
    key: &str,
) -> Result<Option<(String, String)>> {
    let schema = session.database().attached_schema().unwrap_or_default();
    for found in transaction.all()? {
        let def = definition_in(schema, &found)?;
        let identity = def.identities.iter().find(|(_, of)| of.sequence.key() == key);
        let takes = |default: &str| sequence::uses(default, key);
        let by_default =
            || def.columns.iter().find(|column| column.default.as_deref().is_some_and(takes));
        let column = match identity {
            Some((ordinal, _)) => def.columns.get(*ordinal),
            None => by_default(),
        };
        if let Some(column) = column {
            let table = RelationName::name_of_key(&def.name).to_owned();
            return Ok(Some((table, column.name.clone())));
        }
    }
    Ok(None)
}

/// DROP SEQUENCE.
///
/// # Errors
/// 2BP01 for one that a column takes values of.
pub(super) fn drop_all(running: &mut Running<'_>, old: &DropRelations) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("DROP SEQUENCE")?;
    for name in &old.names {
        rights::check_drops(session, "sequence", &name.key())?;
        let transaction = session.work().attached_to_change(session.database().registry())?;
        match (transaction.sequence(&name.name)?, old.if_missing) {
            (Some(found), _) => {
                if let Some((table, column)) = taker(session, &*transaction, &name.key())? {
                    let message = format!(
                        "cannot drop sequence {} because other objects depend on it",
                        name.name
                    );
                    let detail = format!(
                        "default value for column {column} of table {table} depends on sequence {}",
                        name.name
                    );
                    return Err(
                        Error::new(SqlState::DEPENDENT_OBJECTS, message).with_detail(detail)
                    );
                }
                transaction.drop_sequence(found.counter)?;
            }
            (None, if_missing) => {
                let message = missing("sequence", &name.name, if_missing)?;
                session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            }
        }
    }
    Ok(QueryResult::command("DROP SEQUENCE"))
}
