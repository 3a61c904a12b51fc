//! The catalog: one version of all that a database has besides rows, and what follows from it.
//!
//! ```text
//! Relations (as committed) --> State: tables, views, sequences, types, roles, rights, ...
//!                                '- TableEntry: definition, rows, lock, checks
//! codec: definitions <-> bytes, for the log and checkpoints
//! ```
//! Invariants: a published [`State`] never changes, a transaction replaces it as a whole; no
//! session and no statement is known here, only the role that asks ([`who::Who`]).
//!
//! Elsewhere: what the binder asks of a catalog (`sql::catalog`), redo and recovery (`durable`),
//! statements that change it (`engine`).
#![forbid(unsafe_code)]

// Floors: lowest first.
pub mod names;
pub mod who;
pub mod rows;
pub mod locks;
pub mod databases;
pub mod stored;
mod state;
pub mod codec;

pub use state::{
    Built, Extension, Indexes, Relations, Role, Schema, Sequence, SequenceValue, State, TableDef,
    TableEntry, TableInfo, View, undefined_schema, undefined_table,
};
pub use state::{
    checks, collations, comments, derived, exclusions, families, generated, keys, materialized,
    numbers, partitions, policies, predefined, rights, triggers, user_types, wide,
};
