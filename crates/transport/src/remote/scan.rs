//! Scans of several stores: each key is asked for at the one store that has it.
//!
//! A store answers for whole sets of hashes or refuses them before it gives a row; refused ones are
//! asked for again where they are by now. A store that lets a scan in keeps what that reads, also
//! when the keys move meanwhile: all that the snapshot sees was written before.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use store::codec;
use store::{
    Flow, HashRange, Output, Query, Ranges, Result, ScanEnd, ScanRequest, Schema, StoreError,
    Table as _,
};
use types::codec::Input;

use super::{ATTEMPTS, RemoteTable};
use crate::channel::{Channel, Part};
use crate::frame::EntryKind;
use crate::message::{Call, read_answer};
use crate::placement::Whole;

/// Bytes of rows that a scan lets each store push ahead of its reader.
const GRANT_BYTES: u64 = 1 << 20;

/// Rows of one query from one store.
struct Stream {
    request: usize,
    channel: Arc<Channel>,
    number: u64,
    /// Version of the ring that the store was found by.
    seen: u64,
    ranges: Ranges,
}

/// Parts of a scan as they come.
pub(super) struct Scan<'a> {
    table: &'a RemoteTable,
    requests: &'a [ScanRequest<'a>],
    outputs: Vec<Schema>,
    streams: Vec<Stream>,
    ends: Vec<Option<ScanEnd>>,
    flows: Vec<Flow>,
    parts: (Sender<Part>, Receiver<Part>),
    attempts: usize,
}

impl<'a> Scan<'a> {
    /// The scan of these requests.
    ///
    /// # Errors
    /// [`StoreError::InvalidScan`].
    pub(super) fn new(table: &'a RemoteTable, requests: &'a [ScanRequest<'a>]) -> Result<Self> {
        requests.iter().try_for_each(|request| request.query.check(table.schema()))?;
        Ok(Self {
            table,
            requests,
            outputs: requests.iter().map(|r| output(table.schema(), r.query)).collect(),
            streams: Vec::new(),
            ends: vec![None; requests.len()],
            flows: vec![Flow::Continue; requests.len()],
            parts: channel(),
            attempts: 0,
        })
    }

    /// Gives all rows to the sinks; the ends.
    ///
    /// # Errors
    /// As [`store::Table::scan`].
    pub(super) fn run(mut self) -> Result<Vec<ScanEnd>> {
        if let Err(error) = self.take_all() {
            self.cancel(|_| true);
            return Err(error);
        }
        let lost = || StoreError::Unreachable("a part of the scan has no end".into());
        let ends = self.ends.into_iter().zip(self.flows).map(|(end, flow)| {
            let mut end = end.ok_or_else(lost)?;
            if flow == Flow::Stop {
                end.flow = flow;
            }
            Ok(end)
        });
        ends.collect()
    }

    /// Asks the stores that have keys of `wanted`; how many.
    fn open(&mut self, request: usize, wanted: &Ranges) -> Result<usize> {
        let (table, before) = (self.table, self.streams.len());
        let known = table.cluster.known();
        for store in known.ring.stores() {
            let all = known.ring.ranges_of(store.id);
            let ranges = all.and(wanted);
            if ranges.is_empty() {
                continue;
            }
            let (channel, id) = table.wait(async {
                let channel = table.cluster.channel(store.id).await?;
                let id = table.id_in(store.id, &channel).await?;
                Ok::<_, StoreError>((channel, id))
            })?;
            let whole = if ranges == all { Whole::Yes } else { Whole::No };
            let ScanRequest { query, snapshot, .. } = self.requests[request];
            let within = Some(ranges.clone());
            let query = Query { partition: None, within, ..query.clone() };
            let snapshot = snapshot.clone();
            let call = Call::Scan { table: id, snapshot, query, whole, grant: GRANT_BYTES };
            let parts = self.parts.0.clone();
            let number = channel.open(&call.bytes(), self.streams.len(), parts);
            let seen = known.ring.version();
            self.streams.push(Stream { request, channel, number, seen, ranges });
        }
        Ok(self.streams.len() - before)
    }

    fn take_all(&mut self) -> Result<()> {
        let mut open = 0;
        for (number, request) in self.requests.iter().enumerate() {
            let wanted = request.query.partition.map_or(HashRange::ALL, HashRange::from);
            let within = request.query.within.clone();
            let within = within.unwrap_or_else(|| Ranges::of(vec![HashRange::ALL]));
            open += self.open(number, &within.within(&wanted))?;
        }
        self.table.cluster.flush();
        while open > 0 {
            let Ok(part) = self.parts.1.recv() else { break };
            let (kind, payload) = part.what.map_err(|broken| StoreError::Unreachable(broken.0))?;
            if kind == EntryKind::Part {
                self.rows(part.stream, &payload)?;
                continue;
            }
            open -= 1;
            match read_answer(&payload, codec::scan_end) {
                Err(StoreError::Moved) => open += self.again(part.stream)?,
                end => self.end(self.streams[part.stream].request, &end?),
            }
        }
        Ok(())
    }

    /// Asks for what a store does not have any more, where it is by now.
    fn again(&mut self, stream: usize) -> Result<usize> {
        let Stream { request, seen, .. } = self.streams[stream];
        if self.flows[request] == Flow::Stop {
            let values = Vec::new();
            self.end(request, &ScanEnd { values, rows: 0, flow: Flow::Stop });
            return Ok(0);
        }
        self.attempts += 1;
        if self.attempts > ATTEMPTS {
            let message = "keys of the scan are on their way, and do not arrive";
            return Err(StoreError::Unreachable(message.into()));
        }
        self.table.wait(self.table.cluster.learn(seen))?;
        let ranges = self.streams[stream].ranges.clone();
        let opened = self.open(request, &ranges)?;
        self.table.cluster.flush();
        Ok(opened)
    }

    fn end(&mut self, request: usize, end: &ScanEnd) {
        match &mut self.ends[request] {
            Some(sum) => sum.add(end, self.requests[request].query),
            none => *none = Some(end.clone()),
        }
    }

    fn rows(&mut self, stream: usize, payload: &[u8]) -> Result<()> {
        let Stream { request, channel, number, .. } = &self.streams[stream];
        let request = *request;
        if self.flows[request] == Flow::Stop {
            return Ok(());
        }
        let rows = codec::rows(&mut Input::new(payload), &self.outputs[request]);
        let rows = rows.map_err(|malformed| {
            StoreError::Unreachable(malformed.in_bytes_of("its answer").to_string())
        })?;
        let sink = self.requests[request].sink;
        if sink.flow() == Flow::Stop || sink.rows(&rows) == Flow::Stop {
            self.flows[request] = Flow::Stop;
            self.cancel(|stream| stream.request == request);
        } else {
            channel.grant(*number, payload.len() as u64);
            channel.flush();
        }
        Ok(())
    }

    fn cancel(&self, is_over: impl Fn(&Stream) -> bool) {
        for stream in self.streams.iter().filter(|stream| is_over(stream)) {
            stream.channel.cancel(stream.number);
            stream.channel.flush();
        }
    }
}

/// The schema of what a query gives.
fn output(schema: &Schema, query: &Query) -> Schema {
    let fields = match &query.output {
        Output::Fields(fields) => &fields[..],
        Output::Aggregates(_) => &[],
    };
    schema.project(fields).expect("the query was checked")
}
