//! One wide table of page views, and 43 queries over it of the kinds that ClickBench has.
//!
//! ```text
//! hit i --place--> site (in order of their ids), day (in order, within a site)
//!       --draws--> visitor --> region, browser, screen, ...: the same in all hits of a visitor
//!                  page of the site --> URL, title
//!                  where from --> referer, search phrase
//! ```
//! Queries depend on what the original has from a real site counter: a hundred columns of which
//! a query reads few; integers that are mostly 0 and text that is mostly empty; numbers of sites,
//! visitors, pages and phrases of which few are frequent and most are rare; identifiers that all
//! differ; rows in the order of site and day. A third of the columns is text.
//!
//! Invariant: a row depends on the count of rows and its own number alone.
//! Source of the idea: ClickBench (ClickHouse, 2022), its description of table and queries. Names,
//! values and queries are this project's own; so are tie-breakers that make every result unique.

use std::sync::Arc;

use engine::{CancelHandle, Database};
use types::{DataType, Result};

use crate::load::{Generator, LoadProgress, Rows, TableSpec, Things, load_all};

mod columns;
mod hit;
mod words;

use columns::{COLUMNS, Rule};
use hit::{Hit, Sites};

/// The queries, each one statement without a semicolon.
pub const QUERIES: [&str; 43] = queries!(
    "clickbench":
    "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19"
    "20" "21" "22" "23" "24" "25" "26" "27" "28" "29" "30" "31" "32" "33" "34" "35" "36" "37" "38"
    "39" "40" "41" "42" "43"
);

/// The table.
pub const TABLES: [&str; 1] = ["hits"];

/// Rows unless something else is said.
pub const ROWS: f64 = 1e6;

/// Names and types.
static TYPED: [(&str, DataType); COLUMNS.len()] = {
    let mut typed = [("", DataType::Text); COLUMNS.len()];
    let mut i = 0;
    while i < COLUMNS.len() {
        typed[i] = (COLUMNS[i].0, COLUMNS[i].1);
        i += 1;
    }
    typed
};

/// Generates the table with `rows` rows into `database`.
///
/// # Errors
/// 42P07 when it exists, 57014 when cancelled, 53200 without memory; nothing stays then.
pub fn load(
    database: &Database,
    rows: f64,
    cancel: &CancelHandle,
    progress: &LoadProgress,
) -> Result<()> {
    let count = rows.ceil() as u64;
    let sites = Arc::new(Sites::new(count));
    let make = move |i: u64, rows: &mut Rows<'_>| {
        let hit = Hit::new(i, &sites);
        for (ordinal, (_, _, rule)) in COLUMNS.iter().enumerate() {
            fill(*rule, ordinal as u64, &hit, rows);
        }
        rows.end()
    };
    let hits = TableSpec::of_things(TABLES[0], &TYPED, &[], Things::single(count), make);
    load_all(database.bulk_load()?, vec![hits], cancel, progress)
}

/// Writes the value of column `ordinal` of `hit`.
fn fill(rule: Rule, ordinal: u64, hit: &Hit, rows: &mut Rows<'_>) {
    match rule {
        Rule::Number(number) => rows.integer(number(hit)),
        Rule::Text(text) => rows.print(text(hit)),
        Rule::Empty => rows.text(""),
        Rule::Share(percent) => rows.integer(hit.draw(ordinal).percent(percent).into()),
        Rule::Between(low, high) => rows.integer(hit.draw(ordinal).between(low, high)),
        Rule::Visitor(count) => rows.integer(hit.visitor_draw(ordinal).ranked(count) as i64),
        Rule::Page(count) => rows.integer(hit.page_draw(ordinal).ranked(count) as i64),
        Rule::Rare(percent, count) => {
            let mut draw = hit.draw(ordinal);
            let present = draw.percent(percent);
            rows.integer(if present { 1 + draw.ranked(count) as i64 } else { 0 })
        }
        Rule::RareWord(percent, words) => {
            let mut draw = hit.draw(ordinal);
            let present = draw.percent(percent);
            rows.text(if present { words[draw.ranked(words.len() as u64) as usize] } else { "" })
        }
        Rule::VisitorWord(percent, words) => {
            let mut draw = hit.visitor_draw(ordinal);
            let present = draw.percent(percent);
            rows.text(if present { words[draw.ranked(words.len() as u64) as usize] } else { "" })
        }
    };
}

/// Adds `CALL clickbench(rows => ...)`.
pub(crate) fn register(database: &Database) {
    let (procedure, name) = ("clickbench", "rows");
    Generator { procedure, name, default: ROWS, max: 1e9, load }.register(database);
}
