//! Random tables and queries from a seed, for comparing databases with each other.
//!
//! ```text
//! seed -> tables -> statements that make them
//!            '----> generate -> tree -> text of a query
//!                                 '---> shrink: smaller trees, while a query still fails
//! ```
//! A query is a tree of text with the kind of each part, so that it can be made smaller without
//! knowing SQL: what is no query any more fails everywhere, and so is no difference.
//!
//! Invariants: a query's rows are determined up to their order, and their order, too, where
//! [`Query::order`] says so; its integers and decimals are small enough not to overflow.
//!
//! Elsewhere: who runs them (`xtask::fuzz_queries`).

mod tree;
mod tables;
mod scope;
mod templates;
mod expressions;
mod aggregates;
mod windows;
mod from;
mod generate;
mod shrink;
mod partitions;
mod rounding;
mod compare;

pub use compare::{RowOrder, difference};
pub use generate::{Dialect, Generator, Query};
pub use partitions::Partition;
pub use rounding::rounded;
pub use shrink::shrunk;
pub use tables::{Schema, setup};
pub use tree::{Kind, Node};
