//! LIKE and ILIKE: patterns compiled once, matched against bytes.
//!
//! ```text
//! abc equal    abc% prefix    %abc suffix    %abc% contains    a%b%c segments    a_c general
//! ```
//! UTF-8 characters never start inside one another, so literal parts match as bytes; only `_`
//! counts characters.

#[cfg(test)]
mod tests;
mod runs;

use memchr::memmem::Finder;
use types::{Error, Result, SqlState};

use crate::rows::{Texts, try_build};
use crate::{StrVector, Vector};

/// Use of case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// LIKE, `~`.
    Sensitive,
    /// ILIKE, `~*`.
    Insensitive,
}

/// A piece of a general pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// These bytes.
    Literal(Vec<u8>),
    /// Any one character.
    One,
    /// Any characters.
    Any,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one per pattern, read for each row")]
enum Form {
    Equal(Vec<u8>),
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Contains(Finder<'static>),
    /// A prefix, parts in that order, a suffix: not overlapping.
    Segments {
        prefix: Vec<u8>,
        middle: Vec<Finder<'static>>,
        suffix: Vec<u8>,
    },
    General(Vec<Piece>),
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct LikePattern {
    form: Form,
    case: Case,
}

/// The pattern as pieces, neighbours of one kind merged.
fn pieces(pattern: &str, escape: Option<char>) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        let literal = match c {
            c if Some(c) == escape => characters.next().ok_or_else(|| {
                let message = "LIKE pattern must not end with escape character";
                Error::new(SqlState::INVALID_ESCAPE, message)
            })?,
            '%' => {
                if pieces.last() != Some(&Piece::Any) {
                    pieces.push(Piece::Any);
                }
                continue;
            }
            '_' => {
                pieces.push(Piece::One);
                continue;
            }
            c => c,
        };
        let mut buffer = [0; 4];
        let bytes = literal.encode_utf8(&mut buffer).as_bytes();
        match pieces.last_mut() {
            Some(Piece::Literal(last)) => last.extend_from_slice(bytes),
            _ => pieces.push(Piece::Literal(bytes.to_vec())),
        }
    }
    Ok(pieces)
}

fn segments(pieces: &[Piece]) -> Form {
    let literal = |piece: Option<&Piece>| match piece {
        Some(Piece::Literal(bytes)) => bytes.clone(),
        _ => Vec::new(),
    };
    let (prefix, suffix) = (literal(pieces.first()), literal(pieces.last()));
    let inner =
        &pieces[usize::from(!prefix.is_empty())..pieces.len() - usize::from(!suffix.is_empty())];
    let middle = inner.iter().filter_map(|piece| match piece {
        Piece::Literal(bytes) => Some(Finder::new(bytes).into_owned()),
        _ => None,
    });
    Form::Segments { prefix, middle: middle.collect(), suffix }
}

impl LikePattern {
    /// Compiles `pattern`; `escape` is None when there is no escape character.
    ///
    /// # Errors
    /// 22025 when the pattern ends in its escape character.
    pub fn new(pattern: &str, escape: Option<char>, case: Case) -> Result<Self> {
        Ok(Self::from_pieces(pieces(pattern, escape)?, case))
    }

    /// For a `pattern` that ends in its escape character: what matches the texts of which something
    /// is left when matching reaches that character. No text matches such a pattern itself.
    fn before_escape(pattern: &str, escape: Option<char>, case: Case) -> Result<Self> {
        let stem = escape.and_then(|c| pattern.strip_suffix(c)).unwrap_or(pattern);
        let mut pieces = pieces(stem, escape)?;
        pieces.extend([Piece::One, Piece::Any]);
        Ok(Self::from_pieces(pieces, case))
    }

    fn from_pieces(mut pieces: Vec<Piece>, case: Case) -> Self {
        if case == Case::Insensitive {
            for piece in &mut pieces {
                if let Piece::Literal(bytes) = piece {
                    let text = String::from_utf8_lossy(bytes);
                    *bytes = fold(&text).into_bytes();
                }
            }
        }
        let form = match pieces.as_slice() {
            [] => Form::Equal(Vec::new()),
            [Piece::Any] => Form::Prefix(Vec::new()),
            [Piece::Literal(bytes)] => Form::Equal(bytes.clone()),
            [Piece::Literal(bytes), Piece::Any] => Form::Prefix(bytes.clone()),
            [Piece::Any, Piece::Literal(bytes)] => Form::Suffix(bytes.clone()),
            [Piece::Any, Piece::Literal(bytes), Piece::Any] => {
                Form::Contains(Finder::new(bytes).into_owned())
            }
            parts if !parts.contains(&Piece::One) => segments(parts),
            _ => Form::General(pieces),
        };
        Self { form, case }
    }

    /// True when all of `text` (UTF-8) matches.
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        if self.case == Case::Insensitive {
            return self.matches_folded(text, &mut String::new());
        }
        self.form.matches(text)
    }

    fn matches_folded(&self, text: &[u8], buffer: &mut String) -> bool {
        buffer.clear();
        match std::str::from_utf8(text) {
            Ok(text) => fold_into(buffer, text),
            Err(_) => fold_into(buffer, &String::from_utf8_lossy(text)),
        }
        self.form.matches(buffer.as_bytes())
    }

    /// The literal text with which every match starts (case-sensitive patterns only): for index
    /// ranges and block skipping.
    pub fn prefix(&self) -> Option<&[u8]> {
        let prefix: &[u8] = match &self.form {
            Form::Equal(bytes) | Form::Prefix(bytes) => bytes,
            Form::Segments { prefix, .. } => prefix,
            Form::General(pieces) => match pieces.first() {
                Some(Piece::Literal(bytes)) => bytes,
                _ => return None,
            },
            Form::Suffix(_) | Form::Contains(_) => return None,
        };
        (self.case == Case::Sensitive && !prefix.is_empty()).then_some(prefix)
    }

    /// The text that alone matches, when there is only one (a pattern without wildcards).
    pub fn equal(&self) -> Option<&[u8]> {
        match &self.form {
            Form::Equal(bytes) if self.case == Case::Sensitive => Some(bytes),
            _ => None,
        }
    }

    /// True when [`Self::prefix`] is all there is to it: every text that starts so matches.
    pub fn is_prefix(&self) -> bool {
        self.case == Case::Sensitive && matches!(self.form, Form::Prefix(_))
    }
}

/// The text with which every text starts that `pattern` matches; empty when there is none.
pub fn prefix_of(pattern: &[u8], escape: Option<char>, case: Case) -> Vec<u8> {
    let pattern = String::from_utf8_lossy(pattern);
    let compiled = LikePattern::new(&pattern, escape, case)
        .or_else(|_| LikePattern::before_escape(&pattern, escape, case));
    compiled.ok().and_then(|compiled| compiled.prefix().map(<[u8]>::to_vec)).unwrap_or_default()
}

/// The least bytes above all texts (UTF-8) that start with `prefix`.
pub fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut bytes = prefix.to_vec();
    while let Some(last) = bytes.pop() {
        if last < u8::MAX {
            bytes.push(last + 1);
            return bytes;
        }
    }
    // No text has this byte.
    vec![u8::MAX]
}

/// Lower case, character by character.
fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(&mut out, text);
    out
}

fn fold_into(out: &mut String, text: &str) {
    if text.is_ascii() {
        out.extend(text.bytes().map(|b| char::from(b.to_ascii_lowercase())));
    } else {
        for c in text.chars() {
            let mut forms = c.to_lowercase();
            match (forms.next(), forms.next()) {
                (Some(lower), None) => out.push(lower),
                // As C's towlower, which knows single characters only.
                _ => out.push(c),
            }
        }
    }
}

impl Form {
    #[inline]
    fn matches(&self, text: &[u8]) -> bool {
        match self {
            Self::Equal(bytes) => text == bytes.as_slice(),
            Self::Prefix(bytes) => text.starts_with(bytes),
            Self::Suffix(bytes) => text.ends_with(bytes),
            Self::Contains(finder) => finder.find(text).is_some(),
            Self::Segments { prefix, middle, suffix } => {
                let long_enough = text.len() >= prefix.len() + suffix.len();
                if !long_enough || !text.starts_with(prefix) || !text.ends_with(suffix) {
                    return false;
                }
                let mut rest = &text[prefix.len()..text.len() - suffix.len()];
                // The first place that fits is as good as any later one.
                middle.iter().all(|finder| match finder.find(rest) {
                    Some(at) => {
                        rest = &rest[at + finder.needle().len()..];
                        true
                    }
                    None => false,
                })
            }
            Self::General(pieces) => general(pieces, text),
        }
    }
}

/// Bytes of the first character, at least 1.
#[inline]
fn character_bytes(text: &[u8]) -> usize {
    let continued = text.iter().skip(1).take_while(|&&b| b & 0xc0 == 0x80).count();
    1 + continued
}

/// Matches with one place to come back to: the last `%`.
fn general(pieces: &[Piece], text: &[u8]) -> bool {
    let (mut piece, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match pieces.get(piece) {
            None if at == text.len() => return true,
            None => None,
            Some(Piece::Any) => {
                if piece + 1 == pieces.len() {
                    return true;
                }
                retry = Some((piece + 1, at));
                Some(0)
            }
            Some(Piece::One) => (at < text.len()).then(|| character_bytes(&text[at..])),
            Some(Piece::Literal(bytes)) => text[at..].starts_with(bytes).then_some(bytes.len()),
        };
        match (step, retry) {
            (Some(bytes), _) => {
                piece += 1;
                at += bytes;
            }
            (None, Some((after, from))) if from < text.len() => {
                // One more character for the `%`.
                let from = from + character_bytes(&text[from..]);
                (piece, at, retry) = (after, from, Some((after, from)));
            }
            (None, _) => return false,
        }
    }
}

/// 1 per row that matches; NULL rows are arbitrary.
pub fn like(text: &StrVector, pattern: &LikePattern) -> Vec<u8> {
    if pattern.case == Case::Insensitive {
        let mut buffer = String::new();
        return text.iter().map(|t| u8::from(pattern.matches_folded(t, &mut buffer))).collect();
    }
    // One loop per form: the choice is made once.
    match &pattern.form {
        Form::Equal(bytes) => text.iter().map(|t| u8::from(t == bytes.as_slice())).collect(),
        Form::Prefix(bytes) => text.iter().map(|t| u8::from(t.starts_with(bytes))).collect(),
        Form::Suffix(bytes) => text.iter().map(|t| u8::from(t.ends_with(bytes))).collect(),
        Form::Contains(finder) if !finder.needle().is_empty() => {
            let mut found = Vec::new();
            runs::search(text, finder, |_| true, &mut found);
            found
        }
        form @ Form::Segments { prefix, middle, .. }
            if prefix.is_empty() && middle.first().is_some_and(|f| !f.needle().is_empty()) =>
        {
            let mut found = Vec::new();
            runs::search(text, &middle[0], |row| form.matches(row), &mut found);
            found
        }
        form => text.iter().map(|t| u8::from(form.matches(t))).collect(),
    }
}

/// `text LIKE pattern` with a pattern per row (or one for all) -> Bool.
///
/// # Errors
/// 22025 when matching reaches an escape character that ends its pattern.
pub fn like_vectors(
    text: &Vector,
    pattern: &Vector,
    escape: Option<char>,
    case: Case,
) -> Result<Vector> {
    let (texts, patterns) = (Texts::new(text), Texts::new(pattern));
    // Equal patterns often follow one another.
    let mut last: Option<(&[u8], LikePattern)> = None;
    try_build(&[text, pattern], |i| {
        let bytes = patterns.bytes(i);
        let compiled = match last.take() {
            Some(held) if held.0 == bytes => held,
            _ => match LikePattern::new(patterns.str(i)?, escape, case) {
                Ok(compiled) => (bytes, compiled),
                Err(error) => {
                    let reaches = LikePattern::before_escape(patterns.str(i)?, escape, case)?;
                    return if reaches.matches(texts.bytes(i)) { Err(error) } else { Ok(0) };
                }
            },
        };
        let matches = compiled.1.matches(texts.bytes(i));
        last = Some(compiled);
        Ok(u8::from(matches))
    })
}
