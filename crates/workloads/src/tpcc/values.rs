//! The specification's random values: non-uniform numbers, last names, strings.
//!
//! Source: TPC-C 5.11, clauses 2.1.6 and 4.3.2. Departure: letters are 62 of the 128 characters
//! the specification asks of a character set, two of them twice as likely as the others.

use crate::random::Draw;

/// The constants C of the non-uniform distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Constant of last names.
    pub last: i64,
    /// Constant of customers.
    pub customer: i64,
    /// Constant of items.
    pub item: i64,
}

impl Constants {
    /// Constants of a population made from `seed`.
    pub fn load(seed: u64) -> Self {
        let mut draw = Draw::seeded(seed, 100, 0);
        Self {
            last: draw.between(0, 255),
            customer: draw.between(0, 1023),
            item: draw.between(0, 8191),
        }
    }

    /// Constants of a run against a population made from `seed`: for last names, far enough from it
    /// and not too far (clause 2.1.6.1), so that a run does not ask for exactly the names that
    /// loading made frequent.
    pub fn run(seed: u64) -> Self {
        let load = Self::load(seed);
        let mut draw = Draw::seeded(seed, 101, 0);
        let last = loop {
            let last = draw.between(0, 255);
            let delta = (last - load.last).abs();
            if (65..=119).contains(&delta) && delta != 96 && delta != 112 {
                break last;
            }
        };
        Self { last, ..load }
    }
}

/// Non-uniform in `low..=high`; `a` says over how many values the frequent ones are spread.
pub(crate) fn nurand(draw: &mut Draw, a: i64, c: i64, low: i64, high: i64) -> i64 {
    let mixed = draw.between(0, a) | draw.between(low, high);
    (mixed + c) % (high - low + 1) + low
}

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// A last name, at most 15 letters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LastName {
    bytes: [u8; 16],
    length: u8,
}

impl LastName {
    /// The name of number `number`, 0 to 999: a syllable for each digit.
    pub fn new(number: usize) -> Self {
        let mut name = Self { bytes: [0; 16], length: 0 };
        for digit in [number / 100, number / 10 % 10, number % 10] {
            let syllable = SYLLABLES[digit].as_bytes();
            let start = usize::from(name.length);
            name.bytes[start..start + syllable.len()].copy_from_slice(syllable);
            name.length += syllable.len() as u8;
        }
        name
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("syllables are ASCII")
    }

    /// The name's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl std::fmt::Debug for LastName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

const LETTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZee";

/// `low` to `high` letters and digits, in `text`.
pub(crate) fn letters<'t>(
    draw: &mut Draw,
    low: i64,
    high: i64,
    text: &'t mut String,
) -> &'t mut String {
    text.clear();
    let mut left = draw.between(low, high);
    while left > 0 {
        let mut bits = draw.next();
        for _ in 0..left.min(10) {
            text.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
        left -= 10;
    }
    text
}

/// `count` digits, in `text`.
pub(crate) fn digits<'t>(draw: &mut Draw, count: usize, text: &'t mut String) -> &'t mut String {
    text.clear();
    for _ in 0..count {
        text.push(char::from(b'0' + draw.between(0, 9) as u8));
    }
    text
}

/// 26 to 50 letters, ORIGINAL somewhere in a tenth of them.
pub(crate) fn brand<'t>(draw: &mut Draw, text: &'t mut String) -> &'t mut String {
    letters(draw, 26, 50, text);
    if draw.between(1, 10) == 1 {
        let start = draw.between(0, (text.len() - ORIGINAL.len()) as i64) as usize;
        text.replace_range(start..start + ORIGINAL.len(), ORIGINAL);
    }
    text
}

const ORIGINAL: &str = "ORIGINAL";

/// True when item or stock data carry the mark of a brand.
pub(crate) fn is_original(data: &[u8]) -> bool {
    data.windows(ORIGINAL.len()).any(|window| window == ORIGINAL.as_bytes())
}
