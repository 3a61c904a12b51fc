//! The processes of peers, end to end.

use std::path::Path;

use testkit::peer::{Options, Peer, System};

#[test]
#[ignore = "installs packages from the package index: run with --ignored"]
fn rows_come_as_text_and_errors_as_errors() {
    for (system, types) in [
        (System::DuckDb, ["DECIMAL(10,2)", "DOUBLE"]),
        (System::DataFusion, ["decimal128(10, 2)", "double"]),
    ] {
        answers(system, types);
    }
}

fn answers(system: System, types: [&str; 2]) {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let mut peer =
        Peer::start(&home, system, &Options { threads: 2, file: None }).expect("it starts");
    let answer = peer
        .rows("SELECT 1.50::DECIMAL(10, 2), 0.1::DOUBLE, DATE '2024-01-01', true, NULL, 'x'")
        .expect("it answers");
    let cells: Vec<Option<&str>> = answer.rows[0].iter().map(Option::as_deref).collect();
    let expected = [Some("1.50"), Some("0.1"), Some("2024-01-01"), Some("t"), None, Some("x")];
    assert_eq!(cells, expected);
    assert_eq!(answer.types[..2], types);
    let query = "SELECT * FROM generate_series(1, 1000)";
    assert_eq!(peer.warm(query).expect("it answers").rows, 1000);
    let timing = peer.time(query).expect("it answers");
    assert_eq!(timing.rows, 1000);
    assert!(timing.seconds >= 0.0);
    let error = peer.rows("SELECT nosuch").expect_err("there is no such column");
    assert!(error.to_string().contains("nosuch"), "{error}");
    peer.run("CREATE TABLE t AS SELECT 1 AS a").expect("it goes on after an error");
    assert_eq!(peer.rows("SELECT a FROM t").expect("it is there").rows.len(), 1);
}
