//! Settings that switch techniques off: what they do to plans and scans, and that prepared
//! statements notice them. Answers are compared in `xtask/tests/switches.rs`.

use engine::{Config, Database, Session};
use plan::Technique;

fn run(session: &mut Session, sql: &str) -> Vec<Vec<Option<String>>> {
    session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).text_rows()
}

fn text(session: &mut Session, sql: &str) -> String {
    run(session, sql).into_iter().flatten().flatten().collect::<Vec<_>>().join("\n")
}

fn set(session: &mut Session, name: &str, value: &str) {
    run(session, &format!("SET tessera.{name} = {value}"));
}

/// A fact table of 100,000 rows and dimensions; `few` has every thousandth key.
fn database() -> (Database, Session) {
    let config = Config { threads: 2, layout: storage::Layout::Frozen, ..Config::default() };
    let database = Database::open_in_memory(config).expect("it opens");
    let mut session = database.session();
    for sql in [
        "CREATE TABLE fact AS SELECT i AS id, i % 10000 AS a, i % 777 AS b, \
         'text ' || i % 50 AS s FROM generate_series(1, 100000) AS g(i)",
        "CREATE TABLE few AS SELECT i * 1000 AS k, 'name ' || i AS n \
         FROM generate_series(1, 9) AS g(i)",
        "CREATE TABLE dim (k INTEGER PRIMARY KEY, v INTEGER)",
        "INSERT INTO dim SELECT i, i % 7 FROM generate_series(0, 776) AS g(i)",
        "ANALYZE",
    ] {
        run(&mut session, sql);
    }
    (database, session)
}

/// Rows that the scan of `fact` gave.
fn scanned(session: &mut Session, query: &str) -> u64 {
    let plan = text(session, &format!("EXPLAIN ANALYZE {query}"));
    let line = plan.lines().find(|line| line.trim_start().starts_with("Scan fact"));
    let actual = line.and_then(|line| line.split("actual=").nth(1));
    let digits = actual.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("no rows in {plan}"))
}

#[test]
fn switches_are_settings() {
    let (_database, mut session) = database();
    let all = run(&mut session, "SHOW ALL");
    for technique in Technique::ALL {
        let name = technique.name();
        let shown = all.iter().find(|row| row[0].as_deref() == Some(name)).expect("a row");
        assert_eq!(shown[1].as_deref(), Some("on"));
        assert_eq!(shown[2].as_deref(), Some(technique.meaning()));
        set(&mut session, name, "false");
        assert_eq!(text(&mut session, &format!("SHOW {name}")), "off");
        run(&mut session, &format!("RESET {name}"));
        assert_eq!(text(&mut session, &format!("SHOW tessera.{name}")), "on");
    }
    let state = |sql: &str, session: &mut Session| {
        session.execute(sql).map(drop).expect_err("an error").state().to_string()
    };
    assert_eq!(state("SET tessera.lip = maybe", &mut session), "22023");
    assert_eq!(state("SET join_order = best", &mut session), "22023");
    run(&mut session, "BEGIN");
    run(&mut session, "SET LOCAL lip = off");
    assert_eq!(text(&mut session, "SHOW lip"), "off");
    run(&mut session, "ROLLBACK");
    assert_eq!(text(&mut session, "SHOW lip"), "on");
}

#[test]
fn prepared_statements_notice_switches() {
    let (_database, mut session) = database();
    let join = "SELECT count(*) FROM fact JOIN dim ON fact.b = dim.k WHERE fact.a < $1";
    run(&mut session, &format!("PREPARE p (integer) AS {join}"));
    let semi = |session: &mut Session| {
        let plan = text(session, &format!("EXPLAIN {}", join.replace("$1", "5000")));
        plan.to_lowercase().contains("semi")
    };
    for _ in 0..2 {
        assert_eq!(text(&mut session, "EXECUTE p(5000)"), "50000");
        assert!(semi(&mut session));
        set(&mut session, "exact_filters", "off");
        set(&mut session, "dense_joins", "off");
        assert_eq!(text(&mut session, "EXECUTE p(5000)"), "50000");
        assert!(!semi(&mut session));
        run(&mut session, "RESET exact_filters");
        run(&mut session, "RESET dense_joins");
    }
}

/// Queries whose filters have something to pass on their way down to the scan of `fact`, of which
/// a hundredth of the rows or less is left.
const FILTERED: [&str; 9] = [
    "SELECT count(*), min(n) FROM fact JOIN few ON fact.a = few.k",
    "SELECT count(*), min(n) FROM (SELECT a, count(*) AS c FROM fact GROUP BY a) AS g \
     JOIN few ON g.a = few.k",
    "SELECT count(*), min(n) FROM (SELECT a, b, count(*) AS c FROM fact \
     GROUP BY GROUPING SETS ((a), (a, b))) AS g JOIN few ON g.a = few.k",
    "SELECT count(*), sum(c), min(n) FROM (SELECT a, count(DISTINCT b) AS c FROM fact GROUP BY a) \
     AS g JOIN few ON g.a = few.k",
    "SELECT count(*), sum(r), min(n) FROM \
     (SELECT a, row_number() OVER (PARTITION BY a ORDER BY id) AS r \
     FROM fact) AS w JOIN few ON w.a = few.k",
    "SELECT count(*), min(n) FROM (SELECT DISTINCT ON (a) a, id FROM fact ORDER BY a, id) AS d \
     JOIN few ON d.a = few.k",
    "SELECT count(*), min(n) FROM (SELECT a FROM fact EXCEPT SELECT b FROM fact AS f) AS e \
     JOIN few ON e.a = few.k",
    "SELECT count(*), min(n) FROM (SELECT a FROM fact INTERSECT ALL SELECT id FROM fact AS f) AS e \
     JOIN few ON e.a = few.k",
    "WITH c AS MATERIALIZED (SELECT a, id FROM fact) SELECT count(*), min(n) FROM c \
     JOIN few ON c.a = few.k",
];

#[test]
fn filters_go_down_through_what_keeps_keys_together() {
    let (_database, mut session) = database();
    run(&mut session, "SET index_paths = off");
    for query in FILTERED {
        let with = run(&mut session, query);
        let few = scanned(&mut session, query);
        assert!(few <= 1000, "{few} rows: {query}");
        set(&mut session, "lip", "off");
        set(&mut session, "exact_filters", "off");
        assert_eq!(run(&mut session, query), with, "{query}");
        assert_eq!(scanned(&mut session, query), 100_000, "{query}");
        run(&mut session, "RESET ALL");
        run(&mut session, "SET index_paths = off");
    }
}

#[test]
fn filters_on_results_stay_above() {
    let (_database, mut session) = database();
    let queries = [
        // The filter is on a count: of arguments it would say something else.
        "SELECT count(*), min(n) FROM (SELECT a, count(DISTINCT id) * 100 AS c FROM fact \
         GROUP BY a) AS g JOIN few ON g.c = few.k",
        "SELECT count(*), min(n) FROM (SELECT a, count(DISTINCT id) AS c FROM fact \
         GROUP BY a) AS g JOIN (SELECT k / 100 AS k, n FROM few) AS f ON g.c = f.k",
        "SELECT count(*), min(n) FROM \
         (SELECT a, row_number() OVER (PARTITION BY b) AS r \
         FROM fact) AS w JOIN few ON w.a = few.k AND w.r < 3",
        "SELECT count(*), min(n) FROM (SELECT b, id, count(*) AS c FROM fact \
         GROUP BY GROUPING SETS ((b), (id))) AS g JOIN few ON g.id = few.k",
    ];
    for query in queries {
        let with = run(&mut session, query);
        set(&mut session, "lip", "off");
        set(&mut session, "exact_filters", "off");
        assert_eq!(run(&mut session, query), with, "{query}");
        run(&mut session, "RESET ALL");
    }
}

#[test]
fn joins_come_in_the_order_asked_for() {
    let (_database, mut session) = database();
    run(&mut session, "SET index_paths = off");
    let query = "SELECT count(*) FROM dim, few, fact WHERE fact.a = few.k AND fact.b = dim.k \
                 AND dim.v < 6";
    let answer = run(&mut session, query);
    let first = |session: &mut Session| {
        let plan = text(session, &format!("EXPLAIN {query}"));
        let at = |name: &str| {
            let line = plan.lines().find(|l| l.trim_start().starts_with(&format!("Scan {name}")));
            line.map_or(0, |line| line.len() - line.trim_start().len())
        };
        // What is joined first stands deeper.
        if at("few") > at("dim") { "few" } else { "dim" }
    };
    for (order, expected) in [("cost", "few"), ("text", "dim"), ("worst", "dim")] {
        set(&mut session, "join_order", order);
        assert_eq!(first(&mut session), expected, "{order}");
        assert_eq!(run(&mut session, query), answer, "{order}");
    }
}
