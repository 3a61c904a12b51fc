//! CREATE, ALTER and DROP POLICY, and ALTER TABLE ... ROW LEVEL SECURITY.

use crate::catalog::PolicyDef;
use crate::words::IfMissing;

/// A statement about policies of a table, which goes by its key in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStatement {
    /// The table.
    pub table: String,
    /// The change.
    pub change: PolicyChange,
}

/// Change of the policies of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyChange {
    /// CREATE POLICY.
    Create(PolicyDef),
    /// ALTER POLICY: what is None stays.
    Alter {
        /// The policy.
        name: String,
        /// TO.
        roles: Option<Vec<String>>,
        /// USING.
        using: Option<String>,
        /// WITH CHECK.
        check: Option<String>,
    },
    /// ALTER POLICY ... RENAME TO.
    Rename {
        /// The policy.
        name: String,
        /// Its new name.
        to: String,
    },
    /// DROP POLICY.
    Drop {
        /// The policy.
        name: String,
        /// IF EXISTS.
        if_missing: IfMissing,
    },
    /// Actions of ALTER TABLE.
    Switch(Vec<RowSecuritySwitch>),
}

/// ALTER TABLE ... ROW LEVEL SECURITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSecuritySwitch {
    /// ENABLE.
    Enable,
    /// DISABLE.
    Disable,
    /// FORCE.
    Force,
    /// NO FORCE.
    NoForce,
}

impl PolicyStatement {
    /// How PostgreSQL names the statement.
    pub fn command(&self) -> &'static str {
        match self.change {
            PolicyChange::Create(_) => "CREATE POLICY",
            PolicyChange::Alter { .. } | PolicyChange::Rename { .. } => "ALTER POLICY",
            PolicyChange::Drop { .. } => "DROP POLICY",
            PolicyChange::Switch(_) => "ALTER TABLE",
        }
    }
}
