//! Tickets of scans in parts, and their rows on the way.

use std::sync::Arc;
use std::time::SystemTime;

use arrow_array::RecordBatch;
use arrow_flight::{
    CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightData, FlightDescriptor,
    FlightEndpoint, FlightInfo, RenewFlightEndpointRequest, SchemaResult,
};
use bytes::Bytes;
use engine::Session;
use futures::TryStreamExt as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use types::Result;

use crate::asked::Asked;
use crate::door::Caller;
use crate::flights::Flights;
use crate::scan::{Columns, Scan, join, make};
use crate::seat::{Taken, run};
use crate::statements::{info_of, schema_result};
use crate::status::{status_of, unreadable};
use crate::stream::{Messages, batches, encoded};
use crate::told::Told;

/// How tickets of parts begin.
const MARK: &[u8] = b"scan";

/// Bytes of the handle in a ticket.
const HANDLE_BYTES: usize = 16;

/// A ticket of a part.
///
/// ```text
/// MARK | handle, 16 bytes | number of the part, 4 | what it says to other nodes, or nothing
/// ```
#[derive(Clone, Copy)]
pub(crate) struct PartTicket<'a> {
    handle: &'a [u8],
    number: usize,
    told: &'a [u8],
}

impl<'a> PartTicket<'a> {
    /// Reads a ticket; None for those of Flight SQL.
    pub(crate) fn read(ticket: &'a [u8]) -> Option<Self> {
        let (handle, rest) = ticket.strip_prefix(MARK)?.split_at_checked(HANDLE_BYTES)?;
        let (number, told) = rest.split_first_chunk()?;
        Some(Self { handle, number: u32::from_be_bytes(*number) as usize, told })
    }
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
        let (count, schema) = (made.parts.len(), Arc::clone(&made.columns.described));
        let told = made.told.as_ref().map(Told::bytes).unwrap_or_default();
        let handle = self.scans.put(&caller.user, Scan::new(made, holder))?;
        let ticket = |part: usize| {
            let part = u32::try_from(part).unwrap_or(u32::MAX);
            Bytes::from([MARK, &handle, &part.to_be_bytes(), &told].concat())
        };
        info_of(descriptor, &schema, (0..count).map(ticket).collect())
    }

    /// The columns of a scan.
    ///
    /// # Errors
    /// As [`Self::scan`].
    pub(crate) async fn scan_schema(&self, caller: &Caller, asked: &Asked) -> Result<SchemaResult> {
        let query = asked.query("", "")?;
        let prepare = move |session: &mut Session| session.prepare(&query, &[]);
        let prepared = self.alone(caller, prepare).await?;
        schema_result(&Columns::new(prepared.columns().unwrap_or_default()).described)
    }

    /// The scan of a ticket: handed out here, or by another node of the same shared database.
    ///
    /// # Errors
    /// 26000 when the snapshot is not held any more; 53300 when there are too many sessions.
    async fn scan_of(&self, caller: &Caller, ticket: PartTicket<'_>) -> Result<Arc<Scan>> {
        let unknown = match self.scans.get(&caller.user, ticket.handle) {
            Ok(scan) => return Ok(scan),
            Err(unknown) => unknown,
        };
        let Some(told) = Told::read(ticket.told)? else { return Err(unknown) };
        let holder = self.door.seat(caller)?;
        let seat = self.take(Arc::clone(&holder)).await?;
        let (_, made) = run(seat, move |session| join(session, told)).await?;
        let scan = Scan::new(made.ok_or(unknown)?, holder);
        self.scans.put_under(ticket.handle, &caller.user, scan)
    }

    /// Holds the snapshot of a part for longer; the part, and until when.
    ///
    /// # Errors
    /// As [`Self::scan_of`]; 08P01 for a ticket that is none of a part.
    pub(crate) async fn renew(
        &self,
        caller: &Caller,
        asked: RenewFlightEndpointRequest,
    ) -> Result<FlightEndpoint> {
        let mut endpoint = asked.endpoint.unwrap_or_default();
        let ticket = endpoint.ticket.as_ref().and_then(|ticket| PartTicket::read(&ticket.ticket));
        let ticket = ticket.ok_or_else(|| unreadable("no ticket of a scan"))?;
        self.scan_of(caller, ticket).await?;
        let until = SystemTime::now() + self.door.options().ticket_patience;
        let until = until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let time = endpoint.expiration_time.get_or_insert_default();
        time.seconds = i64::try_from(until.as_secs()).unwrap_or(i64::MAX);
        time.nanos = until.subsec_nanos().cast_signed();
        Ok(endpoint)
    }

    /// Lets go of the snapshot of a scan, as far as it is held here.
    pub(crate) fn cancel(
        &self,
        caller: &Caller,
        asked: CancelFlightInfoRequest,
    ) -> CancelFlightInfoResult {
        let endpoints = asked.info.map(|info| info.endpoint).unwrap_or_default();
        let tickets = endpoints.into_iter().filter_map(|endpoint| endpoint.ticket);
        let mut status = CancelStatus::NotCancellable;
        for ticket in tickets {
            let Some(part) = PartTicket::read(&ticket.ticket) else { continue };
            // All parts are of one scan, which may be over.
            let _ = self.scans.take(&caller.user, part.handle);
            status = CancelStatus::Cancelled;
        }
        CancelFlightInfoResult::new(status)
    }

    /// The rows of one part.
    ///
    /// # Errors
    /// 26000 when the snapshot is not held any more; 53300 when there are too many sessions.
    pub(crate) async fn part(
        self: &Arc<Self>,
        caller: &Caller,
        ticket: PartTicket<'_>,
    ) -> Result<Messages<FlightData>> {
        let PartTicket { handle, number, .. } = ticket;
        let scan = self.scan_of(caller, ticket).await?;
        if number >= scan.made.parts.len() {
            return Err(unreadable("a part that the scan does not have"));
        }
        let held = Arc::clone(&scan.made.held);
        let seat = self.take(self.door.seat(caller)?).await?;
        let (seat, ()) = run(seat, move |session| session.begin_at(&held)).await?;
        let schema = Arc::clone(&scan.made.columns.plain);
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
