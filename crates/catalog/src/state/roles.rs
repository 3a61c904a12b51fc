//! Roles: who may begin a session, and what roles may do besides their rights on objects.

use crate::state::rights::Membership;

/// Login and rights of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Everything is allowed.
    pub is_superuser: bool,
    /// True when the role may manage other roles.
    pub can_create_roles: bool,
    /// True when the role may begin sessions.
    pub can_login: bool,
    /// Stored form of the password.
    pub password: Option<String>,
    /// True when it has the rights of the roles that it is a member of without SET ROLE.
    pub inherits: bool,
    /// Roles that it is a member of.
    pub member_of: Vec<Membership>,
    /// CREATEDB.
    pub can_create_databases: bool,
    /// REPLICATION: nothing here asks for it.
    pub can_replicate: bool,
    /// BYPASSRLS: there are no policies of rows.
    pub bypasses_policies: bool,
    /// How many sessions it may have at a time.
    pub connections_max: Option<i64>,
    /// End of the time for which its password counts, in microseconds since 1970.
    pub valid_until: Option<i64>,
    /// Settings that a session of the role starts with.
    pub settings: Vec<(String, String)>,
}

impl Default for Role {
    fn default() -> Self {
        Self {
            is_superuser: false,
            can_create_roles: false,
            can_login: false,
            password: None,
            inherits: true,
            member_of: Vec::new(),
            can_create_databases: false,
            can_replicate: false,
            bypasses_policies: false,
            connections_max: None,
            valid_until: None,
            settings: Vec::new(),
        }
    }
}
