//! Index sub-blocks: what a frozen block has besides its rows, to find some of them sooner.
//!
//! ```text
//! segment -> Domain: values as integers, in order --build--> csb          code -> row ids
//!                                                            bitweaving   bits of codes, in words
//! values  -> hashes ---------------------------------build-> bloom        proves absence
//! ```
//! Invariants: a sub-block is built at once, over all rows of its block, and never changes; whether
//! a row exists for a snapshot is looked at after it. A block need not have one that its table
//! wants: where a segment has no integers in order, or answers by itself, nothing is kept.
//! Elsewhere: when a scan asks which of them (`scan::paths`); loops over woven codes
//! (`kernels::weave`); indexes over all rows of a table (`index`).
//! Source: Patel 2018, section 3.1; Chasseur 2015, section 2.3. Departures: no insert, remove or
//! rebuild, because only frozen blocks have them; beside the block's memory, not in it, so that
//! they come and go with CREATE and DROP INDEX.

mod bloom;
mod csb;
mod domain;
#[cfg(test)]
mod tests;
mod weave;

use std::sync::Arc;

use types::Result;

use crate::block::{Block, Frozen, Nulls, Scheme};
use crate::ids::IndexId;
use crate::memory::BufferPool;
use crate::restriction::Test;
use bloom::Bloom;
use csb::Csb;
pub(crate) use domain::{CodeRange, Domain, runs};
use weave::Weave;
pub(crate) use weave::bitmap_words;

/// How bits of codes lie in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeaveForm {
    /// BitWeaving/V: a plane of words for each bit.
    Vertical,
    /// BitWeaving/H: whole codes side by side, a delimiter bit above each.
    Horizontal,
}

/// Kind of an index sub-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubBlockKind {
    /// CSB+-tree over codes.
    Csb,
    /// Woven codes.
    BitWeaving(WeaveForm),
    /// Bloom filter over values.
    Bloom {
        /// Bits of the filter for each distinct value.
        bits_per_key: u32,
    },
}

/// The index sub-blocks that the frozen blocks of a table have for one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubBlockSpec {
    /// The number of the index, never used twice; not that of a [`crate::TableIndex`].
    pub id: IndexId,
    /// Its name.
    pub name: String,
    /// Ordinal of the column.
    pub column: usize,
    /// Kind of the sub-blocks.
    pub kind: SubBlockKind,
}

/// One index sub-block.
#[derive(Debug)]
pub(crate) struct SubBlock {
    id: IndexId,
    column: usize,
    structure: Option<Structure>,
}

#[derive(Debug)]
enum Structure {
    Csb(Csb),
    Weave(Weave),
    Bloom(Bloom),
}

impl SubBlock {
    /// Builds what `spec` asks for over the frozen `block`.
    ///
    /// # Errors
    /// 53200 without memory.
    pub(crate) fn build(
        block: Frozen<'_>,
        spec: &SubBlockSpec,
        pool: &Arc<BufferPool>,
    ) -> Result<Self> {
        let column = spec.column;
        let segment = block.segment(column);
        // A single value is decided for the whole block.
        let is_varied = segment.scheme != Scheme::Single && segment.nulls != Nulls::All;
        let domain = if is_varied { Domain::of(&block, column) } else { None };
        let structure = match (spec.kind, domain) {
            (SubBlockKind::Csb, Some(domain)) => {
                Some(Structure::Csb(Csb::build(block, column, &domain, pool)?))
            }
            (SubBlockKind::BitWeaving(form), Some(domain)) => {
                Weave::build(block, column, &domain, form, pool)?.map(Structure::Weave)
            }
            // A dictionary proves absence exactly.
            (SubBlockKind::Bloom { bits_per_key }, _)
                if is_varied && segment.scheme != Scheme::Dictionary =>
            {
                Some(Structure::Bloom(Bloom::build(block, column, bits_per_key, pool)?))
            }
            _ => None,
        };
        Ok(Self { id: spec.id, column, structure })
    }

    /// The number of its index.
    pub(crate) fn id(&self) -> IndexId {
        self.id
    }

    /// Ordinal of its column.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.structure {
            Some(Structure::Csb(tree)) => tree.bytes(),
            Some(Structure::Weave(weave)) => weave.bytes(),
            Some(Structure::Bloom(bloom)) => bloom.bytes(),
            None => 0,
        }
    }

    /// Values that it has an entry for; none when nothing is kept.
    pub(crate) fn entries(&self, block: &Block) -> u64 {
        match &self.structure {
            Some(Structure::Csb(tree)) => tree.entries(),
            Some(Structure::Weave(_)) => block.rows() as u64,
            Some(Structure::Bloom(bloom)) => bloom.keys(),
            None => 0,
        }
    }

    /// The tree, if it is one.
    pub(crate) fn tree(&self) -> Option<&Csb> {
        match &self.structure {
            Some(Structure::Csb(tree)) => Some(tree),
            _ => None,
        }
    }

    /// The woven codes, if it is that.
    pub(crate) fn weave(&self) -> Option<&Weave> {
        match &self.structure {
            Some(Structure::Weave(weave)) => Some(weave),
            _ => None,
        }
    }

    /// True when no row of the block can satisfy `test`.
    pub(crate) fn excludes(&self, test: &Test) -> bool {
        match &self.structure {
            Some(Structure::Bloom(bloom)) => bloom.excludes(test),
            _ => false,
        }
    }
}
