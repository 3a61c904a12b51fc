//! Inputs of the five transactions with the specification's skew, in the
//! order of a shuffled deck.
//!
//! Source: TPC-C 5.11, clauses 2.4.1 to 2.8.1 and 5.2.4. Departures: a worker stands for all
//! terminals of its warehouse, so districts are random for Stock-Level too; no keying and
//! thinking; the deck has 100 cards, 45 New-Order, 43 Payment, 4 of each other.

use super::populate::{DISTRICTS, Scale};
use super::values::{Constants, LastName, nurand};
use crate::random::Draw;

/// The most lines of an order.
pub const LINES_MAX: usize = 15;

/// A kind of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Kind {
    /// Enters an order.
    NewOrder,
    /// Pays an amount.
    Payment,
    /// Asks for a customer's last order.
    OrderStatus,
    /// Delivers the oldest order of each district.
    Delivery,
    /// Counts items of recent orders that run short.
    StockLevel,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// The specification's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }

    /// Cards of 100.
    pub fn share(self) -> usize {
        match self {
            Self::NewOrder => 45,
            Self::Payment => 43,
            _ => 4,
        }
    }
}

/// A line of a new order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Item number; of the last line perhaps one that does not exist.
    pub item: i32,
    /// Warehouse that supplies it.
    pub supply: i32,
    /// 1 to 10.
    pub quantity: i32,
}

/// Input of New-Order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Warehouse.
    pub warehouse: i32,
    /// District.
    pub district: i32,
    /// Customer.
    pub customer: i32,
    /// Time of entry, microseconds since 1970.
    pub time: i64,
    lines: [Line; LINES_MAX],
    line_count: usize,
}

impl NewOrder {
    /// The lines, 5 to 15.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.line_count]
    }

    /// True when the home warehouse supplies all lines: O_ALL_LOCAL.
    pub fn all_local(&self) -> bool {
        self.lines().iter().all(|line| line.supply == self.warehouse)
    }
}

/// How a customer is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Id(i32),
    /// By last name: of all who have it, the middle one by first name.
    Last(LastName),
}

/// Input of Payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Warehouse that is paid.
    pub warehouse: i32,
    /// District that is paid.
    pub district: i32,
    /// The customer's warehouse.
    pub customer_warehouse: i32,
    /// The customer's district.
    pub customer_district: i32,
    /// The customer.
    pub customer: Who,
    /// Amount in cents.
    pub amount: i64,
    /// When, microseconds since 1970.
    pub time: i64,
}

/// Input of Order-Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// Warehouse.
    pub warehouse: i32,
    /// District.
    pub district: i32,
    /// The customer.
    pub customer: Who,
}

/// Input of Delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Warehouse.
    pub warehouse: i32,
    /// Carrier, 1 to 10.
    pub carrier: i32,
    /// When, microseconds since 1970.
    pub time: i64,
}

/// Input of Stock-Level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// Warehouse.
    pub warehouse: i32,
    /// District.
    pub district: i32,
    /// Quantities below it are counted.
    pub threshold: i32,
}

/// The input of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Input of New-Order.
    NewOrder(NewOrder),
    /// Input of Payment.
    Payment(Payment),
    /// Input of Order-Status.
    OrderStatus(OrderStatus),
    /// Input of Delivery.
    Delivery(Delivery),
    /// Input of Stock-Level.
    StockLevel(StockLevel),
}

impl Input {
    /// Its kind of transaction.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment(_) => Kind::Payment,
            Self::OrderStatus(_) => Kind::OrderStatus,
            Self::Delivery(_) => Kind::Delivery,
            Self::StockLevel(_) => Kind::StockLevel,
        }
    }
}

/// The inputs of one worker, without end.
pub struct Inputs {
    scale: Scale,
    home: i64,
    constants: Constants,
    draw: Draw,
    deck: Vec<Kind>,
    next: usize,
    clock: fn() -> i64,
}

impl Inputs {
    /// Inputs of worker `worker`, at home in warehouse `1 + worker % warehouses`, against a
    /// population made from `seed`; `run` makes another sequence. `clock` gives microseconds
    /// since 1970.
    pub fn new(scale: &Scale, seed: u64, run: u64, worker: usize, clock: fn() -> i64) -> Self {
        let deck = Kind::ALL.iter().flat_map(|kind| std::iter::repeat_n(*kind, kind.share()));
        Self {
            scale: *scale,
            home: 1 + worker as i64 % i64::from(scale.warehouses),
            constants: Constants::run(seed),
            draw: Draw::seeded(seed ^ run << 32, 200, worker as u64),
            deck: deck.collect(),
            next: 0,
            clock,
        }
    }

    /// The next one.
    pub fn next_input(&mut self) -> Input {
        if self.next == 0 {
            for i in (1..self.deck.len()).rev() {
                self.deck.swap(i, self.draw.between(0, i as i64) as usize);
            }
        }
        let kind = self.deck[self.next];
        self.next = (self.next + 1) % self.deck.len();
        let warehouse = self.home as i32;
        match kind {
            Kind::NewOrder => Input::NewOrder(self.new_order()),
            Kind::Payment => Input::Payment(self.payment()),
            Kind::OrderStatus => {
                let district = self.district();
                Input::OrderStatus(OrderStatus { warehouse, district, customer: self.who() })
            }
            Kind::Delivery => {
                let carrier = self.draw.between(1, 10) as i32;
                Input::Delivery(Delivery { warehouse, carrier, time: (self.clock)() })
            }
            Kind::StockLevel => {
                let threshold = self.draw.between(10, 20) as i32;
                Input::StockLevel(StockLevel { warehouse, district: self.district(), threshold })
            }
        }
    }

    fn new_order(&mut self) -> NewOrder {
        let mut order = NewOrder {
            warehouse: self.home as i32,
            district: self.district(),
            customer: self.customer(),
            time: (self.clock)(),
            lines: [Line::default(); LINES_MAX],
            line_count: self.draw.between(5, LINES_MAX as i64) as usize,
        };
        let unused = self.draw.between(1, 100) == 1;
        let items = i64::from(self.scale.items);
        for i in 0..order.line_count {
            let last = i + 1 == order.line_count;
            let item = nurand(&mut self.draw, 8191, self.constants.item, 1, items);
            let remote = self.draw.between(1, 100) == 1;
            order.lines[i] = Line {
                item: if unused && last { items + 1 } else { item } as i32,
                supply: if remote { self.other_warehouse() } else { self.home } as i32,
                quantity: self.draw.between(1, 10) as i32,
            };
        }
        order
    }

    fn payment(&mut self) -> Payment {
        let district = self.district();
        let remote = self.draw.between(1, 100) > 85;
        let (customer_warehouse, customer_district) = if remote {
            (self.other_warehouse() as i32, self.district())
        } else {
            (self.home as i32, district)
        };
        Payment {
            warehouse: self.home as i32,
            district,
            customer_warehouse,
            customer_district,
            customer: self.who(),
            amount: self.draw.between(100, 500_000),
            time: (self.clock)(),
        }
    }

    fn district(&mut self) -> i32 {
        self.draw.between(1, DISTRICTS.into()) as i32
    }

    fn customer(&mut self) -> i32 {
        let customers = i64::from(self.scale.customers);
        nurand(&mut self.draw, 1023, self.constants.customer, 1, customers) as i32
    }

    /// 60 percent by last name.
    fn who(&mut self) -> Who {
        if self.draw.between(1, 100) > 60 {
            return Who::Id(self.customer());
        }
        let highest = self.scale.names() - 1;
        let number = nurand(&mut self.draw, 255, self.constants.last, 0, highest);
        Who::Last(LastName::new(number as usize))
    }

    /// Any warehouse but home; home when there is no other.
    fn other_warehouse(&mut self) -> i64 {
        let warehouses = i64::from(self.scale.warehouses);
        if warehouses == 1 {
            return self.home;
        }
        let other = self.draw.between(1, warehouses - 1);
        if other >= self.home { other + 1 } else { other }
    }
}

/// Microseconds since 1970 by the system's clock.
pub fn system_clock() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}
