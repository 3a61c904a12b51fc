//! The caller's end of a connection: entries of all tasks wait together and go out in one frame.
//!
//! ```text
//! call -> number, entry -+            receive(frame) -> slot of the number, or stream
//! call -> number, entry -+- flush ->  lost(reason)   -> all fail, or wait for `resend`
//! ```
//! A flush sends for everybody who came meanwhile, so that frames grow when the network is slow.
//! Invariants: numbers are never used twice; calls without an answer are kept for `resend` while
//! the channel is patient; parts of one stream come in order.
//! Knows no socket and no clock: `tcp` and simulations drive it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use parking_lot::Mutex;
use types::codec::{Malformed, put_u64};

use crate::frame::{
    Entry, EntryKind, FRAME_BYTES, Frame, FrameKind, Header, PAYLOAD_BYTES_MAX, put_entry, sealed,
};
use crate::slot::{Broken, Pending, Slot};

/// Way of frames to the peer.
pub trait Outlet: Send + Sync {
    /// Sends a frame; one that cannot be sent is lost, and whoever reads the connection hears of
    /// it.
    fn send(&self, frame: Vec<u8>);
}

/// Fate of calls when a connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Calls fail.
    None,
    /// Calls wait to be sent again; scans fail.
    Resend,
}

/// News of a stream.
#[derive(Debug)]
pub struct Part {
    /// The number that its opener gave it.
    pub stream: usize,
    /// A part; or the end, or what broke.
    pub what: Result<(EntryKind, Vec<u8>), Broken>,
}

enum Waiting {
    /// A call, with its payload while it may be sent again.
    One { slot: Arc<Slot>, payload: Vec<u8> },
    /// A scan.
    Stream { stream: usize, parts: Sender<Part> },
}

/// Does a server have to remember the answer?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    Yes,
    No,
}

#[derive(Default)]
struct Inner {
    incarnation: u64,
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// Numbers of calls that the server remembers.
    kept: BTreeSet<u64>,
    entries: Vec<u8>,
    /// Entries of frames that go first.
    full: VecDeque<Vec<u8>>,
    is_sending: bool,
    broken: Option<Broken>,
    frames: u64,
    /// Way of the frames that are taken from now on.
    outlet: Option<Arc<dyn Outlet>>,
}

impl Inner {
    fn put(&mut self, entry: &Entry<'_>) {
        put_entry(&mut self.entries, entry);
        if self.entries.len() >= FRAME_BYTES {
            self.full.push_back(std::mem::take(&mut self.entries));
        }
    }

    fn forget_entries(&mut self) {
        self.entries.clear();
        self.full.clear();
    }
}

/// The caller's end of a connection.
pub struct Channel {
    client: u64,
    patience: Patience,
    inner: Mutex<Inner>,
}

impl Channel {
    /// A channel of the session `client`, which no other caller of the server has.
    pub fn new(client: u64, patience: Patience) -> Self {
        let inner = Mutex::new(Inner { next: 1, ..Inner::default() });
        Self { client, patience, inner }
    }

    /// The session.
    pub fn client(&self) -> u64 {
        self.client
    }

    /// Life of the server that it speaks to, 0 before the server named it. Answers of earlier lives
    /// that have not come by now do not come any more.
    pub fn incarnation(&self) -> u64 {
        self.inner.lock().incarnation
    }

    /// Frames sent so far.
    pub fn frames(&self) -> u64 {
        self.inner.lock().frames
    }

    /// Sends through `outlet` from now on, first all calls that have no answer yet.
    pub fn attach(&self, outlet: Arc<dyn Outlet>) {
        {
            let mut inner = self.inner.lock();
            inner.outlet = Some(outlet);
            Self::put_again(&mut inner);
        }
        self.flush();
    }

    /// Makes a call that may happen twice: a read.
    pub fn read(&self, payload: Vec<u8>) -> Pending {
        self.call(payload, Keeps::No)
    }

    /// Makes a call that happens once.
    pub fn write(&self, payload: Vec<u8>) -> Pending {
        self.call(payload, Keeps::Yes)
    }

    fn call(&self, payload: Vec<u8>, keeps: Keeps) -> Pending {
        let slot = Arc::new(Slot::default());
        let mut inner = self.inner.lock();
        if let Some(broken) = &inner.broken {
            slot.fill(Err(broken.clone()));
            return Pending(slot);
        }
        if payload.len() > PAYLOAD_BYTES_MAX {
            let message = format!("a call of {} bytes, of {PAYLOAD_BYTES_MAX}", payload.len());
            slot.fill(Err(Broken(message)));
            return Pending(slot);
        }
        let number = inner.next;
        inner.next += 1;
        inner.put(&Entry { number, kind: EntryKind::Call, payload: &payload });
        if keeps == Keeps::Yes {
            inner.kept.insert(number);
        }
        let payload = if self.patience == Patience::None { Vec::new() } else { payload };
        inner.waiting.insert(number, Waiting::One { slot: Arc::clone(&slot), payload });
        Pending(slot)
    }

    /// Opens a stream: its parts and its end come to `parts`. Returns its number, for
    /// [`Self::grant`] and [`Self::cancel`].
    pub fn open(&self, payload: &[u8], stream: usize, parts: Sender<Part>) -> u64 {
        let mut inner = self.inner.lock();
        if let Some(broken) = &inner.broken {
            // An error says that nobody listens any more.
            drop(parts.send(Part { stream, what: Err(broken.clone()) }));
            return 0;
        }
        let number = inner.next;
        inner.next += 1;
        inner.put(&Entry { number, kind: EntryKind::Call, payload });
        inner.waiting.insert(number, Waiting::Stream { stream, parts });
        number
    }

    /// Gives the stream room for `bytes` more.
    pub fn grant(&self, number: u64, bytes: u64) {
        let mut payload = Vec::new();
        put_u64(&mut payload, bytes);
        self.add(&Entry { number, kind: EntryKind::Grant, payload: &payload });
    }

    /// Ends a stream early; its end comes nevertheless.
    pub fn cancel(&self, number: u64) {
        self.add(&Entry { number, kind: EntryKind::Cancel, payload: &[] });
    }

    fn add(&self, entry: &Entry<'_>) {
        let mut inner = self.inner.lock();
        if inner.waiting.contains_key(&entry.number) && inner.broken.is_none() {
            inner.put(entry);
        }
    }

    /// Sends what waits; returns at once when somebody else is sending, who then sends it.
    pub fn flush(&self) {
        let mut inner = self.inner.lock();
        if inner.is_sending {
            return;
        }
        // A frame goes the way that there was when it was taken: one that is lost with an old
        // connection has calls that wait, which the new one gets first.
        while let Some(outlet) = inner.outlet.clone()
            && let Some(frame) = self.frame(&mut inner)
        {
            inner.is_sending = true;
            drop(inner);
            outlet.send(frame);
            inner = self.inner.lock();
            inner.is_sending = false;
        }
    }

    /// The frame that asks a server for its incarnation, before anything else.
    pub fn hello(&self) -> Vec<u8> {
        let kind = FrameKind::Calls;
        sealed(Header { kind, client: self.client, incarnation: 0, finished: 0 }, &[])
    }

    fn frame(&self, inner: &mut Inner) -> Option<Vec<u8>> {
        let entries = match inner.full.pop_front() {
            Some(entries) => entries,
            None if inner.entries.is_empty() => return None,
            None => std::mem::take(&mut inner.entries),
        };
        let finished = inner.kept.first().copied().unwrap_or(inner.next);
        let (client, incarnation) = (self.client, inner.incarnation);
        let header = Header { kind: FrameKind::Calls, client, incarnation, finished };
        let frame = sealed(header, &entries);
        inner.frames += 1;
        if inner.entries.is_empty() {
            // Its memory is used again.
            inner.entries = entries;
            inner.entries.clear();
        }
        Some(frame)
    }

    /// Takes a frame of the server.
    ///
    /// # Errors
    /// Where the bytes are no frame of a server.
    pub fn receive(&self, bytes: &[u8]) -> Result<(), Malformed> {
        let frame = Frame::read(bytes)?;
        match frame.kind {
            FrameKind::Stale => {
                if self.is_newer(frame.incarnation) {
                    self.resend();
                    self.flush();
                }
                return Ok(());
            }
            FrameKind::Replies => (),
            _ => return Err(Malformed { offset: 3, expectation: "a frame of a server".into() }),
        }
        // What an earlier life said late is void: the calls were made again.
        if self.inner.lock().incarnation != frame.incarnation {
            return Ok(());
        }
        for entry in &frame.entries {
            self.take(entry);
        }
        Ok(())
    }

    /// Goes over to a later life of the server, if it is one.
    fn is_newer(&self, incarnation: u64) -> bool {
        let mut inner = self.inner.lock();
        let is_newer = incarnation > inner.incarnation;
        inner.incarnation = inner.incarnation.max(incarnation);
        is_newer
    }

    fn take(&self, entry: &Entry<'_>) {
        let mut inner = self.inner.lock();
        let payload = entry.payload.to_vec();
        match entry.kind {
            EntryKind::Reply => {
                inner.kept.remove(&entry.number);
                let waiting = inner.waiting.remove(&entry.number);
                drop(inner);
                match waiting {
                    Some(Waiting::One { slot, .. }) => slot.fill(Ok(payload)),
                    Some(Waiting::Stream { stream, parts }) => {
                        // An error says that nobody listens any more; here and below.
                        drop(parts.send(Part { stream, what: Ok((EntryKind::Reply, payload)) }));
                    }
                    // Answered before.
                    None => (),
                }
            }
            EntryKind::Part => {
                if let Some(Waiting::Stream { stream, parts }) = inner.waiting.get(&entry.number) {
                    let what = Ok((EntryKind::Part, payload));
                    drop(parts.send(Part { stream: *stream, what }));
                }
            }
            EntryKind::Call | EntryKind::Grant | EntryKind::Cancel => (),
        }
    }

    /// Puts all calls without an answer into the next frame again: after a new connection, or when
    /// an answer is late.
    pub fn resend(&self) {
        Self::put_again(&mut self.inner.lock());
    }

    fn put_again(inner: &mut Inner) {
        inner.forget_entries();
        let waiting = std::mem::take(&mut inner.waiting);
        for (number, waiting) in &waiting {
            if let Waiting::One { payload, .. } = waiting {
                inner.put(&Entry { number: *number, kind: EntryKind::Call, payload });
            }
        }
        inner.waiting = waiting;
    }

    /// Tells that the connection broke: streams fail, and so do calls unless they are patient.
    pub fn lost(&self, reason: &str) {
        let broken = Broken(reason.into());
        self.inner.lock().outlet = None;
        if self.patience == Patience::None {
            return self.fail(&broken);
        }
        let is_stream = |_: &u64, waiting: &mut Waiting| matches!(waiting, Waiting::Stream { .. });
        let streams: Vec<Waiting> = {
            let mut inner = self.inner.lock();
            inner.forget_entries();
            let streams = inner.waiting.extract_if(.., is_stream);
            streams.map(|(_, waiting)| waiting).collect()
        };
        streams.into_iter().for_each(|waiting| end(waiting, &broken));
    }

    /// Fails all calls, and those to come.
    pub fn fail(&self, broken: &Broken) {
        let waiting = {
            let mut inner = self.inner.lock();
            inner.broken = Some(broken.clone());
            inner.forget_entries();
            inner.kept.clear();
            std::mem::take(&mut inner.waiting)
        };
        waiting.into_values().for_each(|waiting| end(waiting, broken));
    }

    /// Numbers of calls that have no answer yet.
    pub fn waiting(&self) -> usize {
        self.inner.lock().waiting.len()
    }
}

fn end(waiting: Waiting, broken: &Broken) {
    match waiting {
        Waiting::One { slot, .. } => slot.fill(Err(broken.clone())),
        Waiting::Stream { stream, parts } => {
            drop(parts.send(Part { stream, what: Err(broken.clone()) }));
        }
    }
}
