//! Settings of mimalloc, for programs that chose it as their allocator.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// `mi_option_purge_delay` of mimalloc's header: the crate does not export its number.
const PURGE_DELAY: mi_option_t = 15;

/// Bytes that a thread frees within a millisecond when it makes large values one after the other,
/// about 3 GB a second.
const FREED_PER_MS: u64 = (16 << 20) / 5;

/// Anonymous memory of a program at its start, beside its limit.
const PROGRAM_BYTES: u64 = 12 << 20;

/// Lets freed memory go back to the system within the time in which a thread frees a tenth of
/// `limit` bytes, less what the program itself takes, at least 2 ms and at most mimalloc's own
/// second: memory that waits to be used again counts against the process, and the limit does not
/// see it.
/// `MIMALLOC_PURGE_DELAY` in the environment wins.
pub fn return_freed_memory(limit: u64) {
    // SAFETY: sets a number in a static array of mimalloc, which bounds the index itself; any
    // thread may do so at any time.
    unsafe { mi_option_set_default(PURGE_DELAY, delay_ms(limit)) };
}

fn delay_ms(limit: u64) -> c_long {
    let delay = (limit / 10).saturating_sub(PROGRAM_BYTES) / FREED_PER_MS;
    c_long::try_from(delay).unwrap_or(c_long::MAX).clamp(2, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_the_delay() {
        // SAFETY: reads a number in a static array of mimalloc.
        let before = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(before, 1000, "mimalloc's default for the delay");
        return_freed_memory(256 << 20);
        // SAFETY: as above.
        let after = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(after, 4);
    }

    #[test]
    fn the_delay_grows_with_the_limit() {
        let delays = [0, 64 << 20, 256 << 20, 4 << 30, 64 << 30, u64::MAX].map(delay_ms);
        assert_eq!(delays, [2, 2, 4, 124, 1000, 1000]);
    }
}
