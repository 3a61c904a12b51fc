//! Row-level security: which rows of a table a role meets.

use types::{Error, Result, SqlState};

/// Commands that a policy is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyCommand {
    /// All of them.
    All,
    /// SELECT, and whatever reads rows.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl PolicyCommand {
    /// As SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// How a policy goes together with the others of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// A row has to pass one of those.
    Permissive,
    /// A row has to pass each of those, too.
    Restrictive,
}

/// A policy of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDef {
    /// Its name, which is its own within the table.
    pub name: String,
    /// Permissive or restrictive.
    pub kind: PolicyKind,
    /// Commands that it is about.
    pub command: PolicyCommand,
    /// Roles that it is about; none for all.
    pub roles: Vec<String>,
    /// USING: condition for rows that are there.
    pub using: Option<String>,
    /// WITH CHECK: condition for rows that are written; without one, `using`.
    pub check: Option<String>,
}

impl PolicyDef {
    /// Looks at what ALTER POLICY gives it: USING, WITH CHECK.
    ///
    /// # Errors
    /// 42601 for a condition that its command has no use for.
    pub fn check_change(&self, has_using: bool, has_check: bool) -> Result<()> {
        let message = match self.command {
            PolicyCommand::Select | PolicyCommand::Delete if has_check => {
                "only USING expression allowed for SELECT, DELETE"
            }
            PolicyCommand::Insert if has_using => "only WITH CHECK expression allowed for INSERT",
            _ => return Ok(()),
        };
        Err(Error::new(SqlState::SYNTAX_ERROR, message))
    }
}

/// Row-level security of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSecurity {
    /// ENABLE ROW LEVEL SECURITY.
    pub enabled: bool,
    /// FORCE ROW LEVEL SECURITY: the owner is asked, too.
    pub forced: bool,
    /// Its policies, by name.
    pub policies: Vec<PolicyDef>,
}
