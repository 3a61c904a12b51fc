//! Collations that users made.
//!
//! Columns and terms of indexes keep a copy of the rules; the catalog has their names.

use types::Collation;

use super::State;
use super::numbers::{FIRST, hash};

/// A collation that users made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCollation {
    /// Number and rules.
    pub collation: Collation,
    /// Role that owns it; empty for who owns the database.
    pub owner: String,
    /// LC_COLLATE and LC_CTYPE of the C library.
    pub libc: Option<(String, String)>,
    /// Version of the rules that it was made with.
    pub version: Option<String>,
    /// True when it is for every encoding.
    pub is_of_any_encoding: bool,
}

impl State {
    /// A number for the new collation that the catalog calls `key`.
    pub fn new_collation_number(&self, key: &str) -> u32 {
        let mut number = FIRST + hash("collation", key);
        let is_taken = |number: u64| {
            self.collations.values().any(|known| u64::from(known.collation.number()) == number)
        };
        while is_taken(number) {
            number += 1;
        }
        // Below 2^30 and some.
        number as u32
    }

    /// The key of a collation of users.
    pub fn collation_key(&self, collation: Collation) -> Option<&str> {
        let mut all = self.collations.iter();
        all.find(|(_, known)| known.collation == collation).map(|(key, _)| key.as_str())
    }
}
