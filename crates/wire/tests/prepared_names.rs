//! Statements of PREPARE and of the protocol have one name space.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{bind, describe, execute, parse, query, start, sync};

#[test]
fn sql_runs_and_forgets_statements_of_the_protocol() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&[parse("s", "select $1::int + 1"), sync()].concat());
    assert_eq!(raw.kinds(), "1ZI");
    raw.send(&query("execute s(41)"));
    assert_eq!(raw.kinds(), "TDCZI");
    raw.send(&query("explain execute s(41)"));
    assert!(raw.kinds().starts_with("TD"));
    let listed = "select 1 / (name = 's' and not from_sql \
                  and statement = 'select $1::int + 1')::int from pg_prepared_statements";
    raw.send(&query(listed));
    assert_eq!(raw.kinds(), "TDCZI");
    raw.send(&query("prepare s as select 1"));
    assert_eq!(raw.kinds(), "EZI");
    raw.send(&query("deallocate s"));
    assert_eq!(raw.kinds(), "CZI");
    raw.send(&[bind("", "s", &["1"]), sync()].concat());
    assert_eq!(raw.kinds(), "EZI");
}

#[test]
fn the_protocol_runs_and_forgets_statements_of_sql() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&query("prepare s (int) as select $1 + 1"));
    assert_eq!(raw.kinds(), "CZI");
    raw.send(&[describe(b'S', "s"), bind("", "s", &["1"]), execute("", 0), sync()].concat());
    assert_eq!(raw.kinds(), "tT2DCZI");
    raw.send(&[parse("s", "select 1"), sync()].concat());
    assert_eq!(raw.kinds(), "EZI");
    for forget in ["deallocate all", "discard all"] {
        raw.send(&[parse("p", "select 1"), sync()].concat());
        assert_eq!(raw.kinds(), "1ZI");
        raw.send(&query(forget));
        assert_eq!(raw.kinds(), "CZI");
        raw.send(&query("select 1 / (count(*) = 0)::int from pg_prepared_statements"));
        assert_eq!(raw.kinds(), "TDCZI");
    }
}

#[test]
fn statements_that_execute_themselves_end() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&[parse("a", "select 1"), parse("b", "execute a"), sync()].concat());
    assert_eq!(raw.kinds(), "11ZI");
    raw.send(&query("deallocate a"));
    assert_eq!(raw.kinds(), "CZI");
    raw.send(&[parse("a", "execute b"), bind("", "a", &[]), execute("", 0), sync()].concat());
    assert_eq!(raw.kinds(), "12EZI");
}
