//! Tests with an independent client: types in both formats, transactions, COPY, cancels, limits.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use postgres::NoTls;
use postgres::types::Type;
use support::{options, query, start, start_with, state};
use wire::{Authentication, ServerOptions};

fn message_of(error: &postgres::Error) -> &str {
    error.as_db_error().map_or("", |error| error.message())
}

#[test]
fn values_go_both_ways_in_binary() {
    let server = start();
    let mut client = server.client();
    let row = client
        .query_one(
            "select $1::bool, $2::int2, $3::int4, $4::int8, $5::float4, $6::float8, $7::text,
                    $8::bytea, $9::varchar(3)",
            &[
                &true,
                &-2_i16,
                &3_i32,
                &-4_i64,
                &1.5_f32,
                &-2.25_f64,
                &"tää",
                &&b"\0\xff"[..],
                &"ab",
            ],
        )
        .unwrap();
    assert!(row.get::<_, bool>(0));
    assert_eq!((row.get::<_, i16>(1), row.get::<_, i32>(2), row.get::<_, i64>(3)), (-2, 3, -4));
    assert_eq!((row.get::<_, f32>(4), row.get::<_, f64>(5)), (1.5, -2.25));
    assert_eq!((row.get::<_, &str>(6), row.get::<_, &[u8]>(7)), ("tää", &b"\0\xff"[..]));
    assert_eq!(row.get::<_, &str>(8), "ab");
    let row = client.query_one("select null::int, $1::int", &[&None::<i32>]).unwrap();
    assert_eq!((row.get::<_, Option<i32>>(0), row.get::<_, Option<i32>>(1)), (None, None));
    let time = std::time::UNIX_EPOCH + Duration::from_micros(1_234_567_890_123_456);
    let row = client.query_one("select $1::timestamptz, $1::timestamptz::text", &[&time]).unwrap();
    assert_eq!(row.get::<_, std::time::SystemTime>(0), time);
    assert_eq!(row.get::<_, &str>(1), "2009-02-13 23:31:30.123456+00");
}

#[test]
fn statements_are_described() {
    let server = start();
    let mut client = server.client();
    client
        .batch_execute("create table t (a int primary key, b varchar(9), c numeric(9, 2))")
        .unwrap();
    let statement = client.prepare("select a, b, c from t where a = $1 and b like $2").unwrap();
    assert_eq!(statement.params(), &[Type::INT4, Type::TEXT]);
    let types: Vec<_> = statement.columns().iter().map(|c| c.type_().clone()).collect();
    assert_eq!(types, [Type::INT4, Type::VARCHAR, Type::NUMERIC]);
    let insert = client.prepare("insert into t values ($1, $2, $3) returning a").unwrap();
    assert_eq!(insert.columns().len(), 1);
    assert_eq!(insert.params()[0], Type::INT4);
    assert!(client.prepare("update t set b = $1").unwrap().columns().is_empty());
    assert_eq!(state(&client.prepare("select no_such").unwrap_err()), "42703");
    // What finds the rows to lock is no column of the client's.
    let locking = client.prepare("select c, a from t where a = $1 for update").unwrap();
    let names: Vec<_> = locking.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["c", "a"]);
    client.execute("insert into t values (1, 'b', null)", &[]).unwrap();
    let row = client.query_one(&locking, &[&1]).unwrap();
    assert_eq!((row.len(), row.get::<_, i32>(1)), (2, 1));
}

/// As PostgreSQL has it: editors of results and checkers of queries go by it.
#[test]
fn columns_tell_where_they_come_from() {
    let server = start();
    let mut client = server.client();
    client
        .batch_execute(
            "create table t (a int primary key, b text, c int); create schema s;
             create table s.u (c int, a int); create view v as select c, b from t",
        )
        .unwrap();
    let number = |client: &mut postgres::Client, name: &str| {
        client.query_one("select $1::text::regclass::oid", &[&name]).unwrap().get::<_, u32>(0)
    };
    let (t, u, v) =
        (number(&mut client, "t"), number(&mut client, "s.u"), number(&mut client, "v"));
    let text = "select a, x.c, v.b as d, q, x.b || '' from t x join s.u using (a),
                v, (select c as q from s.u limit 1) sub where a = $1 for update of x";
    let statement = client.prepare(text).unwrap();
    let origins: Vec<_> =
        statement.columns().iter().map(|c| (c.table_oid(), c.column_id())).collect();
    let at = |number, column| (Some(number), Some(column));
    assert_eq!(origins, [at(t, 1), at(t, 3), at(v, 2), at(u, 1), (None, None)]);
    let statement = client.prepare("with w as (select * from v) select c, 1, b from w").unwrap();
    let origins: Vec<_> = statement.columns().iter().map(|c| c.column_id()).collect();
    assert_eq!(origins, [Some(1), None, Some(2)]);
    let statement = client.prepare("select a, c, a, count(*) from t group by a, c").unwrap();
    let origins: Vec<_> = statement.columns().iter().map(|c| c.column_id()).collect();
    assert_eq!(origins, [Some(1), Some(3), Some(1), None]);
    let statement = client.prepare("select a from t union all select c from t").unwrap();
    assert_eq!(statement.columns()[0].table_oid(), None);
}

#[test]
fn transactions_fail_and_go_back() {
    let server = start();
    let (mut client, mut other) = (server.client(), server.client());
    client.batch_execute("create table t (a int primary key)").unwrap();
    let mut transaction = client.transaction().unwrap();
    transaction.execute("insert into t values (1)", &[]).unwrap();
    let error = transaction.execute("insert into t values (1)", &[]).unwrap_err();
    assert_eq!(state(&error), "23505");
    assert_eq!(state(&transaction.query("select 1", &[]).unwrap_err()), "25P02");
    transaction.rollback().unwrap();
    let mut transaction = client.transaction().unwrap();
    transaction.execute("insert into t values (2)", &[]).unwrap();
    let count: i64 = other.query_one("select count(*) from t", &[]).unwrap().get(0);
    assert_eq!(count, 0);
    transaction.commit().unwrap();
    let count: i64 = other.query_one("select count(*) from t", &[]).unwrap().get(0);
    assert_eq!(count, 1);
}

#[test]
fn rows_come_in_pieces() {
    let server = start();
    let mut client = server.client();
    let mut transaction = client.transaction().unwrap();
    let portal = transaction.bind("select g from generate_series(1, 10000) as t(g)", &[]).unwrap();
    let mut sum = 0;
    loop {
        let rows = transaction.query_portal(&portal, 3000).unwrap();
        sum += rows.iter().map(|row| i64::from(row.get::<_, i32>(0))).sum::<i64>();
        if rows.len() < 3000 {
            break;
        }
    }
    assert_eq!(sum, 50_005_000);
}

#[test]
fn copy_goes_in_and_out_in_all_formats() {
    let server = start();
    let mut client = server.client();
    client.batch_execute("create table t (a int, b text, c numeric(12, 2), d date)").unwrap();
    let rows = 40_000;
    for (format, line) in [
        ("text", "{}\ta\\tb\\\\\t1.50\t2024-02-29\n7\t\\N\t\\N\t\\N\n"),
        ("csv", "{},\"a\tb\\\",1.50,2024-02-29\n7,,,\n"),
    ] {
        let mut writer = client.copy_in(&format!("copy t from stdin (format {format})")).unwrap();
        for row in 0..rows / 2 {
            writer.write_all(line.replace("{}", &row.to_string()).as_bytes()).unwrap();
        }
        assert_eq!(writer.finish().unwrap(), rows, "{format}");
        let all = "select count(*), count(b), sum(c)::text, min(b), count(distinct a) from t";
        let row = client.query_one(all, &[]).unwrap();
        assert_eq!(row.get::<_, i64>(0), rows as i64);
        assert_eq!(row.get::<_, i64>(1), rows as i64 / 2);
        assert_eq!(row.get::<_, &str>(2), format!("{}.00", rows / 2 * 3 / 2));
        assert_eq!(row.get::<_, &str>(3), "a\tb\\");
        assert_eq!(row.get::<_, i64>(4), rows as i64 / 2);
        // Out and in again in every format.
        for again in ["text", "csv", "binary"] {
            let mut bytes = Vec::new();
            let sql = format!("copy (select * from t order by a) to stdout (format {again})");
            client.copy_out(&sql).unwrap().read_to_end(&mut bytes).unwrap();
            client
                .batch_execute("create table u (a int, b text, c numeric(12, 2), d date)")
                .unwrap();
            let mut writer =
                client.copy_in(&format!("copy u from stdin (format {again})")).unwrap();
            writer.write_all(&bytes).unwrap();
            assert_eq!(writer.finish().unwrap(), rows, "{again}");
            let differ = "select count(*) from (select * from t except all select * from u) as x";
            assert_eq!(client.query_one(differ, &[]).unwrap().get::<_, i64>(0), 0, "{again}");
            client.batch_execute("drop table u").unwrap();
        }
        client.batch_execute("truncate t").unwrap();
    }
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let server = start();
    let mut client = server.client();
    client.batch_execute("create table t (a int, b text)").unwrap();
    let mut writer = client.copy_in("copy t from stdin").unwrap();
    writer.write_all(b"1\tx\nnot a number\ty\n").unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(state(&error), "22P02");
    assert!(message_of(&error).contains("line 2, column 1 (a)"), "{error:?}");
    // Given up by the client.
    let mut writer = client.copy_in("copy t from stdin").unwrap();
    writer.write_all(b"1\tx\n").unwrap();
    drop(writer);
    assert_eq!(client.query_one("select count(*) from t", &[]).unwrap().get::<_, i64>(0), 0);
    assert_eq!(
        state(&client.batch_execute("copy t from stdin (format odd)").unwrap_err()),
        "22023"
    );
}

/// More than two of the parts that COPY gathers, of which one is loaded while the next comes.
#[test]
fn a_copy_of_several_parts_is_whole_or_not_at_all() {
    let server = start();
    let mut client = server.client();
    client.batch_execute("create table t (a int, b text)").unwrap();
    let text = "x".repeat(1 << 20);
    let row = |a: &str| format!("{a}\t{text}\n").into_bytes();
    for odd in [1, 40, 69] {
        let mut writer = client.copy_in("copy t from stdin").unwrap();
        // What follows the mistake may find the COPY ended.
        let sent = (0..70).try_for_each(|i| {
            if i == odd {
                writer.write_all(&row("odd"))
            } else {
                writer.write_all(&row(&i.to_string()))
            }
        });
        let said = match sent {
            Ok(()) => message_of(&writer.finish().unwrap_err()).to_owned(),
            Err(error) => {
                drop(writer);
                error.to_string()
            }
        };
        assert!(said.contains(&format!("line {}, column 1 (a)", odd + 1)), "{said}");
        assert_eq!(client.query_one("select count(*) from t", &[]).unwrap().get::<_, i64>(0), 0);
    }
    let mut writer = client.copy_in("copy t from stdin").unwrap();
    (0..70).for_each(|i| writer.write_all(&row(&i.to_string())).unwrap());
    assert_eq!(writer.finish().unwrap(), 70);
    let sums = "select count(*), sum(a), sum(length(b)) from t";
    let sums = client.query_one(sums, &[]).unwrap();
    assert_eq!([0, 1, 2].map(|i| sums.get::<_, i64>(i)), [70, 69 * 35, 70 << 20]);
}

const SLOW: &str = "select count(*) from generate_series(1, 100000) as a(x), \
                    generate_series(1, 10000000) as b(y) where x % 7 = y % 11";

#[test]
fn statements_are_cancelled() {
    let server = start();
    let mut client = server.client();
    let token = client.cancel_token();
    let cancelling = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        token.cancel_query(NoTls).unwrap();
    });
    let begin = Instant::now();
    assert_eq!(state(&client.query(SLOW, &[]).unwrap_err()), "57014");
    assert!(begin.elapsed() < Duration::from_secs(10));
    cancelling.join().unwrap();
    // A statement may run for so long only.
    client.batch_execute("set statement_timeout = '200ms'").unwrap();
    let error = client.query(SLOW, &[]).unwrap_err();
    assert!(message_of(&error).contains("statement timeout"), "{error:?}");
    client.batch_execute("reset statement_timeout").unwrap();
    client.query("select 1", &[]).unwrap();
}

#[test]
fn a_client_that_goes_away_leaves_no_locks() {
    let server = start();
    let mut client = server.client();
    client.batch_execute("create table t (a int primary key); insert into t values (1)").unwrap();
    let mut gone = server.seated();
    gone.send(&query("begin; update t set a = 2"));
    assert_eq!(gone.kinds(), "CCZT");
    drop(gone);
    let mut busy = server.seated();
    busy.send(&query(SLOW));
    std::thread::sleep(Duration::from_millis(100));
    drop(busy);
    client.batch_execute("set statement_timeout = '10s'; update t set a = 3").unwrap();
    let begin = Instant::now();
    let active = "select count(*) from tessera_sessions() where state = 'active'";
    while client.query_one(active, &[]).unwrap().get::<_, i64>(0) > 1 {
        assert!(begin.elapsed() < Duration::from_secs(15), "the statement goes on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn idle_transactions_end() {
    let server = start();
    let mut raw = server.seated();
    raw.send(&query("set idle_in_transaction_session_timeout = 300; begin"));
    raw.until(b'Z');
    let error = raw.next();
    assert_eq!((error.field(b'S'), error.field(b'C')), ("FATAL".into(), "25P03".into()));
    assert!(raw.try_next().is_none());
}

#[test]
fn there_are_only_so_many_clients() {
    let server = start_with(ServerOptions { connections_max: 2, ..options() });
    let (first, _second) = (server.client(), server.client());
    let error = server.config().connect(NoTls).err().unwrap();
    assert_eq!(state(&error), "53300");
    drop(first);
    let begin = Instant::now();
    while server.config().connect(NoTls).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
}

/// A value that looks like the end of CSV is in quotes, as PostgreSQL writes it.
#[test]
fn csv_may_hold_its_own_end() {
    let server = start();
    let mut client = server.client();
    client
        .batch_execute("create table ends (a text); insert into ends values ('x'), ('\\.')")
        .unwrap();
    let mut text = String::new();
    let copy = "copy (select a from ends order by a desc) to stdout csv";
    client.copy_out(copy).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "x\n\"\\.\"\n");
    let mut writer = client.copy_in("copy ends from stdin csv").unwrap();
    writer.write_all(text.as_bytes()).unwrap();
    writer.write_all(b"y\n\\.\n").unwrap();
    assert_eq!(writer.finish().unwrap(), 3);
}

/// pgjdbc and asyncpg prepare again when they see the routine; others look for the text.
#[test]
fn a_stale_statement_says_what_drivers_look_for() {
    let server = start();
    let mut client = server.client();
    client.batch_execute("create table grows (a int); insert into grows values (1)").unwrap();
    let statement = client.prepare("select * from grows").unwrap();
    assert_eq!(client.query(&statement, &[]).unwrap().len(), 1);
    client.batch_execute("alter table grows add b int").unwrap();
    let error = client.query(&statement, &[]).unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code().code(), "0A000");
    assert_eq!(error.message(), "cached plan must not change result type");
    assert_eq!(error.routine(), Some("RevalidateCachedQuery"));
}

#[test]
fn who_is_let_in_by_trust_owns_what_a_dump_says() {
    let server = start();
    let (user, how) = ("tessera", Authentication::Trust);
    assert_eq!(wire::create_first_user(&server.database, user, how).unwrap(), None);
    let mut client = server.client();
    client
        .batch_execute(
            "create table own (a int); alter table own owner to tessera;
             grant select on own to tessera; set role tessera; insert into own values (1)",
        )
        .unwrap();
    let owner = "select tableowner::text from pg_tables where tablename = 'own'";
    assert_eq!(client.query_one(owner, &[]).unwrap().get::<_, &str>(0), "tessera");
}

#[test]
fn passwords_are_asked_for() {
    let server = start_with(ServerOptions { authentication: Authentication::Scram, ..options() });
    let first = |user: &str, how| wire::create_first_user(&server.database, user, how).unwrap();
    // Who was let in by trust is a role, and has a password when passwords are asked for.
    assert_eq!(first("tessera", Authentication::Trust), None);
    let password = first("tessera", Authentication::Scram).unwrap();
    assert_eq!(first("other", Authentication::Scram), None);
    assert_eq!(first("other", Authentication::Trust), None);
    let connect = |user: &str, password: &str| {
        let mut config = server.config();
        config.user(user).password(password).connect(NoTls)
    };
    let mut client = connect("tessera", &password).unwrap();
    assert_eq!(state(&connect("tessera", "wrong").err().unwrap()), "28P01");
    assert_eq!(state(&connect("nobody", "wrong").err().unwrap()), "28P01");
    client
        .batch_execute("create user ann password 'Ännchen'; create role bob password 'b'")
        .unwrap();
    let mut ann = connect("ann", "Ännchen").unwrap();
    assert_eq!(ann.query_one("select current_user", &[]).unwrap().get::<_, &str>(0), "ann");
    assert_eq!(state(&ann.batch_execute("drop role bob").unwrap_err()), "42501");
    ann.batch_execute("alter user ann password 'other'").unwrap();
    assert_eq!(state(&connect("ann", "Ännchen").err().unwrap()), "28P01");
    connect("ann", "other").unwrap();
    // Who may not log in looks like who does not exist.
    assert_eq!(state(&connect("bob", "b").err().unwrap()), "28P01");
    client.batch_execute("alter role bob login").unwrap();
    connect("bob", "b").unwrap();
}

#[test]
fn the_server_ends_in_order() {
    let mut server = start();
    let mut idle = server.seated();
    let mut busy = server.seated();
    busy.send(&query("select count(*) from generate_series(1, 30000000)"));
    std::thread::sleep(Duration::from_millis(100));
    server.stop();
    assert_eq!(idle.next().field(b'C'), "57P01");
    assert_eq!(busy.kinds(), "TDCZI");
    assert_eq!(busy.next().field(b'C'), "57P01");
    assert!(std::net::TcpStream::connect(server.address).is_err());
}
