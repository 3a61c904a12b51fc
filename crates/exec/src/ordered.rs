//! Operators that keep or make an order: sort, limit, DISTINCT ON, window functions.

use plan::physical::Node;
use types::{Error, Result};

use crate::open::{Opener, PushedFilter};
use crate::pipeline::Stream;

/// Opens a sort.
///
/// # Errors
/// Always.
pub fn open_sort(_: &mut Opener, _: &Node, _: Vec<PushedFilter>) -> Result<Stream> {
    Err(Error::unsupported("ORDER BY"))
}

/// Opens window functions.
///
/// # Errors
/// Always.
pub fn open_window(_: &mut Opener, _: &Node) -> Result<Stream> {
    Err(Error::unsupported("OVER"))
}

/// Opens DISTINCT ON.
///
/// # Errors
/// Always.
pub fn open_distinct_on(_: &mut Opener, _: &Node) -> Result<Stream> {
    Err(Error::unsupported("DISTINCT ON"))
}

/// Opens LIMIT.
///
/// # Errors
/// Always.
pub fn open_limit(_: &mut Opener, _: &Node) -> Result<Stream> {
    Err(Error::unsupported("LIMIT"))
}
