//! Roles that every database has, and what their members may do.
//!
//! None of them is in [`State::roles`]: they are never changed, dropped or logged in as, so that
//! nothing of them is written. Their members are, as members of any role.

use std::collections::BTreeSet;

use sql::statement::{Privilege, Privileges};

use crate::state::State;
use crate::state::rights::Object;
use crate::who::Who;

/// A role that every database has.
#[derive(Debug)]
pub struct Predefined {
    /// Its name.
    pub name: &'static str,
    /// Its number, as PostgreSQL has it.
    pub number: i64,
    /// Roles that it is a member of.
    pub member_of: &'static [&'static str],
}

/// The owner of the database is a member, and nobody else.
pub const DATABASE_OWNER: &str = "pg_database_owner";
/// Role whose members read all relations.
pub(crate) const READ_ALL_DATA: &str = "pg_read_all_data";
/// Role whose members write all relations.
pub(crate) const WRITE_ALL_DATA: &str = "pg_write_all_data";
/// Role whose members see what sessions of others run.
pub const READ_ALL_STATS: &str = "pg_read_all_stats";
/// Role whose members cancel and end what others run.
pub const SIGNAL_BACKEND: &str = "pg_signal_backend";
/// Role whose members run CHECKPOINT.
pub const CHECKPOINT: &str = "pg_checkpoint";
/// Role whose members read files of the server.
pub const READ_SERVER_FILES: &str = "pg_read_server_files";
/// Role whose members write files of the server.
pub const WRITE_SERVER_FILES: &str = "pg_write_server_files";

const READ_ALL_SETTINGS: &str = "pg_read_all_settings";
const STAT_SCAN_TABLES: &str = "pg_stat_scan_tables";

const fn role(name: &'static str, number: i64) -> Predefined {
    Predefined { name, number, member_of: &[] }
}

/// All of them, by name. Settings are shown to everybody, and nothing runs programs of the server,
/// so that some of them allow nothing that others may not.
pub const ROLES: [Predefined; 12] = [
    role(CHECKPOINT, 4544),
    role(DATABASE_OWNER, 6171),
    role("pg_execute_server_program", 4571),
    Predefined {
        name: "pg_monitor",
        number: 3373,
        member_of: &[READ_ALL_SETTINGS, READ_ALL_STATS, STAT_SCAN_TABLES],
    },
    role(READ_ALL_DATA, 6181),
    role(READ_ALL_SETTINGS, 3374),
    role(READ_ALL_STATS, 3375),
    role(READ_SERVER_FILES, 4569),
    role(SIGNAL_BACKEND, 4200),
    role(STAT_SCAN_TABLES, 3377),
    role(WRITE_ALL_DATA, 6182),
    role(WRITE_SERVER_FILES, 4570),
];

/// The predefined role of this name.
pub fn named(name: &str) -> Option<&'static Predefined> {
    if name.starts_with("pg_") { ROLES.iter().find(|role| role.name == name) } else { None }
}

/// Privileges on an object that members of `roles` have without a grant.
pub fn privileges(roles: &BTreeSet<&str>, object: &Object) -> Privileges {
    let (reads, writes) = (roles.contains(READ_ALL_DATA), roles.contains(WRITE_ALL_DATA));
    let some = |held: bool, list: &[Privilege]| {
        if held { Privileges::of(list) } else { Privileges::NONE }
    };
    match object {
        Object::Relation(_) => {
            let written = [Privilege::Insert, Privilege::Update, Privilege::Delete];
            some(reads, &[Privilege::Select]).with(some(writes, &written))
        }
        Object::Schema(_) => some(reads || writes, &[Privilege::Usage]),
        _ => Privileges::NONE,
    }
}

impl State {
    /// True when there is a role of this name.
    pub fn has_role(&self, name: &str) -> bool {
        self.roles.contains_key(name) || named(name).is_some()
    }

    /// True when `who` may do what members of the predefined role `role` may.
    pub fn acts_as(&self, who: &Who, role: &'static str) -> bool {
        self.has_rights_of(who, role)
    }
}
