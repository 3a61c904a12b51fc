//! TPC-C: population, the five transactions, a driver, the twelve consistency conditions.
//!
//! ```text
//! seed -> populate -> RowSink: blocks, INSERT, COPY          seed, worker -> Inputs
//!                                                                              |
//! driver: N threads, each: Input -> Terminal -> Answer       SqlTerminal <- SqlConnection
//! conditions: 12 queries, on the same database afterwards    NativeTerminal <- native::Session
//! ```
//! Invariant: every system gets the same rows and the same inputs.
//! Elsewhere: PostgreSQL as a system, and printing (`xtask`); a cluster under it (`server`).
//! Source: TPC-C Standard Specification, revision 5.11. Departures stand in each part.

mod schema;
mod values;
mod populate;
mod input;
mod terminal;
pub mod tessera;
mod sql;
pub mod native;
mod histogram;
pub mod driver;
mod conditions;
#[cfg(any(test, feature = "sqlite"))]
pub mod sqlite;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that panics has failed.
mod tests;

use std::sync::Arc;

use engine::{CancelHandle, Database};
use storage::BulkWriter;
use types::Result;

use crate::load::{
    Generate, Generator, Load, LoadProgress, Rows as BlockRows, TableSpec, load_all,
};

pub use conditions::{Condition, Violation, conditions, violations};
pub use histogram::Histogram;
pub use input::{
    Delivery, Input, Inputs, Kind, LINES_MAX, Line, NewOrder, OrderStatus, Payment, StockLevel,
    Who, system_clock,
};
pub use populate::{DISTRICTS, Decimal, Inserts, LOADED, RowSink, Scale, Time, populate};
pub use schema::{
    CUSTOMER_BY_NAME, Dialect, ORDERS_BY_CUSTOMER, SECONDARY, SecondaryIndex, Table,
    create_indexes, create_tables,
};
pub use sql::{Access, Param, Rows, SqlConnection, SqlTerminal, StatementId};
pub use terminal::{Answer, Failure, Paid, Placed, Status, Terminal, answer};
pub use values::{Constants, LastName};

/// The seed of CALL and of measurements.
pub const SEED: u64 = 2026;

/// Warehouses that are made together: enough to fill blocks, few enough for all cores.
const WAREHOUSES_PER_PART: u32 = 4;

/// Generates the nine tables into blocks of `database`, with their primary keys.
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
    load_all(database.bulk_load()?, table_specs(scale, seed), cancel, progress)
}

/// The nine tables as they are to be generated.
pub(crate) fn table_specs(scale: &Scale, seed: u64) -> Vec<TableSpec> {
    Table::ALL.iter().map(|table| table_spec(*table, *scale, seed)).collect()
}

fn table_spec(table: Table, scale: Scale, seed: u64) -> TableSpec {
    let parts = match table {
        Table::Item => 1,
        _ => scale.warehouses.div_ceil(WAREHOUSES_PER_PART),
    };
    let generate: Generate = Arc::new(move |part, parts, writer: &mut BulkWriter| {
        let mut rows = BlockRows::new(table.columns(), writer);
        let bound = |part: usize| (u64::from(scale.warehouses) * part as u64 / parts as u64) as u32;
        populate(table, &scale, seed, bound(part) + 1..=bound(part + 1), &mut rows)?;
        rows.finish()
    });
    TableSpec {
        name: table.name(),
        columns: table.columns(),
        nullable: table.nullable(),
        key: table.key(),
        parts: parts as usize,
        generate,
    }
}

impl RowSink for BlockRows<'_> {
    type Error = types::Error;

    fn integer(&mut self, value: i64) {
        self.integer(value);
    }

    fn decimal(&mut self, scaled: i64, _scale: u8) {
        self.integer(scaled);
    }

    fn text(&mut self, value: &str) {
        self.text(value);
    }

    fn time(&mut self, micros: i64) {
        self.integer(micros);
    }

    fn null(&mut self) {
        self.null();
    }

    fn end(&mut self) -> Result<()> {
        self.end()
    }
}

/// Adds `CALL tpcc(warehouses => ...)`.
pub(crate) fn register(database: &Database) {
    let load: Load = |database, warehouses, cancel, progress| {
        load(database, &Scale::new(warehouses.ceil() as u32), SEED, cancel, progress)
    };
    Generator::scaled("tpcc", "warehouses", load).register(database);
}
