//! Rows of a batch, read one by one.

use std::sync::Arc;

use kernels::{Batch, Column, Vector, VectorBuilder};
use storage::{Datum, Tid};

/// The columns of a batch as vectors, for access row by row.
pub struct Rows {
    vectors: Vec<Arc<Vector>>,
    /// Number of rows.
    pub count: usize,
}

impl Rows {
    /// The rows of `batch`, unpacked.
    pub fn new(batch: &Batch) -> Self {
        let vectors = batch.columns.iter().map(Column::to_plain).collect();
        Self { vectors, count: batch.rows }
    }

    /// The value of `column` in `row`.
    pub fn get(&self, column: usize, row: usize) -> Datum<'_> {
        Datum::of(&self.vectors[column], row)
    }

    /// The TID in column 0 of `row`; None for NULL.
    pub fn tid(&self, row: usize) -> Option<Tid> {
        match self.get(0, row) {
            Datum::I64(tid) => Some(Tid(tid as u64)),
            _ => None,
        }
    }

    /// A column as a whole.
    pub fn column(&self, column: usize) -> Column {
        Column::Plain(Arc::clone(&self.vectors[column]))
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.vectors.len()
    }

    /// Some rows of some columns.
    pub fn pick(&self, columns: std::ops::Range<usize>, rows: &[u32]) -> Vec<Column> {
        let pick = |vector: &Arc<Vector>| {
            let mut builder = VectorBuilder::with_capacity(vector.physical(), rows.len());
            builder.append(vector, Some(rows));
            Column::plain(builder.finish())
        };
        self.vectors[columns].iter().map(pick).collect()
    }
}

/// Appends a value.
pub fn push(builder: &mut VectorBuilder, datum: Datum<'_>) {
    match datum {
        Datum::Null => builder.push_null(),
        Datum::Str(bytes) => builder.push_str(bytes),
        other => builder.push_value(&other.to_value()),
    }
}
