//! Calls through a simulated network that loses, doubles and delays frames: each happens once.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use testkit::sim::{Faults, Party, PartyId, Sim, World};
use transport::{Channel, Entry, Exchange, Outbox, Outlet, Patience, Request, Service, Tasks};

/// Adds numbers: what happens twice shows.
#[derive(Default)]
struct Adder(Mutex<BTreeMap<u64, u64>>);

impl Service for Adder {
    fn answer(&self, request: &Request<'_>) -> Option<Vec<u8>> {
        let mut sums = self.0.lock();
        let sum = sums.entry(request.client).or_default();
        *sum += u64::from(request.payload[0]);
        Some(sum.to_le_bytes().into())
    }

    fn happens_once(&self, _: &[u8]) -> bool {
        true
    }

    fn refusal(&self) -> Vec<u8> {
        Vec::new()
    }
}

struct Nowhere;

impl Outbox for Nowhere {
    fn put(&self, _: &Entry<'_>) {}
}

#[derive(Default)]
struct Frames(Mutex<Vec<Vec<u8>>>);

impl Outlet for Frames {
    fn send(&self, frame: Vec<u8>) {
        self.0.lock().push(frame);
    }
}

enum Peer {
    Server(Exchange<Adder>),
    Client { channel: Arc<Channel>, frames: Arc<Frames>, tasks: Tasks<'static, u64>, sum: u64 },
}

/// Calls of each client.
const CALLS: u64 = 20;

fn client(number: u64) -> Peer {
    let channel = Arc::new(Channel::new(number, Patience::Resend));
    let mut tasks = Tasks::default();
    for task in 0..4 {
        let channel = Arc::clone(&channel);
        tasks.spawn(async move {
            let mut last = 0;
            for n in 0..CALLS / 4 {
                let answer = channel.write(vec![(n + task) as u8]).await.expect("is answered");
                last = u64::from_le_bytes(answer.try_into().expect("a sum"));
            }
            last
        });
    }
    Peer::Client { channel, frames: Arc::default(), tasks, sum: 0 }
}

impl Peer {
    fn go_on(&mut self, world: &mut World<'_, Vec<u8>>) {
        let Self::Client { channel, frames, tasks, sum } = self else { return };
        tasks.round().into_iter().for_each(|last| *sum = last.max(*sum));
        channel.flush();
        frames.0.lock().drain(..).for_each(|frame| world.send(PartyId(0), frame));
    }
}

impl Party for Peer {
    type Message = Vec<u8>;

    fn start(&mut self, world: &mut World<'_, Vec<u8>>) {
        if let Self::Client { channel, frames, .. } = self {
            channel.attach(Arc::clone(frames) as Arc<dyn Outlet>);
            world.wake_after(1, 0);
        }
        self.go_on(world);
    }

    fn receive(&mut self, from: PartyId, frame: Vec<u8>, world: &mut World<'_, Vec<u8>>) {
        match self {
            Self::Server(exchange) => {
                let outbox: Arc<dyn Outbox> = Arc::new(Nowhere);
                let answers = exchange.receive(&frame, &outbox).expect("a frame");
                answers.into_iter().for_each(|answers| world.send(from, answers));
            }
            Self::Client { channel, .. } => channel.receive(&frame).expect("a frame"),
        }
        self.go_on(world);
    }

    fn wake(&mut self, timer: u64, world: &mut World<'_, Vec<u8>>) {
        if let Self::Client { channel, .. } = self {
            channel.resend();
            world.wake_after(3_000, timer);
        }
        self.go_on(world);
    }

    fn crash(&mut self) {}
}

#[test]
fn each_call_happens_once() {
    for seed in 0..100 {
        let faults = Faults {
            delay: 100..5_000,
            lost: 20,
            doubled: 20,
            calm: 2_000..30_000,
            trouble: 1_000..9_000,
            crashing: Vec::new(),
        };
        let server = Peer::Server(Exchange::new(Adder::default(), 3));
        let mut sim = Sim::new(seed, faults, vec![server, client(1), client(2)]);
        sim.run_for(100_000);
        sim.calm();
        sim.run_for(200_000);
        let expected: u64 = (0..4).flat_map(|task| (0..CALLS / 4).map(move |n| n + task)).sum();
        for peer in sim.parties() {
            match peer {
                Peer::Server(exchange) => {
                    let sums = exchange.service().0.lock();
                    assert_eq!(*sums, BTreeMap::from([(1, expected), (2, expected)]), "{seed}");
                }
                Peer::Client { tasks, sum, .. } => {
                    assert!(tasks.is_empty(), "seed {seed}: calls without an answer");
                    assert_eq!(*sum, expected, "seed {seed}");
                }
            }
        }
    }
}
