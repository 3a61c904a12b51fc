//! Time zones by name, abbreviation and offset.
//!
//! The time zone database's rules repeat after 400 years, as the calendar does: what is beyond the
//! years that `jiff` knows is asked about so many years before. In front of its first change a zone
//! has its local mean time.

use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::{Timestamp, ToSpan, tz};

use super::abbreviation::{Meaning, meaning};
use super::{DAY, SECOND, is_finite_timestamp};
use crate::{Error, Result, SqlState};

/// Which of the numbers of a date is the day, where they may be any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

/// A time zone: that of a session, or one that AT TIME ZONE names. Of a session it also says how
/// its texts of dates are read. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeZone {
    rules: Rules,
    order: DateOrder,
    /// The time that is now; None is the clock's.
    now: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rules {
    /// UTC, by one of its names.
    Utc(&'static str),
    /// A name, an abbreviation, and seconds east of UTC.
    Fixed { name: Arc<str>, abbreviation: Arc<str>, seconds: i64 },
    /// A name, and rules.
    Named(Arc<str>, tz::TimeZone),
    /// An abbreviation, and the zone in which it had its meanings.
    Abbreviated(Arc<str>, Box<TimeZone>),
}

impl Default for Rules {
    fn default() -> Self {
        Self::Utc(UTC_NAMES[0])
    }
}

/// The names of UTC that abbreviate to it.
const UTC_NAMES: [&str; 8] =
    ["UTC", "Etc/UTC", "Universal", "Etc/Universal", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT"];

/// Rules of a POSIX zone that names a summer time without them, as PostgreSQL has them.
const SUMMER_RULES: &str = ",M3.2.0,M11.1.0";

/// Days after which the calendar is as it was, 400 years, in microseconds.
const CYCLE: i64 = 146_097 * DAY;

/// 9000-01-01: times behind it are asked about whole cycles before.
const FAR: i64 = 2_567_685 * DAY;

/// Transitions after a time that are looked at for an abbreviation.
const NEXT_MAX: usize = 1000;

/// Hours of an offset that POSIX zones take at most.
const POSIX_HOURS_MAX: i64 = 167;

impl TimeZone {
    /// UTC.
    pub const UTC: Self = Self::of(Rules::Utc(UTC_NAMES[0]));

    const fn of(rules: Rules) -> Self {
        Self { rules, order: DateOrder::Mdy, now: None }
    }

    /// The zone that AT TIME ZONE and texts of timestamps name: abbreviations go first.
    ///
    /// # Errors
    /// 22023.
    pub fn at(name: &str) -> Result<Self> {
        let trimmed = name.trim();
        match meaning(trimmed) {
            Some(Meaning::Offset(seconds) | Meaning::Summer(seconds)) => {
                return Ok(Self::fixed(trimmed, trimmed, i64::from(seconds)));
            }
            Some(Meaning::Zone(zone)) => {
                if let Some(zone) = Self::named(zone) {
                    let abbreviation: Arc<str> = trimmed.to_ascii_uppercase().into();
                    return Ok(Self::of(Rules::Abbreviated(abbreviation, Box::new(zone))));
                }
            }
            None => {}
        }
        let found = Self::named(trimmed).or_else(|| {
            // An offset alone counts as POSIX has it: west of Greenwich is positive.
            posix_offset(trimmed)
                .map(|seconds| Self::fixed(trimmed, trimmed, seconds))
                .or_else(|| Self::posix(trimmed))
        });
        found.ok_or_else(|| {
            let message = format!("time zone \"{name}\" not recognized");
            Error::new(SqlState::INVALID_PARAMETER, message)
        })
    }

    fn fixed(name: &str, abbreviation: &str, seconds: i64) -> Self {
        Self::of(Rules::Fixed { name: name.into(), abbreviation: abbreviation.into(), seconds })
    }

    /// `seconds` east of UTC, named as PostgreSQL does: `<-08>+08`.
    pub(crate) fn offset(seconds: i64) -> Option<Self> {
        let (hours, rest) = (seconds.abs() / 3600, seconds.abs() % 3600);
        if hours > POSIX_HOURS_MAX {
            return None;
        }
        let mut digits = format!("{hours:02}");
        if rest > 0 {
            digits.push_str(&format!(":{:02}", rest / 60));
        }
        if rest % 60 > 0 {
            digits.push_str(&format!(":{:02}", rest % 60));
        }
        let (sign, west) = if seconds < 0 { ('-', '+') } else { ('+', '-') };
        let name = format!("<{sign}{digits}>{west}{digits}");
        Some(Self::fixed(&name, &format!("{sign}{digits}"), seconds))
    }

    /// A zone of the time zone database.
    fn named(name: &str) -> Option<Self> {
        if let Some(utc) = UTC_NAMES.iter().find(|utc| utc.eq_ignore_ascii_case(name)) {
            return Some(Self::of(Rules::Utc(utc)));
        }
        let zone = tz::TimeZone::get(name).ok().filter(|zone| !zone.is_unknown())?;
        let name = zone.iana_name()?.into();
        Some(Self::of(Rules::Named(name, zone)))
    }

    /// A zone as POSIX describes it: a name, an offset, and perhaps those of a summer time.
    fn posix(text: &str) -> Option<Self> {
        let text = text.to_ascii_uppercase();
        let (name, rest) = match text.strip_prefix('<') {
            Some(quoted) => quoted.split_once('>')?,
            None => text.split_at(text.find(|c: char| c.is_ascii_digit() || ",+-".contains(c))?),
        };
        if let Some(seconds) = posix_offset(rest) {
            return Some(Self::fixed(&text, name, seconds));
        }
        let complete = tz::TimeZone::posix(&text);
        let zone = complete.or_else(|_| tz::TimeZone::posix(&format!("{text}{SUMMER_RULES}")));
        Some(Self::of(Rules::Named(text.into(), zone.ok()?)))
    }

    /// As SHOW says it; [`Self::setting`] takes it back.
    pub fn name(&self) -> &str {
        match &self.rules {
            Rules::Utc(name) => name,
            Rules::Fixed { name, .. } | Rules::Named(name, _) | Rules::Abbreviated(name, _) => name,
        }
    }

    /// True when it is UTC, by whatever name.
    pub fn is_utc(&self) -> bool {
        matches!(self.rules, Rules::Utc(_))
    }

    /// Seconds east of UTC that its clocks show at the UTC time `micros`.
    pub fn offset_at(&self, micros: i64) -> i64 {
        match &self.rules {
            Rules::Utc(_) => 0,
            Rules::Fixed { seconds, .. } => *seconds,
            Rules::Named(_, zone) => i64::from(zone.to_offset(instant(micros)).seconds()),
            Rules::Abbreviated(name, zone) => zone.meaning_at(name, micros),
        }
    }

    /// Abbreviation of its time at the UTC time `micros`: `CEST`.
    pub fn abbreviation_at(&self, micros: i64) -> String {
        match &self.rules {
            Rules::Utc(_) => "UTC".to_owned(),
            Rules::Fixed { abbreviation, .. } | Rules::Abbreviated(abbreviation, _) => {
                abbreviation.to_string()
            }
            Rules::Named(_, zone) => zone.to_offset_info(instant(micros)).abbreviation().to_owned(),
        }
    }

    /// True when it is summer time at the UTC time `micros`.
    pub fn is_summer_at(&self, micros: i64) -> bool {
        match &self.rules {
            Rules::Named(_, zone) => zone.to_offset_info(instant(micros)).dst().is_dst(),
            Rules::Utc(_) | Rules::Fixed { .. } | Rules::Abbreviated(..) => false,
        }
    }

    /// The names of the time zone database.
    pub fn names() -> Vec<String> {
        tz::db().available().map(|name| name.as_str().to_owned()).collect()
    }

    /// Time that its clocks show at the UTC time `micros`; infinities stay.
    ///
    /// # Errors
    /// 22008 when out of range.
    pub fn to_local(&self, micros: i64) -> Result<i64> {
        if self.is_utc() || !is_finite_timestamp(micros) {
            return Ok(micros);
        }
        super::check_timestamp(micros.checked_add(self.offset_at(micros) * SECOND))
    }

    /// The UTC time at which its clocks show `micros`. Of two, the one of standard time; a time
    /// that clocks skip is read with the offset before the skip. Infinities stay.
    ///
    /// # Errors
    /// 22008 when out of range.
    pub fn to_utc(&self, micros: i64) -> Result<i64> {
        if self.is_utc() || !is_finite_timestamp(micros) {
            return Ok(micros);
        }
        super::check_timestamp(micros.checked_sub(self.local_offset(micros) * SECOND))
    }

    /// Seconds east of UTC of clocks that show `micros`.
    fn local_offset(&self, micros: i64) -> i64 {
        use tz::AmbiguousOffset as A;
        let zone = match &self.rules {
            Rules::Utc(_) => return 0,
            Rules::Fixed { seconds, .. } => return *seconds,
            Rules::Abbreviated(name, zone) => {
                return zone.meaning_at(name, micros - zone.local_offset(micros) * SECOND);
            }
            Rules::Named(_, zone) => zone,
        };
        let Some(local) = civil(near(micros)) else {
            return self.offset_at(micros);
        };
        i64::from(match zone.to_ambiguous_timestamp(local).offset() {
            A::Unambiguous { offset } => offset.seconds(),
            A::Gap { before, .. } => before.seconds(),
            A::Fold { after, .. } => after.seconds(),
        })
    }

    /// A zone by its whole name, a POSIX specification perhaps, as texts of times have it.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::named(name).or_else(|| Self::posix(name))
    }

    /// Seconds east of UTC of the abbreviation `name` of `zone` where clocks show `local`.
    pub(crate) fn abbreviated(zone: &str, name: &str, local: i64) -> i64 {
        let Some(zone) = Self::named(zone) else { return 0 };
        zone.meaning_at(name, local - zone.local_offset(local) * SECOND)
    }

    /// Offset that the zone's abbreviation `name` last meant until `micros`, else the first that it
    /// meant after it, else the zone's offset.
    fn meaning_at(&self, name: &str, micros: i64) -> i64 {
        let Rules::Named(_, zone) = &self.rules else { return self.offset_at(micros) };
        let at = instant(micros);
        let now = zone.to_offset_info(at);
        if now.abbreviation() == name {
            return i64::from(now.offset().seconds());
        }
        let found = zone.preceding(at).find(|transition| transition.abbreviation() == name);
        let found = found.or_else(|| {
            zone.following(at).take(NEXT_MAX).find(|transition| transition.abbreviation() == name)
        });
        match found {
            Some(transition) => i64::from(transition.offset().seconds()),
            None => i64::from(now.offset().seconds()),
        }
    }

    /// True when its offset from UTC is always the same.
    pub(crate) fn is_constant(&self) -> bool {
        match &self.rules {
            Rules::Utc(_) | Rules::Fixed { .. } => true,
            Rules::Named(_, zone) => zone.following(Timestamp::MIN).next().is_none(),
            Rules::Abbreviated(..) => false,
        }
    }

    /// The same, with dates read in `order`.
    pub fn with_order(self, order: DateOrder) -> Self {
        Self { order, ..self }
    }

    /// The same, where it is `now`, microseconds since 1970-01-01 UTC.
    pub fn with_now(self, now: i64) -> Self {
        Self { now: Some(now), ..self }
    }

    /// The order of the numbers of dates.
    pub fn order(&self) -> DateOrder {
        self.order
    }

    /// Microseconds since 1970-01-01 UTC.
    pub(crate) fn now(&self) -> i64 {
        let clock = || {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            since.map_or(0, |d| d.as_micros() as i64)
        };
        self.now.unwrap_or_else(clock)
    }

    /// True when it is UTC and reads dates as usual.
    pub fn is_usual(&self) -> bool {
        self.is_utc() && self.order == DateOrder::Mdy
    }

    /// Text that [`Self::from_specification`] makes the same of: the name, and the order of dates
    /// where it is not the usual one.
    pub fn specification(&self) -> String {
        let order = match self.order {
            DateOrder::Mdy => return self.name().to_owned(),
            DateOrder::Dmy => "dmy",
            DateOrder::Ymd => "ymd",
        };
        format!("{order};{}", self.name())
    }

    /// A session's zone from [`Self::specification`].
    ///
    /// # Errors
    /// 22023.
    pub fn from_specification(text: &str) -> Result<Self> {
        match text.split_once(';') {
            Some(("dmy", name)) => Ok(Self::setting(name)?.with_order(DateOrder::Dmy)),
            Some(("ymd", name)) => Ok(Self::setting(name)?.with_order(DateOrder::Ymd)),
            _ => Self::setting(text),
        }
    }

    /// The start of today, so many `days` on, on its clocks: microseconds of TIMESTAMP.
    pub(crate) fn midnight(&self, now: i64, days: i32) -> i64 {
        let local = now + self.offset_at(now) * SECOND;
        (local.div_euclid(DAY) + i64::from(days)) * DAY
    }
}

/// `[+-]hh[:mm[:ss]]` in the POSIX sense: west of Greenwich is positive.
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
        let is_number = part.bytes().all(|b| b.is_ascii_digit());
        if part.is_empty() || part.len() > 3 || unit == 0 || !is_number {
            return None;
        }
        seconds += part.parse::<i64>().ok()? * unit;
        unit /= 60;
    }
    (seconds / 3600 <= POSIX_HOURS_MAX).then_some(sign * seconds)
}

/// `micros`, or the same time of a year within `jiff`'s by whole cycles of the calendar.
fn near(micros: i64) -> i64 {
    if micros < FAR { micros } else { FAR - CYCLE + (micros - FAR) % CYCLE }
}

/// A UTC time; one before `jiff`'s years is their first, when zones have their first rule.
fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(near(micros)).unwrap_or(Timestamp::MIN)
}

fn civil(micros: i64) -> Option<DateTime> {
    DateTime::constant(1970, 1, 1, 0, 0, 0, 0)
        .checked_add(micros.div_euclid(SECOND).seconds())
        .ok()?
        .checked_add(micros.rem_euclid(SECOND).microseconds())
        .ok()
}
