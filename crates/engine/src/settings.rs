//! SET and SHOW: what a session may say about itself.

use plan::IndexPaths;
use types::{Error, Result, SqlState};

/// A setting: its name, default, and whether SET may change it.
struct Known {
    name: &'static str,
    default: &'static str,
    access: Access,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Any value is kept.
    Any,
    /// Only the default is accepted: other behaviour does not exist.
    Fixed,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A number of bytes; 0 stands for no limit.
    Bytes,
    /// SHOW only.
    ReadOnly,
}

const fn known(name: &'static str, default: &'static str, access: Access) -> Known {
    Known { name, default, access }
}

/// Settings with text values; `threads` and `memory_limit` are the session's.
const KNOWN: &[Known] = &[
    known("application_name", "", Access::Any),
    known("client_encoding", "UTF8", Access::Fixed),
    known("client_min_messages", "notice", Access::Any),
    known("datestyle", "ISO, MDY", Access::Any),
    known("default_transaction_isolation", "repeatable read", Access::Any),
    known("default_transaction_read_only", "off", Access::Any),
    known("extra_float_digits", "1", Access::Any),
    known("index_paths", "on", Access::OneOf(&["off", "on", "prefer"])),
    known("intervalstyle", "postgres", Access::Fixed),
    known("search_path", "public", Access::Any),
    known("server_encoding", "UTF8", Access::ReadOnly),
    known("server_version", "15.0 (Tessera 0.1.0)", Access::ReadOnly),
    known("standard_conforming_strings", "on", Access::Fixed),
    known("statement_timeout", "0", Access::Any),
    known("synchronous_commit", "on", Access::Any),
    known("temp_directory", "", Access::Any),
    known("timezone", "UTC", Access::Fixed),
    known("work_mem", "0", Access::Bytes),
];

/// The values a session changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    changed: Vec<(&'static str, String)>,
}

fn find(name: &str) -> Result<&'static Known> {
    let name = name.strip_prefix("tessera.").unwrap_or(name);
    KNOWN.iter().find(|k| k.name == name).ok_or_else(|| unknown(name))
}

/// 42704 for a setting that does not exist.
pub(crate) fn unknown(name: &str) -> Error {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// Bytes, perhaps with a unit of 1,024: "268435456", "256MB".
pub(crate) fn parse_bytes(name: &str, text: &str) -> Result<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "kb" => Some(10),
        "mb" => Some(20),
        "gb" => Some(30),
        "tb" => Some(40),
        _ => None,
    };
    let bytes = shift.and_then(|shift| number.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.ok_or_else(|| {
        let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
        Error::new(SqlState::INVALID_PARAMETER, message)
            .with_hint("Give bytes, or a number with kB, MB, GB or TB.")
    })
}

impl Settings {
    /// The value of `name` if it was changed: cheaper than [`Self::get`].
    pub(crate) fn changed(&self, name: &str) -> Option<&str> {
        let changed = self.changed.iter().find(|(known, _)| *known == name);
        changed.map(|(_, value)| value.as_str())
    }

    /// Whether queries find rows by indexes.
    pub(crate) fn index_paths(&self) -> IndexPaths {
        match self.changed("index_paths") {
            Some("off") => IndexPaths::Avoid,
            Some("prefer") => IndexPaths::Prefer,
            _ => IndexPaths::Consider,
        }
    }

    /// Bytes that an operator of a worker may hold before it spills, if that was said.
    pub(crate) fn work_bytes(&self) -> Option<u64> {
        let text = self.changed("work_mem")?;
        parse_bytes("work_mem", text).ok().filter(|bytes| *bytes > 0)
    }

    /// The value of `name`.
    pub(crate) fn get(&self, name: &str) -> Result<String> {
        let known = find(name)?;
        let changed = self.changed.iter().find(|(n, _)| *n == known.name);
        Ok(changed.map_or_else(|| known.default.to_owned(), |(_, value)| value.clone()))
    }

    /// Changes `name`; None resets it.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let known = find(name)?;
        self.changed.retain(|(n, _)| *n != known.name);
        let Some(value) = value else {
            return Ok(());
        };
        let same = value.eq_ignore_ascii_case(known.default);
        let utc = known.name == "timezone" && matches!(value, "Etc/UTC" | "GMT" | "utc");
        match known.access {
            Access::ReadOnly => {
                let message = format!("parameter \"{name}\" cannot be changed");
                Err(Error::new(SqlState(*b"55P02"), message))
            }
            Access::Fixed if !same && !utc => {
                Err(Error::unsupported(format!("{name} other than '{}'", known.default)))
            }
            Access::Fixed => Ok(()),
            Access::OneOf(values) => match values.iter().find(|v| v.eq_ignore_ascii_case(value)) {
                Some(value) => {
                    self.changed.push((known.name, (*value).to_owned()));
                    Ok(())
                }
                None => {
                    let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
                    let hint = format!("Available values: {}.", values.join(", "));
                    Err(Error::new(SqlState::INVALID_PARAMETER, message).with_hint(hint))
                }
            },
            Access::Bytes => {
                parse_bytes(name, value)?;
                self.changed.push((known.name, value.to_owned()));
                Ok(())
            }
            Access::Any => {
                self.changed.push((known.name, value.to_owned()));
                Ok(())
            }
        }
    }

    /// Resets everything.
    pub(crate) fn reset(&mut self) {
        self.changed.clear();
    }

    /// Names and values of all settings.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let value = |k: &Known| (k.name.to_owned(), self.get(k.name).unwrap_or_default());
        KNOWN.iter().map(value).collect()
    }
}
