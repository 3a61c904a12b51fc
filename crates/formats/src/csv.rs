//! CSV as PostgreSQL has it: an unquoted empty field is NULL, quotes are doubled inside quotes.
//!
//! Reading is parallel: a first pass finds record boundaries about every 4 MiB (it counts quotes,
//! so a line break inside quotes is none), then each part is a work order. Line numbers for errors
//! are counted only when there is an error.

mod options;
mod parse;
mod read;
mod sniff;
mod split;
mod write;

pub(crate) use options::{CsvOptions, Dialect, Header, Way};
pub(crate) use parse::CsvRecords;
pub(crate) use sniff::fits;
pub(crate) use split::Quoted;
pub(crate) use write::{write_names, write_row};

use engine::registry::{FileFormat, FileOptions, FileWriter, OpenedFile};
use types::{DataType, Result};

/// The format.
pub(crate) struct Csv;

impl FileFormat for Csv {
    fn open(
        &self,
        path: &str,
        options: FileOptions<'_>,
        target: Option<&[(String, DataType)]>,
    ) -> Result<OpenedFile> {
        read::open(path, options, target)
    }

    fn keeps_text(&self) -> bool {
        true
    }

    fn create(
        &self,
        path: &str,
        options: FileOptions<'_>,
        columns: &[(String, DataType)],
    ) -> Result<Box<dyn FileWriter>> {
        write::create(path, options, columns)
    }
}
