//! The vector whose nearest a near index finds, in [`super::IndexWay`].
//! Made by `lower::near`, evaluated by `exec`.

use super::Expr;

/// A vector from which distances are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct NearVector {
    /// The vector, a constant.
    pub from: Expr,
    /// Vectors that are looked for at least.
    pub breadth: u32,
}
