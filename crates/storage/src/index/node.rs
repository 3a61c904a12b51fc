//! Nodes of the tree: words, all of them atomic, behind a version latch.
//!
//! ```text
//! word 0  version latch            word 1  level << 16 | hints << 12 | count
//! leaf    key words 0 of all entries | key words 1 | .. | TIDs
//! inner   the same of separators                   | .. | TIDs | children, one more
//! ```
//! Children below separator `i` (and not below `i - 1`) are in child `i`. Level 0 are the leaves.
//!
//! Invariants: words of a node that is not latched are consistent; a child of an inner node is the
//! address of a node of the same tree, and stays one of its nodes while the tree lives.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use super::form::{Attempt, Changed, KeyForm, Probe};
use super::latch;
use crate::memory::prefetch;

/// Words in a node: a kilobyte. Few in unit tests, so that small trees are deep; the tests in
/// `tests/index.rs` are the same with real nodes.
pub(super) const NODE_WORDS: usize = if cfg!(test) { 32 } else { 128 };

/// The memory of a node.
pub(super) type Words = [AtomicU64; NODE_WORDS];

const META: usize = 1;
const ENTRIES: usize = 2;
const LEVEL_SHIFT: u32 = 16;
const COUNT_MASK: u64 = 0xfff;

/// The last insert went to the end.
const ASCENDING: u64 = 1 << 12;
/// The last insert went to the start.
const DESCENDING: u64 = 2 << 12;

/// The node at an address.
///
/// # Safety
/// `address` must be one of a node of a tree that lives for `'t`.
#[inline]
pub(super) unsafe fn at_address<'t>(address: u64) -> &'t Words {
    // SAFETY: by contract; words are atomic, so that sharing them is all that is needed.
    unsafe { &*std::ptr::with_exposed_provenance(address as usize) }
}

/// Asks the processor for the whole node, as a search jumps about in it. Look-ups in a million
/// keys of 8 bytes took 280 ns with, 380 with half of the node, 470 without.
#[inline]
fn fetch(words: &Words) {
    prefetch(words.as_ptr().cast(), size_of_val(words));
}

/// Where things are in a node of `F` keys.
pub(super) struct Shape<F>(PhantomData<F>);

impl<F: KeyForm> Shape<F> {
    /// Most entries of a leaf.
    pub(super) const LEAF: usize = (NODE_WORDS - ENTRIES) / (F::WORDS + 1);
    /// Most separators of an inner node.
    pub(super) const INNER: usize = (NODE_WORDS - ENTRIES - 1) / (F::WORDS + 2);

    #[inline]
    pub(super) fn capacity(level: usize) -> usize {
        if level == 0 { Self::LEAF } else { Self::INNER }
    }

    #[inline]
    fn key(capacity: usize, i: usize, j: usize) -> usize {
        ENTRIES + j * capacity + i
    }

    #[inline]
    fn tid(capacity: usize, i: usize) -> usize {
        Self::key(capacity, i, F::WORDS)
    }

    #[inline]
    fn child(i: usize) -> usize {
        Self::key(Self::INNER, i, F::WORDS + 1)
    }
}

/// A node whose words may be read.
pub(super) trait Access {
    fn words(&self) -> &Words;

    /// True when the words read so far belong together.
    fn is_valid(&self) -> bool;

    #[inline]
    fn word(&self, i: usize) -> u64 {
        self.words()[i].load(Ordering::Relaxed)
    }

    #[inline]
    fn address(&self) -> u64 {
        self.words().as_ptr().expose_provenance() as u64
    }

    #[inline]
    fn level(&self) -> usize {
        (self.word(META) >> LEVEL_SHIFT) as usize
    }

    /// Entries or separators. Never more than fit, even if the words do not belong together.
    #[inline]
    fn count<F: KeyForm>(&self) -> usize {
        let meta = self.word(META);
        let capacity = Shape::<F>::capacity((meta >> LEVEL_SHIFT) as usize);
        ((meta & COUNT_MASK) as usize).min(capacity)
    }

    #[inline]
    fn is_full<F: KeyForm>(&self) -> bool {
        self.count::<F>() == Shape::<F>::capacity(self.level())
    }

    #[inline]
    fn tid<F: KeyForm>(&self, i: usize) -> u64 {
        self.word(Shape::<F>::tid(Shape::<F>::capacity(self.level()), i))
    }

    /// The key of entry or separator `i`, alive under a guard that was pinned before.
    #[inline]
    fn key<F: KeyForm>(&self, i: usize) -> Attempt<F::Key> {
        let capacity = Shape::<F>::capacity(self.level());
        let key = F::load(|j| self.word(Shape::<F>::key(capacity, i, j)));
        if F::TAILS && !self.is_valid() { Err(Changed) } else { Ok(key) }
    }

    /// The order of the key of entry or separator `i` against `probe`.
    #[inline]
    fn order<F: KeyForm>(
        &self,
        i: usize,
        probe: &Probe<'_>,
        guard: &F::Guard,
    ) -> Attempt<std::cmp::Ordering>
    where
        Self: Sized,
    {
        let capacity = Shape::<F>::capacity(self.level());
        F::order(self, |j| Shape::<F>::key(capacity, i, j), probe, guard)
    }

    /// How many entries or separators are below (`probe`, `tid`).
    #[inline]
    fn lower_bound<F: KeyForm>(
        &self,
        probe: &Probe<'_>,
        tid: u64,
        guard: &F::Guard,
    ) -> Attempt<usize>
    where
        Self: Sized,
    {
        let (capacity, count) = (Shape::<F>::capacity(self.level()), self.count::<F>());
        // The first words decide nearly always. With branches: what processors load by guess is a
        // tenth faster than a search that never guesses wrong.
        let (mut low, mut rest) = (0, count);
        while rest > 0 {
            let half = rest / 2;
            let i = ENTRIES + low + half;
            if F::is_start_below(self, |j| i + j * capacity, probe) {
                low += half + 1;
                rest -= half + 1;
            } else {
                rest = half;
            }
        }
        let is_below = |i: usize| -> Attempt<bool> {
            Ok(match self.order::<F>(i, probe, guard)? {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => self.word(Shape::<F>::tid(capacity, i)) < tid,
                std::cmp::Ordering::Greater => false,
            })
        };
        if low == count || !is_below(low)? {
            return Ok(low);
        }
        // Among equal first words the rest of the key decides, then the TID.
        (low, rest) = (low + 1, count - low - 1);
        while rest > 0 {
            let half = rest / 2;
            if is_below(low + half)? {
                low += half + 1;
                rest -= half + 1;
            } else {
                rest = half;
            }
        }
        Ok(low)
    }

    /// True when entry `i` is (`probe`, `tid`).
    #[inline]
    fn is_entry<F: KeyForm>(
        &self,
        i: usize,
        probe: &Probe<'_>,
        tid: u64,
        guard: &F::Guard,
    ) -> Attempt<bool>
    where
        Self: Sized,
    {
        Ok(i < self.count::<F>()
            && self.tid::<F>(i) == tid
            && self.order::<F>(i, probe, guard)?.is_eq())
    }
}

/// A node being read while others may write it.
#[derive(Clone, Copy)]
pub(super) struct Optimistic<'t> {
    words: &'t Words,
    version: u64,
}

impl Access for Optimistic<'_> {
    #[inline]
    fn words(&self) -> &Words {
        self.words
    }

    #[inline]
    fn is_valid(&self) -> bool {
        latch::is_unchanged(&self.words[0], self.version)
    }
}

impl<'t> Optimistic<'t> {
    /// Starts to read, once nobody writes.
    #[inline]
    pub(super) fn enter(words: &'t Words) -> Self {
        Self { words, version: latch::read(&words[0]) }
    }

    /// All that was read belongs together.
    #[inline]
    pub(super) fn validate(&self) -> Attempt<()> {
        if self.is_valid() { Ok(()) } else { Err(Changed) }
    }

    /// Asks the processor for child `i`, if there is one.
    #[inline]
    pub(super) fn fetch_child<F: KeyForm>(&self, i: usize) {
        if self.level() > 0 && i <= self.count::<F>() {
            // No address of a node if this one changed, which does no harm.
            let address = self.word(Shape::<F>::child(i));
            prefetch(std::ptr::without_provenance(address as usize), size_of::<Words>());
        }
    }

    /// Starts to read child `i`, which is this node's when its version is read; what was read of
    /// this node belongs together.
    #[inline]
    pub(super) fn child<F: KeyForm>(&self, i: usize) -> Attempt<Self> {
        let address = self.word(Shape::<F>::child(i));
        let is_child = self.level() > 0 && i <= self.count::<F>();
        self.validate()?;
        assert!(is_child, "only inner nodes have children");
        // SAFETY: the node is an inner node and has not changed, so that this word is the address
        // of a node of the tree, which lives for `'t`.
        let words = unsafe { at_address(address) };
        fetch(words);
        let child = Self::enter(words);
        self.validate()?;
        Ok(child)
    }

    /// Starts to write, if nobody has since the version was read.
    #[inline]
    pub(super) fn try_latch(self) -> Attempt<Latched<'t>> {
        let taken = latch::try_latch(&self.words[0], self.version);
        if taken { Ok(Latched { words: self.words }) } else { Err(Changed) }
    }
}

/// A node that this thread alone writes, until it is dropped.
pub(super) struct Latched<'t> {
    words: &'t Words,
}

impl Drop for Latched<'_> {
    #[inline]
    fn drop(&mut self) {
        latch::unlatch(&self.words[0]);
    }
}

impl Access for Latched<'_> {
    #[inline]
    fn words(&self) -> &Words {
        self.words
    }

    #[inline]
    fn is_valid(&self) -> bool {
        true
    }
}

impl<'t> Latched<'t> {
    /// Starts to write, waiting for the latch.
    pub(super) fn latch(words: &'t Words) -> Self {
        latch::latch(&words[0]);
        Self { words }
    }

    #[inline]
    fn set_word(&self, i: usize, word: u64) {
        self.words[i].store(word, Ordering::Relaxed);
    }

    /// Empties the node, which is from now on one of `level`.
    pub(super) fn reset(&self, level: usize) {
        self.set_word(META, (level as u64) << LEVEL_SHIFT);
    }

    /// Forgets entries or separators from `count` on; their keys are the caller's.
    pub(super) fn truncate(&self, count: usize) {
        self.set_count(count, 0);
    }

    fn set_count(&self, count: usize, hint: u64) {
        self.set_word(META, (self.level() as u64) << LEVEL_SHIFT | hint | count as u64);
    }

    /// True when the last two inserts, this one at `i` included, went to the end.
    pub(super) fn is_ascending<F: KeyForm>(&self, i: usize) -> bool {
        self.word(META) & ASCENDING != 0 && i == self.count::<F>()
    }

    /// True when the last two inserts, this one at `i` included, went to the start.
    pub(super) fn is_descending(&self, i: usize) -> bool {
        self.word(META) & DESCENDING != 0 && i == 0
    }

    /// Makes room for entry or separator `i` and writes it.
    #[inline]
    pub(super) fn insert<F: KeyForm>(&self, i: usize, key: &F::Key, tid: u64) {
        let (capacity, count) = (Shape::<F>::capacity(self.level()), self.count::<F>());
        debug_assert!(count < capacity && i <= count);
        for j in 0..=F::WORDS {
            let word = if j < F::WORDS { F::word(key, j) } else { tid };
            self.insert_word(Shape::<F>::key(capacity, 0, j), count, i, word);
        }
        let hint = if i == count {
            ASCENDING
        } else if i == 0 {
            DESCENDING
        } else {
            0
        };
        self.set_count(count + 1, hint);
    }

    #[inline]
    fn insert_word(&self, start: usize, count: usize, i: usize, word: u64) {
        let words = &self.words[start..=start + count];
        for k in (i..count).rev() {
            words[k + 1].store(words[k].load(Ordering::Relaxed), Ordering::Relaxed);
        }
        words[i].store(word, Ordering::Relaxed);
    }

    #[inline]
    fn remove_word(&self, start: usize, count: usize, i: usize) {
        let words = &self.words[start..start + count];
        for k in i + 1..count {
            words[k - 1].store(words[k].load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Removes entry or separator `i`; its key is the caller's.
    pub(super) fn remove<F: KeyForm>(&self, i: usize) {
        let (capacity, count) = (Shape::<F>::capacity(self.level()), self.count::<F>());
        debug_assert!(i < count);
        for j in 0..=F::WORDS {
            self.remove_word(Shape::<F>::key(capacity, 0, j), count, i);
        }
        self.set_count(count - 1, 0);
    }

    /// Writes all entries of a new leaf.
    pub(super) fn fill<F: KeyForm>(&self, entries: &[(F::Key, u64)]) {
        for (i, (key, tid)) in entries.iter().enumerate() {
            for j in 0..F::WORDS {
                self.set_word(Shape::<F>::key(Shape::<F>::LEAF, i, j), F::word(key, j));
            }
            self.set_word(Shape::<F>::tid(Shape::<F>::LEAF, i), *tid);
        }
        self.set_count(entries.len(), 0);
    }

    /// The first child of an inner node without separators.
    pub(super) fn set_first_child<F: KeyForm>(&self, address: u64) {
        self.set_word(Shape::<F>::child(0), address);
    }

    pub(super) fn child_address<F: KeyForm>(&self, i: usize) -> u64 {
        debug_assert!(self.level() > 0 && i <= self.count::<F>());
        self.word(Shape::<F>::child(i))
    }

    /// Inserts separator `i` and the child right of it.
    pub(super) fn insert_child<F: KeyForm>(&self, i: usize, key: &F::Key, tid: u64, child: u64) {
        let count = self.count::<F>();
        self.insert_word(Shape::<F>::child(0), count + 1, i + 1, child);
        self.insert::<F>(i, key, tid);
    }

    /// Removes separator `i`, whose key is the caller's, and the child right of it.
    pub(super) fn remove_child<F: KeyForm>(&self, i: usize) {
        self.remove_word(Shape::<F>::child(0), self.count::<F>() + 1, i + 1);
        self.remove::<F>(i);
    }

    /// Appends entries or separators `from..` to `target`; with them go their keys. Children right
    /// of them are moved too.
    pub(super) fn move_to<F: KeyForm>(&self, from: usize, target: &Latched<'_>) {
        let (count, start) = (self.count::<F>(), target.count::<F>());
        let capacity = Shape::<F>::capacity(self.level());
        debug_assert!(self.level() == target.level() && start + count - from <= capacity);
        for j in 0..=F::WORDS {
            for i in from..count {
                let to = Shape::<F>::key(capacity, start + i - from, j);
                target.set_word(to, self.word(Shape::<F>::key(capacity, i, j)));
            }
        }
        if self.level() > 0 {
            for i in from..count {
                let child = self.word(Shape::<F>::child(i + 1));
                target.set_word(Shape::<F>::child(start + i - from + 1), child);
            }
        }
        target.set_count(start + count - from, 0);
        self.set_count(from, 0);
    }
}
