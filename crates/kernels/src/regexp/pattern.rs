//! PostgreSQL's patterns and flags as those of the engines that run them (`matcher`).

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use types::{Error, Result, SqlState};

use super::matcher::{Matcher, Source};
use crate::like::Case;

/// Options that flags ask for.
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

/// The compiled form of a pattern; whether all matches count is no matter of it.
///
/// # Errors
/// 2201B when it is not well formed.
pub(super) fn compile(pattern: &str, mut options: Options) -> Result<Matcher> {
    let translated = match (options.literal, leading(pattern, &mut options)) {
        (true, _) => Translated::literal(pattern),
        (false, Leading::Literal(rest)) => Translated::literal(rest),
        (false, Leading::Pattern(rest)) => translate(rest, options),
    };
    Matcher::new(&Source {
        pattern: translated.out,
        is_case_insensitive: options.case == Case::Insensitive,
        is_multi_line: options.anchors,
        dot_matches_line_end: !options.line_ends,
        ignores_blanks: options.expanded && !options.literal,
        wants_longest: translated.has_alternatives && !translated.is_lazy,
        backtracks: translated.backtracks,
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
            if changed.literal { Leading::Literal(rest) } else { Leading::Pattern(rest) }
        }
        _ => Leading::Pattern(pattern),
    }
}

/// A pattern as the engines read it, and what is in it.
#[derive(Default)]
struct Translated {
    out: String,
    has_alternatives: bool,
    /// Some quantifier takes as little as it can.
    is_lazy: bool,
    /// Looks around or refers back.
    backtracks: bool,
    /// For each open parenthesis whether it is within one that looks around, or is one.
    looks: Vec<bool>,
}

impl Translated {
    fn literal(text: &str) -> Self {
        Self { out: regex::escape(text), ..Self::default() }
    }

    /// An open parenthesis, taken from `rest`. Those that look around hold no groups.
    fn open(&mut self, rest: &mut Peekable<Chars<'_>>) {
        let kind: String = rest.clone().take(3).collect();
        let looks = ["?=", "?!", "?<=", "?<!"].iter().any(|look| kind.starts_with(look));
        let within = self.looks.last() == Some(&true);
        self.backtracks |= looks;
        self.looks.push(looks || within);
        let groups = !kind.starts_with('?');
        self.out.push_str(if within && groups { "(?:" } else { "(" });
        if !groups {
            // The mark belongs to the parenthesis, and is no quantifier.
            self.out.extend(rest.next());
        }
    }

    /// A back slash, its character taken from `rest`.
    fn escaped(&mut self, c: char, rest: &mut Peekable<Chars<'_>>) {
        match c {
            'm' => self.out.push_str(r"\b{start}"),
            'M' => self.out.push_str(r"\b{end}"),
            'y' => self.out.push_str(r"\b"),
            'Y' => self.out.push_str(r"\B"),
            'Z' => self.out.push_str(r"\z"),
            other => {
                self.backtracks |= matches!(other, '1'..='9');
                escape(&mut self.out, other, rest);
            }
        }
    }
}

/// Translates syntax that the engines write otherwise: escapes, brackets, braces.
fn translate(pattern: &str, options: Options) -> Translated {
    let mut to = Translated { out: String::with_capacity(pattern.len()), ..Translated::default() };
    let mut rest = pattern.chars().peekable();
    // Whether the character before is a quantifier.
    let mut quantified = false;
    while let Some(c) = rest.next() {
        let was_quantified = std::mem::replace(&mut quantified, matches!(c, '*' | '+' | '?' | '}'));
        match c {
            '\\' => match rest.next() {
                Some(c) => to.escaped(c, &mut rest),
                None => to.out.push('\\'),
            },
            '[' => bracket(&mut to.out, &mut rest, options),
            '(' if rest.clone().take(2).eq(['?', '#']) => {
                while !matches!(rest.next(), None | Some(')')) {}
            }
            '(' => to.open(&mut rest),
            '{' if !rest.peek().is_some_and(char::is_ascii_digit) => to.out.push_str(r"\{"),
            c => {
                to.has_alternatives |= c == '|';
                to.is_lazy |= c == '?' && was_quantified;
                if c == ')' {
                    to.looks.pop();
                }
                to.out.push(c);
            }
        }
    }
    to
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
        c => match class_of_escape(c).and_then(characters) {
            Some(characters) => {
                let not = if c.is_ascii_uppercase() { "^" } else { "" };
                out.extend(["[", not, characters, "]"]);
            }
            None => out.extend(['\\', c]),
        },
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

/// The characters of a class, inside of brackets; None when there is no such class. Digits are
/// those of ASCII alone, and others count as letters, as PostgreSQL has it from the C library.
fn characters(class: &str) -> Option<&'static str> {
    Some(match class {
        "alnum" => r"\p{Alphabetic}\p{Nd}",
        "alpha" => r"\p{Alphabetic}[\p{Nd}&&[^0-9]]",
        "blank" => r"\t\x20",
        "cntrl" => r"\p{Cc}",
        "digit" => "0-9",
        "graph" => r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\x{a0}\x{2007}\x{202f}",
        "lower" => r"\p{Lowercase}\x{1c5}\x{1c8}\x{1cb}\x{1f2}",
        "print" => r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Zs}",
        "punct" => {
            r"[\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\x{a0}\x{2007}\x{202f}&&[^\p{Alphabetic}\p{Nd}]]"
        }
        "space" => {
            r"\t-\r\x20\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}"
        }
        "upper" => r"\p{Uppercase}\p{Lt}",
        "word" => r"\p{Alphabetic}\p{Nd}_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// The class that an escape stands for.
fn class_of_escape(c: char) -> Option<&'static str> {
    match c.to_ascii_lowercase() {
        'd' => Some("digit"),
        's' => Some("space"),
        'w' => Some("word"),
        _ => None,
    }
}

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
        ':' => match characters(&name) {
            Some(characters) => out.push_str(characters),
            // No class of Unicode has such a name either: this is refused.
            None => out.extend([r"\p{class ", &name, "}"]),
        },
        _ => out.push_str(&regex::escape(&name)),
    }
}
