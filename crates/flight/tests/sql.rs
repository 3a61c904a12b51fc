//! Flight SQL, as an unmodified client speaks it.

mod support;

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_flight::sql::{CommandGetDbSchemas, CommandGetTables, SqlInfo};
use arrow_flight::sql::{EndTransaction, SqlSupportedTransaction};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use flight::{FlightOptions, Server};
use types::SqlState;
use wire::Authentication;

use support::{Served, database, message_of, read, texts, trusting};

#[test]
fn types_and_nulls() {
    let served = Served::new(trusting());
    let mut client = served.client();
    let utc = || Some("UTC".into());
    let list = Arc::new(Field::new_list_field(DataType::Int32, true));
    let expected = [
        ("true", DataType::Boolean),
        ("1::smallint", DataType::Int16),
        ("1::integer", DataType::Int32),
        ("1::bigint", DataType::Int64),
        ("1.5::real", DataType::Float32),
        ("1.5::double precision", DataType::Float64),
        ("1.50::numeric(10, 2)", DataType::Decimal128(10, 2)),
        ("'1.50'::text::numeric", DataType::Utf8),
        ("'x'::text", DataType::Utf8),
        ("'x'::char(3)", DataType::Utf8),
        ("'\\x01'::bytea", DataType::Binary),
        ("'2026-01-02'::date", DataType::Date32),
        ("'03:04:05'::time", DataType::Time64(TimeUnit::Microsecond)),
        ("'2026-01-02'::timestamp", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("'2026-01-02'::timestamptz", DataType::Timestamp(TimeUnit::Microsecond, utc())),
        ("'1 day'::interval", DataType::Interval(IntervalUnit::MonthDayNano)),
        ("array[1, 2]", DataType::List(list)),
        ("'{}'::jsonb", DataType::Utf8),
        ("'0b7ac8a0-0000-4000-8000-000000000001'::uuid", DataType::Utf8),
        ("'10.0.0.1'::inet", DataType::Utf8),
    ];
    for (value, ty) in expected {
        let query = format!(
            "SELECT v, v::text FROM (SELECT {value} AS v UNION ALL SELECT NULL) s ORDER BY 2"
        );
        let batches = served.query(&mut client, &query).expect(value);
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 2, "{value}");
        let column = batches[0].column(0);
        assert_eq!(column.data_type(), &ty, "{value}");
        assert_eq!(column.null_count(), 1, "{value}");
        if ty == DataType::Utf8 {
            let rows = texts(&batches);
            assert_eq!(rows[0][0].trim_end(), rows[0][1], "{value}");
        }
    }
}

#[test]
fn many_rows_come_whole_and_in_order() {
    let served = Served::new(trusting());
    let mut client = served.client();
    let query = "SELECT i, 'row ' || i FROM generate_series(1, 300000) i ORDER BY i";
    let batches = served.query(&mut client, query).expect("rows");
    let rows = texts(&batches);
    assert_eq!(rows.len(), 300_000);
    let is_row = |(at, row): (usize, &Vec<String>)| {
        row[0] == (at + 1).to_string() && row[1] == format!("row {}", at + 1)
    };
    assert!(rows.iter().enumerate().all(is_row));
}

#[test]
fn errors_have_their_sqlstate() {
    let served = Served::new(trusting());
    let mut client = served.client();
    for (query, state) in [
        ("SELECT * FROM nothing", "42P01"),
        ("SELEC 1", "42601"),
        ("SELECT 1/0", "22012"),
        ("SELECT 'x'::int", "22P02"),
        ("SELECT generate_series(1, 3) FROM", "42601"),
    ] {
        let message = message_of(served.query(&mut client, query));
        assert!(message.contains(&format!("{state}: ")), "{query}: {message}");
    }
    let rows = served.query(&mut client, "SELECT 1").expect("the connection goes on");
    assert_eq!(texts(&rows), [["1"]]);
}

#[test]
fn rows_are_given_once() {
    let served = Served::new(trusting());
    let mut client = served.client();
    served.runtime.block_on(async {
        let info = client.execute("SELECT 1".to_owned(), None).await.expect("it runs");
        assert_eq!(info.total_records, 1);
        assert_eq!(texts(&read(&mut client, &info).await.expect("rows")), [["1"]]);
        let message = message_of(read(&mut client, &info).await);
        assert!(message.contains("26000: there is no such result, or no longer"), "{message}");
    });
}

#[test]
fn rows_that_nobody_reads_go() {
    let patience = Duration::from_millis(1);
    let served = Served::new(FlightOptions { ticket_patience: patience, ..trusting() });
    let mut client = served.client();
    let query = "SELECT i FROM generate_series(1, 100000) i".to_owned();
    let info = served.runtime.block_on(client.execute(query, None)).expect("it runs");
    served.wait("its memory is given back", |served| {
        let used =
            served.value("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT i%'");
        used == "0"
    });
    served.wait("its ticket is of no use", |_| {
        let outcome = served.runtime.block_on(read(&mut client.clone(), &info));
        outcome.is_err()
    });
}

#[test]
fn passwords_and_tokens() {
    let served = Served::new(FlightOptions::default());
    let mut client = served.client();
    let message = message_of(served.query(&mut client, "SELECT 1"));
    assert!(message.contains("28000: a user and a password are needed"), "{message}");
    for (user, password) in [("tessera", "wrong"), ("nobody", "secret"), ("tessera", "")] {
        let outcome = served.runtime.block_on(client.handshake(user, password));
        let message = outcome.expect_err("not let in").to_string();
        let expected = format!("28P01: password authentication failed for user \\\"{user}\\\"");
        let plain = expected.replace("\\\"", "\"");
        assert!(message.contains(&expected) || message.contains(&plain), "{message}");
    }
    served.runtime.block_on(client.handshake("tessera", "secret")).expect("let in");
    let rows = served.query(&mut client, "SELECT current_user::text").expect("a token");
    assert_eq!(texts(&rows), [["tessera"]]);
    served.execute("ALTER ROLE tessera PASSWORD 'other'");
    let message = message_of(served.query(&mut client, "SELECT 1"));
    assert!(message.contains("28000: the token is not valid, or no longer"), "{message}");
}

#[test]
fn rights_are_those_of_the_user_and_handles_their_owners() {
    let served = Served::new(FlightOptions::default());
    served.execute("CREATE ROLE ann LOGIN PASSWORD 'a'");
    served.execute("CREATE TABLE secret (v int)");
    let (mut ann, mut other) = (served.client(), served.client());
    served.runtime.block_on(ann.handshake("ann", "a")).expect("let in");
    served.runtime.block_on(other.handshake("tessera", "secret")).expect("let in");
    let message = message_of(served.query(&mut ann, "SELECT v FROM secret"));
    assert!(message.contains("42501: permission denied for table secret"), "{message}");
    served.runtime.block_on(async {
        let info = other.execute("SELECT v FROM secret".to_owned(), None).await.expect("it runs");
        assert!(message_of(read(&mut ann, &info).await).contains("26000"));
        assert!(read(&mut other, &info).await.expect("its owner's").is_empty());
    });
}

#[test]
fn updates_and_transactions() {
    let served = Served::new(trusting());
    let mut client = served.client();
    let runtime = &served.runtime;
    let update = |client: &mut support::Client, text: &str, txn| {
        runtime.block_on(client.execute_update(text.to_owned(), txn))
    };
    assert_eq!(update(&mut client, "CREATE TABLE t (v int PRIMARY KEY)", None).expect("DDL"), 0);
    let insert = "INSERT INTO t SELECT generate_series(1, 10)";
    assert_eq!(update(&mut client, insert, None).expect("rows"), 10);

    let first = runtime.block_on(client.begin_transaction()).expect("a transaction");
    let deleted = update(&mut client, "DELETE FROM t WHERE v > 3", Some(first.clone()));
    assert_eq!(deleted.expect("rows"), 7);
    let inside = served.query_in(&mut client, "SELECT count(*) FROM t", Some(first.clone()));
    assert_eq!(texts(&inside.expect("rows")), [["3"]]);
    let outside = served.query(&mut client, "SELECT count(*) FROM t").expect("rows");
    assert_eq!(texts(&outside), [["10"]]);
    runtime.block_on(client.end_transaction(first.clone(), EndTransaction::Rollback)).expect("end");
    assert_eq!(served.value("SELECT count(*) FROM t"), "10");
    let over = served.query_in(&mut client, "SELECT 1", Some(first));
    assert!(message_of(over).contains("26000: there is no such transaction"));

    let second = runtime.block_on(client.begin_transaction()).expect("a transaction");
    update(&mut client, "DELETE FROM t WHERE v = 1", Some(second.clone())).expect("a row");
    runtime.block_on(client.end_transaction(second, EndTransaction::Commit)).expect("commit");
    assert_eq!(served.value("SELECT count(*) FROM t"), "9");

    let third = runtime.block_on(client.begin_transaction()).expect("a transaction");
    update(&mut client, "INSERT INTO t VALUES (2)", Some(third.clone())).expect_err("23505");
    let failed = served.query_in(&mut client, "SELECT 1", Some(third.clone()));
    assert!(message_of(failed).contains("25P02"));
    let commit = client.end_transaction(third, EndTransaction::Commit);
    assert!(runtime.block_on(commit).expect_err("it failed").to_string().contains("25P02"));
}

#[test]
fn transactions_that_nobody_comes_back_to_are_rolled_back() {
    let patience = Duration::from_millis(1);
    let served = Served::new(FlightOptions { handle_patience: patience, ..trusting() });
    served.execute("CREATE TABLE t (v int)");
    let mut client = served.client();
    served.runtime.block_on(async {
        let begun = client.begin_transaction().await.expect("a transaction");
        // Whether it is still there decides the clock.
        let _ = client.execute_update("INSERT INTO t VALUES (1)".to_owned(), Some(begun)).await;
    });
    served.wait("its session ends", |served| {
        served.value("SELECT count(*) FROM pg_stat_activity WHERE usename = 'tessera'") == "0"
    });
    assert_eq!(served.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_transaction_ends_with_its_connection() {
    let served = Served::new(trusting());
    served.execute("CREATE TABLE t (v int)");
    let mut client = served.client();
    served.runtime.block_on(async {
        let begun = client.begin_transaction().await.expect("a transaction");
        let insert = "INSERT INTO t VALUES (1)".to_owned();
        assert_eq!(client.execute_update(insert, Some(begun)).await.expect("a row"), 1);
    });
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'tessera'";
    assert_eq!(served.value(sessions), "1");
    drop(client);
    served.wait("its session ends", |served| served.value(sessions) == "0");
    assert_eq!(served.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn prepared_statements() {
    let served = Served::new(trusting());
    served.execute("CREATE TABLE t (k bigint PRIMARY KEY, v text, d date)");
    let mut client = served.client();
    served.runtime.block_on(async {
        let insert = "INSERT INTO t VALUES ($1, $2, $3)".to_owned();
        let mut statement = client.prepare(insert, None).await.expect("it is prepared");
        let types: Vec<DataType> = statement
            .parameter_schema()
            .expect("a schema")
            .fields()
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        assert_eq!(types, [DataType::Int64, DataType::Utf8, DataType::Date32]);
        let fields = ["k", "v", "d"].map(|name| {
            let ty = if name == "k" { DataType::Int64 } else { DataType::Utf8 };
            Field::new(name, ty, true)
        });
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let batch = |keys: Vec<i64>| {
            let rows = keys.len();
            let (values, days) = (vec![Some("x"); rows], vec![Some("2026-01-02"); rows]);
            let columns: Vec<arrow_array::ArrayRef> = vec![
                Arc::new(Int64Array::from(keys)),
                Arc::new(StringArray::from(values)),
                Arc::new(StringArray::from(days)),
            ];
            RecordBatch::try_new(Arc::clone(&schema), columns).expect("a batch")
        };
        statement.set_parameters(batch((1..=1000).collect())).expect("parameters");
        assert_eq!(statement.execute_update().await.expect("rows"), 1000);
        // The last row has a key that is there: none of them stays.
        statement.set_parameters(batch(vec![1001, 1002, 1])).expect("parameters");
        let error = statement.execute_update().await.expect_err("a key twice").to_string();
        assert!(error.contains("23505"), "{error}");
        statement.close().await.expect("closed");

        let query = "SELECT k, d::text FROM t WHERE k = $1".to_owned();
        let mut statement = client.prepare(query, None).await.expect("it is prepared");
        let key = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, true)]));
        for wanted in [7, 9] {
            let column = Arc::new(Int64Array::from(vec![wanted]));
            let batch = RecordBatch::try_new(Arc::clone(&key), vec![column]).expect("a batch");
            statement.set_parameters(batch).expect("a parameter");
            let info = statement.execute().await.expect("it runs");
            let rows = texts(&read(&mut client, &info).await.expect("rows"));
            assert_eq!(rows, [[wanted.to_string(), "2026-01-02".to_owned()]]);
        }
    });
    assert_eq!(served.value("SELECT count(*) FROM t"), "1000");
}

#[test]
fn lists_of_what_there_is() {
    let served = Served::new(trusting());
    served.execute("CREATE SCHEMA s");
    served.execute("CREATE TABLE s.t (a int, b text)");
    served.execute("CREATE VIEW s.w AS SELECT a FROM s.t");
    let mut client = served.client();
    served.runtime.block_on(async {
        let asked = CommandGetTables {
            db_schema_filter_pattern: Some("s".into()),
            include_schema: true,
            ..CommandGetTables::default()
        };
        let info = client.get_tables(asked).await.expect("a list");
        let tables = read(&mut client, &info).await.expect("tables");
        let names: Vec<Vec<String>> = texts(&tables).iter().map(|row| row[1..4].to_vec()).collect();
        assert_eq!(names, [["s", "t", "TABLE"], ["s", "w", "VIEW"]]);
        let asked = CommandGetDbSchemas {
            db_schema_filter_pattern: Some("%s%".into()),
            ..CommandGetDbSchemas::default()
        };
        let info = client.get_db_schemas(asked).await.expect("a list");
        let schemas = texts(&read(&mut client, &info).await.expect("schemas"));
        assert!(schemas.iter().any(|row| row[1] == "s"), "{schemas:?}");
        let info = client.get_catalogs().await.expect("a list");
        assert_eq!(read(&mut client, &info).await.expect("catalogs")[0].num_rows(), 1);
        let info = client.get_table_types().await.expect("a list");
        assert_eq!(read(&mut client, &info).await.expect("kinds")[0].num_rows(), 6);
        let asked = vec![SqlInfo::FlightSqlServerName, SqlInfo::FlightSqlServerTransaction];
        let info = client.get_sql_info(asked).await.expect("a list");
        let facts = read(&mut client, &info).await.expect("facts");
        assert_eq!(facts[0].num_rows(), 2, "{:?}", SqlSupportedTransaction::Savepoint);
    });
}

#[test]
fn a_call_that_ends_early_cancels_its_statement() {
    let served = Served::new(trusting());
    let mut client = served.client();
    let running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' \
                   AND query LIKE 'SELECT count(*) FROM generate_series(1, 1000000)%'";
    let query = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
    let call = served.runtime.spawn(async move { client.execute(query.to_owned(), None).await });
    served.wait("it runs", |served| served.value(running) == "1");
    call.abort();
    served.wait("it was cancelled", |served| served.value(running) == "0");
}

#[test]
fn statements_end_at_their_time_limit() {
    let served = Served::new(trusting());
    served.execute("ALTER ROLE tessera SET statement_timeout = '50ms'");
    let mut client = served.client();
    let query = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
    let message = message_of(served.query(&mut client, query));
    let expected = "57014: canceling statement due to statement timeout";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn there_are_no_more_sessions_than_allowed() {
    let served = Served::new(FlightOptions { sessions_max: 1, ..trusting() });
    let mut client = served.client();
    let begun = served.runtime.block_on(client.begin_transaction()).expect("one");
    let message = message_of(served.query(&mut client, "SELECT 1"));
    assert!(message.contains("53300: sorry, too many clients already"), "{message}");
    let end = client.end_transaction(begun, EndTransaction::Commit);
    served.runtime.block_on(end).expect("it ends");
    served.wait("there is room again", |_| served.query(&mut client.clone(), "SELECT 1").is_ok());
}

#[test]
fn other_machines_need_tls() {
    let listen = "0.0.0.0:0".parse().expect("an address");
    let options = FlightOptions { listen, ..FlightOptions::default() };
    for authentication in [Authentication::Scram, Authentication::Trust] {
        let options = FlightOptions { authentication, ..options.clone() };
        let outcome = Server::start(database(), options).map(|_| ());
        assert_eq!(outcome.expect_err("refused").state(), SqlState::INVALID_PARAMETER);
    }
}
