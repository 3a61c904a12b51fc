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

/// Records that are handed over together, at most.
const BATCH_RECORDS: usize = 512;

/// Bytes of log after which they are handed over, however few they are.
const BATCH_BYTES: usize = 1 << 20;

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
        return read(reader, |record, _| {
            state.apply(record);
            ControlFlow::Continue(())
        });
    }
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Vec<Record>>(BATCHES_MAX);
        let read = move || {
            let (mut batch, mut bytes) = (Vec::with_capacity(BATCH_RECORDS), 0);
            let stamp = read(reader, |record, record_bytes| {
                batch.push(record);
                bytes += record_bytes;
                if batch.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
                    return ControlFlow::Continue(());
                }
                bytes = 0;
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

/// Calls `take` with the records of the log, and how many bytes each takes there, until it breaks;
/// returns the newest stamp.
fn read(
    reader: &mut LogReader,
    mut take: impl FnMut(Record, usize) -> ControlFlow<()>,
) -> Result<Stamp> {
    let mut newest = Stamp(0);
    while let Some(logged) = reader.next()? {
        newest = newest.max(logged.stamp);
        let lsn = logged.lsn;
        let mut input = Input::new(logged.payload);
        while !input.is_empty() {
            let before = input.rest().len();
            let record = match Record::read(&mut input) {
                Ok(record) => record,
                Err(malformed) => {
                    let (path, offset) = reader.place_of(lsn);
                    return Err(Finding::new(path, offset, malformed.expectation).into());
                }
            };
            if take(record, before - input.rest().len()).is_break() {
                return Ok(newest);
            }
        }
    }
    Ok(newest)
}
