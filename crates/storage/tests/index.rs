//! The tests of indexes with nodes of real size.

pub use storage::*;

#[path = "../src/index/tests.rs"]
mod tests;
