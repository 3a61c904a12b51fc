//! Stack for statements that nest: walks over their trees go on in new memory when it ends.
//!
//! ```text
//! statement(levels) -- the thread's stack, or a segment with room for what its text can nest
//!   '- deep(...)  -- at each level of a recursive walk: the next segment when little is left
//!        '- clones, drops, comparisons of a whole tree: they fit into what `deep` left
//! ```
//! Whoever walks trees of any depth calls [`deep`] at each level. Derived walks (`Drop`, `Clone`,
//! `Eq`) cannot; for them the [`room`] left is as much as the statement's levels may need. Parsing
//! and binding bound the levels: [`LEVELS_MAX`].
//! Invariant: a segment is given back when what runs on it returns, so that no thread keeps memory
//! that one deep statement touched.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::{Error, Result, SqlState};

/// Levels of a statement's tree: more are 54001. PostgreSQL's default stack ends between 5,000
/// and 15,000 of them.
pub const LEVELS_MAX: usize = 24_000;

/// Stack that a derived walk takes for a level, at the most: measured over the parser's trees with
/// `Clone`, whose frames are the largest.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) { 16 << 10 } else { 4 << 10 };

/// Stack that is left below every [`deep`].
const LEAST_BYTES: usize = if cfg!(debug_assertions) { 512 << 10 } else { 192 << 10 };

/// Stack of threads that run statements: most need no other one, and trees of [`LEVELS_MAX`] are
/// dropped on it. What is not touched takes no memory.
pub const THREAD_BYTES: usize = if cfg!(debug_assertions) { 64 << 20 } else { 16 << 20 };

thread_local! {
    /// Bytes that are left free below each [`deep`].
    static ROOM: Cell<usize> = const { Cell::new(LEAST_BYTES) };
    /// True while a statement runs.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Bytes that were free where the statement's attempt began; no bound outside of one.
    static BASE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The time of an attempt.
struct Attempt(usize);

impl Drop for Attempt {
    fn drop(&mut self) {
        BASE.set(self.0);
    }
}

/// Runs `work`, to be run again when it gives an error that [`is_again`].
pub fn attempt<R>(work: impl FnOnce() -> R) -> R {
    deep(|| {
        let _attempt = Attempt(BASE.replace(stacker::remaining_stack().unwrap_or(usize::MAX)));
        work()
    })
}

/// Asks for stack for the tree of a definition, a view say, whose text may have so many `levels`,
/// together with those around it: callers far above will walk it.
///
/// # Errors
/// One that [`is_again`] when the attempt began with too little.
pub fn require(levels: usize) -> Result<()> {
    note_levels(levels);
    if bytes_of(levels) <= BASE.get() {
        return Ok(());
    }
    note_levels(levels.saturating_mul(2));
    Err(Error::new(SqlState::STACK_TOO_SMALL, "the statement needs more stack"))
}

/// True when the statement is to be attempted anew: it will begin with the stack that it asked for.
pub fn is_again(error: &Error) -> bool {
    error.state() == SqlState::STACK_TOO_SMALL
}

/// The time of a thread's outermost statement.
struct Outermost;

impl Drop for Outermost {
    fn drop(&mut self) {
        INSIDE.set(false);
        ROOM.set(LEAST_BYTES);
    }
}

/// Bytes that derived walks over a tree of so many levels may need.
fn bytes_of(levels: usize) -> usize {
    (levels.min(LEVELS_MAX) * LEVEL_BYTES).max(LEAST_BYTES)
}

/// Levels of the tree of a statement's text at the most: whatever nests is a sign, each counted as
/// one level, or a word, each counted as [`WORD_LEVELS`]. Numbers and blanks are leaves.
pub fn levels_in(text: &str) -> usize {
    let mut levels = 0;
    let mut is_in_word = false;
    for byte in text.bytes() {
        let is_word = byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        let starts = is_word && !is_in_word && !byte.is_ascii_digit();
        let is_sign = !is_word && !byte.is_ascii_whitespace();
        levels += usize::from(starts) * WORD_LEVELS + usize::from(is_sign);
        is_in_word = is_word;
    }
    levels
}

/// Levels of a word: the trees of SELECT and CASE take the stack of several operators.
const WORD_LEVELS: usize = 4;

/// Runs `work` on a statement whose tree has at most so many `levels`: see [`levels_in`].
pub fn statement<R>(levels: usize, work: impl FnOnce() -> R) -> R {
    // Made by the outermost alone: each that is dropped takes the room away.
    let _outermost = if INSIDE.replace(true) { None } else { Some(Outermost) };
    note_levels(levels);
    deep(work)
}

/// Notes that the statement's tree has `levels`, more than its own text tells: through views say.
pub fn note_levels(levels: usize) {
    let bytes = bytes_of(levels);
    if bytes > ROOM.get() {
        ROOM.set(bytes);
    }
}

/// Runs `work`, a level of a recursive walk, with stack for it and what it calls.
#[inline]
pub fn deep<R>(work: impl FnOnce() -> R) -> R {
    let room = ROOM.get();
    stacker::maybe_grow(room, room.saturating_mul(2).max(SEGMENT_BYTES), work)
}

/// A new segment has at least so much.
const SEGMENT_BYTES: usize = 8 << 20;

/// Refuses a tree of more than [`LEVELS_MAX`] levels.
///
/// # Errors
/// 54001.
pub fn check_levels(levels: usize) -> Result<()> {
    if levels > LEVELS_MAX { Err(too_deep()) } else { Ok(()) }
}

/// 54001, for whatever nests deeper than the program follows.
pub fn too_deep() -> Error {
    Error::new(SqlState::STACK_DEPTH, "stack depth limit exceeded")
        .with_hint("The statement nests too deeply or chains too many operators: split it.")
}

/// A tree that outlives the statement it was made for: cloning and dropping it has the stack that
/// its levels need, on whatever thread.
pub struct Deep<T> {
    /// None while it is dropped.
    value: Option<T>,
    levels: usize,
}

impl<T> Deep<T> {
    /// Keeps `value`, which has at most so many levels.
    pub fn new(value: T, levels: usize) -> Self {
        Self { value: Some(value), levels }
    }

    /// Keeps `value`, which the running statement made.
    pub fn of_statement(value: T) -> Self {
        Self::new(value, ROOM.get() / LEVEL_BYTES)
    }

    /// Levels that the tree may have.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// The tree itself.
    pub fn into_inner(mut self) -> T {
        self.value.take().expect("it is there until it is dropped")
    }
}

impl<T> Deref for Deep<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> DerefMut for Deep<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is there until it is dropped")
    }
}

impl<T: Clone> Clone for Deep<T> {
    fn clone(&self) -> Self {
        statement(self.levels, || Self { value: self.value.clone(), levels: self.levels })
    }
}

impl<T: fmt::Debug> fmt::Debug for Deep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        statement(self.levels, || self.value.fmt(f))
    }
}

impl<T> Drop for Deep<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            statement(self.levels, || drop(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of boxes, as deep as it is long.
    #[derive(Clone, Debug, PartialEq)]
    struct Nest(Option<Box<Nest>>);

    fn nest(levels: usize) -> Nest {
        (0..levels).fold(Nest(None), |inner, _| Nest(Some(Box::new(inner))))
    }

    fn count(nest: &Nest) -> usize {
        deep(|| nest.0.as_ref().map_or(0, |inner| 1 + count(inner)))
    }

    fn on_small_stack(work: impl FnOnce() + Send + 'static) {
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        thread.spawn(work).expect("a thread starts").join().expect("no overflow");
    }

    #[test]
    fn a_statement_inside_leaves_the_room_of_the_one_around_it() {
        statement(LEVELS_MAX, || {
            statement(1, || {});
            drop(Deep::of_statement(()));
            assert!(ROOM.get() >= bytes_of(LEVELS_MAX) && INSIDE.get());
        });
        assert!(ROOM.get() == LEAST_BYTES && !INSIDE.get());
    }

    #[test]
    fn walks_and_derived_walks_have_the_stack_they_need() {
        on_small_stack(|| {
            statement(LEVELS_MAX, || {
                let tree = nest(LEVELS_MAX);
                assert_eq!(count(&tree), LEVELS_MAX);
                assert!(tree.clone() == tree);
            });
        });
    }

    #[test]
    fn a_deep_tree_is_dropped_wherever_it_ends() {
        on_small_stack(|| {
            let kept = statement(LEVELS_MAX, || Deep::of_statement(nest(LEVELS_MAX)));
            drop(kept.clone());
            drop(kept);
        });
    }

    #[test]
    fn a_text_has_as_many_levels_as_it_has_signs_and_words() {
        for (text, levels) in [
            ("", 0),
            ("SELECT 12, (345)", WORD_LEVELS + 3),
            ("- - -a1_b c", 3 + 2 * WORD_LEVELS),
            ("NOT\nné", 2 * WORD_LEVELS),
        ] {
            assert_eq!(levels_in(text), levels, "{text}");
        }
    }

    #[test]
    fn more_levels_are_refused() {
        assert!(check_levels(LEVELS_MAX).is_ok());
        let error = check_levels(LEVELS_MAX + 1).expect_err("too deep");
        assert_eq!(error.state(), SqlState::STACK_DEPTH);
    }
}
