//! CREATE, ALTER and DROP POLICY, ALTER TABLE ... ROW LEVEL SECURITY.

use sql::catalog::PolicyDef;
use sql::statement::{IfMissing, PolicyChange, PolicyStatement, RelationName, RowSecuritySwitch};
use types::{Error, Result, SqlState};

use crate::QueryResult;
use crate::catalog::State;
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
