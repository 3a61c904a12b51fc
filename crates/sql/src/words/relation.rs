//! Names of tables, views and sequences, and what the catalog calls them.

use types::{Error, Result, SqlState};

/// Name of a table or view, case-folded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelationName {
    /// The schema, when the name was qualified, or is not `public` by the search path.
    pub schema: Option<String>,
    /// The name itself.
    pub name: String,
}

impl std::fmt::Display for RelationName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.schema {
            Some(schema) if schema != Self::NOWHERE => write!(f, "{schema}.{}", self.name),
            _ => f.write_str(&self.name),
        }
    }
}

impl RelationName {
    /// Stands for the schema of a name that no schema of the search path has.
    pub const NOWHERE: &str = "\0";

    /// The name in `public`.
    pub fn public(name: &str) -> Self {
        Self { schema: None, name: name.to_owned() }
    }

    /// Its schema.
    pub fn schema_name(&self) -> &str {
        match self.schema.as_deref() {
            None | Some("main") => "public",
            Some(schema) => schema,
        }
    }

    /// Key of the relation in the catalog: its name in `public`, and `schema.name` elsewhere;
    /// those of the session are in `pg_temp`. A name in `public` with a point has another one in
    /// front.
    pub fn key(&self) -> String {
        match self.schema.as_deref() {
            None | Some("public" | "main") if self.name.contains('.') => {
                format!(".{}", self.name)
            }
            None | Some("public" | "main") => self.name.clone(),
            Some(schema) => format!("{schema}.{}", self.name),
        }
    }

    /// The relation that the catalog calls `key`.
    pub fn of_key(key: &str) -> Self {
        match key.split_once('.') {
            None | Some(("", _)) => Self::public(key.strip_prefix('.').unwrap_or(key)),
            Some((schema, name)) => Self { schema: Some(schema.to_owned()), ..Self::public(name) },
        }
    }

    /// Key in the catalog of relation `name` in the schema of the relation with the key `key`.
    pub fn key_beside(key: &str, name: &str) -> String {
        Self { name: name.to_owned(), ..Self::of_key(key) }.key()
    }

    /// The schema of the relation that the catalog calls `key`.
    pub fn schema_of_key(key: &str) -> &str {
        match key.split_once('.') {
            None | Some(("", _)) => "public",
            Some((schema, _)) => schema,
        }
    }

    /// Its name there.
    pub fn name_of_key(key: &str) -> &str {
        key.split_once('.').map_or(key, |(_, name)| name)
    }

    /// The name that `text` writes by SQL's rules for identifiers.
    ///
    /// # Errors
    /// 42602 for text that is no name of one or two parts.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of_parts(name_parts(text)?).map_err(|_| invalid_name())
    }

    /// As [`Self::parse`], perhaps behind the name of the database, which is `database`.
    ///
    /// # Errors
    /// 42602 for text that is no name, 0A000 for one of another database, 42601 for more parts.
    pub fn parse_in(text: &str, database: &str) -> Result<Self> {
        let mut parts = name_parts(text)?;
        if parts.len() == 3 {
            if parts[0] != database {
                return Err(Self::elsewhere(&parts));
            }
            parts.remove(0);
        }
        Self::of_parts(parts).map_err(|parts| {
            let name = parts.join(".");
            let message = format!("improper relation name (too many dotted names): {name}");
            Error::new(SqlState::SYNTAX_ERROR, message)
        })
    }

    /// 0A000 for a name of another database.
    pub(crate) fn elsewhere(parts: &[String]) -> Error {
        let name = parts.join(".");
        let message = format!("cross-database references are not implemented: \"{name}\"");
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }

    /// The name of one or two parts; otherwise they come back.
    fn of_parts(parts: Vec<String>) -> std::result::Result<Self, Vec<String>> {
        match <[String; 2]>::try_from(parts) {
            Ok([schema, name]) => Ok(Self { schema: Some(schema), name }),
            Err(mut parts) if parts.len() == 1 => {
                Ok(Self { schema: None, name: parts.swap_remove(0) })
            }
            Err(parts) => Err(parts),
        }
    }

    /// [`Self::quoted`] with its schema, whatever that is: no search path reads it otherwise.
    pub fn quoted_in_schema(&self) -> String {
        let schema = Some(self.schema_name().to_owned());
        Self { schema, name: self.name.clone() }.quoted()
    }

    /// The name as [`Self::parse`] reads it back.
    pub fn quoted(&self) -> String {
        let part = |part: &String| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let digit = |c: char| c.is_ascii_digit();
            if part.chars().all(plain) && !part.starts_with(digit) {
                part.clone()
            } else {
                format!("\"{}\"", part.replace('"', "\"\""))
            }
        };
        match &self.schema {
            Some(schema) => format!("{}.{}", part(schema), part(&self.name)),
            None => part(&self.name),
        }
    }
}

fn invalid_name() -> Error {
    Error::new(SqlState::INVALID_NAME, "invalid name syntax")
}

/// The parts of a name by SQL's rules for identifiers.
fn name_parts(text: &str) -> Result<Vec<String>> {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                // Two quotes inside are one.
                let mut quotes = quoted.match_indices('"').map(|(at, _)| at);
                let is_end = |at: &usize| !quoted[at + 1..].starts_with('"');
                let end = loop {
                    let at = quotes.next().ok_or_else(invalid_name)?;
                    if is_end(&at) {
                        break at;
                    }
                    quotes.next();
                };
                (quoted[..end].replace("\"\"", "\""), &quoted[end + 1..])
            }
            None => {
                let is_end = |c: char| c == '.' || c.is_ascii_whitespace();
                let end = rest.find(is_end).unwrap_or(rest.len());
                (rest[..end].to_lowercase(), &rest[end..])
            }
        };
        if part.is_empty() {
            return Err(invalid_name());
        }
        parts.push(part);
        let after = after.trim_start();
        match after.strip_prefix('.') {
            Some(after) => rest = after.trim_start(),
            None if after.is_empty() => return Ok(parts),
            None => return Err(invalid_name()),
        }
    }
}
