//! MERGE into an attached table.

use std::collections::HashSet;
use std::ops::Range;

use catalog::rows::Rows;
use kernels::Batch;
use sql::statement::{Merge, MergeAction};
use storage::Tid;
use types::{Error, Result};

use super::super::merge::{action_of, refuse_repeats};
use super::{Skipped, Target, Wanted, refuse_tests};
use crate::QueryResult;
use crate::session::compiled::OwnQuery;
use crate::statement::attached::AttachedRows;
use crate::statement::running::{Run, Running};

/// MERGE.
///
/// # Errors
/// 0A000 for RETURNING; 21000 for a row that is met twice; errors of the changes.
pub(crate) fn merge(
    running: &mut Running<'_>,
    rows: &AttachedRows,
    merge: &Merge,
) -> Result<QueryResult> {
    if merge.returning.is_some() {
        return Err(Error::unsupported("RETURNING of MERGE"));
    }
    refuse_tests(merge.tests.iter())?;
    let target = Target::of(running, rows, "MERGE")?;
    let result = running.run_query(&merge.source, Run::of(OwnQuery::Source))?;
    let (mut seen, mut count) = (HashSet::new(), 0);
    for batch in &result.batches {
        let rows = Rows::new(batch);
        refuse_repeats(&rows, &mut seen)?;
        for (number, action) in merge.actions.iter().enumerate() {
            let takes_it = |row: &u32| action_of(&rows, *row as usize) == Some(number);
            let wanted: Vec<u32> = (0..rows.count as u32).filter(takes_it).collect();
            count += act(running, &target, action, &Part { batch, rows: &rows, wanted: &wanted })?;
        }
    }
    target.settle(running)?;
    Ok(QueryResult::command(format!("MERGE {count}")))
}

/// Rows of the source that take an action.
struct Part<'a> {
    batch: &'a Batch,
    rows: &'a Rows,
    wanted: &'a [u32],
}

impl Part<'_> {
    /// Rows that name one of the target, with it.
    fn named(&self) -> Vec<(u32, Tid)> {
        let of = |row: &u32| Some((*row, self.rows.tid(*row as usize)?));
        self.wanted.iter().filter_map(of).collect()
    }

    fn columns(&self, range: Range<usize>) -> Batch {
        let columns = self.batch.columns[range].iter().map(|column| column.gather(self.wanted));
        Batch::new(columns.collect(), self.wanted.len())
    }
}

/// Runs an action; how many rows it changed.
fn act(
    running: &Running<'_>,
    target: &Target<'_>,
    action: &MergeAction,
    part: &Part<'_>,
) -> Result<usize> {
    if part.wanted.is_empty() {
        return Ok(0);
    }
    match action {
        MergeAction::Nothing => Ok(0),
        MergeAction::Insert { values_from } => {
            let range = *values_from..*values_from + target.rows.def.columns.len();
            Ok(target.add(running, part.columns(range), Skipped::None)?.tids.len())
        }
        MergeAction::Update { columns, values_from } => {
            let (rows, first) = (part.named(), *values_from);
            let wanted = Wanted { rows: &rows, columns, batch: part.batch, first };
            let (met, _) = target.read(running, &wanted)?;
            target.update(running, &met, columns)?;
            Ok(met.tids.len())
        }
        MergeAction::Delete => {
            let tids: Vec<Tid> = part.named().into_iter().map(|(_, tid)| tid).collect();
            target.delete(running, &tids)?;
            Ok(tids.len())
        }
    }
}
