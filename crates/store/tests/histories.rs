//! Histories of one thread, at random: every back end gives what the model gives, call by call,
//! under snapshots whose read sets have gaps, with reverts and collections in between.

use std::sync::Arc;

use proptest::prelude::*;
use store::conformance::{Manager, collected, row, schema};
use store::delta_main::{ColumnStore, RowStore};
use store::log_store::LogStore;
use store::model::Model;
use store::{
    Aggregate, FieldId, Query, Selection, Snapshot, Status, Table, TableKind, TableOptions, Test,
    Tuple,
};
use types::{CompareOp, Value};

/// A call; transactions are chosen among those that run.
#[derive(Clone, Debug)]
enum Step {
    Begin,
    Commit(usize),
    Abort(usize),
    Insert(usize, u64, i64),
    Update(usize, u64, i64),
    Remove(usize, u64),
    Get(usize, u64),
    Scan(usize, i64),
    Collect,
}

const KEYS: u64 = 6;

fn step() -> impl Strategy<Value = Step> {
    let (txn, key, number) = (0..8usize, 0..KEYS, -20..20i64);
    prop_oneof![
        3 => Just(Step::Begin),
        2 => txn.clone().prop_map(Step::Commit),
        1 => txn.clone().prop_map(Step::Abort),
        5 => (txn.clone(), key.clone(), number.clone()).prop_map(|(t, k, n)| Step::Insert(t, k, n)),
        5 => (txn.clone(), key.clone(), number.clone()).prop_map(|(t, k, n)| Step::Update(t, k, n)),
        3 => (txn.clone(), key.clone()).prop_map(|(t, k)| Step::Remove(t, k)),
        4 => (txn.clone(), key).prop_map(|(t, k)| Step::Get(t, k)),
        1 => (txn, number).prop_map(|(t, n)| Step::Scan(t, n)),
        2 => Just(Step::Collect),
    ]
}

/// A transaction that runs, with the keys that it wrote.
struct Running {
    snapshot: Snapshot,
    keys: Vec<u64>,
}

/// Both tables at once: what they say has to be equal.
struct Twin {
    tried: Box<dyn Table>,
    model: Model,
    manager: Manager,
    running: Vec<Running>,
}

impl Twin {
    fn both<T: PartialEq + std::fmt::Debug>(&self, call: impl Fn(&dyn Table) -> T) -> T {
        let (tried, expected) = (call(&*self.tried), call(&self.model));
        assert_eq!(tried, expected);
        tried
    }

    fn write(&mut self, txn: usize, key: u64, call: impl Fn(&dyn Table, &Snapshot) -> Status) {
        if self.running.is_empty() {
            return;
        }
        let txn = txn % self.running.len();
        let snapshot = self.running[txn].snapshot.clone();
        if self.both(|table| call(table, &snapshot)) == Status::Ok {
            self.running[txn].keys.push(key);
        }
    }

    fn end(&mut self, txn: usize, is_abort: bool) {
        if self.running.is_empty() {
            return;
        }
        let running = self.running.swap_remove(txn % self.running.len());
        for key in running.keys.iter().filter(|_| is_abort) {
            let version = running.snapshot.version();
            self.both(|table| Status::of(&table.revert(version, *key)));
        }
        self.manager.finish(&running.snapshot);
    }

    fn scan(&self, snapshot: &Snapshot, number: i64) {
        let selection = Selection::all()
            .and(FieldId(0), Test::Compare(CompareOp::GreaterEqual, Value::I64(number)));
        let fields = Query::fields((0..7).map(FieldId).collect());
        let list = vec![Aggregate::Rows, Aggregate::Sum(FieldId(0)), Aggregate::Max(FieldId(3))];
        for query in [fields.clone(), fields.of(selection.clone()), Query::aggregates(list)] {
            self.both(|table| collected(table, &query, snapshot));
        }
    }

    fn step(&mut self, step: &Step) {
        let made = |n: i64| Tuple::encode(self.model.schema(), &row(n)).expect("fits");
        match *step {
            Step::Begin if self.running.len() < 8 => {
                self.running.push(Running { snapshot: self.manager.begin(), keys: Vec::new() });
            }
            Step::Begin => (),
            Step::Commit(txn) => self.end(txn, false),
            Step::Abort(txn) => self.end(txn, true),
            Step::Insert(txn, key, n) => {
                let row = made(n);
                self.write(txn, key, |table, s| Status::of(&table.insert(s, key, &row)));
            }
            Step::Update(txn, key, n) => {
                let row = made(n);
                self.write(txn, key, |table, s| Status::of(&table.update(s, key, &row)));
            }
            Step::Remove(txn, key) => {
                self.write(txn, key, |table, s| Status::of(&table.remove(s, key)));
            }
            Step::Get(txn, key) => {
                if let Some(running) = self.running.get(txn) {
                    drop(self.both(|table| table.get(&running.snapshot, key)));
                }
            }
            Step::Scan(txn, number) => {
                if let Some(running) = self.running.get(txn) {
                    self.scan(&running.snapshot, number);
                }
            }
            Step::Collect => {
                let lowest = self.manager.lowest_active();
                self.both(|table| Status::of(&table.collect(lowest)));
            }
        }
    }
}

/// Runs a history, then ends all transactions and looks at everything.
fn live(tried: Box<dyn Table>, steps: &[Step]) {
    let model = Model::new(Arc::clone(tried.schema()));
    let mut twin = Twin { tried, model, manager: Manager::default(), running: Vec::new() };
    steps.iter().for_each(|step| twin.step(step));
    while !twin.running.is_empty() {
        twin.end(0, true);
        let lowest = twin.manager.lowest_active();
        twin.both(|table| Status::of(&table.collect(lowest)));
    }
    let last = twin.manager.begin();
    (0..KEYS).for_each(|key| drop(twin.both(|table| table.get(&last, key))));
    twin.scan(&last, -100);
}

proptest! {
    #[test]
    fn histories_are_those_of_the_model(steps in proptest::collection::vec(step(), 1..120)) {
        let options = TableOptions { page_bytes: 2 << 10, ..TableOptions::default() };
        let schema = || Arc::new(schema(TableKind::Transactional));
        live(Box::new(LogStore::new(schema(), &options).expect("there is room")), &steps);
        live(Box::new(RowStore::new(schema(), &options).expect("there is room")), &steps);
        live(Box::new(ColumnStore::new(schema(), &options).expect("there is room")), &steps);
    }
}
