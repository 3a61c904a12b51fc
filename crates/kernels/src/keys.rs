//! Keys of several columns as one number per row, or as bytes that compare like the rows.
//!
//! ```text
//! pack  one u64 or u128 per row: | null bit, value | null bit, value | ... equal rows, equal words
//! sort  one byte string per row: | null byte, big-endian value | ...       memcmp is the row order
//! ```
//! Elsewhere: hashing (`hash`).

mod pack;
mod sort;

pub use pack::{KeyField, KeyLayout, Nulls};
pub use sort::{SortDirection, SortField, SortKeys, SortNulls, order_f64, order_i128};
