//! Tests of columns of inverted indexes, in [`super::IndexWay`].
//! Made by `lower::elements`, evaluated by `exec`.

use types::DataType;
use types::elements::{ElementClass, ElementTest};

use super::Expr;

/// A test of a column of an inverted index.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementCondition {
    /// Position of the column in the index.
    pub column: usize,
    /// Its operator class.
    pub class: ElementClass,
    /// Its type.
    pub of: DataType,
    /// The test.
    pub test: ElementTest,
    /// The constant that the column is tested against.
    pub operand: Expr,
}
