//! The rules of the population and the inputs; the native transactions against SQL on SQLite; the
//! driver; each condition against a database that breaks it.

mod model;
mod tessera;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use types::DataType;

use super::driver::{self, Length, Plan, System};
use super::native::NativeTerminal;
use super::schema::{customer, item, order_line, orders, stock};
use super::sqlite::{Durability, Sqlite};
use super::*;
use model::{Collect, Model, Value};

const SEED: u64 = 7;

fn rows(table: Table, scale: &Scale, seed: u64) -> Vec<Vec<Value>> {
    let mut collect = Collect::default();
    populate(table, scale, seed, 1..=scale.warehouses, &mut collect).unwrap();
    collect.rows
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Number(number) => *number,
        other => panic!("{other:?} is no number"),
    }
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => std::str::from_utf8(text).unwrap(),
        other => panic!("{other:?} is no text"),
    }
}

/// True when about a tenth of `rows` satisfies `test`.
fn a_tenth(rows: &[Vec<Value>], test: impl Fn(&[Value]) -> bool) -> bool {
    let share = rows.iter().filter(|row| test(row)).count() as f64 / rows.len() as f64;
    (0.095..0.105).contains(&share)
}

/// Values fit their columns, keys ascend, and NULLs stand where they may.
fn check_rows(table: Table, rows: &[Vec<Value>]) {
    for row in rows {
        assert_eq!(row.len(), table.columns().len());
        for (i, (value, (name, ty))) in row.iter().zip(table.columns()).enumerate() {
            match (value, ty) {
                (Value::Null, _) => assert!(table.nullable().contains(&i), "{name}"),
                (Value::Text(text), DataType::Char(n)) => assert_eq!(text.len(), *n as usize),
                (Value::Text(text), DataType::Varchar(Some(n))) => {
                    assert!(text.len() <= *n as usize, "{name}");
                }
                (Value::Number(digits), DataType::Numeric(ty)) => {
                    assert!(digits.abs() < 10i64.pow(ty.precision.into()), "{name}");
                }
                (Value::Number(_), DataType::Integer | DataType::Timestamp(_)) => {}
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    let key = |row: &Vec<Value>| table.key().iter().map(|i| row[*i].clone()).collect::<Vec<_>>();
    if !table.key().is_empty() {
        assert!(rows.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])), "{table:?}");
    }
}

#[test]
fn a_warehouse_has_the_cardinalities_of_the_specification() {
    let scale = Scale::new(1);
    let mut counts = BTreeMap::new();
    for table in Table::ALL {
        let rows = rows(table, &scale, SEED);
        check_rows(table, &rows);
        counts.insert(table.name(), rows.len());
        match table {
            Table::Item => {
                assert!(a_tenth(&rows, |row| text(&row[item::DATA]).contains("ORIGINAL")));
                assert!(rows.iter().all(|r| (100..=10_000).contains(&number(&r[item::PRICE]))));
            }
            Table::Stock => {
                assert!(a_tenth(&rows, |row| text(&row[stock::DATA]).contains("ORIGINAL")));
                assert!(rows.iter().all(|r| (10..=100).contains(&number(&r[stock::QUANTITY]))));
            }
            Table::Customer => check_customers(&rows),
            Table::Orders => check_orders(&rows),
            Table::OrderLine => {
                let open = |row: &[Value]| row[order_line::DELIVERY_D] == Value::Null;
                assert!(rows.iter().all(|row| open(row) == (number(&row[2]) > 2100)));
                assert!(rows.iter().all(|row| open(row) == (number(&row[8]) > 0)));
                let delivered = rows.iter().filter(|row| !open(row));
                assert!(delivered.clone().all(|row| number(&row[6]) == LOADED));
            }
            Table::NewOrder => assert!(rows.iter().all(|row| number(&row[2]) > 2100)),
            _ => {}
        }
    }
    let lines = counts.remove("order_line").unwrap();
    assert!((298_000..302_000).contains(&lines), "{lines} lines of 5 to 15 in 30,000 orders");
    let expected = [
        ("warehouse", 1),
        ("district", 10),
        ("customer", 30_000),
        ("history", 30_000),
        ("new_order", 9_000),
        ("orders", 30_000),
        ("item", 100_000),
        ("stock", 100_000),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}

fn check_customers(rows: &[Vec<Value>]) {
    assert!(a_tenth(rows, |row| text(&row[customer::CREDIT]) == "BC"));
    let mut shared = BTreeMap::new();
    for row in rows {
        let (id, last) = (number(&row[customer::ID]), text(&row[customer::LAST]));
        if id <= 1000 {
            assert_eq!(last, LastName::new(id as usize - 1).as_str());
        } else {
            *shared.entry(last.to_owned()).or_insert(0) += 1;
        }
        assert!((300..=500).contains(&text(&row[customer::DATA]).len()));
    }
    let names: BTreeSet<String> =
        (0..1000).map(|number| LastName::new(number).as_str().to_owned()).collect();
    assert_eq!(names.len(), 1000);
    assert!(shared.keys().all(|name| names.contains(name)));
    // 20 rows a name if they were uniform; OR with 8 random bits makes some many times as frequent.
    let most = shared.values().max().unwrap();
    assert!(*most > 60, "{most}");
}

fn check_orders(rows: &[Vec<Value>]) {
    for district in rows.chunks(3000) {
        let buyers: BTreeSet<i64> = district.iter().map(|r| number(&r[orders::C_ID])).collect();
        assert_eq!((buyers.len(), buyers.first(), buyers.last()), (3000, Some(&1), Some(&3000)));
        assert!(district.iter().any(|row| row[orders::C_ID] != row[orders::ID]));
        let open = district.iter().filter(|row| row[orders::CARRIER_ID] == Value::Null);
        assert_eq!(open.clone().count(), 900);
        assert!(open.clone().all(|row| number(&row[orders::ID]) > 2100));
    }
    let first = |d: usize| number(&rows[d * 3000][orders::C_ID]);
    assert!((1..10).any(|d| first(d) != first(0)), "each district has a permutation of its own");
}

#[test]
fn rows_depend_on_seed_and_key_alone() {
    let scale = Scale::tiny(3);
    for table in Table::ALL {
        let all = rows(table, &scale, SEED);
        assert_eq!(all, rows(table, &scale, SEED));
        let mut parts = Collect::default();
        for warehouse in 1..=3 {
            populate(table, &scale, SEED, warehouse..=warehouse, &mut parts).unwrap();
        }
        assert_eq!(all, parts.rows, "{table:?}");
        let names = table == Table::NewOrder;
        assert_eq!(all == rows(table, &scale, SEED + 1), names, "{table:?}");
    }
}

#[test]
fn constants_of_a_run_keep_their_distance_from_those_of_loading() {
    for seed in 0..200 {
        let (load, run) = (Constants::load(seed), Constants::run(seed));
        let delta = (load.last - run.last).abs();
        assert!((65..=119).contains(&delta) && delta != 96 && delta != 112);
        assert_eq!((load.customer, load.item), (run.customer, run.item));
    }
}

#[test]
fn non_uniform_numbers_have_the_distribution_of_their_definition() {
    // All pairs (a, x) of NURand(7, 3, 12) with C = 5, against a million draws.
    let mut expected = BTreeMap::new();
    for a in 0..=7 {
        for x in 3..=12 {
            *expected.entry(((a | x) + 5) % 10 + 3).or_insert(0.0) += 1.0 / 80.0;
        }
    }
    let mut draw = crate::random::Draw::seeded(SEED, 1, 1);
    let mut seen: BTreeMap<i64, f64> = BTreeMap::new();
    for _ in 0..1_000_000 {
        *seen.entry(values::nurand(&mut draw, 7, 5, 3, 12)).or_default() += 1e-6;
    }
    assert!(seen.keys().eq(expected.keys()));
    for (value, share) in expected {
        assert!((seen[&value] - share).abs() < 0.002, "{value}");
    }
}

fn stopped_clock() -> i64 {
    LOADED + 1
}

#[test]
fn inputs_have_the_shares_of_the_specification() {
    let scale = Scale::new(5);
    let mut inputs = Inputs::new(&scale, SEED, 1, 7, stopped_clock);
    let mut kinds = [0; 5];
    let (mut unused, mut lines, mut remote_lines) = (0, 0, 0);
    let (mut remote_payments, mut by_name) = (0, 0);
    for _ in 0..100_000 {
        let input = inputs.next_input();
        kinds[input.kind() as usize] += 1;
        match input {
            Input::NewOrder(order) => {
                assert_eq!(order.warehouse, 3, "worker 7 of 5 warehouses");
                assert!((1..=10).contains(&order.district));
                assert!((1..=3000).contains(&order.customer));
                let last = order.lines().len() - 1;
                for (i, line) in order.lines().iter().enumerate() {
                    assert!((1..=100_000 + i32::from(i == last)).contains(&line.item));
                    assert!((1..=5).contains(&line.supply) && (1..=10).contains(&line.quantity));
                    remote_lines += u32::from(line.supply != 3);
                }
                lines += order.lines().len() as u32;
                unused += u32::from(order.lines()[last].item > 100_000);
                assert_eq!(order.all_local(), order.lines().iter().all(|l| l.supply == 3));
            }
            Input::Payment(payment) => {
                let remote = payment.customer_warehouse != 3;
                assert!(remote || payment.customer_district == payment.district);
                assert!((100..=500_000).contains(&payment.amount));
                remote_payments += u32::from(remote);
                by_name += u32::from(matches!(payment.customer, Who::Last(_)));
            }
            Input::Delivery(delivery) => assert!((1..=10).contains(&delivery.carrier)),
            Input::StockLevel(level) => assert!((10..=20).contains(&level.threshold)),
            Input::OrderStatus(status) => assert!((1..=10).contains(&status.district)),
        }
    }
    assert_eq!(kinds, [45_000, 43_000, 4_000, 4_000, 4_000]);
    let near = |count: u32, of: u32, share: f64| {
        let found = f64::from(count) / f64::from(of);
        assert!((found - share).abs() < share * 0.1, "{found}, expected {share}");
    };
    near(unused, 45_000, 0.01);
    near(remote_lines, lines, 0.01);
    near(lines, 45_000, 10.0);
    near(remote_payments, 43_000, 0.15);
    near(by_name, 43_000, 0.6);
}

/// A file that goes with the test.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tessera-tpcc-{}-{number}.sqlite", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn sqlite(&self, scale: &Scale) -> Sqlite {
        Sqlite::create(&self.0, Durability::Async, scale, SEED).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }
}

fn sqlite_rows(sqlite: &Sqlite, table: Table) -> Vec<Vec<Value>> {
    let connection = sqlite.connect().unwrap();
    let mut select = connection.prepare(&format!("SELECT * FROM {}", table.name())).unwrap();
    let columns = select.column_count();
    let mut found = select.raw_query();
    let mut rows = Vec::new();
    while let Some(row) = found.next().unwrap() {
        let value = |i: usize| match row.get_ref(i).unwrap() {
            rusqlite::types::ValueRef::Null => Value::Null,
            rusqlite::types::ValueRef::Integer(value) => Value::Number(value),
            rusqlite::types::ValueRef::Text(text) => Value::Text(text.to_vec()),
            other => panic!("{other:?}"),
        };
        rows.push((0..columns).map(value).collect());
    }
    rows.sort();
    rows
}

fn broken(sqlite: &Sqlite, scale: &Scale) -> Vec<usize> {
    let found = violations(scale, |sql| sqlite.integer(sql)).unwrap();
    found.iter().map(|violation| violation.number).collect()
}

#[test]
fn native_and_sql_transactions_answer_alike_and_leave_the_same_rows() {
    let scale = Scale::tiny(2);
    let file = File::new();
    let sqlite = file.sqlite(&scale);
    let mut native = NativeTerminal::new(Model::new(&scale, SEED));
    let mut workers: Vec<Inputs> =
        (0..2).map(|worker| Inputs::new(&scale, SEED, 1, worker, stopped_clock)).collect();
    let (mut seen, mut rolled_back) = ([0; 5], 0);
    let mut compare = |terminal: &mut dyn Terminal| {
        for i in 0..2000 {
            let input = workers[i % 2].next_input();
            let theirs = answer(terminal, &input)?;
            assert_eq!(answer(&mut native, &input)?, theirs, "{input:?}");
            seen[input.kind() as usize] += 1;
            rolled_back += usize::from(theirs == Answer::Placed(None));
        }
        Ok(())
    };
    sqlite.with_terminal(0, &mut compare).unwrap();
    assert!(seen.iter().all(|count| *count >= 80) && rolled_back > 0);
    let model = native.into_session();
    for table in Table::ALL {
        assert_eq!(model.sorted(table), sqlite_rows(&sqlite, table), "{table:?}");
    }
    assert_eq!(broken(&sqlite, &scale), [0; 0]);
}

#[test]
fn three_workers_keep_the_conditions() {
    let scale = Scale::tiny(2);
    let file = File::new();
    let sqlite = file.sqlite(&scale);
    let length = Length::Count(400);
    let plan = Plan { scale, seed: SEED, run: 1, workers: 3, length };
    let report = driver::run(&sqlite, &plan).unwrap();
    let count = |kind: Kind| report.times[kind as usize].count();
    assert_eq!(Kind::ALL.map(count), [3 * 180, 3 * 172, 3 * 16, 3 * 16, 3 * 16]);
    let committed = i64::try_from(count(Kind::NewOrder) - report.rolled_back).unwrap();
    let placed = sqlite.integer("SELECT count(*) FROM orders").unwrap() - 2 * 10 * 30;
    assert_eq!(placed, committed);
    let paid = sqlite.integer("SELECT count(*) FROM history").unwrap() - 2 * 10 * 30;
    assert_eq!(paid, 3 * 172);
    assert_eq!(broken(&sqlite, &scale), [0; 0]);
}

struct NoTerminal;

impl System for NoTerminal {
    fn with_terminal(&self, worker: usize, body: driver::Use<'_>) -> Result<(), Failure> {
        match worker {
            0 => Err(Failure::Fatal("worker 0 found no seat".into())),
            _ => body(&mut Broken),
        }
    }
}

struct Broken;

impl Terminal for Broken {
    fn new_order(&mut self, _: &NewOrder) -> Result<Option<Placed>, Failure> {
        Ok(None)
    }

    fn payment(&mut self, _: &Payment) -> Result<Paid, Failure> {
        Ok(Paid { customer: 1, balance: 0 })
    }

    fn order_status(&mut self, _: &OrderStatus) -> Result<Status, Failure> {
        Ok(Status { customer: 1, balance: 0, order: 1, carrier: 0, lines: 0, amount: 0 })
    }

    fn delivery(&mut self, _: &Delivery) -> Result<i32, Failure> {
        Err(Failure::Retry("lost".into()))
    }

    fn stock_level(&mut self, _: &StockLevel) -> Result<i32, Failure> {
        Ok(0)
    }
}

#[test]
fn a_worker_without_terminal_ends_the_run() {
    let plan = Plan {
        scale: Scale::tiny(1),
        seed: SEED,
        run: 1,
        workers: 3,
        length: Length::Count(1_000_000_000),
    };
    let failure = driver::run(&NoTerminal, &plan).err().unwrap();
    assert!(matches!(failure, Failure::Fatal(_) | Failure::Retry(_)));
}

/// For each condition a change that breaks it, and the conditions that break with it.
const DAMAGE: [(&str, &[usize]); 12] = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2", &[1, 8]),
    ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3", &[2]),
    (
        "UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 25; \
         UPDATE order_line SET ol_delivery_d = 1, ol_amount = 0 \
         WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 25; \
         UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 9; \
         DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 25",
        &[3],
    ),
    (
        "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 10 AND ol_o_id = 7 \
         AND ol_number = 5",
        &[4, 6],
    ),
    (
        "UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 30; \
         UPDATE order_line SET ol_delivery_d = 1, ol_amount = 0 \
         WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 30",
        &[5],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1; \
         UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 2",
        &[6],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = NULL \
         WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
        &[7],
    ),
    (
        "UPDATE district SET d_ytd = d_ytd + 5 WHERE d_w_id = 1 AND d_id = 2; \
         UPDATE warehouse SET w_ytd = w_ytd + 5 WHERE w_id = 1",
        &[8, 9],
    ),
    (
        "UPDATE district SET d_ytd = d_ytd + 5 WHERE d_w_id = 1 AND d_id = 2; \
         UPDATE district SET d_ytd = d_ytd - 5 WHERE d_w_id = 1 AND d_id = 3",
        &[9],
    ),
    (
        "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 \
         WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
        &[10],
    ),
    ("UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1", &[11]),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 \
         WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
        &[12],
    ),
];

#[test]
fn every_condition_finds_its_damage() {
    let scale = Scale::tiny(2);
    let file = File::new();
    let sqlite = file.sqlite(&scale);
    let mut connection = sqlite.connect().unwrap();
    assert_eq!(broken(&sqlite, &scale), [0; 0]);
    for (i, (damage, expected)) in DAMAGE.iter().enumerate() {
        assert!(expected.contains(&(i + 1)));
        let transaction = connection.transaction().unwrap();
        transaction.execute_batch(damage).unwrap();
        let query = |sql: &str| transaction.query_row(sql, [], |row| row.get(0));
        let found: Vec<usize> =
            violations(&scale, query).unwrap().iter().map(|violation| violation.number).collect();
        assert_eq!(found, *expected, "{damage}");
        transaction.rollback().unwrap();
    }
}

/// Progress that nobody watches.
fn quiet() -> LoadProgress {
    std::sync::Arc::new(|_: &str, _, _| {})
}

#[test]
fn blocks_and_insert_statements_hold_the_same_rows() {
    let scale = Scale::tiny(2);
    let open = || engine::Database::open_in_memory(engine::Config::default()).unwrap();
    let (bulk, text) = (open(), open());
    load(&bulk, &scale, SEED, &bulk.session().cancel_handle(), &quiet()).unwrap();
    let (mut bulk, mut text) = (bulk.session(), text.session());
    for sql in create_tables(Dialect::Standard) {
        text.execute(&sql).unwrap();
    }
    for table in Table::ALL {
        let execute = |sql: &str| text.execute(sql).map(|_| ());
        let mut inserts = Inserts::new(table, Dialect::Standard, 100, execute);
        populate(table, &scale, SEED, 1..=scale.warehouses, &mut inserts).unwrap();
        inserts.finish().unwrap();
        let order: Vec<String> = (1..=table.columns().len()).map(|i| i.to_string()).collect();
        let sql = format!("SELECT * FROM {} ORDER BY {}", table.name(), order.join(", "));
        let (a, b) = (bulk.execute(&sql).unwrap(), text.execute(&sql).unwrap());
        assert_eq!(a.text_rows(), b.text_rows(), "{table:?}");
        assert_eq!(a.row_count(), rows(table, &scale, SEED).len());
    }
    for session in [&mut bulk, &mut text] {
        let mut query = |sql: &str| -> Result<i64> {
            let rows = session.execute(sql)?.text_rows();
            Ok(rows[0][0].as_ref().unwrap().parse().unwrap())
        };
        assert_eq!(violations(&scale, &mut query).unwrap(), []);
    }
}
