//! Corners of the protocol that drivers do not reach, byte by byte.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{bind, describe, execute, message, parse, query, start, sync, text};

#[test]
fn statements_of_one_query_are_one_transaction() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&query("create table t (a int primary key)"));
    assert_eq!(raw.kinds(), "CZI");
    raw.send(&query(
        "insert into t values (1); insert into t values (1); insert into t values (2)",
    ));
    assert_eq!(raw.kinds(), "CEZI");
    raw.send(&query("select count(*) from t"));
    let rows = raw.until(b'Z');
    assert_eq!(rows[1].body, [0, 1, 0, 0, 0, 1, b'0']);
    // What COMMIT committed stays; BEGIN makes a transaction that lasts.
    // COMMIT warns: nobody began a transaction.
    raw.send(&query("insert into t values (1); commit; insert into t values (1)"));
    assert_eq!(raw.kinds(), "CNCEZI");
    raw.send(&query("insert into t values (2); begin; insert into t values (3)"));
    assert_eq!(raw.kinds(), "CCCZT");
    raw.send(&query("select 1/0"));
    assert_eq!(raw.kinds(), "TEZE".replace('T', ""));
    raw.send(&query("select 1"));
    assert_eq!(raw.kinds(), "EZE");
    raw.send(&query("rollback; select count(*) from t"));
    let all = raw.until(b'Z');
    let row = all.iter().find(|answer| answer.kind == b'D').unwrap();
    assert_eq!(row.body, [0, 1, 0, 0, 0, 1, b'1']);
}

#[test]
fn a_commit_that_finds_a_missing_key_is_an_error() {
    let server = start();
    let mut raw = server.seated();
    let one = |sql: &str| [parse("", sql), bind("", "", &[]), execute("", 0)].concat();
    let missing = "insert into c values (1)";
    for (sent, end) in [
        (query("create table p (id int primary key)"), "CZI"),
        (query("create table c (id int references p deferrable initially deferred)"), "CZI"),
        (query(missing), "EZI"),
        (query("begin; insert into c values (1); commit; select 1"), "CCEZI"),
        (query("insert into c values (1); insert into c values (2)"), "CEZI"),
        ([one(missing), sync()].concat(), "EZI"),
        (
            [one("begin"), one(missing), one("commit"), one("select 1"), sync()].concat(),
            "12C12C12EZI",
        ),
        ([one(missing), one("insert into p values (1)"), sync()].concat(), "12C12CZI"),
        (query("insert into c values (7); set constraints all immediate; select 1"), "CEZI"),
        (query("set constraints all immediate"), "NCZI"),
    ] {
        raw.send(&sent);
        let kinds = raw.kinds();
        assert!(kinds.ends_with(end), "{kinds}, not {end}");
    }
}

#[test]
fn empty_queries_have_an_answer() {
    let server = start();
    let mut raw = server.seated();
    for sql in ["", "  ", ";", "-- nothing", "/* */ ;"] {
        raw.send(&query(sql));
        assert_eq!(raw.kinds(), "IZI", "{sql:?}");
        raw.send(
            &[parse("", sql), bind("", "", &[]), describe(b'P', ""), execute("", 0), sync()]
                .concat(),
        );
        assert_eq!(raw.kinds(), "12nIZI", "{sql:?}");
    }
}

#[test]
fn who_sends_no_more_is_answered_and_let_go() {
    let server = start();
    for round in 0..40 {
        let mut raw = server.seated();
        raw.send(&query("select 1"));
        // The end comes with the query, while it runs, or after its answer.
        if round % 4 == 3 {
            assert_eq!(raw.kinds(), "TDCZI");
        } else if round % 4 > 0 {
            std::thread::sleep(std::time::Duration::from_micros(20 << (round / 4)));
        }
        raw.stream.shutdown(std::net::Shutdown::Write).unwrap();
        if round % 4 != 3 {
            assert_eq!(raw.kinds(), "TDCZI");
        }
        assert!(raw.try_next().is_none(), "round {round}");
    }
}

#[test]
fn nothing_that_comes_meanwhile_is_overlooked() {
    let server = start();
    let mut raw = server.seated();
    // More than is read at once, cut within messages.
    let bytes = sync().repeat(20_000);
    for piece in bytes.chunks(16_384 + 7) {
        raw.send(piece);
    }
    for _ in 0..20_000 {
        assert_eq!(raw.kinds(), "ZI");
    }
    for wait in [0, 1, 5, 15, 25] {
        let asked = query("select pg_sleep(0.01)");
        raw.send(&asked);
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let (begin, end) = asked.split_at(9);
        raw.send(begin);
        raw.send(end);
        assert_eq!(raw.kinds(), "TDCZI");
        assert_eq!(raw.kinds(), "TDCZI");
    }
}

#[test]
fn after_an_error_everything_is_skipped_until_sync() {
    let server = start();
    let mut raw = server.seated();
    let bad = [parse("", "select 1/$1::int"), bind("", "", &["0"]), execute("", 0)].concat();
    let more = [parse("x", "select 1"), query("select 2"), bind("", "x", &[]), execute("", 0)];
    raw.send(&[bad, more.concat(), sync(), query("select 3")].concat());
    assert_eq!(raw.kinds(), "12EZI");
    assert_eq!(raw.kinds(), "TDCZI");
    raw.send(&[bind("", "x", &[]), sync()].concat());
    let all = raw.until(b'Z');
    assert_eq!(all[0].field(b'C'), "26000");
}

#[test]
fn a_pipeline_is_one_transaction_up_to_sync() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&query("create table t (a int primary key)"));
    raw.kinds();
    let insert = |value: &str| [bind("", "i", &[value]), execute("", 0)].concat();
    let prepare = parse("i", "insert into t values ($1)");
    raw.send(&[prepare, insert("1"), insert("2"), insert("1"), insert("3"), sync()].concat());
    assert_eq!(raw.kinds(), "12C2C2EZI");
    raw.send(&[insert("4"), sync(), insert("5"), insert("6"), sync()].concat());
    assert_eq!(raw.kinds(), "2CZI");
    assert_eq!(raw.kinds(), "2C2CZI");
    raw.send(&query("select a from t order by a"));
    assert_eq!(raw.kinds(), "TDDDCZI");
    // BEGIN in a pipeline keeps the transaction after Sync.
    let begin = [parse("", "begin"), bind("", "", &[]), execute("", 0)].concat();
    raw.send(&[begin, insert("7"), sync()].concat());
    assert_eq!(raw.kinds(), "12C2CZT");
    raw.send(&query("rollback"));
    assert_eq!(raw.kinds(), "CZI");
}

#[test]
fn portals_give_rows_in_pieces() {
    let server = start();
    let mut raw = server.seated();
    let prepared = parse("", "select g from generate_series(1, 5) as t(g)");
    raw.send(&[prepared, bind("p", "", &[]), execute("p", 2), execute("p", 2)].concat());
    raw.send(&[execute("p", 2), execute("p", 2), sync(), execute("p", 1), sync()].concat());
    let all = raw.until(b'Z');
    let kinds: String = all.iter().map(|answer| char::from(answer.kind)).collect();
    assert_eq!(kinds, "12DDsDDsDCCZ");
    // With its transaction the portal is gone.
    assert_eq!(raw.until(b'Z')[0].field(b'C'), "34000");
}

#[test]
fn errors_name_the_constraint() {
    let server = start();
    let mut raw = server.seated();
    for sql in [
        "create schema s",
        "create table s.p (id int primary key, u int constraint p_u unique, c int check (c > 0), \
         n int not null)",
        "create table f (id int, p int references s.p (id), \
         q int constraint named references s.p (u))",
        "insert into s.p values (1, 1, 1, 1)",
        "insert into f values (1, 1, 1), (1, 1, 1)",
    ] {
        raw.send(&query(sql));
        assert_eq!(raw.kinds(), "CZI", "{sql}");
    }
    // What PostgreSQL 15 says: state, schema, table, column, constraint.
    for (sql, said) in [
        ("insert into s.p values (1, 2, 1, 1)", "23505 s p - p_pkey"),
        ("insert into s.p values (2, 1, 1, 1)", "23505 s p - p_u"),
        ("insert into s.p values (2, 2, 0, 1)", "23514 s p - p_c_check"),
        ("insert into s.p values (2, 2, 1, null)", "23502 s p n -"),
        ("insert into f values (1, 7, null)", "23503 public f - f_p_fkey"),
        ("delete from s.p", "23503 public f - f_p_fkey"),
        ("update s.p set u = 3", "23503 public f - named"),
        ("create unique index f_once on f (id)", "23505 public f - f_once"),
        ("alter table f add constraint positive check (id > 1)", "23514 public f - positive"),
        ("alter table f add column more int not null", "23502 public f more -"),
        ("alter table f add primary key (id)", "23505 public f - f_pkey"),
        ("select 1/0", "22012 - - - -"),
    ] {
        raw.send(&query(sql));
        let answers = raw.until(b'Z');
        let error = answers.iter().find(|answer| answer.kind == b'E').expect(sql);
        let fields = b"Cstcn".map(|code| error.field(code));
        let fields = fields.map(|field| if field.is_empty() { "-".to_owned() } else { field });
        assert_eq!(fields.join(" "), said, "{sql}");
    }
}

#[test]
fn errors_have_places() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&query("select 1,\n  no_such"));
    let error = raw.until(b'Z').remove(0);
    assert_eq!((error.field(b'C').as_str(), error.field(b'P').as_str()), ("42703", "13"));
    assert_eq!(error.field(b'S'), "ERROR");
}

#[test]
fn what_is_no_message_ends_the_connection() {
    let server = start();
    for bytes in [
        message(b'?', &[]),
        vec![b'Q', 0, 0, 0, 3],
        vec![b'Q', 0xff, 0xff, 0xff, 0xff],
        message(b'p', &[0]),
    ] {
        let mut raw = server.seated();
        raw.send(&bytes);
        let error = raw.next();
        assert_eq!((error.field(b'S'), error.field(b'C')), ("FATAL".into(), "08P01".into()));
        assert!(raw.try_next().is_none());
    }
    // A body that does not fit is an error of the statement.
    let mut raw = server.seated();
    raw.send(&[message(b'B', &[1, 2, 3]), sync()].concat());
    assert_eq!(raw.kinds(), "EZI");
    raw.send(&message(b'Q', b"select 1"));
    assert_eq!(raw.kinds(), "EZI");
    raw.send(&query("select 1"));
    assert_eq!(raw.kinds(), "TDCZI");
}

#[test]
fn strangers_are_turned_away() {
    let server = start();
    for first in [
        vec![0, 0, 0, 4],
        vec![0x7f, 0xff, 0xff, 0xff],
        [&[0, 0, 0, 8][..], &[0, 2, 0, 0]].concat(),
        [&[0, 0, 0, 9][..], &[0, 3, 0, 0, 0]].concat(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ] {
        let mut raw = server.raw();
        raw.send(&first);
        let answer = raw.next();
        assert_eq!(answer.field(b'S'), "FATAL");
        assert!(raw.try_next().is_none());
    }
    // Neither TLS nor GSS is there, and a message of a newer protocol is answered with ours.
    let mut raw = server.raw();
    for code in [80_877_104_u32, 80_877_103] {
        raw.send(&[&8_u32.to_be_bytes()[..], &code.to_be_bytes()].concat());
        let mut answer = [0];
        std::io::Read::read_exact(&mut raw.stream, &mut answer).unwrap();
        assert_eq!(answer, *b"N");
    }
    let mut body = ((3_u32 << 16) | 2).to_be_bytes().to_vec();
    for part in ["user", "tessera", "_pq_.test", "1"] {
        body.extend(text(part));
    }
    body.push(0);
    raw.send(&[&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat());
    assert_eq!(raw.next().kind, b'v');
    raw.until(b'Z');
}

/// FunctionCall with values in binary and a result in binary.
fn call(number: u32, values: &[&[u8]]) -> Vec<u8> {
    let mut body = number.to_be_bytes().to_vec();
    body.extend_from_slice(&[0, 1, 0, 1]);
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
    }
    body.extend_from_slice(&[0, 1]);
    message(b'F', &body)
}

#[test]
fn functions_are_called_by_their_numbers() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&query("begin"));
    assert_eq!(raw.kinds(), "CZT");
    // lo_create, lo_open, lowrite, lo_lseek, loread.
    let steps: [(u32, Vec<&[u8]>, &[u8]); 5] = [
        (715, vec![&[0, 0, 0, 9]], &[0, 0, 0, 9]),
        (952, vec![&[0, 0, 0, 9], &[0, 6, 0, 0]], &[0, 0, 0, 0]),
        (955, vec![&[0; 4], b"some bytes"], &[0, 0, 0, 10]),
        (956, vec![&[0; 4], &[0, 0, 0, 5], &[0; 4]], &[0, 0, 0, 5]),
        (954, vec![&[0; 4], &[0, 0, 0, 99]], b"bytes"),
    ];
    for (number, values, expected) in steps {
        raw.send(&call(number, &values));
        let answers = raw.until(b'Z');
        assert_eq!(answers[0].kind, b'V', "function {number}");
        assert_eq!(answers[0].body[4..], *expected, "function {number}");
    }
    // Another number of values, no such function, a failed transaction.
    raw.send(&call(954, &[]));
    let answers = raw.until(b'Z');
    assert_eq!((answers[0].kind, answers[0].field(b'C').as_str()), (b'E', "08P01"));
    raw.send(&query("rollback"));
    raw.until(b'Z');
    raw.send(&call(4_000_000_000, &[]));
    assert_eq!(raw.until(b'Z')[0].field(b'C'), "42883");
    raw.send(&query("begin; select 1/0"));
    raw.until(b'Z');
    raw.send(&call(715, &[&[0, 0, 0, 9]]));
    assert_eq!(raw.until(b'Z')[0].field(b'C'), "25P02");
    // int4pl.
    raw.send(&query("rollback"));
    raw.until(b'Z');
    raw.send(&call(177, &[&[0, 0, 0, 1], &[0, 0, 0, 2]]));
    assert_eq!(raw.until(b'Z')[0].body, [0, 0, 0, 4, 0, 0, 0, 3]);
}

/// The only text that a query answers with.
fn answer(raw: &mut support::Raw, sql: &str) -> String {
    raw.send(&query(sql));
    let answers = raw.until(b'Z');
    let row = answers.iter().find(|answer| answer.kind == b'D').unwrap();
    String::from_utf8(row.body[6..].to_vec()).unwrap()
}

#[test]
fn a_number_means_its_function_whatever_has_its_name() {
    let server = start();
    let mut raw = server.seated();
    let mut other = server.seated();
    let number = "select oid from pg_proc where proname = 'f'";
    for (make, changed) in [
        ("create function f() returns int language sql as 'select 1'", [0, 0, 0, 1]),
        ("create or replace function f() returns int language sql as 'select 2'", [0, 0, 0, 2]),
    ] {
        other.send(&query(make));
        other.until(b'Z');
        let number = answer(&mut raw, number).parse().unwrap();
        raw.send(&call(number, &[]));
        assert_eq!(raw.until(b'Z')[0].body[4..], changed);
    }
    // Another one has its name, for others and for the own transaction.
    let one: u32 = answer(&mut raw, number).parse().unwrap();
    other.send(&query("alter function f() rename to g"));
    other.until(b'Z');
    other.send(&query("create function f() returns int language sql as 'select 3'"));
    other.until(b'Z');
    let two: u32 = answer(&mut raw, number).parse().unwrap();
    for (number, value) in [(one, 2), (two, 3), (one, 2)] {
        raw.send(&call(number, &[]));
        assert_eq!(raw.until(b'Z')[0].body[4..], [0, 0, 0, value]);
    }
    raw.send(&query("begin; drop function f(); create schema s; alter function g() set schema s"));
    raw.until(b'Z');
    raw.send(&call(one, &[]));
    assert_eq!(raw.until(b'Z')[0].body[4..], [0, 0, 0, 2]);
    raw.send(&call(two, &[]));
    assert_eq!(raw.until(b'Z')[0].field(b'C'), "42883");
    raw.send(&query("rollback"));
    raw.until(b'Z');
    raw.send(&call(two, &[]));
    assert_eq!(raw.until(b'Z')[0].body[4..], [0, 0, 0, 3]);
}

#[test]
fn functions_called_by_number_have_limits_settings_and_encodings() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&query("set client_encoding to latin1; set statement_timeout = 50"));
    raw.until(b'Z');
    // pg_sleep, upper.
    let long = 30.0_f64.to_be_bytes();
    raw.send(&call(2626, &[&long]));
    let answers = raw.until(b'Z');
    assert_eq!(answers[0].field(b'C'), "57014");
    assert_eq!(answers[0].field(b'M'), "canceling statement due to statement timeout");
    raw.send(&query("set statement_timeout = 0"));
    raw.until(b'Z');
    raw.send(&call(871, &[b"\xe9t\xe9"]));
    assert_eq!(raw.until(b'Z')[0].body[4..], *b"\xc9T\xc9");
    // set_config: the client is told.
    raw.send(&call(2078, &[b"client_encoding", b"utf8", &[0]]));
    assert_eq!(raw.kinds(), "VSZI");
    raw.send(&call(871, &["été".as_bytes()]));
    assert_eq!(raw.until(b'Z')[0].body[4..], *"ÉTÉ".as_bytes());
}
