//! Compression of long strings that do not repeat.
//!
//! ```text
//! sample of the rows -> symbols of 1 to 8 bytes -> every row as codes of one byte
//! ```
//! Only where it pays: short strings stay as they are, because most scans of strings (LIKE on
//! names, say) read those, and decoding costs a scan more than the bytes saved.
//! Elsewhere: the symbol table and decoding (`block::symbols`).
//! Source: Boncz, Neumann, Leis 2020 (FSST).

use fsst::Compressor;
use kernels::StrVector;

use super::Input;
use crate::block::SymbolTable;

/// Compressed are columns whose strings have so many bytes on average; 64 leaves the comments of
/// lineitem (26), orders (48) and supplier (62) plain, and takes those of customer (73) and
/// partsupp (124).
const BYTES_AVERAGE_MIN: usize = 64;

/// Fewer bytes than a training sample take longer to train than to read.
const BYTES_MIN: usize = 16 << 10;

/// Compressed bytes, symbol table included, are at most so many percent of the plain ones.
const PERCENT_MAX: usize = 75;

/// Rows offered for training, of which 16 KiB are taken, and then compressed for an estimate.
const SAMPLE_ROWS: usize = 512;

/// Rows compressed by one call, whose output is reserved at twice its input.
const CHUNK_ROWS: usize = 1024;

/// Strings as codes.
pub(super) struct Compressed {
    /// Where the codes of each row start, and the end of the last.
    pub(super) ends: Vec<u64>,
    pub(super) codes: Vec<u8>,
    /// See [`SymbolTable`].
    pub(super) symbols: Vec<u8>,
}

/// The strings compressed, NULLs as empty strings; None where it does not pay. `bytes` are those
/// of all strings.
pub(super) fn compress(source: &StrVector, input: Input<'_>, bytes: usize) -> Option<Compressed> {
    let rows = source.len();
    if bytes < BYTES_MIN || bytes / (rows - input.nulls) < BYTES_AVERAGE_MIN {
        return None;
    }
    let string = |row: usize| {
        if input.is_valid(row) { source.get(row) } else { b"" }
    };
    let step = (rows / SAMPLE_ROWS).max(1);
    let sample: Vec<&[u8]> = (0..rows).step_by(step).map(string).collect();
    let compressor = Compressor::train(&sample);
    let mut compressed = Compressed { ends: vec![0], codes: Vec::new(), symbols: Vec::new() };
    compressed.add(&compressor, &sample);
    let sample_bytes: usize = sample.iter().map(|s| s.len()).sum();
    if compressed.codes.len() * 100 > sample_bytes * PERCENT_MAX {
        return None;
    }
    compressed.ends.truncate(1);
    compressed.codes.clear();
    let mut chunk = Vec::with_capacity(CHUNK_ROWS);
    for start in (0..rows).step_by(CHUNK_ROWS) {
        chunk.clear();
        chunk.extend((start..rows.min(start + CHUNK_ROWS)).map(string));
        compressed.add(&compressor, &chunk);
    }
    let symbols = compressor.symbol_table().iter().zip(compressor.symbol_lengths());
    let symbols = symbols.map(|(symbol, &length)| (symbol.to_u64().to_le_bytes(), length));
    compressed.symbols = SymbolTable::to_bytes(symbols);
    let total = compressed.codes.len() + compressed.symbols.len();
    (total * 100 <= bytes * PERCENT_MAX).then_some(compressed)
}

impl Compressed {
    fn add(&mut self, compressor: &Compressor, rows: &[&[u8]]) {
        const LANES: usize = Compressor::DEFAULT_BULK_LANES;
        compressor.compress_bulk_into::<LANES>(rows, &mut self.codes, &mut self.ends);
    }
}
