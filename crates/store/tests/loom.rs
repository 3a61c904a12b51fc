//! Models of what has no locks: each order of its steps is tried.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    /// More of them are more of the same.
    pub(crate) const SHARDS: usize = 2;

    pub(crate) fn pause(_attempt: u32) {
        loom::thread::yield_now();
    }
}
#[path = "../src/gate.rs"]
#[allow(dead_code)]
mod gate;
#[path = "../src/key_map.rs"]
#[allow(dead_code)]
mod key_map;

use std::convert::Infallible;

use gate::Gate;
use key_map::KeyMap;
use loom::sync::Arc;
use loom::thread;
use sync::{AtomicU64, Ordering};

/// Up to two forced switches: three take many minutes for the gate.
fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}

/// A write that begins in the old state is in what a drain leaves; one that ends after it began
/// after the new state was published.
#[test]
fn a_drain_waits_for_the_writes_before_it() {
    model(|| {
        let gate = Arc::new(Gate::default());
        // The state that writes read; what was written in state 0.
        let (state, written) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let writers: Vec<_> = (0..2)
            .map(|number| {
                let (gate, state, written) = (gate.clone(), state.clone(), written.clone());
                thread::spawn(move || {
                    let _passage = gate.enter(number);
                    if state.load(Ordering::Acquire) == 0 {
                        written.fetch_add(1, Ordering::AcqRel);
                    }
                })
            })
            .collect();
        state.store(1, Ordering::Release);
        gate.drain();
        let merged = written.load(Ordering::Acquire);
        writers.into_iter().for_each(|writer| writer.join().expect("writes"));
        assert_eq!(written.load(Ordering::Acquire), merged, "a write came after the drain");
    });
}

fn room(_: usize) -> Result<(), Infallible> {
    Ok(())
}

/// Threads that add keys of one window: each key has one word, and all increments are in it.
#[test]
fn a_key_has_one_word() {
    model(|| {
        let map = Arc::new(KeyMap::new(1, 0, room).expect("there is room"));
        let writers: Vec<_> = [[1, 2], [2, 1]]
            .into_iter()
            .map(|keys| {
                let map = map.clone();
                thread::spawn(move || {
                    for key in keys {
                        let word = map.claim(key, room).expect("there is room");
                        word.fetch_add(key, Ordering::AcqRel);
                    }
                })
            })
            .collect();
        if let Some(word) = map.find(1) {
            assert!(word.load(Ordering::Acquire) <= 2);
        }
        writers.into_iter().for_each(|writer| writer.join().expect("adds"));
        let mut seen = Vec::new();
        map.each(|key, word| seen.push((key, word.load(Ordering::Acquire))));
        seen.sort_unstable();
        assert_eq!(seen, [(1, 2), (2, 4)]);
    });
}

/// Words that are taken over: what a writer of the old state wrote before it was marked is in the
/// new word, and nothing is written to the old one afterwards. The protocol of `delta_main::state`.
#[test]
fn a_word_is_taken_over_whole() {
    const MOVED: u64 = 1 << 62;
    const INHERIT: u64 = 1 << 63;
    model(|| {
        let (old, new) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(INHERIT)));
        let inherit = |old: &AtomicU64, new: &AtomicU64| {
            let value = old.fetch_or(MOVED, Ordering::AcqRel) & !MOVED;
            let taken = new.compare_exchange(INHERIT, value, Ordering::AcqRel, Ordering::Acquire);
            taken.err().unwrap_or(value)
        };
        let writer = {
            let (old, new) = (old.clone(), new.clone());
            thread::spawn(move || {
                // Increments the word of the state that it finds.
                let seen = old.load(Ordering::Acquire);
                let swap = (Ordering::AcqRel, Ordering::Acquire);
                if seen & MOVED == 0 && old.compare_exchange(seen, seen + 1, swap.0, swap.1).is_ok()
                {
                    return;
                }
                loop {
                    let mut seen = new.load(Ordering::Acquire);
                    if seen == INHERIT {
                        seen = inherit(&old, &new);
                    }
                    if new.compare_exchange(seen, seen + 1, swap.0, swap.1).is_ok() {
                        return;
                    }
                }
            })
        };
        inherit(&old, &new);
        writer.join().expect("writes");
        assert_eq!(new.load(Ordering::Acquire), 1, "the increment is in the new word");
    });
}
