//! Trigrams that every text has which matches a pattern.
//!
//! ```text
//! %foo bar%   words "foo", at whose start others may stand, and "bar", at whose end others may:
//!             "foo", "oo " | "  b", " ba", "bar"
//! ^ab+c.*de$  "  a", " ab" | "de " ; what stands in groups and brackets is left out
//! ```
//! Patterns that say nothing about trigrams are those of all texts.

use crate::element_query::ElementQuery;
use crate::trigram::{self, Trigram, compact};

/// Characters that follow each other in every text that matches.
#[derive(Default)]
struct Run {
    characters: Vec<char>,
    start: Edge,
    end: Edge,
}

/// The surroundings of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Edge {
    /// Anything.
    #[default]
    Open,
    /// The end of the text.
    Closed,
}

/// Texts that match a pattern of LIKE.
pub(super) fn like(pattern: &[u8], escape: Option<char>) -> ElementQuery {
    let pattern = String::from_utf8_lossy(pattern);
    let mut runs = vec![Run { start: Edge::Closed, ..Run::default() }];
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        let literal = if Some(c) == escape {
            characters.next()
        } else {
            (!matches!(c, '%' | '_')).then_some(c)
        };
        match (literal, runs.last_mut()) {
            (Some(c), Some(run)) => run.characters.push(c),
            _ => runs.push(Run::default()),
        }
    }
    if let Some(run) = runs.last_mut() {
        run.end = Edge::Closed;
    }
    of_runs(&runs)
}

/// Texts that match a regular expression.
pub(super) fn regexp(pattern: &[u8]) -> ElementQuery {
    let pattern = String::from_utf8_lossy(pattern);
    runs_of(&pattern).map_or(ElementQuery::All, |runs| of_runs(&runs))
}

/// Escapes that stand for one character of a class or for a place.
const CLASSES: &str = "dwsDWSymMYAZntrfvaeB";

/// The runs of a regular expression; None for one that is not understood.
fn runs_of(pattern: &str) -> Option<Vec<Run>> {
    if pattern.contains('|') || pattern.contains("(?") || pattern.starts_with("***") {
        return None;
    }
    let mut runs = vec![Run::default()];
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        let run = runs.last_mut()?;
        match c {
            '\\' => match rest.next()? {
                literal if !literal.is_alphanumeric() => {
                    run.characters.push(literal);
                    continue;
                }
                class if CLASSES.contains(class) => {}
                _ => return None,
            },
            '[' => pass_bracket(&mut rest)?,
            '(' => pass_group(&mut rest)?,
            '*' | '?' => drop(run.characters.pop()),
            '{' => {
                run.characters.pop();
                rest.find(|c| *c == '}')?;
            }
            '^' => {
                runs.push(Run { start: Edge::Closed, ..Run::default() });
                continue;
            }
            '$' => run.end = Edge::Closed,
            '.' | '+' => {}
            ')' => return None,
            literal => {
                run.characters.push(literal);
                continue;
            }
        }
        runs.push(Run::default());
    }
    Some(runs)
}

/// Passes over the rest of `[...]`.
fn pass_bracket(rest: &mut std::str::Chars<'_>) -> Option<()> {
    let mut c = rest.next()?;
    if c == '^' {
        c = rest.next()?;
    }
    // The first one may be a bracket itself.
    if c == ']' {
        c = rest.next()?;
    }
    while c != ']' {
        match c {
            // Classes, and what else has brackets of its own.
            '[' => return None,
            '\\' => drop(rest.next()?),
            _ => {}
        }
        c = rest.next()?;
    }
    Some(())
}

/// Passes over the rest of `(...)`.
fn pass_group(rest: &mut std::str::Chars<'_>) -> Option<()> {
    let mut depth = 1;
    while depth > 0 {
        match rest.next()? {
            '\\' => drop(rest.next()?),
            '[' => pass_bracket(rest)?,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    Some(())
}

fn of_runs(runs: &[Run]) -> ElementQuery {
    let mut all: Vec<Trigram> = Vec::new();
    runs.iter().for_each(|run| run.push_trigrams(&mut all));
    all.sort_unstable();
    all.dedup();
    ElementQuery::all_of(all.iter().map(key).collect())
}

/// The small letter of this one depends on what follows.
fn is_of_sigma(c: char) -> bool {
    matches!(c, 'Σ' | 'σ' | 'ς')
}

impl Run {
    fn push_trigrams(&self, all: &mut Vec<Trigram>) {
        let mut from = 0;
        let words = self.characters.split(|c| !c.is_alphanumeric());
        for word in words {
            let (start, end) = (from, from + word.len());
            from = end + 1;
            if word.is_empty() || word.iter().any(|c| is_of_sigma(*c)) {
                continue;
            }
            let mut padded = Vec::with_capacity(word.len() + 3);
            if start > 0 || self.start == Edge::Closed {
                padded.extend([' ', ' ']);
            }
            padded.extend(word.iter().collect::<String>().to_lowercase().chars());
            if end < self.characters.len() || self.end == Edge::Closed {
                padded.push(' ');
            }
            all.extend(padded.windows(3).map(compact));
        }
    }
}

fn key(three: &Trigram) -> ElementQuery {
    ElementQuery::Key(three.map(|byte| byte as u8).to_vec())
}

/// Texts that have so many thousandths of the trigrams of `text`.
pub(super) fn trigrams(text: &[u8], share: u16) -> ElementQuery {
    let keys: Vec<ElementQuery> =
        trigram::set(&String::from_utf8_lossy(text)).iter().map(key).collect();
    if share >= 1000 {
        return ElementQuery::all_of(keys);
    }
    let least = (keys.len() * usize::from(share)).div_ceil(1000);
    match (least, keys.len()) {
        (0, _) => ElementQuery::All,
        (1, _) => ElementQuery::any_of(keys),
        _ => ElementQuery::AtLeast(least, keys),
    }
}
