//! The same random queries without indexes, with them by cost, and with them wherever they can be
//! used, against rows kept in a list: while keys change, in old snapshots, and amid changes that
//! are not committed.
//!
//! A cell is a small number or NULL; each type writes it in its own way, in the same order.

use engine::{Config, Database, Session};
use storage::Layout;
use testkit::Random;

/// Columns of `t` behind its id: names and types.
const COLUMNS: [(&str, &str); 7] = [
    ("i", "INT"),
    ("b", "BIGINT"),
    ("s", "TEXT"),
    ("n", "NUMERIC(24,2)"),
    ("f", "DOUBLE PRECISION"),
    ("d", "DATE"),
    ("c", "CHAR(6)"),
];

const INDEXES: [&str; 16] = [
    "CREATE INDEX ON t (i)",
    "CREATE INDEX ON t (b DESC, s)",
    "CREATE INDEX ON t (s, i DESC NULLS FIRST, id)",
    "CREATE INDEX ON t (n DESC NULLS LAST)",
    "CREATE INDEX ON t (f NULLS FIRST, d)",
    "CREATE INDEX ON t USING hash (d)",
    "CREATE INDEX ON t USING hash (s, i)",
    "CREATE INDEX ON t (c, n)",
    "CREATE UNIQUE INDEX ON t (d, id)",
    "CREATE INDEX ON t USING csb (i)",
    "CREATE INDEX ON t USING csb (s)",
    "CREATE INDEX ON t USING csb (f)",
    "CREATE INDEX ON t USING bitweaving (b)",
    "CREATE INDEX ON t USING bitweaving (d) WITH (type = h)",
    "CREATE INDEX ON t USING bloom (n)",
    "CREATE INDEX ON t USING bloom (id) WITH (bits_per_key = 20)",
];

type Cell = Option<i64>;

/// A row: id, then cells.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    id: i64,
    cells: [Cell; COLUMNS.len()],
}

/// The literal of a cell of column `column`.
fn literal(column: usize, cell: Cell) -> String {
    let Some(value) = cell else { return "NULL".to_owned() };
    match COLUMNS[column].0 {
        "i" => format!("{value}"),
        "b" => format!("CAST({} AS BIGINT)", value * 10_000_000_000),
        "s" => format!("'s{value:03}'"),
        "n" => format!("CAST({value}.25 AS NUMERIC(24,2))"),
        "f" => format!("CAST({value}.5 AS DOUBLE PRECISION)"),
        "d" => format!("DATE '2000-01-01' + {value}"),
        _ => format!("CAST('c{value:03}' AS CHAR(6))"),
    }
}

/// An array of cells of column `column`.
fn array(column: usize, list: &[Cell]) -> String {
    let list: Vec<String> = list.iter().map(|cell| literal(column, *cell)).collect();
    format!("CAST(ARRAY[{}] AS {}[])", list.join(", "), COLUMNS[column].1)
}

fn cell(random: &mut Random) -> Cell {
    (!random.chance(12)).then(|| random.within(0..24))
}

/// A condition on one column.
#[derive(Clone, Debug)]
enum Condition {
    Compare(usize, &'static str, Cell),
    Between(usize, i64, i64),
    InList(usize, Vec<Cell>),
    InArray(usize, Vec<Cell>),
    IsNull(usize),
    IsNotNull(usize),
    Id(i64),
}

impl Condition {
    fn random(random: &mut Random) -> Self {
        let column = random.below(COLUMNS.len() as u64) as usize;
        match random.below(12) {
            0 => Self::IsNull(column),
            1 => Self::IsNotNull(column),
            2 => {
                let list = (0..random.within(1..4)).map(|_| cell(random)).collect();
                if random.chance(50) {
                    Self::InList(column, list)
                } else {
                    Self::InArray(column, list)
                }
            }
            3 | 4 => {
                let low = random.within(-2..24);
                Self::Between(column, low.max(0), (low + random.within(-2..8)).max(0))
            }
            5 => Self::Id(random.within(0..300)),
            6..=8 => Self::Compare(column, "=", cell(random)),
            _ => {
                let op = ["<", "<=", ">", ">=", "<>"][random.below(5) as usize];
                Self::Compare(column, op, cell(random))
            }
        }
    }

    fn sql(&self) -> String {
        match self {
            Self::Compare(c, op, cell) => {
                format!("t.{} {op} {}", COLUMNS[*c].0, literal(*c, *cell))
            }
            Self::Between(c, low, high) => {
                let (low, high) = (literal(*c, Some(*low)), literal(*c, Some(*high)));
                format!("t.{} BETWEEN {low} AND {high}", COLUMNS[*c].0)
            }
            Self::InList(c, list) => {
                let list: Vec<String> = list.iter().map(|cell| literal(*c, *cell)).collect();
                format!("t.{} IN ({})", COLUMNS[*c].0, list.join(", "))
            }
            Self::InArray(c, list) => {
                format!("t.{} = ANY ({})", COLUMNS[*c].0, array(*c, list))
            }
            Self::IsNull(c) => format!("t.{} IS NULL", COLUMNS[*c].0),
            Self::IsNotNull(c) => format!("t.{} IS NOT NULL", COLUMNS[*c].0),
            Self::Id(id) => format!("t.id = {id}"),
        }
    }

    fn holds(&self, row: &Row) -> bool {
        match self {
            Self::Compare(c, op, cell) => match (row.cells[*c], cell) {
                (Some(a), Some(b)) => match *op {
                    "=" => a == *b,
                    "<>" => a != *b,
                    "<" => a < *b,
                    "<=" => a <= *b,
                    ">" => a > *b,
                    _ => a >= *b,
                },
                _ => false,
            },
            Self::Between(c, low, high) => row.cells[*c].is_some_and(|v| v >= *low && v <= *high),
            Self::InList(c, list) | Self::InArray(c, list) => {
                row.cells[*c].is_some_and(|v| list.contains(&Some(v)))
            }
            Self::IsNull(c) => row.cells[*c].is_none(),
            Self::IsNotNull(c) => row.cells[*c].is_some(),
            Self::Id(id) => row.id == *id,
        }
    }
}

struct Where(Vec<Condition>);

impl Where {
    fn random(random: &mut Random) -> Self {
        Self((0..random.within(1..4)).map(|_| Condition::random(random)).collect())
    }

    fn sql(&self) -> String {
        self.0.iter().map(Condition::sql).collect::<Vec<_>>().join(" AND ")
    }

    fn holds(&self, row: &Row) -> bool {
        self.0.iter().all(|condition| condition.holds(row))
    }
}

/// ORDER BY a column and the id, with LIMIT perhaps.
struct Order {
    column: usize,
    descending: bool,
    nulls_first: bool,
    limit: Option<usize>,
}

impl Order {
    fn random(random: &mut Random) -> Self {
        Self {
            column: random.below(COLUMNS.len() as u64) as usize,
            descending: random.chance(50),
            nulls_first: random.chance(50),
            limit: random.chance(50).then(|| random.within(0..6) as usize),
        }
    }

    fn sql(&self) -> String {
        let direction = if self.descending { "DESC" } else { "ASC" };
        let nulls = if self.nulls_first { "FIRST" } else { "LAST" };
        let column = COLUMNS[self.column].0;
        let limit = self.limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
        format!(" ORDER BY t.{column} {direction} NULLS {nulls}, t.id{limit}")
    }

    fn apply(&self, rows: &mut Vec<&Row>) {
        rows.sort_by_key(|row| {
            let cell = row.cells[self.column];
            let sign = if self.descending { -1 } else { 1 };
            let null = cell.is_none() != self.nulls_first;
            (null, cell.map(|v| v * sign), row.id)
        });
        rows.truncate(self.limit.unwrap_or(usize::MAX));
    }
}

fn ids(session: &mut Session, sql: &str) -> Vec<String> {
    let result = session.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    let row = |row: Vec<Option<String>>| row.into_iter().map(cell).collect::<Vec<_>>().join(",");
    result.text_rows().into_iter().map(row).collect()
}

/// Runs `sql` by each kind of access and compares.
fn check(session: &mut Session, sql: &str, expected: &[String], about: &str) {
    for paths in ["off", "on", "prefer"] {
        run(session, &format!("SET index_paths = {paths}"));
        let found = ids(session, sql);
        if found != expected {
            let plan = ids(session, &format!("EXPLAIN {sql}"));
            panic!("{about}, {paths}: {sql}\n{found:?}\nnot {expected:?}\n{}", plan.join("\n"));
        }
    }
}

/// Arrays as parameters of statements that keep their plans, alone and before an equality.
fn check_parameters(session: &mut Session, rows: &[Row], random: &mut Random, about: &str) {
    let column = random.below(COLUMNS.len() as u64) as usize;
    let (name, ty) = COLUMNS[column];
    for paths in ["off", "on", "prefer"] {
        run(session, &format!("SET index_paths = {paths}"));
        let text = format!("SELECT t.id FROM t WHERE t.{name} = ANY ($1) ORDER BY t.id");
        run(session, &format!("PREPARE q({ty}[]) AS {text}"));
        for _ in 0..3 {
            let list: Vec<Cell> = (0..random.within(0..5)).map(|_| cell(random)).collect();
            let holds = Condition::InArray(column, list.clone());
            let found = ids(session, &format!("EXECUTE q({})", array(column, &list)));
            let mut expected: Vec<i64> =
                rows.iter().filter(|row| holds.holds(row)).map(|row| row.id).collect();
            expected.sort_unstable();
            let expected: Vec<String> = expected.iter().map(i64::to_string).collect();
            assert_eq!(found, expected, "{about}, {paths}: {text} with {list:?}");
        }
        run(session, "DEALLOCATE q");
    }
}

#[test]
fn lists_are_looked_up_in_indexes() {
    let config = Config { threads: 2, memory_bytes: 1 << 30, layout: Layout::Auto };
    let database = Database::open_in_memory(config).expect("opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, s TEXT)");
    run(
        &mut session,
        "INSERT INTO t SELECT i, i % 1000, i % 7, 's' || i FROM generate_series(1, 50000) AS g(i)",
    );
    run(&mut session, "CREATE INDEX t_a ON t (a, b)");
    run(&mut session, "CREATE INDEX t_s ON t USING hash (s)");
    let mut plan = |sql: &str| ids(&mut session, &format!("EXPLAIN {sql}")).join("\n");
    for (sql, index) in [
        ("SELECT * FROM t WHERE id IN (5, 77, 40000)", "t_pkey"),
        ("SELECT * FROM t WHERE id = ANY ('{5,77,40000}')", "t_pkey"),
        ("SELECT * FROM t WHERE id = ANY ('{5,77,40000}'::bigint[])", "t_pkey"),
        ("SELECT * FROM t WHERE a IN (5, 6) AND b = 3", "t_a"),
        ("SELECT * FROM t WHERE a = 5 AND b IN (3, 4)", "t_a"),
        ("SELECT * FROM t WHERE s = ANY (ARRAY['s5', 's6'])", "t_s"),
    ] {
        let text = plan(sql);
        assert!(
            text.contains(&format!("using {index}")) && text.contains("each "),
            "{sql}\n{text}"
        );
    }
    // A list as long as the table is read from the table.
    let long = (0..40_000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let text = plan(&format!("SELECT * FROM t WHERE id IN ({long})"));
    assert!(!text.contains("IndexScan"), "{}", &text[..200]);
    run(&mut session, "PREPARE by_id(bigint[]) AS SELECT id, s FROM t WHERE id = ANY ($1)");
    let found = ids(&mut session, "EXECUTE by_id('{40000,5,NULL,5,99999999999}')");
    assert_eq!(found, ["5,s5", "40000,s40000"]);
    run(&mut session, "PREPARE narrow(smallint[]) AS SELECT id FROM t WHERE id = ANY ($1)");
    assert_eq!(ids(&mut session, "EXECUTE narrow('{9,-1,8}')"), ["8", "9"]);
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn check_selects(session: &mut Session, rows: &[Row], random: &mut Random, about: &str) {
    let filter = Where::random(random);
    let mut found: Vec<&Row> = rows.iter().filter(|row| filter.holds(row)).collect();
    let count = found.len();
    let order = Order::random(random);
    order.apply(&mut found);
    let expected: Vec<String> = found.iter().map(|row| row.id.to_string()).collect();
    let text = format!("SELECT t.id FROM t WHERE {}{}", filter.sql(), order.sql());
    check(session, &text, &expected, about);
    let text = format!("SELECT count(*) FROM t WHERE {}", filter.sql());
    check(session, &text, &[count.to_string()], about);
}

/// `u` holds ids 0 to 39 and numbers to look up: `k` is NULL where it is 7 modulo 8.
fn number_of_u(id: i64) -> Cell {
    (id % 8 != 7).then_some(id * 3 % 31)
}

fn check_joins(session: &mut Session, rows: &[Row], random: &mut Random, about: &str) {
    let column = [0, 3][random.below(2) as usize];
    let filter = Where::random(random);
    let on = match COLUMNS[column].0 {
        "i" => "t.i = u.k".to_owned(),
        _ => "t.n = u.n".to_owned(),
    };
    let on = format!("{on} AND t.id > u.id * 2");
    let matches = |id: i64, row: &Row| {
        let same = number_of_u(id).is_some_and(|k| row.cells[column] == Some(k));
        same && row.id > id * 2 && filter.holds(row)
    };
    let (mut inner, mut left, mut semi, mut anti) = (vec![], vec![], vec![], vec![]);
    for id in 0..40 {
        let found: Vec<i64> = rows.iter().filter(|r| matches(id, r)).map(|r| r.id).collect();
        let kind = if found.is_empty() { &mut anti } else { &mut semi };
        kind.push(id.to_string());
        let mut found = found;
        found.sort_unstable();
        let pairs: Vec<String> = found.iter().map(|t| format!("{id},{t}")).collect();
        inner.extend(pairs.clone());
        left.extend(if pairs.is_empty() { vec![format!("{id},-")] } else { pairs });
    }
    let filter = filter.sql();
    let text =
        format!("SELECT u.id, t.id FROM u JOIN t ON {on} WHERE {filter} ORDER BY u.id, t.id");
    check(session, &text, &inner, about);
    let text =
        format!("SELECT u.id, t.id FROM u LEFT JOIN t ON {on} AND {filter} ORDER BY u.id, t.id");
    check(session, &text, &left, about);
    for (not, expected) in [("", semi), ("NOT ", anti)] {
        let text = format!(
            "SELECT u.id FROM u WHERE {not}EXISTS (SELECT 1 FROM t WHERE {on} AND {filter}) \
             ORDER BY u.id"
        );
        check(session, &text, &expected, about);
    }
}

fn change(session: &mut Session, rows: &mut Vec<Row>, next: &mut i64, random: &mut Random) {
    let paths = ["off", "on", "prefer"][random.below(3) as usize];
    run(session, &format!("SET index_paths = {paths}"));
    match random.below(5) {
        0 | 1 => {
            let row = Row { id: *next, cells: std::array::from_fn(|_| cell(random)) };
            *next += 1;
            let values: Vec<String> =
                row.cells.iter().enumerate().map(|(c, v)| literal(c, *v)).collect();
            run(session, &format!("INSERT INTO t VALUES ({}, {})", row.id, values.join(", ")));
            rows.push(row);
        }
        2 | 3 => {
            let (filter, column, value) =
                (Where::random(random), random.below(COLUMNS.len() as u64) as usize, cell(random));
            let set = format!("{} = {}", COLUMNS[column].0, literal(column, value));
            run(session, &format!("UPDATE t SET {set} WHERE {}", filter.sql()));
            for row in rows.iter_mut().filter(|row| filter.holds(row)) {
                row.cells[column] = value;
            }
        }
        _ => {
            let filter = Where(vec![Condition::random(random), Condition::random(random)]);
            run(session, &format!("DELETE FROM t WHERE {}", filter.sql()));
            rows.retain(|row| !filter.holds(row));
        }
    }
}

fn scenario(layout: Layout, seed: u64) {
    let config = Config { threads: 2, memory_bytes: 1 << 30, layout };
    let database = Database::open_in_memory(config).expect("opens");
    let (mut session, mut old) = (database.session(), database.session());
    let mut random = Random::new(seed);
    let columns: Vec<String> = COLUMNS.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
    run(&mut session, &format!("CREATE TABLE t (id INT PRIMARY KEY, {})", columns.join(", ")));
    run(&mut session, "CREATE TABLE u (id INT PRIMARY KEY, k INT, n NUMERIC(24,2))");
    for id in 0..40 {
        let (k, n) = (literal(0, number_of_u(id)), literal(3, number_of_u(id)));
        run(&mut session, &format!("INSERT INTO u VALUES ({id}, {k}, {n})"));
    }
    let (mut rows, mut next) = (Vec::new(), 0);
    let (before, after) = INDEXES.split_at(random.below(INDEXES.len() as u64) as usize);
    before.iter().for_each(|index| run(&mut session, index));
    for _ in 0..120 {
        change(&mut session, &mut rows, &mut next, &mut random);
    }
    after.iter().for_each(|index| run(&mut session, index));
    for round in 0..6 {
        let about = format!("{layout:?}, seed {seed}, round {round}");
        run(&mut old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        let old_rows = rows.clone();
        check_selects(&mut old, &old_rows, &mut random, &about);
        run(&mut session, "BEGIN");
        let mut mine = rows.clone();
        for _ in 0..8 {
            change(&mut session, &mut mine, &mut next, &mut random);
            check_selects(&mut session, &mine, &mut random, &format!("{about}, own"));
        }
        check_joins(&mut session, &mine, &mut random, &format!("{about}, own"));
        check_selects(&mut old, &old_rows, &mut random, &format!("{about}, others'"));
        if random.chance(60) {
            run(&mut session, "COMMIT");
            rows = mine;
        } else {
            run(&mut session, "ROLLBACK")
        }
        check_selects(&mut session, &rows, &mut random, &format!("{about}, ended"));
        check_parameters(&mut session, &rows, &mut random, &format!("{about}, ended"));
        for _ in 0..3 {
            check_selects(&mut old, &old_rows, &mut random, &format!("{about}, old"));
        }
        check_joins(&mut old, &old_rows, &mut random, &format!("{about}, old"));
        run(&mut old, "COMMIT");
        run(&mut session, "VACUUM");
    }
    assert!(database.check_indexes().is_sound(), "{layout:?}, seed {seed}");
}

#[test]
fn rows_are_the_same_however_they_are_found() {
    for seed in 0..SEEDS {
        for layout in [Layout::Row, Layout::Column, Layout::Frozen] {
            scenario(layout, seed);
        }
    }
}

/// Scenarios of each layout: a second together.
const SEEDS: u64 = 4;
