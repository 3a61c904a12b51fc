//! Random tables: their columns, and the statements that make and fill them.

use crate::Random;

use super::tree::Kind;

/// Rows in one INSERT.
const INSERT_ROWS: usize = 400;

/// Strings that columns and literals share: empty ones, patterns, cases, more than ASCII.
pub(super) const WORDS: [&str; 16] = [
    "",
    "a",
    "ab",
    "abc",
    "B",
    "apple pie",
    "Apple",
    "zebra",
    "100%",
    "under_score",
    "été",
    "日本語",
    "a longer string that is not kept inline",
    "a longer string that is not kept here",
    " spaced ",
    "42",
];

/// A table of a [`Schema`].
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<TableColumn>,
    /// About how many rows it has.
    pub(super) rows: usize,
}

/// A column of a [`Table`]; the first is `id`, without duplicates or NULLs.
#[derive(Clone, Debug)]
pub(super) struct TableColumn {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Its type in SQL.
    declared: &'static str,
    nulls_percent: u32,
    /// Different values, about.
    distinct: i64,
    skewed: bool,
}

/// The tables of a database.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(super) tables: Vec<Table>,
}

const TYPES: [(Kind, &str); 15] = [
    (Kind::Int, "smallint"),
    (Kind::Int, "integer"),
    (Kind::Int, "integer"),
    (Kind::Int, "bigint"),
    (Kind::Decimal, "numeric(6,2)"),
    (Kind::Decimal, "numeric(12,3)"),
    (Kind::Decimal, "numeric(30,4)"),
    (Kind::Float, "double precision"),
    (Kind::Text, "text"),
    (Kind::Text, "text"),
    (Kind::Text, "varchar(60)"),
    (Kind::Date, "date"),
    (Kind::Date, "date"),
    (Kind::Timestamp, "timestamp"),
    (Kind::Bool, "boolean"),
];

fn pick<T: Clone>(random: &mut Random, items: &[T]) -> T {
    items[random.below(items.len() as u64) as usize].clone()
}

/// How many rows a table has: often none, one, a few; seldom more than a block.
fn row_count(random: &mut Random, large: bool) -> usize {
    match random.below(20) {
        0 if random.chance(50) => 0,
        0..=1 => random.within(1..3) as usize,
        2..=3 => random.within(2..12) as usize,
        4..=16 => random.within(12..160) as usize,
        _ if large => random.within(2000..6000) as usize,
        _ => random.within(100..300) as usize,
    }
}

impl Schema {
    /// Three to five tables.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = random.within(3..6);
        let mut large = true;
        let tables = (0..count).map(|number| {
            let rows = row_count(&mut random, large);
            large &= rows < 1000;
            Table { name: format!("t{number}"), columns: columns(&mut random, rows), rows }
        });
        Self { tables: tables.collect() }
    }
}

fn columns(random: &mut Random, rows: usize) -> Vec<TableColumn> {
    let id = TableColumn {
        name: "id".into(),
        kind: Kind::Int,
        declared: pick(random, &["integer", "bigint"]),
        nulls_percent: 0,
        distinct: i64::MAX,
        skewed: false,
    };
    let count = random.within(4..10) as usize;
    let others = (0..count).map(|number| {
        let (kind, declared) = pick(random, &TYPES);
        TableColumn {
            name: format!("{}{number}", declared.chars().next().unwrap_or('c')),
            kind,
            declared,
            nulls_percent: pick(random, &[0, 0, 0, 10, 10, 40, 95]),
            distinct: pick(random, &[2, 5, 12, 40, 200, 1 + rows as i64]),
            skewed: random.chance(30),
        }
    });
    std::iter::once(id).chain(others).collect()
}

/// The statements that make and fill the tables of `schema`. With `layouts`, tables have any of
/// these layouts, otherwise the statements are everybody's SQL.
pub fn setup(schema: &Schema, seed: u64, layouts: &[&str]) -> Vec<String> {
    let mut statements = Vec::new();
    for (number, table) in schema.tables.iter().enumerate() {
        // Layouts must not change what is drawn for the data.
        let mut random = Random::new(seed ^ (number as u64 + 1).wrapping_mul(0x5851_f42d));
        let layout = random.bits();
        let with = match layouts.len() as u64 {
            0 => String::new(),
            count => format!(" WITH (layout = '{}')", layouts[(layout % count) as usize]),
        };
        statements.push(format!("{}{with}", create(table, &mut random)));
        statements.extend(inserts(table, &mut random));
        statements.extend(indexes(table, &mut random));
        statements.extend(changes(table, &mut random));
    }
    statements
}

fn create(table: &Table, random: &mut Random) -> String {
    let key = random.chance(60);
    let columns: Vec<String> = table
        .columns
        .iter()
        .enumerate()
        .map(|(number, column)| {
            let TableColumn { name, declared, .. } = column;
            match number {
                0 if key => format!("{name} {declared} PRIMARY KEY"),
                _ if column.nulls_percent == 0 && random.chance(50) => {
                    format!("{name} {declared} NOT NULL")
                }
                _ => format!("{name} {declared}"),
            }
        })
        .collect();
    format!("CREATE TABLE {} ({})", table.name, columns.join(", "))
}

fn inserts(table: &Table, random: &mut Random) -> Vec<String> {
    let rows: Vec<String> = (0..table.rows)
        .map(|id| {
            let others = table.columns[1..].iter().map(|column| value(column, random));
            let cells: Vec<String> = std::iter::once(id.to_string()).chain(others).collect();
            format!("({})", cells.join(", "))
        })
        .collect();
    let insert = |rows: &[String]| format!("INSERT INTO {} VALUES {}", table.name, rows.join(", "));
    rows.chunks(INSERT_ROWS).map(insert).collect()
}

/// A value of `column` as a literal.
fn value(column: &TableColumn, random: &mut Random) -> String {
    if random.chance(column.nulls_percent) {
        return "NULL".into();
    }
    let mut number = random.below(column.distinct as u64) as i64;
    if column.skewed {
        number = random.below(number as u64 + 1) as i64;
    }
    literal(&column.kind, number)
}

/// The literal of `kind` for `number`; equal numbers give equal values.
pub(super) fn literal(kind: &Kind, number: i64) -> String {
    match kind {
        Kind::Bool => if number % 2 == 0 { "TRUE" } else { "FALSE" }.into(),
        Kind::Int => number.to_string(),
        Kind::Decimal => format!("{}.{:02}", number * 7 % 900 - 100, number * 25 % 100),
        Kind::Float => format!("{}.{:02}", number * 3 % 400 - 20, number * 25 % 100),
        Kind::Text => match usize::try_from(number).ok().and_then(|n| WORDS.get(n)) {
            Some(word) => format!("'{word}'"),
            None => format!("'{}{number}'", WORDS[number as usize % 5]),
        },
        Kind::Date => format!("DATE '{}'", day(number)),
        Kind::Timestamp => {
            let (hour, minute) = (number * 5 % 24, number * 15 % 60);
            format!("TIMESTAMP '{} {hour:02}:{minute:02}:00'", day(number / 3))
        }
        Kind::Query(_) | Kind::Other => "NULL".into(),
    }
}

/// Days of some years, the 28th the last of each month.
fn day(number: i64) -> String {
    let (year, month, day) = (1996 + number / 60 % 12, 1 + number * 5 % 12, 1 + number * 11 % 28);
    format!("{year}-{month:02}-{day:02}")
}

fn indexes(table: &Table, random: &mut Random) -> Vec<String> {
    let count = random.below(3);
    (0..count)
        .map(|number| {
            let columns = random.within(1..3);
            let mut names: Vec<String> =
                (0..columns).map(|_| pick(random, &table.columns).name).collect();
            names.dedup();
            let name = &table.name;
            format!("CREATE INDEX {name}_{number} ON {name} ({})", names.join(", "))
        })
        .collect()
}

/// Updates and deletes, so that there are versions, marks and gaps.
fn changes(table: &Table, random: &mut Random) -> Vec<String> {
    let mut statements = Vec::new();
    let name = &table.name;
    if random.chance(30) {
        let rest = random.below(5);
        statements.push(format!("DELETE FROM {name} WHERE id % 5 = {rest}"));
    }
    if random.chance(40) {
        let column = pick(random, &table.columns[1..]);
        let (rest, number) = (random.below(6), random.below(50) as i64);
        let value = literal(&column.kind, number);
        let column = column.name;
        statements.push(format!("UPDATE {name} SET {column} = {value} WHERE id % 6 = {rest}"));
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_do_not_change_the_data() {
        let schema = Schema::new(7);
        let plain = setup(&schema, 7, &[]);
        let layouts = setup(&schema, 7, &["row", "frozen"]);
        assert_eq!(plain.len(), layouts.len());
        for (plain, with) in plain.iter().zip(&layouts) {
            assert_eq!(*plain, with.split(" WITH (layout").next().expect("a first part"));
        }
    }
}
