//! Guesses names and types of a CSV file from its beginning.

use types::{DataType, text};

use crate::csv::options::{CsvOptions, Dialect, Header};
use crate::csv::parse::CsvRecords;
use crate::rows::{Field, Records as _};

/// Records looked at.
const RECORDS: usize = 20_000;

/// Candidate types from narrow to wide; the first that all values fit is taken.
const CANDIDATES: [DataType; 6] = [
    DataType::Boolean,
    DataType::BigInt,
    DataType::Double,
    DataType::Date,
    DataType::TIMESTAMP,
    DataType::Text,
];

/// What was found out.
pub(crate) struct Sniffed {
    pub(crate) dialect: Dialect,
    pub(crate) header: Header,
    pub(crate) columns: Vec<(String, DataType)>,
}

/// The delimiter that cuts the first lines into most fields, equally many in each.
pub(crate) fn delimiter(text: &[u8]) -> u8 {
    let lines: Vec<&[u8]> =
        text.split(|b| *b == b'\n').take(20).filter(|l| !l.is_empty()).collect();
    let count = |line: &[u8], delimiter: u8| line.iter().filter(|b| **b == delimiter).count();
    let score = |delimiter: u8| {
        let first = lines.first().map_or(0, |l| count(l, delimiter));
        // The last line may be cut.
        let whole = &lines[..lines.len().saturating_sub(1).max(1).min(lines.len())];
        if whole.iter().all(|l| count(l, delimiter) == first) { first } else { 0 }
    };
    let mut best = (0, b',');
    for candidate in *b",|;\t" {
        let score = score(candidate);
        if score > best.0 {
            best = (score, candidate);
        }
    }
    best.1
}

/// Whether text is a value of `ty` as a guess: stricter than a cast, "1" is no boolean.
fn fits(bytes: &[u8], ty: DataType) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return ty == DataType::Text;
    };
    match ty {
        DataType::Text => true,
        DataType::Boolean => ["true", "false"].iter().any(|w| text.eq_ignore_ascii_case(w)),
        DataType::Date | DataType::Timestamp(_) => {
            // ISO forms only: 2024-05-06; other texts that a cast would take are more likely text.
            let iso = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
            iso && (ty == DataType::TIMESTAMP || text.len() == 10) && text::parse(text, ty).is_ok()
        }
        DataType::BigInt | DataType::Double => {
            // Leading zeros are codes (postal, telephone), not numbers.
            let digits = text.trim_start_matches('-').as_bytes();
            let code = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
            let number = text.starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c));
            number && !code && text::parse(text, ty).is_ok()
        }
        _ => false,
    }
}

fn narrow(candidates: &mut Vec<DataType>, bytes: &[u8]) {
    candidates.retain(|ty| fits(bytes, *ty));
}

/// Looks at the first records of `text`, which is cut after a record (or anywhere: a last record
/// without an end is not looked at).
pub(crate) fn sniff(text: &[u8], options: &CsvOptions, dialect: Dialect) -> Sniffed {
    let end = memchr::memrchr(b'\n', text).map_or(text.len(), |i| i + 1);
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
    let column = |(i, candidates): (usize, &Vec<DataType>)| {
        let name = match (header, &first[i]) {
            (Header::Absent, _) | (_, None) => format!("column{i}"),
            (_, Some(bytes)) => String::from_utf8_lossy(bytes).trim().to_owned(),
        };
        // A column without any value says nothing: text takes whatever comes.
        let blank = candidates.len() == CANDIDATES.len();
        let ty = if options.all_text || blank { None } else { candidates.first() };
        (name, ty.copied().unwrap_or(DataType::Text))
    };
    let columns = types.iter().enumerate().map(column).collect();
    Sniffed { dialect, header, columns }
}

/// The first record holds names when it does not fit the types of the others, or, where all is
/// text, when its fields look like names and differ.
fn guess_header(first: &[Option<Vec<u8>>], types: &[Vec<DataType>], records: usize) -> Header {
    if first.is_empty() || first.iter().any(Option::is_none) {
        return Header::Absent;
    }
    let values: Vec<&[u8]> = first.iter().flatten().map(Vec::as_slice).collect();
    let differs = |(bytes, candidates): (&&[u8], &Vec<DataType>)| {
        candidates.first().is_some_and(|ty| *ty != DataType::Text && !fits(bytes, *ty))
    };
    if records > 1 && values.iter().zip(types).any(differs) {
        return Header::Present;
    }
    let name = |bytes: &&[u8]| {
        let letter = bytes.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
        letter && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
    };
    let mut distinct = values.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let all_text = types.iter().all(|c| c.first() == Some(&DataType::Text));
    if all_text && distinct.len() == values.len() && values.iter().all(name) {
        Header::Present
    } else {
        Header::Absent
    }
}
