//! Where a row is.

/// Place of a row in its table: block id (48 bits), then position in the block (16 bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u64);

/// The ordinal under which `TableSnapshot::unpack` gives an I64 column of TIDs.
pub const TID_COLUMN: usize = 0xffff;

impl Tid {
    /// Row `row` of block `block`.
    ///
    /// # Panics
    /// In debug builds, if one of them is too large.
    #[inline]
    pub fn new(block: u64, row: u32) -> Self {
        debug_assert!(block < 1 << 48 && row < 1 << 16, "48 bits of block, 16 of row");
        Self(block << 16 | u64::from(row))
    }

    /// Its block's id.
    #[inline]
    pub fn block(self) -> u64 {
        self.0 >> 16
    }

    /// Its position in the block.
    #[inline]
    pub fn row(self) -> u32 {
        self.0 as u32 & 0xffff
    }
}
