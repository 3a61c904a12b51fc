//! A few random queries under all settings: `cargo xtask fuzz-queries` runs many, on peers, too.
#![cfg(feature = "tessera")]

use xtask::fuzz_queries::{Options, Oracle, Subject, Toggling, run};

#[test]
fn settings_do_not_change_results() {
    let options = Options {
        queries: 120,
        seed: 1,
        oracle: Oracle::Settings,
        differences_max: 1,
        toggling: Toggling::Random,
        subject: Subject::Queries,
    };
    run(&options).expect("no difference");
    let options = Options { queries: 80, subject: Subject::Partitions, ..options };
    run(&options).expect("parts make the whole");
}
