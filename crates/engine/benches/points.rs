//! Measures a prepared statement on one row in process: `cargo bench -p engine`. In memory, and
//! with a log that COMMIT does not wait for, in the directory TESSERA_BENCH_DIR or that for
//! temporary files. Run by `cargo test` it does everything once, in small.

use std::time::Instant;

use engine::{Config, Database, Session};
use testkit::Random;
use types::Value;

const SEED: u64 = 7;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (rows, count) = if full { (1_000_000, 200_000) } else { (1_000, 100) };
    let database = Database::open_in_memory(Config::default()).expect("opens");
    measure("memory, hot", &mut database.session(), "row", rows, count);
    drop(database);
    // Rows move to a hot block when they are updated for the first time.
    let database = Database::open_in_memory(Config::default()).expect("opens");
    measure("memory, frozen", &mut database.session(), "frozen", rows, count);
    drop(database);
    let base = std::env::var_os("TESSERA_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let base = base.join(format!("engine-bench-{}", std::process::id()));
    let database = Database::open(&base, Config::default()).expect("opens");
    let mut session = database.session();
    session.execute("SET synchronous_commit = off").expect("sets");
    measure("file, hot", &mut session, "row", rows, count);
    drop(session);
    drop(database);
    std::fs::remove_dir_all(&base).expect("the directory was made above");
}

fn measure(place: &str, session: &mut Session, layout: &str, rows: i64, count: usize) {
    let run = |session: &mut Session, sql: &str| {
        session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    };
    let columns = "id bigint PRIMARY KEY, branch int, balance bigint, note text";
    run(session, &format!("CREATE TABLE account ({columns}) WITH (layout = {layout})"));
    let fill = "SELECT i, i % 100, 0, 'note ' || i";
    run(session, &format!("INSERT INTO account {fill} FROM generate_series(1, {rows}) i(i)"));
    // `cargo bench -p engine -- UPDATE` measures these only.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut random = Random::new(SEED);
    let mut key = || Value::I64(random.within(1..rows + 1));
    let mut time = |name: &str, text: &str, values: &mut dyn FnMut() -> Vec<Value>, tag: &str| {
        if !wanted.as_ref().is_none_or(|wanted| format!("{place} {name}").contains(wanted)) {
            return;
        }
        let mut statement = session.prepare(text, &[]).expect("prepares");
        let mut nanos: Vec<u64> = Vec::with_capacity(count);
        for _ in 0..count {
            let values = values();
            let start = Instant::now();
            let result = session.execute_prepared(&mut statement, &values).expect("runs");
            nanos.push(start.elapsed().as_nanos() as u64);
            assert_eq!(result.tag(), tag);
        }
        nanos.sort_unstable();
        let at = |percent: usize| nanos[(nanos.len() - 1) * percent / 100];
        println!("{place} {name}: median {} ns, 90 % {} ns, 99 % {} ns", at(50), at(90), at(99));
    };
    let select = "SELECT branch, balance, note FROM account WHERE id = $1";
    time("SELECT", select, &mut || vec![key()], "SELECT 1");
    let update = "UPDATE account SET balance = balance + $2 WHERE id = $1";
    time("UPDATE", update, &mut || vec![key(), Value::I64(1)], "UPDATE 1");
    let mut next = rows;
    let insert = "INSERT INTO account VALUES ($1, 1, 0, $2)";
    let mut new = || {
        next += 1;
        vec![Value::I64(next), Value::text("new")]
    };
    time("INSERT", insert, &mut new, "INSERT 0 1");
    let mut gone = rows;
    let mut old = || {
        gone += 1;
        vec![Value::I64(gone)]
    };
    time("DELETE", "DELETE FROM account WHERE id = $1", &mut old, "DELETE 1");
    let general = "SELECT branch, balance FROM account WHERE id = $1 AND id > 0 LIMIT 1";
    time("SELECT by a kept plan", general, &mut || vec![key()], "SELECT 1");
}
