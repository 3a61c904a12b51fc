//! Ranges of integers and NUMERICs, their arithmetic, and how values within them are held.
//!
//! A range is of the scaled integers: NUMERIC 1.50 of scale 2 is 150.
//! Elsewhere: ranges of expressions (`bounds`).

use types::{DataType, NumericType, PhysicalType, Value};

/// Values from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Smallest.
    pub(crate) low: i128,
    /// Largest.
    pub(crate) high: i128,
}

/// Values below this in size are held in 64 bits, with room for one more sum or difference.
const NARROW: i128 = 1 << 62;

impl Range {
    /// None when `low` is above `high`.
    pub(crate) fn new(low: i128, high: i128) -> Option<Self> {
        (low <= high).then_some(Self { low, high })
    }

    /// The smallest range with both.
    pub(crate) fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The part in both; `self` when there is none, for then no row has such a value.
    pub(crate) fn within(self, other: Self) -> Self {
        Self::new(self.low.max(other.low), self.high.min(other.high)).unwrap_or(self)
    }

    /// Bounds of the sum of two values; None when they are out of bounds.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        Self::new(self.low.checked_add(other.low)?, self.high.checked_add(other.high)?)
    }

    /// Bounds of the negative of a value.
    pub(crate) fn negated(self) -> Option<Self> {
        Self::new(self.high.checked_neg()?, self.low.checked_neg()?)
    }

    /// Bounds of the product of two values.
    pub(crate) fn multiplied(self, other: Self) -> Option<Self> {
        let products = [
            self.low.checked_mul(other.low)?,
            self.low.checked_mul(other.high)?,
            self.high.checked_mul(other.low)?,
            self.high.checked_mul(other.high)?,
        ];
        let low = products.iter().copied().min()?;
        Self::new(low, products.iter().copied().max()?)
    }

    /// Bounds of the sum of up to `count` such values.
    pub(crate) fn times(self, count: i128) -> Option<Self> {
        let low = self.low.min(0).checked_mul(count)?;
        Self::new(low, self.high.max(0).checked_mul(count)?)
    }

    /// Bounds of a value of scale `from` at scale `to`, rounding included.
    pub(crate) fn rescaled(self, from: u8, to: u8) -> Option<Self> {
        if to >= from {
            let factor = 10i128.checked_pow(u32::from(to - from))?;
            return Self::new(self.low.checked_mul(factor)?, self.high.checked_mul(factor)?);
        }
        let factor = 10i128.checked_pow(u32::from(from - to))?;
        let low = self.low.div_euclid(factor).checked_sub(1)?;
        Self::new(low, self.high.div_euclid(factor).checked_add(1)?)
    }

    /// True when 64 bits hold all of it.
    pub(crate) fn is_narrow(self) -> bool {
        self.low > -NARROW && self.high < NARROW
    }

    /// How many values there are.
    pub(crate) fn width(self) -> u128 {
        self.high.abs_diff(self.low).saturating_add(1)
    }
}

/// The digits after the point of an integer or NUMERIC type.
pub(crate) fn scale(ty: DataType) -> Option<u8> {
    ty.scale()
}

/// Range that the type alone allows.
pub(crate) fn of_type(ty: DataType) -> Option<Range> {
    let bits = |bits: u32| Range::new(-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
    match ty {
        DataType::SmallInt => bits(16),
        DataType::Integer | DataType::Date | DataType::Enum(_) => bits(32),
        DataType::Oid | DataType::Xid => Range::new(0, u32::MAX.into()),
        DataType::BigInt
        | DataType::Time(_)
        | DataType::Timestamp(_)
        | DataType::TimestampTz(_) => bits(64),
        DataType::Numeric(NumericType { precision, .. }) => {
            let limit = 10i128.checked_pow(u32::from(precision))? - 1;
            Range::new(-limit, limit)
        }
        _ => None,
    }
}

/// How a value of type `ty` within `range` is held.
pub(crate) fn physical(ty: DataType, range: Option<Range>) -> PhysicalType {
    match ty {
        DataType::Numeric(_) if range.is_some_and(Range::is_narrow) => PhysicalType::I64,
        DataType::Numeric(n) if n.precision > NumericType::PRECISION_64 => PhysicalType::I128,
        _ => ty.physical(),
    }
}

/// An integer, day, microsecond or scaled decimal in `physical`; None when it does not fit.
pub(crate) fn value_as(value: i128, physical: PhysicalType) -> Option<Value> {
    match physical {
        PhysicalType::I32 => i32::try_from(value).ok().map(Value::I32),
        PhysicalType::I64 => i64::try_from(value).ok().map(Value::I64),
        PhysicalType::I128 => Some(Value::I128(value)),
        _ => None,
    }
}
