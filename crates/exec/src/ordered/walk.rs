//! The first rows of a sort, found by an index that has its order.
//!
//! ```text
//! entries in order -> rows -> what the index leaves open --+-- enough: done
//!                                     entries_max are read '-- else the sort, from the beginning
//! ```
//! Rows of a near index come about in order: those that were found first are sorted.
//!
//! How many entries lie before the rows wanted is a guess that may be wrong by any factor: what is
//! read in vain costs about as much as the sort's own scan.

use std::sync::Arc;

use plan::physical::{Node, Operator};
use types::{Error, PhysicalType, Result};

use super::limit::{Kept, KeptRows, clip, first_rows};
use super::sort::SortSpec;
use super::{Bounds, top};
use crate::index::{self, Walk};
use crate::opener::Opener;
use crate::pipeline::Stream;
use crate::simple::push_project;

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
    let most = (*entries_max).min(top::ROWS_MAX);
    let needed = bounds.needed().filter(|needed| (1..=most).contains(needed));
    let Some(needed) = needed else { return opener.open(sort, Vec::new()) };
    let (stream, walk) = open_index(opener, index, needed, *entries_max)?;
    let kept = first_rows(&opener.context, &stream, needed)?;
    let found: u64 = kept.iter().map(|(batch, _)| batch.rows as u64).sum();
    if is_near(index) {
        // An index of vectors lacks rows that have none.
        return if found >= needed {
            sorted(opener, sort, kept, bounds)
        } else {
            opener.open(sort, Vec::new())
        };
    }
    if found >= needed || walk.is_whole() {
        let batches = clip(kept, bounds);
        return Ok(Stream::new(Arc::new(KeptRows::new(batches)), Some(node.id)));
    }
    opener.open(sort, Vec::new())
}

/// True for a scan by a near index, under projections or not.
fn is_near(node: &Node) -> bool {
    match &node.operator {
        Operator::Project { input, .. } => is_near(input),
        Operator::IndexScan { ways, .. } => ways.iter().any(|way| way.near.is_some()),
        _ => false,
    }
}

/// Opens an index scan that finds `needed` rows, and the projections above it.
fn open_index(
    opener: &mut Opener,
    node: &Node,
    needed: u64,
    entries_max: u64,
) -> Result<(Stream, Arc<Walk>)> {
    let Operator::Project { input, .. } = &node.operator else {
        return index::open_walk(opener, node, needed, entries_max);
    };
    let (mut stream, walk) = open_index(opener, input, needed, entries_max)?;
    push_project(opener, node, None, &mut stream)?;
    Ok((stream, walk))
}

/// Rows of `kept` that are within `bounds`, in the order of the sort `node`.
fn sorted(opener: &Opener, node: &Node, kept: Kept, bounds: Bounds) -> Result<Stream> {
    let Operator::Sort { input, keys, .. } = &node.operator else {
        return Err(Error::internal("a walk in the place of no sort"));
    };
    let spec = SortSpec::new(opener, keys)?;
    let payload: Vec<PhysicalType> = input.output.iter().map(|c| c.physical).collect();
    let stream = Stream::new(Arc::new(KeptRows::new(kept)), None);
    top::Top { spec, payload, bounds }.open(opener, node, &stream)
}
