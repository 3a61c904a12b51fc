//! The server's end of connections: calls are done once, in the order of their frames.
//!
//! ```text
//! frame -> session of its client -> each call: answered before? -> that answer
//!                                              finished before? -> nothing: it is a late copy
//!                                              else             -> service, answer kept
//!       -> service.settle (disk) -> a frame of answers
//! ```
//! A server that starts again has another incarnation: frames that were sent to the one before are
//! refused, so that a copy of a call that failed then does not happen now. Answers that a service
//! kept on disk are brought back by [`Exchange::restore`].
//! Invariants: one frame of a client at a time; after [`Sessions::fence`] nothing of a client
//! happens any more.
//! Source: Lee et al. 2015 (RIFL). Departure: the client names what it has heard in each frame.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use types::Result;
use types::codec::Malformed;

use crate::frame::{Entry, EntryKind, FRAME_BYTES, Frame, FrameKind, Header, put_entry, sealed};

/// Way back to a client, for answers that come later.
pub trait Outbox: Send + Sync {
    /// Sends an entry in a frame of its own.
    fn put(&self, entry: &Entry<'_>);
}

/// A call as a service sees it.
pub struct Request<'a> {
    /// The caller.
    pub client: u64,
    /// Number of the call.
    pub number: u64,
    /// Content.
    pub payload: &'a [u8],
    /// Way of later answers.
    pub outbox: &'a Arc<dyn Outbox>,
    /// All clients' sessions.
    pub sessions: &'a Sessions,
}

/// Work of a server.
pub trait Service: Send + Sync {
    /// Answers a call; `None` when the answer comes through the outbox.
    fn answer(&self, request: &Request<'_>) -> Option<Vec<u8>>;

    /// True for calls that may happen once only. Their answers do not come later.
    fn happens_once(&self, payload: &[u8]) -> bool;

    /// The answer to fenced clients.
    fn refusal(&self) -> Vec<u8>;

    /// Room or an end for the parts of a call that is answered later.
    fn control(&self, _client: u64, _entry: &Entry<'_>) {}

    /// Makes durable what the answers of a frame depend on.
    ///
    /// # Errors
    /// When that fails: the answers are not sent.
    fn settle(&self, _client: u64) -> Result<()> {
        Ok(())
    }

    /// Told that a connection of the client ended.
    fn left(&self, _client: u64) {}
}

#[derive(Debug, Default)]
struct Session {
    /// The client has all answers below.
    finished: u64,
    answered: BTreeMap<u64, Vec<u8>>,
}

/// Answers that a client may ask for again, by number.
#[derive(Clone, Debug)]
pub(crate) struct SessionAnswers {
    pub(crate) client: u64,
    pub(crate) answers: Vec<(u64, Vec<u8>)>,
}

/// Sessions of all clients.
#[derive(Debug, Default)]
pub struct Sessions {
    sessions: Mutex<HashMap<u64, Arc<Mutex<Session>>>>,
    fenced: RwLock<HashSet<u64>>,
}

impl Sessions {
    fn of(&self, client: u64) -> Arc<Mutex<Session>> {
        Arc::clone(self.sessions.lock().entry(client).or_default())
    }

    /// Refuses all calls of `client` from now on. A frame of it that is being done is waited for,
    /// unless it is `caller`'s own.
    pub fn fence(&self, client: u64, caller: u64) {
        self.fenced.write().insert(client);
        let session = self.sessions.lock().remove(&client);
        if let Some(session) = session.filter(|_| client != caller) {
            drop(session.lock());
        }
    }

    /// Takes over the fences of an earlier life.
    pub(crate) fn adopt(&self, earlier: Self) {
        self.fenced.write().extend(earlier.fenced.into_inner());
    }

    /// Answers that clients have not said they have; a frame that is being done is waited for.
    pub(crate) fn answers(&self) -> Vec<SessionAnswers> {
        let sessions: Vec<_> =
            self.sessions.lock().iter().map(|(client, s)| (*client, Arc::clone(s))).collect();
        let of = |(client, session): (u64, Arc<Mutex<Session>>)| {
            let session = session.lock();
            let answers = session.answered.iter().map(|(number, answer)| (*number, answer.clone()));
            SessionAnswers { client, answers: answers.collect() }
        };
        sessions.into_iter().map(of).filter(|session| !session.answers.is_empty()).collect()
    }

    /// All clients that were fenced.
    pub(crate) fn fences(&self) -> Vec<u64> {
        self.fenced.read().iter().copied().collect()
    }

    /// True for a client that was fenced.
    pub fn is_fenced(&self, client: u64) -> bool {
        self.fenced.read().contains(&client)
    }
}

/// A service with its sessions.
pub struct Exchange<S> {
    service: S,
    incarnation: u64,
    sessions: Sessions,
}

impl<S: Service> Exchange<S> {
    /// The exchange of a life of a server; each life has a larger `incarnation` than those before,
    /// from 1 on.
    pub fn new(service: S, incarnation: u64) -> Self {
        Self { service, incarnation: incarnation.max(1), sessions: Sessions::default() }
    }

    /// The service.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// All clients' sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Keeps an answer of an earlier life.
    pub fn restore(&self, client: u64, number: u64, answer: Vec<u8>) {
        self.sessions.of(client).lock().answered.insert(number, answer);
    }

    /// Does what a frame asks for; gives the frames of answers, mostly one.
    ///
    /// # Errors
    /// Where the bytes are no frame of a client: its connection has to be closed.
    pub fn receive(
        &self,
        bytes: &[u8],
        outbox: &Arc<dyn Outbox>,
    ) -> Result<Vec<Vec<u8>>, Malformed> {
        let frame = Frame::read(bytes)?;
        if frame.kind != FrameKind::Calls {
            return Err(Malformed { offset: 3, expectation: "a frame of a client".into() });
        }
        if frame.incarnation != self.incarnation {
            return Ok(vec![self.frame(FrameKind::Stale, frame.client, &[])]);
        }
        let session = self.sessions.of(frame.client);
        let mut session = session.lock();
        session.finished = session.finished.max(frame.finished);
        let finished = session.finished;
        session.answered.retain(|number, _| *number >= finished);
        let (mut answers, mut full) = (Vec::new(), Vec::new());
        for entry in &frame.entries {
            match entry.kind {
                EntryKind::Call => {
                    if let Some(answer) = self.call(&mut session, &frame, entry, outbox) {
                        let (number, kind) = (entry.number, EntryKind::Reply);
                        put_entry(&mut answers, &Entry { number, kind, payload: &answer });
                        if answers.len() >= FRAME_BYTES {
                            full.push(std::mem::take(&mut answers));
                        }
                    }
                }
                EntryKind::Grant | EntryKind::Cancel => self.service.control(frame.client, entry),
                EntryKind::Reply | EntryKind::Part => {
                    return Err(Malformed { offset: 0, expectation: "entries of a client".into() });
                }
            }
        }
        if self.service.settle(frame.client).is_err() {
            return Ok(Vec::new());
        }
        if !answers.is_empty() {
            full.push(answers);
        }
        let sealed = |answers: &Vec<u8>| self.frame(FrameKind::Replies, frame.client, answers);
        Ok(full.iter().map(sealed).collect())
    }

    fn call(
        &self,
        session: &mut Session,
        frame: &Frame<'_>,
        entry: &Entry<'_>,
        outbox: &Arc<dyn Outbox>,
    ) -> Option<Vec<u8>> {
        if self.sessions.is_fenced(frame.client) {
            return Some(self.service.refusal());
        }
        let Entry { number, payload, .. } = *entry;
        let happens_once = self.service.happens_once(payload);
        if happens_once {
            if let Some(answer) = session.answered.get(&number) {
                return Some(answer.clone());
            }
            if number < session.finished {
                return None;
            }
        }
        let (client, sessions) = (frame.client, &self.sessions);
        let request = Request { client, number, payload, outbox, sessions };
        let answer = self.service.answer(&request);
        if let Some(answer) = answer.as_ref().filter(|_| happens_once) {
            session.answered.insert(number, answer.clone());
        }
        answer
    }

    /// The frame of an entry that comes later.
    pub fn later(&self, client: u64, entry: &Entry<'_>) -> Vec<u8> {
        let mut entries = Vec::new();
        put_entry(&mut entries, entry);
        self.frame(FrameKind::Replies, client, &entries)
    }

    fn frame(&self, kind: FrameKind, client: u64, entries: &[u8]) -> Vec<u8> {
        sealed(Header { kind, client, incarnation: self.incarnation, finished: 0 }, entries)
    }
}
