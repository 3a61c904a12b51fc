//! A log behind a network: clients append records through messages that are lost, late or doubled,
//! to a server that crashes. What was acknowledged is in the log, once and in each client's order.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use host::{Io, SimIo, Tear};
use testkit::Random;
use testkit::sim::{Faults, Party, PartyId, Sim, World};
use wal::{Background, Log, LogOptions, LogPlace, LogReader, Position, RecordBuffer, Stamp};

/// Parties 1 to this one are clients; 0 is the server.
const CLIENTS: usize = 3;

/// Records of each client.
const RECORDS: u64 = 25;

/// Records of each client that it was told are durable.
type Acknowledged = Rc<RefCell<Vec<u64>>>;

#[derive(Clone)]
enum Message {
    Append { number: u64, payload: Vec<u8> },
    Durable { number: u64 },
}

enum Peer {
    Server(Server),
    Client { next: u64, acknowledged: Acknowledged },
}

struct Server {
    disk: SimIo,
    log: Option<Log>,
    /// The next number of each client, as the log has them.
    next: Vec<u64>,
    stamp: u64,
    /// Appended, not yet durable.
    waiting: Vec<(PartyId, u64)>,
    acknowledged: Acknowledged,
}

fn options() -> LogOptions {
    let background = Background::None;
    LogOptions { segment_bytes: 4096, background, ..LogOptions::default() }
}

/// Client and number of each record of the log.
fn records(disk: &SimIo) -> Vec<(usize, u64)> {
    let io: Arc<dyn Io> = Arc::new(disk.clone());
    let place = LogPlace { io: &io, directory: Path::new("wal"), database: 7 };
    let mut reader =
        LogReader::open(&place, Position::default(), Stamp(0)).expect("the log can be read");
    let mut found = Vec::new();
    while let Some(record) = reader.next().expect("the log is whole up to its end") {
        let number: [u8; 8] = record.payload[1..9].try_into().expect("a number");
        found.push((usize::from(record.payload[0]), u64::from_le_bytes(number)));
    }
    found
}

impl Server {
    fn open(&mut self) {
        let io: Arc<dyn Io> = Arc::new(self.disk.clone());
        let place = LogPlace { io: &io, directory: Path::new("wal"), database: 7 };
        if wal::holds_records(&*io, place.directory).unwrap_or(false) {
            self.next = vec![0; CLIENTS + 1];
            let found = records(&self.disk);
            self.stamp = found.len() as u64;
            for (client, number) in found {
                assert_eq!(number, self.next[client], "once, and in order");
                self.next[client] += 1;
            }
            let reader = LogReader::open(&place, Position::default(), Stamp(0));
            let mut reader = reader.expect("the log can be read");
            while reader.next().expect("the log is whole up to its end").is_some() {}
            self.log = Some(Log::resume(reader, options()).expect("the log goes on"));
        } else {
            self.next = vec![0; CLIENTS + 1];
            self.log = Some(Log::create(&place, options()).expect("a new log"));
        }
        for (client, &count) in self.acknowledged.borrow().iter().enumerate() {
            assert!(self.next[client] >= count, "client {client} was told of {count} records");
        }
    }

    fn append(&mut self, from: PartyId, number: u64, payload: &[u8]) {
        let Some(log) = &self.log else { return };
        let mut record = RecordBuffer::default();
        record.output().push(from.0 as u8);
        record.output().extend(number.to_le_bytes());
        record.output().extend(payload);
        self.stamp += 1;
        let space = log.reserve(&record).expect("there is room");
        log.append(space, Stamp(self.stamp), &mut record).expect("the log works");
        self.next[from.0] = number + 1;
        self.waiting.push((from, number));
    }
}

impl Party for Peer {
    type Message = Message;

    fn start(&mut self, world: &mut World<'_, Message>) {
        match self {
            Self::Server(server) => server.open(),
            Self::Client { .. } => world.wake_after(1, 0),
        }
    }

    fn receive(&mut self, from: PartyId, message: Message, world: &mut World<'_, Message>) {
        match (self, message) {
            (Self::Server(server), Message::Append { number, payload }) => {
                let next = server.next[from.0];
                let waits = server.waiting.contains(&(from, number));
                if number == next {
                    if server.waiting.is_empty() {
                        // One sync for all that come meanwhile.
                        world.wake_after(500, 0);
                    }
                    server.append(from, number, &payload);
                } else if number < next && !waits {
                    world.send(from, Message::Durable { number });
                }
            }
            (Self::Client { next, acknowledged }, Message::Durable { number })
                if number == *next =>
            {
                *next += 1;
                acknowledged.borrow_mut()[world.me().0] = *next;
                world.wake_after(1, 0);
            }
            _ => {}
        }
    }

    fn wake(&mut self, timer: u64, world: &mut World<'_, Message>) {
        match self {
            Self::Server(server) => {
                let Some(log) = &server.log else { return };
                log.wait_durable(log.position().lsn).expect("the disk works");
                for (client, number) in server.waiting.drain(..) {
                    world.send(client, Message::Durable { number });
                }
            }
            Self::Client { next, .. } if *next < RECORDS => {
                let bytes = world.random().below(300) as usize;
                let (number, payload) = (*next, vec![number_byte(*next); bytes]);
                world.send(PartyId(0), Message::Append { number, payload });
                world.wake_after(10_000, timer);
            }
            Self::Client { .. } => {}
        }
    }

    fn crash(&mut self) {
        if let Self::Server(server) = self {
            server.disk.crash();
            server.log = None;
            server.disk.kill();
            server.waiting.clear();
        }
    }
}

fn number_byte(number: u64) -> u8 {
    number as u8
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let tear = if random.chance(50) { Tear::Bytes } else { Tear::Sectors };
    let disk = SimIo::new(random.bits(), tear);
    let acknowledged = Acknowledged::new(RefCell::new(vec![0; CLIENTS + 1]));
    let server = Server {
        disk: disk.clone(),
        log: None,
        next: Vec::new(),
        stamp: 0,
        waiting: Vec::new(),
        acknowledged: Rc::clone(&acknowledged),
    };
    let mut parties = vec![Peer::Server(server)];
    let client = || Peer::Client { next: 0, acknowledged: Rc::clone(&acknowledged) };
    parties.extend((0..CLIENTS).map(|_| client()));
    let faults = Faults {
        delay: 100..4_000,
        lost: 10,
        doubled: 10,
        calm: 1_000..30_000,
        trouble: 500..20_000,
        crashing: vec![PartyId(0)],
    };
    let mut sim = Sim::new(random.bits(), faults, parties);
    sim.run_for(300_000);
    sim.calm();
    sim.run_for(3_000_000);
    let told: Vec<u64> = acknowledged.borrow()[1..].to_vec();
    assert_eq!(told, [RECORDS; CLIENTS], "seed {seed}: all is acknowledged in the end");
    let mut next = [0; CLIENTS + 1];
    drop(sim);
    for (client, number) in records(&disk) {
        assert_eq!(number, next[client], "seed {seed}: once, and in order");
        next[client] += 1;
    }
    assert_eq!(next[1..], [RECORDS; CLIENTS], "seed {seed}");
}

#[test]
fn acknowledged_appends_survive_lost_messages_and_crashes() {
    for seed in 0..200 {
        run(seed);
    }
}

#[test]
#[ignore = "minutes; for nightly runs and after changes of the format"]
fn acknowledged_appends_survive_in_many_simulations() {
    for seed in 0..20_000 {
        run(seed);
    }
}
