//! Parties: the manager, stores and nodes, and the network between them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use host::{Clock as _, Io, SimClock, SimIo, Tear};
use parking_lot::Mutex;
use shared::manager::{Calls, FileKeeper, Manager, ManagerOptions, ManagerService};
use shared::{Node, SharedError};
use store::server::{Store, StoreOptions};
use store::{HashRange, Ranges, StoreError};
use testkit::Random;
use testkit::histories::{End, History};
use testkit::sim::{Party, PartyId, World};
use transport::{
    Channel, Cluster, DurableOptions, DurableService, Entry, Exchange, Frame, Guide, Outbox,
    Outlet, Patience, Pending, Ring, RingStore, StoreServiceOptions, Tasks,
};
use wal::{Background, LogOptions};

use crate::work::{self, Audit};

/// Stores, of which the first ones are those of the beginning; the others come and go.
pub(crate) const STORES: usize = 4;
const FIRST_STORES: usize = 2;
pub(crate) const NODES: usize = 3;

/// Silence after which a node is dead, and after which it stops by itself.
const TIMEOUT_US: i64 = 60_000;

/// Time between two beats, and between two attempts.
const TICK_US: i64 = 6_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(crate) enum Phase {
    #[default]
    Work,
    Rest,
    Audit,
}

/// The test's own notes, which outlive crashes.
#[derive(Clone, Default)]
pub(crate) struct Shared(Rc<Notes>);

#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) phase: Cell<Phase>,
    pub(crate) history: RefCell<History>,
    pub(crate) next_value: Cell<u32>,
    pub(crate) committed: Cell<usize>,
    /// Stores that were added or are to leave.
    pub(crate) store_changes: Cell<usize>,
    pub(crate) audit: RefCell<Option<Audit>>,
    pub(crate) is_audited: Cell<bool>,
    tick: Cell<u64>,
}

impl Notes {
    /// Larger with each call.
    pub(crate) fn tick(&self) -> u64 {
        self.tick.set(self.tick.get() + 1);
        self.tick.get()
    }
}

impl Shared {
    pub(crate) fn end_work(&self) {
        self.0.phase.set(Phase::Rest);
    }

    pub(crate) fn begin_audit(&self) {
        self.0.phase.set(Phase::Audit);
    }

    pub(crate) fn is_audited(&self) -> bool {
        self.0.audit.borrow().is_some()
    }

    pub(crate) fn audit(&self, seed: u64) {
        self.0.audit.borrow().as_ref().expect("was audited").check(seed);
    }

    pub(crate) fn committed(&self) -> usize {
        self.0.committed.get()
    }

    pub(crate) fn store_changes(&self) -> usize {
        self.0.store_changes.get()
    }

    pub(crate) fn history(&self) -> History {
        let mut history = self.0.history.borrow().clone();
        if let Some(audit) = &*self.0.audit.borrow() {
            history.final_lists.clone_from(&audit.lists);
        }
        let last = self.0.tick() + 1;
        for txn in history.txns.iter_mut().filter(|txn| txn.end == End::Unknown) {
            txn.ended = last;
        }
        history
    }
}

struct Nowhere;

impl Outbox for Nowhere {
    fn put(&self, _: &Entry<'_>) {}
}

/// Frames on their way out of a node, with their receivers.
type Mail = Arc<Mutex<Vec<(PartyId, Vec<u8>)>>>;

struct To(PartyId, Mail);

impl Outlet for To {
    fn send(&self, frame: Vec<u8>) {
        self.1.lock().push((self.0, frame));
    }
}

/// Channels of a node, by their peers.
#[derive(Clone, Default)]
pub(crate) struct Net {
    mail: Mail,
    channels: Arc<Mutex<Vec<(PartyId, Arc<Channel>)>>>,
}

/// Way of a node to stores, whose addresses are numbers of parties.
struct Road {
    net: Net,
    client: u64,
    manager: Arc<Channel>,
}

impl Guide for Road {
    fn ask(&self) -> Pending {
        Calls(&self.manager).found(&[])
    }

    fn ring(&self, answer: &[u8]) -> Result<Ring, StoreError> {
        match Calls::found_stores(answer) {
            Ok((ring, _)) => Ok(ring),
            Err(SharedError::Stopped) => Err(StoreError::Fenced),
            Err(error) => panic!("{error}"),
        }
    }

    fn connect(&self, store: &RingStore) -> Result<Arc<Channel>, StoreError> {
        let party = store.address.parse().expect("a party");
        Ok(self.net.channel(PartyId(party), self.client))
    }

    fn flush(&self) {
        self.manager.flush();
    }
}

impl Net {
    fn channel(&self, to: PartyId, client: u64) -> Arc<Channel> {
        let channel = Arc::new(Channel::new(client, Patience::Resend));
        channel.attach(Arc::new(To(to, Arc::clone(&self.mail))));
        self.channels.lock().push((to, Arc::clone(&channel)));
        channel
    }

    /// A node that joins: its first session at the manager has a number of its own. `None` when it
    /// took so long that it was told dead.
    async fn join(&self, stranger: u64, now_us: i64) -> Option<Rc<Node>> {
        let first = self.channel(PartyId(0), stranger);
        let id = Calls(&first).join().await.expect("is answered");
        let manager = self.channel(PartyId(0), id.0);
        let named: Vec<String> = (1..=FIRST_STORES).map(|store| store.to_string()).collect();
        let found = Calls(&manager).found(&named).await.expect("is answered");
        let ring = match Calls::found_stores(&found) {
            Ok((ring, _)) => ring,
            Err(SharedError::Stopped) => return None,
            Err(error) => panic!("{error}"),
        };
        let road = Road { net: self.clone(), client: id.0, manager: Arc::clone(&manager) };
        let cluster = Cluster::guided(Arc::new(road), ring).expect("parties are reached");
        match Node::open(id, manager, cluster, now_us).await {
            Ok(node) => Some(Rc::new(node)),
            Err(SharedError::Stopped) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

pub(crate) struct ManagerParty {
    disk: SimIo,
    clock: SimClock,
    life: Option<Exchange<ManagerService<FileKeeper>>>,
}

pub(crate) struct StoreParty {
    disk: SimIo,
    life: Option<Exchange<DurableService>>,
}

impl StoreParty {
    fn open(&mut self) {
        let memory = StoreOptions { page_bytes: 32 << 10, ..StoreOptions::default() };
        let store = Arc::new(Store::open(memory).expect("opens"));
        let io: Arc<dyn Io> = Arc::new(self.disk.clone());
        let background = Background::None;
        let log = LogOptions { segment_bytes: 256 << 10, background, ..LogOptions::default() };
        let (directory, service) = (Path::new("store"), StoreServiceOptions::default());
        let snapshot_bytes = 2 << 10;
        let options = DurableOptions { io: &io, directory, service, log, snapshot_bytes };
        self.life = Some(DurableService::open(store, &options).expect("opens"));
    }
}

pub(crate) struct NodeParty {
    notes: Shared,
    random: Random,
    clock: SimClock,
    net: Net,
    node: Rc<RefCell<Option<Rc<Node>>>>,
    main: Tasks<'static, ()>,
    beats: Tasks<'static, ()>,
}

pub(crate) enum Peer {
    Manager(ManagerParty),
    Store(StoreParty),
    Node(Box<NodeParty>),
}

impl Peer {
    pub(crate) fn all(seed: u64, shared: &Shared) -> Vec<Self> {
        let disk = SimIo::new(seed, Tear::Bytes);
        let mut all =
            vec![Self::Manager(ManagerParty { disk, clock: SimClock::at(0), life: None })];
        for store in 0..STORES as u64 {
            let disk = SimIo::new(seed * 10 + store, Tear::Bytes);
            all.push(Self::Store(StoreParty { disk, life: None }));
        }
        for node in 0..NODES as u64 {
            all.push(Self::Node(Box::new(NodeParty {
                notes: shared.clone(),
                random: Random::new(seed * 10 + node),
                clock: SimClock::at(0),
                net: Net::default(),
                node: Rc::default(),
                main: Tasks::default(),
                beats: Tasks::default(),
            })));
        }
        all
    }

    /// Its unfinished work, if there is some.
    pub(crate) fn business(&self) -> Option<String> {
        match self {
            Self::Manager(manager) => {
                let Some(life) = &manager.life else { return Some("no manager".into()) };
                let manager = life.service().manager().lock();
                let (open, stores) = (manager.open_count(), manager.stores());
                let is_idle = manager.is_serving() && open == 0 && manager.is_settled();
                (!is_idle).then(|| format!("{open} open, {:?}, {stores:?}", manager.is_serving()))
            }
            Self::Store(_) => None,
            Self::Node(node) => {
                (!node.main.is_empty()).then(|| format!("a node, {} beats", node.beats.len()))
            }
        }
    }
}

/// Keys by table, with the party that has each: no two have one.
pub(crate) fn audit_keys<'a>(seed: u64, peers: impl Iterator<Item = &'a Peer>) {
    let mut owners: BTreeMap<(String, u64), usize> = BTreeMap::new();
    for (party, peer) in peers.enumerate() {
        let Peer::Store(store) = peer else { continue };
        let life = store.life.as_ref().expect("it lives");
        let store = life.service().store();
        for table in store.definitions() {
            let all = Ranges::of(vec![HashRange::ALL]);
            for key in store.keys(table.id, &all).expect("there is room") {
                let before = owners.insert((table.name.clone(), key), party);
                assert_eq!(before, None, "seed {seed}: {} {key} is in {party}, too", table.name);
            }
        }
    }
}

fn set(clock: &SimClock, now: i64) {
    clock.advance(Duration::from_micros((now - clock.micros()).max(0) as u64));
}

impl ManagerParty {
    fn open(&mut self) {
        let io = Arc::new(self.disk.clone());
        let keeper = FileKeeper::open(io, PathBuf::from("manager")).expect("opens");
        let options = ManagerOptions { range: 32, timeout_us: TIMEOUT_US, move_hashes: 1 << 61 };
        let manager = Manager::open(keeper, options, self.clock.micros()).expect("opens");
        let life = manager.life();
        let service = ManagerService::new(manager, Arc::new(self.clock.clone()));
        self.life = Some(Exchange::new(service, life));
    }
}

impl NodeParty {
    fn begin(&mut self) {
        self.net = Net::default();
        self.node = Rc::default();
        self.beats = Tasks::default();
        self.main = Tasks::default();
        let (net, notes, place) = (self.net.clone(), self.notes.clone(), Rc::clone(&self.node));
        let (mut strangers, seed) = (Random::new(self.random.bits()), self.random.bits());
        let clock = self.clock.clone();
        self.main.spawn(async move {
            let node = loop {
                let stranger = strangers.bits() | 1 << 63;
                if let Some(node) = net.join(stranger, clock.micros()).await {
                    break node;
                }
            };
            *place.borrow_mut() = Some(Rc::clone(&node));
            work::live(&node, &notes.0, Random::new(seed)).await;
        });
    }

    fn tick(&mut self) {
        for (_, channel) in &*self.net.channels.lock() {
            channel.resend();
        }
        let node = self.node.borrow().clone();
        if let Some(node) = node {
            node.watch(self.clock.micros(), TIMEOUT_US / 2);
            if node.is_stopped() {
                return self.begin();
            }
            if self.beats.len() < 4 {
                let (beat, now) = (node.beat(), self.clock.micros());
                self.beats.spawn(async move {
                    // What failed is asked for again.
                    drop(node.beaten(beat, now).await);
                });
            }
        }
        if self.main.is_empty() && self.notes.0.phase.get() != Phase::Rest {
            self.again();
        }
    }

    /// A main task that ended goes on when the phase is another one.
    fn again(&mut self) {
        let Some(node) = self.node.borrow().clone() else { return };
        if self.notes.is_audited() {
            return;
        }
        let (notes, seed) = (self.notes.clone(), self.random.bits());
        self.main.spawn(async move { work::live(&node, &notes.0, Random::new(seed)).await });
    }

    fn go_on(&mut self, world: &mut World<'_, Vec<u8>>) {
        while self.main.is_ready() || self.beats.is_ready() {
            self.main.round();
            self.beats.round();
        }
        for (_, channel) in &*self.net.channels.lock() {
            channel.flush();
        }
        let mail: Vec<_> = self.net.mail.lock().drain(..).collect();
        mail.into_iter().for_each(|(to, frame)| world.send(to, frame));
    }
}

impl Party for Peer {
    type Message = Vec<u8>;

    fn start(&mut self, world: &mut World<'_, Vec<u8>>) {
        match self {
            Self::Manager(manager) => {
                set(&manager.clock, world.now_micros());
                manager.open();
            }
            Self::Store(store) => store.open(),
            Self::Node(node) => {
                set(&node.clock, world.now_micros());
                node.begin();
                node.go_on(world);
            }
        }
        world.wake_after(TICK_US, 0);
    }

    fn receive(&mut self, from: PartyId, frame: Vec<u8>, world: &mut World<'_, Vec<u8>>) {
        let outbox: Arc<dyn Outbox> = Arc::new(Nowhere);
        match self {
            Self::Manager(manager) => {
                set(&manager.clock, world.now_micros());
                let Some(life) = &manager.life else { return };
                let answers = life.receive(&frame, &outbox).expect("a frame");
                answers.into_iter().for_each(|answers| world.send(from, answers));
            }
            Self::Store(store) => {
                let Some(life) = &store.life else { return };
                let answers = life.receive(&frame, &outbox).expect("a frame");
                answers.into_iter().for_each(|answers| world.send(from, answers));
            }
            Self::Node(node) => {
                set(&node.clock, world.now_micros());
                let client = Frame::read(&frame).expect("a frame").client;
                let channels = node.net.channels.lock().clone();
                let mut known =
                    channels.iter().filter(|(to, c)| *to == from && c.client() == client);
                if let Some((_, channel)) = known.next() {
                    channel.receive(&frame).expect("a frame");
                }
                node.go_on(world);
            }
        }
    }

    fn wake(&mut self, timer: u64, world: &mut World<'_, Vec<u8>>) {
        match self {
            Self::Manager(manager) => {
                set(&manager.clock, world.now_micros());
                if let Some(life) = &manager.life {
                    life.service().manager().lock().tick(manager.clock.micros());
                }
            }
            Self::Store(store) => {
                let Some(life) = &store.life else { return };
                let store = life.service().store();
                for (id, _) in store.tables() {
                    let table = store.table(id).expect("is there");
                    table.collect(store.lowest_active()).expect("there is room");
                }
                life.snapshot_if_due().expect("the disk works");
            }
            Self::Node(node) => {
                set(&node.clock, world.now_micros());
                node.tick();
                node.go_on(world);
            }
        }
        world.wake_after(TICK_US, timer);
    }

    fn crash(&mut self) {
        match self {
            Self::Manager(manager) => {
                manager.disk.crash();
                manager.life = None;
            }
            Self::Store(store) => {
                store.disk.crash();
                store.life = None;
            }
            Self::Node(node) => {
                node.main = Tasks::default();
                node.beats = Tasks::default();
                node.node = Rc::default();
                node.net = Net::default();
            }
        }
    }
}

/// Values by list, for the audit.
pub(crate) type Lists = BTreeMap<testkit::histories::Key, Vec<testkit::histories::Value>>;
