//! Columns of values and the loops over them.
//!
//! ```text
//! Vector   one column of plain values, validity only where NULLs occur
//! Column   a Vector, one repeated value, or codes into a dictionary
//! Batch    Columns of equal length (about 2,048 rows), passed between operators
//! ```
//! Invariants: a kernel's types are fixed when it is chosen, once per batch; each SIMD kernel
//! equals its scalar twin; a validity bitmap, when present, has one bit per row, 1 = not NULL; the
//! value under a NULL is arbitrary but initialised.
//!
//! Elsewhere: stored rows (`storage`), operators (`exec`).

// Floors: lowest first.
mod bitmap;
mod strings;
mod vector;
mod batch;
mod builder;
mod level;
pub mod loops;
pub mod unpack;
pub mod select;
pub mod weave;
pub mod broadcast;
pub mod logic;
pub mod compare;
pub mod blend;
pub mod arithmetic;
pub mod hash;
pub mod keys;
pub mod sort_rows;
pub mod join_table;
pub mod group_table;
pub mod aggregate;
mod rows;
pub mod array_fn;
pub mod record_fn;
pub mod like;
pub mod math_fn;
pub mod numeric;
pub mod print;
pub mod regexp;
pub mod collate;
pub mod text_fn;
pub mod time_fn;
pub mod json_fn;
pub mod json_path;
pub mod wide;
pub mod extension_fn;
pub mod distance;
pub mod packed_fn;
pub mod cast;

pub use batch::{BATCH_ROWS, Batch, Column};
pub use bitmap::Bitmap;
pub use builder::VectorBuilder;
pub use level::{Level, level};
pub use strings::{HeapRef, StrBuilder, StrVector, StrView};
pub use vector::{Vector, VectorData};
