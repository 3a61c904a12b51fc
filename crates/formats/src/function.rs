//! `read_csv('file', option => value)` and `read_parquet('file')` in FROM.

use std::sync::Arc;

use engine::registry::{FileFormat, FileOptions, SourceFunction, TableFunction};
use sql::catalog::{Arguments, TableFunctionRef};
use types::calendar::TimeZone;
use types::{Error, Result, SqlState, Value, text};

/// A table function that reads one file of a format.
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
        let [(Value::Str(path), _)] = arguments.positional.as_slice() else {
            let message = format!("function {} takes a file name and named options", self.name);
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        };
        let path = String::from_utf8_lossy(path).into_owned();
        let option = |(name, value, ty): &(String, Value, types::DataType)| {
            let value = match value {
                Value::Bool(true) => "true".to_owned(),
                Value::Bool(false) => "false".to_owned(),
                value => text::format(value, *ty),
            };
            let name = if name == "delim" || name == "sep" { "delimiter" } else { name };
            (name.to_owned(), value)
        };
        let options: Vec<(String, String)> = arguments.named.iter().map(option).collect();
        // It is bound without a session: its times are those of UTC.
        let options = FileOptions { given: &options, zone: &TimeZone::UTC };
        let file = self.format.open(&path, options, None)?;
        Ok(SourceFunction::bound(format!("{}('{path}')", self.name), file))
    }
}
