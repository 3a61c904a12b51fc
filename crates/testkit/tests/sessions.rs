//! Session files, on a small store with locks and without isolation.
#![cfg(feature = "slt")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use testkit::slt::{Answer, Backend, Connection, Database, SqlError, rewrite_file, run_file};

/// Named numbers, and who has locked which.
#[derive(Default)]
struct State {
    values: BTreeMap<String, String>,
    locks: BTreeMap<String, usize>,
    waiting: BTreeSet<usize>,
    sessions: usize,
}

#[derive(Default)]
struct Store {
    state: Mutex<State>,
    released: Condvar,
}

struct Locks;

struct OneStore(Arc<Store>);

/// `read x`, `write x 1`, `BEGIN`, `COMMIT`, `ROLLBACK`; a write locks its name until the end.
struct OneSession {
    store: Arc<Store>,
    id: usize,
    written: BTreeMap<String, String>,
}

impl Backend for Locks {
    fn name(&self) -> &str {
        "locks"
    }

    fn create(&self) -> Result<Box<dyn Database>, SqlError> {
        Ok(Box::new(OneStore(Arc::default())))
    }
}

impl Database for OneStore {
    fn connect(&self) -> Result<Box<dyn Connection>, SqlError> {
        let mut state = self.0.state.lock().expect("no panic");
        state.sessions += 1;
        let (id, store) = (state.sessions, Arc::clone(&self.0));
        Ok(Box::new(OneSession { store, id, written: BTreeMap::new() }))
    }

    fn waiting(&self) -> Result<Vec<String>, SqlError> {
        let state = self.0.state.lock().expect("no panic");
        Ok(state.waiting.iter().map(usize::to_string).collect())
    }
}

impl OneSession {
    fn end(&mut self) {
        let mut state = self.store.state.lock().expect("no panic");
        state.locks.retain(|_, owner| *owner != self.id);
        state.waiting.clear();
        self.store.released.notify_all();
    }
}

impl Connection for OneSession {
    fn run(&mut self, sql: &str) -> Result<Answer, SqlError> {
        let one = |cell: String| Ok(Answer::Rows { columns: 1, rows: vec![vec![Some(cell)]] });
        let words: Vec<&str> = sql.split(' ').collect();
        match words[..] {
            ["SELECT", _] => one(self.id.to_string()),
            ["read", name] => {
                let state = self.store.state.lock().expect("no panic");
                let value = self.written.get(name).or(state.values.get(name)).cloned();
                one(value.unwrap_or("0".into()))
            }
            ["write", name, value] => {
                let mut state = self.store.state.lock().expect("no panic");
                while state.locks.get(name).is_some_and(|owner| *owner != self.id) {
                    state.waiting.insert(self.id);
                    state = self.store.released.wait(state).expect("no panic");
                }
                state.waiting.remove(&self.id);
                state.locks.insert(name.into(), self.id);
                self.written.insert(name.into(), value.into());
                Ok(Answer::Done(1))
            }
            ["COMMIT"] => {
                let written = std::mem::take(&mut self.written);
                self.store.state.lock().expect("no panic").values.extend(written);
                self.end();
                Ok(Answer::Done(0))
            }
            ["BEGIN"] => Ok(Answer::Done(0)),
            ["ROLLBACK"] => {
                self.written.clear();
                self.end();
                Ok(Answer::Done(0))
            }
            _ => Err(SqlError { sqlstate: "42601".into(), message: sql.into() }),
        }
    }
}

impl Drop for OneSession {
    fn drop(&mut self) {
        self.end();
    }
}

fn written(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the test directory is writable");
    path
}

fn failures(name: &str, content: &str) -> Vec<(u32, String)> {
    let report = run_file(&written(name, content), &Locks).expect("it runs");
    report.failures.into_iter().map(|failure| (failure.line, failure.message)).collect()
}

const WAITS: &str = "# One waits for the other.
setup
write x 1
COMMIT

scenario the first commits

connection t1
statement ok
write x 2

connection t2
statement blocks
write x 3

onlyif other
connection t1
statement ok
no such statement

connection t1
query
read y
----
0

connection t1
statement ok
COMMIT

unblocks t2 ok

connection t2
statement error (42601)
nonsense

connection t2
statement ok
COMMIT

connection t1
query
read x
----
3
";

const SKEW: &str = "setup
write x 1

scenario both read what the other writes

connection t1
query
read x
----
0

connection t2
query
read y
----
0

connection t1
statement ok
write y 1

connection t2
statement ok
write x 1

connection t1
statement ok
COMMIT

connection t2
statement ok
COMMIT

serializable at most 1 of t1 t2 fail
read x
read y
";

#[test]
fn what_holds_passes_and_is_rewritten_as_it_was() {
    assert_eq!(failures("waits.slt", WAITS), []);
    let wrong = WAITS.replace("unblocks t2 ok\n\n", "").replace("blocks", "ok");
    let path = written("rewritten.slt", &wrong.replace("----\n3", "----\n2"));
    assert!(rewrite_file(&path, &Locks).expect("it runs"));
    assert_eq!(fs::read_to_string(&path).expect("it is there"), WAITS);
    assert!(!rewrite_file(&path, &Locks).expect("it runs"));
}

#[test]
fn a_wait_that_does_not_come_or_end_is_found() {
    let early = WAITS.replace("write x 3", "write z 3");
    assert_eq!(failures("early.slt", &early)[0].0, 12);
    let unasked = WAITS.replace("unblocks t2 ok\n\n", "");
    let found = failures("unasked.slt", &unasked);
    assert!(found[0].1.contains("t2 no longer waits"), "{found:?}");
    let late = WAITS.replace("connection t1\nstatement ok\nCOMMIT\n\n", "");
    assert!(failures("late.slt", &late)[0].1.contains("blocks"));
}

#[test]
fn what_no_serial_order_explains_is_found() {
    let found = failures("skew.slt", SKEW);
    assert_eq!(found.len(), 1);
    assert!(found[0].1.contains("no serial order"), "{found:?}");
    let serial =
        SKEW.replace("read y\n----\n0\n\nconnection t1\n", "read z\n----\n0\n\nconnection t1\n");
    assert_eq!(failures("serial.slt", &serial), []);
}
