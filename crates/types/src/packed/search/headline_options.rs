//! Options of `ts_headline`: `MaxWords=10, StartSel='<i>'`.

use crate::{Error, Result, SqlState};

/// Form of a headline.
pub(super) struct Options {
    pub words_max: usize,
    pub words_min: usize,
    /// Bytes of words that no headline ends with.
    pub short_word: usize,
    /// Fragments at most; 0 is one headline.
    pub fragments_max: usize,
    pub highlights_all: bool,
    pub start: String,
    pub stop: String,
    pub delimiter: String,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

impl Options {
    /// The options that a text says.
    ///
    /// # Errors
    /// 22023 and 42601 in PostgreSQL's words.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut options = Self {
            words_max: 35,
            words_min: 15,
            short_word: 3,
            fragments_max: 0,
            highlights_all: false,
            start: "<b>".to_owned(),
            stop: "</b>".to_owned(),
            delimiter: " ... ".to_owned(),
        };
        let (mut words_max, mut words_min, mut short, mut fragments) = (35, 15, 3, 0);
        for (name, value) in pairs(text)? {
            match name.to_ascii_lowercase().as_str() {
                "maxwords" => words_max = number(&value)?,
                "minwords" => words_min = number(&value)?,
                "shortword" => short = number(&value)?,
                "maxfragments" => fragments = number(&value)?,
                "startsel" => options.start = value,
                "stopsel" => options.stop = value,
                "fragmentdelimiter" => options.delimiter = value,
                "highlightall" => {
                    let value = value.to_ascii_lowercase();
                    let yes = ["1", "on", "true", "t", "y", "yes"];
                    options.highlights_all = yes.contains(&value.as_str());
                }
                _ => return Err(wrong(format!("unrecognized headline parameter: \"{name}\""))),
            }
        }
        if !options.highlights_all {
            if words_min >= words_max {
                return Err(wrong("MinWords should be less than MaxWords"));
            }
            if words_min <= 0 {
                return Err(wrong("MinWords should be positive"));
            }
            if short < 0 {
                return Err(wrong("ShortWord should be >= 0"));
            }
            if fragments < 0 {
                return Err(wrong("MaxFragments should be >= 0"));
            }
        }
        let natural = |number: i32| usize::try_from(number).unwrap_or(0);
        options.words_max = natural(words_max);
        options.words_min = natural(words_min);
        options.short_word = natural(short);
        options.fragments_max = natural(fragments);
        Ok(options)
    }

    /// Words of the longest cover that is looked for.
    pub(super) fn cover_max(&self) -> usize {
        self.words_max.saturating_mul(10).max(100).saturating_mul(self.fragments_max.max(1))
    }
}

/// # Errors
/// 22P02.
fn number(text: &str) -> Result<i32> {
    let invalid = || {
        let message = format!("invalid input syntax for type integer: \"{text}\"");
        Error::new(SqlState::INVALID_TEXT, message)
    };
    text.trim().parse().map_err(|_| invalid())
}

/// The names and values of `name = value, name = 'value'`.
fn pairs(text: &str) -> Result<Vec<(String, String)>> {
    let malformed = || {
        let message = format!("invalid parameter list format: \"{text}\"");
        Error::new(SqlState::SYNTAX_ERROR, message)
    };
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, behind) = word(rest, |letter| letter == '=').ok_or_else(malformed)?;
        let behind = behind.trim_start().strip_prefix('=').ok_or_else(malformed)?.trim_start();
        let quoted = behind.strip_prefix(['E', 'e']).filter(|rest| rest.starts_with('\''));
        let (value, behind) =
            word(quoted.unwrap_or(behind), |letter| letter == ',').ok_or_else(malformed)?;
        pairs.push((name, value));
        rest = behind.trim_start();
        if let Some(next) = rest.strip_prefix(',') {
            rest = next.trim_start();
        } else if !rest.is_empty() {
            return Err(malformed());
        }
    }
    Ok(pairs)
}

/// The word that begins a text, in quotes or up to a space or an end, and what follows it.
fn word(text: &str, is_end: impl Fn(char) -> bool) -> Option<(String, &str)> {
    let quote = if text.starts_with('"') { '"' } else { '\'' };
    let Some(mut rest) = text.strip_prefix(quote) else {
        let end = text.find(|letter: char| letter.is_whitespace() || is_end(letter));
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        return (!word.is_empty()).then(|| (word.to_owned(), rest));
    };
    let mut word = String::new();
    loop {
        let end = rest.find(quote)?;
        word.push_str(&rest[..end]);
        rest = &rest[end + quote.len_utf8()..];
        match rest.strip_prefix(quote) {
            Some(behind) => {
                word.push(quote);
                rest = behind;
            }
            None => return Some((word, rest)),
        }
    }
}
