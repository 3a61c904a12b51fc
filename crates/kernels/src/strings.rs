//! Columns of strings as 16-byte views.
//!
//! ```text
//! view, at most 12 bytes long:  | length u32 | bytes, zero padded to 12         |
//! view, longer:                 | length u32 | first 4 bytes | address u64      |
//! ```
//! Invariant: every address points into memory that one of the vector's heaps keeps alive and
//! unchanged. Heaps are *pinned* (a table's snapshot: many batches share it, so to share it costs
//! one reference) or transient (made by a function for one batch: whoever collects batches copies
//! the bytes).
//! Source: DESIGN section 4; the form is that of Umbra (Neumann and Freitag 2020, section 3.1).

use std::any::Any;
use std::sync::Arc;

use types::budget::{self, Charge, LARGE_BYTES};

/// One string: inline up to 12 bytes, else its first four bytes and its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct StrView {
    len: u32,
    prefix: [u8; 4],
    tail: u64,
}

impl StrView {
    /// The most bytes held in the view itself.
    pub const INLINE_BYTES: usize = 12;

    /// A view of `bytes`; a long one refers to them.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        let len = bytes.len();
        if len <= Self::INLINE_BYTES {
            let mut buffer = [0u8; 12];
            buffer[..len].copy_from_slice(bytes);
            let [a, b, c, d, rest @ ..] = buffer;
            Self { len: len as u32, prefix: [a, b, c, d], tail: u64::from_le_bytes(rest) }
        } else {
            let prefix = [bytes[0], bytes[1], bytes[2], bytes[3]];
            Self { len: len as u32, prefix, tail: bytes.as_ptr() as u64 }
        }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True for the empty string.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True when the bytes are in the view itself.
    #[inline]
    pub fn is_inline(&self) -> bool {
        self.len as usize <= Self::INLINE_BYTES
    }

    /// Length and first four bytes as one number, for a first comparison.
    #[inline]
    pub fn head(&self) -> u64 {
        u64::from(self.len) | u64::from(u32::from_le_bytes(self.prefix)) << 32
    }

    /// Inline bytes 4 to 12, or the address.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// The bytes.
    ///
    /// # Safety
    /// A long view's memory must be alive and unchanged as long as `'a`, and `'a` must not outlive
    /// `self` for an inline one.
    #[inline]
    pub unsafe fn bytes(&self) -> &[u8] {
        let start = if self.is_inline() {
            // The inline bytes start right after the length.
            (&raw const *self).cast::<u8>().wrapping_add(4)
        } else {
            self.tail as *const u8
        };
        // SAFETY: inline bytes are 12 bytes of `self`; a long view's memory is alive by contract.
        unsafe { std::slice::from_raw_parts(start, self.len as usize) }
    }
}

/// Keeps the memory of long strings alive.
#[derive(Clone)]
pub struct HeapRef {
    owner: Arc<dyn Any + Send + Sync>,
    pinned: bool,
}

impl HeapRef {
    /// A heap that outlives the query's batches: a table snapshot.
    pub fn pinned(owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { owner, pinned: true }
    }

    /// A heap made for one batch.
    pub fn transient(owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { owner, pinned: false }
    }

    fn same(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.owner), Arc::as_ptr(&other.owner))
    }
}

impl std::fmt::Debug for HeapRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HeapRef(pinned: {})", self.pinned)
    }
}

fn add_heaps(heaps: &mut Vec<HeapRef>, more: &[HeapRef]) {
    for heap in more {
        if !heaps.iter().any(|h| h.same(heap)) {
            heaps.push(heap.clone());
        }
    }
}

/// The heaps of both vectors.
pub(crate) fn union_heaps(a: &StrVector, b: &StrVector) -> Vec<HeapRef> {
    let mut heaps = a.heaps.clone();
    add_heaps(&mut heaps, &b.heaps);
    heaps
}

/// A column of strings.
#[derive(Clone, Debug, Default)]
pub struct StrVector {
    views: Vec<StrView>,
    heaps: Vec<HeapRef>,
}

impl StrVector {
    /// The vector of `views`.
    ///
    /// # Safety
    /// Every long view must point into memory that one of `heaps` keeps alive and unchanged.
    pub unsafe fn from_views(views: Vec<StrView>, heaps: Vec<HeapRef>) -> Self {
        Self { views, heaps }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The bytes of row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        // SAFETY: the type's invariant keeps the memory alive as long as `self`.
        unsafe { self.views[i].bytes() }
    }

    /// The views, for kernels that compare heads first.
    pub fn views(&self) -> &[StrView] {
        &self.views
    }

    /// The heaps that keep the views' memory alive.
    pub fn heaps(&self) -> &[HeapRef] {
        &self.heaps
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The rows at `positions`; shares the memory of long strings.
    #[must_use]
    pub fn gather(&self, positions: &[u32]) -> Self {
        let views = positions.iter().map(|&p| self.views[p as usize]).collect();
        Self { views, heaps: self.heaps.clone() }
    }

    /// Rows `start..start + len`; shares the memory of long strings.
    #[must_use]
    pub fn slice(&self, start: usize, len: usize) -> Self {
        Self { views: self.views[start..start + len].to_vec(), heaps: self.heaps.clone() }
    }

    /// Each row `i` narrowed to the byte range `range(i, row)`; shares the memory of long strings.
    #[must_use]
    pub fn narrow(&self, mut range: impl FnMut(usize, &[u8]) -> std::ops::Range<usize>) -> Self {
        let views = (0..self.len())
            .map(|i| {
                let bytes = self.get(i);
                StrView::new(&bytes[range(i, bytes)])
            })
            .collect();
        Self { views, heaps: self.heaps.clone() }
    }

    /// Calls `f` with each maximal run of rows whose bytes lie one after the other in memory, as
    /// one slice. A row held in its view is a run of its own.
    pub fn each_run<'a>(&'a self, mut f: impl FnMut(std::ops::Range<usize>, &'a [u8])) {
        let mut start = 0;
        while start < self.views.len() {
            let first = &self.views[start];
            let (mut end, mut bytes) = (start + 1, first.len());
            if first.is_inline() {
                f(start..end, self.get(start));
                start = end;
                continue;
            }
            let address = first.tail();
            while let Some(next) = self.views.get(end) {
                if next.is_inline() || next.tail() != address + bytes as u64 {
                    break;
                }
                bytes += next.len();
                end += 1;
            }
            // SAFETY: the rows' bytes are alive and unchanged as long as `self` (the type's
            // invariant), and each begins where the one before ends, so together they are `bytes`
            // readable bytes.
            let run = unsafe { std::slice::from_raw_parts(address as *const u8, bytes) };
            f(start..end, run);
            start = end;
        }
    }

    /// True when every heap is pinned.
    pub fn is_pinned(&self) -> bool {
        self.heaps.iter().all(|h| h.pinned)
    }
}

impl<'a> FromIterator<&'a [u8]> for StrVector {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(iter: I) -> Self {
        let mut builder = StrBuilder::default();
        iter.into_iter().for_each(|bytes| builder.push(bytes));
        builder.finish()
    }
}

/// First and smallest size of a heap chunk in bytes; later ones double up to 1 MiB.
const CHUNK_BYTES_MIN: usize = 4 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Collects strings into a [`StrVector`].
#[derive(Debug, Default)]
pub struct StrBuilder {
    views: Vec<StrView>,
    heaps: Vec<HeapRef>,
    chunks: Chunks,
    heap_bytes: usize,
    /// Part of these bytes that is counted for the statement.
    counted_bytes: usize,
}

/// The memory of strings, which is counted for the statement that made them as long as it lives: a
/// few strings in each of many batches would pass any limit. Who shares it with many batches counts
/// short strings itself ([`StrBuilder::finish_pinned`]).
#[derive(Debug, Default)]
struct Chunks {
    /// Filled one after the other, the last one last.
    filled: Vec<Vec<u8>>,
    /// A long value each.
    whole: Vec<Vec<u8>>,
    charges: Vec<Charge>,
}

impl Chunks {
    fn is_empty(&self) -> bool {
        self.filled.is_empty() && self.whole.is_empty()
    }
}

impl StrBuilder {
    /// Room for `rows` views.
    pub fn with_capacity(rows: usize) -> Self {
        Self { views: Vec::with_capacity(rows), ..Self::default() }
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// True when there are no rows yet.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Bytes of string memory owned by the builder.
    pub fn heap_bytes(&self) -> usize {
        self.heap_bytes
    }

    /// The bytes of row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        // SAFETY: chunks never move (see `copy`), and heaps are kept.
        unsafe { self.views[i].bytes() }
    }

    /// Copies `bytes` in as the next row.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let view = if bytes.len() <= StrView::INLINE_BYTES {
            StrView::new(bytes)
        } else {
            self.copy(bytes)
        };
        self.views.push(view);
    }

    fn copy(&mut self, bytes: &[u8]) -> StrView {
        if bytes.len() >= LARGE_BYTES {
            return self.copy_large(bytes);
        }
        let chunks = &mut self.chunks.filled;
        let fits = chunks.last().is_some_and(|c| c.capacity() - c.len() >= bytes.len());
        if !fits {
            let next = chunks.last().map_or(CHUNK_BYTES_MIN, |c| c.capacity() * 2);
            let bytes_wanted = next.min(CHUNK_BYTES_MAX).max(bytes.len());
            self.heap_bytes += bytes_wanted;
            chunks.push(Vec::with_capacity(bytes_wanted));
        }
        let chunk = chunks.last_mut().expect("pushed above when there was none");
        let start = chunk.len();
        // Within capacity, so the chunk's memory does not move: earlier views stay good.
        chunk.extend_from_slice(bytes);
        StrView::new(&chunk[start..])
    }

    /// A long value that there is no memory for becomes an empty one, and its statement fails.
    fn copy_large(&mut self, bytes: &[u8]) -> StrView {
        let mut charge = Charge::default();
        let counted = budget::value_length(Some(bytes.len()));
        match counted.and_then(|bytes| charge.grow(bytes as u64)) {
            Ok(()) => self.own(bytes.to_vec(), charge),
            Err(error) => {
                budget::fail(error);
                StrView::default()
            }
        }
    }

    fn own(&mut self, bytes: Vec<u8>, charge: Charge) -> StrView {
        let view = StrView::new(&bytes);
        self.chunks.whole.push(bytes);
        self.chunks.charges.push(charge);
        view
    }

    /// Takes `bytes`, a long value that `charge` counts, as the next row.
    pub(crate) fn push_owned(&mut self, bytes: Vec<u8>, charge: Charge) {
        let view = self.own(bytes, charge);
        self.views.push(view);
    }

    /// Appends the rows of `source` at `positions`, or all rows; pinned memory is shared, other
    /// copied.
    pub fn append(&mut self, source: &StrVector, positions: Option<&[u32]>) {
        if source.is_pinned() {
            add_heaps(&mut self.heaps, &source.heaps);
            match positions {
                None => self.views.extend_from_slice(&source.views),
                Some(p) => self.views.extend(p.iter().map(|&p| source.views[p as usize])),
            }
            return;
        }
        match positions {
            None => (0..source.len()).for_each(|i| self.push(source.get(i))),
            Some(p) => p.iter().for_each(|&p| self.push(source.get(p as usize))),
        }
    }

    /// Takes back all rows from number `rows` on; their bytes stay until the end.
    pub fn truncate(&mut self, rows: usize) {
        self.views.truncate(rows);
    }

    /// True when so much was pushed that [`Self::count`] should be called before more is.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.heap_bytes - self.counted_bytes >= 4 * CHUNK_BYTES_MAX
    }

    /// Counts what was pushed since the last count for the statement that the thread works for.
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn count(&mut self) -> types::Result<()> {
        let bytes = self.heap_bytes - self.counted_bytes;
        if bytes == 0 {
            return Ok(());
        }
        self.counted_bytes = self.heap_bytes;
        let mut charge = Charge::default();
        charge.grow(bytes as u64)?;
        self.chunks.charges.push(charge);
        Ok(())
    }

    /// The vector of all rows pushed. Where there is no memory for them their statement fails.
    pub fn finish(mut self) -> StrVector {
        if let Err(error) = self.count() {
            budget::fail(error);
        }
        let mut heaps = self.heaps;
        if !self.chunks.is_empty() {
            heaps.push(HeapRef::transient(Arc::new(self.chunks)));
        }
        StrVector { views: self.views, heaps }
    }

    /// As [`Self::finish`], for a result that many batches will share (a build side, say).
    pub fn finish_pinned(self) -> StrVector {
        let mut heaps = self.heaps;
        if !self.chunks.is_empty() {
            heaps.push(HeapRef::pinned(Arc::new(self.chunks)));
        }
        StrVector { views: self.views, heaps }
    }
}
