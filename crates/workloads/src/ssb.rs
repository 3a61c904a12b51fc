//! The Star Schema Benchmark: five tables by the rules of its dbgen, and the 13 queries.
//!
//! Same schema, cardinalities, domains and distributions as dbgen's; other pseudo-random numbers
//! (each value depends on table, row and field alone, so parts can be made in any order), and
//! shorter addresses and no filler text. Rows: lineorder 1.5 M orders of 1 to 7 lines x SF,
//! customer 30,000 x SF, supplier 2,000 x SF, part 200,000 x (1 + floor(log2 SF)), date 2,556 days.
//! Source: O'Neil, O'Neil, Chen, Revilak 2009, "The Star Schema Benchmark", section 2, and the
//! rules of TPC-H it refers to (order keys use 8 of each 32; a third of the customers has no
//! order).

use engine::{CancelHandle, Database};
use types::{DataType, Result};

use crate::load::{Generator, LoadProgress, Rows, TableSpec, Things, load_all};
use crate::random::Draw;

mod words;

use words::{
    COLORS, CONTAINER_KINDS, CONTAINER_SIZES, MONTHS, NATIONS, PRIORITIES, REGIONS, SEGMENTS,
    SHIP_MODES, TYPE_1, TYPE_2, TYPE_3, WEEKDAYS,
};

macro_rules! queries {
    ($($n:literal)*) => {
        [$(($n, include_str!(concat!("ssb/queries/q", $n, ".sql")))),*]
    };
}

/// Names ("1.1") and texts of the queries.
pub const QUERIES: [(&str, &str); 13] = queries!(
    "1.1" "1.2" "1.3" "2.1" "2.2" "2.3" "3.1" "3.2" "3.3" "3.4" "4.1" "4.2" "4.3"
);

/// The tables, in loading order.
pub const TABLES: [&str; 5] = ["date", "supplier", "customer", "part", "lineorder"];

const INTEGER: DataType = DataType::Integer;

const fn char(n: u32) -> DataType {
    DataType::Char(n)
}

const fn varchar(n: u32) -> DataType {
    DataType::Varchar(Some(n))
}

const DATE: &[(&str, DataType)] = &[
    ("d_datekey", INTEGER),
    ("d_date", varchar(18)),
    ("d_dayofweek", varchar(9)),
    ("d_month", varchar(9)),
    ("d_year", INTEGER),
    ("d_yearmonthnum", INTEGER),
    ("d_yearmonth", char(7)),
    ("d_daynuminweek", INTEGER),
    ("d_daynuminmonth", INTEGER),
    ("d_daynuminyear", INTEGER),
    ("d_monthnuminyear", INTEGER),
    ("d_weeknuminyear", INTEGER),
    ("d_sellingseason", varchar(12)),
    ("d_lastdayinweekfl", INTEGER),
    ("d_lastdayinmonthfl", INTEGER),
    ("d_holidayfl", INTEGER),
    ("d_weekdayfl", INTEGER),
];

const SUPPLIER: &[(&str, DataType)] = &[
    ("s_suppkey", INTEGER),
    ("s_name", char(25)),
    ("s_address", varchar(25)),
    ("s_city", char(10)),
    ("s_nation", char(15)),
    ("s_region", char(12)),
    ("s_phone", char(15)),
];

const CUSTOMER: &[(&str, DataType)] = &[
    ("c_custkey", INTEGER),
    ("c_name", varchar(25)),
    ("c_address", varchar(25)),
    ("c_city", char(10)),
    ("c_nation", char(15)),
    ("c_region", char(12)),
    ("c_phone", char(15)),
    ("c_mktsegment", char(10)),
];

const PART: &[(&str, DataType)] = &[
    ("p_partkey", INTEGER),
    ("p_name", varchar(22)),
    ("p_mfgr", char(6)),
    ("p_category", char(7)),
    ("p_brand1", char(9)),
    ("p_color", varchar(11)),
    ("p_type", varchar(25)),
    ("p_size", INTEGER),
    ("p_container", char(10)),
];

const LINEORDER: &[(&str, DataType)] = &[
    ("lo_orderkey", INTEGER),
    ("lo_linenumber", INTEGER),
    ("lo_custkey", INTEGER),
    ("lo_partkey", INTEGER),
    ("lo_suppkey", INTEGER),
    ("lo_orderdate", INTEGER),
    ("lo_orderpriority", char(15)),
    ("lo_shippriority", char(1)),
    ("lo_quantity", INTEGER),
    ("lo_extendedprice", INTEGER),
    ("lo_ordtotalprice", INTEGER),
    ("lo_discount", INTEGER),
    ("lo_revenue", INTEGER),
    ("lo_supplycost", INTEGER),
    ("lo_tax", INTEGER),
    ("lo_commitdate", INTEGER),
    ("lo_shipmode", char(10)),
];

/// Days of the date table: 1992-01-01 to 1998-12-30, as dbgen has it.
const DAYS: u64 = 2556;
/// Days since 1970 of 1992-01-01.
const FIRST_DAY: i32 = 8035;
/// Order dates end 151 days before the last day of TPC-H's range, 1998-08-02.
const ORDER_DAYS: i64 = 2406;

/// Generates the tables at scale factor `sf` into `database`.
///
/// # Errors
/// 42P07 when one of the tables exists, 57014 when cancelled, 53200 without memory; nothing stays
/// then.
pub fn load(
    database: &Database,
    sf: f64,
    cancel: &CancelHandle,
    progress: &LoadProgress,
) -> Result<()> {
    load_all(database.bulk_load()?, tables(sf), cancel, progress)
}

/// Cardinalities at one scale factor.
#[derive(Clone, Copy)]
struct Sizes {
    suppliers: u64,
    customers: u64,
    parts: u64,
    orders: u64,
}

impl Sizes {
    fn new(sf: f64) -> Self {
        let scaled = |rows: f64| ((rows * sf) as u64).max(1);
        let parts =
            if sf >= 1.0 { 200_000 * (1 + sf.log2().floor() as u64) } else { scaled(200_000.0) };
        Self {
            suppliers: scaled(2_000.0),
            customers: scaled(30_000.0).max(3),
            parts,
            orders: scaled(1_500_000.0),
        }
    }
}

fn tables(sf: f64) -> Vec<TableSpec> {
    let sizes = Sizes::new(sf);
    let orders = Things { count: sizes.orders, rows_each: 4.0 };
    vec![
        TableSpec::of_things("date", DATE, &[0], Things::single(DAYS), date_row),
        TableSpec::of_things(
            "supplier",
            SUPPLIER,
            &[0],
            Things::single(sizes.suppliers),
            |i, rows| {
                let mut draw = Draw::new(1, i);
                rows.integer(i as i64 + 1).print(format_args!("Supplier#{:09}", i + 1));
                rows.print(draw.address());
                place(&mut draw, rows);
                rows.end()
            },
        ),
        TableSpec::of_things(
            "customer",
            CUSTOMER,
            &[0],
            Things::single(sizes.customers),
            |i, rows| {
                let mut draw = Draw::new(2, i);
                rows.integer(i as i64 + 1).print(format_args!("Customer#{:09}", i + 1));
                rows.print(draw.address());
                place(&mut draw, rows);
                rows.text(draw.pick(&SEGMENTS)).end()
            },
        ),
        TableSpec::of_things("part", PART, &[0], Things::single(sizes.parts), part_row),
        TableSpec::of_things("lineorder", LINEORDER, &[0, 1], orders, move |i, rows| {
            order_rows(i, sizes, rows)
        }),
    ]
}

/// City, nation, region and phone.
fn place(draw: &mut Draw, rows: &mut Rows<'_>) {
    let code = draw.between(0, NATIONS.len() as i64 - 1) as usize;
    let (nation, region) = NATIONS[code];
    // A city is the nation's name cut or padded to 9 characters and a digit.
    rows.print(format_args!("{:<9.9}{}", nation, draw.between(0, 9)));
    rows.text(nation).text(REGIONS[region]);
    let (a, b, c) = (draw.between(100, 999), draw.between(100, 999), draw.between(1000, 9999));
    rows.print(format_args!("{}-{a}-{b}-{c}", code + 10));
}

fn part_row(i: u64, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(3, i);
    let color = draw.pick(&COLORS);
    let (mfgr, category, brand) = (draw.between(1, 5), draw.between(1, 5), draw.between(1, 40));
    rows.integer(i as i64 + 1);
    rows.print(format_args!("{} {}", color, draw.pick(&COLORS)));
    rows.print(format_args!("MFGR#{mfgr}"));
    rows.print(format_args!("MFGR#{mfgr}{category}"));
    rows.print(format_args!("MFGR#{mfgr}{category}{brand}"));
    rows.text(color);
    let (a, b, c) = (draw.pick(&TYPE_1), draw.pick(&TYPE_2), draw.pick(&TYPE_3));
    rows.print(format_args!("{a} {b} {c}")).integer(draw.between(1, 50));
    let (size, kind) = (draw.pick(&CONTAINER_SIZES), draw.pick(&CONTAINER_KINDS));
    rows.print(format_args!("{size} {kind}")).end()
}

/// Retail price of part `key` in cents (TPC-H 4.2.3).
fn retail_price(key: i64) -> i64 {
    90_000 + (key / 10) % 20_001 + 100 * (key % 1_000)
}

/// One line of an order before it is written.
struct Line {
    part: i64,
    supplier: i64,
    quantity: i64,
    price: i64,
    discount: i64,
    tax: i64,
    commit_days: i64,
    mode: &'static str,
}

fn order_rows(i: u64, sizes: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(4, i);
    // Keys use the first 8 of each 32 (TPC-H 4.2.3).
    let key = (i / 8 * 32 + i % 8 + 1) as i64;
    let mut customer = draw.between(1, sizes.customers as i64);
    if customer % 3 == 0 {
        customer = (customer + 1).min(sizes.customers as i64 / 3 * 3 - 1).max(1);
    }
    let day = draw.between(0, ORDER_DAYS - 1);
    let priority = draw.pick(&PRIORITIES);
    let lines: Vec<Line> = (0..draw.between(1, 7))
        .map(|_| {
            let part = draw.between(1, sizes.parts as i64);
            let quantity = draw.between(1, 50);
            Line {
                part,
                supplier: draw.between(1, sizes.suppliers as i64),
                quantity,
                price: retail_price(part) * quantity,
                discount: draw.between(0, 10),
                tax: draw.between(0, 8),
                commit_days: draw.between(30, 90),
                mode: draw.pick(&SHIP_MODES),
            }
        })
        .collect();
    let total: i64 =
        lines.iter().map(|l| l.price * (100 - l.discount) / 100 * (100 + l.tax) / 100).sum();
    for (number, line) in lines.iter().enumerate() {
        rows.integer(key).integer(number as i64 + 1).integer(customer);
        rows.integer(line.part).integer(line.supplier).integer(date_key(day));
        rows.text(priority).text("0").integer(line.quantity).integer(line.price);
        rows.integer(total).integer(line.discount);
        rows.integer(line.price * (100 - line.discount) / 100);
        rows.integer(6 * retail_price(line.part) / 10).integer(line.tax);
        rows.integer(date_key(day + line.commit_days)).text(line.mode).end()?;
    }
    Ok(())
}

/// Year, month and day of day `day` since 1992-01-01.
fn civil(day: i64) -> (i32, u32, u32) {
    let date = types::calendar::civil_from_days(FIRST_DAY + day as i32);
    (date.0, date.1, date.2)
}

/// yyyymmdd of day `day` since 1992-01-01.
fn date_key(day: i64) -> i64 {
    let (year, month, day) = civil(day);
    i64::from(year) * 10_000 + i64::from(month) * 100 + i64::from(day)
}

/// Selling season of a day (SSB section 2.5 names the seasons; the bounds are dbgen's).
fn season(month: u32, day: u32) -> &'static str {
    match month {
        11 | 12 => "Christmas",
        5..=8 => "Summer",
        3 | 4 => "Spring",
        9 | 10 => "Fall",
        _ if day > 0 => "Winter",
        _ => "",
    }
}

/// Holidays as (month, day).
const HOLIDAYS: [(u32, u32); 10] =
    [(12, 24), (1, 1), (2, 20), (4, 20), (5, 20), (7, 20), (8, 20), (9, 20), (10, 20), (11, 20)];

fn date_row(i: u64, rows: &mut Rows<'_>) -> Result<()> {
    let day = i as i64;
    let (year, month, of_month) = civil(day);
    let month_name = MONTHS[month as usize - 1];
    // 1992-01-01 was a Wednesday; weeks begin on Sunday, day 1.
    let weekday = (day + 3) % 7;
    let of_year = i64::from(types::calendar::days_from_civil(year, month, of_month))
        - i64::from(types::calendar::days_from_civil(year, 1, 1))
        + 1;
    let (tomorrow_year, tomorrow_month, _) = civil(day + 1);
    let last_of_month = (tomorrow_year, tomorrow_month) != (year, month);
    rows.integer(date_key(day)).print(format_args!("{month_name} {of_month}, {year}"));
    rows.text(WEEKDAYS[weekday as usize]).text(month_name).integer(year.into());
    rows.integer(i64::from(year) * 100 + i64::from(month));
    rows.print(format_args!("{:.3}{year}", month_name));
    rows.integer(weekday + 1).integer(of_month.into()).integer(of_year);
    rows.integer(month.into()).integer((of_year - 1) / 7 + 1);
    rows.text(season(month, of_month)).integer((weekday == 6).into());
    rows.integer(last_of_month.into());
    rows.integer(HOLIDAYS.contains(&(month, of_month)).into());
    rows.integer((1..=5).contains(&weekday).into()).end()
}

/// Adds `CALL ssb(sf => ...)`.
pub(crate) fn register(database: &Database) {
    Generator::scaled("ssb", "sf", load).register(database);
}
