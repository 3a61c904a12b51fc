//! CREATE, ALTER and DROP TRIGGER, ALTER TABLE ... ENABLE and DISABLE TRIGGER.

use std::sync::Arc;

use catalog::State;
use catalog::comments::Commented;
use catalog::locks::LockMode;
use catalog::rights::Object;
use sql::catalog::{TriggerDef, TriggerFiring};
use sql::statement::{
    IfExists, IfMissing, Privilege, Privileges, RelationName, TriggerChange, TriggerStatement,
};
use types::{Error, Result, SqlState};

use super::redefined;
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
        Ok(())
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
            for (name, firing) in switches {
                switch(own, name.as_deref(), *firing)
                    .ok_or_else(|| missing(name.as_deref().unwrap_or_default()))?;
            }
        }
    }
    Ok(())
}

/// Gives a trigger, or all of them, another state; None when it is not there.
fn switch(own: &mut [Arc<TriggerDef>], name: Option<&str>, firing: TriggerFiring) -> Option<()> {
    let is_meant = |def: &&mut Arc<TriggerDef>| name.is_none_or(|name| def.name == name);
    let mut found = None;
    for known in own.iter_mut().filter(is_meant) {
        *known = Arc::new(TriggerDef { firing, ..TriggerDef::clone(known) });
        found = Some(());
    }
    found.or(name.is_none().then_some(()))
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
