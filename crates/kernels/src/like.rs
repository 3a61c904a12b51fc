//! LIKE and ILIKE: patterns compiled once, matched against bytes.
#![allow(unused_variables)]

use types::{Error, Result};

use crate::{StrVector, Vector};

/// Whether case counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// LIKE, `~`.
    Sensitive,
    /// ILIKE, `~*`.
    Insensitive,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct LikePattern {}

impl LikePattern {
    /// Compiles `pattern`; `escape` is None when there is no escape character.
    ///
    /// # Errors
    /// 22025 when the pattern ends in its escape character.
    pub fn new(pattern: &str, escape: Option<char>, case: Case) -> Result<Self> {
        Err(Error::internal("not there yet"))
    }

    /// True when all of `text` (UTF-8) matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        false
    }

    /// For a pattern that is a prefix followed by `%` (case-sensitive): the prefix.
    pub fn prefix(&self) -> Option<&[u8]> {
        None
    }
}

/// 1 per row that matches; NULL rows are arbitrary.
pub fn like(text: &StrVector, pattern: &LikePattern) -> Vec<u8> {
    vec![0; text.len()]
}

/// `text LIKE pattern` with a pattern per row (or one for all) -> Bool.
///
/// # Errors
/// 22025 when a pattern ends in its escape character.
pub fn like_vectors(
    text: &Vector,
    pattern: &Vector,
    escape: Option<char>,
    case: Case,
) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}
