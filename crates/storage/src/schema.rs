//! Schema of a stored table: its columns and how its blocks are laid out.

use std::sync::Arc;

use types::{DataType, PhysicalType};

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// NULL is refused (23502).
    pub not_null: bool,
}

impl ColumnSpec {
    /// A column that takes NULL.
    pub fn new(name: impl Into<String>, ty: DataType) -> Self {
        Self { name: name.into(), ty, not_null: false }
    }

    /// How its rows look in memory.
    pub fn physical(&self) -> PhysicalType {
        self.ty.physical()
    }
}

/// The columns of a table, shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    columns: Arc<[ColumnSpec]>,
}

impl Schema {
    /// The schema of `columns`, in this order.
    pub fn new(columns: Vec<ColumnSpec>) -> Self {
        Self { columns: columns.into() }
    }

    /// The columns, by ordinal.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// How many columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// True without columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub(crate) fn physical(&self) -> Vec<PhysicalType> {
        self.columns.iter().map(ColumnSpec::physical).collect()
    }
}

impl From<Vec<ColumnSpec>> for Schema {
    fn from(columns: Vec<ColumnSpec>) -> Self {
        Self::new(columns)
    }
}

/// How the blocks of a table are laid out: `CREATE TABLE ... WITH (layout = ...)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Hot row stores.
    Row,
    /// Hot column stores.
    Column,
    /// Frozen blocks; an INSERT into a table with many small ones makes hot rows.
    Frozen,
    /// INSERT makes hot row stores, bulk loads make frozen blocks.
    #[default]
    Auto,
}

impl Layout {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Column => "column",
            Self::Frozen => "frozen",
            Self::Auto => "auto",
        }
    }

    /// The layout called `name` in SQL.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Row, Self::Column, Self::Frozen, Self::Auto].into_iter().find(|l| l.name() == name)
    }
}
