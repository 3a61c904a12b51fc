//! pg_trgm: texts as sets of three characters.
//!
//! ```text
//! "Two words" -> two, words -> "  two ", "  words " -> {"  t", " tw", "two", "wo ", "  w", ...}
//! ```
//! Elsewhere: how a text becomes trigrams (`types::trigram`).

use types::Result;
use types::array::ArrayBuilder;
use types::trigram::{Placed, Trigram, placed, set};

use crate::Vector;
use crate::rows::{Texts, try_build, try_write};

fn share(common: usize, first: usize, second: usize) -> f32 {
    // Texts have far fewer than 2^24 trigrams, or the share is rounded, as in PostgreSQL.
    common as f32 / (first + second - common) as f32
}

/// similarity(TEXT, TEXT) -> REAL.
///
/// # Errors
/// None.
pub fn similarity(a: &Vector, b: &Vector) -> Result<Vector> {
    let (x, y) = (Texts::new(a), Texts::new(b));
    try_build::<f64>(&[a, b], |i| {
        let (x, y) = (set(x.str(i)?), set(y.str(i)?));
        if x.is_empty() || y.is_empty() {
            return Ok(0.0);
        }
        let common = x.iter().filter(|trigram| y.binary_search(trigram).is_ok()).count();
        Ok(f64::from(share(common, x.len(), y.len())))
    })
}

/// show_trgm(TEXT) -> TEXT[].
///
/// # Errors
/// None.
pub fn trigrams(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_write(&[text], |i, out| {
        let mut list = ArrayBuilder::new();
        for trigram in set(texts.str(i)?) {
            let bytes = trigram.map(|byte| byte as u8);
            if bytes.iter().all(|byte| (32..127).contains(byte)) {
                list.push_text(&bytes);
            } else {
                let [a, b, c] = bytes.map(u32::from);
                list.push_text(format!("0x{:06x}", a << 16 | b << 8 | c).as_bytes());
            }
        }
        **out = list.finish()?;
        Ok(())
    })
}

/// Parts of the second text that are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Any run of its trigrams.
    Runs,
    /// Whole words.
    Words,
}

/// word_similarity(TEXT, TEXT) -> REAL: of the first text and the best part of the second.
///
/// # Errors
/// None.
pub fn word_similarity(a: &Vector, b: &Vector) -> Result<Vector> {
    best_part(Extent::Runs, [a, b])
}

/// strict_word_similarity(TEXT, TEXT) -> REAL: as [`word_similarity`] for parts of whole words.
///
/// # Errors
/// None.
pub fn words_similarity(a: &Vector, b: &Vector) -> Result<Vector> {
    best_part(Extent::Words, [a, b])
}

fn best_part(extent: Extent, arguments: [&Vector; 2]) -> Result<Vector> {
    let [x, y] = arguments.map(Texts::new);
    try_build::<f64>(&arguments, |i| {
        let (wanted, text) = (set(x.str(i)?), placed(y.str(i)?));
        if wanted.is_empty() || text.is_empty() {
            return Ok(0.0);
        }
        Ok(f64::from(Search::new(&wanted, &text, extent).best()))
    })
}

/// The search for the part of a text that is most like a set of trigrams: a window over the text
/// grows to the right, and shrinks from the left where that makes it more alike.
struct Search<'a> {
    text: &'a [Placed],
    extent: Extent,
    wanted: usize,
    /// The number of each trigram of the text, and whether it is wanted, by number.
    numbers: Vec<usize>,
    found: Vec<bool>,
    /// The last place in the window, by number.
    last: Vec<Option<usize>>,
}

/// Content of a window: different trigrams, and wanted ones of them.
#[derive(Clone, Copy)]
struct Window {
    lower: usize,
    count: usize,
    common: usize,
}

impl<'a> Search<'a> {
    fn new(wanted: &[Trigram], text: &'a [Placed], extent: Extent) -> Self {
        let mut all: Vec<Trigram> = text.iter().map(|placed| placed.trigram).collect();
        all.sort_unstable();
        all.dedup();
        let number = |placed: &Placed| all.binary_search(&placed.trigram).unwrap_or(0);
        let numbers = text.iter().map(number).collect();
        let found = all.iter().map(|trigram| wanted.binary_search(trigram).is_ok()).collect();
        let last = vec![None; all.len()];
        Self { text, extent, wanted: wanted.len(), numbers, found, last }
    }

    fn share(&self, window: Window) -> f32 {
        share(window.common, self.wanted, window.count)
    }

    /// Source: PostgreSQL 15, documentation of pg_trgm, F.35.1.
    fn best(&mut self) -> f32 {
        let mut best = 0f32;
        let is_strict = self.extent == Extent::Words;
        let mut window = is_strict.then_some(Window { lower: 0, count: 0, common: 0 });
        for upper in 0..self.numbers.len() {
            let number = self.numbers[upper];
            let is_found = self.found[number];
            if window.is_some() || is_found {
                let known = window.get_or_insert(Window { lower: upper, count: 0, common: 0 });
                if self.last[number].is_none() {
                    known.count += 1;
                    known.common += usize::from(is_found);
                }
                self.last[number] = Some(upper);
            }
            let ends = if is_strict { self.text[upper].ends } else { is_found };
            if let Some(known) = window.as_mut().filter(|_| ends) {
                let shrunk = self.shrunk(*known, upper);
                for lower in known.lower..shrunk.lower {
                    let number = self.numbers[lower];
                    if self.last[number] == Some(lower) {
                        self.last[number] = None;
                    }
                }
                *known = shrunk;
                best = best.max(self.share(shrunk));
            }
        }
        best
    }

    /// The window up to `upper` with the lower bound that makes it most alike.
    fn shrunk(&self, window: Window, upper: usize) -> Window {
        let (mut best, mut tried) = (window, window);
        for lower in window.lower..=upper {
            tried.lower = lower;
            let may_begin = self.extent == Extent::Runs || self.text[lower].begins;
            if may_begin && tried.count > 0 && self.share(tried) > self.share(best) {
                best = tried;
            }
            let number = self.numbers[lower];
            if self.last[number] == Some(lower) {
                tried.count -= 1;
                tried.common -= usize::from(self.found[number]);
            }
        }
        best
    }
}
