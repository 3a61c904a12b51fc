//! A page of columns as scans see it.
//!
//! Evaluators are given [`Columns`]; the pages themselves are elsewhere (`delta_main::column_map`).

use kernels::Bitmap;

use super::check::Check;

/// Values of a field of fixed width, NULLs arbitrary.
#[derive(Clone, Copy, Debug)]
pub enum FixedColumn<'a> {
    /// 16-bit integers.
    I16(&'a [i16]),
    /// 32-bit integers.
    I32(&'a [i32]),
    /// 64-bit integers.
    I64(&'a [i64]),
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
}

/// Where a text stands in the heap of its page, and how it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextMeta {
    /// Byte of the heap.
    pub offset: u32,
    /// Its first bytes, zeros behind a shorter one.
    pub prefix: [u8; 4],
}

/// Values of a field of variable size, NULLs empty.
#[derive(Clone, Copy, Debug)]
pub struct TextColumn<'a> {
    /// One for each row.
    pub metas: &'a [TextMeta],
    /// For each row the text that stands behind it in the heap.
    pub ends: &'a [TextMeta],
    /// Bytes of all texts of the page.
    pub heap: &'a [u8],
}

impl<'a> TextColumn<'a> {
    /// Bytes of the text of `row`.
    pub fn len_of(&self, row: usize) -> usize {
        (self.ends[row].offset - self.metas[row].offset) as usize
    }

    /// The text of `row`.
    pub fn bytes(&self, row: usize) -> &'a [u8] {
        &self.heap[self.metas[row].offset as usize..self.ends[row].offset as usize]
    }

    /// True when the text of `row` satisfies the check: its heap is read only if length and
    /// beginning do not decide.
    pub fn accepts(&self, check: &Check, row: usize) -> bool {
        check
            .accepts_prefix(&self.metas[row].prefix, self.len_of(row))
            .unwrap_or_else(|| check.accepts_bytes(self.bytes(row)))
    }
}

/// Rows as columns.
pub trait Columns {
    /// Rows.
    fn len(&self) -> usize;
    /// True without rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Their keys.
    fn keys(&self) -> &[u64];
    /// Rows whose field is not NULL; `None` when none is NULL.
    fn validity(&self, field: usize) -> Option<&Bitmap>;
    /// A field of fixed width.
    fn fixed(&self, field: usize) -> FixedColumn<'_>;
    /// A field of variable size; `None` for one of fixed width.
    fn text(&self, field: usize) -> Option<TextColumn<'_>>;
    /// Bounds of an integer field's values, those under NULLs included.
    fn bounds(&self, field: usize) -> Option<Bounds>;
}

/// Smallest and largest integer of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Smallest.
    pub low: i64,
    /// Largest.
    pub high: i64,
}

impl FixedColumn<'_> {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::I16(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row in the low bits, zeros above.
    #[inline]
    pub fn bits(&self, row: usize) -> u64 {
        match self {
            Self::I16(v) => u64::from(v[row] as u16),
            Self::I32(v) => u64::from(v[row] as u32),
            Self::I64(v) => v[row] as u64,
            Self::F32(v) => u64::from(v[row].to_bits()),
            Self::F64(v) => v[row].to_bits(),
        }
    }
}
