//! Rows 1, 48, 49 and 72 with real processes: stores, the commit manager and nodes are killed in
//! the middle of transactions. Histories of lists have no anomaly beyond snapshot isolation, in
//! real time; nothing acknowledged is lost, money is neither made nor lost, names are unique, and
//! indexes say what rows say.
//!
//! `KILLS` and `SEED` choose more kills and others. Nodes are this program again, as the test
//! `a_node`; the others are `tessera store` and `tessera commit-manager`.

#[path = "shared/processes.rs"]
mod processes;
#[path = "shared/journal.rs"]
mod journal;
#[path = "shared/node.rs"]
mod node;
#[path = "../../shared/tests/simulation/tables.rs"]
mod tables;

use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use journal::Journal;
use processes::{Database, NodeProcess};
use testkit::histories::{Level, RealTime, check};
use testkit::{Random, Scratch};

/// Nodes side by side.
const NODES: usize = 3;

/// Transactions that have to commit between two kills.
const BETWEEN: usize = 10;

/// Time after which a database that does not go on has failed.
const PATIENCE: Duration = Duration::from_secs(600);

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

/// A node, when its parent says where the database is.
#[test]
fn a_node() {
    if let Ok(place) = std::env::var(node::PLACE) {
        node::live(&place);
    }
}

/// Waits until `count` transactions have committed.
fn wait_for(journal: &Journal, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    while journal.committed() < count {
        assert!(Instant::now() < deadline, "{} committed, and no more", journal.committed());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs the program, which has to fail; gives what it says.
fn refused(arguments: &[&str]) -> String {
    let program = Command::new(env!("CARGO_BIN_EXE_tessera")).args(arguments).output();
    let output = program.expect("the program was built");
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn wrong_commands_say_why() {
    let scratch = Scratch::new("shared-commands");
    let path = |name: &str| scratch.join(name).to_str().expect("text").to_owned();
    let (directory, token) = (path("one"), path("token"));
    let other = refused(&["store", &directory, "--listen", "0.0.0.0:0"]);
    assert!(other.contains("without a token, a process is for this machine only"), "{other}");
    for command in ["store", "commit-manager"] {
        let missing = refused(&[command, &directory, "--token-file", &token]);
        assert!(missing.contains(&token), "{missing}");
        std::fs::write(&token, "short").expect("there is room");
        let short = refused(&[command, &directory, "--token-file", &token]);
        assert!(short.contains("a token is one line of 16 letters, digits and signs"), "{short}");
        std::fs::remove_file(&token).expect("is there");
        let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = port.local_addr().expect("it is bound").to_string();
        let taken = refused(&[command, &directory, "--listen", &address]);
        assert!(taken.contains(&format!("cannot listen on {address}: ")), "{taken}");
    }
    let database = Database::start(scratch.path());
    for (command, directory) in [("store", directory), ("commit-manager", path("manager"))] {
        let in_use = refused(&[command, &directory]);
        assert!(in_use.contains("is in use"), "{in_use}");
    }
    drop(database);
}

#[test]
fn killed_processes_lose_nothing() {
    let (kills, mut random) = (number("KILLS", 6), Random::new(number("SEED", 1)));
    let scratch = Scratch::new("shared-killed");
    let mut database = Database::start(scratch.path());
    node::found(&database.addresses());
    let journal = Arc::new(Journal::default());
    let mut started = 0;
    let mut node = |database: &Database| {
        started += 1;
        NodeProcess::start(&database.addresses(), started, &journal)
    };
    let mut nodes: Vec<NodeProcess> = (0..NODES).map(|_| node(&database)).collect();
    for kill in 0..kills {
        wait_for(&journal, journal.committed() + BETWEEN);
        // Each kind has its turn, then chance decides.
        let kind = if kill < 4 { kill } else { random.below(6) };
        match kind {
            0 => database.kill_store(0),
            1 => database.kill_manager(),
            2 => database.kill_store(1),
            3 | 4 => {
                let at = random.below(NODES as u64) as usize;
                nodes[at].kill();
                nodes[at] = node(&database);
            }
            _ => {
                // All at once, as when a machine stops.
                nodes.iter_mut().for_each(NodeProcess::kill);
                database.kill_all();
                nodes.iter_mut().for_each(|place| *place = node(&database));
            }
        }
    }
    wait_for(&journal, journal.committed() + BETWEEN);
    nodes.iter_mut().for_each(NodeProcess::kill);
    drop(nodes);
    let mut history = journal.history();
    history.final_lists = node::audit(&database.addresses(), journal.last_list());
    let findings = check(&history, Level::Snapshot, RealTime::Kept);
    assert!(findings.is_empty(), "{findings:?}");
    let (txns, committed) = (history.txns.len(), journal.committed());
    println!("{kills} kills, {committed} transactions committed, {txns} histories");
}
