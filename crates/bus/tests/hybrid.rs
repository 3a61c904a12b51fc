//! HybridCC's protocol under a model checker: readers, and a writer that takes versions out from
//! under them, in all orders and with all values that weak memory lets them see.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

    pub(crate) fn pause(_: u32) {
        loom::thread::yield_now();
    }
}

#[path = "."]
mod concurrency {
    #[allow(dead_code, unreachable_pub)]
    #[path = "../src/native/concurrency/counts.rs"]
    mod counts;
    #[path = "../src/native/concurrency/hazard.rs"]
    mod hazard;

    pub(super) use counts::{Counts, One, PerNode};

    use super::sync::{AtomicPtr, Ordering};
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use std::ptr::null_mut;

    const FREED: u64 = u64::MAX;

    /// A version whose memory stays, so that a use after its end is seen and not only undefined.
    struct Version<K> {
        counts: K,
        value: UnsafeCell<u64>,
    }

    /// A cell with a slot for each of two readers, and all versions that it will have.
    pub(super) struct Cell<K> {
        current: AtomicPtr<Version<K>>,
        slots: [AtomicPtr<()>; 2],
        versions: Vec<*mut Version<K>>,
    }

    // SAFETY: what the pointers lead to is shared by reference, and its value under loom's eyes.
    unsafe impl<K: Send + Sync> Send for Cell<K> {}
    // SAFETY: as above.
    unsafe impl<K: Send + Sync> Sync for Cell<K> {}

    impl<K: Counts> Cell<K> {
        pub(super) fn new(versions: u64) -> Arc<Self> {
            let version = |value| Version { counts: K::new(2), value: UnsafeCell::new(value) };
            let versions: Vec<_> =
                (0..versions).map(|value| Box::into_raw(Box::new(version(value)))).collect();
            let slots = [AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut())];
            Arc::new(Self { current: AtomicPtr::new(versions[0]), slots, versions })
        }

        /// Reads as a reader that has slot `reader` and runs on that node; returns the value.
        pub(super) fn read(&self, reader: usize) -> u64 {
            let enter = |version: &Version<K>| version.counts.enter(reader);
            // SAFETY: `write` takes versions out as it must, and waits for both slots.
            let version = unsafe { hazard::acquire(&self.current, &self.slots[reader], enter) };
            // SAFETY: versions are freed with the cell; whether this one ended is what is tested.
            let value = unsafe { version.as_ref() }.value.with(|value| unsafe { *value });
            assert_ne!(value, FREED, "a version was read after its end");
            // SAFETY: entered above.
            if unsafe { K::leave(&raw const (*version.as_ptr()).counts, reader) } {
                self.free(version.as_ptr());
            }
            value
        }

        /// Puts version `value` in place of the current one.
        pub(super) fn write(&self, value: usize) {
            let old = self.current.swap(self.versions[value], Ordering::AcqRel);
            hazard::wait_for_slots(old, self.slots.iter());
            // SAFETY: it was current, and is retired once.
            if unsafe { K::retire(&raw const (*old).counts) } {
                self.free(old);
            }
        }

        fn free(&self, version: *mut Version<K>) {
            // SAFETY: versions are freed with the cell.
            unsafe { &*version }.value.with_mut(|value| {
                // SAFETY: nobody uses it; loom says if somebody does.
                let was = unsafe { value.replace(FREED) };
                assert_ne!(was, FREED, "a version ended twice");
            });
        }

        /// The values that did not end.
        pub(super) fn left(&self) -> Vec<u64> {
            // SAFETY: versions are freed with the cell; no thread is left that uses one.
            let value = |v: &*mut Version<K>| unsafe { &**v }.value.with(|value| unsafe { *value });
            self.versions.iter().map(value).filter(|value| *value != FREED).collect()
        }
    }

    impl<K> Drop for Cell<K> {
        fn drop(&mut self) {
            for version in &self.versions {
                // SAFETY: made by `new`, and nowhere else freed.
                drop(unsafe { Box::from_raw(*version) });
            }
        }
    }
}

use concurrency::{Cell, Counts, One, PerNode};
use loom::sync::Arc;
use loom::thread;

/// Runs all orders in which a thread is stopped at most three times where it need not be.
fn check(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

/// One reader reads twice while a writer puts two versions in place.
fn one_reader_two_changes<K: Counts + 'static>() {
    check(|| {
        let cell = Cell::<K>::new(3);
        let reader = {
            let cell = Arc::clone(&cell);
            thread::spawn(move || [cell.read(0), cell.read(0)])
        };
        cell.write(1);
        cell.write(2);
        let values = reader.join().expect("the reader ends");
        assert!(values.is_sorted(), "a reader went back: {values:?}");
        assert_eq!(cell.left(), [2], "a version never ended");
    });
}

/// Two readers, of two nodes, read while a writer puts a version in place.
fn two_readers_one_change<K: Counts + 'static>() {
    check(|| {
        let cell = Cell::<K>::new(2);
        let readers = [0, 1].map(|reader| {
            let cell = Arc::clone(&cell);
            thread::spawn(move || cell.read(reader))
        });
        cell.write(1);
        readers.into_iter().for_each(|reader| _ = reader.join().expect("the reader ends"));
        assert_eq!(cell.left(), [1], "a version never ended");
    });
}

#[test]
fn one_count_survives_one_reader_and_two_changes() {
    one_reader_two_changes::<One>();
}

#[test]
fn one_count_survives_two_readers_and_one_change() {
    two_readers_one_change::<One>();
}

#[test]
fn counts_by_node_survive_one_reader_and_two_changes() {
    one_reader_two_changes::<PerNode>();
}

#[test]
fn counts_by_node_survive_two_readers_and_one_change() {
    two_readers_one_change::<PerNode>();
}
