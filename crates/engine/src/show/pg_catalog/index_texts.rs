//! Indexes and the exclusion constraints that they serve as SQL text.

use catalog::TableDef;
use sql::algebra::{Direction, NullsOrder};
use sql::catalog::{
    Exclusion, ExclusionElement, IndexColumn, IndexExpression, IndexMeta, Uniqueness,
};
use sql::deparse::{Deparsed, Form, Place, Row, deparsed};

use super::deparsed::{Texts, row_of};
use super::written::quoted;
use super::{Subject, full_name};

/// Parts of which the texts of an index are made.
pub(super) struct IndexTexts<'a> {
    subject: &'a Subject<'a>,
    def: &'a TableDef,
    index: &'a IndexMeta,
    rows: [Row<'a>; 1],
}

/// A key: its texts, and the collation behind it.
struct Key {
    texts: Texts,
    collation: Option<String>,
}

/// True for the index of a key that is DEFERRABLE, which is not unique itself.
pub(super) fn deferrable_key(def: &TableDef, index: &IndexMeta) -> bool {
    def.keys.iter().any(|key| key.name == index.name && key.deferral.is_deferrable())
}

/// INCLUDE of an index or a key.
pub(super) fn included_text(def: &TableDef, included: &[usize]) -> String {
    if included.is_empty() {
        return String::new();
    }
    let names: Vec<_> = included.iter().map(|at| quoted(&def.columns[*at].name)).collect();
    format!(" INCLUDE ({})", names.join(", "))
}

impl<'a> IndexTexts<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, def: &'a TableDef, index: &'a IndexMeta) -> Self {
        Self { subject, def, index, rows: [row_of(&def.name, &def.columns)] }
    }

    fn analysed(&self, sql: &str, place: Place) -> Option<Deparsed<'a>> {
        deparsed(sql, &self.rows, place, self.subject)
    }

    fn key(&self, column: &IndexColumn) -> Key {
        let Some(number) = column.expression() else {
            let name = quoted(&self.def.columns[column.ordinal].name).into_owned();
            return Key { texts: Texts::same(name), collation: None };
        };
        let expression = &self.index.terms.expressions[number];
        match self.analysed(&expression.sql, Place::Key) {
            Some(found) => Key {
                texts: Texts::of(|form| found.key_text(form)),
                collation: found.collation().map(str::to_owned),
            },
            None => {
                let text = self.subject.text_shown(&expression.full_definition()).into_owned();
                Key { texts: Texts::same(text), collation: None }
            }
        }
    }

    /// A column without its order and collation.
    pub(super) fn column(&self, column: &IndexColumn) -> Texts {
        self.key(column).texts
    }

    /// An expression alone.
    pub(super) fn expression(&self, expression: &IndexExpression) -> Texts {
        match self.analysed(&expression.sql, Place::Key) {
            Some(found) => Texts::of(|form| found.text(form)),
            None => Texts::same(expression.full_text()),
        }
    }

    /// The predicate alone.
    pub(super) fn predicate(&self) -> Option<Texts> {
        let sql = self.index.terms.predicate.as_deref()?;
        Some(match self.analysed(sql, Place::Condition) {
            Some(found) => Texts::of(|form| found.text(form)),
            None => {
                let text = self.index.full_predicate().unwrap_or_default();
                Texts::same(self.subject.text_shown(&text).into_owned())
            }
        })
    }

    /// A key with its collation and operator class.
    fn declared(&self, position: usize, form: Form) -> String {
        let key = self.key(&self.index.columns[position]);
        let mut text = key.texts.text(form).to_owned();
        if let Some(collation) = key.collation {
            text.push_str(" COLLATE ");
            text.push_str(&collation);
        }
        let mut classes = self.index.terms.classes.iter();
        if let Some((_, class)) = classes.find(|(at, _)| *at == position) {
            text.push(' ');
            text.push_str(class);
        }
        text
    }

    /// The statement that makes the index.
    pub(super) fn definition(&self) -> Texts {
        Texts::of(|form| self.statement(form))
    }

    fn statement(&self, form: Form) -> String {
        let Self { def, index, .. } = self;
        let is_unique = index.unique != Uniqueness::No || deferrable_key(def, index);
        let unique = if is_unique { "UNIQUE " } else { "" };
        let method = index.method();
        let written = |(name, value): (String, String)| {
            if quoted(&value) == value {
                format!("{name}={value}")
            } else {
                format!("{name}='{value}'")
            }
        };
        let options: Vec<String> = index.options().map(written).collect();
        let option = match options.as_slice() {
            [] => String::new(),
            options => format!(" WITH ({})", options.join(", ")),
        };
        let column = |position: usize| {
            let mut text = self.declared(position, form);
            let column = &index.columns[position];
            text.push_str(match (column.direction, column.nulls) {
                (Direction::Ascending, NullsOrder::Last) => "",
                (Direction::Ascending, NullsOrder::First) => " NULLS FIRST",
                (Direction::Descending, NullsOrder::First) => " DESC",
                (Direction::Descending, NullsOrder::Last) => " DESC NULLS LAST",
            });
            text
        };
        let columns: Vec<String> = index.declared().into_iter().map(column).collect();
        let nulls = match index.unique {
            Uniqueness::NullsNotDistinct => " NULLS NOT DISTINCT",
            _ => "",
        };
        let predicate = self.predicate().map(|texts| format!(" WHERE {}", texts.text(form)));
        let included = included_text(def, &index.terms.included);
        let only = if def.partition_by.is_some() { "ONLY " } else { "" };
        let name = quoted(&index.name);
        let table = match form {
            Form::Pretty => self.subject.shown(&def.name),
            Form::Exact | Form::Flat => full_name(&def.name),
        };
        let columns = columns.join(", ");
        let parts =
            format!("({columns}){included}{nulls}{option}{}", predicate.unwrap_or_default());
        format!("CREATE {unique}INDEX {name} ON {only}{table} USING {method} {parts}")
    }

    /// The constraint that the index serves.
    pub(super) fn exclusion(&self, exclusion: &Exclusion) -> Texts {
        let included = included_text(self.def, &self.index.terms.included);
        let predicate = self.predicate();
        Texts::of(|form| {
            let element = |element: &ExclusionElement| {
                let key = self.declared(element.column, form);
                format!("{key} WITH {}", element.operator.sign())
            };
            let elements: Vec<String> = exclusion.elements.iter().map(element).collect();
            let predicate =
                predicate.as_ref().map(|texts| format!(" WHERE ({})", texts.text(form)));
            format!(
                "EXCLUDE USING {} ({}){included}{}{}",
                exclusion.method.name(),
                elements.join(", "),
                predicate.unwrap_or_default(),
                exclusion.deferral.sql()
            )
        })
    }
}
