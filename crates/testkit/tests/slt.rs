//! The runner itself, on a backend that answers from a list.
#![cfg(feature = "slt")]

use std::fs;
use std::path::PathBuf;

use testkit::slt::{Answer, Backend, Connection, Database, SqlError, rewrite_file, run_file};

/// Answers `one`, `two` and `fail`; everything else is done without rows.
struct Fake;

impl Backend for Fake {
    fn name(&self) -> &str {
        "fake"
    }

    fn create(&self) -> Result<Box<dyn Database>, SqlError> {
        Ok(Box::new(Fake))
    }
}

impl Database for Fake {
    fn connect(&self) -> Result<Box<dyn Connection>, SqlError> {
        Ok(Box::new(Fake))
    }

    fn waiting(&self) -> Result<Vec<String>, SqlError> {
        Ok(Vec::new())
    }
}

impl Connection for Fake {
    fn run(&mut self, sql: &str) -> Result<Answer, SqlError> {
        let row = |cells: [Option<&str>; 2]| cells.map(|cell| cell.map(str::to_owned)).to_vec();
        match sql {
            "two" => Ok(Answer::Rows {
                columns: 2,
                rows: vec![row([Some("2.50"), None]), row([Some(""), Some("t")])],
            }),
            "fail" => Err(SqlError { sqlstate: "22012".into(), message: "division".into() }),
            _ => Ok(Answer::Done(0)),
        }
    }
}

fn written(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the test directory is writable");
    path
}

const RIGHT: &str = "# Two rows, in any order.
query RT rowsort
two
----
(empty) t
2.50 NULL

query error (22012)
fail

statement ok
create
";

#[test]
fn what_holds_passes_and_is_rewritten_as_it_was() {
    let path = written("right.slt", RIGHT);
    let report = run_file(&path, &Fake).expect("it runs");
    assert_eq!((report.queries, report.statements, report.failures.len()), (2, 1, 0));
    assert!(!rewrite_file(&path, &Fake).expect("it runs"));
    assert_eq!(fs::read_to_string(&path).expect("it is there"), RIGHT);
}

#[test]
fn what_does_not_hold_is_reported_by_line_and_rewritten() {
    let wrong = RIGHT.replace("2.50 NULL", "2.60 NULL").replace("22012", "42P01");
    let path = written("wrong.slt", &wrong);
    let report = run_file(&path, &Fake).expect("it runs");
    let lines: Vec<u32> = report.failures.iter().map(|failure| failure.line).collect();
    assert_eq!(lines, [2, 8]);
    assert!(rewrite_file(&path, &Fake).expect("it runs"));
    assert_eq!(fs::read_to_string(&path).expect("it is there"), RIGHT);
}
