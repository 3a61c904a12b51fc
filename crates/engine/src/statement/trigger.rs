//! Calls of triggers by statements that write, and steps that wait for the end of a statement.
//!
//! Elsewhere: which triggers there are (`catalog::triggers`), what statements do with them
//! (`write::triggers`), how their functions run (`run::program::trigger`).

use std::collections::VecDeque;
use std::sync::Arc;

use catalog::TableEntry;
use kernels::Batch;
use sql::catalog::{TableFunctionRef, TriggerDef, TriggerEvent};
use types::{RecordType, Value};

/// A call of a trigger.
#[derive(Clone, Copy)]
pub(crate) struct TriggerCall<'a> {
    /// Key of the table or view that is written.
    pub(crate) table: &'a str,
    pub(crate) def: &'a Arc<TriggerDef>,
    pub(crate) event: TriggerEvent,
    /// Type of the rows.
    pub(crate) row: RecordType,
    /// The row before the change; NULL where there is none.
    pub(crate) old: &'a Value,
    /// The row behind it, likewise.
    pub(crate) new: &'a Value,
    /// Transition tables.
    pub(crate) tables: &'a [Transition],
}

/// A transition table: its name and rows.
#[derive(Clone)]
pub(crate) struct Transition {
    pub(crate) name: String,
    pub(crate) rows: TableFunctionRef,
}

/// Answer of a trigger.
pub(crate) enum Answer {
    /// WHEN was not true: the function did not run.
    Quiet,
    /// The function gave this row; NULL for none.
    Row(Value),
}

/// Rows of one table that a statement wrote.
#[derive(Clone)]
pub(crate) struct WrittenRows {
    pub(crate) entry: Arc<TableEntry>,
    pub(crate) event: TriggerEvent,
    /// All columns as they were; None for new rows.
    pub(crate) old: Option<Batch>,
    /// All columns as they are; None for rows that are gone.
    pub(crate) new: Option<Batch>,
}

/// Triggers that fire when a statement has written all its rows.
pub(crate) enum AfterStep {
    /// For each of these rows.
    Rows { written: WrittenRows, triggers: Arc<[Arc<TriggerDef>]> },
    /// For the statement, once for this event of a relation.
    Statement { table: String, event: TriggerEvent, triggers: Vec<Arc<TriggerDef>> },
}

/// Steps that a statement owes its triggers.
#[derive(Default)]
pub(crate) struct AfterTriggers {
    pub(crate) steps: VecDeque<AfterStep>,
    /// Events of relations that a statement-level trigger was told of.
    pub(crate) begun: Vec<(String, TriggerEvent)>,
    /// Rows for transition tables.
    pub(crate) kept: Vec<WrittenRows>,
}
