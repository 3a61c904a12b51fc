//! The highest priority first.

use super::{Candidate, Policy, equal_time};

/// Gives the queries of the highest priority all workers, in equal time; lower ones get what these
/// leave, so that they are suspended while a higher one has work orders.
#[derive(Clone, Copy, Debug)]
pub struct HighestFirst;

impl Policy for HighestFirst {
    fn name(&self) -> &'static str {
        "highest_first"
    }

    fn weights(&self, candidates: &[Candidate]) -> Vec<f64> {
        let top = candidates.iter().map(|candidate| candidate.priority).max();
        let is_top = |candidate: &&Candidate| Some(candidate.priority) == top;
        let chosen: Vec<Candidate> = candidates.iter().filter(is_top).copied().collect();
        let mut weights = equal_time(&chosen).into_iter();
        let weight = |candidate: &Candidate| {
            if is_top(&candidate) { weights.next().unwrap_or(0.0) } else { 0.0 }
        };
        candidates.iter().map(weight).collect()
    }
}
