//! Numbers of objects: from their names, so that they stay from statement to statement.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use sql::catalog::IndexKind;
use sql::statement::RelationName;
use types::{DataType, ElementType, NumericDisplay, NumericType};

use crate::catalog::State;

pub(super) const PG_CATALOG: i64 = 11;
pub(super) const PUBLIC: i64 = 2200;
pub(super) const INFORMATION_SCHEMA: i64 = 13000;

/// The role that stands for the owner of the database, and owns the schema `public` at first.
pub(super) const DATABASE_OWNER: (i64, &str) = (6171, "pg_database_owner");
pub(super) const DATABASE: i64 = 5;

/// The first number of what users make, as in PostgreSQL.
const FIRST: u64 = 16_384;

/// Numbers are below this, so that they fit where a client has 31 bits.
const SPAN: u64 = 1 << 30;

fn hash(kind: &str, name: &str) -> u64 {
    let bytes = kind.bytes().chain([0]).chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) % SPAN
}

/// The number of a role.
pub(super) fn role(name: &str) -> i64 {
    match DATABASE_OWNER {
        (number, known) if known == name => number,
        _ => (FIRST + hash("role", name)) as i64,
    }
}

/// The number of a schema.
pub(super) fn schema(name: &str) -> i64 {
    match name {
        "public" => PUBLIC,
        name => (FIRST + hash("schema", name)) as i64,
    }
}

/// The number of a constraint of a table.
pub(super) fn constraint(table: &str, name: &str) -> i64 {
    (FIRST + hash(table, name)) as i64
}

/// The number of the type of a relation's rows.
pub(crate) fn row_type(relation: &str) -> u32 {
    // Below 2^30 and some.
    (FIRST + hash("row type", relation)) as u32
}

/// The number of a view of the system: below those of users' objects.
pub(super) fn system_view(name: &str) -> i64 {
    (14_000 + hash("system", name) % 2_000) as i64
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
pub(super) const METHODS: [(i64, &str); 5] =
    [(403, "btree"), (405, "hash"), (9_001, "csb"), (9_002, "bitweaving"), (9_003, "bloom")];

/// The number of an index' access method.
pub(super) fn access_method(kind: IndexKind) -> i64 {
    METHODS.iter().find(|(_, name)| *name == kind.method()).map_or(0, |(number, _)| *number)
}

/// Numbers of relations by what the catalog calls them; no two have the same.
pub(super) fn relations(state: &State) -> BTreeMap<String, i64> {
    let tables = state.tables.keys();
    let mut names: Vec<Cow<'_, str>> = tables.map(|name| name.as_str().into()).collect();
    names.extend(state.views.keys().chain(state.sequences.keys()).map(|name| name.as_str().into()));
    for table in state.tables.values() {
        let indexes = table.def.all_indexes();
        let key = |name: &str| RelationName::key_beside(&table.def.name, name);
        names.extend(indexes.map(|index| Cow::Owned(key(&index.name))));
    }
    names.sort_unstable();
    let mut taken = HashMap::new();
    let mut numbers = BTreeMap::new();
    for name in names {
        let mut number = FIRST + hash("relation", &name);
        while taken.get(&number).is_some_and(|other| *other != name) {
            number += 1;
        }
        numbers.insert(name.clone().into_owned(), number as i64);
        taken.insert(number, name);
    }
    numbers
}

/// The numbers of a state's relations, once somebody asked. A copy of the state, which may be
/// changed, has its own.
#[derive(Default)]
pub(crate) struct KnownNumbers {
    by_name: OnceLock<BTreeMap<String, i64>>,
    names: OnceLock<HashMap<i64, String>>,
}

impl Clone for KnownNumbers {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl State {
    /// The number of the relation called `name` in a state that is not changed any more.
    pub(crate) fn relation_number(&self, name: &str) -> Option<i64> {
        self.known_numbers().get(name).copied()
    }

    fn known_numbers(&self) -> &BTreeMap<String, i64> {
        self.numbers.by_name.get_or_init(|| relations(self))
    }

    /// The relation with this number.
    pub(crate) fn relation_numbered(&self, number: i64) -> Option<&str> {
        let swapped = |(name, number): (&String, &i64)| (*number, name.clone());
        let names = || self.known_numbers().iter().map(swapped).collect();
        self.numbers.names.get_or_init(names).get(&number).map(String::as_str)
    }
}

/// A type in PostgreSQL's catalog.
pub(super) struct PgType {
    pub(super) number: i64,
    pub(super) name: &'static str,
    pub(super) formatted: &'static str,
    pub(super) bytes: i64,
    pub(super) category: &'static str,
    pub(super) array: i64,
}

impl PgType {
    /// Its alignment as the catalog has it.
    pub(super) fn align(&self) -> &'static str {
        match (self.bytes, self.name) {
            (1 | 64 | -2, _) | (_, "uuid") => "c",
            (2, _) => "s",
            (8 | 16, _) => "d",
            _ => "i",
        }
    }

    /// That of arrays of it.
    pub(super) fn array_align(&self) -> &'static str {
        if self.align() == "d" { "d" } else { "i" }
    }

    /// How values that are large would be kept.
    pub(super) fn storage(&self) -> &'static str {
        match (self.bytes, self.name) {
            (_, "numeric") => "m",
            (-1, _) => "x",
            _ => "p",
        }
    }
}

const fn known(
    (number, array): (i64, i64),
    name: &'static str,
    formatted: &'static str,
    bytes: i64,
    category: &'static str,
) -> PgType {
    PgType { number, name, formatted, bytes, category, array }
}

/// The place of `text` among [`TYPES`].
const TEXT: usize = 9;

/// The types there are, and those that drivers ask for by number.
pub(super) const TYPES: &[PgType] = &[
    known((16, 1000), "bool", "boolean", 1, "B"),
    known((17, 1001), "bytea", "bytea", -1, "U"),
    known((18, 1002), "char", "\"char\"", 1, "Z"),
    known((19, 1003), "name", "name", 64, "S"),
    known((20, 1016), "int8", "bigint", 8, "N"),
    known((21, 1005), "int2", "smallint", 2, "N"),
    known((22, 1006), "int2vector", "int2vector", -1, "A"),
    known((23, 1007), "int4", "integer", 4, "N"),
    known((24, 1008), "regproc", "regproc", 4, "N"),
    known((25, 1009), "text", "text", -1, "S"),
    known((26, 1028), "oid", "oid", 4, "N"),
    known((27, 1010), "tid", "tid", 6, "U"),
    known((28, 1011), "xid", "xid", 4, "U"),
    known((30, 1013), "oidvector", "oidvector", -1, "A"),
    known((114, 199), "json", "json", -1, "U"),
    known((700, 1021), "float4", "real", 4, "N"),
    known((701, 1022), "float8", "double precision", 8, "N"),
    known((705, 0), "unknown", "unknown", -2, "X"),
    known((1033, 1034), "aclitem", "aclitem", 12, "U"),
    known((1042, 1014), "bpchar", "character", -1, "S"),
    known((1043, 1015), "varchar", "character varying", -1, "S"),
    known((1082, 1182), "date", "date", 4, "D"),
    known((1083, 1183), "time", "time without time zone", 8, "D"),
    known((1114, 1115), "timestamp", "timestamp without time zone", 8, "D"),
    known((1184, 1185), "timestamptz", "timestamp with time zone", 8, "D"),
    known((1186, 1187), "interval", "interval", 16, "T"),
    known((1700, 1231), "numeric", "numeric", -1, "N"),
    known((2202, 2207), "regprocedure", "regprocedure", 4, "N"),
    known((2203, 2208), "regoper", "regoper", 4, "N"),
    known((2204, 2209), "regoperator", "regoperator", 4, "N"),
    known((2205, 2210), "regclass", "regclass", 4, "N"),
    known((2206, 2211), "regtype", "regtype", 4, "N"),
    known((2249, 2287), "record", "record", -1, "P"),
    known((2950, 2951), "uuid", "uuid", 16, "U"),
    known((3734, 3735), "regconfig", "regconfig", 4, "N"),
    known((3769, 3770), "regdictionary", "regdictionary", 4, "N"),
    known((3802, 3807), "jsonb", "jsonb", -1, "U"),
    known((4089, 4090), "regnamespace", "regnamespace", 4, "N"),
    known((4096, 4097), "regrole", "regrole", 4, "N"),
    known((4191, 4192), "regcollation", "regcollation", 4, "N"),
];

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
        DataType::Unknown | DataType::Text => (25, -1),
        DataType::Real => (700, -1),
        DataType::Double => (701, -1),
        DataType::Char(n) => (1042, i64::from(n) + 4),
        DataType::Varchar(n) => (1043, n.map_or(-1, |n| i64::from(n) + 4)),
        DataType::Date => (1082, -1),
        DataType::Time(digits) => (1083, digits.map_or(-1, i64::from)),
        DataType::Timestamp(digits) => (1114, digits.map_or(-1, i64::from)),
        DataType::TimestampTz(digits) => (1184, digits.map_or(-1, i64::from)),
        DataType::Interval => (1186, -1),
        DataType::Numeric(NumericType { precision, scale, display: NumericDisplay::Fixed }) => {
            (1700, ((i64::from(precision) << 16) | i64::from(scale)) + 4)
        }
        DataType::Numeric(_) => (1700, -1),
        DataType::Uuid => (2950, -1),
        DataType::Json => (114, -1),
        DataType::Jsonb => (3802, -1),
        DataType::Record(record) => (record.number().map_or(2249, i64::from), -1),
        DataType::Array(ElementType::VectorSmallInt) => (22, -1),
        DataType::Array(ElementType::VectorOid) => (30, -1),
        DataType::Array(element) => {
            let (number, modifier) = of_type(element.data_type());
            let known = TYPES.iter().find(|known| known.number == number);
            (known.map_or(1009, |known| known.array), modifier)
        }
    }
}

/// The entry of a type; of an array that of its elements.
pub(super) fn entry(ty: DataType) -> &'static PgType {
    let (number, _) = of_type(ty.element().unwrap_or(ty));
    TYPES.iter().find(|known| known.number == number).unwrap_or(&TYPES[TEXT])
}
