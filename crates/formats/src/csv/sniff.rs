//! Guesses names and types of a CSV file from its beginning.

use types::{DataType, NumericDisplay, NumericType, Result, text};

use crate::csv::options::{CsvOptions, Dialect, Header};
use crate::csv::parse::CsvRecords;
use crate::rows::{Field, Records as _};

/// Records looked at.
const RECORDS: usize = 20_000;

/// Records that say how fields are delimited.
const DIALECT_RECORDS: usize = 200;

/// Lines in front of the table that are passed over.
const PREAMBLE_MAX: usize = 20;

/// Integers beyond 64 bits.
const LONG_INTEGER: DataType = DataType::Numeric(NumericType {
    precision: NumericType::PRECISION_MAX,
    scale: 0,
    display: NumericDisplay::Fixed,
});

/// Candidate types from narrow to wide; the first that all values fit is taken.
const CANDIDATES: [DataType; 9] = [
    DataType::Boolean,
    DataType::BigInt,
    LONG_INTEGER,
    DataType::Double,
    DataType::TIME,
    DataType::Date,
    DataType::TIMESTAMP,
    DataType::TIMESTAMPTZ,
    DataType::Text,
];

/// Extent of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The text is all of a file.
    Whole,
    /// The text is the beginning of a file.
    Cut,
}

/// Findings about a file.
pub(crate) struct Sniffed {
    pub(crate) dialect: Dialect,
    pub(crate) header: Header,
    pub(crate) columns: Vec<(String, DataType)>,
}

/// How the fields of a text are delimited, and where its table begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) delimiter: u8,
    /// Bytes in front of the first record: lines that are no part of the table.
    pub(crate) start: usize,
}

/// The delimiter with which most records, up to the last, have equally many fields, more than one;
/// of equally many records, the one with most fields. Lines before these, of one field each, are no
/// part of the table.
pub(crate) fn shape(text: &[u8], options: &CsvOptions) -> Result<Shape> {
    let given = options.delimiter.map(|delimiter| vec![delimiter]);
    let mut best = (0, 0, Shape { delimiter: options.delimiter.unwrap_or(b','), start: 0 });
    for delimiter in given.unwrap_or_else(|| b",|;\t".to_vec()) {
        if delimiter == options.quote {
            continue;
        }
        let dialect = Dialect { newline: newline(text), ..options.dialect(delimiter)? };
        let records = lengths(text, &dialect);
        let Some((_, fields)) = records.last().copied().filter(|(_, fields)| *fields > 1) else {
            continue;
        };
        let before = records.iter().rposition(|(_, n)| *n != fields).map_or(0, |at| at + 1);
        let is_preamble =
            before <= PREAMBLE_MAX && records[..before].iter().all(|(_, fields)| *fields == 1);
        let before = if is_preamble { before } else { 0 };
        let count = records[before..].iter().filter(|(_, n)| *n == fields).count();
        if (count, fields) > (best.0, best.1) {
            let start = if before == 0 { 0 } else { records[before].0 };
            best = (count, fields, Shape { delimiter, start });
        }
    }
    Ok(best.2)
}

/// Where the first records begin, and how many fields they have. A last one that is cut off does
/// not count.
fn lengths(text: &[u8], dialect: &Dialect) -> Vec<(usize, usize)> {
    let mut records = CsvRecords::new(text, dialect);
    let mut lengths = Vec::new();
    loop {
        let start = records.offset();
        if lengths.len() == DIALECT_RECORDS || !records.next().unwrap_or(false) {
            return lengths;
        }
        let is_cut = records.offset() > text.len() && lengths.len() > 1;
        if !records.is_blank() && !is_cut {
            lengths.push((start, records.fields().len()));
        }
    }
}

/// Byte that ends lines: carriage returns, where there are no line feeds.
pub(crate) fn newline(text: &[u8]) -> u8 {
    match memchr::memchr(b'\n', text) {
        None if memchr::memchr(b'\r', text).is_some() => b'\r',
        _ => b'\n',
    }
}

/// True when text is a value of `ty` as a guess: stricter than a cast, "1" is no boolean.
pub(crate) fn fits(bytes: &[u8], ty: DataType) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return ty == DataType::Text;
    };
    match ty {
        DataType::Text => true,
        DataType::Boolean => ["true", "false"].iter().any(|w| text.eq_ignore_ascii_case(w)),
        DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_) => {
            // ISO forms only: 2024-05-06; other texts that a cast would take are more likely text.
            let iso = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
            let is_long = match ty {
                DataType::Date => text.len() == 10,
                DataType::TimestampTz(_) => true,
                // An offset would be lost.
                _ => !has_offset(text),
            };
            iso && is_long && text::parse(text, ty).is_ok()
        }
        DataType::Time(_) => {
            let is_clock = text.len() >= 8 && text.as_bytes()[2] == b':' && !has_offset(text);
            is_clock && text::parse(text, ty).is_ok()
        }
        DataType::BigInt | DataType::Double | DataType::Numeric(_) => {
            // Leading zeros are codes (postal, telephone), not numbers.
            let digits = text.trim_start_matches('-').as_bytes();
            let code = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
            let number = text.starts_with(|c: char| c.is_ascii_digit() || "-.".contains(c));
            let is_whole = digits.iter().all(u8::is_ascii_digit);
            let is_one = match ty {
                DataType::Numeric(_) => is_whole,
                // A longer integer would lose its last digits.
                DataType::Double => !is_whole || digits.len() <= LONGEST_INTEGER,
                _ => true,
            };
            number && !code && is_one && text::parse(text, ty).is_ok()
        }
        _ => false,
    }
}

/// Digits of an integer that is no text.
const LONGEST_INTEGER: usize = NumericType::PRECISION_MAX as usize;

/// True when an offset from UTC, Z or the name of a zone follows the time.
fn has_offset(text: &str) -> bool {
    let clock = text.get(10..).unwrap_or(text).trim_start_matches(['T', 't', ' ']);
    clock.contains(['+', '-']) || clock.ends_with(|c: char| c.is_ascii_alphabetic())
}

fn narrow(candidates: &mut Vec<DataType>, bytes: &[u8]) {
    candidates.retain(|ty| fits(bytes, *ty));
}

/// Looks at the first records of `text`; the last of one that is cut is not looked at.
pub(crate) fn sniff(
    text: &[u8],
    extent: Extent,
    options: &CsvOptions,
    dialect: Dialect,
) -> Sniffed {
    let end = match extent {
        Extent::Whole => text.len(),
        Extent::Cut => memchr::memrchr(dialect.newline, text).map_or(text.len(), |i| i + 1),
    };
    let mut records = CsvRecords::new(&text[..end], &dialect);
    let mut first: Vec<Option<Vec<u8>>> = Vec::new();
    let mut types: Vec<Vec<DataType>> = Vec::new();
    let mut seen = 0;
    while seen < RECORDS && records.next().unwrap_or(false) {
        if records.is_blank() && first.len() != 1 {
            continue;
        }
        let owned = |&f: &Field| (f != Field::Null).then(|| records.bytes(f).to_vec());
        if seen == 0 {
            first = records.fields().iter().map(owned).collect();
            types = vec![CANDIDATES.to_vec(); first.len()];
        } else {
            for (candidates, &field) in types.iter_mut().zip(records.fields()) {
                if field != Field::Null {
                    narrow(candidates, records.bytes(field));
                }
            }
        }
        seen += 1;
    }
    let header = options.header.unwrap_or_else(|| guess_header(&first, &types, seen));
    if header == Header::Absent {
        for (candidates, value) in types.iter_mut().zip(&first) {
            value.iter().for_each(|bytes| narrow(candidates, bytes));
        }
    }
    let mut names: Vec<String> = Vec::with_capacity(first.len());
    let mut column = |(i, candidates): (usize, &Vec<DataType>)| {
        let given = first[i].as_ref().map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
        let given = given.filter(|name| !name.is_empty() && header != Header::Absent);
        let name = free_name(&given.unwrap_or_else(|| format!("column{i}")), &names);
        names.push(name.clone());
        // A column without any value says nothing: text takes whatever comes.
        let blank = candidates.len() == CANDIDATES.len();
        let ty = if options.all_text || blank { None } else { candidates.first() };
        (name, ty.copied().unwrap_or(DataType::Text))
    };
    let columns = types.iter().enumerate().map(&mut column).collect();
    Sniffed { dialect, header, columns }
}

/// `name`, with a number behind it when one of `taken` is like it.
fn free_name(name: &str, taken: &[String]) -> String {
    let is_free = |name: &str| !taken.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is_free(name) {
        return name.to_owned();
    }
    let numbered = (1..).map(|number| format!("{name}_{number}"));
    numbered.into_iter().find(|name| is_free(name)).unwrap_or_default()
}

/// The first record holds names when it does not fit the types of the others, or where all is
/// text.
fn guess_header(first: &[Option<Vec<u8>>], types: &[Vec<DataType>], records: usize) -> Header {
    if first.iter().all(Option::is_none) {
        return Header::Absent;
    }
    let fits_one = |(value, candidates): (&Option<Vec<u8>>, &Vec<DataType>)| match value {
        Some(bytes) => candidates.first().is_none_or(|ty| fits(bytes, *ty)),
        None => true,
    };
    let is_text = |(value, candidates): (&Option<Vec<u8>>, &Vec<DataType>)| match value {
        // Of one record, its own values say what it is.
        Some(bytes) if records == 1 => {
            CANDIDATES.iter().find(|ty| fits(bytes, **ty)) == Some(&DataType::Text)
        }
        // A column without any value is as good as text.
        _ => candidates.len() == CANDIDATES.len() || candidates.first() == Some(&DataType::Text),
    };
    let differs = records > 1 && !first.iter().zip(types).all(fits_one);
    if differs || first.iter().zip(types).all(is_text) { Header::Present } else { Header::Absent }
}

#[cfg(test)]
mod tests {
    use engine::registry::FileOptions;
    use types::calendar::TimeZone;
    use types::charset::Charset;

    use super::*;

    /// Names, types and header of a file, and the bytes in front of it.
    fn found(text: &str) -> (Vec<(String, DataType)>, Header, usize) {
        let zone = TimeZone::UTC;
        let given = FileOptions::new(&[], &zone, Charset::UTF8).expect("none");
        let options = CsvOptions::new(given).expect("no options");
        let shape = shape(text.as_bytes(), &options).expect("a shape");
        let newline = newline(text.as_bytes());
        let dialect = Dialect { newline, ..options.dialect(shape.delimiter).expect("a dialect") };
        let rest = &text.as_bytes()[shape.start..];
        let sniffed = sniff(rest, Extent::Whole, &options, dialect);
        (sniffed.columns, sniffed.header, shape.start)
    }

    /// Answers of DuckDB 2.0.
    #[test]
    fn names_and_types_are_duckdbs() {
        use DataType as T;
        let cases: [(&str, &[(&str, DataType)]); 26] = [
            ("a,b\n1,2\n3,x", &[("a", T::BigInt), ("b", T::Text)]),
            ("a,b\n1,2\n3,4.5", &[("a", T::BigInt), ("b", T::Double)]),
            ("when\n2023-01-01T00:00:00+02:00\n", &[("when", T::TIMESTAMPTZ)]),
            (
                "w,x\n2023-01-01 00:00:00+02:00,1\n2023-01-01 00:00:00,2\n",
                &[("w", T::TIMESTAMPTZ), ("x", T::BigInt)],
            ),
            ("id\n9223372036854775807\n9223372036854775808\n", &[("id", LONG_INTEGER)]),
            ("a,b\r1,x\r2,y\r", &[("a", T::BigInt), ("b", T::Text)]),
            ("a,b\r\n1,x\r\n2,y\r\n", &[("a", T::BigInt), ("b", T::Text)]),
            (",s,a\n0,1,x\n1,2,y\n", &[("column0", T::BigInt), ("s", T::BigInt), ("a", T::Text)]),
            ("Full name,City\nAnn,Rome\nBob,Oslo\n", &[("Full name", T::Text), ("City", T::Text)]),
            ("a,b,\n1,2,\n3,4,\n", &[("a", T::BigInt), ("b", T::BigInt), ("column2", T::Text)]),
            ("id,id\n1,2\n", &[("id", T::BigInt), ("id_1", T::BigInt)]),
            ("a,A\n1,2\n", &[("a", T::BigInt), ("A_1", T::BigInt)]),
            (
                "Land;Ort;n\nX;\"1.5;2\";97100,7\nY;\"2.5;3\";12,5\n",
                &[("Land", T::Text), ("Ort", T::Text), ("n", T::Text)],
            ),
            ("made by tool\nk;v\n1;a\n2;b\n", &[("k", T::BigInt), ("v", T::Text)]),
            ("# note\na,b\n1,x\n", &[("a", T::BigInt), ("b", T::Text)]),
            ("a,b\n", &[("a", T::Text), ("b", T::Text)]),
            ("a,b", &[("a", T::Text), ("b", T::Text)]),
            ("1,2\n", &[("column0", T::BigInt), ("column1", T::BigInt)]),
            ("1,x\n", &[("column0", T::BigInt), ("column1", T::Text)]),
            ("%,p.q,1st\n1,2,3\n", &[("%", T::BigInt), ("p.q", T::BigInt), ("1st", T::BigInt)]),
            ("%,p.q,1st\nx,y,z\n", &[("%", T::Text), ("p.q", T::Text), ("1st", T::Text)]),
            ("p.q,1\n1,2\n", &[("p.q", T::BigInt), ("1", T::BigInt)]),
            ("a\tb\n1\tx\n", &[("a", T::BigInt), ("b", T::Text)]),
            ("t\n12:34:56\n", &[("t", T::TIME)]),
            ("v\n-1\n+2\n", &[("v", T::Text)]),
            ("1,a\n2,b\n", &[("column0", T::BigInt), ("column1", T::Text)]),
        ];
        for (text, expected) in cases {
            let (columns, ..) = found(text);
            let shown: Vec<(&str, DataType)> =
                columns.iter().map(|(name, ty)| (name.as_str(), *ty)).collect();
            assert_eq!(shown, expected, "{text:?}");
        }
    }

    #[test]
    fn ragged_lines_are_no_preamble() {
        assert_eq!(found("a,b\n1,2\n3\n4,5\n").2, 0);
        assert_eq!(found("note\na,b\n1,2\n").2, 5);
    }
}
