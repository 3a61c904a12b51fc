//! Scans of one snapshot in parts.

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_flight::error::FlightError;
use arrow_flight::{Criteria, FlightDescriptor, FlightInfo, Ticket};
use flight::FlightOptions;
use futures::TryStreamExt as _;

use support::{Client, Served, message_of, read, read_ticket, texts, trusting};

const ROWS: i64 = 200_000;

async fn info_of(
    client: &mut Client,
    descriptor: FlightDescriptor,
) -> Result<FlightInfo, FlightError> {
    let info = client.inner_mut().get_flight_info(descriptor).await;
    Ok(info.map_err(FlightError::from)?.into_inner())
}

fn command(text: &str) -> FlightDescriptor {
    FlightDescriptor::new_cmd(text.to_owned())
}

fn tickets(info: &FlightInfo) -> Vec<Ticket> {
    info.endpoint.iter().map(|endpoint| endpoint.ticket.clone().expect("a ticket")).collect()
}

/// How often each key comes.
fn keys(batches: &[RecordBatch], into: &mut BTreeMap<i64, usize>) {
    for batch in batches {
        let column = batch.column(0).as_primitive::<Int64Type>();
        column.values().iter().for_each(|key| *into.entry(*key).or_default() += 1);
    }
}

fn served(options: FlightOptions) -> Served {
    let served = Served::new(options);
    served.execute("CREATE TABLE t (k bigint PRIMARY KEY, v bigint, s text)");
    let insert =
        format!("INSERT INTO t SELECT i, i % 7, 's' || i FROM generate_series(1, {ROWS}) i");
    served.execute(&insert);
    served
}

#[test]
fn parts_together_are_the_whole_of_one_snapshot_beside_writers() {
    let served = served(trusting());
    let mut client = served.client();
    let asked = command(r#"{"table": "t", "columns": ["k", "v"], "parts": 5}"#);
    let info = served.runtime.block_on(info_of(&mut client, asked)).expect("a scan");
    let parts = tickets(&info);
    assert!(parts.len() > 1 && parts.len() <= 5, "{}", parts.len());
    let is_over = AtomicBool::new(false);
    let mut seen = BTreeMap::new();
    let mut sum = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = served.database.session();
            let mut next = ROWS;
            while !is_over.load(Ordering::Relaxed) {
                next += 1;
                for statement in [
                    format!("UPDATE t SET v = v + 1000 WHERE k % 1000 = {}", next % 1000),
                    format!("DELETE FROM t WHERE k = {}", next - ROWS),
                    format!("INSERT INTO t VALUES ({next}, 0, 'new')"),
                    format!("UPDATE t SET k = -k WHERE k = {}", next - ROWS + 5000),
                ] {
                    session.execute(&statement).expect("a change");
                }
            }
        });
        let readers: Vec<_> = parts
            .iter()
            .map(|ticket| {
                let mut client = served.client();
                let ticket = ticket.clone();
                served.runtime.spawn(async move { read_ticket(&mut client, ticket).await })
            })
            .collect();
        for reader in readers {
            let batches = served.runtime.block_on(reader).expect("no panic").expect("rows");
            keys(&batches, &mut seen);
            let values = batches.iter().map(|batch| batch.column(1).as_primitive::<Int64Type>());
            sum += values.flat_map(|values| values.values().to_vec()).sum::<i64>();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(seen.len(), ROWS as usize);
    assert!(seen.iter().enumerate().all(|(at, (key, count))| *key == at as i64 + 1 && *count == 1));
    assert_eq!(sum, (1..=ROWS).map(|key| key % 7).sum::<i64>());
    assert_ne!(served.value("SELECT sum(v) FROM t"), sum.to_string());
    let again = served.runtime.block_on(read_ticket(&mut client, parts[0].clone()));
    assert!(message_of(again).contains("26000: there is no such snapshot, or no longer"));
}

#[test]
fn conditions_columns_and_limits() {
    let served = served(trusting());
    let mut client = served.client();
    let count = |client: &mut Client, text: &str| {
        served.runtime.block_on(async {
            let info = info_of(client, command(text)).await?;
            let batches = read(client, &info).await?;
            Ok::<_, FlightError>((
                info.endpoint.len(),
                batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
                batches.first().map_or(0, RecordBatch::num_columns),
            ))
        })
    };
    let text =
        r#"{"table": ["public", "t"], "columns": ["s"], "where": "v = 3 -- three", "parts": 3}"#;
    let (parts, rows, columns) = count(&mut client, text).expect("rows");
    assert!(parts > 1 && parts <= 3);
    assert_eq!((rows, columns), ((1..=ROWS).filter(|key| key % 7 == 3).count(), 1));
    let text = r#"{"table": "t", "limit": 10, "parts": 4}"#;
    assert_eq!(count(&mut client, text).expect("rows"), (1, 10, 3));
    served.execute("CREATE VIEW w AS SELECT k FROM t WHERE k <= 100");
    assert_eq!(count(&mut client, r#"{"table": "w", "parts": 4}"#).expect("rows"), (1, 100, 1));
    for (text, state) in [
        (r#"{"table": "nothing"}"#, "42P01"),
        (r#"{"table": "t", "columns": ["x"]}"#, "42703"),
        (r#"{"table": "t", "where": "v = 3) OR (v = 4"}"#, "42601"),
        (r#"{"table": "t", "where": "v"}"#, "42804"),
        (r#"{"table": "t", "parts": 0}"#, "22023"),
        (r#"{"columns": ["k"]}"#, "22023"),
    ] {
        let message = message_of(count(&mut client, text));
        assert!(message.contains(&format!("{state}: ")), "{text}: {message}");
    }
}

/// Runs the scan that is asked for: how many parts it has, and how often each key came.
fn scan(served: &Served, asked: &str) -> (usize, BTreeMap<i64, usize>) {
    let mut client = served.client();
    let mut seen = BTreeMap::new();
    let parts = served.runtime.block_on(async {
        let info = info_of(&mut client, command(asked)).await.expect("a scan");
        keys(&read(&mut client, &info).await.expect("rows"), &mut seen);
        info.endpoint.len()
    });
    (parts, seen)
}

#[test]
fn partitions_come_whole() {
    let served = Served::new(trusting());
    served.execute("CREATE TABLE p (k bigint, v text) PARTITION BY HASH (k)");
    for part in 0..3 {
        let create = "CREATE TABLE p{} PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER {})";
        served.execute(&create.replace("{}", &part.to_string()));
    }
    served.execute("INSERT INTO p SELECT i, 'x' FROM generate_series(1, 300000) i");
    let (parts, seen) = scan(&served, r#"{"table": "p", "columns": ["k"], "parts": 4}"#);
    assert!(parts > 1);
    assert_eq!(seen.len(), 300_000);
    assert!(seen.values().all(|count| *count == 1));
}

#[test]
fn frozen_and_changed_blocks_come_whole() {
    let served = served(trusting());
    served.execute("VACUUM (FREEZE) t");
    served.execute("DELETE FROM t WHERE k % 3 = 0");
    served.execute("UPDATE t SET v = -1 WHERE k % 5 = 1");
    let (_, seen) = scan(&served, r#"{"table": "t", "columns": ["k"], "parts": 16}"#);
    assert_eq!(seen.len(), (1..=ROWS).filter(|key| key % 3 != 0).count());
    assert!(seen.values().all(|count| *count == 1));
}

#[test]
fn a_table_keeps_its_definition_while_its_snapshot_is_held() {
    let served = served(trusting());
    let mut client = served.client();
    let asked = command(r#"{"table": "t", "columns": ["k"], "parts": 2}"#);
    let info = served.runtime.block_on(info_of(&mut client, asked)).expect("a scan");
    let mut session = served.database.session();
    session.execute("SET lock_timeout = '20ms'").expect("a setting");
    let waits = session.execute("ALTER TABLE t DROP COLUMN s").map(|_| ()).expect_err("locked");
    assert_eq!(waits.state(), types::SqlState::LOCK_NOT_AVAILABLE);
    let rows = served.runtime.block_on(read(&mut client, &info)).expect("rows");
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), ROWS as usize);
    served.wait("the lock goes with the last part", |_| {
        session.execute("ALTER TABLE t DROP COLUMN s").is_ok()
    });
}

#[test]
fn snapshots_that_nobody_reads_are_let_go() {
    let patience = Duration::from_millis(1);
    let served = served(FlightOptions { ticket_patience: patience, ..trusting() });
    let mut client = served.client();
    let asked = command(r#"{"table": "t", "parts": 2}"#);
    let info = served.runtime.block_on(info_of(&mut client, asked)).expect("a scan");
    served.wait("its session ends", |served| {
        served.value("SELECT count(*) FROM pg_stat_activity WHERE usename = 'tessera'") == "0"
    });
    let late = served.runtime.block_on(read_ticket(&mut client, tickets(&info)[0].clone()));
    assert!(message_of(late).contains("26000: there is no such snapshot, or no longer"));
}

#[test]
fn a_reader_that_leaves_ends_its_part() {
    let served = served(trusting());
    // More than what fits between the two: else the server may have sent all before.
    served.execute("UPDATE t SET s = repeat(s, 40)");
    let mut client = served.client();
    let asked = command(r#"{"table": "t", "parts": 1}"#);
    let info = served.runtime.block_on(info_of(&mut client, asked)).expect("a scan");
    let ticket = tickets(&info)[0].clone();
    served.runtime.block_on(async {
        let mut rows = client.do_get(ticket.clone()).await.expect("rows");
        assert!(rows.try_next().await.expect("a batch").is_some());
    });
    served.wait("its session ends, the holder's stays", |served| {
        served.value("SELECT count(*) FROM pg_stat_activity WHERE usename = 'tessera'") == "1"
    });
    let rows = served.runtime.block_on(read_ticket(&mut client, ticket)).expect("again");
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), ROWS as usize);
}

#[test]
fn tables_are_listed_with_their_columns() {
    let served = served(trusting());
    let mut client = served.client();
    served.runtime.block_on(async {
        let list = client.inner_mut().list_flights(Criteria::default()).await.expect("a list");
        let infos: Vec<FlightInfo> = list.into_inner().try_collect().await.expect("tables");
        let info = infos.into_iter().next().expect("one");
        let descriptor = info.flight_descriptor.clone().expect("a path");
        assert_eq!(descriptor.path, ["public", "t"]);
        let schema = info.try_decode_schema().expect("a schema");
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        assert_eq!(names, ["k", "v", "s"]);
        let info = info_of(&mut client, descriptor).await.expect("a scan");
        let rows = texts(&read(&mut client, &info).await.expect("rows"));
        assert_eq!(rows.len(), ROWS as usize);
    });
}
