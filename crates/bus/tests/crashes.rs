//! Crashes: of a disk that forgets what was not synced, at any change of a file.

mod history;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bus::native::{Durability, Hybrid, LogSettings, Native, Tree};
use bus::{
    Address, Bus, ClientId, Copies, Delivery, MessageId, MessageType, ReceiveOptions, SendOptions,
};
use history::{Certainty, Step, Twin, steps};
use host::{Fault, Io, SimClock, SimIo, Tear};
use proptest::prelude::*;
use testkit::Random;
use wal::{Background, LogOptions};

type Logged = Native<Hybrid, Tree>;

fn settings(background: Background) -> LogSettings {
    let log = LogOptions { segment_bytes: 4096, background, ..LogOptions::default() };
    LogSettings { snapshot_bytes: 8 << 10, log, ..LogSettings::default() }
}

fn open(sim: &SimIo, clock: &SimClock, settings: LogSettings) -> types::Result<Logged> {
    let io: Arc<dyn Io> = Arc::new(sim.clone());
    Native::open(Hybrid, Arc::new(clock.clone()), &io, Path::new("/bus"), settings)
}

/// Opens after a crash, which may meet faults of its own.
fn reopen(sim: &SimIo, clock: &SimClock, random: &mut Random) -> Logged {
    if random.chance(30) {
        sim.inject(Fault::PowerLoss(1 + random.below(12)));
        drop(open(sim, clock, settings(Background::None)));
        sim.crash();
    }
    sim.clear_faults();
    open(sim, clock, settings(Background::None)).expect("opens")
}

/// One thread: what was acknowledged is there, and of the call that failed all or nothing.
fn lives(seed: u64, parts: &[Vec<Step>]) {
    let mut random = Random::new(seed);
    let tear = if random.chance(50) { Tear::Bytes } else { Tear::Sectors };
    let (sim, clock) = (SimIo::new(random.bits(), tear), SimClock::at(1000));
    let mut twin = Twin::new(clock.clone());
    let mut bus = open(&sim, &clock, settings(Background::None)).expect("opens");
    for part in parts {
        match random.below(5) {
            0 => sim.inject(Fault::Sync(1 + random.below(40))),
            1 => sim.inject(Fault::Write(1 + random.below(60))),
            _ => sim.inject(Fault::PowerLoss(1 + random.below(120))),
        }
        for step in part {
            if random.chance(5) && bus.snapshot().is_err() {
                break;
            }
            if let Certainty::Unknown = twin.step(&bus, step) {
                break;
            }
        }
        if random.chance(50) {
            sim.crash();
        }
        drop(bus);
        sim.crash();
        bus = reopen(&sim, &clock, &mut random);
        twin.settle(&bus);
    }
}

fn parts() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let part = proptest::collection::vec(steps(Just(Copies::Each)), 1..60);
    proptest::collection::vec(part, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn acknowledged_calls_survive(seed in any::<u64>(), parts in parts()) {
        lives(seed, &parts);
    }
}

const TYPE: MessageType = MessageType(1);

/// Senders that broadcast numbers until something fails; how many were acknowledged to each.
fn broadcast_until_failure(bus: &Logged, senders: &[ClientId]) -> Vec<Vec<MessageId>> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let threads: Vec<_> = senders
            .iter()
            .map(|sender| {
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut acknowledged = Vec::new();
                    for number in 0..u64::from(u32::MAX) {
                        let body = number.to_le_bytes();
                        let any = SendOptions::new(*sender, TYPE, Address::Any, body);
                        match bus.send(&SendOptions { copies: Copies::Each, ..any }) {
                            Ok(sent) => acknowledged.push(sent.id),
                            Err(_) => break,
                        }
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                    is_over.store(true, Ordering::Relaxed);
                    acknowledged
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("ends")).collect()
    })
}

fn number(message: &Delivery) -> u64 {
    u64::from_le_bytes(message.body[..8].try_into().expect("8 bytes"))
}

/// Threads, a group of receivers, a crash in the middle, snapshots by the bus's own thread.
fn crash_under_load(seed: u64, durability: Durability) {
    let mut random = Random::new(seed);
    let (sim, clock) = (SimIo::new(random.bits(), Tear::Bytes), SimClock::at(1000));
    let settings = LogSettings { durability, ..settings(Background::Thread) };
    let bus = open(&sim, &clock, settings).expect("opens");
    let senders: Vec<ClientId> = (0..3).map(|_| bus.connect().expect("connects")).collect();
    let group: Vec<ClientId> = (0..3).map(|_| bus.connect().expect("connects")).collect();
    senders.iter().for_each(|client| bus.register_sender(*client, TYPE).expect("registers"));
    group.iter().for_each(|client| bus.register_receiver(*client, TYPE).expect("registers"));
    sim.inject(Fault::PowerLoss(20 + random.below(600)));
    let acknowledged = broadcast_until_failure(&bus, &senders);
    sim.crash();
    drop(bus);
    sim.crash();
    sim.clear_faults();
    let bus = open(&sim, &clock, settings).expect("opens");
    let queues: Vec<Vec<Delivery>> = group
        .iter()
        .map(|client| bus.receive(&ReceiveOptions::new(*client)).expect("receives"))
        .collect();
    assert!(queues.iter().all(|queue| *queue == queues[0]), "seed {seed}: a broadcast is partial");
    let newest = queues[0].last().map_or(0, |message| message.key.id.0);
    for (sender, acknowledged) in senders.iter().zip(&acknowledged) {
        let found: Vec<u64> =
            queues[0].iter().filter(|m| m.sender == *sender).map(number).collect();
        let expected: Vec<u64> = (0..found.len() as u64).collect();
        assert_eq!(found, expected, "seed {seed}: a hole, a double, or another order");
        assert!(found.len() <= acknowledged.len() + 1, "seed {seed}: messages from nowhere");
        let kept = match durability {
            Durability::Synchronous => acknowledged.len(),
            // A suffix may be lost, by the one order of all.
            Durability::Asynchronous => acknowledged.partition_point(|id| id.0 <= newest),
        };
        assert!(found.len() >= kept, "seed {seed}: {} of {kept} are there", found.len());
    }
    // Ids that were given are not given again, even if a crash lost their messages.
    let given = acknowledged.iter().flatten().max().copied();
    let again = bus.connect().expect("connects");
    assert!(!senders.contains(&again) && !group.contains(&again));
    let next =
        bus.send(&SendOptions::new(senders[0], TYPE, Address::Any, *b"next")).expect("sends");
    assert!(Some(next.id) > given, "seed {seed}: an id was given twice");
}

#[test]
fn a_crash_under_load_loses_nothing_that_was_acknowledged() {
    (0..60).for_each(|seed| crash_under_load(seed, Durability::Synchronous));
}

#[test]
fn a_crash_under_load_loses_a_suffix_of_asynchronous_sends() {
    (0..60).for_each(|seed| crash_under_load(seed, Durability::Asynchronous));
}
