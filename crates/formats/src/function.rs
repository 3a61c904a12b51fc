//! `read_csv('file', option => value)`, `read_parquet('file')` and `read_json('file')` in FROM.

use std::sync::Arc;

use engine::registry::{FileFormat, SourceFunction, TableFunction};
use sql::catalog::{Arguments, TableFunctionRef};
use types::{DataType, Error, Result, SqlState, Value, array, text};

use crate::many::{self, ManyOptions};

/// A table function that reads files of a format. Bound without a session, its times are UTC's.
pub(crate) struct Read {
    name: &'static str,
    format: Arc<dyn FileFormat>,
}

impl Read {
    pub(crate) fn new(name: &'static str, format: &Arc<dyn FileFormat>) -> Self {
        Self { name, format: Arc::clone(format) }
    }
}

impl TableFunction for Read {
    fn reads_files(&self) -> bool {
        true
    }

    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        let [(Value::Str(path), ty)] = arguments.positional.as_slice() else {
            let message = format!("function {} takes names of files and named options", self.name);
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        };
        let mut written = Vec::new();
        match ty {
            DataType::Array(element) => {
                for value in array::values(path, *element) {
                    let Value::Str(path) = value else { continue };
                    written.push(String::from_utf8_lossy(&path).into_owned());
                }
            }
            _ => written.push(String::from_utf8_lossy(path).into_owned()),
        }
        let mut paths = Vec::new();
        for path in &written {
            paths.extend(many::expanded(path)?);
        }
        if paths.is_empty() {
            let message = format!("function {} needs the name of a file", self.name);
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        let option = |(name, value, ty): &(String, Value, types::DataType)| {
            let value = match value {
                Value::Bool(true) => "true".to_owned(),
                Value::Bool(false) => "false".to_owned(),
                value => text::format(value, *ty),
            };
            let name = if name == "delim" || name == "sep" { "delimiter" } else { name };
            (name.to_owned(), value)
        };
        let mut options: Vec<(String, String)> = arguments.named.iter().map(option).collect();
        let of_files = ManyOptions::take(&mut options)?;
        let file = many::open(&*self.format, &paths, &options, &of_files)?;
        let shown = written.join("', '");
        Ok(SourceFunction::bound(format!("{}('{shown}')", self.name), file))
    }
}
