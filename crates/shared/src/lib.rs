//! One database of many processes: who may see what, transactions over stores, and what happens
//! when a process dies.
//!
//! ```text
//! Transaction -> Node -> manager: versions, snapshots, who is alive       (one process)
//!    |             '---> stores: rows, undo records, nodes of trees       (any number)
//!    '-> SharedTable -> rows; Index -> Tree -> Records
//! stores come and go: manager -> a node moves keys, the others ask again where a store refuses
//! dead node -> manager -> another node: stores refuse the dead one, its undo records are followed
//! ```
//! Invariants: nobody sees a part of a transaction; a transaction whose commit was acknowledged is
//! not lost while the stores live; nodes keep nothing that cannot be lost.
//! Elsewhere: calls that happen once (`transport`), rows and versions (`store`).
//! Source: Pilman 2017, chapters 6 and 7.
#![forbid(unsafe_code)]

// Floors: lowest first.
mod error;
mod records;
pub mod memory;
pub mod tree;
pub mod manager;
mod index;
mod undo;
mod claims;
mod node;
mod transaction;
mod member;

pub use claims::Claim;
pub use error::{Result, SharedError};
pub use index::{Index, IndexKeys, KeyMaker, Uniqueness};
pub use member::{Addresses, Member};
pub use node::{IndexPlan, Node, SharedTable, TablePlan, claims_of};
pub use records::{Record, Records, StoredRecords, Swap};
pub use transaction::{Mark, Transaction};
pub use tree::{Fill, Inserted, Tree, TreeCounts};
