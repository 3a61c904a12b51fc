//! Every query of the analytical workloads on little data: the rows are PostgreSQL's, whatever
//! techniques are switched off and however joins are ordered. `cargo xtask verify tpch --switches`
//! and its kin do the same at larger scales.
#![cfg(feature = "tessera")]

use xtask::suite::{Options, Suite};
use xtask::variants::Variant;
use xtask::verify::{Oracle, run};

fn equal(suite: Suite, scale: f64) {
    let options = Options { suite, scale, threads: 2, queries: Vec::new() };
    run(&options, Oracle::Postgres, &Variant::all()).expect("the same rows in all ways");
}

// One test: a process has one server.
#[test]
fn answers_are_postgresqls() {
    equal(Suite::tpch(), 0.01);
    equal(Suite::ssb(), 0.01);
    equal(Suite::job(), 0.03);
    equal(Suite::clickbench(), 30_000.0);
}
