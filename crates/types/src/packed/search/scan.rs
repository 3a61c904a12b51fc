//! Scanner of documents: tokens by a machine of states, whose rules stand in `rules`.
//!
//! ```text
//! position -- rule of the state for the letter -- next letter, next state
//!    |-- try: the position is kept; a state that fails comes back to it, to the rules behind
//!    '-- found: the token ends here
//! ```
//! A text is read once for each try that fails; hyphenated words and URLs are read again for
//! their parts.

use super::rule::{Is, Mark, Next, Rule};
use super::rules::{State, rules};
use super::tokens::{Kind, Token};

/// A position in the text, and how it came there.
#[derive(Clone, Copy)]
struct Position {
    state: State,
    /// Bytes of the text before it.
    at: usize,
    /// Bytes of the token so far.
    length: usize,
    /// Rules of the state that were tried.
    tried: usize,
}

/// Reads the tokens of a text.
pub(super) struct Scanner<'t> {
    text: &'t str,
    now: Position,
    kept: Vec<Position>,
    /// A host is wanted of what follows: the first part of a URL or what follows `@`.
    wants_host: bool,
    /// Inside of a script or style, where words are blanks.
    ignores: bool,
    /// Scanners that this one is part of.
    depth: usize,
}

/// Scanners inside of scanners: an address is in a URL.
const DEPTH_MAX: usize = 64;

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let now = Position { state: State::Base, at: 0, length: 0, tried: 0 };
        Self { text, now, kept: Vec::new(), wants_host: false, ignores: false, depth: 0 }
    }

    /// A scanner of what follows.
    fn inner(&self, state: State) -> Self {
        let mut inner = Scanner::new(&self.text[self.now.at..]);
        inner.now.state = state;
        inner.depth = self.depth + 1;
        inner
    }

    fn peek(&self) -> Option<char> {
        self.text[self.now.at..].chars().next()
    }

    /// Reads as many bytes as another scanner has read.
    fn skip(&mut self, read: &str) {
        self.now.at += read.len();
        self.now.length += read.len();
    }

    fn holds(&mut self, is: Is, letter: Option<char>) -> bool {
        match is {
            Is::Always => return true,
            Is::End => return letter.is_none(),
            Is::Ignored => return self.ignores,
            Is::HostWanted => return std::mem::take(&mut self.wants_host),
            Is::Host => return self.reads_host(),
            Is::UrlPath => return self.reads_url_path(),
            _ => {}
        }
        letter.is_some_and(|letter| is.fits(letter))
    }

    fn reads_host(&mut self) -> bool {
        if self.depth >= DEPTH_MAX {
            return false;
        }
        let mut inner = self.inner(State::Base);
        inner.wants_host = true;
        match inner.next() {
            Some(Token { kind: Kind::Host, text }) => {
                self.skip(text);
                true
            }
            _ => false,
        }
    }

    fn reads_url_path(&mut self) -> bool {
        if self.depth >= DEPTH_MAX {
            return false;
        }
        match self.inner(State::UrlPathFirst).next() {
            Some(Token { kind: Kind::UrlPath, text }) => {
                self.skip(text);
                true
            }
            _ => false,
        }
    }

    /// Does what a rule does besides.
    fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::None => {}
            Mark::Tag => {
                let begin = self.now.at - self.now.length;
                let tag = self.text[begin..self.now.at].to_ascii_lowercase();
                match tag.as_str() {
                    "</script" | "</style" => self.ignores = false,
                    "<script" | "<style" => self.ignores = true,
                    _ => {}
                }
            }
            Mark::Again => self.now.at -= self.now.length,
            Mark::AgainAsHost => {
                self.wants_host = true;
                self.now.at -= self.now.length;
            }
            Mark::Restart => {
                self.now.at -= self.now.length;
                self.now.length = 0;
            }
        }
    }

    /// The rule of the state for the letter at the position, and its place among the rules.
    fn rule(&mut self, letter: Option<char>) -> (&'static Rule, usize) {
        let rules = rules(self.now.state);
        let tried = std::mem::take(&mut self.now.tried);
        let mut at = tried.min(rules.len() - 1);
        while at + 1 < rules.len() && !self.holds(rules[at].is, letter) {
            at += 1;
        }
        (&rules[at], at)
    }
}

impl<'t> Iterator for Scanner<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        if self.now.at >= self.text.len() {
            return None;
        }
        let begin = self.now.at;
        self.kept.clear();
        loop {
            let letter = self.peek();
            let (rule, place) = self.rule(letter);
            let length = self.now.length;
            self.mark(rule.mark);
            if let Next::Found(kind) = rule.next {
                self.now.length = 0;
                if let Some(state) = rule.to {
                    self.now.state = state;
                }
                return Some(Token { kind, text: &self.text[begin..begin + length] });
            }
            match rule.next {
                Next::Back => self.now = self.kept.pop()?,
                Next::Merge => {
                    let before = self.kept.pop()?;
                    let at = self.now;
                    self.now = Position { state: before.state, tried: before.tried, ..at };
                }
                Next::Try => {
                    self.kept.push(Position { tried: place + 1, ..self.now });
                }
                Next::Forget => drop(self.kept.pop()),
                _ => {}
            }
            if let Some(state) = rule.to {
                self.now.state = state;
            }
            if matches!(rule.next, Next::Rerun | Next::Back) {
                continue;
            }
            // Every state finds a token or goes back at the end.
            let letter = letter?;
            self.now.at += letter.len_utf8();
            self.now.length += letter.len_utf8();
        }
    }
}
