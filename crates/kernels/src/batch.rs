//! Rows as columns, passed between operators.

use std::borrow::Cow;
use std::sync::Arc;

use crate::{Vector, VectorData};

/// Rows per batch: working sets of a few columns stay between L1 and L2 (hyper-adaptive 10.8).
pub const BATCH_ROWS: usize = 2048;

/// One column of a batch.
#[derive(Clone, Debug)]
pub enum Column {
    /// One value per row.
    Plain(Arc<Vector>),
    /// One value, row 0 of the vector, for all `rows`.
    Constant(Arc<Vector>, usize),
    /// Row `i` has value `codes[i]` of the dictionary. A dictionary is shared by many batches, may
    /// hold NULL (an invalid entry), and is sorted when it comes from a frozen block.
    Dictionary(Arc<Vec<u32>>, Arc<Vector>),
}

impl Column {
    /// A plain column.
    pub fn plain(vector: Vector) -> Self {
        Self::Plain(Arc::new(vector))
    }

    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Plain(v) => v.len(),
            Self::Constant(_, rows) => *rows,
            Self::Dictionary(codes, _) => codes.len(),
        }
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vector of all rows, built when the column is not plain.
    pub fn to_vector(&self) -> Cow<'_, Vector> {
        match self {
            Self::Plain(v) => Cow::Borrowed(v),
            Self::Constant(v, rows) => Cow::Owned(v.gather(&vec![0; *rows])),
            Self::Dictionary(codes, v) => Cow::Owned(v.gather(codes)),
        }
    }

    /// As [`Self::to_vector`], shared.
    pub fn to_plain(&self) -> Arc<Vector> {
        match self {
            Self::Plain(v) => Arc::clone(v),
            other => Arc::new(other.to_vector().into_owned()),
        }
    }

    /// The physical type.
    pub fn physical(&self) -> types::PhysicalType {
        match self {
            Self::Plain(v) | Self::Constant(v, _) | Self::Dictionary(_, v) => v.physical(),
        }
    }

    /// The rows at `positions`; constants and dictionaries stay so.
    #[must_use]
    pub fn gather(&self, positions: &[u32]) -> Self {
        match self {
            Self::Plain(v) => Self::plain(v.gather(positions)),
            Self::Constant(v, _) => Self::Constant(Arc::clone(v), positions.len()),
            Self::Dictionary(codes, v) => {
                let codes = positions.iter().map(|&p| codes[p as usize]).collect();
                Self::Dictionary(Arc::new(codes), Arc::clone(v))
            }
        }
    }

    /// The value of row `i`: for output, never in a loop over many rows.
    pub fn value(&self, i: usize) -> types::Value {
        match self {
            Self::Plain(v) => v.value(i),
            Self::Constant(v, _) => v.value(0),
            Self::Dictionary(codes, v) => v.value(codes[i] as usize),
        }
    }
}

impl From<VectorData> for Column {
    fn from(data: VectorData) -> Self {
        Self::plain(Vector::new(data))
    }
}

/// Columns of equal length.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The columns, in schema order.
    pub columns: Vec<Column>,
    /// Rows; needed beside the columns because there may be none.
    pub rows: usize,
}

impl Batch {
    /// The batch of `columns`, each of `rows` rows.
    pub fn new(columns: Vec<Column>, rows: usize) -> Self {
        debug_assert!(columns.iter().all(|c| c.len() == rows));
        Self { columns, rows }
    }

    /// The rows at `positions`.
    #[must_use]
    pub fn gather(&self, positions: &[u32]) -> Self {
        let columns = self.columns.iter().map(|c| c.gather(positions)).collect();
        Self { columns, rows: positions.len() }
    }
}
