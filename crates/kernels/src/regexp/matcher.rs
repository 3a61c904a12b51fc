//! A compiled pattern, whichever engine runs it.
//!
//! ```text
//! no look-around, no back reference -> regex (linear time)
//!    with alternatives, all greedy  ->  ... and a lazy DFA for the end of the longest match
//! look-around or back reference     -> fancy_regex (backtracks, up to a limit)
//! ```
//! Invariant: a match begins as far left as one can, and of those with alternatives the longest is
//! taken, as POSIX and PostgreSQL have it. Elsewhere: translation of patterns (`pattern`).

use std::cell::{OnceCell, RefCell};
use std::ops::Range;

use regex::Regex;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{Config, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use types::{Error, Result, SqlState};

/// Bytes of the groups of a match, the whole match first; None for a group that took no part.
pub(super) type Groups = Vec<Option<Range<usize>>>;

/// A pattern in the form of the regex crate, and how it is read.
pub(super) struct Source {
    pub(super) pattern: String,
    pub(super) is_case_insensitive: bool,
    pub(super) is_multi_line: bool,
    pub(super) dot_matches_line_end: bool,
    pub(super) ignores_blanks: bool,
    /// True when it has alternatives, and no quantifier that takes as little as it can.
    pub(super) wants_longest: bool,
    /// Looks around or refers back.
    pub(super) backtracks: bool,
}

/// A compiled pattern.
pub(super) enum Matcher {
    /// Runs in linear time.
    Linear(Regex, Option<Longest>),
    /// Tries one way after another.
    Backtracking(fancy_regex::Regex),
}

impl Matcher {
    /// # Errors
    /// 2201B when the pattern is not well formed.
    pub(super) fn new(source: &Source) -> Result<Self> {
        if source.backtracks {
            let built = fancy_regex::RegexBuilder::new(&source.pattern)
                .case_insensitive(source.is_case_insensitive)
                .multi_line(source.is_multi_line)
                .dot_matches_new_line(source.dot_matches_line_end)
                .ignore_whitespace(source.ignores_blanks)
                .build();
            return built.map(Self::Backtracking).map_err(|error| invalid(&error.to_string()));
        }
        let regex = source.regex(&source.pattern)?;
        let longest = if source.wants_longest { Longest::new(source) } else { None };
        Ok(Self::Linear(regex, longest))
    }

    /// Groups of the pattern, the whole match among them.
    pub(super) fn group_count(&self) -> usize {
        match self {
            Self::Linear(regex, _) => regex.captures_len(),
            Self::Backtracking(regex) => regex.captures_len(),
        }
    }

    /// True when some part of `text` matches.
    ///
    /// # Errors
    /// 2201B when it takes too long to find out.
    pub(super) fn is_match(&self, text: &str) -> Result<bool> {
        match self {
            Self::Linear(regex, _) => Ok(regex.is_match(text)),
            Self::Backtracking(regex) => regex.is_match(text).map_err(|error| failed(&error)),
        }
    }

    /// The first match that begins at byte `at` or later.
    ///
    /// # Errors
    /// As [`Self::is_match`].
    pub(super) fn find_at(&self, text: &str, at: usize) -> Result<Option<Range<usize>>> {
        match self {
            Self::Linear(regex, longest) => {
                let found = regex.find_at(text, at).map(|found| found.range());
                Ok(match (found, longest) {
                    (Some(found), Some(longest)) => Some(longest.extended(text, found)),
                    (found, _) => found,
                })
            }
            Self::Backtracking(regex) => {
                let found = regex.find_from_pos(text, at).map_err(|error| failed(&error))?;
                Ok(found.map(|found| found.range()))
            }
        }
    }

    /// The groups of the first match that begins at byte `at` or later.
    ///
    /// # Errors
    /// As [`Self::is_match`].
    pub(super) fn groups_at(&self, text: &str, at: usize) -> Result<Option<Groups>> {
        match self {
            Self::Linear(regex, longest) => {
                let Some(found) = regex.captures_at(text, at) else { return Ok(None) };
                let first = found.get_match().range();
                if let Some(longest) = longest {
                    let whole = longest.extended(text, first.clone());
                    if whole != first {
                        return Ok(Some(longest.groups(text, whole, regex.captures_len())));
                    }
                }
                Ok(Some(found.iter().map(|group| group.map(|part| part.range())).collect()))
            }
            Self::Backtracking(regex) => {
                let found = regex.captures_from_pos(text, at).map_err(|error| failed(&error))?;
                Ok(found.map(|found| found.iter().map(|g| g.map(|part| part.range())).collect()))
            }
        }
    }
}

/// Finds where the longest match ends.
pub(super) struct Longest {
    pattern: String,
    syntax: syntax::Config,
    dfa: DFA,
    cache: RefCell<Cache>,
    /// Matcher for what the automaton cannot: borders of words beside other characters than ASCII.
    slow: OnceCell<Option<PikeVM>>,
    /// The pattern for a text that it matches as a whole.
    whole: Regex,
}

impl Longest {
    /// None for a pattern that the automaton cannot run.
    fn new(source: &Source) -> Option<Self> {
        let syntax = syntax::Config::new()
            .case_insensitive(source.is_case_insensitive)
            .multi_line(source.is_multi_line)
            .dot_matches_new_line(source.dot_matches_line_end)
            .ignore_whitespace(source.ignores_blanks);
        let config = DFA::config().match_kind(MatchKind::All).unicode_word_boundary(true);
        let dfa = DFA::builder().configure(config).syntax(syntax).build(&source.pattern).ok()?;
        let cache = RefCell::new(dfa.create_cache());
        // A comment of the pattern ends with its line.
        let end = if source.ignores_blanks { "\n" } else { "" };
        let whole = source.regex(&format!("\\A(?:{}{end})\\z", source.pattern)).ok()?;
        let (pattern, slow) = (source.pattern.clone(), OnceCell::new());
        Some(Self { pattern, syntax, dfa, cache, slow, whole })
    }

    /// The longest match that begins where `found` does.
    fn extended(&self, text: &str, found: Range<usize>) -> Range<usize> {
        let input = Input::new(text).range(found.start..).anchored(Anchored::Yes);
        let end = match self.dfa.try_search_fwd(&mut self.cache.borrow_mut(), &input) {
            Ok(end) => end.map(|end| end.offset()),
            Err(_) => self.slow_end(input),
        };
        end.map_or(found.clone(), |end| found.start..end)
    }

    fn slow_end(&self, input: Input<'_>) -> Option<usize> {
        let build = || {
            PikeVM::builder()
                .configure(PikeVM::config().match_kind(MatchKind::All))
                .thompson(Config::new().which_captures(WhichCaptures::Implicit))
                .syntax(self.syntax)
                .build(&self.pattern)
                .ok()
        };
        let machine = self.slow.get_or_init(build).as_ref()?;
        let found = machine.find(&mut machine.create_cache(), input);
        found.map(|found| found.end())
    }

    /// The groups of the match `whole` of `text`.
    fn groups(&self, text: &str, whole: Range<usize>, count: usize) -> Groups {
        let shifted = |part: regex::Match<'_>| part.start() + whole.start..part.end() + whole.start;
        match self.whole.captures(&text[whole.clone()]) {
            Some(found) => found.iter().map(|group| group.map(shifted)).collect(),
            None => {
                let mut groups = vec![None; count];
                groups[0] = Some(whole);
                groups
            }
        }
    }
}

impl Source {
    fn regex(&self, pattern: &str) -> Result<Regex> {
        regex::RegexBuilder::new(pattern)
            .case_insensitive(self.is_case_insensitive)
            .multi_line(self.is_multi_line)
            .dot_matches_new_line(self.dot_matches_line_end)
            .ignore_whitespace(self.ignores_blanks)
            .build()
            .map_err(|error| invalid(&error.to_string()))
    }
}

/// The error for a pattern that is not well formed, with the last line of `reason`.
fn invalid(reason: &str) -> Error {
    let reason = reason.lines().last().unwrap_or("").trim_start_matches("error: ");
    Error::new(SqlState::INVALID_REGEX, format!("invalid regular expression: {reason}"))
}

#[cold]
fn failed(error: &fancy_regex::Error) -> Error {
    Error::new(SqlState::INVALID_REGEX, format!("regular expression failed: {error}"))
}
