//! Roots, exponentials, logarithms, powers: fixed-point numbers of base 2, with digits to spare.
//!
//! Scales of results are PostgreSQL's; results are correctly rounded but where the exact one is
//! closer to a tie than the spare digits tell.

use num_bigint::{BigInt, Sign};

use super::integer::{Int, power_of_ten};
use super::{DISPLAY_SCALE_MAX, Number, SIGNIFICANT, Wide, overflow};
use crate::{Error, Result, SqlState, budget};

/// Bits beyond those asked for.
const SPARE: u64 = 64;
/// Exponents beyond this give overflow or 0.
const EXPONENT_MAX: f64 = 6000.0;
/// log10 of e, as precise as PostgreSQL takes it: scales of results follow from it.
#[expect(clippy::approx_constant, reason = "the digits that PostgreSQL has")]
const LOG_E: f64 = 0.434_294_481_903_252;
/// Bits of an exact power.
const EXACT_BITS: u64 = 1 << 16;

fn clamp(scale: i64) -> u32 {
    scale.clamp(0, DISPLAY_SCALE_MAX) as u32
}

fn bits_of(digits: i64) -> u64 {
    (digits.max(0) as f64 * 3.321_928_094_887_363) as u64 + SPARE
}

/// `number` times 2 to the `bits`.
fn to_fixed(number: &Number, bits: u64) -> BigInt {
    (number.int.big() << bits) / BigInt::from(power_of_ten(number.scale))
}

/// `fixed` divided by 2 to the `bits` (times 2 to the `exponent`), with `scale` digits.
fn from_fixed(fixed: BigInt, bits: u64, exponent: i64, scale: u32) -> Number {
    let scaled = fixed * BigInt::from(power_of_ten(scale));
    let down = bits as i64 - exponent;
    let int = if down > 0 {
        let half = BigInt::from(1) << (down as u64 - 1);
        let negative = scaled.sign() == Sign::Minus;
        let magnitude = BigInt::from(scaled.magnitude().clone()) + half;
        let rounded = magnitude >> down as u64;
        if negative { -rounded } else { rounded }
    } else {
        scaled << (-down) as u64
    };
    Number { int: Int::from_big(int), scale }
}

/// 2 * atanh(numerator / denominator): the logarithm of (d + n) / (d - n).
fn twice_atanh(numerator: &BigInt, denominator: &BigInt, bits: u64) -> Result<BigInt> {
    let z: BigInt = (numerator << bits) / denominator;
    let square: BigInt = (&z * &z) >> bits;
    let (mut power, mut sum, mut n) = (z, BigInt::from(0), 1u32);
    while power.sign() != Sign::NoSign && power != BigInt::from(-1) {
        budget::check()?;
        sum += &power / BigInt::from(n);
        power = (power * &square) >> bits;
        n += 2;
    }
    Ok(sum << 1u32)
}

fn ln_two(bits: u64) -> Result<BigInt> {
    twice_atanh(&BigInt::from(1), &BigInt::from(3), bits)
}

/// The natural logarithm of a positive number times 2 to the `bits`.
fn ln_fixed(number: &Number, bits: u64) -> Result<BigInt> {
    let (int, unit) = (number.int.big(), BigInt::from(power_of_ten(number.scale)));
    // The number is m * 2^exponent with m near 1.
    let mut exponent = int.bits() as i64 - unit.bits() as i64;
    let (mut numerator, mut denominator) = (int, unit);
    if exponent >= 0 {
        denominator <<= exponent as u64;
    } else {
        numerator <<= (-exponent) as u64;
    }
    // m is in (1/2, 2): brought into (0.7, 1.5).
    if &numerator * 2 > &denominator * 3 {
        denominator <<= 1u32;
        exponent += 1;
    } else if &numerator * 10 < &denominator * 7 {
        numerator <<= 1u32;
        exponent -= 1;
    }
    let (n, d) = (&numerator - &denominator, &numerator + &denominator);
    Ok(twice_atanh(&n, &d, bits)? + ln_two(bits)? * BigInt::from(exponent))
}

/// e to the `x` (times 2 to the `bits`): a mantissa times 2 to the `bits`, and an exponent of 2.
fn exp_fixed(x: &BigInt, bits: u64) -> Result<(BigInt, i64)> {
    let two = ln_two(bits)?;
    let shift = i64::try_from(&(x / &two)).unwrap_or(0);
    let mut rest = x - &two * BigInt::from(shift);
    // Halved until the series is short.
    let halvings = 2 + bits.isqrt() / 2;
    rest >>= halvings;
    let bits_in = bits;
    let (mut sum, mut term, mut n) = (BigInt::from(1) << bits_in, BigInt::from(1) << bits_in, 1u32);
    loop {
        budget::check()?;
        term = ((term * &rest) >> bits_in) / BigInt::from(n);
        if term.sign() == Sign::NoSign || term == BigInt::from(-1) {
            break;
        }
        sum += &term;
        n += 1;
    }
    for _ in 0..halvings {
        budget::check()?;
        sum = (&sum * &sum) >> bits_in;
    }
    Ok((sum, shift))
}

/// `mantissa` divided by 2 to the bits that it has, times 2 to the `exponent`.
#[derive(Clone)]
struct Float {
    mantissa: BigInt,
    exponent: i64,
}

impl Float {
    fn times(&self, other: &Self, bits: u64) -> Self {
        let product = &self.mantissa * &other.mantissa;
        let excess = product.bits().saturating_sub(bits);
        let exponent = self.exponent + other.exponent + excess as i64 - bits as i64;
        Self { mantissa: product >> excess, exponent }
    }
}

impl Number {
    fn to_f64(&self) -> f64 {
        Wide::Finite(self.clone()).to_f64()
    }

    /// Approximate decimal weight of the number's natural logarithm.
    fn ln_weight(&self) -> i64 {
        let near =
            self.compare(&Self::new(9, 1)).is_ge() && self.compare(&Self::new(11, 1)).is_le();
        if near {
            let one = Self::new(1, 0).rescaled(self.scale);
            let rest = Self { int: self.int.minus(&one.int), scale: self.scale };
            if rest.is_zero() {
                return 0;
            }
            let (weight, digit) = rest.weight();
            return weight * 4 + (digit as f64).log10() as i64;
        }
        let (weight, digit) = self.weight();
        let count = digit.checked_ilog10().unwrap_or(0) + 5;
        let has_more = self.int.digit_count() > count - 4 && self.min_scale_digits() > count - 4;
        let (digits, place) =
            if has_more { (self.leading(count), weight * 4 - 4) } else { (digit, weight * 4) };
        let ln = (digits as f64).ln() + place as f64 * std::f64::consts::LN_10;
        ln.abs().log10() as i64
    }

    /// Digits from the first to the last that is not 0.
    fn min_scale_digits(&self) -> u32 {
        self.int.digit_count() - (self.scale - self.min_scale().min(self.scale))
    }

    /// The square root with `scale` digits; of a number not below 0.
    pub(super) fn root(&self, scale: u32) -> Self {
        // One digit more than asked for decides the rounding: a root is never a tie.
        let wanted = scale + 1;
        let power = 2 * i64::from(wanted) - i64::from(self.scale);
        let int =
            if power >= 0 { self.int.shifted(power as i32) } else { self.int.cut((-power) as u32) };
        let root = Int::from_big(int.big().sqrt());
        Self { int: root, scale: wanted }.rescaled(scale)
    }

    fn ln(&self, scale: u32) -> Result<Self> {
        let bits = bits_of(i64::from(scale) + 12) + SPARE;
        Ok(from_fixed(ln_fixed(self, bits)?, bits, 0, scale))
    }

    /// e to the number, with `scale` digits.
    fn exp(&self, scale: u32) -> Result<Self> {
        let value = self.to_f64();
        if value.abs() >= EXPONENT_MAX {
            return if value > 0.0 { Err(overflow()) } else { Ok(Self::new(0, scale)) };
        }
        let bits = bits_of(i64::from(scale) + (value * LOG_E) as i64 + 20) + SPARE;
        let (mantissa, exponent) = exp_fixed(&to_fixed(self, bits), bits)?;
        Ok(from_fixed(mantissa, bits, exponent, scale))
    }

    /// The number to a whole power.
    fn whole_power(&self, exponent: i64) -> Result<Self> {
        let mut weight = 0.0;
        if !self.is_zero() {
            // Up to four digits of base 10000, as PostgreSQL estimates.
            let (place, first) = self.weight();
            let count = first.checked_ilog10().unwrap_or(0) + 13;
            let digits = self.leading(count) as f64;
            weight = exponent as f64 * (digits.log10() + (place * 4 - 12) as f64);
        }
        if weight > f64::from(super::DIGITS_MAX) {
            return Err(overflow());
        }
        let scale = clamp(SIGNIFICANT.max(self.scale.into()));
        if weight + 1.0 < -f64::from(scale) {
            return Ok(Self::new(0, scale));
        }
        match exponent {
            0 => return Ok(Self::new(1, 0).rescaled(scale)),
            1 => return Ok(self.rescaled(scale)),
            -1 => return Ok(Self::new(1, 0).divided(self, scale)),
            2 => {
                let square = Self { int: self.int.times(&self.int), scale: self.scale * 2 };
                return Ok(square.rescaled(scale));
            }
            _ if self.is_zero() => return Ok(Self::new(0, scale)),
            _ => {}
        }
        let least = self.rescaled(self.min_scale());
        let size = exponent.unsigned_abs();
        let room = (weight.abs() * 3.33) as u64 + EXACT_BITS;
        if least.int.magnitude().bits().max(1).saturating_mul(size) <= room {
            let size = size as u32;
            let magnitude = least.int.magnitude().pow(size);
            let negative = least.int.signum() < 0 && size % 2 == 1;
            let int = Int::from_magnitude(magnitude, negative);
            let power = Self { int, scale: least.scale * size };
            return Ok(if exponent > 0 {
                power.rescaled(scale)
            } else {
                Self::new(1, 0).divided(&power, scale)
            });
        }
        let negative = self.int.signum() < 0 && exponent % 2 != 0;
        let magnitude = Self { int: Int::from_magnitude(self.int.magnitude(), false), ..*self };
        let power = magnitude.power_by_squares(exponent, scale, weight as i64)?;
        Ok(if negative { Self { int: power.int.negated(), ..power } } else { power })
    }

    /// The number, above 0, to a whole power, with `scale` digits; the result is about 10 to the
    /// `weight`.
    fn power_by_squares(&self, exponent: i64, scale: u32, weight: i64) -> Result<Self> {
        // Each of the at most 64 steps doubles the error, and adds to it.
        let bits = bits_of(i64::from(scale) + weight.max(0) + 20) + 2 * SPARE;
        let (int, unit) = (self.int.big(), BigInt::from(power_of_ten(self.scale)));
        let up = bits as i64 + unit.bits() as i64 - int.bits() as i64;
        let first = if up < 0 { int / (unit << (-up) as u64) } else { (int << up as u64) / unit };
        let first = Float { mantissa: first, exponent: bits as i64 - up };
        let size = exponent.unsigned_abs();
        let mut power = first.clone();
        for place in (0..size.ilog2()).rev() {
            budget::check()?;
            power = power.times(&power, bits);
            if size >> place & 1 == 1 {
                power = power.times(&first, bits);
            }
        }
        if exponent < 0 {
            power.mantissa = (BigInt::from(1) << (2 * bits)) / power.mantissa;
            power.exponent = -power.exponent;
        }
        Ok(from_fixed(power.mantissa, bits, power.exponent, scale))
    }

    /// The number to the `exponent`, with `scale` digits; the result is about 10 to the `weight`.
    fn exp_of_ln(&self, exponent: &Self, scale: u32, weight: i64) -> Result<Self> {
        let exponent_digits = i64::from(exponent.int.digit_count());
        let bits = bits_of(i64::from(scale) + weight.max(0) + exponent_digits + 20) + SPARE;
        let ln = ln_fixed(self, bits)?;
        let product = ln * exponent.int.big() / BigInt::from(power_of_ten(exponent.scale));
        let (mantissa, shift) = exp_fixed(&product, bits)?;
        Ok(from_fixed(mantissa, bits, shift, scale))
    }

    /// The number, above 0, to any power.
    fn any_power(&self, exponent: &Self) -> Result<Self> {
        // As roughly as PostgreSQL estimates it, for the scale follows from it.
        let rough = clamp(8 - self.ln_weight());
        let ln = self.ln(rough)?;
        let product = Self { int: ln.int.times(&exponent.int), scale: rough + exponent.scale };
        let value = product.rescaled(rough).to_f64();
        if value.abs() > EXPONENT_MAX * 3.01 / 3.0 {
            return if value > 0.0 {
                Err(overflow())
            } else {
                Ok(Self::new(0, DISPLAY_SCALE_MAX as u32))
            };
        }
        let weight = (value * LOG_E) as i64;
        let scale = (SIGNIFICANT - weight).max(self.scale.into()).max(exponent.scale.into());
        let scale = clamp(scale);
        if value.abs() >= EXPONENT_MAX {
            return if value > 0.0 { Err(overflow()) } else { Ok(Self::new(0, scale)) };
        }
        self.exp_of_ln(exponent, scale, weight)
    }
}

fn bad_logarithm(zero: bool) -> Error {
    let what = if zero { "zero" } else { "a negative number" };
    let message = format!("cannot take logarithm of {what}");
    Error::new(SqlState::INVALID_LOGARITHM, message)
}

fn bad_power(message: &str) -> Error {
    Error::new(SqlState::INVALID_POWER, message)
}

impl Wide {
    /// The square root.
    ///
    /// # Errors
    /// 2201F below 0.
    pub fn sqrt(&self) -> Result<Self> {
        if self.signum() == Some(-1) {
            return Err(bad_power("cannot take square root of a negative number"));
        }
        let Self::Finite(number) = self else {
            return Ok(self.clone());
        };
        let (weight, _) = number.weight();
        let weight = if weight >= 0 { weight * 4 / 2 + 1 } else { 1 - (1 - weight * 4) / 2 };
        let scale = clamp((SIGNIFICANT - weight).max(number.scale.into()));
        Ok(Self::Finite(number.root(scale)))
    }

    /// e to the value.
    ///
    /// # Errors
    /// 22003.
    pub fn exp(&self) -> Result<Self> {
        match self {
            Self::MinusInfinity => Ok(Self::new(0, 0)),
            Self::Finite(number) => {
                let weight = (number.to_f64() * LOG_E)
                    .clamp(-2.0 * DISPLAY_SCALE_MAX as f64, 2.0 * DISPLAY_SCALE_MAX as f64);
                let scale = clamp((SIGNIFICANT - weight as i64).max(number.scale.into()));
                Self::Finite(number.exp(scale)?).checked()
            }
            other => Ok(other.clone()),
        }
    }

    fn refuse_logarithm(&self) -> Result<()> {
        match self.signum() {
            Some(sign) if sign <= 0 => Err(bad_logarithm(sign == 0)),
            _ => Ok(()),
        }
    }

    /// The natural logarithm.
    ///
    /// # Errors
    /// 2201E for what is not above 0.
    pub fn ln(&self) -> Result<Self> {
        self.refuse_logarithm()?;
        let Self::Finite(number) = self else {
            return Ok(self.clone());
        };
        let scale = clamp((SIGNIFICANT - number.ln_weight()).max(number.scale.into()));
        Ok(Self::Finite(number.ln(scale)?))
    }

    /// The logarithm of `self` to the base of `base`.
    ///
    /// # Errors
    /// 2201E for what is not above 0, 22012 for a base of 1.
    pub fn log(&self, base: &Self) -> Result<Self> {
        if self.is_nan() || base.is_nan() {
            return Ok(Self::NaN);
        }
        base.refuse_logarithm()?;
        self.refuse_logarithm()?;
        let (Self::Finite(number), Self::Finite(base)) = (self, base) else {
            return Ok(match (self, base) {
                (Self::Infinity, Self::Infinity) => Self::NaN,
                (Self::Infinity, _) => Self::Infinity,
                _ => Self::new(0, 0),
            });
        };
        let (base_weight, weight) = (base.ln_weight(), number.ln_weight());
        let scale = (SIGNIFICANT - (weight - base_weight)).max(base.scale.into());
        let scale = clamp(scale.max(number.scale.into()));
        let digits = i64::from(scale) + base_weight.abs() + weight.abs() + 20;
        let bits = bits_of(digits) + SPARE;
        let divisor = ln_fixed(base, bits)?;
        if divisor.sign() == Sign::NoSign {
            return Err(crate::decimal::division_by_zero());
        }
        let quotient = (ln_fixed(number, bits)? << bits) / divisor;
        Ok(Self::Finite(from_fixed(quotient, bits, 0, scale)))
    }

    /// `self` to the power of `exponent`.
    ///
    /// # Errors
    /// 2201F for 0 to a negative power and fractional powers of negative numbers; 22003.
    pub fn power(&self, exponent: &Self) -> Result<Self> {
        let (Self::Finite(base), Self::Finite(number)) = (self, exponent) else {
            return self.special_power(exponent);
        };
        let sign = number.int.signum();
        if base.is_zero() && sign < 0 {
            return Err(bad_power("zero raised to a negative power is undefined"));
        }
        let whole = number.min_scale() == 0;
        if base.int.signum() < 0 && !whole {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return Err(bad_power(message));
        }
        if whole
            && let Int::Small(value) = number.rescaled(0).int
            && let Ok(value) = i32::try_from(value)
        {
            return Self::Finite(base.whole_power(value.into())?).checked();
        }
        if base.is_zero() {
            return Ok(Self::new(0, SIGNIFICANT as u32));
        }
        let magnitude = Number { int: Int::from_magnitude(base.int.magnitude(), false), ..*base };
        let power = Self::Finite(magnitude.any_power(number)?).checked()?;
        let negative = base.int.signum() < 0 && number.rescaled(0).int.is_odd();
        Ok(if negative { power.negated() } else { power })
    }

    /// A power of which one part is NaN or infinite.
    fn special_power(&self, exponent: &Self) -> Result<Self> {
        let one = Self::new(1, 0);
        if self.is_nan() {
            return Ok(if exponent.signum() == Some(0) { one } else { Self::NaN });
        }
        if exponent.is_nan() {
            return Ok(if *self == one || self.cmp(&one).is_eq() { one } else { Self::NaN });
        }
        let (sign, power) = (self.signum().unwrap_or(0), exponent.signum().unwrap_or(0));
        if sign == 0 && power < 0 {
            return Err(bad_power("zero raised to a negative power is undefined"));
        }
        if let Self::Finite(number) = exponent {
            // An infinite base.
            return Ok(match power {
                0 => one,
                1.. if sign > 0 => Self::Infinity,
                1.. if number.min_scale() == 0 && number.rescaled(0).int.is_odd() => {
                    Self::MinusInfinity
                }
                1.. if number.min_scale() > 0 => {
                    let message = "a negative number raised to a non-integer power yields a \
                                   complex result";
                    return Err(bad_power(message));
                }
                1.. => Self::Infinity,
                _ if sign < 0 && number.min_scale() > 0 => {
                    let message = "a negative number raised to a non-integer power yields a \
                                   complex result";
                    return Err(bad_power(message));
                }
                _ => Self::new(0, 0),
            });
        }
        // An infinite exponent.
        Ok(match self.abs().cmp(&one) {
            std::cmp::Ordering::Equal => one,
            order if order.is_gt() == (power > 0) => Self::Infinity,
            _ => Self::new(0, 0),
        })
    }
}
