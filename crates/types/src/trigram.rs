//! Trigrams of texts, as pg_trgm has them.
//!
//! ```text
//! "Two words" -> two, words -> "  two ", "  words " -> {"  t", " tw", "two", "wo ", "  w", ...}
//! ```
//! A trigram with a character of several bytes counts as three bytes of its CRC, as in PostgreSQL.
//! Elsewhere: how alike two texts are (`kernels::extension_fn`), inverted indexes (`elements`).

/// Three bytes; they compare as PostgreSQL's signed characters do.
pub type Trigram = [i8; 3];

/// A trigram of a text, and where it stands in its word.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The trigram.
    pub trigram: Trigram,
    /// True for the first one of its word.
    pub begins: bool,
    /// True for the last one.
    pub ends: bool,
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

/// Departure from every CRC: bits are reflected in the table and not in the sum, as PostgreSQL's
/// oldest indexes have it.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| CRC_TABLE[((crc >> 24) as u8 ^ byte) as usize] ^ crc << 8;
    !bytes.iter().fold(u32::MAX, step)
}

pub(crate) fn compact(characters: &[char]) -> Trigram {
    let bytes = match characters {
        [a, b, c] if characters.iter().all(char::is_ascii) => [*a as u8, *b as u8, *c as u8],
        _ => {
            let text: String = characters.iter().collect();
            let [a, b, c, _] = crc(text.as_bytes()).to_le_bytes();
            [a, b, c]
        }
    };
    bytes.map(|byte| byte as i8)
}

/// The trigrams of a text in its order, twice those that are there twice.
pub fn placed(text: &str) -> Vec<Placed> {
    let mut all = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        let padded: Vec<char> = [' ', ' '].into_iter().chain(word.chars()).chain([' ']).collect();
        let count = padded.len() - 2;
        all.extend(padded.windows(3).enumerate().map(|(at, three)| {
            let (begins, ends) = (at == 0, at + 1 == count);
            Placed { trigram: compact(three), begins, ends }
        }));
    }
    all
}

/// The trigrams of a text as a set, ascending.
pub fn set(text: &str) -> Vec<Trigram> {
    let mut all: Vec<Trigram> = placed(text).iter().map(|placed| placed.trigram).collect();
    all.sort_unstable();
    all.dedup();
    all
}
