//! Constants: numbers, strings, typed literals, intervals, parameters.

use sqlparser::ast;
use types::wide::Wide;
use types::{DataType, IntervalFields, NumericType, PackedType, Result, SqlState, Value};

use super::{Binder, Bound, at_span, fail, place, unsupported};
use crate::algebra::{Expr, ExprKind, Place};

impl Binder<'_> {
    /// A constant or parameter as it stands in the text. Quoted strings and NULL have no type yet.
    pub(super) fn bind_value(&mut self, value: &ast::ValueWithSpan) -> Result<Bound> {
        use ast::Value as V;
        let at = at_span(value.span);
        let expr = match &value.value {
            V::Number(digits, _) => number(digits, at)?,
            V::Boolean(value) => Expr::boolean(*value),
            V::Null => Expr::null(DataType::Unknown),
            V::SingleQuotedString(text)
            | V::EscapedStringLiteral(text)
            | V::UnicodeStringLiteral(text) => unknown(text),
            V::NationalStringLiteral(text) => Expr::literal(Value::text(text), DataType::Char(0)),
            V::DollarQuotedString(text) => unknown(&text.value),
            V::SingleQuotedByteStringLiteral(digits) => bits('b', digits, at)?,
            // `X'1F'` has three characters beside its digits, `0x1F` two.
            V::HexStringLiteral(digits)
                if value.span.end.column.saturating_sub(value.span.start.column)
                    == digits.chars().count() as u64 + 3 =>
            {
                bits('x', digits, at)?
            }
            V::HexStringLiteral(digits) => number(&format!("0x{digits}"), at)?,
            V::Placeholder(name) => return self.bind_parameter(name, at),
            other => return unsupported(format!("literal {other}"), at),
        };
        Ok(Bound::new(expr, at))
    }

    fn bind_parameter(&mut self, name: &str, at: Place) -> Result<Bound> {
        if self.catalog.variables().is_some() {
            let message = || format!("there is no parameter {name}");
            let variable = self.variable(&[name], at);
            return variable.map_or_else(|| fail(SqlState::UNDEFINED_PARAMETER, message(), at), Ok);
        }
        let number = name.strip_prefix('$').and_then(|digits| digits.parse::<u32>().ok());
        let Some(number @ 1..=65_535) = number else {
            return fail(SqlState::SYNTAX_ERROR, format!("there is no parameter {name}"), at);
        };
        let count = number as usize;
        if self.parameters.len() < count {
            self.parameters.resize(count, DataType::Unknown);
        }
        let ty = self.parameters.get(count - 1).copied().unwrap_or(DataType::Unknown);
        Ok(Bound::new(Expr { kind: ExprKind::Parameter(number - 1), ty }, at))
    }

    /// `DATE '...'` and its kin.
    pub(super) fn bind_typed_string(&mut self, typed: &ast::TypedString) -> Result<Bound> {
        let literal = self.bind_value(&typed.value)?;
        self.cast_to(literal, &typed.data_type)
    }

    /// `INTERVAL '...' [field [TO field]]`.
    pub(super) fn bind_interval(&mut self, interval: &ast::Interval) -> Result<Bound> {
        let bound = match &*interval.value {
            ast::Expr::Value(value) => self.bind_value(value)?,
            other => {
                let at = super::name::expr_at(other);
                return fail(SqlState::SYNTAX_ERROR, "INTERVAL takes a string constant", at);
            }
        };
        let at = bound.at;
        let text = match &bound.expr.kind {
            ExprKind::Literal(Value::Str(bytes)) if bound.is_unknown() => {
                String::from_utf8_lossy(bytes).into_owned()
            }
            ExprKind::Literal(value) => types::text::format(value, bound.ty()),
            _ => {
                return fail(SqlState::SYNTAX_ERROR, "INTERVAL takes a string constant", at);
            }
        };
        let digits = match &interval.last_field {
            Some(_) => interval.fractional_seconds_precision,
            None => interval.leading_precision.or(interval.fractional_seconds_precision),
        };
        let fields = literal_fields(interval.leading_field.as_ref(), interval.last_field.as_ref());
        let form = super::types::interval_form(fields, digits.map(super::types::second_digits));
        let parsed = types::text::parse_interval_as(&text, form);
        let value = parsed.map_err(|error| place(error, at))?;
        Ok(Bound::new(Expr::literal(Value::Interval(value), DataType::INTERVAL), at))
    }
}

/// The fields of `INTERVAL '...' first TO last`; None for those of no interval.
fn literal_fields(
    first: Option<&ast::DateTimeField>,
    last: Option<&ast::DateTimeField>,
) -> Option<IntervalFields> {
    let name = |field: &ast::DateTimeField| {
        let name = field.to_string().to_ascii_lowercase();
        name.trim_end_matches('s').to_owned()
    };
    let name = match (first?, last) {
        (first, Some(last)) => format!("{} to {}", name(first), name(last)),
        (first, None) => name(first),
    };
    IntervalFields::ALL.into_iter().find(|fields| fields.name() == name)
}

/// `B'101'` and `X'1F'`.
fn bits(kind: char, digits: &str, at: Place) -> Result<Expr> {
    let ty = DataType::Packed(PackedType::Bit(None));
    let value = types::text::parse(&format!("{kind}{digits}"), ty);
    Ok(Expr::literal(value.map_err(|error| place(error, at))?, ty))
}

/// A quoted literal before its type is known.
pub(super) fn unknown(text: &str) -> Expr {
    Expr::literal(Value::text(text), DataType::Unknown)
}

/// The text of a quoted literal whose type is not known yet.
pub(super) fn unknown_text(expr: &Expr) -> Option<String> {
    match (&expr.kind, expr.ty) {
        (ExprKind::Literal(Value::Str(bytes)), DataType::Unknown) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => None,
    }
}

/// The text of a text constant, typed or not.
pub(super) fn constant_text(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Literal(Value::Str(bytes)) if expr.ty.is_text() => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => None,
    }
}

/// A number: INTEGER, else BIGINT, else NUMERIC of just its digits.
///
/// # Errors
/// 22003 for more digits than NUMERIC has.
pub(super) fn number(text: &str, at: Place) -> Result<Expr> {
    let digits = text.replace('_', "");
    let lower = digits.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = lower.strip_prefix(prefix) {
            return match i128::from_str_radix(rest, radix) {
                Ok(value) => Ok(integer(value)),
                Err(_) => fail(SqlState::SYNTAX_ERROR, format!("invalid number \"{text}\""), at),
            };
        }
    }
    if let Some((value, scale)) = decimal(&lower) {
        if scale == 0 && !lower.contains(['.', 'e']) {
            return Ok(integer(value));
        }
        return Ok(numeric(value, scale));
    }
    let value = Wide::parse(&lower).map_err(|error| place(error, at))?;
    Ok(Expr::literal(value.value(), DataType::NUMERIC))
}

/// The smallest of INTEGER, BIGINT and NUMERIC that holds `value`.
pub(super) fn integer(value: i128) -> Expr {
    if let Ok(value) = i32::try_from(value) {
        return Expr::integer(value);
    }
    match i64::try_from(value) {
        Ok(value) => Expr::literal(Value::I64(value), DataType::BigInt),
        Err(_) => numeric(value, 0),
    }
}

/// A NUMERIC constant with just the digits it has.
pub(super) fn numeric(value: i128, scale: u8) -> Expr {
    let digits = digit_count(value).max(scale).max(1);
    let ty = NumericType::computed(digits, scale);
    let value = match i64::try_from(value) {
        Ok(value) if digits <= NumericType::PRECISION_64 => Value::I64(value),
        _ => Value::I128(value),
    };
    Expr::literal(value, DataType::Numeric(ty))
}

fn digit_count(value: i128) -> u8 {
    let mut rest = value.unsigned_abs();
    let mut count = 0;
    while rest > 0 {
        rest /= 10;
        count += 1;
    }
    count
}

/// `text`, digits with point and exponent, as a scaled integer; None when 38 digits do not hold it.
pub(super) fn decimal(text: &str) -> Option<(i128, u8)> {
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    let mut scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    while scale < 0 {
        value = value.checked_mul(10)?;
        scale += 1;
        if value == 0 {
            scale = 0;
        }
    }
    if digit_count(value) > 38 || scale > 38 {
        return None;
    }
    Some((if negative { -value } else { value }, u8::try_from(scale).ok()?))
}
