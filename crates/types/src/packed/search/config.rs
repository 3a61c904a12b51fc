//! Configurations and dictionaries of text search: those that PostgreSQL has, with its numbers.
//!
//! ```text
//! token -- kind of word --> dictionary --> lexeme, nothing (a stop word)
//! ```
//! Dictionaries are `simple` (lower case) and one for each language: lower case, stop words, stems.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use tantivy_stemmers::algorithms::{self as stems, Algorithm};

use super::tokens::Kind;
use crate::{Error, Result, SqlState};

/// Bytes of the longest word that is stemmed.
const STEMMED_BYTES_MAX: usize = 1000;

/// A language: its name, how its words are stemmed, and its stop words.
struct Language {
    name: &'static str,
    dictionary: &'static str,
    stem: Option<Algorithm>,
    stop_words: &'static str,
    /// The place of the language that words of ASCII letters have.
    ascii: Option<usize>,
}

const fn language(
    name: &'static str,
    dictionary: &'static str,
    stem: Option<Algorithm>,
    stop_words: &'static str,
) -> Language {
    Language { name, dictionary, stem, stop_words, ascii: None }
}

macro_rules! language {
    ($name:literal, $stem:expr) => {
        language($name, concat!($name, "_stem"), $stem, "")
    };
    ($name:literal, $stem:expr, stops) => {
        language(
            $name,
            concat!($name, "_stem"),
            $stem,
            include_str!(concat!("stop_words/", $name, ".txt")),
        )
    };
}

/// The place of English.
const ENGLISH: usize = 6;

/// The languages, in the order of their numbers.
static LANGUAGES: [Language; 28] = [
    language!("arabic", Some(stems::arabic)),
    language!("armenian", Some(stems::armenian_mkrtchyan)),
    language!("basque", Some(stems::basque)),
    language!("catalan", Some(stems::catalan)),
    language!("danish", Some(stems::danish), stops),
    language!("dutch", Some(stems::dutch), stops),
    language!("english", Some(stems::english_porter_2), stops),
    language!("finnish", Some(stems::finnish), stops),
    language!("french", Some(stems::french), stops),
    language!("german", Some(stems::german), stops),
    language!("greek", Some(stems::greek)),
    Language { ascii: Some(ENGLISH), ..language!("hindi", Some(stems::hindi_lightweight)) },
    language!("hungarian", Some(stems::hungarian), stops),
    language!("indonesian", Some(stems::indonesian_tala)),
    language!("irish", Some(stems::irish_gaelic)),
    language!("italian", Some(stems::italian), stops),
    language!("lithuanian", Some(stems::lithuanian_jocas)),
    language!("nepali", Some(stems::nepali), stops),
    language!("norwegian", Some(stems::norwegian_bokmal), stops),
    language!("portuguese", Some(stems::portuguese), stops),
    language!("romanian", Some(stems::romanian)),
    Language { ascii: Some(ENGLISH), ..language!("russian", Some(stems::russian), stops) },
    language!("serbian", None),
    language!("spanish", Some(stems::spanish), stops),
    language!("swedish", Some(stems::swedish), stops),
    language!("tamil", None),
    language!("turkish", Some(stems::turkish_cilden), stops),
    language!("yiddish", Some(stems::yiddish_urieli)),
];

/// The numbers of the configuration and the dictionary `simple`.
const SIMPLE: (i64, i64) = (3748, 3765);

/// The number of the first language's dictionary; its configuration has the next one.
const FIRST: i64 = 13_151;

/// A dictionary: `simple`, or that of the language at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dictionary {
    Simple,
    Language(usize),
}

/// A configuration: which dictionary takes which kind of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Configuration(Dictionary);

/// The dictionary with this number, or the configuration's where `behind` is 1.
fn numbered(number: i64, simple: i64, behind: i64) -> Option<Dictionary> {
    if number == simple {
        return Some(Dictionary::Simple);
    }
    let place = usize::try_from(number - FIRST - behind).ok()?;
    (place % 2 == 0 && place / 2 < LANGUAGES.len()).then_some(Dictionary::Language(place / 2))
}

impl Configuration {
    /// The configuration with this number.
    ///
    /// # Errors
    /// 42704.
    pub(super) fn numbered(number: i64) -> Result<Self> {
        let missing = || {
            let message = format!("text search configuration with OID {number} does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        };
        numbered(number, SIMPLE.0, 1).map(Self).ok_or_else(missing)
    }

    /// The dictionary that takes tokens of this kind; None when none does.
    pub(super) fn dictionary(self, kind: Kind) -> Option<Dictionary> {
        if kind.is_skipped() {
            return None;
        }
        let Dictionary::Language(place) = self.0 else { return Some(Dictionary::Simple) };
        if !kind.is_language() {
            return Some(Dictionary::Simple);
        }
        match LANGUAGES[place].ascii {
            Some(ascii) if kind.is_ascii_word() => Some(Dictionary::Language(ascii)),
            _ => Some(self.0),
        }
    }
}

/// The stop words of a language.
fn stop_words(place: usize) -> &'static HashSet<&'static str> {
    static SETS: [OnceLock<HashSet<&'static str>>; LANGUAGES.len()] =
        [const { OnceLock::new() }; LANGUAGES.len()];
    let words = || LANGUAGES[place].stop_words.lines().map(str::trim);
    SETS[place].get_or_init(|| words().filter(|word| !word.is_empty()).collect())
}

/// A text in lower case, letter by letter.
pub(super) fn lower(text: &str) -> Cow<'_, str> {
    let is_lower = |letter: char| letter.is_ascii() && !letter.is_ascii_uppercase();
    if text.chars().all(is_lower) {
        return Cow::Borrowed(text);
    }
    // One letter for one: a letter whose lower case is several keeps the first.
    let one = |letter: char| letter.to_lowercase().next().unwrap_or(letter);
    Cow::Owned(text.chars().map(one).collect())
}

impl Dictionary {
    /// The dictionary with this number.
    ///
    /// # Errors
    /// 42704.
    pub(super) fn numbered(number: i64) -> Result<Self> {
        let missing = || {
            let message = format!("text search dictionary with OID {number} does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        };
        numbered(number, SIMPLE.1, 0).ok_or_else(missing)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Language(place) => LANGUAGES[place].dictionary,
        }
    }

    /// The lexeme of a word; None for a stop word.
    ///
    /// # Errors
    /// 0A000 for languages whose words nobody stems here.
    pub(super) fn lexeme(self, word: &str) -> Result<Option<Cow<'_, str>>> {
        let lower = lower(word);
        let Self::Language(place) = self else { return Ok(Some(lower)) };
        let language = &LANGUAGES[place];
        let Some(stem) = language.stem else {
            return Err(Error::unsupported(format!("text search in {}", language.name)));
        };
        if lower.len() > STEMMED_BYTES_MAX {
            return Ok(Some(lower));
        }
        if lower.is_empty() || stop_words(place).contains(&*lower) {
            return Ok(None);
        }
        let stemmed = stem(&lower);
        if *stemmed == *lower {
            drop(stemmed);
            return Ok(Some(lower));
        }
        Ok(Some(Cow::Owned(stemmed.into_owned())))
    }
}

/// A configuration and its dictionary, as the catalog lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEntry {
    /// The number of the configuration.
    pub configuration: u32,
    /// Its name.
    pub name: &'static str,
    /// The number of the dictionary.
    pub dictionary: u32,
    /// Its name.
    pub dictionary_name: &'static str,
}

/// All configurations, each with its dictionary.
pub fn search_entries() -> &'static [SearchEntry] {
    static ENTRIES: OnceLock<Vec<SearchEntry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        // A few dozens of numbers, all of them small.
        let number = |place: usize| FIRST as u32 + 2 * place as u32;
        let of = |(place, language): (usize, &Language)| SearchEntry {
            configuration: number(place) + 1,
            name: language.name,
            dictionary: number(place),
            dictionary_name: language.dictionary,
        };
        let simple = SearchEntry {
            configuration: SIMPLE.0 as u32,
            name: "simple",
            dictionary: SIMPLE.1 as u32,
            dictionary_name: "simple",
        };
        std::iter::once(simple).chain(LANGUAGES.iter().enumerate().map(of)).collect()
    })
}
