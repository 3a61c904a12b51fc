//! Rows 1, 48 and 72 over TCP: nodes come and go, stores and the manager end and start again in
//! the middle of transfers; money is neither made nor lost.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use host::{Clock as _, Io, RealClock, RealIo};
use shared::manager::{Class, FileKeeper, Manager, ManagerOptions, ManagerService};
use shared::{Addresses, Member, Result, SharedError, SharedTable, Transaction};
use store::server::{Store, StoreOptions};
use store::{Field, FieldId, FieldType, Schema, TableKind, Tuple};
use testkit::{Random, Scratch};
use transport::{
    DurableOptions, DurableService, Exchange, Listener, ListenerOptions, StoreServiceOptions,
};
use types::{SqlState, Value};
use wal::LogOptions;

const ACCOUNTS: u64 = 20;
const AMOUNT: i64 = 1000;

/// Transfers of all nodes.
const COMMITS: usize = 120;

fn bind(address: SocketAddr) -> TcpListener {
    // The port of a process that ended may be busy for a moment.
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => return listener,
            Err(_) => thread::yield_now(),
        }
    }
}

fn start_store(directory: &Path, address: SocketAddr) -> Listener {
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let (service, log) = (StoreServiceOptions::default(), LogOptions::default());
    let log = LogOptions { segment_bytes: 1 << 20, ..log };
    loop {
        let store = Arc::new(Store::open(StoreOptions::default()).expect("opens"));
        let options = DurableOptions { io: &io, directory, service, log, snapshot_bytes: 64 << 10 };
        match DurableService::open(store, &options) {
            Ok(exchange) => {
                let options = ListenerOptions::default();
                let listener = Listener::start(bind(address), Arc::new(exchange), options);
                return listener.expect("starts");
            }
            // The last life has threads that end.
            Err(error) if error.state() == SqlState::OBJECT_IN_USE => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

fn start_manager(directory: &Path, address: SocketAddr) -> Listener {
    let keeper = loop {
        match FileKeeper::open(Arc::new(RealIo), directory.to_path_buf()) {
            Ok(keeper) => break keeper,
            // The last life has threads that end.
            Err(error) if error.state() == SqlState::OBJECT_IN_USE => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    };
    let options = ManagerOptions { range: 64, ..ManagerOptions::default() };
    let manager = Manager::open(keeper, options, RealClock.micros()).expect("opens");
    let life = manager.life();
    let service = ManagerService::new(manager, Arc::new(RealClock));
    let exchange = Arc::new(Exchange::new(service, life));
    Listener::start(bind(address), exchange, ListenerOptions::default()).expect("starts")
}

async fn accounts(member: &Member) -> Result<SharedTable> {
    let fields = vec![Field::new("amount", FieldType::I64)];
    let schema = Schema::new(TableKind::Transactional, fields).expect("fits");
    member.node().table("accounts", &schema, &[]).await
}

fn row(table: &SharedTable, amount: i64) -> Tuple {
    Tuple::encode(table.schema(), &[Value::I64(amount)]).expect("fits")
}

fn amount(table: &SharedTable, tuple: &Tuple) -> i64 {
    match tuple.value(table.schema(), FieldId(0)) {
        Value::I64(amount) => amount,
        other => panic!("{other:?}"),
    }
}

async fn transfer(member: &Member, table: &SharedTable, random: &mut Random) -> Result<()> {
    let mut txn = Transaction::begin(&**member.node(), vec![table], Class::ReadWrite).await?;
    let by = random.within(1..100);
    for by in [-by, by] {
        let key = random.below(ACCOUNTS);
        let before = txn.get(0, key).await?.ok_or(SharedError::NoRow)?;
        let changed = txn.update(0, key, row(table, amount(table, &before) + by)).await;
        if changed.is_err() {
            txn.abort().await?;
            return changed;
        }
    }
    txn.commit().await
}

/// Transfers until enough committed, or the node was told dead.
fn work(addresses: &Addresses, seed: u64, committed: &AtomicUsize) {
    // A process that is away for the moment does not let it in.
    let Ok(member) = Member::join(addresses) else { return };
    let mut random = Random::new(seed);
    member.run(async {
        let Ok(table) = accounts(&member).await else { return };
        while committed.load(Ordering::Relaxed) < COMMITS {
            match transfer(&member, &table, &mut random).await {
                Ok(()) => drop(committed.fetch_add(1, Ordering::Relaxed)),
                Err(SharedError::Conflict) => (),
                // Told dead while processes were away: it would join again.
                Err(SharedError::Stopped) => return,
                Err(error) => panic!("{error}"),
            }
        }
    });
}

#[test]
fn rows_1_48_and_72_processes_come_and_go() {
    let scratch = Scratch::new("shared-processes");
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let place = |name: &str| scratch.join(name);
    let first = start_manager(&place("manager"), any);
    let stores = [start_store(&place("one"), any), start_store(&place("two"), any)];
    let addresses = Addresses {
        manager: first.address(),
        stores: stores.iter().map(Listener::address).collect(),
        patience: Duration::from_secs(60),
        token: None,
    };
    let founder = Member::join(&addresses).expect("joins");
    founder.run(async {
        let table = accounts(&founder).await.expect("is made");
        let begun = Transaction::begin(&**founder.node(), vec![&table], Class::ReadWrite).await;
        let mut txn = begun.expect("begins");
        for key in 0..ACCOUNTS {
            txn.insert(0, key, row(&table, AMOUNT)).await.expect("is new");
        }
        txn.commit().await.expect("commits");
    });
    // It goes without a word, as if it were killed.
    drop(founder);
    let (committed, mut stores) = (AtomicUsize::new(0), stores.map(Some));
    let mut manager = Some(first);
    thread::scope(|scope| {
        let worker = |seed| {
            let (addresses, committed) = (&addresses, &committed);
            move || {
                while committed.load(Ordering::Relaxed) < COMMITS {
                    work(addresses, seed, committed);
                }
            }
        };
        let workers = [1, 2].map(|seed| scope.spawn(worker(seed)));
        for (round, name) in ["one", "two", "one"].into_iter().enumerate() {
            while committed.load(Ordering::Relaxed) < 20 * (round + 1) {
                // They end early when something is wrong.
                assert!(workers.iter().all(|worker| !worker.is_finished()));
                thread::yield_now();
            }
            let at = round % 2;
            drop(stores[at].take());
            stores[at] = Some(start_store(&place(name), addresses.stores[at]));
            if round == 1 {
                drop(manager.take());
                manager = Some(start_manager(&place("manager"), addresses.manager));
            }
        }
        workers.into_iter().for_each(|worker| worker.join().expect("works"));
    });
    let auditor = Member::join(&addresses).expect("joins");
    auditor.run(async {
        let table = accounts(&auditor).await.expect("is there");
        let begun = Transaction::begin(&**auditor.node(), vec![&table], Class::ReadOnly).await;
        let mut txn = begun.expect("begins");
        let mut sum = 0;
        for key in 0..ACCOUNTS {
            let found = txn.get(0, key).await.expect("lives").expect("is there");
            sum += amount(&table, &found);
        }
        assert_eq!(sum, AMOUNT * ACCOUNTS as i64);
    });
    drop((stores, manager));
}
