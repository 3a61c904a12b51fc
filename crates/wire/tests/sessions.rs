//! Tests around queries: users and their rights, notices, notifications, cursors, advisory locks,
//! other sessions, metrics.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator as _;
use postgres::{Client, NoTls};
use support::{
    Raw, Running, bind, describe, execute, options, parse, query, start, start_with, state, sync,
};

fn user(server: &Running, name: &str) -> Client {
    server.config().user(name).connect(NoTls).expect("a connection")
}

/// The message of an error.
fn refused(client: &mut Client, text: &str) -> (String, String) {
    let error = client.batch_execute(text).expect_err(text);
    let message = error.as_db_error().map(|error| error.message().to_owned());
    (state(&error), message.unwrap_or_default())
}

fn denied(message: &str) -> (String, String) {
    ("42501".to_owned(), message.to_owned())
}

#[test]
fn users_have_the_rights_they_were_granted() {
    let server = start();
    let mut all = server.client();
    all.batch_execute(
        "create table t (a int primary key); create view v as select a from t; create sequence s; \
         insert into t values (1), (2); create user ann; create user bob; create role nobody; \
         grant create on schema public to bob",
    )
    .unwrap();
    let mut ann = user(&server, "ann");
    for (text, message) in [
        ("select * from t", "permission denied for table t"),
        ("select * from v", "permission denied for view v"),
        ("select nextval('s')", "permission denied for sequence s"),
        ("create table u (a int)", "permission denied for schema public"),
        ("drop table t", "must be owner of table t"),
        ("alter table t add b int", "must be owner of table t"),
        ("create index on t (a)", "must be owner of table t"),
        ("drop sequence s", "must be owner of sequence s"),
        ("checkpoint", "must be superuser or have privileges of pg_checkpoint"),
        ("create role eve", "permission denied to create role"),
        ("set threads = 1", "permission denied to set parameter \"threads\""),
        ("set role bob", "permission denied to set role \"bob\""),
        ("set session authorization bob", "permission denied to set session authorization"),
    ] {
        let (sqlstate, found) = refused(&mut ann, text);
        assert_eq!(sqlstate, "42501", "{text}");
        if !text.starts_with("create role") {
            assert_eq!(found, message, "{text}");
        }
    }
    for text in [
        "copy t to '/tmp/tessera-never'",
        "copy t from '/tmp/tessera-never'",
        "select * from read_csv('/etc/passwd')",
        "backup to '/tmp/tessera-never'",
    ] {
        assert_eq!(refused(&mut ann, text).0, "42501", "{text}");
    }
    // Prepared before, granted, used, revoked: each execution looks.
    all.batch_execute("grant select on t to ann").unwrap();
    let statement = ann.prepare("select a from t where a = $1").unwrap();
    for _ in 0..3 {
        assert_eq!(ann.query(&statement, &[&1i32]).unwrap().len(), 1);
    }
    all.batch_execute("revoke select on t from ann").unwrap();
    let error = ann.query(&statement, &[&1i32]).expect_err("revoked");
    assert_eq!(error.as_db_error().unwrap().message(), "permission denied for table t");
    // Whoever makes something owns it; others do not see more of it than they may.
    let mut bob = user(&server, "bob");
    bob.batch_execute("create table mine (a int); insert into mine values (7)").unwrap();
    assert_eq!(refused(&mut ann, "select * from mine"), denied("permission denied for table mine"));
    bob.batch_execute("grant select on mine to public").unwrap();
    assert_eq!(ann.query("select a from mine", &[]).unwrap().len(), 1);
    all.batch_execute("select a from mine; drop table mine").unwrap();
    // A role that may not log in, and a database that one may not connect to.
    let error = server.config().user("nobody").connect(NoTls).err().expect("no login");
    assert_eq!(state(&error), "28000");
    all.batch_execute("revoke connect on database tessera from public").unwrap();
    let error = server.config().user("ann").connect(NoTls).err().expect("no CONNECT");
    assert_eq!(state(&error), "42501");
    all.batch_execute("grant connect on database tessera to ann").unwrap();
    user(&server, "ann").batch_execute("select 1").unwrap();
    // Who is dropped while connected has no rights from then on.
    all.batch_execute("revoke connect on database tessera from ann; drop role ann").unwrap();
    assert_eq!(refused(&mut ann, "select * from t"), denied("permission denied for table t"));
}

/// The messages up to ReadyForQuery: kinds, with the text of notices.
fn told(raw: &mut Raw, text: &str) -> Vec<String> {
    raw.send(&query(text));
    let all = raw.until(b'Z');
    let line = |answer: &support::Answer| match answer.kind {
        b'N' => format!("{} {} {}", answer.field(b'S'), answer.field(b'C'), answer.field(b'M')),
        kind => char::from(kind).to_string(),
    };
    all.iter().map(line).collect()
}

#[test]
fn notices_come_before_the_end_of_their_statement() {
    let server = start();
    let mut raw = server.seated();
    let skipped = "NOTICE 00000 table \"x\" does not exist, skipping";
    assert_eq!(told(&mut raw, "drop table if exists x"), [skipped, "C", "Z"]);
    raw.send(&query("create table x (a int)"));
    raw.until(b'Z');
    let exists = "NOTICE 42P07 relation \"x\" already exists, skipping";
    assert_eq!(told(&mut raw, "create table if not exists x (a int)"), [exists, "C", "Z"]);
    let none = "WARNING 25P01 there is no transaction in progress";
    assert_eq!(told(&mut raw, "commit"), [none, "C", "Z"]);
    assert_eq!(told(&mut raw, "rollback"), [none, "C", "Z"]);
    assert_eq!(told(&mut raw, "begin"), ["C", "Z"]);
    let second = "WARNING 25001 there is already a transaction in progress";
    assert_eq!(told(&mut raw, "begin"), [second, "C", "Z"]);
    assert_eq!(told(&mut raw, "rollback"), ["C", "Z"]);
    let local = "WARNING 25P01 SET LOCAL can only be used in transaction blocks";
    assert_eq!(told(&mut raw, "set local application_name = 'x'"), [local, "C", "Z"]);
    // In the extended protocol, too.
    let steps = [parse("", "drop view if exists y"), bind("", "", &[]), execute("", 0), sync()];
    raw.send(&steps.concat());
    assert_eq!(raw.kinds(), "12NCZI");
    raw.send(&query("set client_min_messages = warning"));
    raw.until(b'Z');
    assert_eq!(told(&mut raw, "drop table if exists y"), ["C", "Z"]);
    assert_eq!(told(&mut raw, "commit"), [none, "C", "Z"]);
    raw.send(&query("set client_min_messages = error"));
    raw.until(b'Z');
    assert_eq!(told(&mut raw, "commit"), ["C", "Z"]);
}

#[test]
fn notifications_come_with_the_commit_also_to_who_is_idle() {
    let server = start();
    let (mut listens, mut says) = (server.client(), server.client());
    listens.batch_execute("listen news; listen other; unlisten other").unwrap();
    let next = |client: &mut Client, ms| {
        let mut notifications = client.notifications();
        let found = notifications.timeout_iter(Duration::from_millis(ms)).next().unwrap();
        found.map(|n| (n.channel().to_owned(), n.payload().to_owned()))
    };
    // Long enough that no thread waits for it any longer.
    std::thread::sleep(Duration::from_millis(400));
    says.batch_execute("notify news, 'one'").unwrap();
    assert_eq!(next(&mut listens, 5000), Some(("news".into(), "one".into())));
    says.batch_execute("begin; notify news, 'two'; savepoint s; notify news, 'no'; rollback to s")
        .unwrap();
    assert_eq!(next(&mut listens, 300), None);
    says.batch_execute("select pg_notify('news', 'three'); notify news, 'two'; commit").unwrap();
    assert_eq!(next(&mut listens, 5000), Some(("news".into(), "two".into())));
    assert_eq!(next(&mut listens, 5000), Some(("news".into(), "three".into())));
    says.batch_execute("begin; notify news, 'gone'; rollback; notify other").unwrap();
    assert_eq!(next(&mut listens, 300), None);
    // Not in the middle of a transaction of the listener.
    listens.batch_execute("begin; select 1").unwrap();
    says.batch_execute("notify news, 'later'").unwrap();
    assert_eq!(next(&mut listens, 300), None);
    listens.batch_execute("commit").unwrap();
    assert_eq!(next(&mut listens, 5000), Some(("news".into(), "later".into())));
    listens.batch_execute("unlisten *").unwrap();
    says.batch_execute("notify news, 'nobody'").unwrap();
    assert_eq!(next(&mut listens, 300), None);
    assert_eq!(refused(&mut says, "select pg_notify('', 'x')").0, "22023");
}

#[test]
fn cursors_are_portals_of_the_protocol() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&query("begin"));
    raw.kinds();
    // With a parameter, as drivers do; described by its name before any FETCH.
    let declare =
        parse("", "declare c cursor for select g from generate_series(1, $1::int) as t(g)");
    raw.send(
        &[declare, bind("", "", &["5"]), execute("", 0), describe(b'P', "c"), sync()].concat(),
    );
    assert_eq!(raw.kinds(), "12CTZT");
    raw.send(&query("fetch forward 2 from c"));
    let all = raw.until(b'Z');
    let kinds: String = all.iter().map(|answer| char::from(answer.kind)).collect();
    assert_eq!(kinds, "TDDCZ");
    assert_eq!(all[3].body, b"FETCH 2\0");
    let fetch = parse("", "fetch all from c");
    raw.send(&[fetch, bind("", "", &[]), describe(b'P', ""), execute("", 0), sync()].concat());
    assert_eq!(raw.kinds(), "12TDDDCZT");
    raw.send(&query("move backward all in c"));
    assert_eq!(raw.until(b'Z')[0].body, b"MOVE 5\0");
    raw.send(&query("declare b binary cursor for select 258 as n; fetch b"));
    let all = raw.until(b'Z');
    let row = all.iter().find(|answer| answer.kind == b'D').unwrap();
    assert_eq!(row.body, [0, 1, 0, 0, 0, 4, 0, 0, 1, 2]);
    raw.send(&query("commit; fetch c"));
    assert_eq!(raw.kinds(), "CEZI");
}

#[test]
fn advisory_locks_wait_end_and_are_seen_in_circles() {
    let server = start();
    let (mut a, mut b) = (server.client(), server.client());
    a.batch_execute("select pg_advisory_lock(1)").unwrap();
    let got: bool = b.query_one("select pg_try_advisory_lock(1)", &[]).unwrap().get(0);
    assert!(!got);
    // The end of a session gives its locks up, and a waiter gets them.
    let waiter = std::thread::spawn(move || {
        b.batch_execute("select pg_advisory_lock(1)").unwrap();
        b
    });
    std::thread::sleep(Duration::from_millis(100));
    drop(a);
    let mut b = waiter.join().unwrap();
    let mut c = server.client();
    c.batch_execute("select pg_advisory_lock(2)").unwrap();
    let waiter = std::thread::spawn(move || {
        let outcome = c.batch_execute("select pg_advisory_lock(1)");
        (c, outcome)
    });
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(refused(&mut b, "select pg_advisory_lock(2)").0, "40P01");
    b.batch_execute("select pg_advisory_unlock(1)").unwrap();
    let (mut c, outcome) = waiter.join().unwrap();
    outcome.unwrap();
    // A lock of a transaction ends with it; a time limit ends the wait.
    c.batch_execute("begin; select pg_advisory_xact_lock(3)").unwrap();
    b.batch_execute("set statement_timeout = 200").unwrap();
    assert_eq!(refused(&mut b, "select pg_advisory_lock(3)").0, "57014");
    c.batch_execute("rollback").unwrap();
    b.batch_execute("select pg_advisory_lock(3)").unwrap();
}

#[test]
fn sessions_are_shown_cancelled_and_ended() {
    let server = start();
    let mut all = server.client();
    all.batch_execute("create user ann; create user bob").unwrap();
    let mut ann = user(&server, "ann");
    ann.batch_execute("set application_name = 'shop'").unwrap();
    let pid: i32 = ann.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
    let sleeper = std::thread::spawn(move || {
        let error = ann.batch_execute("select pg_sleep(60)").expect_err("cancelled");
        (ann, state(&error))
    });
    let shown = |client: &mut Client| {
        let text =
            "select usename, application_name, state, query from pg_stat_activity where pid = $1";
        let row = client.query_one(text, &[&pid]).unwrap();
        let cell = |at: usize| row.get::<_, Option<String>>(at).unwrap_or_default();
        [cell(0), cell(1), cell(2), cell(3)]
    };
    let running = ["ann", "shop", "active", "select pg_sleep(60)"];
    while shown(&mut all) != running {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut bob = user(&server, "bob");
    assert_eq!(shown(&mut bob), ["ann", "shop", "", "<insufficient privilege>"]);
    let end = format!("select pg_cancel_backend({pid})");
    assert_eq!(refused(&mut bob, &end).0, "42501");
    all.batch_execute(&end).unwrap();
    let (mut ann, cancelled) = sleeper.join().unwrap();
    assert_eq!(cancelled, "57014");
    ann.batch_execute("select 1").unwrap();
    // Idle for long, then ended.
    std::thread::sleep(Duration::from_millis(400));
    let ended: bool = all.query_one("select pg_terminate_backend($1)", &[&pid]).unwrap().get(0);
    assert!(ended);
    let error = ann.batch_execute("select 1").expect_err("it has ended");
    // What is written meets the end of the connection, or its reason is read first.
    let is_broken =
        std::error::Error::source(&error).is_some_and(|source| source.is::<std::io::Error>());
    assert!(error.is_closed() || is_broken || state(&error) == "57P01", "{error}");
    let ended: bool = all.query_one("select pg_terminate_backend(999999)", &[]).unwrap().get(0);
    assert!(!ended);
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn metrics_count_what_happened() {
    let metrics = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let server = start_with(wire::ServerOptions { metrics, ..options() });
    let address = server.server.as_ref().unwrap().metrics_address().unwrap();
    let mut client = server.client();
    client.batch_execute("create table t (a int); insert into t values (1)").unwrap();
    client.query("select a from t where a = $1", &[&1i32]).unwrap();
    client.batch_execute("select nothing").expect_err("no such column");
    let text = get(address, "/metrics");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    for line in [
        "tessera_connections 1",
        "tessera_errors_total 1",
        "tessera_statements_total{kind=\"insert\"} 1",
        "tessera_statements_total{kind=\"select\"} 1",
        "tessera_statement_seconds_count 3",
        "tessera_statement_seconds_bucket{le=\"+Inf\"} 3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(get(address, "/health").ends_with("\r\n\r\nok\n"));
    assert!(get(address, "/").starts_with("HTTP/1.1 404"));
}

#[test]
fn psql_shows_roles_and_privileges() {
    let psql = "/usr/lib/postgresql/15/bin/psql";
    if !std::path::Path::new(psql).exists() {
        eprintln!("no psql: nothing to show");
        return;
    }
    let server = start();
    let mut all = server.client();
    all.batch_execute(
        "create user ann; create role crowd; grant crowd to ann; create table t (a int); \
         grant select, insert on t to ann; grant select on t to public; create view v as select 1",
    )
    .unwrap();
    let port = server.address.port().to_string();
    let show = |command: &str| {
        let out = Command::new(psql)
            .args(["-X", "-At", "-h", "127.0.0.1", "-p", &port, "-U", "tessera", "-c", command])
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let roles = show("\\du");
    assert!(roles.contains("ann||{crowd}"), "{roles}");
    assert!(roles.contains("crowd|Cannot login|{}"), "{roles}");
    let privileges = show("\\dp");
    assert!(
        privileges.contains("public|t|table|tessera=arwdDxt/tessera\nann=ar/tessera\n=r/tessera||"),
        "{privileges}"
    );
    assert!(privileges.contains("public|v|view|||"), "{privileges}");
}
