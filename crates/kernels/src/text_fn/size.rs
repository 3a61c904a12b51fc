//! Sizes as people write them: `1.5 MB`.

use types::{DataType, Error, NumericType, Result, SqlState, Value, decimal};

use crate::Vector;
use crate::rows::{Texts, try_build};

/// Fractional digits of a size that count.
const SCALE: u8 = 9;

/// pg_size_bytes -> I64.
///
/// # Errors
/// 22023 for what is no size, 22003 for one beyond 64 bits.
pub fn size_bytes(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_build(&[text], |i| bytes_of(texts.str(i)?))
}

fn bytes_of(text: &str) -> Result<i64> {
    let invalid = |detail: Option<String>| {
        let error = Error::new(SqlState::INVALID_PARAMETER, format!("invalid size: \"{text}\""));
        match detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    };
    let (number, unit) = divided(text.trim());
    let ty = DataType::Numeric(NumericType::fixed(NumericType::PRECISION_MAX, SCALE));
    let number = match types::text::parse(number, ty) {
        Ok(Value::I128(number)) => number,
        Ok(Value::I64(number)) => i128::from(number),
        _ => return Err(invalid(None)),
    };
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => 0,
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        "tb" => 40,
        "pb" => 50,
        _ => {
            let detail = format!("Invalid size unit: \"{unit}\".");
            return Err(invalid(Some(detail)).with_hint(
                "Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".",
            ));
        }
    };
    let bytes = number.checked_mul(1 << shift).and_then(|n| decimal::rescale(n, SCALE, 0));
    bytes
        .and_then(|bytes| i64::try_from(bytes).ok())
        .ok_or_else(|| Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "bigint out of range"))
}

/// The number at the beginning, with its exponent, and the unit behind it.
fn divided(text: &str) -> (&str, &str) {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = usize::from(text.starts_with(['-', '+']));
    end += digits(&text[end..]);
    if text[end..].starts_with('.') {
        end += 1 + digits(&text[end + 1..]);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['-', '+']));
        match digits(&text[end + 1 + sign..]) {
            0 => {}
            count => end += 1 + sign + count,
        }
    }
    (&text[..end], text[end..].trim_start())
}
