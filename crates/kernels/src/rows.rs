//! Loops of function kernels over arguments of one length, or of one row that counts for all.
//!
//! A function that cannot fail runs over all rows, NULL or not; one that can runs over the rows
//! whose arguments are all valid. Text results are written into one buffer per call and copied from
//! there.

use std::ops::{Deref, DerefMut};

use types::budget::{Charge, LARGE_BYTES, Pace, Room};
use types::charset::{Charset, invalid};
use types::{Interval, Result};

use crate::strings::StrView;
use crate::{Bitmap, StrBuilder, StrVector, Vector, VectorData};

/// The Rust type of a fixed-size column's values.
pub(crate) trait Fixed: Copy + Default {
    /// The values of `vector`.
    fn values(vector: &Vector) -> &[Self];
    /// `values` as a column.
    fn data(values: Vec<Self>) -> VectorData;
}

macro_rules! fixed {
    ($($ty:ty = $variant:ident),*) => {
        $(impl Fixed for $ty {
            #[inline]
            fn values(vector: &Vector) -> &[Self] {
                match &vector.data {
                    VectorData::$variant(values) => values,
                    _ => panic!("expected {}, found {:?}", stringify!($variant), vector.physical()),
                }
            }
            fn data(values: Vec<Self>) -> VectorData {
                VectorData::$variant(values)
            }
        })*
    };
}

fixed!(u8 = Bool, i32 = I32, i64 = I64, i128 = I128, f64 = F64, Interval = Interval);

/// An argument of fixed-size values.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a, T>(&'a [T]);

impl<'a, T: Fixed> Values<'a, T> {
    pub(crate) fn new(vector: &'a Vector) -> Self {
        Self(T::values(vector))
    }

    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> T {
        self.0[if self.0.len() == 1 { 0 } else { i }]
    }
}

/// An argument of text.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a>(&'a StrVector);

impl<'a> Texts<'a> {
    pub(crate) fn new(vector: &'a Vector) -> Self {
        Self(vector.as_str())
    }

    #[inline]
    pub(crate) fn bytes(&self, i: usize) -> &'a [u8] {
        self.0.get(if self.0.len() == 1 { 0 } else { i })
    }

    /// Row `i` as text.
    ///
    /// # Errors
    /// 22021 when it is not UTF-8.
    #[inline]
    pub(crate) fn str(&self, i: usize) -> Result<&'a str> {
        utf8(self.bytes(i))
    }
}

/// `bytes` as text.
///
/// # Errors
/// 22021 when they are not UTF-8.
#[inline]
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes);
    text.map_err(|error| invalid(Charset::UTF8, &bytes[error.valid_up_to()..]))
}

/// Rows of a call: those of every argument that has not one row.
///
/// # Panics
/// If two arguments differ and neither has one row.
pub(crate) fn count(arguments: &[&Vector]) -> usize {
    let mut rows = 1;
    for argument in arguments {
        rows = crate::broadcast::rows(rows, argument.len());
    }
    rows
}

/// Rows of which no argument is NULL; None when that is all.
pub(crate) fn validity(arguments: &[&Vector], rows: usize) -> Option<Bitmap> {
    let mut all: Option<Bitmap> = None;
    for argument in arguments {
        let Some(bits) = &argument.validity else {
            continue;
        };
        let next = match (bits.len() == rows, &all) {
            (true, None) => bits.clone(),
            (true, Some(before)) => before.and(bits),
            (false, _) if bits.get(0) => continue,
            (false, _) => return Some(Bitmap::filled(rows, false)),
        };
        all = Some(next);
    }
    all
}

/// `f(value)` for all rows.
pub(crate) fn map<A: Fixed, R: Fixed>(a: &Vector, f: impl Fn(A) -> R) -> Vector {
    let values = A::values(a).iter().map(|&v| f(v)).collect();
    Vector::with_validity(R::data(values), a.validity.clone())
}

/// `f(value)` for the rows that are not NULL.
///
/// # Errors
/// The first of `f`.
pub(crate) fn try_map<A: Fixed, R: Fixed>(
    a: &Vector,
    f: impl Fn(A) -> Result<R>,
) -> Result<Vector> {
    let values = A::values(a);
    try_build(&[a], |i| f(values[i]))
}

/// `f(a, b)` for the rows where neither is NULL.
///
/// # Errors
/// The first of `f`.
pub(crate) fn try_zip<A: Fixed, B: Fixed, R: Fixed>(
    a: &Vector,
    b: &Vector,
    f: impl Fn(A, B) -> Result<R>,
) -> Result<Vector> {
    let (x, y) = (Values::<A>::new(a), Values::<B>::new(b));
    try_build(&[a, b], |i| f(x.get(i), y.get(i)))
}

/// `f(row)` for the rows of which no argument is NULL.
///
/// # Errors
/// The first of `f`.
pub(crate) fn try_build<R: Fixed>(
    arguments: &[&Vector],
    mut f: impl FnMut(usize) -> Result<R>,
) -> Result<Vector> {
    let rows = count(arguments);
    let valid = validity(arguments, rows);
    let mut out = Vec::with_capacity(rows);
    match &valid {
        None => {
            for i in 0..rows {
                out.push(f(i)?);
            }
        }
        Some(bits) => {
            for i in 0..rows {
                out.push(if bits.get(i) { f(i)? } else { R::default() });
            }
        }
    }
    Ok(Vector::with_validity(R::data(out), valid))
}

/// As [`try_build`], where `f` may answer NULL.
///
/// # Errors
/// The first of `f`.
pub(crate) fn try_build_nullable<R: Fixed>(
    arguments: &[&Vector],
    mut f: impl FnMut(usize) -> Result<Option<R>>,
) -> Result<Vector> {
    let rows = count(arguments);
    let mut valid = validity(arguments, rows).unwrap_or_else(|| Bitmap::filled(rows, true));
    let mut out = vec![R::default(); rows];
    for (i, slot) in out.iter_mut().enumerate() {
        if valid.get(i) {
            match f(i)? {
                Some(value) => *slot = value,
                None => valid.set(i, false),
            }
        }
    }
    Ok(Vector::with_validity(R::data(out), Some(valid)))
}

/// Text that `f` writes for the rows of which no argument is NULL.
///
/// # Errors
/// The first of `f`.
pub(crate) fn try_write(
    arguments: &[&Vector],
    mut f: impl FnMut(usize, &mut Written) -> Result<()>,
) -> Result<Vector> {
    let rows = count(arguments);
    let valid = validity(arguments, rows);
    let mut out = StrBuilder::with_capacity(rows);
    let mut written = Written::default();
    for i in 0..rows {
        written.clear();
        if valid.as_ref().is_none_or(|v| v.get(i)) {
            written.expect(arguments, i)?;
            f(i, &mut written)?;
        }
        written.end(&mut out)?;
    }
    Ok(Vector::with_validity(VectorData::Str(out.finish()), valid))
}

/// Bytes of the longest text among a row's arguments.
fn longest(arguments: &[&Vector], row: usize) -> usize {
    let texts = arguments.iter().filter_map(|argument| match &argument.data {
        VectorData::Str(texts) => texts.views().get(crate::broadcast::row(texts.len(), row)),
        _ => None,
    });
    texts.map(StrView::len).max().unwrap_or(0)
}

/// Counts what making a value of a row's arguments may take besides it, where that is not counted
/// as it grows: a result of twice the longest one's size, and its memory before it grew last.
///
/// # Errors
/// 53200.
pub(crate) fn scratch(arguments: &[&Vector], row: usize) -> Result<Charge> {
    let mut charge = Charge::default();
    let bytes = longest(arguments, row);
    if bytes >= LARGE_BYTES {
        charge.grow(4 * bytes as u64)?;
    }
    Ok(charge)
}

/// A value being written, with the memory that a long one takes.
#[derive(Default)]
pub(crate) struct Written {
    bytes: Vec<u8>,
    room: Room,
    pace: Pace,
}

impl Written {
    /// Makes room for `more` bytes at once.
    ///
    /// # Errors
    /// 54000 when the value gets too long, 53200 when there is no memory for it, 57014 after a
    /// cancel.
    #[inline]
    pub(crate) fn make(&mut self, more: usize) -> Result<()> {
        self.room.make(&mut self.bytes, more)
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// As [`Self::make`].
    #[inline]
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.room.push(&mut self.bytes, bytes)
    }

    /// Makes room for as much as the longest of a row's arguments has, when that is long: most
    /// results are about as long.
    fn expect(&mut self, arguments: &[&Vector], row: usize) -> Result<()> {
        match longest(arguments, row) {
            bytes if bytes >= LARGE_BYTES => self.make(bytes),
            _ => Ok(()),
        }
    }

    /// Moves the value to `out` as its next row.
    ///
    /// # Errors
    /// As [`Self::make`].
    #[inline]
    pub(crate) fn end(&mut self, out: &mut StrBuilder) -> Result<()> {
        self.pace.step(self.bytes.len())?;
        if self.bytes.len() < LARGE_BYTES {
            out.push(&self.bytes);
            return if out.is_due() { out.count() } else { Ok(()) };
        }
        self.room.note(self.bytes.len(), self.bytes.capacity())?;
        out.push_owned(std::mem::take(&mut self.bytes), self.room.take());
        Ok(())
    }
}

impl Deref for Written {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Written {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

/// As [`try_write`] into a `String`.
///
/// # Errors
/// The first of `f`.
pub(crate) fn try_format(
    arguments: &[&Vector],
    mut f: impl FnMut(usize, &mut String) -> Result<()>,
) -> Result<Vector> {
    try_write(arguments, |i, out| {
        let _scratch = scratch(arguments, i)?;
        // It was cleared: an empty text, with the memory of the one before.
        let mut text = String::from_utf8(std::mem::take(&mut out.bytes)).unwrap_or_default();
        let written = f(i, &mut text);
        out.bytes = text.into_bytes();
        written
    })
}

/// Text of `text` cut to the byte range that `f` gives, for the rows of which no argument is NULL;
/// shares memory. `arguments` contain `text`.
///
/// # Errors
/// The first of `f`.
pub(crate) fn try_narrow(
    text: &Vector,
    arguments: &[&Vector],
    mut f: impl FnMut(usize, &[u8]) -> Result<std::ops::Range<usize>>,
) -> Result<Vector> {
    let rows = count(arguments);
    let valid = validity(arguments, rows);
    let mut failure = None;
    let spread;
    let source = if text.len() == rows {
        text.as_str()
    } else {
        spread = text.as_str().gather(&vec![0; rows]);
        &spread
    };
    let data = source.narrow(|i, bytes| {
        if failure.is_some() || valid.as_ref().is_some_and(|v| !v.get(i)) {
            return 0..0;
        }
        f(i, bytes).unwrap_or_else(|error| {
            failure = Some(error);
            0..0
        })
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(Vector::with_validity(VectorData::Str(data), valid)),
    }
}
