//! Indexes with expressions or WHERE that a table function may read in the place of all rows.

use super::ScanRestriction;

/// An index that has all rows that are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionOffer {
    /// Position in [`sql::catalog::BoundTableFunction::indexes`].
    pub index: usize,
    /// Restrictions of its expressions, whose `column` is the number of the expression.
    pub restrictions: Vec<ScanRestriction>,
}
