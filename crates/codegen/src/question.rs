//! The function that code calls for bytes.

use std::ffi::c_void;

use store::Schema;
use store::code::{FieldCheck, Page, RowsPage};

/// The call that asks.
pub(crate) struct Asked<'a> {
    pub page: Page<'a>,
    pub schema: &'a Schema,
    /// By predicate.
    pub checks: &'a [FieldCheck],
    /// Number of the first group.
    pub first: usize,
}

/// Bits of those `rows` of a group that satisfy predicate `number`; of columns NULLs count as empty
/// bytes, of rows as failures.
///
/// # Safety
/// `context` is the address of an [`Asked`] that nobody changes meanwhile.
pub(crate) unsafe extern "C" fn question(
    context: *const c_void,
    number: u64,
    group: u64,
    rows: u64,
) -> u64 {
    // SAFETY: the caller's promise.
    let asked = unsafe { &*context.cast::<Asked<'_>>() };
    let Some(check) = asked.checks.get(number as usize) else { return 0 };
    let first = (asked.first + group as usize) * 16;
    let mut answers = 0;
    let mut each = |accepts: &dyn Fn(usize) -> bool| {
        let mut left = rows;
        while left != 0 {
            let bit = left.trailing_zeros();
            answers |= u64::from(accepts(first + bit as usize)) << bit;
            left &= left - 1;
        }
    };
    match asked.page {
        Page::Columns(columns) => {
            if let Some(text) = columns.text(check.field) {
                each(&|row| text.accepts(&check.check, row));
            }
        }
        Page::Rows(page) => each(&|row| accepts(page, asked.schema, check, row)),
    }
    answers
}

/// True when the bytes of a row satisfy a check.
fn accepts(page: RowsPage<'_>, schema: &Schema, check: &FieldCheck, row: usize) -> bool {
    let words = page.row(row);
    let place = schema.place(check.field);
    let is_null = |bit: u32| words[bit as usize / 64] >> (bit % 64) & 1 == 1;
    if place.null_bit.is_some_and(is_null) {
        return false;
    }
    let number = place.at as usize;
    let [begin, end] = [number, number + 1].map(|number| {
        let (word, shift) = schema.offset_place(number);
        (words[word] >> shift) as u32 as usize
    });
    bytes_of(words).get(begin..end).is_some_and(|bytes| check.check.accepts_bytes(bytes))
}

/// The bytes of words, the lowest of each first: as they lie in memory on both processors that
/// there is code for.
fn bytes_of(words: &[u64]) -> &[u8] {
    const { assert!(cfg!(target_endian = "little"), "rows are read as bytes") }
    // SAFETY: these are the bytes of `words`, all of which have a value; bytes need no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}
