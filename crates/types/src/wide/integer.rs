//! Integers of any length; those of 128 bits without allocation.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};

/// An integer; one that fits 128 bits is held as `Small`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Int {
    Small(i128),
    Big(BigInt),
}

/// 10 to the `exponent`.
pub(super) fn power_of_ten(exponent: u32) -> BigUint {
    BigUint::from(10u32).pow(exponent)
}

fn small_power(exponent: u32) -> Option<i128> {
    (exponent <= 38).then(|| crate::decimal::pow10(exponent))
}

impl Int {
    pub(crate) fn from_big(value: BigInt) -> Self {
        match i128::try_from(&value) {
            Ok(small) => Self::Small(small),
            Err(_) => Self::Big(value),
        }
    }

    pub(crate) fn from_magnitude(magnitude: BigUint, negative: bool) -> Self {
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Self::from_big(BigInt::from_biguint(sign, magnitude))
    }

    /// 10 to the `exponent`.
    pub(super) fn power_of_ten(exponent: u32) -> Self {
        match small_power(exponent) {
            Some(power) => Self::Small(power),
            None => Self::Big(power_of_ten(exponent).into()),
        }
    }

    /// Bits that are 0 below the lowest that is 1; none for 0.
    pub(super) fn trailing_zeros(&self) -> u32 {
        match self {
            Self::Small(0) => 0,
            Self::Small(value) => value.trailing_zeros(),
            Self::Big(value) => value.trailing_zeros().map_or(0, |zeros| zeros as u32),
        }
    }

    pub(crate) fn big(&self) -> BigInt {
        match self {
            Self::Small(value) => BigInt::from(*value),
            Self::Big(value) => value.clone(),
        }
    }

    pub(crate) fn magnitude(&self) -> BigUint {
        match self {
            Self::Small(value) => BigUint::from(value.unsigned_abs()),
            Self::Big(value) => value.magnitude().clone(),
        }
    }

    pub(crate) fn signum(&self) -> i32 {
        match self {
            Self::Small(value) => value.signum() as i32,
            Self::Big(value) => match value.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Self::Small(0))
    }

    pub(crate) fn negated(&self) -> Self {
        match self {
            Self::Small(value) if *value != i128::MIN => Self::Small(-value),
            _ => Self::from_big(-self.big()),
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            return Self::Small(sum);
        }
        Self::from_big(self.big() + other.big())
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let Some(difference) = a.checked_sub(*b)
        {
            return Self::Small(difference);
        }
        Self::from_big(self.big() - other.big())
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let Some(product) = a.checked_mul(*b)
        {
            return Self::Small(product);
        }
        Self::from_big(self.big() * other.big())
    }

    /// Quotient towards zero and rest; `other` is not 0.
    pub(crate) fn divided(&self, other: &Self) -> (Self, Self) {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let (Some(quotient), Some(rest)) = (a.checked_div(*b), a.checked_rem(*b))
        {
            return (Self::Small(quotient), Self::Small(rest));
        }
        let (a, b) = (self.big(), other.big());
        let quotient = &a / &b;
        let rest = a - &quotient * b;
        (Self::from_big(quotient), Self::from_big(rest))
    }

    /// The quotient rounded half away from zero; `other` is not 0.
    pub(crate) fn divided_rounded(&self, other: &Self) -> Self {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && *a != i128::MIN
        {
            return Self::Small(crate::decimal::divide_round(*a, *b));
        }
        let (quotient, rest) = self.divided(other);
        if rest.magnitude() * 2u32 < other.magnitude() {
            return quotient;
        }
        let step = if self.signum() * other.signum() < 0 { -1 } else { 1 };
        quotient.plus(&Self::Small(step))
    }

    /// Times 10 to the `power`; a negative one divides and rounds half away from zero.
    pub(crate) fn shifted(&self, power: i32) -> Self {
        let exponent = power.unsigned_abs();
        if power == 0 || self.is_zero() {
            return self.clone();
        }
        if power > 0 {
            if let (Self::Small(value), Some(factor)) = (self, small_power(exponent))
                && let Some(product) = value.checked_mul(factor)
            {
                return Self::Small(product);
            }
            return Self::from_big(self.big() * BigInt::from(power_of_ten(exponent)));
        }
        if exponent > self.digit_count() {
            return Self::Small(0);
        }
        self.divided_rounded(&Self::power_of_ten(exponent))
    }

    /// As [`Self::shifted`] for a negative power, towards zero.
    pub(crate) fn cut(&self, exponent: u32) -> Self {
        if exponent >= self.digit_count() {
            return Self::Small(0);
        }
        self.divided(&Self::power_of_ten(exponent)).0
    }

    /// Decimal digits; 0 has none.
    pub(crate) fn digit_count(&self) -> u32 {
        match self {
            Self::Small(value) => crate::decimal::digit_count(*value),
            Self::Big(value) => {
                let magnitude = value.magnitude();
                // log10(2) from below: at most one digit short.
                let digits = (magnitude.bits() - 1) as f64 * std::f64::consts::LOG10_2;
                let least = (digits - 1e-6) as u32;
                let mut count = least.max(1);
                while *magnitude >= power_of_ten(count) {
                    count += 1;
                }
                count
            }
        }
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => a.cmp(b),
            _ => self.big().cmp(&other.big()),
        }
    }

    /// True for odd numbers.
    pub(crate) fn is_odd(&self) -> bool {
        match self {
            Self::Small(value) => value % 2 != 0,
            Self::Big(value) => value.bit(0),
        }
    }
}
