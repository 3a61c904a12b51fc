//! Rows that a statement wrote, and the RETURNING query over them.
//!
//! Called by INSERT (`insert`, `conflict`), UPDATE and DELETE (`change`), and WITH (`parts`).

use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorData};
use sql::statement::{Returning, RowPlace};
use storage::Tid;
use types::Result;

use crate::QueryResult;
use crate::session::compiled::OwnQuery;
use crate::statement::running::{Run, Running};

/// Rows written by a statement, for RETURNING: all columns of the table, then extras.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) batches: Vec<Batch>,
    /// Where the rows of each batch are.
    pub(crate) tids: Vec<Vec<Tid>>,
    pub(crate) count: u64,
}

/// Places of rows that were there before: see [`RowPlace::Last`].
pub(crate) fn there_before(tids: Vec<Tid>) -> Vec<Tid> {
    tids.into_iter().map(|tid| Tid(tid.0 | 1 << 63)).collect()
}

/// Runs a RETURNING query over the written rows; without one the result has no rows.
pub(crate) fn returning(
    running: &mut Running<'_>,
    returning: Option<&Returning>,
    mut written: Written,
    tag: String,
) -> Result<QueryResult> {
    let Some(returning) = returning else { return Ok(QueryResult::command(tag)) };
    if returning.place == RowPlace::Last {
        for (batch, tids) in written.batches.iter_mut().zip(written.tids) {
            let places = tids.iter().map(|tid| tid.0 as i64).collect();
            batch.columns.push(Column::plain(Vector::new(VectorData::I64(places))));
        }
    }
    let inputs = vec![slices(written.batches)];
    let result =
        running.run_query(&returning.query, Run { inputs, ..Run::of(OwnQuery::Returning) })?;
    Ok(QueryResult::tagged(tag, result))
}

/// The same rows in batches of at most [`BATCH_ROWS`].
pub(crate) fn slices(batches: Vec<Batch>) -> Vec<Batch> {
    let mut all = Vec::with_capacity(batches.len());
    for batch in batches {
        if batch.rows <= BATCH_ROWS {
            all.push(batch);
            continue;
        }
        for start in (0..batch.rows).step_by(BATCH_ROWS) {
            let len = BATCH_ROWS.min(batch.rows - start);
            let positions: Vec<u32> = (start as u32..(start + len) as u32).collect();
            let columns = batch.columns.iter().map(|c| c.gather(&positions)).collect();
            all.push(Batch::new(columns, len));
        }
    }
    all
}
