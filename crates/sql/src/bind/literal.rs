//! Constants: numbers, strings, typed literals, intervals, parameters.

use sqlparser::ast;
use types::calendar::rounded_micros;
use types::wide::Wide;
use types::{DataType, Interval, NumericType, PackedType, Result, SqlState, Value};

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
            | V::UnicodeStringLiteral(text)
            | V::NationalStringLiteral(text) => unknown(text),
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
        let field = interval.last_field.as_ref().or(interval.leading_field.as_ref());
        let last = field.map_or_else(|| "second".to_owned(), |f| f.to_string().to_lowercase());
        let minute_to_second = matches!(
            (&interval.leading_field, &interval.last_field),
            (Some(ast::DateTimeField::Minute), Some(ast::DateTimeField::Second))
        );
        let text = if minute_to_second && text.matches(':').count() == 1 {
            with_hour(&text)
        } else {
            text
        };
        let parsed = types::text::parse_interval_of(&text, &last);
        let mut value = parsed.map_err(|error| place(error, at))?;
        if let Some(field) = field {
            value = truncated(value, field);
        }
        let digits = match &interval.last_field {
            Some(_) => interval.fractional_seconds_precision,
            None => interval.leading_precision.or(interval.fractional_seconds_precision),
        };
        if let Some(digits) = digits {
            let digits = u32::try_from(digits.min(6)).unwrap_or(6);
            value.micros = rounded_micros(value.micros, digits).unwrap_or(value.micros);
        }
        Ok(Bound::new(Expr::literal(Value::Interval(value), DataType::Interval), at))
    }
}

/// `mm:ss` as `00:mm:ss`, behind its sign.
fn with_hour(text: &str) -> String {
    let trimmed = text.trim();
    let at = trimmed.rfind(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.'));
    let (before, clock) = trimmed.split_at(at.map_or(0, |at| at + 1));
    format!("{before}00:{clock}")
}

/// Interval without the fields below `field`.
fn truncated(value: Interval, field: &ast::DateTimeField) -> Interval {
    use ast::DateTimeField as F;
    const HOUR: i64 = 3_600_000_000;
    const MINUTE: i64 = 60_000_000;
    match field {
        F::Year | F::Years => Interval { months: value.months / 12 * 12, days: 0, micros: 0 },
        F::Month | F::Months => Interval { days: 0, micros: 0, ..value },
        F::Day | F::Days => Interval { micros: 0, ..value },
        F::Hour | F::Hours => Interval { micros: value.micros / HOUR * HOUR, ..value },
        F::Minute | F::Minutes => Interval { micros: value.micros / MINUTE * MINUTE, ..value },
        _ => value,
    }
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
