//! CH-benCHmark: TPC-C's nine tables as they are, SUPPLIER, NATION and REGION beside them, and 22
//! queries with the business meaning of TPC-H's.
//!
//! ```text
//! stock    -- mod(s_w_id * s_i_id, 10000) ----> supplier --> nation --> region
//! customer -- ascii(substr(c_state, 1, 1)) --------------------^
//! ```
//! Invariant: every computed link finds exactly one partner: suppliers have the numbers 0 to 9,999,
//! and the numbers of the 62 nations are the codes of the characters with which states begin.
//! Source: Funke 2015, chapter 2 and appendix A. Departures: names of tables are those of `tpcc`;
//! the last columns of ORDER BY are added, so that every result is unique; nations have names that
//! the queries look for.

mod nations;

use engine::{CancelHandle, Database};
use types::{DataType, Result};

use crate::load::{Generator, Load, LoadProgress, Rows, TableSpec, Things, load_all};
use crate::random::Draw;
use crate::tpcc::{self, SEED, Scale};

use nations::{NATIONS, REGIONS};

/// The queries, each one statement without a semicolon.
pub const QUERIES: [&str; 22] = queries!(
    "ch":
    "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11"
    "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22"
);

/// The tables: TPC-C's in loading order, then the three others.
pub const TABLES: [&str; 12] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
    "supplier",
    "nation",
    "region",
];

/// Suppliers, whatever the scale.
const SUPPLIERS: u64 = 10_000;

/// Numbers of the tables for [`Draw`], beyond those of `tpcc`.
const SUPPLIER_DRAWS: u64 = 200;
const NATION_DRAWS: u64 = 201;

const KEY: DataType = DataType::Integer;

const fn varchar(n: u32) -> DataType {
    DataType::Varchar(Some(n))
}

const SUPPLIER: &[(&str, DataType)] = &[
    ("su_suppkey", KEY),
    ("su_name", DataType::Char(25)),
    ("su_address", varchar(40)),
    ("su_nationkey", KEY),
    ("su_phone", DataType::Char(15)),
    ("su_acctbal", DataType::numeric(15, 2)),
    ("su_comment", varchar(101)),
];

const NATION: &[(&str, DataType)] = &[
    ("n_nationkey", KEY),
    ("n_name", DataType::Char(25)),
    ("n_regionkey", KEY),
    ("n_comment", varchar(152)),
];

const REGION: &[(&str, DataType)] =
    &[("r_regionkey", KEY), ("r_name", DataType::Char(25)), ("r_comment", varchar(152))];

/// Comments on suppliers.
const COMMENTS: [&str; 7] = [
    "always in time",
    "careful with fragile goods",
    "delivers by night",
    "answers letters",
    "keeps large stocks",
    "new in the trade",
    "cheap, and slow",
];

/// A comment that Q16 looks for.
const COMPLAINT: &str = "customers say its service is bad";

/// The code of the character that nation number `nation` of [`NATIONS`] stands for.
fn nation_key(nation: usize) -> i64 {
    let characters = (b'0'..=b'9').chain(b'A'..=b'Z').chain(b'a'..=b'z');
    characters.map(i64::from).nth(nation).expect("62 nations for 62 characters")
}

fn supplier(number: u64, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(SUPPLIER_DRAWS, number);
    let nation = draw.below(NATIONS.len() as u64) as usize;
    rows.integer(number as i64);
    rows.print(format_args!("Supplier#{number:09}"));
    rows.text(&draw.address()).integer(nation_key(nation));
    let (area, exchange) = (draw.between(100, 999), draw.between(100, 999));
    let line = draw.between(1000, 9999);
    rows.print(format_args!("{}-{area}-{exchange}-{line}", 10 + nation));
    rows.integer(draw.between(-99_999, 999_999));
    // One in a hundred has complaints.
    let comment = if draw.percent(1) { COMPLAINT } else { draw.pick(&COMMENTS) };
    rows.text(comment).end()
}

fn nation(number: u64, rows: &mut Rows<'_>) -> Result<()> {
    let (name, region) = NATIONS[number as usize];
    let mut draw = Draw::new(NATION_DRAWS, number);
    rows.integer(nation_key(number as usize)).text(name).integer(region as i64);
    rows.print(format_args!("{name} trades in {}", draw.pick(&["grain", "ore", "wood", "wool"])));
    rows.end()
}

fn region(number: u64, rows: &mut Rows<'_>) -> Result<()> {
    let name = REGIONS[number as usize];
    rows.integer(number as i64).text(name);
    rows.print(format_args!("all nations of {name}")).end()
}

/// Generates the twelve tables into `database`, with their primary keys.
///
/// # Errors
/// 42P07 when one of the tables exists, 57014 when cancelled, 53200 without memory; nothing stays
/// then.
pub fn load(
    database: &Database,
    scale: &Scale,
    seed: u64,
    cancel: &CancelHandle,
    progress: &LoadProgress,
) -> Result<()> {
    let mut tables = tpcc::table_specs(scale, seed);
    tables.push(TableSpec::of_things(
        "supplier",
        SUPPLIER,
        &[0],
        Things::single(SUPPLIERS),
        supplier,
    ));
    let nations = NATIONS.len() as u64;
    tables.push(TableSpec::of_things("nation", NATION, &[0], Things::single(nations), nation));
    let regions = REGIONS.len() as u64;
    tables.push(TableSpec::of_things("region", REGION, &[0], Things::single(regions), region));
    load_all(database.bulk_load()?, tables, cancel, progress)
}

/// Adds `CALL ch(warehouses => ...)`.
pub(crate) fn register(database: &Database) {
    let load: Load = |database, warehouses, cancel, progress| {
        load(database, &Scale::new(warehouses.ceil() as u32), SEED, cancel, progress)
    };
    Generator::scaled("ch", "warehouses", load).register(database);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::{Config, Database, Session};

    use super::*;

    fn rows(session: &mut Session, sql: &str) -> Vec<String> {
        let result = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        result.text_rows().into_iter().flatten().flatten().collect()
    }

    #[test]
    fn every_link_finds_one_partner_and_every_query_runs() {
        let database = Database::open_in_memory(Config::default()).expect("it opens");
        let scale = Scale { warehouses: 2, items: 500, customers: 60, undelivered: 18 };
        let progress: LoadProgress = Arc::new(|_, _, _| {});
        load(&database, &scale, SEED, &CancelHandle::default(), &progress).expect("it fits");
        let mut session = database.session();
        let counts = rows(
            &mut session,
            "SELECT count(*) FROM supplier UNION ALL SELECT count(*) FROM nation
             UNION ALL SELECT count(*) FROM region",
        );
        assert_eq!(counts, ["10000", "62", "5"]);
        for (partners, all) in [
            ("stock JOIN supplier ON mod(s_w_id * s_i_id, 10000) = su_suppkey", "stock"),
            ("customer JOIN nation ON ascii(substr(c_state, 1, 1)) = n_nationkey", "customer"),
            ("supplier JOIN nation ON su_nationkey = n_nationkey", "supplier"),
            ("nation JOIN region ON n_regionkey = r_regionkey", "nation"),
        ] {
            let count = |of: &str| format!("SELECT count(*) FROM {of}");
            let (found, wanted) =
                (rows(&mut session, &count(partners)), rows(&mut session, &count(all)));
            assert_eq!(found, wanted, "{partners}");
        }
        for query in QUERIES {
            rows(&mut session, query);
        }
    }
}
