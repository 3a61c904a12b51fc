//! Grouping and joins partition by partition: the same rows as over tables without partitions, by
//! all strategies, and plans that show it.

mod support;

use engine::Session;
use storage::Layout;
use testkit::Random;

use support::{LAYOUTS, in_layout, rows, sorted};

fn plan(session: &mut Session, sql: &str) -> String {
    let lines = rows(session, &format!("EXPLAIN {sql}"));
    lines.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n")
}

/// Ways to partition by `k`, or by `k` and `s`: the key, and parts as `(name, bound)`; a part
/// `name of other` is below another one.
const SCHEMES: [(&str, &[(&str, &str)]); 5] = [
    (
        "RANGE (k)",
        &[
            ("1", "FROM (MINVALUE) TO (5)"),
            ("2", "FROM (5) TO (11)"),
            ("3", "FROM (11) TO (30)"),
            ("4", "DEFAULT"),
        ],
    ),
    ("LIST (s)", &[("1", "IN ('a', 'c', NULL)"), ("2", "IN ('b')"), ("3", "DEFAULT")]),
    (
        "HASH (k)",
        &[
            ("1", "WITH (MODULUS 2, REMAINDER 0)"),
            ("2", "WITH (MODULUS 4, REMAINDER 1)"),
            ("3", "WITH (MODULUS 4, REMAINDER 3)"),
        ],
    ),
    (
        "HASH (k, s)",
        &[
            ("1", "WITH (MODULUS 3, REMAINDER 0)"),
            ("2", "WITH (MODULUS 3, REMAINDER 1)"),
            ("3", "WITH (MODULUS 3, REMAINDER 2)"),
        ],
    ),
    (
        "RANGE (k, s)",
        &[
            ("1", "FROM (MINVALUE, MINVALUE) TO (7, 'b')"),
            ("2", "FROM (7, 'b') TO (20, MAXVALUE)"),
            ("3", "DEFAULT"),
        ],
    ),
];

/// A table `name` with partitions, and `plain_name` with the same rows without.
fn fill(session: &mut Session, random: &mut Random, name: &str, scheme: usize) {
    let (key, parts) = SCHEMES[scheme];
    let columns = "id int, k int, s text, v int";
    rows(session, &format!("CREATE TABLE {name} ({columns}) PARTITION BY {key}"));
    for (part, bound) in parts {
        let bound = match *bound {
            "DEFAULT" => "DEFAULT".to_owned(),
            bound => format!("FOR VALUES {bound}"),
        };
        // The second part has parts itself.
        let below = if *part == "2" { " PARTITION BY HASH (v)" } else { "" };
        rows(session, &format!("CREATE TABLE {name}{part} PARTITION OF {name} {bound}{below}"));
        if *part == "2" {
            for i in 0..2 {
                let bound = format!("WITH (MODULUS 2, REMAINDER {i})");
                let sql = format!("{name}2{i} PARTITION OF {name}2 FOR VALUES {bound}");
                rows(session, &format!("CREATE TABLE {sql}"));
            }
        }
    }
    rows(session, &format!("CREATE TABLE plain_{name} ({columns})"));
    let mut value = |of: &str| {
        if random.chance(8) {
            return "NULL".to_owned();
        }
        match of {
            "s" => format!("'{}'", ["a", "b", "c", "d", "ef"][random.below(5) as usize]),
            "k" => random.within(-3..40).to_string(),
            _ => random.within(0..12).to_string(),
        }
    };
    let row = |id: i32, value: &mut dyn FnMut(&str) -> String| {
        format!("({id}, {}, {}, {})", value("k"), value("s"), value("v"))
    };
    let all: Vec<String> = (0..400).map(|id| row(id, &mut value)).collect();
    rows(session, &format!("INSERT INTO {name} VALUES {}", all.join(", ")));
    rows(session, &format!("INSERT INTO plain_{name} SELECT * FROM {name}"));
    rows(session, &format!("ANALYZE {name}; ANALYZE plain_{name}"));
}

const QUERIES: [&str; 27] = [
    "SELECT k, s, count(*), sum(v), min(id), avg(v) FROM p GROUP BY k, s",
    "SELECT k, s, v, count(*) FROM p WHERE v > 2 GROUP BY v, s, k",
    "SELECT k, s, count(DISTINCT v), string_agg(s, ',' ORDER BY id) FROM p GROUP BY k, s",
    "SELECT k, count(*) FROM p GROUP BY k",
    "SELECT s, max(k) FILTER (WHERE v > 3) FROM p GROUP BY s",
    "SELECT v, count(*) FROM p GROUP BY v",
    "SELECT k + 1, s, sum(v) FROM p GROUP BY k + 1, k, s HAVING sum(v) > 3",
    "SELECT DISTINCT k, s FROM p",
    "SELECT DISTINCT k, s, v FROM p WHERE k BETWEEN 3 AND 12",
    "SELECT k, s, count(*) FROM p GROUP BY ROLLUP (k, s)",
    "SELECT x + 1, s, c FROM (SELECT k AS x, s, count(*) AS c FROM p GROUP BY k, s) AS g",
    "SELECT a.id, b.id FROM p AS a JOIN q AS b ON a.k = b.k AND a.s = b.s",
    "SELECT a.id, b.id FROM p AS a JOIN q AS b ON b.k = a.k WHERE a.v < b.v AND a.k > 4",
    "SELECT a.id, b.id FROM p AS a JOIN q AS b ON a.s = b.s WHERE a.k = 3 AND b.v = 2",
    "SELECT a.id, b.id FROM p AS a LEFT JOIN q AS b ON a.k = b.k AND a.s = b.s AND a.v < b.v",
    "SELECT a.id, b.id FROM p AS a RIGHT JOIN q AS b ON a.k = b.k AND a.s = b.s",
    "SELECT a.id, b.id FROM p AS a FULL JOIN q AS b ON a.k = b.k AND a.s = b.s",
    "SELECT a.id FROM p AS a WHERE EXISTS (SELECT 1 FROM q AS b WHERE b.k = a.k AND b.s = a.s)",
    "SELECT a.id FROM p AS a \
     WHERE NOT EXISTS (SELECT 1 FROM q AS b WHERE b.k = a.k AND b.s = a.s AND b.v > a.v)",
    "SELECT a.id FROM p AS a WHERE a.k NOT IN (SELECT b.k FROM q AS b WHERE b.k IS NOT NULL)",
    "SELECT a.id, b.id FROM p AS a JOIN q AS b ON a.k IS NOT DISTINCT FROM b.k AND a.s = b.s",
    "SELECT a.k, a.s, count(*), sum(b.v) FROM p AS a JOIN q AS b ON a.k = b.k AND a.s = b.s \
     GROUP BY a.k, a.s",
    "SELECT b.k, b.s, count(*) FROM p AS a LEFT JOIN q AS b ON a.k = b.k AND a.s = b.s \
     GROUP BY b.k, b.s",
    "SELECT a.k, a.s, count(*) FROM p AS a FULL JOIN q AS b ON a.k = b.k AND a.s = b.s \
     GROUP BY a.k, a.s",
    "SELECT a.k, b.v, a.c FROM (SELECT k, s, count(*) AS c FROM p GROUP BY k, s) AS a \
     JOIN q AS b ON a.k = b.k AND a.s = b.s",
    "SELECT a.k, a.s, c.v, count(*) FROM p AS a JOIN q AS b ON a.k = b.k AND a.s = b.s \
     JOIN p AS c ON c.k = b.k AND c.s = b.s GROUP BY a.k, a.s, c.v",
    "WITH g AS MATERIALIZED (SELECT k, s, sum(v) AS v FROM p GROUP BY k, s) \
     SELECT x.k, y.v, (SELECT count(*) FROM (SELECT k, s FROM q GROUP BY k, s) AS h) \
     FROM g AS x JOIN g AS y ON x.k = y.k AND x.s = y.s",
];

/// The query over the tables without partitions.
fn over_plain(query: &str) -> String {
    query
        .replace("FROM p", "FROM plain_p")
        .replace("FROM q", "FROM plain_q")
        .replace("JOIN p", "JOIN plain_p")
        .replace("JOIN q", "JOIN plain_q")
}

#[test]
fn rows_are_those_of_tables_without_partitions() {
    for (seed, layout) in (0..10u64).zip(LAYOUTS.into_iter().cycle()) {
        let random = &mut Random::new(seed);
        let (_database, mut session) = in_layout(layout);
        let scheme = seed as usize % SCHEMES.len();
        fill(&mut session, random, "p", scheme);
        // At times partitioned otherwise.
        let other = if seed < 5 { scheme } else { random.below(SCHEMES.len() as u64) as usize };
        fill(&mut session, random, "q", other);
        for query in QUERIES {
            let wanted = sorted(&mut session, &over_plain(query));
            for (place, technique) in [("early", "on"), ("cost", "on"), ("early", "off")] {
                rows(&mut session, &format!("SET tessera.aggregate_place = {place}"));
                rows(&mut session, &format!("SET tessera.partition_wise = {technique}"));
                let what = || format!("{seed} {place} {technique} {query}");
                assert_eq!(sorted(&mut session, query), wanted, "{}", what());
            }
            rows(
                &mut session,
                "SET tessera.aggregate_place = early; SET tessera.partition_wise = on",
            );
            rows(&mut session, &format!("PREPARE again AS {query}"));
            assert_eq!(sorted(&mut session, "EXECUTE again"), wanted, "{seed} {query}");
            rows(&mut session, "DEALLOCATE again");
        }
    }
}

#[test]
fn plans_group_and_join_partition_by_partition() {
    let (_database, mut session) = in_layout(Layout::Auto);
    for name in ["p", "q"] {
        fill(&mut session, &mut Random::new(7), name, 0);
    }
    fill(&mut session, &mut Random::new(7), "other", 2);
    rows(&mut session, "SET tessera.aggregate_place = early");
    let mut counts = |query: &str| {
        let plan = plan(&mut session, query);
        let count = |word: &str| plan.lines().filter(|line| line.contains(word)).count();
        let first = plan.lines().position(|line| line.contains("UnionAll"));
        let above = first.is_some_and(|first| {
            let is_work = |line: &str| line.contains("Aggregate") || line.contains(" join ");
            !plan.lines().take(first).any(is_work)
        });
        (count("Aggregate"), count(" join "), above)
    };
    // A partition is one part, however many there are below it.
    assert_eq!(counts("SELECT k, sum(v) FROM p GROUP BY k"), (4, 0, true));
    let some = "SELECT k, s, sum(v) FROM p WHERE k < 8 GROUP BY k, s";
    assert_eq!(counts(some), (3, 0, true), "two parts, and what other rows are in");
    assert_eq!(counts("SELECT s, sum(v) FROM p GROUP BY s"), (1, 0, false));
    assert_eq!(counts("SELECT DISTINCT k, v FROM p"), (4, 0, true));
    let join = "SELECT a.id, b.id FROM p AS a JOIN q AS b ON a.k = b.k";
    assert_eq!(counts(join), (0, 4, true));
    assert_eq!(counts(&format!("{join} WHERE a.k < 8")), (0, 3, true));
    assert_eq!(counts("SELECT a.id, b.id FROM p AS a JOIN q AS b ON a.s = b.s"), (0, 1, false));
    let otherwise = "SELECT a.id, b.id FROM p AS a JOIN other AS b ON a.k = b.k";
    assert_eq!(counts(otherwise), (0, 1, false));
    rows(&mut session, "SET tessera.partition_wise = off");
    let plan = plan(&mut session, "SELECT k, sum(v) FROM p GROUP BY k");
    assert_eq!(plan.matches("Aggregate").count(), 1, "{plan}");
    rows(&mut session, "SET tessera.partition_wise = on; SET tessera.aggregate_place = cost");
    let plan = rows(&mut session, "EXPLAIN SELECT k, sum(v) FROM p GROUP BY k");
    let plan: Vec<String> = plan.into_iter().flatten().flatten().collect();
    let plan = plan.join("\n");
    assert_eq!(plan.matches("Aggregate").count(), 1, "a few rows are not worth it: {plan}");
}
