//! TPC-H and SSB give DuckDB's rows whatever techniques are switched off and however joins are
//! ordered: `cargo xtask verify tpch --switches` does the same at larger scale factors.
#![cfg(feature = "tessera")]

use xtask::suite::{Options, Suite};
use xtask::variants::Variant;
use xtask::verify;

fn verified(suite: Suite) {
    let options = Options { suite, scale: 0.01, threads: 2, queries: Vec::new() };
    verify::run(&options, &Variant::all()).expect("the same rows in all ways");
}

#[test]
fn tpch_does_not_depend_on_switches() {
    verified(Suite::tpch());
}

#[test]
fn ssb_does_not_depend_on_switches() {
    verified(Suite::ssb());
}
