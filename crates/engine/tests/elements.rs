//! Inverted indexes against scans: random rows, writes and questions of every operator class, in
//! transactions that commit and that do not, hot and frozen, and when a database was opened again.

mod support;

use engine::{Config, Database, Session};
use support::run;
use testkit::{Random, Scratch};

const WORDS: [&str; 12] = [
    "ant", "bee", "beetle", "cat", "catfish", "dog", "dodo", "eel", "fox", "Fossa", "gnu", "ÉCLAIR",
];

fn word(random: &mut Random) -> &'static str {
    WORDS[random.below(WORDS.len() as u64) as usize]
}

fn words(random: &mut Random, most: u64) -> Vec<&'static str> {
    (0..random.below(most + 1)).map(|_| word(random)).collect()
}

/// A JSON value as text.
fn json(random: &mut Random, depth: u32) -> String {
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => format!("\"{}\"", word(random)),
        1 => ["1", "1.0", "2", "-3", "1e1"][random.below(5) as usize].to_owned(),
        2 => ["true", "false", "null"][random.below(3) as usize].to_owned(),
        3 => ["{}", "[]"][random.below(2) as usize].to_owned(),
        4 => {
            let parts = (0..random.below(3)).map(|_| json(random, depth - 1));
            format!("[{}]", parts.collect::<Vec<_>>().join(", "))
        }
        _ => {
            let parts = (0..random.below(4))
                .map(|_| format!("\"{}\": {}", word(random), json(random, depth - 1)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
    }
}

fn or_null(random: &mut Random, literal: String) -> String {
    if random.below(12) == 0 { "NULL".to_owned() } else { literal }
}

fn array(random: &mut Random) -> String {
    let element = |random: &mut Random| match random.below(10) {
        0 => "NULL".to_owned(),
        _ => random.below(15).to_string(),
    };
    let count = random.below(5);
    let parts: Vec<String> = (0..count).map(|_| element(random)).collect();
    format!("'{{{}}}'::int[]", parts.join(","))
}

fn hstore(random: &mut Random) -> String {
    let pair = |random: &mut Random| match random.below(6) {
        0 => format!("{}=>NULL", word(random)),
        _ => format!("{}=>{}", word(random), random.below(3)),
    };
    let count = random.below(4);
    let parts: Vec<String> = (0..count).map(|_| pair(random)).collect();
    format!("'{}'::hstore", parts.join(","))
}

/// Values of the columns behind `id`.
fn values(random: &mut Random) -> String {
    let body = words(random, 5).join(" ");
    let vector = match random.below(3) {
        0 => format!("'{}'::tsvector", words(random, 4).join(" ")),
        1 => format!("to_tsvector('simple', '{}')", words(random, 6).join(" ")),
        _ => format!("setweight(to_tsvector('simple', '{}'), 'A')", words(random, 3).join(" ")),
    };
    let number = random.below(40).to_string();
    let all = [
        format!("'{body}'"),
        vector,
        array(random),
        format!("'{}'::jsonb", json(random, 3)),
        hstore(random),
        number,
    ];
    all.map(|literal| or_null(random, literal)).join(", ")
}

const COLUMNS: &str = "body, v, a, j, h, n";

/// A condition that an inverted index answers.
fn condition(random: &mut Random) -> String {
    let (x, y) = (word(random), word(random));
    let keys = format!("ARRAY['{x}', '{y}']");
    let start: String = x.chars().take(2).collect();
    let part: String = x.chars().skip(1).take(3).collect();
    match random.below(30) {
        0 => format!("v @@ '{x}'"),
        1 => format!("v @@ '{x} & {y}'"),
        2 => format!("v @@ '{x} | !{y}'"),
        3 => format!("v @@ '{x} & !{y}'"),
        4 => format!("v @@ '{x} <-> {y}'"),
        5 => format!("v @@ '{start}:*'"),
        6 => format!("v @@ '{x}:A | {start}:*B'"),
        7 => format!("'{x}'::tsquery @@ v"),
        8 => format!("to_tsvector('english', body) @@ to_tsquery('english', '{x}')"),
        9 => format!("a @> {}", array(random)),
        10 => format!("a <@ {}", array(random)),
        11 => format!("a && {}", array(random)),
        12 => format!("a = {}", array(random)),
        13 => format!("{} <@ a", array(random)),
        14 => format!("j @> '{}'", json(random, 2)),
        15 => format!("j ? '{x}'"),
        16 => format!("j ?| {keys}"),
        17 => format!("j ?& {keys}"),
        18 => format!("j @? '$.{x}.{y}'"),
        19 => format!("j @? '$.{x}[*] ? (@ == \"{y}\" || @.{y} == 1)'"),
        20 => format!("j @@ '$.{x} == 1 && !($.{y} == true)'"),
        21 => format!("j @@ 'exists($.**.{x}) || $.{y} == null'"),
        22 => format!("h @> '{x}=>{}'", random.below(3)),
        23 => format!("h ?& {keys}"),
        24 => format!("h ?| {keys}"),
        25 => format!("body LIKE '%{part}%'"),
        26 => format!("body ILIKE '{}% {part}%'", start.to_uppercase()),
        27 => format!("body ~ '{part}+.* {y}$'"),
        28 => format!("body % '{x} {y}'"),
        _ => format!("n {} {}", ["=", "<", ">="][random.below(3) as usize], random.below(40)),
    }
}

fn question(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!("({}) AND ({})", condition(random), condition(random)),
        1 => format!("({}) OR ({})", condition(random), condition(random)),
        _ => condition(random),
    }
}

fn ids(session: &mut Session, condition: &str, paths: &str) -> Vec<String> {
    run(session, &format!("SET index_paths = {paths}"));
    run(session, &format!("SELECT id FROM t WHERE {condition} ORDER BY id"))
}

fn compare(session: &mut Session, random: &mut Random, count: usize) {
    for _ in 0..count {
        let asked = question(random);
        let expected = ids(session, &asked, "off");
        assert_eq!(ids(session, &asked, "prefer"), expected, "{asked}");
        assert_eq!(ids(session, &asked, "on"), expected, "{asked}");
    }
}

fn write(session: &mut Session, random: &mut Random, next: &mut u64) {
    match random.below(5) {
        0 | 1 => {
            let rows: Vec<String> = (0..=random.below(20))
                .map(|_| {
                    *next += 1;
                    format!("({next}, {})", values(random))
                })
                .collect();
            run(session, &format!("INSERT INTO t (id, {COLUMNS}) VALUES {}", rows.join(", ")));
        }
        2 => {
            let (at, values) = (random.below(*next + 1), values(random));
            let sql = format!("UPDATE t SET ({COLUMNS}) = ROW({values}) WHERE id % 17 = {at} % 17");
            run(session, &sql);
        }
        3 => {
            let (asked, values) = (question(random), values(random));
            let few = format!("({asked}) AND id % 5 = {}", random.below(5));
            run(session, &format!("UPDATE t SET ({COLUMNS}) = ROW({values}) WHERE {few}"));
        }
        _ => {
            let asked = question(random);
            let few = format!("({asked}) AND id % 7 = {}", random.below(7));
            run(session, &format!("DELETE FROM t WHERE {few}"));
        }
    }
}

fn tables(session: &mut Session, layout: &str) {
    for extension in ["pg_trgm", "hstore", "btree_gin"] {
        run(session, &format!("CREATE EXTENSION {extension}"));
    }
    run(
        session,
        &format!(
            "CREATE TABLE t (id int PRIMARY KEY, body text, v tsvector, a int[], j jsonb, \
             h hstore, n int) WITH (layout = '{layout}')"
        ),
    );
}

fn indexes(session: &mut Session) {
    for columns in [
        "(v)",
        "(to_tsvector('english', body))",
        "(a)",
        "(j)",
        "(j jsonb_path_ops)",
        "(h, n)",
        "(body gin_trgm_ops)",
        "(a, v) WHERE n > 10",
    ] {
        run(session, &format!("CREATE INDEX ON t USING gin {columns}"));
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
    tables(&mut session, layout);
    let mut next = 0;
    for _ in 0..5 {
        write(&mut session, &mut random, &mut next);
    }
    indexes(&mut session);
    for round in 0..12 {
        run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        let before = question(&mut random);
        let seen = ids(&mut reader, &before, "off");
        let is_kept = random.below(3) > 0;
        run(&mut session, "BEGIN");
        write(&mut session, &mut random, &mut next);
        run(&mut session, "SAVEPOINT s");
        write(&mut session, &mut random, &mut next);
        compare(&mut session, &mut random, 4);
        if random.below(2) == 0 {
            run(&mut session, "ROLLBACK TO s");
            compare(&mut session, &mut random, 4);
        }
        run(&mut session, if is_kept { "COMMIT" } else { "ROLLBACK" });
        assert_eq!(ids(&mut reader, &before, "prefer"), seen, "an older snapshot: {before}");
        compare(&mut reader, &mut random, 4);
        run(&mut reader, "COMMIT");
        compare(&mut session, &mut random, 10);
        if round % 4 == 3 {
            run(&mut session, "VACUUM t");
            is_sound(&mut session);
        }
    }
    is_sound(&mut session);
}

#[test]
fn hot_rows_are_found() {
    (1..=6).for_each(|seed| random_run(seed, "row"));
}

#[test]
fn frozen_rows_are_found() {
    (11..=16).for_each(|seed| random_run(seed, "frozen"));
}

#[test]
fn rows_are_found_when_the_database_is_opened_again() {
    let scratch = Scratch::new("elements");
    let mut random = Random::new(21);
    let mut next = 0;
    {
        let database = Database::open(scratch.join("db"), Config::default()).expect("it opens");
        let mut session = database.session();
        tables(&mut session, "frozen");
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
    compare(&mut session, &mut random, 60);
}

#[test]
fn plans_say_which_elements_they_look_for() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    tables(&mut session, "row");
    indexes(&mut session);
    let mut next = 0;
    let mut random = Random::new(3);
    for _ in 0..20 {
        write(&mut session, &mut random, &mut next);
    }
    for (index, condition) in [
        ("t_v_idx", "v @@ 'ant & bee'"),
        ("t_to_tsvector_idx", "to_tsvector('english', body) @@ 'ant'"),
        ("t_a_idx", "a @> '{1}'"),
        ("t_a_v_idx", "a && '{1}' AND v @@ 'ant' AND n > 20"),
        ("t_j_idx1", "j @> '{\"ant\": 1}'"),
        ("t_h_n_idx", "h ? 'ant' AND n = 5"),
        ("t_body_idx", "body LIKE '%beetle%'"),
    ] {
        let plan = run(&mut session, &format!("EXPLAIN SELECT * FROM t WHERE {condition}"));
        let plan = plan.join("\n");
        let is_used = plan.contains(&format!("using {index}")) || index == "t_j_idx1";
        assert!(is_used && plan.contains("elements "), "{condition}: {plan}");
    }
}
