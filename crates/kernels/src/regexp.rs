//! Regular expressions, compiled once per pattern.
//!
//! The syntax is the regex crate's. Departures from PostgreSQL's: no back references in patterns
//! and no look-around (2201B), and of alternatives the first that matches counts, not the longest.

#[cfg(test)]
mod tests;

use std::cell::RefCell;

use regex::{Regex, RegexBuilder};
use types::{Error, Result, SqlState};

use crate::like::Case;
use crate::rows::{Texts, count, try_build, try_narrow, try_write};
use crate::{Bitmap, Vector};

/// What flags ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Options {
    case: Case,
    /// `n`: `.` does not match line ends, `^` and `$` match at them.
    lines: bool,
    /// `x`: blanks and comments in the pattern.
    expanded: bool,
    /// `q`: the pattern is plain text.
    literal: bool,
    /// `g`: all matches.
    global: bool,
}

impl Options {
    fn new(case: Case) -> Self {
        Self { case, lines: false, expanded: false, literal: false, global: false }
    }

    fn parse(flags: &str) -> Result<Self> {
        let mut options = Self::new(Case::Sensitive);
        for flag in flags.chars() {
            match flag {
                'g' => options.global = true,
                'i' => options.case = Case::Insensitive,
                'c' => options.case = Case::Sensitive,
                'm' | 'n' => options.lines = true,
                's' => options.lines = false,
                'x' => options.expanded = true,
                't' => options.expanded = false,
                'q' => options.literal = true,
                'b' | 'e' | 'p' | 'w' => {
                    return Err(Error::unsupported(format!(
                        "regular expression option \"{flag}\""
                    )));
                }
                _ => {
                    let message = format!("invalid regular expression option: \"{flag}\"");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
            }
        }
        Ok(options)
    }
}

/// PostgreSQL's escapes that the regex crate writes otherwise.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next() {
            Some('m') => out.push_str(r"\b{start}"),
            Some('M') => out.push_str(r"\b{end}"),
            Some('y') => out.push_str(r"\b"),
            Some('Y') => out.push_str(r"\B"),
            Some('Z') => out.push_str(r"\z"),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

fn compile(pattern: &str, options: Options) -> Result<Regex> {
    let translated = if options.literal { regex::escape(pattern) } else { translate(pattern) };
    RegexBuilder::new(&translated)
        .case_insensitive(options.case == Case::Insensitive)
        .multi_line(options.lines)
        .dot_matches_new_line(!options.lines)
        .ignore_whitespace(options.expanded)
        .build()
        .map_err(|error| {
            let full = error.to_string();
            let reason = full.lines().last().unwrap_or("").trim_start_matches("error: ").to_owned();
            let message = format!("invalid regular expression: {reason}");
            Error::new(SqlState::INVALID_REGEX, message)
        })
}

/// Patterns kept per thread: as many as one query has, rarely more.
const CACHE_ENTRIES: usize = 16;

thread_local! {
    static CACHE: RefCell<Vec<(String, Options, Regex)>> = const { RefCell::new(Vec::new()) };
}

/// The compiled pattern; each thread keeps the last ones, most recent last.
fn cached(pattern: &str, options: Options) -> Result<Regex> {
    CACHE.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().position(|(p, o, _)| p == pattern && *o == options) {
            let entry = cache.remove(at);
            let regex = entry.2.clone();
            cache.push(entry);
            return Ok(regex);
        }
        let regex = compile(pattern, options)?;
        if cache.len() == CACHE_ENTRIES {
            cache.remove(0);
        }
        cache.push((pattern.to_owned(), options, regex.clone()));
        Ok(regex)
    })
}

/// The pattern of the last row, so that a constant one is looked up once.
#[derive(Default)]
struct Last<'a>(Option<(&'a str, Options, Regex)>);

impl<'a> Last<'a> {
    fn get(&mut self, pattern: &'a str, options: Options) -> Result<&Regex> {
        let same = matches!(&self.0, Some((p, o, _)) if *p == pattern && *o == options);
        if !same {
            self.0 = Some((pattern, options, cached(pattern, options)?));
        }
        match &self.0 {
            Some((_, _, regex)) => Ok(regex),
            None => Err(Error::internal("pattern not kept")),
        }
    }
}

/// `text ~ pattern` and `text ~* pattern` -> Bool.
///
/// # Errors
/// 2201B when a pattern is not well formed.
pub fn matches(text: &Vector, pattern: &Vector, case: Case) -> Result<Vector> {
    let (texts, patterns) = (Texts::new(text), Texts::new(pattern));
    let mut last = Last::default();
    try_build(&[text, pattern], |i| {
        let regex = last.get(patterns.str(i)?, Options::new(case))?;
        Ok(u8::from(regex.is_match(texts.str(i)?)))
    })
}

/// substring(text FROM pattern): the part that matches, or what its first group matched; NULL
/// where nothing matches.
///
/// # Errors
/// 2201B when a pattern is not well formed.
pub fn substring(text: &Vector, pattern: &Vector) -> Result<Vector> {
    let (texts, patterns) = (Texts::new(text), Texts::new(pattern));
    let mut last = Last::default();
    let mut found = Bitmap::filled(count(&[text, pattern]), true);
    let parts = try_narrow(text, &[text, pattern], |i, _| {
        let regex = last.get(patterns.str(i)?, Options::new(Case::Sensitive))?;
        let captures = regex.captures(texts.str(i)?);
        let group = usize::from(regex.captures_len() > 1);
        match captures.and_then(|captures| captures.get(group)) {
            Some(part) => Ok(part.range()),
            None => {
                found.set(i, false);
                Ok(0..0)
            }
        }
    })?;
    let validity = match &parts.validity {
        Some(valid) => valid.and(&found),
        None => found,
    };
    Ok(Vector::with_validity(parts.data, Some(validity)))
}

/// Appends `replacement` with `\1` ... `\9` and `\&` filled in.
fn push_replacement(out: &mut Vec<u8>, replacement: &str, found: &regex::Captures<'_>) {
    let mut characters = replacement.chars();
    while let Some(c) = characters.next() {
        let mut next = characters.clone();
        let group = match (c, next.next()) {
            ('\\', Some('&')) => 0,
            ('\\', Some(digit @ '1'..='9')) => digit as usize - '0' as usize,
            ('\\', Some('\\')) => {
                out.push(b'\\');
                characters = next;
                continue;
            }
            _ => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
        };
        characters = next;
        if let Some(part) = found.get(group) {
            out.extend_from_slice(part.as_str().as_bytes());
        }
    }
}

/// regexp_replace(text, pattern, replacement [, flags]).
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for an unknown flag.
pub fn replace(
    text: &Vector,
    pattern: &Vector,
    replacement: &Vector,
    flags: Option<&Vector>,
) -> Result<Vector> {
    let (texts, patterns) = (Texts::new(text), Texts::new(pattern));
    let (replacements, flag_texts) = (Texts::new(replacement), flags.map(Texts::new));
    let mut arguments = vec![text, pattern, replacement];
    arguments.extend(flags);
    let mut last = Last::default();
    try_write(&arguments, |i, out| {
        let options = match flag_texts {
            Some(flags) => Options::parse(flags.str(i)?)?,
            None => Options::new(Case::Sensitive),
        };
        let (text, replacement) = (texts.str(i)?, replacements.str(i)?);
        // Whether all matches count is no matter of compiling.
        let regex = last.get(patterns.str(i)?, Options { global: false, ..options })?;
        let mut start = 0;
        let wanted = if options.global { usize::MAX } else { 1 };
        for found in regex.captures_iter(text).take(wanted) {
            let whole = found.get_match();
            out.extend_from_slice(&text.as_bytes()[start..whole.start()]);
            push_replacement(out, replacement, &found);
            start = whole.end();
        }
        out.extend_from_slice(&text.as_bytes()[start..]);
        Ok(())
    })
}
