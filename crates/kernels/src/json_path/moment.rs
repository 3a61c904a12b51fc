//! Dates and times in paths: what `.datetime()` makes of texts.
//!
//! Templates are read strictly: what stands between the keys must be there. Departure: of
//! PostgreSQL's keys there are those of years, months, days, hours, minutes, seconds and offsets.

use std::cmp::Ordering;

use types::calendar::{DAY, HOUR, MINUTE, SECOND, check_timestamp, date_from_civil};
use types::{DataType, Error, Result, SqlState, Value, text};

use super::Zone;

/// Which fields a moment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Date,
    Time,
    TimeWithZone,
    Timestamp,
    TimestampWithZone,
}

/// A date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    kind: Kind,
    /// Microseconds by its own clock: since 1970, or since midnight of a time alone.
    micros: i128,
    /// Seconds that its clock is ahead of UTC.
    offset: i64,
}

/// Templates of texts that come without one.
const TEMPLATES: [&str; 10] = [
    "yyyy-mm-dd",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

impl Moment {
    /// The moment that a text in one of the usual forms denotes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        TEMPLATES.into_iter().find_map(|template| Self::parse_by(text, template).ok())
    }

    /// The moment that a text denotes by a template.
    ///
    /// # Errors
    /// 22007, 22008; 0A000 for keys that are not there.
    pub(super) fn parse_by(text: &str, template: &str) -> Result<Self> {
        let mut fields = Fields::default();
        let mut rest = text;
        let pieces = pieces(template)?;
        for (number, piece) in pieces.iter().enumerate() {
            rest = match piece {
                Piece::Text(wanted) => rest.strip_prefix(wanted.as_str()).ok_or_else(|| {
                    if rest.is_empty() {
                        return invalid("input string is too short for datetime format");
                    }
                    invalid(format!("unmatched format separator \"{wanted}\""))
                })?,
                Piece::Key(_) if rest.is_empty() => {
                    return Err(invalid("input string is too short for datetime format"));
                }
                Piece::Key(key) => fields.read(*key, rest, may_be_longer(&pieces[number + 1..]))?,
            };
        }
        if !rest.is_empty() {
            let message = "trailing characters remain in input string after datetime format";
            return Err(invalid(message));
        }
        fields.moment(text)
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Date => "date",
            Kind::Time => "time without time zone",
            Kind::TimeWithZone => "time with time zone",
            Kind::Timestamp => "timestamp without time zone",
            Kind::TimestampWithZone => "timestamp with time zone",
        }
    }

    /// The moment as a text of JSON.
    pub(super) fn quoted(&self) -> Vec<u8> {
        let mut out = vec![b'"'];
        let (value, ty) = match self.kind {
            // Dates are whole days.
            Kind::Date => (Value::I32((self.micros / i128::from(DAY)) as i32), DataType::Date),
            Kind::Time | Kind::TimeWithZone => (Value::I64(self.micros as i64), DataType::TIME),
            // So are those of times, and of timestamps whose date is in range.
            _ => (Value::I64(self.micros as i64), DataType::TIMESTAMP),
        };
        let shown = text::format(&value, ty).replacen(' ', "T", 1);
        out.extend_from_slice(shown.as_bytes());
        if matches!(self.kind, Kind::TimeWithZone | Kind::TimestampWithZone) {
            let (sign, offset) =
                if self.offset < 0 { ('-', -self.offset) } else { ('+', self.offset) };
            let (hours, minutes) = (offset / 3600, offset / 60 % 60);
            out.extend_from_slice(format!("{sign}{hours:02}:{minutes:02}").as_bytes());
            if offset % 60 != 0 {
                out.extend_from_slice(format!(":{:02}", offset % 60).as_bytes());
            }
        }
        out.push(b'"');
        out
    }

    /// Microseconds by a clock of UTC.
    ///
    /// # Errors
    /// 0A000 when a zone is needed and there is none, 22008.
    fn instant(&self, of: &Self, zone: Zone<'_>) -> Result<i128> {
        if matches!(self.kind, Kind::TimeWithZone | Kind::TimestampWithZone) {
            return Ok(self.micros - i128::from(self.offset * SECOND));
        }
        let Some(zone) = zone else {
            let name = |kind: Kind| match kind {
                Kind::Date => "date",
                Kind::Time => "time",
                Kind::TimeWithZone => "timetz",
                Kind::Timestamp => "timestamp",
                Kind::TimestampWithZone => "timestamptz",
            };
            let (from, to) = (name(self.kind), name(of.kind));
            let message =
                format!("cannot convert value from {from} to {to} without time zone usage");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Use *_tz() function for time zone support."));
        };
        match self.kind {
            Kind::Time => Ok(self.micros - i128::from(zone.offset_at(0) * SECOND)),
            // Beyond all timestamps no zone changes the order.
            _ => match i64::try_from(self.micros) {
                Ok(micros) => zone.to_utc(micros).map(i128::from),
                Err(_) => Ok(self.micros),
            },
        }
    }

    fn has_date(&self) -> bool {
        matches!(self.kind, Kind::Date | Kind::Timestamp | Kind::TimestampWithZone)
    }
}

/// The order of two moments; None for a time of the day and a date.
///
/// # Errors
/// 0A000 when a zone is needed and there is none, 22008.
pub(super) fn compare(left: &Moment, right: &Moment, zone: Zone<'_>) -> Result<Option<Ordering>> {
    if left.has_date() != right.has_date() {
        return Ok(None);
    }
    let has_zone =
        |moment: &Moment| matches!(moment.kind, Kind::TimeWithZone | Kind::TimestampWithZone);
    if !has_zone(left) && !has_zone(right) {
        return Ok(Some(left.micros.cmp(&right.micros)));
    }
    let order = left.instant(right, zone)?.cmp(&right.instant(left, zone)?);
    if left.has_date() {
        return Ok(Some(order));
    }
    // The same instant by two clocks is two times of the day.
    let offset = |moment: &Moment| match (moment.kind, zone) {
        (Kind::Time, Some(zone)) => zone.offset_at(0),
        _ => moment.offset,
    };
    Ok(Some(order.then(offset(right).cmp(&offset(left)))))
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_DATETIME, message)
}

/// A piece of a template.
#[derive(Debug)]
enum Piece {
    Key(Key),
    Text(String),
}

/// A field that a template names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Year,
    Month,
    Day,
    Hour,
    HalfDayHour,
    Meridiem,
    Minute,
    Second,
    /// So many digits of a second.
    Fraction(u32),
    ZoneHour,
    ZoneMinute,
}

/// Keys as templates name them, longer ones first.
const KEYS: [(&str, Key); 21] = [
    ("YYYY", Key::Year),
    ("HH24", Key::Hour),
    ("HH12", Key::HalfDayHour),
    ("A.M.", Key::Meridiem),
    ("P.M.", Key::Meridiem),
    ("TZH", Key::ZoneHour),
    ("TZM", Key::ZoneMinute),
    ("FF1", Key::Fraction(1)),
    ("FF2", Key::Fraction(2)),
    ("FF3", Key::Fraction(3)),
    ("FF4", Key::Fraction(4)),
    ("FF5", Key::Fraction(5)),
    ("FF6", Key::Fraction(6)),
    ("HH", Key::HalfDayHour),
    ("MM", Key::Month),
    ("DD", Key::Day),
    ("MI", Key::Minute),
    ("SS", Key::Second),
    ("MS", Key::Fraction(3)),
    ("US", Key::Fraction(6)),
    ("AM", Key::Meridiem),
];

fn pieces(template: &str) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        let starts =
            |key: &str| rest.get(..key.len()).is_some_and(|start| start.eq_ignore_ascii_case(key));
        if let Some((name, key)) = KEYS.iter().find(|(name, _)| starts(name)) {
            pieces.push(Piece::Key(*key));
            rest = &rest[name.len()..];
        } else if starts("PM") {
            pieces.push(Piece::Key(Key::Meridiem));
            rest = &rest[2..];
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (text, behind) = quoted.split_once('"').unwrap_or((quoted, ""));
            pieces.push(Piece::Text(text.to_owned()));
            rest = behind;
        } else if first.is_ascii_alphanumeric() {
            if first.is_ascii_digit() || !is_key(rest) {
                let message = format!("invalid datetime format separator: \"{first}\"");
                return Err(invalid(message));
            }
            return Err(Error::unsupported(format!("the datetime template \"{template}\"")));
        } else {
            pieces.push(Piece::Text(first.to_string()));
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok(pieces)
}

/// True when a template of to_timestamp has a key there that is none here.
fn is_key(rest: &str) -> bool {
    const OTHERS: [&str; 19] = [
        "Y", "I", "BC", "B.C.", "AD", "A.D.", "MON", "D", "W", "CC", "J", "Q", "RM", "SSSS", "TZ",
        "OF", "FX", "FM", "TM",
    ];
    OTHERS.iter().any(|key| rest.get(..key.len()).is_some_and(|s| s.eq_ignore_ascii_case(key)))
}

/// True when a number before `pieces` takes all digits that there are.
fn may_be_longer(pieces: &[Piece]) -> bool {
    match pieces.first() {
        None | Some(Piece::Text(_)) => true,
        Some(Piece::Key(key)) => matches!(key, Key::ZoneHour | Key::Meridiem),
    }
}

#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    half_day_hour: Option<i64>,
    is_afternoon: Option<bool>,
    minute: Option<i64>,
    second: Option<i64>,
    micros: Option<i64>,
    zone_is_behind: bool,
    zone_hour: Option<i64>,
    zone_minute: Option<i64>,
}

impl Fields {
    /// Reads one field; gives what is left of the text.
    fn read<'t>(&mut self, key: Key, text: &'t str, may_be_longer: bool) -> Result<&'t str> {
        if key == Key::Meridiem {
            let (word, rest) = text.split_at_checked(2).unwrap_or((text, ""));
            self.is_afternoon = Some(match word.to_ascii_uppercase().as_str() {
                "AM" => false,
                "PM" => true,
                _ => return Err(invalid(format!("invalid value \"{word}\" for \"AM\""))),
            });
            return Ok(rest);
        }
        let mut text = text;
        if key == Key::ZoneHour
            && let Some(rest) = text.strip_prefix(['+', '-', ' '])
        {
            self.zone_is_behind = text.starts_with('-');
            text = rest;
        }
        let width = match key {
            Key::Year => 4,
            Key::Fraction(digits) => digits as usize,
            _ => 2,
        };
        let (value, digits, rest) = number(text, width, may_be_longer)?;
        let place = match key {
            Key::Year => &mut self.year,
            Key::Month => &mut self.month,
            Key::Day => &mut self.day,
            Key::Hour => &mut self.hour,
            Key::HalfDayHour | Key::Meridiem => &mut self.half_day_hour,
            Key::Minute => &mut self.minute,
            Key::Second => &mut self.second,
            Key::Fraction(_) => {
                let missing = 6u32.saturating_sub(u32::try_from(digits).unwrap_or(6));
                self.micros = Some(value * 10i64.pow(missing));
                return Ok(rest);
            }
            Key::ZoneHour => &mut self.zone_hour,
            Key::ZoneMinute => &mut self.zone_minute,
        };
        *place = Some(value);
        Ok(rest)
    }

    fn moment(&self, text: &str) -> Result<Moment> {
        let out_of_range = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            Error::new(SqlState::DATETIME_OVERFLOW, message)
        };
        let within = |value: Option<i64>, most: i64| {
            let value = value.unwrap_or(0);
            if (0..=most).contains(&value) { Ok(value) } else { Err(out_of_range()) }
        };
        let mut hour = within(self.hour, 23)?;
        if let Some(half) = self.half_day_hour {
            if !(1..=12).contains(&half) {
                let message = format!("hour \"{half}\" is invalid for the 12-hour clock");
                return Err(invalid(message));
            }
            hour = half % 12 + if self.is_afternoon == Some(true) { 12 } else { 0 };
        }
        let time = hour * HOUR
            + within(self.minute, 59)? * MINUTE
            + within(self.second, 59)? * SECOND
            + within(self.micros, SECOND - 1)?;
        let is_dated = self.year.is_some() || self.month.is_some() || self.day.is_some();
        let is_timed = [self.hour, self.half_day_hour, self.minute, self.second, self.micros]
            .iter()
            .any(Option::is_some);
        let sign = if self.zone_is_behind { -1 } else { 1 };
        let offset =
            sign * (within(self.zone_hour, 15)? * 3600 + within(self.zone_minute, 59)? * 60);
        let days = || {
            let field = |value: Option<i64>| u32::try_from(value.unwrap_or(1)).ok();
            let year = i32::try_from(self.year.unwrap_or(0)).ok()?;
            date_from_civil(year, field(self.month)?, field(self.day)?)
        };
        let kind = match (is_dated, is_timed, self.zone_hour.is_some()) {
            (true, true, true) => Kind::TimestampWithZone,
            (true, true, false) => Kind::Timestamp,
            (true, false, false) => Kind::Date,
            (false, true, true) => Kind::TimeWithZone,
            (false, true, false) => Kind::Time,
            (_, false, true) => {
                return Err(invalid("datetime format is zoned but not timed"));
            }
            (false, false, false) => {
                return Err(invalid("datetime format is not dated and not timed"));
            }
        };
        let start = if is_dated { days().ok_or_else(out_of_range)? } else { 0 };
        let micros = i128::from(start) * i128::from(DAY) + i128::from(time);
        if matches!(kind, Kind::Timestamp | Kind::TimestampWithZone) {
            let instant = i64::try_from(micros - i128::from(offset * SECOND)).ok();
            check_timestamp(instant)?;
        }
        Ok(Moment { kind, micros, offset })
    }
}

/// A number at the start of `text`, how many digits it has, and what is behind it.
fn number(text: &str, width: usize, may_be_longer: bool) -> Result<(i64, usize, &str)> {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['+', '-']));
    let bytes = text.as_bytes();
    let limit = if may_be_longer { usize::MAX } else { width };
    let digits = bytes[sign..].iter().take(limit).take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || (!may_be_longer && digits < width) {
        return Err(invalid(format!("invalid value \"{text}\" for a field of {width} digits")));
    }
    let (number, rest) = text.split_at(sign + digits);
    let value = number.parse::<i32>().map_err(|_| {
        let message = format!("value \"{number}\" in source string is out of range");
        Error::new(SqlState::DATETIME_OVERFLOW, message)
    })?;
    Ok((i64::from(value), digits, rest))
}
