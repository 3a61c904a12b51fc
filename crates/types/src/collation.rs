//! Collations: orders of texts. That of bytes is the usual one; those of languages have the names
//! and numbers of PostgreSQL 15.
//!
//! Called by the binder, which gives columns and operands their collation; keys are made by
//! `kernels::collate`.

use std::collections::HashMap;
use std::sync::OnceLock;

/// A collation of a language, or one of bytes that a column names: texts that differ are never
/// equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collation(u32);

/// The rows of `pg_collation` below the names of its columns, of which the first is the number,
/// the second the name, the fourth the provider and the last the locale.
pub const COLLATION_ROWS: &str = include_str!("collation/pg_collation.tsv");

/// Collations that order by bytes.
const OF_BYTES: [&str; 6] = ["C", "POSIX", "default", "ucs_basic", "C.utf8", "C.UTF-8"];

/// Collations of bytes that columns can name, with their numbers.
const NAMED_OF_BYTES: [(&str, u32); 2] = [("C", 950), ("POSIX", 951)];

struct Known {
    number: u32,
    name: &'static str,
    locale: &'static str,
}

/// All of them, by number and by name.
struct Table {
    known: Vec<Known>,
    by_name: HashMap<&'static str, usize>,
    by_number: HashMap<u32, usize>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let known = |line: &'static str| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [number, name, _, "i", .., locale] = cells[..] else { return None };
            Some(Known { number: number.parse().ok()?, name, locale })
        };
        let known: Vec<Known> = COLLATION_ROWS.lines().filter_map(known).collect();
        let places = || known.iter().enumerate();
        let by_name = places().map(|(at, known)| (known.name, at)).collect();
        let by_number = places().map(|(at, known)| (known.number, at)).collect();
        Table { known, by_name, by_number }
    })
}

impl Collation {
    /// The collation called `name`, as it is written with its quotes taken away. `Ok(None)` is one
    /// that orders by bytes.
    ///
    /// # Errors
    /// The name, when there is none of it.
    pub fn named(name: &str) -> Result<Option<Self>, &str> {
        if OF_BYTES.contains(&name) {
            return Ok(None);
        }
        match table().by_name.get(name) {
            Some(at) => Ok(Some(Self(table().known[*at].number))),
            None => Err(name),
        }
    }

    /// The collation with this number in PostgreSQL's catalog.
    pub fn numbered(number: u32) -> Option<Self> {
        let is_known = table().by_number.contains_key(&number);
        Some(Self(number)).filter(|found| is_known || found.is_of_bytes())
    }

    /// The collation called `name`, if it is one of bytes that columns keep the name of.
    pub fn of_bytes(name: &str) -> Option<Self> {
        NAMED_OF_BYTES.iter().find(|(known, _)| *known == name).map(|(_, number)| Self(*number))
    }

    /// True for one that orders by bytes, as texts without a collation are ordered.
    pub fn is_of_bytes(self) -> bool {
        NAMED_OF_BYTES.iter().any(|(_, number)| *number == self.0)
    }

    /// All those of languages.
    pub fn all() -> impl Iterator<Item = Self> {
        table().known.iter().map(|known| Self(known.number))
    }

    /// Its number in PostgreSQL's catalog.
    pub const fn number(self) -> u32 {
        self.0
    }

    fn known(self) -> Option<&'static Known> {
        table().by_number.get(&self.0).map(|at| &table().known[*at])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let of_bytes = || NAMED_OF_BYTES.iter().find(|(_, number)| *number == self.0);
        let other = || of_bytes().map_or("default", |(name, _)| name);
        self.known().map_or_else(other, |known| known.name)
    }

    /// The locale whose order it is, as a tag of a language.
    pub fn locale(self) -> &'static str {
        self.known().map_or("und", |known| known.locale)
    }
}

#[cfg(test)]
mod tests {
    use super::Collation;

    #[test]
    fn names_and_numbers_lead_to_each_other() {
        let swedish = Collation::named("sv-x-icu").ok().flatten();
        assert_eq!(swedish.map(Collation::locale), Some("sv"));
        assert_eq!(swedish.and_then(|known| Collation::numbered(known.number())), swedish);
        assert_eq!(Collation::named("C"), Ok(None));
        let bytes = Collation::of_bytes("C").expect("a name");
        assert_eq!((bytes.name(), bytes.is_of_bytes()), ("C", true));
        assert_eq!(Collation::numbered(950), Some(bytes));
        assert_eq!(Collation::of_bytes("sv-x-icu"), None);
        assert_eq!(Collation::named("xx"), Err("xx"));
        assert_eq!(Collation::all().count(), 806);
        assert!(Collation::all().all(|known| Collation::named(known.name()) == Ok(Some(known))));
    }
}
