//! Row-level security in the catalog: who is asked, and what follows changes of tables and roles.

use sql::catalog::PolicyDef;
use sql::statement::RelationName;
use types::Result;

use super::State;
use super::rights::Object;
use crate::who::{Who, denied};

/// The setting `row_security`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// Policies leave rows out.
    On,
    /// A query that policies would change is an error.
    Off,
}

impl Enforcement {
    /// The enforcement that a value of the setting asks for; None is the default.
    pub fn of(value: Option<&str>) -> Self {
        if value.is_some_and(|value| value == "off") { Self::Off } else { Self::On }
    }
}

impl State {
    /// The policies that count when `who` meets rows of `table`; None where all rows count.
    ///
    /// # Errors
    /// 42501 when some would count and may not.
    pub fn policies(
        &self,
        who: &Who,
        table: &str,
        enforcement: Enforcement,
    ) -> Result<Option<Vec<PolicyDef>>> {
        let Some(security) = self.row_security.get(table).filter(|known| known.enabled) else {
            return Ok(None);
        };
        let Who::Role(role) = who else { return Ok(None) };
        let bypasses = self.roles.get(&**role).is_some_and(|role| role.bypasses_policies);
        let is_owner = self.owns(who, &Object::Relation(table.to_owned()));
        if self.is_superuser(who) || bypasses || is_owner && !security.forced {
            return Ok(None);
        }
        if enforcement == Enforcement::Off {
            let table = RelationName::name_of_key(table);
            let message = format!(
                "query would be affected by row-level security policy for table \"{table}\""
            );
            return Err(denied(message));
        }
        let is_meant = |policy: &&PolicyDef| {
            policy.roles.is_empty() || policy.roles.iter().any(|of| self.has_rights_of(who, of))
        };
        Ok(Some(security.policies.iter().filter(is_meant).cloned().collect()))
    }

    /// Row-level security of tables that are gone goes, and where nothing is left of it.
    pub fn settle_row_security(&mut self) {
        let tables = &self.tables;
        self.row_security.retain(|table, security| {
            tables.contains_key(table) && *security != Default::default()
        });
    }

    /// Policies follow a table's new name.
    pub(crate) fn move_policies(&mut self, from: &str, to: &str) {
        if let Some(security) = self.row_security.remove(from) {
            self.row_security.insert(to.to_owned(), security);
        }
    }

    /// Policies follow the new names of columns.
    pub(crate) fn rename_in_conditions(&mut self, table: &str, renamed: &[(String, String)]) {
        let Some(security) = self.row_security.get_mut(table) else { return };
        for policy in &mut security.policies {
            for text in [&mut policy.using, &mut policy.check].into_iter().flatten() {
                for (from, to) in renamed {
                    if let Ok(Some(now)) = sql::with_column(text, from, to) {
                        *text = now;
                    }
                }
            }
        }
    }

    /// A policy whose conditions name the column, as "policy p on table t".
    pub fn policy_of_column(&self, table: &str, column: &str) -> Option<String> {
        let names = |text: &String| matches!(sql::with_column(text, column, column), Ok(Some(_)));
        let policies = &self.row_security.get(table)?.policies;
        let policy = policies.iter().find(|p| p.using.iter().chain(&p.check).any(names))?;
        Some(format!("policy {} on table {}", policy.name, RelationName::name_of_key(table)))
    }

    /// Policies follow a role's new name.
    pub fn rename_in_policies(&mut self, from: &str, to: &str) {
        let policies = self.row_security.values_mut().flat_map(|known| &mut known.policies);
        for role in policies.flat_map(|policy| &mut policy.roles).filter(|role| *role == from) {
            to.clone_into(role);
        }
    }

    /// A policy that names the role, as "policy p on table t".
    pub fn policy_of_role(&self, role: &str) -> Option<String> {
        self.row_security.iter().find_map(|(table, security)| {
            let names = |policy: &&PolicyDef| policy.roles.iter().any(|of| of == role);
            let policy = security.policies.iter().find(names)?;
            let table = RelationName::name_of_key(table);
            Some(format!("policy {} on table {table}", policy.name))
        })
    }
}
