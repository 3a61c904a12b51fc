//! Prepared transactions and crashes: what was acknowledged as prepared is, with its locks; its
//! commit shows all of it, its roll-back nothing.
//!
//! ```text
//! transactions, prepared or not -> power lost, sync failed, disk full -> crash -> open
//! -> rows and names of prepared transactions = the model before or after the last statement
//! ```
//! Seeds are chosen as in `crash`.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Config, Database, Session};
use host::{Fault, SimIo, Tear};
use storage::Layout;
use testkit::Random;

use super::crash::number_from;
use super::{ENDS, LAYOUTS, config, end, files_of, open_layout, rows, run, state_of};

const ROUNDS: u64 = 4;

/// Rows by key: a second key, and a text.
type Contents = BTreeMap<i64, (i64, String)>;

/// Rows as a transaction left them, by key; None for rows that are gone.
type Effects = BTreeMap<i64, Option<(i64, String)>>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    contents: Contents,
    /// Effects of prepared transactions, and the rows that they locked only.
    prepared: BTreeMap<String, (Effects, BTreeSet<i64>)>,
}

impl Model {
    fn apply(&mut self, effects: &Effects) {
        for (key, row) in effects {
            match row {
                Some(row) => drop(self.contents.insert(*key, row.clone())),
                None => drop(self.contents.remove(key)),
            }
        }
    }

    /// Keys that prepared transactions hold.
    fn held(&self) -> BTreeSet<i64> {
        let of = |(effects, locked): &(Effects, BTreeSet<i64>)| {
            effects.keys().chain(locked).copied().collect::<Vec<_>>()
        };
        self.prepared.values().flat_map(of).collect()
    }
}

struct World {
    seed: u64,
    random: Random,
    io: SimIo,
    /// States that may be there: two when the last statement failed.
    models: Vec<Model>,
    made: i64,
}

/// An open transaction.
#[derive(Default)]
struct Open {
    effects: Effects,
    locked: BTreeSet<i64>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let tear = if random.chance(50) { Tear::Bytes } else { Tear::Sectors };
        let io = SimIo::new(random.bits(), tear);
        Self { seed, random, io, models: vec![Model::default()], made: 0 }
    }

    fn model(&self) -> &Model {
        self.models.last().expect("never empty")
    }

    fn try_open(&self) -> types::Result<Database> {
        let layout = LAYOUTS[self.seed as usize % 4];
        let config = Config { layout, memory_bytes: 64 << 20, ..config() };
        Database::open_with(super::PATH, config, &files_of(&self.io))
    }

    fn open(&mut self) -> Database {
        if self.random.chance(20) {
            self.io.inject(Fault::PowerLoss(1 + self.random.below(40)));
            drop(self.try_open());
            self.io.crash();
        }
        self.io.clear_faults();
        let seed = self.seed;
        self.try_open().unwrap_or_else(|error| panic!("seed {seed}: cannot open: {error:?}"))
    }

    fn define(&mut self) {
        let database = self.open();
        let mut session = database.session();
        let sql = "CREATE TABLE t (k BIGINT PRIMARY KEY, u BIGINT UNIQUE, s TEXT)";
        run(&mut session, sql);
        drop(session);
        database.close().expect("it closes");
    }

    fn round(&mut self) {
        let database = self.open();
        self.compare(&database);
        let at = 1 + self.random.below(400);
        match self.random.below(8) {
            0 => self.io.inject(Fault::Sync(1 + at / 4)),
            1 => self.io.inject(Fault::Write(1 + at / 2)),
            2 => self.io.set_capacity(Some(self.io.used_bytes() + at * 1000)),
            3 | 4 => {}
            _ => self.io.inject(Fault::PowerLoss(at)),
        }
        let mut session = database.session();
        for _ in 0..10 + self.random.below(30) {
            if self.act(&database, &mut session).is_none() {
                break;
            }
            if self.random.chance(20) {
                database.pool().evict_to(0);
            }
        }
        drop(session);
        match self.random.below(4) {
            0 if self.models.len() == 1 => {
                self.io.clear_faults();
                if database.close().is_err() || self.io.is_powerless() {
                    self.io.crash();
                }
            }
            1 => self.io.kill(),
            _ => self.io.crash(),
        }
        self.io.set_capacity(None);
    }

    /// One transaction, or the end of a prepared one; None when the log is broken.
    fn act(&mut self, database: &Database, session: &mut Session) -> Option<()> {
        match self.random.below(12) {
            0 => {
                let sql = ["CHECKPOINT", "VACUUM", "VACUUM FREEZE"][self.random.below(3) as usize];
                // As the disk lets it.
                let _ = session.execute(sql);
                Some(())
            }
            1..=3 => self.end_prepared(database, session),
            _ => self.transaction(database, session),
        }
    }

    fn end_prepared(&mut self, database: &Database, session: &mut Session) -> Option<()> {
        let names: Vec<String> = self.model().prepared.keys().cloned().collect();
        if names.is_empty() {
            return Some(());
        }
        let name = names[self.random.below(names.len() as u64) as usize].clone();
        let commits = self.random.chance(60);
        let mut next = self.model().clone();
        let (effects, _) = next.prepared.remove(&name).expect("it is prepared");
        if commits {
            next.apply(&effects);
        }
        let end = if commits { "COMMIT" } else { "ROLLBACK" };
        let sql = format!("{end} PREPARED '{name}'");
        let result = session.execute(&sql);
        self.ended(database, &sql, result.map(drop), next)
    }

    fn transaction(&mut self, database: &Database, session: &mut Session) -> Option<()> {
        run(session, "BEGIN");
        let mut open = Open::default();
        for _ in 0..1 + self.random.below(4) {
            self.write(session, &mut open);
        }
        let mut next = self.model().clone();
        match self.random.below(10) {
            0 => {
                run(session, "ROLLBACK");
                Some(())
            }
            1..=3 => {
                next.apply(&open.effects);
                let result = session.execute("COMMIT");
                self.ended(database, "COMMIT", result.map(drop), next)
            }
            _ => {
                self.made += 1;
                let name = format!("p{}", self.made);
                next.prepared.insert(name.clone(), (open.effects, open.locked));
                let sql = format!("PREPARE TRANSACTION '{name}'");
                let result = session.execute(&sql);
                self.ended(database, &sql, result.map(drop), next)
            }
        }
    }

    /// A statement in a transaction, on rows that nobody else holds.
    fn write(&mut self, session: &mut Session, open: &mut Open) {
        let held = self.model().held();
        let mut seen = self.model().clone();
        seen.apply(&open.effects);
        let free: Vec<i64> = seen.contents.keys().copied().filter(|k| !held.contains(k)).collect();
        let text = "long ".repeat(self.random.below(30) as usize);
        let mut any = |count: usize| free[self.random.below(count as u64) as usize];
        match (free.len(), self.made % 7) {
            (count @ 1.., 1 | 2) => {
                let key = any(count);
                run(session, &format!("UPDATE t SET s = '{text}' WHERE k = {key}"));
                let u = seen.contents[&key].0;
                open.effects.insert(key, Some((u, text)));
            }
            (count @ 2.., 3 | 4) => {
                // Second keys that two rows exchange, or one gets another.
                let (a, b) = (any(count), any(count));
                let (at_a, at_b) = (seen.contents[&a].clone(), seen.contents[&b].clone());
                run(session, &format!("UPDATE t SET u = -k WHERE k = {a}"));
                if a != b {
                    run(session, &format!("UPDATE t SET u = {} WHERE k = {b}", at_a.0));
                    open.effects.insert(b, Some((at_a.0, at_b.1)));
                }
                run(session, &format!("UPDATE t SET u = {} WHERE k = {a}", at_b.0));
                open.effects.insert(a, Some((at_b.0, at_a.1)));
            }
            (count @ 1.., 5) => {
                let key = any(count);
                run(session, &format!("DELETE FROM t WHERE k = {key}"));
                open.effects.insert(key, None);
            }
            (count @ 1.., 6) => {
                let key = any(count);
                run(session, &format!("SELECT FROM t WHERE k = {key} FOR UPDATE"));
                open.locked.insert(key);
            }
            (_, made) => {
                let count = if made == 0 && self.random.chance(30) { 300 } else { 1 };
                let first = self.made + 1;
                let sql = format!(
                    "INSERT INTO t SELECT i, i, '{text}' FROM generate_series({first}, {}) AS g(i)",
                    self.made + count
                );
                run(session, &sql);
                let new = (first..first + count).map(|key| (key, Some((key, text.clone()))));
                open.effects.extend(new);
                self.made += count;
            }
        }
        self.made += 1;
    }

    /// A statement came to this result; `next` holds if it succeeded.
    fn ended(
        &mut self,
        database: &Database,
        sql: &str,
        result: types::Result<()>,
        next: Model,
    ) -> Option<()> {
        let before = self.model().clone();
        let Err(error) = result else {
            self.models = vec![next];
            return Some(());
        };
        let state = error.state().to_string();
        assert!(["58030", "53100"].contains(&&*state), "seed {}: {sql}: {error:?}", self.seed);
        self.models = vec![before, next];
        if state == "58030" {
            return None;
        }
        // A full disk ends nothing: it was, or it was not.
        self.settle(database);
        Some(())
    }

    /// Panics unless what is there is one of the states, which is the only one from now on.
    fn settle(&mut self, database: &Database) {
        let mut session = database.session();
        let shown = rows(&mut session, "SELECT k, u, s FROM t");
        let row = |line: &String| {
            let mut cells = line.splitn(3, '|');
            let mut number = || cells.next().and_then(|cell| cell.parse().ok()).expect("a number");
            let (key, second) = (number(), number());
            (key, (second, cells.next().expect("a text").to_owned()))
        };
        let contents: Contents = shown.iter().map(row).collect();
        assert_eq!(contents.len(), shown.len(), "seed {}: keys once", self.seed);
        let names = rows(&mut session, "SELECT gid FROM pg_prepared_xacts");
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let is_it = |model: &Model| {
            model.contents == contents
                && model.prepared.keys().map(String::as_str).eq(names.iter().copied())
        };
        let found = self.models.iter().find(|model| is_it(model)).cloned();
        let Some(found) = found else {
            let of: Vec<_> = self.models.iter().map(|m| m.prepared.keys()).collect();
            panic!("seed {}: found {names:?} {contents:?} for {of:?} {:?}", self.seed, self.models);
        };
        self.models = vec![found];
    }

    /// After opening: [`Self::settle`], and the locks are there.
    fn compare(&mut self, database: &Database) {
        self.settle(database);
        let mut session = database.session();
        let seed = self.seed;
        run(&mut session, "SET lock_timeout = 1");
        let model = self.model().clone();
        for (effects, locked) in model.prepared.values() {
            let there = |key: &&i64| model.contents.contains_key(key);
            if let Some(key) = effects.keys().chain(locked).find(there) {
                let sql = format!("SELECT FROM t WHERE k = {key} FOR UPDATE NOWAIT");
                assert_eq!(state_of(&mut session, &sql), "55P03", "seed {seed}: row {key}");
            }
            if let Some((key, _)) = effects.iter().find(|(key, row)| row.is_some() && !there(key)) {
                let sql = format!("INSERT INTO t VALUES ({key}, NULL, '')");
                assert_eq!(state_of(&mut session, &sql), "55P03", "seed {seed}: key {key}");
            }
        }
        if model.prepared.is_empty() {
            let report = database.check_indexes();
            assert!(report.is_sound(), "seed {seed}: {:?}", report.problems);
            let live = database.table("t").expect("it exists").storage().live_rows();
            assert_eq!(live, model.contents.len() as u64, "seed {seed}: rows by statistics");
        }
    }

    /// Ends all that is prepared.
    fn finish(&mut self) {
        let database = self.open();
        self.compare(&database);
        let mut session = database.session();
        let mut model = self.model().clone();
        let prepared = std::mem::take(&mut model.prepared);
        for (at, (name, (effects, _))) in prepared.iter().enumerate() {
            let end = if at % 2 == 0 { "COMMIT" } else { "ROLLBACK" };
            run(&mut session, &format!("{end} PREPARED '{name}'"));
            if at % 2 == 0 {
                model.apply(effects);
            }
        }
        self.models = vec![model];
        drop(session);
        self.compare(&database);
        database.close().expect("it closes");
        let database = self.open();
        self.compare(&database);
    }
}

#[test]
fn acknowledged_prepared_transactions_survive_crashes() {
    let first = number_from("TESSERA_CRASH_SEED", 0);
    for seed in first..first + number_from("TESSERA_CRASH_SEEDS", 60) {
        let mut world = World::new(seed);
        world.define();
        for _ in 0..ROUNDS {
            world.round();
        }
        world.finish();
    }
}

#[test]
fn a_prepared_transaction_comes_back_with_its_locks_after_every_end() {
    for layout in LAYOUTS {
        for how in ENDS {
            for checkpoint in [false, true] {
                let io = SimIo::new(3, Tear::Bytes);
                let database = open_layout(&io, layout);
                let mut session = database.session();
                run(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, b TEXT)");
                run(&mut session, "CREATE TABLE u (a INT)");
                run(&mut session, "INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')");
                run(&mut session, "BEGIN");
                run(&mut session, "UPDATE t SET b = 'ONE' WHERE a = 1");
                run(&mut session, "DELETE FROM t WHERE a = 2");
                run(&mut session, "INSERT INTO t VALUES (4, 'four')");
                run(&mut session, "SELECT FROM t WHERE a = 3 FOR UPDATE");
                run(&mut session, "LOCK TABLE u IN SHARE MODE");
                run(&mut session, "SELECT pg_advisory_xact_lock(7), pg_advisory_xact_lock(1, 2)");
                assert_eq!(run(&mut session, "PREPARE TRANSACTION 'p'"), "PREPARE TRANSACTION");
                let number = "SELECT transaction FROM pg_prepared_xacts";
                let number_before = rows(&mut session, number);
                if checkpoint {
                    run(&mut session, "CHECKPOINT");
                }
                drop(session);
                end(database, &io, how);

                for end_statement in ["", "COMMIT PREPARED 'p'"] {
                    let database = open_layout(&io, layout);
                    let mut session = database.session();
                    let all = rows(&mut session, "SELECT * FROM t ORDER BY a");
                    assert_eq!(all, ["1|one", "2|two", "3|three"], "{layout:?} {how:?}");
                    assert_eq!(rows(&mut session, number), number_before);
                    run(&mut session, "SET lock_timeout = 1");
                    for sql in [
                        "SELECT FROM t WHERE a = 1 FOR UPDATE NOWAIT",
                        "UPDATE t SET b = '' WHERE a = 2",
                        "DELETE FROM t WHERE a = 3",
                        "INSERT INTO t VALUES (4, '')",
                        "INSERT INTO u VALUES (1)",
                        "TRUNCATE t",
                    ] {
                        assert_eq!(state_of(&mut session, sql), "55P03", "{sql}");
                    }
                    let locks = "SELECT pg_try_advisory_lock(7), pg_try_advisory_lock(1, 2)";
                    assert_eq!(rows(&mut session, locks), ["f|f"]);
                    if end_statement.is_empty() {
                        drop(session);
                        end(database, &io, how);
                        continue;
                    }
                    assert_eq!(run(&mut session, end_statement), "COMMIT PREPARED");
                    let all = rows(&mut session, "SELECT * FROM t ORDER BY a");
                    assert_eq!(all, ["1|ONE", "3|three", "4|four"], "{layout:?} {how:?}");
                    assert_eq!(rows(&mut session, locks), ["t|t"]);
                    run(&mut session, "INSERT INTO u VALUES (1)");
                    drop(session);
                    end(database, &io, how);
                }
                let database = open_layout(&io, layout);
                let mut session = database.session();
                let all = rows(&mut session, "SELECT * FROM t ORDER BY a");
                assert_eq!(all, ["1|ONE", "3|three", "4|four"], "{layout:?} {how:?}");
                assert!(rows(&mut session, number).is_empty());
                assert!(database.check_indexes().is_sound());
            }
        }
    }
}

#[test]
fn numbers_and_outcomes_of_transactions_outlast_every_end() {
    for how in ENDS {
        let io = SimIo::new(5, Tear::Sectors);
        let database = open_layout(&io, Layout::Auto);
        let mut session = database.session();
        run(&mut session, "CREATE TABLE t (a INT, x BIGINT)");
        run(&mut session, "INSERT INTO t VALUES (1, txid_current())");
        let committed = rows(&mut session, "SELECT x FROM t").concat();
        run(&mut session, "BEGIN");
        run(&mut session, "DELETE FROM t");
        let aborted = rows(&mut session, "SELECT txid_current()").concat();
        run(&mut session, "ROLLBACK");
        run(&mut session, "BEGIN");
        run(&mut session, "INSERT INTO t VALUES (2, txid_current())");
        let prepared = rows(&mut session, "SELECT txid_current()").concat();
        run(&mut session, "PREPARE TRANSACTION 'p'");
        drop(session);
        end(database, &io, how);

        let database = open_layout(&io, Layout::Auto);
        let mut session = database.session();
        let status = format!(
            "SELECT txid_status({committed}), txid_status({aborted}), txid_status({prepared}),
                 txid_current() > {prepared}, txid_current_snapshot()::text LIKE '{prepared}:%'"
        );
        assert_eq!(rows(&mut session, &status), ["committed|aborted|in progress|t|t"], "{how:?}");
        run(&mut session, "COMMIT PREPARED 'p'");
        drop(session);
        end(database, &io, how);

        let database = open_layout(&io, Layout::Auto);
        let mut session = database.session();
        assert_eq!(rows(&mut session, &status), ["committed|aborted|committed|t|f"], "{how:?}");
    }
}
