//! Wide decimals from and to other numbers, and to declared digits.

use super::integer::Int;
use super::{Number, Wide, special};
use crate::{DataType, Error, NumericDisplay, NumericType, Result, SqlState, WideDigits, decimal};

impl Wide {
    /// The value as a scaled integer of type `ty`, rounded.
    ///
    /// # Errors
    /// 22003.
    pub fn to_scaled(&self, ty: NumericType) -> Result<i128> {
        let Self::Finite(number) = self else {
            let is_nan = self.is_nan();
            return Err(if is_nan { decimal::no_nan(ty) } else { decimal::infinite_field(ty) });
        };
        match number.rescaled(ty.scale.into()).int {
            Int::Small(value) => decimal::check(Some(value), ty),
            Int::Big(_) => Err(decimal::field_overflow(ty)),
        }
    }

    /// The value with the digits that its column was declared with.
    ///
    /// # Errors
    /// 22003 for a value that they do not hold.
    pub fn declared(self, digits: Option<WideDigits>) -> Result<Self> {
        let Some(digits) = digits else {
            return Ok(self);
        };
        let whole = i64::from(digits.precision) - i64::from(digits.scale);
        let error = |why: String| {
            let (precision, scale) = (digits.precision, digits.scale);
            let detail = format!("A field with precision {precision}, scale {scale} {why}.");
            let error = Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "numeric field overflow");
            error.with_detail(detail)
        };
        let rounded = self.round(digits.scale.into())?;
        match &rounded {
            Self::NaN => {}
            Self::Finite(n) => {
                let before = i64::from(n.int.digit_count()) - i64::from(n.scale);
                if !n.is_zero() && before > whole {
                    let bound = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
                    return Err(error(format!(
                        "must round to an absolute value less than {bound}"
                    )));
                }
            }
            _ => return Err(error("cannot hold an infinite value".to_owned())),
        }
        Ok(rounded)
    }

    /// The scaled integer of scale `scale` next to the value: not above it, or not below when
    /// `above`. A value that 38 digits do not hold gives [`i128::MAX`] or [`i128::MIN`].
    pub fn bound(&self, scale: u8, above: bool) -> i128 {
        let beyond = if self.signum() == Some(-1) { i128::MIN } else { i128::MAX };
        let Self::Finite(number) = self else {
            return beyond;
        };
        let Int::Small(near) = number.rescaled(scale.into()).int else {
            return beyond;
        };
        if !decimal::fits(near, NumericType::PRECISION_MAX) {
            return beyond;
        }
        // Rounded half away from zero: one step from the bound at most.
        match Self::new(near, scale.into()).cmp(self) {
            std::cmp::Ordering::Greater if !above => near - 1,
            std::cmp::Ordering::Less if above => near + 1,
            _ => near,
        }
    }

    /// A scaled integer with the digits that `ty` shows.
    pub fn from_scaled(value: i128, ty: NumericType) -> Self {
        let wide = Self::new(value, ty.scale.into());
        match ty.display {
            NumericDisplay::Fixed | NumericDisplay::Computed => wide,
            NumericDisplay::Trimmed => wide.trimmed(),
        }
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::NaN => f64::NAN,
            Self::Infinity => f64::INFINITY,
            Self::MinusInfinity => f64::NEG_INFINITY,
            Self::Finite(Number { int: Int::Small(value), scale }) if *scale <= 38 => {
                decimal::to_f64(*value, *scale as u8)
            }
            other => other.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// The value as DOUBLE PRECISION.
    ///
    /// # Errors
    /// 22003 when it is too large or small.
    pub fn to_double(&self) -> Result<f64> {
        match self {
            Self::Finite(number) => {
                let value = self.to_f64();
                if value.is_infinite() || (value == 0.0 && !number.is_zero()) {
                    let message = format!("\"{self}\" is out of range for type double precision");
                    return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
                }
                Ok(value)
            }
            other => Ok(other.to_f64()),
        }
    }

    /// The value as REAL.
    ///
    /// # Errors
    /// 22003 when it is too large or small.
    pub fn to_real(&self) -> Result<f64> {
        match self {
            Self::Finite(number) => {
                let value: f32 = self.to_string().parse().unwrap_or(f32::NAN);
                if value.is_infinite() || (value == 0.0 && !number.is_zero()) {
                    let message = format!("\"{self}\" is out of range for type real");
                    return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
                }
                Ok(f64::from(value))
            }
            other => Ok(other.to_f64()),
        }
    }

    /// A floating-point number with `digits` significant digits.
    pub fn from_f64(value: f64, digits: usize) -> Self {
        if value.is_nan() {
            return Self::NaN;
        }
        if value.is_infinite() {
            return if value > 0.0 { Self::Infinity } else { Self::MinusInfinity };
        }
        let text = format!("{value:.*e}", digits.saturating_sub(1));
        match Self::parse(&text) {
            // As printed with so many digits: without zeros at the end.
            Ok(wide) => wide.trimmed(),
            Err(_) => Self::NaN,
        }
    }

    /// The value rounded to a whole number.
    ///
    /// # Errors
    /// 0A000 for NaN and the infinities, 22003.
    pub fn to_integer(&self, to: DataType) -> Result<i64> {
        let Self::Finite(number) = self else {
            let what = if self.is_nan() { "NaN" } else { "infinity" };
            return Err(special(what, to.name()));
        };
        let Int::Small(value) = number.rescaled(0).int else {
            return Err(decimal::integer_out_of_range(to));
        };
        let fits = match to {
            DataType::SmallInt => i16::try_from(value).is_ok(),
            DataType::Integer => i32::try_from(value).is_ok(),
            _ => true,
        };
        match i64::try_from(value) {
            Ok(value) if fits => Ok(value),
            _ => Err(decimal::integer_out_of_range(to)),
        }
    }
}
