//! The five transactions through SQL: prepared statements, one after the other.
//!
//! Texts are those that Tessera, PostgreSQL and SQLite understand alike. Statements return what
//! they
//! change (RETURNING), and the lines of an order are one INSERT, so that New-Order with n lines
//! takes 2n + 5 statements, Payment 5 or 6, Delivery 6 a district, Order-Status 3, Stock-Level 2.
//! Source: TPC-C 5.11, clauses 2.4.2 to 2.8.2.

use super::input::{Delivery, LINES_MAX, NewOrder, OrderStatus, Payment, StockLevel, Who};
use super::populate::DISTRICTS;
use super::terminal::{
    Failure, Paid, Placed, Status, Terminal, always, bad_credit_data, middle, total,
};
use super::values::is_original;

/// A parameter of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    /// A value of an INTEGER.
    Integer(i64),
    /// A value of a NUMERIC: the first divided by 10 to the second.
    Decimal(i64, u8),
    /// A value of a TIMESTAMP: microseconds since 1970.
    Time(i64),
    /// Text.
    Text(&'a str),
    /// NULL.
    Null,
}

fn int<'a>(value: i32) -> Param<'a> {
    Param::Integer(value.into())
}

/// A prepared statement of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementId(pub usize);

/// Access of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only read.
    ReadOnly,
    /// Read and write.
    ReadWrite,
}

/// One connection to a system that knows prepared statements with parameters `$1`, `$2`, ...
pub trait SqlConnection {
    /// Prepares `sql`.
    ///
    /// # Errors
    /// Errors of the system.
    fn prepare(&mut self, sql: &str) -> Result<StatementId, Failure>;

    /// Starts a transaction: an isolation under which TPC-C is serializable, snapshots are enough.
    ///
    /// # Errors
    /// Errors of the system.
    fn begin(&mut self, access: Access) -> Result<(), Failure>;

    /// Commits.
    ///
    /// # Errors
    /// [`Failure::Retry`] when it lost to another transaction; it is over then.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Rolls back; also after a failed statement.
    ///
    /// # Errors
    /// Errors of the system.
    fn rollback(&mut self) -> Result<(), Failure>;

    /// Executes a statement without rows.
    ///
    /// # Errors
    /// Errors of the system.
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<(), Failure>;

    /// Executes a statement with rows, which replace those in `rows`.
    ///
    /// # Errors
    /// Errors of the system.
    fn query(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
        rows: &mut Rows,
    ) -> Result<(), Failure>;
}

/// The rows of a query, in memory that is used again.
#[derive(Default)]
pub struct Rows {
    cells: Vec<Cell>,
    text: String,
    columns: usize,
}

#[derive(Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Text(usize, usize),
}

impl Rows {
    /// Makes it empty, for rows of `columns` cells.
    pub fn reset(&mut self, columns: usize) {
        self.cells.clear();
        self.text.clear();
        self.columns = columns;
    }

    /// Adds a number: an INTEGER, the digits of a NUMERIC without its point, or microseconds.
    pub fn push_integer(&mut self, value: i64) {
        self.cells.push(Cell::Integer(value));
    }

    /// Adds text.
    pub fn push_text(&mut self, value: &str) {
        self.cells.push(Cell::Text(self.text.len(), self.text.len() + value.len()));
        self.text.push_str(value);
    }

    /// Adds a NULL.
    pub fn push_null(&mut self) {
        self.cells.push(Cell::Null);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.columns).unwrap_or(0)
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// A number; 0 for NULL.
    ///
    /// # Panics
    /// When it is text.
    pub fn integer(&self, row: usize, column: usize) -> i64 {
        match self.cells[row * self.columns + column] {
            Cell::Integer(value) => value,
            Cell::Null => 0,
            Cell::Text(..) => panic!("column {column} is text"),
        }
    }

    /// An INTEGER.
    pub fn int(&self, row: usize, column: usize) -> i32 {
        self.integer(row, column) as i32
    }

    /// Text; empty for NULL.
    ///
    /// # Panics
    /// When it is a number.
    pub fn text(&self, row: usize, column: usize) -> &str {
        match self.cells[row * self.columns + column] {
            Cell::Text(start, end) => &self.text[start..end],
            Cell::Null => "",
            Cell::Integer(_) => panic!("column {column} is a number"),
        }
    }
}

const ADDRESS: [&str; 5] = ["street_1", "street_2", "city", "state", "zip"];

/// Columns shown of a customer; number, balance and credit first, as the code below counts on.
const CUSTOMER: &str = "c_id, c_balance, c_credit, c_first, c_middle, c_last, c_street_1, \
    c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount";

const CUSTOMER_KEY: &str = "c_w_id = $1 AND c_d_id = $2 AND c_id = $3";

struct Statements {
    rates: StatementId,
    next_order: StatementId,
    insert_order: StatementId,
    insert_new_order: StatementId,
    item: StatementId,
    /// Statements by district.
    take_stock: Vec<StatementId>,
    /// Statements by number of lines less 5.
    insert_lines: Vec<StatementId>,
    pay_warehouse: StatementId,
    pay_district: StatementId,
    customer_by_id: StatementId,
    customer_by_name: StatementId,
    pay_customer: StatementId,
    customer_data: StatementId,
    pay_bad_customer: StatementId,
    insert_history: StatementId,
    last_order: StatementId,
    order_lines: StatementId,
    oldest_order: StatementId,
    delete_new_order: StatementId,
    deliver_order: StatementId,
    deliver_lines: StatementId,
    order_amount: StatementId,
    deliver_customer: StatementId,
    district_next: StatementId,
    low_stock: StatementId,
}

impl Statements {
    fn prepare(connection: &mut impl SqlConnection) -> Result<Self, Failure> {
        let mut prepare = |sql: &str| connection.prepare(sql);
        let take_stock = (1..=DISTRICTS)
            .map(|district| prepare(&take_stock(district)))
            .collect::<Result<_, _>>()?;
        let insert_lines =
            (5..=LINES_MAX).map(|lines| prepare(&insert_lines(lines))).collect::<Result<_, _>>()?;
        let pay = |table: &str, key: &str| {
            let prefix = &table[..1];
            let shown = ADDRESS.map(|name| format!("{prefix}_{name}")).join(", ");
            format!(
                "UPDATE {table} SET {prefix}_ytd = {prefix}_ytd + $1 WHERE {key} \
                 RETURNING {prefix}_name, {shown}"
            )
        };
        let customer = |rest: &str| format!("SELECT {CUSTOMER} FROM customer WHERE {rest}");
        let pay_customer = |data: &str| {
            format!(
                "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = \
                 c_ytd_payment + $5, c_payment_cnt = c_payment_cnt + 1{data} WHERE {CUSTOMER_KEY}"
            )
        };
        Ok(Self {
            rates: prepare(RATES)?,
            next_order: prepare(NEXT_ORDER)?,
            insert_order: prepare(INSERT_ORDER)?,
            insert_new_order: prepare("INSERT INTO new_order VALUES ($1, $2, $3)")?,
            item: prepare("SELECT i_price, i_name, i_data FROM item WHERE i_id = $1")?,
            take_stock,
            insert_lines,
            pay_warehouse: prepare(&pay("warehouse", "w_id = $2"))?,
            pay_district: prepare(&pay("district", "d_w_id = $2 AND d_id = $3"))?,
            customer_by_id: prepare(&customer(CUSTOMER_KEY))?,
            customer_by_name: prepare(&customer(
                "c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
            ))?,
            pay_customer: prepare(&pay_customer(""))?,
            customer_data: prepare(&format!("SELECT c_data FROM customer WHERE {CUSTOMER_KEY}"))?,
            pay_bad_customer: prepare(&pay_customer(", c_data = $6"))?,
            insert_history: prepare("INSERT INTO history VALUES ($1,$2,$3,$4,$5,$6,$7,$8)")?,
            last_order: prepare(LAST_ORDER)?,
            order_lines: prepare(ORDER_LINES)?,
            oldest_order: prepare(OLDEST_ORDER)?,
            delete_new_order: prepare(DELETE_NEW_ORDER)?,
            deliver_order: prepare(DELIVER_ORDER)?,
            deliver_lines: prepare(DELIVER_LINES)?,
            order_amount: prepare(ORDER_AMOUNT)?,
            deliver_customer: prepare(DELIVER_CUSTOMER)?,
            district_next: prepare(DISTRICT_NEXT)?,
            low_stock: prepare(LOW_STOCK)?,
        })
    }
}

const RATES: &str = "SELECT w_tax, c_discount, c_last, c_credit FROM warehouse, customer \
    WHERE w_id = $1 AND c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
const NEXT_ORDER: &str = "UPDATE district SET d_next_o_id = d_next_o_id + 1 \
    WHERE d_w_id = $1 AND d_id = $2 RETURNING d_next_o_id, d_tax";
const INSERT_ORDER: &str = "INSERT INTO orders VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)";
const LAST_ORDER: &str = "SELECT o_id, o_carrier_id, o_entry_d FROM orders \
    WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1";
const ORDER_LINES: &str = "SELECT ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d \
    FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
const OLDEST_ORDER: &str = "SELECT no_o_id FROM new_order \
    WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1";
const DELETE_NEW_ORDER: &str =
    "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3";
const DELIVER_ORDER: &str = "UPDATE orders SET o_carrier_id = $4 \
    WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3 RETURNING o_c_id";
const DELIVER_LINES: &str = "UPDATE order_line SET ol_delivery_d = $4 \
    WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
const ORDER_AMOUNT: &str = "SELECT sum(ol_amount) FROM order_line \
    WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
const DELIVER_CUSTOMER: &str = "UPDATE customer SET c_balance = c_balance + $4, \
    c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
const DISTRICT_NEXT: &str = "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2";
const LOW_STOCK: &str = "SELECT count(DISTINCT s_i_id) FROM order_line, stock \
    WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 \
    AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $5";

fn take_stock(district: u32) -> String {
    format!(
        "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= $3 + 10 THEN s_quantity - $3 \
         ELSE s_quantity - $3 + 91 END, s_ytd = s_ytd + $3, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + $4 WHERE s_w_id = $1 AND s_i_id = $2 \
         RETURNING s_quantity, s_dist_{district:02}, s_data"
    )
}

/// Parameters: warehouse, district, order, then item, supplier, quantity, amount and information of
/// each line.
fn insert_lines(lines: usize) -> String {
    let line = |i: usize| {
        let p = 4 + 5 * i;
        let (item, supply, quantity, amount, info) = (p, p + 1, p + 2, p + 3, p + 4);
        format!("($1,$2,$3,{},${item},${supply},NULL,${quantity},${amount},${info})", i + 1)
    };
    let lines: Vec<String> = (0..lines).map(line).collect();
    format!("INSERT INTO order_line VALUES {}", lines.join(", "))
}

/// A terminal on a SQL connection.
pub struct SqlTerminal<C> {
    connection: C,
    statements: Statements,
    rows: Rows,
    /// S_DIST_xx of the lines of an order, or H_DATA.
    infos: String,
    text: String,
}

impl<C: SqlConnection> SqlTerminal<C> {
    /// Prepares all statements.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn new(mut connection: C) -> Result<Self, Failure> {
        let statements = Statements::prepare(&mut connection)?;
        let (infos, text) = (String::new(), String::new());
        Ok(Self { connection, statements, rows: Rows::default(), infos, text })
    }

    fn transaction<T>(
        &mut self,
        access: Access,
        body: impl FnOnce(&mut Self) -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        self.connection.begin(access)?;
        match body(self) {
            Ok(Some(answer)) => self.connection.commit().map(|()| Some(answer)),
            Ok(None) => self.connection.rollback().map(|()| None),
            Err(failure) => {
                // The failure is what to report; a lost connection shows itself at the next begin.
                let _ = self.connection.rollback();
                Err(failure)
            }
        }
    }

    fn query(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<(), Failure> {
        self.connection.query(statement, params, &mut self.rows)
    }

    /// A query that must find something.
    fn find(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<(), Failure> {
        self.query(statement, params)?;
        if self.rows.is_empty() {
            Err(Failure::Fatal(format!("statement {statement:?} found no row")))
        } else {
            Ok(())
        }
    }

    /// Puts the customer into `rows`; returns which row it is.
    fn customer(&mut self, w: i32, d: i32, who: &Who) -> Result<usize, Failure> {
        match who {
            Who::Id(id) => {
                let statement = self.statements.customer_by_id;
                self.find(statement, &[int(w), int(d), int(*id)])?;
                Ok(0)
            }
            Who::Last(name) => {
                let statement = self.statements.customer_by_name;
                self.find(statement, &[int(w), int(d), Param::Text(name.as_str())])?;
                Ok(middle(self.rows.len()))
            }
        }
    }

    fn place(&mut self, input: &NewOrder) -> Result<Option<Placed>, Failure> {
        let (w, d, c) = (int(input.warehouse), int(input.district), int(input.customer));
        self.find(self.statements.rates, &[w, d, c])?;
        let (warehouse_tax, discount) = (self.rows.integer(0, 0), self.rows.integer(0, 1));
        self.find(self.statements.next_order, &[w, d])?;
        let order = self.rows.int(0, 0) - 1;
        let taxes = warehouse_tax + self.rows.integer(0, 1);
        let lines = int(input.lines().len() as i32);
        let params =
            [w, d, int(order), c, Param::Time(input.time), lines, int(input.all_local().into())];
        self.connection.execute(self.statements.insert_order, &params)?;
        self.connection.execute(self.statements.insert_new_order, &[w, d, int(order)])?;
        let mut amounts = [0; LINES_MAX];
        let mut branded = 0;
        self.infos.clear();
        for (line, amount) in input.lines().iter().zip(&mut amounts) {
            self.query(self.statements.item, &[int(line.item)])?;
            if self.rows.is_empty() {
                return Ok(None);
            }
            *amount = self.rows.integer(0, 0) * i64::from(line.quantity);
            let original = is_original(self.rows.text(0, 2).as_bytes());
            let remote = i32::from(line.supply != input.warehouse);
            let params = [int(line.supply), int(line.item), int(line.quantity), int(remote)];
            self.find(self.statements.take_stock[input.district as usize - 1], &params)?;
            // CHAR(24): its blanks may have been cut off, but there are none.
            self.infos.push_str(self.rows.text(0, 1));
            branded += i32::from(original && is_original(self.rows.text(0, 2).as_bytes()));
        }
        self.insert_lines(input, order, &amounts)?;
        let amount: i64 = amounts.iter().sum();
        Ok(Some(Placed { order, total: total(amount, discount, taxes), branded }))
    }

    fn insert_lines(
        &mut self,
        input: &NewOrder,
        order: i32,
        amounts: &[i64],
    ) -> Result<(), Failure> {
        let mut params = [Param::Null; 3 + 5 * LINES_MAX];
        params[..3].copy_from_slice(&[int(input.warehouse), int(input.district), int(order)]);
        let info_bytes = self.infos.len() / input.lines().len();
        for (i, (line, amount)) in input.lines().iter().zip(amounts).enumerate() {
            let info = &self.infos[i * info_bytes..(i + 1) * info_bytes];
            params[3 + 5 * i..8 + 5 * i].copy_from_slice(&[
                int(line.item),
                int(line.supply),
                int(line.quantity),
                Param::Decimal(*amount, 2),
                Param::Text(info),
            ]);
        }
        let lines = input.lines().len();
        let statement = self.statements.insert_lines[lines - 5];
        self.connection.execute(statement, &params[..3 + 5 * lines])
    }

    fn pay(&mut self, input: &Payment) -> Result<Option<Paid>, Failure> {
        let amount = Param::Decimal(input.amount, 2);
        let (w, d) = (int(input.warehouse), int(input.district));
        self.find(self.statements.pay_warehouse, &[amount, w])?;
        self.infos.clear();
        self.infos.push_str(self.rows.text(0, 0));
        self.find(self.statements.pay_district, &[amount, w, d])?;
        self.infos.push_str("    ");
        self.infos.push_str(self.rows.text(0, 0));
        let (c_w, c_d) = (input.customer_warehouse, input.customer_district);
        let row = self.customer(c_w, c_d, &input.customer)?;
        let customer = self.rows.int(row, 0);
        let balance = self.rows.integer(row, 1) - input.amount;
        let bad = self.rows.text(row, 2) == "BC";
        let (c_w, c_d, c) = (int(c_w), int(c_d), int(customer));
        if bad {
            self.find(self.statements.customer_data, &[c_w, c_d, c])?;
            bad_credit_data(input, customer, self.rows.text(0, 0), &mut self.text);
            let params = [c_w, c_d, c, amount, amount, Param::Text(&self.text)];
            self.connection.execute(self.statements.pay_bad_customer, &params)?;
        } else {
            let params = [c_w, c_d, c, amount, amount];
            self.connection.execute(self.statements.pay_customer, &params)?;
        }
        let (time, data) = (Param::Time(input.time), Param::Text(&self.infos));
        let params = [c, c_d, c_w, d, w, time, amount, data];
        self.connection.execute(self.statements.insert_history, &params)?;
        Ok(Some(Paid { customer, balance }))
    }

    fn status(&mut self, input: &OrderStatus) -> Result<Option<Status>, Failure> {
        let row = self.customer(input.warehouse, input.district, &input.customer)?;
        let (customer, balance) = (self.rows.int(row, 0), self.rows.integer(row, 1));
        let (w, d) = (int(input.warehouse), int(input.district));
        self.find(self.statements.last_order, &[w, d, int(customer)])?;
        let (order, carrier) = (self.rows.int(0, 0), self.rows.int(0, 1));
        self.find(self.statements.order_lines, &[w, d, int(order)])?;
        let lines = self.rows.len();
        let amount = (0..lines).map(|line| self.rows.integer(line, 0)).sum();
        Ok(Some(Status { customer, balance, order, carrier, lines: lines as i32, amount }))
    }

    /// Delivers the oldest order of a district, if it has one.
    fn deliver(&mut self, input: &Delivery, district: i32) -> Result<bool, Failure> {
        let (w, d) = (int(input.warehouse), int(district));
        self.query(self.statements.oldest_order, &[w, d])?;
        if self.rows.is_empty() {
            return Ok(false);
        }
        let o = int(self.rows.int(0, 0));
        self.connection.execute(self.statements.delete_new_order, &[w, d, o])?;
        self.find(self.statements.deliver_order, &[w, d, o, int(input.carrier)])?;
        let c = int(self.rows.int(0, 0));
        let time = Param::Time(input.time);
        self.connection.execute(self.statements.deliver_lines, &[w, d, o, time])?;
        self.find(self.statements.order_amount, &[w, d, o])?;
        let amount = Param::Decimal(self.rows.integer(0, 0), 2);
        self.connection.execute(self.statements.deliver_customer, &[w, d, c, amount])?;
        Ok(true)
    }

    fn low_stock(&mut self, input: &StockLevel) -> Result<Option<i32>, Failure> {
        let (w, d) = (int(input.warehouse), int(input.district));
        self.find(self.statements.district_next, &[w, d])?;
        let next = self.rows.int(0, 0);
        let params = [w, d, int(next - 20), int(next), int(input.threshold)];
        self.find(self.statements.low_stock, &params)?;
        Ok(Some(self.rows.int(0, 0)))
    }
}

impl<C: SqlConnection> Terminal for SqlTerminal<C> {
    fn new_order(&mut self, input: &NewOrder) -> Result<Option<Placed>, Failure> {
        self.transaction(Access::ReadWrite, |terminal| terminal.place(input))
    }

    fn payment(&mut self, input: &Payment) -> Result<Paid, Failure> {
        self.transaction(Access::ReadWrite, |terminal| terminal.pay(input)).map(always)
    }

    fn order_status(&mut self, input: &OrderStatus) -> Result<Status, Failure> {
        self.transaction(Access::ReadOnly, |terminal| terminal.status(input)).map(always)
    }

    fn delivery(&mut self, input: &Delivery) -> Result<i32, Failure> {
        let deliver = |terminal: &mut Self| {
            let mut delivered = 0;
            for district in 1..=DISTRICTS as i32 {
                delivered += i32::from(terminal.deliver(input, district)?);
            }
            Ok(Some(delivered))
        };
        self.transaction(Access::ReadWrite, deliver).map(always)
    }

    fn stock_level(&mut self, input: &StockLevel) -> Result<i32, Failure> {
        self.transaction(Access::ReadOnly, |terminal| terminal.low_stock(input)).map(always)
    }
}
