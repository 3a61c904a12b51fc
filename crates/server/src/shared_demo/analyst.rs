//! The analyst: reads through Arrow Flight, from whatever nodes are up.
//!
//! ```text
//! scan of order_line -> tickets of one snapshot -> parts, from all nodes in turn -> `Orders`
//! statements         -> sums of three tables that are equal, two queries of CH-benCHmark
//! ```
//! A snapshot has each order that was acknowledged before it with all its lines, and of any other
//! order the lines from the first one on. When a node or a store goes away in the middle, the
//! analyst begins again.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use flight::Client;
use types::{Error, SqlState};
use workloads::ch;
use workloads::tpcc::Failure;

use super::traffic::{Nodes, Order, PAUSE, Traffic};

/// True in every snapshot: what customers paid is what warehouses and districts have.
const MONEY: &str = "SELECT (SELECT sum(w_ytd) FROM warehouse) = (SELECT sum(d_ytd) FROM district) \
    AND (SELECT sum(d_ytd) FROM district) = (SELECT sum(h_amount) FROM history)";

/// Queries of CH-benCHmark that need no table beyond TPC-C's.
const QUERIES: [&str; 2] = [ch::QUERIES[0], ch::QUERIES[5]];

/// The scan of all lines of orders.
const LINES: &str = r#"{"table": "order_line", "parts": 4,
    "columns": ["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"]}"#;

/// Lines of an order, at most.
const LINES_MAX: i32 = 15;

/// Time in which a node has to answer a new client.
const CONNECT: Duration = Duration::from_secs(10);

/// An order's warehouse, district and number.
type OrderKey = [i32; 3];

/// Lines of the orders of one snapshot: bit `i` says that line `i + 1` is there.
#[derive(Default)]
struct Orders(HashMap<OrderKey, u16>);

impl Orders {
    /// Adds lines.
    ///
    /// # Errors
    /// The line that came twice, or that no order has.
    fn add(&mut self, batch: &RecordBatch) -> Result<(), String> {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| column.as_primitive::<Int32Type>()).collect();
        for row in 0..batch.num_rows() {
            let key: OrderKey = std::array::from_fn(|column| columns[column].value(row));
            let line = columns[3].value(row);
            if !(1..=LINES_MAX).contains(&line) {
                return Err(format!("line {line} of order {key:?}"));
            }
            let (lines, bit) = (self.0.entry(key).or_default(), 1 << (line - 1));
            if *lines & bit != 0 {
                return Err(format!("line {line} of order {key:?} is there twice"));
            }
            *lines |= bit;
        }
        Ok(())
    }

    /// # Errors
    /// An order that is not whole, of which `known` have to be there.
    fn check(&self, known: &[Order]) -> Result<(), String> {
        for order in known {
            let key = [order.warehouse, order.district, order.number];
            let lines = self.0.get(&key).map_or(0, |lines| lines.count_ones());
            if i64::from(lines) != order.lines {
                return Err(format!("{lines} lines of {order:?}, which was acknowledged before"));
            }
        }
        match self.0.iter().find(|(_, lines)| **lines & (**lines + 1) != 0) {
            Some((key, lines)) => Err(format!("order {key:?} without a line: {lines:#b}")),
            None => Ok(()),
        }
    }
}

/// Snapshots that were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Analysed {
    pub(super) snapshots: u64,
    pub(super) parts: u64,
    pub(super) rows: u64,
}

/// The failure of a reader by an error of its node.
fn failure(error: Error) -> Failure {
    let state = error.state();
    let message = error.to_string();
    match state {
        SqlState::CONNECTION_FAILURE | SqlState::ADMIN_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            Failure::Lost(message)
        }
        // The node that held the snapshot went away.
        SqlState::INVALID_SQL_STATEMENT_NAME => Failure::Lost(message),
        SqlState::SERIALIZATION_FAILURE => Failure::Retry(message),
        _ => Failure::Fatal(message),
    }
}

/// A reader with its connections.
pub(super) struct Analyst<'a> {
    traffic: &'a Traffic<'a>,
    nodes: &'a Nodes,
    clients: BTreeMap<SocketAddr, Client>,
    analysed: Analysed,
}

impl<'a> Analyst<'a> {
    /// A reader without connections yet.
    pub(super) fn new(traffic: &'a Traffic<'a>, nodes: &'a Nodes) -> Self {
        Self { traffic, nodes, clients: BTreeMap::new(), analysed: Analysed::default() }
    }

    /// Reads until the end.
    pub(super) fn run(mut self) -> Analysed {
        while !self.traffic.is_over() {
            match self.lines().and_then(|()| self.statements()) {
                Ok(()) => self.traffic.analysed(),
                Err(Failure::Fatal(message)) => self.traffic.fail(message),
                Err(_) => {
                    self.clients.clear();
                    thread::sleep(PAUSE);
                }
            }
        }
        self.analysed
    }

    /// A connection to the node of a place, or to another that is up.
    fn client(&mut self, place: usize) -> Result<&mut Client, Failure> {
        let node = self.nodes.flight_of(place);
        let node = node.ok_or_else(|| Failure::Lost("no node is up".into()))?;
        match self.clients.entry(node) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => Ok(new.insert(Client::connect(node, CONNECT).map_err(failure)?)),
        }
    }

    /// Reads all lines of orders in one snapshot, parts of it from different nodes.
    fn lines(&mut self) -> Result<(), Failure> {
        let known = self.traffic.acknowledged();
        // Each node makes snapshots in turn.
        let maker = self.analysed.snapshots as usize;
        let parts = self.client(maker)?.parts(LINES).map_err(failure)?;
        let (mut orders, mut rows) = (Orders::default(), 0);
        for (number, part) in parts.iter().enumerate() {
            let mut outcome = Ok(());
            let add = |batch: RecordBatch| {
                rows += batch.num_rows() as u64;
                if outcome.is_ok() {
                    outcome = orders.add(&batch);
                }
            };
            self.client(maker + number)?.read(part, add).map_err(failure)?;
            outcome.map_err(Failure::Fatal)?;
        }
        orders.check(&self.traffic.first_orders(known)).map_err(Failure::Fatal)?;
        self.analysed.snapshots += 1;
        self.analysed.parts += parts.len() as u64;
        self.analysed.rows += rows;
        Ok(())
    }

    fn statements(&mut self) -> Result<(), Failure> {
        let client = self.client(self.analysed.snapshots as usize)?;
        let equal = client.query(MONEY).map_err(failure)?;
        if !equal.iter().any(|batch| batch.num_rows() == 1 && batch.column(0).as_boolean().value(0))
        {
            let message = "a snapshot in which warehouses, districts and payments differ";
            return Err(Failure::fatal(message));
        }
        for query in QUERIES {
            client.query(query).map_err(failure)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array};

    use super::*;

    /// Lines of order 7 of a district.
    fn batch(lines: &[i32]) -> RecordBatch {
        let all = |value: i32| Arc::new(Int32Array::from(vec![value; lines.len()])) as ArrayRef;
        let numbers = Arc::new(Int32Array::from(lines.to_vec())) as ArrayRef;
        let columns = ["w", "d", "o", "n"].into_iter().zip([all(1), all(2), all(7), numbers]);
        RecordBatch::try_from_iter(columns).expect("equal lengths")
    }

    fn order(lines: i64) -> Order {
        Order { time: 1, warehouse: 1, district: 2, number: 7, customer: 3, lines }
    }

    #[test]
    fn orders_are_whole_in_a_snapshot() {
        let mut orders = Orders::default();
        orders.add(&batch(&[3, 1])).expect("two lines");
        orders.check(&[]).expect_err("line 2 is missing");
        orders.add(&batch(&[2])).expect("the third");
        orders.check(&[order(3)]).expect("it is whole");
        orders.check(&[order(4)]).expect_err("the last line is missing");
        orders.check(&[Order { number: 8, ..order(1) }]).expect_err("it is lost");
        for wrong in [0, 2, LINES_MAX + 1] {
            orders.add(&batch(&[wrong])).expect_err("twice, or no line");
        }
        let all: Vec<i32> = (4..=LINES_MAX).collect();
        orders.add(&batch(&all)).expect("the others");
        orders.check(&[order(LINES_MAX.into())]).expect("it is as large as any");
    }
}
