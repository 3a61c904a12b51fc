//! Which query's work order comes next.
//!
//! Source: Patel 2018, section 4.3.

use std::collections::VecDeque;

/// Priority of a query: the weight of its level, 1 and up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u32);

impl Default for Priority {
    fn default() -> Self {
        Self(1)
    }
}

/// How workers are shared among active queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Equal CPU time for equal priorities; levels share by weight.
    #[default]
    Fair,
    /// The highest level that has work orders; lower ones get what it leaves.
    HighestPriorityFirst,
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
pub(crate) struct Candidate {
    pub(crate) priority: Priority,
    pub(crate) predicted_nanos: Option<f64>,
}

impl Policy {
    /// Index of the candidate whose work order is next; `draw` is uniform in 0..1.
    pub(crate) fn choose(self, candidates: &[Candidate], draw: f64) -> usize {
        if candidates.len() <= 1 {
            return 0;
        }
        let weights = self.weights(candidates);
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

    /// Probability of each candidate, up to a common factor.
    fn weights(self, candidates: &[Candidate]) -> Vec<f64> {
        let top = candidates.iter().map(|c| c.priority).max().unwrap_or_default();
        let mean = |priority: Priority| {
            let level = candidates.iter().filter(|c| c.priority == priority);
            let times: Vec<f64> = level.map(|c| c.predicted_nanos.unwrap_or(1.0)).collect();
            times.iter().sum::<f64>() / times.len() as f64
        };
        let inverse_sum = |priority: Priority| {
            let level = candidates.iter().filter(|c| c.priority == priority);
            level.map(|c| c.predicted_nanos.map_or(1.0, |t| 1.0 / t)).sum::<f64>()
        };
        let known = |priority: Priority| {
            let mut level = candidates.iter().filter(|c| c.priority == priority);
            level.all(|c| c.predicted_nanos.is_some())
        };
        let weight = |c: &Candidate| {
            if self == Self::HighestPriorityFirst && c.priority != top {
                return 0.0;
            }
            let level = f64::from(c.priority.0) / mean(c.priority);
            let inside = match c.predicted_nanos {
                Some(t) if known(c.priority) => (1.0 / t) / inverse_sum(c.priority),
                _ => 1.0 / candidates.iter().filter(|o| o.priority == c.priority).count() as f64,
            };
            level * inside
        };
        candidates.iter().map(weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(policy: Policy, candidates: &[Candidate]) -> Vec<f64> {
        let mut hits = vec![0.0; candidates.len()];
        for i in 0..10_000 {
            hits[policy.choose(candidates, f64::from(i) / 10_000.0)] += 1e-4;
        }
        hits
    }

    fn candidate(priority: u32, nanos: f64) -> Candidate {
        Candidate { priority: Priority(priority), predicted_nanos: Some(nanos) }
    }

    #[test]
    fn fair_gives_equal_time_not_equal_orders() {
        let shares = shares(Policy::Fair, &[candidate(1, 100.0), candidate(1, 300.0)]);
        assert!((shares[0] * 100.0 - shares[1] * 300.0).abs() < 0.1, "{shares:?}");
    }

    #[test]
    fn highest_priority_first_starves_lower_levels_only_while_it_has_work() {
        let candidates = [candidate(1, 100.0), candidate(2, 100.0)];
        assert_eq!(shares(Policy::HighestPriorityFirst, &candidates)[0], 0.0);
        assert!(shares(Policy::HighestPriorityFirst, &candidates[..1])[0] > 0.99);
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
