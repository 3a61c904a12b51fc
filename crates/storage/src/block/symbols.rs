//! The symbol table of a compressed segment, and decoding by it.
//!
//! ```text
//! table:  | symbol 0, 8 bytes, zero padded | ... | symbol 255 | length 0, 1 byte | ... |
//! codes:  | 17 | 4 | 255 | 'x' | ...      255: the next byte stands for itself
//! ```
//! Invariants, checked when a block is opened: a symbol is 1 to 8 bytes long, or 0 when no code
//! names it; no string ends after 255. A decoder writes 8 bytes for each code and goes on by its
//! length, so that 8 bytes of room for each code are enough.
//! Elsewhere: finding the symbols (`freeze`).
//! Source: Boncz, Neumann, Leis 2020, section 5. Departure: the table has a place for all codes, so
//! that a decoder need not compare them with their number.

use std::sync::Arc;

use kernels::{HeapRef, StrVector, StrView};

const SYMBOL_BYTES: usize = 8;
const CODES: usize = 256;
/// The code before a byte that no symbol holds.
const ESCAPE: u8 = 255;

/// Bytes of a symbol table.
pub(crate) const SYMBOL_TABLE_BYTES: usize = CODES * (SYMBOL_BYTES + 1);

/// Reads a symbol table.
#[derive(Clone, Copy)]
pub(crate) struct SymbolTable<'a> {
    symbols: &'a [[u8; SYMBOL_BYTES]; CODES],
    lengths: &'a [u8; CODES],
}

impl<'a> SymbolTable<'a> {
    /// The table in `bytes`.
    ///
    /// # Panics
    /// If they are not [`SYMBOL_TABLE_BYTES`].
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let (symbols, lengths) = bytes.split_at(CODES * SYMBOL_BYTES);
        let (symbols, _) = symbols.as_chunks();
        let fits = "a place for each code";
        Self { symbols: symbols.try_into().expect(fits), lengths: lengths.try_into().expect(fits) }
    }

    /// The bytes of a table with these symbols, by code; fewer than 256.
    pub(crate) fn to_bytes(symbols: impl Iterator<Item = ([u8; SYMBOL_BYTES], u8)>) -> Vec<u8> {
        let mut bytes = vec![0; SYMBOL_TABLE_BYTES];
        for (code, (symbol, length)) in symbols.enumerate() {
            assert!(code < usize::from(ESCAPE), "a code left for the escape");
            bytes[code * SYMBOL_BYTES..][..SYMBOL_BYTES].copy_from_slice(&symbol);
            bytes[CODES * SYMBOL_BYTES + code] = length;
        }
        bytes
    }

    /// True when no symbol is longer than its place.
    pub(crate) fn is_sound(&self) -> bool {
        self.lengths.iter().all(|&length| usize::from(length) <= SYMBOL_BYTES)
    }

    /// True when `codes` can be decoded: each has a symbol, and escapes have their byte.
    pub(crate) fn is_decodable(&self, codes: &[u8]) -> bool {
        let mut codes = codes.iter();
        while let Some(&code) = codes.next() {
            let known = match code {
                ESCAPE => codes.next().is_some(),
                _ => self.lengths[usize::from(code)] != 0,
            };
            if !known {
                return false;
            }
        }
        true
    }

    /// The strings of `rows`, each the codes of one; they share one transient heap.
    pub(crate) fn decode_all<'s>(&self, rows: impl Iterator<Item = &'s [u8]> + Clone) -> StrVector {
        let (count, codes) = rows.clone().fold((0, 0), |(n, sum), row| (n + 1, sum + row.len()));
        // Text takes 2 to 3 bytes a code; the heap grows when that is too few.
        let mut heap = vec![0; codes * 3];
        let mut ends = Vec::with_capacity(count);
        let mut used = 0;
        for row in rows {
            let room = row.len() * SYMBOL_BYTES;
            if heap.len() - used < room {
                heap.resize(heap.len() + heap.len() / 2 + room, 0);
            }
            used += self.decode(row, &mut heap[used..used + room]);
            ends.push(used);
        }
        heap.truncate(used);
        let heap = Arc::new(heap);
        let mut start = 0;
        let view = |end| StrView::new(&heap[std::mem::replace(&mut start, end)..end]);
        let views = ends.into_iter().map(view).collect();
        // SAFETY: the views point into `heap`, which the vector keeps and nobody changes any more.
        unsafe { StrVector::from_views(views, vec![HeapRef::transient(heap)]) }
    }

    /// Writes the string of `codes` to the start of `target`, which has room for as many symbols;
    /// returns its length. What stands behind it is undefined.
    #[inline]
    fn decode(&self, codes: &[u8], target: &mut [u8]) -> usize {
        let mut at = 0;
        let mut codes = codes.iter();
        while let Some(&code) = codes.next() {
            if code == ESCAPE {
                target[at] = *codes.next().expect("validated: an escape has its byte");
                at += 1;
            } else {
                let code = usize::from(code);
                target[at..at + SYMBOL_BYTES].copy_from_slice(&self.symbols[code]);
                at += usize::from(self.lengths[code]);
            }
        }
        at
    }
}
