//! The project's development commands, behind `cargo xtask`.
//!
//! ```text
//! check -> manifests, layers, sources, floors [-> cargo fmt, cargo clippy]
//! floors -> imports that point up inside crates, circles of files
//! slt   -> tests/slt against PostgreSQL, or against Tessera in every layout
//! histories -> random transactions on lists, their cycles
//! fuzz-queries -> random queries on Tessera and on PostgreSQL or DuckDB
//! regress -> files of statements on a server and on PostgreSQL, statement by statement
//! torture -> kill -9 at random, recovery, audit
//! python -> the Python packages: pip install, pytest
//! bus    -> long runs of the message bus: simulation by seeds, kills; bench bus
//! shared -> long runs of the simulation of shared data
//! test  -> check, python, cargo test (tests/slt included)  what CI runs
//! verify, bench -> Tessera beside DuckDB, DataFusion or PostgreSQL on the same data
//! bench tpcc    -> transactions on Tessera, SQLite or PostgreSQL (feature `peers`)
//! bench oltp    -> TATP, SmallBank, YCSB and others on both servers (feature `oltp`)
//! bench shared  -> stores and nodes: YCSB#, TPC-C, AIM (feature `peers`)
//! bench recovery, checkpoint, versions, waterfall, join-order, limits, storage -> Tessera alone
//! ```
//! Invariant: without the feature `tessera` nothing of the product is compiled, so that the checks
//! work while the product does not.
#![forbid(unsafe_code)]

// Floors: lowest first.
mod workspace;
pub mod bench_args;
mod cluster;
pub mod check;
pub mod slt;
pub mod histories;
mod server;
pub mod fuzz_wire;
pub mod regress;
pub mod wire;
mod venv;
pub mod clients;
pub mod python;
pub mod bus;
pub mod shared;
pub mod test;
#[cfg(feature = "tessera")]
pub mod tessera;
pub mod torture;
#[cfg(feature = "tessera")]
pub mod variants;
#[cfg(feature = "tessera")]
pub mod fuzz_queries;
#[cfg(feature = "tessera")]
pub mod peers;
#[cfg(feature = "tessera")]
mod tpcds;
#[cfg(feature = "tessera")]
pub mod suite;
#[cfg(feature = "tessera")]
pub mod verify;
#[cfg(feature = "tessera")]
mod chart;
#[cfg(feature = "tessera")]
pub mod bench;
#[cfg(feature = "oltp")]
pub mod oltp;
#[cfg(feature = "peers")]
pub mod tpcc;
#[cfg(feature = "peers")]
pub mod shared_bench;

pub use workspace::{Outcome, peers_home, root, text};
