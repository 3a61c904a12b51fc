//! SQL text to bound algebra: parsing (by `sqlparser`), names, types, coercions.
//!
//! Every error carries a SQLSTATE and, where the text allows it, a position.
//!
//! Elsewhere: rewriting and costs (`plan`), what exists (`engine`, through [`catalog::Catalog`]).
#![forbid(unsafe_code)]

pub mod algebra;
pub mod catalog;
