//! Texts of definitions that name types that users made: where they are, and how they follow.

use std::sync::Arc;

use catalog::names::quoted_relation;
use catalog::{State, TableDef};
use sql::catalog::{CheckDef, Domain, DomainDef, ParameterDef, RoutineDef, UserType};
use sql::statement::RelationName;
use types::{EnumType, Error, Position, Result};

use super::policy::{self, PolicyText};
use super::view;
use crate::Session;
use crate::session::definer::Definer;

/// A name that becomes another one.
#[derive(Clone, Copy)]
pub(super) struct Renamed<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
}

/// Place of a text in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The query of a view.
    View(String),
    /// The default of a column.
    Default(String, String),
    /// The expression of a generated column.
    Generated(String, String),
    /// The condition of a constraint of a table.
    Check(String, String),
    /// An expression of an index of a table, by its number.
    Index(String, String, usize),
    /// The predicate of an index of a table.
    Predicate(String, String),
    /// The default of a domain.
    DomainDefault(String),
    /// A condition of a domain.
    DomainCheck(String, String),
    /// A condition of a policy.
    Policy(PolicyText),
    /// The default of a parameter.
    Parameter(Parameter),
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    /// The routine's key, which changes with its types.
    pub(super) routine: String,
    /// The routine's number.
    pub(super) number: u32,
    /// Ordinal of the parameter.
    pub(super) at: usize,
}

impl Place {
    /// Its name in messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::View(view) => format!("view {view}"),
            Self::Default(table, column) => {
                format!("default value for column {column} of table {table}")
            }
            Self::Generated(table, column) => format!("column {column} of table {table}"),
            Self::Check(table, name) => format!("constraint {name} on table {table}"),
            Self::Index(_, name, _) | Self::Predicate(_, name) => format!("index {name}"),
            Self::DomainDefault(domain) => format!("type {domain}"),
            Self::DomainCheck(_, name) => format!("constraint {name}"),
            Self::Policy(text) => text.shown(),
            Self::Parameter(of) => format!("function {}", of.routine),
        }
    }

    /// True for a text of the routine with this number.
    pub(super) fn is_of_routine(&self, number: u32) -> bool {
        matches!(self, Self::Parameter(of) if of.number == number)
    }

    /// True for the same place before and after types got other names.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Parameter(own), Self::Parameter(of)) => {
                own.number == of.number && own.at == of.at
            }
            _ => self == other,
        }
    }

    /// The table that the text is of.
    pub(super) fn table(&self) -> Option<&str> {
        match self {
            Self::View(_) | Self::DomainDefault(_) | Self::DomainCheck(..) | Self::Parameter(_) => {
                None
            }
            Self::Policy(text) => Some(&text.table),
            Self::Default(table, _)
            | Self::Generated(table, _)
            | Self::Check(table, _)
            | Self::Index(table, ..)
            | Self::Predicate(table, _) => Some(table),
        }
    }
}

/// All texts of the definition of a table.
fn texts_of(def: &TableDef) -> Vec<(Place, String)> {
    let table = || def.name.clone();
    let mut all = Vec::new();
    for column in &def.columns {
        let name = || column.name.clone();
        all.extend(column.default.clone().map(|sql| (Place::Default(table(), name()), sql)));
        all.extend(column.generated.clone().map(|sql| (Place::Generated(table(), name()), sql)));
    }
    let check = |check: &CheckDef| (Place::Check(table(), check.name.clone()), check.sql.clone());
    all.extend(def.checks.iter().map(check));
    for index in &def.indexes {
        let name = || index.name.clone();
        for (number, expression) in index.terms.expressions.iter().enumerate() {
            all.push((Place::Index(table(), name(), number), expression.sql.clone()));
        }
        let predicate = index.terms.predicate.clone();
        all.extend(predicate.map(|sql| (Place::Predicate(table(), name()), sql)));
    }
    all
}

/// All texts of a domain.
fn texts_of_domain(domain: Domain) -> Vec<(Place, String)> {
    let key = || domain.key.clone();
    let default = domain.default.clone().map(|sql| (Place::DomainDefault(key()), sql));
    let check =
        |check: &CheckDef| (Place::DomainCheck(key(), check.name.clone()), check.sql.clone());
    default.into_iter().chain(domain.checks.iter().map(check)).collect()
}

/// All texts of a routine.
fn texts_of_routine(key: &str, def: &RoutineDef) -> Vec<(Place, String)> {
    let text = |(at, parameter): (usize, &ParameterDef)| {
        let place = Parameter { routine: key.to_owned(), number: def.number, at };
        Some((Place::Parameter(place), parameter.default.clone()?))
    };
    def.parameters.iter().enumerate().filter_map(text).collect()
}

/// All texts of the catalog.
fn texts(state: &State) -> Vec<(Place, String)> {
    let views = state.queries().map(|(key, view)| (Place::View(key.clone()), view.sql.clone()));
    let tables = state.tables.values().flat_map(|entry| texts_of(&entry.def));
    let domains = state.types.values().filter_map(UserType::domain).flat_map(texts_of_domain);
    let policies = policy::texts(state).map(|(place, text)| (Place::Policy(place), text));
    let routines = state.routines.iter().flat_map(|(key, def)| texts_of_routine(key, def));
    views.chain(tables).chain(domains).chain(policies).chain(routines).collect()
}

/// Puts another text in its place.
fn put(state: &mut State, place: &Place, text: String) -> Result<()> {
    match place {
        Place::View(view) => {
            state.change_query(view, |view| view.sql = text);
            Ok(())
        }
        Place::DomainDefault(key) | Place::DomainCheck(key, _) => {
            let Some(UserType::Domain(old)) = state.types.get(key).copied() else { return Ok(()) };
            let mut def = DomainDef::clone(&old);
            match place {
                Place::DomainCheck(_, name) => {
                    let check = def.checks.iter_mut().find(|check| check.name == *name);
                    check.into_iter().for_each(|check| check.sql.clone_from(&text));
                }
                _ => def.default = Some(text),
            }
            state.replace_domain(old, Domain::new(def)?)
        }
        Place::Policy(place) => {
            place.put(state, text);
            Ok(())
        }
        Place::Parameter(of) => {
            if let Some(known) = state.routines.get(&of.routine) {
                let mut def = RoutineDef::clone(known);
                let parameter = def.parameters.get_mut(of.at);
                parameter.into_iter().for_each(|parameter| parameter.default = Some(text.clone()));
                state.replace_routine(&of.routine, def);
            }
            Ok(())
        }
        place => {
            put_in_table(state, place, text);
            Ok(())
        }
    }
}

/// [`put`] for a text of a table.
fn put_in_table(state: &mut State, place: &Place, text: String) {
    let Some(entry) = state.tables.get_mut(place.table().unwrap_or_default()) else { return };
    let mut def = entry.def.clone();
    match place {
        Place::View(_)
        | Place::DomainDefault(_)
        | Place::DomainCheck(..)
        | Place::Policy(..)
        | Place::Parameter(_) => {}
        Place::Default(_, name) => {
            let column = def.columns.iter_mut().find(|column| column.name == *name);
            column.into_iter().for_each(|column| column.default = Some(text.clone()));
        }
        Place::Generated(_, name) => {
            let column = def.columns.iter_mut().find(|column| column.name == *name);
            column.into_iter().for_each(|column| column.generated = Some(text.clone()));
        }
        Place::Check(_, name) => {
            let check = def.checks.iter_mut().find(|check| check.name == *name);
            check.into_iter().for_each(|check| check.sql.clone_from(&text));
        }
        Place::Index(_, name, number) => {
            let index = def.indexes.iter_mut().find(|index| index.name == *name);
            let expressions = index.map(|index| &mut index.terms.expressions);
            let expression = expressions.and_then(|all| all.get_mut(*number));
            expression.into_iter().for_each(|expression| expression.sql.clone_from(&text));
        }
        Place::Predicate(_, name) => {
            let index = def.indexes.iter_mut().find(|index| index.name == *name);
            index.into_iter().for_each(|index| index.terms.predicate = Some(text.clone()));
        }
    }
    *entry = Arc::new(entry.redefined(def, entry.built()));
}

/// Names of one kind in texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    Types,
    Collations,
}

impl Naming {
    /// The bytes of each name in a text of what the catalog calls `key`.
    fn named_in(self, text: &str, key: &str) -> Vec<std::ops::Range<usize>> {
        let all = match self {
            Self::Types => sql::types_in(text),
            Self::Collations => sql::collations_in(text),
        };
        all.into_iter().filter(|(name, _)| name.key() == key).map(|(_, bytes)| bytes).collect()
    }
}

/// The texts that name what the catalog calls `key`.
pub(super) fn users_of(session: &Session, naming: Naming, key: &str) -> Vec<Place> {
    let named = texts(&session.state()).into_iter();
    let names = |text: &str| !naming.named_in(text, key).is_empty();
    named.filter(|(_, text)| names(text)).map(|(place, _)| place).collect()
}

/// The texts that call one of these functions, and which of them.
pub(super) fn users_of_functions(session: &Session, names: &[&str]) -> Vec<(Place, String)> {
    let of = |(place, text): (Place, String)| {
        let mut called = sql::functions_in(&text).into_iter();
        called.find(|name| names.contains(&name.as_str())).map(|name| (place, name))
    };
    texts(&session.state()).into_iter().filter_map(of).collect()
}

/// The texts that call a routine of this name, a key of relations.
pub(super) fn users_of_routine(state: &State, name: &str) -> Vec<Place> {
    let calls = |text: &str| sql::calls_in(text).iter().any(|called| called.key() == name);
    let named = texts(state).into_iter();
    named.filter(|(_, text)| calls(text)).map(|(place, _)| place).collect()
}

/// Gives a type or collation another name in the texts of `users`; the catalog has it under the new
/// one.
pub(super) fn rename(
    definer: &mut Definer<'_>,
    users: &[Place],
    naming: Naming,
    Renamed { from, to }: Renamed<'_>,
) -> Result<()> {
    let to = RelationName::of_key(to).quoted();
    definer.change_catalog(|state| {
        let is_meant = |(place, _): &(Place, String)| users.iter().any(|user| user.is_same(place));
        let known = texts(state).into_iter().filter(is_meant);
        for (place, mut text) in known {
            for bytes in naming.named_in(&text, from).into_iter().rev() {
                text.replace_range(bytes, &to);
            }
            put(state, &place, text)?;
        }
        Ok(())
    })
}

/// Gives a label of `ty` another name in the literals of all texts; the catalog has the old one.
///
/// # Errors
/// 0A000 where it stands in another form than a literal of its own.
pub(super) fn rename_label(
    session: &mut Session,
    ty: EnumType,
    Renamed { from, to }: Renamed<'_>,
) -> Result<()> {
    let Some(position) = ty.position(from) else { return Ok(()) };
    let label = view::Label { ty, position };
    let mut changed = Vec::new();
    for (place, text) in texts(&session.state()) {
        let places = label_places(session, &place, &text, label);
        if places.is_empty() {
            continue;
        }
        let written = sql::with_literals(&text, &places, from, to).ok_or_else(|| {
            Error::unsupported("another name of a label in such a literal")
                .with_detail(format!("{} has label \"{from}\" in its text.", place.shown()))
        })?;
        changed.push((place, written));
    }
    session.change_catalog(|state| {
        changed.into_iter().try_for_each(|(place, text)| put(state, &place, text))
    })
}

/// Where literals of a text stand for the label.
fn label_places(session: &Session, place: &Place, text: &str, label: view::Label) -> Vec<Position> {
    let state = session.state();
    let table = match place {
        Place::DomainDefault(key) | Place::DomainCheck(key, _) => {
            let domain = state.types.get(key).and_then(UserType::domain);
            let Some(ty) = domain.map(|domain| domain.ty) else { return Vec::new() };
            let from = format!("FROM (SELECT NULL::{ty} AS value) AS d");
            let selected = match place {
                Place::DomainDefault(_) => format!("SELECT COALESCE(NULL::{ty},\n{text}\n) {from}"),
                _ => format!("SELECT (\n{text}\n) {from}"),
            };
            let places = view::label_places(session, &selected, label).unwrap_or_default();
            return below(places);
        }
        Place::Parameter(of) => {
            let def = state.routines.get(&of.routine);
            let parameter = def.and_then(|def| def.parameters.get(of.at));
            let Some(parameter) = parameter else { return Vec::new() };
            let selected = format!("SELECT COALESCE(NULL::{},\n{text}\n)", parameter.ty.shown());
            return below(view::label_places(session, &selected, label).unwrap_or_default());
        }
        place => place.table(),
    };
    let Some(table) = table else {
        return view::label_places(session, text, label).unwrap_or_default();
    };
    let Some(entry) = state.tables.get(table) else { return Vec::new() };
    let column = match place {
        Place::Default(_, name) | Place::Generated(_, name) => {
            entry.def.columns.iter().find(|column| column.name == *name)
        }
        _ => None,
    };
    // The text has lines of its own, so that its columns are counted as they are.
    let from = format!("FROM {}", quoted_relation(table));
    let as_column =
        column.map(|column| format!("SELECT COALESCE(NULL::{},\n{text}\n) {from}", column.ty));
    let alone = format!("SELECT (\n{text}\n) {from}");
    let found = as_column.into_iter().chain([alone]);
    let mut found = found.filter_map(|q| view::label_places(session, &q, label).ok());
    below(found.next().unwrap_or_default())
}

/// Places in a text that begins in the second line.
fn below(places: Vec<Position>) -> Vec<Position> {
    let places = places.into_iter();
    places.map(|at| Position { line: at.line.saturating_sub(1), ..at }).collect()
}
