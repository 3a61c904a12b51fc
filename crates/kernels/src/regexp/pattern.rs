//! PostgreSQL's patterns and flags as those of the regex crate.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};
use types::{Error, Result, SqlState};

use crate::like::Case;

/// What flags ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) case: Case,
    /// `n`, `p`: `.` and `[^...]` do not match line ends.
    pub(super) line_ends: bool,
    /// `n`, `w`: `^` and `$` match at line ends.
    pub(super) anchors: bool,
    /// `x`: blanks and comments in the pattern.
    pub(super) expanded: bool,
    /// `q`: the pattern is plain text.
    pub(super) literal: bool,
    /// `g`: all matches.
    pub(super) global: bool,
}

impl Options {
    pub(super) fn new(case: Case) -> Self {
        Self {
            case,
            line_ends: false,
            anchors: false,
            expanded: false,
            literal: false,
            global: false,
        }
    }

    /// # Errors
    /// 22023 for an unknown flag, 0A000 for other kinds of expressions.
    pub(super) fn parse(flags: &str) -> Result<Self> {
        let mut options = Self::new(Case::Sensitive);
        for flag in flags.chars() {
            match flag {
                'g' => options.global = true,
                flag if options.set(flag) => {}
                'b' | 'e' => {
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

    /// Takes a flag that may also begin a pattern; false for others.
    fn set(&mut self, flag: char) -> bool {
        match flag {
            'i' => self.case = Case::Insensitive,
            'c' => self.case = Case::Sensitive,
            'm' | 'n' => (self.line_ends, self.anchors) = (true, true),
            'p' => (self.line_ends, self.anchors) = (true, false),
            'w' => (self.line_ends, self.anchors) = (false, true),
            's' => (self.line_ends, self.anchors) = (false, false),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => self.literal = true,
            _ => return false,
        }
        true
    }

    /// The options of `function`, which knows no flag `g`.
    ///
    /// # Errors
    /// 22023 when it is there.
    pub(super) fn once(self, function: &str) -> Result<Self> {
        if !self.global {
            return Ok(self);
        }
        let message = format!("{function}() does not support the \"global\" option");
        let error = Error::new(SqlState::INVALID_PARAMETER, message);
        Err(match function {
            "regexp_match" => error.with_hint("Use the regexp_matches function instead."),
            _ => error,
        })
    }
}

/// The regex crate's expression for a pattern; whether all matches count is no matter of it.
///
/// # Errors
/// 2201B when it is not well formed.
pub(super) fn compile(pattern: &str, mut options: Options) -> Result<Regex> {
    let translated = match (options.literal, leading(pattern, &mut options)) {
        (true, _) => regex::escape(pattern),
        (false, Leading::Literal(rest)) => regex::escape(rest),
        (false, Leading::Pattern(rest)) => translate(rest, options),
    };
    RegexBuilder::new(&translated)
        .case_insensitive(options.case == Case::Insensitive)
        .multi_line(options.anchors)
        .dot_matches_new_line(!options.line_ends)
        .ignore_whitespace(options.expanded && !options.literal)
        .build()
        .map_err(|error| {
            let full = error.to_string();
            let reason = full.lines().last().unwrap_or("").trim_start_matches("error: ").to_owned();
            let message = format!("invalid regular expression: {reason}");
            Error::new(SqlState::INVALID_REGEX, message)
        })
}

/// A pattern without what says how it is to be read.
enum Leading<'a> {
    Literal(&'a str),
    Pattern(&'a str),
}

/// Takes `***=`, `***:` and `(?flags)` from the beginning of a pattern.
fn leading<'a>(pattern: &'a str, options: &mut Options) -> Leading<'a> {
    if let Some(rest) = pattern.strip_prefix("***=") {
        return Leading::Literal(rest);
    }
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    let flags = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    let mut changed = *options;
    match flags {
        Some((flags, rest)) if !flags.is_empty() && flags.chars().all(|f| changed.set(f)) => {
            *options = changed;
            match changed.literal {
                true => Leading::Literal(rest),
                false => Leading::Pattern(rest),
            }
        }
        _ => Leading::Pattern(pattern),
    }
}

/// What the regex crate writes otherwise: escapes, brackets, braces.
fn translate(pattern: &str, options: Options) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('m') => out.push_str(r"\b{start}"),
                Some('M') => out.push_str(r"\b{end}"),
                Some('y') => out.push_str(r"\b"),
                Some('Y') => out.push_str(r"\B"),
                Some('Z') => out.push_str(r"\z"),
                Some(other) => escape(&mut out, other, &mut rest),
                None => out.push('\\'),
            },
            '[' => bracket(&mut out, &mut rest, options),
            '(' if rest.clone().take(2).eq(['?', '#']) => {
                while !matches!(rest.next(), None | Some(')')) {}
            }
            '{' if !rest.peek().is_some_and(char::is_ascii_digit) => out.push_str(r"\{"),
            c => out.push(c),
        }
    }
    out
}

/// An escape that means the same inside and outside of brackets, `c` behind the backslash.
fn escape(out: &mut String, c: char, rest: &mut Peekable<Chars<'_>>) {
    match c {
        'b' => out.push_str(r"\x08"),
        'B' => out.push_str(r"\\"),
        'e' => out.push_str(r"\x1B"),
        '0' => out.push_str(r"\x00"),
        'c' => code(out, rest.next().map_or(0, |c| u32::from(c) & 31)),
        'x' => {
            let mut number = 0u32;
            while let Some(digit) = rest.peek().and_then(|c| c.to_digit(16)) {
                number = number.saturating_mul(16).saturating_add(digit);
                rest.next();
            }
            code(out, number);
        }
        // The regex crate takes some of these for borders of words.
        '<' | '>' => out.push(c),
        c => out.extend(['\\', c]),
    }
}

/// A character by its number.
fn code(out: &mut String, number: u32) {
    // A String takes whatever is written.
    let _ = write!(out, r"\x{{{number:x}}}");
}

/// `[...]`, its first bracket taken: no sets in sets, and blanks count.
fn bracket(out: &mut String, rest: &mut Peekable<Chars<'_>>, options: Options) {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
        if options.line_ends {
            out.push_str(r"\n");
        }
    }
    // Whether a character stands before, from which a range may go.
    let (mut first, mut begun) = (true, false);
    while let Some(c) = rest.next() {
        match c {
            ']' if !first => {
                out.push(']');
                return;
            }
            '[' if matches!(rest.peek(), Some(':' | '.' | '=')) => {
                class(out, rest);
                begun = true;
            }
            '\\' => {
                if let Some(c) = rest.next() {
                    escape(out, c, rest);
                }
                begun = true;
            }
            '-' if begun && rest.peek() != Some(&']') => {
                out.push('-');
                begun = false;
            }
            c if c.is_whitespace() || c == '#' => {
                code(out, u32::from(c));
                begun = true;
            }
            c => {
                if c.is_ascii_punctuation() {
                    out.push('\\');
                }
                out.push(c);
                begun = true;
            }
        }
        first = false;
    }
}

/// The classes of characters.
const CLASSES: [&str; 13] = [
    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// `[:name:]`, `[.c.]`, `[=c=]` inside of brackets, its first bracket taken.
fn class(out: &mut String, rest: &mut Peekable<Chars<'_>>) {
    let Some(kind) = rest.next() else { return };
    let mut name = String::new();
    while let Some(c) = rest.next() {
        if c == kind && rest.next_if_eq(&']').is_some() {
            break;
        }
        name.push(c);
    }
    match kind {
        // No class of Unicode has such a name either: this is refused.
        ':' if !CLASSES.contains(&name.as_str()) => out.extend([r"\p{class ", &name, "}"]),
        ':' => out.extend(["[:", name.as_str(), ":]"]),
        _ => out.push_str(&regex::escape(&name)),
    }
}
