//! Wide tables: SSB read from one, from joins, and by PostgreSQL; and random changes of a small
//! star schema, after each of which the wide table is what the outer joins are.
#![cfg(feature = "tessera")]

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use engine::{Config, Database, Session};
use testkit::Scratch;
use testkit::postgres::Postgres;
use testkit::slt::{Answer, Backend};
use workloads::ssb::{QUERIES, TABLES};

/// Scale factor: some 60,000 rows of lineorder.
const SCALE: &str = "0.01";

const FOREIGN_KEYS: [(&str, &str); 4] = [
    ("lo_custkey", "customer"),
    ("lo_partkey", "part"),
    ("lo_suppkey", "supplier"),
    ("lo_orderdate", "date"),
];

type Row = Vec<Option<String>>;

fn rows(session: &mut Session, text: &str) -> Result<Vec<Row>, String> {
    session.execute(text).map(|result| result.text_rows()).map_err(|error| error.to_string())
}

fn run(session: &mut Session, text: &str) -> Vec<Row> {
    rows(session, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The rows without the blanks that pad a CHAR(n), in an order of their own: ties come in any.
fn plain(rows: Vec<Row>) -> Vec<Row> {
    let cell = |cell: Option<String>| cell.map(|text| text.trim_end().to_owned());
    let mut rows: Vec<Row> =
        rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
    rows.sort();
    rows
}

#[test]
fn the_star_schema_benchmark_is_scans() {
    let database =
        xtask::tessera::open(Config { threads: 2, ..Config::default() }).expect("it opens");
    let mut session = database.session();
    run(&mut session, &format!("CALL ssb(sf => {SCALE})"));
    for (column, table) in FOREIGN_KEYS {
        let key = format!("FOREIGN KEY ({column}) REFERENCES {table}");
        run(&mut session, &format!("ALTER TABLE lineorder ADD {key}"));
    }
    run(&mut session, "CREATE WIDE TABLE wide FROM lineorder");
    // Facts that come later, and one that leads to what was not there before.
    run(
        &mut session,
        "INSERT INTO lineorder SELECT lo_orderkey + 100000000, lo_linenumber, lo_custkey, \
         lo_partkey, lo_suppkey, lo_orderdate, lo_orderpriority, lo_shippriority, lo_quantity, \
         lo_extendedprice, lo_ordtotalprice, lo_discount, lo_revenue, lo_supplycost, lo_tax, \
         lo_commitdate, lo_shipmode FROM lineorder WHERE lo_orderkey % 7 = 0",
    );
    let count =
        |session: &mut Session, table: &str| run(session, &format!("SELECT count(*) FROM {table}"));
    assert_eq!(count(&mut session, "wide"), count(&mut session, "lineorder"));
    let width = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'wide'";
    assert_eq!(run(&mut session, width), [[Some("54".to_owned())]]);

    let server = Postgres::start().unwrap_or_else(|error| panic!("{error}"));
    let oracle = server.create().expect("a database");
    let mut oracle = oracle.connect().expect("a connection");
    let scratch = Scratch::new("wide");
    for table in TABLES {
        let columns = format!(
            "SELECT string_agg(column_name || ' ' || data_type || \
             coalesce('(' || character_maximum_length || ')', ''), ', ' \
             ORDER BY ordinal_position) FROM information_schema.columns \
             WHERE table_name = '{table}'"
        );
        let columns = run(&mut session, &columns)[0][0].clone().expect("columns");
        oracle.run(&format!("CREATE TABLE \"{table}\" ({columns})")).expect("a table");
        let path = scratch.join(format!("{table}.csv"));
        run(
            &mut session,
            &format!("COPY \"{table}\" TO '{}' (FORMAT csv, HEADER)", path.display()),
        );
        let copy = format!("COPY \"{table}\" FROM '{}' (FORMAT csv, HEADER)", path.display());
        oracle.run(&copy).unwrap_or_else(|error| panic!("{copy}: {error}"));
    }
    let mut found = 0;
    for (name, query) in QUERIES {
        run(&mut session, "SET tessera.wide_tables = off");
        let joined = run(&mut session, query);
        run(&mut session, "SET tessera.wide_tables = on");
        assert_eq!(plain(run(&mut session, query)), plain(joined.clone()), "{name}");
        run(&mut session, "SET tessera.wide_tables = prefer");
        let plan = run(&mut session, &format!("EXPLAIN {query}"));
        let plan: Vec<String> = plan.into_iter().flatten().flatten().collect();
        assert!(plan.iter().any(|line| line.contains("Scan wide")), "{name}: {plan:#?}");
        assert!(!plan.iter().any(|line| line.contains(" join ")), "{name}: {plan:#?}");
        let wide = plain(run(&mut session, query));
        assert_eq!(wide, plain(joined), "{name}");
        let Ok(Answer::Rows { rows: expected, .. }) = oracle.run(query) else {
            panic!("{name} has rows");
        };
        found += wide.len();
        assert_eq!(wide, plain(expected), "{name}");
    }
    assert!(found > 300, "{found} rows are few");
}

/// Numbers of one seed (Steele, Lea, Flood 2014: SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }

    /// A key of a table with few rows, or NULL.
    fn key(&mut self) -> String {
        match self.below(7) {
            0 => "NULL".to_owned(),
            key => key.to_string(),
        }
    }
}

const STAR: [&str; 8] = [
    "CREATE TABLE region (id int PRIMARY KEY, name text)",
    "CREATE TABLE city (id int PRIMARY KEY, name text NOT NULL, \
     region int REFERENCES region ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE item (a int, b int, price numeric(8,2), PRIMARY KEY (a, b))",
    "CREATE TABLE sale (id int PRIMARY KEY, city int REFERENCES city, \
     home int REFERENCES city ON DELETE CASCADE, a int, b int, v int, \
     FOREIGN KEY (a, b) REFERENCES item ON UPDATE CASCADE)",
    "INSERT INTO region SELECT i, 'r' || i FROM generate_series(1, 6) AS g(i)",
    "INSERT INTO city SELECT i, 'c' || i, i FROM generate_series(1, 6) AS g(i)",
    "INSERT INTO item SELECT i, i % 2, i FROM generate_series(1, 6) AS g(i)",
    "CREATE WIDE TABLE wide FROM sale",
];

/// Definition of the wide table.
const JOINS: &str = "SELECT s.id, s.city, s.home, s.a, s.b, s.v, c.id, c.name, c.region, \
     cr.name, h.id, h.name, h.region, hr.name, i.a, i.b, i.price FROM sale s \
     LEFT JOIN city c ON c.id = s.city LEFT JOIN region cr ON cr.id = c.region \
     LEFT JOIN city h ON h.id = s.home LEFT JOIN region hr ON hr.id = h.region \
     LEFT JOIN item i ON i.a = s.a AND i.b = s.b";

/// Queries that it may be read for, in whole or in part.
const READERS: [&str; 7] = [
    "SELECT s.id, c.name, c.id FROM sale s JOIN city c ON c.id = s.city",
    "SELECT s.id, c.name, r.name FROM sale s JOIN city c ON s.home = c.id \
     LEFT JOIN region r ON r.id = c.region",
    "SELECT r.name, count(*), sum(s.v), sum(i.price) FROM sale s, city c, region r, item i \
     WHERE s.city = c.id AND c.region = r.id AND i.a = s.a AND s.b = i.b GROUP BY r.name",
    "SELECT s.id, h.name FROM sale s JOIN city c ON c.id = s.city \
     LEFT JOIN city h ON h.id = s.home WHERE c.region < 5",
    "SELECT c.name, count(s.id) FROM city c LEFT JOIN sale s ON s.city = c.id GROUP BY c.name",
    "SELECT s.id FROM sale s WHERE s.home IN (SELECT id FROM city WHERE region > 2)",
    "SELECT x.id, y.id, c.name FROM sale x JOIN sale y ON x.v = y.v AND x.id < y.id \
     JOIN city c ON c.id = y.city JOIN region r ON r.id = c.region WHERE r.name <> 'r1'",
];

/// A statement of a random transaction.
fn statement(draw: &mut Draw, next_id: &mut u64) -> String {
    *next_id += 1;
    let (key, other, id) = (draw.key(), draw.key(), *next_id);
    let some = draw.below(6) + 1;
    match draw.below(40) {
        0..=9 => {
            let (a, v) = (draw.below(6) + 1, draw.below(9));
            let b = if draw.below(4) == 0 { "NULL".to_owned() } else { (a % 2).to_string() };
            format!("INSERT INTO sale VALUES ({id}, {key}, {other}, {a}, {b}, {v})")
        }
        10 | 11 => format!(
            "INSERT INTO sale SELECT id + {id}000, city, home, a, b, v FROM sale WHERE v = {some}"
        ),
        12 => format!(
            "INSERT INTO sale VALUES ({id}, {key}, {other}) ON CONFLICT (id) DO UPDATE SET v = 1"
        ),
        13 => format!(
            "MERGE INTO sale USING (VALUES ({id}, {some})) AS x (id, c) ON sale.id = x.id \
             WHEN NOT MATCHED THEN INSERT (id, city) VALUES (x.id, x.c)"
        ),
        14 => format!("INSERT INTO city VALUES ({id}, 'new', {key})"),
        15 => format!("INSERT INTO sale VALUES ({id}, (SELECT max(id) FROM city), NULL)"),
        16 => format!("UPDATE city SET name = 'n{id}', region = {key} WHERE id = {some}"),
        17 => format!("UPDATE region SET name = 'm{id}' WHERE id = {some}"),
        18 => format!("UPDATE region SET id = id + 50 WHERE id = {some}"),
        19 => format!("UPDATE item SET price = {id} WHERE a = {some}"),
        20 => format!("UPDATE item SET b = 1 - b WHERE a = {some}"),
        21 | 22 => format!("UPDATE sale SET city = {key}, home = {other} WHERE v = {some}"),
        23 => format!("DELETE FROM sale WHERE v = {some}"),
        24 => format!("DELETE FROM city WHERE id = {some}"),
        25 => format!("DELETE FROM region WHERE id = {some}"),
        26 => match draw.below(6) {
            0 => "TRUNCATE sale".to_owned(),
            _ => format!("INSERT INTO region VALUES ({some}, 'again')"),
        },
        27..=29 => draw.pick(&["BEGIN ISOLATION LEVEL READ COMMITTED", "BEGIN"]).to_owned(),
        30 => "SAVEPOINT p".to_owned(),
        31 => "ROLLBACK TO p".to_owned(),
        32 | 33 => "COMMIT".to_owned(),
        34 => "ROLLBACK".to_owned(),
        _ => "REFRESH WIDE TABLE wide".to_owned(),
    }
}

/// Runs a statement that is cancelled when it waits for the other session.
fn attempt(session: &mut Session, text: &str) -> Result<Vec<Row>, String> {
    let cancel = session.cancel_handle();
    let (sender, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(Duration::from_millis(150)) == Err(RecvTimeoutError::Timeout) {
                cancel.cancel();
            }
        });
        let outcome = rows(session, text);
        drop(sender);
        outcome
    })
}

fn sorted(session: &mut Session, setting: &str, text: &str) -> Vec<Row> {
    run(session, &format!("SET tessera.wide_tables = {setting}"));
    let mut found = run(session, text);
    found.sort();
    found
}

/// Looks at everything with the eyes of `session`; whether the joins were read from the table.
fn look(session: &mut Session, done: &[String]) -> bool {
    let expected = sorted(session, "off", JOINS);
    let wide = "SELECT id, city, home, a, b, v, city, city_name, city_region, \
                region_name, home, home_name, home_region, home_region_name, a_b_a, a_b_b, \
                price FROM wide";
    assert_eq!(sorted(session, "prefer", wide), expected, "{done:#?}");
    for query in READERS {
        let joined = sorted(session, "off", query);
        assert_eq!(sorted(session, "prefer", query), joined, "{query} after {done:#?}");
    }
    let plan = run(session, &format!("EXPLAIN {}", READERS[0]));
    plan.into_iter().flatten().flatten().any(|line| line.contains("Scan wide"))
}

/// Reads all that a look reads.
const PROBE: &str = "SELECT (SELECT count(*) FROM sale), (SELECT count(*) FROM wide)";

fn changed_at_random(seed: u64) -> (usize, usize) {
    let database =
        Database::open_in_memory(Config { threads: 2, ..Config::default() }).expect("it opens");
    let mut sessions = [database.session(), database.session()];
    STAR.iter().for_each(|text| drop(run(&mut sessions[0], text)));
    let (mut draw, mut next_id, mut done) = (Draw(seed), 100, Vec::new());
    let (mut scans, mut looks) = (0, 0);
    for _ in 0..100 {
        let number = draw.below(2) as usize;
        let text = statement(&mut draw, &mut next_id);
        let outcome = attempt(&mut sessions[number], &text);
        let result = outcome.as_ref().map_or_else(String::clone, |_| "done".to_owned());
        done.push(format!("{number}: {text} -- {result}"));
        for session in &mut sessions {
            if session.in_failed_transaction() {
                run(session, "ROLLBACK");
                done.push("ROLLBACK".to_owned());
            }
            // Who holds a table alone, TRUNCATE or REFRESH in a transaction, keeps readers waiting.
            if let Err(waited) = attempt(session, PROBE) {
                done.push(format!("{PROBE} -- {waited}"));
                if session.in_failed_transaction() {
                    run(session, "ROLLBACK");
                }
                continue;
            }
            scans += usize::from(look(session, &done));
            looks += 1;
        }
    }
    (scans, looks)
}

#[test]
fn random_changes_are_those_of_the_joins() {
    let (mut scans, mut looks) = (0, 0);
    for seed in 0..6 {
        let (some, all) = changed_at_random(seed);
        scans += some;
        looks += all;
    }
    // Both ways were taken often.
    assert!(scans * 10 > looks && scans * 10 < looks * 9, "{scans} scans in {looks} looks");
}
