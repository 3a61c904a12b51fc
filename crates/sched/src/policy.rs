//! Which query's work order comes next.
//!
//! ```text
//! candidates (priority, predicted time) --weights--> probabilities --draw--> the next work order
//! ```
//! A policy is a module in `policy/` and a line in [`POLICIES`]; `SET scheduler_policy` knows it by
//! its name.
//!
//! Source: Patel 2018, section 4.3.

mod fair;
mod highest_first;
mod proportional;

use std::collections::VecDeque;
use std::fmt::Debug;

pub use fair::Fair;
pub use highest_first::HighestFirst;
pub use proportional::Proportional;

/// Priority of a query, which says what its share of the workers weighs: 1 and up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u32);

impl Default for Priority {
    fn default() -> Self {
        Self(1)
    }
}

/// How workers are shared among the queries that have work orders.
pub trait Policy: Send + Sync + Debug {
    /// The name that settings know it by.
    fn name(&self) -> &'static str;

    /// The probability of each of `candidates`, two or more, up to a common factor. At least one is
    /// above 0.
    fn weights(&self, candidates: &[Candidate]) -> Vec<f64>;
}

/// All policies; the first is that of a new scheduler.
pub const POLICIES: [&dyn Policy; 3] = [&Proportional, &Fair, &HighestFirst];

/// The policy of this name.
pub fn policy_named(name: &str) -> Option<&'static dyn Policy> {
    POLICIES.into_iter().find(|policy| policy.name() == name)
}

/// How many past work orders predict the next one's time.
const HISTORY: usize = 10;

/// Times of a query's last work orders, and so the prediction for the next.
#[derive(Debug, Default)]
pub(crate) struct History {
    nanos: VecDeque<u64>,
    sum: u64,
}

impl History {
    pub(crate) fn record(&mut self, nanos: u64) {
        if self.nanos.len() == HISTORY {
            self.sum -= self.nanos.pop_front().unwrap_or(0);
        }
        self.nanos.push_back(nanos);
        self.sum += nanos;
    }

    /// Mean nanoseconds of the last work orders; None without any.
    pub(crate) fn predict(&self) -> Option<f64> {
        let count = self.nanos.len();
        (count > 0).then(|| (self.sum as f64 / count as f64).max(1.0))
    }
}

/// A query that has work orders to give.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The query's priority.
    pub priority: Priority,
    /// Mean nanoseconds of its last work orders; None before the first has ended.
    pub predicted_nanos: Option<f64>,
}

/// Weights that give each of `candidates` the same time: work orders that take half as long are
/// given out twice as often. As long as one of them has no past, each gets as many.
fn equal_time(candidates: &[Candidate]) -> Vec<f64> {
    let known: Option<Vec<f64>> =
        candidates.iter().map(|candidate| Some(1.0 / candidate.predicted_nanos?)).collect();
    known.unwrap_or_else(|| vec![1.0; candidates.len()])
}

/// Index of the candidate whose work order is next; `draw` is uniform in 0..1.
pub(crate) fn choose(policy: &dyn Policy, candidates: &[Candidate], draw: f64) -> usize {
    if candidates.len() <= 1 {
        return 0;
    }
    let weights = policy.weights(candidates);
    let total: f64 = weights.iter().sum();
    let mut left = draw * total;
    for (i, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 && *weight > 0.0 {
            return i;
        }
    }
    weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of time that each candidate gets.
    fn shares(policy: &dyn Policy, candidates: &[Candidate]) -> Vec<f64> {
        let mut nanos = vec![0.0; candidates.len()];
        for i in 0..10_000 {
            let chosen = choose(policy, candidates, f64::from(i) / 10_000.0);
            nanos[chosen] += candidates[chosen].predicted_nanos.unwrap_or(1.0);
        }
        let all: f64 = nanos.iter().sum();
        nanos.into_iter().map(|own| own / all).collect()
    }

    fn candidate(priority: u32, nanos: f64) -> Candidate {
        Candidate { priority: Priority(priority), predicted_nanos: Some(nanos) }
    }

    fn is_about(shares: &[f64], expected: &[f64]) {
        let near = shares.iter().zip(expected).all(|(share, wanted)| (share - wanted).abs() < 0.01);
        assert!(near, "{shares:?}, expected {expected:?}");
    }

    #[test]
    fn equal_priorities_get_equal_time_under_each_policy() {
        for policy in POLICIES {
            is_about(&shares(policy, &[candidate(2, 100.0), candidate(2, 300.0)]), &[0.5, 0.5]);
        }
    }

    #[test]
    fn fair_knows_no_priorities() {
        let candidates = [candidate(1, 100.0), candidate(9, 700.0), candidate(2, 50.0)];
        is_about(&shares(&Fair, &candidates), &[1.0 / 3.0; 3]);
    }

    #[test]
    fn time_is_proportional_to_weight() {
        let candidates = [candidate(1, 100.0), candidate(3, 100.0)];
        is_about(&shares(&Proportional, &candidates), &[0.25, 0.75]);
        let candidates = [candidate(1, 40.0), candidate(3, 500.0), candidate(3, 20.0)];
        is_about(&shares(&Proportional, &candidates), &[1.0 / 7.0, 3.0 / 7.0, 3.0 / 7.0]);
    }

    #[test]
    fn highest_first_starves_lower_levels_only_while_it_has_work() {
        let candidates = [candidate(1, 100.0), candidate(2, 100.0), candidate(2, 300.0)];
        is_about(&shares(&HighestFirst, &candidates), &[0.0, 0.5, 0.5]);
        is_about(&shares(&HighestFirst, &candidates[..1]), &[1.0]);
    }

    #[test]
    fn queries_without_a_past_get_their_turn() {
        let new = Candidate { priority: Priority(1), predicted_nanos: None };
        for policy in POLICIES {
            let candidates = [candidate(1, 1e6), new];
            let hits = (0..100).filter(|i| choose(policy, &candidates, f64::from(*i) / 100.0) == 1);
            assert_eq!(hits.count(), 50, "{}", policy.name());
        }
    }

    #[test]
    fn policies_are_found_by_their_names() {
        for policy in POLICIES {
            assert_eq!(policy_named(policy.name()).map(Policy::name), Some(policy.name()));
        }
        assert!(policy_named("random").is_none());
    }

    #[test]
    fn prediction_follows_the_last_ten() {
        let mut history = History::default();
        assert_eq!(history.predict(), None);
        (0..10).for_each(|_| history.record(1_000));
        (0..10).for_each(|_| history.record(50));
        assert_eq!(history.predict(), Some(50.0));
    }
}
