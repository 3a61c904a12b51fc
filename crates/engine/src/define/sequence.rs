//! CREATE, ALTER and DROP SEQUENCE; the sequences of columns.
//!
//! To restart a sequence is to give it a new value, which is taken back with the transaction;
//! setval and nextval change the value in place, which is not.

use std::sync::Arc;

use catalog::who::Who;
use catalog::{Sequence, SequenceValue, State, TableDef, undefined_table};
use parking_lot::Mutex;
use sql::catalog::{Identity, SequenceDef, TableRef};
use sql::statement::{
    AlterSequence, ColumnSequence, CreateSequence, DropBehaviour, DropRelations, RelationName,
    SequenceChange,
};
use types::{Error, Result, SqlState};

use super::{drop, may_create, names, needed, persistence_of};
use crate::session::definer::Definer;
use crate::{QueryResult, Session};

pub(super) fn value_at(last: i64) -> Arc<Mutex<SequenceValue>> {
    Arc::new(Mutex::new(SequenceValue { last, called: false }))
}

pub(super) fn owner_of(table: &TableRef, column: usize) -> (String, String) {
    (table.name().to_owned(), table.columns()[column].name.clone())
}

/// CREATE SEQUENCE.
pub(super) fn create(definer: &mut Definer<'_>, create: CreateSequence) -> Result<QueryResult> {
    let done = QueryResult::command("CREATE SEQUENCE");
    let name = definer.state().key_of(&create.name)?;
    let persistence = persistence_of(&create.name, create.persistence);
    if !may_create(&definer.state(), &name, create.if_exists)? {
        super::tell_taken(definer, &name);
        return Ok(done);
    }
    let id = definer.inner().next_object_id();
    definer.change_catalog(|state| {
        let owner = create.owner.as_ref().map(|(table, column)| owner_of(table, *column));
        let value = value_at(create.definition.start);
        let def = create.definition;
        let sequence = Sequence { id, name: name.clone(), def, owner, persistence, value };
        state.sequences.insert(name, Arc::new(sequence));
        Ok(())
    })?;
    Ok(done)
}

/// The sequences of a new table's columns, under names that are free; defaults and identities of
/// the columns follow.
pub(super) fn for_columns(
    session: &Session,
    def: &mut TableDef,
    columns: Vec<ColumnSequence>,
) -> Vec<Arc<Sequence>> {
    let state = session.state();
    let mut made: Vec<Arc<Sequence>> = Vec::with_capacity(columns.len());
    for column in columns {
        let is_taken = |name: &str| {
            let bare = RelationName::name_of_key(name);
            let own =
                made.iter().any(|s| s.name == name) || def.keys.iter().any(|k| k.name == bare);
            own || name == def.name || state.contains(name)
        };
        let name = names::free(&column.name.key(), is_taken);
        made.push(Arc::new(for_column(session, def, &column, name)));
    }
    made
}

/// The sequence of a column under a free name.
pub(super) fn for_column(
    session: &Session,
    def: &mut TableDef,
    column: &ColumnSequence,
    name: String,
) -> Sequence {
    let relation = RelationName::of_key(&name);
    let ColumnSequence { column: ordinal, identity, definition, .. } = column;
    match identity {
        Some(kind) => {
            let identity = Identity { kind: *kind, sequence: relation };
            def.identities.push((*ordinal, identity));
        }
        None => {
            if let Some(default) = &mut def.columns[*ordinal].default {
                *default = renamed(default, &column.name.key(), &name);
            }
        }
    }
    Sequence {
        id: session.inner().next_object_id(),
        name,
        value: value_at(definition.start),
        def: definition.clone(),
        owner: Some((def.name.clone(), def.columns[*ordinal].name.clone())),
        persistence: def.persistence,
    }
}

/// How calls of nextval may name a sequence in a default.
fn literals(key: &str) -> Vec<String> {
    let RelationName { schema, name } = RelationName::of_key(key);
    let schemas = match schema.as_deref() {
        None => [None, Some("public"), Some("main"), Some("pg_temp")],
        // As many, so that those of two schemas stand beside each other.
        schema => [schema; 4],
    };
    let literal = |schema: Option<&str>| {
        let relation = RelationName { schema: schema.map(str::to_owned), name: name.clone() };
        format!("'{}'", relation.quoted().replace('\'', "''"))
    };
    schemas.into_iter().map(literal).collect()
}

/// True when a default takes values of the sequence.
pub(super) fn uses(default: &str, name: &str) -> bool {
    default.to_ascii_lowercase().contains("val(")
        && literals(name).iter().any(|literal| default.contains(literal))
}

/// A default in which the sequence is called `to`.
pub(super) fn renamed(default: &str, from: &str, to: &str) -> String {
    if !uses(default, from) {
        return default.to_owned();
    }
    let pairs = literals(from).into_iter().zip(literals(to));
    pairs.fold(default.to_owned(), |text, (from, to)| text.replace(&from, &to))
}

/// ALTER SEQUENCE.
pub(super) fn alter(definer: &mut Definer<'_>, alter: AlterSequence) -> Result<QueryResult> {
    let name = definer.state().key_of(&alter.name)?;
    definer.change_catalog(|state| {
        let known = state.sequences.get(&name).cloned().ok_or_else(|| undefined_table(&name))?;
        let mut sequence = known.again();
        match alter.change {
            SequenceChange::Options { definition, restart, owner } => {
                change_options(&mut sequence, definition, restart)?;
                if let Some(owner) = owner {
                    sequence.owner = owner.as_ref().map(|(table, column)| owner_of(table, *column));
                }
                state.sequences.insert(name, Arc::new(sequence));
            }
            SequenceChange::Rename(to) => {
                let to = RelationName::key_beside(&name, &to);
                rename(state, sequence, &name, to)?;
            }
        }
        Ok(())
    })?;
    Ok(QueryResult::command("ALTER SEQUENCE"))
}

/// Options of a sequence, and the value that it begins again with, if it does.
#[derive(Clone, Copy)]
pub(super) struct Options<'a> {
    pub(super) definition: &'a SequenceDef,
    pub(super) restart: Option<i64>,
}

/// The sequence called `name` as an option of its column makes it.
pub(super) fn changed(
    session: &Session,
    name: &str,
    Options { definition, restart }: Options<'_>,
) -> Result<Sequence> {
    let known = session.state().sequences.get(name).cloned();
    let mut sequence = known.ok_or_else(|| undefined_table(name))?.again();
    change_options(&mut sequence, definition.clone(), restart)?;
    Ok(sequence)
}

/// Gives a sequence, whose value is where it stands, other options.
///
/// # Errors
/// 22023 for bounds beyond where it stands.
pub(super) fn change_options(
    sequence: &mut Sequence,
    def: SequenceDef,
    restart: Option<i64>,
) -> Result<()> {
    match restart {
        Some(value) => sequence.value = value_at(value),
        None => {
            let last = sequence.value.lock().last;
            let (bound, limit, side) = match last {
                last if last < def.min => ("MINVALUE", def.min, "less"),
                last if last > def.max => ("MAXVALUE", def.max, "greater"),
                _ => {
                    sequence.def = def;
                    return Ok(());
                }
            };
            let message = format!("RESTART value ({last}) cannot be {side} than {bound} ({limit})");
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
    }
    sequence.def = def;
    Ok(())
}

pub(super) fn rename(
    state: &mut State,
    mut sequence: Sequence,
    from: &str,
    to: String,
) -> Result<()> {
    if state.contains(&to) {
        return Err(names::taken(RelationName::name_of_key(&to)));
    }
    for entry in state.tables.clone().into_values() {
        let mut def = entry.def.clone();
        for column in &mut def.columns {
            if let Some(default) = &mut column.default {
                *default = renamed(default, from, &to);
            }
        }
        for (_, identity) in &mut def.identities {
            if identity.sequence.key() == from {
                identity.sequence = RelationName::of_key(&to);
            }
        }
        if def != entry.def {
            let changed = entry.redefined(def, entry.built());
            state.tables.insert(entry.def.name.clone(), Arc::new(changed));
        }
    }
    state.sequences.remove(from);
    if sequence.persistence == sql::statement::Persistence::Permanent {
        state.rename_rights(from, &to);
        state.rename_comments(from, &to);
    }
    sequence.name.clone_from(&to);
    state.sequences.insert(to, Arc::new(sequence));
    Ok(())
}

/// DROP SEQUENCE.
pub(super) fn drop_all(definer: &mut Definer<'_>, drop: &DropRelations) -> Result<QueryResult> {
    let names = drop::existing(definer, drop, "sequence", SqlState::UNDEFINED_TABLE)?;
    definer.change_catalog(|state| {
        for name in names {
            let identity = |t: &Arc<catalog::TableEntry>| {
                let mut all = t.def.identities.iter();
                let (column, _) = all.find(|(_, i)| i.sequence.key() == name)?;
                Some((t.def.name.clone(), t.def.columns[*column].name.clone()))
            };
            if let Some((table, column)) = state.tables.values().find_map(identity) {
                let message = format!(
                    "cannot drop sequence {name} because column {column} of table {table} \
                     requires it"
                );
                let hint = format!("You can drop column {column} of table {table} instead.");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message).with_hint(hint));
            }
            drop_one(state, &name, drop.behaviour)?;
        }
        Ok(())
    })?;
    Ok(QueryResult::command("DROP SEQUENCE"))
}

/// Drops a sequence, or fails when defaults use it and `behaviour` is RESTRICT.
pub(super) fn drop_one(state: &mut State, name: &str, behaviour: DropBehaviour) -> Result<()> {
    for entry in state.tables.clone().into_values() {
        let mut def = entry.def.clone();
        for column in &mut def.columns {
            if !column.default.as_ref().is_some_and(|default| uses(default, name)) {
                continue;
            }
            if behaviour == DropBehaviour::Restrict {
                let dependent =
                    format!("default value for column {} of table {}", column.name, def.name);
                return Err(needed(&format!("sequence {name}"), &dependent));
            }
            column.default = None;
        }
        if def != entry.def {
            let changed = entry.redefined(def, entry.built());
            state.tables.insert(entry.def.name.clone(), Arc::new(changed));
        }
    }
    state.sequences.remove(name);
    Ok(())
}

/// Drops sequences that nothing uses.
///
/// # Errors
/// 2BP01 when a default uses one.
pub(super) fn drop_each(state: &mut State, names: &[String]) -> Result<()> {
    names.iter().try_for_each(|name| drop_one(state, name, DropBehaviour::Restrict))
}

/// Drops the sequences that belong to a table that is gone, or to one of its columns that is.
///
/// # Errors
/// 2BP01 when defaults of other columns use one and `behaviour` is RESTRICT.
pub(super) fn drop_owned(
    state: &mut State,
    table: &str,
    column: Option<&str>,
    behaviour: DropBehaviour,
) -> Result<()> {
    for sequence in owned(state, table) {
        let of_column = sequence.owner.as_ref().map(|(_, column)| column.as_str());
        if column.is_none() || of_column == column {
            drop_one(state, &sequence.name, behaviour)?;
        }
    }
    Ok(())
}

pub(super) fn owned(state: &State, table: &str) -> Vec<Arc<Sequence>> {
    let is_owned = |s: &&Arc<Sequence>| s.owner.as_ref().is_some_and(|(owner, _)| owner == table);
    state.sequences.values().filter(is_owned).cloned().collect()
}

/// Changes the owners of sequences that belong to columns of `table`.
pub(super) fn change_owned(
    state: &mut State,
    table: &str,
    change: impl Fn((String, String)) -> (String, String),
) {
    for sequence in owned(state, table) {
        let mut sequence = sequence.again();
        sequence.owner = sequence.owner.map(&change);
        state.sequences.insert(sequence.name.clone(), Arc::new(sequence));
    }
}

/// # Errors
/// 42501 unless `who` owns the sequences of the table.
pub(super) fn check_owned(state: &State, table: &str, who: &Who) -> Result<()> {
    owned(state, table).iter().try_for_each(|s| state.check_owner(who, "sequence", &s.name))
}

/// TRUNCATE ... RESTART IDENTITY: the sequences of the table start anew.
pub(super) fn restart_owned(state: &mut State, table: &str) {
    for sequence in owned(state, table) {
        let mut sequence = sequence.again();
        sequence.value = value_at(sequence.def.start);
        state.sequences.insert(sequence.name.clone(), Arc::new(sequence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_their_sequence() {
        assert_eq!(renamed("nextval('s')", "s", "t"), "nextval('t')");
        assert_eq!(renamed("nextval('public.s') + 1", "s", "T"), "nextval('public.\"T\"') + 1");
        assert_eq!(renamed("nextval('s1')", "s", "t"), "nextval('s1')");
        assert_eq!(renamed("'s'", "s", "t"), "'s'");
    }
}
