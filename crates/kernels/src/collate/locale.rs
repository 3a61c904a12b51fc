//! Locales of collations: tags of languages with keywords, as in BCP 47 or in ICU's old form.
//!
//! ```text
//! sv, de-u-co-phonebk, und-u-ks-level2-kn      en_US@colStrength=secondary;colNumeric=yes
//! ```
//! A language that is not known means the root, as in ICU. Called by `collate` alone.

use icu_collator::CollatorPreferences;
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_locale_core::Locale;
use types::{Error, Result, SqlState};

/// Old names of keywords and those of BCP 47.
const OLD_KEYWORDS: [(&str, &str); 9] = [
    ("collation", "co"),
    ("colstrength", "ks"),
    ("colalternate", "ka"),
    ("colbackwards", "kb"),
    ("colcaselevel", "kc"),
    ("colcasefirst", "kf"),
    ("colnumeric", "kn"),
    ("colnormalization", "kk"),
    ("colreorder", "kr"),
];

/// Old names of values and those of BCP 47.
const OLD_VALUES: [(&str, &str); 12] = [
    ("primary", "level1"),
    ("secondary", "level2"),
    ("tertiary", "level3"),
    ("quaternary", "level4"),
    ("quarternary", "level4"),
    ("identical", "identic"),
    ("non-ignorable", "noignore"),
    ("yes", "true"),
    ("no", "false"),
    ("phonebook", "phonebk"),
    ("traditional", "trad"),
    ("dictionary", "dict"),
];

/// The rules that a locale asks for.
///
/// # Errors
/// 0A000 for a keyword that is not supported, 22023 for a value that it does not have.
pub(super) fn rules(written: &str) -> Result<(CollatorPreferences, CollatorOptions)> {
    let (tag, old) = written.split_once('@').unwrap_or((written, ""));
    let tag = tag.split('.').next().unwrap_or_default().replace('_', "-");
    let tag = if tag.is_empty() || tag.eq_ignore_ascii_case("root") { "und" } else { tag.as_str() };
    let known = tag.parse::<Locale>().is_ok();
    let mut tag = if known { tag.to_ascii_lowercase() } else { "und".to_owned() };
    let keywords = old_keywords(old);
    if !keywords.is_empty() {
        if !tag.contains("-u-") {
            tag.push_str("-u");
        }
        keywords.iter().for_each(|(key, value)| tag.push_str(&format!("-{key}-{value}")));
    }
    let locale: Locale = tag.parse().map_err(|_| without_value(written))?;
    let mut options = CollatorOptions::default();
    for (key, value) in locale.extensions.unicode.keywords.iter() {
        set(&mut options, written, key.as_str(), &value.to_string())?;
    }
    Ok((CollatorPreferences::from(&locale), options))
}

/// Keywords behind `@`, by their names and values in BCP 47; others mean nothing, as in ICU.
fn old_keywords(written: &str) -> Vec<(&'static str, String)> {
    let of = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim().to_ascii_lowercase();
        let (_, key) = OLD_KEYWORDS.iter().find(|(old, _)| *old == name)?;
        let value = value.trim().to_ascii_lowercase();
        let known = OLD_VALUES.iter().find(|(old, _)| *old == value);
        Some((*key, known.map_or(value, |(_, new)| (*new).to_owned())))
    };
    written.split(';').filter_map(of).collect()
}

/// Takes one keyword; "" is true.
fn set(options: &mut CollatorOptions, written: &str, key: &str, value: &str) -> Result<()> {
    let bad = || Err(without_value(written));
    match (key, value) {
        ("ks", "level1") => options.strength = Some(Strength::Primary),
        ("ks", "level2") => options.strength = Some(Strength::Secondary),
        ("ks", "level3") => options.strength = Some(Strength::Tertiary),
        ("ks", "level4") => options.strength = Some(Strength::Quaternary),
        ("ks", "identic") => options.strength = Some(Strength::Identical),
        ("ka", "noignore") => options.alternate_handling = Some(AlternateHandling::NonIgnorable),
        ("ka", "shifted") => options.alternate_handling = Some(AlternateHandling::Shifted),
        ("kc", "" | "true") => options.case_level = Some(CaseLevel::On),
        ("kc", "false") => options.case_level = Some(CaseLevel::Off),
        ("kv", "space") => options.max_variable = Some(MaxVariable::Space),
        ("kv", "punct") => options.max_variable = Some(MaxVariable::Punctuation),
        ("kv", "symbol") => options.max_variable = Some(MaxVariable::Symbol),
        ("kv", "currency") => options.max_variable = Some(MaxVariable::Currency),
        // The preferences have them.
        ("kn", "" | "true" | "false") | ("kf", "upper" | "lower" | "false") => {}
        ("ks" | "ka" | "kc" | "kv" | "kn" | "kf", _) => return bad(),
        ("kb" | "kh", "false") => {}
        ("kb" | "kh" | "kr" | "vt", _) => {
            return Err(Error::unsupported(format!("\"{key}\" in locale \"{written}\"")));
        }
        // Texts are always normalised; other keywords are about numbers, calendars and the like.
        _ => {}
    }
    Ok(())
}

#[cold]
fn without_value(written: &str) -> Error {
    let message = format!("could not open collator for locale \"{written}\"");
    Error::new(SqlState::INVALID_PARAMETER, message)
        .with_detail("A keyword of the locale has a value that it cannot have.")
}
