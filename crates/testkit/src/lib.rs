//! Common parts of tests and benches, and nothing else: data from seeds, the sqllogictest runner,
//! and the databases Tessera is compared with.
//!
//! ```text
//! seed -> random -> uniform, skewed, words, decimals      (benches, load tests)
//!            '----> values                                (property tests)
//! tests/slt -> slt -> Backend: postgres | Tessera         (feature `slt`)
//! sessions -> histories -> cycles of dependencies          (isolation)
//! parties, seed -> sim -> messages lost, late, doubled; crashes (what talks by messages)
//! child -> torture -> what a kill left                        (durability)
//! tests of the bus, bench -> java -> zookeeper             (servers of others)
//! verify, bench -> peer -> DuckDB, DataFusion             (peer processes)
//! ```
//! Invariant: the same seed gives the same data on every machine and in every build.
//! No crate of the product depends on this one, except for its tests.
#![forbid(unsafe_code)]

// Floors: lowest first.
mod random;
mod data;
mod values;
mod scratch;
pub mod java;
pub mod zookeeper;
pub mod peer;
pub mod queries;
#[cfg(feature = "slt")]
pub mod slt;
pub mod sim;
pub mod histories;
pub mod torture;
#[cfg(feature = "slt")]
pub mod postgres;

pub use data::{decimals, skewed, uniform, uniform_f64, with_nulls, words};
pub use random::Random;
pub use scratch::Scratch;
pub use values::{Extremes, values, with_gaps};
