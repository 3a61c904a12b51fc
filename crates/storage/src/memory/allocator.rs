//! Settings of mimalloc, for programs that chose it as their allocator.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// `mi_option_purge_delay` of mimalloc's header: the crate does not export its number.
const PURGE_DELAY: mi_option_t = 15;

/// Milliseconds for which freed memory waits to be used again.
const DELAY_MS: c_long = 10;

/// Lets freed memory go back to the system after a hundredth of a second, where mimalloc waits for
/// a whole one: what a growing value leaves behind within that time counts against the process,
/// which its limit does not see. `MIMALLOC_PURGE_DELAY` in the environment wins.
pub fn return_freed_memory() {
    // SAFETY: sets a number in a static array of mimalloc, which bounds the index itself; any
    // thread may do so at any time.
    unsafe { mi_option_set_default(PURGE_DELAY, DELAY_MS) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_the_delay() {
        // SAFETY: reads a number in a static array of mimalloc.
        let before = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(before, 1000, "mimalloc's default for the delay");
        return_freed_memory();
        // SAFETY: as above.
        let after = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(after, DELAY_MS);
    }
}
