//! Regular expressions, compiled once per pattern.
//!
//! The syntax is the regex crate's, with look-around and back references. Departures from
//! PostgreSQL's: a quantifier decides by itself whether it takes much or little, and only
//! alternatives look for the longest match, not quantifiers that follow each other.

mod matcher;
mod pattern;
mod find;
#[cfg(test)]
mod tests;

pub use find::{Finding, all_groups, count, groups, nth_place, nth_substring, replace, split};

use std::cell::RefCell;
use std::rc::Rc;

use types::json_path::PathPattern;
use types::{Error, Result};

use matcher::Matcher;
use pattern::{Options, compile};

use crate::like::Case;
use crate::rows::{self, Texts, try_build, try_narrow};
use crate::{Bitmap, Vector};

/// Patterns kept per thread: as many as one query has, rarely more.
const CACHE_ENTRIES: usize = 16;

thread_local! {
    static CACHE: RefCell<Vec<(String, Options, Rc<Matcher>)>> = const { RefCell::new(Vec::new()) };
}

/// The compiled pattern; each thread keeps the last ones, most recent last.
fn cached(pattern: &str, options: Options) -> Result<Rc<Matcher>> {
    CACHE.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().position(|(p, o, _)| p == pattern && *o == options) {
            let entry = cache.remove(at);
            let matcher = Rc::clone(&entry.2);
            cache.push(entry);
            return Ok(matcher);
        }
        let matcher = Rc::new(compile(pattern, options)?);
        if cache.len() == CACHE_ENTRIES {
            cache.remove(0);
        }
        cache.push((pattern.to_owned(), options, Rc::clone(&matcher)));
        Ok(matcher)
    })
}

/// The pattern of the last row, so that a constant one is looked up once.
#[derive(Default)]
struct Last<'a>(Option<(&'a str, Options, Rc<Matcher>)>);

impl<'a> Last<'a> {
    fn get(&mut self, pattern: &'a str, options: Options) -> Result<&Matcher> {
        let same = matches!(&self.0, Some((p, o, _)) if *p == pattern && *o == options);
        if !same {
            self.0 = Some((pattern, options, cached(pattern, options)?));
        }
        match &self.0 {
            Some((_, _, matcher)) => Ok(matcher),
            None => Err(Error::internal("pattern not kept")),
        }
    }
}

/// regexp_like(text, pattern, flags) -> Bool.
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for an unknown flag.
pub fn is_like(text: &Vector, pattern: &Vector, flags: &Vector) -> Result<Vector> {
    let (texts, patterns) = (Texts::new(text), Texts::new(pattern));
    let flag_texts = Texts::new(flags);
    let mut last = Last::default();
    try_build(&[text, pattern, flags], |i| {
        let options = Options::parse(flag_texts.str(i)?)?.once("regexp_like")?;
        Ok(u8::from(last.get(patterns.str(i)?, options)?.is_match(texts.str(i)?)?))
    })
}

/// `text like_regex pattern` in a path, whose flags are those of XQuery.
///
/// # Errors
/// 2201B when the pattern is not well formed.
pub(crate) fn is_like_in_path(text: &str, pattern: &PathPattern) -> Result<bool> {
    let case = if pattern.is_case_insensitive { Case::Insensitive } else { Case::Sensitive };
    let options = Options {
        line_ends: !pattern.dot_matches_line_end,
        anchors: pattern.is_multi_line,
        literal: pattern.is_literal,
        ..Options::new(case)
    };
    cached(&pattern.pattern, options)?.is_match(text)
}

/// `text ~ pattern` and `text ~* pattern` -> Bool.
///
/// # Errors
/// 2201B when a pattern is not well formed.
pub fn matches(text: &Vector, pattern: &Vector, case: Case) -> Result<Vector> {
    let (texts, patterns) = (Texts::new(text), Texts::new(pattern));
    let mut last = Last::default();
    try_build(&[text, pattern], |i| {
        let matcher = last.get(patterns.str(i)?, Options::new(case))?;
        Ok(u8::from(matcher.is_match(texts.str(i)?)?))
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
    let mut found = Bitmap::filled(rows::count(&[text, pattern]), true);
    let parts = try_narrow(text, &[text, pattern], |i, _| {
        let matcher = last.get(patterns.str(i)?, Options::new(Case::Sensitive))?;
        let groups = matcher.groups_at(texts.str(i)?, 0)?;
        let group = usize::from(matcher.group_count() > 1);
        match groups.and_then(|mut groups| groups.swap_remove(group)) {
            Some(part) => Ok(part),
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
