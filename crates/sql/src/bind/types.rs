//! Type rules: names, categories, which casts exist, common types, the types of arithmetic results.

use sqlparser::ast::{self, DataType as Ast};
use types::record::RecordField;
use types::{
    DataType, ElementType, Error, NumericDisplay, NumericType, RecordType, RegKind, Result,
    SqlState,
};

use super::{name, unsupported};
use crate::algebra::Place;

/// What kind of conversion is asked for: each allows all that those before it allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Context {
    /// In an expression, unasked.
    Implicit,
    /// Into a column.
    Assignment,
    /// CAST and `::`.
    Explicit,
}

/// PostgreSQL's type categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Unknown,
    Record,
    Boolean,
    Number,
    Text,
    Time,
    Span,
    Bytes,
    Uuid,
    Json,
    Array,
    /// What has no kin: `"char"`, ACLITEM, XID, TID.
    Other,
}

pub(super) fn category(ty: DataType) -> Category {
    match ty {
        DataType::Unknown => Category::Unknown,
        DataType::Boolean => Category::Boolean,
        DataType::SmallInt
        | DataType::Integer
        | DataType::BigInt
        | DataType::Oid
        | DataType::Reg(_)
        | DataType::Real
        | DataType::Double
        | DataType::Numeric(_) => Category::Number,
        DataType::Char(_) | DataType::Varchar(_) | DataType::Text | DataType::Name => {
            Category::Text
        }
        DataType::InternalChar => Category::Text,
        DataType::AclItem | DataType::Xid | DataType::Tid => Category::Other,
        DataType::Bytea => Category::Bytes,
        DataType::Date | DataType::Time(_) | DataType::Timestamp(_) | DataType::TimestampTz(_) => {
            Category::Time
        }
        DataType::Interval => Category::Span,
        DataType::Uuid => Category::Uuid,
        DataType::Json | DataType::Jsonb => Category::Json,
        DataType::Array(_) => Category::Array,
        DataType::Record(_) => Category::Record,
    }
}

/// Place in the order of implicit numeric conversion.
fn number_rank(ty: DataType) -> Option<u8> {
    Some(match ty {
        DataType::SmallInt => 0,
        DataType::Integer => 1,
        DataType::BigInt => 2,
        DataType::Oid => 3,
        DataType::Numeric(_) => 4,
        DataType::Real => 5,
        DataType::Double => 6,
        _ => return None,
    })
}

/// True when `from` converts to `to` in `context`.
pub(super) fn can_cast(from: DataType, to: DataType, context: Context) -> bool {
    use DataType as T;
    if let (T::Array(from), T::Array(to)) = (from, to) {
        return can_cast(from.data_type(), to.data_type(), context);
    }
    if let (T::Record(from), T::Record(to)) = (from, to) {
        let (from, to) = (from.fields(), to.fields());
        let fits = |(from, to): (&RecordField, &RecordField)| can_cast(from.ty, to.ty, context);
        return from.len() == to.len() && from.iter().zip(to).all(fits);
    }
    if from == T::Unknown || std::mem::discriminant(&from) == std::mem::discriminant(&to) {
        return true;
    }
    if let Some(can) = can_cast_object(from, to, context) {
        return can;
    }
    if from == T::Oid || to == T::Oid {
        let other = if from == T::Oid { to } else { from };
        return match category(other) {
            // Numbers become OIDs without being asked, and the other way round when assigned.
            Category::Number => {
                other.is_integer() && (to == T::Oid || context >= Context::Assignment)
            }
            Category::Text if to == T::Oid => context == Context::Explicit,
            Category::Text => context >= Context::Assignment,
            _ => false,
        };
    }
    if let (Some(from), Some(to)) = (number_rank(from), number_rank(to)) {
        return from <= to || context >= Context::Assignment;
    }
    if category(from) == Category::Text && category(to) == Category::Text {
        return true;
    }
    match (from, to) {
        (T::Date, T::Timestamp(_) | T::TimestampTz(_))
        | (T::Timestamp(_), T::TimestampTz(_))
        | (T::Time(_), T::Interval) => true,
        (T::Timestamp(_) | T::TimestampTz(_), T::Date | T::Time(_))
        | (T::TimestampTz(_), T::Timestamp(_))
        | (T::Interval, T::Time(_)) => context >= Context::Assignment,
        (T::InternalChar, T::Integer) | (T::Integer, T::InternalChar) => {
            context == Context::Explicit
        }
        (_, to) if category(to) == Category::Text => context >= Context::Assignment,
        (from, _) if category(from) == Category::Text => context == Context::Explicit,
        (T::Boolean, T::Integer) | (T::Integer, T::Boolean) => context == Context::Explicit,
        (T::Json, T::Jsonb) | (T::Jsonb, T::Json) => context >= Context::Assignment,
        (T::Jsonb, T::Boolean) => context == Context::Explicit,
        (T::Jsonb, to) if to.is_number() => context == Context::Explicit,
        _ => false,
    }
}

/// [`can_cast`] to and from `regclass` and its kin; None for other types.
fn can_cast_object(from: DataType, to: DataType, context: Context) -> Option<bool> {
    use DataType as T;
    use RegKind as K;
    Some(match (from, to) {
        (T::Reg(from), T::Reg(to)) => {
            from == to
                || matches!(
                    (from, to),
                    (K::Proc, K::Procedure)
                        | (K::Procedure, K::Proc)
                        | (K::Oper, K::Operator)
                        | (K::Operator, K::Oper)
                )
        }
        (T::Reg(_) | T::Xid, T::Oid) | (T::Oid, T::Reg(_)) => true,
        (T::Reg(_), T::Integer | T::BigInt) => context >= Context::Assignment,
        (T::SmallInt | T::Integer | T::BigInt, T::Reg(_)) => true,
        (T::Reg(_), to) => category(to) == Category::Text && context >= Context::Assignment,
        (T::Text | T::Varchar(_), T::Reg(K::Class)) => true,
        (from, T::Reg(_)) => category(from) == Category::Text && context == Context::Explicit,
        _ => return None,
    })
}

/// True when values of both types look alike in memory and mean the same, so that no cast is
/// needed: VARCHAR and TEXT, CHAR of any length, NUMERIC of one scale and physical form.
pub(super) fn interchangeable(a: DataType, b: DataType) -> bool {
    use DataType as T;
    match (a, b) {
        (T::Char(_), T::Char(_)) => true,
        (T::Char(_), _) | (_, T::Char(_)) | (T::Unknown, _) | (_, T::Unknown) => a == b,
        (a, b) if a.is_text() && b.is_text() => true,
        (T::Numeric(x), T::Numeric(y)) => {
            x.scale == y.scale && T::Numeric(x).physical() == T::Numeric(y).physical()
        }
        (T::Array(x), T::Array(y)) => types::array::same_form(x, y),
        (T::Record(x), T::Record(y)) => types::record::same_form(x, y),
        (T::Time(_), T::Time(_))
        | (T::Timestamp(_), T::Timestamp(_))
        | (T::TimestampTz(_), T::TimestampTz(_)) => true,
        _ => a == b,
    }
}

/// The number type as NUMERIC: integers have the digits of their range.
pub(super) fn as_numeric(ty: DataType) -> Option<NumericType> {
    Some(match ty {
        DataType::SmallInt => NumericType::fixed(5, 0),
        DataType::Integer => NumericType::fixed(10, 0),
        DataType::BigInt => NumericType::fixed(19, 0),
        DataType::Numeric(numeric) => numeric,
        _ => return None,
    })
}

/// A NUMERIC of `digits` integer digits and `scale`, as far as 38 digits reach.
fn bounded(digits: u32, scale: u32, display: NumericDisplay) -> NumericType {
    let max = u32::from(NumericType::PRECISION_MAX);
    let scale = scale.min(max);
    let precision = (digits + scale).clamp(1, max);
    NumericType { precision: narrow(precision), scale: narrow(scale), display }
}

fn narrow(n: u32) -> u8 {
    u8::try_from(n.min(u32::from(NumericType::PRECISION_MAX))).unwrap_or(NumericType::PRECISION_MAX)
}

fn parts(n: NumericType) -> (u32, u32) {
    (u32::from(n.precision), u32::from(n.scale))
}

fn integer_digits(n: NumericType) -> u32 {
    u32::from(n.precision.saturating_sub(n.scale))
}

fn either_trimmed(a: NumericType, b: NumericType) -> NumericDisplay {
    match (a.display, b.display) {
        (NumericDisplay::Fixed, NumericDisplay::Fixed) => NumericDisplay::Fixed,
        _ => NumericDisplay::Trimmed,
    }
}

/// `a + b`, `a - b`.
pub(super) fn numeric_sum(a: NumericType, b: NumericType) -> NumericType {
    let digits = integer_digits(a).max(integer_digits(b)) + 2;
    bounded_keeping_scale(digits, u32::from(a.scale.max(b.scale)), either_trimmed(a, b))
}

fn bounded_keeping_scale(digits: u32, scale: u32, display: NumericDisplay) -> NumericType {
    let precision = narrow(digits + scale).max(narrow(scale)).max(1);
    NumericType { precision, scale: narrow(scale), display }
}

/// `a * b`: exact while 38 digits reach, then integer digits go before the scale.
pub(super) fn numeric_product(a: NumericType, b: NumericType) -> NumericType {
    let ((p1, s1), (p2, s2)) = (parts(a), parts(b));
    let scale = match s1 + s2 {
        scale @ 0..=38 => scale,
        _ => 38u32.saturating_sub(integer_digits(a) + integer_digits(b)).max(s1.max(s2)),
    };
    bounded_keeping_scale((p1 + p2).saturating_sub(s1 + s2), scale, either_trimmed(a, b))
}

/// Fractional digits of quotients: PostgreSQL's 16 significant digits and some, with 18 left before
/// the point.
const QUOTIENT_SCALE: u32 = 20;

/// The least fractional digits of a quotient, however many are before the point.
const QUOTIENT_SCALE_MIN: u32 = 6;

/// The least fractional digits of an average, whatever is before the point.
const AVERAGE_SCALE_MIN: u32 = 16;

/// `a / b`: 20 fractional digits, or as many as an operand has; fewer where the digits of `a` are
/// known to need the room. A sum, of 38 digits whatever it adds, says nothing about its digits.
pub(super) fn numeric_quotient(a: NumericType, b: NumericType) -> NumericType {
    let (_, s2) = parts(b);
    let room = 38u32.saturating_sub(integer_digits(a) + s2);
    let known = a.precision < 38;
    let usual = if known { room.clamp(QUOTIENT_SCALE_MIN, QUOTIENT_SCALE) } else { QUOTIENT_SCALE };
    let scale = u32::from(a.scale.max(b.scale)).max(usual).min(37);
    NumericType { precision: 38, scale: narrow(scale), display: NumericDisplay::Trimmed }
}

/// `a % b`.
pub(super) fn numeric_modulo(a: NumericType, b: NumericType) -> NumericType {
    let scale = u32::from(a.scale.max(b.scale));
    bounded_keeping_scale(integer_digits(a).max(integer_digits(b)), scale, either_trimmed(a, b))
}

/// avg of an exact number.
pub(super) fn numeric_average(a: NumericType) -> NumericType {
    let room = 38u32.saturating_sub(integer_digits(a));
    let usual = room.clamp(AVERAGE_SCALE_MIN, QUOTIENT_SCALE);
    let scale = u32::from(a.scale).max(usual).min(37);
    NumericType { precision: 38, scale: narrow(scale), display: NumericDisplay::Trimmed }
}

/// stddev and variance of an exact number.
pub(super) fn numeric_deviation(a: NumericType) -> NumericType {
    numeric_average(a)
}

/// round and trunc to `digits` fractional digits; `carry` when rounding may add an integer digit.
pub(super) fn numeric_rounded(a: NumericType, digits: i32, carry: u32) -> NumericType {
    let scale = u32::try_from(digits.clamp(0, 38)).unwrap_or(0);
    let integer = integer_digits(a) + carry;
    let scale = scale.min(38u32.saturating_sub(integer.min(38))).max(scale.min(parts(a).1));
    bounded(integer, scale, NumericDisplay::Fixed)
}

/// The NUMERIC that holds both.
pub(super) fn numeric_union(a: NumericType, b: NumericType) -> NumericType {
    let digits = integer_digits(a).max(integer_digits(b));
    let scale = u32::from(a.scale.max(b.scale));
    bounded_keeping_scale(digits, scale, either_trimmed(a, b))
}

/// The wider of two number types; None when one is not a number.
pub(super) fn number_union(a: DataType, b: DataType) -> Option<DataType> {
    let (low, high) = match (number_rank(a)?, number_rank(b)?) {
        (x, y) if x <= y => (a, b),
        _ => (b, a),
    };
    match (as_numeric(low), high) {
        (Some(low), DataType::Numeric(high)) => Some(DataType::Numeric(numeric_union(low, high))),
        _ => Some(high),
    }
}

/// The type of which both operands of an operator on numbers become: REAL beside any other number
/// is DOUBLE PRECISION, as there are no operators between them.
pub(super) fn operand_union(a: DataType, b: DataType) -> Option<DataType> {
    match number_union(a, b)? {
        DataType::Real if a != b => Some(DataType::Double),
        union => Some(union),
    }
}

/// The type to which both operands of a comparison are brought; None when there is no such
/// operator.
pub(super) fn comparison_type(a: DataType, b: DataType) -> Option<DataType> {
    use DataType as T;
    if a != b && a.is_object_number() && b.is_object_number() || matches!(a, T::Reg(_)) && a == b {
        return Some(T::Oid);
    }
    match (a, b) {
        (T::Reg(_), _) if b.is_integer() => return Some(T::Oid),
        (_, T::Reg(_)) if a.is_integer() => return Some(T::Oid),
        (T::Xid, T::Integer) | (T::Integer, T::Xid) => return Some(T::Oid),
        _ => {}
    }
    if a != b && a.is_plain_text() && b.is_plain_text() {
        return Some(T::Text);
    }
    if interchangeable(a, b) {
        return Some(a.of_all_digits());
    }
    if let Some(ty) = operand_union(a, b) {
        return Some(ty);
    }
    match (a, b) {
        (a, b) if a.is_text() && b.is_text() => Some(T::Text),
        (T::Date, T::Timestamp(_)) | (T::Timestamp(_), T::Date) => Some(T::TIMESTAMP),
        (T::Date | T::Timestamp(_), T::TimestampTz(_))
        | (T::TimestampTz(_), T::Date | T::Timestamp(_)) => Some(T::TIMESTAMPTZ),
        (T::Time(_), T::Interval) | (T::Interval, T::Time(_)) => Some(T::Interval),
        (T::Record(x), T::Record(y)) => record_type(x, y, comparison_type),
        // Arrays of different element types are not compared, whatever their elements are.
        (T::Array(x), T::Array(y)) => match (x.data_type(), y.data_type()) {
            (x @ T::Numeric(_), y @ T::Numeric(_)) => number_union(x, y).and_then(T::array_of),
            _ => None,
        },
        _ => None,
    }
}

/// One of the values that need a common type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) ty: DataType,
    /// A constant: its scale gives way to that of columns.
    pub(super) constant: bool,
}

/// The type without its length, or its digits of a second: what values of several have in common.
pub(super) fn unmodified(ty: DataType) -> DataType {
    match ty {
        DataType::Varchar(_) => DataType::Varchar(None),
        DataType::Char(_) => DataType::Char(0),
        DataType::Array(element) => {
            DataType::array_of(unmodified(element.data_type())).unwrap_or(ty)
        }
        ty => ty.of_all_digits(),
    }
}

/// The type that all `candidates` can take, as PostgreSQL resolves UNION, CASE and related
/// constructs: with a length only where all have it, and no literal has one. An error names the two
/// types that do not fit.
pub(super) fn common_type(candidates: &[Candidate]) -> Result<DataType, (DataType, DataType)> {
    let mut known = candidates.iter().filter(|c| c.ty != DataType::Unknown);
    let Some(first) = known.next() else {
        return Ok(DataType::Text);
    };
    let mut ty = first.ty;
    for candidate in known {
        ty = pair_type(ty, candidate.ty).ok_or((ty, candidate.ty))?;
    }
    if candidates.iter().any(|candidate| candidate.ty != ty) {
        ty = unmodified(ty);
    }
    match ty {
        DataType::Numeric(numeric) => Ok(DataType::Numeric(union_display(numeric, candidates))),
        DataType::Array(ElementType::Numeric(numeric)) => {
            let element = |candidate: &Candidate| {
                let ty = candidate.ty.element().unwrap_or(candidate.ty);
                Candidate { ty, ..*candidate }
            };
            let elements: Vec<Candidate> = candidates.iter().map(element).collect();
            Ok(DataType::Array(ElementType::Numeric(union_display(numeric, &elements))))
        }
        _ => Ok(ty),
    }
}

/// The type of records that both become: the fields' names are those of the first.
fn record_type(
    a: RecordType,
    b: RecordType,
    of: fn(DataType, DataType) -> Option<DataType>,
) -> Option<DataType> {
    if a.fields().len() != b.fields().len() {
        return None;
    }
    let field = |(a, b): (&RecordField, &RecordField)| {
        Some(RecordField { name: a.name.clone(), ty: of(a.ty, b.ty)? })
    };
    let fields = a.fields().iter().zip(b.fields()).map(field).collect::<Option<Vec<_>>>()?;
    RecordType::new(fields).ok().map(DataType::Record)
}

fn pair_type(a: DataType, b: DataType) -> Option<DataType> {
    use DataType as T;
    if a == b {
        return Some(a);
    }
    if let Some(ty) = number_union(a, b) {
        return Some(ty);
    }
    match (a, b) {
        (T::Char(n), T::Char(m)) => Some(T::Char(n.max(m))),
        (T::Varchar(_), T::Varchar(_)) => Some(T::Varchar(None)),
        (T::Name, T::Char(_) | T::Varchar(_) | T::Text) | (T::Char(_) | T::Varchar(_), T::Name) => {
            Some(T::Name)
        }
        (a, b) if a.is_text() && b.is_text() => Some(T::Text),
        (T::Array(x), T::Array(y)) => pair_type(x.data_type(), y.data_type()).and_then(T::array_of),
        (T::Record(x), T::Record(y)) => record_type(x, y, pair_type),
        _ if can_cast(b, a, Context::Implicit) => Some(a),
        _ if can_cast(a, b, Context::Implicit) => Some(b),
        _ => None,
    }
}

/// Values of several scales print trimmed, as PostgreSQL keeps each value's own scale; constants
/// and integers beside a column take the column's scale.
fn union_display(ty: NumericType, candidates: &[Candidate]) -> NumericType {
    let numerics = candidates.iter().filter_map(|c| match c.ty {
        DataType::Numeric(numeric) => Some((numeric, c.constant)),
        _ => None,
    });
    let columns: Vec<_> = numerics.filter(|(_, constant)| !constant).map(|(n, _)| n).collect();
    let uniform = if columns.is_empty() {
        candidates
            .iter()
            .filter(|c| c.ty != DataType::Unknown)
            .all(|c| as_numeric(c.ty).is_some_and(|n| n.scale == ty.scale))
    } else {
        columns.iter().all(|n| n.scale == ty.scale)
    };
    let display = if uniform { ty.display } else { NumericDisplay::Trimmed };
    NumericType { display, ..ty }
}

/// The type that a type name denotes.
pub(super) fn data_type(ty: &Ast, at: Place) -> Result<DataType> {
    use sqlparser::ast::TimezoneInfo as Zone;
    Ok(match ty {
        Ast::Bool | Ast::Boolean => DataType::Boolean,
        Ast::SmallInt(_) | Ast::Int2(_) => DataType::SmallInt,
        Ast::Int(_) | Ast::Integer(_) | Ast::Int4(_) => DataType::Integer,
        Ast::BigInt(_) | Ast::Int8(_) => DataType::BigInt,
        Ast::Real | Ast::Float4 => DataType::Real,
        Ast::Float(info) => return float_type(info, at),
        Ast::Double(_) | Ast::DoublePrecision | Ast::Float8 => DataType::Double,
        Ast::Numeric(info) | Ast::Decimal(info) | Ast::Dec(info) => return numeric_type(info, at),
        Ast::Char(length) | Ast::Character(length) => {
            DataType::Char(length_of(length, at)?.unwrap_or(1))
        }
        Ast::Varchar(length) | Ast::CharacterVarying(length) | Ast::CharVarying(length) => {
            DataType::Varchar(length_of(length, at)?)
        }
        Ast::Text | Ast::String(_) => DataType::Text,
        Ast::Bytea => DataType::Bytea,
        Ast::Regclass => DataType::Reg(RegKind::Class),
        Ast::Date => DataType::Date,
        Ast::Time(precision, Zone::None | Zone::WithoutTimeZone) => {
            DataType::Time(precision.map(second_digits))
        }
        Ast::Timestamp(precision, Zone::None | Zone::WithoutTimeZone) => {
            DataType::Timestamp(precision.map(second_digits))
        }
        Ast::Timestamp(precision, Zone::WithTimeZone | Zone::Tz) => {
            DataType::TimestampTz(precision.map(second_digits))
        }
        Ast::Interval { fields: None, precision } => {
            whole_micros(*precision, at)?;
            DataType::Interval
        }
        Ast::Interval { fields: Some(fields), precision } => {
            use ast::IntervalFields as F;
            whole_micros(*precision, at)?;
            match fields {
                // They leave nothing out.
                F::Second | F::DayToSecond | F::HourToSecond | F::MinuteToSecond => {
                    DataType::Interval
                }
                fields => return unsupported(format!("type interval {fields}"), at),
            }
        }
        Ast::Uuid => DataType::Uuid,
        Ast::JSON => DataType::Json,
        Ast::JSONB => DataType::Jsonb,
        Ast::Custom(name, modifiers) => return custom_type(name, modifiers, at),
        Ast::Array(element) => return array_type(element, at),
        other => return unsupported(format!("type {}", other.to_string().to_lowercase()), at),
    })
}

/// `T[]` and `T ARRAY`, with or without a size, which says nothing.
fn array_type(element: &ast::ArrayElemTypeDef, at: Place) -> Result<DataType> {
    use ast::ArrayElemTypeDef as E;
    match element {
        E::SquareBracket(element, _) | E::Qualified(element, _) => {
            match DataType::array_of(data_type(element, at)?) {
                Some(array) => Ok(array),
                None => unsupported("an array of several dimensions", at),
            }
        }
        E::None | E::AngleBracket(_) | E::Parenthesis(_) => {
            super::fail(SqlState::SYNTAX_ERROR, "an array type is written as type[]", at)
        }
    }
}

/// The array type that `_int4` and its kin name, and what PostgreSQL's catalog has.
fn array_name(name: &str) -> Option<DataType> {
    match name {
        "int2vector" => Some(DataType::Array(ElementType::VectorSmallInt)),
        "oidvector" => Some(DataType::Array(ElementType::VectorOid)),
        _ => type_called(name.strip_prefix('_')?).and_then(DataType::array_of),
    }
}

/// The type that PostgreSQL's catalog has under `name`, without any modifier.
pub(super) fn type_called(name: &str) -> Option<DataType> {
    Some(match name {
        "bool" => DataType::Boolean,
        "bytea" => DataType::Bytea,
        "int2" => DataType::SmallInt,
        "int4" => DataType::Integer,
        "int8" => DataType::BigInt,
        "oid" => DataType::Oid,
        "float4" => DataType::Real,
        "float8" => DataType::Double,
        "numeric" => DataType::Numeric(NumericType::UNCONSTRAINED),
        "text" => DataType::Text,
        "name" => DataType::Name,
        "char" => DataType::InternalChar,
        "aclitem" => DataType::AclItem,
        "xid" => DataType::Xid,
        "tid" => DataType::Tid,
        "varchar" | "bpchar" => DataType::Varchar(None),
        "date" => DataType::Date,
        "time" => DataType::TIME,
        "timestamp" => DataType::TIMESTAMP,
        "timestamptz" => DataType::TIMESTAMPTZ,
        "interval" => DataType::Interval,
        "uuid" => DataType::Uuid,
        "json" => DataType::Json,
        "jsonb" => DataType::Jsonb,
        name => DataType::Reg(RegKind::from_name(name)?),
    })
}

fn custom_type(name: &ast::ObjectName, modifiers: &[String], at: Place) -> Result<DataType> {
    let at = at.or_else(|| name::object_at(name));
    let parts = name::object_parts(name)?;
    let length = || -> Result<Option<u32>> {
        match modifiers.first().map(|text| text.parse::<u32>()) {
            None => Ok(None),
            Some(Ok(n)) if n >= 1 => Ok(Some(n)),
            Some(_) => super::fail(SqlState::INVALID_PARAMETER, "length must be at least 1", at),
        }
    };
    Ok(match parts.last().map(String::as_str).unwrap_or_default() {
        "timestamptz" => DataType::TIMESTAMPTZ,
        // Without a length nothing is padded.
        "bpchar" => match length()? {
            Some(length) => DataType::Char(length),
            None => DataType::Varchar(None),
        },
        "bool" => DataType::Boolean,
        "int2" => DataType::SmallInt,
        "int4" => DataType::Integer,
        "int8" => DataType::BigInt,
        "float4" => DataType::Real,
        "float8" => DataType::Double,
        "double" => DataType::Double,
        "name" => DataType::Name,
        "char" => DataType::InternalChar,
        "aclitem" => DataType::AclItem,
        "text" => DataType::Text,
        "varchar" => DataType::Varchar(length()?),
        "nchar" => DataType::Char(length()?.unwrap_or(1)),
        "oid" => DataType::Oid,
        "xid" => DataType::Xid,
        "tid" => DataType::Tid,
        "uuid" => DataType::Uuid,
        "json" => DataType::Json,
        "jsonb" => DataType::Jsonb,
        "interval" => DataType::Interval,
        name => {
            if let Some(kind) = RegKind::from_name(name) {
                return Ok(DataType::Reg(kind));
            }
            return array_name(name).ok_or_else(|| {
                let message = format!("type \"{}\" does not exist", parts.join("."));
                super::place(Error::new(SqlState::UNDEFINED_OBJECT, message), at)
            });
        }
    })
}

fn length_of(length: &Option<ast::CharacterLength>, at: Place) -> Result<Option<u32>> {
    match length {
        None => Ok(None),
        Some(ast::CharacterLength::IntegerLength { length: 0, .. }) => {
            super::fail(SqlState::INVALID_PARAMETER, "length for type must be at least 1", at)
        }
        Some(ast::CharacterLength::IntegerLength { length, .. }) => match u32::try_from(*length) {
            Ok(length) if length <= 10_485_760 => Ok(Some(length)),
            _ => super::fail(
                SqlState::INVALID_PARAMETER,
                "length for type cannot exceed 10485760",
                at,
            ),
        },
        Some(ast::CharacterLength::Max) => Ok(None),
    }
}

fn numeric_type(info: &ast::ExactNumberInfo, at: Place) -> Result<DataType> {
    let (precision, scale) = match info {
        ast::ExactNumberInfo::None => return Ok(DataType::Numeric(NumericType::UNCONSTRAINED)),
        ast::ExactNumberInfo::Precision(precision) => (*precision, 0),
        ast::ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    let precision_fits =
        u8::try_from(precision).ok().filter(|p| (1..=NumericType::PRECISION_MAX).contains(p));
    let Some(precision) = precision_fits else {
        let message = format!("NUMERIC precision {precision} must be between 1 and 38");
        return super::fail(SqlState::INVALID_PARAMETER, message, at);
    };
    match u8::try_from(scale) {
        Ok(scale) if scale <= precision => Ok(DataType::numeric(precision, scale)),
        _ => {
            let message =
                format!("NUMERIC scale {scale} must be between 0 and precision {precision}");
            super::fail(SqlState::INVALID_PARAMETER, message, at)
        }
    }
}

fn float_type(info: &ast::ExactNumberInfo, at: Place) -> Result<DataType> {
    match info {
        ast::ExactNumberInfo::None => Ok(DataType::Double),
        ast::ExactNumberInfo::Precision(1..=24) => Ok(DataType::Real),
        ast::ExactNumberInfo::Precision(25..=53) => Ok(DataType::Double),
        _ => super::fail(
            SqlState::INVALID_PARAMETER,
            "precision for type float must be between 1 and 53 bits",
            at,
        ),
    }
}

/// The digits of a second that values have: PostgreSQL has no more than 6, either.
fn second_digits(precision: u64) -> u8 {
    u8::try_from(precision.min(6)).unwrap_or(6)
}

/// Only the full resolution is kept: a coarser one would have to round.
fn whole_micros(precision: Option<u64>, at: Place) -> Result<()> {
    match precision {
        None | Some(6) => Ok(()),
        Some(precision) => unsupported(format!("time precision {precision}"), at),
    }
}

/// The type that SQL text names; None when there is none.
pub fn type_named(text: &str) -> Option<DataType> {
    match crate::parse::parse_expr(&format!("NULL::{text}")).ok()? {
        ast::Expr::Cast { data_type: ty, .. } => data_type(&ty, None).ok(),
        _ => None,
    }
}
