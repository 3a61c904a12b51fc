//! fuzzystrmatch: how texts sound, and how far they are apart.

use types::{Error, Result, SqlState};

use crate::Vector;
use crate::rows::{Texts, Values, try_build, try_write};

/// Characters of an argument of levenshtein.
const LEVENSHTEIN_MAX: usize = 255;
/// Letters of a code.
const SOUNDEX_LETTERS: usize = 4;
/// Codes of A to Z.
const CODES: &[u8; 26] = b"01230120022455012623010202";

fn code_of(letter: u8) -> u8 {
    let upper = letter.to_ascii_uppercase();
    if upper.is_ascii_uppercase() { CODES[usize::from(upper - b'A')] } else { letter }
}

/// The code of a text; nothing without a letter.
fn code(text: &[u8]) -> Vec<u8> {
    let Some(start) = text.iter().position(u8::is_ascii_alphabetic) else { return Vec::new() };
    let mut out = vec![text[start].to_ascii_uppercase()];
    for pair in text[start..].windows(2) {
        if out.len() == SOUNDEX_LETTERS {
            break;
        }
        let [before, letter] = [pair[0], pair[1]];
        let own = code_of(letter);
        if letter.is_ascii_alphabetic() && own != code_of(before) && own != b'0' {
            out.push(own);
        }
    }
    out.resize(SOUNDEX_LETTERS, b'0');
    out
}

/// soundex(TEXT) -> TEXT.
///
/// # Errors
/// None.
pub fn soundex(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_write(&[text], |i, out| {
        out.extend_from_slice(&code(texts.bytes(i)));
        Ok(())
    })
}

/// difference(TEXT, TEXT) -> INTEGER: letters that the codes have in common.
///
/// # Errors
/// None.
pub fn difference(a: &Vector, b: &Vector) -> Result<Vector> {
    let (x, y) = (Texts::new(a), Texts::new(b));
    try_build::<i32>(&[a, b], |i| {
        let (mut x, mut y) = (code(x.bytes(i)), code(y.bytes(i)));
        x.resize(SOUNDEX_LETTERS, 0);
        y.resize(SOUNDEX_LETTERS, 0);
        // At most four.
        Ok(x.iter().zip(&y).filter(|(x, y)| x == y).count() as i32)
    })
}

/// Prices of a change.
#[derive(Clone, Copy)]
struct Costs {
    insert: i64,
    delete: i64,
    substitute: i64,
}

fn distance(from: &str, to: &str, costs: Costs) -> Result<i64> {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    if from.len() > LEVENSHTEIN_MAX || to.len() > LEVENSHTEIN_MAX {
        let message =
            format!("levenshtein argument exceeds maximum length of {LEVENSHTEIN_MAX} characters");
        return Err(Error::new(SqlState::INVALID_PARAMETER, message));
    }
    let mut row = vec![0i64];
    from.iter().for_each(|_| row.push(row.last().copied().unwrap_or(0) + costs.delete));
    for to in &to {
        let mut next = vec![row[0] + costs.insert];
        for (at, from) in from.iter().enumerate() {
            let substituted = row[at] + if from == to { 0 } else { costs.substitute };
            let inserted = row[at + 1] + costs.insert;
            next.push(substituted.min(inserted).min(next[at] + costs.delete));
        }
        row = next;
    }
    Ok(row.last().copied().unwrap_or(0))
}

/// The distance of row `i`: behind two texts come the costs, if any.
fn distance_of(arguments: &[&Vector], i: usize) -> Result<i64> {
    let text = |at: usize| Texts::new(arguments[at]);
    let cost = |at: usize| i64::from(Values::<i32>::new(arguments[at]).get(i));
    let costs = match arguments.len() {
        2 => Costs { insert: 1, delete: 1, substitute: 1 },
        _ => Costs { insert: cost(2), delete: cost(3), substitute: cost(4) },
    };
    distance(text(0).str(i)?, text(1).str(i)?, costs)
}

/// levenshtein(TEXT, TEXT [, INTEGER insert, INTEGER delete, INTEGER substitute]) -> INTEGER.
///
/// # Errors
/// 22023 for texts of more than 255 characters.
pub fn levenshtein(arguments: &[&Vector]) -> Result<Vector> {
    try_build::<i32>(arguments, |i| Ok(distance_of(arguments, i)? as i32))
}

/// levenshtein_less_equal: as [`levenshtein`] with an INTEGER limit behind, above which the result
/// is the limit and 1; a negative one is none.
///
/// # Errors
/// As [`levenshtein`].
pub fn levenshtein_within(arguments: &[&Vector]) -> Result<Vector> {
    let Some((limit, others)) = arguments.split_last() else {
        return Err(Error::internal("a function without its argument"));
    };
    let limits = Values::<i32>::new(limit);
    try_build::<i32>(arguments, |i| {
        let (distance, limit) = (distance_of(others, i)?, i64::from(limits.get(i)));
        Ok(if limit < 0 { distance } else { distance.min(limit + 1) } as i32)
    })
}
