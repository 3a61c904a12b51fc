//! TPC-C as a workload to be killed.
//!
//! ```text
//! number of a worker's writing transaction -> time, written to its rows -> found again by it
//! line: time, ticks of begin and end, rows it wrote
//! ```
//! The time that New-Order, Payment and Delivery write is no time but says which child, worker and
//! transaction it was. So each is looked for after a kill; halves of it break the conditions.
//! Commits that do not wait vanish from the end: who began after another one had ended (by the
//! ticks) is there only with that one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use engine::{Database, Session};
use testkit::torture::{Acknowledge, Workload};
use types::{SqlState, Value};
use workloads::tpcc::driver::System;
use workloads::tpcc::tessera::{Tessera, Waits};
use workloads::tpcc::{self, Answer, Failure, Input, Inputs, LOADED, Scale, Table, Terminal};

use super::{Commits, Role, tessera};
use crate::text;

/// Worker threads of a child.
const WORKERS: usize = 4;

/// Microseconds of a worker and of a child: more than either makes transactions or has workers.
const WORKER_TIMES: i64 = 10_000_000;
const ROUND_TIMES: i64 = WORKER_TIMES * 10;

/// Rows of stock that do not add up with the orders since loading: none of the twelve conditions
/// looks there.
const STOCK: &str = "SELECT count(*) FROM stock LEFT JOIN \
    (SELECT ol_supply_w_id, ol_i_id, sum(ol_quantity) AS quantity, count(*) AS lines \
     FROM order_line, orders WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
     AND o_entry_d > :loaded GROUP BY ol_supply_w_id, ol_i_id) AS l \
    ON ol_supply_w_id = s_w_id AND ol_i_id = s_i_id \
    WHERE s_ytd <> coalesce(quantity, 0) OR s_order_cnt <> coalesce(lines, 0)";

/// Times of transactions since loading, with how many rows they wrote.
const TIMES: [&str; 3] = [
    "SELECT o_entry_d, count(*) FROM orders, order_line WHERE o_entry_d > :loaded \
     AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_entry_d",
    "SELECT h_date, count(*) FROM history WHERE h_date > :loaded GROUP BY h_date",
    "SELECT ol_delivery_d, count(DISTINCT ol_d_id) FROM order_line \
     WHERE ol_delivery_d > :loaded GROUP BY ol_delivery_d",
];

/// A child and a worker of it.
type Place = (i64, i64);

/// The workload.
pub(super) struct Tpcc {
    scale: Scale,
    commits: Commits,
    seed: u64,
    round: usize,
    role: Role,
    /// How many transactions earlier audits found.
    audited: Mutex<BTreeMap<Place, i64>>,
}

/// An acknowledged transaction.
struct Line {
    time: i64,
    began: u64,
    ended: u64,
    rows: i64,
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split(' ').map(|field| field.parse::<i64>().ok());
        Some(Self {
            time: numbers.next()??,
            began: numbers.next()?? as u64,
            ended: numbers.next()?? as u64,
            rows: numbers.next()??,
        })
    }
}

/// The time of transaction `number` of `worker` in child `round`.
fn time_of((round, worker): Place, number: i64) -> i64 {
    LOADED + round * ROUND_TIMES + worker * WORKER_TIMES + number + 1
}

/// The reverse of [`time_of`].
fn place_of(time: i64) -> (Place, i64) {
    let since = time - LOADED - 1;
    ((since / ROUND_TIMES, since % ROUND_TIMES / WORKER_TIMES), since % WORKER_TIMES)
}

impl Tpcc {
    pub(super) fn new(commits: Commits, seed: u64, round: usize, role: Role) -> Self {
        let (scale, audited) = (Scale::tiny(2), Mutex::default());
        Self { scale, commits, seed, round, role, audited }
    }

    /// Loads what an earlier child did not get to load.
    fn prepare(&self, database: &Database) -> Result<(), String> {
        let mut session = database.session();
        if !is_loaded(database) {
            let (cancel, progress) =
                (session.cancel_handle(), std::sync::Arc::new(|_: &str, _, _| {}));
            let load = tpcc::load(database, &self.scale, tpcc::SEED, &cancel, &(progress as _));
            load.map_err(text)?;
        }
        for sql in tpcc::create_indexes() {
            match session.execute(&sql) {
                Err(error) if error.state() != SqlState::DUPLICATE_TABLE => {
                    return Err(error.to_string());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn work(
        &self,
        terminal: &mut dyn Terminal,
        worker: usize,
        clock: &AtomicU64,
        acknowledge: &Acknowledge<'_>,
    ) -> Result<(), Failure> {
        let place = (self.round as i64, worker as i64);
        let run = self.round as u64;
        let mut inputs = Inputs::new(&self.scale, self.seed, run, worker, || 0);
        let mut number = 0;
        loop {
            let mut input = inputs.next_input();
            let time = time_of(place, number);
            set_time(&mut input, time);
            let tick = || clock.fetch_add(1, Ordering::SeqCst);
            let (began, answer) = loop {
                let began = tick();
                match tpcc::answer(terminal, &input) {
                    Err(Failure::Retry(_)) => {}
                    outcome => break (began, outcome?),
                }
            };
            let rows = match (&input, answer) {
                (Input::NewOrder(order), Answer::Placed(Some(_))) => order.lines().len() as i32,
                (_, Answer::Paid(_)) => 1,
                (_, Answer::Delivered(districts)) => districts,
                _ => 0,
            };
            if rows > 0 {
                acknowledge(&format!("{time} {began} {} {rows}", tick()));
                number += 1;
            }
        }
    }
}

fn set_time(input: &mut Input, time: i64) {
    match input {
        Input::NewOrder(order) => order.time = time,
        Input::Payment(payment) => payment.time = time,
        Input::Delivery(delivery) => delivery.time = time,
        Input::OrderStatus(_) | Input::StockLevel(_) => {}
    }
}

/// True when the tables are there: all or none.
fn is_loaded(database: &Database) -> bool {
    database.table(Table::Warehouse.name()).is_ok()
}

impl Workload for Tpcc {
    fn run(&self, directory: &Path, acknowledge: &Acknowledge<'_>) -> Result<(), String> {
        let database = tessera::open(directory, self.commits, self.role).map_err(text)?;
        self.prepare(&database)?;
        let waits = match self.commits {
            Commits::Wait => Waits::Yes,
            Commits::DoNotWait => Waits::No,
        };
        let system = Tessera::new(&database, waits).map_err(text)?;
        let clock = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let (system, clock) = (&system, &clock);
            let start = |worker| {
                scope.spawn(move || {
                    system.with_terminal(worker, &mut |terminal| {
                        self.work(terminal, worker, clock, acknowledge)
                    })
                })
            };
            let threads: Vec<_> = (0..WORKERS).map(start).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(outcome) => outcome.map_err(text),
                Err(_) => Err("a worker panicked".into()),
            })
        })
    }

    fn verify(&self, directory: &Path, lines: &[String], kills: usize) -> Result<(), String> {
        let parse = |line: &String| Line::parse(line).ok_or(format!("not a line: {line}"));
        let lines: Vec<Line> = lines.iter().map(parse).collect::<Result<_, _>>()?;
        let database = tessera::open(directory, self.commits, self.role).map_err(text)?;
        let report = database.check_indexes();
        if let Some(problem) = report.problems.first() {
            return Err(problem.clone());
        }
        if !is_loaded(&database) {
            return if lines.is_empty() { Ok(()) } else { Err("lost: all tables".into()) };
        }
        let mut session = database.session();
        let found = times(&mut session)?;
        self.verify_lines(&found, &lines)?;
        self.verify_counts(&found, &lines, kills)?;
        let mut integer = |sql: &str| match &rows(&mut session, sql)?[..] {
            [row] => Ok(row[0]),
            rows => Err(format!("{sql}: {} rows", rows.len())),
        };
        let broken = tpcc::violations(&self.scale, &mut integer)?;
        match (broken.first(), integer(&since_loading(STOCK))?) {
            (Some(violation), _) => Err(violation.to_string()),
            (None, 0) => Ok(()),
            (None, count) => Err(format!("{count} rows of stock do not add up with the orders")),
        }
    }
}

impl Tpcc {
    /// Tests that acknowledged transactions are there and whole, or vanished from the end.
    fn verify_lines(&self, found: &BTreeMap<i64, i64>, lines: &[Line]) -> Result<(), String> {
        // The last begin of a transaction that is there, by child.
        let mut last_began = BTreeMap::<i64, u64>::new();
        for line in lines {
            let ((round, _), _) = place_of(line.time);
            match found.get(&line.time) {
                Some(rows) if *rows != line.rows => {
                    let what = (place_of(line.time), line.rows);
                    return Err(format!("partial: {rows} rows of {what:?}"));
                }
                Some(_) => {
                    let last = last_began.entry(round).or_default();
                    *last = line.began.max(*last);
                }
                None => {}
            }
        }
        for line in lines.iter().filter(|line| !found.contains_key(&line.time)) {
            let (place, number) = place_of(line.time);
            if self.commits == Commits::Wait {
                return Err(format!("lost: transaction {number} of {place:?}"));
            }
            if last_began.get(&place.0).is_some_and(|began| *began > line.ended) {
                return Err(format!("lost: transaction {number} of {place:?}, not a later one"));
            }
        }
        Ok(())
    }

    /// Workers have no gaps, nothing is invented, and what an audit found stays.
    fn verify_counts(
        &self,
        found: &BTreeMap<i64, i64>,
        lines: &[Line],
        kills: usize,
    ) -> Result<(), String> {
        let mut counts = BTreeMap::<Place, i64>::new();
        for time in found.keys() {
            let (place, number) = place_of(*time);
            let count = counts.entry(place).or_default();
            if number != *count {
                return Err(format!("{place:?} lacks transaction {count} before {number}"));
            }
            *count += 1;
        }
        let mut acknowledged = BTreeMap::<Place, i64>::new();
        for line in lines {
            let (place, number) = place_of(line.time);
            acknowledged.insert(place, number + 1);
        }
        for (place, count) in &counts {
            let known = acknowledged.get(place).copied().unwrap_or(0);
            if *count > known + 1 || place.0 > kills as i64 {
                return Err(format!("{place:?}: {count} transactions, {known} acknowledged"));
            }
        }
        let mut audited = self.audited.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, before) in audited.iter() {
            let now = counts.get(place).copied().unwrap_or(0);
            if now != *before {
                return Err(format!("{place:?}: {before} transactions were there, now {now}"));
            }
        }
        *audited = counts;
        Ok(())
    }
}

/// `sql` with the time of loading.
fn since_loading(sql: &str) -> String {
    sql.replace(":loaded", "TIMESTAMP '2026-01-01 00:00:00'")
}

/// Times of all transactions since loading, with how many rows they wrote.
fn times(session: &mut Session) -> Result<BTreeMap<i64, i64>, String> {
    let mut found = BTreeMap::new();
    for sql in TIMES {
        for row in rows(session, &since_loading(sql))? {
            if found.insert(row[0], row[1]).is_some() {
                return Err(format!("two transactions are {:?}", place_of(row[0])));
            }
        }
    }
    Ok(found)
}

/// The rows of a query of numbers and times.
fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<i64>>, String> {
    let result = session.execute(sql).map_err(|error| format!("{sql}: {error}"))?;
    let number = |value: Value| match value {
        Value::I32(number) => Ok(number.into()),
        Value::I64(number) => Ok(number),
        other => Err(format!("{sql}: {other:?} is no number")),
    };
    let batches = result.batches().iter();
    batches
        .flat_map(|batch| (0..batch.rows).map(move |i| (batch, i)))
        .map(|(batch, i)| batch.columns.iter().map(|column| number(column.value(i))).collect())
        .collect()
}
