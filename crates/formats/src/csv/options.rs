//! Options of CSV.

use engine::registry::FileOptions;
use types::calendar::TimeZone;
use types::{DataType, Error, Result, SqlState};

use crate::rows::OnError;

/// Contents of the first record: names or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// The record holds names, which are not looked at when the target is known.
    Present,
    /// The record holds names, which must be those of the target.
    Match,
    /// The record holds values.
    Absent,
}

/// How a file is written.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    pub(crate) quote: u8,
    pub(crate) escape: u8,
    /// Byte that ends a record.
    pub(crate) newline: u8,
    pub(crate) null: String,
    /// Columns whose values are always in quotes; none for no column.
    pub(crate) always_quoted: Vec<bool>,
    /// Columns without NULLs: the text that stands for it is itself.
    pub(crate) never_null: Vec<bool>,
    /// Columns in which the text that stands for NULL does so in quotes, too.
    pub(crate) quoted_null: Vec<bool>,
    /// Whose clocks show times with a zone.
    pub(crate) zone: TimeZone,
    /// Characters whose only byte in the encoding of the file is that of one in ASCII.
    pub(crate) alike: &'static [(char, u8)],
}

/// Which way rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// COPY FROM.
    In,
    /// COPY TO.
    Out,
}

/// All options; what was not given is None and found out or defaulted.
#[derive(Clone, Debug)]
pub(crate) struct CsvOptions {
    pub(crate) header: Option<Header>,
    pub(crate) delimiter: Option<u8>,
    pub(crate) quote: u8,
    pub(crate) escape: Option<u8>,
    pub(crate) null: String,
    pub(crate) on_error: OnError,
    /// All columns are text: `all_varchar => true`.
    pub(crate) all_text: bool,
    /// FORCE_QUOTE, FORCE_NULL, FORCE_NOT_NULL: option and columns, `*` for all.
    forced: Vec<(String, String)>,
    /// Whose clocks show times with a zone.
    pub(crate) zone: TimeZone,
    /// As [`Dialect::alike`].
    alike: &'static [(char, u8)],
}

fn invalid(name: &str, value: &str) -> Error {
    let message = format!("invalid value for CSV option \"{name}\": \"{value}\"");
    Error::new(SqlState::INVALID_PARAMETER, message)
}

fn one_byte(name: &str, value: &str) -> Result<u8> {
    match value.as_bytes() {
        [byte] if byte.is_ascii() && !b"\r\n".contains(byte) => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("COPY {name} must be a single one-byte character"),
        )),
    }
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" | "t" => Ok(true),
        "false" | "off" | "0" | "f" => Ok(false),
        _ => Err(invalid(name, value)),
    }
}

impl CsvOptions {
    /// The options in `given`.
    pub(crate) fn new(given: FileOptions<'_>) -> Result<Self> {
        let mut options = Self {
            header: None,
            delimiter: None,
            quote: b'"',
            escape: None,
            null: String::new(),
            on_error: OnError::Stop,
            all_text: false,
            forced: Vec::new(),
            zone: given.zone.clone(),
            alike: given.charset.written_as_ascii(),
        };
        for (name, value) in given.given {
            match name.as_str() {
                "header" if value.eq_ignore_ascii_case("match") => {
                    options.header = Some(Header::Match);
                }
                "header" => {
                    let present = flag(name, value)?;
                    options.header = Some(if present { Header::Present } else { Header::Absent });
                }
                "delimiter" => options.delimiter = Some(one_byte(name, value)?),
                "quote" => options.quote = one_byte(name, value)?,
                "escape" => options.escape = Some(one_byte(name, value)?),
                "null" | "nullstr" => options.null = value.clone(),
                "ignore_errors" => {
                    let ignore = flag(name, value)?;
                    options.on_error = if ignore { OnError::Ignore } else { OnError::Stop };
                }
                "all_varchar" => options.all_text = flag(name, value)?,
                "force_quote" | "force_null" | "force_not_null" => {
                    options.forced.push((name.clone(), value.clone()));
                }
                // How rows are kept is the table's business.
                "freeze" => _ = flag(name, value)?,
                // It is known.
                "encoding" => {}
                "on_error" => {
                    options.on_error = match value.to_ascii_lowercase().as_str() {
                        "stop" => OnError::Stop,
                        "ignore" => OnError::Ignore,
                        _ => return Err(invalid(name, value)),
                    };
                }
                _ => {
                    let message = format!("option \"{name}\" not recognized for CSV");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
            }
        }
        Ok(options)
    }

    /// The dialect of rows with these columns.
    pub(crate) fn dialect_of(&self, columns: &[(String, DataType)], way: Way) -> Result<Dialect> {
        let mut dialect = self.dialect(b',')?;
        for (option, names) in &self.forced {
            let (target, needs) = match option.as_str() {
                "force_quote" => (&mut dialect.always_quoted, Way::Out),
                "force_null" => (&mut dialect.quoted_null, Way::In),
                _ => (&mut dialect.never_null, Way::In),
            };
            if way != needs {
                let direction = if needs == Way::Out { "TO" } else { "FROM" };
                let option = option.replace('_', " ");
                let message = format!("COPY {option} only available using COPY {direction}");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            *target = vec![names == "*"; columns.len()];
            for name in names.split(',').filter(|_| names != "*") {
                let Some(at) = columns.iter().position(|(known, _)| known == name) else {
                    let option = option.to_uppercase();
                    let message = format!("{option} column \"{name}\" not referenced by COPY");
                    return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
                };
                target[at] = true;
            }
        }
        Ok(dialect)
    }

    /// The dialect, with `delimiter` when none was given.
    pub(crate) fn dialect(&self, delimiter: u8) -> Result<Dialect> {
        let delimiter = self.delimiter.unwrap_or(delimiter);
        if delimiter == self.quote {
            let message = "COPY delimiter and quote must be different";
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        Ok(Dialect {
            delimiter,
            quote: self.quote,
            escape: self.escape.unwrap_or(self.quote),
            newline: b'\n',
            null: self.null.clone(),
            always_quoted: Vec::new(),
            never_null: Vec::new(),
            quoted_null: Vec::new(),
            zone: self.zone.clone(),
            alike: self.alike,
        })
    }
}
