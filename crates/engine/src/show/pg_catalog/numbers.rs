//! Numbers of objects: from their names, so that they stay from statement to statement.

use std::collections::HashMap;
use std::sync::OnceLock;

use catalog::numbers::{FIRST, hash};
use catalog::predefined;
use sql::catalog::{ColumnDef, IndexMeta, Language};
use sql::statement::ALWAYS_THERE;
use types::{DataType, ElementType, NumericDisplay, NumericType, PackedType, WideDigits};

use super::builtin::{self, TypeEntry};

pub(super) const PG_CATALOG: i64 = 11;
pub(super) const PUBLIC: i64 = 2200;
pub(super) const INFORMATION_SCHEMA: i64 = 13000;

pub(super) const DATABASE: i64 = 5;

/// The number of a role.
pub(super) fn role(name: &str) -> i64 {
    match predefined::named(name) {
        Some(known) => known.number,
        None => (FIRST + hash("role", name)) as i64,
    }
}

/// The number of the relation that stands for a composite type.
pub(super) fn composite(key: &str) -> i64 {
    (FIRST + hash("composite", key)) as i64
}

/// The number of a schema.
pub(super) fn schema(name: &str) -> i64 {
    match name {
        "public" => PUBLIC,
        name => (FIRST + hash("schema", name)) as i64,
    }
}

/// The number of a language of functions.
pub(super) fn language(language: Language) -> i64 {
    match language {
        Language::Internal => 12,
        Language::Sql => 14,
        Language::PlPgSql => 13_560,
    }
}

/// The number of an extension.
pub(super) fn extension(name: &str) -> i64 {
    match name {
        ALWAYS_THERE => 13_559,
        name => (FIRST + hash("extension", name)) as i64,
    }
}

/// The number of a constraint of a table.
pub(super) fn constraint(table: &str, name: &str) -> i64 {
    (FIRST + hash(table, name)) as i64
}

/// The number of a trigger of a table or view.
pub(super) fn trigger(table: &str, name: &str) -> i64 {
    constraint(table, &format!("trigger {name}"))
}

/// The number of a constraint of a domain.
pub(super) fn domain_constraint(domain: &str, name: &str) -> i64 {
    constraint(&format!("domain {domain}"), name)
}

/// The number and modifier of a column's type.
pub(super) fn of_column(column: &ColumnDef) -> (i64, i64) {
    match column.domain {
        Some(used) => (i64::from(used.number()), -1),
        None => of_type(column.ty),
    }
}

/// The number of a view of the system, by its place among them: below those of users' objects. 0
/// when there is none of that name.
pub(super) fn system_view(schema: &str, name: &str) -> i64 {
    static NUMBERS: OnceLock<HashMap<(&str, &str), i64>> = OnceLock::new();
    let numbers = NUMBERS.get_or_init(|| {
        let mut names: Vec<_> = super::schema::names().collect();
        names.sort_unstable();
        names.into_iter().enumerate().map(|(at, name)| (name, 14_000 + at as i64)).collect()
    });
    numbers.get(&(schema, name)).copied().unwrap_or(0)
}

/// The number of a label of an enumerated type.
pub(super) fn label(ty: &str, position: i32) -> i64 {
    (FIRST + hash(ty, &format!("label {position}"))) as i64
}

/// The number of the default of a column.
pub(super) fn default(table: &str, ordinal: usize) -> i64 {
    constraint(table, &format!("default {ordinal}"))
}

/// The number of the rule that makes a view of a relation.
pub(super) fn rule(view: &str) -> i64 {
    (FIRST + hash("rule", view)) as i64
}

/// The number of default privileges, by what they are about.
pub(super) fn default_privileges(role: &str, about: &str) -> i64 {
    (FIRST + hash("default privileges", &format!("{role} {about}"))) as i64
}

/// Access methods of indexes: those of PostgreSQL, and more behind its last one.
pub(super) const METHODS: [(i64, &str); 10] = [
    (403, "btree"),
    (405, "hash"),
    (783, "gist"),
    (2742, "gin"),
    (3580, "brin"),
    (4000, "spgist"),
    (9_001, "csb"),
    (9_002, "bitweaving"),
    (9_003, "bloom"),
    (NEAR_METHOD, "hnsw"),
];

/// The number of an operator class of an extension.
pub(super) fn operator_class(method: i64, name: &str) -> i64 {
    (FIRST + hash("operator class", &format!("{method} {name}"))) as i64
}

/// The one of the extension `vector`.
pub(super) const NEAR_METHOD: i64 = 9_004;

/// The number of an index' access method.
pub(super) fn access_method(index: &IndexMeta) -> i64 {
    METHODS.iter().find(|(_, name)| *name == index.method()).map_or(0, |(number, _)| *number)
}

/// The number and modifier of a type.
pub(super) fn of_type(ty: DataType) -> (i64, i64) {
    match ty {
        DataType::Boolean => (16, -1),
        DataType::Bytea => (17, -1),
        DataType::BigInt => (20, -1),
        DataType::Oid => (26, -1),
        DataType::SmallInt => (21, -1),
        DataType::Integer => (23, -1),
        DataType::Reg(kind) => (i64::from(kind.numbers().0), -1),
        DataType::Xid => (28, -1),
        DataType::Tid => (27, -1),
        DataType::Name => (19, -1),
        DataType::InternalChar => (18, -1),
        DataType::AclItem => (1033, -1),
        DataType::RefCursor => (1790, -1),
        DataType::Unknown | DataType::Text => (25, -1),
        DataType::Real => (700, -1),
        DataType::Double => (701, -1),
        DataType::Char(0) => (1042, -1),
        DataType::Char(n) => (1042, i64::from(n) + 4),
        DataType::Varchar(n) => (1043, n.map_or(-1, |n| i64::from(n) + 4)),
        DataType::Date => (1082, -1),
        DataType::Time(digits) => (1083, digits.map_or(-1, i64::from)),
        DataType::Timestamp(digits) => (1114, digits.map_or(-1, i64::from)),
        DataType::TimestampTz(digits) => (1184, digits.map_or(-1, i64::from)),
        DataType::Interval(form) => (1186, form.map_or(-1, |form| i64::from(form.modifier()))),
        DataType::Numeric(NumericType { precision, scale, display: NumericDisplay::Fixed }) => {
            (1700, ((i64::from(precision) << 16) | i64::from(scale)) + 4)
        }
        DataType::WideNumeric(Some(WideDigits { precision, scale })) => {
            // Eleven bits of the scale, whose sign is the highest.
            let scale = i64::from(scale) & 0x7ff;
            (1700, ((i64::from(precision) << 16) | scale) + 4)
        }
        DataType::Numeric(_) | DataType::WideNumeric(None) => (1700, -1),
        DataType::Uuid => (2950, -1),
        DataType::Enum(ty) => (i64::from(ty.number()), -1),
        DataType::Json => (114, -1),
        DataType::Jsonb => (3802, -1),
        DataType::JsonPath => (4072, -1),
        DataType::Record(record) => (record.number().map_or(2249, i64::from), -1),
        DataType::Array(ElementType::VectorSmallInt) => (22, -1),
        DataType::Array(ElementType::VectorOid) => (30, -1),
        DataType::Array(ElementType::Enum(ty)) => (i64::from(ty.array_number()), -1),
        DataType::Array(ElementType::Record(ty)) => (ty.array_number().map_or(2287, i64::from), -1),
        DataType::Packed(ty) => (i64::from(ty.number()), i64::from(ty.modifier())),
        DataType::Array(ElementType::Packed(ty)) => {
            (i64::from(ty.array_number()), i64::from(ty.modifier()))
        }
        DataType::Array(element) => {
            let (number, modifier) = of_type(element.data_type());
            (array_of(number), modifier)
        }
    }
}

/// The number of the type of arrays of the type `number`.
fn array_of(number: i64) -> i64 {
    let is_array = |ty: &&TypeEntry| {
        i64::from(ty.element) == number && ty.name.starts_with('_') && ty.bytes == -1
    };
    builtin::types().iter().find(is_array).map_or(1009, |ty| i64::from(ty.number))
}

/// The entry of a type; of an array that of its elements, of what there is none TEXT.
pub(super) fn entry(ty: DataType) -> &'static TypeEntry {
    let (number, _) = of_type(ty.element().unwrap_or(ty));
    let known = u32::try_from(number).ok().and_then(builtin::type_numbered);
    known.unwrap_or_else(|| builtin::type_numbered(25).expect("there is TEXT"))
}

/// The entry of a type, of arrays their own.
pub(super) fn own_entry(ty: DataType) -> &'static TypeEntry {
    const ENUM: TypeEntry = TypeEntry {
        number: 0,
        name: "enum",
        formatted: "USER-DEFINED",
        bytes: 4,
        align: "i",
        storage: "p",
        is_by_value: true,
        collation: 0,
        element: 0,
    };
    const ENUMS: TypeEntry = TypeEntry { bytes: -1, storage: "x", is_by_value: false, ..ENUM };
    const CITEXT: TypeEntry = TypeEntry { name: "citext", collation: 100, ..ENUMS };
    match ty {
        DataType::Enum(_) => return &ENUM,
        DataType::Array(ElementType::Enum(_)) => return &ENUMS,
        DataType::Packed(PackedType::HStore | PackedType::Vector(_)) => return &ENUMS,
        DataType::Record(ty) | DataType::Array(ElementType::Record(ty)) if ty.key().is_some() => {
            return &ENUMS;
        }
        DataType::Packed(PackedType::CiText) => return &CITEXT,
        DataType::Packed(ty) | DataType::Array(ElementType::Packed(ty))
            if ty.user_range().is_some() =>
        {
            return &ENUMS;
        }
        _ => {}
    }
    let (number, _) = of_type(ty);
    u32::try_from(number).ok().and_then(builtin::type_numbered).unwrap_or_else(|| entry(ty))
}
