//! Time zones from text: as `SET timezone` takes them, and as they stand behind a time.

use super::datetime::parse_offset;
use super::interval::parse_interval;
use crate::calendar::{SECOND, TimeZone};
use crate::{Error, Result, SqlState};

impl TimeZone {
    /// The zone that `SET timezone` takes: a name of the time zone database, hours east of UTC,
    /// `INTERVAL '...'`, or a POSIX specification.
    ///
    /// # Errors
    /// 22023.
    pub fn setting(text: &str) -> Result<Self> {
        let invalid = || {
            let message = format!("invalid value for parameter \"TimeZone\": \"{text}\"");
            Error::new(SqlState::INVALID_PARAMETER, message)
        };
        let far = || invalid().with_detail("UTC timezone offset is out of range.");
        if text.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("interval")) {
            let quoted = text[8..].trim();
            let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
            let parsed = inner.map(parse_interval).transpose()?;
            let interval = parsed.ok_or_else(invalid)?;
            for (part, name) in [(interval.months, "months"), (interval.days, "days")] {
                if part != 0 {
                    let detail = format!("Cannot specify {name} in time zone interval.");
                    return Err(invalid().with_detail(detail));
                }
            }
            return Self::offset(interval.micros / SECOND).ok_or_else(far);
        }
        if let Ok(hours) = text.trim_start().parse::<f64>()
            && text.bytes().all(|b| b.is_ascii_digit() || b"+-. eE".contains(&b))
        {
            return Self::offset((hours * 3600.0) as i64).ok_or_else(far);
        }
        Self::by_name(text).ok_or_else(invalid)
    }

    /// A zone that stands behind a time, as [`Self::at`] takes it: `+02` is east of UTC.
    ///
    /// # Errors
    /// 22023.
    pub fn of_time(name: &str) -> Result<String> {
        let error = |message: String| Error::new(SqlState::INVALID_PARAMETER, message);
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!("invalid input syntax for type numeric time zone: \"{name}\"");
            let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
            return Err(error(message).with_hint(hint));
        }
        if !name.starts_with(['+', '-']) {
            return Self::at(name).map(|zone| zone.name().to_owned());
        }
        let seconds = parse_offset(name).map_err(|is_far| {
            if is_far {
                error(format!("numeric time zone \"{name}\" out of range"))
            } else {
                error(format!("time zone \"{name}\" not recognized"))
            }
        })?;
        let found = Self::offset(seconds).map(|zone| zone.name().to_owned());
        found.ok_or_else(|| error(format!("numeric time zone \"{name}\" out of range")))
    }
}
