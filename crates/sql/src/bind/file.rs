//! Files as relations: `FROM 'sales.parquet'`.

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState, Value};

use super::scope::Scope;
use super::{Binder, place};
use crate::algebra::{Place, Plan};
use crate::catalog::Arguments;

/// Endings of compressed files, which say nothing of their format.
const COMPRESSIONS: [&str; 3] = [".gz", ".zst", ".zstd"];

/// Endings of names, and the function that reads such files.
const READERS: [(&str, &str); 7] = [
    (".parquet", "read_parquet"),
    (".csv", "read_csv"),
    (".tsv", "read_csv"),
    (".txt", "read_csv"),
    (".json", "read_json"),
    (".jsonl", "read_json"),
    (".ndjson", "read_json"),
];

/// The path that stands in quotes in the place of a relation's name.
pub(super) fn file_path(name: &ast::ObjectName) -> Option<&str> {
    let [part] = name.0.as_slice() else { return None };
    let ident = part.as_ident()?;
    (ident.quote_style == Some('\'')).then_some(ident.value.as_str())
}

/// The function that reads files of the name `path`.
fn reader(path: &str) -> Option<&'static str> {
    let mut name = path.to_ascii_lowercase();
    if let Some(compression) = COMPRESSIONS.iter().find(|end| name.ends_with(**end)) {
        name.truncate(name.len() - compression.len());
    }
    READERS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, reader)| *reader)
}

/// The name of the relation that a file is: that of the file, up to its first point.
fn stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    match file.split('.').next() {
        Some(stem) if !stem.is_empty() => stem,
        _ => file,
    }
}

impl Binder<'_> {
    /// A scan of the file or files that `path` means.
    ///
    /// # Errors
    /// 22023 when the ending tells no format; what the function that reads it says.
    pub(super) fn bind_file(
        &mut self,
        path: &str,
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<(Plan, Scope)> {
        let arguments =
            Arguments { positional: vec![(Value::text(path), DataType::Text)], named: Vec::new() };
        let found = reader(path).and_then(|name| self.catalog.table_function(name, &arguments));
        let Some(bound) = found else {
            let message = format!("no format of files is known for the name \"{path}\"");
            let error = Error::new(SqlState::INVALID_PARAMETER, message).with_hint(
                "Say how to read it: FROM read_csv('...'), read_parquet('...') or \
                 read_json('...').",
            );
            return Err(place(error, at));
        };
        let bound = bound.map_err(|error| place(error, at))?;
        self.scan_of_function(bound, stem(path), alias, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_tell_their_format() {
        assert_eq!(reader("a/b.PARQUET"), Some("read_parquet"));
        assert_eq!(reader("*.csv.gz"), Some("read_csv"));
        assert_eq!(reader("x.jsonl"), Some("read_json"));
        assert_eq!(reader("x"), None);
        assert_eq!(stem("/a/sales.2024.csv"), "sales");
        assert_eq!(stem(".csv"), ".csv");
    }
}
