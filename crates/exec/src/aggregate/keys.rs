//! Keys of groups: columns to words or bytes and back.
//!
//! ```text
//! one column         its value in 64 or 128 bits, NULL apart
//! several columns  | value, null bit | value, null bit | 64 or 128 bits; strings by id, NULL 0
//! wider              bytes: | null byte, value | length + 1, bytes (0 = NULL) | ...
//! ```
//! Intervals are keyed by the length that they compare by; a value of each group is kept beside.

use std::sync::Arc;

use kernels::group_table::{BytesTable, FixedKey, FixedTable, PairKey, RowBytes};
use kernels::{Bitmap, Column, Vector, VectorBuilder, VectorData};
use types::{Interval, PhysicalType};

use super::intern::{Dictionary, STRINGS_MAX};

/// Bits of a string's id in a key: few, so that keys of several columns are words.
pub(super) const ID_BITS: u32 = STRINGS_MAX.ilog2() + 1;
/// An id at the end of a word.
pub(super) const ID_MASK: u32 = (1 << ID_BITS) - 1;

/// How keys are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// One word.
    U64,
    /// Two words.
    U128,
    /// Bytes.
    Bytes,
}

/// Where a column lies in a key of words.
#[derive(Clone, Copy, Debug)]
struct Field {
    physical: PhysicalType,
    shift: u32,
    /// Bit that says NULL; none for a lone column and for strings.
    null_bit: Option<u32>,
}

/// The layout of a key.
#[derive(Clone, Debug)]
pub(crate) struct KeyLayout {
    fields: Vec<Field>,
    form: KeyForm,
}

fn bits(physical: PhysicalType) -> u32 {
    match physical {
        PhysicalType::Bool => 1,
        PhysicalType::Str => ID_BITS,
        PhysicalType::I32 => 32,
        PhysicalType::I64 | PhysicalType::F64 => 64,
        PhysicalType::I128 | PhysicalType::Interval => 128,
    }
}

impl KeyLayout {
    /// The narrowest layout of columns held as `physical`, not empty.
    pub(crate) fn new(physical: &[PhysicalType]) -> Self {
        let mut shift = 0;
        let alone = physical.len() == 1;
        let mut fields = Vec::with_capacity(physical.len());
        for &physical in physical {
            let mut field = Field { physical, shift, null_bit: None };
            shift += bits(physical);
            if !alone && physical != PhysicalType::Str {
                field.null_bit = Some(shift);
                shift += 1;
            }
            fields.push(field);
        }
        let form = match shift {
            0..=64 => KeyForm::U64,
            65..=128 => KeyForm::U128,
            _ => KeyForm::Bytes,
        };
        Self { fields, form }
    }

    /// The form.
    pub(crate) fn form(&self) -> KeyForm {
        self.form
    }

    /// Dictionaries for reading a key without strings: none for any column.
    pub(crate) fn no_dictionaries(&self) -> Vec<Option<Dictionary>> {
        vec![None; self.fields.len()]
    }

    /// The same columns as bytes.
    pub(crate) fn as_bytes(&self) -> Self {
        Self { fields: self.fields.clone(), form: KeyForm::Bytes }
    }
}

/// A word that keys are packed into.
pub(crate) trait Word: FixedKey {
    fn place(&mut self, value: u128, shift: u32);
    fn wide(self) -> u128;
}

impl Word for u64 {
    #[inline(always)]
    fn place(&mut self, value: u128, shift: u32) {
        *self |= (value as u64) << shift;
    }
    #[inline(always)]
    fn wide(self) -> u128 {
        u128::from(self)
    }
}

impl Word for PairKey {
    #[inline(always)]
    fn place(&mut self, value: u128, shift: u32) {
        let value = value << shift;
        self[0] |= value as u64;
        self[1] |= (value >> 64) as u64;
    }
    #[inline(always)]
    fn wide(self) -> u128 {
        u128::from(self[0]) | u128::from(self[1]) << 64
    }
}

#[inline(always)]
fn canonical(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

fn place_all<W: Word>(
    words: &mut [W],
    values: impl Iterator<Item = u128>,
    validity: Option<&Bitmap>,
    field: Field,
) {
    match validity {
        None => words.iter_mut().zip(values).for_each(|(w, v)| w.place(v, field.shift)),
        Some(valid) => {
            for (i, (word, value)) in words.iter_mut().zip(values).enumerate() {
                if valid.get(i) {
                    word.place(value, field.shift);
                } else if let Some(bit) = field.null_bit {
                    word.place(1, bit);
                }
            }
        }
    }
}

/// A key column: plain values, or ids of strings.
pub(crate) enum KeyColumn<'a> {
    /// Values.
    Values(std::borrow::Cow<'a, Vector>),
    /// Ids, NULL 0.
    Ids(&'a [u32]),
}

/// The keys of all rows, and which rows are not NULL when that is apart.
pub(crate) fn pack<W: Word>(
    layout: &KeyLayout,
    columns: &[KeyColumn<'_>],
    rows: usize,
    words: &mut Vec<W>,
) -> Option<Bitmap> {
    words.clear();
    words.resize(rows, W::default());
    for (field, column) in layout.fields.iter().zip(columns) {
        let vector = match column {
            KeyColumn::Ids(ids) => {
                place_all(words, ids.iter().map(|&id| u128::from(id)), None, *field);
                continue;
            }
            KeyColumn::Values(vector) => vector,
        };
        let valid = vector.validity.as_ref();
        match &vector.data {
            VectorData::Bool(v) => place_all(words, v.iter().map(|&x| x.into()), valid, *field),
            VectorData::I32(v) => {
                place_all(words, v.iter().map(|&x| (x as u32).into()), valid, *field);
            }
            VectorData::I64(v) => {
                place_all(words, v.iter().map(|&x| (x as u64).into()), valid, *field);
            }
            VectorData::F64(v) => {
                place_all(words, v.iter().map(|&x| canonical(x).into()), valid, *field);
            }
            VectorData::I128(v) => place_all(words, v.iter().map(|&x| x as u128), valid, *field),
            VectorData::Interval(v) => {
                place_all(words, v.iter().map(|x| x.comparable() as u128), valid, *field);
            }
            VectorData::Str(_) => debug_assert!(false, "strings are keyed by id"),
        }
    }
    match columns {
        [KeyColumn::Values(vector)] => vector.validity.clone(),
        _ => None,
    }
}

/// An interval of this comparable length: equal to all others of the group.
fn as_long_as(length: i128) -> Interval {
    const DAY: i128 = 86_400_000_000;
    let within = |value: i128| value.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    let months = within(length / (30 * DAY));
    let rest = length - i128::from(months) * 30 * DAY;
    let days = within(rest / DAY);
    Interval { months, days, micros: (rest - i128::from(days) * DAY) as i64 }
}

/// The column of one field from words; `nulls` are rows that are NULL apart.
fn unpack<W: Word>(
    field: Field,
    words: impl Iterator<Item = W> + Clone,
    rows: usize,
    is_null: impl Fn(usize) -> bool,
    dictionary: Option<&Dictionary>,
) -> Column {
    let values = words.clone().map(|w| w.wide() >> field.shift);
    let data = match field.physical {
        PhysicalType::Str => {
            let ids = values.map(|v| v as u32 & ID_MASK).collect();
            let entries = dictionary.map_or_else(Dictionary::none, |d| d.entries());
            return Column::Dictionary(Arc::new(ids), entries);
        }
        PhysicalType::Bool => VectorData::Bool(values.map(|v| v as u8 & 1).collect()),
        PhysicalType::I32 => VectorData::I32(values.map(|v| v as i32).collect()),
        PhysicalType::I64 => VectorData::I64(values.map(|v| v as i64).collect()),
        PhysicalType::F64 => VectorData::F64(values.map(|v| f64::from_bits(v as u64)).collect()),
        PhysicalType::I128 => VectorData::I128(values.map(|v| v as i128).collect()),
        PhysicalType::Interval => {
            VectorData::Interval(values.map(|v| as_long_as(v as i128)).collect())
        }
    };
    let validity = match field.null_bit {
        Some(bit) => {
            let mut words = words;
            Bitmap::from_fn(rows, |_| words.next().is_some_and(|w| w.wide() >> bit & 1 == 0))
        }
        None => Bitmap::from_fn(rows, |i| !is_null(i)),
    };
    Column::plain(Vector::with_validity(data, Some(validity)))
}

/// Keys of a table or a run, by row.
#[derive(Clone, Copy)]
pub(crate) enum KeyView<'a> {
    /// Words, and the rows that are NULL apart, ascending.
    U64(&'a [u64], &'a [u32]),
    /// As `U64`.
    U128(&'a [PairKey], &'a [u32]),
    /// Bytes and their hashes.
    Bytes(&'a RowBytes, &'a [u64]),
}

impl KeyView<'_> {
    /// Rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U64(keys, _) => keys.len(),
            Self::U128(keys, _) => keys.len(),
            Self::Bytes(rows, _) => rows.len(),
        }
    }

    /// The rows of each of `2^bits` partitions by hash.
    pub(crate) fn partition(&self, bits: u32) -> Vec<Vec<u32>> {
        match self {
            Self::U64(keys, nulls) => scatter(keys.iter().map(|k| k.hash()), nulls, bits),
            Self::U128(keys, nulls) => scatter(keys.iter().map(|k| k.hash()), nulls, bits),
            Self::Bytes(_, hashes) => scatter(hashes.iter().copied(), &[], bits),
        }
    }

    /// The columns of the keys at `rows`.
    pub(crate) fn columns(
        &self,
        layout: &KeyLayout,
        dictionaries: &[Option<Dictionary>],
        rows: &[u32],
    ) -> Vec<Column> {
        let column = |number| self.column(layout, dictionaries, number, rows);
        match self {
            Self::Bytes(bytes, _) => decode_rows(layout, bytes, rows),
            _ => (0..layout.fields.len()).map(column).collect(),
        }
    }

    /// The column of key `number` of the keys at `rows`.
    pub(crate) fn column(
        &self,
        layout: &KeyLayout,
        dictionaries: &[Option<Dictionary>],
        number: usize,
        rows: &[u32],
    ) -> Column {
        let (field, dictionary) = (layout.fields[number], dictionaries[number].as_ref());
        match self {
            Self::U64(keys, nulls) => {
                let words = rows.iter().map(|&row| keys[row as usize]);
                let null = |i: usize| nulls.binary_search(&rows[i]).is_ok();
                unpack(field, words, rows.len(), null, dictionary)
            }
            Self::U128(keys, nulls) => {
                let words = rows.iter().map(|&row| keys[row as usize]);
                let null = |i: usize| nulls.binary_search(&rows[i]).is_ok();
                unpack(field, words, rows.len(), null, dictionary)
            }
            Self::Bytes(bytes, _) => {
                let mut cursors = starts(bytes, rows);
                for before in &layout.fields[..number] {
                    skip(before, &mut cursors);
                }
                read(&field, &mut cursors)
            }
        }
    }
}

fn scatter(hashes: impl Iterator<Item = u64>, nulls: &[u32], bits: u32) -> Vec<Vec<u32>> {
    let mut partitions = vec![Vec::new(); 1 << bits];
    let mut nulls = nulls.iter().peekable();
    for (row, hash) in hashes.enumerate() {
        let partition = if nulls.next_if(|&&n| n as usize == row).is_some() {
            0
        } else {
            // A shift by 64 is none at all: there is one partition then.
            hash.checked_shr(64 - bits).unwrap_or(0) as usize
        };
        partitions[partition].push(row as u32);
    }
    partitions
}

/// Distinct keys and their group numbers.
pub(crate) enum KeyTable {
    /// Words.
    U64(FixedTable<u64>),
    /// Two words.
    U128(FixedTable<PairKey>),
    /// Bytes.
    Bytes(BytesTable),
}

impl KeyTable {
    /// A table for keys of `form`, with room for `groups` before it grows.
    pub(crate) fn new(form: KeyForm, groups: usize) -> Self {
        match form {
            KeyForm::U64 => Self::U64(FixedTable::with_capacity(groups)),
            KeyForm::U128 => Self::U128(FixedTable::with_capacity(groups)),
            KeyForm::Bytes => Self::Bytes(BytesTable::with_capacity(groups)),
        }
    }

    /// Groups.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U64(table) => table.len(),
            Self::U128(table) => table.len(),
            Self::Bytes(table) => table.len(),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::U64(table) => table.bytes(),
            Self::U128(table) => table.bytes(),
            Self::Bytes(table) => table.bytes(),
        }
    }

    /// Forgets all groups.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::U64(table) => table.clear(),
            Self::U128(table) => table.clear(),
            Self::Bytes(table) => table.clear(),
        }
    }

    /// Replaces `groups` by the group of each key of `view`, which is of the same form.
    pub(crate) fn insert(&mut self, view: KeyView<'_>, groups: &mut Vec<u32>) {
        groups.clear();
        match (self, view) {
            (Self::U64(table), KeyView::U64(keys, nulls)) => {
                let valid = validity(keys.len(), nulls);
                table.find_or_insert_nullable(keys, valid.as_ref(), groups);
            }
            (Self::U128(table), KeyView::U128(keys, nulls)) => {
                let valid = validity(keys.len(), nulls);
                table.find_or_insert_nullable(keys, valid.as_ref(), groups);
            }
            (Self::Bytes(table), KeyView::Bytes(rows, hashes)) => {
                table.find_or_insert(rows, hashes, groups);
            }
            _ => unreachable!("keys of one aggregation have one form"),
        }
    }
}

fn validity(rows: usize, nulls: &[u32]) -> Option<Bitmap> {
    if nulls.is_empty() {
        return None;
    }
    let mut valid = Bitmap::filled(rows, true);
    nulls.iter().for_each(|&row| valid.set(row as usize, false));
    Some(valid)
}

/// Appends the bytes of each row of `columns`.
pub(crate) fn encode_rows(columns: &[Column], rows: usize, out: &mut RowBytes) {
    let vectors: Vec<_> = columns.iter().map(Column::to_vector).collect();
    let mut lengths = vec![0usize; rows];
    for vector in &vectors {
        match &vector.data {
            VectorData::Str(strings) => {
                for (i, length) in lengths.iter_mut().enumerate() {
                    let bytes = if vector.is_null(i) { 0 } else { strings.views()[i].len() };
                    *length += 4 + bytes;
                }
            }
            _ => {
                let width = 1 + width(vector.physical());
                lengths.iter_mut().for_each(|length| *length += width);
            }
        }
    }
    let (bytes, mut cursors) = out.extend_zeroed(&lengths);
    for vector in &vectors {
        write(vector, bytes, &mut cursors);
    }
}

/// Bytes of a value.
fn width(physical: PhysicalType) -> usize {
    match physical {
        PhysicalType::Bool => 1,
        PhysicalType::I32 => 4,
        PhysicalType::I64 | PhysicalType::F64 => 8,
        PhysicalType::I128 | PhysicalType::Interval => 16,
        PhysicalType::Str => 0,
    }
}

fn write_fixed<T: Copy, const N: usize>(
    vector: &Vector,
    values: &[T],
    target: (&mut [u8], &mut [usize]),
    encode: impl Fn(T) -> [u8; N],
) {
    let (bytes, cursors) = target;
    for (i, (cursor, &value)) in cursors.iter_mut().zip(values).enumerate() {
        if !vector.is_null(i) {
            bytes[*cursor] = 1;
            bytes[*cursor + 1..*cursor + 1 + N].copy_from_slice(&encode(value));
        }
        *cursor += 1 + N;
    }
}

fn write(vector: &Vector, bytes: &mut [u8], cursors: &mut [usize]) {
    let target = (&mut *bytes, &mut *cursors);
    match &vector.data {
        VectorData::Bool(v) => write_fixed(vector, v, target, |x| [x]),
        VectorData::I32(v) => write_fixed(vector, v, target, i32::to_le_bytes),
        VectorData::I64(v) => write_fixed(vector, v, target, i64::to_le_bytes),
        VectorData::I128(v) => write_fixed(vector, v, target, i128::to_le_bytes),
        VectorData::F64(v) => write_fixed(vector, v, target, |x| canonical(x).to_le_bytes()),
        VectorData::Interval(v) => {
            write_fixed(vector, v, target, |x| x.comparable().to_le_bytes());
        }
        VectorData::Str(strings) => {
            for (i, cursor) in cursors.iter_mut().enumerate() {
                if vector.is_null(i) {
                    *cursor += 4;
                    continue;
                }
                let text = strings.get(i);
                let length = text.len() as u32 + 1;
                bytes[*cursor..*cursor + 4].copy_from_slice(&length.to_le_bytes());
                bytes[*cursor + 4..*cursor + 4 + text.len()].copy_from_slice(text);
                *cursor += 4 + text.len();
            }
        }
    }
}

fn read_fixed<T: Default, const N: usize>(
    cursors: &mut [&[u8]],
    decode: impl Fn([u8; N]) -> T,
) -> (Vec<T>, Bitmap) {
    let mut valid = Bitmap::filled(cursors.len(), true);
    let mut values = Vec::with_capacity(cursors.len());
    for (i, cursor) in cursors.iter_mut().enumerate() {
        if cursor[0] == 0 {
            valid.set(i, false);
        }
        let field = cursor[1..].first_chunk::<N>();
        values.push(field.map_or_else(T::default, |field| decode(*field)));
        *cursor = &cursor[1 + N..];
    }
    (values, valid)
}

/// Bytes of the string in front; None for NULL.
fn text_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk::<4>().map_or(0, |l| u32::from_le_bytes(*l));
    length.checked_sub(1).map(|length| length as usize)
}

fn read_text(cursors: &mut [&[u8]]) -> Column {
    let mut builder = VectorBuilder::with_capacity(PhysicalType::Str, cursors.len());
    for cursor in cursors {
        let length = text_length(cursor);
        *cursor = &cursor[4..];
        match length {
            None => builder.push_null(),
            Some(length) => {
                let (text, rest) = cursor.split_at(length);
                builder.push_str(text);
                *cursor = rest;
            }
        }
    }
    Column::plain(builder.finish())
}

/// The bytes of the rows of `bytes` at `rows`.
fn starts<'a>(bytes: &'a RowBytes, rows: &[u32]) -> Vec<&'a [u8]> {
    rows.iter().map(|&row| bytes.get(row as usize)).collect()
}

/// Moves the cursors behind a field.
fn skip(field: &Field, cursors: &mut [&[u8]]) {
    let fixed = match field.physical {
        PhysicalType::Str => None,
        physical => Some(1 + width(physical)),
    };
    for cursor in cursors {
        *cursor = &cursor[fixed.unwrap_or_else(|| 4 + text_length(cursor).unwrap_or(0))..];
    }
}

/// The values of a field, behind which the cursors are moved.
fn read(field: &Field, cursors: &mut [&[u8]]) -> Column {
    let (data, valid) = match field.physical {
        PhysicalType::Str => return read_text(cursors),
        PhysicalType::Bool => {
            let (v, valid) = read_fixed(cursors, |[x]: [u8; 1]| x);
            (VectorData::Bool(v), valid)
        }
        PhysicalType::I32 => {
            let (v, valid) = read_fixed(cursors, i32::from_le_bytes);
            (VectorData::I32(v), valid)
        }
        PhysicalType::I64 => {
            let (v, valid) = read_fixed(cursors, i64::from_le_bytes);
            (VectorData::I64(v), valid)
        }
        PhysicalType::F64 => {
            let (v, valid) = read_fixed(cursors, f64::from_le_bytes);
            (VectorData::F64(v), valid)
        }
        PhysicalType::I128 => {
            let (v, valid) = read_fixed(cursors, i128::from_le_bytes);
            (VectorData::I128(v), valid)
        }
        PhysicalType::Interval => {
            let (v, valid) = read_fixed(cursors, |bytes| as_long_as(i128::from_le_bytes(bytes)));
            (VectorData::Interval(v), valid)
        }
    };
    Column::plain(Vector::with_validity(data, Some(valid)))
}

/// The columns of the rows of `bytes` at `rows`.
fn decode_rows(layout: &KeyLayout, bytes: &RowBytes, rows: &[u32]) -> Vec<Column> {
    let mut cursors = starts(bytes, rows);
    layout.fields.iter().map(|field| read(field, &mut cursors)).collect()
}
