//! Text search: documents, queries, and what turns texts into them.
//!
//! ```text
//! text --scan--> tokens --config--> lexemes --document--> TSVECTOR --.
//! text --words-> operands and operators -- query --> TSQUERY --------+-- matching: @@
//! ```
//! Elsewhere: the table of functions (`functions::search`), the catalog's rows (`pg_ts_config`).

mod config;
mod debug;
mod document;
mod elements;
mod headline;
mod headline_options;
mod matching;
mod query;
mod query_functions;
mod rank;
mod rewrite;
mod rule;
mod rules;
mod scan;
mod table;
mod tokens;
mod vector;
mod vector_functions;
mod words;

pub use config::{SearchEntry, search_entries};
pub use document::document_of;
pub(crate) use elements::{query_lexemes, vector_lexemes};
pub(super) use query::key as query_key;
pub(crate) use query::{format_query, parse_query};
pub(super) use table::SEARCH;
pub(crate) use vector::{format_vector, parse_vector};

use crate::PackedType;

/// Appends the binary form of a value for clients.
pub(super) fn encode(out: &mut Vec<u8>, bytes: &[u8], ty: PackedType) {
    match ty {
        PackedType::TsQuery => query::encode(out, bytes),
        _ => vector::encode(out, bytes),
    }
}

/// The value of a binary form; None when it is none.
pub(super) fn decode(bytes: &[u8], ty: PackedType) -> Option<Vec<u8>> {
    match ty {
        PackedType::TsQuery => query::decode(bytes),
        _ => vector::decode(bytes),
    }
}

#[cfg(test)]
mod tests;
