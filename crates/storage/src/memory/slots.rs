//! Mappings of the operating system, and slots shared by small allocations.
//!
//! ```text
//! held_bytes < 1 MiB:   part of a shared slot, multiples of 64 bytes, first fit
//! otherwise:            a mapping of its own, aligned to a slot, multiples of 4 KiB;
//!                       huge pages for its whole slots, small ones for its tail
//! ```
//! Why the tail: a frozen block of lineitem takes 3.7 MB; rounded to slots it would waste 12
//! percent.

use std::io;
use std::ptr::NonNull;
#[cfg(not(miri))]
use std::ptr::null_mut;

#[cfg(not(miri))]
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The unit of mappings and of huge pages.
pub(super) const SLOT_BYTES: usize = 2 << 20;
pub(super) const PAGE_BYTES: usize = 4 << 10;
/// Bytes from which on an allocation has whole pages.
pub(super) const PART_BYTES_MAX: usize = SLOT_BYTES / 2;
const PART_UNIT: usize = 64;

/// Bytes that an allocation of `bytes` really holds; None when that is no address range.
pub(super) fn held_bytes(bytes: usize) -> Option<usize> {
    let unit = if bytes < PART_BYTES_MAX { PART_UNIT } else { PAGE_BYTES };
    bytes.max(1).checked_next_multiple_of(unit).filter(|&b| b <= isize::MAX as usize / 2)
}

/// A range of memory and where it goes back to.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) start: NonNull<u8>,
    pub(super) bytes: usize,
    origin: Origin,
}

#[derive(Clone, Copy, Debug)]
enum Origin {
    /// A mapping of its own.
    Mapping,
    /// Part of the slot at this address.
    Slot(NonNull<u8>),
    /// Part of a run (`run`).
    Run,
}

impl Place {
    /// A range that a run gave out.
    pub(super) fn of_run(start: NonNull<u8>, bytes: usize) -> Self {
        Self { start, bytes, origin: Origin::Run }
    }

    pub(super) fn is_of_run(&self) -> bool {
        matches!(self.origin, Origin::Run)
    }
}

// SAFETY: a place is an address range owned by one holder; no thread has a special claim on it.
unsafe impl Send for Place {}
// SAFETY: as above; a shared place only tells its bounds.
unsafe impl Sync for Place {}

#[derive(Debug)]
struct SharedSlot {
    base: NonNull<u8>,
    /// Free ranges (offset, bytes), by offset, never touching each other.
    free: Vec<(usize, usize)>,
}

// SAFETY: the slot's memory is only reached through the places cut from it.
unsafe impl Send for SharedSlot {}

#[derive(Debug, Default)]
pub(super) struct Slots {
    shared: Vec<SharedSlot>,
}

impl Slots {
    /// Zeroed memory of `bytes`, a result of [`held_bytes`].
    pub(super) fn take(&mut self, bytes: usize) -> io::Result<Place> {
        if bytes >= PART_BYTES_MAX {
            return Ok(Place { start: map_slots(bytes)?, bytes, origin: Origin::Mapping });
        }
        if let Some(place) = self.shared.iter_mut().find_map(|s| s.cut(bytes)) {
            // SAFETY: the range was free, so nobody else refers to it, and it lies in the slot's
            // mapping.
            unsafe { place.start.write_bytes(0, bytes) };
            return Ok(place);
        }
        let base = map_slots(SLOT_BYTES)?;
        self.shared.push(SharedSlot { base, free: vec![(0, SLOT_BYTES)] });
        let slot = self.shared.last_mut().expect("pushed on the line above");
        Ok(slot.cut(bytes).expect("a part is smaller than a slot"))
    }

    pub(super) fn give_back(&mut self, place: Place) {
        let Origin::Slot(base) = place.origin else {
            debug_assert!(!place.is_of_run());
            // SAFETY: the place was mapped as one range by `take` and its holder is gone.
            unsafe { unmap(place.start.as_ptr(), place.bytes) };
            return;
        };
        let idx =
            self.shared.iter().position(|s| s.base == base).expect("slots outlive their parts");
        let slot = &mut self.shared[idx];
        slot.merge(place.start.addr().get() - base.addr().get(), place.bytes);
        if slot.free == [(0, SLOT_BYTES)] && self.shared.len() > 1 {
            self.shared.swap_remove(idx);
            // SAFETY: all of the slot is free, so no place refers to it.
            unsafe { unmap(base.as_ptr(), SLOT_BYTES) };
        }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for slot in &self.shared {
            // SAFETY: each memory holds the pool, so when the pool goes no part is in use.
            unsafe { unmap(slot.base.as_ptr(), SLOT_BYTES) };
        }
    }
}

impl SharedSlot {
    fn cut(&mut self, bytes: usize) -> Option<Place> {
        let idx = self.free.iter().position(|&(_, free)| free >= bytes)?;
        let (offset, free) = self.free[idx];
        if free == bytes {
            self.free.remove(idx);
        } else {
            self.free[idx] = (offset + bytes, free - bytes);
        }
        // SAFETY: offset + bytes lies inside the slot by the invariant of `free`.
        let start = unsafe { self.base.add(offset) };
        Some(Place { start, bytes, origin: Origin::Slot(self.base) })
    }

    fn merge(&mut self, offset: usize, bytes: usize) {
        let idx = self.free.partition_point(|&(start, _)| start < offset);
        self.free.insert(idx, (offset, bytes));
        if self.free.get(idx + 1).is_some_and(|next| offset + bytes == next.0) {
            self.free[idx].1 += self.free.remove(idx + 1).1;
        }
        if idx > 0 && self.free[idx - 1].0 + self.free[idx - 1].1 == offset {
            self.free[idx - 1].1 += self.free.remove(idx).1;
        }
    }
}

/// Miri has no mappings: its memory comes from the allocator.
#[cfg(miri)]
pub(super) fn map_slots(bytes: usize) -> io::Result<NonNull<u8>> {
    let layout = std::alloc::Layout::from_size_align(bytes, SLOT_BYTES).expect("a small range");
    // SAFETY: the layout is not empty.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
        .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// # Safety
/// As of the other.
#[cfg(miri)]
pub(super) unsafe fn unmap(start: *mut u8, bytes: usize) {
    let layout = std::alloc::Layout::from_size_align(bytes, SLOT_BYTES).expect("a small range");
    // SAFETY: made by `map_slots` with this layout; by contract no longer used.
    unsafe { std::alloc::dealloc(start, layout) };
}

/// Zeroed pages, `bytes` of them, aligned to a slot.
#[cfg(not(miri))]
pub(super) fn map_slots(bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let mapped = bytes + SLOT_BYTES;
    // SAFETY: a fresh anonymous mapping touches no memory that exists.
    let base = unsafe { mmap_anonymous(null_mut(), mapped, protection, flags) }?.cast::<u8>();
    let head = base.addr().next_multiple_of(SLOT_BYTES) - base.addr();
    let start = base.wrapping_add(head);
    // SAFETY: both trimmed ranges are page multiples inside the mapping just made, and unused.
    unsafe {
        if head > 0 {
            unmap(base, head);
        }
        if head < SLOT_BYTES {
            unmap(start.wrapping_add(bytes), SLOT_BYTES - head);
        }
    }
    let huge = bytes / SLOT_BYTES * SLOT_BYTES;
    if huge > 0 {
        // SAFETY: advice on pages of our own. Without huge pages the system refuses and small ones
        // serve.
        let _ = unsafe { madvise(start.cast(), huge, Advice::LinuxHugepage) };
    }
    NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Gives pages back.
///
/// # Safety
/// The range must be mapped by this module and no longer used.
#[cfg(not(miri))]
pub(super) unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: by contract of this function.
    let result = unsafe { munmap(start.cast(), bytes) };
    debug_assert!(result.is_ok(), "a range of whole pages can be unmapped");
}

/// Makes the system put cleared pages behind a range that has none yet; what is there stays.
///
/// # Safety
/// The range must be mapped by this module.
#[cfg(not(miri))]
pub(super) unsafe fn touch(start: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: by contract; the advice changes no content.
    Ok(unsafe { madvise(start.cast(), bytes, Advice::LinuxPopulateWrite) }?)
}

/// # Safety
/// As of the other.
#[cfg(miri)]
pub(super) unsafe fn touch(_start: *mut u8, _bytes: usize) -> io::Result<()> {
    Ok(())
}
