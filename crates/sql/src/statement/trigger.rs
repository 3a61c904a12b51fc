//! CREATE, ALTER and DROP TRIGGER, ALTER TABLE ... ENABLE and DISABLE TRIGGER.

use crate::catalog::{TriggerDef, TriggerFiring};
use crate::words::{DropBehaviour, IfExists, IfMissing};

/// A statement about triggers of a table or view, which goes by its key in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerStatement {
    /// The table or view.
    pub table: String,
    /// The change.
    pub change: TriggerChange,
}

/// Change of the triggers of a table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerChange {
    /// CREATE [OR REPLACE] TRIGGER.
    Create {
        /// Its content.
        def: TriggerDef,
        /// OR REPLACE.
        if_exists: IfExists,
    },
    /// ALTER TRIGGER ... RENAME TO.
    Rename {
        /// The trigger.
        name: String,
        /// Its new name.
        to: String,
    },
    /// DROP TRIGGER.
    Drop {
        /// The trigger.
        name: String,
        /// IF EXISTS.
        if_missing: IfMissing,
        /// CASCADE: nothing depends on a trigger.
        behaviour: DropBehaviour,
    },
    /// Actions of ALTER TABLE: triggers and their new state.
    Switch(Vec<(SwitchedTriggers, TriggerFiring)>),
}

/// Triggers that ENABLE and DISABLE mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchedTriggers {
    /// One by its name.
    Named(String),
    /// USER: all but those of foreign keys.
    Users,
    /// ALL: those of foreign keys, too.
    All,
}

impl TriggerStatement {
    /// How PostgreSQL names the statement.
    pub fn command(&self) -> &'static str {
        match self.change {
            TriggerChange::Create { .. } => "CREATE TRIGGER",
            TriggerChange::Rename { .. } => "ALTER TRIGGER",
            TriggerChange::Drop { .. } => "DROP TRIGGER",
            TriggerChange::Switch(_) => "ALTER TABLE",
        }
    }
}
