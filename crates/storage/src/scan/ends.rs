//! The smallest and largest values of a frozen block in the place of its rows, for who asks for
//! nothing else.

use types::{PhysicalType, Value};

use super::BlockCursor;
use crate::block::BlockLayout;
use crate::fixed::value_of_key;

impl BlockCursor<'_> {
    /// The smallest and the largest value of each of `columns` (ordinals) in the rows that the
    /// cursor would find, NULL for columns without values. None unless these are all rows of a
    /// frozen block: its SMAs say so then, and no row is looked at.
    ///
    /// Source: Moerkotte 1998 (small materialized aggregates), section 2.
    pub fn ends(&self, columns: &[usize]) -> Option<Vec<[Value; 2]>> {
        let is_whole = self.next == 0 && self.end as usize == self.block.rows();
        let all_pass = self.steps.is_empty() && self.found.is_none();
        if self.block.layout() != BlockLayout::Frozen || !is_whole || !all_pass {
            return None;
        }
        // Rows that somebody changed or deleted may be there for this snapshot, or not.
        if !self.zones.is_empty() {
            return None;
        }
        columns.iter().map(|&column| self.ends_of(column)).collect()
    }

    fn ends_of(&self, column: usize) -> Option<[Value; 2]> {
        let block = self.block;
        let physical = block.physical(column)?;
        if block.is_all_null(column) {
            return Some([Value::Null, Value::Null]);
        }
        if physical == PhysicalType::Str {
            let (least, most) = block.sma_strings(column)?;
            return Some([Value::Str(least.into()), Value::Str(most.into())]);
        }
        let (least, most) = block.sma_keys(column)?;
        Some([value_of_key(physical, least)?, value_of_key(physical, most)?])
    }
}
