//! Memory that is touched before it is asked for: hot blocks and tree nodes are cut from a run.
//!
//! ```text
//! run:  | given out, in use or unmapped again | touched, free | not touched, free |
//!       base                                  free.start      touched             free.end
//! ```
//! Why: a writer would wait for the system to clear each page it comes to; a thread beside it
//! clears them meanwhile (decision 028).
//! Invariants: the thread touches nothing that was given back, because [`Runs::give_back`] waits
//! for it; touching changes no content, so it may go over memory in use. At most [`AHEAD_BYTES`]
//! are touched and not counted in the pool.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::slots::{PAGE_BYTES, PART_BYTES_MAX, SLOT_BYTES, map_slots, touch, unmap};

/// Bytes of one run.
const RUN_BYTES: usize = 64 << 20;
/// Larger requests get a mapping of their own.
const REQUEST_BYTES_MAX: usize = RUN_BYTES / 4;
/// How far the thread goes beyond what was given out.
const AHEAD_BYTES: usize = 4 << 20;

/// Gives out memory of a run, and the next run when it is used up. Shared by all threads.
#[derive(Debug, Default)]
pub(super) struct Runs {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Told when there is something to touch, or when the pool goes.
    wake: Condvar,
    /// Told when a range was touched.
    touched: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Addresses not yet given out.
    free: Range<usize>,
    /// Where the thread goes on.
    touched: usize,
    /// Range that the thread touches now.
    current: Range<usize>,
    /// Ranges beyond `touched` that were given back, and so must not be touched.
    returned: Vec<Range<usize>>,
    /// Keeps the origin of the free range's pointer.
    base: Option<Base>,
    thread: Thread,
}

#[derive(Clone, Copy, Debug)]
struct Base(NonNull<u8>);

// SAFETY: the start of a mapping; ranges of it are handed out once each.
unsafe impl Send for Base {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    None,
    Running,
    /// The pool is gone, or the system cannot touch ahead or start a thread.
    Ended,
}

impl Runs {
    /// Zeroed memory of `bytes`, whole pages; None when such requests are not served here.
    pub(super) fn take(&self, bytes: usize) -> io::Result<Option<NonNull<u8>>> {
        if cfg!(miri) || !(PART_BYTES_MAX..=REQUEST_BYTES_MAX).contains(&bytes) {
            return Ok(None);
        }
        debug_assert!(bytes.is_multiple_of(PAGE_BYTES));
        let mut state = self.shared.state.lock();
        if state.thread == Thread::Ended {
            return Ok(None);
        }
        while state.free.len() < bytes {
            if overlap(&state.current, &state.free) {
                // Another taker may come first meanwhile.
                self.shared.touched.wait(&mut state);
                continue;
            }
            state.drop_rest();
            let base = map_slots(RUN_BYTES)?;
            let start = base.addr().get();
            state.base = Some(Base(base));
            state.free = start..start + RUN_BYTES;
            state.touched = start;
        }
        let Some(Base(base)) = state.base else { return Ok(None) };
        let start = base.as_ptr().with_addr(state.free.start);
        state.free.start += bytes;
        self.shared.start_thread(&mut state);
        drop(state);
        self.shared.wake.notify_one();
        Ok(NonNull::new(start))
    }

    /// Unmaps memory that [`Self::take`] gave out.
    ///
    /// # Safety
    /// Nobody may refer to it any more.
    pub(super) unsafe fn give_back(&self, start: NonNull<u8>, bytes: usize) {
        let range = start.addr().get()..start.addr().get() + bytes;
        let mut state = self.shared.state.lock();
        while overlap(&state.current, &range) {
            self.shared.touched.wait(&mut state);
        }
        if range.end > state.touched {
            state.returned.push(range);
        }
        // SAFETY: mapped by `take`, no longer used by contract, nor by the thread: what it touches
        // now lies elsewhere, and later it leaves this range out. The latch is held, so that no
        // new mapping can take these addresses before that is known.
        unsafe { unmap(start.as_ptr(), bytes) };
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.thread = Thread::Ended;
        while !state.current.is_empty() {
            self.shared.touched.wait(&mut state);
        }
        state.drop_rest();
        drop(state);
        self.shared.wake.notify_one();
    }
}

impl Shared {
    fn start_thread(self: &Arc<Self>, state: &mut State) {
        if state.thread == Thread::None {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("memory".into());
            let started = thread.spawn(move || shared.touch_ahead());
            state.thread = if started.is_ok() { Thread::Running } else { Thread::Ended };
        }
    }

    /// The thread: touches slot after slot until the pool goes.
    fn touch_ahead(&self) {
        let mut state = self.state.lock();
        while state.thread != Thread::Ended {
            let Some((base, range)) = state.next() else {
                self.wake.wait(&mut state);
                continue;
            };
            state.current = range.clone();
            let failed = MutexGuard::unlocked(&mut state, || {
                // SAFETY: a range of the run that is mapped: who would unmap it waits
                // while it is `current`.
                unsafe { touch(base.as_ptr().with_addr(range.start), range.len()) }.is_err()
            });
            state.current = 0..0;
            if failed {
                state.thread = Thread::Ended;
            }
            self.touched.notify_all();
        }
    }
}

impl State {
    /// Unmaps what was not given out, of which the thread touches nothing now, and leaves the run.
    fn drop_rest(&mut self) {
        let rest = self.free.clone();
        debug_assert!(!overlap(&self.current, &rest));
        if let Some(Base(base)) = self.base.take()
            && !rest.is_empty()
        {
            // SAFETY: mapped with the run, never given out, and the thread is elsewhere.
            unsafe { unmap(base.as_ptr().with_addr(rest.start), rest.len()) };
        }
        self.free = 0..0;
        self.touched = 0;
        self.returned.clear();
    }

    /// The next range to touch; the place to go on moves past it.
    fn next(&mut self) -> Option<(NonNull<u8>, Range<usize>)> {
        let Base(base) = self.base?;
        let limit = self.free.end.min(self.free.start + AHEAD_BYTES);
        while self.touched < limit {
            let end = (self.touched + 1).next_multiple_of(SLOT_BYTES).min(self.free.end);
            let range = self.touched..end;
            self.touched = end;
            let is_mapped = !self.returned.iter().any(|r| overlap(r, &range));
            self.returned.retain(|r| r.end > end);
            if is_mapped {
                return Some((base, range));
            }
        }
        None
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    /// Four threads take, fill, look and give back, while the thread goes over the same memory.
    #[test]
    fn memory_is_zeroed_and_keeps_what_is_written_while_it_is_touched() {
        let runs = Runs::default();
        std::thread::scope(|scope| {
            for seed in 0..4u8 {
                let runs = &runs;
                scope.spawn(move || work(runs, seed));
            }
        });
    }

    fn work(runs: &Runs, seed: u8) {
        let mut random = testkit::Random::new(seed.into());
        let mut held: Vec<(NonNull<u8>, usize)> = Vec::new();
        for _ in 0..150 {
            let pages = random.below(1_500) as usize + PART_BYTES_MAX / PAGE_BYTES;
            let bytes = pages * PAGE_BYTES;
            let start = runs.take(bytes).expect("memory").expect("such requests are served");
            // SAFETY: given out just now, to this thread alone.
            let memory = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes) };
            assert!(memory.iter().step_by(512).all(|&b| b == 0));
            memory.iter_mut().step_by(512).for_each(|b| *b = seed + 1);
            held.push((start, bytes));
            if held.len() > random.below(6) as usize {
                let at = random.below(held.len() as u64) as usize;
                let (start, bytes) = held.swap_remove(at);
                // SAFETY: in use until the line below.
                let memory = unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) };
                assert!(memory.iter().step_by(512).all(|&b| b == seed + 1));
                // SAFETY: nobody refers to it any more.
                unsafe { runs.give_back(start, bytes) };
            }
        }
        for (start, bytes) in held {
            // SAFETY: as above.
            unsafe { runs.give_back(start, bytes) };
        }
    }

    #[test]
    fn what_was_given_back_is_not_touched() {
        let at = |slots: usize| slots * SLOT_BYTES;
        let mut state = State {
            free: at(11)..at(32),
            touched: at(8),
            returned: std::iter::once(at(9) + PAGE_BYTES..at(10)).collect(),
            base: Some(Base(NonNull::without_provenance(
                std::num::NonZero::new(at(8)).expect("not zero"),
            ))),
            ..State::default()
        };
        let mut touched = Vec::new();
        while let Some((_, range)) = state.next() {
            touched.push(range.start / SLOT_BYTES);
        }
        assert_eq!(touched, [8, 10, 11, 12]);
        assert!(state.returned.is_empty());
        state.free.start = at(31);
        assert_eq!(std::iter::from_fn(|| state.next()).count(), 32 - 13);
    }
}
