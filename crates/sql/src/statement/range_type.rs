//! CREATE TYPE ... AS RANGE.

use types::{ElementType, RangeOptions};

use super::RelationName;

/// A type of ranges that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRange {
    /// Its name.
    pub name: RelationName,
    /// Name of the type of multiranges; None for one that the name of the type gives.
    pub multirange: Option<RelationName>,
    /// The type of the bounds.
    pub element: ElementType,
    /// Options that the catalog shows.
    pub options: RangeOptions,
}
