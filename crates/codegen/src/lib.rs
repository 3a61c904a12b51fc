//! Machine code for the shared scans of stores, made while they run, by cranelift.
//!
//! ```text
//! Pass (queries of a scan) -> Sketch -> shapes -> functions (kept by shape) -> Program
//! page -> slots -> conjuncts: bits of rows -> AND -> fold | positions -> gather
//! ```
//! A store without this crate scans by loops over columns and rows; with it, as
//! [`store::server::StoreOptions::compiler`], large scans get code for the selections, projections
//! and aggregates of all queries that wait. Literals, fields and pages are arguments of the code,
//! so that what was made once serves all queries of its shape.
//! Invariants: code gives what the store's evaluation row by row gives; cranelift is known here
//! alone; a pass for which no code can be made runs without.
//! Elsewhere: when code is asked for, and what is done with rows (`store::code`, `scan`).
//! Source: Pilman 2017, sections 4.1.9 and 4.6.2, 4.6.3. Departures: functions for parts of queries
//! in the place of one for a batch, so that they can be kept; 64 rows of bits in the place of a
//! matrix of bytes.

// Floors: lowest first.
mod shape;
mod call;
mod emit;
mod machine;
mod question;
mod program;
mod page;
mod compiler;

pub use compiler::Compiler;
pub use program::When;
