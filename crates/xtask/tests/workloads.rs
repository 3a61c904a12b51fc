//! Every query of the analytical workloads on little data: the rows are PostgreSQL's.
#![cfg(feature = "tessera")]

use xtask::suite::{Options, Suite};
use xtask::verify::{Oracle, run};

fn equal(suite: Suite, scale: f64) {
    let options = Options { suite, scale, threads: 2, queries: Vec::new() };
    run(&options, Oracle::Postgres).expect("the same rows");
}

// One test: a process has one server.
#[test]
fn answers_are_postgresqls() {
    equal(Suite::tpch(), 0.01);
    equal(Suite::ssb(), 0.01);
    equal(Suite::job(), 0.03);
    equal(Suite::clickbench(), 30_000.0);
}
