//! Order entry with lists of row values: New-Order as programs write it that batch.
//!
//! Source: TPC-C 5.11, section 2.4, with its items and stock read by one statement each, rows
//! locked by `(s_w_id, s_i_id) IN (...)`, and lines inserted by one statement of many rows, as
//! go-tpc has it. Departure: one warehouse, ten districts, no rollbacks that are asked for.

use std::fmt::Write;

use testkit::Random;

use super::client::{Client, Failure, Prepared, Values};
use super::{Effect, Workload};

/// The workload.
pub(super) struct Orders {
    pub(super) items: i64,
}

const DISTRICTS: i64 = 10;
const CUSTOMERS: i64 = 300;
/// Lines of an order: from 5 to 15.
const LINES: std::ops::RangeInclusive<usize> = 5..=15;

/// Statements before those of each number of lines.
const FIXED: usize = 5;

/// The statement of `kind` (items, stock, lines) for `lines` lines.
fn of_lines(kind: usize, lines: usize) -> usize {
    FIXED + (lines - LINES.start()) * 3 + kind
}

fn marks(from: usize, count: usize) -> String {
    (from..from + count).map(|i| format!("${i}")).collect::<Vec<_>>().join(", ")
}

impl Workload for Orders {
    fn name(&self) -> String {
        "orders".into()
    }

    fn fill(&self) -> Vec<String> {
        let items = format!("generate_series(1, {}) AS g(i)", self.items);
        vec![
            "CREATE TABLE district (d_w_id int NOT NULL, d_id int NOT NULL, d_tax numeric(4,4),
             d_next_o_id int NOT NULL, PRIMARY KEY (d_w_id, d_id))"
                .into(),
            "CREATE TABLE customer (c_w_id int NOT NULL, c_d_id int NOT NULL, c_id int NOT NULL,
             c_discount numeric(4,4), c_last varchar(16), PRIMARY KEY (c_w_id, c_d_id, c_id))"
                .into(),
            "CREATE TABLE products (i_id int PRIMARY KEY, i_price numeric(5,2),
             i_name varchar(24))"
                .into(),
            "CREATE TABLE stock (s_w_id int NOT NULL, s_i_id int NOT NULL, s_quantity int,
             s_ytd int, s_order_cnt int, s_dist char(24), s_data varchar(50),
             PRIMARY KEY (s_w_id, s_i_id))"
                .into(),
            "CREATE TABLE orders (o_w_id int NOT NULL, o_d_id int NOT NULL, o_id int NOT NULL,
             o_c_id int, o_ol_cnt int, o_entry timestamp, PRIMARY KEY (o_w_id, o_d_id, o_id))"
                .into(),
            "CREATE TABLE order_line (ol_w_id int NOT NULL, ol_d_id int NOT NULL,
             ol_o_id int NOT NULL, ol_number int NOT NULL, ol_i_id int, ol_quantity int,
             PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))"
                .into(),
            format!(
                "INSERT INTO district SELECT 1, d, 0.1, 1
                 FROM generate_series(1, {DISTRICTS}) AS g(d)"
            ),
            format!(
                "INSERT INTO customer SELECT 1, d, c, 0.05, 'name ' || c
                 FROM generate_series(1, {DISTRICTS}) AS g(d),
                 generate_series(1, {CUSTOMERS}) AS h(c)"
            ),
            format!("INSERT INTO products SELECT i, 1 + i % 100, 'item ' || i FROM {items}"),
            format!(
                "INSERT INTO stock SELECT 1, i, 10 + i % 91, 0, 0, 'district', repeat('data ', 8)
                 FROM {items}"
            ),
        ]
    }

    fn statements(&self) -> Vec<Prepared> {
        let new = Prepared::new;
        let mut all = vec![
            new(
                "SELECT c_discount, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2
                 AND c_id = $3",
                "lll",
            ),
            new(
                "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2
                 FOR UPDATE",
                "ll",
            ),
            new(
                "UPDATE district SET d_next_o_id = $1 WHERE d_w_id = $2 AND d_id = $3",
                "lll",
            ),
            new("INSERT INTO orders VALUES ($1, $2, $3, $4, $5, localtimestamp)", "lllll"),
            new(
                "UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1
                 WHERE s_w_id = $3 AND s_i_id = $4",
                "llll",
            ),
        ];
        for lines in LINES {
            let pair = |i: usize| format!("(${}, ${})", 2 * i + 1, 2 * i + 2);
            let pairs: Vec<String> = (0..lines).map(pair).collect();
            let rows: Vec<String> =
                (0..lines).map(|i| format!("({})", marks(6 * i + 1, 6))).collect();
            let types = |each: usize| "l".repeat(each * lines);
            let items = format!(
                "SELECT i_id, i_price, i_name FROM products WHERE i_id IN ({})",
                marks(1, lines)
            );
            let stock = format!(
                "SELECT s_i_id, s_quantity, s_data, s_dist FROM stock
                 WHERE (s_w_id, s_i_id) IN ({}) FOR UPDATE",
                pairs.join(", ")
            );
            let insert = format!("INSERT INTO order_line VALUES {}", rows.join(", "));
            all.push(new(&items, &types(1)));
            all.push(new(&stock, &types(2)));
            all.push(new(&insert, &types(6)));
        }
        all
    }

    fn transact(&self, client: &mut Client, random: &mut Random) -> Result<Effect, Failure> {
        let (district, customer) =
            (random.within(1..DISTRICTS + 1), random.within(1..CUSTOMERS + 1));
        let lines = random.within(*LINES.start() as i64..*LINES.end() as i64 + 1) as usize;
        // Ascending, so that two orders wait for each other in one direction only.
        let mut items = std::collections::BTreeMap::new();
        while items.len() < lines {
            items.insert(random.within(1..self.items + 1), random.within(1..11));
        }
        let (warehouse, count) = (1_i64, lines as i64);
        client.transaction(|client| {
            client.one(0, &[&warehouse, &district, &customer])?;
            let next: i32 = client.one(1, &[&warehouse, &district])?.try_get(0)?;
            let order = i64::from(next);
            client.execute(2, &[&(order + 1), &warehouse, &district])?;
            client.execute(3, &[&warehouse, &district, &order, &customer, &count])?;
            let ids: Vec<i64> = items.keys().copied().collect();
            let found = query_list(client, of_lines(0, lines), &ids)?.len();
            let pairs: Vec<i64> = ids.iter().flat_map(|&id| [warehouse, id]).collect();
            let stock = query_list(client, of_lines(1, lines), &pairs)?;
            if found != lines || stock.len() != lines {
                let mut message = format!("{lines} lines, {found} items");
                let _ = write!(message, ", {} rows of stock", stock.len());
                return Err(Failure::Fatal(message));
            }
            let mut values = Vec::with_capacity(6 * lines);
            for (number, row) in stock.iter().enumerate() {
                let (item, left): (i32, i32) = (row.try_get(0)?, row.try_get(1)?);
                let (item, left) = (i64::from(item), i64::from(left));
                let wanted = items[&item];
                let left = if left >= wanted + 10 { left - wanted } else { left - wanted + 91 };
                client.execute(4, &[&left, &wanted, &warehouse, &item])?;
                values.extend([warehouse, district, order, number as i64 + 1, item, wanted]);
            }
            query_list(client, of_lines(2, lines), &values)?;
            Ok(Effect { first: 1, second: items.values().sum() })
        })
    }

    fn invariants(&self, effects: Effect) -> Vec<(String, i64)> {
        vec![
            ("SELECT count(*) FROM orders".into(), effects.first),
            (
                "SELECT coalesce(sum(d_next_o_id - 1), 0)::bigint FROM district".into(),
                effects.first,
            ),
            ("SELECT coalesce(sum(s_ytd), 0)::bigint FROM stock".into(), effects.second),
            ("SELECT coalesce(sum(ol_quantity), 0)::bigint FROM order_line".into(), effects.second),
            (
                "SELECT count(*) FROM orders WHERE o_ol_cnt <> (SELECT count(*) FROM order_line
                 WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id)"
                    .into(),
                0,
            ),
        ]
    }
}

fn query_list(
    client: &mut Client,
    statement: usize,
    numbers: &[i64],
) -> Result<Vec<postgres::Row>, Failure> {
    let values: Vec<_> =
        numbers.iter().map(|n| n as &(dyn postgres::types::ToSql + Sync)).collect();
    let values: Values<'_> = &values;
    client.query(statement, values)
}
