//! Ways to run a query that must not change its answer: techniques switched off, joins in other
//! orders, groups in other places, work orders as messages.
//!
//! ```text
//! all on | all off | without a | without b | ... | order of the text | worst order | ... | bus
//! ```

use plan::Technique;
use testkit::Random;

/// A way to run queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name in reports.
    pub name: String,
    off: Vec<Technique>,
    join_order: &'static str,
    aggregate_place: &'static str,
    dispatch: &'static str,
}

/// Values of `join_order`.
const JOIN_ORDERS: [&str; 3] = ["cost", "text", "worst"];

/// Values of `aggregate_place`.
const AGGREGATE_PLACES: [&str; 2] = ["cost", "early"];

/// Values of `scheduler_dispatch`, which is the server's: databases have one session here.
const DISPATCHES: [&str; 2] = ["monitor", "bus"];

impl Variant {
    /// Everything is used but `off`.
    pub fn without(name: &str, off: &[Technique]) -> Self {
        Self {
            name: name.to_owned(),
            off: off.to_vec(),
            join_order: JOIN_ORDERS[0],
            aggregate_place: AGGREGATE_PLACES[0],
            dispatch: DISPATCHES[0],
        }
    }

    /// Everything is used, and joins are ordered by `join_order`.
    pub fn ordered_by(join_order: &'static str) -> Self {
        Self { join_order, ..Self::without(&format!("join_order = {join_order}"), &[]) }
    }

    /// The same, where joins are ordered by `join_order`.
    #[must_use]
    pub fn and_order(self, join_order: &'static str) -> Self {
        Self { join_order, ..self }
    }

    /// Everything is used, and work orders reach workers as messages.
    pub fn on_bus() -> Self {
        let dispatch = DISPATCHES[1];
        Self { dispatch, ..Self::without(&format!("scheduler_dispatch = {dispatch}"), &[]) }
    }

    /// All techniques, none of them, all but each; then the other orders of joins, and grouping
    /// below and in joins wherever that is possible; then the other dispatch.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::without("all on", &[]), Self::without("all off", &Technique::ALL)];
        all.extend(Self::each());
        all.extend(JOIN_ORDERS[1..].iter().copied().map(Self::ordered_by));
        let early = Self::without("aggregate_place = early", &[]);
        all.push(Self { aggregate_place: AGGREGATE_PLACES[1], ..early });
        let without = Self::without("group joins early", &[Technique::EagerAggregation]);
        all.push(Self { aggregate_place: AGGREGATE_PLACES[1], ..without });
        all.push(Self::on_bus());
        all
    }

    /// All techniques but each.
    pub fn each() -> impl Iterator<Item = Self> {
        let without = |t: Technique| Self::without(&format!("without {}", t.name()), &[t]);
        Technique::ALL.into_iter().map(without)
    }

    /// Each technique with even chance, any order of joins.
    pub fn drawn(random: &mut Random) -> Self {
        let off = Technique::ALL.into_iter().filter(|_| random.chance(50)).collect();
        let join_order = JOIN_ORDERS[random.below(JOIN_ORDERS.len() as u64) as usize];
        let aggregate_place =
            AGGREGATE_PLACES[random.below(AGGREGATE_PLACES.len() as u64) as usize];
        let dispatch = DISPATCHES[0];
        Self { name: "drawn".to_owned(), off, join_order, aggregate_place, dispatch }
    }

    /// The statements that make a session, in whatever state, run queries so.
    pub fn settings(&self) -> Vec<String> {
        let state = |t: &Technique| if self.off.contains(t) { "off" } else { "on" };
        let set = |t: Technique| format!("SET tessera.{} = {}", t.name(), state(&t));
        let mut settings: Vec<String> = Technique::ALL.into_iter().map(set).collect();
        settings.push(format!("SET tessera.join_order = {}", self.join_order));
        settings.push(format!("SET tessera.aggregate_place = {}", self.aggregate_place));
        settings.push(format!("SET scheduler_dispatch = {}", self.dispatch));
        settings
    }
}
