//! Fields and digits that an INTERVAL type is declared with: `interval day to second(3)`.

use std::fmt;

/// Fields of an INTERVAL type: those below the last one are left out of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalFields {
    /// YEAR.
    Year,
    /// MONTH.
    Month,
    /// DAY.
    Day,
    /// HOUR.
    Hour,
    /// MINUTE.
    Minute,
    /// SECOND.
    Second,
    /// YEAR TO MONTH.
    YearToMonth,
    /// DAY TO HOUR.
    DayToHour,
    /// DAY TO MINUTE.
    DayToMinute,
    /// DAY TO SECOND.
    DayToSecond,
    /// HOUR TO MINUTE.
    HourToMinute,
    /// HOUR TO SECOND.
    HourToSecond,
    /// MINUTE TO SECOND.
    MinuteToSecond,
}

/// Bits of the fields in PostgreSQL's modifiers.
const YEAR: i32 = 1 << 2;
const MONTH: i32 = 1 << 1;
const DAY: i32 = 1 << 3;
const HOUR: i32 = 1 << 10;
const MINUTE: i32 = 1 << 11;
const SECOND: i32 = 1 << 12;

impl IntervalFields {
    /// All of them, in an order that never changes.
    pub const ALL: [Self; 13] = [
        Self::Year,
        Self::Month,
        Self::Day,
        Self::Hour,
        Self::Minute,
        Self::Second,
        Self::YearToMonth,
        Self::DayToHour,
        Self::DayToMinute,
        Self::DayToSecond,
        Self::HourToMinute,
        Self::HourToSecond,
        Self::MinuteToSecond,
    ];

    /// As SQL writes them, in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::Second => "second",
            Self::YearToMonth => "year to month",
            Self::DayToHour => "day to hour",
            Self::DayToMinute => "day to minute",
            Self::DayToSecond => "day to second",
            Self::HourToMinute => "hour to minute",
            Self::HourToSecond => "hour to second",
            Self::MinuteToSecond => "minute to second",
        }
    }

    /// The last field, alone.
    pub const fn last(self) -> Self {
        match self {
            Self::YearToMonth => Self::Month,
            Self::DayToHour => Self::Hour,
            Self::DayToMinute | Self::HourToMinute => Self::Minute,
            Self::DayToSecond | Self::HourToSecond | Self::MinuteToSecond => Self::Second,
            alone => alone,
        }
    }

    const fn bits(self) -> i32 {
        match self {
            Self::Year => YEAR,
            Self::Month => MONTH,
            Self::Day => DAY,
            Self::Hour => HOUR,
            Self::Minute => MINUTE,
            Self::Second => SECOND,
            Self::YearToMonth => YEAR | MONTH,
            Self::DayToHour => DAY | HOUR,
            Self::DayToMinute => DAY | HOUR | MINUTE,
            Self::DayToSecond => DAY | HOUR | MINUTE | SECOND,
            Self::HourToMinute => HOUR | MINUTE,
            Self::HourToSecond => HOUR | MINUTE | SECOND,
            Self::MinuteToSecond => MINUTE | SECOND,
        }
    }
}

/// Fields and digits of an INTERVAL type, of which it has one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntervalForm {
    /// The fields; None for all.
    pub fields: Option<IntervalFields>,
    /// The digits of a second that values are rounded to, 0 to 6; None for all that there are.
    pub digits: Option<u8>,
}

impl IntervalForm {
    /// PostgreSQL's modifier of the type.
    pub fn modifier(self) -> i32 {
        let fields = self.fields.map_or(0x7fff, IntervalFields::bits);
        fields << 16 | self.digits.map_or(0xffff, i32::from)
    }

    /// The form that a modifier of PostgreSQL says; None for that of all fields and digits.
    pub fn of_modifier(modifier: i32) -> Option<Self> {
        if modifier < 0 {
            return None;
        }
        let bits = modifier >> 16 & 0x7fff;
        let fields = IntervalFields::ALL.into_iter().find(|fields| fields.bits() == bits);
        let digits = u8::try_from(modifier & 0xffff).ok().filter(|digits| *digits <= 6);
        (fields.is_some() || digits.is_some()).then_some(Self { fields, digits })
    }
}

/// Text behind `interval` in the name of the type.
impl fmt::Display for IntervalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fields) = self.fields {
            write!(f, " {}", fields.name())?;
        }
        match self.digits {
            Some(digits) => write!(f, "({digits})"),
            None => Ok(()),
        }
    }
}
