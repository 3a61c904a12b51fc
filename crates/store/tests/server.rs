//! Rows 16, 26 to 28 and 63: the queue of scans, batches, and collections by time.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use store::conformance::{Manager, row, schema};
use store::server::{Layout, Pending, Store, StoreOptions, TableId};
use store::{
    Aggregate, Field, FieldId, FieldType, Flow, Query, Rows, Schema, Sink, StoreError, Table,
    TableKind, Tuple,
};
use types::Value;

/// A sink without rows.
struct Nothing;

impl Sink for Nothing {
    fn rows(&self, _: &Rows) -> Flow {
        Flow::Continue
    }
}

/// A sink that says when it was asked, and waits until it may go on.
struct Held {
    begun: SyncSender<()>,
    go_on: parking_lot::Mutex<Receiver<()>>,
}

impl Sink for Held {
    fn rows(&self, _: &Rows) -> Flow {
        self.begun.send(()).expect("the test listens");
        self.go_on.lock().recv().expect("the test says when");
        Flow::Stop
    }
}

fn filled(store: &Store, manager: &Manager, layout: Layout) -> (TableId, Arc<dyn Table>) {
    let id = store.create("t", schema(TableKind::Transactional), layout).expect("is new");
    let table = store.table(id).expect("is there");
    manager.run(|snapshot| {
        for n in 0..2000 {
            let tuple = Tuple::encode(table.schema(), &row(n)).expect("fits");
            table.insert(snapshot, n as u64, &tuple).expect("inserts");
        }
    });
    (id, table)
}

fn count() -> Query {
    Query::aggregates(vec![Aggregate::Rows])
}

/// A scan that stands still in its sink until the test sends a word.
fn stand_still(store: &Store, id: TableId, manager: &Manager) -> (Pending, SyncSender<()>) {
    let (begun, has_begun) = sync_channel(1);
    let (go, go_on) = sync_channel(1);
    let sink = Arc::new(Held { begun, go_on: parking_lot::Mutex::new(go_on) });
    let query = Query::fields(vec![FieldId(0)]);
    let pending = store.scan(id, query, manager.begin(), sink).expect("is let in");
    has_begun.recv().expect("the scan begins");
    (pending, go)
}

/// While a scan stands still: calls on keys go on, n queries wait and are answered by one pass, and
/// one more than the queue holds is refused.
fn shared(layout: Layout) {
    let options = StoreOptions {
        queue_queries: 50,
        scan_threads: 1,
        page_bytes: 8 << 10,
        ..StoreOptions::default()
    };
    let store = Store::open(options).expect("opens");
    let manager = Manager::default();
    let (id, table) = filled(&store, &manager, layout);
    store.heard_of(&manager.begin());
    store.collect().expect("collects");
    let (held, go) = stand_still(&store, id, &manager);
    manager.run(|snapshot| {
        let tuple = Tuple::encode(table.schema(), &row(1)).expect("fits");
        table.update(snapshot, 5, &tuple).expect("updates beside the scan");
        assert!(table.get(snapshot, 5).is_ok());
    });
    let snapshot = manager.begin();
    let ask = || store.scan(id, count(), snapshot.clone(), Arc::new(Nothing));
    let waiting: Vec<Pending> = (0..50).map(|_| ask().expect("is let in")).collect();
    assert_eq!(ask().err(), Some(StoreError::Overloaded));
    let pages = table.stats().pages;
    let before = table.stats().pages_read;
    go.send(()).expect("the sink waits");
    assert_eq!(held.wait().expect("ends").flow, Flow::Stop);
    for pending in waiting {
        assert_eq!(pending.wait().expect("ends").values, [Value::I64(2000)]);
    }
    let read = table.stats().pages_read - before;
    assert!(pages > 10 && read <= pages + 1, "{read} pages read of {pages} for 50 queries");
}

#[test]
fn rows_26_27_28_one_pass_answers_all_that_wait_in_columns() {
    shared(Layout::Columns);
}

#[test]
fn rows_26_27_28_one_pass_answers_all_that_wait_in_rows() {
    shared(Layout::Rows);
}

#[test]
fn rows_26_27_28_one_pass_answers_all_that_wait_in_a_log() {
    shared(Layout::Log);
}

/// A table that is written and never scanned does not grow for ever.
#[test]
fn row_16_time_alone_collects() {
    for layout in [Layout::Columns, Layout::Rows, Layout::Log] {
        let options = StoreOptions {
            collect_interval: Duration::from_millis(1),
            page_bytes: 8 << 10,
            ..StoreOptions::default()
        };
        let store = Store::open(options).expect("opens");
        let manager = Manager::default();
        let (_, table) = filled(&store, &manager, layout);
        let first = store.bytes();
        // Twenty times the rows that there are at a time.
        for n in 0..40_000 {
            manager.run(|snapshot| {
                store.heard_of(snapshot);
                let tuple = Tuple::encode(table.schema(), &row(n)).expect("fits");
                table.update(snapshot, n as u64 % 2000, &tuple).expect("nobody else writes");
            });
            if n % 1000 == 0 && store.bytes() > first * 8 {
                // Behind the collections that are under way.
                store.collect().expect("collects");
            }
        }
        store.collect().expect("collects");
        store.collect().expect("collects");
        assert!(store.bytes() < first * 8, "{layout:?}: {} after {first}", store.bytes());
    }
}

/// Tables come at run time; names are unique, numbers lead to tables.
#[test]
fn row_63_tables_come_at_run_time() {
    let store = Store::open(StoreOptions::default()).expect("opens");
    let one = |name: &str| {
        let fields = vec![Field::new(name, FieldType::I64)];
        Schema::new(TableKind::Transactional, fields).expect("fits")
    };
    let a = store.create("a", one("x"), Layout::Columns).expect("is new");
    let b = store.create("b", one("y"), Layout::Log).expect("is new");
    assert!(matches!(store.create("a", one("z"), Layout::Rows), Err(StoreError::InvalidTable(_))));
    assert_eq!(store.find("b").expect("is there").0, b);
    assert!(matches!(store.find("c"), Err(StoreError::InvalidTable(_))));
    assert!(matches!(store.table(TableId(3)), Err(StoreError::InvalidTable(_))));
    assert!(matches!(store.table(TableId(0)), Err(StoreError::InvalidTable(_))));
    assert_eq!(store.tables(), [(a, "a".into()), (b, "b".into())]);
    assert_eq!(store.table(a).expect("is there").schema().field("x"), Some(FieldId(0)));
}

/// At the memory limit writes are refused, and go on once something was collected.
#[test]
fn memory_has_a_limit() {
    for layout in [Layout::Columns, Layout::Rows, Layout::Log] {
        let options =
            StoreOptions { memory_limit: 1 << 20, page_bytes: 8 << 10, ..StoreOptions::default() };
        let store = Store::open(options).expect("opens");
        let manager = Manager::default();
        let (_, table) = filled(&store, &manager, layout);
        let update = |n: i64| {
            let tuple = Tuple::encode(table.schema(), &row(n)).expect("fits");
            manager.run(|snapshot| {
                store.heard_of(snapshot);
                table.update(snapshot, n as u64 % 2000, &tuple)
            })
        };
        let refused = (0..100_000).find_map(|n| update(n).err());
        assert_eq!(refused, Some(StoreError::OutOfMemory), "{layout:?}");
        store.heard_of(&manager.begin());
        (0..2).for_each(|_| store.collect().expect("collects"));
        assert_eq!(update(7), Ok(()), "{layout:?}");
    }
}
