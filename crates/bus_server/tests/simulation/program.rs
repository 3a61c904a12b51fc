//! Programs: clients of the bus that make one call after the other, by the client's own code, and
//! remember what they were told.

use std::collections::BTreeSet;
use std::sync::Arc;

use bus::{
    BusError, Cancellable, ClientId, Copies, Deadline, Delivery, MessageId, MessageType, Priority,
    QueueKey, Receipt, Spare, Token, Wait,
};
use bus_server::{Call, Exchange, Failure, Next, Numbers, Receive, Reply, Send};
use testkit::sim::World;

use super::packet::{Packet, SERVER};

pub(crate) const TYPE: MessageType = MessageType(1);

/// Calls of each program while there are troubles.
const CALLS: u64 = 60;
/// Microseconds until an answer is given up, and times that a call is sent.
const PATIENCE: i64 = 9_000;
const TRIES: u32 = 5;
/// Most messages of one receive of a taker.
pub(crate) const TAKEN: usize = 4;

/// Duty of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Sender,
    /// Receives, and deletes afterwards.
    Keeper,
    /// Deletes as it receives.
    Taker,
}

/// Knowledge about a send.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sending {
    pub(crate) number: u64,
    pub(crate) copies: Copies,
    /// The message, if it was acknowledged.
    pub(crate) message: Option<MessageId>,
}

/// Knowledge about a cancel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cancelling {
    pub(crate) message: MessageId,
    /// When it was acknowledged, if it was.
    pub(crate) at: Option<i64>,
}

/// A message that was received.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Receipted {
    pub(crate) message: Delivery,
    /// When the call was made that returned it.
    pub(crate) asked: i64,
}

/// All that a program was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Story {
    pub(crate) sent: Vec<Sending>,
    pub(crate) cancelled: Vec<Cancelling>,
    pub(crate) received: Vec<Receipted>,
    pub(crate) deleted: BTreeSet<MessageId>,
    pub(crate) connected: Vec<ClientId>,
    pub(crate) disconnected: Vec<ClientId>,
    /// Calls of which nobody knows whether they happened.
    pub(crate) unknown: u64,
    /// Receives among them that delete.
    pub(crate) unknown_takes: usize,
    /// Times that a call was sent again.
    pub(crate) repeated: u64,
}

/// A call under way.
struct Current {
    call: Call,
    exchange: Exchange,
    tag: u64,
    tries: u32,
    asked: i64,
}

pub(crate) struct Program {
    client: ClientId,
    pub(crate) role: Role,
    pub(crate) story: Story,
    numbers: Arc<Numbers>,
    run: Option<u64>,
    current: Option<Current>,
    /// The last tag; tags are of one call each, over all lives.
    tag: u64,
    calls: u64,
    tokens: Vec<Token>,
    /// Keys that a keeper may delete next.
    keys: Vec<QueueKey>,
    /// A client that it added and may remove.
    guest: Option<ClientId>,
}

impl Program {
    pub(crate) fn new(client: ClientId, role: Role) -> Self {
        Self {
            client,
            role,
            story: Story::default(),
            numbers: Numbers::new(client.0),
            run: None,
            current: None,
            tag: 0,
            calls: 0,
            tokens: Vec::new(),
            keys: Vec::new(),
            guest: None,
        }
    }

    pub(crate) fn client(&self) -> ClientId {
        self.client
    }

    pub(crate) fn start(&mut self, world: &mut World<'_, Packet>) {
        // Another process: it calls under another name.
        self.numbers = Numbers::new(world.random().bits());
        self.tag += 1;
        world.wake_after(1, self.tag);
    }

    pub(crate) fn crash(&mut self) {
        if let Some(current) = self.current.take() {
            self.note(&current, Err(BusError::Network("it crashed".to_owned())), 0);
        }
        self.run = None;
        self.guest = None;
        self.keys.clear();
        self.tokens.clear();
    }

    /// An answer is late, or it is time for the next call.
    pub(crate) fn wake(&mut self, timer: u64, world: &mut World<'_, Packet>) {
        if timer != self.tag {
            return;
        }
        if self.current.is_some() {
            return self.hear(Err(Failure::Lost("no answer".to_owned())), world);
        }
        if let Some(call) = self.next(world) {
            let exchange = Exchange::new(&call, &self.numbers);
            let asked = world.now_micros();
            self.current = Some(Current { call, exchange, tag: 0, tries: 0, asked });
            self.transmit(world);
        }
    }

    /// Sends the call, or asks for the run of the server first.
    fn transmit(&mut self, world: &mut World<'_, Packet>) {
        let Some(current) = &mut self.current else { return };
        self.tag += 1;
        (current.tag, current.tries) = (self.tag, current.tries + 1);
        self.story.repeated += u64::from(current.tries > 1);
        let packet = match (current.exchange.needs_run(), self.run) {
            (true, None) => Packet::Describe { tag: current.tag },
            (_, run) => Packet::Call {
                tag: current.tag,
                call: current.call.clone(),
                retry: current.exchange.retry(run.unwrap_or(0)),
            },
        };
        world.send(SERVER, packet);
        world.wake_after(PATIENCE, self.tag);
    }

    pub(crate) fn take(&mut self, packet: Packet, world: &mut World<'_, Packet>) {
        let awaited = self.current.as_ref().map(|current| current.tag);
        match packet {
            Packet::Run { tag, run } if Some(tag) == awaited => {
                self.run = Some(run);
                self.transmit(world);
            }
            Packet::Answer { tag, outcome } if Some(tag) == awaited => self.hear(outcome, world),
            _ => {}
        }
    }

    fn hear(&mut self, heard: Result<Reply, Failure>, world: &mut World<'_, Packet>) {
        let Some(current) = &mut self.current else { return };
        // A question for the run that is lost says nothing of the call.
        let was_sent = !current.exchange.needs_run();
        let heard = heard.map_err(|failure| match failure {
            Failure::Lost(why) if !was_sent => Failure::Unreached(why),
            other => other,
        });
        let outcome = match current.exchange.heard(heard) {
            Next::Done(outcome) => outcome,
            Next::Again if current.tries < TRIES => {
                if world.random().chance(20) {
                    // The next try finds no server, and what it hears is about itself alone.
                    let refused = Failure::Unreached("refused".to_owned());
                    let again = current.exchange.heard(Err(refused));
                    assert_eq!(again, Next::Again);
                    self.run = None;
                }
                return self.transmit(world);
            }
            Next::Again => Err(BusError::Network("patience ended".to_owned())),
        };
        if matches!(outcome, Err(BusError::Network(_))) {
            // The server may be another by now.
            self.run = None;
        }
        if let Some(current) = self.current.take() {
            self.note(&current, outcome, world.now_micros());
        }
        self.tag += 1;
        let pause = world.random().within(100..3_000);
        world.wake_after(pause, self.tag);
    }

    /// The next call, if there is one.
    fn next(&mut self, world: &mut World<'_, Packet>) -> Option<Call> {
        self.calls += 1;
        if self.calls <= CALLS && world.random().chance(8) {
            return Some(match self.guest {
                None => Call::Connect,
                Some(guest) => Call::DisconnectIfEmpty(guest),
            });
        }
        match self.role {
            Role::Sender if self.calls > CALLS => None,
            Role::Sender if !self.tokens.is_empty() && world.random().chance(25) => {
                let at = world.random().below(self.tokens.len() as u64) as usize;
                let token = self.tokens.swap_remove(at);
                Some(Call::Cancel(self.client, vec![token], Spare::Nobody))
            }
            Role::Sender => Some(self.draw_send(world)),
            Role::Keeper if !self.keys.is_empty() && world.random().chance(60) => {
                let count = 1 + world.random().below(self.keys.len() as u64) as usize;
                Some(Call::Delete(self.client, self.keys.drain(..count).collect()))
            }
            Role::Keeper => Some(self.receive(Receipt::Keep, 1 + world.random().below(6) as usize)),
            Role::Taker => Some(self.receive(Receipt::Delete, TAKEN)),
        }
    }

    fn receive(&self, receipt: Receipt, limit: usize) -> Call {
        let (client, priority_min, wait) = (self.client, Priority(i32::MIN), Wait::No);
        Call::Receive(Receive { client, limit, priority_min, wait, receipt })
    }

    fn draw_send(&mut self, world: &mut World<'_, Packet>) -> Call {
        let number = self.story.sent.len() as u64;
        let copies = if world.random().chance(60) { Copies::Each } else { Copies::One };
        self.story.sent.push(Sending { number, copies, message: None });
        let is_tied = world.random().chance(30);
        Call::Send(Send {
            sender: self.client,
            message_type: TYPE,
            named: None,
            body: number.to_le_bytes().into(),
            copies,
            priority: Priority(world.random().below(2) as i32),
            deadline: Deadline::Never,
            cancellable: if is_tied { Cancellable::Yes } else { Cancellable::No },
        })
    }

    /// Remembers what a call came to.
    fn note(&mut self, current: &Current, outcome: bus::Result<Reply>, now: i64) {
        let story = &mut self.story;
        match (&current.call, outcome) {
            (call, Err(BusError::Network(_))) => {
                story.unknown += 1;
                match call {
                    Call::Receive(receive) if receive.receipt == Receipt::Delete => {
                        story.unknown_takes += 1;
                    }
                    Call::Cancel(_, tokens, _) => {
                        story.cancelled.push(Cancelling { message: tokens[0].message(), at: None })
                    }
                    Call::DisconnectIfEmpty(_) => self.guest = None,
                    _ => {}
                }
            }
            (Call::Connect, Ok(Reply::Client(client))) => {
                story.connected.push(client);
                self.guest = Some(client);
            }
            (Call::DisconnectIfEmpty(guest), Ok(Reply::Done)) => {
                story.disconnected.push(*guest);
                self.guest = None;
            }
            (Call::Send(_), Ok(Reply::Sent(sent))) => {
                let last = story.sent.last_mut().expect("it was noted when it was drawn");
                last.message = Some(sent.id);
                self.tokens.extend(sent.token);
            }
            (Call::Cancel(_, tokens, _), Ok(Reply::Count(_))) => {
                story.cancelled.push(Cancelling { message: tokens[0].message(), at: Some(now) })
            }
            (Call::Delete(_, keys), Ok(Reply::Count(_))) => {
                story.deleted.extend(keys.iter().map(|key| key.id));
            }
            (Call::Receive(receive), Ok(Reply::Messages(messages))) => {
                assert!(messages.len() <= receive.limit, "above the limit");
                let in_order = messages.is_sorted_by(|a, b| a.key < b.key);
                assert!(in_order, "{}: not in the order of queues", self.client);
                for message in &messages {
                    let id = message.key.id;
                    assert!(!story.deleted.contains(&id), "{id:?} came after its delete");
                    if receive.receipt == Receipt::Delete {
                        let twice = story.received.iter().any(|seen| seen.message.key.id == id);
                        assert!(!twice, "{id:?} was taken twice");
                    }
                    let (message, asked) = (Arc::clone(message), current.asked);
                    story.received.push(Receipted { message, asked });
                }
                self.keys = messages.iter().map(|message| message.key).collect();
            }
            (call, outcome) => panic!("{}: {call:?} came to {outcome:?}", self.client),
        }
    }
}
