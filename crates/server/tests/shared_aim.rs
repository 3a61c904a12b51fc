//! Huawei-AIM on shared tables: calls change what the model says, and the seven queries answer as
//! on a table of the node alone, also while another node makes calls.

#[path = "shared_sql/cluster.rs"]
mod cluster;

use std::io::Write as _;

use postgres::{Client, SimpleQueryMessage};
use workloads::aim::{ATTRIBUTES_MIN, Aim, QUERIES};

use cluster::{Cluster, client};

const AIM: Aim = Aim { subscribers: 400, attributes: ATTRIBUTES_MIN };

const SHARED: &str = "shared.subscribers";
const OWN: &str = "public.subscribers";

/// Calls of the stream.
const CALLS: u64 = 300;

fn fill(sql: &mut Client, table: &str) {
    sql.batch_execute(&AIM.create_table(table)).expect("is new");
    let mut lines = String::new();
    (0..AIM.subscribers).for_each(|id| AIM.subscriber(id).write(&mut lines));
    let mut rows = sql.copy_in(&format!("COPY {table} FROM STDIN")).expect("takes rows");
    rows.write_all(lines.as_bytes()).expect("takes rows");
    rows.finish().expect("has them");
}

fn call(sql: &mut Client, table: &str, number: u64) {
    let call = AIM.call(number);
    let update = sql.prepare(&call.reach.update(table)).expect("a statement");
    let subscriber = call.subscriber as i64;
    let changed = sql.execute(&update, &[&call.seconds, &call.cents, &subscriber]);
    assert_eq!(changed.expect("nobody else writes"), 1);
}

fn rows(sql: &mut Client, query: &str) -> Vec<Vec<Option<String>>> {
    let messages = sql.simple_query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
        }
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}

/// Asserts that the seven queries have the same answers on both tables.
fn assert_alike(sql: &mut Client, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        for number in 1..=QUERIES {
            let [shared, own] = [SHARED, OWN].map(|table| AIM.query(number, table, seed));
            assert_eq!(rows(sql, &shared), rows(sql, &own), "{shared}");
        }
    }
}

#[test]
fn row_66_answers_are_those_of_a_table_of_the_node() {
    let cluster = Cluster::start("aim", 2);
    let (node, other) = (cluster.node(), cluster.node());
    let mut sql = client(&node);
    fill(&mut sql, SHARED);
    fill(&mut sql, OWN);
    assert_alike(&mut sql, 0..3);
    // Calls come through another node than queries.
    let mut calls = client(&other);
    for number in 0..CALLS {
        call(&mut calls, SHARED, number);
        call(&mut sql, OWN, number);
        if number % 100 == 0 {
            assert_alike(&mut sql, number..number + 1);
        }
    }
    assert_alike(&mut sql, 10..20);
    let (audit, expected) = AIM.audit(SHARED, CALLS);
    let expected: Vec<_> = expected.iter().map(|sum| Some(sum.to_string())).collect();
    assert_eq!(rows(&mut sql, &audit), [expected]);
}
