//! Rows of a page by column: values of a field stand together, texts of a row stand together.
//!
//! ```text
//! fixed field    value | value | value | ...            bounds, if integers
//! text field     offset, first 4 bytes | ... | end       one entry more than rows
//! heap           texts of row 0, in the fields' order | texts of row 1 | ...
//! ```
//! A text ends where the next one of its row begins, or the first one of the next row; so a text is
//! found by two entries, and all texts of a row lie side by side.
//! Source: Pilman 2017, section 4.5. Departures: columns are slices of their own and not parts of
//! one page of bytes; validity is a bit; offsets ascend.

use kernels::Bitmap;

use super::page::{Body, DraftRows, Records};
use crate::scan::code::Form;
use crate::scan::{
    Bounds, Cell, Columns, FixedColumn, Share, TextColumn, TextMeta, Worker, copy_cell,
};
use crate::schema::{FieldType, Schema};
use crate::tuple::{TupleRef, TupleWriter};

/// A field of fixed width.
#[derive(Debug)]
enum Fixed {
    I16(Box<[i16]>),
    I32(Box<[i32]>),
    I64(Box<[i64]>),
    F32(Box<[f32]>),
    F64(Box<[f64]>),
}

/// Where the values of a field are.
#[derive(Debug)]
enum Column {
    Fixed {
        values: Fixed,
        bounds: Option<Bounds>,
    },
    /// Number among the text fields.
    Text(usize),
}

/// Values by column.
#[derive(Debug)]
pub struct ColumnBody {
    columns: Box<[Column]>,
    /// Rows that are not NULL, by field; `None` without NULLs.
    validity: Box<[Option<Bitmap>]>,
    /// By text field; each has one entry more than rows.
    metas: Box<[Box<[TextMeta]>]>,
    heap: Box<[u8]>,
}

/// Calls `f` with each row.
fn each<'a>(schema: &'a Schema, rows: &'a DraftRows, mut f: impl FnMut(TupleRef<'a, [u64]>)) {
    (0..rows.ends.len()).for_each(|row| f(TupleRef { schema, words: rows.get(row) }));
}

fn fixed(schema: &Schema, rows: &DraftRows, field: usize) -> Fixed {
    fn gather<T>(
        schema: &Schema,
        rows: &DraftRows,
        of: impl Fn(u64) -> T,
        field: usize,
    ) -> Box<[T]> {
        let mut values = Vec::with_capacity(rows.ends.len());
        each(schema, rows, |row| values.push(of(row.bits(field))));
        values.into()
    }
    match schema.fields()[field].field_type {
        FieldType::I16 => Fixed::I16(gather(schema, rows, |bits| bits as i16, field)),
        FieldType::I32 => Fixed::I32(gather(schema, rows, |bits| bits as i32, field)),
        FieldType::I64 | FieldType::Bytes => {
            Fixed::I64(gather(schema, rows, |bits| bits as i64, field))
        }
        FieldType::F32 => {
            Fixed::F32(gather(schema, rows, |bits| f32::from_bits(bits as u32), field))
        }
        FieldType::F64 => Fixed::F64(gather(schema, rows, f64::from_bits, field)),
    }
}

fn bounds(values: &Fixed) -> Option<Bounds> {
    fn of<T: Copy + Ord + Into<i64>>(values: &[T]) -> Option<Bounds> {
        let (low, high) = (values.iter().min()?, values.iter().max()?);
        Some(Bounds { low: (*low).into(), high: (*high).into() })
    }
    match values {
        Fixed::I16(v) => of(v),
        Fixed::I32(v) => of(v),
        Fixed::I64(v) => of(v),
        Fixed::F32(_) | Fixed::F64(_) => None,
    }
}

fn validity(schema: &Schema, rows: &DraftRows, field: usize) -> Option<Bitmap> {
    let mut bits = Bitmap::default();
    each(schema, rows, |row| bits.push(!row.is_null(field)));
    (!bits.all()).then_some(bits)
}

impl Body for ColumnBody {
    fn build(schema: &Schema, rows: &DraftRows) -> Self {
        let texts: Vec<usize> = (0..schema.fields().len())
            .filter(|field| schema.fields()[*field].field_type == FieldType::Bytes)
            .collect();
        let columns = (0..schema.fields().len()).map(|field| {
            texts.iter().position(|text| *text == field).map_or_else(
                || {
                    let values = fixed(schema, rows, field);
                    Column::Fixed { bounds: bounds(&values), values }
                },
                Column::Text,
            )
        });
        let columns = columns.collect();
        let validity = (0..schema.fields().len()).map(|field| validity(schema, rows, field));
        let validity = validity.collect();
        let (mut heap, mut metas) = (Vec::new(), vec![Vec::new(); texts.len()]);
        each(schema, rows, |row| {
            for (metas, field) in metas.iter_mut().zip(&texts) {
                let offset = heap.len();
                row.bytes_into(*field, &mut heap);
                metas.push(meta(offset, &heap[offset..]));
            }
        });
        metas.iter_mut().for_each(|metas| metas.push(meta(heap.len(), &[])));
        let metas = metas.into_iter().map(Into::into).collect();
        Self { columns, validity, metas, heap: heap.into() }
    }

    fn row(&self, schema: &Schema, row: usize, writer: &mut TupleWriter) {
        writer.begin(schema);
        for field in 0..self.columns.len() {
            let cell = Cell { field, row, target: field };
            copy_cell(&PageColumns { body: self, keys: &[] }, cell, schema, writer);
        }
        writer.finished(schema);
    }

    const FORM: Form = Form::Columns;

    fn scan(&self, page: &Records, shares: &[Share<'_>], worker: &mut Worker<'_, '_>) {
        worker.columns_page(&PageColumns { body: self, keys: page.row_keys() }, shares);
    }

    fn bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::bytes).sum();
        let metas: usize = self.metas.iter().map(|metas| size_of_val(&**metas)).sum();
        let validity: usize =
            self.validity.iter().flatten().map(|bits| size_of_val(bits.words())).sum();
        columns + metas + validity + self.heap.len()
    }
}

fn meta(offset: usize, bytes: &[u8]) -> TextMeta {
    let mut prefix = [0; 4];
    let known = bytes.len().min(4);
    prefix[..known].copy_from_slice(&bytes[..known]);
    TextMeta { offset: offset as u32, prefix }
}

impl Column {
    fn bytes(&self) -> usize {
        match self {
            Self::Fixed { values: Fixed::I16(v), .. } => size_of_val(&**v),
            Self::Fixed { values: Fixed::I32(v), .. } => size_of_val(&**v),
            Self::Fixed { values: Fixed::I64(v), .. } => size_of_val(&**v),
            Self::Fixed { values: Fixed::F32(v), .. } => size_of_val(&**v),
            Self::Fixed { values: Fixed::F64(v), .. } => size_of_val(&**v),
            Self::Text(_) => 0,
        }
    }
}

impl ColumnBody {
    fn text_column(&self, number: usize) -> TextColumn<'_> {
        let rows = self.metas[number].len() - 1;
        let ends = self.metas.get(number + 1).map_or_else(|| &self.metas[0][1..], |m| &m[..rows]);
        TextColumn { metas: &self.metas[number][..rows], ends, heap: &self.heap }
    }
}

/// Values of a page, with the keys that partitions are made by.
struct PageColumns<'a> {
    body: &'a ColumnBody,
    keys: &'a [u64],
}

impl Columns for PageColumns<'_> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn keys(&self) -> &[u64] {
        self.keys
    }

    fn validity(&self, field: usize) -> Option<&Bitmap> {
        self.body.validity[field].as_ref()
    }

    fn fixed(&self, field: usize) -> FixedColumn<'_> {
        match &self.body.columns[field] {
            Column::Fixed { values: Fixed::I16(v), .. } => FixedColumn::I16(v),
            Column::Fixed { values: Fixed::I32(v), .. } => FixedColumn::I32(v),
            Column::Fixed { values: Fixed::I64(v), .. } => FixedColumn::I64(v),
            Column::Fixed { values: Fixed::F32(v), .. } => FixedColumn::F32(v),
            Column::Fixed { values: Fixed::F64(v), .. } => FixedColumn::F64(v),
            // A field of variable size has no values of fixed width.
            Column::Text(_) => FixedColumn::I64(&[]),
        }
    }

    fn text(&self, field: usize) -> Option<TextColumn<'_>> {
        match self.body.columns[field] {
            Column::Text(number) => Some(self.body.text_column(number)),
            Column::Fixed { .. } => None,
        }
    }

    fn bounds(&self, field: usize) -> Option<Bounds> {
        match self.body.columns[field] {
            Column::Fixed { bounds, .. } => bounds,
            Column::Text(_) => None,
        }
    }
}
