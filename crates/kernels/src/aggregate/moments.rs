//! Sums of powers of floating-point columns: variance, covariance, correlation.
//!
//! Source: Youngs and Cramer 1971, as PostgreSQL's float8_accum: the sum of squares of differences
//! from the mean is kept, so that nothing cancels.

use super::Rows;
use super::grouped::update;

/// Count, sum, and sum of squared differences from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Rows.
    pub count: f64,
    /// Sum.
    pub sum: f64,
    /// Sum of squared differences from the mean.
    pub squares: f64,
}

impl Moments {
    /// Adds one value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        if self.count > 1.0 {
            let difference = value * self.count - self.sum;
            self.squares += difference * difference / (self.count * (self.count - 1.0));
        }
    }

    /// Adds the rows of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let count = self.count + other.count;
        let difference = self.sum / self.count - other.sum / other.count;
        self.squares += other.squares + self.count * other.count * difference * difference / count;
        self.sum += other.sum;
        self.count = count;
    }
}

/// As [`Moments`] for pairs of values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairMoments {
    /// Rows in which both are not NULL.
    pub count: f64,
    /// Sum of the first values.
    pub sum_x: f64,
    /// Sum of the second values.
    pub sum_y: f64,
    /// Sum of squared differences of the first values from their mean.
    pub squares_x: f64,
    /// Sum of squared differences of the second values from their mean.
    pub squares_y: f64,
    /// Sum of products of the differences.
    pub products: f64,
}

impl PairMoments {
    /// Adds one pair.
    #[inline]
    pub fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        if self.count > 1.0 {
            let difference_x = x * self.count - self.sum_x;
            let difference_y = y * self.count - self.sum_y;
            let scale = 1.0 / (self.count * (self.count - 1.0));
            self.squares_x += difference_x * difference_x * scale;
            self.squares_y += difference_y * difference_y * scale;
            self.products += difference_x * difference_y * scale;
        }
    }

    /// Adds the rows of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let count = self.count + other.count;
        let weight = self.count * other.count / count;
        let difference_x = self.sum_x / self.count - other.sum_x / other.count;
        let difference_y = self.sum_y / self.count - other.sum_y / other.count;
        self.squares_x += other.squares_x + weight * difference_x * difference_x;
        self.squares_y += other.squares_y + weight * difference_y * difference_y;
        self.products += other.products + weight * difference_x * difference_y;
        self.sum_x += other.sum_x;
        self.sum_y += other.sum_y;
        self.count = count;
    }
}

/// Adds every row that is not NULL to its group.
pub fn moments(values: &[f64], rows: Rows, groups: &[u32], state: &mut [Moments]) {
    update(values, rows, groups, state, Moments::add);
}

/// Adds every row that is not NULL in both columns to its group; `rows.validity` is that of both.
pub fn pair_moments(x: &[f64], y: &[f64], rows: Rows, groups: &[u32], state: &mut [PairMoments]) {
    assert_eq!(x.len(), y.len(), "columns of equal length");
    assert_eq!(rows.len(x.len()), groups.len(), "one group per row");
    rows.each(x.len(), |j, i| state[groups[j] as usize].add(x[i], y[i]));
}
