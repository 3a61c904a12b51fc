//! Finds blocks by their ids, without a latch.
//!
//! ```text
//! id + 64: its highest bit names the bucket, the rest the slot    bucket k: 64 << k slots
//! ```
//! Invariant: a block taken out is dropped when no thread is pinned that may have found it.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use crossbeam_epoch::Guard;

use crate::block::Block;
use crate::memory::defer;

const FIRST_SLOTS: u64 = 64;
const BUCKET_COUNT: usize = 32;
/// Ids below this have a slot.
pub(crate) const BLOCK_ID_END: u64 = (FIRST_SLOTS << BUCKET_COUNT) - FIRST_SLOTS;

/// A block found by a thread that is pinned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRef<'g> {
    block: *const Block,
    guard: PhantomData<&'g Guard>,
}

impl<'g> BlockRef<'g> {
    /// A reference that outlives the guard.
    pub(crate) fn shared(self) -> Arc<Block> {
        // SAFETY: the pointer is that of an Arc, whose count in the directory is given back only
        // after the guard is gone.
        unsafe {
            Arc::increment_strong_count(self.block);
            Arc::from_raw(self.block)
        }
    }

    /// The block, as long as the guard is held.
    #[inline]
    pub(crate) fn get(self) -> &'g Block {
        // SAFETY: as above.
        unsafe { &*self.block }
    }
}

impl Deref for BlockRef<'_> {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        // SAFETY: as above.
        unsafe { &*self.block }
    }
}

/// The blocks of a table.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    buckets: [OnceLock<Box<[AtomicPtr<Block>]>>; BUCKET_COUNT],
}

fn place_of(id: u64) -> (usize, usize) {
    let shifted = id + FIRST_SLOTS;
    let bucket = (shifted / FIRST_SLOTS).ilog2();
    (bucket as usize, (shifted - (FIRST_SLOTS << bucket)) as usize)
}

impl Directory {
    fn slot(&self, id: u64) -> Option<&AtomicPtr<Block>> {
        let (bucket, slot) = place_of(id);
        self.buckets.get(bucket)?.get()?.get(slot)
    }

    /// Block `id`.
    #[inline]
    pub(crate) fn get<'g>(&self, id: u64, _guard: &'g Guard) -> Option<BlockRef<'g>> {
        let block = self.slot(id)?.load(Ordering::Acquire).cast_const();
        (!block.is_null()).then_some(BlockRef { block, guard: PhantomData })
    }

    /// Puts in a block, whose id has no block yet; returns the pointer that finds it.
    ///
    /// # Panics
    /// If the id is [`BLOCK_ID_END`] or above.
    pub(crate) fn put(&self, block: Arc<Block>) -> *mut Block {
        let (bucket, slot) = place_of(block.id());
        let slots = || (0..FIRST_SLOTS << bucket).map(|_| AtomicPtr::default()).collect();
        let pointer = Arc::into_raw(block).cast_mut();
        let old = self.buckets[bucket].get_or_init(slots)[slot].swap(pointer, Ordering::AcqRel);
        debug_assert!(old.is_null(), "block ids are used once");
        pointer
    }

    /// Puts `block` in the place of the block of its id.
    pub(crate) fn replace(&self, block: Arc<Block>, guard: &Guard) {
        let slot = self.slot(block.id()).expect("the block it replaces has a slot");
        let old = slot.swap(Arc::into_raw(block).cast_mut(), Ordering::AcqRel).cast_const();
        drop_later(old, guard);
    }

    /// Takes out block `id`.
    pub(crate) fn take(&self, id: u64, guard: &Guard) {
        let Some(slot) = self.slot(id) else { return };
        drop_later(slot.swap(std::ptr::null_mut(), Ordering::AcqRel).cast_const(), guard);
    }

    /// A pinned reference to a block that is in the directory.
    ///
    /// # Safety
    /// `block` must be the result of [`Self::put`], loaded while pinned from where it is removed
    /// before [`Self::take`].
    #[inline]
    pub(crate) unsafe fn found<'g>(
        &self,
        block: *mut Block,
        _guard: &'g Guard,
    ) -> Option<BlockRef<'g>> {
        (!block.is_null()).then_some(BlockRef { block, guard: PhantomData })
    }
}

/// Drops what was taken out of a slot, if anything, when nobody is pinned that may have found it.
fn drop_later(block: *const Block, guard: &Guard) {
    if !block.is_null() {
        // SAFETY: the pointer came from an Arc that went into the slot, and is taken out once.
        let block = unsafe { Arc::from_raw(block) };
        let bytes = block.bytes();
        // SAFETY: threads that found it are pinned.
        unsafe { defer(block, bytes, guard) };
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        for slots in self.buckets.iter_mut().filter_map(OnceLock::get_mut) {
            for block in slots.iter_mut().map(|slot| *slot.get_mut()).filter(|b| !b.is_null()) {
                // SAFETY: from `put`; nobody else has the directory.
                drop(unsafe { Arc::from_raw(block.cast_const()) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_dense() {
        let mut next = (0, 0);
        for id in 0..10_000 {
            assert_eq!(place_of(id), next);
            next.1 += 1;
            if next.1 == (FIRST_SLOTS as usize) << next.0 {
                next = (next.0 + 1, 0);
            }
        }
    }
}
