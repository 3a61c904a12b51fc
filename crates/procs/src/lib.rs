//! Native transactions: typed closures over tables and indexes, the counterpart of compiled stored
//! procedures.
//!
//! ```
//! use engine::{Config, Database};
//! use procs::{Decimal, Procedures, record};
//!
//! record! {
//!     /// One account.
//!     pub struct Account in "accounts" {
//!         id: i32,
//!         owner: String,
//!         balance: Decimal,
//!     }
//! }
//!
//! # fn main() -> types::Result<()> {
//! let database = Database::open_in_memory(Config::default())?;
//! database.session().execute(
//!     "CREATE TABLE accounts (id int PRIMARY KEY, owner text NOT NULL, balance numeric(12,2))",
//! )?;
//! let mut procedures = Procedures::new(&database);
//! let accounts = procedures.table::<Account>()?;
//! procedures.run(|txn| {
//!     txn.insert(&accounts, &Account { id: 1, owner: "Ann".into(), balance: Decimal(100_00) })?;
//!     txn.insert(&accounts, &Account { id: 2, owner: "Bob".into(), balance: Decimal(50_00) })
//! })?;
//! procedures.run(|txn| {
//!     txn.change(&accounts, &[&1], |account| account.balance.0 -= 30_00)?;
//!     txn.change(&accounts, &[&2], |account| account.balance.0 += 30_00)
//! })?;
//! let ann = procedures.run(|txn| txn.get(&accounts, &[&1]))?;
//! assert_eq!(ann.map(|account| account.balance), Some(Decimal(70_00)));
//! let both = procedures.run(|txn| txn.get_many(&accounts, &[&[&2], &[&3]]))?;
//! assert_eq!(both[0].as_ref().map(|account| account.balance), Some(Decimal(80_00)));
//! assert!(both[1].is_none());
//! # Ok(())
//! # }
//! ```
//! Invariants: what a closure does happens as a whole or not at all; when another transaction was
//! first (40001, 40P01) it is rolled back and runs again, so a closure must have no other effects.
//! Elsewhere: rows by key without types or allocation (`engine::native`), isolation and log
//! (`txn`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod field;
mod record;
mod run;

pub use engine::native::{NativeOptions, NativeSession, TableHandle};
pub use field::{Date, Decimal, Field, Timestamp};
pub use record::{Record, Table};
pub use run::{Procedures, Range, Retry, Transaction};
pub use storage::{Datum, Direction, KeyBatch, RowBuffer, Tid};
pub use txn::manager::Isolation;
