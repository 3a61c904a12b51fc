//! unaccent: letters without their marks.
//!
//! `data/unaccent.rules` is PostgreSQL 15's file of this name, under its licence: a text and what
//! takes its place, a line each.

use std::collections::HashMap;
use std::sync::LazyLock;

use types::Result;

use crate::Vector;
use crate::rows::{Texts, try_format};

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(include_str!("data/unaccent.rules")));

/// Replacements of texts that begin with a character; the longest texts first.
struct Rules(HashMap<char, Vec<(&'static str, &'static str)>>);

impl Rules {
    fn read(text: &'static str) -> Self {
        let mut rules: HashMap<char, Vec<_>> = HashMap::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let Some(from) = words.next() else { continue };
            let Some(first) = from.chars().next() else { continue };
            rules.entry(first).or_default().push((from, words.next().unwrap_or_default()));
        }
        for list in rules.values_mut() {
            list.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        }
        Self(rules)
    }

    fn push(&self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let known = self.0.get(&first).into_iter().flatten();
            let mut known = known.filter(|(from, _)| rest.starts_with(from));
            let (from, to) = match known.next() {
                Some((from, to)) => (from.len(), *to),
                None => (first.len_utf8(), &rest[..first.len_utf8()]),
            };
            out.push_str(to);
            rest = &rest[from..];
        }
    }
}

/// unaccent(TEXT).
///
/// # Errors
/// None.
pub fn unaccent(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_format(&[text], |i, out| {
        let text = texts.str(i)?;
        if text.is_ascii() && !RULES.0.keys().any(char::is_ascii) {
            out.push_str(text);
        } else {
            RULES.push(text, out);
        }
        Ok(())
    })
}
