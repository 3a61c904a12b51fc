//! Type rules: names, categories, which casts exist, common types, the types of arithmetic results.

mod packed;

use sqlparser::ast::{self, DataType as Ast};
use types::{
    DataType, ElementType, Error, IntervalFields, IntervalForm, NumericDisplay, NumericType,
    PackedType, RecordField, RecordType, RegKind, Result, SqlState, WideDigits,
};

use packed::{can_cast_packed, compared_packed};

use super::{name, unsupported};
use crate::algebra::Place;
use crate::catalog::Digits;

/// Kind of conversion that is asked for: each allows all that those before it allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Context {
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
    Enum,
    Json,
    Array,
    /// Types whose functions are in a table of their own.
    Packed,
    /// Types without kin: `"char"`, ACLITEM, REFCURSOR, XID, TID, JSONPATH.
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
        | DataType::Numeric(_)
        | DataType::WideNumeric(_) => Category::Number,
        DataType::Char(_) | DataType::Varchar(_) | DataType::Text | DataType::Name => {
            Category::Text
        }
        DataType::InternalChar => Category::Text,
        DataType::AclItem
        | DataType::RefCursor
        | DataType::Xid
        | DataType::Tid
        | DataType::JsonPath => Category::Other,
        DataType::Bytea => Category::Bytes,
        DataType::Date | DataType::Time(_) | DataType::Timestamp(_) | DataType::TimestampTz(_) => {
            Category::Time
        }
        DataType::Interval(_) => Category::Span,
        DataType::Uuid => Category::Uuid,
        DataType::Enum(_) => Category::Enum,
        DataType::Json | DataType::Jsonb => Category::Json,
        DataType::Array(_) => Category::Array,
        DataType::Record(_) => Category::Record,
        DataType::Packed(_) => Category::Packed,
    }
}

/// The type of a column that keeps values of type `ty`: without digits that none declared.
pub(super) fn stored_type(ty: DataType) -> DataType {
    match ty {
        DataType::Numeric(n) if n.display != NumericDisplay::Fixed => DataType::NUMERIC,
        DataType::Array(element) => {
            DataType::array_of(stored_type(element.data_type())).unwrap_or(ty)
        }
        ty => ty,
    }
}

/// Place in the order of implicit numeric conversion.
fn number_rank(ty: DataType) -> Option<u8> {
    Some(match ty {
        DataType::SmallInt => 0,
        DataType::Integer => 1,
        DataType::BigInt => 2,
        DataType::Oid => 3,
        DataType::Numeric(_) | DataType::WideNumeric(_) => 4,
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
    if let (T::Enum(from), T::Enum(to)) = (from, to) {
        return from.is_same_object(to);
    }
    if let Some(can) = can_cast_packed(from, to, context) {
        return can;
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
        | (T::Time(_), T::Interval(_)) => true,
        (T::Timestamp(_) | T::TimestampTz(_), T::Date | T::Time(_))
        | (T::TimestampTz(_), T::Timestamp(_))
        | (T::Interval(_), T::Time(_)) => context >= Context::Assignment,
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
        (T::Char(1..), T::Char(1..)) => true,
        (T::Char(_), _) | (_, T::Char(_)) | (T::Unknown, _) | (_, T::Unknown) => a == b,
        (a, b) if a.is_text() && b.is_text() => true,
        (T::Numeric(x), T::Numeric(y)) => {
            x.scale == y.scale
                && x.is_trimmed() == y.is_trimmed()
                && T::Numeric(x).physical() == T::Numeric(y).physical()
        }
        (T::WideNumeric(_), T::WideNumeric(_)) => true,
        (T::Enum(x), T::Enum(y)) => x.is_same_object(y),
        (T::Array(x), T::Array(y)) => types::same_array_form(x, y),
        (T::Record(x), T::Record(y)) => types::same_record_form(x, y),
        (T::Time(_), T::Time(_))
        | (T::Timestamp(_), T::Timestamp(_))
        | (T::TimestampTz(_), T::TimestampTz(_))
        | (T::Interval(_), T::Interval(_)) => true,
        (T::Packed(x), T::Packed(y)) => x.same_form(y),
        _ => a == b,
    }
}

/// The number type as NUMERIC of scaled integers: integers have the digits of their range. None for
/// wide decimals, too.
pub(super) fn as_numeric(ty: DataType) -> Option<NumericType> {
    Some(match ty {
        DataType::SmallInt => NumericType::computed(5, 0),
        DataType::Integer => NumericType::computed(10, 0),
        DataType::BigInt => NumericType::computed(19, 0),
        DataType::Numeric(numeric) if !numeric.is_trimmed() => numeric,
        _ => return None,
    })
}

/// True for exact numbers: integers and NUMERIC in each form.
pub(super) fn is_exact(ty: DataType) -> bool {
    ty.is_integer() || ty.is_numeric()
}

/// The type of what is computed from values of type `ty`: without declared digits.
pub(super) fn computed(ty: DataType) -> DataType {
    match ty {
        DataType::Numeric(n) if !n.is_trimmed() => {
            DataType::Numeric(NumericType::computed(n.precision, n.scale))
        }
        DataType::WideNumeric(_) => DataType::NUMERIC,
        ty => ty,
    }
}

impl Digits {
    /// A computed NUMERIC of `whole` digits before the point.
    fn computed(self, whole: u32, scale: u32) -> DataType {
        let max = u32::from(NumericType::PRECISION_MAX);
        if scale > max || (self == Self::All && whole + scale > max) {
            return DataType::NUMERIC;
        }
        // At most 38 each.
        let precision = (whole + scale).clamp(1, max) as u8;
        DataType::Numeric(NumericType::computed(precision.max(scale as u8), scale as u8))
    }

    /// `a + b`, `a - b`.
    pub(super) fn sum(self, a: NumericType, b: NumericType) -> DataType {
        let whole = integer_digits(a).max(integer_digits(b)) + 1;
        self.computed(whole, u32::from(a.scale.max(b.scale)))
    }

    /// `a * b`.
    pub(super) fn product(self, a: NumericType, b: NumericType) -> DataType {
        let scale = u32::from(a.scale) + u32::from(b.scale);
        self.computed(integer_digits(a) + integer_digits(b), scale)
    }

    /// `a % b`.
    pub(super) fn modulo(self, a: NumericType, b: NumericType) -> DataType {
        let whole = integer_digits(a).max(integer_digits(b));
        self.computed(whole, u32::from(a.scale.max(b.scale)))
    }

    /// sum(a), of any number of rows.
    pub(super) fn total(self, a: NumericType) -> DataType {
        let scale = u32::from(a.scale);
        match self {
            Self::Likely => DataType::Numeric(NumericType::computed(38, a.scale)),
            // 2^63 rows have 19 digits.
            Self::All if integer_digits(a) + 19 + scale > 38 => DataType::NUMERIC,
            Self::All => DataType::Numeric(NumericType::computed(38, a.scale)),
        }
    }

    /// round and trunc to `digits` fractional digits, at least 0; `carry` when rounding may add an
    /// integer digit.
    pub(super) fn rounded(self, a: NumericType, digits: u32, carry: u32) -> DataType {
        self.computed(integer_digits(a) + carry, digits)
    }

    /// The NUMERIC that holds the values of both, whatever their scales.
    fn both(self, a: NumericType, b: NumericType) -> DataType {
        if a.scale == b.scale && (a.precision, a.display) == (b.precision, b.display) {
            return DataType::Numeric(a);
        }
        let whole = integer_digits(a).max(integer_digits(b));
        self.computed(whole, u32::from(a.scale.max(b.scale)))
    }
}

fn integer_digits(n: NumericType) -> u32 {
    u32::from(n.precision.saturating_sub(n.scale))
}

/// The wider of two number types, whatever the scales of their values; None when one is not a
/// number.
pub(super) fn number_union(digits: Digits, a: DataType, b: DataType) -> Option<DataType> {
    let high = match (number_rank(a)?, number_rank(b)?) {
        (x, y) if x <= y => b,
        _ => a,
    };
    if !high.is_numeric() {
        return Some(high);
    }
    match (as_numeric(a), as_numeric(b)) {
        (Some(a), Some(b)) => Some(digits.both(a, b)),
        _ if a == b => Some(a),
        _ => Some(DataType::NUMERIC),
    }
}

/// The type of which both operands of an operator on numbers become: REAL beside any other number
/// is DOUBLE PRECISION, as there are no operators between them.
pub(super) fn operand_union(digits: Digits, a: DataType, b: DataType) -> Option<DataType> {
    match number_union(digits, a, b)? {
        DataType::Real if a != b => Some(DataType::Double),
        union => Some(union),
    }
}

/// The type to which both operands of a comparison are brought; None when there is no such
/// operator.
pub(super) fn comparison_type(digits: Digits, a: DataType, b: DataType) -> Option<DataType> {
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
    if let Some(ty) = compared_packed(a, b) {
        return Some(ty);
    }
    if let Some(ty) = operand_union(digits, a, b) {
        return Some(ty);
    }
    match (a, b) {
        (T::Char(_), T::Char(_)) => Some(T::Char(0)),
        (a, b) if a.is_text() && b.is_text() => Some(T::Text),
        (T::Date, T::Timestamp(_)) | (T::Timestamp(_), T::Date) => Some(T::TIMESTAMP),
        (T::Date | T::Timestamp(_), T::TimestampTz(_))
        | (T::TimestampTz(_), T::Date | T::Timestamp(_)) => Some(T::TIMESTAMPTZ),
        (T::Time(_), T::Interval(_)) | (T::Interval(_), T::Time(_)) => Some(T::INTERVAL),
        (T::Record(x), T::Record(y)) => record_type(x, y, &|a, b| comparison_type(digits, a, b)),
        // Arrays of different element types are not compared, whatever their elements are.
        (T::Array(x), T::Array(y)) => match (x.data_type(), y.data_type()) {
            (x, y) if x.is_numeric() && y.is_numeric() => {
                number_union(digits, x, y).and_then(T::array_of)
            }
            (T::Char(_), T::Char(_)) => T::array_of(T::Char(0)),
            _ => None,
        },
        _ => None,
    }
}

/// One of the values that need a common type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) ty: DataType,
}

/// The type without its length, or its digits of a second: what values of several have in common.
pub(super) fn unmodified(ty: DataType) -> DataType {
    match ty {
        DataType::Varchar(_) => DataType::Varchar(None),
        DataType::Char(_) => DataType::Char(0),
        ty if ty.is_numeric() => super::types::computed(ty),
        DataType::Array(element) => {
            DataType::array_of(unmodified(element.data_type())).unwrap_or(ty)
        }
        ty => ty.of_all_digits(),
    }
}

/// The type of what a function gives of values of type `ty`: as [`unmodified`], but that a CHAR
/// keeps its length, which says what blanks there are.
pub(super) fn result_of(ty: DataType) -> DataType {
    match ty.element().unwrap_or(ty) {
        DataType::Char(_) => ty,
        _ => unmodified(ty),
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
    Ok(ty)
}

/// The type of records that both become: the fields' names are those of the first.
fn record_type(
    a: RecordType,
    b: RecordType,
    of: &dyn Fn(DataType, DataType) -> Option<DataType>,
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
    if let Some(ty) = number_union(Digits::Likely, a, b) {
        // Values keep their scales.
        let exact = (as_numeric(a), as_numeric(b));
        return Some(match (exact, ty) {
            ((Some(a), Some(b)), T::Numeric(_)) if a.scale == b.scale => ty,
            (_, T::Numeric(_)) => T::NUMERIC,
            _ => ty,
        });
    }
    match (a, b) {
        (T::Char(n), T::Char(m)) => Some(T::Char(n.max(m))),
        // The first of types that become each other.
        (T::Char(_), T::Varchar(_) | T::Text) => Some(T::Char(0)),
        (T::Varchar(_), T::Varchar(_)) => Some(T::Varchar(None)),
        (T::Name, T::Char(_) | T::Varchar(_) | T::Text) | (T::Char(_) | T::Varchar(_), T::Name) => {
            Some(T::Name)
        }
        (a, b) if a.is_text() && b.is_text() => Some(T::Text),
        (T::Array(x), T::Array(y)) => pair_type(x.data_type(), y.data_type()).and_then(T::array_of),
        (T::Record(x), T::Record(y)) => record_type(x, y, &pair_type),
        _ if can_cast(b, a, Context::Implicit) => Some(a),
        _ if can_cast(a, b, Context::Implicit) => Some(b),
        _ => None,
    }
}

/// As [`common_type`] of values that are summed: numbers of several scales become scaled integers
/// of the largest, because a sum shows it. None when they are no exact numbers of 38 digits.
pub(super) fn summed_type(digits: Digits, candidates: &[Candidate]) -> Option<DataType> {
    let mut known = candidates.iter().filter(|c| c.ty != DataType::Unknown);
    let mut ty = as_numeric(known.next()?.ty)?;
    for candidate in known {
        match digits.both(ty, as_numeric(candidate.ty)?) {
            DataType::Numeric(both) => ty = both,
            _ => return None,
        }
    }
    Some(DataType::Numeric(ty)).filter(|_| candidates.iter().any(|c| c.ty.is_numeric()))
}

/// The type that a type name denotes, among those that every database has.
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
        Ast::Time(precision, Zone::WithTimeZone | Zone::Tz) => {
            DataType::Packed(PackedType::TimeTz(precision.map(second_digits)))
        }
        Ast::TsVector => DataType::Packed(PackedType::TsVector),
        Ast::TsQuery => DataType::Packed(PackedType::TsQuery),
        Ast::Bit(length) => DataType::Packed(PackedType::Bit(Some(bits(length.or(Some(1)), at)?))),
        Ast::BitVarying(None) | Ast::VarBit(None) => DataType::Packed(PackedType::VarBit(None)),
        Ast::BitVarying(length) | Ast::VarBit(length) => {
            DataType::Packed(PackedType::VarBit(Some(bits(*length, at)?)))
        }
        Ast::Timestamp(precision, Zone::None | Zone::WithoutTimeZone) => {
            DataType::Timestamp(precision.map(second_digits))
        }
        Ast::Timestamp(precision, Zone::WithTimeZone | Zone::Tz) => {
            DataType::TimestampTz(precision.map(second_digits))
        }
        Ast::Interval { fields, precision } => {
            let fields = fields.as_ref().map(interval_fields);
            DataType::Interval(interval_form(fields, precision.map(second_digits)))
        }
        Ast::Uuid => DataType::Uuid,
        Ast::JSON => DataType::Json,
        Ast::JSONB => DataType::Jsonb,
        Ast::Custom(name, modifiers) => return custom_type(name, modifiers, at),
        Ast::Array(element) => return array_type(element, at),
        other => match wider_type(&other.to_string(), at)? {
            Some(ty) => ty,
            None => return unsupported(format!("type {}", other.to_string().to_lowercase()), at),
        },
    })
}

/// The type that holds all values of one that DuckDB has and PostgreSQL does not: unsigned integers
/// and those of 8 and 128 bits, and other names of types.
fn wider_type(name: &str, at: Place) -> Result<Option<DataType>> {
    let integer = |digits| numeric_type(&ast::ExactNumberInfo::PrecisionAndScale(digits, 0), at);
    Ok(Some(match name.to_ascii_lowercase().as_str() {
        "tinyint" | "int1" | "utinyint" => DataType::SmallInt,
        "usmallint" => DataType::Integer,
        "uinteger" => DataType::BigInt,
        "ubigint" => integer(20)?,
        "hugeint" | "int128" => integer(38)?,
        "blob" | "binary" | "varbinary" => DataType::Bytea,
        "datetime" => DataType::TIMESTAMP,
        "string" => DataType::Text,
        _ => return Ok(None),
    }))
}

/// The type of elements of the array type written over `element`: an array has as many dimensions
/// as its value, so that `T[][]` is `T[]`.
pub(super) fn innermost(mut element: &ast::DataType) -> &ast::DataType {
    use ast::ArrayElemTypeDef as E;
    while let ast::DataType::Array(E::SquareBracket(inner, _) | E::Qualified(inner, _)) = element {
        element = inner;
    }
    element
}

/// `T[]`, `T[][]` and `T ARRAY`, with or without sizes, which say nothing.
fn array_type(element: &ast::ArrayElemTypeDef, at: Place) -> Result<DataType> {
    use ast::ArrayElemTypeDef as E;
    match element {
        E::SquareBracket(element, _) | E::Qualified(element, _) => {
            match DataType::array_of(data_type(innermost(element), at)?) {
                Some(array) => Ok(array),
                None => unsupported("an array of such elements", at),
            }
        }
        E::None | E::AngleBracket(_) | E::Parenthesis(_) => {
            super::fail(SqlState::SYNTAX_ERROR, "an array type is written as type[]", at)
        }
    }
}

/// The array type that `_int4` and its kin name, and what PostgreSQL's catalog has.
pub(super) fn array_name(name: &str) -> Option<DataType> {
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
        "numeric" => DataType::NUMERIC,
        "text" => DataType::Text,
        "name" => DataType::Name,
        "char" => DataType::InternalChar,
        "aclitem" => DataType::AclItem,
        "refcursor" => DataType::RefCursor,
        "xid" => DataType::Xid,
        "tid" => DataType::Tid,
        "varchar" => DataType::Varchar(None),
        "bpchar" => DataType::Char(0),
        "date" => DataType::Date,
        "time" => DataType::TIME,
        "timestamp" => DataType::TIMESTAMP,
        "timestamptz" => DataType::TIMESTAMPTZ,
        "interval" => DataType::INTERVAL,
        "uuid" => DataType::Uuid,
        "json" => DataType::Json,
        "jsonb" => DataType::Jsonb,
        "jsonpath" => DataType::JsonPath,
        name => match PackedType::called(name) {
            Some(ty) => DataType::Packed(ty),
            None => DataType::Reg(RegKind::from_name(name)?),
        },
    })
}

fn custom_type(name: &ast::ObjectName, modifiers: &[String], at: Place) -> Result<DataType> {
    let at = at.or_else(|| name::object_at(name));
    let parts = name::object_parts(name)?;
    if let [.., schema, _] = parts.as_slice()
        && schema != "pg_catalog"
    {
        return Err(undefined_type(&parts, at));
    }
    let length = || -> Result<Option<u32>> {
        match modifiers.first().map(|text| text.parse::<u32>()) {
            None => Ok(None),
            Some(Ok(n)) if n >= 1 => Ok(Some(n)),
            Some(_) => super::fail(SqlState::INVALID_PARAMETER, "length must be at least 1", at),
        }
    };
    Ok(match parts.last().map(String::as_str).unwrap_or_default() {
        "timestamptz" => DataType::TIMESTAMPTZ,
        // Without a length nothing is padded, and blanks at the end do not count.
        "bpchar" => DataType::Char(length()?.unwrap_or(0)),
        "double" => DataType::Double,
        "varchar" => DataType::Varchar(length()?),
        "nchar" => DataType::Char(length()?.unwrap_or(1)),
        name => {
            if let Some(ty) = type_called(name) {
                return Ok(ty);
            }
            if let Some(ty) = wider_type(name, at)? {
                return Ok(ty);
            }
            return array_name(name).ok_or_else(|| undefined_type(&parts, at));
        }
    })
}

/// 42704.
pub(super) fn undefined_type(parts: &[String], at: Place) -> Error {
    let message = format!("type \"{}\" does not exist", parts.join("."));
    super::place(Error::new(SqlState::UNDEFINED_OBJECT, message), at)
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

/// How many bits a type of bits has.
fn bits(length: Option<u64>, at: Place) -> Result<u32> {
    match length.and_then(|length| u32::try_from(length).ok()) {
        Some(length @ 1..=83_886_080) => Ok(length),
        Some(0) => {
            super::fail(SqlState::INVALID_PARAMETER, "length for type bit must be at least 1", at)
        }
        _ => super::fail(
            SqlState::INVALID_PARAMETER,
            "length for type bit cannot exceed 83886080",
            at,
        ),
    }
}

fn numeric_type(info: &ast::ExactNumberInfo, at: Place) -> Result<DataType> {
    let (precision, scale) = match info {
        ast::ExactNumberInfo::None => return Ok(DataType::NUMERIC),
        ast::ExactNumberInfo::Precision(precision) => (*precision, 0),
        ast::ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    let (Ok(precision @ 1..=1000), Ok(scale @ -1000..=1000)) =
        (u16::try_from(precision), i16::try_from(scale))
    else {
        let message = if (1..=1000).contains(&precision) {
            format!("NUMERIC scale {scale} must be between -1000 and 1000")
        } else {
            format!("NUMERIC precision {precision} must be between 1 and 1000")
        };
        return super::fail(SqlState::INVALID_PARAMETER, message, at);
    };
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(p), Ok(s)) if p <= NumericType::PRECISION_MAX && s <= p => Ok(DataType::numeric(p, s)),
        _ => Ok(DataType::WideNumeric(Some(WideDigits { precision, scale }))),
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
pub(super) fn second_digits(precision: u64) -> u8 {
    u8::try_from(precision.min(6)).unwrap_or(6)
}

/// Fields and digits that an INTERVAL type is declared with; None for all of them.
pub(super) fn interval_form(
    fields: Option<IntervalFields>,
    digits: Option<u8>,
) -> Option<IntervalForm> {
    (fields.is_some() || digits.is_some()).then_some(IntervalForm { fields, digits })
}

/// The fields of an INTERVAL type.
fn interval_fields(fields: &ast::IntervalFields) -> IntervalFields {
    use IntervalFields as F;
    use ast::IntervalFields as A;
    match fields {
        A::Year => F::Year,
        A::Month => F::Month,
        A::Day => F::Day,
        A::Hour => F::Hour,
        A::Minute => F::Minute,
        A::Second => F::Second,
        A::YearToMonth => F::YearToMonth,
        A::DayToHour => F::DayToHour,
        A::DayToMinute => F::DayToMinute,
        A::DayToSecond => F::DayToSecond,
        A::HourToMinute => F::HourToMinute,
        A::HourToSecond => F::HourToSecond,
        A::MinuteToSecond => F::MinuteToSecond,
    }
}

/// The type that SQL text names; None when there is none.
pub fn type_named(text: &str) -> Option<DataType> {
    match crate::parse::parse_expr(&format!("NULL::{text}")).ok()? {
        ast::Expr::Cast { data_type: ty, .. } => data_type(&ty, None).ok(),
        _ => None,
    }
}

/// The type of the system that a definition names.
pub(crate) fn written_type(ty: &ast::DataType) -> Option<DataType> {
    data_type(ty, None).ok()
}
