//! A uniform sample of rows that can be merged: the rows of smallest random priority.
//!
//! Invariant: exactly the rows seen with a priority below `threshold` are held, so any two samples
//! merge by taking the smaller threshold.
//! Source: bottom-k sampling (Cohen and Kaplan 2007), with the priorities drawn only for rows
//! taken.

use kernels::{StrBuilder, Vector, VectorBuilder, VectorData};
use types::PhysicalType;

/// A sample is cut to this many rows when it has twice as many.
const ROWS_KEPT: usize = 2048;

/// Additions held apart before they are put together: an insert of one row costs no copy of the
/// sample.
const PENDING_MAX: usize = 256;

/// Rows sampled.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    threshold: f64,
    priorities: Vec<f64>,
    /// One vector per column and addition; all of one addition have the same rows.
    parts: Vec<Vec<Vector>>,
    types: Vec<PhysicalType>,
}

impl Sample {
    /// Sample of no rows yet, which takes rows with the share `threshold` from the start.
    pub(crate) fn new(types: &[PhysicalType], threshold: f64) -> Self {
        Self { threshold, priorities: Vec::new(), parts: Vec::new(), types: types.to_vec() }
    }

    /// Rows of a sample that was kept: what [`Self::columns`], [`Self::priorities`] and
    /// [`Self::threshold`] said.
    pub(super) fn of(
        types: &[PhysicalType],
        threshold: f64,
        priorities: Vec<f64>,
        columns: Vec<Vector>,
    ) -> Self {
        Self { threshold, priorities, parts: vec![columns], types: types.to_vec() }
    }

    /// The random priority of each row.
    pub(super) fn priorities(&self) -> &[f64] {
        &self.priorities
    }

    /// Rows held.
    pub(crate) fn rows(&self) -> usize {
        self.priorities.len()
    }

    /// Share of rows that is held.
    pub(crate) fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The rows, as columns.
    pub(crate) fn columns(&mut self) -> &[Vector] {
        self.settle();
        &self.parts[0]
    }

    /// Looks at `rows` more rows. `seed` must differ from call to call.
    pub(crate) fn add(&mut self, vectors: &[&Vector], rows: usize, seed: u64) {
        let share = (ROWS_KEPT as f64 / rows.max(1) as f64).min(self.threshold);
        let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x5851_f42d_4c95_7f2d);
        let mut picked = Vec::new();
        let mut row = 0usize;
        loop {
            if share < 1.0 {
                let gap = random.unit().ln() / (1.0 - share).ln();
                row = row.saturating_add(gap as usize);
            }
            if row >= rows {
                break;
            }
            picked.push(row as u32);
            row += 1;
        }
        let priorities = picked.iter().map(|_| random.unit() * share).collect();
        let columns = || vectors.iter().map(|v| copy(v, &picked)).collect();
        let parts = if picked.is_empty() { vec![] } else { vec![columns()] };
        self.merge(&Self { threshold: share, priorities, parts, types: Vec::new() });
    }

    /// Adds the rows of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.threshold = self.threshold.min(other.threshold);
        self.priorities.extend(&other.priorities);
        self.parts.extend(other.parts.iter().cloned());
        if self.parts.len() > PENDING_MAX || self.rows() > 2 * ROWS_KEPT {
            self.settle();
        }
    }

    /// Puts the parts together and drops the rows past the threshold.
    fn settle(&mut self) {
        if self.rows() > 2 * ROWS_KEPT {
            let mut ordered = self.priorities.clone();
            let (_, &mut nth, _) = ordered.select_nth_unstable_by(ROWS_KEPT, f64::total_cmp);
            self.threshold = self.threshold.min(nth);
        }
        let keep = |p: &u32| self.priorities[*p as usize] < self.threshold;
        let kept: Vec<u32> = (0..self.rows() as u32).filter(keep).collect();
        let columns = self.types.iter().enumerate().map(|(i, &physical)| {
            let mut builder = VectorBuilder::new(physical);
            self.parts.iter().for_each(|part| builder.append(&part[i], None));
            let all = builder.finish();
            if kept.len() < all.len() { copy(&all, &kept) } else { all }
        });
        self.parts = vec![columns.collect()];
        self.priorities = kept.iter().map(|&p| self.priorities[p as usize]).collect();
    }
}

/// The rows at `positions` with string bytes of their own.
fn copy(vector: &Vector, positions: &[u32]) -> Vector {
    let VectorData::Str(strings) = &vector.data else {
        return vector.gather(positions);
    };
    let mut builder = StrBuilder::with_capacity(positions.len());
    for &position in positions {
        let null = vector.is_null(position as usize);
        builder.push(if null { b"" } else { strings.get(position as usize) });
    }
    let validity = vector.validity.as_ref().map(|v| v.gather(positions));
    Vector::with_validity(VectorData::Str(builder.finish()), validity)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// A number above 0, up to 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = super::hash_number(u128::from(self.0));
        ((bits >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(range: std::ops::Range<i64>) -> Vector {
        Vector::new(VectorData::I64(range.collect()))
    }

    #[test]
    fn small_tables_are_sampled_whole() {
        let mut sample = Sample::new(&[PhysicalType::I64], 1.0);
        for i in 0..2048 {
            sample.add(&[&numbers(i..i + 1)], 1, i as u64);
        }
        assert_eq!(sample.columns()[0].as_i64(), (0..2048).collect::<Vec<i64>>());
    }

    #[test]
    fn samples_of_unequal_blocks_stay_uniform() {
        let mut sample = Sample::new(&[PhysicalType::I64], 1.0);
        let mut from = 0;
        for (block, rows) in [65_536, 500, 65_536, 65_536, 7, 20_000].into_iter().enumerate() {
            sample.add(&[&numbers(from..from + rows)], rows as usize, block as u64);
            from += rows;
        }
        let rows = sample.rows();
        assert!((1800..=4200).contains(&rows), "{rows} rows");
        let below = sample.columns()[0].as_i64().iter().filter(|&&v| v < from / 2).count();
        let share = below as f64 / rows as f64;
        assert!((0.45..0.55).contains(&share), "{share} of the rows are of the first half");
    }
}
