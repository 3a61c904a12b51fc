//! How a reader takes hold of the current version, and a writer knows that all have.
//!
//! ```text
//! reader: slot = v; fence; is current still v? -> count += 1; slot = nothing     (else again)
//! writer: current = new; fence; while a slot is v: wait; count -= 1              0: free
//! ```
//! A version is counted by who uses it, but between the load of its address and the count a reader
//! could be overtaken by whoever frees it. So the reader shows the address in a slot first and
//! looks again. By the fences, either the reader sees that the version is not current any more, or
//! the writer sees the slot. A writer waits for readers between these two steps, which are a few
//! instructions apart, and never for those that use a version.
//! Invariant: once [`wait_for_slots`] has returned, nobody begins to use the version, so a count
//! that falls to zero stays there and one thread sees it fall.
//! Source: Chasseur 2015, section 4.4, where the count alone protects, which leaves the hole;
//! Michael 2004 (hazard pointers).

use std::ptr::{self, NonNull};

use super::super::sync::{AtomicPtr, Ordering, fence, pause};

/// Takes hold of the current version: `enter` counts this reader in. `slot` is this thread's.
///
/// # Safety
/// `current` points to a version, and writers take versions out of it as the module says. `slot`
/// is among those that they wait for, and no other thread writes to it.
#[inline]
pub(super) unsafe fn acquire<V>(
    current: &AtomicPtr<V>,
    slot: &AtomicPtr<()>,
    enter: impl FnOnce(&V),
) -> NonNull<V> {
    let mut version = current.load(Ordering::Acquire);
    loop {
        // Released: who sees it sees the counts that this thread took before.
        slot.store(version.cast(), Ordering::Release);
        fence(Ordering::SeqCst);
        let again = current.load(Ordering::Acquire);
        if again == version {
            break;
        }
        version = again;
    }
    // SAFETY: it was current after the slot showed it, so whoever takes it out waits for the slot
    // before it may be freed.
    let version = unsafe { NonNull::new_unchecked(version) };
    // SAFETY: as above.
    enter(unsafe { version.as_ref() });
    slot.store(ptr::null_mut(), Ordering::Release);
    version
}

/// Waits until each reader that saw `version` as current has counted itself in. It was taken out
/// of its place before.
pub(super) fn wait_for_slots<'a, V>(
    version: *mut V,
    slots: impl Iterator<Item = &'a AtomicPtr<()>>,
) {
    fence(Ordering::SeqCst);
    for slot in slots {
        let mut attempt = 0;
        while slot.load(Ordering::Acquire) == version.cast() {
            pause(attempt);
            attempt = attempt.saturating_add(1);
        }
    }
}
