//! SQL text to bound algebra: parsing (by `sqlparser`), names, types, coercions.
//!
//! ```text
//! text --parse--> ParsedStatement --bind(catalog, parameter types)--> Statement
//! ```
//! Every error carries a SQLSTATE and, where the text allows it, a position.
//!
//! Elsewhere: rewriting and costs (`plan`), what exists (`engine`, through [`catalog::Catalog`]).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod words;
mod definition;
pub mod program;
pub mod algebra;
pub mod catalog;
mod walk;
mod implication;
pub mod display;
mod parse;
pub mod statement;
mod bind;
pub mod deparse;

pub use bind::{
    UniqueOver, bind, bind_attribute_tests, bind_domain_tests, bind_generated, bind_index_terms,
    bind_row_exprs, check_near_type, check_unique, domain_written, extension_functions,
    object_name, refuse_unfit_key, type_named, with_column, with_row_column, written_columns,
};
pub use implication::{implies, normalised};
pub use parse::{
    Effect, Followed, ParsedStatement, as_written, calls_in, check_expression, collations_in,
    default_text, followed, functions_in, named_columns, names_in, parse, query_in_schema,
    relations_in, sequences_in, types_in, with_escapes, with_literals, with_schemas,
};
