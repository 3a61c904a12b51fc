//! The value of a type that is nearest to a value of another one, by how the two are compared.
//!
//! ```text
//! integer column > 2.5   ->  column >= 3     value above: the least integer above 2.5
//! integer column = 2.5   ->  column = NULL   no integer is equal
//! smallint column < 1e9  ->  column <= 32767
//! ```
//! Invariant: for every value `v` of `to`, `v op x` holds if and only if it does with the value
//! given here and the operator that includes equality; with NULL it never does.
//! Called by the planner for bounds of indexes and scans, and by the executor for parameters.

use crate::calendar::{DATE_INFINITY, DATE_MINUS_INFINITY};
use crate::calendar::{TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY};
use crate::wide::Wide;
use crate::{CompareOp, DataType, PhysicalType, Value};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// A value on the line of the integers that stand for the values of a type, in their order.
struct Place {
    /// The greatest integer that is not above it.
    floor: i128,
    /// True when it is that integer.
    is_exact: bool,
}

impl Place {
    fn exact(value: i128) -> Self {
        Self { floor: value, is_exact: true }
    }
}

/// True when [`nearest`] knows values of `from` among those of `to`, for this operator.
pub fn has_nearest(op: CompareOp, from: DataType, to: DataType) -> bool {
    let is_float = |ty| matches!(ty, DataType::Real | DataType::Double);
    match (from, to) {
        (DataType::Timestamp(_), DataType::Date) => true,
        (from, DataType::Char(1..)) => op == CompareOp::Equal && from.is_text(),
        (DataType::WideNumeric(_), to) => to.scale().is_some(),
        (from, to) if is_float(from) => to == DataType::Real || to.is_integer(),
        (from, to) => from.scale().is_some() && to.scale().is_some(),
    }
}

/// The value of type `to` to compare with in the place of `value`, which is of type `from`: the
/// same for `=`, the least that is enough for `>` and `>=`, the greatest for `<` and `<=`. NULL
/// where there is none. Of a TIMESTAMPTZ, which zones compare with local times, a bound that is met
/// whenever the comparison holds.
pub fn nearest(op: CompareOp, value: &Value, from: DataType, to: DataType) -> Value {
    match value {
        // A CHAR has no blanks at its end when it is a text.
        Value::Str(text) if matches!(to, DataType::Char(_)) => {
            if text.ends_with(b" ") {
                Value::Null
            } else {
                value.clone()
            }
        }
        Value::I64(micros) if matches!(from, DataType::TimestampTz(_)) => {
            at_place(op, local(op, *micros, to), to)
        }
        Value::Str(bytes) => nearest_to_wide(op, bytes, to),
        value => place(value, from, to).map_or(Value::Null, |place| at_place(op, place, to)),
    }
}

/// As [`nearest`], of the bytes of a wide decimal.
pub fn nearest_to_wide(op: CompareOp, value: &[u8], to: DataType) -> Value {
    let Some(scale) = to.scale() else {
        return Value::Null;
    };
    let value = Wide::decode(value);
    // One side is enough where the value itself is not asked for: what is below a value is below
    // the integer above it.
    let place = match op {
        CompareOp::Less | CompareOp::GreaterEqual => Place::exact(value.bound(scale, true)),
        CompareOp::Greater | CompareOp::LessEqual => Place::exact(value.bound(scale, false)),
        _ => {
            let (floor, ceil) = (value.bound(scale, false), value.bound(scale, true));
            // Both are the same end for what no scaled integer holds.
            let is_exact = floor == ceil && floor != i128::MAX && floor != i128::MIN;
            Place { floor, is_exact }
        }
    };
    at_place(op, place, to)
}

fn at_place(op: CompareOp, Place { floor, is_exact }: Place, to: DataType) -> Value {
    let (least, most) = limits(to);
    let step = i128::from(!is_exact);
    let found = match op {
        CompareOp::Equal if is_exact && (least..=most).contains(&floor) => Some(floor),
        CompareOp::GreaterEqual => Some(floor.saturating_add(step)).filter(|v| *v <= most),
        CompareOp::Greater => Some(floor.saturating_add(1)).filter(|v| *v <= most),
        CompareOp::LessEqual => Some(floor).filter(|v| *v >= least),
        CompareOp::Less => Some(floor.saturating_sub(1 - step)).filter(|v| *v >= least),
        _ => None,
    };
    found.map_or(Value::Null, |place| value_at(place.clamp(least, most), to))
}

/// Where `value` is among the values of `to`; None of NULL.
fn place(value: &Value, from: DataType, to: DataType) -> Option<Place> {
    if let Value::F64(number) = *value {
        return Some(if to == DataType::Real { single(number) } else { whole(number) });
    }
    let number = value.as_integer()?;
    if to == DataType::Date && matches!(from, DataType::Timestamp(_)) {
        return Some(day(i64::try_from(number).ok()?));
    }
    let (from, to) = (from.scale()?, to.scale()?);
    let factor = 10i128.checked_pow(u32::from(from.abs_diff(to)))?;
    if to >= from {
        let beyond = if number < 0 { i128::MIN } else { i128::MAX };
        return Some(Place::exact(number.checked_mul(factor).unwrap_or(beyond)));
    }
    Some(Place { floor: number.div_euclid(factor), is_exact: number.rem_euclid(factor) == 0 })
}

/// A local time that is enough in all zones: none is a day from Greenwich.
fn local(op: CompareOp, micros: i64, to: DataType) -> Place {
    let moved = match op {
        _ if micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_MINUS_INFINITY => micros,
        CompareOp::Less | CompareOp::LessEqual => micros.saturating_add(DAY),
        _ => micros.saturating_sub(DAY),
    };
    if to == DataType::Date { day(moved) } else { Place::exact(moved.into()) }
}

fn day(micros: i64) -> Place {
    match micros {
        TIMESTAMP_INFINITY => Place::exact(DATE_INFINITY.into()),
        TIMESTAMP_MINUS_INFINITY => Place::exact(DATE_MINUS_INFINITY.into()),
        _ => {
            let is_exact = micros.rem_euclid(DAY) == 0;
            Place { floor: micros.div_euclid(DAY).into(), is_exact }
        }
    }
}

/// Among integers, below NaN.
fn whole(number: f64) -> Place {
    if number.is_nan() {
        return Place { floor: i128::MAX, is_exact: false };
    }
    let floor = number.floor();
    // Conversions of numbers that are too large stop at the ends.
    Place { floor: floor as i128, is_exact: floor == number && number.is_finite() }
}

/// Among numbers of single precision.
fn single(number: f64) -> Place {
    let near = number as f32;
    let at = i128::from(ordered(near));
    if number.is_nan() || f64::from(near) == number {
        return Place::exact(at);
    }
    let floor = if f64::from(near) > number { at - 1 } else { at };
    Place { floor, is_exact: false }
}

/// An integer for each number, in the order of the numbers, NaN last; one for both zeros.
fn ordered(number: f32) -> i32 {
    if number.is_nan() {
        return ordered(f32::INFINITY) + 1;
    }
    let bits = number.to_bits() as i32;
    if bits < 0 { -(bits & i32::MAX) } else { bits }
}

/// The least and the greatest place of `ty`.
fn limits(ty: DataType) -> (i128, i128) {
    if ty == DataType::Real {
        return (ordered(f32::NEG_INFINITY).into(), ordered(f32::NAN).into());
    }
    match (ty, ty.physical()) {
        (DataType::SmallInt, _) => (i16::MIN.into(), i16::MAX.into()),
        (_, PhysicalType::I32) => (i32::MIN.into(), i32::MAX.into()),
        (_, PhysicalType::I64) => (i64::MIN.into(), i64::MAX.into()),
        _ => (i128::MIN, i128::MAX),
    }
}

fn value_at(place: i128, ty: DataType) -> Value {
    if ty == DataType::Real {
        let bits = place.unsigned_abs() as u32;
        let number = match place {
            place if place > ordered(f32::INFINITY).into() => f32::NAN,
            place if place < 0 => -f32::from_bits(bits),
            _ => f32::from_bits(bits),
        };
        return Value::F64(number.into());
    }
    match ty.physical() {
        PhysicalType::I32 => Value::I32(place as i32),
        PhysicalType::I64 => Value::I64(place as i64),
        _ => Value::I128(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NumericType;

    const OPS: [CompareOp; 5] = [
        CompareOp::Equal,
        CompareOp::Less,
        CompareOp::LessEqual,
        CompareOp::Greater,
        CompareOp::GreaterEqual,
    ];

    /// Numbers with their order, NaN last.
    fn compare(a: f64, b: f64) -> std::cmp::Ordering {
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }

    fn holds(op: CompareOp, a: f64, b: f64) -> bool {
        op.accepts(compare(a, b))
    }

    fn inclusive(op: CompareOp) -> CompareOp {
        match op {
            CompareOp::Less => CompareOp::LessEqual,
            CompareOp::Greater => CompareOp::GreaterEqual,
            op => op,
        }
    }

    fn check(
        values: &[Value],
        constants: &[Value],
        types: [DataType; 2],
        number: fn(&Value) -> f64,
    ) {
        for (op, constant) in OPS.iter().flat_map(|op| constants.iter().map(move |c| (*op, c))) {
            let near = nearest(op, constant, types[0], types[1]);
            let scale = 10f64.powi(types[0].scale().unwrap_or(0).into());
            for value in values {
                let expected = holds(op, number(value), number(constant) / scale);
                let found =
                    near != Value::Null && holds(inclusive(op), number(value), number(&near));
                assert_eq!(found, expected, "{value:?} {op:?} {constant:?}, near {near:?}");
            }
        }
    }

    fn number(value: &Value) -> f64 {
        match value {
            Value::F64(v) => *v,
            other => other.as_integer().expect("a number") as f64,
        }
    }

    #[test]
    fn the_nearest_value_decides_as_the_value_does() {
        let integers = [i32::MIN, -3, -2, -1, 0, 1, 2, 3, i32::MAX].map(Value::I32);
        let wide = [i64::MIN, -1 << 31, (-1 << 31) - 1, -2, 0, 2, (1 << 31) - 1, 1 << 31, i64::MAX];
        check(&integers, &wide.map(Value::I64), [DataType::BigInt, DataType::Integer], number);
        let scaled = DataType::Numeric(NumericType::computed(18, 1));
        let tenths = [-25, -20, -15, 0, 1, 5, 10, 25, 21_474_836_475].map(Value::I64);
        check(&integers, &tenths, [scaled, DataType::Integer], number);
        let floats = [
            f64::NEG_INFINITY,
            -1e300,
            -2.5,
            -2.0,
            -0.0,
            0.5,
            3.0,
            2_147_483_647.5,
            f64::INFINITY,
            f64::NAN,
        ]
        .map(Value::F64);
        check(&integers, &floats, [DataType::Double, DataType::Integer], number);
        let singles =
            [f32::NEG_INFINITY, f32::MIN, -0.1, -0.0, 0.0, 0.1, f32::MAX, f32::INFINITY, f32::NAN];
        let singles = singles.map(|v| Value::F64(v.into()));
        let mut doubles =
            vec![Value::F64(0.1), Value::F64(-0.1), Value::F64(1e-50), Value::F64(1e39)];
        doubles.extend(floats);
        doubles.extend(singles.clone());
        check(&singles, &doubles, [DataType::Double, DataType::Real], number);
    }

    /// The order of wide decimals themselves is the oracle.
    #[test]
    fn the_nearest_value_decides_as_a_wide_decimal_does() {
        let texts = [
            "NaN",
            "Infinity",
            "-Infinity",
            "1e60",
            "-1e60",
            "0",
            "2.00",
            "-2",
            "2.5",
            "-2.5",
            "0.04",
            "-0.04",
            "2147483647.05",
            "-2147483648.05",
            "9999999999999999999999999999999999999.95",
        ];
        let limit = 10i128.pow(38) - 1;
        let wide = [-limit, -20, -3, -2, -1, 0, 1, 2, 3, 20, 25, limit].map(Value::I128);
        let narrow = [i32::MIN, -3, -2, -1, 0, 1, 2, 3, i32::MAX].map(Value::I32);
        let scaled = DataType::Numeric(NumericType::computed(38, 1));
        let columns = [(DataType::Integer, 0, &narrow[..]), (scaled, 1, &wide[..])];
        for (op, text) in OPS.iter().flat_map(|op| texts.iter().map(move |text| (*op, text))) {
            let constant = Wide::parse(text).expect("a number");
            let mut bytes = Vec::new();
            constant.encode(&mut bytes);
            for (ty, scale, values) in columns {
                let near = nearest_to_wide(op, &bytes, ty);
                for value in values {
                    let integer = value.as_integer().expect("an integer");
                    let expected = op.accepts(Wide::new(integer, scale).cmp(&constant));
                    let found = near
                        .as_integer()
                        .is_some_and(|near| inclusive(op).accepts(integer.cmp(&near)));
                    assert_eq!(found, expected, "{value:?} {op:?} {text}, near {near:?}");
                }
            }
        }
    }
}
