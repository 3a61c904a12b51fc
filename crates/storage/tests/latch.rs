//! The version latch under a model checker: all orders of two threads' steps, and all values that
//! weak memory lets them see.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

    pub(crate) fn pause(_: u32) {
        loom::thread::yield_now();
    }
}

#[allow(dead_code)]
#[path = "../src/index/latch.rs"]
mod latch;

use loom::sync::Arc;
use loom::thread;
use sync::{AtomicU64, Ordering};

/// A latch and two words that are equal whenever it is not held.
struct Node {
    latch: AtomicU64,
    words: [AtomicU64; 2],
}

impl Node {
    fn new() -> Arc<Self> {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        Arc::new(Self { latch: AtomicU64::new(0), words })
    }

    fn set(&self, value: u64) {
        self.words.iter().for_each(|word| word.store(value, Ordering::Relaxed));
    }

    fn get(&self) -> [u64; 2] {
        [0, 1].map(|i| self.words[i].load(Ordering::Relaxed))
    }
}

#[test]
fn what_an_unchanged_version_covers_belongs_together() {
    loom::model(|| {
        let node = Node::new();
        let writer = {
            let node = Arc::clone(&node);
            thread::spawn(move || {
                for value in 1..3 {
                    latch::latch(&node.latch);
                    node.set(value);
                    latch::unlatch(&node.latch);
                }
            })
        };
        let version = latch::read(&node.latch);
        let [a, b] = node.get();
        if latch::is_unchanged(&node.latch, version) {
            assert_eq!(a, b);
            assert_eq!(a, version / 2);
        }
        writer.join().expect("the writer ends");
    });
}

#[test]
fn writers_exclude_each_other() {
    loom::model(|| {
        let node = Node::new();
        let writer = |is_patient: bool| {
            let node = Arc::clone(&node);
            move || {
                if is_patient {
                    latch::latch(&node.latch);
                } else if !latch::try_latch(&node.latch, latch::read(&node.latch)) {
                    return 0;
                }
                let [a, b] = node.get();
                assert_eq!(a, b);
                node.set(a + 1);
                latch::unlatch(&node.latch);
                1
            }
        };
        let other = thread::spawn(writer(false));
        let own = writer(true)();
        let written = own + other.join().expect("the writer ends");
        assert_eq!(node.get(), [written; 2]);
        assert_eq!(latch::read(&node.latch), 2 * written);
    });
}

/// A node is unlinked from its parent and used again elsewhere; who reached it through the parent
/// does not take its new words for the old.
#[test]
fn a_node_used_again_is_noticed() {
    loom::model(|| {
        let (parent, child) = (Node::new(), Node::new());
        let writer = {
            let (parent, child) = (Arc::clone(&parent), Arc::clone(&child));
            thread::spawn(move || {
                latch::latch(&parent.latch);
                latch::latch(&child.latch);
                parent.set(1);
                latch::unlatch(&child.latch);
                latch::unlatch(&parent.latch);
                latch::latch(&child.latch);
                child.set(7);
                latch::unlatch(&child.latch);
            })
        };
        let version = latch::read(&parent.latch);
        let is_linked = parent.get()[0] == 0;
        if latch::is_unchanged(&parent.latch, version) && is_linked {
            let child_version = latch::read(&child.latch);
            if latch::is_unchanged(&parent.latch, version) {
                let words = child.get();
                if latch::is_unchanged(&child.latch, child_version) {
                    assert_eq!(words, [0; 2]);
                }
            }
        }
        writer.join().expect("the writer ends");
    });
}
