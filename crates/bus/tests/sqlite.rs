//! The bus in SQLite passes the suite, alone and behind the native bus, and lives through random
//! histories beside the model.

#[macro_use]
mod cached;
mod history;
mod in_file;

use std::sync::Arc;

use bus::sqlite::Sqlite;
use cached::{Cached, Place, copies};
use history::{Step, Twin, steps};
use in_file::InFile;
use proptest::prelude::*;
use rusqlite::Connection;

/// A new file with a bus.
fn file() -> InFile<Sqlite> {
    InFile::new("bus.db", |path, clock| Sqlite::open(path, Arc::new(clock)))
}

impl Place for InFile<Sqlite> {
    type Bare = Sqlite;

    fn open_bare(&self) -> bus::Result<Sqlite> {
        self.try_open()
    }

    fn assert_nothing_is_left_over(&self) {
        nothing_is_left_over(&Connection::open(self.path()).expect("opens"));
    }
}

bus::conformance!(file());

behind_the_native_bus!(file(), 12);

fn run(steps: &[Step]) {
    let file = file();
    let mut twin = Twin::new(file.clock.clone());
    for part in steps.chunks(20) {
        let bus = file.open();
        part.iter().for_each(|step| _ = twin.step(&bus, step));
        twin.settle(&bus);
    }
    file.assert_nothing_is_left_over();
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

/// Nobody else opens the file meanwhile, not even to look.
#[test]
fn the_cache_has_the_file_alone() {
    in_file::alone(&Cached(file()));
}

/// Queue order is read from the primary key, not sorted.
#[test]
fn receives_do_not_sort() {
    let file = file();
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
