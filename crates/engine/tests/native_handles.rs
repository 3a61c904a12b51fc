//! Handles of native transactions that are older than a foreign key to their table.

use engine::native::NativeOptions;
use engine::{Config, Database};
use storage::{Datum, RowBuffer};

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
        let tid = native.get(&parent, index, &key, &[0], &mut row).expect("it reads");
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
