//! Keys of texts whose order as bytes is that of a language.
//!
//! ```text
//! key   sort key of the collation, 00, the text
//! ```
//! Texts that the language does not tell apart are ordered by their bytes, so that only equal texts
//! have equal keys.

use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use types::{Collation, Error, Result};

use crate::Vector;
use crate::rows::{Texts, try_write};

/// The key of each text.
///
/// # Errors
/// XX000 for a collation without rules, 57014 after a cancel.
pub fn keys(a: &Vector, collation: Collation) -> Result<Vector> {
    let collator = collator(collation)?;
    let (values, mut key) = (Texts::new(a), Vec::new());
    try_write(&[a], |i, out| {
        let text = values.bytes(i);
        key.clear();
        let Ok(()) = collator.write_sort_key_utf8_to(text, &mut key);
        out.extend_from_slice(&key);
        out.push(0);
        out.extend_from_slice(text);
        Ok(())
    })
}

fn collator(collation: Collation) -> Result<CollatorBorrowed<'static>> {
    let missing = || Error::internal("the collation has rules");
    let locale: Locale = collation.locale().parse().map_err(|_| missing())?;
    let preferences = CollatorPreferences::from(&locale);
    Collator::try_new(preferences, CollatorOptions::default()).map_err(|_| missing())
}

#[cfg(test)]
mod tests {
    use types::{Collation, DataType, Value};

    use super::*;
    use crate::VectorBuilder;

    fn sorted(name: &str, texts: &[&str]) -> Vec<String> {
        let collation = Collation::named(name).ok().flatten().expect("a collation of a language");
        let mut builder = VectorBuilder::with_capacity(DataType::Text.physical(), texts.len());
        texts.iter().for_each(|text| builder.push_str(text.as_bytes()));
        let found = keys(&builder.finish(), collation).expect("rules");
        let mut all: Vec<_> = (0..texts.len()).map(|i| (found.value(i), texts[i])).collect();
        all.sort_by(|(a, _), (b, _)| match (a, b) {
            (Value::Str(a), Value::Str(b)) => a.cmp(b),
            _ => std::cmp::Ordering::Equal,
        });
        all.into_iter().map(|(_, text)| text.to_owned()).collect()
    }

    #[test]
    fn letters_stand_where_a_language_has_them() {
        let texts = ["z", "\u{e4}", "a", "B", "b", "A", ""];
        let german = ["", "a", "A", "\u{e4}", "b", "B", "z"];
        assert_eq!(sorted("de-x-icu", &texts), german);
        let swedish = ["", "a", "A", "b", "B", "z", "\u{e4}"];
        assert_eq!(sorted("sv-x-icu", &texts), swedish);
    }

    #[test]
    fn all_collations_have_rules() {
        assert!(Collation::all().all(|collation| collator(collation).is_ok()));
    }
}
