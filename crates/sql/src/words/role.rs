//! Roles: who may log in.

use std::fmt;

use super::IfMissing;

/// A password, which no message shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Change of a password by PASSWORD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PasswordChange {
    /// Nothing.
    #[default]
    Keep,
    /// NULL: nobody logs in with one.
    Remove,
    /// A password, or what PostgreSQL keeps of one.
    Set(Secret),
}

/// Attributes that CREATE and ALTER ROLE name; None leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleOptions {
    /// SUPERUSER: everything is allowed.
    pub superuser: Option<bool>,
    /// CREATEROLE: it may manage other roles.
    pub create_role: Option<bool>,
    /// LOGIN.
    pub login: Option<bool>,
    /// PASSWORD.
    pub password: PasswordChange,
    /// INHERIT: it has the rights of roles that it is a member of.
    pub inherit: Option<bool>,
    /// CREATEDB.
    pub create_database: Option<bool>,
    /// REPLICATION.
    pub replication: Option<bool>,
    /// BYPASSRLS.
    pub bypass_policies: Option<bool>,
    /// CONNECTION LIMIT; below 0 for none.
    pub connection_limit: Option<i32>,
    /// VALID UNTIL: how long its password counts, as it was written.
    pub valid_until: Option<String>,
    /// IN ROLE, of CREATE: roles that it is a member of.
    pub in_roles: Vec<String>,
    /// ROLE, of CREATE: its members.
    pub members: Vec<String>,
    /// ADMIN, of CREATE: members that may make others members.
    pub admins: Vec<String>,
}

/// A statement about roles; names are case-folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleStatement {
    /// CREATE ROLE, USER.
    Create {
        /// Its name.
        name: String,
        /// Its attributes.
        options: RoleOptions,
    },
    /// ALTER ROLE, USER.
    Alter {
        /// Its name.
        name: String,
        /// Options to change.
        options: RoleOptions,
    },
    /// ALTER ROLE ... RENAME TO.
    Rename {
        /// Its name.
        name: String,
        /// The new one.
        to: String,
    },
    /// ALTER ROLE ... SET, RESET: what a setting is when it logs in.
    Set {
        /// Its name.
        name: String,
        /// The setting; None for RESET ALL.
        setting: Option<String>,
        /// Its value; None for RESET.
        value: Option<String>,
    },
    /// DROP ROLE, USER.
    Drop {
        /// Names of the roles.
        names: Vec<String>,
        /// Choice when one does not exist.
        if_missing: IfMissing,
    },
}

impl RoleStatement {
    /// How PostgreSQL names it.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE ROLE",
            Self::Alter { .. } | Self::Rename { .. } | Self::Set { .. } => "ALTER ROLE",
            Self::Drop { .. } => "DROP ROLE",
        }
    }
}
