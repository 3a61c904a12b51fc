//! Words of dates and times.

/// Unit that a word labels the number before it with: `y`, `m`, `d` and their kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Julian,
    /// T: a time.
    Time,
    /// dow, doy, isodow, isoyear: no field of a text.
    Other,
}

/// Meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    MinusInfinity,
    Infinity,
    Epoch,
    Now,
    /// So many days from today.
    Today(i32),
    /// Midnight in UTC.
    AllBalls,
    /// AD, or BC.
    Era {
        before_christ: bool,
    },
    /// AM, or PM.
    Meridiem {
        afternoon: bool,
    },
    Month(i64),
    Weekday,
    /// DST: an hour more.
    Summer,
    Label(Label),
    /// `t` in front of a time.
    TimeFollows,
    /// `at`, `on`.
    Filler,
}

/// Names of the months in lower case.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 18] = [
    "sun",
    "sunday",
    "mon",
    "monday",
    "tue",
    "tues",
    "tuesday",
    "wed",
    "weds",
    "wednesday",
    "thu",
    "thur",
    "thurs",
    "thursday",
    "fri",
    "friday",
    "sat",
    "saturday",
];

/// The month, from 1, that a lower-case word names.
pub(crate) fn month_number(word: &str) -> Option<u32> {
    let found = MONTHS.iter().position(|m| *m == word || m[..3] == *word);
    found.map(|i| i as u32 + 1).or((word == "sept").then_some(9))
}

/// The word `text`, in any case, is.
///
/// Source: PostgreSQL 15, datetime.c, `datetktbl`.
pub(super) fn word(text: &str) -> Option<Word> {
    let text = text.to_ascii_lowercase();
    if let Some(month) = month_number(&text) {
        return Some(Word::Month(i64::from(month)));
    }
    if WEEKDAYS.contains(&text.as_str()) {
        return Some(Word::Weekday);
    }
    Some(match text.as_str() {
        "-infinity" => Word::MinusInfinity,
        "infinity" => Word::Infinity,
        "epoch" => Word::Epoch,
        "now" => Word::Now,
        "today" => Word::Today(0),
        "tomorrow" => Word::Today(1),
        "yesterday" => Word::Today(-1),
        "allballs" => Word::AllBalls,
        "ad" => Word::Era { before_christ: false },
        "bc" => Word::Era { before_christ: true },
        "am" => Word::Meridiem { afternoon: false },
        "pm" => Word::Meridiem { afternoon: true },
        "dst" => Word::Summer,
        "y" => Word::Label(Label::Year),
        "m" => Word::Label(Label::Month),
        "d" => Word::Label(Label::Day),
        "h" => Word::Label(Label::Hour),
        "mm" => Word::Label(Label::Minute),
        "s" => Word::Label(Label::Second),
        "j" | "jd" | "julian" => Word::Label(Label::Julian),
        "dow" | "doy" | "isodow" | "isoyear" => Word::Label(Label::Other),
        "t" => Word::TimeFollows,
        "at" | "on" => Word::Filler,
        _ => return None,
    })
}

/// True when digits behind these letters are a field of their own.
pub(super) fn is_known(letters: &str) -> bool {
    word(letters).is_some()
}
