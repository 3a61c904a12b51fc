//! Decodes the fields of a text together.
//!
//! Source: PostgreSQL 15, datetime.c: `DecodeDateTime`, `DecodeTimeOnly`, `DecodeDate`,
//! `DecodeNumber`, `DecodeNumberField`, `DecodeTime`, `DecodeTimezone`, `ValidateDate`.

use super::split::Form;
use super::words::{Label, Word, word};
use super::{Failure, Parsed, Special, Zone};
use crate::calendar::{
    DAY, DateOrder, HOUR, JULIAN_EPOCH, MINUTE, Meaning, SECOND, TimeZone, civil_from_days,
    days_from_civil, days_in_month, zone_meaning,
};
use crate::text::tokens::fraction_micros;
use crate::{Error, SqlState};

/// Kinds of fields, a bit each.
pub(super) mod kind {
    pub(crate) const YEAR: u32 = 1;
    pub(crate) const MONTH: u32 = 2;
    pub(crate) const DAY: u32 = 4;
    pub(crate) const HOUR: u32 = 8;
    pub(crate) const MINUTE: u32 = 16;
    pub(crate) const SECOND: u32 = 32;
    pub(crate) const ZONE: u32 = 64;
    pub(crate) const SUMMER: u32 = 128;
    pub(crate) const MERIDIEM: u32 = 256;
    pub(crate) const ERA: u32 = 512;
    pub(crate) const WEEKDAY: u32 = 1024;
    pub(crate) const DAY_OF_YEAR: u32 = 2048;
    pub(crate) const DATE: u32 = YEAR | MONTH | DAY;
    pub(crate) const TIME: u32 = HOUR | MINUTE | SECOND;
}

/// Which texts are read: of a day and a time, or of a time alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    DateTime,
    TimeOnly,
}

/// Values found so far.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) kinds: u32,
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    pub(super) hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// The year had at most two digits.
    short_year: bool,
    is_julian: bool,
    before_christ: bool,
    afternoon: Option<bool>,
    pub(super) zone: Option<Zone>,
    /// Seconds that DST adds.
    summer: i64,
    pub(super) special: Option<Special>,
}

/// A whole number at the beginning of `text`, and what follows.
fn leading(text: &str) -> Parsed<(i64, &str)> {
    let signed = usize::from(text.starts_with(['-', '+']));
    let digits = text[signed..].bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(signed + digits);
    if digits == 0 {
        return Err(Failure::Format);
    }
    let value: i64 = number.parse().map_err(|_| Failure::Range)?;
    i32::try_from(value).map_err(|_| Failure::Range)?;
    Ok((value, rest))
}

/// Microseconds of `.digits`, all of `text`.
fn fraction(text: &str) -> Parsed<i64> {
    let digits = text.strip_prefix('.').ok_or(Failure::Format)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Failure::Format);
    }
    let value = if digits.is_empty() { 0.0 } else { text.parse().map_err(|_| Failure::Format)? };
    Ok(fraction_micros(value))
}

/// `+hh[:mm[:ss]]` or `+hhmm` as seconds east of UTC.
pub(super) fn offset(text: &str) -> Parsed<i64> {
    let negative = match text.as_bytes().first() {
        Some(b'-') => true,
        Some(b'+') => false,
        _ => return Err(Failure::Format),
    };
    let far =
        |failure| if matches!(failure, Failure::Range) { Failure::Displacement } else { failure };
    let (mut hour, mut rest) = leading(&text[1..]).map_err(far)?;
    let (mut minute, mut second) = (0, 0);
    // Nothing behind a colon is 0.
    let part = |text| match text {
        "" => Ok((0, "")),
        text => leading(text).map_err(far),
    };
    if let Some(after) = rest.strip_prefix(':') {
        (minute, rest) = part(after)?;
        if let Some(after) = rest.strip_prefix(':') {
            (second, rest) = part(after)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hour, minute) = (hour / 100, hour % 100);
    }
    if !(0..=15).contains(&hour) || !(0..60).contains(&minute) || !(0..60).contains(&second) {
        return Err(Failure::Displacement);
    }
    if !rest.is_empty() {
        return Err(Failure::Format);
    }
    let seconds = hour * 3600 + minute * 60 + second;
    Ok(if negative { -seconds } else { seconds })
}

/// A zone by its name.
fn named_zone(name: &str) -> Parsed<Zone> {
    TimeZone::by_name(name).map(Zone::Named).ok_or_else(|| {
        let message = format!("time zone \"{name}\" not recognized");
        Failure::Other(Error::new(SqlState::INVALID_PARAMETER, message))
    })
}

impl Fields {
    /// Reads all fields, whose days and months have `order`.
    pub(super) fn read(
        fields: &[(Form, String)],
        subject: Subject,
        order: DateOrder,
    ) -> Parsed<Self> {
        let mut found = Self::default();
        let mut label = None;
        let mut text_month = false;
        for at in 0..fields.len() {
            let (form, text) = &fields[at];
            let kinds = match form {
                Form::Date => {
                    let place = Place { fields, at, subject, order };
                    found.date_field(text, place, &mut label)?
                }
                Form::Time => {
                    if label.take().is_some_and(|label| label != Label::Time) {
                        return Err(Failure::Format);
                    }
                    found.time_field(text)?
                }
                Form::Offset => {
                    found.zone = Some(Zone::Offset(offset(text)?));
                    kind::ZONE
                }
                Form::Number => match label.take() {
                    Some(label) => found.labelled(text, label)?,
                    None => {
                        let place = Place { fields, at, subject, order };
                        found.number_field(text, place, text_month)?
                    }
                },
                Form::Word | Form::Special => {
                    if let Some(Word::TimeFollows) =
                        word(text).filter(|_| zone_meaning(text).is_none())
                    {
                        let follows = fields.get(at + 1).is_some_and(|(form, _)| {
                            matches!(form, Form::Number | Form::Time | Form::Date)
                        });
                        let has_date = found.kinds & kind::DATE == kind::DATE;
                        if !follows || subject == Subject::DateTime && !has_date {
                            return Err(Failure::Format);
                        }
                        label = Some(Label::Time);
                        0
                    } else {
                        found.word_field(text, subject, &mut text_month, &mut label)?
                    }
                }
            };
            if kinds & found.kinds != 0 {
                return Err(Failure::Format);
            }
            found.kinds |= kinds;
        }
        found.validate()?;
        Ok(found)
    }

    /// The kinds that are known, as if there were a date where only a time is read.
    fn known(&self, subject: Subject) -> u32 {
        match subject {
            Subject::DateTime => self.kinds,
            Subject::TimeOnly => self.kinds | kind::DATE,
        }
    }

    fn date_field(
        &mut self,
        text: &str,
        place: Place<'_>,
        label: &mut Option<Label>,
    ) -> Parsed<u32> {
        let begins_digit = text.starts_with(|c: char| c.is_ascii_digit());
        if *label == Some(Label::Julian) {
            let (days, rest) = leading(text)?;
            self.set_julian(days)?;
            self.zone = Some(Zone::Offset(offset(rest)?));
            *label = None;
            return Ok(kind::DATE | kind::TIME | kind::ZONE);
        }
        let is_behind = match place.subject {
            Subject::DateTime => {
                label.is_some() || self.kinds & (kind::MONTH | kind::DAY) == kind::MONTH | kind::DAY
            }
            Subject::TimeOnly => !place.may_be_date(),
        };
        if !is_behind {
            return self.date_parts(text, place.order);
        }
        if !begins_digit && label.is_none() {
            self.zone = Some(named_zone(text)?);
            return Ok(kind::ZONE);
        }
        if label.take().is_some_and(|label| label != Label::Time)
            || self.kinds & kind::TIME == kind::TIME
        {
            return Err(Failure::Format);
        }
        // A time that runs into its offset: hhmmss-zz.
        let dash = text.find('-').ok_or(Failure::Format)?;
        self.zone = Some(Zone::Offset(offset(&text[dash..])?));
        let known = self.known(place.subject);
        Ok(self.packed(&text[..dash], known)? | kind::ZONE)
    }

    /// Parts of a date, of which text months go first.
    fn date_parts(&mut self, text: &str, order: DateOrder) -> Parsed<u32> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            let Some(first) = rest.chars().next() else {
                if parts.is_empty() || text.ends_with(|c: char| !c.is_ascii_alphanumeric()) {
                    return Err(Failure::Format);
                }
                break;
            };
            let is_digit = first.is_ascii_digit();
            let of_kind =
                |c: &char| if is_digit { c.is_ascii_digit() } else { c.is_ascii_alphabetic() };
            let length = rest.chars().take_while(of_kind).count();
            let (part, after) = rest.split_at(length);
            parts.push((is_digit, part));
            // What is right behind a part is a separator, whatever it is.
            rest = after.get(1..).unwrap_or_default();
            if after.is_empty() {
                break;
            }
            if rest.is_empty() {
                break;
            }
        }
        let (mut kinds, mut text_month) = (0, false);
        for (_, part) in parts.iter().filter(|(is_digit, _)| !is_digit) {
            match word(part) {
                Some(Word::Filler) => {}
                Some(Word::Month(month)) if kinds & kind::MONTH == 0 => {
                    self.month = month;
                    kinds |= kind::MONTH;
                    text_month = true;
                }
                _ => return Err(Failure::Format),
            }
        }
        if kinds & self.kinds != 0 {
            return Err(Failure::Format);
        }
        for (_, part) in parts.iter().filter(|(is_digit, _)| *is_digit) {
            let found = self.number(part, kinds | self.kinds, text_month, order)?;
            if found & (kinds | self.kinds) != 0 {
                return Err(Failure::Format);
            }
            kinds |= found;
        }
        let all = (kinds | self.kinds) & !(kind::DAY_OF_YEAR | kind::ZONE);
        if all != kind::DATE {
            return Err(Failure::Format);
        }
        Ok(kinds)
    }

    /// hh:mm[:ss[.f]], or mm:ss.f.
    fn time_field(&mut self, text: &str) -> Parsed<u32> {
        let (hour, rest) = leading(text)?;
        let (minute, rest) = leading(rest.strip_prefix(':').ok_or(Failure::Format)?)?;
        (self.hour, self.minute, self.second, self.micros) = (hour, minute, 0, 0);
        if rest.starts_with('.') {
            (self.hour, self.minute, self.second) = (0, hour, minute);
            self.micros = fraction(rest)?;
        } else if let Some(rest) = rest.strip_prefix(':') {
            let (second, rest) = leading(rest)?;
            self.second = second;
            if !rest.is_empty() {
                self.micros = fraction(rest)?;
            }
        } else if !rest.is_empty() {
            return Err(Failure::Format);
        }
        self.check_time()?;
        Ok(kind::TIME)
    }

    fn check_time(&self) -> Parsed<()> {
        let total = self.of_day();
        let is_there = (0..=24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..=60).contains(&self.second)
            && total <= DAY;
        if is_there { Ok(()) } else { Err(Failure::Range) }
    }

    /// Microseconds of the day.
    fn of_day(&self) -> i64 {
        self.hour * HOUR + self.minute * MINUTE + self.second * SECOND + self.micros
    }

    /// A number behind a word that says what it is.
    fn labelled(&mut self, text: &str, label: Label) -> Parsed<u32> {
        let (value, rest) = match leading(text) {
            Ok(found) => found,
            // As in T040506.789.
            Err(Failure::Range) if label == Label::Time => (0, ""),
            Err(failure) => return Err(failure),
        };
        let takes_point = matches!(label, Label::Julian | Label::Time | Label::Second);
        if !(rest.is_empty() || takes_point && rest.starts_with('.')) {
            return Err(Failure::Format);
        }
        Ok(match label {
            Label::Year => {
                self.year = value;
                kind::YEAR
            }
            // With a month and an hour already there, m is for minutes.
            Label::Month if self.kinds & kind::MONTH != 0 && self.kinds & kind::HOUR != 0 => {
                self.minute = value;
                kind::MINUTE
            }
            Label::Month => {
                self.month = value;
                kind::MONTH
            }
            Label::Day => {
                self.day = value;
                kind::DAY
            }
            Label::Hour => {
                self.hour = value;
                kind::HOUR
            }
            Label::Minute => {
                self.minute = value;
                kind::MINUTE
            }
            Label::Second => {
                self.second = value;
                if !rest.is_empty() {
                    self.micros = fraction(rest)?;
                }
                kind::SECOND
            }
            Label::Julian => {
                self.set_julian(value)?;
                if rest.is_empty() {
                    kind::DATE
                } else {
                    let part: f64 = rest.parse().map_err(|_| Failure::Format)?;
                    let micros = (part * DAY as f64) as i64;
                    self.hour = micros / HOUR;
                    self.minute = micros / MINUTE % 60;
                    self.second = micros / SECOND % 60;
                    self.micros = micros % SECOND;
                    kind::DATE | kind::TIME
                }
            }
            Label::Time => {
                let found = self.packed(text, self.kinds | kind::DATE)?;
                if found != kind::TIME {
                    return Err(Failure::Format);
                }
                found
            }
            Label::Other => return Err(Failure::Format),
        })
    }

    fn set_julian(&mut self, day: i64) -> Parsed<()> {
        if day < 0 {
            return Err(Failure::Range);
        }
        let days = i32::try_from(day - i64::from(JULIAN_EPOCH)).map_err(|_| Failure::Range)?;
        let (year, month, day) = civil_from_days(days);
        (self.year, self.month, self.day) = (i64::from(year), i64::from(month), i64::from(day));
        self.is_julian = true;
        Ok(())
    }

    /// A number without a label.
    fn number_field(&mut self, text: &str, place: Place<'_>, text_month: bool) -> Parsed<u32> {
        let known = self.known(place.subject);
        let point = text.find('.');
        match place.subject {
            Subject::DateTime => {
                let (no_date, no_time) =
                    (self.kinds & kind::DATE == 0, self.kinds & kind::TIME == 0);
                if point.is_some() && no_date {
                    return self.date_parts(text, place.order);
                }
                if point.is_some_and(|point| point > 2)
                    || point.is_none() && text.len() >= 6 && (no_date || no_time)
                {
                    return self.packed(text, known);
                }
            }
            Subject::TimeOnly => match point {
                Some(_) if place.may_be_dotted_date() => return self.date_parts(text, place.order),
                Some(point) if point > 2 => return self.packed(text, known),
                Some(_) => return Err(Failure::Format),
                None if text.len() > 4 => return self.packed(text, known),
                None => {}
            },
        }
        self.number(text, known, text_month, place.order)
    }

    /// A number of a date, whose place the ones before and the order of dates decide.
    fn number(
        &mut self,
        text: &str,
        known: u32,
        text_month: bool,
        order: DateOrder,
    ) -> Parsed<u32> {
        let (value, rest) = leading(text)?;
        let length = text.len();
        if rest.starts_with('.') {
            if length - rest.len() > 2 {
                return self.packed(text, known | kind::DATE);
            }
            self.micros = fraction(rest)?;
        } else if !rest.is_empty() {
            return Err(Failure::Format);
        }
        if length == 3 && known & kind::DATE == kind::YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(kind::DAY_OF_YEAR | kind::MONTH | kind::DAY);
        }
        const MONTH_DAY: u32 = kind::MONTH | kind::DAY;
        const YEAR_MONTH: u32 = kind::YEAR | kind::MONTH;
        let is_year = length >= 3 || order == DateOrder::Ymd;
        let found = match known & kind::DATE {
            0 if is_year => kind::YEAR,
            0 if order == DateOrder::Dmy => kind::DAY,
            0 => kind::MONTH,
            kind::YEAR => kind::MONTH,
            kind::MONTH if text_month && is_year => kind::YEAR,
            kind::MONTH => kind::DAY,
            YEAR_MONTH if text_month && length >= 3 && self.short_year => {
                // What was taken for the year is the day.
                (self.day, self.year) = (self.year, value);
                self.short_year = false;
                return Ok(kind::DAY);
            }
            YEAR_MONTH => kind::DAY,
            kind::DAY => kind::MONTH,
            MONTH_DAY => kind::YEAR,
            kind::DATE => return self.packed(text, known),
            _ => return Err(Failure::Format),
        };
        match found {
            kind::YEAR => {
                self.year = value;
                self.short_year = length <= 2;
            }
            kind::MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(found)
    }

    /// [yy]yymmdd, hhmmss[.f] or hhmm.
    fn packed(&mut self, text: &str, known: u32) -> Parsed<u32> {
        let part = |text: &str| text.parse::<i64>().map_err(|_| Failure::Format);
        let mut digits = text;
        if let Some(point) = text.find('.') {
            self.micros = fraction(&text[point..])?;
            digits = &text[..point];
        } else if known & kind::DATE != kind::DATE && text.len() >= 6 {
            let (rest, day) = text.split_at(text.len() - 2);
            let (year, month) = rest.split_at(rest.len() - 2);
            self.year = year.parse().map_err(|_| Failure::Range)?;
            (self.month, self.day) = (part(month)?, part(day)?);
            self.short_year |= year.len() == 2;
            return Ok(kind::DATE);
        }
        if known & kind::TIME == kind::TIME || !matches!(digits.len(), 4 | 6) {
            return Err(Failure::Format);
        }
        (self.hour, self.minute) = (part(&digits[..2])?, part(&digits[2..4])?);
        self.second = if digits.len() == 6 { part(&digits[4..])? } else { 0 };
        self.check_time()?;
        Ok(kind::TIME)
    }

    fn word_field(
        &mut self,
        text: &str,
        subject: Subject,
        text_month: &mut bool,
        label: &mut Option<Label>,
    ) -> Parsed<u32> {
        if let Some(meaning) = zone_meaning(text) {
            self.zone = Some(match meaning {
                Meaning::Offset(seconds) => Zone::Offset(i64::from(seconds)),
                Meaning::Summer(seconds) => Zone::Offset(i64::from(seconds)),
                Meaning::Zone(name) => Zone::Abbreviation(name, text.to_ascii_uppercase()),
            });
            return Ok(kind::ZONE);
        }
        let whole = kind::DATE | kind::TIME | kind::ZONE;
        let (special, kinds) = match word(text) {
            None => {
                let zone = TimeZone::by_name(text).ok_or(Failure::Format)?;
                self.zone = Some(Zone::Named(zone));
                return Ok(kind::ZONE);
            }
            Some(Word::Now) if subject == Subject::TimeOnly => (Special::Now, kind::TIME),
            Some(Word::AllBalls) => {
                self.zone = Some(Zone::Offset(0));
                return Ok(kind::TIME | kind::ZONE);
            }
            Some(
                Word::Now | Word::Epoch | Word::Infinity | Word::MinusInfinity | Word::Today(_),
            ) if subject == Subject::TimeOnly => return Err(Failure::Format),
            Some(Word::Now) => (Special::Now, whole),
            Some(Word::Epoch) => (Special::Epoch, whole),
            Some(Word::Infinity) => (Special::Infinity, whole),
            Some(Word::MinusInfinity) => (Special::MinusInfinity, whole),
            Some(Word::Today(days)) => (Special::Today(days), kind::DATE),
            Some(other) => return self.plain_word(other, text_month, label),
        };
        self.special = Some(special);
        Ok(kinds)
    }

    fn plain_word(
        &mut self,
        word: Word,
        text_month: &mut bool,
        label: &mut Option<Label>,
    ) -> Parsed<u32> {
        Ok(match word {
            Word::Month(month) => {
                let takes_place = self.kinds & kind::MONTH != 0
                    && !*text_month
                    && self.kinds & kind::DAY == 0
                    && (1..=31).contains(&self.month);
                let mut found = kind::MONTH;
                if takes_place {
                    // The number before was the day.
                    self.day = self.month;
                    found = kind::DAY;
                }
                *text_month = true;
                self.month = month;
                found
            }
            Word::Era { before_christ } => {
                self.before_christ = before_christ;
                kind::ERA
            }
            Word::Meridiem { afternoon } => {
                self.afternoon = Some(afternoon);
                kind::MERIDIEM
            }
            Word::Weekday => kind::WEEKDAY,
            Word::Summer => {
                self.summer = 3600;
                kind::SUMMER
            }
            Word::Label(found) => {
                *label = Some(found);
                0
            }
            _ => 0,
        })
    }

    /// Checks the date, and makes years and hours what they mean.
    fn validate(&mut self) -> Parsed<()> {
        if self.kinds & kind::YEAR != 0 && self.special.is_none() && !self.is_julian {
            if self.before_christ {
                if self.year <= 0 {
                    return Err(Failure::Range);
                }
                self.year = 1 - self.year;
            } else if self.short_year {
                self.year += match self.year {
                    ..0 => return Err(Failure::Range),
                    0..70 => 2000,
                    70..100 => 1900,
                    _ => 0,
                };
            } else if self.year <= 0 {
                return Err(Failure::Range);
            }
        }
        if self.special.is_none() {
            self.validate_day()?;
        }
        if let Some(afternoon) = self.afternoon {
            match (afternoon, self.hour) {
                (_, hour) if hour > 12 => return Err(Failure::Range),
                (false, 12) => self.hour = 0,
                (true, hour) if hour != 12 => self.hour += 12,
                _ => {}
            }
        }
        Ok(())
    }

    fn validate_day(&mut self) -> Parsed<()> {
        if self.kinds & kind::DAY_OF_YEAR != 0 {
            let days = days_from_civil(self.civil_year(), 1, 1) + self.day_of_year as i32 - 1;
            let (year, month, day) = civil_from_days(days);
            (self.year, self.month, self.day) = (i64::from(year), i64::from(month), i64::from(day));
        }
        if self.kinds & kind::MONTH != 0 && !(1..=12).contains(&self.month) {
            return Err(Failure::MonthDay);
        }
        if self.kinds & kind::DAY != 0 && !(1..=31).contains(&self.day) {
            return Err(Failure::MonthDay);
        }
        if self.kinds & kind::DATE == kind::DATE
            && self.day > i64::from(days_in_month(self.civil_year(), self.month as u32))
        {
            return Err(Failure::Range);
        }
        Ok(())
    }

    /// Far beyond every date where it does not fit, so that the calendar refuses it.
    fn civil_year(&self) -> i32 {
        // Farther away than any date, and near enough for days in 32 bits.
        const YEAR_MAX: i64 = 5_878_000;
        self.year.clamp(-YEAR_MAX, YEAR_MAX) as i32
    }

    /// Year, month and day.
    pub(super) fn civil(&self) -> (i32, u32, u32) {
        (self.civil_year(), self.month as u32, self.day as u32)
    }

    /// The time of day, midnight where there is none.
    pub(super) fn time(&self) -> Parsed<i64> {
        self.check_time()?;
        Ok(self.of_day())
    }

    /// True when it has all of a date.
    pub(super) fn has_date(&self) -> bool {
        self.kinds & kind::DATE == kind::DATE
    }

    /// True when it has all of a time.
    pub(super) fn has_time(&self) -> bool {
        self.kinds & kind::TIME == kind::TIME
    }

    /// Seconds that DST adds to an offset.
    pub(super) fn summer(&self) -> i64 {
        self.summer
    }
}

/// Where a field stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    fields: &'a [(Form, String)],
    at: usize,
    subject: Subject,
    order: DateOrder,
}

impl Place<'_> {
    /// True when a text of a time may begin with a date: one with a zone or a time behind it.
    fn may_be_date(self) -> bool {
        let form = |at: usize| self.fields.get(at).map(|(form, _)| *form);
        let last = self.fields.len().checked_sub(1).and_then(form);
        self.at == 0
            && self.fields.len() >= 2
            && (last == Some(Form::Date) || form(1) == Some(Form::Time))
    }

    /// Likewise of a date with points.
    fn may_be_dotted_date(self) -> bool {
        let last = self.fields.last().map(|(form, _)| *form);
        self.at == 0 && self.fields.len() >= 2 && last == Some(Form::Date)
    }
}
