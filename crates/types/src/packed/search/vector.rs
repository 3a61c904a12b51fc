//! TSVECTOR: lexemes with the places at which they stand, as PostgreSQL orders them.
//!
//! ```text
//! bytes that PostgreSQL would take 4, count of lexemes 4, lexeme*
//! lexeme     00 (with places) | 01 (without), text 00, [places inverted 2, { place inverted 2 }*]
//! place      position 14 bits, weight 2 bits (D 0, C 1, B 2, A 3)
//! ```
//! Lexemes are ordered by their bytes; values are ordered as PostgreSQL's, which compares sizes
//! first and takes later places as smaller.

use std::borrow::Cow;

use super::words::{Syntax, WordReader};
use crate::{Error, Result, SqlState};

/// Bytes of the longest lexeme.
pub(super) const WORD_BYTES_MAX: usize = 2046;

/// Bytes of all lexemes of a value.
const TEXT_BYTES_MAX: usize = (1 << 20) - 1;

/// The last position: later ones count as this one.
pub(super) const POSITION_MAX: u16 = 16_383;

/// Places that a lexeme has at most.
const PLACES_MAX: usize = 256;

/// A place of a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// From 1.
    pub position: u16,
    /// D is 0, A is 3.
    pub weight: u8,
}

/// A lexeme and its places, in order; none when they are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexeme<'a> {
    pub word: Cow<'a, [u8]>,
    pub places: Vec<Place>,
}

/// A lexeme where it lies in a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a> {
    pub word: &'a [u8],
    places: &'a [u8],
}

impl<'a> Stored<'a> {
    /// Its places, in order.
    pub(super) fn places(self) -> impl ExactSizeIterator<Item = Place> + 'a {
        self.places.chunks_exact(2).map(|pair| {
            let bits = !u16::from_be_bytes([pair[0], pair[1]]);
            // Two bits.
            Place { position: bits >> 2, weight: (bits & 3) as u8 }
        })
    }

    /// True when places are known.
    pub(super) fn has_places(self) -> bool {
        !self.places.is_empty()
    }

    /// The lexeme by itself.
    pub(super) fn lexeme(self) -> Lexeme<'a> {
        Lexeme { word: Cow::Borrowed(self.word), places: self.places().collect() }
    }
}

/// The lexemes of a value, in order.
pub(super) fn stored(bytes: &[u8]) -> impl Iterator<Item = Stored<'_>> {
    let mut rest = bytes.get(8..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (without, behind) = rest.split_first()?;
        let end = behind.iter().position(|byte| *byte == 0)?;
        let word = &behind[..end];
        rest = &behind[end + 1..];
        let mut places: &[u8] = &[];
        if *without == 0 {
            let (count, behind) = rest.split_first_chunk::<2>()?;
            (places, rest) =
                behind.split_at_checked(usize::from(!u16::from_be_bytes(*count)) * 2)?;
        }
        Some(Stored { word, places })
    })
}

/// The count of lexemes.
pub(super) fn count(bytes: &[u8]) -> u32 {
    bytes.get(4..8).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// The lexemes of a value by themselves.
pub(super) fn lexemes(bytes: &[u8]) -> Vec<Lexeme<'_>> {
    stored(bytes).map(Stored::lexeme).collect()
}

/// Places in order, one for each position, with the highest weight that it has.
fn arrange(places: &mut Vec<Place>) {
    places.sort_by(|a, b| (a.position, b.weight).cmp(&(b.position, a.weight)));
    places.dedup_by_key(|place| place.position);
    places.truncate(PLACES_MAX);
    if let Some(last) = places.iter().position(|place| place.position == POSITION_MAX) {
        places.truncate(last + 1);
    }
}

/// Appends a value of lexemes in any order; those of equal words become one.
///
/// # Errors
/// 54000 for more text than PostgreSQL takes.
pub(super) fn push_lexemes(out: &mut Vec<u8>, mut lexemes: Vec<Lexeme<'_>>) -> Result<()> {
    lexemes.sort_by(|a, b| a.word.cmp(&b.word));
    lexemes.dedup_by(|next, kept| {
        let same = next.word == kept.word;
        if same {
            kept.places.append(&mut next.places);
        }
        same
    });
    lexemes.iter_mut().for_each(|lexeme| arrange(&mut lexeme.places));
    push_arranged(out, &lexemes)
}

/// Appends a value of lexemes in order.
///
/// # Errors
/// 54000 for more text than PostgreSQL takes.
pub(super) fn push_arranged(out: &mut Vec<u8>, lexemes: &[Lexeme<'_>]) -> Result<()> {
    let mut text = 0;
    for lexeme in lexemes {
        text += lexeme.word.len();
        if !lexeme.places.is_empty() {
            text += text % 2 + 2 + 2 * lexeme.places.len();
        }
    }
    if text > TEXT_BYTES_MAX {
        let message =
            format!("string is too long for tsvector ({text} bytes, max {TEXT_BYTES_MAX} bytes)");
        return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
    }
    // Less than 20 MiB.
    out.extend_from_slice(&((8 + 4 * lexemes.len() + text) as u32).to_be_bytes());
    out.extend_from_slice(&(lexemes.len() as u32).to_be_bytes());
    for Lexeme { word, places } in lexemes {
        out.push(u8::from(places.is_empty()));
        out.extend_from_slice(word);
        out.push(0);
        if !places.is_empty() {
            // At most 256.
            out.extend_from_slice(&(!(places.len() as u16)).to_be_bytes());
            for place in places {
                let bits = place.position << 2 | u16::from(place.weight);
                out.extend_from_slice(&(!bits).to_be_bytes());
            }
        }
    }
    Ok(())
}

/// # Errors
/// 54000 for a word that is too long.
pub(super) fn check_word(word: &[u8]) -> Result<()> {
    if word.len() <= WORD_BYTES_MAX {
        return Ok(());
    }
    let message = format!("word is too long ({} bytes, max {WORD_BYTES_MAX} bytes)", word.len());
    Err(Error::new(SqlState::LIMIT_EXCEEDED, message))
}

/// The value that `text` says.
///
/// # Errors
/// 42601 in PostgreSQL's words, 54000.
pub(crate) fn parse_vector(text: &str) -> Result<Vec<u8>> {
    let mut reader = WordReader::new(text, Syntax::Vector);
    let mut lexemes = Vec::new();
    while let Some(word) = reader.word()? {
        check_word(&word)?;
        let places = reader.places()?;
        lexemes.push(Lexeme { word: Cow::Owned(word), places });
    }
    let mut out = Vec::new();
    push_lexemes(&mut out, lexemes)?;
    Ok(out)
}

/// Appends a word in quotes.
pub(super) fn push_quoted(out: &mut Vec<u8>, word: &[u8]) {
    out.push(b'\'');
    for byte in word {
        if matches!(byte, b'\'' | b'\\') {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

/// Appends a value as PostgreSQL prints it.
pub(crate) fn format_vector(out: &mut Vec<u8>, bytes: &[u8]) {
    for (number, lexeme) in stored(bytes).enumerate() {
        if number > 0 {
            out.push(b' ');
        }
        push_quoted(out, lexeme.word);
        for (number, place) in lexeme.places().enumerate() {
            out.push(if number == 0 { b':' } else { b',' });
            out.extend_from_slice(place.position.to_string().as_bytes());
            out.extend_from_slice([b"" as &[u8], b"C", b"B", b"A"][usize::from(place.weight)]);
        }
    }
}

/// Appends the binary form: the count, then words with a zero behind, counts of places, places.
pub(in crate::packed) fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&count(bytes).to_be_bytes());
    for lexeme in stored(bytes) {
        out.extend_from_slice(lexeme.word);
        out.push(0);
        let places = lexeme.places();
        // At most 256.
        out.extend_from_slice(&(places.len() as u16).to_be_bytes());
        for place in places {
            let bits = place.position | u16::from(place.weight) << 14;
            out.extend_from_slice(&bits.to_be_bytes());
        }
    }
}

/// The value of a binary form; None when it is none.
pub(in crate::packed) fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let (count, mut rest) = bytes.split_first_chunk::<4>()?;
    let mut lexemes = Vec::new();
    for _ in 0..u32::from_be_bytes(*count) {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let word = std::str::from_utf8(&rest[..end]).ok()?.as_bytes();
        let (places, behind) = rest[end + 1..].split_first_chunk::<2>()?;
        let places = usize::from(u16::from_be_bytes(*places));
        if word.len() > WORD_BYTES_MAX || places > PLACES_MAX {
            return None;
        }
        let (places, behind) = behind.split_at_checked(places * 2)?;
        rest = behind;
        let place = |pair: &[u8]| {
            let bits = u16::from_be_bytes([pair[0], pair[1]]);
            // Two bits.
            Place { position: bits & POSITION_MAX, weight: (bits >> 14) as u8 }
        };
        let places: Vec<Place> = places.chunks_exact(2).map(place).collect();
        if places.iter().any(|place| place.position == 0) {
            return None;
        }
        lexemes.push(Lexeme { word: Cow::Borrowed(word), places });
    }
    let mut out = Vec::new();
    push_lexemes(&mut out, lexemes).ok()?;
    rest.is_empty().then_some(out)
}
