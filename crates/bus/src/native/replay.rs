//! The log of a native bus, applied to its state when it is opened.
//!
//! ```text
//! log -> thread: checksums, records -> batches -> this thread: queues
//! ```
//! Without threads of the bus's own both are done here, one record after the other.

use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;
use std::thread;

use host::Finding;
use types::codec::Input;
use types::{Error, Result, SqlState};
use wal::{Background, LogReader, Stamp};

use super::queue::Queue;
use super::state::State;
use crate::record::Record;

/// Records that are handed over together.
const BATCH_RECORDS: usize = 512;

/// Batches that may wait.
const BATCHES_MAX: usize = 16;

/// Applies all records of the log; returns the newest stamp.
///
/// # Errors
/// XX001 for damage; those of the files.
pub(super) fn replay<Q: Queue>(
    reader: &mut LogReader,
    background: Background,
    state: &mut State<Q>,
) -> Result<Stamp> {
    if background == Background::None {
        return read(reader, |record| {
            state.apply(record);
            ControlFlow::Continue(())
        });
    }
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Vec<Record>>(BATCHES_MAX);
        let read = move || {
            let mut batch = Vec::with_capacity(BATCH_RECORDS);
            let stamp = read(reader, |record| {
                batch.push(record);
                if batch.len() < BATCH_RECORDS {
                    return ControlFlow::Continue(());
                }
                let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH_RECORDS));
                sender.send(full).map_or(ControlFlow::Break(()), ControlFlow::Continue)
            })?;
            // Nobody takes it where the other side has panicked.
            let _ = sender.send(batch);
            Ok(stamp)
        };
        let thread = thread::Builder::new().name("bus-replay".into());
        let reading = thread.spawn_scoped(scope, read).map_err(|error| {
            Error::new(SqlState::IO_ERROR, format!("no thread to read the log: {error}"))
        })?;
        receiver.into_iter().flatten().for_each(|record| state.apply(record));
        let broken = |_| Error::internal("reading the log met a mistake of the program");
        reading.join().map_err(broken)?
    })
}

/// Calls `take` with the records of the log until it breaks; returns the newest stamp.
fn read(reader: &mut LogReader, mut take: impl FnMut(Record) -> ControlFlow<()>) -> Result<Stamp> {
    let mut newest = Stamp(0);
    while let Some(logged) = reader.next()? {
        newest = newest.max(logged.stamp);
        let lsn = logged.lsn;
        let mut input = Input::new(logged.payload);
        while !input.is_empty() {
            let record = match Record::read(&mut input) {
                Ok(record) => record,
                Err(malformed) => {
                    let (path, offset) = reader.place_of(lsn);
                    return Err(Finding::new(path, offset, malformed.expectation).into());
                }
            };
            if take(record).is_break() {
                return Ok(newest);
            }
        }
    }
    Ok(newest)
}
