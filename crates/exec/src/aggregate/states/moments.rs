//! Counts, sums and squares, for variances and correlations.

use std::any::Any;

use kernels::{Vector, VectorData};
use types::{Error, Result, decimal};

use super::float::overflow;
use super::{Mapping, States, Update, downcast, grow_zeroed, present, unexpected};

/// A sum of squares: `high * 2^128 + low`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wide {
    /// The upper half.
    pub(crate) high: u128,
    /// The lower half.
    pub(crate) low: u128,
}

impl Wide {
    fn add(&mut self, other: Self) {
        let (low, carry) = self.low.overflowing_add(other.low);
        self.low = low;
        self.high = self.high.wrapping_add(other.high).wrapping_add(u128::from(carry));
    }

    /// `a * b`.
    pub(crate) fn product(a: u128, b: u128) -> Self {
        const LOW: u128 = u64::MAX as u128;
        let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
        let (low, cross1, cross2, high) = (a0 * b0, a1 * b0, a0 * b1, a1 * b1);
        let middle = (low >> 64) + (cross1 & LOW) + (cross2 & LOW);
        let high = high + (cross1 >> 64) + (cross2 >> 64) + (middle >> 64);
        Self { high, low: (middle << 64) | (low & LOW) }
    }
}

/// State of one group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exact {
    /// How many values.
    pub(crate) count: i64,
    /// Sum of the values.
    pub(crate) sum: i128,
    /// The sum of their squares.
    pub(crate) squares: Wide,
}

/// Count, sum and sum of squares of integers and scaled decimals per group, exact.
#[derive(Default)]
pub(crate) struct ExactMoments {
    moments: Vec<Exact>,
}

impl ExactMoments {
    /// State of a group.
    pub(crate) fn get(&self, group: u32) -> Exact {
        self.moments[group as usize]
    }

    fn add(&mut self, groups: &[u32], values: impl Iterator<Item = i128>) -> Result<()> {
        let mut failed = false;
        for (&group, value) in groups.iter().zip(values) {
            let moments = &mut self.moments[group as usize];
            let (sum, overflow) = moments.sum.overflowing_add(value);
            failed |= overflow;
            moments.count += 1;
            moments.sum = sum;
            moments.squares.add(Wide::product(value.unsigned_abs(), value.unsigned_abs()));
        }
        if failed { Err(decimal::overflow()) } else { Ok(()) }
    }
}

impl States for ExactMoments {
    fn resize(&mut self, groups: usize) {
        grow_zeroed(&mut self.moments, groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        let groups = &present.groups;
        match &present.vectors[0].data {
            VectorData::I32(v) => self.add(groups, v.iter().map(|&v| i128::from(v))),
            VectorData::I64(v) => self.add(groups, v.iter().map(|&v| i128::from(v))),
            VectorData::I128(v) => self.add(groups, v.iter().copied()),
            other => Err(unexpected("exact moments", other)),
        }
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        for (&from, &to) in mapping.source.iter().zip(mapping.target) {
            let (moments, more) = (&mut self.moments[to as usize], other.moments[from as usize]);
            moments.count += more.count;
            moments.sum = moments.sum.checked_add(more.sum).ok_or_else(decimal::overflow)?;
            moments.squares.add(more.squares);
        }
        Ok(())
    }

    fn finish(&self, _: &[u32]) -> Result<Vector> {
        Err(Error::internal("moments are not a result"))
    }

    fn bytes(&self) -> usize {
        self.moments.capacity() * size_of::<Exact>()
    }

    fn clear(&mut self) {
        self.moments.clear();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Moments of one column `x`, or of two: sums of values, and of squares and products of deviations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Float {
    /// How many rows.
    pub(crate) count: f64,
    /// Sum of x.
    pub(crate) x: f64,
    /// Sum of squared deviations of x.
    pub(crate) xx: f64,
    /// Sum of y.
    pub(crate) y: f64,
    /// Sum of squared deviations of y.
    pub(crate) yy: f64,
    /// Sum of products of deviations.
    pub(crate) xy: f64,
}

impl Float {
    /// Adds a row.
    ///
    /// Source: Youngs and Cramer 1971, in the form of PostgreSQL 15, float.c, `float8_regr_accum`.
    fn add(&mut self, x: f64, y: f64) -> Result<()> {
        let old = *self;
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if old.count > 0.0 {
            let dx = x * self.count - self.x;
            let dy = y * self.count - self.y;
            let scale = 1.0 / (self.count * old.count);
            self.xx += dx * dx * scale;
            self.yy += dy * dy * scale;
            self.xy += dx * dy * scale;
            let infinite = |sum: f64, value: f64| sum.is_infinite() || value.is_infinite();
            self.check(infinite(old.x, x), infinite(old.y, y))?;
        } else {
            self.poison(!x.is_finite(), !y.is_finite());
        }
        Ok(())
    }

    /// An overflow of finite values is an error; infinite values make deviations NaN.
    fn check(&mut self, x_infinite: bool, y_infinite: bool) -> Result<()> {
        let x_over = self.x.is_infinite() || self.xx.is_infinite();
        let y_over = self.y.is_infinite() || self.yy.is_infinite();
        if x_over && !x_infinite || y_over && !y_infinite {
            return Err(overflow());
        }
        self.poison(x_over, y_over);
        Ok(())
    }

    fn poison(&mut self, x: bool, y: bool) {
        if x {
            self.xx = f64::NAN;
        }
        if y {
            self.yy = f64::NAN;
        }
        if x || y {
            self.xy = f64::NAN;
        }
    }

    /// Source: PostgreSQL 15, float.c, `float8_regr_combine`.
    fn merge(&mut self, other: Self) -> Result<()> {
        if other.count == 0.0 {
            return Ok(());
        }
        if self.count == 0.0 {
            *self = other;
            return Ok(());
        }
        let count = self.count + other.count;
        let dx = self.x / self.count - other.x / other.count;
        let dy = self.y / self.count - other.y / other.count;
        let weight = self.count * other.count / count;
        let (x_infinite, y_infinite) = (
            self.x.is_infinite() || other.x.is_infinite(),
            self.y.is_infinite() || other.y.is_infinite(),
        );
        self.xx += other.xx + weight * dx * dx;
        self.yy += other.yy + weight * dy * dy;
        self.xy += other.xy + weight * dx * dy;
        self.x += other.x;
        self.y += other.y;
        self.count = count;
        self.check(x_infinite, y_infinite)
    }
}

/// Moments of floating point columns per group.
#[derive(Default)]
pub(crate) struct FloatMoments {
    moments: Vec<Float>,
}

impl FloatMoments {
    /// State of a group.
    pub(crate) fn get(&self, group: u32) -> Float {
        self.moments[group as usize]
    }
}

impl States for FloatMoments {
    fn resize(&mut self, groups: usize) {
        grow_zeroed(&mut self.moments, groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        let column = |i: usize| match &present.vectors[i].data {
            VectorData::F64(values) => Ok(values.as_slice()),
            other => Err(unexpected("moments", other)),
        };
        let x = column(0)?;
        let y = if present.vectors.len() > 1 { column(1)? } else { x };
        for ((&group, &x), &y) in present.groups.iter().zip(x).zip(y) {
            self.moments[group as usize].add(x, y)?;
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        for (&from, &to) in mapping.source.iter().zip(mapping.target) {
            self.moments[to as usize].merge(other.moments[from as usize])?;
        }
        Ok(())
    }

    fn finish(&self, _: &[u32]) -> Result<Vector> {
        Err(Error::internal("moments are not a result"))
    }

    fn bytes(&self) -> usize {
        self.moments.capacity() * size_of::<Float>()
    }

    fn clear(&mut self) {
        self.moments.clear();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
