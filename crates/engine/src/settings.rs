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
    /// A number of kilobytes, or one with a unit; 0 stands for no limit.
    Kilobytes,
    /// SHOW only.
    ReadOnly,
    /// Milliseconds, or a number with a unit.
    Milliseconds,
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
    known("idle_in_transaction_session_timeout", "0", Access::Milliseconds),
    known("idle_session_timeout", "0", Access::Milliseconds),
    known("in_hot_standby", "off", Access::ReadOnly),
    known("index_paths", "on", Access::OneOf(&["off", "on", "prefer"])),
    known("integer_datetimes", "on", Access::ReadOnly),
    known("intervalstyle", "postgres", Access::Fixed),
    known("is_superuser", "on", Access::ReadOnly),
    known("max_identifier_length", "63", Access::ReadOnly),
    known("max_index_keys", "32", Access::ReadOnly),
    known("search_path", "public", Access::Any),
    known("server_encoding", "UTF8", Access::ReadOnly),
    known("server_version", "15.0 (Tessera 0.1.0)", Access::ReadOnly),
    known("server_version_num", "150000", Access::ReadOnly),
    known("session_authorization", "tessera", Access::ReadOnly),
    known("standard_conforming_strings", "on", Access::Fixed),
    known("statement_timeout", "0", Access::Milliseconds),
    known("synchronous_commit", "on", Access::Any),
    known("temp_directory", "", Access::Any),
    known("timezone", "UTC", Access::Fixed),
    known("work_mem", "0", Access::Kilobytes),
];

/// The values a session changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    changed: Vec<(&'static str, String)>,
    /// What RESET goes back to, where that is not the default of all.
    base: Vec<(&'static str, String)>,
    /// Moves with each change.
    version: u64,
    user: Option<String>,
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

/// Whether `value` is another name of the only encoding.
fn is_utf8(known: &Known, value: &str) -> bool {
    let plain: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    known.name == "client_encoding"
        && ["utf8", "unicode"].iter().any(|name| plain.eq_ignore_ascii_case(name))
}

/// Milliseconds, perhaps with a unit: "1500", "2s", "5 min".
fn parse_ms(name: &str, text: &str) -> Result<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "ms" => Some(1),
        "s" => Some(1_000),
        "min" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let ms = factor.and_then(|factor| number.parse::<u64>().ok()?.checked_mul(factor));
    ms.filter(|ms| *ms <= i32::MAX as u64).ok_or_else(|| {
        let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
        Error::new(SqlState::INVALID_PARAMETER, message)
            .with_hint("Give milliseconds, or a number with ms, s, min, h or d.")
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
        if known.name == "session_authorization"
            && let Some(user) = &self.user
        {
            return Ok(user.clone());
        }
        let changed = self.changed.iter().find(|(n, _)| *n == known.name);
        Ok(changed.map_or_else(|| known.default.to_owned(), |(_, value)| value.clone()))
    }

    /// Changes `name`; None resets it.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let known = find(name)?;
        self.version += 1;
        let before = self.changed.clone();
        self.changed.retain(|(n, _)| *n != known.name);
        let Some(value) = value else {
            let base = self.base.iter().find(|(n, _)| *n == known.name);
            self.changed.extend(base.cloned());
            return Ok(());
        };
        let outcome = self.change(known, name, value);
        if outcome.is_err() {
            self.changed = before;
        }
        outcome
    }

    fn change(&mut self, known: &'static Known, name: &str, value: &str) -> Result<()> {
        let same = value.eq_ignore_ascii_case(known.default) || is_utf8(known, value);
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
            Access::Kilobytes => {
                let is_plain = value.trim().bytes().all(|byte| byte.is_ascii_digit());
                let unit = if is_plain && value.trim() != "0" { "kB" } else { "" };
                let value = format!("{}{unit}", value.trim());
                parse_bytes(name, &value)?;
                self.changed.push((known.name, value));
                Ok(())
            }
            Access::Milliseconds => {
                let ms = parse_ms(name, value)?;
                self.changed.push((known.name, ms.to_string()));
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
        self.changed.clone_from(&self.base);
        self.version += 1;
    }

    /// What was set so far is what RESET goes back to.
    pub(crate) fn keep_as_base(&mut self) {
        self.base.clone_from(&self.changed);
    }

    /// Moves with each change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Who the session is; nobody in particular when it is the library's.
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Says who the session is.
    pub(crate) fn set_user(&mut self, user: &str) {
        self.user = Some(user.to_owned());
        self.version += 1;
    }

    /// Names and values of all settings.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let value = |k: &Known| (k.name.to_owned(), self.get(k.name).unwrap_or_default());
        KNOWN.iter().map(value).collect()
    }
}
