//! Rows whose foreign keys are looked at when a statement of several steps has written all.
//!
//! Elsewhere: how they are looked at (`write::at_end`).

use std::collections::VecDeque;
use std::sync::Arc;

use catalog::TableEntry;
use kernels::Batch;
use sql::statement::Statement;
use storage::Tid;

/// One step's rows.
pub(crate) struct Step {
    pub(crate) entry: Arc<TableEntry>,
    /// All columns: of new rows as they are, of keys gone as the rows were.
    pub(crate) rows: Batch,
    pub(crate) what: What,
}

pub(crate) enum What {
    /// The rows are new, or these columns of them.
    Written(Option<Vec<usize>>),
    /// Keys are gone: what became of the rows.
    Gone(After),
}

/// Rows behind a change.
#[derive(Clone)]
pub(crate) enum After {
    /// TIDs in the table.
    At(Vec<Tid>),
    /// Rows in another partition: all columns, as the table has them.
    Elsewhere(Batch),
    /// Deleted.
    Nowhere,
}

/// Checks that run when the statement has written all its rows.
#[derive(Default)]
pub(crate) struct AtEnd {
    pub(crate) steps: VecDeque<Step>,
}

impl AtEnd {
    /// Checks for `statement`; None when it looks at once.
    pub(crate) fn of(statement: &Statement) -> Option<Self> {
        let waits = match statement {
            Statement::Insert(insert) => insert.on_conflict.is_some(),
            Statement::Merge(_) | Statement::WithChanges(_) => true,
            _ => false,
        };
        waits.then(Self::default)
    }

    /// Notes new rows; see [`foreign::check_present`].
    pub(crate) fn written(
        &mut self,
        entry: &Arc<TableEntry>,
        rows: &Batch,
        columns: Option<&[usize]>,
    ) {
        let what = What::Written(columns.map(<[usize]>::to_vec));
        self.steps.push_back(Step { entry: Arc::clone(entry), rows: rows.clone(), what });
    }

    /// Notes rows whose keys may be gone; see [`foreign::keys_gone`].
    pub(crate) fn gone(&mut self, entry: &Arc<TableEntry>, before: &Batch, after: After) {
        let what = What::Gone(after);
        self.steps.push_back(Step { entry: Arc::clone(entry), rows: before.clone(), what });
    }
}
