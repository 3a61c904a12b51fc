//! Near indexes against sorts of all rows: random vectors, writes and questions, in transactions
//! that commit and that do not, hot and frozen, and when a database was opened again.

mod support;

use engine::{Config, Database, Session};
use support::{run, state};
use testkit::{Random, Scratch};

/// Operators, and the operator classes that answer them.
const METRICS: [(&str, &str); 4] = [
    ("<->", "vector_l2_ops"),
    ("<#>", "vector_ip_ops"),
    ("<=>", "vector_cosine_ops"),
    ("<+>", "vector_l1_ops"),
];

/// A vector of four dimensions with few different coordinates, so that there are equal ones.
fn vector(random: &mut Random) -> String {
    let parts: Vec<String> = (0..4).map(|_| (random.within(-9..10)).to_string()).collect();
    format!("[{}]", parts.join(","))
}

fn value(random: &mut Random) -> String {
    if random.chance(5) { "NULL".to_owned() } else { format!("'{}'", vector(random)) }
}

/// A question for the first rows by distance.
struct Question {
    operator: &'static str,
    from: String,
    condition: &'static str,
    limit: u64,
}

impl Question {
    fn random(random: &mut Random) -> Self {
        let conditions = ["true", "n % 2 = 0", "n % 11 = 3", "n < 20", "v IS NOT NULL AND n > 5"];
        let from = match random.below(20) {
            0 => "[0,0,0,0]".to_owned(),
            _ => vector(random),
        };
        Self {
            operator: METRICS[random.below(4) as usize].0,
            from,
            condition: conditions[random.below(5) as usize],
            limit: random.below(30) + 1,
        }
    }

    /// The distances of the rows that it asks for, and whether each is such a row: `0.5|true`.
    fn ask(&self, session: &mut Session, paths: &str) -> Vec<String> {
        let Self { operator, from, condition, limit } = self;
        run(session, &format!("SET index_paths = {paths}"));
        let first = format!(
            "SELECT id, n, v FROM t WHERE {condition} ORDER BY v {operator} '{from}' LIMIT {limit}"
        );
        let distance = format!("coalesce(round((v {operator} '{from}')::numeric, 4)::text, '')");
        let row = format!("{distance} || '|' || ({condition})::text");
        run(session, &format!("SELECT {row} FROM ({first}) AS s"))
    }
}

/// Looks for all vectors, so that nothing is missed, and for few.
fn compare(session: &mut Session, random: &mut Random, count: usize) {
    for _ in 0..count {
        let question = Question::random(random);
        let about = format!("{} {} {}", question.operator, question.from, question.condition);
        let expected = question.ask(session, "off");
        run(session, "SET hnsw.ef_search = 1000");
        assert_eq!(question.ask(session, "prefer"), expected, "{about}");
        run(session, "SET hnsw.ef_search = 2");
        let found = question.ask(session, "prefer");
        assert_eq!(found.len(), expected.len(), "{about}");
        let conditions = |rows: &[String]| -> Vec<String> {
            rows.iter().map(|row| row.rsplit('|').next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(conditions(&found), conditions(&expected), "{about}");
    }
}

fn write(session: &mut Session, random: &mut Random, next: &mut u64) {
    match random.below(5) {
        0 | 1 => {
            let rows: Vec<String> = (0..=random.below(40))
                .map(|_| {
                    *next += 1;
                    format!("({next}, {}, {})", random.below(60), value(random))
                })
                .collect();
            run(session, &format!("INSERT INTO t VALUES {}", rows.join(", ")));
        }
        2 => {
            let (value, rest) = (value(random), random.below(23));
            run(session, &format!("UPDATE t SET v = {value} WHERE id % 23 = {rest}"));
        }
        3 => {
            let (by, rest) = (vector(random), random.below(13));
            run(session, &format!("UPDATE t SET v = v + '{by}' WHERE id % 13 = {rest}"));
        }
        _ => {
            let rest = random.below(17);
            run(session, &format!("DELETE FROM t WHERE id % 17 = {rest}"));
        }
    }
}

fn table(session: &mut Session, layout: &str) {
    run(session, "CREATE EXTENSION vector");
    let columns = "id int PRIMARY KEY, n int, v vector(4)";
    run(session, &format!("CREATE TABLE t ({columns}) WITH (layout = '{layout}')"));
}

fn indexes(session: &mut Session) {
    for (_, class) in METRICS {
        run(session, &format!("CREATE INDEX {class} ON t USING hnsw (v {class})"));
    }
}

fn is_sound(session: &mut Session) {
    assert_eq!(run(session, "SELECT * FROM tessera_check()"), Vec::<String>::new());
}

/// Random writes and questions; the indexes are made after some rows are there.
fn random_run(seed: u64, layout: &str) {
    let mut random = Random::new(seed);
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    let mut reader = database.session();
    table(&mut session, layout);
    let mut next = 0;
    for _ in 0..8 {
        write(&mut session, &mut random, &mut next);
    }
    indexes(&mut session);
    run(&mut reader, "SET hnsw.ef_search = 1000");
    for round in 0..8 {
        run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        let before = Question::random(&mut random);
        let seen = before.ask(&mut reader, "off");
        let is_kept = random.below(3) > 0;
        run(&mut session, "BEGIN");
        write(&mut session, &mut random, &mut next);
        run(&mut session, "SAVEPOINT s");
        write(&mut session, &mut random, &mut next);
        compare(&mut session, &mut random, 3);
        if random.below(2) == 0 {
            run(&mut session, "ROLLBACK TO s");
            compare(&mut session, &mut random, 3);
        }
        run(&mut session, if is_kept { "COMMIT" } else { "ROLLBACK" });
        assert_eq!(before.ask(&mut reader, "prefer"), seen, "an older snapshot");
        run(&mut reader, "COMMIT");
        compare(&mut session, &mut random, 6);
        if round % 4 == 3 {
            run(&mut session, "VACUUM t");
            is_sound(&mut session);
        }
    }
    is_sound(&mut session);
}

#[test]
fn hot_rows_are_found() {
    (1..=2).for_each(|seed| random_run(seed, "row"));
}

#[test]
fn frozen_rows_are_found() {
    (11..=12).for_each(|seed| random_run(seed, "frozen"));
}

#[test]
fn rows_are_found_when_the_database_is_opened_again() {
    let scratch = Scratch::new("near");
    let mut random = Random::new(21);
    let mut next = 0;
    {
        let database = Database::open(scratch.join("db"), Config::default()).expect("it opens");
        let mut session = database.session();
        table(&mut session, "frozen");
        indexes(&mut session);
        for _ in 0..30 {
            write(&mut session, &mut random, &mut next);
        }
        run(&mut session, "CHECKPOINT");
        for _ in 0..10 {
            write(&mut session, &mut random, &mut next);
        }
    }
    let database = Database::open(scratch.join("db"), Config::default()).expect("it opens again");
    let mut session = database.session();
    is_sound(&mut session);
    compare(&mut session, &mut random, 30);
    let index = "SELECT indexdef FROM pg_indexes WHERE indexname = 'vector_ip_ops'";
    let text = "CREATE INDEX vector_ip_ops ON public.t USING hnsw (v vector_ip_ops)";
    assert_eq!(run(&mut session, index), [text]);
}

/// A session with 2,000 rows and an index of distances as the crow flies.
fn many_rows(database: &Database) -> Session {
    let mut session = database.session();
    table(&mut session, "column");
    run(
        &mut session,
        "INSERT INTO t SELECT i, i % 60, ARRAY[i % 37, i % 11, i % 53, i % 7]::vector \
         FROM generate_series(1, 2000) AS g (i)",
    );
    run(&mut session, "CREATE INDEX near ON t USING hnsw (v vector_l2_ops)");
    session
}

#[test]
fn plans_find_the_nearest_by_index() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = many_rows(&database);
    let plan =
        |session: &mut Session, sql: &str| run(session, &format!("EXPLAIN {sql}")).join("\n");
    let by_index = "nearest v to";
    for sql in [
        "SELECT id FROM t ORDER BY v <-> '[1,2,3,4]' LIMIT 5",
        "SELECT * FROM t ORDER BY v <-> '[1,2,3,4]' LIMIT 5 OFFSET 2",
        "SELECT id, v <-> '[1,2,3,4]' AS d FROM t ORDER BY d LIMIT 5",
        "SELECT id FROM t ORDER BY '[1,2,3,4]' <-> v LIMIT 5",
        "SELECT id FROM t WHERE n % 3 = 1 ORDER BY v <-> '[1,2,3,4]' LIMIT 5",
        "SELECT id FROM t ORDER BY l2_distance(v, (SELECT v FROM t WHERE id = 7)) LIMIT 5",
    ] {
        let plan = plan(&mut session, sql);
        assert!(plan.contains(by_index), "{sql}: {plan}");
    }
    for sql in [
        "SELECT id FROM t ORDER BY v <-> '[1,2,3,4]'",
        "SELECT id FROM t ORDER BY v <-> '[1,2,3,4]' DESC LIMIT 5",
        "SELECT id FROM t ORDER BY v <=> '[1,2,3,4]' LIMIT 5",
        "SELECT id FROM t ORDER BY v <-> '[1,2,3,4]', id LIMIT 5",
        "SELECT id FROM t WHERE id = 9 ORDER BY v <-> '[1,2,3,4]' LIMIT 5",
    ] {
        let plan = plan(&mut session, sql);
        assert!(!plan.contains(by_index), "{sql}: {plan}");
    }
}

#[test]
fn scans_that_read_too_much_sort_all_rows() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = many_rows(&database);
    let sql = "SELECT id FROM t WHERE n = 59 ORDER BY v <-> '[1,2,3,4]', id LIMIT 3";
    let expected = run(&mut session, sql);
    run(&mut session, "SET hnsw.max_scan_tuples = 1");
    let sql = "SELECT id FROM t WHERE n = 59 ORDER BY v <-> '[1,2,3,4]' LIMIT 3";
    assert_eq!(run(&mut session, sql), expected);
}

#[test]
fn the_index_of_an_extension_goes_with_it() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = many_rows(&database);
    assert_eq!(state(&mut session, "DROP EXTENSION vector"), "2BP01");
    run(&mut session, "DROP EXTENSION vector CASCADE");
    assert_eq!(run(&mut session, "SELECT * FROM t WHERE id = 5"), ["5", "5"]);
    assert_eq!(run(&mut session, "SELECT 1 FROM pg_am WHERE amname = 'hnsw'"), [""; 0]);
}
