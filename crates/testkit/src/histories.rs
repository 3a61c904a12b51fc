//! Histories of transactions that append to lists and read them, and what is wrong with them.
//!
//! ```text
//! drive: sessions at random -> History -> infer: order of appends per key, ww, wr, rw edges
//!                                      -> check: cycles -> Finding, by the level that forbids it
//! ```
//! A list shows the order of its appends, so a history alone tells which transaction came before
//! which; nothing is known about the database inside.
//! Invariant: each value is appended at most once in a history.
//! Source: Kingsbury, Alvaro 2020, "Elle"; Adya 1999 for the phenomena; Cerone, Gotsman 2018 for
//! snapshot isolation: every cycle has two rw edges in a row.

mod graph;
mod infer;
mod check;
mod drive;
#[cfg(feature = "slt")]
mod sql;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use check::{check, findings};
pub use drive::{ListSession, ListStore, Plan, StoreError, run};
#[cfg(feature = "slt")]
pub use sql::{Shape, SqlLists};

/// A list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u32);

/// An element of a list, unique in its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

/// One operation, with what it came back with.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Put the value at the end of the list.
    Append(Key, Value),
    /// The whole list.
    Read(Key, Vec<Value>),
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Acknowledged.
    Committed,
    /// Undone.
    Aborted,
    /// The end is not known; it counts as committed once a transaction reads what it wrote.
    Unknown,
}

/// One transaction.
#[derive(Clone, Debug)]
pub struct Txn {
    /// In the order they were done.
    pub ops: Vec<Op>,
    /// How it ended.
    pub end: End,
    /// A tick before its first operation.
    pub started: u64,
    /// A tick after its end; ticks are comparable within a history.
    pub ended: u64,
}

/// Transactions of some sessions.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// In any order.
    pub txns: Vec<Txn>,
    /// The lists when all had ended; keys that are missing here are not checked for losses.
    pub final_lists: BTreeMap<Key, Vec<Value>>,
}

/// Isolation that a database promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Neither dirty writes nor dirty reads.
    ReadCommitted,
    /// One snapshot per transaction, the first writer of a key wins.
    Snapshot,
    /// As if one after the other.
    Serializable,
}

/// Order of transactions of which one ends before the other begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealTime {
    /// The first comes before the second: strict serializability, strong snapshot isolation.
    Kept,
    /// Only the data count.
    Ignored,
}

/// Violation of isolation, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anomaly {
    /// A value was read that nobody appended, or twice.
    Garbage,
    /// An acknowledged append is missing in the end.
    Lost,
    /// Two reads of a list of which none begins with the other.
    Fork,
    /// A transaction does not see its own appends, or sees them too early.
    Internal,
    /// A cycle of ww: dirty write.
    G0,
    /// A value of an aborted transaction was read.
    G1a,
    /// A value was read that its transaction went on to append to.
    G1b,
    /// A cycle of ww and wr.
    G1c,
    /// A cycle with exactly one rw: read skew, lost update.
    GSingle,
    /// A cycle of several rw, none behind another.
    GNonadjacent,
    /// A cycle with two rw in a row: write skew.
    G2,
}

impl Anomaly {
    /// The lowest level that forbids it.
    pub fn forbidden_from(self) -> Level {
        match self {
            Self::GSingle | Self::GNonadjacent => Level::Snapshot,
            Self::G2 => Level::Serializable,
            _ => Level::ReadCommitted,
        }
    }
}

/// One anomaly with its evidence.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Kind of the violation.
    pub anomaly: Anomaly,
    /// Transactions (positions in the history) and edges, for people.
    pub evidence: String,
}
