//! Identifiers as they are stored.

use sqlparser::ast;

/// An identifier as stored: lower case unless quoted, of at most 63 bytes.
pub(crate) fn folded(ident: &ast::Ident) -> String {
    let mut name = match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    };
    name.truncate(types::truncated_name(&name).len());
    name
}
