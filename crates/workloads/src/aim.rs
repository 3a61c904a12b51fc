//! Huawei-AIM: one wide table of subscribers, calls that change some attributes of a row, and
//! seven queries over all rows.
//!
//! ```text
//! subscribers: entity_id | six properties | a_1 ... a_n, of which twelve have a meaning
//! call -> UPDATE of nine of them          query 1 to 7 -> averages, sums, maxima of some
//! ```
//! All attributes are whole numbers (seconds, cents, calls), so that sums do not depend on their
//! order. Rows, calls and queries depend on their numbers alone.
//!
//! Source: Pilman 2017, section 9.3; Braun 2015. Departures: money is in cents; query 7 asks for
//! the largest ratio, as the former; properties are columns in the place of tables.

use std::fmt::Write as _;

use crate::random::Draw;

/// Attributes of the source.
pub const ATTRIBUTES: u32 = 546;

/// The largest number of an attribute that has a meaning.
pub const ATTRIBUTES_MIN: u32 = 41;

/// Queries.
pub const QUERIES: u32 = 7;

/// Properties: names, and how many values each has.
const PROPERTIES: [(&str, u64); 6] = [
    ("city_zip", 1000),
    ("region_id", 10),
    ("subscription_type_id", 4),
    ("category_id", 3),
    ("country_id", 4),
    ("value_type_id", 4),
];

/// Calls that a subscriber made before the first of the stream, at most.
const EARLIER_MAX: u64 = 10;

/// Draws of rows, of calls and of queries.
const ROWS: u64 = 70;
const CALLS: u64 = 71;
const PARAMETERS: u64 = 72;

/// Numbers of the attributes that have a meaning, each of this week where nothing else is said.
mod meaning {
    pub(super) const LONGEST_LOCAL_TODAY: usize = 13;
    pub(super) const LONGEST_DISTANT_TODAY: usize = 20;
    pub(super) const COST: usize = 22;
    pub(super) const DEAREST: usize = 24;
    pub(super) const DURATION: usize = 25;
    pub(super) const CALLS: usize = 28;
    pub(super) const LOCAL_COST: usize = 29;
    pub(super) const LOCAL_DURATION: usize = 32;
    pub(super) const LONGEST_LOCAL: usize = 34;
    pub(super) const LOCAL_CALLS: usize = 35;
    pub(super) const DISTANT_COST: usize = 36;
    pub(super) const LONGEST_DISTANT: usize = 41;
}

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Within the area.
    Local,
    /// Beyond it.
    Distant,
}

/// A call of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The subscriber's `entity_id`.
    pub subscriber: u64,
    /// Where it goes.
    pub reach: Reach,
    /// Duration.
    pub seconds: i64,
    /// Price.
    pub cents: i64,
}

/// Effect of a call on an attribute.
#[derive(Clone, Copy)]
enum Effect {
    One,
    Seconds,
    Cents,
    LongestSeconds,
    MostCents,
}

impl Call {
    fn drawn(subscriber: u64, draw: &mut Draw) -> Self {
        let reach = if draw.percent(60) { Reach::Local } else { Reach::Distant };
        let seconds = draw.between(1, 120);
        Self { subscriber, reach, seconds, cents: draw.between(1, 3 * seconds) }
    }
}

impl Reach {
    fn effects(self) -> Vec<(usize, Effect)> {
        let mut effects = vec![
            (meaning::COST, Effect::Cents),
            (meaning::DEAREST, Effect::MostCents),
            (meaning::DURATION, Effect::Seconds),
            (meaning::CALLS, Effect::One),
        ];
        effects.extend(match self {
            Self::Local => vec![
                (meaning::LONGEST_LOCAL_TODAY, Effect::LongestSeconds),
                (meaning::LOCAL_COST, Effect::Cents),
                (meaning::LOCAL_DURATION, Effect::Seconds),
                (meaning::LONGEST_LOCAL, Effect::LongestSeconds),
                (meaning::LOCAL_CALLS, Effect::One),
            ],
            Self::Distant => vec![
                (meaning::LONGEST_DISTANT_TODAY, Effect::LongestSeconds),
                (meaning::DISTANT_COST, Effect::Cents),
                (meaning::LONGEST_DISTANT, Effect::LongestSeconds),
            ],
        });
        effects
    }

    /// The statement of a call: `$1` its seconds, `$2` its cents, `$3` its subscriber, all bigint.
    pub fn update(self, table: &str) -> String {
        let assignments = self.effects().into_iter().map(|(number, effect)| {
            let value = match effect {
                Effect::One => format!("a_{number} + 1"),
                Effect::Seconds => format!("a_{number} + $1"),
                Effect::Cents => format!("a_{number} + $2"),
                Effect::LongestSeconds => format!("greatest(a_{number}, $1)"),
                Effect::MostCents => format!("greatest(a_{number}, $2)"),
            };
            format!("a_{number} = {value}")
        });
        let assignments = assignments.collect::<Vec<_>>().join(", ");
        format!("UPDATE {table} SET {assignments} WHERE entity_id = $3")
    }
}

/// A row: the model of what calls do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// Its `entity_id`.
    pub id: u64,
    properties: Vec<u64>,
    /// Attribute `n` at `n - 1`.
    attributes: Vec<i64>,
}

impl Subscriber {
    /// The value of attribute `number`, from 1.
    pub fn attribute(&self, number: usize) -> i64 {
        self.attributes[number - 1]
    }

    /// Adds a call.
    pub fn call(&mut self, call: &Call) {
        for (number, effect) in call.reach.effects() {
            let value = &mut self.attributes[number - 1];
            *value = match effect {
                Effect::One => *value + 1,
                Effect::Seconds => *value + call.seconds,
                Effect::Cents => *value + call.cents,
                Effect::LongestSeconds => (*value).max(call.seconds),
                Effect::MostCents => (*value).max(call.cents),
            };
        }
    }

    /// Adds its row, a line of COPY's text format.
    pub fn write(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{}", self.id);
        for value in &self.properties {
            let _ = write!(out, "\t{value}");
        }
        for value in &self.attributes {
            let _ = write!(out, "\t{value}");
        }
        out.push('\n');
    }
}

/// Sizes of a table.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// Rows.
    pub subscribers: u64,
    /// Attributes of a row, at least [`ATTRIBUTES_MIN`].
    pub attributes: u32,
}

impl Aim {
    /// The statement that makes the table.
    pub fn create_table(&self, table: &str) -> String {
        let properties = PROPERTIES.iter().map(|(name, _)| format!("{name} int NOT NULL"));
        let attributes = (1..=self.attributes).map(|number| format!("a_{number} bigint NOT NULL"));
        let columns = properties.chain(attributes).collect::<Vec<_>>().join(", ");
        format!("CREATE TABLE {table} (entity_id bigint PRIMARY KEY, {columns})")
    }

    /// The row of a subscriber, from 0, before the first call of the stream.
    pub fn subscriber(&self, id: u64) -> Subscriber {
        let mut draw = Draw::new(ROWS, id);
        let properties = PROPERTIES.iter().map(|(_, values)| draw.below(*values)).collect();
        let attributes = (0..self.attributes).map(|_| draw.between(0, 999)).collect();
        let mut row = Subscriber { id, properties, attributes };
        for reach in [Reach::Local, Reach::Distant] {
            reach.effects().iter().for_each(|(number, _)| row.attributes[number - 1] = 0);
        }
        for _ in 0..draw.below(EARLIER_MAX + 1) {
            row.call(&Call::drawn(id, &mut draw));
        }
        row
    }

    /// Call `number` of the stream.
    pub fn call(&self, number: u64) -> Call {
        let mut draw = Draw::new(CALLS, number);
        Call::drawn(draw.below(self.subscribers), &mut draw)
    }

    /// Query `number`, 1 to [`QUERIES`], with the parameters of a seed; its rows have an order.
    pub fn query(&self, number: u32, table: &str, seed: u64) -> String {
        let mut draw = Draw::seeded(seed, PARAMETERS, number.into());
        match number {
            1 => {
                let alpha = draw.between(0, 2);
                format!("SELECT avg(a_25) FROM {table} WHERE a_35 > {alpha}")
            }
            2 => {
                let beta = draw.between(2, 5);
                format!("SELECT max(a_24) FROM {table} WHERE a_28 > {beta}")
            }
            3 => format!(
                "SELECT a_28, sum(a_22) / nullif(sum(a_25), 0) FROM {table} GROUP BY a_28 \
                 ORDER BY a_28 LIMIT 100"
            ),
            4 => {
                let (gamma, delta) = (draw.between(2, 10), draw.between(20, 150));
                format!(
                    "SELECT city_zip, avg(a_35), sum(a_32) FROM {table} \
                     WHERE a_35 > {gamma} AND a_32 > {delta} GROUP BY city_zip ORDER BY city_zip"
                )
            }
            5 => {
                let (subscription, category) = (draw.below(4), draw.below(3));
                format!(
                    "SELECT region_id, sum(a_29), sum(a_36) FROM {table} \
                     WHERE subscription_type_id = {subscription} AND category_id = {category} \
                     GROUP BY region_id ORDER BY region_id"
                )
            }
            6 => {
                let country = draw.below(4);
                let longest = |attribute: u32| {
                    format!(
                        "SELECT {attribute} AS attribute, min(entity_id) FROM {table} \
                         WHERE country_id = {country} AND a_{attribute} = \
                         (SELECT max(a_{attribute}) FROM {table} WHERE country_id = {country})"
                    )
                };
                let all = [34, 41, 13, 20].map(longest).join(" UNION ALL ");
                format!("{all} ORDER BY attribute")
            }
            _ => {
                let value_type = draw.below(4);
                format!(
                    "SELECT max(a_22::float8 / nullif(a_25, 0)) FROM {table} \
                     WHERE value_type_id = {value_type}"
                )
            }
        }
    }

    /// A query of the calls, their seconds, cents and longest durations in all rows, and what it
    /// has to give after the first `calls` of the stream.
    pub fn audit(&self, table: &str, calls: u64) -> (String, [i64; 5]) {
        let mut rows: Vec<_> = (0..self.subscribers).map(|id| self.subscriber(id)).collect();
        for number in 0..calls {
            let call = self.call(number);
            rows[call.subscriber as usize].call(&call);
        }
        let numbers = [
            meaning::CALLS,
            meaning::DURATION,
            meaning::COST,
            meaning::LONGEST_LOCAL,
            meaning::LONGEST_DISTANT,
        ];
        let sums = numbers.map(|number| format!("sum(a_{number})::bigint")).join(", ");
        let sum = |number| rows.iter().map(|row| row.attribute(number)).sum();
        (format!("SELECT {sums} FROM {table}"), numbers.map(sum))
    }
}

#[cfg(test)]
mod tests;
