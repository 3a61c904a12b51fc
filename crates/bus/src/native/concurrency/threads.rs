//! A slot for each thread that reads versions, in a list that only grows; slots of threads that
//! ended are given to new ones.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// The part of a thread that others see.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Thread {
    /// The version that it is taking hold of.
    pub(super) slot: AtomicPtr<()>,
    is_taken: AtomicBool,
    /// From 0, without gaps.
    number: usize,
    next: Option<&'static Thread>,
}

static FIRST: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// All threads that ever were, as far as there are slots.
pub(super) fn all() -> impl Iterator<Item = &'static Thread> {
    // SAFETY: null, or leaked by `claim` and never changed but for its atomics.
    let first = unsafe { FIRST.load(Ordering::Acquire).as_ref() };
    std::iter::successors(first, |thread| thread.next)
}

fn claim() -> &'static Thread {
    let is_free = |thread: &&Thread| {
        !thread.is_taken.load(Ordering::Relaxed) && !thread.is_taken.swap(true, Ordering::Acquire)
    };
    if let Some(thread) = all().find(is_free) {
        return thread;
    }
    let thread = Box::leak(Box::new(Thread {
        slot: AtomicPtr::new(ptr::null_mut()),
        is_taken: AtomicBool::new(true),
        number: COUNT.fetch_add(1, Ordering::Relaxed),
        next: None,
    }));
    let place: *mut Thread = thread;
    let mut first = FIRST.load(Ordering::Acquire);
    loop {
        // SAFETY: nobody else knows `place` before it is in the list; `first` is null or leaked.
        unsafe { (*place).next = first.as_ref() };
        match FIRST.compare_exchange(first, place, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: leaked, and from here on never changed but for its atomics.
            Ok(_) => return unsafe { &*place },
            Err(found) => first = found,
        }
    }
}

/// A thread's hold on its slot.
struct Claim {
    thread: &'static Thread,
    node: Cell<Option<usize>>,
}

impl Claim {
    fn new() -> Self {
        Self { thread: claim(), node: Cell::new(None) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.thread.is_taken.store(false, Ordering::Release);
    }
}

thread_local! {
    static MINE: Claim = Claim::new();
}

/// Runs `with` on this thread's slot and its node, of `nodes`.
#[inline]
pub(super) fn with_mine<R>(nodes: usize, with: impl FnOnce(&AtomicPtr<()>, usize) -> R) -> R {
    let of = |mine: &Claim| mine.node.get().unwrap_or(mine.thread.number) % nodes;
    let mut with = Some(with);
    let mut run = |mine: &Claim| with.take().map(|with| with(&mine.thread.slot, of(mine)));
    let done = MINE.try_with(&mut run).ok().flatten();
    // While the thread ends, its own slot may be gone.
    let done = done.or_else(|| run(&Claim::new()));
    done.expect("one of the two runs")
}

/// Tells on which node the calling thread is pinned, for buses with counts for each node. Threads
/// that do not say are spread over all nodes.
pub fn set_thread_node(node: usize) {
    MINE.with(|mine| mine.node.set(Some(node)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_threads_that_ended_are_used_again() {
        for _ in 0..200 {
            std::thread::spawn(|| with_mine(1, |_, _| ())).join().expect("ends");
        }
        assert!(all().count() < 100, "each thread made a slot of its own");
    }

    #[test]
    fn a_thread_has_the_node_that_it_says() {
        let node = |says| {
            let run = move || {
                set_thread_node(says);
                with_mine(4, |_, node| node)
            };
            std::thread::spawn(run).join().expect("ends")
        };
        assert_eq!([node(0), node(3), node(6)], [0, 3, 2]);
    }
}
