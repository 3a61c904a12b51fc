//! Definitions as PostgreSQL prints them: each text, read again, means the same, and is printed as
//! itself after that. Which text it is: `tests/slt/catalog/definitions.slt`.

mod support;

use engine::{Config, Database, Session};
use support::{rows, run};
use testkit::Random;

const SEED: u64 = 107;

/// Conditions that are tried.
const CONDITIONS: usize = 80;

/// How deep conditions are nested.
const DEPTH: u32 = 3;

const COLUMNS: &str = "a int, b bigint, n numeric(8,2), f float8, s text, v varchar(10), \
                       c char(3), d date, w timestamp, o boolean, r int[], j jsonb, e smallint";

fn pick<'t>(random: &mut Random, list: &[&'t str]) -> &'t str {
    list[random.below(list.len() as u64) as usize]
}

/// A number that no operation overflows.
fn number(random: &mut Random, depth: u32) -> String {
    const LEAVES: [&str; 14] = [
        "a",
        "b",
        "n",
        "f",
        "e",
        "1",
        "-2",
        "0.50",
        "1e1",
        "'3'::int",
        "r[1]",
        "length(s)",
        "5000000000",
        "extract(day FROM d)",
    ];
    if depth == 0 || random.chance(40) {
        return pick(random, &LEAVES).to_owned();
    }
    let (x, y) = (number(random, depth - 1), number(random, depth - 1));
    match random.below(9) {
        0 => format!("{x} + {y}"),
        1 => format!("({x} - {y})"),
        2 => format!("{x} * ({y})"),
        3 => format!("- ({x})"),
        4 => format!("coalesce({x}, {y})"),
        5 => format!("greatest({x}, {y})"),
        6 => format!("CASE WHEN {} THEN {x} ELSE {y} END", condition(random, depth - 1)),
        7 => format!("({x})::numeric(20,3)"),
        _ => format!("abs({x})"),
    }
}

fn text(random: &mut Random, depth: u32) -> String {
    const LEAVES: [&str; 9] =
        ["s", "v", "c", "'x'", "'it''s'", "'ab'::varchar", "j ->> 'k'", "a::text", "''"];
    if depth == 0 || random.chance(40) {
        return pick(random, &LEAVES).to_owned();
    }
    let (x, y) = (text(random, depth - 1), text(random, depth - 1));
    match random.below(9) {
        0 => format!("lower({x})"),
        1 => format!("(s || {y})"),
        2 => format!("coalesce({x}, s, {y})"),
        3 => format!("substring({x} FROM 1 FOR 2)"),
        4 => format!("substr({x}, 2)"),
        5 => format!("trim(both from {x})"),
        6 => format!("({x})::varchar(4)"),
        7 => format!("nullif(s, {y})"),
        _ => format!("CASE v WHEN {x} THEN s ELSE {y} END"),
    }
}

fn moment(random: &mut Random) -> &'static str {
    pick(random, &["d", "w", "d + 1", "w + interval '1 day'", "date_trunc('month', w)", "w::date"])
}

fn comparison(random: &mut Random) -> &'static str {
    pick(random, &["=", "<>", "<", "<=", ">", ">="])
}

fn condition(random: &mut Random, depth: u32) -> String {
    let below = depth.saturating_sub(1);
    let op = comparison(random);
    match random.below(if depth == 0 { 10 } else { 15 }) {
        0 => format!("({}) {op} ({})", number(random, below), number(random, below)),
        1 => format!("a {op} {}", number(random, 0)),
        2 => format!("s {op} {}", text(random, below)),
        3 => format!("{} {op} {}", moment(random), moment(random)),
        4 => {
            let operand = pick(random, &["a", "b", "n", "f", "e"]);
            format!("{operand} IN ({}, 2, 3)", number(random, 0))
        }
        5 => format!("{} NOT IN ('x', {})", pick(random, &["s", "v", "c"]), text(random, 0)),
        6 => format!("n BETWEEN {} AND {}", number(random, 0), number(random, 0)),
        7 => format!("{} LIKE 'x%'", pick(random, &["s", "v", "lower(v)"])),
        8 => format!("{} IS {}NULL", text(random, below), pick(random, &["", "NOT "])),
        9 => pick(random, &["o", "o IS NOT TRUE", "a = ANY (r)", "d > '2020-1-2'", "r @> '{1}'"])
            .to_owned(),
        10 => format!("NOT ({})", condition(random, below)),
        11 => format!("({}) AND {}", condition(random, below), condition(random, below)),
        12 => format!("{} OR ({})", condition(random, below), condition(random, below)),
        13 => {
            let (x, y) = (condition(random, below), condition(random, below));
            format!("({x}) IS DISTINCT FROM ({y})")
        }
        _ => format!("(a, s) {op} ({}, {})", number(random, 0), text(random, 0)),
    }
}

/// The texts of the CHECK of `t`: with all parentheses, with few.
fn shown(session: &mut Session, check: &str) -> [String; 2] {
    run(session, &format!("ALTER TABLE t ADD CONSTRAINT k {check}"));
    let texts = "SELECT pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) \
                 FROM pg_constraint WHERE conname = 'k'";
    let found = run(session, texts);
    run(session, "ALTER TABLE t DROP CONSTRAINT k");
    <[String; 2]>::try_from(found).expect("two texts")
}

#[test]
fn texts_are_read_as_they_were_printed() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(&mut session, &format!("CREATE TABLE t ({COLUMNS})"));
    run(&mut session, &format!("CREATE TABLE u ({COLUMNS})"));
    run(
        &mut session,
        "INSERT INTO u VALUES (1, 2, 3.50, 4.5, 'x', 'xy', 'abc', '2020-01-02', \
         '2021-02-03 04:05:06', true, '{1,2}', '{\"k\": \"x\"}', 3), (-5, 0, 0, -1e3, 'It''s', '', \
         'x', '2019-12-31', '2019-12-31', false, '{}', '{}', 0), \
         (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
         (2, 10, 0.50, 10, '', 'x', 'ab', '2020-01-02', '2020-01-01', NULL, '{3}', NULL, 1)",
    );
    let mut random = Random::new(SEED);
    let mut analysed = 0;
    for _ in 0..CONDITIONS {
        let condition = condition(&mut random, DEPTH);
        let [exact, pretty] = shown(&mut session, &format!("CHECK ({condition})"));
        analysed += usize::from(exact.starts_with("CHECK (("));
        // As in PostgreSQL, what is read again has flat chains of AND and OR, and casts of arrays
        // at their elements; from there on it stays.
        let again = shown(&mut session, &exact);
        assert_eq!(shown(&mut session, &again[0]), again, "{condition}");
        let few = shown(&mut session, &pretty);
        assert_eq!(shown(&mut session, &few[0]), few, "{condition}");
        assert_eq!(few[1], again[1], "{condition}");
        let inner = |text: &str| text.trim_start_matches("CHECK ").to_owned();
        let texts: Vec<String> = [&exact, &pretty, &again[0]].map(|text| inner(text)).into();
        let query = format!("SELECT ({condition}), {} FROM u", texts.join(", "));
        for row in rows(&mut session, &query) {
            assert!(row.iter().all(|value| *value == row[0]), "{condition}: {row:?}");
        }
    }
    assert!(analysed > CONDITIONS / 2, "{analysed}");
}
