//! Foreign keys of a statement that writes in several steps, looked at after the last one.
//!
//! ```text
//! parts of WITH, actions of MERGE, rows of ON CONFLICT --rows written, keys gone--> AtEnd
//! end of the statement: in that order, each looked for, or its action done
//! ```
//! Statements of one step look at once (`foreign`), which comes to the same.
//! What an action changes is noted behind all that waits, as in PostgreSQL.

use std::collections::VecDeque;
use std::sync::Arc;

use kernels::Batch;
use sql::statement::Statement;
use storage::Tid;
use types::Result;

use super::foreign;
use crate::Session;
use crate::catalog::TableEntry;

/// One step's rows.
struct Step {
    entry: Arc<TableEntry>,
    /// All columns: of new rows as they are, of keys gone as the rows were.
    rows: Batch,
    what: What,
}

enum What {
    /// The rows are new, or these columns of them.
    Written(Option<Vec<usize>>),
    /// Keys are gone with the rows (None), or by updates that left these.
    Gone(Option<Vec<Tid>>),
}

/// What is to be looked at when the statement has written all its rows.
#[derive(Default)]
pub(crate) struct AtEnd {
    steps: VecDeque<Step>,
}

impl AtEnd {
    /// For `statement`; None when it looks at once.
    pub(crate) fn of(statement: &Statement) -> Option<Self> {
        let waits = match statement {
            Statement::Insert(insert) => insert.on_conflict.is_some(),
            Statement::Merge(_) | Statement::WithChanges(_) => true,
            _ => false,
        };
        waits.then(Self::default)
    }

    /// Notes new rows; see [`foreign::check_present`].
    pub(super) fn written(
        &mut self,
        entry: &Arc<TableEntry>,
        rows: &Batch,
        columns: Option<&[usize]>,
    ) {
        let what = What::Written(columns.map(<[usize]>::to_vec));
        self.steps.push_back(Step { entry: Arc::clone(entry), rows: rows.clone(), what });
    }

    /// Notes rows whose keys may be gone; see [`foreign::keys_gone`].
    pub(super) fn gone(&mut self, entry: &Arc<TableEntry>, before: &Batch, after: Option<&[Tid]>) {
        let what = What::Gone(after.map(<[Tid]>::to_vec));
        self.steps.push_back(Step { entry: Arc::clone(entry), rows: before.clone(), what });
    }
}

/// Looks at all that was noted.
///
/// # Errors
/// 23503; whatever the actions meet.
pub(crate) fn settle(session: &mut Session) -> Result<()> {
    while let Some(Step { entry, rows, what }) =
        session.at_end.as_mut().and_then(|at_end| at_end.steps.pop_front())
    {
        match what {
            What::Written(columns) => {
                foreign::look_for(session, &entry, &rows, columns.as_deref())?;
            }
            What::Gone(after) => foreign::react(session, &entry, &rows, after.as_deref())?,
        }
    }
    Ok(())
}
