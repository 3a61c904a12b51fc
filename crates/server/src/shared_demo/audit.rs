//! The check of a cluster at the end: TPC-C's conditions, and the orders that clients know of.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::UNIX_EPOCH;

use postgres::{Client, Row};
use types::Result;
use workloads::tpcc::postgres::failure;
use workloads::tpcc::{Failure, Scale, violations};

use super::population::{connect, error_of};
use super::say;
use super::traffic::{Ledger, Order};

/// Orders since the population, with how many lines each has.
const ORDERS: &str = "SELECT o_entry_d, o_w_id, o_d_id, o_id, o_c_id, count(*) \
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
    WHERE o_entry_d > TIMESTAMP '2026-01-01 00:00:00' \
    GROUP BY o_entry_d, o_w_id, o_d_id, o_id, o_c_id";

/// Problems that are printed, at most.
const SHOWN: usize = 10;

/// Differences between what clients know and what is there.
#[derive(Debug, Default, PartialEq, Eq)]
struct Comparison {
    problems: Vec<String>,
    /// Orders in doubt that are there.
    happened: usize,
}

/// Compares what clients know with the orders that are there.
fn compare(ledger: &Ledger, found: &[Order]) -> Comparison {
    let mut comparison = Comparison::default();
    let mut left: BTreeMap<i64, Order> = BTreeMap::new();
    for order in found {
        if left.insert(order.time, *order).is_some() {
            comparison.problems.push(format!("there twice: {order:?}"));
        }
    }
    for order in &ledger.acknowledged {
        match left.remove(&order.time) {
            Some(there) if there == *order => {}
            Some(there) => comparison.problems.push(format!("{there:?} in the place of {order:?}")),
            None => comparison.problems.push(format!("acknowledged, and lost: {order:?}")),
        }
    }
    for time in &ledger.doubtful {
        comparison.happened += usize::from(left.remove(time).is_some());
    }
    comparison.problems.extend(left.values().map(|order| format!("nobody's: {order:?}")));
    comparison
}

fn order_of(row: &Row) -> std::result::Result<Order, postgres::Error> {
    let time: std::time::SystemTime = row.try_get(0)?;
    // All of them are later than 2026.
    let time = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64;
    Ok(Order {
        time,
        warehouse: row.try_get(1)?,
        district: row.try_get(2)?,
        number: row.try_get(3)?,
        customer: row.try_get(4)?,
        lines: row.try_get(5)?,
    })
}

fn orders(client: &mut Client) -> std::result::Result<Vec<Order>, postgres::Error> {
    client.query(ORDERS, &[])?.iter().map(order_of).collect()
}

/// Checks and prints; true when everything is as it has to be.
///
/// # Errors
/// Errors of the node that is asked.
pub(super) fn run(node: SocketAddr, scale: &Scale, ledger: &Ledger) -> Result<bool> {
    let mut client = connect(node).map_err(error_of)?;
    let integer = |sql: &str| -> std::result::Result<i64, Failure> {
        client.query_one(sql, &[]).and_then(|row| row.try_get(0)).map_err(failure)
    };
    let broken = violations(scale, integer).map_err(error_of)?;
    let found = orders(&mut client).map_err(failure).map_err(error_of)?;
    let Comparison { problems, happened } = compare(ledger, &found);
    if broken.is_empty() {
        say("The 12 consistency conditions of TPC-C hold.");
    }
    broken.iter().for_each(|violation| say(&format!("BROKEN {violation}")));
    let acknowledged = ledger.acknowledged.len();
    if problems.is_empty() {
        say(&format!(
            "{acknowledged} New-Orders were acknowledged: each is there, once, with its lines."
        ));
    }
    problems.iter().take(SHOWN).for_each(|problem| say(&format!("WRONG {problem}")));
    if problems.len() > SHOWN {
        say(&format!("WRONG and {} more", problems.len() - SHOWN));
    }
    if !ledger.doubtful.is_empty() {
        let count = ledger.doubtful.len();
        say(&format!(
            "{count} lost their node at their COMMIT: {happened} of them happened, as a whole."
        ));
    }
    Ok(broken.is_empty() && problems.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(time: i64) -> Order {
        Order { time, warehouse: 1, district: 2, number: time as i32, customer: 3, lines: 5 }
    }

    fn ledger(acknowledged: &[i64], doubtful: &[i64]) -> Ledger {
        let acknowledged = acknowledged.iter().map(|time| order(*time)).collect();
        Ledger { acknowledged, doubtful: doubtful.to_vec() }
    }

    #[test]
    fn what_is_in_doubt_may_be_there() {
        let ledger = ledger(&[1, 2], &[3, 4]);
        let found = [order(4), order(2), order(1)];
        assert_eq!(compare(&ledger, &found), Comparison { problems: Vec::new(), happened: 1 });
    }

    #[test]
    fn what_is_lost_changed_or_invented_is_found() {
        let short = Order { lines: 4, ..order(2) };
        let cases = [
            (vec![order(1)], "acknowledged, and lost"),
            (vec![order(1), short], "in the place of"),
            (vec![order(1), order(2), order(9)], "nobody's"),
            (vec![order(1), order(2), order(2)], "there twice"),
        ];
        for (found, problem) in cases {
            let Comparison { problems, .. } = compare(&ledger(&[1, 2], &[3]), &found);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(problem), "{problems:?}");
        }
    }
}
