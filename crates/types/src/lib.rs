//! SQL types, values, and errors: what every other crate speaks about.
//!
//! A column has a [`DataType`] (what the user declared) and a [`PhysicalType`] (how rows of it look
//! in memory). The physical type follows from the data type, except that a computed NUMERIC may be
//! held narrower when the planner proves that its values fit.
//!
//! Elsewhere: columns of values (`kernels::vector`), stored values (`storage`).
#![forbid(unsafe_code)]

mod catalog_type;
mod compare_op;
mod data_type;
mod element_type;
mod error;
mod interval;
mod names;
mod value;
pub mod array;
pub mod budget;
pub mod calendar;
pub mod cast;
pub mod codec;
pub mod decimal;
pub mod json;
pub mod record;
pub mod stack;
pub mod text;
pub mod waiting;
pub mod wide;

pub use catalog_type::{
    NAME_BYTES_MAX, RegKind, byte_number, object_name, object_number, object_value, tid_of_row,
    truncated_name,
};
pub use compare_op::CompareOp;
pub use data_type::{DataType, NumericDisplay, NumericType, PhysicalType, WideDigits};
pub use element_type::ElementType;
pub use error::{About, Error, Position, Result, SqlState};
pub use interval::Interval;
pub use record::RecordType;
pub use value::Value;
