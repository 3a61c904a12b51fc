//! Which kernel computes which function.

mod arrays;
mod bounds;
mod domain;
mod extension;
mod json;
mod numbers;
mod text;
mod wide;

use kernels::{Vector, VectorBuilder, VectorData, cast, math_fn, packed_fn, record_fn, time_fn};
use plan::physical::{Expr, ExprKind};
use sql::algebra::Function;
use types::calendar::{EXTRACT_TYPE, Field, INFINITE_FIELD, MINUS_INFINITE_FIELD, extract_type};
use types::wide::Wide;
use types::{DataType, Error, NumericType, PhysicalType, Result, Value};

use super::node::{Kernel, Traits};

/// The arguments of a call that the kernel takes as columns: all but a field's name that is a
/// literal and a number of digits, which are part of the kernel.
pub(super) fn evaluated(function: Function, arguments: &[Expr]) -> &[Expr] {
    match (function, arguments) {
        (Function::Extract | Function::DateTrunc, [field, rest @ ..]) if is_literal(field) => rest,
        (Function::Round | Function::Trunc | Function::RoundSeconds, [number, _])
            if !matches!(number.ty, DataType::WideNumeric(_)) =>
        {
            std::slice::from_ref(number)
        }
        _ => arguments,
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Value::Str(_)))
}

/// Says that a kernel never raises an error.
const TOTAL: Traits = Traits::NONE;
const FALLIBLE: Traits = Traits { fallible: true, volatile: false };
const VOLATILE: Traits = Traits { fallible: false, volatile: true };

/// Types of a call, by which its kernel is chosen.
struct Signature<'a> {
    arguments: &'a [Expr],
    ty: DataType,
    physical: PhysicalType,
}

impl Signature<'_> {
    /// The type of argument `i`.
    fn of(&self, i: usize) -> Result<DataType> {
        let argument = self.arguments.get(i);
        argument.map(|a| a.ty).ok_or_else(|| Error::internal("a function without its argument"))
    }

    /// A kernel that does `of` for the field that the first argument names, in each row if it is
    /// no literal.
    fn by_field(
        &self,
        of: impl Fn(Field, &[&Vector]) -> Result<Vector> + Send + Sync + 'static,
    ) -> Result<Kernel> {
        if let Some(ExprKind::Literal(Value::Str(name))) = self.arguments.first().map(|a| &a.kind) {
            let field = Field::parse(&String::from_utf8_lossy(name))?;
            return Ok(Box::new(move |a: &[&Vector], _| of(field, a)));
        }
        let physical = self.physical;
        Ok(Box::new(move |a: &[&Vector], rows| {
            let Some((names, rest)) = a.split_first() else {
                return Err(Error::internal("a function without its argument"));
            };
            let mut out = VectorBuilder::new(physical);
            let mut start = 0;
            // Rows of one field after the other, mostly all.
            while start < rows {
                // Of a constant there is one row.
                let name = |row: usize| {
                    let row = row.min(names.len() - 1);
                    (!names.is_null(row)).then(|| names.as_str().get(row))
                };
                let same = (start..rows).take_while(|row| name(*row) == name(start)).count();
                let part = match name(start) {
                    None => Vector::repeat(physical, &Value::Null, same),
                    Some(field) => {
                        let field = Field::parse(&String::from_utf8_lossy(field).to_lowercase())?;
                        let slice = |v: &&Vector| match v.len() {
                            1 => (*v).clone(),
                            _ => v.slice(start, same),
                        };
                        let part: Vec<Vector> = rest.iter().map(slice).collect();
                        of(field, &part.iter().collect::<Vec<_>>())?
                    }
                };
                let positions = (part.len() != same).then(|| vec![0; same]);
                out.append(&part, positions.as_deref());
                start += same;
            }
            Ok(out.finish())
        }))
    }
}

fn one(f: fn(&Vector) -> Result<Vector>) -> Kernel {
    Box::new(move |a: &[&Vector], _| f(a[0]))
}

fn two(f: fn(&Vector, &Vector) -> Result<Vector>) -> Kernel {
    Box::new(move |a: &[&Vector], _| f(a[0], a[1]))
}

fn three(f: fn(&Vector, &Vector, &Vector) -> Result<Vector>) -> Kernel {
    Box::new(move |a: &[&Vector], _| f(a[0], a[1], a[2]))
}

/// The kernel of `function` for `arguments` (as many as it has in the algebra) and the result's
/// type.
///
/// # Errors
/// XX000 for a function or types that the binder does not make, 22023 for an unknown field.
pub(super) fn kernel(
    function: Function,
    arguments: &[Expr],
    ty: DataType,
    physical: PhysicalType,
) -> Result<(Kernel, Traits)> {
    let signature = Signature { arguments, ty, physical };
    if let Some(found) = bounds::kernel(function, &signature)? {
        return Ok(found);
    }
    if let Some(found) = numbers::kernel(function, &signature)? {
        return Ok(found);
    }
    if let Some(kernel) = arrays::kernel(function, &signature)? {
        return Ok((kernel, FALLIBLE));
    }
    if let Some(kernel) = domain::kernel(function, &signature)? {
        return Ok((kernel, FALLIBLE));
    }
    if let Some(kernel) = record(function, &signature)? {
        return Ok((kernel, FALLIBLE));
    }
    if let Function::Packed(call) = function {
        let types: Vec<DataType> = arguments.iter().map(|argument| argument.ty).collect();
        let kernel = Box::new(move |a: &[&Vector], _| packed_fn::compute(call, a, &types, ty));
        return Ok((kernel, FALLIBLE));
    }
    if let Function::Json(function) = function {
        return Ok((json::kernel(function, &signature)?, FALLIBLE));
    }
    if let Function::Extension(function) = function {
        return Ok(extension::kernel(function));
    }
    if let Some(found) = text::kernel(function, &signature)? {
        return Ok(found);
    }
    if let Some(kernel) = time(function, &signature)? {
        return Ok((kernel, FALLIBLE));
    }
    Err(Error::internal(format!("no kernel for {function:?}")))
}

/// Functions on records.
fn record(function: Function, signature: &Signature) -> Result<Option<Kernel>> {
    Ok(match (function, signature.ty) {
        (Function::RecordMake, DataType::Record(ty)) => {
            Some(Box::new(move |a: &[&Vector], _| record_fn::make(a, ty)))
        }
        (Function::RecordField(at), _) => {
            let DataType::Record(ty) = signature.of(0)? else { return Ok(None) };
            let (at, physical) = (at as usize, signature.physical);
            Some(Box::new(move |a: &[&Vector], _| Ok(record_fn::field(a[0], ty, at, physical))))
        }
        _ => None,
    })
}

fn time(function: Function, signature: &Signature) -> Result<Option<Kernel>> {
    let has_zone = signature.arguments.len() == 3;
    let kernel = match function {
        Function::DateAddDays => two(time_fn::date_add_days),
        Function::DateSubtractDays => two(time_fn::date_subtract_days),
        Function::DateDifference => two(time_fn::date_difference),
        Function::TimestampAdd if has_zone => three(time_fn::timestamp_add_in),
        Function::TimestampSubtract if has_zone => three(time_fn::timestamp_subtract_in),
        Function::TimestampAdd => two(time_fn::timestamp_add),
        Function::TimestampSubtract => two(time_fn::timestamp_subtract),
        Function::TimestampDifference => two(time_fn::timestamp_difference),
        Function::TimeAdd => two(time_fn::time_add),
        Function::TimeSubtract => two(time_fn::time_subtract),
        Function::TimeDifference => two(time_fn::time_difference),
        Function::IntervalAdd => two(time_fn::interval_add),
        Function::IntervalSubtract => two(time_fn::interval_subtract),
        Function::IntervalMultiply => two(time_fn::interval_multiply),
        Function::IntervalDivide => two(time_fn::interval_divide),
        Function::DateTimeAdd => two(time_fn::date_time_add),
        Function::Age => two(time_fn::age),
        Function::DateBin => three(time_fn::date_bin),
        Function::MakeTime => three(time_fn::make_time),
        Function::MakeDate => three(time_fn::make_date),
        Function::MakeTimestamp => Box::new(|a: &[&Vector], _| {
            time_fn::make_timestamp([a[0], a[1], a[2], a[3], a[4], a[5]])
        }),
        Function::MakeInterval => Box::new(|a: &[&Vector], _| {
            time_fn::make_interval([a[0], a[1], a[2], a[3], a[4], a[5], a[6]])
        }),
        Function::ToDate => two(time_fn::to_date),
        Function::ToTimestamp if signature.arguments.len() == 1 => one(time_fn::to_timestamp_epoch),
        Function::ToTimestamp if has_zone => three(time_fn::to_timestamp_in),
        Function::ToTimestamp => two(time_fn::to_timestamp),
        Function::JustifyDays => one(time_fn::justify_days),
        Function::ZoneOfTime => one(time_fn::zone_of_time),
        Function::JustifyHours => one(time_fn::justify_hours),
        Function::JustifyInterval => one(time_fn::justify_interval),
        Function::CastInZone
        | Function::Extract
        | Function::DateTrunc
        | Function::RoundSeconds
        | Function::IsFinite
        | Function::ToChar
        | Function::ToNumber
        | Function::AtTimeZone => typed_time(function, signature)?,
        _ => return Ok(None),
    };
    Ok(Some(kernel))
}

/// Fields as [`time_fn::extract`] gives them, as `ty`; `shown` has the digits that clients see.
///
/// # Errors
/// 0A000 for infinities where `ty` has none: the statement runs again with NUMERIC that does.
fn extracted(
    fields: &Vector,
    shown: NumericType,
    ty: DataType,
    physical: PhysicalType,
) -> Result<Vector> {
    let native = DataType::Numeric(EXTRACT_TYPE);
    let VectorData::I64(values) = &fields.data else {
        return Err(Error::internal("fields are of 64 bits"));
    };
    let infinity = |(row, value): (usize, &i64)| match *value {
        INFINITE_FIELD if !fields.is_null(row) => Some((row, Wide::Infinity)),
        MINUS_INFINITE_FIELD if !fields.is_null(row) => Some((row, Wide::MinusInfinity)),
        _ => None,
    };
    let infinite: Vec<(usize, Wide)> = values.iter().enumerate().filter_map(infinity).collect();
    if !matches!(ty, DataType::WideNumeric(_)) {
        if !infinite.is_empty() {
            return Err(Error::unsupported("infinity in NUMERIC").narrow());
        }
        return cast::cast_as(fields, native, ty, physical);
    }
    let shown = DataType::Numeric(shown);
    let finite = cast::cast_as(fields, native, shown, PhysicalType::I64)?;
    let wide = cast::cast_as(&finite, shown, ty, physical)?;
    if infinite.is_empty() {
        return Ok(wide);
    }
    let mut out = VectorBuilder::with_capacity(physical, wide.len());
    let mut infinite = infinite.into_iter().peekable();
    for row in 0..wide.len() {
        match infinite.next_if(|(at, _)| *at == row) {
            Some((_, value)) => out.push_value(&value.value()),
            None => out.push_value(&wide.value(row)),
        }
    }
    Ok(out.finish())
}

/// Functions whose kernels take types or fields beside columns.
fn typed_time(function: Function, signature: &Signature) -> Result<Kernel> {
    let (ty, physical) = (signature.ty, signature.physical);
    let has_zone = signature.arguments.len() == 3;
    Ok(match function {
        Function::CastInZone => {
            let from = signature.of(0)?;
            Box::new(move |a: &[&Vector], _| time_fn::cast_in(a[0], from, ty, a[1]))
        }
        Function::Extract if has_zone => signature.by_field(move |field, a| {
            let shown = extract_type(field, DataType::TIMESTAMPTZ);
            extracted(&time_fn::extract_in(field, a[0], a[1])?, shown, ty, physical)
        })?,
        Function::DateTrunc if has_zone => {
            signature.by_field(move |field, a| time_fn::date_trunc_in(field, a[0], a[1]))?
        }
        Function::Extract => {
            let from = signature.of(1)?;
            signature.by_field(move |field, a| {
                let shown = extract_type(field, from);
                extracted(&time_fn::extract(field, a[0], from)?, shown, ty, physical)
            })?
        }
        Function::DateTrunc => {
            let from = signature.of(1)?;
            signature.by_field(move |field, a| time_fn::date_trunc(field, a[0], from))?
        }
        Function::RoundSeconds => {
            let digits = u32::try_from(numbers::digits_argument(signature)?).unwrap_or(0);
            Box::new(move |a: &[&Vector], _| time_fn::round_seconds(a[0], digits, ty))
        }
        Function::IsFinite => {
            let from = signature.of(0)?;
            Box::new(move |a: &[&Vector], _| time_fn::is_finite(a[0], from))
        }
        Function::ToChar => {
            let from = signature.of(0)?;
            Box::new(move |a: &[&Vector], _| {
                let zone = a.get(2).map(|zone| time_fn::session_zone(zone)).transpose()?;
                time_fn::to_char(a[0], from, a[1], &zone.unwrap_or_default())
            })
        }
        Function::ToNumber => two(time_fn::to_number),
        _ => {
            let from = signature.of(1)?;
            Box::new(move |a: &[&Vector], _| time_fn::at_time_zone(a[0], a[1], from))
        }
    })
}

/// Kernels without arguments; those that differ from row to row are volatile.
fn without_arguments(function: Function) -> Option<(Kernel, Traits)> {
    Some(match function {
        Function::Pi => (Box::new(|_, _| Ok(math_fn::pi())), TOTAL),
        Function::Random => (Box::new(|_, rows| Ok(math_fn::random(rows))), VOLATILE),
        Function::GenRandomUuid => (Box::new(|_, rows| Ok(math_fn::random_uuid(rows))), VOLATILE),
        _ => return None,
    })
}
