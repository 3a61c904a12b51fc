//! Equally long rows of numbers by node, in chunks, so that growing copies nothing.

/// Rows of a chunk.
const CHUNK_ROWS: usize = 256;

/// Rows of `width` numbers.
pub(super) struct Rows<T> {
    width: usize,
    chunks: Vec<Box<[T]>>,
}

impl<T: Copy + Default> Rows<T> {
    pub(super) fn new(width: usize) -> Self {
        Self { width, chunks: Vec::new() }
    }

    /// Bytes of a chunk more where row `at` has no room yet.
    pub(super) fn missing_bytes(&self, at: usize) -> usize {
        if at < self.chunks.len() * CHUNK_ROWS { 0 } else { self.chunk_bytes() }
    }

    fn chunk_bytes(&self) -> usize {
        CHUNK_ROWS * self.width * size_of::<T>()
    }

    /// Makes room for row `at`, the next one.
    pub(super) fn ensure(&mut self, at: usize) {
        if self.missing_bytes(at) > 0 {
            self.chunks.push(vec![T::default(); CHUNK_ROWS * self.width].into());
        }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> &[T] {
        let start = at % CHUNK_ROWS * self.width;
        &self.chunks[at / CHUNK_ROWS][start..start + self.width]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> &mut [T] {
        let start = at % CHUNK_ROWS * self.width;
        &mut self.chunks[at / CHUNK_ROWS][start..start + self.width]
    }
}
