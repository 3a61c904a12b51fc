//! SQL types under PostgreSQL's numbers.

use types::{DataType, ElementType, Error, IntervalForm, PackedType, RegKind, Result, SqlState};

/// Its number, bytes (negative when they vary) and modifier (-1 without one).
pub(crate) fn of(ty: DataType) -> (u32, i16, i32) {
    let with_length = |n: u32| i32::try_from(n).map_or(-1, |n| n.saturating_add(4));
    match ty {
        DataType::Boolean => (16, 1, -1),
        DataType::Bytea => (17, -1, -1),
        DataType::BigInt => (20, 8, -1),
        DataType::Oid => (26, 4, -1),
        DataType::SmallInt => (21, 2, -1),
        DataType::Integer => (23, 4, -1),
        DataType::Reg(kind) => (kind.numbers().0, 4, -1),
        DataType::Xid => (28, 4, -1),
        DataType::Tid => (27, 6, -1),
        DataType::Name => (19, 64, -1),
        DataType::InternalChar => (18, 1, -1),
        DataType::AclItem => (1033, 12, -1),
        DataType::RefCursor => (1790, -1, -1),
        DataType::Unknown | DataType::Text => (25, -1, -1),
        DataType::Real => (700, 4, -1),
        DataType::Double => (701, 8, -1),
        DataType::Char(0) => (1042, -1, -1),
        DataType::Char(n) => (1042, -1, with_length(n)),
        DataType::Varchar(n) => (1043, -1, n.map_or(-1, with_length)),
        DataType::Date => (1082, 4, -1),
        DataType::Time(digits) => (1083, 8, digits.map_or(-1, i32::from)),
        DataType::Timestamp(digits) => (1114, 8, digits.map_or(-1, i32::from)),
        DataType::TimestampTz(digits) => (1184, 8, digits.map_or(-1, i32::from)),
        DataType::Interval(form) => (1186, 16, form.map_or(-1, IntervalForm::modifier)),
        DataType::WideNumeric(Some(digits)) => {
            // Eleven bits of the scale, whose sign is the highest.
            let scale = i32::from(digits.scale) & 0x7ff;
            (1700, -1, ((i32::from(digits.precision) << 16) | scale) + 4)
        }
        DataType::WideNumeric(None) => (1700, -1, -1),
        DataType::Numeric(n) => match n.display {
            types::NumericDisplay::Fixed => {
                (1700, -1, ((i32::from(n.precision) << 16) | i32::from(n.scale)) + 4)
            }
            _ => (1700, -1, -1),
        },
        DataType::Uuid => (2950, 16, -1),
        DataType::Enum(ty) => (ty.number(), 4, -1),
        DataType::Json => (114, -1, -1),
        DataType::Jsonb => (3802, -1, -1),
        DataType::JsonPath => (4072, -1, -1),
        DataType::Record(record) => (record.number().unwrap_or(2249), -1, -1),
        // Arrays of rows of relations are arrays of records.
        DataType::Array(ElementType::Record(record)) => {
            (record.array_number().unwrap_or(2287), -1, -1)
        }
        DataType::Array(ElementType::VectorSmallInt) => (22, -1, -1),
        DataType::Array(ElementType::VectorOid) => (30, -1, -1),
        DataType::Array(ElementType::Enum(ty)) => (ty.array_number(), -1, -1),
        DataType::Array(ElementType::Reg(kind)) => (kind.numbers().1, -1, -1),
        DataType::Packed(ty) => (ty.number(), ty.postgres_bytes(), ty.modifier()),
        DataType::Array(ElementType::Packed(ty)) => (ty.array_number(), -1, ty.modifier()),
        DataType::Array(element) => {
            let (number, _, modifier) = of(element.data_type());
            let array = ARRAYS.iter().find(|(scalar, _)| *scalar == number);
            (array.map_or(1009, |(_, array)| *array), -1, modifier)
        }
    }
}

/// Numbers of types and of their arrays.
const ARRAYS: &[(u32, u32)] = &[
    (16, 1000),
    (17, 1001),
    (20, 1016),
    (21, 1005),
    (23, 1007),
    (25, 1009),
    (26, 1028),
    (18, 1002),
    (19, 1003),
    (27, 1010),
    (28, 1011),
    (1033, 1034),
    (700, 1021),
    (701, 1022),
    (1042, 1014),
    (1043, 1015),
    (1082, 1182),
    (1083, 1183),
    (1114, 1115),
    (1184, 1185),
    (1186, 1187),
    (1700, 1231),
    (2950, 2951),
    (114, 199),
    (3802, 3807),
    (4072, 4073),
];

fn oid_of_array(element: ElementType) -> u32 {
    of(DataType::Array(element)).0
}

/// The type of a parameter that the client declares by number; 0 leaves it to the statement.
///
/// # Errors
/// 0A000 for a type that does not exist here.
pub(crate) fn parameter(oid: u32) -> Result<DataType> {
    Ok(match oid {
        0 | 705 => DataType::Unknown,
        16 => DataType::Boolean,
        17 => DataType::Bytea,
        20 => DataType::BigInt,
        26 => DataType::Oid,
        21 => DataType::SmallInt,
        23 => DataType::Integer,
        18 => DataType::InternalChar,
        19 => DataType::Name,
        22 => DataType::Array(ElementType::VectorSmallInt),
        30 => DataType::Array(ElementType::VectorOid),
        27 => DataType::Tid,
        28 => DataType::Xid,
        25 | 1043 => DataType::Text,
        // Of any length: CHAR(n) without n.
        1042 => DataType::Text,
        700 => DataType::Real,
        701 => DataType::Double,
        1082 => DataType::Date,
        1083 => DataType::TIME,
        1114 => DataType::TIMESTAMP,
        1184 => DataType::TIMESTAMPTZ,
        1186 => DataType::INTERVAL,
        1700 => DataType::NUMERIC,
        2950 => DataType::Uuid,
        114 => DataType::Json,
        3802 => DataType::Jsonb,
        4072 => DataType::JsonPath,
        1790 => DataType::RefCursor,
        other => {
            // Clients write names of objects.
            let is_object = |kind: RegKind| kind.numbers().0 == other;
            if RegKind::ALL.into_iter().any(is_object) {
                return Ok(DataType::Text);
            }
            let packed = PackedType::ALL.into_iter();
            let mut packed = packed.filter(|ty| [ty.number(), ty.array_number()].contains(&other));
            if let Some(ty) = packed.next() {
                let ty = ElementType::Packed(ty);
                let is_array = oid_of_array(ty) == other;
                return Ok(if is_array { DataType::Array(ty) } else { ty.data_type() });
            }
            let scalar = ARRAYS.iter().find(|(_, array)| *array == other);
            if let Some((scalar, _)) = scalar
                && let Some(array) = DataType::array_of(parameter(*scalar)?)
            {
                return Ok(array);
            }
            let message = format!("parameters of type {other} are not supported");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
    })
}
