//! The first rows of a sort, found by an index that has its order.
//!
//! ```text
//! entries in order -> rows -> what the index leaves open --+-- enough: done
//!                                     entries_max are read '-- else the sort, from the beginning
//! ```
//! How many entries lie before the rows wanted is a guess that may be wrong by any factor: what is
//! read in vain costs about as much as the sort's own scan.

use std::sync::Arc;

use plan::physical::{Node, Operator};
use types::{Error, Result};

use super::Bounds;
use super::limit::{KeptRows, clip, first_rows};
use crate::index;
use crate::opener::Opener;
use crate::pipeline::Stream;

/// Opens [`Operator::Walk`].
///
/// # Errors
/// 2201W and 2201X for negative bounds; whatever the index scan or the sort meets.
pub(crate) fn open_walk(opener: &mut Opener, node: &Node) -> Result<Stream> {
    let Operator::Walk { index, entries_max, sort } = &node.operator else {
        return Err(Error::internal("not a walk"));
    };
    let Operator::Sort { limit, offset, .. } = &sort.operator else {
        return Err(Error::internal("a walk in the place of no sort"));
    };
    let bounds = Bounds::new(opener, limit.as_ref(), offset.as_ref())?;
    let needed = bounds.needed().filter(|needed| (1..=*entries_max).contains(needed));
    if let Some(needed) = needed {
        let (stream, walk) = index::open_walk(opener, index, *entries_max)?;
        let kept = first_rows(&opener.context, &stream, needed)?;
        let found: u64 = kept.iter().map(|(batch, _)| batch.rows as u64).sum();
        if found >= needed || walk.is_whole() {
            let batches = clip(kept, bounds);
            return Ok(Stream::new(Arc::new(KeptRows { batches }), Some(node.id)));
        }
    }
    opener.open(sort, Vec::new())
}
