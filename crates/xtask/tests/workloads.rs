//! Every query of the analytical workloads on little data: the rows are PostgreSQL's, with all
//! techniques and with none. `cargo xtask verify tpch --switches` and its kin leave out each of
//! them alone, change the order of joins, and take larger scales.
#![cfg(feature = "tessera")]

use xtask::peers::Which;
use xtask::suite::{Options, Suite};
use xtask::variants::Variant;
use xtask::verify::run;

fn equal(suite: Suite, scale: f64, variants: &[Variant]) {
    let options = Options { suite, scale, threads: 2, queries: Vec::new(), files: None };
    run(&options, Which::Postgres, variants).expect("the same rows in all ways");
}

// One test: a process has one server.
#[test]
fn answers_are_postgresqls() {
    let all = Variant::all();
    // All on, all off.
    equal(Suite::tpch(), 0.01, &all[..2]);
    equal(Suite::ssb(), 0.01, &all[..2]);
    equal(Suite::job(), 0.01, &all[..1]);
    equal(Suite::clickbench(), 30_000.0, &all[..1]);
}
