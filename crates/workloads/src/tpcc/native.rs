//! The five transactions against tables and indexes, without SQL.
//!
//! ```text
//! Terminal -> NativeTerminal: begin, body, commit -> Bodies -> Transaction: get, range, update,
//! ...
//! ```
//! [`Transaction`] is what a native API has to offer; binding it is a matter of forwarding. An API
//! that takes closures calls the methods of [`Bodies`] in them. Nothing is allocated in a
//! transaction once the buffers have grown, and no call is dynamic.
//! Source: TPC-C 5.11, clauses 2.4.2 to 2.8.2.

use std::ops::ControlFlow;

pub use storage::Datum;

use super::input::{Delivery, LINES_MAX, NewOrder, OrderStatus, Payment, StockLevel, Who};
use super::populate::DISTRICTS;
use super::schema::{
    CUSTOMER_BY_NAME, ORDERS_BY_CUSTOMER, SecondaryIndex, Table, customer, district, item,
    new_order, order_line, orders, stock, warehouse,
};
use super::sql::Access;
use super::terminal::{
    Failure, Paid, Placed, Status, Terminal, always, bad_credit_data, middle, stock_after, total,
};
use super::values::is_original;

/// Columns of one row, in the order they were asked for. Kept across reads, so that its memory is
/// used again.
pub trait Row: Default {
    /// True when it is NULL.
    fn is_null(&self, i: usize) -> bool;
    /// An INTEGER.
    fn i32(&self, i: usize) -> i32;
    /// A NUMERIC's digits without its point, or a TIMESTAMP's microseconds.
    fn i64(&self, i: usize) -> i64;
    /// Text, without the blanks that pad a CHAR(n).
    fn text(&self, i: usize) -> &[u8];
}

/// Index to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The primary key of a table.
    Primary(Table),
    /// One of [`super::schema::SECONDARY`].
    Secondary(SecondaryIndex),
}

/// In which order a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key.
    Ascending,
    /// From the largest key.
    Descending,
}

/// The rows of an index whose keys begin with `low`, with `high`, or lie between.
#[derive(Clone, Copy)]
pub struct Range<'a> {
    /// The index.
    pub index: Index,
    /// First columns of the smallest keys.
    pub low: &'a [Datum<'a>],
    /// First columns of the largest keys, as many as of the smallest.
    pub high: &'a [Datum<'a>],
    /// Order in which the rows are met.
    pub direction: Direction,
}

impl<'a> Range<'a> {
    /// The rows whose keys begin with `prefix`.
    pub fn of(index: Index, prefix: &'a [Datum<'a>], direction: Direction) -> Self {
        Self { index, low: prefix, high: prefix, direction }
    }
}

/// Key number `i` of a batch.
pub struct Nth<'a, B> {
    /// The batch.
    pub batch: &'a mut B,
    /// The number of the key, from 0.
    pub i: usize,
}

/// District of a customer.
#[derive(Clone, Copy)]
struct Place {
    warehouse: i32,
    district: i32,
}

/// The operations of a running transaction. Columns are ordinals of the table.
///
/// All methods: [`Failure::Retry`] when another transaction was first; the caller rolls back.
pub trait Transaction {
    /// Where a row is, as long as this transaction runs and does not change the row.
    type RowId: Copy;
    /// Holds what is read.
    type Row: Row;
    /// Keys whose rows are read one after the other.
    type Batch: Default;

    /// Reads `columns` of the row with this primary key into `row`, if it is there.
    ///
    /// # Errors
    /// See the trait.
    fn get(
        &mut self,
        table: Table,
        key: &[Datum<'_>],
        columns: &[usize],
        row: &mut Self::Row,
    ) -> Result<Option<Self::RowId>, Failure>;

    /// Makes `batch` the primary keys `keys` of `table`, whose rows will be read.
    ///
    /// # Errors
    /// See the trait.
    fn start_batch<const N: usize>(
        &mut self,
        table: Table,
        keys: &[[Datum<'_>; N]],
        batch: &mut Self::Batch,
    ) -> Result<(), Failure>;

    /// As [`Self::get`], with a key of a batch of this table.
    ///
    /// # Errors
    /// See the trait.
    fn get_nth(
        &mut self,
        table: Table,
        nth: Nth<'_, Self::Batch>,
        columns: &[usize],
        row: &mut Self::Row,
    ) -> Result<Option<Self::RowId>, Failure>;

    /// Reads `columns` of a row found before.
    ///
    /// # Errors
    /// See the trait.
    fn read(
        &mut self,
        table: Table,
        id: Self::RowId,
        columns: &[usize],
        row: &mut Self::Row,
    ) -> Result<(), Failure>;

    /// Visits the rows whose key lies in `range`, until `visit` breaks; `row` is where `columns`
    /// are read to.
    ///
    /// # Errors
    /// See the trait.
    fn range(
        &mut self,
        range: Range<'_>,
        columns: &[usize],
        row: &mut Self::Row,
        visit: impl FnMut(Self::RowId, &Self::Row) -> ControlFlow<()>,
    ) -> Result<(), Failure>;

    /// Changes columns of a row.
    ///
    /// # Errors
    /// See the trait.
    fn update(
        &mut self,
        table: Table,
        id: Self::RowId,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<(), Failure>;

    /// Inserts a row with all its columns.
    ///
    /// # Errors
    /// See the trait.
    fn insert(&mut self, table: Table, row: &[Datum<'_>]) -> Result<(), Failure>;

    /// Deletes a row.
    ///
    /// # Errors
    /// See the trait.
    fn delete(&mut self, table: Table, id: Self::RowId) -> Result<(), Failure>;
}

/// A session that runs one transaction at a time.
pub trait Session: Transaction {
    /// Starts one.
    ///
    /// # Errors
    /// Errors of the database.
    fn begin(&mut self, access: Access) -> Result<(), Failure>;

    /// Commits it.
    ///
    /// # Errors
    /// [`Failure::Retry`] when it lost; it is over then.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Rolls it back.
    fn rollback(&mut self);
}

/// The five transactions without begin and commit, and the memory they use again and again.
///
/// All methods: `None` asks for roll-back; `Err` as [`Transaction`].
pub struct Bodies<T: Transaction> {
    row: T::Row,
    ids: Vec<T::RowId>,
    items: Vec<i32>,
    text: String,
    item_keys: T::Batch,
    stock_keys: T::Batch,
}

impl<T: Transaction> Default for Bodies<T> {
    fn default() -> Self {
        let (ids, items, text) = (Vec::new(), Vec::new(), String::new());
        let (item_keys, stock_keys) = Default::default();
        Self { row: T::Row::default(), ids, items, text, item_keys, stock_keys }
    }
}

use Datum::{I32, I64, Null, Str};

/// S_DIST_01 is followed by the other nine.
fn dist_info(district: i32) -> usize {
    stock::DIST_01 + district as usize - 1
}

fn lost(table: Table, key: &[Datum<'_>]) -> Failure {
    Failure::Fatal(format!("there is no {} {key:?}", table.name()))
}

impl<T: Transaction> Bodies<T> {
    /// Reads a row that must be there.
    fn find(
        &mut self,
        txn: &mut T,
        table: Table,
        key: &[Datum<'_>],
        columns: &[usize],
    ) -> Result<T::RowId, Failure> {
        txn.get(table, key, columns, &mut self.row)?.ok_or_else(|| lost(table, key))
    }

    /// Gathers the ids of all rows whose key begins with `prefix`, ascending.
    fn gather(&mut self, txn: &mut T, index: Index, prefix: &[Datum<'_>]) -> Result<(), Failure> {
        let ids = &mut self.ids;
        ids.clear();
        let range = Range::of(index, prefix, Direction::Ascending);
        txn.range(range, &[], &mut self.row, |id, _| {
            ids.push(id);
            ControlFlow::Continue(())
        })
    }

    /// The first row of a range; `row` holds its `columns`.
    fn first(
        &mut self,
        txn: &mut T,
        range: Range<'_>,
        columns: &[usize],
    ) -> Result<Option<(T::RowId, i32)>, Failure> {
        let mut found = None;
        txn.range(range, columns, &mut self.row, |id, row| {
            found = Some((id, row.i32(0)));
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Reads `columns` of a customer.
    fn customer(
        &mut self,
        txn: &mut T,
        Place { warehouse: w, district: d }: Place,
        who: &Who,
        columns: &[usize],
    ) -> Result<T::RowId, Failure> {
        match who {
            Who::Id(id) => self.find(txn, Table::Customer, &[I32(w), I32(d), I32(*id)], columns),
            Who::Last(name) => {
                let prefix = [I32(w), I32(d), Str(name.as_bytes())];
                self.gather(txn, Index::Secondary(CUSTOMER_BY_NAME), &prefix)?;
                if self.ids.is_empty() {
                    return Err(lost(Table::Customer, &prefix));
                }
                let id = self.ids[middle(self.ids.len())];
                txn.read(Table::Customer, id, columns, &mut self.row)?;
                Ok(id)
            }
        }
    }

    /// Enters an order.
    ///
    /// # Errors
    /// See [`Transaction`].
    pub fn new_order(&mut self, txn: &mut T, input: &NewOrder) -> Result<Option<Placed>, Failure> {
        let (w, d, c) = (I32(input.warehouse), I32(input.district), I32(input.customer));
        self.find(txn, Table::Warehouse, &[w], &[warehouse::TAX])?;
        let warehouse_tax = self.row.i64(0);
        let shown = [customer::DISCOUNT, customer::LAST, customer::CREDIT];
        self.find(txn, Table::Customer, &[w, d, c], &shown)?;
        let discount = self.row.i64(0);
        let columns = [district::NEXT_O_ID, district::TAX];
        let id = self.find(txn, Table::District, &[w, d], &columns)?;
        let (order, taxes) = (self.row.i32(0), warehouse_tax + self.row.i64(1));
        txn.update(Table::District, id, &[(district::NEXT_O_ID, I32(order + 1))])?;
        let lines = input.lines().len() as i32;
        let all_local = I32(input.all_local().into());
        let o = I32(order);
        let time = I64(input.time);
        txn.insert(Table::Orders, &[w, d, o, c, time, Null, I32(lines), all_local])?;
        txn.insert(Table::NewOrder, &[w, d, o])?;
        let (mut amount, mut branded) = (0, 0);
        self.start_lines(txn, input)?;
        for (i, line) in input.lines().iter().enumerate() {
            let columns = [item::PRICE, item::NAME, item::DATA];
            let keys = &mut self.item_keys;
            if txn.get_nth(Table::Item, Nth { batch: keys, i }, &columns, &mut self.row)?.is_none()
            {
                return Ok(None);
            }
            let line_amount = self.row.i64(0) * i64::from(line.quantity);
            amount += line_amount;
            let original = is_original(self.row.text(2));
            self.take_stock(txn, input, i)?;
            branded += i32::from(original && is_original(self.row.text(5)));
            txn.insert(
                Table::OrderLine,
                &[
                    w,
                    d,
                    o,
                    I32(i as i32 + 1),
                    I32(line.item),
                    I32(line.supply),
                    Null,
                    I32(line.quantity),
                    I64(line_amount),
                    Str(self.row.text(4)),
                ],
            )?;
        }
        Ok(Some(Placed { order, total: total(amount, discount, taxes), branded }))
    }

    /// The keys of the lines' items and their stock.
    fn start_lines(&mut self, txn: &mut T, input: &NewOrder) -> Result<(), Failure> {
        let lines = input.lines();
        let (mut items, mut stocks) = ([[Null]; LINES_MAX], [[Null; 2]; LINES_MAX]);
        for (i, line) in lines.iter().enumerate() {
            items[i] = [I32(line.item)];
            stocks[i] = [I32(line.supply), I32(line.item)];
        }
        txn.start_batch(Table::Item, &items[..lines.len()], &mut self.item_keys)?;
        txn.start_batch(Table::Stock, &stocks[..lines.len()], &mut self.stock_keys)
    }

    /// Takes a line's quantity from the stock; `row` holds the district's information at 4 and the
    /// data at 5.
    fn take_stock(&mut self, txn: &mut T, input: &NewOrder, i: usize) -> Result<(), Failure> {
        let line = &input.lines()[i];
        let columns = [
            stock::QUANTITY,
            stock::YTD,
            stock::ORDER_CNT,
            stock::REMOTE_CNT,
            dist_info(input.district),
            stock::DATA,
        ];
        let nth = Nth { batch: &mut self.stock_keys, i };
        let found = txn.get_nth(Table::Stock, nth, &columns, &mut self.row)?;
        let key = [I32(line.supply), I32(line.item)];
        let id = found.ok_or_else(|| lost(Table::Stock, &key))?;
        let row = &self.row;
        let remote = i32::from(line.supply != input.warehouse);
        let changes = [
            (stock::QUANTITY, I32(stock_after(row.i32(0), line.quantity))),
            (stock::YTD, I32(row.i32(1) + line.quantity)),
            (stock::ORDER_CNT, I32(row.i32(2) + 1)),
            (stock::REMOTE_CNT, I32(row.i32(3) + 1)),
        ];
        // Most lines are local and leave the last one as it is.
        txn.update(Table::Stock, id, &changes[..3 + remote as usize])
    }

    /// Pays.
    ///
    /// # Errors
    /// See [`Transaction`].
    pub fn payment(&mut self, txn: &mut T, input: &Payment) -> Result<Option<Paid>, Failure> {
        let (w, d) = (I32(input.warehouse), I32(input.district));
        let columns = [
            warehouse::YTD,
            warehouse::NAME,
            warehouse::STREET_1,
            warehouse::STREET_2,
            warehouse::CITY,
            warehouse::STATE,
            warehouse::ZIP,
        ];
        let id = self.find(txn, Table::Warehouse, &[w], &columns)?;
        let ytd = I64(self.row.i64(0) + input.amount);
        // h_data: at most 10 + 4 + 10 bytes.
        let mut data = [b' '; 24];
        let name_bytes = self.row.text(1).len();
        data[..name_bytes].copy_from_slice(self.row.text(1));
        txn.update(Table::Warehouse, id, &[(warehouse::YTD, ytd)])?;
        let columns = [
            district::YTD,
            district::NAME,
            district::STREET_1,
            district::STREET_2,
            district::CITY,
            district::STATE,
            district::ZIP,
        ];
        let id = self.find(txn, Table::District, &[w, d], &columns)?;
        let ytd = I64(self.row.i64(0) + input.amount);
        let start = name_bytes + 4;
        let end = start + self.row.text(1).len();
        data[start..end].copy_from_slice(self.row.text(1));
        txn.update(Table::District, id, &[(district::YTD, ytd)])?;
        let paid = self.pay_customer(txn, input)?;
        let (c_w, c_d) = (I32(input.customer_warehouse), I32(input.customer_district));
        let (c, time, amount) = (I32(paid.customer), I64(input.time), I64(input.amount));
        txn.insert(Table::History, &[c, c_d, c_w, d, w, time, amount, Str(&data[..end])])?;
        Ok(Some(paid))
    }

    fn pay_customer(&mut self, txn: &mut T, input: &Payment) -> Result<Paid, Failure> {
        let columns = [
            customer::ID,
            customer::BALANCE,
            customer::CREDIT,
            customer::YTD_PAYMENT,
            customer::PAYMENT_CNT,
            customer::FIRST,
            customer::MIDDLE,
            customer::LAST,
            customer::STREET_1,
            customer::STREET_2,
            customer::CITY,
            customer::STATE,
            customer::ZIP,
            customer::PHONE,
            customer::SINCE,
            customer::CREDIT_LIM,
            customer::DISCOUNT,
        ];
        let place =
            Place { warehouse: input.customer_warehouse, district: input.customer_district };
        let id = self.customer(txn, place, &input.customer, &columns)?;
        let (number, balance) = (self.row.i32(0), self.row.i64(1) - input.amount);
        let totals = [
            (customer::BALANCE, I64(balance)),
            (customer::YTD_PAYMENT, I64(self.row.i64(3) + input.amount)),
            (customer::PAYMENT_CNT, I32(self.row.i32(4) + 1)),
        ];
        if self.row.text(2) == b"BC" {
            txn.read(Table::Customer, id, &[customer::DATA], &mut self.row)?;
            let data = std::str::from_utf8(self.row.text(0)).map_err(Failure::fatal)?;
            bad_credit_data(input, number, data, &mut self.text);
            let data = (customer::DATA, Str(self.text.as_bytes()));
            txn.update(Table::Customer, id, &[totals[0], totals[1], totals[2], data])?;
        } else {
            txn.update(Table::Customer, id, &totals)?;
        }
        Ok(Paid { customer: number, balance })
    }

    /// Asks for a customer's last order.
    ///
    /// # Errors
    /// See [`Transaction`].
    pub fn order_status(
        &mut self,
        txn: &mut T,
        input: &OrderStatus,
    ) -> Result<Option<Status>, Failure> {
        let columns =
            [customer::ID, customer::BALANCE, customer::FIRST, customer::MIDDLE, customer::LAST];
        let place = Place { warehouse: input.warehouse, district: input.district };
        self.customer(txn, place, &input.customer, &columns)?;
        let (customer, balance) = (self.row.i32(0), self.row.i64(1));
        let (w, d) = (I32(input.warehouse), I32(input.district));
        let prefix = [w, d, I32(customer)];
        let index = Index::Secondary(ORDERS_BY_CUSTOMER);
        let columns = [orders::ID, orders::CARRIER_ID, orders::ENTRY_D];
        let newest = self.first(txn, Range::of(index, &prefix, Direction::Descending), &columns)?;
        let (_, order) = newest.ok_or_else(|| lost(Table::Orders, &prefix))?;
        let carrier = if self.row.is_null(1) { 0 } else { self.row.i32(1) };
        let columns = [
            order_line::AMOUNT,
            order_line::I_ID,
            order_line::SUPPLY_W_ID,
            order_line::QUANTITY,
            order_line::DELIVERY_D,
        ];
        let prefix = [w, d, I32(order)];
        let index = Index::Primary(Table::OrderLine);
        let (mut lines, mut amount) = (0, 0);
        let (up, row) = (Direction::Ascending, &mut self.row);
        txn.range(Range::of(index, &prefix, up), &columns, row, |_, row| {
            lines += 1;
            amount += row.i64(0);
            ControlFlow::Continue(())
        })?;
        Ok(Some(Status { customer, balance, order, carrier, lines, amount }))
    }

    /// Delivers the oldest order of each district.
    ///
    /// # Errors
    /// See [`Transaction`].
    pub fn delivery(&mut self, txn: &mut T, input: &Delivery) -> Result<Option<i32>, Failure> {
        let mut delivered = 0;
        for district in 1..=DISTRICTS as i32 {
            delivered += i32::from(self.deliver(txn, input, district)?);
        }
        Ok(Some(delivered))
    }

    fn deliver(&mut self, txn: &mut T, input: &Delivery, district: i32) -> Result<bool, Failure> {
        let (w, d) = (I32(input.warehouse), I32(district));
        let index = Index::Primary(Table::NewOrder);
        let up = Direction::Ascending;
        let prefix = [w, d];
        let range = Range::of(index, &prefix, up);
        let Some((id, order)) = self.first(txn, range, &[new_order::O_ID])? else {
            return Ok(false);
        };
        txn.delete(Table::NewOrder, id)?;
        let key = [w, d, I32(order)];
        let id = self.find(txn, Table::Orders, &key, &[orders::C_ID])?;
        let buyer = I32(self.row.i32(0));
        txn.update(Table::Orders, id, &[(orders::CARRIER_ID, I32(input.carrier))])?;
        let index = Index::Primary(Table::OrderLine);
        let mut amount = 0;
        let ids = &mut self.ids;
        ids.clear();
        let range = Range::of(index, &key, up);
        txn.range(range, &[order_line::AMOUNT], &mut self.row, |id, row| {
            ids.push(id);
            amount += row.i64(0);
            ControlFlow::Continue(())
        })?;
        for id in ids {
            txn.update(Table::OrderLine, *id, &[(order_line::DELIVERY_D, I64(input.time))])?;
        }
        let columns = [customer::BALANCE, customer::DELIVERY_CNT];
        let id = self.find(txn, Table::Customer, &[w, d, buyer], &columns)?;
        let changes = [
            (customer::BALANCE, I64(self.row.i64(0) + amount)),
            (customer::DELIVERY_CNT, I32(self.row.i32(1) + 1)),
        ];
        txn.update(Table::Customer, id, &changes)?;
        Ok(true)
    }

    /// Counts the items of the last 20 orders that are below the threshold.
    ///
    /// # Errors
    /// See [`Transaction`].
    pub fn stock_level(&mut self, txn: &mut T, input: &StockLevel) -> Result<Option<i32>, Failure> {
        let (w, d) = (I32(input.warehouse), I32(input.district));
        self.find(txn, Table::District, &[w, d], &[district::NEXT_O_ID])?;
        let next = self.row.i32(0);
        let (low, high) = ([w, d, I32(next - 20)], [w, d, I32(next - 1)]);
        let index = Index::Primary(Table::OrderLine);
        let items = &mut self.items;
        items.clear();
        let (up, row) = (Direction::Ascending, &mut self.row);
        let range = Range { index, low: &low, high: &high, direction: up };
        txn.range(range, &[order_line::I_ID], row, |_, row| {
            items.push(row.i32(0));
            ControlFlow::Continue(())
        })?;
        items.sort_unstable();
        items.dedup();
        let mut count = 0;
        // 20 orders of at most 15 lines.
        let mut keys = [[w, Null]; 20 * LINES_MAX];
        keys.iter_mut().zip(&self.items).for_each(|(key, item)| key[1] = I32(*item));
        let keys = &keys[..self.items.len()];
        txn.start_batch(Table::Stock, keys, &mut self.stock_keys)?;
        for (i, key) in keys.iter().enumerate() {
            let (batch, row) = (&mut self.stock_keys, &mut self.row);
            let found = txn.get_nth(Table::Stock, Nth { batch, i }, &[stock::QUANTITY], row)?;
            found.ok_or_else(|| lost(Table::Stock, key))?;
            count += i32::from(self.row.i32(0) < input.threshold);
        }
        Ok(Some(count))
    }
}

/// A terminal on a session.
pub struct NativeTerminal<S: Session> {
    session: S,
    bodies: Bodies<S>,
}

impl<S: Session> NativeTerminal<S> {
    /// A terminal that uses `session`.
    pub fn new(session: S) -> Self {
        Self { session, bodies: Bodies::default() }
    }

    /// Gives the session back.
    pub fn into_session(self) -> S {
        self.session
    }

    fn transaction<A>(
        &mut self,
        access: Access,
        body: impl FnOnce(&mut Bodies<S>, &mut S) -> Result<Option<A>, Failure>,
    ) -> Result<Option<A>, Failure> {
        self.session.begin(access)?;
        match body(&mut self.bodies, &mut self.session) {
            Ok(Some(answer)) => self.session.commit().map(|()| Some(answer)),
            rolled_back => {
                self.session.rollback();
                rolled_back
            }
        }
    }
}

impl<S: Session> Terminal for NativeTerminal<S> {
    fn new_order(&mut self, input: &NewOrder) -> Result<Option<Placed>, Failure> {
        self.transaction(Access::ReadWrite, |bodies, txn| bodies.new_order(txn, input))
    }

    fn payment(&mut self, input: &Payment) -> Result<Paid, Failure> {
        self.transaction(Access::ReadWrite, |bodies, txn| bodies.payment(txn, input)).map(always)
    }

    fn order_status(&mut self, input: &OrderStatus) -> Result<Status, Failure> {
        let read = Access::ReadOnly;
        self.transaction(read, |bodies, txn| bodies.order_status(txn, input)).map(always)
    }

    fn delivery(&mut self, input: &Delivery) -> Result<i32, Failure> {
        self.transaction(Access::ReadWrite, |bodies, txn| bodies.delivery(txn, input)).map(always)
    }

    fn stock_level(&mut self, input: &StockLevel) -> Result<i32, Failure> {
        let read = Access::ReadOnly;
        self.transaction(read, |bodies, txn| bodies.stock_level(txn, input)).map(always)
    }
}
