//! Generated columns beyond SQL: after a restart, in backups, in native transactions, and with
//! tables of all layouts.

mod support;

use engine::native::{IndexRead, NativeOptions};
use engine::{Config, Database};
use storage::{Datum, RowBuffer};
use support::{run, state};
use testkit::Scratch;
use types::SqlState;

#[test]
fn they_follow_after_a_restart_and_in_backups() {
    let scratch = Scratch::new("generated");
    let (place, copy) = (scratch.join("db"), scratch.join("copy"));
    let defined = "SELECT attname || '=' || pg_get_expr(adbin, adrelid) \
                   FROM pg_attribute JOIN pg_attrdef \
                   ON adrelid = attrelid AND adnum = attnum WHERE attgenerated = 's' ORDER BY 1";
    {
        let database = Database::open(&place, Config::default()).expect("a directory");
        let mut session = database.session();
        run(&mut session, "CREATE TABLE t (a int, g int GENERATED ALWAYS AS (a * 2) STORED)");
        run(&mut session, "INSERT INTO t VALUES (1), (2)");
        run(&mut session, "CHECKPOINT");
        // From the log.
        run(&mut session, "ALTER TABLE t RENAME COLUMN a TO b");
        run(&mut session, "ALTER TABLE t ADD COLUMN h int GENERATED ALWAYS AS (b + 1) STORED");
        run(&mut session, "INSERT INTO t VALUES (3)");
        run(&mut session, "UPDATE t SET b = 10 WHERE b = 1");
        run(&mut session, &format!("BACKUP TO '{}'", copy.display()));
    }
    for place in [&place, &copy, &place] {
        let database = Database::open(place, Config::default()).expect("it was closed");
        let mut session = database.session();
        assert_eq!(run(&mut session, defined), ["g=(b * 2)", "h=(b + 1)"]);
        let rows = "SELECT b || ' ' || g || ' ' || h FROM t ORDER BY b";
        assert_eq!(run(&mut session, rows), ["2 4 3", "3 6 4", "10 20 11"]);
        run(&mut session, "BEGIN");
        run(&mut session, "INSERT INTO t VALUES (4)");
        run(&mut session, "UPDATE t SET b = 5 WHERE b = 10");
        assert_eq!(run(&mut session, rows), ["2 4 3", "3 6 4", "4 8 5", "5 10 6"]);
        assert_eq!(state(&mut session, "UPDATE t SET g = 1"), "428C9");
        run(&mut session, "ROLLBACK");
    }
}

#[test]
fn native_transactions_compute_them() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(
        &mut session,
        "CREATE TABLE t (id int PRIMARY KEY, a int, \
         g int GENERATED ALWAYS AS (a * 2) STORED UNIQUE, CHECK (g < 100))",
    );
    let table = database.handle("t").expect("a table");
    let mut native = database.native();
    native.begin(NativeOptions::default()).expect("it begins");
    let row = |id, a| [Datum::I32(id), Datum::I32(a), Datum::Null];
    let tid = native.insert(&table, &row(1, 5)).expect("a new row");
    // What is given for it does not count.
    native.insert(&table, &[Datum::I32(2), Datum::I32(6), Datum::I32(10)]).expect("a new row");
    let too_large = native.insert(&table, &row(3, 50)).expect_err("the CHECK sees it");
    assert_eq!(too_large.state(), SqlState::CHECK_VIOLATION);
    let equal = native.insert(&table, &row(3, 6)).expect_err("the key sees it");
    assert_eq!(equal.state(), SqlState::UNIQUE_VIOLATION);
    native.update(&table, tid, &[(1, Datum::I32(7))]).expect("it follows");
    let given = native.update(&table, tid, &[(2, Datum::I32(7))]).expect_err("it is computed");
    assert_eq!(given.state(), SqlState::GENERATED_ALWAYS);
    let index = table.index("t_g_key").expect("its key");
    let mut found = RowBuffer::new();
    let by_key = native.get(
        IndexRead { table: &table, index, columns: &[0, 1] },
        &[Datum::I32(14)],
        &mut found,
    );
    assert_eq!(by_key.expect("it reads"), Some(tid));
    native.commit().expect("it commits");
    let rows = run(&mut session, "SELECT id || ' ' || a || ' ' || g FROM t ORDER BY id");
    assert_eq!(rows, ["1 7 14", "2 6 12"]);
}

#[test]
fn rows_of_all_layouts_follow() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    for layout in ["row", "column", "frozen", "auto"] {
        run(
            &mut session,
            &format!(
                "CREATE TABLE {layout}_t (a int, b text, g text GENERATED ALWAYS AS (b || a) \
                 STORED) WITH (layout = '{layout}')"
            ),
        );
        let table = format!("{layout}_t");
        run(
            &mut session,
            &format!("INSERT INTO {table} SELECT i, 'x' FROM generate_series(1, 50000) AS s(i)"),
        );
        run(&mut session, &format!("UPDATE {table} SET b = 'y' || b WHERE a % 7 = 0"));
        let differ = format!("SELECT count(*) FROM {table} WHERE g IS DISTINCT FROM b || a");
        assert_eq!(run(&mut session, &differ), ["0"], "{layout}");
        let changed = format!("SELECT count(*) FROM {table} WHERE g LIKE 'yx%'");
        assert_eq!(run(&mut session, &changed), ["7142"], "{layout}");
    }
}
