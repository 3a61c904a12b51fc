//! Keys of joins that are tested in the probe's scan: strings, keys of several columns and of any
//! types, build sides of few keys. The same rows as by the plain join, and fewer that are scanned.

mod support;

use engine::Session;
use plan::Technique;
use testkit::Random;

use support::{LAYOUTS, in_layout, rows, sorted};

/// Leaves on only these techniques.
fn only(session: &mut Session, techniques: &[Technique]) {
    for technique in Technique::ALL {
        let value = if techniques.contains(&technique) { "on" } else { "off" };
        rows(session, &format!("SET tessera.{} = {value}", technique.name()));
    }
}

/// A value of a column of the tables: one of few, NULL at times.
fn value(random: &mut Random, column: &str, values: i64) -> String {
    if random.chance(8) {
        return "NULL".to_owned();
    }
    let number = random.within(0..values);
    match column {
        "s" => format!("'text {}'", "x".repeat(number as usize % 7) + &number.to_string()),
        "c" => format!("'{}{}'", number % 50, " ".repeat(number as usize % 3)),
        "d" => format!("{}.{:02}", number / 10, number % 10 * 10),
        "w" => format!("{number}.{}", "0".repeat(number as usize % 4)),
        "f" => ["0.0", "-0.0", "0.5", "'NaN'", "1e300"][number as usize % 5].to_owned(),
        "b" => ["true", "false"][number as usize % 2].to_owned(),
        "t" => ["'1 month'", "'30 days'", "'1 day'"][number as usize % 3].to_owned(),
        _ => (number - values / 3).to_string(),
    }
}

const COLUMNS: [(&str, &str); 9] = [
    ("s", "text"),
    ("n", "int"),
    ("l", "bigint"),
    ("d", "numeric(12, 2)"),
    ("w", "numeric"),
    ("c", "char(8)"),
    ("f", "double precision"),
    ("b", "boolean"),
    ("t", "interval"),
];

/// A table of so many rows, each value one of `values`.
struct Table {
    name: &'static str,
    rows: i64,
    values: i64,
}

fn fill(session: &mut Session, random: &mut Random, table: &Table) {
    let &Table { name, rows: count, values } = table;
    let columns: Vec<_> = COLUMNS.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
    rows(session, &format!("CREATE TABLE {name} (id int, {})", columns.join(", ")));
    let mut row = |id: i64| {
        let values: Vec<_> = COLUMNS.iter().map(|(c, _)| value(random, c, values)).collect();
        format!("({id}, {})", values.join(", "))
    };
    let all: Vec<String> = (0..count).map(&mut row).collect();
    for part in all.chunks(500) {
        rows(session, &format!("INSERT INTO {name} VALUES {}", part.join(", ")));
    }
    rows(session, &format!("ANALYZE {name}"));
}

/// Conditions on `a` and `b`; each side's columns may come from elsewhere in [`SOURCES`].
const ONS: [&str; 13] = [
    "a.s = b.s",
    "a.c = b.c",
    "a.w = b.w",
    "a.f = b.f",
    "a.t = b.t",
    "a.n = b.l",
    "a.s = b.s AND a.n = b.n",
    "a.l = b.n AND a.n = b.l",
    "a.d = b.d AND a.f = b.f AND a.s = b.s",
    "a.c = b.c AND a.b = b.b",
    "a.t = b.t AND a.n = b.n AND a.w = b.w",
    "a.s = b.s AND a.n < b.n",
    "a.s IS NOT DISTINCT FROM b.s AND a.n = b.n",
];

/// Sources of `a`: filters go down through it, or must not.
const SOURCES: [&str; 8] = [
    "fact",
    "(SELECT f.id, f.s, o.n, f.l, o.d, f.w, o.c, f.f, o.b, f.t FROM fact AS f \
     JOIN other AS o ON f.n = o.n AND f.s = o.s)",
    "(SELECT f.id, o.s, f.n, o.l, f.d, o.w, f.c, o.f, f.b, o.t FROM fact AS f \
     LEFT JOIN other AS o ON f.l = o.l)",
    "(SELECT min(id) AS id, s, n, l, d, w, c, f, b, t FROM fact \
     GROUP BY s, n, l, d, w, c, f, b, t)",
    "(SELECT min(id) AS id, s, n, max(l) AS l, max(d) AS d, max(w) AS w, max(c) AS c, \
     max(f) AS f, bool_and(b) AS b, max(t) AS t FROM fact GROUP BY s, n)",
    "(SELECT * FROM fact UNION ALL SELECT * FROM other)",
    "(SELECT count(*) OVER (PARTITION BY s, n) AS id, s, n, l, d, w, c, f, b, t FROM fact)",
    "(SELECT * FROM fact ORDER BY id LIMIT 70)",
];

/// All kinds of joins of `a` with `dim` by `on`.
fn queries(source: &str, on: &str) -> Vec<String> {
    let pairs = |join: &str| {
        format!("SELECT a.id, a.s, a.n, b.id, b.s FROM {source} AS a {join} dim AS b ON {on}")
    };
    let exists = |word: &str| {
        format!(
            "SELECT a.id, a.s FROM {source} AS a WHERE {word} (SELECT 1 FROM dim AS b WHERE {on})"
        )
    };
    let of_dim = |word: &str| {
        format!(
            "SELECT b.id, b.s FROM dim AS b WHERE {word} (SELECT 1 FROM {source} AS a WHERE {on})"
        )
    };
    let mut all = vec![pairs("JOIN"), pairs("LEFT JOIN"), pairs("RIGHT JOIN")];
    if !on.contains('<') && !on.contains("IS") {
        all.push(pairs("FULL JOIN"));
    }
    all.extend([exists("EXISTS"), exists("NOT EXISTS"), of_dim("EXISTS"), of_dim("NOT EXISTS")]);
    all
}

#[test]
fn rows_are_those_of_the_plain_join() {
    let ways = [
        &Technique::ALL[..],
        &[Technique::EarlyProbing],
        &[Technique::BuildRestrictions],
        &[Technique::EarlyProbing, Technique::CodeScans, Technique::DictionaryPredicates],
        &[Technique::BuildRestrictions, Technique::CodeScans, Technique::Skipping],
    ];
    for seed in 0..8u64 {
        let random = &mut Random::new(seed);
        let (_database, mut session) = in_layout(LAYOUTS[seed as usize % 4]);
        let values = [3, 40, 400, 3000][random.below(4) as usize];
        fill(&mut session, random, &Table { name: "fact", rows: 700, values });
        fill(&mut session, random, &Table { name: "other", rows: 60, values });
        let count = [1, 2, 30, 150][seed as usize % 4];
        // One key in all rows of the build side, at times.
        let few = if random.chance(30) { 1 } else { values };
        fill(&mut session, random, &Table { name: "dim", rows: count, values: few });
        for _ in 0..15 {
            let source = SOURCES[random.below(SOURCES.len() as u64) as usize];
            let all = queries(source, ONS[random.below(ONS.len() as u64) as usize]);
            let query = &all[random.below(all.len() as u64) as usize];
            only(&mut session, &[]);
            let plain = sorted(&mut session, query);
            for techniques in ways {
                only(&mut session, techniques);
                assert_eq!(sorted(&mut session, query), plain, "{seed} {techniques:?} {query}");
            }
        }
    }
}

/// Rows that the scan of `fact` gave, and its line in the plan.
fn scanned(session: &mut Session, query: &str) -> (u64, String) {
    let plan = rows(session, &format!("EXPLAIN ANALYZE {query}"));
    let plan: Vec<String> = plan.into_iter().flatten().flatten().collect();
    let line = plan.iter().flat_map(|text| text.lines());
    let mut line = line.filter(|line| line.trim_start().starts_with("Scan fact"));
    let line = line.next().unwrap_or_else(|| panic!("no scan in {plan:?}")).to_owned();
    let actual = line.split("actual=").nth(1).unwrap_or_default();
    let digits = actual.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    (digits.parse().unwrap_or_else(|_| panic!("no rows in {line}")), line)
}

#[test]
fn rows_without_a_partner_stay_in_the_scan() {
    for layout in LAYOUTS {
        let (_database, mut session) = in_layout(layout);
        for sql in [
            "CREATE TABLE fact AS SELECT i AS id, i % 3000 AS a, i / 3000 AS k, \
             'word ' || i % 3000 AS s, i * 0.5 AS v FROM generate_series(0, 29999) AS g(i)",
            "CREATE TABLE words AS SELECT 'word ' || i * 30 AS s, i AS w \
             FROM generate_series(0, 99) AS g(i)",
            "CREATE TABLE pairs AS SELECT i AS a, i % 10 AS k, i AS w \
             FROM generate_series(0, 299) AS g(i)",
            "CREATE TABLE one AS SELECT 'word 77' AS s, 77 AS a",
            "ANALYZE",
            "SET index_paths = off",
        ] {
            rows(&mut session, sql);
        }
        let few = [
            // Strings, below a join and a grouping, too.
            ("early_probing", "SELECT sum(v), min(w) FROM fact JOIN words ON fact.s = words.s"),
            (
                "early_probing",
                "SELECT count(*), min(w) FROM (SELECT s, sum(v) AS v FROM fact GROUP BY s) AS g \
                 JOIN words ON g.s = words.s",
            ),
            // Each key alone leaves a tenth, and all.
            (
                "early_probing",
                "SELECT sum(v), min(w) FROM fact JOIN pairs ON fact.a = pairs.a \
                 AND fact.k = pairs.k",
            ),
            ("build_restrictions", "SELECT sum(fact.v) FROM fact JOIN one ON fact.s = one.s"),
            (
                "build_restrictions",
                "SELECT sum(fact.v) FROM fact WHERE EXISTS (SELECT 1 FROM one \
                 WHERE one.a = fact.a)",
            ),
        ];
        for (switch, query) in few {
            only(&mut session, &[]);
            let plain = sorted(&mut session, query);
            let (all, _) = scanned(&mut session, query);
            assert_eq!(all, 30_000, "{layout:?} {query}");
            rows(&mut session, &format!("SET tessera.{switch} = on"));
            assert_eq!(sorted(&mut session, query), plain, "{layout:?} {query}");
            let (few, line) = scanned(&mut session, query);
            assert!(few <= 2000, "{layout:?} {line} {query}");
        }
    }
}
