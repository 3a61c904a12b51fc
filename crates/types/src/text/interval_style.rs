//! Intervals as `intervalstyle` other than postgres writes them.

use std::io::Write;

use super::print::push_fraction;
use crate::Interval;
use crate::calendar::SECOND;

/// How intervals are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 day 02:03:04`.
    #[default]
    Postgres,
    /// `@ 1 day 2 hours 3 mins 4 secs`.
    Verbose,
    /// `P1DT2H3M4S`.
    Iso8601,
    /// `1 2:03:04`.
    SqlStandard,
}

impl IntervalStyle {
    /// The value of `intervalstyle` that `name` is.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "postgres" => Some(Self::Postgres),
            "postgres_verbose" => Some(Self::Verbose),
            "iso_8601" => Some(Self::Iso8601),
            "sql_standard" => Some(Self::SqlStandard),
            _ => None,
        }
    }
}

/// Appends an interval in a style.
pub(super) fn append(out: &mut Vec<u8>, interval: Interval, style: IntervalStyle) {
    match style {
        IntervalStyle::Postgres => super::interval::format_interval(out, interval),
        IntervalStyle::Verbose => verbose(out, interval),
        IntervalStyle::Iso8601 => iso_8601(out, interval),
        IntervalStyle::SqlStandard => sql_standard(out, interval),
    }
}

/// As SQL has it where years and months, or days and a time, of one sign are all that there is;
/// else all of them, with their signs.
fn sql_standard(out: &mut Vec<u8>, interval: Interval) {
    let Interval { months, days, micros } = interval;
    let has_negative = months < 0 || days < 0 || micros < 0;
    let has_positive = months > 0 || days > 0 || micros > 0;
    if !has_negative && !has_positive {
        return out.push(b'0');
    }
    let is_standard =
        !(has_negative && has_positive) && !(months != 0 && (days != 0 || micros != 0));
    let (years, rest) = (months.unsigned_abs() / 12, months.unsigned_abs() % 12);
    let seconds = micros.unsigned_abs() / SECOND as u64;
    let mut time = Vec::new();
    let _ = write!(time, "{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    push_fraction(&mut time, (micros.unsigned_abs() % SECOND as u64) as i64);
    let days_size = days.unsigned_abs();
    if !is_standard {
        let sign = |negative: bool| if negative { '-' } else { '+' };
        let (a, b, c) = (sign(months < 0), sign(days < 0), sign(micros < 0));
        let _ = write!(out, "{a}{years}-{rest} {b}{days_size} {c}");
        return out.extend_from_slice(&time);
    }
    if has_negative {
        out.push(b'-');
    }
    if months != 0 {
        let _ = write!(out, "{years}-{rest}");
        return;
    }
    if days != 0 {
        let _ = write!(out, "{days_size} ");
    }
    out.extend_from_slice(&time);
}

/// Hours, minutes, seconds and microseconds, each with the sign.
fn clock(interval: Interval) -> [i64; 4] {
    let seconds = interval.micros / SECOND;
    [seconds / 3600, seconds / 60 % 60, seconds % 60, interval.micros % SECOND]
}

/// Seconds without their sign.
fn push_seconds(out: &mut Vec<u8>, seconds: i64, micros: i64) {
    let _ = write!(out, "{}", seconds.unsigned_abs());
    push_fraction(out, micros.abs());
}

fn iso_8601(out: &mut Vec<u8>, interval: Interval) {
    let [hours, minutes, seconds, micros] = clock(interval);
    out.push(b'P');
    let start = out.len();
    let part = |out: &mut Vec<u8>, value: i64, unit: char| {
        if value != 0 {
            let _ = write!(out, "{value}{unit}");
        }
    };
    part(out, i64::from(interval.months / 12), 'Y');
    part(out, i64::from(interval.months % 12), 'M');
    part(out, i64::from(interval.days), 'D');
    if interval.micros != 0 {
        out.push(b'T');
        part(out, hours, 'H');
        part(out, minutes, 'M');
        if seconds != 0 || micros != 0 {
            if seconds < 0 || micros < 0 {
                out.push(b'-');
            }
            push_seconds(out, seconds, micros);
            out.push(b'S');
        }
    }
    if out.len() == start {
        out.extend_from_slice(b"T0S");
    }
}

fn verbose(out: &mut Vec<u8>, interval: Interval) {
    let [hours, minutes, seconds, micros] = clock(interval);
    out.push(b'@');
    let (mut is_zero, mut is_before) = (true, false);
    let parts = [
        (i64::from(interval.months / 12), "year"),
        (i64::from(interval.months % 12), "mon"),
        (i64::from(interval.days), "day"),
        (hours, "hour"),
        (minutes, "min"),
    ];
    for (value, unit) in parts.into_iter().filter(|(value, _)| *value != 0) {
        let value = match (is_zero, is_before) {
            (true, _) => {
                is_before = value < 0;
                value.abs()
            }
            (false, true) => -value,
            (false, false) => value,
        };
        is_zero = false;
        let _ = write!(out, " {value} {unit}{}", if value == 1 { "" } else { "s" });
    }
    if seconds != 0 || micros != 0 {
        out.push(b' ');
        match (seconds < 0 || micros < 0, is_zero) {
            (true, true) => is_before = true,
            (true, false) if !is_before => out.push(b'-'),
            (false, _) if is_before => out.push(b'-'),
            _ => {}
        }
        push_seconds(out, seconds, micros);
        let is_one = seconds.abs() == 1 && micros == 0;
        out.extend_from_slice(if is_one { b" sec" } else { b" secs" });
        is_zero = false;
    }
    if is_zero {
        out.extend_from_slice(b" 0");
    }
    if is_before {
        out.extend_from_slice(b" ago");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of PostgreSQL 15.
    #[test]
    fn styles_are_postgresqls() {
        let cases = [
            (
                (14, 3, 14_706_789_000),
                "P1Y2M3DT4H5M6.789S",
                "@ 1 year 2 mons 3 days 4 hours 5 mins 6.789 secs",
            ),
            ((0, 0, 0), "PT0S", "@ 0"),
            ((-14, 3, -1_000_000), "P-1Y-2M3DT-1S", "@ 1 year 2 mons -3 days 1 sec ago"),
            ((0, -1, 3_600_000_000), "P-1DT1H", "@ 1 day -1 hours ago"),
            ((0, 1, -500_000), "P1DT-0.5S", "@ 1 day -0.5 secs"),
        ];
        for ((months, days, micros), iso, long) in cases {
            let value = Interval { months, days, micros };
            for (style, expected) in [(IntervalStyle::Iso8601, iso), (IntervalStyle::Verbose, long)]
            {
                let mut out = Vec::new();
                append(&mut out, value, style);
                assert_eq!(String::from_utf8_lossy(&out), expected);
            }
        }
    }
}
