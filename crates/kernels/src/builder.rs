//! Collects values and vectors of one type into a [`Vector`].

use types::{Interval, PhysicalType, Value};

use crate::{Bitmap, StrBuilder, Vector, VectorData};

#[derive(Debug)]
enum Data {
    Bool(Vec<u8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I128(Vec<i128>),
    F64(Vec<f64>),
    Str(StrBuilder),
    Interval(Vec<Interval>),
}

/// A growing column.
#[derive(Debug)]
pub struct VectorBuilder {
    data: Data,
    validity: Option<Bitmap>,
    rows: usize,
}

impl VectorBuilder {
    /// An empty column of type `physical`.
    pub fn new(physical: PhysicalType) -> Self {
        Self::with_capacity(physical, 0)
    }

    /// An empty column with room for `rows`.
    pub fn with_capacity(physical: PhysicalType, rows: usize) -> Self {
        let data = match physical {
            PhysicalType::Bool => Data::Bool(Vec::with_capacity(rows)),
            PhysicalType::I32 => Data::I32(Vec::with_capacity(rows)),
            PhysicalType::I64 => Data::I64(Vec::with_capacity(rows)),
            PhysicalType::I128 => Data::I128(Vec::with_capacity(rows)),
            PhysicalType::F64 => Data::F64(Vec::with_capacity(rows)),
            PhysicalType::Str => Data::Str(StrBuilder::with_capacity(rows)),
            PhysicalType::Interval => Data::Interval(Vec::with_capacity(rows)),
        };
        Self { data, validity: None, rows: 0 }
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// True when there are no rows yet.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes held: values, views and string memory.
    pub fn bytes(&self) -> usize {
        match &self.data {
            Data::Bool(v) => v.capacity(),
            Data::I32(v) => v.capacity() * 4,
            Data::I64(v) => v.capacity() * 8,
            Data::F64(v) => v.capacity() * 8,
            Data::I128(v) => v.capacity() * 16,
            Data::Interval(v) => v.capacity() * 16,
            Data::Str(v) => v.len() * 16 + v.heap_bytes(),
        }
    }

    fn note(&mut self, valid: bool) {
        match &mut self.validity {
            Some(bits) => bits.push(valid),
            None if !valid => {
                let mut bits = Bitmap::filled(self.rows, true);
                bits.push(false);
                self.validity = Some(bits);
            }
            None => {}
        }
        self.rows += 1;
    }

    /// Appends NULL.
    pub fn push_null(&mut self) {
        match &mut self.data {
            Data::Bool(v) => v.push(0),
            Data::I32(v) => v.push(0),
            Data::I64(v) => v.push(0),
            Data::I128(v) => v.push(0),
            Data::F64(v) => v.push(0.0),
            Data::Str(v) => v.push(b""),
            Data::Interval(v) => v.push(Interval::default()),
        }
        self.note(false);
    }

    /// Appends a string.
    ///
    /// # Panics
    /// If the column is not of strings.
    #[inline]
    pub fn push_str(&mut self, bytes: &[u8]) {
        match &mut self.data {
            Data::Str(v) => v.push(bytes),
            other => panic!("expected Str, found {:?}", std::mem::discriminant(other)),
        }
        self.note(true);
    }

    /// Appends `value`; an integer is widened to the column's type.
    ///
    /// # Panics
    /// If `value` is of another type.
    pub fn push_value(&mut self, value: &Value) {
        match (&mut self.data, value) {
            (_, Value::Null) => return self.push_null(),
            (Data::Bool(v), Value::Bool(x)) => v.push(u8::from(*x)),
            (Data::I32(v), Value::I32(x)) => v.push(*x),
            (Data::I64(v), Value::I64(x)) => v.push(*x),
            (Data::I64(v), Value::I32(x)) => v.push(i64::from(*x)),
            (Data::I128(v), Value::I128(x)) => v.push(*x),
            (Data::I128(v), Value::I64(x)) => v.push(i128::from(*x)),
            (Data::I128(v), Value::I32(x)) => v.push(i128::from(*x)),
            (Data::F64(v), Value::F64(x)) => v.push(*x),
            (Data::Str(v), Value::Str(x)) => v.push(x),
            (Data::Interval(v), Value::Interval(x)) => v.push(*x),
            (data, value) => panic!("{value:?} in a column {:?}", std::mem::discriminant(data)),
        }
        self.note(true);
    }

    /// Appends the rows of `source` at `positions`, or all rows.
    ///
    /// # Panics
    /// If `source` is of another type.
    pub fn append(&mut self, source: &Vector, positions: Option<&[u32]>) {
        fn add<T: Copy>(target: &mut Vec<T>, source: &[T], positions: Option<&[u32]>) {
            match positions {
                None => target.extend_from_slice(source),
                Some(p) => target.extend(p.iter().map(|&p| source[p as usize])),
            }
        }
        match (&mut self.data, &source.data) {
            (Data::Bool(t), VectorData::Bool(s)) => add(t, s, positions),
            (Data::I32(t), VectorData::I32(s)) => add(t, s, positions),
            (Data::I64(t), VectorData::I64(s)) => add(t, s, positions),
            (Data::I128(t), VectorData::I128(s)) => add(t, s, positions),
            (Data::F64(t), VectorData::F64(s)) => add(t, s, positions),
            (Data::Interval(t), VectorData::Interval(s)) => add(t, s, positions),
            (Data::Str(t), VectorData::Str(s)) => t.append(s, positions),
            (t, _) => panic!("{:?} into {:?}", source.physical(), std::mem::discriminant(t)),
        }
        self.append_validity(source, positions);
    }

    fn append_validity(&mut self, source: &Vector, positions: Option<&[u32]>) {
        let rows = positions.map_or(source.len(), <[u32]>::len);
        if source.validity.is_some() || self.validity.is_some() {
            let bits = self.validity.get_or_insert_with(|| Bitmap::filled(self.rows, true));
            match (&source.validity, positions) {
                (None, _) => bits.extend_filled(rows, true),
                (Some(v), None) => bits.extend(v),
                (Some(v), Some(p)) => bits.extend(&v.gather(p)),
            }
        }
        self.rows += rows;
    }

    /// Takes back all rows from number `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        if rows >= self.rows {
            return;
        }
        match &mut self.data {
            Data::Bool(v) => v.truncate(rows),
            Data::I32(v) => v.truncate(rows),
            Data::I64(v) => v.truncate(rows),
            Data::I128(v) => v.truncate(rows),
            Data::F64(v) => v.truncate(rows),
            Data::Str(v) => v.truncate(rows),
            Data::Interval(v) => v.truncate(rows),
        }
        if let Some(bits) = &mut self.validity {
            *bits = bits.slice(0, rows);
        }
        self.rows = rows;
    }

    /// The column of all rows pushed.
    pub fn finish(self) -> Vector {
        let data = match self.data {
            Data::Bool(v) => VectorData::Bool(v),
            Data::I32(v) => VectorData::I32(v),
            Data::I64(v) => VectorData::I64(v),
            Data::I128(v) => VectorData::I128(v),
            Data::F64(v) => VectorData::F64(v),
            Data::Str(v) => VectorData::Str(v.finish()),
            Data::Interval(v) => VectorData::Interval(v),
        };
        Vector::with_validity(data, self.validity)
    }

    /// As [`Self::finish`], but string memory counts as pinned: batches that take strings from the
    /// result share its memory. For build sides, sorted runs and group keys.
    pub fn finish_pinned(self) -> Vector {
        let Self { data, validity, rows } = self;
        match data {
            Data::Str(v) => Vector::with_validity(VectorData::Str(v.finish_pinned()), validity),
            data => Self { data, validity, rows }.finish(),
        }
    }
}

impl Vector {
    /// No rows of type `physical`.
    pub fn empty(physical: PhysicalType) -> Self {
        VectorBuilder::new(physical).finish()
    }

    /// `rows` times `value`.
    pub fn repeat(physical: PhysicalType, value: &Value, rows: usize) -> Self {
        let mut builder = VectorBuilder::new(physical);
        (0..rows).for_each(|_| builder.push_value(value));
        builder.finish()
    }
}
