//! Privileges: GRANT, REVOKE, membership in roles, owners.

use std::collections::BTreeSet;

use types::{Error, Result, SqlState};

use super::{DropBehaviour, IfMissing, RelationName};

/// Privilege on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Privilege {
    /// INSERT.
    Insert,
    /// SELECT.
    Select,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// TRUNCATE.
    Truncate,
    /// REFERENCES.
    References,
    /// TRIGGER: of triggers on a table.
    Trigger,
    /// USAGE of a sequence or schema.
    Usage,
    /// CREATE in a schema or database.
    Create,
    /// CONNECT to a database.
    Connect,
    /// TEMPORARY tables in a database.
    Temporary,
    /// EXECUTE of a function or procedure.
    Execute,
}

impl Privilege {
    /// All, in the order in which PostgreSQL shows them.
    pub const ALL: [Self; 12] = [
        Self::Insert,
        Self::Select,
        Self::Update,
        Self::Delete,
        Self::Truncate,
        Self::References,
        Self::Trigger,
        Self::Execute,
        Self::Usage,
        Self::Create,
        Self::Connect,
        Self::Temporary,
    ];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Select => "SELECT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Truncate => "TRUNCATE",
            Self::References => "REFERENCES",
            Self::Trigger => "TRIGGER",
            Self::Usage => "USAGE",
            Self::Create => "CREATE",
            Self::Connect => "CONNECT",
            Self::Temporary => "TEMPORARY",
            Self::Execute => "EXECUTE",
        }
    }

    /// Its letter in the text of an aclitem.
    pub fn letter(self) -> char {
        match self {
            Self::Insert => 'a',
            Self::Select => 'r',
            Self::Update => 'w',
            Self::Delete => 'd',
            Self::Truncate => 'D',
            Self::References => 'x',
            Self::Trigger => 't',
            Self::Usage => 'U',
            Self::Create => 'C',
            Self::Connect => 'c',
            Self::Temporary => 'T',
            Self::Execute => 'X',
        }
    }

    /// The privilege that SQL calls `name`, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("temp") {
            return Some(Self::Temporary);
        }
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }
}

/// Some privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Privileges(pub u32);

impl Privileges {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// Set of the privileges of `list`.
    pub const fn of(list: &[Privilege]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < list.len() {
            bits |= 1 << list[at] as u32;
            at += 1;
        }
        Self(bits)
    }

    /// True when `privilege` is one of them.
    pub fn has(self, privilege: Privilege) -> bool {
        self.meets(Self::of(&[privilege]))
    }

    /// True when both have one in common.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// True when there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Privileges of either set.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Privileges that `other` has not.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Privileges that both have.
    pub fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::ALL.into_iter().filter(move |privilege| self.has(*privilege))
    }
}

/// Part of a relation that a statement needs privileges on; ordinals from 0. Privileges on all
/// of the relation are enough in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// These columns; at least one, whichever, where the statement uses none.
    Columns(BTreeSet<usize>),
    /// These columns, and nothing where the statement uses none.
    Read(BTreeSet<usize>),
}

/// Privileges on a relation that a statement needs before it runs: one of some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The relation, without its schema.
    pub relation: String,
    /// One of these is enough.
    pub any_of: Privileges,
    /// Part of it that the statement uses.
    pub extent: Extent,
    /// Whose rights count: the owner's of the view that names it, else those of who asks.
    pub on_behalf: Option<String>,
}

/// Kinds of objects that are owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A table, or a view where SQL says TABLE.
    Table,
    /// A view.
    View,
    /// A materialized view.
    MaterializedView,
    /// A sequence.
    Sequence,
    /// A schema.
    Schema,
    /// The database.
    Database,
    /// A type that users made.
    Type,
    /// A large object, whose name is its number.
    LargeObject,
}

/// Objects of GRANT and REVOKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objects {
    /// Tables and views; sequences, too, for what sequences have.
    Tables(Vec<RelationName>),
    /// Sequences.
    Sequences(Vec<RelationName>),
    /// All tables and views of schemas.
    AllTables(Vec<String>),
    /// All sequences of schemas.
    AllSequences(Vec<String>),
    /// Schemas.
    Schemas(Vec<String>),
    /// Databases.
    Databases(Vec<String>),
    /// Types that users made.
    Types(Vec<RelationName>),
    /// Functions and procedures, by their keys.
    Routines(Vec<String>),
    /// All functions, procedures or both of schemas.
    AllRoutines(RoutineWord, Vec<String>),
}

/// The word that a statement calls functions and procedures by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineWord {
    /// FUNCTION.
    Function,
    /// PROCEDURE.
    Procedure,
    /// ROUTINE: any of both.
    Routine,
}

/// Kinds of objects that default privileges may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefaultKind {
    /// Tables and views.
    Tables,
    /// Sequences.
    Sequences,
    /// Schemas.
    Schemas,
    /// Functions and procedures.
    Routines,
}

/// A role where SQL lets it be said in other words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// By its name, case-folded.
    Named(String),
    /// PUBLIC: everybody.
    Public,
    /// CURRENT_USER, CURRENT_ROLE.
    Current,
    /// SESSION_USER.
    Session,
}

/// GRANT or REVOKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantAction {
    /// GRANT.
    Grant,
    /// REVOKE.
    Revoke,
}

/// Value of WITH GRANT OPTION, GRANT OPTION FOR and their kin of roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantOption {
    /// Nothing.
    No,
    /// The right to grant goes along; of REVOKE: it alone goes.
    Yes,
}

/// A statement about privileges; names are case-folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrivilegeStatement {
    /// GRANT or REVOKE on objects.
    Objects {
        /// Which of both.
        action: GrantAction,
        /// The privileges on the objects as a whole; None for ALL.
        privileges: Option<Privileges>,
        /// Privileges on columns of them; None for ALL.
        columns: Vec<(Option<Privileges>, Vec<String>)>,
        /// The objects.
        objects: Objects,
        /// Roles that get or lose them.
        grantees: Vec<RoleName>,
        /// The right to grant.
        option: GrantOption,
        /// Treatment of privileges that the grantee granted on.
        behaviour: DropBehaviour,
    },
    /// ALTER DEFAULT PRIVILEGES.
    Defaults {
        /// Whose objects; nobody for those of the session's role.
        roles: Vec<RoleName>,
        /// The schemas they are made in; none for all.
        schemas: Vec<String>,
        /// GRANT or REVOKE.
        action: GrantAction,
        /// The privileges; None for ALL.
        privileges: Option<Privileges>,
        /// Kind of the objects.
        kind: DefaultKind,
        /// Roles that get or lose them.
        grantees: Vec<RoleName>,
        /// The right to grant.
        option: GrantOption,
    },
    /// GRANT or REVOKE of roles.
    Roles {
        /// Which of both.
        action: GrantAction,
        /// The roles.
        roles: Vec<String>,
        /// Roles that become or were members.
        members: Vec<RoleName>,
        /// The right to grant.
        option: GrantOption,
    },
    /// ALTER ... OWNER TO.
    Owner {
        /// Kind of the object.
        kind: ObjectKind,
        /// Its name.
        name: RelationName,
        /// Choice when it does not exist.
        if_missing: IfMissing,
        /// The new owner.
        to: RoleName,
    },
    /// REASSIGN OWNED BY.
    Reassign {
        /// Owners until now.
        from: Vec<RoleName>,
        /// The new owner.
        to: RoleName,
    },
    /// DROP OWNED BY.
    DropOwned {
        /// Roles whose objects go.
        roles: Vec<RoleName>,
        /// Choice for what needs them.
        behaviour: DropBehaviour,
    },
    /// 0A000 for what is named.
    Unsupported(&'static str),
}

impl PrivilegeStatement {
    /// How PostgreSQL names it.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Objects { action: GrantAction::Grant, .. } => "GRANT",
            Self::Objects { .. } => "REVOKE",
            Self::Defaults { .. } => "ALTER DEFAULT PRIVILEGES",
            Self::Roles { action: GrantAction::Grant, .. } => "GRANT ROLE",
            Self::Roles { .. } => "REVOKE ROLE",
            Self::Owner { kind, .. } => match kind {
                ObjectKind::Table => "ALTER TABLE",
                ObjectKind::View => "ALTER VIEW",
                ObjectKind::MaterializedView => "ALTER MATERIALIZED VIEW",
                ObjectKind::Sequence => "ALTER SEQUENCE",
                ObjectKind::Schema => "ALTER SCHEMA",
                ObjectKind::Database => "ALTER DATABASE",
                ObjectKind::Type => "ALTER TYPE",
                ObjectKind::LargeObject => "ALTER LARGE OBJECT",
            },
            Self::Reassign { .. } => "REASSIGN OWNED",
            Self::DropOwned { .. } => "DROP OWNED",
            Self::Unsupported(what) => what,
        }
    }
}

/// The privileges that `text` lists, as has_table_privilege takes them: each with whether it is
/// asked for WITH GRANT OPTION.
///
/// # Errors
/// 22023 for a word that is none of `known`.
pub fn privileges_in(text: &str, known: Privileges) -> Result<Vec<(Privilege, GrantOption)>> {
    let one = |word: &str| {
        let word = word.trim();
        let suffix = " with grant option";
        let cut = word
            .len()
            .checked_sub(suffix.len())
            .filter(|at| word.get(*at..).is_some_and(|rest| rest.eq_ignore_ascii_case(suffix)));
        let (name, option) = match cut {
            Some(at) => (word[..at].trim(), GrantOption::Yes),
            None => (word, GrantOption::No),
        };
        let found = Privilege::from_name(name).filter(|privilege| known.has(*privilege));
        let found = found.ok_or_else(|| {
            let message = format!("unrecognized privilege type: \"{word}\"");
            Error::new(SqlState::INVALID_PARAMETER, message)
        })?;
        Ok((found, option))
    };
    text.split(',').map(one).collect()
}
