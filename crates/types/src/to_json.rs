//! Values of SQL as JSON: to_json.

use crate::calendar::TimeZone;
use crate::json::push_quoted;
use crate::{DataType, RecordType, Value, array, record, text};

/// Appends `value` of type `ty` as JSON; NULL is `null`. Times are shown by clocks of `zone`.
pub fn append_value(out: &mut Vec<u8>, value: &Value, ty: DataType, zone: &TimeZone) {
    match (value, ty) {
        (Value::Null, _) => out.extend_from_slice(b"null"),
        (Value::Bool(value), _) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        (Value::Str(bytes), _) => append_bytes(out, bytes, ty, zone),
        _ if ty.is_number() => append_number(out, value, ty, zone),
        // Labels may have quotes.
        (Value::I32(position), DataType::Enum(ty)) => {
            push_quoted(out, ty.label(*position).unwrap_or_default().as_bytes());
        }
        _ => {
            out.push(b'"');
            let start = out.len();
            text::append_in(out, value, ty, zone);
            if matches!(ty, DataType::Timestamp(_) | DataType::TimestampTz(_)) {
                to_iso(out, start);
            }
            out.push(b'"');
        }
    }
}

fn append_number(out: &mut Vec<u8>, value: &Value, ty: DataType, zone: &TimeZone) {
    let start = out.len();
    text::append_in(out, value, ty, zone);
    // NaN, Infinity and -Infinity.
    if out[start..].iter().any(|byte| matches!(byte, b'N' | b'I')) {
        out.insert(start, b'"');
        out.push(b'"');
    }
}

/// As [`append_value`], of what is held as bytes.
pub fn append_bytes(out: &mut Vec<u8>, bytes: &[u8], ty: DataType, zone: &TimeZone) {
    match ty {
        DataType::Json | DataType::Jsonb => out.extend_from_slice(bytes),
        DataType::Array(element) => {
            let shape = array::Shape::of(bytes, element);
            let mut brackets = text::Braces::square(&shape);
            brackets.begin(out);
            for raw in array::Elements::new(bytes, element) {
                brackets.next(out);
                append_value(out, &array::decode(raw, element), element.data_type(), zone);
            }
            brackets.end(out);
        }
        DataType::Record(ty) => append_record(out, bytes, ty, zone),
        DataType::WideNumeric(_) => append_number(out, &Value::Str(bytes.into()), ty, zone),
        DataType::Bytea | DataType::Char(_) | DataType::Reg(_) | DataType::Packed(_) => {
            let mut shown = Vec::with_capacity(bytes.len() * 2 + 2);
            text::append_in(&mut shown, &Value::Str(bytes.into()), ty, zone);
            push_quoted(out, &shown);
        }
        _ => push_quoted(out, bytes),
    }
}

/// Appends a record as an object.
fn append_record(out: &mut Vec<u8>, record: &[u8], ty: RecordType, zone: &TimeZone) {
    out.push(b'{');
    for (at, (value, field)) in record::Fields::new(record, ty).zip(ty.fields()).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_quoted(out, field.name.as_bytes());
        out.push(b':');
        append_value(out, &value, field.ty, zone);
    }
    out.push(b'}');
}

/// Gives the timestamp from `start` on the form of ISO 8601: a T before the time, and minutes of
/// the zone.
fn to_iso(out: &mut Vec<u8>, start: usize) {
    let Some(blank) = out[start..].iter().position(|&byte| byte == b' ') else {
        return;
    };
    let time = start + blank + 1;
    out[time - 1] = b'T';
    let Some(sign) = out[time..].iter().position(|byte| matches!(byte, b'+' | b'-')) else {
        return;
    };
    let hours = time + sign + 1;
    let digits = out[hours..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if out.get(hours + digits) != Some(&b':') {
        out.splice(hours + digits..hours + digits, *b":00");
    }
}
