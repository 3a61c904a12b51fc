//! Parties that talk by messages, on one thread, from one seed: a failure is a number.
//!
//! ```text
//! Party::{start, receive, wake} --World--> messages, timers --> queue by simulated time --> Party
//!             lost, late, doubled, reordered, cut off, stalled; parties crash and start again
//! ```
//! Invariants: the same seed and parties give the same run ([`Sim::trace`]); a party that is down
//! gets nothing, and what was on its way to it is lost; time moves from one event to the next.
//! Elsewhere: disks and clocks of parties (`host::SimIo`, `host::SimClock`, which parties own),
//! what must hold (each user's checks; the first is `wal/tests/served.rs`).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use crate::Random;

/// A party of a simulation, by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartyId(pub usize);

/// Whoever takes part in a simulation: a server, a client.
pub trait Party {
    /// Messages between parties.
    type Message: Clone;

    /// Begins, at first and after each crash.
    fn start(&mut self, world: &mut World<'_, Self::Message>);

    /// Takes a message.
    fn receive(
        &mut self,
        from: PartyId,
        message: Self::Message,
        world: &mut World<'_, Self::Message>,
    );

    /// Is woken by a timer that it set in this life.
    fn wake(&mut self, timer: u64, world: &mut World<'_, Self::Message>);

    /// Loses what it has in memory and what its disk has not made durable.
    fn crash(&mut self);
}

/// How often and how badly things go wrong. Probabilities are in percent; times in microseconds.
#[derive(Clone, Debug)]
pub struct Faults {
    /// How long a message takes: its spread reorders messages.
    pub delay: Range<i64>,
    /// Messages that never come.
    pub lost: u32,
    /// Messages that come twice.
    pub doubled: u32,
    /// Time between two troubles: a crash, a cut between two parties, or a party that stalls.
    pub calm: Range<i64>,
    /// How long a trouble lasts.
    pub trouble: Range<i64>,
    /// Parties that may crash; others are only cut off and stalled.
    pub crashing: Vec<PartyId>,
}

impl Faults {
    /// A network without faults, whose messages take 100 to 200 us.
    pub fn none() -> Self {
        let (calm, trouble) = (i64::MAX / 4..i64::MAX / 2, 1..2);
        Self { delay: 100..200, lost: 0, doubled: 0, calm, trouble, crashing: Vec::new() }
    }
}

/// The world as a party sees it while it acts.
pub struct World<'a, M> {
    now: i64,
    me: PartyId,
    random: &'a mut Random,
    sent: Vec<(PartyId, M)>,
    timers: Vec<(i64, u64)>,
}

impl<M> World<'_, M> {
    /// Microseconds since the beginning.
    pub fn now_micros(&self) -> i64 {
        self.now
    }

    /// The party that acts.
    pub fn me(&self) -> PartyId {
        self.me
    }

    /// Chance, from the seed.
    pub fn random(&mut self) -> &mut Random {
        self.random
    }

    /// Sends a message; whether and when it comes is up to the simulation.
    pub fn send(&mut self, to: PartyId, message: M) {
        self.sent.push((to, message));
    }

    /// Has [`Party::wake`] called after `micros`, unless the party crashes before.
    pub fn wake_after(&mut self, micros: i64, timer: u64) {
        self.timers.push((micros, timer));
    }
}

enum Event<M> {
    Deliver { from: PartyId, to: PartyId, message: M },
    Wake { who: PartyId, life: u64, timer: u64 },
    Trouble,
    Restart(PartyId),
    Join(PartyId, PartyId),
}

struct Member<P> {
    party: P,
    /// Crashes so far: timers of earlier lives are void.
    life: u64,
    is_down: bool,
    /// Until when it takes nothing, as behind a slow disk.
    stalled_until: i64,
}

/// A simulation of parties of type `P`.
pub struct Sim<P: Party> {
    members: Vec<Member<P>>,
    random: Random,
    faults: Faults,
    now: i64,
    /// By time, then by number: no two events are equal.
    queue: BinaryHeap<Reverse<(i64, u64)>>,
    events: HashMap<u64, Event<P::Message>>,
    number: u64,
    cut: BTreeSet<(PartyId, PartyId)>,
    trace: DefaultHasher,
    crashes: u64,
}

impl<P: Party> Sim<P> {
    /// A simulation of these parties, which start at once.
    pub fn new(seed: u64, faults: Faults, parties: Vec<P>) -> Self {
        let member = |party| Member { party, life: 0, is_down: false, stalled_until: 0 };
        let mut sim = Self {
            members: parties.into_iter().map(member).collect(),
            random: Random::new(seed),
            faults,
            now: 0,
            queue: BinaryHeap::new(),
            events: HashMap::new(),
            number: 0,
            cut: BTreeSet::new(),
            trace: DefaultHasher::new(),
            crashes: 0,
        };
        for who in 0..sim.members.len() {
            sim.act(PartyId(who), |party, world| party.start(world));
        }
        sim.plan_trouble();
        sim
    }

    /// Microseconds since the beginning.
    pub fn now_micros(&self) -> i64 {
        self.now
    }

    /// Crashes so far.
    pub fn crashes(&self) -> u64 {
        self.crashes
    }

    /// A number that two runs have in common only when they were the same.
    pub fn trace(&self) -> u64 {
        self.trace.finish()
    }

    /// The parties, in order.
    pub fn parties(&self) -> impl Iterator<Item = &P> {
        self.members.iter().map(|member| &member.party)
    }

    /// Lets `micros` pass.
    pub fn run_for(&mut self, micros: i64) {
        let end = self.now + micros;
        while self.queue.peek().is_some_and(|Reverse((at, _))| *at <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Ends all troubles and has no new ones: what is down starts, who is cut off is joined.
    pub fn calm(&mut self) {
        self.faults = Faults { delay: self.faults.delay.clone(), ..Faults::none() };
        self.cut.clear();
        for who in 0..self.members.len() {
            self.members[who].stalled_until = self.now;
            self.restart(PartyId(who));
        }
    }

    fn step(&mut self) {
        let Some(Reverse((at, number))) = self.queue.pop() else { return };
        let Some(event) = self.events.remove(&number) else { return };
        self.now = at;
        self.trace.write_i64(at);
        match event {
            Event::Deliver { from, to, message } => self.deliver(from, to, message),
            Event::Wake { who, life, timer } => {
                let member = &self.members[who.0];
                if member.is_down || member.life != life {
                    return;
                }
                if member.stalled_until > at {
                    let until = member.stalled_until;
                    return self.at(until, Event::Wake { who, life, timer });
                }
                self.note(2, who);
                self.act(who, |party, world| party.wake(timer, world));
            }
            Event::Trouble => self.make_trouble(),
            Event::Restart(who) => self.restart(who),
            Event::Join(a, b) => drop(self.cut.remove(&(a, b))),
        }
    }

    fn deliver(&mut self, from: PartyId, to: PartyId, message: P::Message) {
        let member = &self.members[to.0];
        if member.is_down || self.cut.contains(&(from.min(to), from.max(to))) {
            return;
        }
        if member.stalled_until > self.now {
            let until = member.stalled_until;
            return self.at(until, Event::Deliver { from, to, message });
        }
        self.note(1, to);
        self.act(to, |party, world| party.receive(from, message, world));
    }

    fn note(&mut self, what: u8, who: PartyId) {
        self.trace.write_u8(what);
        self.trace.write_usize(who.0);
    }

    fn act(&mut self, who: PartyId, act: impl FnOnce(&mut P, &mut World<'_, P::Message>)) {
        let (sent, timers) = (Vec::new(), Vec::new());
        let mut world = World { now: self.now, me: who, random: &mut self.random, sent, timers };
        act(&mut self.members[who.0].party, &mut world);
        let World { sent, timers, .. } = world;
        for (to, message) in sent {
            self.send(who, to, message);
        }
        let life = self.members[who.0].life;
        for (micros, timer) in timers {
            self.at(self.now + micros, Event::Wake { who, life, timer });
        }
    }

    fn send(&mut self, from: PartyId, to: PartyId, message: P::Message) {
        if self.random.chance(self.faults.lost) {
            return;
        }
        let copies = if self.random.chance(self.faults.doubled) { 2 } else { 1 };
        for _ in 0..copies {
            let at = self.now + self.random.within(self.faults.delay.clone());
            self.at(at, Event::Deliver { from, to, message: message.clone() });
        }
    }

    fn at(&mut self, at: i64, event: Event<P::Message>) {
        self.number += 1;
        self.queue.push(Reverse((at, self.number)));
        self.events.insert(self.number, event);
    }

    fn plan_trouble(&mut self) {
        let at = self.now + self.random.within(self.faults.calm.clone());
        self.at(at, Event::Trouble);
    }

    /// A crash, a cut between two parties, or a party that stalls; the next one is planned.
    fn make_trouble(&mut self) {
        let end = self.now + self.random.within(self.faults.trouble.clone());
        let any = |random: &mut Random, count| PartyId(random.below(count as u64) as usize);
        let count = self.members.len();
        match self.random.below(3) {
            0 if !self.faults.crashing.is_empty() => {
                let at = any(&mut self.random, self.faults.crashing.len()).0;
                let who = self.faults.crashing[at];
                self.crash(who);
                self.at(end, Event::Restart(who));
            }
            1 => {
                let (a, b) = (any(&mut self.random, count), any(&mut self.random, count));
                let (a, b) = (a.min(b), a.max(b));
                self.cut.insert((a, b));
                self.at(end, Event::Join(a, b));
            }
            _ => {
                let who = any(&mut self.random, count);
                self.members[who.0].stalled_until = end;
            }
        }
        self.plan_trouble();
    }

    fn crash(&mut self, who: PartyId) {
        let member = &mut self.members[who.0];
        if member.is_down {
            return;
        }
        member.party.crash();
        (member.is_down, member.life) = (true, member.life + 1);
        self.crashes += 1;
        self.note(3, who);
    }

    fn restart(&mut self, who: PartyId) {
        if self.members[who.0].is_down {
            self.members[who.0].is_down = false;
            self.note(4, who);
            self.act(who, |party, world| party.start(world));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends numbers to the other party, again until they are confirmed.
    #[derive(Default)]
    struct Peer {
        /// Confirmed, if it sends; seen, if it is sent to.
        known: BTreeSet<u64>,
        sends: u64,
        /// Messages it got, doubled ones too.
        got: u64,
    }

    #[derive(Clone)]
    enum Message {
        Number(u64),
        Seen(u64),
    }

    impl Party for Peer {
        type Message = Message;

        fn start(&mut self, world: &mut World<'_, Message>) {
            world.wake_after(1, 0);
        }

        fn receive(&mut self, from: PartyId, message: Message, world: &mut World<'_, Message>) {
            self.got += 1;
            match message {
                Message::Number(number) => {
                    self.known.insert(number);
                    world.send(from, Message::Seen(number));
                }
                Message::Seen(number) => drop(self.known.insert(number)),
            }
        }

        fn wake(&mut self, timer: u64, world: &mut World<'_, Message>) {
            let other = PartyId(1 - world.me().0);
            for number in (0..self.sends).filter(|number| !self.known.contains(number)) {
                world.send(other, Message::Number(number));
            }
            world.wake_after(2_000, timer);
        }

        fn crash(&mut self) {
            self.got = 0;
        }
    }

    fn faults() -> Faults {
        let (delay, crashing) = (100..5_000, vec![PartyId(1)]);
        Faults {
            delay,
            lost: 20,
            doubled: 20,
            calm: 1_000..20_000,
            trouble: 1_000..9_000,
            crashing,
        }
    }

    fn run(seed: u64) -> Sim<Peer> {
        let parties = vec![Peer { sends: 50, ..Peer::default() }, Peer::default()];
        let mut sim = Sim::new(seed, faults(), parties);
        sim.run_for(100_000);
        sim
    }

    #[test]
    fn a_seed_is_a_run() {
        let traces: BTreeSet<u64> = (0..20).map(|seed| run(seed).trace()).collect();
        assert_eq!(traces.len(), 20, "each seed is another run");
        assert_eq!(run(7).trace(), run(7).trace());
        assert!((0..20).map(|seed| run(seed).crashes()).sum::<u64>() > 20, "parties crash");
    }

    #[test]
    fn all_comes_through_once_it_is_calm() {
        for seed in 0..20 {
            let mut sim = run(seed);
            sim.calm();
            sim.run_for(100_000);
            for peer in sim.parties() {
                assert_eq!(peer.known.len(), 50, "seed {seed}");
            }
        }
    }

    #[test]
    fn without_faults_each_message_comes_once() {
        let parties = vec![Peer { sends: 50, ..Peer::default() }, Peer::default()];
        let mut sim = Sim::new(1, Faults::none(), parties);
        sim.run_for(1_000);
        let got: Vec<u64> = sim.parties().map(|peer| peer.got).collect();
        assert_eq!(got, [50, 50]);
    }
}
