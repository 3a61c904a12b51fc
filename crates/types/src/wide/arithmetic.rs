//! Sums, products, quotients, rounding, by PostgreSQL's rules for the scales of results.

use std::cmp::Ordering;

use super::integer::Int;
use super::{DISPLAY_SCALE_MAX, Number, SCALE_MAX, SIGNIFICANT, Wide, overflow};
use crate::{Error, Result, SqlState, budget, decimal};

impl Number {
    pub(crate) fn is_zero(&self) -> bool {
        self.int.is_zero()
    }

    /// The number with `scale` digits after the point, rounded half away from zero.
    pub(crate) fn rescaled(&self, scale: u32) -> Self {
        let int = self.int.shifted(scale as i32 - self.scale as i32);
        Self { int, scale }
    }

    /// Both integers at the larger of both scales.
    fn aligned(&self, other: &Self) -> (Int, Int, u32) {
        let scale = self.scale.max(other.scale);
        let at = |n: &Self| n.int.shifted((scale - n.scale) as i32);
        (at(self), at(other), scale)
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let (a, b) = (self.int.signum(), other.int.signum());
        if a != b {
            return a.cmp(&b);
        }
        let (a, b, _) = self.aligned(other);
        a.compare(&b)
    }

    pub(crate) fn min_scale(&self) -> u32 {
        if self.is_zero() {
            return 0;
        }
        // A power of ten has as many factors of two; what is left of it is found bit by bit.
        let (mut int, mut scale) = (self.int.clone(), self.scale);
        let mut step = scale.min(int.trailing_zeros()).checked_ilog2().map_or(0, |log| 1 << log);
        while step > 0 {
            if step <= scale {
                let (quotient, rest) = int.divided(&Int::power_of_ten(step));
                if rest.is_zero() {
                    int = quotient;
                    scale -= step;
                }
            }
            step /= 2;
        }
        scale
    }

    /// Place of the first digit of base 10000 that is not 0, from the point, and that digit.
    pub(super) fn weight(&self) -> (i64, i64) {
        if self.is_zero() {
            return (0, 0);
        }
        let digits = i64::from(self.int.digit_count());
        // The first decimal digit counts 10^top.
        let top = digits - 1 - i64::from(self.scale);
        let weight = top.div_euclid(4);
        let wanted = top.rem_euclid(4) + 1;
        (weight, self.leading(wanted as u32))
    }

    /// The first `count` digits, at most 18, as a number without sign; zeros follow the last digit.
    pub(super) fn leading(&self, count: u32) -> i64 {
        let digits = self.int.digit_count();
        let first = match digits.checked_sub(count) {
            Some(excess) => self.int.cut(excess),
            None => self.int.shifted((count - digits) as i32),
        };
        match first {
            Int::Small(value) => value.unsigned_abs() as i64,
            Int::Big(_) => 0,
        }
    }

    /// `self / other` with `scale` digits after the point, rounded; `other` is not 0.
    pub(super) fn divided(&self, other: &Self, scale: u32) -> Self {
        let power = i64::from(scale) + i64::from(other.scale) - i64::from(self.scale);
        let int = if power >= 0 {
            self.int.shifted(power as i32).divided_rounded(&other.int)
        } else {
            self.int.divided_rounded(&other.int.shifted(-power as i32))
        };
        Self { int, scale }
    }

    /// The whole part of `self / other`.
    fn whole_quotient(&self, other: &Self) -> Int {
        let (a, b, _) = self.aligned(other);
        a.divided(&b).0
    }
}

/// Digits after the point of `a / b`: 16 significant ones, and as many as an operand has.
pub fn quotient_scale(a: &Number, b: &Number) -> u32 {
    let ((a_weight, a_digit), (b_weight, b_digit)) = (a.weight(), b.weight());
    let weight = a_weight - b_weight - i64::from(a_digit <= b_digit);
    let scale = (SIGNIFICANT - weight * 4).max(i64::from(a.scale)).max(i64::from(b.scale));
    scale.clamp(0, DISPLAY_SCALE_MAX) as u32
}

/// Variance, or its root, of `count` numbers of which sum and sum of squares are known.
///
/// # Errors
/// 22003.
pub fn deviation(
    (count, divisor): (i64, i64),
    sum: &Number,
    squares: &Number,
    is_root: bool,
) -> Result<Wide> {
    let count = Int::Small(count.into());
    let squares = Number { int: squares.int.times(&count), scale: squares.scale };
    let sum = Number { int: sum.int.times(&sum.int), scale: sum.scale * 2 };
    let (a, b, scale) = squares.aligned(&sum);
    let excess = Number { int: a.minus(&b), scale };
    if excess.int.signum() <= 0 {
        return Ok(Wide::new(0, 0));
    }
    let divisor = Number { int: count.times(&Int::Small(divisor.into())), scale: 0 };
    let scale = quotient_scale(&excess, &divisor);
    let variance = excess.divided(&divisor, scale);
    let result = if is_root { variance.root(scale) } else { variance };
    Wide::Finite(result).checked()
}

/// How digits are taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    HalfAway,
    Down,
}

impl Wide {
    /// `self + other`.
    ///
    /// # Errors
    /// 22003.
    pub fn add(&self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Self::Finite(a), Self::Finite(b)) => {
                let (x, y, scale) = a.aligned(b);
                Self::Finite(Number { int: x.plus(&y), scale }).checked()
            }
            (Self::NaN, _)
            | (_, Self::NaN)
            | (Self::Infinity, Self::MinusInfinity)
            | (Self::MinusInfinity, Self::Infinity) => Ok(Self::NaN),
            (Self::Finite(_), infinity) | (infinity, _) => Ok(infinity.clone()),
        }
    }

    /// `-self`.
    #[must_use]
    pub fn negated(&self) -> Self {
        match self {
            Self::NaN => Self::NaN,
            Self::Infinity => Self::MinusInfinity,
            Self::MinusInfinity => Self::Infinity,
            Self::Finite(n) => Self::Finite(Number { int: n.int.negated(), scale: n.scale }),
        }
    }

    /// `self - other`.
    ///
    /// # Errors
    /// 22003.
    pub fn subtract(&self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Self::Finite(a), Self::Finite(b)) => {
                let (x, y, scale) = a.aligned(b);
                Self::Finite(Number { int: x.minus(&y), scale }).checked()
            }
            _ => self.add(&other.negated()),
        }
    }

    fn infinity(sign: i32) -> Self {
        match sign {
            0 => Self::NaN,
            1.. => Self::Infinity,
            _ => Self::MinusInfinity,
        }
    }

    /// `self * other`.
    ///
    /// # Errors
    /// 22003.
    pub fn multiply(&self, other: &Self) -> Result<Self> {
        let (Self::Finite(a), Self::Finite(b)) = (self, other) else {
            return Ok(match (self.signum(), other.signum()) {
                (Some(a), Some(b)) => Self::infinity(a * b),
                _ => Self::NaN,
            });
        };
        Self::Finite(Number { int: a.int.times(&b.int), scale: a.scale + b.scale }).checked()
    }

    /// Quotient, unless both are numbers and the divisor is not 0.
    fn special_quotient(&self, other: &Self) -> Result<Option<Self>> {
        let (Some(a), Some(b)) = (self.signum(), other.signum()) else {
            return Ok(Some(Self::NaN));
        };
        match (self, other) {
            (Self::Finite(_), Self::Finite(_)) if b == 0 => Err(decimal::division_by_zero()),
            (Self::Finite(_), Self::Finite(_)) => Ok(None),
            (Self::Finite(_), _) => Ok(Some(Self::new(0, 0))),
            (_, Self::Finite(_)) if b == 0 => Err(decimal::division_by_zero()),
            (_, Self::Finite(_)) => Ok(Some(Self::infinity(a * b))),
            _ => Ok(Some(Self::NaN)),
        }
    }

    /// `self / other`, with at least 16 significant digits.
    ///
    /// # Errors
    /// 22012, 22003.
    pub fn divide(&self, other: &Self) -> Result<Self> {
        if let Some(special) = self.special_quotient(other)? {
            return Ok(special);
        }
        let (Self::Finite(a), Self::Finite(b)) = (self, other) else {
            return Ok(Self::NaN);
        };
        Self::Finite(a.divided(b, quotient_scale(a, b))).checked()
    }

    /// The whole part of `self / other`.
    ///
    /// # Errors
    /// 22012, 22003.
    pub fn divide_integer(&self, other: &Self) -> Result<Self> {
        if let Some(special) = self.special_quotient(other)? {
            return Ok(special);
        }
        let (Self::Finite(a), Self::Finite(b)) = (self, other) else {
            return Ok(Self::NaN);
        };
        Self::Finite(Number { int: a.whole_quotient(b), scale: 0 }).checked()
    }

    /// `self % other`, with the sign of `self`.
    ///
    /// # Errors
    /// 22012.
    pub fn modulo(&self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Self::NaN, _) | (_, Self::NaN) => Ok(Self::NaN),
            (_, Self::Finite(b)) if b.is_zero() => Err(decimal::division_by_zero()),
            (Self::Finite(a), Self::Finite(b)) => {
                let (x, y, scale) = a.aligned(b);
                Ok(Self::Finite(Number { int: x.divided(&y).1, scale }))
            }
            (Self::Finite(_), _) => Ok(self.clone()),
            _ => Ok(Self::NaN),
        }
    }

    /// Rounded to `digits` after the point, before it when negative.
    ///
    /// # Errors
    /// 22003.
    pub fn round(&self, digits: i32) -> Result<Self> {
        self.cut_to(digits, Rounding::HalfAway)
    }

    /// As [`Self::round`], towards zero.
    ///
    /// # Errors
    /// 22003.
    pub fn trunc(&self, digits: i32) -> Result<Self> {
        self.cut_to(digits, Rounding::Down)
    }

    fn cut_to(&self, digits: i32, rounding: Rounding) -> Result<Self> {
        let Self::Finite(number) = self else {
            return Ok(self.clone());
        };
        // PostgreSQL's limits.
        let digits = digits.clamp(-(super::DIGITS_MAX as i32) - 1, SCALE_MAX as i32);
        let excess = number.scale as i32 - digits;
        let scale = digits.max(0) as u32;
        if excess <= 0 {
            return Self::Finite(number.rescaled(scale)).checked();
        }
        let int = match rounding {
            Rounding::HalfAway => number.int.shifted(-excess),
            Rounding::Down => number.int.cut(excess as u32),
        };
        let int = if digits < 0 { int.shifted(-digits) } else { int };
        Self::Finite(Number { int, scale }).checked()
    }

    /// The largest whole number not above.
    ///
    /// # Errors
    /// 22003.
    pub fn floor(&self) -> Result<Self> {
        let whole = self.trunc(0)?;
        if self < &whole { whole.subtract(&Self::new(1, 0)) } else { Ok(whole) }
    }

    /// The smallest whole number not below.
    ///
    /// # Errors
    /// 22003.
    pub fn ceil(&self) -> Result<Self> {
        let whole = self.trunc(0)?;
        if self > &whole { whole.add(&Self::new(1, 0)) } else { Ok(whole) }
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(&self) -> Self {
        match self.signum() {
            Some(-1) => self.negated(),
            _ => self.clone(),
        }
    }

    /// -1, 0, 1 or NaN.
    #[must_use]
    pub fn sign(&self) -> Self {
        self.signum().map_or(Self::NaN, |sign| Self::new(sign.into(), 0))
    }

    /// The value without zeros at its end.
    #[must_use]
    pub fn trimmed(&self) -> Self {
        match self {
            Self::Finite(number) => Self::Finite(number.rescaled(number.min_scale())),
            other => other.clone(),
        }
    }

    /// The greatest common divisor of two values.
    ///
    /// # Errors
    /// 57014 after a cancel.
    pub fn gcd(&self, other: &Self) -> Result<Self> {
        let (Self::Finite(a), Self::Finite(b)) = (self, other) else {
            return Ok(Self::NaN);
        };
        let (mut x, mut y, scale) = a.aligned(b);
        while !y.is_zero() {
            if let Int::Big(_) = y {
                budget::check()?;
            }
            (x, y) = (y.clone(), x.divided(&y).1);
        }
        Ok(Self::Finite(Number { int: x, scale }).abs())
    }

    /// The least common multiple of two values.
    ///
    /// # Errors
    /// 22003.
    pub fn lcm(&self, other: &Self) -> Result<Self> {
        let (Self::Finite(a), Self::Finite(b)) = (self, other) else {
            return Ok(Self::NaN);
        };
        let scale = a.scale.max(b.scale);
        if a.is_zero() || b.is_zero() {
            return Ok(Self::new(0, scale));
        }
        let (x, y, _) = a.aligned(b);
        let Self::Finite(divisor) = self.gcd(other)? else {
            return Ok(Self::NaN);
        };
        let int = x.divided(&divisor.rescaled(scale).int).0.times(&y);
        Ok(Self::Finite(Number { int, scale }).abs()).and_then(Self::checked)
    }

    /// `number!`.
    ///
    /// # Errors
    /// 22003 below 0 and above 32177; 57014 after a cancel.
    pub fn factorial(number: i64) -> Result<Self> {
        if number < 0 {
            let message = "factorial of a negative number is undefined";
            return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
        }
        if number > 32_177 {
            return Err(overflow());
        }
        let mut product = Int::Small(1);
        for factor in 2..=number {
            if factor % 256 == 0 {
                budget::check()?;
            }
            product = product.times(&Int::Small(factor.into()));
        }
        Self::Finite(Number { int: product, scale: 0 }).checked()
    }
}
