//! SQL types, values, and errors: what every other crate speaks about.
//!
//! A column has a [`DataType`] (what the user declared) and a [`PhysicalType`] (how rows of it look
//! in memory). The physical type follows from the data type, except that a computed NUMERIC may be
//! held narrower when the planner proves that its values fit.
//!
//! Elsewhere: columns of values (`kernels::vector`), stored values (`storage`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod error;
mod data_type;
mod compare_op;
mod characters;
mod collation;
mod interval;
mod names;
mod value;
mod catalog_type;
mod element_query;
pub mod trigram;
pub mod budget;
pub mod charset;
pub mod codec;
pub mod decimal;
pub mod calendar;
pub mod json;
pub mod stack;
pub mod waiting;
pub mod wide;
pub mod json_path;
mod nearest;
pub mod array;
pub mod record;
pub mod packed;
pub mod text;
pub mod cast;
pub mod to_json;
pub mod elements;

pub use catalog_type::{
    NAME_BYTES_MAX, byte_number, object_name, object_number, object_value, tid_of_row,
    truncated_name, xid_of_hash,
};
pub use characters::without_blanks;
pub use collation::{COLLATION_ROWS, Collation, CollationProvider, TextEquality};
pub use compare_op::CompareOp;
pub use data_type::{
    Attribute, DataType, ElementType, EnumLabel, EnumType, IntervalFields, IntervalForm,
    LABEL_BYTES_MAX, LabelPlace, NumericDisplay, NumericType, PackedType, PhysicalType,
    RangeContent, RangeKind, RangeName, RangeOptions, RecordField, RecordType, RegKind, UserRange,
    WideDigits, same_array_form, same_record_form,
};
pub use error::{About, Error, Position, Result, SqlState};
pub use interval::Interval;
pub use nearest::{has_nearest, nearest, nearest_to_wide};
pub use value::Value;
