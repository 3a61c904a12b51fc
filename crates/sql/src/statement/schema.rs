//! CREATE SCHEMA with the statements that it holds.

use super::SchemaStatement;
use crate::parse::ParsedStatement;

/// CREATE SCHEMA with what it is to hold.
#[derive(Clone, Debug)]
pub struct SchemaElements {
    /// CREATE SCHEMA itself.
    pub schema: SchemaStatement,
    /// The other statements, in the order in which they run; bound when the schema is there.
    pub elements: Vec<ParsedStatement>,
}
