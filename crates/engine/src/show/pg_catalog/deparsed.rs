//! Expressions of definitions as PostgreSQL prints them.
//!
//! ```text
//! kept text --sql::deparse--> exact, pretty   -- one column: exact \x01 pretty --> pg_get_expr
//! ```
//! A text that cannot be analysed is shown as it was written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use catalog::View;
use sql::catalog::{ColumnDef, RoutineDef, RoutineKind, RowCount, TableMeta, UserType};
use sql::deparse::{
    Calls, Candidate, Form, Named, Objects, Place, Relation, Row, Shape, Typed, deparsed,
};
use sql::statement::RelationName;
use types::{DataType, RegKind, Value};

use super::written::{quoted, shown_condition, shown_default};
use super::{Subject, builtin, numbers, routines};

/// Between the two texts of an expression in one column; no text has it.
const BETWEEN: char = '\u{1}';

/// The texts of an expression.
pub(super) struct Texts {
    /// With every operation in parentheses.
    pub(super) exact: String,
    /// For people.
    pub(super) pretty: String,
}

impl Texts {
    /// One text for both.
    pub(super) fn same(text: String) -> Self {
        Self { exact: text.clone(), pretty: text }
    }

    /// Both as `make` writes them.
    pub(super) fn of(make: impl Fn(Form) -> String) -> Self {
        Self { exact: make(Form::Exact), pretty: make(Form::Pretty) }
    }

    /// Both in one column, for pg_get_expr.
    pub(super) fn in_one(&self) -> String {
        if self.exact == self.pretty {
            return self.exact.clone();
        }
        format!("{}{BETWEEN}{}", self.exact, self.pretty)
    }

    /// A list of expressions.
    pub(super) fn joined(list: &[Self]) -> Self {
        Self::of(|form| {
            let texts: Vec<&str> = list.iter().map(|texts| texts.text(form)).collect();
            texts.join(", ")
        })
    }

    /// The text of a form.
    pub(super) fn text(&self, form: Form) -> &str {
        if form == Form::Pretty { &self.pretty } else { &self.exact }
    }
}

/// The number and modifier of a type.
pub(super) fn type_number(ty: DataType) -> Typed {
    let (number, modifier) = numbers::of_type(ty);
    typed(number, modifier)
}

/// The number and modifier of a column's type.
pub(super) fn column_type(column: &ColumnDef) -> Typed {
    let (number, modifier) = numbers::of_column(column);
    typed(number, modifier)
}

fn typed(number: i64, modifier: i64) -> Typed {
    let modifier = i32::try_from(modifier).unwrap_or(-1);
    Typed { number: u32::try_from(number).unwrap_or(0), modifier }
}

/// Names and types of a view's columns.
pub(super) fn view_columns(view: &View) -> Vec<(String, Typed)> {
    view.output.iter().map(|(name, ty)| (name.clone(), type_number(*ty))).collect()
}

/// The row of a table, whose columns stand alone.
pub(super) fn row_of<'d>(name: &'d str, columns: &'d [ColumnDef]) -> Row<'d> {
    let column = |column: &'d ColumnDef| (column.name.as_str(), column_type(column));
    let columns = columns.iter().map(column).collect();
    Row { named: Named::Alone, name: RelationName::name_of_key(name), columns }
}

impl Subject<'_> {
    /// The texts of an expression over `rows`; None where it is shown as it was written.
    pub(super) fn texts(&self, sql: &str, rows: &[Row<'_>], place: Place) -> Option<Texts> {
        let found = deparsed(sql, rows, place, self)?;
        Some(Texts::of(|form| found.text(form)))
    }

    /// The texts of a value that is assigned to a column of type `ty`.
    pub(super) fn default_texts(&self, sql: &str, rows: &[Row<'_>], ty: Typed) -> Texts {
        let texts = self.texts(sql, rows, Place::Assigned(ty));
        texts.unwrap_or_else(|| Texts::same(shown_default(self, sql)))
    }

    /// The texts of a condition that may have sub-queries.
    pub(super) fn condition_texts(&self, sql: &str, rows: &[Row<'_>]) -> Texts {
        let texts = self.texts(sql, rows, Place::Condition);
        texts.unwrap_or_else(|| Texts::same(shown_condition(self, sql)))
    }

    /// The text of a value of type `ty` on one line.
    pub(super) fn flat_text(&self, sql: &str, ty: Typed) -> String {
        match deparsed(sql, &[], Place::Assigned(ty), self) {
            Some(found) => found.text(Form::Flat),
            None => shown_condition(self, sql),
        }
    }

    /// A constant of `regclass` and its kin as it is shown.
    fn object_shown(&self, kind: RegKind, text: &str) -> Option<String> {
        if kind == RegKind::Class {
            let key = RelationName::parse(text).ok()?.key();
            if self.state.contains(&key) {
                return Some(self.shown(&key));
            }
        }
        match self.seen().named(kind, text).ok()? {
            Value::Str(bytes) => {
                Some(String::from_utf8_lossy(types::object_name(&bytes)).into_owned())
            }
            _ => None,
        }
    }

    fn candidate(&self, def: &RoutineDef) -> Option<Candidate> {
        let number = |number: i64| u32::try_from(number).unwrap_or(0);
        let arguments = def.inputs().map(|input| number(routines::number(self.state, &input.ty)));
        let calls = match (def.kind, def.rows) {
            (RoutineKind::Aggregate, _) => Calls::Group,
            (_, RowCount::Many) => Calls::Rows,
            _ => Calls::Value,
        };
        Some(Candidate {
            variadic: number(routines::variadic(self.state, def)),
            defaults: def.inputs().filter(|input| input.default.is_some()).count(),
            result: number(routines::number(self.state, &def.result)),
            calls,
            shown: Some(routines::name_shown(self.seen(), def)),
            ..Candidate::of(arguments.collect())
        })
    }
}

/// The system's types by number.
fn system_type(number: u32) -> Option<DataType> {
    static TYPES: OnceLock<HashMap<u32, DataType>> = OnceLock::new();
    let all = || {
        let own = |ty: &builtin::TypeEntry| {
            let name = if ty.number == 1042 { "bpchar" } else { ty.formatted };
            Some((ty.number, sql::type_named(name)?))
        };
        builtin::types().iter().filter_map(own).collect()
    };
    TYPES.get_or_init(all).get(&number).copied()
}

/// True for words that mean another time tomorrow.
fn is_moving(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    ["now", "today", "tomorrow", "yesterday"].iter().any(|word| text.contains(word))
}

impl Objects for Subject<'_> {
    fn number_of(&self, ty: DataType) -> Typed {
        type_number(ty)
    }

    fn type_called(&self, text: &str) -> Option<u32> {
        let seen = self.seen();
        seen.own_type_number(text).or_else(|| seen.own_type_number(&format!("public.{text}")))
    }

    fn shape(&self, number: u32) -> Option<Shape> {
        let (ty, is_array) = self.state.user_type_numbered(number)?;
        let plain = Shape {
            category: b'U',
            is_preferred: false,
            kind: b'b',
            element: 0,
            array: ty.array_number(),
            part: 0,
            base: None,
        };
        if is_array {
            return Some(Shape { category: b'A', element: ty.number(), array: 0, ..plain });
        }
        match ty {
            UserType::Enum(_) => Some(Shape { category: b'E', kind: b'e', ..plain }),
            UserType::Composite(_) => Some(Shape { category: b'C', kind: b'c', ..plain }),
            UserType::Domain(domain) => {
                let base = match domain.over {
                    Some(over) => Typed::plain(over.number),
                    None => type_number(domain.ty),
                };
                let below = sql::deparse::shape_of(base.number, self)?;
                let category = below.category;
                Some(Shape { category, kind: b'd', base: Some(base), ..plain })
            }
            UserType::Range(_) | UserType::Multirange(_) => None,
        }
    }

    fn type_shown(&self, number: u32) -> Option<String> {
        self.seen().type_numbered(number)
    }

    fn functions(&self, schema: Option<&str>, name: &str) -> Vec<Candidate> {
        let is_meant = |def: &RoutineDef| {
            let own = RelationName::schema_of_key(&def.name);
            def.bare_name() == name && schema.is_none_or(|schema| schema == own)
        };
        let all = self.state.routines.values().filter(|def| is_meant(def));
        all.filter_map(|def| self.candidate(def)).collect()
    }

    fn constant(&self, text: &str, ty: u32) -> Option<String> {
        if let Some((own, is_array)) = self.state.user_type_numbered(ty) {
            return match own {
                UserType::Enum(_) if !is_array => Some(text.to_owned()),
                _ => None,
            };
        }
        let known = system_type(ty)?;
        match known {
            DataType::Reg(kind) => return self.object_shown(kind, text),
            DataType::Text | DataType::Name | DataType::Varchar(_) | DataType::Char(_) => {
                return Some(text.to_owned());
            }
            DataType::Date
            | DataType::Time(_)
            | DataType::Timestamp(_)
            | DataType::TimestampTz(_)
                if is_moving(text) =>
            {
                return None;
            }
            _ => {}
        }
        let zone = self.settings.time_zone();
        let value = types::text::parse_in(text, known, zone).ok()?;
        let style = self.settings.text_style();
        let mut out = Vec::new();
        if style.changes(known) {
            types::text::append_styled(&mut out, &value, known, style, zone);
        } else {
            types::text::append_in(&mut out, &value, known, zone);
        }
        String::from_utf8(out).ok()
    }

    fn collation(&self, schema: Option<&str>, name: &str) -> Option<String> {
        let name = RelationName { schema: schema.map(str::to_owned), name: name.to_owned() };
        let find = |name: &RelationName| self.seen().collation_called(name).ok();
        let public = || RelationName { schema: Some("public".to_owned()), ..name.clone() };
        match find(&name).or_else(|| find(&public()))? {
            Value::Str(bytes) => {
                Some(String::from_utf8_lossy(types::object_name(&bytes)).into_owned())
            }
            _ => None,
        }
    }

    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        let schema = schema.map(str::to_owned);
        let key = RelationName { schema, name: name.to_owned() }.key();
        let columns = match (self.state.tables.get(&key), self.state.views.get(&key)) {
            (Some(entry), _) => {
                let column = |column: &ColumnDef| (column.name.clone(), column_type(column));
                entry.columns().iter().map(column).collect()
            }
            (None, Some(view)) => view_columns(view),
            (None, None) => return None,
        };
        Some(Relation { shown: self.shown(&key), name: name.to_owned(), columns })
    }

    fn quoted<'n>(&self, name: &'n str) -> Cow<'n, str> {
        quoted(name)
    }
}
