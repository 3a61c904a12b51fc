//! Functions on TSVECTOR.

use std::borrow::Cow;

use super::document::text;
use super::matching::{DocumentWords, matches};
use super::query::query;
use super::vector::{
    self, Lexeme, POSITION_MAX, check_word, lexemes, push_arranged, push_lexemes, stored,
};
use crate::array::ArrayBuilder;
use crate::json;
use crate::packed::{Call, Given};
use crate::{Error, Result, SqlState};

type Computed = Result<Given>;

/// True when a document matches a query; nothing matches the empty one.
pub(super) fn is_match(vector: &[u8], wanted: &[u8]) -> bool {
    query(wanted).is_some_and(|node| matches(&node, &mut DocumentWords::new(vector)))
}

/// `tsvector @@ tsquery`.
pub(super) fn matched(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(is_match(call.bytes(0), call.bytes(1))))
}

/// `tsquery @@ tsvector`.
pub(super) fn matched_turned(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(is_match(call.bytes(1), call.bytes(0))))
}

/// `length`.
pub(super) fn length(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(i64::from(vector::count(call.bytes(0)))))
}

/// `strip`: without places.
pub(super) fn strip(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let word = |word| Lexeme { word: Cow::Borrowed(word), places: Vec::new() };
    let lexemes: Vec<_> = stored(call.bytes(0)).map(|lexeme| word(lexeme.word)).collect();
    push_arranged(out, &lexemes)?;
    Ok(Given::Bytes)
}

/// The weight that a letter names.
fn weight_of(letter: u8) -> Option<u8> {
    match letter {
        b'A' | b'a' => Some(3),
        b'B' | b'b' => Some(2),
        b'C' | b'c' => Some(1),
        b'D' | b'd' => Some(0),
        _ => None,
    }
}

/// The weight of argument `at`, a `"char"`.
///
/// # Errors
/// XX000, as PostgreSQL has it.
fn weight(call: &Call<'_>, at: usize) -> Result<u8> {
    let letter = call.bytes(at).first().copied().unwrap_or(0);
    let unknown = || Error::internal(format!("unrecognized weight: {letter}"));
    weight_of(letter).ok_or_else(unknown)
}

/// `setweight(tsvector, "char")`.
pub(super) fn set_weight(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let weight = weight(call, 1)?;
    let mut lexemes = lexemes(call.bytes(0));
    lexemes.iter_mut().flat_map(|lexeme| &mut lexeme.places).for_each(|at| at.weight = weight);
    push_arranged(out, &lexemes)?;
    Ok(Given::Bytes)
}

/// `setweight(tsvector, "char", text[])`: of these lexemes alone.
pub(super) fn set_weight_of(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let weight = weight(call, 1)?;
    let words = call.elements(2);
    let mut lexemes = lexemes(call.bytes(0));
    let wanted = |lexeme: &&mut Lexeme<'_>| words.iter().any(|word| **word == *lexeme.word);
    let places = lexemes.iter_mut().filter(wanted).flat_map(|lexeme| &mut lexeme.places);
    places.for_each(|place| place.weight = weight);
    push_arranged(out, &lexemes)?;
    Ok(Given::Bytes)
}

/// `ts_delete(tsvector, text)`.
pub(super) fn delete(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut lexemes = lexemes(call.bytes(0));
    lexemes.retain(|lexeme| *lexeme.word != *call.bytes(1));
    push_arranged(out, &lexemes)?;
    Ok(Given::Bytes)
}

/// `ts_delete(tsvector, text[])`.
pub(super) fn delete_all(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let words = call.elements(1);
    let mut lexemes = lexemes(call.bytes(0));
    lexemes.retain(|lexeme| !words.iter().any(|word| **word == *lexeme.word));
    push_arranged(out, &lexemes)?;
    Ok(Given::Bytes)
}

/// `ts_filter(tsvector, "char"[])`: the places with these weights.
pub(super) fn filter(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut mask = 0_u8;
    for letter in call.texts(1) {
        let null = "weight array may not contain nulls";
        let letter = letter.ok_or_else(|| Error::new(SqlState::NULL_NOT_ALLOWED, null))?;
        let first = letter.first().copied().unwrap_or(0);
        let unknown = || {
            let message = format!("unrecognized weight: \"{}\"", char::from(first));
            Error::new(SqlState::INVALID_PARAMETER, message)
        };
        mask |= 1 << weight_of(first).ok_or_else(unknown)?;
    }
    let mut lexemes = lexemes(call.bytes(0));
    for lexeme in &mut lexemes {
        lexeme.places.retain(|place| mask & 1 << place.weight != 0);
    }
    lexemes.retain(|lexeme| !lexeme.places.is_empty());
    push_arranged(out, &lexemes)?;
    Ok(Given::Bytes)
}

/// `||`: positions of the second document follow those of the first.
pub(super) fn concatenate(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut all = lexemes(call.bytes(0));
    let positions = all.iter().flat_map(|lexeme| &lexeme.places).map(|place| place.position);
    let last = positions.max().unwrap_or(0);
    let mut second = lexemes(call.bytes(1));
    for place in second.iter_mut().flat_map(|lexeme| &mut lexeme.places) {
        place.position = place.position.saturating_add(last).min(POSITION_MAX);
    }
    all.append(&mut second);
    push_lexemes(out, all)?;
    Ok(Given::Bytes)
}

/// `tsvector_to_array`.
pub(super) fn to_array(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut builder = ArrayBuilder::new();
    stored(call.bytes(0)).for_each(|lexeme| builder.push_text(lexeme.word));
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}

/// `array_to_tsvector`.
pub(super) fn of_array(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut lexemes = Vec::new();
    for word in call.texts(0) {
        let null = "lexeme array may not contain nulls";
        let word = word.ok_or_else(|| Error::new(SqlState::NULL_NOT_ALLOWED, null))?;
        if word.is_empty() {
            let message = "lexeme array may not contain empty strings";
            return Err(Error::new(SqlState::ZERO_LENGTH_TEXT, message));
        }
        check_word(&word)?;
        lexemes.push(Lexeme { word, places: Vec::new() });
    }
    push_lexemes(out, lexemes)?;
    Ok(Given::Bytes)
}

/// `unnest(tsvector)` as an array of JSON: lexemes, positions and weights.
pub(super) fn rows(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut builder = ArrayBuilder::new();
    let mut row = Vec::new();
    for lexeme in stored(call.bytes(0)) {
        row.clear();
        row.extend_from_slice(b"{\"lexeme\": ");
        json::push_quoted(&mut row, lexeme.word);
        if lexeme.has_places() {
            let positions: Vec<String> =
                lexeme.places().map(|place| place.position.to_string()).collect();
            let letters = ["D", "C", "B", "A"];
            let weights: Vec<&str> =
                lexeme.places().map(|place| letters[usize::from(place.weight)]).collect();
            let (positions, weights) = (positions.join(","), weights.join(","));
            let arrays =
                format!(", \"positions\": \"{{{positions}}}\", \"weights\": \"{{{weights}}}\"");
            row.extend_from_slice(arrays.as_bytes());
        }
        row.push(b'}');
        builder.push_text(&row);
    }
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}

/// `ts_lexize(regdictionary, text)`: the lexemes of a word, none of a stop word.
pub(super) fn lexize(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let dictionary = super::config::Dictionary::numbered(call.object(0))?;
    let mut builder = ArrayBuilder::new();
    if let Some(lexeme) = dictionary.lexeme(text(call, 1)?)? {
        builder.push_text(lexeme.as_bytes());
    }
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}
