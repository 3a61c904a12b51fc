//! The comparison operators, from the parser to the kernels.

use std::cmp::Ordering;

/// The comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// IS DISTINCT FROM: never NULL.
    Distinct,
    /// IS NOT DISTINCT FROM: never NULL.
    NotDistinct,
}

impl CompareOp {
    /// The operator that gives the same with operands exchanged.
    #[inline]
    #[must_use]
    pub fn exchanged(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            other => other,
        }
    }

    /// The operator that is true where this one is false, and false where it is true.
    #[must_use]
    pub fn inverse(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterEqual,
            Self::LessEqual => Self::Greater,
            Self::Greater => Self::LessEqual,
            Self::GreaterEqual => Self::Less,
            Self::Distinct => Self::NotDistinct,
            Self::NotDistinct => Self::Distinct,
        }
    }

    /// True when operands that are in the order `ordering` satisfy it.
    #[inline]
    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal | Self::NotDistinct => ordering.is_eq(),
            Self::NotEqual | Self::Distinct => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterEqual => ordering.is_ge(),
        }
    }

    /// The operator in SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Distinct => "IS DISTINCT FROM",
            Self::NotDistinct => "IS NOT DISTINCT FROM",
        }
    }
}
