//! How entries hold their keys, chosen once per index by the length of its keys.
//!
//! ```text
//! Fixed<1>  all keys have the same length, at most  8 bytes   | word |
//! Fixed<2>  all keys have the same length, at most 16 bytes   | word | word |
//! Long      others                             | word | word | length 0..=16, or place of tail |
//! ```
//! Words are big-endian, padded with zeros, so that they compare like the bytes. Behind equal words
//! of a `Long` key the shorter one is smaller, as its bytes start the other or end in padding.
//!
//! Invariant: a `Key` comes from [`KeyForm::make`], from a latched node, or from a node that was
//! found unchanged after its words were read. Its tail is then alive as long as the guard, taken
//! before, lives: entries are retired only after they left their node.

use std::cmp::Ordering;

use super::node::Access;
use super::tail::{Tail, held_bytes};

/// Another thread changed what was being read: start again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed;

/// The result of something that other threads can disturb.
pub(super) type Attempt<T> = Result<T, Changed>;

/// Bytes of a key that are in its words.
const PREFIX_BYTES: usize = 16;

/// A key to compare entries with.
#[derive(Clone, Copy)]
pub(super) struct Probe<'k> {
    words: [u64; 2],
    key: &'k [u8],
}

impl<'k> Probe<'k> {
    #[inline]
    pub(super) fn new(key: &'k [u8]) -> Self {
        let words = match key.first_chunk::<PREFIX_BYTES>() {
            Some(prefix) => words(prefix),
            None => {
                let mut padded = [0; PREFIX_BYTES];
                padded[..key.len()].copy_from_slice(key);
                words(&padded)
            }
        };
        Self { words, key }
    }

    pub(super) fn key(&self) -> &'k [u8] {
        self.key
    }

    fn tail(&self) -> &'k [u8] {
        self.key.get(PREFIX_BYTES..).unwrap_or(&[])
    }
}

#[inline]
fn words(prefix: &[u8; PREFIX_BYTES]) -> [u64; 2] {
    let both = u128::from_be_bytes(*prefix);
    [(both >> 64) as u64, both as u64]
}

/// A way to hold keys.
pub(super) trait KeyForm: Sized + Send + Sync + 'static {
    /// The words of a key in an entry.
    type Key: Copy + Send + Sync + 'static;
    /// Guard that keeps tails alive.
    type Guard;
    /// Keys can have bytes outside their entry.
    const TAILS: bool;
    /// Words in a key.
    const WORDS: usize;

    fn pin() -> Self::Guard;

    /// The key whose word `j` is `word(j)`.
    fn load(word: impl Fn(usize) -> u64) -> Self::Key;

    fn word(key: &Self::Key, j: usize) -> u64;

    /// True when the first words of an entry, whose word `j` is word `at(j)` of `node`, are below
    /// those of `probe`.
    fn is_start_below(node: &impl Access, at: impl Fn(usize) -> usize, probe: &Probe<'_>) -> bool;

    /// The order of the key of an entry, whose word `j` is word `at(j)` of `node`, against `probe`.
    fn order(
        node: &impl Access,
        at: impl Fn(usize) -> usize,
        probe: &Probe<'_>,
        guard: &Self::Guard,
    ) -> Attempt<Ordering>;

    fn order_keys(a: &Self::Key, b: &Self::Key) -> Ordering;

    /// A key of its own for an entry.
    fn make(probe: &Probe<'_>) -> Self::Key;

    /// Bytes outside the entry that [`Self::make`] would take.
    fn bytes_needed(probe: &Probe<'_>) -> u64;

    /// Bytes outside the entry.
    fn bytes_held(key: &Self::Key) -> u64;

    /// Frees a key that nobody else can see.
    fn free(key: Self::Key);

    /// Frees a key when no reader can see it any more.
    fn retire(key: Self::Key, guard: &Self::Guard);

    /// A short key of its own above `left` and at most `right`; equal to them if they are.
    fn separator(left: &Self::Key, right: &Self::Key) -> Self::Key;

    /// Appends the bytes of a key; `width` of them if all keys are equally long.
    fn write(key: &Self::Key, width: usize, bytes: &mut Vec<u8>);

    /// Damage of the words of a key, if any.
    fn check(key: &Self::Key, width: usize) -> Result<(), &'static str>;
}

/// Keys that are their words.
pub(super) struct Fixed<const N: usize>;

impl<const N: usize> KeyForm for Fixed<N> {
    type Key = [u64; N];
    type Guard = ();
    const TAILS: bool = false;
    const WORDS: usize = N;

    #[inline]
    fn pin() {}

    #[inline]
    fn load(word: impl Fn(usize) -> u64) -> [u64; N] {
        std::array::from_fn(word)
    }

    #[inline]
    fn word(key: &[u64; N], j: usize) -> u64 {
        key[j]
    }

    #[inline]
    fn is_start_below(node: &impl Access, at: impl Fn(usize) -> usize, probe: &Probe<'_>) -> bool {
        is_below(&std::array::from_fn::<u64, N, _>(|j| node.word(at(j))), &probe.words)
    }

    #[inline]
    fn order(
        node: &impl Access,
        at: impl Fn(usize) -> usize,
        probe: &Probe<'_>,
        _: &(),
    ) -> Attempt<Ordering> {
        let key: [u64; N] = std::array::from_fn(|j| node.word(at(j)));
        Ok(order_words(&key, probe.words[..N].try_into().expect("at most two words")))
    }

    #[inline]
    fn order_keys(a: &[u64; N], b: &[u64; N]) -> Ordering {
        order_words(a, b)
    }

    #[inline]
    fn make(probe: &Probe<'_>) -> [u64; N] {
        std::array::from_fn(|j| probe.words[j])
    }

    fn bytes_needed(_: &Probe<'_>) -> u64 {
        0
    }

    fn bytes_held(_: &[u64; N]) -> u64 {
        0
    }

    fn free(_: [u64; N]) {}

    fn retire(_: [u64; N], _: &()) {}

    fn separator(_: &[u64; N], right: &[u64; N]) -> [u64; N] {
        *right
    }

    fn write(key: &[u64; N], width: usize, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        key.iter().for_each(|word| bytes.extend_from_slice(&word.to_be_bytes()));
        bytes.truncate(start + width);
    }

    fn check(key: &[u64; N], width: usize) -> Result<(), &'static str> {
        let mut bytes = Vec::new();
        Self::write(key, N * 8, &mut bytes);
        let padding = bytes.get(width..).ok_or("keys are wider than their words")?;
        if padding.iter().any(|&b| b != 0) { Err("padding is not zero") } else { Ok(()) }
    }
}

#[inline]
fn order_words<const N: usize>(a: &[u64; N], b: &[u64; N]) -> Ordering {
    let both = |w: &[u64; N]| w.iter().fold(0u128, |all, &word| all << 64 | u128::from(word));
    if N == 1 { a[0].cmp(&b[0]) } else { both(a).cmp(&both(b)) }
}

/// True when `a` is below the first `N` of `b`.
#[inline]
fn is_below<const N: usize>(a: &[u64; N], b: &[u64; 2]) -> bool {
    if N == 1 {
        a[0] < b[0]
    } else {
        let both = |w: &[u64]| u128::from(w[0]) << 64 | u128::from(w[1]);
        both(a) < both(b)
    }
}

/// Keys of any length: the first 16 bytes, then a length or the rest out of line.
pub(super) struct Long;

/// Rest of a key behind the first 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rest<'g> {
    /// Nothing; the length of the key.
    Length(u64),
    Tail(&'g [u8]),
}

impl Long {
    /// # Safety
    /// As for [`Tail::bytes_at`], if `word` is the place of one: see the invariant of the module.
    #[inline]
    unsafe fn rest<'g>(word: u64) -> Rest<'g> {
        if word <= PREFIX_BYTES as u64 {
            Rest::Length(word)
        } else {
            // SAFETY: by contract.
            Rest::Tail(unsafe { Tail::bytes_at(word) })
        }
    }

    fn rest_of<'k>(probe: &Probe<'k>) -> Rest<'k> {
        match probe.tail() {
            [] => Rest::Length(probe.key.len() as u64),
            tail => Rest::Tail(tail),
        }
    }

    fn word_of(rest: Rest<'_>) -> u64 {
        match rest {
            Rest::Length(length) => length,
            Rest::Tail(tail) => Tail::new(tail).into_word(),
        }
    }

    fn rests<'g>(a: &'g [u64; 3], b: &'g [u64; 3]) -> (Rest<'g>, Rest<'g>) {
        // SAFETY: keys are alive by the invariant of the module.
        unsafe { (Self::rest(a[2]), Self::rest(b[2])) }
    }
}

impl KeyForm for Long {
    type Key = [u64; 3];
    type Guard = crossbeam_epoch::Guard;
    const TAILS: bool = true;
    const WORDS: usize = 3;

    #[inline]
    fn pin() -> Self::Guard {
        crossbeam_epoch::pin()
    }

    #[inline]
    fn load(word: impl Fn(usize) -> u64) -> [u64; 3] {
        std::array::from_fn(word)
    }

    #[inline]
    fn word(key: &[u64; 3], j: usize) -> u64 {
        key[j]
    }

    #[inline]
    fn is_start_below(node: &impl Access, at: impl Fn(usize) -> usize, probe: &Probe<'_>) -> bool {
        is_below(&[node.word(at(0)), node.word(at(1))], &probe.words)
    }

    #[inline]
    fn order(
        node: &impl Access,
        at: impl Fn(usize) -> usize,
        probe: &Probe<'_>,
        _: &Self::Guard,
    ) -> Attempt<Ordering> {
        let words = [node.word(at(0)), node.word(at(1))];
        if words != probe.words {
            return Ok(order_words(&words, &probe.words));
        }
        let word = node.word(at(2));
        if !node.is_valid() {
            return Err(Changed);
        }
        // SAFETY: the node is unchanged, so `word` is of a live entry, and the guard is pinned.
        Ok(unsafe { Self::rest(word) }.cmp(&Self::rest_of(probe)))
    }

    fn order_keys(a: &[u64; 3], b: &[u64; 3]) -> Ordering {
        let words = order_words(&[a[0], a[1]], &[b[0], b[1]]);
        words.then_with(|| {
            let (a, b) = Self::rests(a, b);
            a.cmp(&b)
        })
    }

    fn make(probe: &Probe<'_>) -> [u64; 3] {
        [probe.words[0], probe.words[1], Self::word_of(Self::rest_of(probe))]
    }

    fn bytes_needed(probe: &Probe<'_>) -> u64 {
        if probe.tail().is_empty() { 0 } else { held_bytes(probe.tail().len()) }
    }

    fn bytes_held(key: &[u64; 3]) -> u64 {
        // SAFETY: keys are alive by the invariant of the module.
        match unsafe { Self::rest(key[2]) } {
            Rest::Length(_) => 0,
            Rest::Tail(tail) => held_bytes(tail.len()),
        }
    }

    fn free(key: [u64; 3]) {
        if key[2] > PREFIX_BYTES as u64 {
            // SAFETY: the key left its entry, so this is the only owner of its tail.
            drop(unsafe { Tail::from_word(key[2]) });
        }
    }

    fn retire(key: [u64; 3], guard: &Self::Guard) {
        if key[2] > PREFIX_BYTES as u64 {
            // SAFETY: the key left its entry, so this is the only owner of its tail; readers that
            // found it before are pinned.
            unsafe { Tail::from_word(key[2]) }.retire(guard);
        }
    }

    fn separator(left: &[u64; 3], right: &[u64; 3]) -> [u64; 3] {
        let (left_rest, right_rest) = Self::rests(left, right);
        let rest = match (left_rest, right_rest) {
            _ if left[..2] == right[..2] => match (left_rest, right_rest) {
                (Rest::Tail(a), Rest::Tail(b)) => {
                    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                    Rest::Tail(&b[..b.len().min(common + 1)])
                }
                (_, Rest::Tail(b)) => Rest::Tail(&b[..1]),
                (_, length) => length,
            },
            (_, Rest::Tail(_)) => Rest::Length(PREFIX_BYTES as u64),
            (_, length) => length,
        };
        [right[0], right[1], Self::word_of(rest)]
    }

    fn write(key: &[u64; 3], _: usize, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend_from_slice(&key[0].to_be_bytes());
        bytes.extend_from_slice(&key[1].to_be_bytes());
        // SAFETY: keys are alive by the invariant of the module.
        match unsafe { Self::rest(key[2]) } {
            Rest::Length(length) => bytes.truncate(start + length as usize),
            Rest::Tail(tail) => bytes.extend_from_slice(tail),
        }
    }

    fn check(key: &[u64; 3], _: usize) -> Result<(), &'static str> {
        let mut bytes = Vec::new();
        Self::write(key, 0, &mut bytes);
        let probe = Probe::new(&bytes);
        if probe.words != key[..2] { Err("padding is not zero") } else { Ok(()) }
    }
}
