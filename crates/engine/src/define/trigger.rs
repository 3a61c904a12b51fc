//! CREATE, ALTER and DROP TRIGGER, ALTER TABLE ... ENABLE and DISABLE TRIGGER.

use std::sync::Arc;

use catalog::State;
use catalog::comments::Commented;
use catalog::locks::LockMode;
use catalog::rights::Object;
use catalog::who::{Who, denied};
use sql::catalog::{TriggerDef, TriggerFiring, Untested};
use sql::statement::{
    IfExists, IfMissing, Privilege, Privileges, RelationName, SwitchedTriggers, TriggerChange,
    TriggerStatement,
};
use types::{Error, Result, SqlState};

use super::{redefined, wide};
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// Runs a statement about triggers; the catalog is locked.
///
/// # Errors
/// 42710, 42704, 42501.
pub(super) fn run_statement(
    running: &mut Running<'_>,
    statement: TriggerStatement,
) -> Result<QueryResult> {
    let command = statement.command();
    let TriggerStatement { table, change } = statement;
    let session = &mut *running.session;
    check_rights(session, &table, &change)?;
    let bare = RelationName::name_of_key(&table).to_owned();
    if let TriggerChange::Drop { name, if_missing: IfMissing::Skip, .. } = &change
        && !has_trigger(&session.state(), &table, name)
    {
        let message =
            format!("trigger \"{name}\" for relation \"{bare}\" does not exist, skipping");
        session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        return Ok(QueryResult::command(command));
    }
    if session.state().tables.contains_key(&table) {
        // Nobody writes rows while it changes which triggers fire for them.
        redefined::named_in(session, &table, LockMode::ShareRowExclusive)?;
    }
    let who = session.who();
    session.change_catalog(|state| {
        let mut own = state.triggers_of(&table).to_vec();
        change_list(&mut own, &bare, &change)?;
        if let TriggerChange::Rename { name, to } = &change {
            state.move_comments(|on| match on {
                Commented::Trigger(of, known) if *of == table && known == name => {
                    Some(Commented::Trigger(table.clone(), to.clone()))
                }
                _ => None,
            });
        }
        own.sort_by(|a, b| a.name.cmp(&b.name));
        state.triggers.insert(table.clone(), own);
        match firing_of_keys(&change) {
            Some(firing) => switch_keys(state, &table, &who, firing),
            None => Ok(()),
        }
    })?;
    Ok(QueryResult::command(command))
}

/// Changes the triggers of the relation called `bare`.
fn change_list(own: &mut Vec<Arc<TriggerDef>>, bare: &str, change: &TriggerChange) -> Result<()> {
    let place = |own: &[Arc<TriggerDef>], name: &str| own.iter().position(|def| def.name == name);
    let missing = |name: &str| {
        let message = format!("trigger \"{name}\" for table \"{bare}\" does not exist");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    };
    let taken = |name: &str| {
        let message = format!("trigger \"{name}\" for relation \"{bare}\" already exists");
        Error::new(SqlState::DUPLICATE_OBJECT, message)
    };
    match change {
        TriggerChange::Create { def, if_exists } => match place(own, &def.name) {
            Some(at) if *if_exists == IfExists::Replace => own[at] = Arc::new(def.clone()),
            Some(_) => return Err(taken(&def.name)),
            None => own.push(Arc::new(def.clone())),
        },
        TriggerChange::Rename { name, to } => {
            let at = place(own, name).ok_or_else(|| missing(name))?;
            if place(own, to).is_some() {
                return Err(taken(to));
            }
            let name = to.clone();
            own[at] = Arc::new(TriggerDef { name, ..TriggerDef::clone(&own[at]) });
        }
        TriggerChange::Drop { name, .. } => {
            let at = place(own, name).ok_or_else(|| missing(name))?;
            own.remove(at);
        }
        TriggerChange::Switch(switches) => {
            for (switched, firing) in switches {
                switch(own, switched, *firing).map_err(missing)?;
            }
        }
    }
    Ok(())
}

/// Gives triggers another state.
///
/// # Errors
/// The name of one that is not there.
fn switch<'s>(
    own: &mut [Arc<TriggerDef>],
    switched: &'s SwitchedTriggers,
    firing: TriggerFiring,
) -> std::result::Result<(), &'s str> {
    let mut missing = match switched {
        SwitchedTriggers::Named(name) => Some(name.as_str()),
        SwitchedTriggers::Users | SwitchedTriggers::All => None,
    };
    let name = missing;
    let is_meant = |def: &&mut Arc<TriggerDef>| name.is_none_or(|name| def.name == name);
    for known in own.iter_mut().filter(is_meant) {
        *known = Arc::new(TriggerDef { firing, ..TriggerDef::clone(known) });
        missing = None;
    }
    missing.map_or(Ok(()), Err)
}

/// The last state that `change` gives the triggers of foreign keys; None for one that leaves them.
fn firing_of_keys(change: &TriggerChange) -> Option<TriggerFiring> {
    let TriggerChange::Switch(switches) = change else { return None };
    let all = switches.iter().filter(|(switched, _)| *switched == SwitchedTriggers::All);
    all.map(|(_, firing)| *firing).next_back()
}

/// Leaves foreign keys of `table`, and those that refer to it, untested where rows of it or of its
/// partitions are written, or tests them again.
///
/// # Errors
/// 42501 unless `who` is a superuser; 0A000 where a wide table relies on one of them.
fn switch_keys(state: &mut State, table: &str, who: &Who, firing: TriggerFiring) -> Result<()> {
    let untested = match firing {
        TriggerFiring::Disabled => Untested::Everything,
        TriggerFiring::Origin | TriggerFiring::Always | TriggerFiring::Replica => Untested::Nothing,
    };
    for entry in state.tables.clone().into_values() {
        if entry.def.foreign_keys.is_empty() {
            continue;
        }
        let is_own = is_part(state, &entry.def.name, table);
        let mut def = entry.def.clone();
        let mut touched = None;
        for key in &mut def.foreign_keys {
            for (part, is_meant) in [
                (Untested::NewKeys, is_own),
                (Untested::GoneKeys, is_part(state, &key.table.name, table)),
            ] {
                if is_meant {
                    key.untested = key.untested.taking(part, untested);
                    touched = Some(key.name.clone());
                }
            }
        }
        let Some(key) = touched else { continue };
        if !state.is_superuser(who) {
            let message = format!("permission denied: the triggers of \"{key}\" are the system's");
            return Err(denied(message));
        }
        let changed = entry.redefined(def, entry.built());
        state.tables.insert(entry.def.name.clone(), Arc::new(changed));
    }
    wide::refuse_unfit(state, RelationName::name_of_key(table))
}

/// True for the table itself and for those below it that are its partitions.
fn is_part(state: &State, name: &str, table: &str) -> bool {
    let mut name = name;
    while name != table {
        let place = state.tables.get(name).and_then(|entry| entry.def.partition_of.as_ref());
        match place {
            Some(place) => name = &place.parent,
            None => return false,
        }
    }
    true
}

fn has_trigger(state: &State, table: &str, name: &str) -> bool {
    state.triggers_of(table).iter().any(|def| def.name == name)
}

/// # Errors
/// 42501 without the right TRIGGER on a table for CREATE, or unless the session owns it.
fn check_rights(session: &Session, table: &str, change: &TriggerChange) -> Result<()> {
    let (state, who) = (session.state(), session.who());
    let kind = state.kind_of(table).unwrap_or("table");
    if let TriggerChange::Create { .. } = change {
        let trigger = Privileges::of(&[Privilege::Trigger]);
        return state.check(&who, &Object::Relation(table.to_owned()), trigger);
    }
    state.check_owner(&who, kind, table)
}
