//! Collations: those that users made, and where names of all are shown.

use catalog::collations::UserCollation;
use catalog::rights::Object;
use sql::statement::RelationName;
use types::{Collation, CollationProvider, Error, Result, SqlState, Value, object_value};

use super::columns::DATABASE;
use super::objects::Seen;
use super::{Row, Subject, full_name, numbers, written};

/// pg_collation: the rows of those that users made.
pub(super) fn rows(subject: &Subject<'_>) -> Vec<Row> {
    let all = subject.state.collations.iter();
    all.map(|(key, known)| row(subject, key, known)).collect()
}

fn row(subject: &Subject<'_>, key: &str, known: &UserCollation) -> Row {
    let collation = known.collation;
    let provider = if collation.provider() == CollationProvider::Icu { "i" } else { "c" };
    let owner = match known.owner.as_str() {
        "" => subject.owner_of(&Object::Database),
        owner => owner.to_owned(),
    };
    let row = Row::default()
        .number("oid", i64::from(collation.number()))
        .text("collname", RelationName::name_of_key(key))
        .number("collnamespace", numbers::schema(RelationName::schema_of_key(key)))
        .number("collowner", numbers::role(&owner))
        .text("collprovider", provider)
        .flag("collisdeterministic", !collation.has_own_equality())
        .number("collencoding", if known.is_of_any_encoding { -1 } else { 6 })
        .flag("hidden", !subject.seen().is_visible_collation(key));
    let row = match &known.libc {
        Some((collate, ctype)) => row.text("collcollate", collate).text("collctype", ctype),
        None => row.text("colliculocale", collation.locale()),
    };
    match &known.version {
        Some(version) => row.text("collversion", version),
        None => row,
    }
}

/// Schema and name of each collation of the database.
fn all<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = (&'s str, &'s str)> {
    let known = Collation::all().filter_map(Collation::name).map(|name| ("pg_catalog", name));
    let own = subject.state.collations.keys();
    known.chain(own.map(|key| (RelationName::schema_of_key(key), RelationName::name_of_key(key))))
}

fn named(schema: &str, name: &str) -> Row {
    Row::default()
        .text("collation_catalog", DATABASE)
        .text("collation_schema", schema)
        .text("collation_name", name)
}

/// information_schema.collations.
pub(super) fn shown(subject: &Subject<'_>) -> Vec<Row> {
    all(subject).map(|(schema, name)| named(schema, name).text("pad_attribute", "NO PAD")).collect()
}

/// information_schema.collation_character_set_applicability.
pub(super) fn applicable(subject: &Subject<'_>) -> Vec<Row> {
    all(subject)
        .map(|(schema, name)| named(schema, name).text("character_set_name", "UTF8"))
        .collect()
}

/// The row of a column in the information schema with its collation.
pub(super) fn with_name(subject: &Subject<'_>, row: Row, collation: Collation) -> Row {
    let (schema, name) = match (collation.name(), subject.state.collation_key(collation)) {
        (Some(name), _) => ("pg_catalog", name),
        (None, Some(key)) => (RelationName::schema_of_key(key), RelationName::name_of_key(key)),
        (None, None) => return row,
    };
    row.text("collation_catalog", DATABASE)
        .text("collation_schema", schema)
        .text("collation_name", name)
}

impl Seen<'_> {
    /// The key of the collation of users that a name means.
    fn own_collation(self, name: &RelationName) -> Option<String> {
        let find = |schema: Option<&str>| {
            let schema = schema.map(str::to_owned);
            let key = RelationName { schema, name: name.name.clone() }.key();
            self.state.collations.contains_key(&key).then_some(key)
        };
        if name.schema.is_some() {
            return find(name.schema.as_deref());
        }
        if Collation::named(&name.name).is_some() {
            return None;
        }
        self.settings.schemas().find_map(|schema| find(Some(schema)))
    }

    /// True when its name alone means the collation of users that the catalog calls `key`.
    pub(super) fn is_visible_collation(self, key: &str) -> bool {
        let name = RelationName { schema: None, name: RelationName::name_of_key(key).to_owned() };
        self.own_collation(&name).as_deref() == Some(key)
    }

    /// Names and schemas of collations of users that the search path does not find.
    pub(super) fn hidden_collations<'s>(self) -> impl Iterator<Item = (&'s str, &'s str)>
    where
        Self: 's,
    {
        let hidden = self.state.collations.keys();
        let hidden = hidden.filter(move |key| !self.is_visible_collation(key));
        hidden.map(|key| (RelationName::name_of_key(key), RelationName::schema_of_key(key)))
    }

    /// The collation of users that the catalog calls `key` as messages show it.
    fn collation_shown(self, key: &str) -> String {
        if self.is_visible_collation(key) {
            return written::quoted(RelationName::name_of_key(key)).into_owned();
        }
        full_name(key)
    }

    /// A value of REGCOLLATION by a name.
    ///
    /// # Errors
    /// 42704.
    pub(super) fn collation_called(self, name: &RelationName) -> Result<Value> {
        let of_system = matches!(name.schema.as_deref(), None | Some("pg_catalog"));
        if let Some(known) = Collation::named(&name.name).filter(|_| of_system) {
            return Ok(object_value(known.number(), &shown_known(&name.name)));
        }
        let key = self.own_collation(name);
        let known = key.and_then(|key| Some((self.state.collations.get(&key)?.collation, key)));
        match known {
            Some((known, key)) => Ok(object_value(known.number(), &self.collation_shown(&key))),
            None => {
                let message =
                    format!("collation \"{}\" for encoding \"UTF8\" does not exist", name.name);
                Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
            }
        }
    }

    /// The name of the collation with this number.
    pub(super) fn collation_numbered(self, number: u32) -> Option<String> {
        if let Some(name) = Collation::numbered(number).and_then(Collation::name) {
            return Some(shown_known(name));
        }
        let mut own = self.state.collations.iter();
        let (key, _) = own.find(|(_, known)| known.collation.number() == number)?;
        Some(self.collation_shown(key))
    }
}

/// The name of a collation that every database has.
fn shown_known(name: &str) -> String {
    // A word of the grammar.
    if name == "default" { "\"default\"".to_owned() } else { written::quoted(name).into_owned() }
}
