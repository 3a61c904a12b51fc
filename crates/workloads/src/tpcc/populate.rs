//! The initial population: the same rows for every system, from a seed.
//!
//! ```text
//! (seed, table, row) -> Draw -> RowSink: blocks | COPY | prepared INSERT | multi-row INSERT
//! ```
//! Invariant: a row depends on scale, seed and its key alone, so tables and warehouses can be made
//! in any order and in parallel.
//! Source: TPC-C 5.11, clause 4.3.3. Departure: the time of loading is a constant.

use std::ops::RangeInclusive;

use super::schema::Table;
use super::values::{Constants, LastName, brand, digits, letters, nurand};
use crate::random::Draw;

/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;

/// When everything was loaded: 2026-01-01 00:00, in microseconds since 1970.
pub const LOADED: i64 = 1_767_225_600_000_000;

/// Cardinalities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses, numbered from 1.
    pub warehouses: u32,
    /// Items, and rows of stock in each warehouse.
    pub items: u32,
    /// Customers of a district, and its orders to begin with.
    pub customers: u32,
    /// How many of these orders, the newest, are not delivered.
    pub undelivered: u32,
}

impl Scale {
    /// The specification's.
    pub fn new(warehouses: u32) -> Self {
        Self { warehouses, items: 100_000, customers: 3000, undelivered: 900 }
    }

    /// A share of the specification's rows of a warehouse, 0.01 to 1.
    pub fn part(warehouses: u32, share: f64) -> Self {
        let whole = Self::new(warehouses);
        let part = |count: u32| (f64::from(count) * share) as u32;
        Self {
            warehouses,
            items: part(whole.items),
            customers: part(whole.customers),
            undelivered: part(whole.undelivered),
        }
    }

    /// A hundredth of it, for tests.
    pub fn tiny(warehouses: u32) -> Self {
        Self { warehouses, items: 1000, customers: 30, undelivered: 9 }
    }

    /// The orders of a district that were delivered before the first transaction.
    pub fn delivered(&self) -> u32 {
        self.customers - self.undelivered
    }

    /// Last names in use: a third of a district's customers has one each, the others share them.
    pub(crate) fn names(&self) -> i64 {
        i64::from(self.customers / 3)
    }
}

/// Takes rows, value by value in the order of the table's columns.
pub trait RowSink {
    /// Why a row was refused.
    type Error;

    /// An INTEGER.
    fn integer(&mut self, value: i64);
    /// A NUMERIC: `scaled` divided by 10 to the `scale`.
    fn decimal(&mut self, scaled: i64, scale: u8);
    /// Text.
    fn text(&mut self, value: &str);
    /// A TIMESTAMP in microseconds since 1970.
    fn time(&mut self, micros: i64);
    /// A NULL.
    fn null(&mut self);

    /// Ends a row.
    ///
    /// # Errors
    /// When this or an earlier row was refused.
    fn end(&mut self) -> Result<(), Self::Error>;
}

/// Gives `sink` the rows of `table` that belong to `warehouses`, by ascending key; the items belong
/// to warehouse 1.
///
/// # Errors
/// The sink's first.
pub fn populate<S: RowSink>(
    table: Table,
    scale: &Scale,
    seed: u64,
    warehouses: RangeInclusive<u32>,
    sink: &mut S,
) -> Result<(), S::Error> {
    let mut rows = Rows { table, scale: *scale, seed, sink, text: String::new() };
    for w in warehouses {
        match table {
            Table::Warehouse => rows.warehouse(w)?,
            Table::Item if w == 1 => (1..=scale.items).try_for_each(|i| rows.item(i))?,
            Table::Item => {}
            Table::Stock => (1..=scale.items).try_for_each(|i| rows.stock(w, i))?,
            _ => (1..=DISTRICTS).try_for_each(|d| rows.district_rows(w, d))?,
        }
    }
    Ok(())
}

struct Rows<'a, S> {
    table: Table,
    scale: Scale,
    seed: u64,
    sink: &'a mut S,
    text: String,
}

impl<S: RowSink> Rows<'_, S> {
    fn draw(&self, table: Table, row: u64) -> Draw {
        Draw::seeded(self.seed, table as u64, row)
    }

    /// The number of row `n` of a district among all of its kind.
    fn number(&self, w: u32, d: u32, n: u32) -> u64 {
        let district = u64::from(w) * u64::from(DISTRICTS) + u64::from(d);
        district * u64::from(self.scale.customers + 1) + u64::from(n)
    }

    fn district_rows(&mut self, w: u32, d: u32) -> Result<(), S::Error> {
        let customers = self.scale.customers;
        match self.table {
            Table::District => self.district(w, d),
            Table::Customer => (1..=customers).try_for_each(|c| self.customer(w, d, c)),
            Table::History => (1..=customers).try_for_each(|c| self.history(w, d, c)),
            Table::NewOrder => (self.scale.delivered() + 1..=customers).try_for_each(|o| {
                self.integers(&[w, d, o]);
                self.sink.end()
            }),
            Table::Orders => {
                let buyers = self.buyers(w, d);
                (1..=customers).try_for_each(|o| self.order(w, d, o, buyers[o as usize - 1]))
            }
            _ => (1..=customers).try_for_each(|o| self.order_lines(w, d, o)),
        }
    }

    fn integers(&mut self, values: &[u32]) {
        values.iter().for_each(|value| self.sink.integer(i64::from(*value)));
    }

    /// `low` to `high` letters.
    fn letters(&mut self, draw: &mut Draw, low: i64, high: i64) {
        self.sink.text(letters(draw, low, high, &mut self.text));
    }

    /// Two streets, city, state, zip code.
    fn address(&mut self, draw: &mut Draw) {
        for (low, high) in [(10, 20), (10, 20), (10, 20), (2, 2)] {
            self.letters(draw, low, high);
        }
        digits(draw, 4, &mut self.text).push_str("11111");
        self.sink.text(&self.text);
    }

    fn warehouse(&mut self, w: u32) -> Result<(), S::Error> {
        let mut draw = self.draw(Table::Warehouse, u64::from(w));
        self.sink.integer(w.into());
        self.letters(&mut draw, 6, 10);
        self.address(&mut draw);
        self.sink.decimal(draw.between(0, 2000), 4);
        // What its customers paid: 300,000.00 with 30,000 of them.
        let paid = i64::from(self.scale.customers) * i64::from(DISTRICTS) * 1000;
        self.sink.decimal(paid, 2);
        self.sink.end()
    }

    fn district(&mut self, w: u32, d: u32) -> Result<(), S::Error> {
        let mut draw = self.draw(Table::District, self.number(w, d, 0));
        self.integers(&[w, d]);
        self.letters(&mut draw, 6, 10);
        self.address(&mut draw);
        self.sink.decimal(draw.between(0, 2000), 4);
        self.sink.decimal(i64::from(self.scale.customers) * 1000, 2);
        self.integers(&[self.scale.customers + 1]);
        self.sink.end()
    }

    fn customer(&mut self, w: u32, d: u32, c: u32) -> Result<(), S::Error> {
        let mut draw = self.draw(Table::Customer, self.number(w, d, c));
        self.integers(&[w, d, c]);
        self.letters(&mut draw, 8, 16);
        self.sink.text("OE");
        let names = self.scale.names();
        let name = if i64::from(c) <= names {
            i64::from(c) - 1
        } else {
            nurand(&mut draw, 255, Constants::load(self.seed).last, 0, names - 1)
        };
        self.sink.text(LastName::new(name as usize).as_str());
        self.address(&mut draw);
        self.sink.text(digits(&mut draw, 16, &mut self.text));
        self.sink.time(LOADED);
        self.sink.text(if draw.between(1, 10) == 1 { "BC" } else { "GC" });
        self.sink.decimal(5_000_000, 2);
        self.sink.decimal(draw.between(0, 5000), 4);
        self.sink.decimal(-1000, 2);
        self.sink.decimal(1000, 2);
        self.integers(&[1, 0]);
        self.letters(&mut draw, 300, 500);
        self.sink.end()
    }

    fn history(&mut self, w: u32, d: u32, c: u32) -> Result<(), S::Error> {
        let mut draw = self.draw(Table::History, self.number(w, d, c));
        self.integers(&[c, d, w, d, w]);
        self.sink.time(LOADED);
        self.sink.decimal(1000, 2);
        self.letters(&mut draw, 12, 24);
        self.sink.end()
    }

    /// Customers who placed the orders of a district: each customer one.
    fn buyers(&self, w: u32, d: u32) -> Vec<u32> {
        let mut draw = self.draw(Table::Orders, self.number(w, d, 0));
        let mut buyers: Vec<u32> = (1..=self.scale.customers).collect();
        for i in (1..buyers.len()).rev() {
            buyers.swap(i, draw.between(0, i as i64) as usize);
        }
        buyers
    }

    /// The rest of an order's draws, and how many lines it has.
    fn order_draw(&self, w: u32, d: u32, o: u32) -> (Draw, u32) {
        let mut draw = self.draw(Table::Orders, self.number(w, d, o));
        let lines = draw.between(5, 15) as u32;
        (draw, lines)
    }

    fn order(&mut self, w: u32, d: u32, o: u32, buyer: u32) -> Result<(), S::Error> {
        let (mut draw, lines) = self.order_draw(w, d, o);
        self.integers(&[w, d, o, buyer]);
        self.sink.time(LOADED);
        if o <= self.scale.delivered() {
            self.sink.integer(draw.between(1, 10))
        } else {
            self.sink.null()
        }
        self.integers(&[lines, 1]);
        self.sink.end()
    }

    fn order_lines(&mut self, w: u32, d: u32, o: u32) -> Result<(), S::Error> {
        let (_, lines) = self.order_draw(w, d, o);
        let mut draw = self.draw(Table::OrderLine, self.number(w, d, o));
        for number in 1..=lines {
            self.integers(&[w, d, o, number]);
            self.sink.integer(draw.between(1, self.scale.items.into()));
            self.integers(&[w]);
            let delivered = o <= self.scale.delivered();
            if delivered {
                self.sink.time(LOADED)
            } else {
                self.sink.null()
            }
            self.integers(&[5]);
            self.sink.decimal(if delivered { 0 } else { draw.between(1, 999_999) }, 2);
            self.letters(&mut draw, 24, 24);
            self.sink.end()?;
        }
        Ok(())
    }

    fn item(&mut self, i: u32) -> Result<(), S::Error> {
        let mut draw = self.draw(Table::Item, i.into());
        self.sink.integer(i.into());
        self.sink.integer(draw.between(1, 10_000));
        self.letters(&mut draw, 14, 24);
        self.sink.decimal(draw.between(100, 10_000), 2);
        self.sink.text(brand(&mut draw, &mut self.text));
        self.sink.end()
    }

    fn stock(&mut self, w: u32, i: u32) -> Result<(), S::Error> {
        let row = u64::from(w) * u64::from(self.scale.items + 1) + u64::from(i);
        let mut draw = self.draw(Table::Stock, row);
        self.integers(&[w, i]);
        self.sink.integer(draw.between(10, 100));
        for _ in 0..DISTRICTS {
            self.letters(&mut draw, 24, 24);
        }
        self.integers(&[0, 0, 0]);
        self.sink.text(brand(&mut draw, &mut self.text));
        self.sink.end()
    }
}

/// Multi-row INSERT statements as text: for systems that have no faster way in, and for tests.
pub struct Inserts<F> {
    start: String,
    sql: String,
    rows: usize,
    rows_max: usize,
    scaled: bool,
    first: bool,
    execute: F,
}

impl<E, F: FnMut(&str) -> Result<(), E>> Inserts<F> {
    /// Statements of at most `rows_max` rows for `table`, each given to `execute`.
    pub fn new(table: Table, dialect: super::Dialect, rows_max: usize, execute: F) -> Self {
        let start = format!("INSERT INTO {} VALUES ", table.name());
        let scaled = dialect == super::Dialect::Sqlite;
        Self { sql: start.clone(), start, rows: 0, rows_max, scaled, first: true, execute }
    }

    /// Executes the last statement.
    ///
    /// # Errors
    /// Errors of `execute`.
    pub fn finish(mut self) -> Result<(), E> {
        self.flush()
    }

    fn flush(&mut self) -> Result<(), E> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let done = (self.execute)(&self.sql);
        self.sql.clear();
        self.sql.push_str(&self.start);
        done
    }

    fn put(&mut self, value: std::fmt::Arguments<'_>) {
        use std::fmt::Write as _;
        let lead = match (self.first, self.rows) {
            (true, 0) => "(",
            (true, _) => ", (",
            (false, _) => ", ",
        };
        self.first = false;
        // Writing to a String cannot fail.
        let _ = write!(self.sql, "{lead}{value}");
    }
}

impl<E, F: FnMut(&str) -> Result<(), E>> RowSink for Inserts<F> {
    type Error = E;

    fn integer(&mut self, value: i64) {
        self.put(format_args!("{value}"));
    }

    fn decimal(&mut self, scaled: i64, scale: u8) {
        if self.scaled {
            self.put(format_args!("{scaled}"))
        } else {
            self.put(format_args!("{}", Decimal(scaled, scale)))
        }
    }

    fn text(&mut self, value: &str) {
        // No generated text holds a quote.
        self.put(format_args!("'{value}'"));
    }

    fn time(&mut self, micros: i64) {
        if self.scaled {
            self.put(format_args!("{micros}"))
        } else {
            self.put(format_args!("TIMESTAMP '{}'", Time(micros)))
        }
    }

    fn null(&mut self) {
        self.put(format_args!("NULL"));
    }

    fn end(&mut self) -> Result<(), E> {
        self.sql.push(')');
        self.first = true;
        self.rows += 1;
        if self.rows == self.rows_max { self.flush() } else { Ok(()) }
    }
}

/// Prints a scaled integer as a decimal number.
#[derive(Clone, Copy, Debug)]
pub struct Decimal(pub i64, pub u8);

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = 10u64.pow(self.1.into());
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, part) = (self.0.unsigned_abs() / unit, self.0.unsigned_abs() % unit);
        write!(f, "{sign}{whole}.{part:0width$}", width = usize::from(self.1))
    }
}

/// Prints microseconds since 1970 as a TIMESTAMP.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub i64);

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const DAY: i64 = 86_400_000_000;
        let date = types::calendar::civil_from_days(self.0.div_euclid(DAY) as i32);
        let micros = self.0.rem_euclid(DAY);
        let (second, micros) = (micros / 1_000_000, micros % 1_000_000);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{:04}-{:02}-{:02} ", date.0, date.1, date.2)?;
        write!(f, "{hour:02}:{minute:02}:{second:02}.{micros:06}")
    }
}
