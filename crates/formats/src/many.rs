//! Several files as one relation: lists of names, patterns, columns from the files' names.
//!
//! ```text
//! '2024/*.csv'           all files whose names fit, in the order of their names
//! 'year=2024/a.parquet'  year is a column (hive partitions)
//! filename => true       and so is the name of the file
//! ```
//! The first file gives the columns; the others have the same names, in any order, or with
//! `union_by_name` any names. Columns of several types get one that holds them all.

use std::sync::Arc;

use engine::registry::{FileFormat, FileOptions, OpenedFile};
use exec::BatchSource;
use kernels::{Batch, Column, Vector, VectorBuilder};
use types::charset::Charset;
use types::{DataType, Error, Result, SqlState, Value, text};

/// Options that are about files and not about what is in them.
#[derive(Default)]
pub(crate) struct ManyOptions {
    /// The column with the name of the file.
    filename: Option<String>,
    union_by_name: bool,
    /// None: where all names have the same partitions.
    hive: Option<bool>,
}

impl ManyOptions {
    /// Takes its options out of `given`.
    ///
    /// # Errors
    /// 22023 for values that are no truth values.
    pub(crate) fn take(given: &mut Vec<(String, String)>) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in std::mem::take(given) {
            let truth = || match value.as_str() {
                "true" | "t" | "1" => Ok(true),
                "false" | "f" | "0" => Ok(false),
                _ => Err(Error::new(
                    SqlState::INVALID_PARAMETER,
                    format!("invalid value for option \"{name}\": \"{value}\""),
                )),
            };
            match name.as_str() {
                "filename" => {
                    options.filename = match value.as_str() {
                        "true" => Some("filename".to_owned()),
                        "false" => None,
                        _ => Some(value),
                    }
                }
                "union_by_name" => options.union_by_name = truth()?,
                "hive_partitioning" => options.hive = Some(truth()?),
                _ => given.push((name, value)),
            }
        }
        Ok(options)
    }
}

/// The files that `path` means: itself, or all whose names fit where it has `*`, `?` or `[`.
///
/// # Errors
/// 58P01 when a pattern fits none, 22023 when it is none.
pub(crate) fn expanded(path: &str) -> Result<Vec<String>> {
    let is_pattern = path.contains(['*', '?', '[']) && !std::path::Path::new(path).exists();
    if !is_pattern {
        return Ok(vec![path.to_owned()]);
    }
    let found = glob::glob(path).map_err(|error| {
        let message = format!("invalid pattern of file names \"{path}\": {}", error.msg);
        Error::new(SqlState::INVALID_PARAMETER, message)
    })?;
    let mut files = Vec::new();
    for entry in found {
        let entry = entry.map_err(|error| {
            let name = error.path().display().to_string();
            crate::output::io_error(&name, "read", error.error())
        })?;
        if entry.is_file() {
            files.push(entry.display().to_string());
        }
    }
    if files.is_empty() {
        let message = format!("no files match the pattern \"{path}\"");
        return Err(Error::new(SqlState::UNDEFINED_FILE, message));
    }
    Ok(files)
}

/// Where a column of the relation comes from in one file.
enum From {
    /// Column of the file, and its type there.
    Own(usize, DataType),
    /// The same value in all rows.
    Constant(Value),
}

/// One of the files.
struct Part {
    path: String,
    source: Arc<dyn BatchSource>,
    columns: Vec<From>,
}

/// The rows of all files, one file after the other.
struct Many {
    parts: Vec<Part>,
    /// The number of each part's first work order, and the number of all.
    starts: Vec<usize>,
    types: Vec<DataType>,
}

/// Opens `paths` as one relation.
///
/// # Errors
/// Errors of `format` for a file, 42P10 when a file lacks a column of the first.
pub(crate) fn open(
    format: &dyn FileFormat,
    paths: &[String],
    given: &[(String, String)],
    many: &ManyOptions,
) -> Result<OpenedFile> {
    let zone = types::calendar::TimeZone::UTC;
    let opened = |path: &str, given: &[(String, String)]| {
        format.open(path, FileOptions::new(given, &zone, Charset::UTF8)?, None)
    };
    let partitions = partitions(paths, many.hive);
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        types::budget::check()?;
        files.push(opened(path, given)?);
    }
    if let ([_], true, None) = (paths, partitions.is_empty(), &many.filename) {
        return files.pop().ok_or_else(|| Error::internal("one file was opened"));
    }
    let own = united(&files, paths, many.union_by_name)?;
    let mut columns = own.clone();
    for (at, name) in partitions.iter().enumerate() {
        let values: Vec<String> =
            paths.iter().map(|path| hive_values(path)[at].1.clone()).collect();
        columns.retain(|(known, _)| known != name);
        columns.push((name.clone(), type_of_all(&values)));
    }
    if let Some(name) = &many.filename {
        columns.push((name.clone(), DataType::Text));
    }
    let mut rows = Some(0);
    let mut parts = Vec::with_capacity(files.len());
    for (mut file, path) in files.into_iter().zip(paths) {
        let is_text = |(name, ty): &(String, DataType)| {
            let wanted = columns.iter().find(|(known, _)| known == name);
            *ty == DataType::Text || wanted.is_none_or(|(_, wanted)| *wanted != DataType::Text)
        };
        if !file.columns.iter().all(is_text) && format.keeps_text() {
            // What looks like a number here is text elsewhere, and is to stay as it is written.
            let is_named = file.columns.first().is_none_or(|(name, _)| name != "column0");
            let mut given = given.to_vec();
            given.retain(|(name, _)| name != "header" && name != "all_varchar");
            given.push(("header".to_owned(), is_named.to_string()));
            given.push(("all_varchar".to_owned(), "true".to_owned()));
            file = opened(path, &given)?;
        }
        rows = rows.zip(file.rows).map(|(a, b)| a + b);
        let of_path = hive_values(path);
        let from = |(name, ty): &(String, DataType)| -> Result<From> {
            if let Some(at) = partitions.iter().position(|known| known == name) {
                return Ok(From::Constant(text::parse(&of_path[at].1, *ty)?));
            }
            match file.columns.iter().position(|(known, _)| known == name) {
                Some(ordinal) => Ok(From::Own(ordinal, file.columns[ordinal].1)),
                None if many.filename.as_ref() == Some(name) => {
                    Ok(From::Constant(Value::text(path)))
                }
                None => Ok(From::Constant(Value::Null)),
            }
        };
        let from = columns.iter().map(from).collect::<Result<_>>()?;
        parts.push(Part { path: path.clone(), source: file.source, columns: from });
    }
    let mut starts = vec![0];
    for part in &parts {
        starts.push(starts.last().copied().unwrap_or(0) + part.source.orders());
    }
    let types = columns.iter().map(|(_, ty)| *ty).collect();
    Ok(OpenedFile { columns, rows, source: Arc::new(Many { parts, starts, types }) })
}

/// The columns of all files, those of the first one first.
fn united(
    files: &[OpenedFile],
    paths: &[String],
    by_name: bool,
) -> Result<Vec<(String, DataType)>> {
    let mut columns: Vec<(String, DataType)> = Vec::new();
    for (file, path) in files.iter().zip(paths) {
        for (name, ty) in &file.columns {
            match columns.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = common(*known, *ty),
                None if by_name || std::ptr::eq(file, &files[0]) => {
                    columns.push((name.clone(), *ty));
                }
                None => return Err(mismatch(&paths[0], name, path)),
            }
        }
        let lacks =
            |(name, _): &&(String, DataType)| !file.columns.iter().any(|(known, _)| known == name);
        if let (Some((name, _)), false) = (columns.iter().find(lacks), by_name) {
            return Err(mismatch(path, name, &paths[0]));
        }
    }
    Ok(columns)
}

fn mismatch(path: &str, name: &str, other: &str) -> Error {
    let message = format!("file \"{path}\" has no column \"{name}\", which \"{other}\" has");
    Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
        .with_hint("With union_by_name => true such columns are NULL.")
}

/// A type that holds the values of both.
fn common(a: DataType, b: DataType) -> DataType {
    let is_any = |test: fn(DataType) -> bool| test(a) || test(b);
    let is_float = |ty| matches!(ty, DataType::Real | DataType::Double);
    let is_time = |ty: DataType| {
        [DataType::Date, DataType::TIMESTAMP, DataType::TIMESTAMPTZ].contains(&ty.of_all_digits())
    };
    if a == b {
        a
    } else if a.is_number() && b.is_number() {
        match () {
            () if is_any(is_float) => DataType::Double,
            () if is_any(|ty| matches!(ty, DataType::Numeric(_) | DataType::WideNumeric(_))) => {
                DataType::NUMERIC
            }
            () => DataType::BigInt,
        }
    } else if is_time(a) && is_time(b) {
        if is_any(|ty| ty.of_all_digits() == DataType::TIMESTAMPTZ) {
            DataType::TIMESTAMPTZ
        } else {
            DataType::TIMESTAMP
        }
    } else {
        DataType::Text
    }
}

/// The `key=value` parts among the directories of a path, in order.
fn hive_values(path: &str) -> Vec<(String, String)> {
    let mut directories: Vec<&str> = path.split('/').collect();
    directories.pop();
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        (!key.is_empty() && !value.is_empty()).then(|| (key.to_owned(), value.to_owned()))
    };
    directories.into_iter().filter_map(pair).collect()
}

/// The names of the partitions, which all paths must have alike.
fn partitions(paths: &[String], wanted: Option<bool>) -> Vec<String> {
    if wanted == Some(false) {
        return Vec::new();
    }
    let names = |path: &String| -> Vec<String> {
        hive_values(path).into_iter().map(|(key, _)| key).collect()
    };
    let Some(first) = paths.first().map(names) else { return Vec::new() };
    if paths.iter().all(|path| names(path) == first) { first } else { Vec::new() }
}

/// The type of partitions: whole numbers or dates where all are, else text.
fn type_of_all(values: &[String]) -> DataType {
    let fits = |ty: DataType| values.iter().all(|value| text::parse(value, ty).is_ok());
    let is_code = |value: &String| value.len() > 1 && value.starts_with('0');
    match () {
        () if !values.iter().any(is_code) && fits(DataType::BigInt) => DataType::BigInt,
        () if values.iter().all(|value| value.len() == 10) && fits(DataType::Date) => {
            DataType::Date
        }
        () => DataType::Text,
    }
}

/// `rows` times the same value.
fn constant(value: &Value, ty: DataType, rows: usize) -> Vector {
    let mut builder = VectorBuilder::with_capacity(ty.physical(), rows);
    (0..rows).for_each(|_| builder.push_value(value));
    builder.finish()
}

impl BatchSource for Many {
    fn orders(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    fn run(
        &self,
        order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let at = self.starts.partition_point(|start| *start <= order) - 1;
        let part = &self.parts[at];
        let own: Vec<usize> = columns
            .iter()
            .filter_map(|column| match part.columns[*column] {
                From::Own(ordinal, _) => Some(ordinal),
                From::Constant(_) => None,
            })
            .collect();
        part.source.run(order - self.starts[at], &own, &mut |batch| {
            let mut read = batch.columns.into_iter();
            let mut all = Vec::with_capacity(columns.len());
            for column in columns {
                let to = self.types[*column];
                all.push(match &part.columns[*column] {
                    From::Constant(value) => Column::plain(constant(value, to, batch.rows)),
                    From::Own(_, from) => {
                        let own = read.next().ok_or_else(|| Error::internal("a column"))?;
                        if *from == to {
                            own
                        } else {
                            let cast = kernels::cast::cast(&own.to_vector(), *from, to);
                            Column::plain(cast.map_err(|error| of_file(&error, &part.path))?)
                        }
                    }
                });
            }
            push(Batch::new(all, batch.rows))
        })
    }
}

/// The error with the file in which the value is.
fn of_file(error: &Error, path: &str) -> Error {
    Error::new(error.state(), format!("{path}: {}", error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_one_that_holds_both() {
        assert_eq!(common(DataType::Integer, DataType::BigInt), DataType::BigInt);
        assert_eq!(common(DataType::BigInt, DataType::Double), DataType::Double);
        assert_eq!(common(DataType::Date, DataType::TIMESTAMP), DataType::TIMESTAMP);
        assert_eq!(common(DataType::Date, DataType::BigInt), DataType::Text);
    }

    #[test]
    fn partitions_are_those_that_all_names_have() {
        let paths = |list: &[&str]| list.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
        let found = partitions(&paths(&["d/y=1/m=2/a.csv", "d/y=2/m=1/b.csv"]), None);
        assert_eq!(found, ["y", "m"]);
        assert!(partitions(&paths(&["d/y=1/a.csv", "d/b.csv"]), None).is_empty());
        assert!(partitions(&paths(&["d/y=1/a.csv"]), Some(false)).is_empty());
        assert_eq!(type_of_all(&paths(&["1", "20"])), DataType::BigInt);
        assert_eq!(type_of_all(&paths(&["01", "20"])), DataType::Text);
        assert_eq!(type_of_all(&paths(&["2024-01-02"])), DataType::Date);
    }
}
