//! Values: comparison, arithmetic, casts, aggregates. Shared by both interpreters.

use std::cmp::Ordering;

use sql::algebra::{AggregateFunction, Function};
use types::{CompareOp, DataType, Error, PhysicalType, Result, SqlState, Value};

pub(super) fn scale(ty: DataType) -> u32 {
    match ty {
        DataType::Numeric(n) => u32::from(n.scale),
        _ => 0,
    }
}

pub(super) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::F64(a), Value::F64(b)) => a.total_cmp(b),
        _ => a.as_integer().cmp(&b.as_integer()),
    }
}

pub(super) fn equal(a: &Value, b: &Value) -> bool {
    a.is_null() == b.is_null() && (a.is_null() || order(a, b) == Ordering::Equal)
}

pub(super) fn rows_equal(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

/// Values of one type held differently, made alike.
pub(super) fn held(value: Value, physical: PhysicalType) -> Value {
    let Some(number) = value.as_integer() else {
        return value;
    };
    match physical {
        PhysicalType::I32 => Value::I32(i32::try_from(number).expect("the value fits 32 bits")),
        PhysicalType::I64 => Value::I64(i64::try_from(number).expect("the value fits 64 bits")),
        PhysicalType::I128 => Value::I128(number),
        _ => value,
    }
}

/// True when the value is in the physical form.
pub(super) fn is_held(value: &Value, physical: PhysicalType) -> bool {
    matches!(
        (value, physical),
        (Value::Null, _)
            | (Value::Bool(_), PhysicalType::Bool)
            | (Value::I32(_), PhysicalType::I32)
            | (Value::I64(_), PhysicalType::I64)
            | (Value::I128(_), PhysicalType::I128)
            | (Value::F64(_), PhysicalType::F64)
            | (Value::Str(_), PhysicalType::Str)
    )
}

pub(super) fn compare(op: CompareOp, a: &Value, b: &Value) -> Value {
    match op {
        CompareOp::Distinct => return Value::Bool(!equal(a, b)),
        CompareOp::NotDistinct => return Value::Bool(equal(a, b)),
        _ if a.is_null() || b.is_null() => return Value::Null,
        _ => {}
    }
    let found = order(a, b);
    Value::Bool(op.accepts(found))
}

pub(super) fn and(parts: &[Value]) -> Value {
    if parts.contains(&Value::Bool(false)) {
        Value::Bool(false)
    } else if parts.iter().any(Value::is_null) {
        Value::Null
    } else {
        Value::Bool(true)
    }
}

pub(super) fn or(parts: &[Value]) -> Value {
    if parts.contains(&Value::Bool(true)) {
        Value::Bool(true)
    } else if parts.iter().any(Value::is_null) {
        Value::Null
    } else {
        Value::Bool(false)
    }
}

pub(super) fn not(value: &Value) -> Value {
    match value {
        Value::Bool(v) => Value::Bool(!v),
        other => other.clone(),
    }
}

pub(super) fn in_list(operand: &Value, list: &[Value]) -> Value {
    let parts: Vec<Value> =
        list.iter().map(|item| compare(CompareOp::Equal, operand, item)).collect();
    or(&parts)
}

pub(super) fn rescale(number: i128, from: u32, to: u32) -> i128 {
    if to >= from {
        return number * 10i128.pow(to - from);
    }
    let factor = 10i128.pow(from - to);
    let half = factor / 2;
    if number >= 0 { (number + half) / factor } else { (number - half) / factor }
}

pub(super) fn cast(value: &Value, from: DataType, to: DataType, physical: PhysicalType) -> Value {
    match (value, to) {
        (Value::Null, _) => Value::Null,
        (value, DataType::WideNumeric(_)) => {
            types::cast::cast_value(value, from, to).expect("a wide decimal")
        }
        (Value::Bool(v), DataType::Integer) => Value::I32(i32::from(*v)),
        _ => match value.as_integer() {
            Some(days) if from == DataType::Date && to == DataType::TIMESTAMP => {
                Value::I64((days * DAY) as i64)
            }
            Some(micros) if from == DataType::TIMESTAMP && to == DataType::Date => {
                Value::I32(micros.div_euclid(DAY) as i32)
            }
            Some(number) => held(Value::I128(rescale(number, scale(from), scale(to))), physical),
            None => value.clone(),
        },
    }
}

/// A function of the few that tests use; arguments with their types.
pub(super) fn call(
    function: Function,
    arguments: &[(Value, DataType)],
    ty: DataType,
    physical: PhysicalType,
) -> Result<Value> {
    if function == Function::Coalesce {
        let first = arguments.iter().find(|(v, _)| !v.is_null());
        return Ok(first.map_or(Value::Null, |(v, _)| held(v.clone(), physical)));
    }
    if arguments.iter().any(|(v, _)| v.is_null()) {
        return Ok(Value::Null);
    }
    if let Some(moment) = moment(function, arguments) {
        return Ok(held(Value::I128(moment), physical));
    }
    if let (Function::NumericKey, (Value::Str(bytes), _)) = (function, &arguments[0]) {
        return Ok(Value::Str(types::wide::key(bytes).into()));
    }
    if let Function::Nearest(op) = function {
        return Ok(held(types::nearest(op, &arguments[0].0, arguments[0].1, ty), physical));
    }
    let number = |i: usize| arguments[i].0.as_integer().expect("arithmetic is on numbers");
    let scaled = |i: usize| rescale(number(i), scale(arguments[i].1), scale(ty));
    let result = match function {
        Function::Add => scaled(0) + scaled(1),
        Function::Subtract => scaled(0) - scaled(1),
        Function::Negate => -scaled(0),
        Function::Multiply => {
            let digits = scale(arguments[0].1) + scale(arguments[1].1);
            rescale(number(0) * number(1), digits, scale(ty))
        }
        Function::Divide if number(1) == 0 => {
            return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        other => return Err(Error::unsupported(format!("{other:?} in tests"))),
    };
    Ok(held(Value::I128(result), physical))
}

const DAY: i128 = 86_400_000_000;

/// DATE and TIMESTAMP arithmetic.
fn moment(function: Function, arguments: &[(Value, DataType)]) -> Option<i128> {
    let first = arguments.first()?.0.as_integer()?;
    match (function, &arguments.get(1)?.0) {
        (Function::DateAddDays, days) => Some(first + days.as_integer()?),
        (Function::DateSubtractDays, days) => Some(first - days.as_integer()?),
        (Function::TimestampAdd, Value::Interval(i)) => Some(shift(first, *i, 1)),
        (Function::TimestampSubtract, Value::Interval(i)) => Some(shift(first, *i, -1)),
        _ => None,
    }
}

fn shift(micros: i128, interval: types::Interval, sign: i128) -> i128 {
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let (year, month, day) = civil(days as i64);
    let months = i128::from(year) * 12 + i128::from(month) - 1 + sign * i128::from(interval.months);
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let mut moved = day_number(year, month, i128::from(day));
    while civil(moved as i64).1 as i128 != month {
        moved -= 1;
    }
    (moved + sign * i128::from(interval.days)) * DAY + rest + sign * i128::from(interval.micros)
}

/// Year, month and day of a day number since 1970.
/// Source: Howard Hinnant, "chrono-compatible low-level date algorithms".
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

/// Days since 1970 of a date.
pub(super) fn day_number(year: i128, month: i128, day: i128) -> i128 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

/// The result of an aggregate over the non-filtered argument rows.
pub(super) fn aggregate(
    function: AggregateFunction,
    rows: &[Vec<Value>],
    argument: Option<DataType>,
    ty: DataType,
    physical: PhysicalType,
) -> Result<Value> {
    use AggregateFunction as A;
    if function == A::CountRows {
        return Ok(Value::I64(rows.len() as i64));
    }
    let values: Vec<&Value> =
        rows.iter().map(|row| &row[0]).filter(|value| !value.is_null()).collect();
    let digits = argument.map_or(0, scale);
    Ok(match function {
        A::Count => Value::I64(values.len() as i64),
        _ if function == A::Single => {
            if rows.len() > 1 {
                return Err(too_many());
            }
            rows.first().map_or(Value::Null, |row| row[0].clone())
        }
        A::AnyValue => rows.first().map_or(Value::Null, |row| row[0].clone()),
        _ if values.is_empty() => Value::Null,
        A::Sum => {
            let total: i128 = values.iter().filter_map(|v| v.as_integer()).sum();
            held(Value::I128(rescale(total, digits, scale(ty))), physical)
        }
        A::Min => (*values.iter().min_by(|a, b| order(a, b)).expect("not empty")).clone(),
        A::Max => (*values.iter().max_by(|a, b| order(a, b)).expect("not empty")).clone(),
        A::BoolOr => Value::Bool(values.contains(&&Value::Bool(true))),
        A::BoolAnd => Value::Bool(!values.contains(&&Value::Bool(false))),
        other => return Err(Error::unsupported(format!("{other:?} in tests"))),
    })
}

pub(super) fn too_many() -> Error {
    Error::new(SqlState::CARDINALITY_VIOLATION, "more than one row")
}
