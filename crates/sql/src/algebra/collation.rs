//! Collation of a value, and why it has it.
//!
//! Elsewhere: how those of operands become that of an expression (`bind::collation`).
//! Source: PostgreSQL 15, 24.2.1.

use types::{Collation, DataType};

/// Collation of an expression, and why it has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Derived {
    /// Nothing gives it another one than the usual one.
    #[default]
    Usual,
    /// A column or variable gives it.
    Implicit(Collation),
    /// Two columns give each its own, and none goes before the other.
    Conflict(Collation, Collation),
    /// COLLATE says it.
    Explicit(Collation),
}

impl Derived {
    /// The one of values whose column or variable has `collation`.
    pub fn implied(collation: Option<Collation>) -> Self {
        match collation {
            Some(collation) if !collation.is_usual() => Self::Implicit(collation),
            _ => Self::Usual,
        }
    }

    /// Collation of a column that has the values.
    pub fn of_column(self) -> Self {
        match self {
            Self::Explicit(collation) => Self::implied(Some(collation)),
            other => other,
        }
    }

    /// The collation, unless there are two; None is the usual one.
    pub fn only(self) -> Option<Collation> {
        match self {
            Self::Usual | Self::Conflict(..) => None,
            Self::Implicit(collation) | Self::Explicit(collation) => {
                Some(collation).filter(|collation| !collation.is_usual())
            }
        }
    }

    /// How much an answer depends on it: one that is not deterministic more than one of a
    /// language, and two of them more than one.
    pub fn weight(self) -> u8 {
        match self {
            Self::Implicit(c) | Self::Explicit(c) if c.has_own_equality() => 3,
            Self::Conflict(a, b) if a.has_own_equality() || b.has_own_equality() => 4,
            Self::Conflict(..) => 2,
            Self::Implicit(c) | Self::Explicit(c) => u8::from(!c.is_of_bytes()),
            Self::Usual => 0,
        }
    }
}

/// True for types whose values have collations; of arrays those of their elements count.
pub fn is_collatable(ty: DataType) -> bool {
    use DataType as T;
    let value = ty.element().unwrap_or(ty);
    matches!(value, T::Text | T::Varchar(_) | T::Char(_) | T::Unknown)
}
