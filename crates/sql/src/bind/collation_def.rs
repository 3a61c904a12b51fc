//! CREATE, ALTER and DROP COLLATION.
//!
//! Source of the rules: PostgreSQL 15, `DefineCollation`.

use sqlparser::ast;
use types::{CollationProvider, Error, Result, SqlState, TextEquality};

use super::name::object_at;
use super::{Binder, fail, place};
use crate::parse::{CollationOption, CollationSource, CollationTree};
use crate::statement::{CollationContent, CollationStatement, RelationName, Statement};

/// Attributes of a collation.
const ATTRIBUTES: [&str; 7] =
    ["from", "locale", "lc_collate", "lc_ctype", "provider", "deterministic", "version"];

/// Locales of the C library that there are.
const LOCALES: [&str; 5] = ["C", "POSIX", "C.utf8", "C.UTF-8", "C.UTF8"];

impl Binder<'_> {
    /// A collation's name with the schema in which the search path finds it.
    pub(super) fn collation_found(&self, name: RelationName) -> RelationName {
        let of_system = match name.schema.as_deref() {
            None => types::Collation::named(&name.name).is_some(),
            Some(schema) => schema == "pg_catalog",
        };
        if of_system {
            return RelationName { schema: Some("pg_catalog".to_owned()), ..name };
        }
        match self.catalog.collation(name.schema.as_deref(), &name.name) {
            Some((key, _)) => RelationName::of_key(&key),
            None => name,
        }
    }

    /// ALTER and DROP COLLATION: what they name is found when they run.
    pub(super) fn bind_collation_statement(&self, statement: &CollationStatement) -> Statement {
        let mut statement = statement.clone();
        match &mut statement {
            CollationStatement::Create { .. } => {}
            CollationStatement::Drop { names, .. } => {
                names.iter_mut().for_each(|name| *name = self.collation_found(name.clone()));
            }
            CollationStatement::Alter { name, .. } => *name = self.collation_found(name.clone()),
        }
        Statement::Collation(Box::new(statement))
    }

    /// CREATE COLLATION.
    pub(super) fn bind_create_collation(&mut self, tree: &CollationTree) -> Result<Statement> {
        let name = self.new_type_name(tree.name.clone())?;
        let content = match &tree.source {
            CollationSource::Copy(from) => self.copied_collation(from)?,
            CollationSource::Options(options) => self.collation_of(options)?,
        };
        let if_exists = tree.if_exists;
        let statement = CollationStatement::Create { name, if_exists, content };
        Ok(Statement::Collation(Box::new(statement)))
    }

    /// The content of a collation that is there.
    fn copied_collation(&mut self, from: &ast::ObjectName) -> Result<CollationContent> {
        let collation = self.collation_named(from)?;
        let locale = collation.locale().to_owned();
        let (locale, libc) = match collation.provider() {
            CollationProvider::Default => {
                let message = "collation \"default\" cannot be copied";
                return fail(SqlState::INVALID_OBJECT_DEFINITION, message, object_at(from));
            }
            CollationProvider::Icu => (Some(locale), None),
            CollationProvider::Libc => (None, Some((locale.clone(), locale))),
        };
        Ok(CollationContent {
            provider: collation.provider(),
            locale,
            libc,
            equality: collation.equality(),
            version: None,
            is_of_any_encoding: true,
        })
    }

    fn collation_of(&mut self, options: &[CollationOption]) -> Result<CollationContent> {
        check_options(options)?;
        let find = |name: &str| options.iter().find(|option| option.name == name);
        if let Some(from) = find("from") {
            if options.len() > 1 {
                let detail = "FROM cannot be specified together with any other options.";
                return Err(redundant(None).with_detail(detail));
            }
            let part = |part: &str| ast::Ident::with_quote('"', part);
            let parts: Vec<ast::Ident> = value(from)?.split('.').map(part).collect();
            return self.copied_collation(&ast::ObjectName::from(parts));
        }
        let text = |name: &str| find(name).map(value).transpose();
        let (locale, collate, ctype) = (text("locale")?, text("lc_collate")?, text("lc_ctype")?);
        if locale.is_some() && (collate.is_some() || ctype.is_some()) {
            let detail = "LOCALE cannot be specified together with LC_COLLATE or LC_CTYPE.";
            return Err(redundant(None).with_detail(detail));
        }
        let equality = match find("deterministic").map(boolean).transpose()? {
            Some(false) => TextEquality::OfLanguage,
            Some(true) | None => TextEquality::OfBytes,
        };
        let provider = match text("provider")?.map(str::to_ascii_lowercase).as_deref() {
            None | Some("libc") => CollationProvider::Libc,
            Some("icu") => CollationProvider::Icu,
            Some(other) => {
                let message = format!("unrecognized collation provider: {other}");
                return fail(SqlState::INVALID_OBJECT_DEFINITION, message, None);
            }
        };
        let libc = if provider == CollationProvider::Libc {
            let collate = needed(locale.or(collate), "lc_collate")?;
            Some((collate.to_owned(), needed(locale.or(ctype), "lc_ctype")?.to_owned()))
        } else {
            needed(locale, "locale")?;
            None
        };
        if provider == CollationProvider::Libc && equality == TextEquality::OfLanguage {
            let message = "nondeterministic collations not supported with this provider";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, None);
        }
        if let Some((collate, ctype)) = &libc {
            check_libc(collate)?;
            check_libc(ctype)?;
        }
        let locale = locale.filter(|_| libc.is_none()).map(str::to_owned);
        let version = text("version")?.map(str::to_owned);
        let is_of_any_encoding = libc.is_none();
        Ok(CollationContent { provider, locale, libc, equality, version, is_of_any_encoding })
    }
}

/// 42601 for attributes that there are none of, or that are given twice.
fn check_options(options: &[CollationOption]) -> Result<()> {
    for (position, option) in options.iter().enumerate() {
        let name = option.name.as_str();
        if !ATTRIBUTES.contains(&name) {
            let message = format!("collation attribute \"{name}\" not recognized");
            return fail(SqlState::SYNTAX_ERROR, message, option.at);
        }
        if options[..position].iter().any(|before| before.name == option.name) {
            return Err(redundant(option.at));
        }
    }
    Ok(())
}

fn redundant(at: crate::algebra::Place) -> Error {
    place(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options"), at)
}

/// The text of an option.
///
/// # Errors
/// 42601 when it has none.
fn value(option: &CollationOption) -> Result<&str> {
    match &option.value {
        Some(value) => Ok(value),
        None => {
            let message = format!("{} requires a parameter", option.name);
            fail(SqlState::SYNTAX_ERROR, message, option.at)
        }
    }
}

/// The truth of an option; one without a value is true.
fn boolean(option: &CollationOption) -> Result<bool> {
    let Some(value) = &option.value else { return Ok(true) };
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => {
            let message = format!("{} requires a Boolean value", option.name);
            fail(SqlState::SYNTAX_ERROR, message, option.at)
        }
    }
}

fn needed<'o>(value: Option<&'o str>, name: &str) -> Result<&'o str> {
    match value {
        Some(value) => Ok(value),
        None => {
            let message = format!("parameter \"{name}\" must be specified");
            fail(SqlState::INVALID_OBJECT_DEFINITION, message, None)
        }
    }
}

/// 22023 for a locale that the C library does not have.
fn check_libc(locale: &str) -> Result<()> {
    if LOCALES.contains(&locale) {
        return Ok(());
    }
    let message = format!("could not create locale \"{locale}\": No such file or directory");
    let detail = format!(
        "The operating system could not find any locale data for the locale name \"{locale}\"."
    );
    Err(Error::new(SqlState::INVALID_PARAMETER, message).with_detail(detail))
}
