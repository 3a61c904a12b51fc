//! Judges a history: what programs were told against what they received and what is left.

use std::collections::{BTreeMap, BTreeSet};

use bus::{ClientId, Copies, MessageId};

use super::packet::Actor;
use super::program::{Program, Role, TAKEN};
use super::server::Server;

/// Counts of what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) acknowledged: u64,
    pub(crate) unknown: u64,
    pub(crate) repeated: u64,
    pub(crate) received: u64,
    pub(crate) cancelled: u64,
    pub(crate) connected: u64,
    pub(crate) lives: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
        self.repeated += other.repeated;
        self.received += other.received;
        self.cancelled += other.cancelled;
        self.connected += other.connected;
        self.lives += other.lives;
    }
}

/// A message by its sender and number.
type Name = (ClientId, u64);

struct History<'a> {
    seed: u64,
    server: &'a Server,
    programs: Vec<&'a Program>,
    /// Messages that each receiver received or still has.
    held: BTreeMap<ClientId, BTreeSet<MessageId>>,
    /// Messages that were cancelled, or may be.
    cancelled: BTreeSet<MessageId>,
    ids: BTreeMap<MessageId, Name>,
}

/// Judges one history.
///
/// # Panics
/// Where the history is wrong.
pub(crate) fn check(seed: u64, server: &Actor, programs: &[&Actor]) -> Tally {
    let Actor::Server(server) = server else { panic!("the first party is the server") };
    let programs: Vec<&Program> = programs
        .iter()
        .map(|actor| match actor {
            Actor::Program(program) => &**program,
            Actor::Server(_) => panic!("one server is enough"),
        })
        .collect();
    let mut history = History {
        seed,
        server,
        programs,
        held: BTreeMap::new(),
        cancelled: BTreeSet::new(),
        ids: BTreeMap::new(),
    };
    history.collect();
    history.check_names();
    history.check_broadcasts();
    history.check_singles();
    history.check_cancels();
    history.check_clients();
    history.tally()
}

impl History<'_> {
    fn collect(&mut self) {
        for program in &self.programs {
            let story = &program.story;
            self.cancelled.extend(story.cancelled.iter().map(|cancel| cancel.message));
            if program.role == Role::Sender {
                continue;
            }
            let left = self.server.queue(program.client());
            let received = story.received.iter().map(|receipt| &receipt.message);
            for message in received.chain(&left) {
                let number = u64::from_le_bytes(message.body[..].try_into().expect("8 bytes"));
                let name = (message.sender, number);
                let before = self.ids.insert(message.key.id, name);
                assert!(before.is_none_or(|before| before == name), "seed {}", self.seed);
                self.held.entry(program.client()).or_default().insert(message.key.id);
            }
            self.held.entry(program.client()).or_default();
        }
    }

    /// Each send is one message at most, that of its reply; those of one sender have their order.
    fn check_names(&self) {
        let seed = self.seed;
        let mut of_name: BTreeMap<Name, MessageId> = BTreeMap::new();
        for (id, name) in &self.ids {
            let before = of_name.insert(*name, *id);
            assert_eq!(before, None, "seed {seed}: {name:?} was sent twice");
        }
        for program in &self.programs {
            let sender = program.client();
            // What a process sent before it crashed may come behind what its successor sends.
            let told = program.story.sent.iter().filter_map(|sent| sent.message);
            assert!(told.is_sorted(), "seed {seed}: messages of {sender} were reordered");
            let count = program.story.sent.len() as u64;
            let strange = of_name.range((sender, count)..=(sender, u64::MAX)).next();
            assert_eq!(strange, None, "seed {seed}: nobody sent it");
            for sent in &program.story.sent {
                if let (Some(told), Some(found)) =
                    (sent.message, of_name.get(&(sender, sent.number)))
                {
                    assert_eq!(told, *found, "seed {seed}: another id was told");
                }
            }
        }
    }

    fn of_role(&self, role: Role) -> impl Iterator<Item = &&Program> {
        self.programs.iter().filter(move |program| program.role == role)
    }

    fn holds(&self, program: &Program, id: MessageId) -> bool {
        self.held[&program.client()].contains(&id)
    }

    /// Messages that a taker may have lost, as it was told.
    fn losses_allowed(&self) -> usize {
        self.of_role(Role::Taker).map(|taker| taker.story.unknown_takes * TAKEN).sum()
    }

    /// Broadcasts are with all receivers or with none, and with all if they were acknowledged.
    fn check_broadcasts(&self) {
        let seed = self.seed;
        let mut lost = 0;
        for program in self.of_role(Role::Sender) {
            let each = program.story.sent.iter().filter(|sent| sent.copies == Copies::Each);
            for sent in each {
                let name = (program.client(), sent.number);
                let found = self.ids.iter().find(|(_, found)| **found == name).map(|(id, _)| *id);
                let Some(id) = sent.message.or(found) else { continue };
                if self.cancelled.contains(&id) {
                    continue;
                }
                for keeper in self.of_role(Role::Keeper) {
                    assert!(self.holds(keeper, id), "seed {seed}: {id:?} is lost or partial");
                }
                let takers = self.of_role(Role::Taker);
                lost += takers.filter(|taker| !self.holds(taker, id)).count();
            }
        }
        for program in self.of_role(Role::Sender) {
            let ones = program.story.sent.iter().filter(|sent| sent.copies == Copies::One);
            let acknowledged = ones.filter_map(|sent| sent.message);
            let kept = acknowledged.filter(|id| !self.cancelled.contains(id));
            lost += kept.filter(|id| !self.ids.contains_key(id)).count();
        }
        let allowed = self.losses_allowed();
        assert!(lost <= allowed, "seed {seed}: {lost} are lost, of {allowed} that may be");
    }

    /// A message for one is with one.
    fn check_singles(&self) {
        for program in self.of_role(Role::Sender) {
            for sent in program.story.sent.iter().filter(|sent| sent.copies == Copies::One) {
                let name = (program.client(), sent.number);
                let Some((id, _)) = self.ids.iter().find(|(_, found)| **found == name) else {
                    continue;
                };
                let holders = self.held.values().filter(|held| held.contains(id)).count();
                assert_eq!(holders, 1, "seed {}: {id:?} was for one", self.seed);
            }
        }
    }

    /// Nobody who asked after a cancel was acknowledged got the message.
    fn check_cancels(&self) {
        let mut ends: BTreeMap<MessageId, i64> = BTreeMap::new();
        for program in &self.programs {
            let told = program.story.cancelled.iter();
            ends.extend(told.filter_map(|cancel| Some((cancel.message, cancel.at?))));
        }
        for program in &self.programs {
            for receipt in &program.story.received {
                let end = ends.get(&receipt.message.key.id);
                let late = end.is_some_and(|end| receipt.asked > *end);
                assert!(!late, "seed {}: {:?} was cancelled", self.seed, receipt.message.key.id);
            }
        }
        for program in self.programs.iter().filter(|program| program.role != Role::Sender) {
            let left = self.server.queue(program.client());
            let strange = left.iter().find(|message| ends.contains_key(&message.key.id));
            assert_eq!(strange, None, "seed {}: it was cancelled", self.seed);
        }
    }

    /// Clients are added once, have ids of their own, and stay until they leave.
    fn check_clients(&self) {
        let (mut known, there) = (BTreeSet::new(), self.server.clients());
        for program in &self.programs {
            known.insert(program.client());
        }
        let mut unknown = 0;
        for program in &self.programs {
            unknown += program.story.unknown as usize;
            for client in &program.story.connected {
                assert!(known.insert(*client), "seed {}: {client} was given twice", self.seed);
                let left = program.story.disconnected.contains(client);
                assert!(!left || !there.contains(client), "seed {}: {client} left", self.seed);
            }
        }
        let strange = there.iter().filter(|client| !known.contains(client)).count();
        assert!(strange <= unknown, "seed {}: {strange} came by themselves", self.seed);
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally { lives: self.server.lives, ..Tally::default() };
        for program in &self.programs {
            let story = &program.story;
            let acknowledged = story.sent.iter().filter(|sent| sent.message.is_some());
            tally.acknowledged += acknowledged.count() as u64;
            tally.unknown += story.unknown;
            tally.repeated += story.repeated;
            tally.received += story.received.len() as u64;
            let cancelled = story.cancelled.iter().filter(|cancel| cancel.at.is_some());
            tally.cancelled += cancelled.count() as u64;
            tally.connected += story.connected.len() as u64;
        }
        tally
    }
}
