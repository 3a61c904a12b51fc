//! The project's development commands, behind `cargo xtask`.
//!
//! ```text
//! check -> manifests, layers, sources [-> cargo fmt, cargo clippy]
//! slt   -> tests/slt against PostgreSQL, or against Tessera in every layout
//! histories -> random transactions on lists, their cycles
//! fuzz-queries -> random queries on Tessera and on PostgreSQL or DuckDB
//! regress -> files of statements on a server and on PostgreSQL, statement by statement
//! torture -> kill -9 at random, recovery, audit
//! python -> the Python package: pip install, pytest
//! test  -> check, python, cargo test (tests/slt included)  what CI runs
//! verify, bench -> Tessera beside DuckDB, DataFusion or PostgreSQL on the same data
//! bench tpcc    -> transactions on Tessera, SQLite or PostgreSQL (feature `peers`)
//! bench recovery, checkpoint, versions, waterfall, join-order, limits, storage -> Tessera alone
//! ```
//! Invariant: without the feature `tessera` nothing of the product is compiled, so that the checks
//! work while the product does not.
#![forbid(unsafe_code)]

pub mod check;
pub mod slt;
pub mod histories;
pub mod torture;
pub mod test;
pub mod clients;
pub mod fuzz_wire;
pub mod regress;
mod server;
pub mod wire;
pub mod python;
mod venv;
#[cfg(feature = "tessera")]
pub mod tessera;
#[cfg(feature = "tessera")]
pub mod variants;
#[cfg(feature = "tessera")]
pub mod suite;
#[cfg(feature = "tessera")]
pub mod peers;
#[cfg(feature = "tessera")]
pub mod verify;
#[cfg(feature = "tessera")]
pub mod fuzz_queries;
pub mod bench_args;
#[cfg(feature = "tessera")]
mod chart;
#[cfg(feature = "tessera")]
pub mod bench;
#[cfg(feature = "peers")]
pub mod tpcc;

use std::path::{Path, PathBuf};

/// What a command ends with: nothing, or why it failed.
pub type Outcome = Result<(), String>;

/// The workspace's directory.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Where peers and their data are kept between runs.
pub fn peers_home() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| root().join("target")).join("peers")
}

/// Turns any error into the text of an [`Outcome`].
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
