//! Sequences of the attached database: CREATE SEQUENCE, DROP SEQUENCE, those of columns.

use std::cell::Cell;
use std::sync::Arc;

use sql::statement::{
    CreateSequence, CreateTable, DropRelations, IfExists, Persistence, RelationName,
};
use types::{Error, Result, SqlState};

use super::{check_may, missing};
use crate::QueryResult;
use crate::catalog::codec::{decode_sequence, encode_sequence};
use crate::catalog::{Sequence, SequenceValue, TableDef};
use crate::define::names::{free, taken};
use crate::define::{sequence, tell_taken};
use crate::instance::attached::{AttachedSequence, AttachedTransaction, CounterId};
use crate::session::Session;
use crate::statement::running::Running;

fn make(transaction: &dyn AttachedTransaction, sequence: &Sequence) -> Result<()> {
    let mut definition = Vec::new();
    encode_sequence(sequence, &mut definition);
    transaction.create_sequence(RelationName::name_of_key(&sequence.name), &definition)
}

/// CREATE SEQUENCE.
pub(super) fn create(running: &mut Running<'_>, new: CreateSequence) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("CREATE SEQUENCE")?;
    check_may(session, new.name.schema_name())?;
    let done = QueryResult::command("CREATE SEQUENCE");
    if new.persistence == Persistence::Temporary {
        return Err(Error::unsupported("TEMPORARY in CREATE SEQUENCE of a shared one"));
    }
    let transaction = session.work().attached_to_change(session.database().registry())?;
    if transaction.has_name(&new.name.name)? {
        return match new.if_exists {
            IfExists::Skip => {
                tell_taken(session, &new.name.key());
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
    make(&*transaction, &sequence)?;
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

/// The sequences that belong to columns of the table `name`.
pub(super) fn owned(transaction: &dyn AttachedTransaction, name: &str) -> Result<Vec<CounterId>> {
    let mut counters = Vec::new();
    for AttachedSequence { counter, definition } in transaction.sequences()? {
        let owner = decode_sequence(&definition)?.owner;
        counters.extend(owner.is_some_and(|(table, _)| table == name).then_some(counter));
    }
    Ok(counters)
}

/// Drops the sequences of a table that is gone.
pub(super) fn drop_owned(transaction: &dyn AttachedTransaction, name: &str) -> Result<()> {
    let counters = owned(transaction, name)?;
    counters.into_iter().try_for_each(|counter| transaction.drop_sequence(counter))
}

/// Has the sequences of a table's columns follow them: `column` gives the column that one is now,
/// None when it is gone, and its sequence with it.
pub(super) fn follow(
    transaction: &dyn AttachedTransaction,
    from: &str,
    to: &str,
    column: impl Fn(&str) -> Option<String>,
) -> Result<()> {
    for AttachedSequence { counter, definition } in transaction.sequences()? {
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

/// DROP SEQUENCE.
///
/// # Errors
/// 2BP01 for one that belongs to a column.
pub(super) fn drop_all(running: &mut Running<'_>, old: &DropRelations) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("DROP SEQUENCE")?;
    for name in &old.names {
        check_may(session, name.schema_name())?;
        let transaction = session.work().attached_to_change(session.database().registry())?;
        match (transaction.sequence(&name.name)?, old.if_missing) {
            (Some(found), _) => {
                if let Some((table, column)) = decode_sequence(&found.definition)?.owner {
                    let table = RelationName::name_of_key(&table);
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
