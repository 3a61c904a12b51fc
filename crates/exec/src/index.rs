//! Rows found by an index of a table: scans of a range, and joins that look their matches up.
//!
//! ```text
//! keys, bounds -> normalised bytes -> entries -> rows the snapshot sees -> batch -> restrictions
//! ```
//! An entry may lead to a row that has another key by now: storage gives a row only behind the
//! entry of the key that the snapshot sees, so that no row comes twice and the order is that of the
//! keys. Columns are read row by row: an index is for few rows, far apart.
//!
//! Elsewhere: choosing an index (`plan`), the entries (`storage::index`).

mod access;
mod elements;
mod join;
mod near;
mod scan;

pub(crate) use join::open as open_join;
pub(crate) use scan::{Walk, open as open_scan, open_walk};
