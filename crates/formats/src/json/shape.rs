//! Columns of a file, guessed from its beginning.

use types::json::{Json, Kind, check, unescaped};
use types::{DataType, text};

use super::records::{Layout, Texts};
use crate::csv::fits;

/// Records that are looked at.
const RECORDS: usize = 20_480;

/// Column of a value that is no object.
const VALUE: &str = "json";

/// Types that texts are guessed to be of, in order.
const TEXTS: [DataType; 5] =
    [DataType::Date, DataType::TIMESTAMP, DataType::TIMESTAMPTZ, DataType::TIME, DataType::Uuid];

/// The columns that the records in `sample` have, in the order in which their keys come.
pub(crate) fn columns(sample: &[u8], layout: Layout) -> Vec<(String, DataType)> {
    let mut texts = Texts::new(sample, layout);
    let mut found: Vec<(Vec<u8>, Option<DataType>)> = Vec::new();
    let mut seen = 0;
    while seen < RECORDS
        && let Some(record) = texts.next()
    {
        // What is cut off at the sample's end is none either.
        if check(record).is_err() {
            continue;
        }
        seen += 1;
        let record = Json::new(record);
        if record.kind() != Kind::Object {
            return vec![(VALUE.to_owned(), DataType::Json)];
        }
        for (key, value) in record.fields() {
            let Ok(key) = unescaped(key) else { continue };
            let at = match found.iter().position(|(known, _)| *known == *key) {
                Some(at) => at,
                None => {
                    found.push((key.into_owned(), None));
                    found.len() - 1
                }
            };
            let known = &mut found[at].1;
            *known = united(*known, value);
        }
    }
    // A column without any value says nothing: JSON takes whatever comes.
    let column = |(name, ty): (Vec<u8>, Option<DataType>)| {
        (String::from_utf8_lossy(&name).into_owned(), ty.unwrap_or(DataType::Json))
    };
    found.into_iter().map(column).collect()
}

/// The type of the values so far and of `value`.
fn united(known: Option<DataType>, value: Json<'_>) -> Option<DataType> {
    let ty = match value.kind() {
        Kind::Null => return known,
        Kind::Boolean => DataType::Boolean,
        Kind::Number => number(value.bytes()),
        Kind::Object | Kind::Array => DataType::Json,
        Kind::String => {
            let plain = unescaped(value.bytes()).unwrap_or_default();
            let is_one = |ty: &DataType| match ty {
                DataType::Uuid => {
                    let text = std::str::from_utf8(&plain).unwrap_or_default();
                    text.len() == 36 && text::parse(text, DataType::Uuid).is_ok()
                }
                ty => fits(&plain, *ty),
            };
            TEXTS.into_iter().find(is_one).unwrap_or(DataType::Text)
        }
    };
    Some(match known {
        None => ty,
        Some(known) if known == ty => ty,
        Some(known) if known.is_number() && ty.is_number() => {
            let is_any = |wanted: DataType| known == wanted || ty == wanted;
            if is_any(DataType::Double) { DataType::Double } else { DataType::NUMERIC }
        }
        Some(known) if of_text(known) && of_text(ty) => {
            let is_day = |ty| matches!(ty, DataType::Date | DataType::Timestamp(_));
            if is_day(known) && is_day(ty) { DataType::TIMESTAMP } else { DataType::Text }
        }
        Some(_) => DataType::Json,
    })
}

/// True for the types of strings.
fn of_text(ty: DataType) -> bool {
    ty == DataType::Text || TEXTS.contains(&ty)
}

fn number(bytes: &[u8]) -> DataType {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if text.contains(['.', 'e', 'E']) {
        DataType::Double
    } else if text.parse::<i64>().is_ok() {
        DataType::BigInt
    } else {
        DataType::NUMERIC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_all_records() {
        let text = [
            r#"{"a":1,"b":null,"d":"2024-01-02","n":{"x":1},"m":1,"big":123456789012345678901}"#,
            r#"{"a":2.5,"b":"x","d":"2024-01-02 03:04:05","m":"s","c":true,"#,
            r#""u":"0b9e0f6e-3f0a-4b0e-8a8a-8a8a8a8a8a8a"}"#,
        ]
        .join("\n");
        let found = columns(text.as_bytes(), Layout::Lines);
        let shown: Vec<String> = found.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        assert_eq!(
            shown,
            [
                "a double precision",
                "b text",
                "d timestamp without time zone",
                "n json",
                "m json",
                "big numeric",
                "c boolean",
                "u uuid"
            ]
        );
        assert_eq!(columns(b"1 2", Layout::Lines), [("json".to_owned(), DataType::Json)]);
    }
}
