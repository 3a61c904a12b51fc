//! Templates of to_char, to_date and to_timestamp, taken apart.
//!
//! ```text
//! "FMMonth DD, YYYY"  ->  Key(Month, fill off)  Text(" ")  Key(DD)  Text(", ")  Key(YYYY)
//! ```
//! Source: PostgreSQL 15, formatting.c.

/// How letters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    Upper,
    Capital,
    Lower,
}

/// Meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// AM, PM; true with dots.
    Meridiem(bool),
    /// BC, AD; true with dots.
    Era(bool),
    Century,
    DayOfWeek,
    DayName,
    DayAbbreviation,
    DayOfYear,
    Day,
    /// FF1 to FF6, US (6).
    Fraction(u8),
    /// MS
    Milliseconds,
    Hour12,
    Hour24,
    IsoDayOfYear,
    IsoDayOfWeek,
    IsoWeek,
    /// I to IYYY: the last digits.
    IsoYear(u8),
    Julian,
    Month,
    MonthName,
    MonthAbbreviation,
    Minute,
    Quarter,
    Roman,
    Second,
    SecondOfDay,
    Zone,
    ZoneHour,
    ZoneMinute,
    ZoneOffset,
    WeekOfMonth,
    WeekOfYear,
    /// Y,YYY
    YearComma,
    /// Y to YYYY: the last digits.
    Year(u8),
}

/// One piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Key {
        key: Key,
        letters: Letters,
        /// FM: neither blanks nor zeros are filled in.
        fill: bool,
        /// TH or th follows: an ordinal's ending.
        ordinal: Option<Letters>,
    },
    /// Written as it is; true when it stood in double quotes.
    Text(String, bool),
}

/// Keys in upper case, each before those that it starts with.
const KEYS: &[(&str, Key)] = &[
    ("A.D.", Key::Era(true)),
    ("A.M.", Key::Meridiem(true)),
    ("AD", Key::Era(false)),
    ("AM", Key::Meridiem(false)),
    ("B.C.", Key::Era(true)),
    ("BC", Key::Era(false)),
    ("CC", Key::Century),
    ("DAY", Key::DayName),
    ("DDD", Key::DayOfYear),
    ("DD", Key::Day),
    ("DY", Key::DayAbbreviation),
    ("D", Key::DayOfWeek),
    ("FF1", Key::Fraction(1)),
    ("FF2", Key::Fraction(2)),
    ("FF3", Key::Fraction(3)),
    ("FF4", Key::Fraction(4)),
    ("FF5", Key::Fraction(5)),
    ("FF6", Key::Fraction(6)),
    ("HH24", Key::Hour24),
    ("HH12", Key::Hour12),
    ("HH", Key::Hour12),
    ("IDDD", Key::IsoDayOfYear),
    ("ID", Key::IsoDayOfWeek),
    ("IW", Key::IsoWeek),
    ("IYYY", Key::IsoYear(4)),
    ("IYY", Key::IsoYear(3)),
    ("IY", Key::IsoYear(2)),
    ("I", Key::IsoYear(1)),
    ("J", Key::Julian),
    ("MI", Key::Minute),
    ("MM", Key::Month),
    ("MONTH", Key::MonthName),
    ("MON", Key::MonthAbbreviation),
    ("MS", Key::Milliseconds),
    ("OF", Key::ZoneOffset),
    ("P.M.", Key::Meridiem(true)),
    ("PM", Key::Meridiem(false)),
    ("Q", Key::Quarter),
    ("RM", Key::Roman),
    ("SSSSS", Key::SecondOfDay),
    ("SSSS", Key::SecondOfDay),
    ("SS", Key::Second),
    ("TZH", Key::ZoneHour),
    ("TZM", Key::ZoneMinute),
    ("TZ", Key::Zone),
    ("US", Key::Fraction(6)),
    ("WW", Key::WeekOfYear),
    ("W", Key::WeekOfMonth),
    ("Y,YYY", Key::YearComma),
    ("YYYY", Key::Year(4)),
    ("YYY", Key::Year(3)),
    ("YY", Key::Year(2)),
    ("Y", Key::Year(1)),
];

/// The key with which `text` starts, how it is written, and its length. Keys are in one case, names
/// of months and days may also be capitalised.
fn find_key(text: &str) -> Option<(Key, Letters, usize)> {
    for &(name, key) in KEYS {
        let Some(start) = text.get(..name.len()) else {
            continue;
        };
        if !start.eq_ignore_ascii_case(name) {
            continue;
        }
        let named = matches!(
            key,
            Key::MonthName | Key::MonthAbbreviation | Key::DayName | Key::DayAbbreviation
        );
        let lower = name.to_ascii_lowercase();
        let letters = if start == name {
            Letters::Upper
        } else if start == lower {
            Letters::Lower
        } else if named && start[..1] == name[..1] && start[1..] == lower[1..] {
            Letters::Capital
        } else {
            continue;
        };
        return Some((key, letters, name.len()));
    }
    None
}

/// The template's pieces in order.
pub(super) fn parse(template: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = template;
    let mut fill = true;
    while !rest.is_empty() {
        if let Some(after) = strip_either(rest, "FM") {
            fill = false;
            rest = after;
        } else if let Some(after) = strip_either(rest, "TM").or_else(|| strip_either(rest, "FX")) {
            rest = after;
        } else if let Some((key, letters, length)) = find_key(rest) {
            rest = &rest[length..];
            let mut ordinal = None;
            for (suffix, form) in [("TH", Letters::Upper), ("th", Letters::Lower)] {
                if let Some(after) = rest.strip_prefix(suffix) {
                    (ordinal, rest) = (Some(form), after);
                }
            }
            rest = strip_either(rest, "SP").unwrap_or(rest);
            pieces.push(Piece::Key { key, letters, fill, ordinal });
            fill = true;
        } else {
            let is_quoted = rest.starts_with('"');
            let text;
            (text, rest) = take_text(rest);
            pieces.push(Piece::Text(text, is_quoted));
        }
    }
    pieces
}

fn strip_either<'a>(text: &'a str, upper: &str) -> Option<&'a str> {
    let start = text.get(..upper.len())?;
    (start == upper || start == upper.to_ascii_lowercase()).then(|| &text[upper.len()..])
}

/// One character of `rest`, or its text in double quotes, and what follows. A backslash is for the
/// quotes alone, and in them for what follows it.
pub(super) fn take_text(rest: &str) -> (String, &str) {
    let mut characters = rest.chars();
    let mut text = String::new();
    match characters.next() {
        Some('"') => {
            while let Some(c) = characters.next() {
                match c {
                    '"' => break,
                    '\\' if !characters.as_str().is_empty() => text.extend(characters.next()),
                    c => text.push(c),
                }
            }
        }
        Some('\\') if characters.as_str().starts_with('"') => text.extend(characters.next()),
        first => text.extend(first),
    }
    (text, characters.as_str())
}

/// Full names of the months, capitalised; their first three letters are the abbreviations.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Full names of the days from Sunday, capitalised; their first three letters are the
/// abbreviations.
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Roman numbers of the months.
pub(super) const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
