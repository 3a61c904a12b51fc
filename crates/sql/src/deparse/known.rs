//! Types, operators, functions and casts of PostgreSQL 15: by them, and not by what is here, it
//! decides which casts a definition has.
//!
//! ```text
//! data/types.tsv      number, name, category, preferred, kind, element, array, part, shown
//! data/operators.tsv  name, left (0 of a prefix), right, result
//! data/functions.tsv  name, arguments, variadic, defaults, result, kind, rows
//! data/casts.tsv      source, target, context (i, a, e), method (f, b, i)
//! ```

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{Calls, Candidate, Shape};
pub(super) use crate::bind::Context;

/// Numbers of types that rules name.
pub(super) mod number {
    pub(crate) const BOOLEAN: u32 = 16;
    pub(crate) const BIGINT: u32 = 20;
    pub(crate) const INTEGER: u32 = 23;
    pub(crate) const TEXT: u32 = 25;
    pub(crate) const UNKNOWN: u32 = 705;
    pub(crate) const NAME: u32 = 19;
    pub(crate) const DATE: u32 = 1082;
    pub(crate) const TIME: u32 = 1083;
    pub(crate) const TIMESTAMP: u32 = 1114;
    pub(crate) const TIMESTAMPTZ: u32 = 1184;
    pub(crate) const INTERVAL: u32 = 1186;
    pub(crate) const TIMETZ: u32 = 1266;
    pub(crate) const BIT: u32 = 1560;
    pub(crate) const VARBIT: u32 = 1562;
    pub(crate) const NUMERIC: u32 = 1700;
    pub(crate) const RECORD: u32 = 2249;
    pub(crate) const JSONB: u32 = 3802;
    pub(crate) const ANY: u32 = 2276;
    pub(crate) const ANYARRAY: u32 = 2277;
    pub(crate) const ANYELEMENT: u32 = 2283;
    pub(crate) const ANYNONARRAY: u32 = 2776;
    pub(crate) const ANYENUM: u32 = 3500;
    pub(crate) const ANYRANGE: u32 = 3831;
    pub(crate) const ANYMULTIRANGE: u32 = 4537;
    pub(crate) const ANYCOMPATIBLEMULTIRANGE: u32 = 4538;
    pub(crate) const ANYCOMPATIBLE: u32 = 5077;
    pub(crate) const ANYCOMPATIBLEARRAY: u32 = 5078;
    pub(crate) const ANYCOMPATIBLENONARRAY: u32 = 5079;
    pub(crate) const ANYCOMPATIBLERANGE: u32 = 5080;
}

/// How a cast is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// By a function.
    Function,
    /// Values look alike.
    Relabel,
    /// By way of the text.
    Text,
    /// Element by element.
    Elements,
}

/// A line of casts.tsv.
#[derive(Clone, Copy)]
pub(super) struct Cast {
    pub(super) context: Context,
    pub(super) method: Method,
}

/// A line of types.tsv.
pub(super) struct Known {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) shown: &'static str,
}

/// Everything, by name or number.
pub(super) struct Catalog {
    types: HashMap<u32, Known>,
    named: HashMap<&'static str, u32>,
    operators: HashMap<&'static str, Vec<Candidate>>,
    functions: HashMap<&'static str, Vec<Candidate>>,
    casts: HashMap<(u32, u32), Cast>,
}

fn digits(cell: &str) -> u32 {
    cell.parse().unwrap_or(0)
}

fn cells(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().map(|line| line.split('\t').collect())
}

/// The catalog; read when it is first asked for.
pub(super) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog {
        types: types(),
        named: types().into_values().map(|known| (known.name, known.number)).collect(),
        operators: operators(),
        functions: functions(),
        casts: casts(),
    })
}

fn types() -> HashMap<u32, Known> {
    let known = |cells: Vec<&'static str>| Known {
        number: digits(cells[0]),
        name: cells[1],
        shape: Shape {
            category: cells[2].bytes().next().unwrap_or(b'X'),
            is_preferred: cells[3] == "t",
            kind: cells[4].bytes().next().unwrap_or(b'b'),
            element: digits(cells[5]),
            array: digits(cells[6]),
            part: digits(cells[7]),
            base: None,
        },
        shown: cells[8],
    };
    cells(include_str!("data/types.tsv")).map(known).map(|known| (known.number, known)).collect()
}

fn operators() -> HashMap<&'static str, Vec<Candidate>> {
    let mut all: HashMap<&'static str, Vec<Candidate>> = HashMap::new();
    for cells in cells(include_str!("data/operators.tsv")) {
        let arguments = cells[1..3].iter().map(|cell| digits(cell)).filter(|ty| *ty != 0);
        let operator = Candidate::of(arguments.collect());
        let candidate = Candidate { result: digits(cells[3]), ..operator };
        all.entry(cells[0]).or_default().push(candidate);
    }
    all
}

fn functions() -> HashMap<&'static str, Vec<Candidate>> {
    let mut all: HashMap<&'static str, Vec<Candidate>> = HashMap::new();
    for cells in cells(include_str!("data/functions.tsv")) {
        let arguments = cells[1].split(' ').map(digits).filter(|ty| *ty != 0);
        let candidate = Candidate {
            variadic: digits(cells[2]),
            defaults: digits(cells[3]) as usize,
            result: digits(cells[4]),
            calls: match (cells[5], cells[6]) {
                ("a", _) => Calls::Group,
                ("w", _) => Calls::Window,
                (_, "t") => Calls::Rows,
                _ => Calls::Value,
            },
            ..Candidate::of(arguments.collect())
        };
        all.entry(cells[0]).or_default().push(candidate);
    }
    all
}

fn casts() -> HashMap<(u32, u32), Cast> {
    let cast = |cells: Vec<&'static str>| {
        let context = match cells[2] {
            "i" => Context::Implicit,
            "a" => Context::Assignment,
            _ => Context::Explicit,
        };
        let method = match cells[3] {
            "f" => Method::Function,
            "b" => Method::Relabel,
            _ => Method::Text,
        };
        ((digits(cells[0]), digits(cells[1])), Cast { context, method })
    };
    cells(include_str!("data/casts.tsv")).map(cast).collect()
}

impl Catalog {
    pub(super) fn ty(&self, number: u32) -> Option<&Known> {
        self.types.get(&number)
    }

    /// The type that pg_type calls `name`.
    pub(super) fn type_named(&self, name: &str) -> Option<u32> {
        self.named.get(name).copied()
    }

    pub(super) fn operators(&self, name: &str) -> &[Candidate] {
        self.operators.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn functions(&self, name: &str) -> &[Candidate] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn cast(&self, from: u32, to: u32) -> Option<Cast> {
        self.casts.get(&(from, to)).copied()
    }
}
