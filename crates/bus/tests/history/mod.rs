//! Histories of calls, which a bus and the model live through side by side.
#![allow(dead_code)]

use std::time::Duration;

use bus::{
    Address, Bus, BusError, Cancellable, ClientId, Copies, Deadline, Delivery, MessageType, Model,
    Priority, QueueKey, Receipt, ReceiveOptions, Result, SendOptions, Sent, Spare, Time, Token,
};
use host::{Clock, SimClock};
use proptest::prelude::*;

/// A call, or a moment that passes. Clients are counted among all that ever were; the number
/// behind the last means one that never was.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Connect,
    Disconnect(usize),
    DisconnectIfEmpty(usize),
    RegisterSender(usize, u32),
    RegisterReceiver(usize, u32),
    Send(Letter),
    Receive { client: usize, limit: usize, priority_min: i32, receipt: Receipt },
    Delete { client: usize, first: usize, count: usize },
    Cancel { client: usize, tokens: Vec<usize>, spare: Spare },
    Later(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Letter {
    sender: usize,
    message_type: u32,
    /// Nobody: those who receive the type.
    receivers: Vec<usize>,
    copies: Copies,
    priority: i32,
    deadline: Option<u64>,
    cancellable: Cancellable,
}

/// Few clients, types and priorities, so that calls meet.
pub(crate) fn steps(copies: impl Strategy<Value = Copies> + Clone) -> impl Strategy<Value = Step> {
    let client = 0..9_usize;
    let message_type = 0..3_u32;
    let receipt = prop_oneof![Just(Receipt::Keep), Just(Receipt::Delete)];
    let spare = prop_oneof![Just(Spare::Nobody), Just(Spare::Caller)];
    let letter = (
        (client.clone(), message_type.clone(), proptest::collection::vec(client.clone(), 0..4)),
        (copies, -1..2_i32, proptest::option::weighted(0.3, 0..20_u64), any::<bool>()),
    );
    let letter = letter.prop_map(|((sender, message_type, receivers), rest)| {
        let (copies, priority, deadline, is_cancellable) = rest;
        let cancellable = if is_cancellable { Cancellable::Yes } else { Cancellable::No };
        Letter { sender, message_type, receivers, copies, priority, deadline, cancellable }
    });
    prop_oneof![
        3 => Just(Step::Connect),
        1 => client.clone().prop_map(Step::Disconnect),
        1 => client.clone().prop_map(Step::DisconnectIfEmpty),
        6 => (client.clone(), message_type.clone()).prop_map(|(c, t)| Step::RegisterSender(c, t)),
        6 => (client.clone(), message_type).prop_map(|(c, t)| Step::RegisterReceiver(c, t)),
        20 => letter.prop_map(Step::Send),
        4 => (client.clone(), 0..4_usize, -1..2_i32, receipt).prop_map(
            |(client, limit, priority_min, receipt)| Step::Receive {
                client, limit, priority_min, receipt
            }
        ),
        4 => (client.clone(), 0..4_usize, 0..3_usize)
            .prop_map(|(client, first, count)| Step::Delete { client, first, count }),
        3 => (client, proptest::collection::vec(any::<usize>(), 0..3), spare)
            .prop_map(|(client, tokens, spare)| Step::Cancel { client, tokens, spare }),
        2 => (1..8_u64).prop_map(Step::Later),
    ]
}

/// Part of a message that must be equal: its id may differ, its body tells it.
type Seen = (Priority, Time, ClientId, Time, MessageType, Vec<u8>, bool);

fn seen(message: &Delivery) -> Seen {
    let key = message.key;
    let body = message.body.to_vec();
    let has_token = message.token().is_some();
    (
        key.priority,
        key.deadline,
        message.sender,
        message.sent,
        message.message_type,
        body,
        has_token,
    )
}

fn all_seen(messages: Result<Vec<Delivery>>) -> Result<Vec<Seen>> {
    messages.map(|messages| messages.iter().map(seen).collect())
}

/// A bus is not as the model says, or may be as either of two.
#[derive(Debug)]
pub(crate) enum Certainty {
    Sure,
    /// The call failed in the storage: it happened or it did not.
    Unknown,
}

/// A model beside a bus, and what clients of both remember.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    pub(crate) model: Model,
    clock: SimClock,
    /// The model as it would be if the call of unknown outcome had happened.
    other: Option<Model>,
    clients: Vec<ClientId>,
    tokens: Vec<(Token, Token)>,
    bodies: u64,
}

impl Twin {
    pub(crate) fn new(clock: SimClock) -> Self {
        let (clients, tokens) = (Vec::new(), Vec::new());
        Self { model: Model::default(), clock, other: None, clients, tokens, bodies: 0 }
    }

    fn now(&self) -> Time {
        Time(self.clock.micros())
    }

    fn client(&self, number: usize) -> ClientId {
        self.clients.get(number).copied().unwrap_or(ClientId(1 << 50))
    }

    /// Makes the step on both and compares.
    pub(crate) fn step(&mut self, bus: &dyn Bus, step: &Step) -> Certainty {
        let mut next = self.model.clone();
        let outcome = self.call(bus, &mut next, step);
        match outcome {
            Certainty::Sure => self.model = next,
            Certainty::Unknown => self.other = Some(next),
        }
        outcome
    }

    fn call(&mut self, bus: &dyn Bus, model: &mut Model, step: &Step) -> Certainty {
        let now = self.now();
        match step {
            Step::Connect => {
                let expected = model.connect(now);
                let outcome = bus.connect();
                if outcome.is_ok() {
                    self.clients.push(expected);
                }
                compare(step, outcome, Ok(expected))
            }
            Step::Disconnect(client) => {
                let client = self.client(*client);
                compare(step, bus.disconnect(client), model.disconnect(client))
            }
            Step::DisconnectIfEmpty(client) => {
                let client = self.client(*client);
                let expected = model.disconnect_if_empty(client, now);
                compare(step, bus.disconnect_if_empty(client), expected)
            }
            Step::RegisterSender(client, kind) => {
                let (client, kind) = (self.client(*client), MessageType(*kind));
                compare(
                    step,
                    bus.register_sender(client, kind),
                    model.register_sender(client, kind),
                )
            }
            Step::RegisterReceiver(client, kind) => {
                let (client, kind) = (self.client(*client), MessageType(*kind));
                let expected = model.register_receiver(client, kind);
                compare(step, bus.register_receiver(client, kind), expected)
            }
            Step::Send(letter) => self.send(bus, model, letter),
            Step::Receive { client, limit, priority_min, receipt } => {
                let options = ReceiveOptions {
                    limit: *limit,
                    priority_min: Priority(*priority_min),
                    receipt: *receipt,
                    ..ReceiveOptions::new(self.client(*client))
                };
                let expected = all_seen(model.receive(&options, now));
                compare(step, all_seen(bus.receive(&options)), expected)
            }
            Step::Delete { client, first, count } => {
                let client = self.client(*client);
                let options = ReceiveOptions::new(client);
                let part = |messages: Result<Vec<Delivery>>| -> Vec<QueueKey> {
                    let messages = messages.unwrap_or_default();
                    let keys = messages.iter().map(|message| message.key);
                    keys.skip(*first).take(*count).collect()
                };
                let theirs = part(model.receive(&options, now));
                let ours = part(bus.receive(&options));
                compare(step, bus.delete(client, &ours), model.delete(client, &theirs))
            }
            Step::Cancel { client, tokens, spare } => {
                let client = self.client(*client);
                let all = &self.tokens;
                let chosen = tokens.iter().filter(|_| !all.is_empty());
                let (ours, theirs): (Vec<_>, Vec<_>) =
                    chosen.map(|i| all[i % all.len()].clone()).unzip();
                let expected = model.cancel(client, &theirs, *spare);
                let outcome = bus.cancel(client, &ours, *spare);
                // Expired copies may be gone or not.
                compare(step, outcome.map(drop), expected.map(drop))
            }
            Step::Later(micros) => {
                self.clock.advance(Duration::from_micros(*micros));
                Certainty::Sure
            }
        }
    }

    fn send(&mut self, bus: &dyn Bus, model: &mut Model, letter: &Letter) -> Certainty {
        let now = self.now();
        let named: Vec<ClientId> = letter.receivers.iter().map(|to| self.client(*to)).collect();
        self.bodies += 1;
        let address = if named.is_empty() { Address::Any } else { Address::Clients(&named) };
        let body = self.bodies.to_le_bytes();
        let options = SendOptions {
            copies: letter.copies,
            priority: Priority(letter.priority),
            deadline: letter
                .deadline
                .map_or(Deadline::Never, |micros| Deadline::After(Duration::from_micros(micros))),
            cancellable: letter.cancellable,
            ..SendOptions::new(
                self.client(letter.sender),
                MessageType(letter.message_type),
                address,
                body,
            )
        };
        let outcome = bus.send(&options);
        // Whom the bus chose shows who has the message, unless it has expired already.
        let candidates = model.candidates(&options).unwrap_or_default();
        let has = |client: &ClientId| {
            let messages = bus.peek(*client).unwrap_or_default();
            messages.iter().any(|message| message.body[..] == body)
        };
        let (choice, is_known) = match options.copies {
            Copies::One => {
                let holder = candidates.iter().position(has);
                (holder.unwrap_or(0), holder.is_some() || candidates.len() < 2)
            }
            Copies::Each => (0, true),
        };
        let expected = model.send(&options, now, choice);
        // Nobody can say who may cancel a message that one of several has, nobody knows who.
        if is_known
            && let (Ok(ours), Ok(theirs)) = (&outcome, &expected)
            && let (Some(ours), Some(theirs)) = (&ours.token, &theirs.token)
        {
            self.tokens.push((ours.clone(), theirs.clone()));
        }
        let told = |sent: Result<Sent>| sent.map(|s| (s.sent, s.copies, s.token.is_some()));
        compare(&Step::Send(letter.clone()), told(outcome), told(expected))
    }

    /// Compares all that can be seen; after a call of unknown outcome, with both that it may be.
    pub(crate) fn settle(&mut self, bus: &dyn Bus) {
        if let Some(other) = self.other.take()
            && differences(bus, &self.model, self.now()).is_some()
        {
            self.model = other;
        }
        if let Some(difference) = differences(bus, &self.model, self.now()) {
            panic!("the bus differs: {difference}");
        }
        let infos = self.model.clients(self.now());
        let unknown = infos.iter().map(|info| info.client).filter(|c| !self.clients.contains(c));
        let unknown: Vec<ClientId> = unknown.collect();
        self.clients.extend(unknown);
    }
}

fn compare<T: PartialEq + std::fmt::Debug>(
    step: &Step,
    outcome: Result<T>,
    expected: Result<T>,
) -> Certainty {
    if let Err(BusError::Storage(_)) = outcome {
        return Certainty::Unknown;
    }
    assert_eq!(outcome, expected, "{step:?}");
    Certainty::Sure
}

fn differences(bus: &dyn Bus, model: &Model, now: Time) -> Option<String> {
    let (ours, theirs) = (bus.clients().expect("lists"), model.clients(now));
    if ours != theirs {
        return Some(format!("{ours:?}, the model has {theirs:?}"));
    }
    theirs.iter().find_map(|info| {
        let ours = all_seen(bus.peek(info.client));
        let options = ReceiveOptions::new(info.client);
        let theirs = all_seen(model.clone().receive(&options, now));
        (ours != theirs).then(|| format!("{}: {ours:?}, the model has {theirs:?}", info.client))
    })
}
