//! Row 75 with real processes: a store comes and one goes while nodes write and read; what was
//! acknowledged is there, sums are what they were, and nobody gets an error but conflicts.

#[path = "shared_sql/cluster.rs"]
mod cluster;

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;

use postgres::error::SqlState;
use testkit::Random;

use cluster::{Cluster, Process, client};

const ACCOUNTS: i64 = 3000;
const AMOUNT: i64 = 100;

/// Runs `tessera stores`; gives what it says, or why it failed.
fn stores(manager: &str, options: &[&str]) -> Result<String, String> {
    let program = Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["stores", manager])
        .args(options)
        .output()
        .expect("the program was built");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if program.status.success() { Ok(text(&program.stdout)) } else { Err(text(&program.stderr)) }
}

/// Work of a client, until it is over.
struct Work<'a> {
    node: &'a Process,
    is_over: &'a AtomicBool,
    /// Rows that were acknowledged.
    added: &'a AtomicI64,
    done: &'a AtomicI64,
}

impl Work<'_> {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Moves amounts between accounts, and adds a row for each time.
    fn transfer(&self, number: i64) {
        let mut client = client(self.node);
        let (mut random, mut next) = (Random::new(number as u64), number << 32);
        while !self.is_over() {
            let one = random.below(ACCOUNTS as u64) as i64;
            let two = (one + 1 + random.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
            let mut transaction = client.transaction().expect("begins");
            let entry = "INSERT INTO entries VALUES ($1, $2)";
            let change = "UPDATE accounts SET amount = amount + $1 WHERE id = $2";
            let outcome = transaction
                .execute(change, &[&-1_i64, &one])
                .and_then(|_| transaction.execute(change, &[&1_i64, &two]))
                .and_then(|_| transaction.execute(entry, &[&next, &one]))
                .and_then(|_| transaction.commit());
            match outcome {
                Ok(()) => drop(self.added.fetch_add(1, Ordering::Relaxed)),
                Err(error) => {
                    let conflict = Some(&SqlState::T_R_SERIALIZATION_FAILURE);
                    assert_eq!(error.code(), conflict, "{error:?}");
                }
            }
            next += 1;
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Looks at all accounts, by scans and by keys.
    fn look(&self) {
        let mut client = client(self.node);
        let query = "SELECT count(*), sum(amount)::bigint, count(DISTINCT id) FROM accounts";
        let mut random = Random::new(1);
        while !self.is_over() {
            let row = client.query_one(query, &[]).expect("reads");
            let seen: [i64; 3] = [row.get(0), row.get(1), row.get(2)];
            assert_eq!(seen, [ACCOUNTS, ACCOUNTS * AMOUNT, ACCOUNTS]);
            let id = random.below(ACCOUNTS as u64) as i64;
            let found = client.query("SELECT id FROM accounts WHERE id = $1", &[&id]);
            assert_eq!(found.expect("reads").len(), 1, "{id}");
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits until `count` more pieces of work are done.
fn wait_for(done: &AtomicI64, count: i64) {
    let from = done.load(Ordering::Relaxed);
    let deadline = Instant::now() + std::time::Duration::from_secs(120);
    while done.load(Ordering::Relaxed) < from + count {
        assert!(Instant::now() < deadline, "the clients do not go on");
        std::thread::yield_now();
    }
}

#[test]
fn row_75_stores_come_and_go_while_clients_go_on() {
    let mut cluster = Cluster::start("stores", 2);
    let node = cluster.node();
    let mut sql = client(&node);
    sql.batch_execute(&format!(
        "CREATE TABLE accounts (id bigint PRIMARY KEY, amount bigint);
         CREATE TABLE entries (n bigint PRIMARY KEY, account bigint);
         INSERT INTO accounts SELECT i, {AMOUNT} FROM generate_series(0, {ACCOUNTS} - 1) i"
    ))
    .expect("is new");
    let other = cluster.late_node();
    let third = cluster.another_store("three");
    let manager = cluster.manager.address.clone();
    let first = cluster.stores[0].address.clone();
    let (is_over, added, done) = (AtomicBool::new(false), AtomicI64::new(0), AtomicI64::new(0));
    let work = |node| Work { node, is_over: &is_over, added: &added, done: &done };
    std::thread::scope(|scope| {
        scope.spawn(|| work(&node).transfer(1));
        scope.spawn(|| work(&other).transfer(2));
        scope.spawn(|| work(&other).look());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for(&done, 20);
            let began = Instant::now();
            let said = stores(&manager, &["--add", &third.address]).expect("moves");
            let expected = format!("store 3 on {}: 33.3 %", third.address);
            assert!(said.contains(&expected), "{said}");
            println!("a store came in {:?}", began.elapsed());
            wait_for(&done, 20);
            let began = Instant::now();
            let said = stores(&manager, &["--remove", &first]).expect("moves");
            let expected = format!("store 3 on {}: 50.0 %", third.address);
            assert!(said.contains(&expected), "{said}");
            let last = said.lines().filter(|line| line.contains(" on ")).count();
            assert_eq!(last, 2, "{said}");
            println!("a store went in {:?}", began.elapsed());
            // Nobody needs it any more, once all nodes know: a few beats.
            wait_for(&done, 40);
            cluster.stores[0].kill();
            wait_for(&done, 40);
        }));
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    for node in [&node, &other] {
        let mut sql = client(node);
        let mut one = |query: &str| -> i64 { sql.query_one(query, &[]).expect("reads").get(0) };
        assert_eq!(one("SELECT sum(amount)::bigint FROM accounts"), ACCOUNTS * AMOUNT);
        assert_eq!(one("SELECT count(*) FROM entries"), added.load(Ordering::Relaxed));
        assert_eq!(one("SELECT count(*) FROM tessera_stores() WHERE state = 'stays'"), 2);
        assert_eq!(one("SELECT (sum(share) * 1000)::bigint FROM tessera_stores()"), 1000);
        assert_eq!(one("SELECT count(*) FROM tessera_stores() WHERE moves IS NOT NULL"), 0);
    }
    println!("{} transactions", added.load(Ordering::Relaxed));
}

#[test]
fn stores_that_cannot_come_or_go_are_refused() {
    let cluster = Cluster::start("stores-refused", 1);
    let manager = cluster.manager.address.as_str();
    let none = stores(manager, &[]).expect_err("nobody named a store");
    assert!(none.contains("22023"), "{none}");
    let node = cluster.node();
    client(&node).batch_execute("CREATE TABLE t (k int)").expect("is new");
    let only = &cluster.stores[0].address;
    let last = stores(manager, &["--remove", only]).expect_err("no other one stays");
    assert!(last.contains("22023"), "{last}");
    let unknown = stores(manager, &["--remove", "127.0.0.1:1"]).expect_err("is none");
    assert!(unknown.contains("22023"), "{unknown}");
    let away = stores(manager, &["--add", "127.0.0.1:1"]).expect_err("is not there");
    assert!(away.contains("08006"), "{away}");
    let foreign = Cluster::start("stores-foreign", 1);
    let other = foreign.node();
    client(&other).batch_execute("CREATE TABLE t (k int); INSERT INTO t VALUES (1)").expect("new");
    let others = stores(manager, &["--add", &foreign.stores[0].address]).expect_err("has rows");
    assert!(others.contains("the store has rows of its own"), "{others}");
    let shown = stores(manager, &[]).expect("shows");
    assert_eq!(shown, format!("tessera: store 1 on {only}: 100.0 %\n"));
}

#[test]
fn stores_of_another_database_are_found_out() {
    let mut cluster = Cluster::start("stores-own", 1);
    let mut other = Cluster::start("stores-other", 1);
    for cluster in [&cluster, &other] {
        let node = cluster.node();
        client(&node).batch_execute("CREATE TABLE t (k int)").expect("is new");
    }
    std::mem::swap(&mut cluster.stores, &mut other.stores);
    for cluster in [&cluster, &other] {
        // A node that is told of them does not begin.
        let node = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .args(["serve", "--listen", "127.0.0.1:0", "--auth", "trust"])
            .args(["--shared", &cluster.manager.address, "--stores", &cluster.stores()])
            .output()
            .expect("the program was built");
        let said = String::from_utf8_lossy(&node.stderr);
        assert!(!node.status.success(), "{said}");
        assert!(said.contains("28000"), "{said}");
        assert!(said.contains("the process is one of another database"), "{said}");
    }
    // Nothing became of that.
    std::mem::swap(&mut cluster.stores, &mut other.stores);
    for cluster in [&cluster, &other] {
        let node = cluster.node();
        client(&node).batch_execute("SELECT * FROM t; INSERT INTO t VALUES (1)").expect("its own");
    }
}
