//! Time zones by name, abbreviation and offset.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::{SECOND, is_finite_timestamp};
use crate::{Error, Result, SqlState};

/// Abbreviations that PostgreSQL's default set knows, and their offsets from UTC in seconds.
const ABBREVIATIONS: &[(&str, i32)] = &[
    ("z", 0),
    ("zulu", 0),
    ("utc", 0),
    ("ut", 0),
    ("uct", 0),
    ("gmt", 0),
    ("wet", 0),
    ("west", 3600),
    ("bst", 3600),
    ("cet", 3600),
    ("cest", 7200),
    ("met", 3600),
    ("mest", 7200),
    ("eet", 7200),
    ("eest", 10_800),
    ("msk", 10_800),
    ("ist", 7200),
    ("jst", 32_400),
    ("kst", 32_400),
    ("hkt", 28_800),
    ("sgt", 28_800),
    ("aest", 36_000),
    ("aedt", 39_600),
    ("awst", 28_800),
    ("nzst", 43_200),
    ("nzdt", 46_800),
    ("est", -18_000),
    ("edt", -14_400),
    ("cst", -21_600),
    ("cdt", -18_000),
    ("mst", -25_200),
    ("mdt", -21_600),
    ("pst", -28_800),
    ("pdt", -25_200),
    ("akst", -32_400),
    ("akdt", -28_800),
    ("hst", -36_000),
    ("brt", -10_800),
    ("art", -10_800),
    ("nst", -12_600),
    ("ndt", -9000),
    ("ast", -14_400),
    ("adt", -10_800),
];

/// Seconds east of UTC of an abbreviation.
pub(crate) fn abbreviation_offset(name: &str) -> Option<i32> {
    ABBREVIATIONS.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|&(_, seconds)| seconds)
}

enum Zone {
    Fixed(i64),
    Named(TimeZone),
}

/// `+hh[:mm[:ss]]` in the POSIX sense: west of Greenwich is positive.
fn posix_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (-1, &text[1..]),
        b'-' => (1, &text[1..]),
        b'0'..=b'9' => (-1, text),
        _ => return None,
    };
    let mut seconds = 0;
    let mut unit = 3600;
    for part in digits.split(':') {
        if part.is_empty() || part.len() > 2 || unit == 0 {
            return None;
        }
        seconds += part.parse::<i64>().ok()? * unit;
        unit /= 60;
    }
    Some(sign * seconds)
}

fn find(name: &str) -> Result<Zone> {
    let trimmed = name.trim();
    if let Some(seconds) = abbreviation_offset(trimmed) {
        return Ok(Zone::Fixed(i64::from(seconds)));
    }
    if let Ok(zone) = TimeZone::get(trimmed) {
        return Ok(Zone::Named(zone));
    }
    // As POSIX has it: letters, then an offset ("EST5", "UTC+3", "<+03>-3").
    let rest = trimmed.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    if let Some(seconds) = posix_offset(rest) {
        return Ok(Zone::Fixed(seconds));
    }
    let message = format!("time zone \"{name}\" not recognized");
    Err(Error::new(SqlState::INVALID_PARAMETER, message))
}

fn civil(micros: i64) -> Option<DateTime> {
    DateTime::constant(1970, 1, 1, 0, 0, 0, 0)
        .checked_add(micros.div_euclid(SECOND).seconds())
        .ok()?
        .checked_add(micros.rem_euclid(SECOND).microseconds())
        .ok()
}

/// Seconds east of UTC that clocks in `zone` show at the UTC time `micros`.
///
/// # Errors
/// 22023 when there is no such zone.
pub fn zone_offset(zone: &str, micros: i64) -> Result<i64> {
    Ok(match find(zone)? {
        Zone::Fixed(seconds) => seconds,
        Zone::Named(zone) => {
            // Outside jiff's years the zone's rules mean nothing: its end counts.
            let instant = Timestamp::from_microsecond(micros).unwrap_or(if micros < 0 {
                Timestamp::MIN
            } else {
                Timestamp::MAX
            });
            i64::from(zone.to_offset(instant).seconds())
        }
    })
}

/// What clocks in `zone` show at the UTC time `micros`; infinities stay.
///
/// # Errors
/// 22023 when there is no such zone; 22008 when out of range.
pub fn utc_to_local(zone: &str, micros: i64) -> Result<i64> {
    let offset = zone_offset(zone, micros)?;
    if !is_finite_timestamp(micros) {
        return Ok(micros);
    }
    super::check_timestamp(micros.checked_add(offset * SECOND))
}

/// The UTC time at which clocks in `zone` show `micros`. Of two, the one of standard time; a time
/// that clocks skip is read with the offset before the skip. Infinities stay.
///
/// # Errors
/// 22023 when there is no such zone; 22008 when out of range.
pub fn local_to_utc(zone: &str, micros: i64) -> Result<i64> {
    let found = find(zone)?;
    if !is_finite_timestamp(micros) {
        return Ok(micros);
    }
    let offset = match &found {
        Zone::Fixed(seconds) => *seconds,
        Zone::Named(named) => {
            match civil(micros).map(|local| named.to_ambiguous_timestamp(local)) {
                None => return local_far_away(zone, micros),
                Some(ambiguous) => {
                    use jiff::tz::AmbiguousOffset as A;
                    i64::from(match ambiguous.offset() {
                        A::Unambiguous { offset } => offset.seconds(),
                        A::Gap { before, .. } => before.seconds(),
                        A::Fold { after, .. } => after.seconds(),
                    })
                }
            }
        }
    };
    super::check_timestamp(micros.checked_sub(offset * SECOND))
}

fn local_far_away(zone: &str, micros: i64) -> Result<i64> {
    let offset = zone_offset(zone, micros)?;
    super::check_timestamp(micros.checked_sub(offset * SECOND))
}
