//! Memory that was freed and that mimalloc keeps, for programs that chose it as their allocator.
//!
//! Such memory counts against the process, and the limit does not see it. It goes back to the
//! system when the process has more than its limit and a twentieth, or is about to: looked at each
//! time that a 64th of the limit was given out. Programs with a small limit have no huge pages,
//! which are there as a whole when a value needs a part of them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Limits below this are small.
const HUGE_PAGES_FROM: u64 = 1 << 30;

/// Anonymous memory of a program at its start, beside its limit.
const PROGRAM_BYTES: u64 = 12 << 20;

/// True in programs whose allocator is mimalloc.
static IS_CHOSEN: AtomicBool = AtomicBool::new(false);

/// Lets pools give freed memory of mimalloc back to the system before the process passes their
/// limit by much; for programs that chose mimalloc as their allocator, with the limit in bytes of
/// their pool.
pub fn return_freed_memory(limit: u64) {
    IS_CHOSEN.store(true, Ordering::Relaxed);
    if limit < HUGE_PAGES_FROM {
        // A system without huge pages needs no less of them.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}

/// When a pool looks at the process, and when it has the allocator collect.
pub(super) struct Overhead {
    limit: u64,
    /// Bytes given out since the last look.
    given: AtomicU64,
    /// Anonymous memory of the process with which to collect.
    bar: AtomicU64,
}

impl Overhead {
    pub(super) fn new(limit: u64) -> Self {
        let bar = AtomicU64::new(lowest_bar(limit));
        Self { limit, given: AtomicU64::new(0), bar }
    }

    /// Notes `bytes` that a pool gives out.
    #[inline]
    pub(super) fn note(&self, bytes: u64) {
        let given = self.given.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if given >= self.limit / 64 && IS_CHOSEN.load(Ordering::Relaxed) {
            self.look(bytes);
        }
    }

    /// Collects when the process is above the bar, or will be once `bytes` more are written.
    #[cold]
    fn look(&self, bytes: u64) {
        self.given.store(0, Ordering::Relaxed);
        let bar = self.bar.load(Ordering::Relaxed);
        let Some(before) = anonymous_bytes().filter(|before| before.saturating_add(bytes) > bar)
        else {
            return;
        };
        // SAFETY: collects the heap of this thread and the arenas, which mimalloc guards itself.
        unsafe { libmimalloc_sys::mi_collect(true) };
        let after = anonymous_bytes().unwrap_or(before);
        self.bar.store(next_bar(self.limit, after.saturating_add(bytes)), Ordering::Relaxed);
    }
}

fn lowest_bar(limit: u64) -> u64 {
    limit.saturating_add(limit / 20).saturating_add(PROGRAM_BYTES)
}

/// The bar after a collection that leaves `bytes`, with those about to be written: memory in use is
/// not collected again and again.
fn next_bar(limit: u64, bytes: u64) -> u64 {
    lowest_bar(limit).max(bytes.saturating_add(limit / 16))
}

/// Anonymous memory of this process; None where the system does not tell.
fn anonymous_bytes() -> Option<u64> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let file = FILE.get_or_init(|| File::open("/proc/self/statm").ok()).as_ref()?;
    let mut text = [0; 128];
    let length = file.read_at(&mut text, 0).ok()?;
    let mut pages = std::str::from_utf8(&text[..length]).ok()?.split(' ').skip(1);
    let mut next = || pages.next()?.parse::<u64>().ok();
    let (resident, of_files) = (next()?, next()?);
    Some(resident.saturating_sub(of_files) * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_above_the_limit_and_above_what_a_collection_left() {
        let limit = 160 << 20;
        assert_eq!(lowest_bar(limit), 180 << 20);
        assert_eq!(next_bar(limit, 100 << 20), 180 << 20);
        assert_eq!(next_bar(limit, 200 << 20), 210 << 20);
        assert_eq!(lowest_bar(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_memory_of_the_process_is_at_least_what_it_touched() {
        let much = std::hint::black_box(vec![1u8; 256 << 20]);
        let bytes = anonymous_bytes().expect("Linux tells");
        assert!(bytes >= much.len() as u64, "{bytes} bytes");
    }
}
