//! Scans of shared tables: a thread reads ahead of whoever takes the rows.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use shared::SharedError;
use store::{Flow, Key, Query, Rows, ScanRequest, Sink, Snapshot, Table as _, Tuple};
use transport::RemoteTable;
use types::{Error, Result};

/// Chunks of rows that a scan reads ahead.
const AHEAD: usize = 4;

/// A table as one transaction reads it.
pub(crate) struct Scan {
    pub(crate) rows: RemoteTable,
    pub(crate) snapshot: Snapshot,
    /// Rows that the transaction changed, as it left them.
    pub(crate) changed: Vec<(Key, Option<Tuple>)>,
}

/// Rows on their way from the thread that reads them.
struct Ahead(SyncSender<Rows>);

impl Sink for Ahead {
    fn rows(&self, rows: &Rows) -> Flow {
        if self.0.send(rows.clone()).is_ok() { Flow::Continue } else { Flow::Stop }
    }
}

/// Gives the rows of a query to `take` until it returns false; how many there were, unless it did.
pub(crate) fn rows_of(
    scan: &Scan,
    query: &Query,
    take: &mut dyn FnMut(Rows) -> Result<bool>,
) -> Result<Option<u64>> {
    let (sender, receiver) = sync_channel(AHEAD);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let sink = Ahead(sender);
            let request = ScanRequest { query, snapshot: &scan.snapshot, sink: &sink };
            scan.rows.scan(&[request], 1)
        });
        let mut outcome = Ok(true);
        for rows in &receiver {
            outcome = take(rows);
            if !matches!(outcome, Ok(true)) {
                break;
            }
        }
        drop(receiver);
        let ends = reader.join();
        if !outcome? {
            return Ok(None);
        }
        let ends = ends.map_err(|_| Error::internal("a scan of a shared table panicked"))?;
        let ends = ends.map_err(SharedError::from)?;
        Ok(ends.first().map(|end| end.rows))
    })
}
