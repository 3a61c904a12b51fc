//! Rows of PostgreSQL's own catalog about types, functions, operators and casts that are here.
//!
//! ```text
//! data/pg_proc.tsv  names of columns, then a line for each row, between tabs: as psql prints
//!                   values, empty for zero, false or NULL, \N for NULL, numbers for regproc
//! ```
//! Numbers are PostgreSQL's, so that clients which know them find what they know.

use std::collections::HashMap;
use std::sync::OnceLock;

use types::{DataType, RegKind, Value, object_value};

use super::{schema, system};

/// Name and text of each table.
const FILES: [(&str, &str); 17] = [
    ("pg_type", include_str!("data/pg_type.tsv")),
    ("pg_proc", include_str!("data/pg_proc.tsv")),
    ("pg_operator", include_str!("data/pg_operator.tsv")),
    ("pg_cast", include_str!("data/pg_cast.tsv")),
    ("pg_aggregate", include_str!("data/pg_aggregate.tsv")),
    ("pg_opclass", include_str!("data/pg_opclass.tsv")),
    ("pg_opfamily", include_str!("data/pg_opfamily.tsv")),
    ("pg_amop", include_str!("data/pg_amop.tsv")),
    ("pg_amproc", include_str!("data/pg_amproc.tsv")),
    ("pg_language", include_str!("data/pg_language.tsv")),
    ("pg_collation", types::COLLATION_ROWS),
    ("pg_range", include_str!("data/pg_range.tsv")),
    ("pg_ts_config", include_str!("data/pg_ts_config.tsv")),
    ("pg_ts_config_map", include_str!("data/pg_ts_config_map.tsv")),
    ("pg_ts_dict", include_str!("data/pg_ts_dict.tsv")),
    ("pg_ts_parser", include_str!("data/pg_ts_parser.tsv")),
    ("pg_ts_template", include_str!("data/pg_ts_template.tsv")),
];

/// The rows of the table `name`, each with the columns that the catalog gives it; none of others.
/// Columns that name an owner are 0.
pub(super) fn rows(name: &str) -> &'static [Vec<Value>] {
    static ROWS: [OnceLock<Vec<Vec<Value>>>; FILES.len()] =
        [const { OnceLock::new() }; FILES.len()];
    static OWN: [OnceLock<Vec<Vec<Value>>>; 2] = [const { OnceLock::new() }; 2];
    match name {
        "pg_class" => return OWN[0].get_or_init(system::classes),
        "pg_attribute" => return OWN[1].get_or_init(system::attributes),
        _ => {}
    }
    let Some(at) = FILES.iter().position(|(known, _)| *known == name) else { return &[] };
    ROWS[at].get_or_init(|| read(name, FILES[at].1))
}

fn text_of(name: &str) -> &'static str {
    FILES.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

/// The cells of each line of a file, and where its columns are.
fn lines(name: &str, columns: &[&str]) -> Vec<Vec<&'static str>> {
    let mut lines = text_of(name).lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let places: Vec<Option<usize>> =
        columns.iter().map(|column| header.iter().position(|known| known == column)).collect();
    let cells = |line: &'static str| {
        let cells: Vec<&'static str> = line.split('\t').collect();
        let cell = |place: &Option<usize>| place.and_then(|at| cells.get(at).copied());
        places.iter().map(|place| cell(place).unwrap_or_default()).collect()
    };
    lines.map(cells).collect()
}

fn read(name: &str, text: &'static str) -> Vec<Vec<Value>> {
    let columns = schema::find("pg_catalog", name).unwrap_or_default();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let places: Vec<Option<usize>> =
        columns.iter().map(|(column, _)| position(&header, column)).collect();
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let value = |(place, (_, ty)): (&Option<usize>, &(&str, DataType))| match place {
            Some(at) => value(cells.get(*at).copied().unwrap_or_default(), *ty),
            None => super::nothing(*ty),
        };
        places.iter().zip(&columns).map(value).collect()
    };
    lines.map(row).collect()
}

/// Where a column is in a file.
fn position(header: &[&str], column: &str) -> Option<usize> {
    header.iter().position(|known| *known == column.trim_start_matches('.'))
}

/// A cell as a value of its column.
fn value(cell: &str, ty: DataType) -> Value {
    match (cell, ty) {
        ("\\N", _) => Value::Null,
        ("", ty) if ty.is_text() => Value::text(""),
        ("", ty) => super::nothing(ty),
        (cell, DataType::Reg(RegKind::Proc)) => {
            let number = cell.parse().unwrap_or_default();
            object_value(number, &function_shown(number).unwrap_or_else(|| cell.to_owned()))
        }
        // The files are read whole by a test.
        (cell, ty) => types::text::parse(cell, ty).unwrap_or(Value::Null),
    }
}

/// A type.
#[derive(Debug)]
pub(super) struct TypeEntry {
    pub(super) number: u32,
    pub(super) name: &'static str,
    /// As format_type has it.
    pub(super) formatted: &'static str,
    pub(super) bytes: i64,
    pub(super) align: &'static str,
    pub(super) storage: &'static str,
    pub(super) is_by_value: bool,
    pub(super) collation: i64,
    /// The type of its elements, or 0.
    pub(super) element: u32,
}

fn number(cell: &str) -> i64 {
    cell.parse().unwrap_or(0)
}

/// All types, by number.
pub(super) fn types() -> &'static [TypeEntry] {
    static TYPES: OnceLock<Vec<TypeEntry>> = OnceLock::new();
    const COLUMNS: [&str; 9] = [
        "oid",
        "typname",
        "formatted",
        "typlen",
        "typalign",
        "typstorage",
        "typbyval",
        "typcollation",
        "typelem",
    ];
    let entry = |cells: Vec<&'static str>| TypeEntry {
        number: number(cells[0]) as u32,
        name: cells[1],
        formatted: cells[2],
        bytes: number(cells[3]),
        align: cells[4],
        storage: cells[5],
        is_by_value: matches!(cells[6], "t" | "true"),
        collation: number(cells[7]),
        element: number(cells[8]) as u32,
    };
    TYPES.get_or_init(|| lines("pg_type", &COLUMNS).into_iter().map(entry).collect())
}

/// The type with this number.
pub(super) fn type_numbered(number: u32) -> Option<&'static TypeEntry> {
    static PLACES: OnceLock<HashMap<u32, usize>> = OnceLock::new();
    let places = || types().iter().enumerate().map(|(at, ty)| (ty.number, at)).collect();
    PLACES.get_or_init(places).get(&number).and_then(|at| types().get(*at))
}

/// A function or an operator: its name and the types of its arguments, 0 for the operand that a
/// prefix operator lacks.
pub(super) struct Callable {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) arguments: Vec<u32>,
    /// True for a function that gives NULL when an argument is.
    pub(super) is_strict: bool,
}

/// Callables by name and by number.
pub(super) struct Callables {
    all: Vec<Callable>,
    by_name: HashMap<&'static str, Vec<usize>>,
    by_number: HashMap<u32, usize>,
}

impl Callables {
    fn new(all: Vec<Callable>) -> Self {
        let mut by_name: HashMap<_, Vec<usize>> = HashMap::new();
        let mut by_number = HashMap::new();
        for (at, callable) in all.iter().enumerate() {
            by_name.entry(callable.name).or_default().push(at);
            by_number.insert(callable.number, at);
        }
        Self { all, by_name, by_number }
    }

    /// Functions and operators called `name`.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Callable> {
        let places = self.by_name.get(name).into_iter().flatten();
        places.filter_map(|at| self.all.get(*at))
    }

    /// The one with this number.
    pub(super) fn numbered(&self, number: u32) -> Option<&Callable> {
        self.by_number.get(&number).and_then(|at| self.all.get(*at))
    }
}

/// All functions.
pub(super) fn functions() -> &'static Callables {
    static FUNCTIONS: OnceLock<Callables> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let callable = |cells: Vec<&'static str>| Callable {
            number: number(cells[0]) as u32,
            name: cells[1],
            arguments: cells[2].split(' ').filter_map(|cell| cell.parse().ok()).collect(),
            is_strict: matches!(cells[3], "t" | "true"),
        };
        let lines = lines("pg_proc", &["oid", "proname", "proargtypes", "proisstrict"]);
        Callables::new(lines.into_iter().map(callable).collect())
    })
}

/// All operators.
pub(super) fn operators() -> &'static Callables {
    static OPERATORS: OnceLock<Callables> = OnceLock::new();
    OPERATORS.get_or_init(|| {
        let callable = |cells: Vec<&'static str>| Callable {
            number: number(cells[0]) as u32,
            name: cells[1],
            arguments: cells[2..].iter().map(|cell| number(cell) as u32).collect(),
            is_strict: true,
        };
        let lines = lines("pg_operator", &["oid", "oprname", "oprleft", "oprright"]);
        Callables::new(lines.into_iter().map(callable).collect())
    })
}

/// A function as `regproc` shows it: with its schema where its name means several.
pub(super) fn function_shown(number: u32) -> Option<String> {
    let functions = functions();
    let found = functions.numbered(number)?;
    let is_only = functions.named(found.name).nth(1).is_none();
    let name = kernels::text_fn::quoted(found.name);
    Some(if is_only { name.into_owned() } else { format!("pg_catalog.{name}") })
}

/// The first function called `name` as a value of `regproc`.
pub(super) fn function_named(name: &str) -> Value {
    let number = functions().named(name).next().map_or(0, |function| function.number);
    object_value(number, if number == 0 { "-" } else { name })
}

/// The function called `name` of so many arguments, or another of the name.
pub(super) fn function_of(name: &str, count: usize) -> Option<&'static Callable> {
    let mut named = functions().named(name);
    let exact = functions().named(name).find(|function| function.arguments.len() == count);
    exact.or_else(|| named.next())
}

/// The number of the operator class that keys of the type `number` have in trees or hashes; 0 when
/// there is none.
pub(super) fn operator_class(method: i64, number: u32) -> i64 {
    /// Method and type, and the class.
    type Classes = HashMap<(i64, u32), i64>;
    static CLASSES: OnceLock<Classes> = OnceLock::new();
    let classes = CLASSES.get_or_init(|| {
        let columns = ["oid", "opcmethod", "opcintype", "opcdefault"];
        let is_usual = |cells: &Vec<&str>| matches!(cells[3], "t" | "true");
        let class = |cells: Vec<&'static str>| {
            let [class, method, ty] = [0, 1, 2].map(|at| self::number(cells[at]));
            ((method, ty as u32), class)
        };
        lines("pg_opclass", &columns).into_iter().filter(is_usual).map(class).collect()
    });
    // VARCHAR has the class of TEXT, an array that of all arrays.
    let ty = match (number, type_numbered(number)) {
        (1043, _) => 25,
        // CIDR has that of INET, ranges and multiranges that of all.
        (650, _) => 869,
        (3904 | 3906 | 3908 | 3910 | 3912 | 3926, _) => 3831,
        (4451 | 4532..=4536, _) => 4537,
        (_, Some(entry)) if entry.name.starts_with('_') => 2277,
        // Enumerated types have even numbers, and arrays of them odd ones.
        (number, None) if number % 2 == 0 => 3500,
        (_, None) => 2277,
        _ => number,
    };
    classes.get(&(method, ty)).copied().unwrap_or(0)
}

/// The number of the operator class called `name`, of trees or hashes.
pub(super) fn operator_class_named(method: i64, name: &str) -> Option<i64> {
    let columns = ["oid", "opcmethod", "opcname"];
    let is_it = |cells: &Vec<&str>| cells[2] == name && number(cells[1]) == method;
    lines("pg_opclass", &columns).into_iter().find(is_it).map(|cells| number(cells[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_whole() {
        for (name, text) in FILES {
            let columns = schema::find("pg_catalog", name).expect("a table");
            let header = text.lines().next().expect("a header").split('\t');
            for column in header.clone() {
                let is_known = |(known, _): &(&str, _)| known.trim_start_matches('.') == column;
                assert!(columns.iter().any(is_known), "{name}.{column}");
            }
            for line in text.lines().skip(1) {
                for (column, cell) in header.clone().zip(line.split('\t')) {
                    let is_it = |(known, _): &&(&str, _)| known.trim_start_matches('.') == column;
                    let (_, ty) = columns.iter().find(is_it).expect("a column");
                    let is_known = matches!(ty, DataType::Reg(RegKind::Proc)) || cell.is_empty();
                    let is_null = cell == "\\N" || is_known;
                    assert!(is_null || types::text::parse(cell, *ty).is_ok(), "{name}: {cell}");
                }
            }
            assert_eq!(rows(name).len(), text.lines().count() - 1);
        }
    }

    #[test]
    fn functions_are_shown_with_their_schema_where_several_have_their_name() {
        assert_eq!(function_shown(42).as_deref(), Some("int4in"));
        assert_eq!(function_shown(2108).as_deref(), Some("pg_catalog.sum"));
    }
}
