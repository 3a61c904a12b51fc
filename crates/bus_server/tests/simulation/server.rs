//! The server: its own code over the native bus, on a simulated disk that may fail at any write.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bus::native::{Hybrid, LogSettings, Native, Tree};
use bus::{Bus, BusError, ClientId, Delivery};
use bus_server::{Failure, Limits, Service};
use host::{Clock, Fault, Io, SimClock, SimIo, Tear};
use testkit::Random;
use testkit::sim::{PartyId, World};
use wal::{Background, LogOptions};

use super::packet::Packet;
use super::program::{Role, TYPE};
use crate::TROUBLED;

const START: i64 = 1_700_000_000_000_000;
/// Timer of a server whose disk failed; others are snapshots.
const REVIVE: u64 = 1;
const SNAPSHOT: u64 = 2;

type Logged = Native<Hybrid, Tree>;

pub(crate) struct Server {
    disk: SimIo,
    clock: SimClock,
    random: Random,
    /// The bus and its service, while it runs.
    life: Option<(Arc<Logged>, Service)>,
    pub(crate) lives: u64,
}

impl Server {
    /// A bus with a client for each role, registered for what it does.
    pub(crate) fn new(seed: u64, roles: &[Role]) -> Self {
        let mut random = Random::new(seed ^ 0x5eed);
        let tear = if random.chance(50) { Tear::Bytes } else { Tear::Sectors };
        let (disk, clock) = (SimIo::new(random.bits(), tear), SimClock::at(START));
        let server = Self { disk, clock, random, life: None, lives: 0 };
        let bus = server.open().expect("nothing fails yet");
        for role in roles {
            let client = bus.connect().expect("connects");
            let register =
                if *role == Role::Sender { Bus::register_sender } else { Bus::register_receiver };
            register(&bus, client, TYPE).expect("registers");
        }
        server
    }

    fn open(&self) -> types::Result<Logged> {
        let io: Arc<dyn Io> = Arc::new(self.disk.clone());
        let background = Background::None;
        let log = LogOptions { segment_bytes: 4096, background, ..LogOptions::default() };
        let settings = LogSettings { snapshot_bytes: 8 << 10, log, ..LogSettings::default() };
        Native::open(Hybrid, Arc::new(self.clock.clone()), &io, Path::new("/bus"), settings)
    }

    /// Opens what is left, maybe at a second attempt, and plans the next failure of the disk.
    pub(crate) fn start(&mut self, world: &mut World<'_, Packet>) {
        if self.random.chance(20) {
            self.disk.inject(Fault::PowerLoss(1 + self.random.below(12)));
            drop(self.open());
            self.disk.crash();
        }
        self.disk.clear_faults();
        let bus = Arc::new(self.open().expect("a crash damages nothing"));
        self.lives += 1;
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let run = self.random.bits();
        let served: Arc<dyn Bus> = Arc::<Logged>::clone(&bus);
        let service = Service::new(served, clock, run, Limits::default());
        self.life = Some((bus, service));
        if world.now_micros() < TROUBLED && self.random.chance(70) {
            self.disk.inject(match self.random.below(4) {
                0 => Fault::Sync(1 + self.random.below(60)),
                1 => Fault::Write(1 + self.random.below(80)),
                _ => Fault::PowerLoss(1 + self.random.below(160)),
            });
        }
        world.wake_after(self.random.within(5_000..50_000), SNAPSHOT);
    }

    pub(crate) fn take(&mut self, from: PartyId, packet: Packet, world: &mut World<'_, Packet>) {
        self.clock.advance(self.late(world));
        let Some((_, service)) = &self.life else { return };
        let answer = match packet {
            Packet::Describe { tag } => Packet::Run { tag, run: service.run() },
            Packet::Call { tag, call, retry } => {
                let outcome = service.call(call, retry.as_ref(), None);
                if let Err(Failure::Bus(BusError::Storage(_))) = outcome {
                    // What nothing is durable for ends, as the real one is ended by its operator.
                    return self.fail(world);
                }
                Packet::Answer { tag, outcome }
            }
            Packet::Run { .. } | Packet::Answer { .. } => return,
        };
        world.send(from, answer);
    }

    fn late(&self, world: &World<'_, Packet>) -> Duration {
        Duration::from_micros((START + world.now_micros() - self.clock.micros()).max(0) as u64)
    }

    fn fail(&mut self, world: &mut World<'_, Packet>) {
        self.crash();
        world.wake_after(self.random.within(500..10_000), REVIVE);
    }

    pub(crate) fn wake(&mut self, timer: u64, world: &mut World<'_, Packet>) {
        if timer == REVIVE {
            return self.start(world);
        }
        let Some((bus, _)) = &self.life else { return };
        if bus.snapshot().is_err() {
            return self.fail(world);
        }
        world.wake_after(self.random.within(5_000..50_000), SNAPSHOT);
    }

    pub(crate) fn crash(&mut self) {
        self.disk.crash();
        self.life = None;
        self.disk.crash();
    }

    /// The queue of a client, at the end of all.
    pub(crate) fn queue(&self, client: ClientId) -> Vec<Delivery> {
        let (bus, _) = self.life.as_ref().expect("all is calm");
        bus.peek(client).expect("is there")
    }

    /// All clients, at the end of all.
    pub(crate) fn clients(&self) -> Vec<ClientId> {
        let (bus, _) = self.life.as_ref().expect("all is calm");
        bus.clients().expect("lists").iter().map(|info| info.client).collect()
    }
}
