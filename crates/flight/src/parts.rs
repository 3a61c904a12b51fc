//! Tickets of scans in parts, and their rows on the way.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::{FlightData, FlightDescriptor, FlightInfo, SchemaResult};
use bytes::Bytes;
use engine::Session;
use futures::TryStreamExt as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use types::Result;

use crate::door::Caller;
use crate::flights::Flights;
use crate::scan::{Asked, Scan, make};
use crate::seat::{Taken, run};
use crate::statements::{info_of, schema_result};
use crate::status::{status_of, unreadable};
use crate::stream::{Messages, batches, encoded};

/// How tickets of parts begin.
const MARK: &[u8] = b"scan";

/// Bytes of the handle in a ticket.
const HANDLE_BYTES: usize = 16;

/// The handle and the part of a ticket; None for tickets of Flight SQL.
pub(crate) fn part_of(ticket: &[u8]) -> Option<(&[u8], usize)> {
    let (handle, part) = ticket.strip_prefix(MARK)?.split_at_checked(HANDLE_BYTES)?;
    Some((handle, u32::from_be_bytes(part.try_into().ok()?) as usize))
}

/// A scan that was handed out, for its parts.
struct Part {
    scan: Arc<Scan>,
    handle: Vec<u8>,
    number: usize,
    owner: String,
}

impl Flights {
    /// Holds a snapshot for a scan, and hands out tickets for its parts.
    ///
    /// # Errors
    /// Errors of the query; 53300 when there are too many sessions.
    pub(crate) async fn scan(
        &self,
        caller: &Caller,
        descriptor: FlightDescriptor,
        asked: Asked,
    ) -> Result<FlightInfo> {
        let holder = self.door.seat(caller)?;
        let seat = self.take(Arc::clone(&holder)).await?;
        let (_, made) = run(seat, move |session| make(session, &asked)).await?;
        let (count, schema) = (made.parts.len(), Arc::clone(&made.schema));
        let handle = self.scans.put(&caller.user, Scan::new(made, holder))?;
        let ticket = |part: usize| {
            let part = u32::try_from(part).unwrap_or(u32::MAX);
            Bytes::from([MARK, &handle, &part.to_be_bytes()].concat())
        };
        info_of(descriptor, &schema, (0..count).map(ticket).collect())
    }

    /// The columns of a scan.
    ///
    /// # Errors
    /// As [`Self::scan`].
    pub(crate) async fn scan_schema(&self, caller: &Caller, asked: &Asked) -> Result<SchemaResult> {
        let query = asked.query()?;
        let prepare = move |session: &mut Session| session.prepare(&query, &[]);
        let prepared = self.alone(caller, prepare).await?;
        schema_result(&formats::arrow_schema(prepared.columns().unwrap_or_default()))
    }

    /// The rows of one part.
    ///
    /// # Errors
    /// 26000 when the snapshot is not held any more; 53300 when there are too many sessions.
    pub(crate) async fn part(
        self: &Arc<Self>,
        caller: &Caller,
        handle: &[u8],
        number: usize,
    ) -> Result<Messages<FlightData>> {
        let scan = self.scans.get(&caller.user, handle)?;
        if number >= scan.made.parts.len() {
            return Err(unreadable("a part that the scan does not have"));
        }
        let held = Arc::clone(&scan.made.held);
        let seat = self.take(self.door.seat(caller)?).await?;
        let (seat, ()) = run(seat, move |session| session.begin_at(&held)).await?;
        let schema = Arc::clone(&scan.made.schema);
        let (handle, owner) = (handle.to_vec(), caller.user.clone());
        let part = Part { scan, handle, number, owner };
        let (sender, receiver) = mpsc::channel(1);
        let flights = Arc::clone(self);
        tokio::spawn(async move {
            let sent = flights.send(&part, seat, &sender).await;
            if let Err(error) = sent {
                // Nobody hears it when the client is gone.
                let _ = sender.send(Err(error)).await;
            }
        });
        Ok(encoded(schema, ReceiverStream::new(receiver)))
    }

    /// Sends the rows of a part, piece by piece, and notes that it was read.
    async fn send(
        &self,
        part: &Part,
        mut seat: Taken,
        sender: &mpsc::Sender<Result<RecordBatch, Status>>,
    ) -> Result<(), Status> {
        for query in part.scan.made.parts.get(part.number).into_iter().flatten() {
            let query = query.clone();
            let ran = run(seat, move |session| session.execute(&query));
            let (back, result) = tokio::select! {
                ran = ran => ran.map_err(|error| status_of(&error))?,
                () = sender.closed() => return Ok(()),
            };
            seat = back;
            let (_, rows) = batches(result);
            let mut rows = std::pin::pin!(rows);
            while let Some(batch) = rows.try_next().await? {
                if sender.send(Ok(batch)).await.is_err() {
                    return Ok(());
                }
            }
        }
        if part.scan.note(part.number) {
            // It may be gone already: by another reader of the last part.
            let _ = self.scans.take(&part.owner, &part.handle);
        }
        Ok(())
    }
}
