//! Keys of texts whose order as bytes is that of a language.
//!
//! ```text
//! deterministic        sort key of the collation, 00, the text
//! not deterministic    sort key of the collation
//! ```
//! Texts that the language does not tell apart are ordered by their bytes, so that only equal texts
//! have equal keys; under a collation that is not deterministic they are equal, and so are their
//! keys.
//! Elsewhere: what locales mean (`locale`).

mod locale;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use icu_collator::{Collator, CollatorBorrowed};
use types::{Collation, DataType, ElementType, Error, Result, Value, array};

use crate::Vector;
use crate::rows::{Texts, try_narrow, try_write};

/// Version of the rules of languages, as catalogs show it: that of the library with its data.
pub const VERSION: &str = "icu4x-2.4";

/// The key of each text, or the array of the keys of each array of texts.
///
/// # Errors
/// XX000 for a collation without rules, 57014 after a cancel.
pub fn keys(a: &Vector, ty: DataType, collation: Collation) -> Result<Vector> {
    let collator = collator(collation)?;
    let values = Texts::new(a);
    let mut key = Vec::new();
    if let DataType::Array(element) = ty {
        return try_write(&[a], |i, out| {
            let keys = array::map(values.bytes(i), element, ElementType::Bytea, |value| {
                let Value::Str(text) = &value else { return Ok(value) };
                write_key(&collator, collation, text, &mut key);
                Ok(Value::Str(key.as_slice().into()))
            })?;
            out.extend_from_slice(&keys);
            Ok(())
        });
    }
    try_write(&[a], |i, out| {
        write_key(&collator, collation, values.bytes(i), &mut key);
        out.extend_from_slice(&key);
        Ok(())
    })
}

/// The text of each key of a deterministic collation.
///
/// # Errors
/// 57014 after a cancel.
pub fn texts(keys: &Vector) -> Result<Vector> {
    try_narrow(keys, &[keys], |_, key| {
        // No text has a zero in it.
        let begin = key.iter().rposition(|&byte| byte == 0).map_or(0, |end| end + 1);
        Ok(begin..key.len())
    })
}

/// Makes sure that there are rules for the locale of a collation.
///
/// # Errors
/// 0A000 for a keyword of the locale that asks for what is not there, 22023 for a value that a
/// keyword does not have.
pub fn check_locale(locale: &str) -> Result<()> {
    locale::rules(locale).map(|_| ())
}

fn write_key(
    collator: &CollatorBorrowed<'static>,
    collation: Collation,
    text: &[u8],
    key: &mut Vec<u8>,
) {
    key.clear();
    let Ok(()) = collator.write_sort_key_utf8_to(text, key);
    if !collation.has_own_equality() {
        key.push(0);
        key.extend_from_slice(text);
    }
}

/// The rules of a collation, made once.
fn collator(collation: Collation) -> Result<Arc<CollatorBorrowed<'static>>> {
    type Known = RwLock<HashMap<Collation, Arc<CollatorBorrowed<'static>>>>;
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let known = KNOWN.get_or_init(RwLock::default);
    if let Some(found) = known.read().unwrap_or_else(PoisonError::into_inner).get(&collation) {
        return Ok(Arc::clone(found));
    }
    let (preferences, options) = locale::rules(collation.locale())?;
    let made = Collator::try_new(preferences, options);
    let made = Arc::new(made.map_err(|_| Error::internal("the collation has rules"))?);
    let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
    Ok(Arc::clone(known.entry(collation).or_insert(made)))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;
    use types::{CollationProvider, TextEquality};

    use super::*;
    use crate::VectorBuilder;

    fn named(name: &str) -> Collation {
        Collation::named(name).expect("a collation of a language")
    }

    fn own(locale: &str) -> Collation {
        let equality = TextEquality::OfLanguage;
        Collation::of_users(20_000, CollationProvider::Icu, locale, equality)
    }

    fn keys_of(collation: Collation, texts: &[&str]) -> Vec<Vec<u8>> {
        let mut builder = VectorBuilder::with_capacity(DataType::Text.physical(), texts.len());
        texts.iter().for_each(|text| builder.push_str(text.as_bytes()));
        let found = keys(&builder.finish(), DataType::Text, collation).expect("rules");
        let key = |i| match found.value(i) {
            Value::Str(key) => key.to_vec(),
            other => panic!("a key, not {other:?}"),
        };
        (0..texts.len()).map(key).collect()
    }

    fn sorted(collation: Collation, texts: &[&str]) -> Vec<String> {
        let mut all: Vec<_> = keys_of(collation, texts).into_iter().zip(texts).collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all.into_iter().map(|(_, text)| (*text).to_owned()).collect()
    }

    fn are_equal(locale: &str, a: &str, b: &str) -> bool {
        let keys = keys_of(own(locale), &[a, b]);
        keys[0] == keys[1]
    }

    #[test]
    fn letters_stand_where_a_language_has_them() {
        let texts = ["z", "\u{e4}", "a", "B", "b", "A", ""];
        let german = ["", "a", "A", "\u{e4}", "b", "B", "z"];
        assert_eq!(sorted(named("de-x-icu"), &texts), german);
        let swedish = ["", "a", "A", "b", "B", "z", "\u{e4}"];
        assert_eq!(sorted(named("sv-x-icu"), &texts), swedish);
    }

    #[test]
    fn keywords_of_locales_count() {
        assert!(are_equal("und-u-ks-level2", "abc", "ABC"));
        assert!(!are_equal("und-u-ks-level2", "abc", "\u{e4}bc"));
        assert!(are_equal("und-u-ks-level1", "abc", "\u{c4}BC"));
        assert!(!are_equal("und-u-kc-ks-level1", "abc", "ABC"));
        assert!(are_equal("und-u-ks-level1-kc-true", "cote", "c\u{f4}te"));
        assert!(are_equal("und-u-ka-shifted-ks-level1", "a b-c", "abc"));
        assert!(are_equal("@colStrength=secondary", "abc", "ABC"));
        assert!(are_equal("und", "\u{e4}", "a\u{308}"));
        assert_eq!(sorted(own("en-u-kn-true"), &["a10", "a2"]), ["a2", "a10"]);
        assert_eq!(sorted(own("en@colNumeric=yes"), &["a10", "a2"]), ["a2", "a10"]);
        assert_eq!(sorted(own("und-u-kf-upper"), &["a", "A"]), ["A", "a"]);
        assert_eq!(sorted(own("en_US@colCaseFirst=upper"), &["a", "A"]), ["A", "a"]);
        let phone = ["af", "\u{e4}", "ad"];
        assert_eq!(sorted(own("de-u-co-phonebk"), &phone), ["ad", "\u{e4}", "af"]);
        assert_eq!(sorted(own("de@collation=phonebook"), &phone), ["ad", "\u{e4}", "af"]);
    }

    #[test]
    fn locales_that_are_not_there_are_the_root() {
        for locale in ["nonsense-nowhere", "xx_YY", "", "root", "en_US.utf8", "%%"] {
            assert!(check_locale(locale).is_ok(), "{locale}");
        }
        assert_eq!(sorted(own("nonsense-nowhere"), &["b", "A", "a"]), ["a", "A", "b"]);
        for locale in ["und-u-kb-true", "und-u-kr-digit", "@colBackwards=yes"] {
            let error = check_locale(locale).expect_err("not there");
            assert_eq!(error.state(), types::SqlState::FEATURE_NOT_SUPPORTED, "{locale}");
        }
        for locale in ["@colStrength=strong", "und-u-ks-level9"] {
            let error = check_locale(locale).expect_err("no value");
            assert_eq!(error.state(), types::SqlState::INVALID_PARAMETER, "{locale}");
        }
    }

    #[test]
    fn all_collations_have_rules() {
        let mut of_languages = Collation::all().filter(|collation| !collation.is_of_bytes());
        assert!(of_languages.all(|collation| collator(collation).is_ok()));
    }

    #[test]
    fn keys_of_arrays_are_arrays_of_keys() {
        let text = types::text::parse("{b,NULL,A}", DataType::Array(ElementType::Text));
        let Ok(Value::Str(array)) = text else { panic!("an array") };
        let mut builder = VectorBuilder::with_capacity(DataType::Text.physical(), 1);
        builder.push_str(&array);
        let ty = DataType::Array(ElementType::Text);
        let made = keys(&builder.finish(), ty, own("und-u-ks-level2")).expect("rules");
        let Value::Str(made) = made.value(0) else { panic!("an array") };
        let of = |text| keys_of(own("und-u-ks-level2"), &[text]).remove(0);
        let elements = array::values(&made, ElementType::Bytea);
        let wanted = [Value::Str(of("B").into()), Value::Null, Value::Str(of("a").into())];
        assert_eq!(elements, wanted);
    }

    proptest! {
        /// Texts are made of letters that tie on some levels.
        #[test]
        fn keys_are_ordered_as_the_library_compares(
            a in "[aAbB\u{e4}\u{c4}\u{df}s \\-0-9z\u{300}\u{3b1}\u{4e00}]{0,6}",
            b in "[aAbB\u{e4}\u{c4}\u{df}s \\-0-9z\u{300}\u{3b1}\u{4e00}]{0,6}",
            at in 0_usize..7,
        ) {
            let all = [
                named("und-x-icu"),
                named("sv-x-icu"),
                named("da-x-icu"),
                own("und-u-ks-level1"),
                own("und-u-ks-level2"),
                own("en-u-kn-true-ka-shifted"),
                own("und-u-ks-identic"),
            ];
            let collation = all[at];
            let keys = keys_of(collation, &[&a, &b]);
            let language = collator(collation).expect("rules").compare(&a, &b);
            let wanted = match language {
                Ordering::Equal if !collation.has_own_equality() => a.as_bytes().cmp(b.as_bytes()),
                other => other,
            };
            prop_assert_eq!(keys[0].cmp(&keys[1]), wanted);
        }
    }
}
