//! Crashes at random points of seeded workloads, compared with a model of what was acknowledged.
//!
//! ```text
//! workload on SimIo -> power lost, sync failed, disk full -> crash -> open (perhaps lost again)
//! -> what is there = the model after some commit, none acknowledged missing -> next round
//! ```
//! `TESSERA_CRASH_SEEDS` is the number of seeds, `TESSERA_CRASH_SEED` the first one. Sessions write
//! disjoint keys, because one thread cannot wait for itself.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Config, Database, Session};
use host::{Fault, SimIo, Tear};
use storage::Layout;
use testkit::Random;

use super::{config, files_of};

const SESSIONS: u64 = 3;
const ROUNDS: u64 = 3;

/// Tables and their rows by key.
type Contents = BTreeMap<String, BTreeMap<i64, (String, i64)>>;

/// Change that a transaction will have made.
#[derive(Clone, Debug)]
enum Step {
    Put(String, i64, (String, i64)),
    Remove(String, i64),
    Create(String),
    Drop(String),
    Truncate(String),
}

fn apply(contents: &mut Contents, step: &Step) {
    match step {
        Step::Put(table, key, row) => {
            contents.get_mut(table).expect("it exists").insert(*key, row.clone());
        }
        Step::Remove(table, key) => {
            contents.get_mut(table).expect("it exists").remove(key);
        }
        Step::Create(table) => {
            contents.insert(table.clone(), BTreeMap::new());
        }
        Step::Drop(table) => {
            contents.remove(table);
        }
        Step::Truncate(table) => contents.get_mut(table).expect("it exists").clear(),
    }
}

struct Client {
    session: Session,
    /// Steps of its transaction; None outside of one.
    open: Option<Vec<Step>>,
    asynchronous: bool,
}

impl Client {
    fn has_defined(&self) -> bool {
        let steps = self.open.iter().flatten();
        let rows = |step: &&Step| matches!(step, Step::Put(..) | Step::Remove(..));
        steps.filter(|step| !rows(step)).count() > 0
    }
}

struct World {
    seed: u64,
    random: Random,
    io: SimIo,
    /// Committed states, one after the other; the first was acknowledged as durable.
    states: Vec<Contents>,
    made: i64,
}

/// Why a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Broken,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let tear = if random.chance(50) { Tear::Bytes } else { Tear::Sectors };
        let io = SimIo::new(random.bits(), tear);
        Self { seed, random, io, states: vec![Contents::new()], made: 0 }
    }

    fn newest(&self) -> &Contents {
        self.states.last().expect("never empty")
    }

    fn open(&mut self) -> Database {
        if self.random.chance(30) {
            let changes = 1 + self.random.below(40);
            self.io.inject(Fault::PowerLoss(changes));
            let opened = self.try_open();
            drop(opened);
            self.io.crash();
        }
        self.io.clear_faults();
        let seed = self.seed;
        self.try_open().unwrap_or_else(|error| panic!("seed {seed}: cannot open: {error:?}"))
    }

    fn try_open(&self) -> types::Result<Database> {
        let layouts = [Layout::Auto, Layout::Row, Layout::Column, Layout::Frozen];
        let layout = layouts[self.seed as usize % 4];
        let config = Config { layout, memory_bytes: 64 << 20, ..config() };
        Database::open_with(super::PATH, config, &files_of(&self.io))
    }

    fn round(&mut self) {
        let database = self.open();
        self.compare(&database);
        let mut clients: Vec<Client> = (0..SESSIONS)
            .map(|_| Client { session: database.session(), open: None, asynchronous: false })
            .collect();
        self.arrange_faults();
        let mut outcome = Outcome::Done;
        for _ in 0..20 + self.random.below(60) {
            let who = self.random.below(SESSIONS) as usize;
            // Whose transaction has defined something goes on alone: others would wait for it.
            let who = clients.iter().position(Client::has_defined).unwrap_or(who);
            outcome = self.act(&database, &mut clients, who);
            if self.random.chance(25) {
                database.pool().evict_to(0);
            }
            if outcome == Outcome::Broken {
                break;
            }
        }
        if outcome == Outcome::Broken {
            // Reads go on.
            let shown = contents_of(&database);
            self.explain(&shown);
        }
        match self.random.below(8) {
            0 if outcome == Outcome::Done => {
                self.io.clear_faults();
                drop(clients);
                let closed = database.close();
                if closed.is_ok() {
                    self.states.drain(..self.states.len() - 1);
                }
                // A checkpoint may have met the loss of power before; to close may need none.
                if closed.is_err() || self.io.is_powerless() {
                    self.io.crash();
                }
            }
            1 => self.io.kill(),
            _ => self.io.crash(),
        }
        self.io.set_capacity(None);
    }

    fn arrange_faults(&mut self) {
        let at = 1 + self.random.below(300);
        match self.random.below(10) {
            0 => self.io.inject(Fault::Sync(1 + at / 4)),
            1 => self.io.inject(Fault::Write(1 + at / 2)),
            2 => self.io.set_capacity(Some(self.io.used_bytes() + at * 1000)),
            3 => {}
            _ => self.io.inject(Fault::PowerLoss(at)),
        }
    }

    /// One statement of client `who`.
    fn act(&mut self, database: &Database, clients: &mut [Client], who: usize) -> Outcome {
        let others_open = clients.iter().enumerate().any(|(i, c)| i != who && c.open.is_some());
        let client = &mut clients[who];
        match self.random.below(20) {
            0 if client.open.is_none() => {
                client.session.execute("BEGIN").expect("nothing is written");
                client.open = Some(Vec::new());
                return Outcome::Done;
            }
            1..=4 if client.open.is_some() => return self.commit(database, client),
            5 if client.open.is_some() => {
                client.session.execute("ROLLBACK").expect("nothing is written");
                client.open = None;
                return Outcome::Done;
            }
            6 => {
                // It may fail as the disk does: then nothing has changed but an open transaction,
                // which has failed as by any statement.
                if client.session.execute("CHECKPOINT").is_err() && client.open.take().is_some() {
                    client.session.execute("ROLLBACK").expect("nothing is written");
                }
                return Outcome::Done;
            }
            7 if client.open.is_none() => {
                client.asynchronous = !client.asynchronous;
                let value = if client.asynchronous { "off" } else { "on" };
                let sql = format!("SET synchronous_commit = {value}");
                client.session.execute(&sql).expect("nothing is written");
                return Outcome::Done;
            }
            8 | 9 if client.open.is_none() => {
                // Rows that move are written; without the disk they stay where they are.
                let sql = if self.random.chance(50) { "VACUUM FREEZE" } else { "VACUUM" };
                let _ = client.session.execute(sql);
                return Outcome::Done;
            }
            _ => {}
        }
        let (sql, steps) = match self.random.below(12) {
            0 if !others_open => self.define(client),
            _ => self.write(client, who as i64),
        };
        if sql.is_empty() {
            return Outcome::Done;
        }
        self.perform(database, client, &sql, steps)
    }

    /// Contents that the client sees.
    fn view(&self, client: &Client) -> Contents {
        let mut view = self.newest().clone();
        client.open.iter().flatten().for_each(|step| apply(&mut view, step));
        view
    }

    fn define(&mut self, client: &Client) -> (String, Vec<Step>) {
        let view = self.view(client);
        let names: Vec<&String> = view.keys().collect();
        if names.len() < 2 || names.len() < 5 && self.random.chance(50) {
            self.made += 1;
            let name = format!("t{}", self.made);
            let layout = ["row", "column", "frozen", "auto"][self.random.below(4) as usize];
            let key = if self.random.chance(70) { "BIGINT PRIMARY KEY" } else { "BIGINT" };
            let sql =
                format!("CREATE TABLE {name} (k {key}, s TEXT, n INT) WITH (layout = {layout})");
            return (sql, vec![Step::Create(name)]);
        }
        let name = names[self.random.below(names.len() as u64) as usize].clone();
        if self.random.chance(50) {
            (format!("DROP TABLE {name}"), vec![Step::Drop(name)])
        } else {
            (format!("TRUNCATE {name}"), vec![Step::Truncate(name)])
        }
    }

    fn write(&mut self, client: &Client, who: i64) -> (String, Vec<Step>) {
        let view = self.view(client);
        let names: Vec<&String> = view.keys().collect();
        if names.is_empty() {
            return (String::new(), Vec::new());
        }
        let name = names[self.random.below(names.len() as u64) as usize].clone();
        let sessions = SESSIONS as i64;
        let own: Vec<i64> = view[&name].keys().copied().filter(|k| k % sessions == who).collect();
        let key = match own.len() {
            0 => None,
            count => Some(own[self.random.below(count as u64) as usize]),
        };
        let text = "long ".repeat(self.random.below(30) as usize);
        let number = self.random.within(-100..100);
        match (self.random.below(10), key) {
            (0..=2, Some(key)) => {
                let step = Step::Put(name.clone(), key, (text.clone(), number));
                let sql = format!("UPDATE {name} SET s = '{text}', n = {number} WHERE k = {key}");
                (sql, vec![step])
            }
            (3, Some(key)) => {
                let row = (view[&name][&key].0.clone(), number);
                let step = Step::Put(name.clone(), key, row);
                (format!("UPDATE {name} SET n = {number} WHERE k = {key}"), vec![step])
            }
            (4..=5, Some(key)) => {
                let step = Step::Remove(name.clone(), key);
                (format!("DELETE FROM {name} WHERE k = {key}"), vec![step])
            }
            (6, _) => {
                let count = 1 + self.random.below(400) as i64;
                let keys = (1..=count).map(|i| (self.made + i) * sessions + who);
                let put = |k| Step::Put(name.clone(), k, (format!("b{k}"), number));
                let steps = keys.map(put).collect();
                let sql = format!(
                    "INSERT INTO {name} SELECT k, 'b' || k, {number} FROM (SELECT \
                     ({} + i) * {sessions} + {who} AS k
                      FROM generate_series(1, {count}) AS g(i)) q",
                    self.made
                );
                self.made += count;
                (sql, steps)
            }
            _ => {
                self.made += 1;
                let key = self.made * sessions + who;
                let step = Step::Put(name.clone(), key, (text.clone(), number));
                (format!("INSERT INTO {name} VALUES ({key}, '{text}', {number})"), vec![step])
            }
        }
    }

    fn perform(
        &mut self,
        database: &Database,
        client: &mut Client,
        sql: &str,
        steps: Vec<Step>,
    ) -> Outcome {
        let result = client.session.execute(sql);
        match (&mut client.open, result) {
            (Some(open), Ok(_)) => {
                open.extend(steps);
                Outcome::Done
            }
            (None, Ok(_)) => {
                self.committed(&steps, client.asynchronous);
                Outcome::Done
            }
            (Some(_), Err(error)) => {
                let seed = self.seed;
                panic!("seed {seed}: {sql}: {error:?}: the disk is asked at commit only")
            }
            (None, Err(error)) => self.failed(database, &steps, sql, &error),
        }
    }

    fn commit(&mut self, database: &Database, client: &mut Client) -> Outcome {
        let steps = client.open.take().expect("in a transaction");
        match client.session.execute("COMMIT") {
            Ok(_) => {
                self.committed(&steps, client.asynchronous);
                Outcome::Done
            }
            Err(error) => self.failed(database, &steps, "COMMIT", &error),
        }
    }

    fn committed(&mut self, steps: &[Step], asynchronous: bool) {
        let mut next = self.newest().clone();
        steps.iter().for_each(|step| apply(&mut next, step));
        if !asynchronous && !steps.is_empty() {
            self.states.clear();
        }
        self.states.push(next);
    }

    /// The commit was not acknowledged: it may be there or not, now and after a crash.
    fn failed(
        &mut self,
        database: &Database,
        steps: &[Step],
        sql: &str,
        error: &types::Error,
    ) -> Outcome {
        let state = error.state().to_string();
        assert!(["58030", "53100"].contains(&&*state), "seed {}: {sql}: {error:?}", self.seed);
        let before = self.newest().clone();
        self.committed(steps, true);
        if state == "58030" {
            return Outcome::Broken;
        }
        let shown = contents_of(database);
        if shown == before {
            self.states.pop();
        } else {
            assert_eq!(&shown, self.newest(), "seed {}: half of a commit", self.seed);
        }
        Outcome::Done
    }

    /// Panics unless `found` is one of the states, and says how it differs from each.
    fn explain(&self, found: &Contents) {
        if self.states.contains(found) {
            return;
        }
        for (number, state) in self.states.iter().enumerate() {
            eprintln!("state {number} of {}:", self.states.len());
            let none = BTreeMap::new();
            let names: BTreeSet<&String> = state.keys().chain(found.keys()).collect();
            for name in names {
                if state.contains_key(name) != found.contains_key(name) {
                    eprintln!("  {name}: found {}", found.contains_key(name));
                }
                let was = state.get(name).unwrap_or(&none);
                let is = found.get(name).unwrap_or(&none);
                let keys: BTreeSet<&i64> = was.keys().chain(is.keys()).collect();
                for key in keys.into_iter().filter(|key| was.get(key) != is.get(key)) {
                    eprintln!("  {name} {key}: found {:?} for {:?}", is.get(key), was.get(key));
                }
            }
        }
        panic!("seed {}: what is there is no state that a commit left", self.seed);
    }

    /// Tests that the contents are one of the states, and that indexes agree.
    fn compare(&mut self, database: &Database) {
        let found = contents_of(database);
        let seed = self.seed;
        self.explain(&found);
        self.states = vec![found];
        let report = database.check_indexes();
        assert!(report.is_sound(), "seed {seed}: {:?}", report.problems);
        let rows: usize = self.newest().values().map(BTreeMap::len).sum();
        let live = |name: &String| database.table(name).map_or(0, |t| t.storage().live_rows());
        let live: u64 = self.newest().keys().map(live).sum();
        assert_eq!(live, rows as u64, "seed {seed}: rows by statistics");
    }
}

fn contents_of(database: &Database) -> Contents {
    let mut session = database.session();
    let tables = database.relations().into_iter().filter(|info| info.kind == "table");
    tables
        .map(|info| {
            let sql = format!("SELECT k, s, n FROM {}", info.name);
            let result = session.execute(&sql).expect("reads go on");
            let mut rows = BTreeMap::new();
            for row in result.text_rows() {
                let [Some(k), Some(s), Some(n)] = &row[..] else { panic!("a NULL: {row:?}") };
                let old = rows.insert(
                    k.parse().expect("a number"),
                    (s.clone(), n.parse().expect("a number")),
                );
                assert!(old.is_none(), "key {k} twice");
            }
            (info.name, rows)
        })
        .collect()
}

pub(super) fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn acknowledged_commits_survive_crashes() {
    let first = number_from("TESSERA_CRASH_SEED", 0);
    for seed in first..first + number_from("TESSERA_CRASH_SEEDS", 200) {
        let mut world = World::new(seed);
        for _ in 0..ROUNDS {
            world.round();
        }
        let database = world.open();
        world.compare(&database);
    }
}
