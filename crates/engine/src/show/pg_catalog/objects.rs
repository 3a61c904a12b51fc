//! Objects of the catalog by name and by number: values of `regclass` and its kin.

use catalog::State;
use catalog::numbers as catalog_numbers;
use catalog::predefined;
use sql::catalog::UserType;
use sql::statement::{Persistence, RelationName};
use types::packed::search_entries;
use types::{DataType, Error, RegKind, Result, SqlState, Value, object_value};

use super::builtin::{self, Callable};
use super::{SYSTEM_SCHEMAS, catalogs, full_name, numbers, routines, schema, written};
use crate::words::settings::Settings;

/// Catalog and settings by which a session sees objects.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) state: &'a State,
    pub(crate) settings: &'a Settings,
}

/// A relation that a name means.
enum Found {
    /// One of the state's, by its key.
    Own(String),
    /// One of the system's.
    System(&'static str, String),
}

impl Seen<'_> {
    /// A name in this database.
    fn parse(self, text: &str) -> Result<RelationName> {
        RelationName::parse_in(text, &self.state.database.0)
    }

    /// A name that may have the schema of the catalog; of what is in others nothing is here.
    fn in_catalog(self, text: &str) -> Result<String> {
        let name = self.parse(text)?;
        match name.schema.as_deref() {
            None | Some("pg_catalog") => Ok(name.name),
            Some(schema) if self.schemas().any(|(_, known)| known == schema) => Ok(text.to_owned()),
            Some(schema) => Err(missing(SqlState::UNDEFINED_SCHEMA, "schema", schema)),
        }
    }

    /// The object of `kind` that `text` names.
    ///
    /// # Errors
    /// 42P01, 42704, 42883, 3F000 when there is none.
    pub(crate) fn named(self, kind: RegKind, text: &str) -> Result<Value> {
        if text == kind.nothing() {
            return Ok(object_value(0, text));
        }
        if let Ok(number) = text.parse::<u32>() {
            return Ok(self.numbered(kind, number));
        }
        match kind {
            RegKind::Class => self.relation_named(text),
            RegKind::Type => self.type_named(text),
            RegKind::Namespace => {
                let name = single(text)?;
                match self.schemas().find(|(_, known)| *known == name) {
                    Some((number, name)) => Ok(value(number, &written::quoted(name))),
                    None => Err(missing(SqlState::UNDEFINED_SCHEMA, "schema", &name)),
                }
            }
            RegKind::Role => {
                let name = single(text)?;
                if self.has_role(&name) {
                    Ok(value(numbers::role(&name), &written::quoted(&name)))
                } else {
                    Err(missing(SqlState::UNDEFINED_OBJECT, "role", &name))
                }
            }
            RegKind::Proc | RegKind::Procedure => self.function_named(kind, text),
            RegKind::Oper | RegKind::Operator => self.operator_named(kind, text),
            RegKind::Collation => self.collation_called(&self.parse(text)?),
            RegKind::Config => {
                let name = self.in_catalog(text)?;
                let found = search_entries().iter().find(|entry| entry.name == name);
                found.map(|entry| object_value(entry.configuration, entry.name)).ok_or_else(|| {
                    missing(SqlState::UNDEFINED_OBJECT, "text search configuration", text)
                })
            }
            RegKind::Dictionary => {
                let name = self.in_catalog(text)?;
                let found = search_entries().iter().find(|entry| entry.dictionary_name == name);
                found.map(|entry| object_value(entry.dictionary, entry.dictionary_name)).ok_or_else(
                    || missing(SqlState::UNDEFINED_OBJECT, "text search dictionary", text),
                )
            }
        }
    }

    /// The object of `kind` with this number; its digits are the name of one that there is not.
    pub(crate) fn numbered(self, kind: RegKind, number: u32) -> Value {
        let name = match (number, kind) {
            (0, kind) => Some(kind.nothing().to_owned()),
            (_, RegKind::Class) => self.relation_numbered(number),
            (_, RegKind::Type) => self.type_numbered(number),
            (_, RegKind::Namespace) => {
                let found = self.schemas().find(|(known, _)| *known == i64::from(number));
                found.map(|(_, name)| written::quoted(name).into_owned())
            }
            (_, RegKind::Role) => self.role_numbered(number),
            (_, RegKind::Proc) => {
                builtin::function_shown(number).or_else(|| routines::shown(self, number, kind))
            }
            (_, RegKind::Procedure) => {
                let found = builtin::functions().numbered(number);
                let found = found.map(|found| self.signature(found, &quoted(found.name), "-"));
                found.or_else(|| routines::shown(self, number, kind))
            }
            (_, RegKind::Oper) => {
                let found = builtin::operators().numbered(number);
                found.map(|found| match builtin::operators().named(found.name).nth(1) {
                    None => found.name.to_owned(),
                    Some(_) => format!("pg_catalog.{}", found.name),
                })
            }
            (_, RegKind::Operator) => {
                let found = builtin::operators().numbered(number);
                found.map(|found| self.signature(found, found.name, "NONE"))
            }
            (_, RegKind::Collation) => self.collation_numbered(number),
            (_, RegKind::Config) => {
                let found = search_entries().iter().find(|entry| entry.configuration == number);
                found.map(|entry| entry.name.to_owned())
            }
            (_, RegKind::Dictionary) => {
                let found = search_entries().iter().find(|entry| entry.dictionary == number);
                found.map(|entry| entry.dictionary_name.to_owned())
            }
        };
        object_value(number, &name.unwrap_or_else(|| number.to_string()))
    }

    /// A type as a value of `regtype`.
    pub(crate) fn type_value(self, ty: DataType) -> Value {
        // What has no type yet has one in the catalog.
        let number = if ty == DataType::Unknown { 705 } else { numbers::of_type(ty).0 };
        match u32::try_from(number) {
            Ok(number) => {
                let name = self.type_numbered(number).unwrap_or_else(|| ty.name().to_owned());
                object_value(number, &name)
            }
            Err(_) => object_value(0, ty.name()),
        }
    }

    /// The session's schemas and those of the system.
    fn schemas(&self) -> impl Iterator<Item = (i64, &str)> {
        let own = self.state.schema_names().map(|name| (numbers::schema(name), name));
        let temporary = (numbers::schema("pg_temp"), "pg_temp");
        SYSTEM_SCHEMAS.into_iter().chain(own).chain([temporary])
    }

    fn has_role(&self, name: &str) -> bool {
        self.state.roles.contains_key(name)
            || predefined::named(name).is_some()
            || self.settings.user().unwrap_or("tessera") == name
    }

    fn role_numbered(&self, number: u32) -> Option<String> {
        let known = self.state.roles.keys().map(String::as_str);
        let own = self.settings.user().unwrap_or("tessera");
        let mut all = known.chain(predefined::ROLES.iter().map(|role| role.name)).chain([own]);
        let found = all.find(|name| numbers::role(name) == i64::from(number))?;
        Some(written::quoted(found).into_owned())
    }

    fn relation_named(self, text: &str) -> Result<Value> {
        let name = self.parse(text)?;
        match self.find(&name) {
            Some(Found::Own(key)) => {
                let number = self.state.relation_number(&key).unwrap_or_default();
                Ok(value(number, &self.shown(&key)))
            }
            Some(Found::System(schema, name)) => Ok(self.system_value(schema, &name)),
            None => {
                let message = format!("relation \"{}\" does not exist", plain(&name));
                Err(Error::new(SqlState::UNDEFINED_TABLE, message))
            }
        }
    }

    /// A relation of the system as a value of `regclass`.
    fn system_value(&self, schema: &'static str, name: &str) -> Value {
        let is_bare = schema == "pg_catalog" || self.settings.schemas().any(|own| own == schema);
        let shown = if is_bare { name.to_owned() } else { format!("{schema}.{name}") };
        value(catalogs::number_in(schema, name), &shown)
    }

    /// The relation that a name means.
    fn find(&self, name: &RelationName) -> Option<Found> {
        let within = |schema: &str| {
            let system = SYSTEM_SCHEMAS.into_iter().find(|(_, known)| *known == schema);
            if let Some((_, schema)) = system {
                let known = schema::find(schema, &name.name).is_some();
                return known.then(|| Found::System(schema, name.name.clone()));
            }
            let schema = Some(schema.to_owned());
            let key = RelationName { schema, name: name.name.clone() }.key();
            self.state.contains(&key).then_some(Found::Own(key))
        };
        if let Some(schema) = &name.schema {
            return within(schema);
        }
        let is_named = self.settings.schemas().any(|schema| schema == "pg_catalog");
        let implied = (!is_named).then_some("pg_catalog");
        let path = self.settings.implied_temporary().into_iter().chain(implied);
        let path = path.chain(self.settings.schemas());
        path.into_iter().find_map(within)
    }

    fn relation_numbered(self, number: u32) -> Option<String> {
        if let Some(key) = self.state.relation_numbered(i64::from(number)) {
            return Some(self.shown(key));
        }
        let (schema, name) = catalogs::numbered(i64::from(number))?;
        let value = self.system_value(schema, name);
        match value {
            Value::Str(bytes) => {
                Some(String::from_utf8_lossy(types::object_name(&bytes)).into_owned())
            }
            _ => None,
        }
    }

    fn type_named(self, text: &str) -> Result<Value> {
        let is_elsewhere = |name: RelationName| {
            name.schema.is_some_and(|schema| schema != "pg_catalog") && !text.contains('[')
        };
        let is_elsewhere = match self.parse(text) {
            Ok(name) => is_elsewhere(name),
            // Types have names that relations do not have.
            Err(error) if error.state() == SqlState::INVALID_NAME => false,
            Err(error) => return Err(error),
        };
        if let Some(number) = self.own_type_number(text) {
            return Ok(self.numbered(RegKind::Type, number));
        }
        let number = match sql::type_named(text).filter(|_| !is_elsewhere) {
            Some(ty) => Some(numbers::of_type(ty).0),
            None => self.type_number(text),
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.map(|number| self.numbered(RegKind::Type, number)).ok_or_else(|| {
            let message = format!("type \"{text}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }

    /// The number of a type that users made, or of arrays of it, where `text` names one.
    pub(super) fn own_type_number(self, text: &str) -> Option<u32> {
        let (bare, is_array) = match text.trim_end().strip_suffix("[]") {
            Some(bare) => (bare, true),
            None => (text, false),
        };
        let name = self.parse(bare).ok()?;
        // Those of the system come first.
        if name.schema.is_none() && sql::type_named(bare).is_some() {
            return None;
        }
        if let Some(number) = self.extension_type_named(&name, is_array) {
            return Some(number);
        }
        let find = |name: &RelationName| self.own_type(name);
        let found = match (find(&name), name.name.strip_prefix('_')) {
            (Some(ty), _) => return Some(if is_array { ty.array_number() } else { ty.number() }),
            (None, Some(element)) if !is_array => {
                find(&RelationName { name: element.to_owned(), ..name.clone() })
            }
            (None, _) => None,
        };
        found.map(|found| found.array_number())
    }

    /// The type of users that a name means.
    fn own_type(self, name: &RelationName) -> Option<UserType> {
        let within = |schema: &str| {
            let schema = Some(schema.to_owned());
            let key = RelationName { schema, name: name.name.clone() }.key();
            self.state.types.get(&key).copied()
        };
        match &name.schema {
            Some(schema) => within(schema),
            None => self.settings.schemas().find_map(within),
        }
    }

    /// The type that the catalog calls `key` as messages show it.
    pub(super) fn shown_type(self, key: &str) -> String {
        if self.is_visible_type(key) {
            quoted(RelationName::name_of_key(key))
        } else {
            full_name(key)
        }
    }

    /// True when its name alone means the type of users that the catalog calls `key`.
    pub(super) fn is_visible_type(self, key: &str) -> bool {
        let name = RelationName { schema: None, name: RelationName::name_of_key(key).to_owned() };
        self.own_type(&name).is_some_and(|found| found.key() == key)
    }

    /// Names and schemas of types of users that the search path does not find.
    pub(super) fn hidden_types<'s>(self) -> impl Iterator<Item = (&'s str, &'s str)>
    where
        Self: 's,
    {
        let hidden = self.state.types.keys().filter(move |key| !self.is_visible_type(key));
        hidden.map(|key| (RelationName::name_of_key(key), RelationName::schema_of_key(key)))
    }

    /// A callable with the types of its arguments.
    fn signature(self, callable: &Callable, name: &str, missing: &str) -> String {
        let ty = |number: &u32| match number {
            0 => missing.to_owned(),
            number => self.type_numbered(*number).unwrap_or_else(|| number.to_string()),
        };
        let types: Vec<String> = callable.arguments.iter().map(ty).collect();
        format!("{name}({})", types.join(","))
    }

    /// The numbers of types between parentheses behind a name, and the name.
    fn split(self, text: &str) -> Result<(&str, Vec<u32>)> {
        let Some((name, rest)) = text.split_once('(') else {
            return Err(Error::new(SqlState::INVALID_TEXT, "expected a left parenthesis"));
        };
        let Some(list) = rest.trim_end().strip_suffix(')') else {
            return Err(Error::new(SqlState::INVALID_TEXT, "expected a right parenthesis"));
        };
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        let number = |word: &str| {
            if word.eq_ignore_ascii_case("none") {
                Ok(0)
            } else {
                match self.type_named(word)? {
                    Value::Str(bytes) => Ok(types::object_number(&bytes)),
                    _ => Ok(0),
                }
            }
        };
        Ok((name.trim(), words.map(number).collect::<Result<_>>()?))
    }

    fn function_named(self, kind: RegKind, text: &str) -> Result<Value> {
        let (name, arguments) = match kind {
            RegKind::Procedure => {
                let (name, arguments) = self.split(text)?;
                (name, Some(arguments))
            }
            _ => (text, None),
        };
        let parsed = self.parse(name)?;
        let is_here = parsed.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
        let found = builtin::functions().named(&parsed.name).filter(|function| {
            is_here && arguments.as_ref().is_none_or(|types| *types == function.arguments)
        });
        let own = routines::meant(self, &parsed, arguments.as_deref());
        let found = found.map(|function| function.number).chain(own);
        self.only(found, kind, text, "function")
    }

    fn operator_named(self, kind: RegKind, text: &str) -> Result<Value> {
        let (name, operands) = match kind {
            RegKind::Operator => {
                let (name, operands) = self.split(text)?;
                if operands.len() != 2 {
                    let message = match operands.len() {
                        0 | 1 => "missing argument",
                        _ => "too many arguments",
                    };
                    return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message));
                }
                (name, Some(operands))
            }
            _ => (text, None),
        };
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        let found = builtin::operators()
            .named(name)
            .filter(|operator| operands.as_ref().is_none_or(|types| *types == operator.arguments));
        self.only(found.map(|operator| operator.number), kind, text, "operator")
    }

    /// The only one of `found`.
    fn only(
        self,
        mut found: impl Iterator<Item = u32>,
        kind: RegKind,
        text: &str,
        what: &str,
    ) -> Result<Value> {
        let state = SqlState::UNDEFINED_FUNCTION;
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(self.numbered(kind, only)),
            (Some(_), Some(_)) => {
                let message = format!("more than one {what} named {}", shown_name(what, text));
                Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message))
            }
            (None, _) if what == "operator" => {
                Err(Error::new(state, format!("operator does not exist: {text}")))
            }
            (None, _) => Err(missing(state, what, text)),
        }
    }

    /// The number of a type of the catalog alone, or of a relation's rows.
    fn type_number(&self, text: &str) -> Option<i64> {
        let name = self.parse(text).ok()?;
        let bare = name.name.as_str();
        if name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog") {
            let found = builtin::types().iter().find(|ty| ty.name == bare);
            if let Some(ty) = found {
                return Some(i64::from(ty.number));
            }
        }
        match self.find(&name)? {
            Found::Own(key) => Some(i64::from(catalog_numbers::row_type(&key))),
            Found::System(..) => None,
        }
    }

    pub(super) fn type_numbered(self, number: u32) -> Option<String> {
        if let Some(ty) = builtin::type_numbered(number) {
            return Some(ty.formatted.to_owned());
        }
        if let Some((ty, is_array)) = self.state.user_type_numbered(number) {
            let suffix = if is_array { "[]" } else { "" };
            return Some(format!("{}{suffix}", self.shown_type(ty.key())));
        }
        if let Some(name) = self.extension_type_numbered(number) {
            return Some(name);
        }
        let number = i64::from(number);
        let mut relations = self.state.tables.keys().chain(self.state.views.keys());
        let key = relations.find(|key| i64::from(catalog_numbers::row_type(key)) == number)?;
        Some(self.shown(key))
    }

    /// True when its name alone means the relation that the catalog calls `key`.
    pub(super) fn is_visible(self, key: &str) -> bool {
        if self.state.persistence_of(key) == Some(Persistence::Temporary) {
            return true;
        }
        let name = RelationName { schema: None, name: RelationName::name_of_key(key).to_owned() };
        matches!(self.find(&name), Some(Found::Own(found)) if found == key)
    }

    /// A relation as messages show it: with its schema where its name alone means another one.
    pub(super) fn shown(self, key: &str) -> String {
        if self.is_visible(key) {
            written::quoted(RelationName::name_of_key(key)).into_owned()
        } else {
            full_name(key)
        }
    }
}

/// A name in messages: operators have no quotes.
fn shown_name(what: &str, text: &str) -> String {
    if what == "operator" { text.to_owned() } else { format!("\"{text}\"") }
}

fn quoted(name: &str) -> String {
    written::quoted(name).into_owned()
}

/// A number of the catalog, which always has 32 bits.
fn value(number: i64, name: &str) -> Value {
    object_value(u32::try_from(number).unwrap_or_default(), name)
}

/// The name as messages have it.
fn plain(name: &RelationName) -> String {
    match &name.schema {
        Some(schema) => format!("{schema}.{}", name.name),
        None => name.name.clone(),
    }
}

/// A name of one part.
fn single(text: &str) -> Result<String> {
    let name = RelationName::parse(text)?;
    match name.schema {
        None => Ok(name.name),
        Some(_) => Err(Error::new(SqlState::INVALID_NAME, "invalid name syntax")),
    }
}

fn missing(state: SqlState, kind: &str, name: &str) -> Error {
    Error::new(state, format!("{kind} \"{name}\" does not exist"))
}
