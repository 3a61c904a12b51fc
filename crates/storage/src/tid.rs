//! Where a row is.

/// The place of a row in its table: block id (48 bits) and row of the block (16 bits). It stays
/// while the row is in its block; a row that moves gets another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u64);

/// The ordinal by which [`crate::TableSnapshot::unpack`] gives the TIDs of rows, as I64.
pub const TID_COLUMN: usize = 0xffff;

impl Tid {
    /// Row `row` of block `block`.
    #[inline]
    pub fn new(block: u64, row: u32) -> Self {
        debug_assert!(row < 1 << 16 && block < 1 << 48, "48 and 16 bits");
        Self(block << 16 | u64::from(row))
    }

    /// The block's id.
    #[inline]
    pub fn block(self) -> u64 {
        self.0 >> 16
    }

    /// The row of the block.
    #[inline]
    pub fn row(self) -> u32 {
        self.0 as u32 & 0xffff
    }
}
