//! Crashes at random points while messages are sent and received, compared with a model of what was
//! acknowledged.
//!
//! ```text
//! sends beside rows, receives, leases, deletes, in transactions -> power lost, disk full -> crash
//! -> open -> queues and rows = the model after some commit, none acknowledged missing
//! ```
//! Sessions never wait for each other: senders do not, and receivers pass over what others hold.
//! `TESSERA_CRASH_SEEDS` and `TESSERA_CRASH_SEED` as for `crash`.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Config, Database, Session};
use host::{Fault, SimIo, Tear};
use testkit::Random;

use super::crash::number_from;
use super::{config, files_of};

const SESSIONS: usize = 3;
const ROUNDS: u64 = 3;
const RECEIVERS: [i64; 2] = [2, 3];

/// A copy in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Copy {
    text: String,
    priority: i64,
    receipts: i64,
}

/// Copies by receiver and the number in their text, which grows with that of the message (an answer
/// that got lost did not tell it), and the rows that were inserted beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    copies: BTreeMap<(i64, i64), Copy>,
    orders: BTreeSet<i64>,
}

/// Change that a transaction will have made.
#[derive(Clone, Debug)]
enum Step {
    Push((i64, i64), Copy),
    Remove((i64, i64)),
    /// Received under a lease that does not end.
    Lease((i64, i64)),
    Order(i64),
}

impl State {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Push(at, copy) => drop(self.copies.insert(*at, copy.clone())),
            Step::Remove(at) => drop(self.copies.remove(at).expect("it is there")),
            Step::Lease(at) => self.copies.get_mut(at).expect("it is there").receipts += 1,
            Step::Order(id) => assert!(self.orders.insert(*id), "each order once"),
        }
    }
}

struct Client {
    session: Session,
    /// Steps of its transaction; None outside of one.
    open: Option<Vec<Step>>,
    asynchronous: bool,
}

impl Client {
    /// Copies that nobody else may have while its transaction runs.
    fn held(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.open.iter().flatten().filter_map(|step| match step {
            Step::Remove(at) | Step::Lease(at) => Some(*at),
            Step::Push(..) | Step::Order(_) => None,
        })
    }
}

/// Why a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Broken,
}

struct World {
    seed: u64,
    random: Random,
    io: SimIo,
    /// Committed states, one after the other; the first was acknowledged as durable.
    states: Vec<State>,
    /// Messages that were seen after a crash: no other has their number.
    seen: BTreeSet<i64>,
    made: i64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let tear = if random.chance(50) { Tear::Bytes } else { Tear::Sectors };
        let io = SimIo::new(random.bits(), tear);
        let (states, seen) = (vec![State::default()], BTreeSet::new());
        let world = Self { seed, random, io, states, seen, made: 0 };
        let mut session = world.open().session();
        for sql in [
            "CREATE TABLE orders (id BIGINT PRIMARY KEY)",
            "SELECT bus_connect('shop'), bus_connect('a'), bus_connect('b')",
            "SELECT bus_register_sender('shop', 1)",
            "SELECT bus_register_receiver('a', 1), bus_register_receiver('b', 1)",
        ] {
            session.execute(sql).expect("nothing fails yet");
        }
        drop(session);
        world.io.crash();
        world
    }

    fn open(&self) -> Database {
        let config = Config { memory_bytes: 64 << 20, ..config() };
        let opened = Database::open_with(super::PATH, config, &files_of(&self.io));
        opened.unwrap_or_else(|error| panic!("seed {}: cannot open: {error:?}", self.seed))
    }

    fn newest(&self) -> &State {
        self.states.last().expect("never empty")
    }

    fn round(&mut self) {
        self.io.clear_faults();
        let database = self.open();
        self.compare(&database);
        let client = |_| Client { session: database.session(), open: None, asynchronous: false };
        let mut clients: Vec<Client> = (0..SESSIONS).map(client).collect();
        let at = 1 + self.random.below(300);
        match self.random.below(8) {
            0 => self.io.inject(Fault::Sync(1 + at / 4)),
            1 => self.io.set_capacity(Some(self.io.used_bytes() + at * 1000)),
            2 => {}
            _ => self.io.inject(Fault::PowerLoss(at)),
        }
        for _ in 0..20 + self.random.below(80) {
            let who = self.random.below(SESSIONS as u64) as usize;
            if self.act(&database, &mut clients, who) == Outcome::Broken {
                break;
            }
        }
        self.io.crash();
        self.io.set_capacity(None);
    }

    fn act(&mut self, database: &Database, clients: &mut [Client], who: usize) -> Outcome {
        let others = clients.iter().enumerate().filter(|(i, _)| *i != who);
        let held: BTreeSet<(i64, i64)> = others.flat_map(|(_, client)| client.held()).collect();
        let client = &mut clients[who];
        match (self.random.below(16), client.open.is_some()) {
            (0, false) => {
                client.session.execute("BEGIN").expect("nothing is written");
                client.open = Some(Vec::new());
                Outcome::Done
            }
            (0..=2, true) => self.commit(database, client),
            (3, true) => {
                client.session.execute("ROLLBACK").expect("nothing is written");
                client.open = None;
                Outcome::Done
            }
            (4, false) => {
                client.asynchronous = !client.asynchronous;
                let value = if client.asynchronous { "off" } else { "on" };
                let sql = format!("SET synchronous_commit = {value}");
                client.session.execute(&sql).expect("nothing is written");
                Outcome::Done
            }
            (5, false) => {
                // It may fail as the disk does: nothing has changed then.
                let _ = client.session.execute("CHECKPOINT");
                Outcome::Done
            }
            (6, false) => {
                // Rows that move are written; without the disk they stay where they are.
                let _ = client.session.execute("VACUUM FREEZE");
                Outcome::Done
            }
            (7..=10, _) => self.send(database, client),
            _ => self.receive(database, client, &held),
        }
    }

    /// A message to one or to both, with a row beside it.
    fn send(&mut self, database: &Database, client: &mut Client) -> Outcome {
        self.made += 1;
        let (number, priority) = (self.made, self.random.within(-1..2));
        let text = format!("{number} {}", "long ".repeat(self.random.below(40) as usize));
        let receivers = match self.random.below(3) {
            0 => vec![2],
            1 => vec![3],
            _ => RECEIVERS.to_vec(),
        };
        let sql = format!(
            "WITH o AS (INSERT INTO orders VALUES ({number}) RETURNING id) SELECT \
             bus_send('shop', 1, '{text}', receivers => ARRAY{receivers:?}, broadcast => true, \
             priority => {priority}) FROM o"
        );
        let result = client.session.execute(&sql);
        let id = result.as_ref().map_or(0, |result| one(result)[0].parse().expect("a number"));
        assert!(!self.seen.contains(&id), "seed {}: message {id} twice", self.seed);
        let copy = Copy { text, priority, receipts: 0 };
        let mut steps: Vec<Step> =
            receivers.iter().map(|r| Step::Push((*r, number), copy.clone())).collect();
        steps.push(Step::Order(number));
        self.done(database, client, result.map(drop), steps)
    }

    /// The first message of a queue that nobody else has.
    fn receive(
        &mut self,
        database: &Database,
        client: &mut Client,
        held: &BTreeSet<(i64, i64)>,
    ) -> Outcome {
        let receiver = RECEIVERS[self.random.below(2) as usize];
        let mut view = self.newest().clone();
        client.open.iter().flatten().for_each(|step| view.apply(step));
        let is_free = |at: &(i64, i64), copy: &Copy| {
            at.0 == receiver && copy.receipts == 0 && !held.contains(at)
        };
        let free = view.copies.iter().filter(|(at, copy)| is_free(at, copy));
        let first = free.min_by_key(|(at, copy)| (-copy.priority, at.1));
        let expected = first.map(|(at, copy)| (*at, copy.text.clone()));
        let (how, takes) = match self.random.below(3) {
            0 => ("delete => true", true),
            // In a transaction it would lock the message, of which the model knows nothing.
            1 if client.open.is_none() => ("max => 1", false),
            _ => ("lease => '1000 years'", true),
        };
        let sql = format!("SELECT text FROM bus_receive({receiver}, {how})");
        let result = client.session.execute(&sql);
        if let Ok(result) = &result {
            let wanted: Vec<String> = expected.iter().map(|(_, text)| text.clone()).collect();
            assert_eq!(one(result), wanted, "seed {}: {sql}", self.seed);
        }
        let step = match (expected, how) {
            (Some((at, _)), "delete => true") => Some(Step::Remove(at)),
            (Some((at, _)), _) if takes => Some(Step::Lease(at)),
            _ => None,
        };
        self.done(database, client, result.map(drop), step.into_iter().collect())
    }

    fn done(
        &mut self,
        database: &Database,
        client: &mut Client,
        result: types::Result<()>,
        steps: Vec<Step>,
    ) -> Outcome {
        match (&mut client.open, result) {
            (Some(open), Ok(())) => {
                open.extend(steps);
                Outcome::Done
            }
            (None, Ok(())) => {
                self.committed(&steps, client.asynchronous);
                Outcome::Done
            }
            (Some(_), Err(error)) => {
                panic!("seed {}: {error:?}: the disk is asked at commit only", self.seed)
            }
            (None, Err(error)) => self.failed(database, &steps, &error),
        }
    }

    fn commit(&mut self, database: &Database, client: &mut Client) -> Outcome {
        let steps = client.open.take().expect("in a transaction");
        match client.session.execute("COMMIT") {
            Ok(_) => {
                self.committed(&steps, client.asynchronous);
                Outcome::Done
            }
            Err(error) => self.failed(database, &steps, &error),
        }
    }

    fn committed(&mut self, steps: &[Step], asynchronous: bool) {
        let mut next = self.newest().clone();
        steps.iter().for_each(|step| next.apply(step));
        if !asynchronous && !steps.is_empty() {
            self.states.clear();
        }
        self.states.push(next);
    }

    /// The commit was not acknowledged: it may be there or not, now and after a crash.
    fn failed(&mut self, database: &Database, steps: &[Step], error: &types::Error) -> Outcome {
        let state = error.state().to_string();
        assert!(["58030", "53100"].contains(&&*state), "seed {}: {error:?}", self.seed);
        let before = self.newest().clone();
        self.committed(steps, true);
        if state == "58030" {
            return Outcome::Broken;
        }
        if state_of(database) == before {
            self.states.pop();
        } else {
            assert_eq!(&state_of(database), self.newest(), "seed {}: half of it", self.seed);
        }
        Outcome::Done
    }

    /// Tests that what is there is one of the states, and that indexes agree.
    fn compare(&mut self, database: &Database) {
        let (found, seed) = (state_of(database), self.seed);
        let ids = cells(database, "SELECT message FROM bus_messages");
        self.seen.extend(ids.iter().map(|id| id.parse::<i64>().expect("a number")));
        assert!(self.states.contains(&found), "seed {seed}: {found:?} of {:?}", self.states);
        self.states = vec![found];
        let report = database.check_indexes();
        assert!(report.is_sound(), "seed {seed}: {:?}", report.problems);
    }
}

fn one(result: &engine::QueryResult) -> Vec<String> {
    result.text_rows().into_iter().flatten().flatten().collect()
}

fn cells(database: &Database, sql: &str) -> Vec<String> {
    one(&database.session().execute(sql).expect("reads go on"))
}

fn state_of(database: &Database) -> State {
    let mut session = database.session();
    let mut rows = |sql: &str| session.execute(sql).expect("reads go on").text_rows();
    let number = |cell: &Option<String>| cell.as_ref().and_then(|c| c.parse().ok()).unwrap_or(0);
    let mut state = State::default();
    for row in rows("SELECT receiver, text, priority, receipts FROM bus_messages") {
        let text = row[1].clone().expect("text was sent");
        let copy = Copy { text, priority: number(&row[2]), receipts: number(&row[3]) };
        let sent = row[1].as_ref().and_then(|text| text.split(' ').next()).map(str::to_owned);
        let old = state.copies.insert((number(&row[0]), number(&sent)), copy);
        assert!(old.is_none(), "one copy of each message");
    }
    state.orders = rows("SELECT id FROM orders").iter().map(|row| number(&row[0])).collect();
    state
}

#[test]
fn messages_survive_crashes_with_what_was_committed_beside_them() {
    let first = number_from("TESSERA_CRASH_SEED", 0);
    for seed in first..first + number_from("TESSERA_CRASH_SEEDS", 20) {
        let mut world = World::new(seed);
        for _ in 0..ROUNDS {
            world.round();
        }
        world.io.clear_faults();
        let database = world.open();
        world.compare(&database);
    }
}
