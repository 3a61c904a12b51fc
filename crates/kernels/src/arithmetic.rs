//! Arithmetic on integers and floating point.
//!
//! Operands have equally many rows, or one row that counts for all. Loops compute all rows and note
//! whether one failed; only then rows are looked at one by one, because a NULL row never fails.
//!
//! Elsewhere: NUMERIC with checks (`numeric`); here only its sums and products that cannot
//! overflow.

mod float;
mod integer;
mod scaled;
#[cfg(test)]
mod tests;

pub use float::{float, negate_float};
pub use integer::{abs, bit_not, integer, negate, shift};
pub use scaled::{power_of_ten, scaled};

use types::{Error, SqlState};

use crate::{Vector, broadcast};

/// The operators on two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`, integers towards zero.
    Divide,
    /// `a % b` with the sign of `a`; integers only.
    Modulo,
    /// `a & b`; integers only.
    BitAnd,
    /// `a | b`; integers only.
    BitOr,
    /// `a # b`; integers only.
    BitXor,
}

/// Direction of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shift {
    /// `a << n`
    Left,
    /// `a >> n`
    Right,
}

fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

fn out_of_range(what: &str) -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("{what} out of range"))
}

/// The first error of `check(row of a, row of b)` among the rows where both are valid.
#[cold]
fn first_error(
    a: &Vector,
    b: &Vector,
    check: impl Fn(usize, usize) -> Option<Error>,
) -> Option<Error> {
    let (len_a, len_b) = (a.len(), b.len());
    (0..broadcast::rows(len_a, len_b)).find_map(|i| {
        let (i, j) = (broadcast::row(len_a, i), broadcast::row(len_b, i));
        if a.is_null(i) || b.is_null(j) { None } else { check(i, j) }
    })
}
