//! Exclusion constraints: random histories beside a model, and what outlives a restart.

mod support;

use engine::{Config, Database, Session};
use support::{run, state};
use testkit::{Random, Scratch};

/// A row of the model: room, kind, and the ends of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Booking {
    id: u64,
    room: Option<u64>,
    kind: u64,
    /// From the first to before the second; None for NULL.
    range: Option<(i64, i64)>,
}

impl Booking {
    fn random(id: u64, random: &mut Random) -> Self {
        let low = if random.chance(5) { i64::MIN } else { random.within(0..60) };
        let high = match random.below(10) {
            0 => i64::MAX,
            // An empty range.
            1 => low,
            _ => low.saturating_add(random.within(1..8)),
        };
        let range = (!random.chance(5)).then_some((low, high.max(low)));
        let room = (!random.chance(5)).then(|| random.below(3));
        Self { id, room, kind: random.below(2), range }
    }

    fn is_empty(self) -> bool {
        self.range.is_none_or(|(low, high)| low == high)
    }

    fn overlaps(self, other: Self) -> bool {
        let (Some((a, b)), Some((c, d))) = (self.range, other.range) else { return false };
        !self.is_empty() && !other.is_empty() && a < d && c < b
    }

    fn range_text(self) -> String {
        let Some((low, high)) = self.range else { return "NULL".to_owned() };
        if low == high {
            return "'empty'".to_owned();
        }
        let end = |end: i64| match end {
            i64::MIN | i64::MAX => String::new(),
            end => end.to_string(),
        };
        format!("'[{},{})'", end(low), end(high))
    }

    fn values(self) -> String {
        let room = self.room.map_or("NULL".to_owned(), |room| room.to_string());
        format!("({}, {room}, {}, {})", self.id, self.kind, self.range_text())
    }
}

/// A constraint, and when it excludes that two rows are there.
struct Rule {
    sql: &'static str,
    excludes: fn(Booking, Booking) -> bool,
}

const RULES: [Rule; 4] = [
    Rule { sql: "EXCLUDE USING gist (r WITH &&)", excludes: |a, b| a.overlaps(b) },
    Rule {
        sql: "EXCLUDE USING gist (r WITH &&, room WITH =)",
        excludes: |a, b| a.room.is_some() && a.room == b.room && a.overlaps(b),
    },
    Rule {
        sql: "EXCLUDE USING gist (room WITH =, (kind * 2) WITH <>, r WITH &&)",
        excludes: |a, b| a.room.is_some() && a.room == b.room && a.kind != b.kind && a.overlaps(b),
    },
    Rule {
        sql: "EXCLUDE USING gist (room WITH =, r WITH &&) WHERE (kind = 1)",
        excludes: |a, b| {
            let kinds = a.kind == 1 && b.kind == 1;
            kinds && a.room.is_some() && a.room == b.room && a.overlaps(b)
        },
    },
];

/// A random statement, and what the rows are behind it.
fn step(random: &mut Random, rows: &[Booking], next: &mut u64) -> (String, Vec<Booking>) {
    let mut after = rows.to_vec();
    match random.below(8) {
        0 => {
            let room = random.below(3);
            after.retain(|row| row.room != Some(room) || row.id % 2 == 0);
            (format!("DELETE FROM b WHERE room = {room} AND id % 2 <> 0"), after)
        }
        1 if !rows.is_empty() => {
            let at = random.below(rows.len() as u64) as usize;
            let new = Booking::random(rows[at].id, random);
            after[at] = Booking { kind: rows[at].kind, room: rows[at].room, ..new };
            (format!("UPDATE b SET r = {} WHERE id = {}", new.range_text(), new.id), after)
        }
        2 => {
            let room = random.below(3);
            after.iter_mut().for_each(|row| row.room = Some(room));
            (format!("UPDATE b SET room = {room}"), after)
        }
        3 => {
            after.iter_mut().for_each(|row| row.kind = 1 - row.kind);
            ("UPDATE b SET kind = 1 - kind".to_owned(), after)
        }
        _ => {
            let new: Vec<Booking> = (0..=random.below(3))
                .map(|_| {
                    *next += 1;
                    Booking::random(*next, random)
                })
                .collect();
            let values: Vec<String> = new.iter().map(|row| row.values()).collect();
            after.extend(new);
            (format!("INSERT INTO b VALUES {}", values.join(", ")), after)
        }
    }
}

fn is_kept(rule: &Rule, rows: &[Booking]) -> bool {
    let pairs = rows.iter().enumerate();
    pairs.into_iter().all(|(at, a)| rows[..at].iter().all(|b| !(rule.excludes)(*a, *b)))
}

fn opened(rule: &Rule) -> (Database, Session) {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "CREATE EXTENSION btree_gist");
    let columns = "id int, room int, kind int, r int8range";
    run(&mut session, &format!("CREATE TABLE b ({columns}, CONSTRAINT b_excl {})", rule.sql));
    (database, session)
}

#[test]
fn statements_are_taken_when_no_row_excludes_another() {
    for (number, rule) in RULES.iter().enumerate() {
        for seed in 0..6 {
            let (_database, mut session) = opened(rule);
            let mut random = Random::new(seed * 10 + number as u64);
            let (mut rows, mut next, mut refused) = (Vec::new(), 0, 0);
            for _ in 0..120 {
                let (sql, after) = step(&mut random, &rows, &mut next);
                if is_kept(rule, &after) {
                    run(&mut session, &sql);
                    rows = after;
                } else {
                    assert_eq!(state(&mut session, &sql), "23P01", "{sql}");
                    refused += 1;
                }
            }
            let mut ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
            ids.sort_unstable();
            let found = run(&mut session, "SELECT id FROM b ORDER BY id");
            assert_eq!(found, ids.iter().map(u64::to_string).collect::<Vec<_>>());
            assert!(refused > 5, "{refused} statements were refused");
        }
    }
}

#[test]
fn a_new_constraint_is_tested_on_the_rows_that_are_there() {
    let mut outcomes = [0; 2];
    for rule in &RULES {
        for seed in 0..40 {
            let (_database, mut session) = opened(rule);
            run(&mut session, "ALTER TABLE b DROP CONSTRAINT b_excl");
            let mut random = Random::new(seed);
            let rows: Vec<Booking> =
                (0..random.below(12)).map(|id| Booking::random(id, &mut random)).collect();
            for row in &rows {
                run(&mut session, &format!("INSERT INTO b VALUES {}", row.values()));
            }
            let sql = format!("ALTER TABLE b ADD CONSTRAINT b_excl {}", rule.sql);
            let is_kept = is_kept(rule, &rows);
            outcomes[usize::from(is_kept)] += 1;
            if is_kept {
                run(&mut session, &sql);
            } else {
                assert_eq!(state(&mut session, &sql), "23P01", "{rows:?}");
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 10), "{outcomes:?}");
}

#[test]
fn constraints_outlive_a_restart_and_are_in_backups() {
    let scratch = Scratch::new("exclusion");
    let (place, copy) = (scratch.join("db"), scratch.join("copy"));
    {
        let database = Database::open(&place, Config::default()).expect("a directory");
        let mut session = database.session();
        run(&mut session, "CREATE TABLE b (r int8range, EXCLUDE USING gist (r WITH &&))");
        run(&mut session, "INSERT INTO b VALUES ('[1,5)')");
        run(&mut session, "CHECKPOINT");
        run(&mut session, &format!("BACKUP TO '{}'", copy.display()));
    }
    for place in [&place, &copy] {
        let database = Database::open(place, Config::default()).expect("it was closed");
        let mut session = database.session();
        assert_eq!(state(&mut session, "INSERT INTO b VALUES ('[4,6)')"), "23P01");
        run(&mut session, "INSERT INTO b VALUES ('[5,6)')");
    }
}
