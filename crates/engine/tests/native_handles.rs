//! Handles of native transactions that are older than a foreign key to their table.

use engine::native::{IndexRead, NativeOptions, NativeSession};
use engine::{Config, Database};
use storage::{Datum, KeyBatch, RowBuffer};
use types::Value;

#[test]
fn a_younger_foreign_key_holds_for_an_older_handle() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    let mut run = |sql: &str| {
        let result = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        result.text_rows().into_iter().flatten().flatten().collect::<Vec<String>>()
    };
    run("CREATE TABLE parent (id int PRIMARY KEY, note int)");
    run("INSERT INTO parent VALUES (1, 0), (2, 0)");
    let parent = database.handle("parent").expect("a table");
    run("CREATE TABLE child (id int REFERENCES parent)");
    run("INSERT INTO child VALUES (1)");
    let mut native = database.native();
    let index = parent.index("parent_pkey").expect("its key");
    let mut row = RowBuffer::new();
    for (id, state) in [(1, Some("23503")), (2, None)] {
        native.begin(NativeOptions::default()).expect("it begins");
        let key = [Datum::I32(id)];
        let tid = native
            .get(IndexRead { table: &parent, index, columns: &[0] }, &key, &mut row)
            .expect("it reads");
        let tid = tid.expect("a row");
        let outcome = native.delete(&parent, tid);
        let found = outcome.as_ref().err().map(|error| error.state().to_string());
        assert_eq!(found.as_deref(), state, "row {id}");
        match outcome {
            Ok(()) => native.commit().expect("it commits"),
            Err(_) => native.rollback(),
        }
    }
    assert_eq!(run("SELECT id FROM parent"), ["1"]);
}

#[test]
fn rows_of_a_batch_are_as_they_are_when_they_are_asked_for() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    for (create, index) in [
        ("CREATE TABLE ordered (id int PRIMARY KEY, n int)", "ordered_pkey"),
        ("CREATE TABLE hashed (id int, n int); CREATE INDEX h ON hashed USING hash (id)", "h"),
    ] {
        for statement in create.split("; ") {
            session.execute(statement).expect("a table");
        }
        let name = create.split(' ').nth(2).expect("its name");
        session
            .execute(&format!("INSERT INTO {name} VALUES (1, 10), (2, 20), (4, 40)"))
            .expect("rows");
        let table = database.handle(name).expect("a table");
        let index = table.index(index).expect("its key");
        let mut native = database.native();
        native.begin(NativeOptions::default()).expect("it begins");
        let (mut batch, mut row) = (KeyBatch::new(), RowBuffer::new());
        let keys = [1, 2, 3, 4, 2, 5].map(|id| [Datum::I32(id)]);
        let keys = keys.iter().map(|key| &key[..]);
        native.start_batch(&table, index, keys, &mut batch).expect("keys that fit");
        let read = IndexRead { table: &table, index, columns: &[1] };
        let mut get = |native: &mut NativeSession, i: usize| {
            let found = native.get_nth(read, &mut batch, i, &mut row);
            let tid = found.expect("it reads")?;
            Some((tid, row.get(0).to_value()))
        };
        assert_eq!(get(&mut native, 0).expect("row 1").1, Value::I32(10));
        let (second, value) = get(&mut native, 1).expect("row 2");
        assert_eq!(value, Value::I32(20));
        native.update(&table, second, &[(1, Datum::I32(21))]).expect("it changes");
        native.insert(&table, &[Datum::I32(3), Datum::I32(30)]).expect("it inserts");
        assert_eq!(get(&mut native, 2).expect("row 3").1, Value::I32(30));
        let (fourth, _) = get(&mut native, 3).expect("row 4");
        native.update(&table, fourth, &[(0, Datum::I32(5))]).expect("another key");
        assert!(get(&mut native, 3).is_none(), "row 4 has another key");
        assert_eq!(get(&mut native, 4).expect("row 2").1, Value::I32(21));
        assert_eq!(get(&mut native, 5).expect("row 5").1, Value::I32(40));
        native.delete(&table, second).expect("it goes");
        assert!(get(&mut native, 1).is_none(), "row 2 is gone");
        native.commit().expect("it commits");
    }
}
