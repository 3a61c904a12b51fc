//! Foreign keys of a statement that writes in several steps, looked at after the last one.
//!
//! ```text
//! parts of WITH, actions of MERGE, rows of ON CONFLICT --rows written, keys gone--> AtEnd
//! end of the statement: in that order, each looked for, or its action done
//! ```
//! Statements of one step look at once (`foreign`), which comes to the same.
//! Changes by an action are noted behind all that waits, as in PostgreSQL.

use types::Result;

use super::foreign;
use crate::statement::at_end::{Step, What};
use crate::statement::running::Running;

/// Looks at all that was noted.
///
/// # Errors
/// 23503; whatever the actions meet.
pub(crate) fn settle(running: &mut Running<'_>) -> Result<()> {
    while let Some(Step { entry, rows, what }) =
        running.at_end.as_mut().and_then(|at_end| at_end.steps.pop_front())
    {
        match what {
            What::Written(columns) => {
                foreign::look_for(running, &entry, &rows, columns.as_deref())?;
            }
            What::Gone(after) => foreign::react(running, &entry, &rows, &after)?,
        }
    }
    Ok(())
}
