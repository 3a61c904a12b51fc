//! CREATE, ALTER and DROP POLICY, ALTER TABLE ... ROW LEVEL SECURITY.

use catalog::State;
use sql::catalog::PolicyDef;
use sql::statement::{IfMissing, PolicyChange, PolicyStatement, RelationName, RowSecuritySwitch};
use types::{Error, Result, SqlState};

use crate::QueryResult;
use crate::statement::running::Running;

/// Runs a statement about policies.
///
/// # Errors
/// 42710, 42704.
pub(super) fn run_statement(
    running: &mut Running<'_>,
    statement: PolicyStatement,
) -> Result<QueryResult> {
    let command = statement.command();
    let PolicyStatement { table, change } = statement;
    let bare = RelationName::name_of_key(&table).to_owned();
    if let PolicyChange::Drop { name, if_missing: IfMissing::Skip } = &change
        && !has_policy(&running.session.state(), &table, name)
    {
        let message = format!("policy \"{name}\" for relation \"{bare}\" does not exist, skipping");
        running.session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        return Ok(QueryResult::command(command));
    }
    running.session.change_catalog(|state| {
        check_roles(state, &change)?;
        let row_security = state.row_security.entry(table.clone()).or_default();
        let policies = &mut row_security.policies;
        let missing = |name: &str| {
            let message = format!("policy \"{name}\" for table \"{bare}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        };
        let taken = |policies: &[PolicyDef], name: &str| {
            if policies.iter().any(|known| known.name == name) {
                let message = format!("policy \"{name}\" for table \"{bare}\" already exists");
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            Ok(())
        };
        match change {
            PolicyChange::Create(policy) => {
                taken(policies, &policy.name)?;
                policies.push(policy);
            }
            PolicyChange::Alter { name, roles, using, check } => {
                let policy = policies.iter_mut().find(|known| known.name == name);
                let policy = policy.ok_or_else(|| missing(&name))?;
                policy.check_change(using.is_some(), check.is_some())?;
                if let Some(roles) = roles {
                    policy.roles = roles;
                }
                policy.using = using.or(policy.using.take());
                policy.check = check.or(policy.check.take());
            }
            PolicyChange::Rename { name, to } => {
                taken(policies, &to)?;
                let policy = policies.iter_mut().find(|known| known.name == name);
                policy.ok_or_else(|| missing(&name))?.name = to;
            }
            PolicyChange::Drop { name, .. } => {
                let place = policies.iter().position(|known| known.name == name);
                policies.remove(place.ok_or_else(|| missing(&name))?);
            }
            PolicyChange::Switch(switches) => {
                for switch in switches {
                    match switch {
                        RowSecuritySwitch::Enable => row_security.enabled = true,
                        RowSecuritySwitch::Disable => row_security.enabled = false,
                        RowSecuritySwitch::Force => row_security.forced = true,
                        RowSecuritySwitch::NoForce => row_security.forced = false,
                    }
                }
            }
        }
        row_security.policies.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    })?;
    Ok(QueryResult::command(command))
}

/// A condition of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolicyText {
    /// Key of the table.
    pub(super) table: String,
    /// The policy.
    pub(super) name: String,
    side: Side,
}

/// Rows that a condition is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Rows that are there: USING.
    There,
    /// Rows that are written: WITH CHECK.
    Written,
}

impl PolicyText {
    /// Its name in messages.
    pub(super) fn shown(&self) -> String {
        shown(&self.table, &self.name)
    }

    /// Puts another text in its place.
    pub(super) fn put(&self, state: &mut State, text: String) {
        let known = state.row_security.get_mut(&self.table);
        let mut policies = known.into_iter().flat_map(|known| &mut known.policies);
        if let Some(policy) = policies.find(|policy| policy.name == self.name) {
            match self.side {
                Side::There => policy.using = Some(text),
                Side::Written => policy.check = Some(text),
            }
        }
    }
}

/// Name of a policy in messages.
pub(super) fn shown(table: &str, name: &str) -> String {
    format!("policy {name} on table {}", RelationName::name_of_key(table))
}

/// All conditions of policies.
pub(super) fn texts(state: &State) -> impl Iterator<Item = (PolicyText, String)> {
    let all = state.row_security.iter();
    let policies =
        all.flat_map(|(table, known)| known.policies.iter().map(move |policy| (table, policy)));
    policies.flat_map(|(table, policy)| {
        let (table, name) = (table.clone(), policy.name.clone());
        let place = move |side| PolicyText { table: table.clone(), name: name.clone(), side };
        let sides = [(Side::There, policy.using.clone()), (Side::Written, policy.check.clone())];
        sides.into_iter().filter_map(move |(side, text)| Some((place(side), text?)))
    })
}

/// The conditions of policies of other tables that read the relation that the catalog calls `key`.
pub(super) fn reading(state: &State, key: &str) -> Vec<(PolicyText, String)> {
    let reads = |text: &str| sql::relations_in(text).iter().any(|name| name.key() == key);
    texts(state).filter(|(place, text)| place.table != key && reads(text)).collect()
}

/// Drops a policy, if it is there.
pub(super) fn drop_one(state: &mut State, table: &str, name: &str) {
    if let Some(known) = state.row_security.get_mut(table) {
        known.policies.retain(|policy| policy.name != name);
    }
}

fn has_policy(state: &State, table: &str, name: &str) -> bool {
    let known = state.row_security.get(table);
    known.is_some_and(|known| known.policies.iter().any(|policy| policy.name == name))
}

/// # Errors
/// 42704 for a role that there is not.
fn check_roles(state: &State, change: &PolicyChange) -> Result<()> {
    let roles = match change {
        PolicyChange::Create(policy) => Some(&policy.roles),
        PolicyChange::Alter { roles, .. } => roles.as_ref(),
        _ => None,
    };
    match roles.into_iter().flatten().find(|role| !state.has_role(role)) {
        None => Ok(()),
        Some(role) => {
            let message = format!("role \"{role}\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
    }
}
