//! One bit per row: validity, selections, filters over dictionary codes.

/// A bitmap of `len` bits; bits past `len` in the last word are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` bits, all `bit`.
    pub fn filled(len: usize, bit: bool) -> Self {
        let mut words = vec![if bit { u64::MAX } else { 0 }; len.div_ceil(64)];
        if bit && !len.is_multiple_of(64) {
            words[len / 64] = (1u64 << (len % 64)) - 1;
        }
        Self { words, len }
    }

    /// The bitmap of `len` bits in `words`; excess bits are cleared.
    ///
    /// # Panics
    /// If `words` are not exactly as many as `len` needs.
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        assert_eq!(words.len(), len.div_ceil(64), "one word per 64 bits");
        if !len.is_multiple_of(64) {
            words[len / 64] &= (1u64 << (len % 64)) - 1;
        }
        Self { words, len }
    }

    /// Bit `i` is `f(i)`.
    pub fn from_fn(len: usize, mut f: impl FnMut(usize) -> bool) -> Self {
        let mut words = vec![0u64; len.div_ceil(64)];
        for (w, word) in words.iter_mut().enumerate() {
            let count = (len - w * 64).min(64);
            for bit in 0..count {
                *word |= u64::from(f(w * 64 + bit)) << bit;
            }
        }
        Self { words, len }
    }

    /// Bits in all.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bit `i`.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        debug_assert!(i < self.len);
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Sets bit `i` to `bit`.
    #[inline]
    pub fn set(&mut self, i: usize, bit: bool) {
        debug_assert!(i < self.len);
        let mask = 1u64 << (i % 64);
        if bit {
            self.words[i / 64] |= mask;
        } else {
            self.words[i / 64] &= !mask;
        }
    }

    /// Appends one bit.
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.len += 1;
        if bit {
            self.set(self.len - 1, true);
        }
    }

    /// Appends all bits of `other`.
    pub fn extend(&mut self, other: &Bitmap) {
        if self.len.is_multiple_of(64) {
            self.words.extend_from_slice(&other.words);
            self.len += other.len;
        } else {
            (0..other.len).for_each(|i| self.push(other.get(i)));
        }
    }

    /// Appends `count` times `bit`.
    pub fn extend_filled(&mut self, count: usize, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.extend(&Bitmap::filled(count, bit));
        } else {
            (0..count).for_each(|_| self.push(bit));
        }
    }

    /// The bits at `positions`, in that order.
    pub fn gather(&self, positions: &[u32]) -> Bitmap {
        Bitmap::from_fn(positions.len(), |i| self.get(positions[i] as usize))
    }

    /// Bits `start..start + len`.
    pub fn slice(&self, start: usize, len: usize) -> Bitmap {
        Bitmap::from_fn(len, |i| self.get(start + i))
    }

    /// How many bits are 1.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// True when every bit is 1.
    pub fn all(&self) -> bool {
        self.count_ones() == self.len
    }

    /// The words, 64 bits each, bit 0 lowest.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bitwise and, of equal lengths.
    #[must_use]
    pub fn and(&self, other: &Bitmap) -> Bitmap {
        debug_assert_eq!(self.len, other.len);
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        Bitmap { words, len: self.len }
    }

    /// Bitwise or, of equal lengths.
    #[must_use]
    pub fn or(&self, other: &Bitmap) -> Bitmap {
        debug_assert_eq!(self.len, other.len);
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a | b).collect();
        Bitmap { words, len: self.len }
    }

    /// The complement.
    #[must_use]
    pub fn not(&self) -> Bitmap {
        Bitmap::from_words(self.words.iter().map(|w| !w).collect(), self.len)
    }

    /// Appends the positions of the 1 bits, each plus `base`, to `positions`.
    pub fn ones_into(&self, base: u32, positions: &mut Vec<u32>) {
        for (w, &word) in self.words.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                positions.push(base + w as u32 * 64 + word.trailing_zeros());
                word &= word - 1;
            }
        }
    }

    /// The positions of the 1 bits.
    pub fn ones(&self) -> Vec<u32> {
        let mut positions = Vec::with_capacity(self.count_ones());
        self.ones_into(0, &mut positions);
        positions
    }
}
