//! Kept expressions as PostgreSQL prints them: with the casts, constants and operators that its
//! own analysis gives them.
//!
//! ```text
//! a > 0 AND b IN ('x', 'y')  --parse-->  tree  --analyse (types, operators, casts)-->  nodes
//!   --write-->  ((a > (0)::numeric) AND ((b)::text = ANY ((ARRAY['x'::character varying, ...
//! ```
//! The bound tree is of no use here: it has what runs, a template in the place of a function or a
//! decimal in that of an integer. So the rules of PostgreSQL are applied to the tree of the
//! grammar, over the operators and functions that PostgreSQL has (`known`). What they have no
//! answer for (sub-queries, types of extensions) has no text here, and stays as it was written.
//!
//! Invariant: a text is analysed to itself again, and means what the kept one means.
//!
//! Elsewhere: names and columns (`engine`, through [`Objects`]); definitions around expressions
//! (`engine::show::pg_catalog`).
//!
//! Source of the rules: PostgreSQL 15, documentation, chapter 10 (Type Conversion), and what it
//! prints.

// Floors: lowest first.
mod known;
mod node;
mod coerce;
mod choose;
mod analyse;
mod write;

use std::borrow::Cow;

use types::DataType;

use coerce::Types;
use known::{Context, number};
use node::{Asked, Kind, Node};

/// A type and its modifier, by the numbers of PostgreSQL's catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Its number.
    pub number: u32,
    /// Its modifier; -1 for none.
    pub modifier: i32,
}

impl Typed {
    /// The type without a modifier.
    pub fn plain(number: u32) -> Self {
        Self { number, modifier: -1 }
    }
}

/// Properties of a type that decide about casts to and from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// typcategory.
    pub category: u8,
    /// typispreferred.
    pub is_preferred: bool,
    /// typtype.
    pub kind: u8,
    /// The type of its elements, of an array; 0 of others.
    pub element: u32,
    /// The type of arrays of it.
    pub array: u32,
    /// The type of a range's bounds, the ranges of a multirange; 0 of others.
    pub part: u32,
    /// The type that a domain is made of.
    pub base: Option<Typed>,
}

/// An operator or a function that a name may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Types of its operands or parameters.
    pub arguments: Vec<u32>,
    /// Type of the elements of its last parameter where that is VARIADIC; 0 without.
    pub variadic: u32,
    /// How many of its last parameters have defaults.
    pub defaults: usize,
    /// Type of its result.
    pub result: u32,
    /// Number of rows that it sees and gives.
    pub calls: Calls,
    /// The name of a function of users as it is shown.
    pub shown: Option<String>,
}

impl Candidate {
    /// A function of these parameters without a result.
    pub fn of(arguments: Vec<u32>) -> Self {
        let calls = Calls::Value;
        Self { arguments, variadic: 0, defaults: 0, result: 0, calls, shown: None }
    }
}

/// Number of rows that a function sees and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// A value for a row.
    Value,
    /// Several rows for one.
    Rows,
    /// A value for a group or a window.
    Group,
    /// A value for a window.
    Window,
}

/// A relation that a query names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its name as definitions show it.
    pub shown: String,
    /// The name of its columns' row.
    pub name: String,
    /// Names and types of its columns.
    pub columns: Vec<(String, Typed)>,
}

/// Types, functions and names that a session sees beside those that PostgreSQL has.
pub trait Objects {
    /// The number and modifier of a type.
    fn number_of(&self, ty: DataType) -> Typed;

    /// The type of users that SQL text names.
    fn type_called(&self, text: &str) -> Option<u32>;

    /// Properties of a type of users.
    fn shape(&self, number: u32) -> Option<Shape>;

    /// The name of a type of users.
    fn type_shown(&self, number: u32) -> Option<String>;

    /// The functions of users that a name means.
    fn functions(&self, schema: Option<&str>, name: &str) -> Vec<Candidate>;

    /// A constant of a type as values of it are printed; None where it is none, or not the same
    /// tomorrow.
    fn constant(&self, text: &str, ty: u32) -> Option<String>;

    /// The name of a collation, as it is shown.
    fn collation(&self, schema: Option<&str>, name: &str) -> Option<String>;

    /// The relation of users that a name means.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation>;

    /// A name, in quotes where it needs them.
    fn quoted<'n>(&self, name: &'n str) -> Cow<'n, str>;
}

/// Form of the columns of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// By their names alone.
    Alone,
    /// Behind the name of the row, as they have to be called.
    Behind,
    /// Behind the name of the row, however they are called.
    Joined,
    /// As VALUE: the value of a domain.
    Value,
}

/// Columns that an expression may read.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// How they are written.
    pub named: Named,
    /// The name by which the expression may call it.
    pub name: &'a str,
    /// Names and types of its columns.
    pub columns: Vec<(&'a str, Typed)>,
}

/// How much of its structure a text shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Every operation in parentheses, CASE on lines of its own.
    Exact,
    /// Few parentheses, CASE on lines of its own.
    Pretty,
    /// Every operation in parentheses, all on one line.
    Flat,
}

/// An expression that was analysed.
pub struct Deparsed<'a> {
    node: Node,
    /// COLLATE behind a key.
    collation: Option<String>,
    objects: &'a dyn Objects,
}

/// Place of an expression: which type it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A condition.
    Condition,
    /// A value of its own type.
    Value,
    /// A key of an index or of partitions, whose COLLATE is no part of the expression.
    Key,
    /// A value that is assigned.
    Assigned(Typed),
}

/// Properties of a type, of the system or of users.
pub fn shape_of(number: u32, objects: &dyn Objects) -> Option<Shape> {
    Types { objects }.shape(number)
}

/// The kept expression `sql` over `rows`; None where only its own text says what it means.
pub fn deparsed<'a>(
    sql: &str,
    rows: &[Row<'_>],
    place: Place,
    objects: &'a dyn Objects,
) -> Option<Deparsed<'a>> {
    let tree = crate::parse::parse_expr(sql).ok()?;
    let types = Types { objects };
    let node = analyse::analysed(&tree, rows, types)?;
    let as_text = |node: Node| {
        if !node.is_unknown() {
            return Some(node);
        }
        types.coerced_unasked(node, number::TEXT)
    };
    let (node, collation) = match (place, node.kind) {
        (Place::Key, Kind::Collate { inner, name }) => (*inner, Some(name)),
        (_, kind) => (Node { kind, ..node }, None),
    };
    let node = match place {
        Place::Condition => types.coerced(node, number::BOOLEAN, Context::Assignment, Asked::No)?,
        Place::Value | Place::Key => as_text(node)?,
        Place::Assigned(ty) => types.cast(node, ty, Context::Assignment, Asked::No)?,
    };
    Some(Deparsed { node, collation, objects })
}

/// The query of a view that was analysed.
pub struct DeparsedQuery<'a> {
    query: node::query::Query,
    names: Vec<String>,
    objects: &'a dyn Objects,
}

/// The kept query `sql` of a view with these columns; None where only its own text says what it
/// means.
pub fn deparsed_query<'a>(
    sql: &str,
    columns: &[(String, Typed)],
    objects: &'a dyn Objects,
) -> Option<DeparsedQuery<'a>> {
    let tree = crate::parse::parse_query(sql).ok()?;
    let query = analyse::analysed_query(&tree, Types { objects })?;
    // A table may have got columns since.
    let types = query.columns.iter().map(|(_, ty)| ty.number);
    if !types.eq(columns.iter().map(|(_, ty)| ty.number)) {
        return None;
    }
    let names = columns.iter().map(|(name, _)| name.clone()).collect();
    Some(DeparsedQuery { query, names, objects })
}

impl DeparsedQuery<'_> {
    /// The query as text, with the semicolon behind it.
    pub fn text(&self, form: Form) -> String {
        let types = Types { objects: self.objects };
        write::query_text(&self.query, &self.names, form, types)
    }
}

impl Deparsed<'_> {
    /// The expression as text.
    pub fn text(&self, form: Form) -> String {
        write::text(&self.node, form, Types { objects: self.objects })
    }

    /// The expression where a definition takes columns, calls, and others in parentheses.
    pub fn key_text(&self, form: Form) -> String {
        let text = self.text(form);
        let is_bare = write::is_call(&self.node) || matches!(self.node.kind, Kind::Column(_));
        if is_bare { text } else { format!("({text})") }
    }

    /// The name of the collation behind a key.
    pub fn collation(&self) -> Option<&str> {
        self.collation.as_deref()
    }
}
