//! Types whose values are bytes in the order of the type.
//!
//! ```text
//! INET, CIDR     0 or 1 (version 6), network 4 or 16, bits 1, [address, when it is no network]
//! MACADDR        6 bytes; MACADDR8 8
//! BIT, VARBIT    groups of 8 bytes, each behind it the bits used: FF where another one follows
//! TIMETZ         microseconds in UTC 8, seconds west of it 4: big-endian, sign flipped
//! MONEY          hundredths 8, likewise
//! range          00 (empty) | 01 lower upper
//!   lower        00 (no bound) | 01 value 00 (in it) or 01 (not in it)
//!   upper        01 value 00 (not in it) or 01 (in it) | 02 (no bound)
//!   value        as an element of an array: see `array`
//! multirange     { 01 lower upper }* 00
//! HSTORE         pairs in the order of their keys: see `hstore`
//! CITEXT         the text
//! TSVECTOR       lexemes and their places: see `search::vector`
//! TSQUERY        operators and words: see `search::query`
//! VECTOR         floats, of 32 bits: see `vector`
//! XID8, CID      8 and 4 bytes, big-endian; snapshots 8 bytes for each number: see `identity`
//! POINT and kin  numbers of shapes, which have no order: see `geometry`
//! PG_LSN         8 bytes
//! ```
//! Values of one type are equal when their bytes are, and ordered as their bytes are; ranges of
//! NUMERIC, CITEXT, TSQUERY and VECTOR by their key: without the digits that numbers are shown
//! with, in lower case, without weights of words, with one zero. So blocks, indexes,
//! hashes, groups, sorts, the log and spilling take them as they take BYTEA, and know nothing of
//! them. What is left to each type: text and binary form, casts, and the functions of `functions`.
//!
//! Elsewhere: names and numbers (`data_type::packed_type`), text (`text::packed`).

mod binary;
mod bits;
mod call;
mod convert;
pub mod distance;
mod functions;
mod geometry;
mod hstore;
mod identity;
mod lsn;
mod mac;
mod money;
mod network;
mod range;
mod range_functions;
mod search;
mod vector;
mod vector_functions;
mod zoned_time;

pub use binary::{decode, encode};
pub use bits::{Bits, fit_bits};
pub use call::{Arg, Call, Given, PackedFunction, Parameter};
pub use convert::convert;
pub use functions::PackedCall;
pub(crate) use geometry::{format_shape, parse_shape};
pub(crate) use hstore::{format_hstore, pairs as hstore_pairs, parse_hstore};
pub(crate) use identity::{format_number, format_snapshot, parse_cid, parse_snapshot, parse_xid8};
pub use identity::{snapshot_value, xid8_number, xid8_value};
pub(crate) use lsn::{format_lsn, parse_lsn};
pub(crate) use mac::{format_mac, parse_mac, parse_mac8};
pub(crate) use money::{format_money, parse_money};
pub(crate) use network::{format_network, parse_network};
pub use range::{Bound, Span, key, multirange_value, range_of, range_value, spans};
pub(crate) use range::{merged, push_multirange, push_span};
pub use search::{SearchEntry, document_of, search_entries};
pub(crate) use search::{
    format_query, format_vector, parse_query, parse_vector, query_lexemes, vector_lexemes,
};
pub use vector::{PackedFloats, VECTOR_DIMENSIONS_MAX, vector_value};
pub(crate) use vector::{fitted as fitted_vector, format_vector_of_floats, parse_vector_of_floats};
pub use vector_functions::{normalized, vector_distance};
pub use zoned_time::ZonedTime;

/// Appends an integer in the order of its bytes.
fn push_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&(value as u64 ^ 1 << 63).to_be_bytes());
}

/// The integer that begins `bytes`.
fn read_i64(bytes: &[u8]) -> i64 {
    let mut eight = [0; 8];
    let length = bytes.len().min(8);
    eight[..length].copy_from_slice(&bytes[..length]);
    (u64::from_be_bytes(eight) ^ 1 << 63) as i64
}
