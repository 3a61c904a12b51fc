//! Triggers of tables and views: what the catalog keeps of them.
//!
//! Elsewhere: statements about them (`statement::trigger`), how they fire (`engine`).

use super::Deferral;

/// Moment at which a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTiming {
    /// Before the row is written, or before the statement.
    Before,
    /// When the statement has written all its rows.
    After,
    /// Instead of writing a row of a view.
    InsteadOf,
}

impl TriggerTiming {
    /// As SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "BEFORE",
            Self::After => "AFTER",
            Self::InsteadOf => "INSTEAD OF",
        }
    }
}

/// How often a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerLevel {
    /// Once for each row.
    Row,
    /// Once for a statement, also for one without rows.
    Statement,
}

impl TriggerLevel {
    /// As SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Row => "ROW",
            Self::Statement => "STATEMENT",
        }
    }
}

/// Event that a trigger fires for, in the order in which definitions show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriggerEvent {
    /// INSERT, and COPY.
    Insert,
    /// DELETE.
    Delete,
    /// UPDATE.
    Update,
    /// TRUNCATE.
    Truncate,
}

impl TriggerEvent {
    /// As SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Delete => "DELETE",
            Self::Update => "UPDATE",
            Self::Truncate => "TRUNCATE",
        }
    }
}

/// State of a trigger, against `session_replication_role`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriggerFiring {
    /// Fires unless the role is `replica`.
    #[default]
    Origin,
    /// Fires in each role.
    Always,
    /// Fires in the role `replica` alone.
    Replica,
    /// Fires never.
    Disabled,
}

impl TriggerFiring {
    /// Letter in `pg_trigger.tgenabled`.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Origin => "O",
            Self::Always => "A",
            Self::Replica => "R",
            Self::Disabled => "D",
        }
    }
}

/// Functions of the database that triggers may call.
const BUILT_IN: [&str; 3] = [
    "tsvector_update_trigger",
    "tsvector_update_trigger_column",
    "suppress_redundant_updates_trigger",
];

/// The key of the function of the database that is called so; None where there is none.
pub(crate) fn built_in_trigger_key(name: &str) -> Option<String> {
    BUILT_IN.contains(&name).then(|| format!("pg_catalog.{name}()"))
}

/// The name of the function of the database with this key; None for functions of users.
pub fn built_in_trigger_function(key: &str) -> Option<&'static str> {
    let name = key.strip_prefix("pg_catalog.")?.strip_suffix("()")?;
    BUILT_IN.into_iter().find(|known| *known == name)
}

/// A trigger of a table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerDef {
    /// Its name, which is its own within the table.
    pub name: String,
    /// BEFORE, AFTER or INSTEAD OF.
    pub timing: TriggerTiming,
    /// FOR EACH ROW or STATEMENT.
    pub level: TriggerLevel,
    /// Its events, each once, ascending.
    pub events: Vec<TriggerEvent>,
    /// Columns of UPDATE OF; none for any column.
    pub columns: Vec<String>,
    /// WHEN, as SQL text over `old` and `new`.
    pub condition: Option<String>,
    /// Key of the function that it calls ([`crate::catalog::RoutineDef::key`]).
    pub routine: String,
    /// Arguments of the function.
    pub arguments: Vec<String>,
    /// Name of the transition table with the rows before the change.
    pub old_table: Option<String>,
    /// Name of the transition table with the rows behind it.
    pub new_table: Option<String>,
    /// State that ENABLE and DISABLE change.
    pub firing: TriggerFiring,
    /// Time at which a constraint trigger fires; None for other triggers.
    pub constraint: Option<Deferral>,
}

impl TriggerDef {
    /// True when it has transition tables.
    pub fn has_tables(&self) -> bool {
        self.old_table.is_some() || self.new_table.is_some()
    }

    /// True for one that fires for `event` of a statement that assigns these columns.
    pub fn is_for(&self, event: TriggerEvent, assigned: &[&str]) -> bool {
        self.events.contains(&event)
            && (event != TriggerEvent::Update
                || self.columns.is_empty()
                || self.columns.iter().any(|column| assigned.contains(&column.as_str())))
    }
}
