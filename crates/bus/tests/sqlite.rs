//! The bus in SQLite passes the suite, and lives through random histories beside the model.

mod history;

use std::path::PathBuf;
use std::sync::Arc;

use bus::conformance::{Effort, Stack};
use bus::sqlite::Sqlite;
use bus::{Bus, Copies};
use history::{Step, Twin, steps};
use host::SimClock;
use proptest::prelude::*;
use rusqlite::Connection;
use testkit::Scratch;

struct InFile {
    scratch: Scratch,
    clock: SimClock,
}

impl InFile {
    fn new() -> Self {
        let name = std::thread::current().name().unwrap_or("row").replace(':', "-");
        Self { scratch: Scratch::new(&format!("sqlite-{name}")), clock: SimClock::at(1000) }
    }

    fn path(&self) -> PathBuf {
        self.scratch.join("bus.db")
    }

    fn open(&self) -> Sqlite {
        Sqlite::open(&self.path(), Arc::new(self.clock.clone())).expect("opens")
    }
}

impl Stack for InFile {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open())
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        drop(bus);
        Ok(self.start())
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}

bus::conformance!(InFile::new());

fn copies() -> impl Strategy<Value = Copies> + Clone {
    prop_oneof![Just(Copies::One), Just(Copies::Each)]
}

fn run(steps: &[Step]) {
    let file = InFile::new();
    let mut twin = Twin::new(file.clock.clone());
    for part in steps.chunks(20) {
        let bus = file.open();
        part.iter().for_each(|step| _ = twin.step(&bus, step));
        twin.settle(&bus);
    }
    nothing_is_left_over(&Connection::open(file.path()).expect("opens"));
}

/// Messages without a queue and copies without a message would pile up unseen.
fn nothing_is_left_over(connection: &Connection) {
    let count =
        |query: &str| -> i64 { connection.query_row(query, [], |row| row.get(0)).expect("counts") };
    let without = "SELECT count(*) FROM message
        WHERE id NOT IN (SELECT message FROM queued_message)";
    assert_eq!(count(without), 0, "messages that no queue has");
    let lost = "SELECT count(*) FROM queued_message
        WHERE message NOT IN (SELECT id FROM message) OR receiver NOT IN (SELECT id FROM client)";
    assert_eq!(count(lost), 0, "copies of nothing, or for nobody");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn histories(steps in proptest::collection::vec(steps(copies()), 1..80)) {
        run(&steps);
    }
}

/// Queue order is read from the primary key, not sorted.
#[test]
fn receives_do_not_sort() {
    let file = InFile::new();
    drop(file.open());
    let connection = Connection::open(file.path()).expect("opens");
    let plan: Vec<String> = connection
        .prepare(
            "EXPLAIN QUERY PLAN SELECT m.body FROM queued_message q JOIN message m
             ON m.id = q.message WHERE q.receiver = 1 AND q.priority >= 0 AND q.deadline > 0
             ORDER BY q.priority DESC, q.deadline, q.message LIMIT 1",
        )
        .and_then(|mut plan| plan.query_map([], |row| row.get(3))?.collect())
        .expect("explains");
    assert!(!plan.join("\n").contains("TEMP B-TREE"), "{plan:?}");
}
