//! Values of settings: switches, numbers with units and how SHOW has them.

use types::charset::Charset;
use types::{Error, Result, SqlState};

/// Unit of a setting that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// No unit.
    None,
    Bytes,
    Kilobytes,
    /// Blocks of eight kilobytes.
    Blocks,
    Milliseconds,
    Seconds,
}

/// Units of time in microseconds, the largest first.
const TIME_UNITS: [(&str, f64); 6] =
    [("d", 86_400e6), ("h", 3_600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3), ("us", 1.0)];

/// Units of memory in bytes, the largest first.
const MEMORY_UNITS: [(&str, f64); 5] = [
    ("TB", 1_099_511_627_776.0),
    ("GB", 1_073_741_824.0),
    ("MB", 1_048_576.0),
    ("kB", 1024.0),
    ("B", 1.0),
];

impl Unit {
    /// As `pg_settings` names it.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Bytes => Some("B"),
            Self::Kilobytes => Some("kB"),
            Self::Blocks => Some("8kB"),
            Self::Milliseconds => Some("ms"),
            Self::Seconds => Some("s"),
        }
    }

    /// How many of the smallest known unit one of it is.
    fn factor(self) -> f64 {
        match self {
            Self::None | Self::Bytes => 1.0,
            Self::Kilobytes => 1024.0,
            Self::Blocks => 8192.0,
            Self::Milliseconds => 1e3,
            Self::Seconds => 1e6,
        }
    }

    /// The units that a value may have.
    fn known(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::None => &[],
            Self::Bytes | Self::Kilobytes | Self::Blocks => &MEMORY_UNITS,
            Self::Milliseconds | Self::Seconds => &TIME_UNITS,
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Milliseconds | Self::Seconds => {
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \
                 \"d\"."
            }
            _ => "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
        }
    }
}

/// Names of settings that are not written as they are kept, in small letters.
const SHOWN_NAMES: [&str; 3] = ["DateStyle", "IntervalStyle", "TimeZone"];

/// The name of a setting as SHOW and `pg_settings` have it.
pub(crate) fn shown_name(name: &str) -> &str {
    let shown = SHOWN_NAMES.into_iter().find(|shown| shown.eq_ignore_ascii_case(name));
    shown.unwrap_or(name)
}

/// 22023.
pub(super) fn invalid(name: &str, text: &str) -> Error {
    let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
    Error::new(SqlState::INVALID_PARAMETER, message)
}

/// `datestyle` after `text` was said, of which what it leaves open is as in `default`: as
/// `ISO, MDY`.
pub(super) fn date_style(text: &str, default: &str) -> Result<String> {
    let (usual_form, usual_order) = default.split_once(", ").unwrap_or(("ISO", "MDY"));
    let (mut form, mut order) = (None, None);
    for word in text.split(',').map(|word| word.trim().to_ascii_lowercase()) {
        let (new_form, new_order) = match word.as_str() {
            "iso" => (Some("ISO"), None),
            "sql" => (Some("SQL"), None),
            word if word.starts_with("postgres") => (Some("Postgres"), None),
            // Whose dates have the day first unless something else is said.
            "german" => (Some("German"), None),
            "ymd" => (None, Some("YMD")),
            word if word == "dmy" || word.starts_with("euro") => (None, Some("DMY")),
            word if word == "mdy" || word == "us" || word.starts_with("noneuro") => {
                (None, Some("MDY"))
            }
            "default" => (Some(usual_form), Some(usual_order)),
            _ => return Err(invalid("DateStyle", text)),
        };
        let conflicts = |old: Option<&str>, new: Option<&str>| {
            word != "default" && matches!((old, new), (Some(old), Some(new)) if old != new)
        };
        if conflicts(form, new_form) || conflicts(order, new_order) {
            return Err(
                invalid("DateStyle", text).with_detail("Conflicting \"datestyle\" specifications.")
            );
        }
        form = form.or(new_form);
        order = order.or(new_order);
    }
    let form = form.unwrap_or(usual_form);
    let order = order.unwrap_or(if form == "German" { "DMY" } else { usual_order });
    Ok(format!("{form}, {order}"))
}

/// An encoding by its name.
///
/// # Errors
/// 22023 for a name of none, 0A000 for one without conversions.
pub(super) fn encoding(name: &str, text: &str) -> Result<Charset> {
    let charset = Charset::named(text).ok_or_else(|| invalid(name, text))?;
    if charset.is_here() {
        return Ok(charset);
    }
    let detail = format!("Conversion between {} and UTF8 is not supported.", charset.name());
    let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail))
}

/// 22023 for a value that is none of the few that there are.
pub(super) fn no_such_value(name: &str, text: &str, values: &[&str]) -> Error {
    invalid(name, text).with_hint(format!("Available values: {}.", values.join(", ")))
}

/// One of `values`; where these have on and off, other words for them are taken, too.
///
/// # Errors
/// 22023.
pub(super) fn one_of(name: &str, text: &str, values: &[&str]) -> Result<String> {
    let find = |text: &str| values.iter().find(|value| value.eq_ignore_ascii_case(text));
    let other_word = || {
        let whole = ["true", "false", "yes", "no", "1", "0"];
        whole.iter().any(|word| word.eq_ignore_ascii_case(text)).then(|| switch(text)).flatten()
    };
    match find(text).or_else(|| find(other_word()?)) {
        Some(value) => Ok((*value).to_owned()),
        None => Err(no_such_value(name, text, values)),
    }
}

/// A boolean as PostgreSQL's settings take it, any beginning of a word that is no other's, as on
/// or off.
pub(super) fn switch(text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || text == "1" {
        return Some("on");
    }
    let is_off = begins("false", 1) || begins("no", 1) || begins("off", 2) || text == "0";
    is_off.then_some("off")
}

/// The number in `text` in the setting's unit.
fn number(name: &str, text: &str, unit: Unit) -> Result<f64> {
    let trimmed = text.trim();
    let hex = trimmed.strip_prefix("0x").or_else(|| trimmed.strip_prefix("0X"));
    if let Some(digits) = hex {
        let value = i64::from_str_radix(digits, 16).map_err(|_| invalid(name, text))?;
        return Ok(value as f64);
    }
    let mut end = 0;
    for (at, c) in trimmed.char_indices() {
        let is_exponent = matches!(c, 'e' | 'E')
            && trimmed[at + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        let is_sign = matches!(c, '-' | '+') && (at == 0 || trimmed[..at].ends_with(['e', 'E']));
        if !(c.is_ascii_digit() || c == '.' || is_exponent || is_sign) {
            break;
        }
        end = at + c.len_utf8();
    }
    let (digits, written) = trimmed.split_at(end);
    let value: f64 = digits.parse().map_err(|_| invalid(name, text))?;
    match written.trim() {
        "" => Ok(value),
        written => match unit.known().iter().find(|(known, _)| *known == written) {
            Some((_, factor)) => Ok(value * factor / unit.factor()),
            None if unit == Unit::None => Err(invalid(name, text)),
            None => Err(invalid(name, text).with_hint(unit.hint())),
        },
    }
}

/// 22023 for a number that is too small or too large.
fn outside(name: &str, value: &str, unit: Unit, range: [String; 2]) -> Error {
    let unit = unit.name().map_or_else(String::new, |unit| format!(" {unit}"));
    let [min, max] = range;
    let message = format!(
        "{value}{unit} is outside the valid range for parameter \"{name}\" ({min} .. {max})"
    );
    Error::new(SqlState::INVALID_PARAMETER, message)
}

/// A whole number, perhaps with a unit: "1500", "2s", "1.5 min"; rounded.
///
/// # Errors
/// 22023.
pub(super) fn integer(name: &str, text: &str, limits: [i64; 2], unit: Unit) -> Result<i64> {
    let value = number(name, text, unit)?.round_ties_even();
    if !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value) {
        return Err(invalid(name, text).with_hint("Value exceeds integer range."));
    }
    let [min, max] = limits;
    match value as i64 {
        value if (min..=max).contains(&value) => Ok(value),
        value => Err(outside(name, &value.to_string(), unit, [min.to_string(), max.to_string()])),
    }
}

/// A number.
///
/// # Errors
/// 22023.
pub(super) fn real(name: &str, text: &str, limits: [f64; 2], unit: Unit) -> Result<f64> {
    let [min, max] = limits;
    let value = number(name, text, unit)?;
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        let max = if max == f64::MAX { "1.79769e+308".to_owned() } else { max.to_string() };
        Err(outside(name, &value.to_string(), unit, [min.to_string(), max]))
    }
}

/// A number as SHOW has it: in the largest unit that leaves a whole number.
pub(super) fn shown(text: &str, unit: Unit) -> String {
    let Some(value) = text.parse::<f64>().ok().filter(|value| *value > 0.0) else {
        return text.to_owned();
    };
    // Fractions of a unit are not exact.
    let smallest = value * unit.factor();
    let whole = |(name, factor): &(&str, f64)| {
        let count = (smallest / factor).round();
        let is_whole = count > 0.0 && (smallest / factor - count).abs() <= count * 1e-8;
        is_whole.then(|| format!("{count}{name}"))
    };
    unit.known().iter().find_map(whole).unwrap_or_else(|| text.to_owned())
}

/// Bytes, perhaps with a unit of 1,024: "268435456", "256MB".
///
/// # Errors
/// 22023.
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
        invalid(name, text).with_hint("Give bytes, or a number with kB, MB, GB or TB.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of PostgreSQL 15.
    #[test]
    fn numbers_have_units() {
        let blocks = |text: &str| integer("x", text, [0, 1 << 30], Unit::Blocks).ok();
        assert_eq!(blocks("4GB"), Some(524_288));
        assert_eq!(blocks("100"), Some(100));
        assert_eq!(blocks("12kB"), Some(2));
        assert_eq!(blocks("1 s"), None);
        assert_eq!(shown("524288", Unit::Blocks), "4GB");
        assert_eq!(shown("1001", Unit::Blocks), "8008kB");
        assert_eq!(shown("90000", Unit::Milliseconds), "90s");
        assert_eq!(shown("0", Unit::Milliseconds), "0");
        assert_eq!(shown("80.1", Unit::Milliseconds), "80100us");
        assert_eq!(shown("13", Unit::Milliseconds), "13ms");
        assert_eq!(shown("-1", Unit::Kilobytes), "-1");
        assert_eq!(integer("x", "1.5 min", [0, 1 << 30], Unit::Milliseconds).ok(), Some(90_000));
        assert_eq!(integer("x", "0x10", [0, 1 << 30], Unit::None).ok(), Some(16));
        assert!(integer("x", "101", [0, 100], Unit::None).is_err());
        assert_eq!(real("x", "1e3", [0.0, f64::MAX], Unit::None).ok(), Some(1000.0));
        assert!(real("x", "abc", [0.0, 1.0], Unit::None).is_err());
    }

    #[test]
    fn switches_take_beginnings_of_words() {
        for (text, expected) in [
            ("t", Some("on")),
            ("TRU", Some("on")),
            ("y", Some("on")),
            ("on", Some("on")),
            ("1", Some("on")),
            ("f", Some("off")),
            ("of", Some("off")),
            ("n", Some("off")),
            ("o", None),
            ("", None),
            ("onn", None),
        ] {
            assert_eq!(switch(text), expected, "{text}");
        }
    }
}
