//! Operators that keep or make an order: sort, limit, DISTINCT ON, window functions.
//!
//! ```text
//! sort     rows -> sorted runs per worker -> ranges of keys, merged by the orders that read them
//!          too many: runs on disk, merged by one work order
//! top-k    rows below the threshold -> buffer per worker --full--> k best, new threshold
//! limit    waves of work orders until the first ones have given enough
//! walk     rows of an index in order until there are enough; too many entries: the sort
//! window   all rows -> sorted -> partitions in parallel -> back in input order
//! ```
//! Invariants: the stream of a sort is ordered by (segment, work order, arrival); rows of equal
//! keys come in any order.
//! Elsewhere: keys (`kernels::keys`), sorting of row numbers (`kernels::sort_rows`).

mod distinct_on;
mod limit;
mod parallel;
mod sort;
mod spilled;
#[cfg(test)]
mod tests;
mod top;
mod walk;
mod window;

use types::{Error, Result, SqlState, Value};

use crate::opener::Opener;
use plan::physical::Expr;

pub(crate) use distinct_on::open_distinct_on;
pub(crate) use limit::open_limit;
pub(crate) use sort::open_sort;
pub(crate) use walk::open_walk;
pub(crate) use window::open_window;

/// LIMIT and OFFSET as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// Rows to give; None without limit.
    limit: Option<u64>,
    /// Rows to leave out first.
    offset: u64,
}

impl Bounds {
    /// The values of LIMIT and OFFSET.
    fn new(opener: &Opener, limit: Option<&Expr>, offset: Option<&Expr>) -> Result<Self> {
        let number = |expr: Option<&Expr>, state: SqlState, name: &str| -> Result<Option<u64>> {
            let Some(expr) = expr else {
                return Ok(None);
            };
            let value = opener.constant(expr)?;
            if value == Value::Null {
                return Ok(None);
            }
            let number =
                value.as_integer().ok_or_else(|| Error::internal(format!("{name} is a number")))?;
            let negative = |_| Error::new(state, format!("{name} must not be negative"));
            u64::try_from(number).map(Some).map_err(negative)
        };
        Ok(Self {
            limit: number(limit, SqlState::INVALID_LIMIT, "LIMIT")?,
            offset: number(offset, SqlState::INVALID_OFFSET, "OFFSET")?.unwrap_or(0),
        })
    }

    /// Rows needed from the start; None when all.
    fn needed(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_add(self.offset))
    }

    /// The rows given of `rows`.
    fn range(&self, rows: u64) -> std::ops::Range<u64> {
        let start = self.offset.min(rows);
        let end = self.needed().unwrap_or(u64::MAX).min(rows);
        start..end.max(start)
    }
}
