//! Time in proportion to weight.

use super::{Candidate, Policy, equal_time};

/// Gives each query time in proportion to its priority.
///
/// Departure from Patel 2018, section 4.3: the weight is that of a query, not of a level that all
/// queries of a priority share, so that a second query of a high priority takes time from all, not
/// from the first alone.
#[derive(Clone, Copy, Debug)]
pub struct Proportional;

impl Policy for Proportional {
    fn name(&self) -> &'static str {
        "proportional"
    }

    fn weights(&self, candidates: &[Candidate]) -> Vec<f64> {
        let equal = equal_time(candidates).into_iter();
        let weighted = equal
            .zip(candidates)
            .map(|(weight, candidate)| weight * f64::from(candidate.priority.0.max(1)));
        weighted.collect()
    }
}
