//! Words of statements that are known without the catalog: names, modes and options, and the
//! statements that consist of nothing else (roles, rights, schemas).
//!
//! Made by `parse`, carried by `statement`, where other crates find them.

mod collation;
mod cursor;
mod database;
mod extension;
mod privilege;
mod relation;
mod role;
mod schema;
mod transaction;
mod user_type;

pub use collation::{CollationAction, CollationContent, CollationStatement};
pub use cursor::{
    CursorForm, CursorHold, CursorOptions, CursorScroll, Fetch, FetchAction, FetchTo,
};
pub use database::{DatabaseOptions, DatabaseStatement, InUse};
pub use extension::{ALWAYS_THERE, EXTENSIONS, ExtensionInfo, ExtensionStatement};
pub use privilege::{
    Access, DefaultKind, Extent, GrantAction, GrantOption, ObjectKind, Objects, Privilege,
    PrivilegeStatement, Privileges, RoleName, RoutineWord, privileges_in,
};
pub use relation::RelationName;
pub use role::{PasswordChange, RoleOptions, RoleStatement, Secret};
pub use schema::SchemaStatement;
pub use transaction::{
    AccessMode, Chain, ConstraintMode, Deferral, Discard, Isolation, LockWait, PreparedEnd,
    RowLockStrength, TableLockMode, TransactionModes,
};
pub use user_type::{NewLabel, TypeKind, TypeStatement};

/// Choice when the object to create exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// 42P07.
    Fail,
    /// IF NOT EXISTS: nothing happens.
    Skip,
    /// OR REPLACE.
    Replace,
}

/// Choice when the object to drop does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMissing {
    /// 42P01.
    Fail,
    /// IF EXISTS: nothing happens.
    Skip,
}

/// CASCADE or RESTRICT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropBehaviour {
    /// 2BP01 when something depends on it.
    Restrict,
    /// Dependent objects are dropped too.
    Cascade,
}

/// How long a table lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Until dropped.
    Permanent,
    /// Until the session ends.
    Temporary,
}

/// The value of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// DEFAULT.
    Default,
    /// Text of the values, comma-separated.
    Text(String),
}

/// Whether VACUUM freezes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VacuumFreeze {
    /// VACUUM
    NotAsked,
    /// VACUUM FREEZE
    Asked,
}

/// Whether VACUUM gathers statistics, as ANALYZE does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VacuumAnalyze {
    /// VACUUM
    NotAsked,
    /// VACUUM ANALYZE
    Asked,
}

/// Time for which SET holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetScope {
    /// Until the session ends.
    Session,
    /// SET LOCAL: until the transaction ends.
    Transaction,
}
