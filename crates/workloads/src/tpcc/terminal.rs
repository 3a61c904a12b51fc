//! The five transactions, whoever runs them, and what they answer.
//!
//! Elsewhere: through SQL (`sql`), against tables and indexes (`native`).

use super::input::{Delivery, Input, NewOrder, OrderStatus, Payment, StockLevel};

/// Why a transaction did not happen. Nothing of it stays, but for [`Failure::Doubt`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The transaction lost to another one (40001, 40P01, SQLITE_BUSY) and may succeed if repeated.
    Retry(String),
    /// The server went away before COMMIT, or what the server stands on: another connection is
    /// needed.
    Lost(String),
    /// The same during COMMIT: nobody knows whether the transaction happened.
    Doubt(String),
    /// The transaction will never succeed.
    Fatal(String),
}

impl Failure {
    /// A [`Failure::Fatal`] with the text of `error`.
    pub fn fatal(error: impl std::fmt::Display) -> Self {
        Self::Fatal(error.to_string())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Retry(message)
            | Self::Lost(message)
            | Self::Doubt(message)
            | Self::Fatal(message) => f.write_str(message),
        }
    }
}

/// Answer of New-Order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Number of the order.
    pub order: i32,
    /// Total after discount and taxes, in cents, rounded.
    pub total: i64,
    /// Lines whose item and stock are of a brand.
    pub branded: i32,
}

/// Answer of Payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// Number of the customer.
    pub customer: i32,
    /// Balance in cents after the payment.
    pub balance: i64,
}

/// Answer of Order-Status: the customer's last order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Number of the customer.
    pub customer: i32,
    /// Balance in cents.
    pub balance: i64,
    /// Number of the order.
    pub order: i32,
    /// Carrier, 0 for none.
    pub carrier: i32,
    /// How many lines it has.
    pub lines: i32,
    /// Sum of their amounts in cents.
    pub amount: i64,
}

/// User at a keyboard: runs one transaction after the other.
///
/// All methods: [`Failure::Retry`] when the same input may succeed later; nothing stays then.
pub trait Terminal {
    /// Enters an order; `None` when it was rolled back, as it has to be for an unused item.
    ///
    /// # Errors
    /// See the trait.
    fn new_order(&mut self, input: &NewOrder) -> Result<Option<Placed>, Failure>;

    /// Pays.
    ///
    /// # Errors
    /// See the trait.
    fn payment(&mut self, input: &Payment) -> Result<Paid, Failure>;

    /// Asks for a customer's last order.
    ///
    /// # Errors
    /// See the trait.
    fn order_status(&mut self, input: &OrderStatus) -> Result<Status, Failure>;

    /// Delivers the oldest order of each district; returns how many districts had one.
    ///
    /// # Errors
    /// See the trait.
    fn delivery(&mut self, input: &Delivery) -> Result<i32, Failure>;

    /// Counts the items of the last 20 orders that are below the threshold.
    ///
    /// # Errors
    /// See the trait.
    fn stock_level(&mut self, input: &StockLevel) -> Result<i32, Failure>;
}

/// An answer of one of the five.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Answer of New-Order; `None` when rolled back.
    Placed(Option<Placed>),
    /// Answer of Payment.
    Paid(Paid),
    /// Answer of Order-Status.
    Status(Status),
    /// Answer of Delivery: districts.
    Delivered(i32),
    /// Answer of Stock-Level: items.
    Low(i32),
}

/// Runs the transaction that `input` belongs to.
///
/// # Errors
/// As the terminal's method.
pub fn answer(terminal: &mut (impl Terminal + ?Sized), input: &Input) -> Result<Answer, Failure> {
    Ok(match input {
        Input::NewOrder(input) => Answer::Placed(terminal.new_order(input)?),
        Input::Payment(input) => Answer::Paid(terminal.payment(input)?),
        Input::OrderStatus(input) => Answer::Status(terminal.order_status(input)?),
        Input::Delivery(input) => Answer::Delivered(terminal.delivery(input)?),
        Input::StockLevel(input) => Answer::Low(terminal.stock_level(input)?),
    })
}

/// A transaction that never rolls back by itself.
pub(crate) fn always<T>(answer: Option<T>) -> T {
    answer.expect("only New-Order is rolled back")
}

/// The total of an order in cents: amounts less discount, with taxes; rates are ten-thousandths.
pub(crate) fn total(amount: i64, discount: i64, taxes: i64) -> i64 {
    const ONE: i64 = 10_000;
    (amount * (ONE - discount) * (ONE + taxes) + ONE * ONE / 2) / (ONE * ONE)
}

/// Stock after an order took `quantity`: refilled before it falls below 10.
pub(crate) fn stock_after(stock: i32, quantity: i32) -> i32 {
    if stock >= quantity + 10 { stock - quantity } else { stock - quantity + 91 }
}

/// Place of the middle one of `count` customers with the same last name: n/2 rounded up, from 0.
pub(crate) fn middle(count: usize) -> usize {
    count.div_ceil(2) - 1
}

/// The most characters of C_DATA.
const DATA_MAX: usize = 500;

/// Writes the new C_DATA of a customer with bad credit to `text`: the payment's data before
/// the old ones, cut to 500 characters.
pub(crate) fn bad_credit_data(input: &Payment, customer: i32, data: &str, text: &mut String) {
    use std::fmt::Write as _;
    text.clear();
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "{customer} {} {} {} {} {}",
        input.customer_district,
        input.customer_warehouse,
        input.district,
        input.warehouse,
        super::populate::Decimal(input.amount, 2)
    );
    text.push_str(&data[..data.len().min(DATA_MAX - text.len())]);
}
