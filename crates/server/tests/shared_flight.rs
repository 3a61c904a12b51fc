//! Scans of shared tables in parts over Arrow Flight: parts of one snapshot, from any node.

#[path = "shared_sql/cluster.rs"]
mod cluster;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_flight::error::FlightError;
use arrow_flight::{
    CancelFlightInfoRequest, CancelStatus, FlightClient, FlightDescriptor, FlightInfo,
    RenewFlightEndpointRequest, Ticket,
};
use futures::TryStreamExt as _;
use postgres::Client;
use tonic::transport::Endpoint;

use cluster::{Cluster, Process, client};

/// Rows of one statement, and of statements of their own.
const ROWS: [i64; 2] = [40_000, 200];

async fn flight(node: &Process) -> FlightClient {
    let address = node.flight.as_ref().expect("it serves Arrow Flight");
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    FlightClient::new(endpoint.connect().await.expect("it listens"))
}

async fn info(node: &Process, asked: &str) -> FlightInfo {
    let descriptor = FlightDescriptor::new_cmd(asked.to_owned());
    flight(node).await.get_flight_info(descriptor).await.expect("a scan")
}

fn tickets(info: &FlightInfo) -> Vec<Ticket> {
    info.endpoint.iter().map(|endpoint| endpoint.ticket.clone().expect("a ticket")).collect()
}

async fn read(node: &Process, ticket: &Ticket) -> Result<Vec<RecordBatch>, FlightError> {
    flight(node).await.do_get(ticket.clone()).await?.try_collect().await
}

/// How often each key comes, and the sum of the values beside it.
#[derive(Default)]
struct Seen {
    keys: BTreeMap<i64, usize>,
    sum: i64,
}

impl Seen {
    fn add(&mut self, batches: &[RecordBatch]) {
        for batch in batches {
            let keys = batch.column(0).as_primitive::<Int64Type>();
            keys.values().iter().for_each(|key| *self.keys.entry(*key).or_default() += 1);
            self.sum += batch.column(1).as_primitive::<Int64Type>().values().iter().sum::<i64>();
        }
    }
}

fn execute(client: &mut Client, statement: &str) {
    client.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

fn value(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).expect("one row").get(0)
}

fn fill(client: &mut Client) {
    execute(client, "CREATE TABLE t (k bigint, v bigint, s text)");
    let [at_once, alone] = ROWS;
    let series = format!("generate_series(1, {at_once})");
    execute(client, &format!("INSERT INTO t SELECT i, i % 7, 's' || i FROM {series} i"));
    for key in at_once + 1..=at_once + alone {
        execute(client, &format!("INSERT INTO t VALUES ({key}, {key} % 7, 's')"));
    }
}

/// Changes rows until it is over; a transaction that loses to another is none.
fn write(node: &Process, is_over: &AtomicBool) {
    let mut client = client(node);
    let mut next = ROWS.iter().sum::<i64>();
    while !is_over.load(Ordering::Relaxed) {
        next += 1;
        execute(&mut client, &format!("INSERT INTO t VALUES ({next}, 0, 'new')"));
        let at = next % 1000;
        execute(&mut client, &format!("UPDATE t SET v = v + 1000 WHERE k % 1000 = {at}"));
        execute(&mut client, &format!("DELETE FROM t WHERE k = {at}"));
    }
}

fn parts_are_the_whole(name: &str, stores: usize) {
    let cluster = Cluster::start(name, stores);
    let options = ["--flight", "127.0.0.1:0"];
    let nodes = [cluster.node_with(&options), cluster.node_with(&options)];
    let plain = cluster.node();
    let mut sql = client(&plain);
    fill(&mut sql);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let all: i64 = ROWS.iter().sum();
    let expected: i64 = (1..=all).map(|key| key % 7).sum();

    let asked = r#"{"table": "t", "columns": ["k", "v"], "parts": 6, "hold": true}"#;
    let info = runtime.block_on(info(&nodes[0], asked));
    let parts = tickets(&info);
    assert!(parts.len() > 1 && parts.len() <= 6, "{}", parts.len());
    assert_eq!(parts.len() % stores, 0, "parts of one store each");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| write(&nodes[1], &is_over));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // Whatever is committed meanwhile, and from whatever node.
            for turn in 0..3 {
                let before = value(&mut sql, "SELECT max(k) FROM t");
                let mut seen = Seen::default();
                for (number, part) in parts.iter().enumerate() {
                    let node = &nodes[(number + turn) % 2];
                    let batches = runtime.block_on(read(node, part)).expect("rows");
                    assert!(!batches.is_empty(), "part {number} has none");
                    seen.add(&batches);
                }
                assert_eq!(seen.keys.len() as i64, all);
                assert!(seen.keys.iter().zip(1..).all(|((key, n), at)| *key == at && *n == 1));
                assert_eq!(seen.sum, expected);
                while value(&mut sql, "SELECT max(k) FROM t") == before {}
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    assert_ne!(value(&mut sql, "SELECT sum(v)::bigint FROM t"), expected);
    ends(&runtime, &nodes, &info);
    pushed(&runtime, &nodes[0], &mut sql);
}

/// A snapshot ends when no node has it any more.
fn ends(runtime: &tokio::runtime::Runtime, nodes: &[Process; 2], info: &FlightInfo) {
    let part = &tickets(info)[0];
    let cancel = async |node: &Process| {
        let request = CancelFlightInfoRequest::new(info.clone());
        let result = flight(node).await.cancel_flight_info(request).await.expect("cancelled");
        assert_eq!(result.status(), CancelStatus::Cancelled);
    };
    runtime.block_on(async {
        cancel(&nodes[0]).await;
        // The second node has it, so that the first one may have it again.
        read(&nodes[0], part).await.expect("rows");
        let request = RenewFlightEndpointRequest::new(info.endpoint[0].clone());
        let renewed = flight(&nodes[1]).await.renew_flight_endpoint(request).await;
        assert!(renewed.expect("it is held").expiration_time.is_some());
    });
    let mut sql = client(&nodes[0]);
    // A snapshot is let go behind the answer, and held again by who reads it before.
    let late = loop {
        nodes.iter().for_each(|node| runtime.block_on(cancel(node)));
        execute(&mut sql, "INSERT INTO t VALUES (0, 0, 'later')");
        if let Err(late) = runtime.block_on(read(&nodes[0], part)) {
            break late;
        }
    };
    assert!(late.to_string().contains("26000: there is no such snapshot"), "{late}");
    let late = runtime.block_on(read(&nodes[1], part)).expect_err("nobody holds it");
    assert!(late.to_string().contains("26000: there is no such snapshot"), "{late}");
}

/// Conditions, limits and aggregates.
fn pushed(runtime: &tokio::runtime::Runtime, node: &Process, sql: &mut Client) {
    let scan = |asked: &str| {
        runtime.block_on(async {
            let info = info(node, asked).await;
            let mut all = Vec::new();
            for part in tickets(&info) {
                all.extend(read(node, &part).await.expect("rows"));
            }
            (info.endpoint.len(), all)
        })
    };
    let asked = r#"{"table": ["shared", "t"], "columns": ["k", "v"], "parts": 4,
        "where": "k > 100 AND v = (SELECT min(v) FROM t WHERE v > 2)"}"#;
    let mut seen = Seen::default();
    seen.add(&scan(asked).1);
    let query = "SELECT count(*) FROM t WHERE k > 100 AND v = 3";
    assert_eq!(seen.keys.len() as i64, value(sql, query), "subqueries see the whole table");
    assert!(seen.keys.values().all(|count| *count == 1));

    let (parts, rows) = scan(r#"{"table": "t", "limit": 10, "parts": 4}"#);
    assert_eq!((parts, rows.iter().map(RecordBatch::num_rows).sum::<usize>()), (1, 10));

    let asked = r#"{"table": "t", "group": ["v"], "parts": 4,
        "aggregates": [{"function": "count"},
        {"function": "sum", "column": "k", "type": "bigint"}]}"#;
    let mut groups = BTreeMap::<i64, (i64, i64)>::new();
    for batch in scan(asked).1 {
        let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().values();
        for ((v, count), sum) in column(0).iter().zip(column(1)).zip(column(2)) {
            let group = groups.entry(*v).or_default();
            *group = (group.0 + count, group.1 + sum);
        }
    }
    let rows = sql.query("SELECT v, count(*), sum(k)::bigint FROM t GROUP BY v", &[]);
    let rows = rows.expect("groups");
    let expected = rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect();
    assert_eq!(groups, expected);
}

#[test]
fn a_snapshot_outlives_the_node_that_made_it() {
    let cluster = Cluster::start("flight-dies", 2);
    let options = ["--flight", "127.0.0.1:0"];
    let (mut maker, other) = (cluster.node_with(&options), cluster.node_with(&options));
    let mut sql = client(&other);
    fill(&mut sql);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let info = runtime.block_on(info(&maker, r#"{"table": "t", "columns": ["k", "v"]}"#));
    let parts = tickets(&info);
    runtime.block_on(read(&other, &parts[0])).expect("rows");
    maker.kill();
    execute(&mut sql, "UPDATE t SET v = -1");
    let mut seen = Seen::default();
    for part in &parts {
        seen.add(&runtime.block_on(read(&other, part)).expect("rows"));
    }
    let all: i64 = ROWS.iter().sum();
    assert!(seen.keys.len() as i64 == all && seen.keys.values().all(|count| *count == 1));
    assert_eq!(seen.sum, (1..=all).map(|key| key % 7).sum::<i64>());
}

#[test]
fn parts_of_one_store_are_the_whole_beside_writers() {
    parts_are_the_whole("flight-one", 1);
}

#[test]
fn parts_of_three_stores_are_the_whole_beside_writers() {
    parts_are_the_whole("flight-three", 3);
}
