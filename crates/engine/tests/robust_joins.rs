//! Joins by index that go over to hash joins: the same rows at every cost with which they do so,
//! against rows in a list, and only where an estimate was wrong.

use engine::{Config, Database, Session};
use storage::Layout;
use testkit::Random;

/// Costs of look-ups with which joins go over: at once, before, at and behind look-ups, never.
const COSTS: [i64; 10] = [0, 1, 150, 151, 900, 4000, 17_000, 60_000, 250_000, -1];

/// A row of either table: its number, the key, and a number that conditions are about.
#[derive(Clone, Copy, Debug)]
struct Row {
    id: i64,
    key: Option<i64>,
    number: i64,
}

fn session(threads: usize) -> Session {
    let config = Config { threads, memory_bytes: 1 << 30, layout: Layout::Auto };
    Database::open_in_memory(config).expect("opens").session()
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    let result = session.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    let row = |row: Vec<Option<String>>| row.into_iter().map(cell).collect::<Vec<_>>().join(",");
    result.text_rows().into_iter().map(row).collect()
}

/// Keys of which one is in half of the rows and some are NULL.
fn random_rows(random: &mut Random, count: i64) -> Vec<Row> {
    let mut row = |id| {
        let key = match random.below(20) {
            0..9 => Some(3),
            9..11 => None,
            _ => Some(random.within(0..60)),
        };
        Row { id, key, number: random.within(0..10) }
    };
    (0..count).map(&mut row).collect()
}

fn fill(session: &mut Session, name: &str, rows: &[Row]) {
    run(session, &format!("CREATE TABLE {name} (id INT PRIMARY KEY, k INT, n INT)"));
    let text = |row: &Row| {
        let key = row.key.map_or_else(|| "NULL".to_owned(), |key| key.to_string());
        format!("({}, {key}, {})", row.id, row.number)
    };
    let values: Vec<String> = rows.iter().map(text).collect();
    run(session, &format!("INSERT INTO {name} VALUES {}", values.join(", ")));
}

/// A join condition: its text, and what it says of a row of `o` and one of `i`.
struct On {
    text: &'static str,
    holds: fn(&Row, &Row) -> bool,
}

fn same(o: &Row, i: &Row) -> bool {
    o.key.is_some() && o.key == i.key
}

const ONS: [On; 4] = [
    On { text: "i.k = o.k", holds: same },
    On { text: "i.k = o.k AND o.n < i.n", holds: |o, i| same(o, i) && o.number < i.number },
    On { text: "i.k = o.k AND i.n > 6", holds: |o, i| same(o, i) && i.number > 6 },
    On { text: "i.id = o.k AND i.n <> 4", holds: |o, i| o.key == Some(i.id) && i.number != 4 },
];

/// Queries of all kinds of joins by `on`, with their rows.
fn queries(on: &On, outer: &[Row], inner: &[Row]) -> Vec<(String, Vec<String>)> {
    let (mut pairs, mut padded, mut semi, mut anti) = (vec![], vec![], vec![], vec![]);
    for o in outer {
        let found: Vec<&Row> = inner.iter().filter(|i| (on.holds)(o, i)).collect();
        let ids: Vec<String> = found.iter().map(|i| format!("{},{}", o.id, i.id)).collect();
        if ids.is_empty() {
            padded.push(format!("{},-", o.id));
            anti.push(o.id.to_string());
        } else {
            semi.push(o.id.to_string());
        }
        padded.extend(ids.clone());
        pairs.extend(ids);
    }
    let on = on.text;
    let exists = format!("EXISTS (SELECT 1 FROM i WHERE {on})");
    let mut all = vec![
        (format!("SELECT o.id, i.id FROM o JOIN i ON {on}"), pairs.clone()),
        (format!("SELECT o.id, i.id FROM o LEFT JOIN i ON {on}"), padded),
        (format!("SELECT o.id FROM o WHERE {exists}"), semi),
        (format!("SELECT o.id FROM o WHERE NOT {exists}"), anti),
        (format!("SELECT count(*) FROM o JOIN i ON {on}"), vec![pairs.len().to_string()]),
    ];
    if on.starts_with("i.id") {
        let partner = |o: &Row| {
            let found = inner.iter().find(|i| o.key == Some(i.id) && i.number != 4);
            format!("{},{}", o.id, found.map_or("-".to_owned(), |i| i.number.to_string()))
        };
        let text = format!("SELECT o.id, (SELECT i.n FROM i WHERE {on}) FROM o");
        all.push((text, outer.iter().map(partner).collect()));
    }
    all
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

fn check_all(session: &mut Session, outer: &[Row], inner: &[Row], about: &str) {
    for on in &ONS {
        for (sql, expected) in queries(on, outer, inner) {
            let expected = sorted(expected);
            for cost in COSTS {
                run(session, &format!("SET tessera.index_join_cost = {cost}"));
                let found = rows(session, &sql);
                assert_eq!(sorted(found), expected, "{about}, cost {cost}: {sql}");
                let mut first = rows(session, &format!("{sql} LIMIT 7"));
                let count = expected.len().min(7);
                assert_eq!(first.len(), count, "{about}, cost {cost}: {sql} LIMIT 7");
                first.sort();
                first.dedup();
                assert_eq!(first.len(), count, "{about}, cost {cost}: {sql} LIMIT 7: repeated");
                assert!(first.iter().all(|row| expected.binary_search(row).is_ok()), "{sql}");
            }
        }
    }
}

/// Rows that a statement deletes by a join with its target inside, in a transaction that ends
/// without it.
fn check_delete(session: &mut Session, outer: &[Row], inner: &[Row]) {
    let is_met = |i: &&Row| outer.iter().any(|o| o.number < 2 && same(o, i));
    let expected: Vec<String> = inner.iter().filter(is_met).map(|i| i.id.to_string()).collect();
    for cost in COSTS {
        run(session, &format!("SET tessera.index_join_cost = {cost}"));
        run(session, "BEGIN");
        let found =
            rows(session, "DELETE FROM i USING o WHERE i.k = o.k AND o.n < 2 RETURNING i.id");
        assert_eq!(sorted(found), sorted(expected.clone()), "cost {cost}");
        run(session, "ROLLBACK");
    }
}

fn scenario(threads: usize, index: &str) {
    let mut random = Random::new(threads as u64);
    let mut session = session(threads);
    let (outer, mut inner) = (random_rows(&mut random, 230), random_rows(&mut random, 170));
    fill(&mut session, "o", &outer);
    fill(&mut session, "i", &inner);
    run(&mut session, &format!("CREATE INDEX i_k ON i {index}"));
    run(&mut session, "ANALYZE");
    run(&mut session, "SET index_paths = prefer");
    check_all(&mut session, &outer, &inner, "hot");
    check_delete(&mut session, &outer, &inner);
    run(&mut session, "VACUUM FREEZE i");
    run(&mut session, "BEGIN");
    run(&mut session, "UPDATE i SET k = k + 1 WHERE id % 3 = 0");
    for row in inner.iter_mut().filter(|row| row.id % 3 == 0) {
        row.key = row.key.map(|key| key + 1);
    }
    check_all(&mut session, &outer, &inner, "frozen and changed");
    run(&mut session, "ROLLBACK");
}

#[test]
fn rows_do_not_depend_on_when_a_join_goes_over() {
    scenario(1, "(k)");
    scenario(2, "(k, n)");
    scenario(3, "USING hash (k)");
}

#[test]
fn plans_tell_of_joins_that_went_over() {
    let mut random = Random::new(7);
    let mut session = session(1);
    fill(&mut session, "o", &random_rows(&mut random, 90));
    fill(&mut session, "i", &random_rows(&mut random, 80));
    run(&mut session, "CREATE INDEX i_k ON i (k)");
    run(&mut session, "SET index_paths = prefer");
    let mut plan = |cost: i64, explain: &str| {
        run(&mut session, &format!("SET tessera.index_join_cost = {cost}"));
        let text = format!("{explain} SELECT count(*) FROM o LEFT JOIN i ON i.k = o.k");
        rows(&mut session, &text).join("\n")
    };
    let at_once = plan(0, "EXPLAIN ANALYZE");
    assert!(at_once.contains("went over to a hash join for 90 rows"), "{at_once}");
    assert!(!at_once.contains("look-ups"), "{at_once}");
    let first = plan(1, "EXPLAIN ANALYZE");
    assert!(first.contains("went over to a hash join for "), "{first}");
    assert!(first.contains("i_k=1 look-ups"), "{first}");
    let never = plan(-1, "EXPLAIN ANALYZE");
    assert!(!never.contains("went over"), "{never}");
    let verbose = plan(700, "EXPLAIN (VERBOSE)");
    assert!(verbose.contains("goes over to a hash join at cost 700"), "{verbose}");
    let json = plan(0, "EXPLAIN (ANALYZE, FORMAT JSON)");
    assert!(json.contains("\"Rows Joined by Hash Instead\": 90"), "{json}");
}

#[test]
fn a_join_of_more_rows_than_expected_goes_over_by_itself() {
    let mut session = session(2);
    run(&mut session, "CREATE TABLE i (id INT PRIMARY KEY, k INT, s TEXT)");
    run(
        &mut session,
        "INSERT INTO i SELECT n, n % 5000, 's' || n FROM generate_series(1, 20000) AS g(n)",
    );
    run(&mut session, "CREATE INDEX i_k ON i (k)");
    run(&mut session, "CREATE TABLE o (id INT PRIMARY KEY, a INT)");
    run(&mut session, "INSERT INTO o SELECT n, n % 5000 FROM generate_series(1, 9000) AS g(n)");
    run(&mut session, "ANALYZE");
    // Of a parameter nothing is known: a few rows are expected where all come.
    run(
        &mut session,
        "PREPARE q(int, int) AS SELECT count(*), sum(i.id) FROM o JOIN i ON i.k = o.a \
         WHERE o.id BETWEEN $1 AND $2",
    );
    let count = |session: &mut Session, last: i64| {
        rows(session, &format!("EXECUTE q(1, {last})")).join(";")
    };
    let expected = |last: i64| {
        let of = |n: i64| -> (i64, i64) {
            let found = (1..=20_000).filter(|i| i % 5000 == n % 5000);
            found.fold((0, 0), |(count, sum), i| (count + 1, sum + i))
        };
        let all: Vec<(i64, i64)> = (0..5000).map(of).collect();
        let found = (1..=last).map(|n| all[(n % 5000) as usize]);
        let (count, sum) = found.fold((0, 0), |(c, s), (count, sum)| (c + count, s + sum));
        format!("{count},{sum}")
    };
    let plan = |session: &mut Session, last: i64| {
        rows(session, &format!("EXPLAIN ANALYZE EXECUTE q(1, {last})")).join("\n")
    };
    let few = plan(&mut session, 20);
    assert!(few.contains("i_k=20 look-ups 80 found") && !few.contains("went over"), "{few}");
    assert_eq!(count(&mut session, 20), expected(20));
    let many = plan(&mut session, 9000);
    assert!(many.contains("went over to a hash join for "), "{many}");
    assert_eq!(count(&mut session, 9000), expected(9000));
}
