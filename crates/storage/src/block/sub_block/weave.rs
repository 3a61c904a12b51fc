//! BitWeaving: the codes of a segment, NULL's among them, as bits in words.

use std::sync::Arc;

use kernels::weave::{CODE_BITS_MAX, CodeCompare, code_bits, horizontal, vertical};
use types::Result;

use super::{CodeRange, Domain, WeaveForm};
use crate::block::Frozen;
use crate::memory::{BufferPool, Memory, MemoryCategory};

/// The woven codes of one segment.
#[derive(Debug)]
pub(crate) struct Weave {
    form: WeaveForm,
    /// Bits of a code.
    bits: u32,
    domain: Domain,
    memory: Memory,
}

/// Words of a bitmap with a bit for each of `rows` rows, and for whole segments of woven codes.
pub(crate) fn bitmap_words(rows: usize) -> usize {
    rows.next_multiple_of(vertical::SEGMENT_ROWS) / 64
}

impl Weave {
    /// Weaves the codes; None when they need more than 32 bits.
    ///
    /// # Errors
    /// 53200 without memory.
    pub(super) fn build(
        block: Frozen<'_>,
        column: usize,
        domain: &Domain,
        form: WeaveForm,
        pool: &Arc<BufferPool>,
    ) -> Result<Option<Self>> {
        let Ok(largest) = u32::try_from(domain.null.unwrap_or(domain.last)) else {
            return Ok(None);
        };
        let null = domain.null.unwrap_or_default() as u32;
        let mut codes = vec![null; block.rows()];
        domain.each(block, column, |row, code| codes[row as usize] = code as u32);
        let bits = code_bits(largest);
        debug_assert!(bits <= CODE_BITS_MAX);
        let words = match form {
            WeaveForm::Vertical => vertical::words(codes.len(), bits),
            WeaveForm::Horizontal => horizontal::words(codes.len(), bits),
        };
        let mut memory = pool.allocate(MemoryCategory::Indexes, words as u64 * 8)?;
        match form {
            WeaveForm::Vertical => vertical::pack(&codes, bits, memory.words_mut()),
            WeaveForm::Horizontal => horizontal::pack(&codes, bits, memory.words_mut()),
        }
        Ok(Some(Self { form, bits, domain: *domain, memory }))
    }

    /// How its bits lie.
    pub(crate) fn form(&self) -> WeaveForm {
        self.form
    }

    /// Bits of a code.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> u64 {
        self.memory.held_bytes()
    }

    /// Clears the bits of `keep` whose code is in none of the ranges, which ascend and are apart.
    /// `keep` has [`bitmap_words`] words.
    pub(crate) fn find(&self, ranges: &[CodeRange], keep: &mut [u64]) {
        match *ranges {
            [] => keep.fill(0),
            [range] => self.compare(between(range), keep),
            // All values but one.
            [(0, below), (above, last)] if above == below + 2 && last == self.domain.last => {
                self.compare(CodeCompare::Ne(below as u32 + 1), keep);
                if self.domain.null.is_some() {
                    self.compare(CodeCompare::Le(last as u32), keep);
                }
            }
            [..] => {
                let mut found = vec![0; keep.len()];
                let mut pass = vec![0; keep.len()];
                for &range in ranges {
                    pass.copy_from_slice(keep);
                    self.compare(between(range), &mut pass);
                    found.iter_mut().zip(&pass).for_each(|(found, pass)| *found |= pass);
                }
                keep.copy_from_slice(&found);
            }
        }
    }

    fn compare(&self, compare: CodeCompare, keep: &mut [u64]) {
        match self.form {
            WeaveForm::Vertical => {
                vertical::find(self.memory.words(), self.bits, compare, keep);
            }
            WeaveForm::Horizontal => {
                horizontal::find(self.memory.words(), self.bits, compare, keep);
            }
        }
    }
}

fn between((lo, hi): CodeRange) -> CodeCompare {
    let code = |code: u64| u32::try_from(code).unwrap_or(u32::MAX);
    CodeCompare::Between(code(lo), code(hi))
}
