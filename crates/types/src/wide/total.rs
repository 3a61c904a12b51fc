//! Sums, averages and variances of wide decimals.

use super::integer::Int;
use super::{Number, Wide, deviation};
use crate::Result;

/// State of aggregates over the values they met.
///
/// Source: PostgreSQL 15, `NumericAggState` of numeric.c.
#[derive(Clone, Debug, Default)]
pub struct Total {
    count: i64,
    nans: i64,
    infinities: i64,
    minus_infinities: i64,
    sum: Number,
    squares: Number,
}

impl Default for Number {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl Number {
    fn accumulate(&mut self, value: &Self) {
        if value.scale == self.scale
            && let (Int::Small(a), Int::Small(b)) = (&self.int, &value.int)
            && let Some(sum) = a.checked_add(*b)
        {
            self.int = Int::Small(sum);
            return;
        }
        let scale = self.scale.max(value.scale);
        let at = |n: &Self| n.int.shifted((scale - n.scale) as i32);
        *self = Self { int: at(self).plus(&at(value)), scale };
    }
}

impl Total {
    /// Takes a value in; its square, too, when `squares` are wanted.
    pub fn add(&mut self, value: &Wide, squares: bool) {
        self.count += 1;
        match value {
            Wide::NaN => self.nans += 1,
            Wide::Infinity => self.infinities += 1,
            Wide::MinusInfinity => self.minus_infinities += 1,
            Wide::Finite(number) => {
                self.sum.accumulate(number);
                if squares {
                    let square = number.int.times(&number.int);
                    self.squares.accumulate(&Number { int: square, scale: number.scale * 2 });
                }
            }
        }
    }

    /// Takes in all that `other` has.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.nans += other.nans;
        self.infinities += other.infinities;
        self.minus_infinities += other.minus_infinities;
        self.sum.accumulate(&other.sum);
        self.squares.accumulate(&other.squares);
    }

    /// A sum of `count` scaled integers, and of their squares.
    pub fn of_scaled(count: i64, sum: i128, squares: (u128, u128), scale: u32) -> Self {
        let (high, low) = squares;
        let high = num_bigint::BigUint::from(high) << 128u32;
        let squares = Int::from_magnitude(high + num_bigint::BigUint::from(low), false);
        let squares = Number { int: squares, scale: scale * 2 };
        Self { count, sum: Number::new(sum, scale), squares, ..Self::default() }
    }

    /// Result of all of them when some value is no number.
    fn special(&self) -> Option<Wide> {
        match (self.nans, self.infinities, self.minus_infinities) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(Wide::Infinity),
            (0, 0, _) => Some(Wide::MinusInfinity),
            _ => Some(Wide::NaN),
        }
    }

    /// The sum; None of no values.
    ///
    /// # Errors
    /// 22003.
    pub fn sum(&self) -> Result<Option<Wide>> {
        if self.count == 0 {
            return Ok(None);
        }
        match self.special() {
            Some(special) => Ok(Some(special)),
            None => Wide::Finite(self.sum.clone()).checked().map(Some),
        }
    }

    /// The average; None of no values.
    ///
    /// # Errors
    /// 22003.
    pub fn average(&self) -> Result<Option<Wide>> {
        let Some(sum) = self.sum()? else {
            return Ok(None);
        };
        sum.divide(&Wide::new(self.count.into(), 0)).map(Some)
    }

    /// The variance, or its root; None of too few values.
    ///
    /// # Errors
    /// 22003.
    pub fn deviation(&self, is_sample: bool, is_root: bool) -> Result<Option<Wide>> {
        let divisor = self.count - i64::from(is_sample);
        if self.count == 0 || divisor == 0 {
            return Ok(None);
        }
        if self.special().is_some() {
            return Ok(Some(Wide::NaN));
        }
        deviation((self.count, divisor), &self.sum, &self.squares, is_root).map(Some)
    }

    /// Bytes beside the value itself.
    pub fn heap_bytes(&self) -> usize {
        let of = |number: &Number| match &number.int {
            Int::Small(_) => 0,
            Int::Big(value) => value.bits() as usize / 8,
        };
        of(&self.sum) + of(&self.squares)
    }
}
