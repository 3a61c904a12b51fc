//! Collations: orders of texts. That of bytes is the usual one; those of languages have the names
//! and numbers of PostgreSQL 15, and users define others.
//!
//! ```text
//! deterministic        texts are equal as their bytes are; a language only orders them
//! not deterministic    texts that the language does not tell apart are equal
//! ```
//! Called by the binder, which gives columns and operands their collation; keys are made by
//! `kernels::collate`. Names of those that users define are in the catalog alone.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A collation: all who mean the same one share its rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation(&'static Rules);

/// Its number, as plans show it.
impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Collation").field(&self.0.number).finish()
    }
}

/// Rules of a collation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rules {
    number: u32,
    provider: CollationProvider,
    /// The locale as it was written.
    locale: String,
    equality: TextEquality,
}

/// Source of an order of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollationProvider {
    /// The order of the database.
    Default,
    /// The C library: the order of bytes.
    Libc,
    /// ICU: orders of languages.
    Icu,
}

/// Meaning of equality between texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextEquality {
    /// Deterministic: equal texts have the same bytes.
    OfBytes,
    /// Not deterministic: equal is what the language does not tell apart.
    OfLanguage,
}

/// The rows of `pg_collation` below the names of its columns, of which the first is the number,
/// the second the name, the fourth the provider and the last the locale.
pub const COLLATION_ROWS: &str = include_str!("collation/pg_collation.tsv");

/// Number of the order of the database.
const DEFAULT_NUMBER: u32 = 100;

/// Number of the collation called `C`.
const C_NUMBER: u32 = 950;

/// First of the numbers that users' collations have.
const FIRST_OF_USERS: u32 = 16_384;

/// A collation that every database has.
struct Known {
    name: &'static str,
    collation: Collation,
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
            let [number, name, _, provider, .., libc, _, locale] = cells[..] else { return None };
            let number = number.parse().ok()?;
            let (provider, locale) = match provider {
                "i" => (CollationProvider::Icu, locale),
                "c" => (CollationProvider::Libc, libc),
                _ => (CollationProvider::Default, ""),
            };
            let equality = TextEquality::OfBytes;
            let rules = Rules { number, provider, locale: locale.to_owned(), equality };
            Some(Known { name, collation: shared(rules) })
        };
        let known: Vec<Known> = COLLATION_ROWS.lines().filter_map(known).collect();
        let places = || known.iter().enumerate();
        let by_name = places().map(|(at, known)| (known.name, at)).collect();
        let by_number = places().map(|(at, known)| (known.collation.number(), at)).collect();
        Table { known, by_name, by_number }
    })
}

/// The one copy of these rules; kept for good, as definitions are few.
fn shared(rules: Rules) -> Collation {
    static ALL: OnceLock<Mutex<HashSet<&'static Rules>>> = OnceLock::new();
    let mut all = ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(&rules) {
        return Collation(known);
    }
    let rules: &'static Rules = Box::leak(Box::new(rules));
    all.insert(rules);
    Collation(rules)
}

impl Collation {
    /// The collation of `pg_catalog` called `name`, as it is written with its quotes taken away.
    pub fn named(name: &str) -> Option<Self> {
        // The locale that this order is often asked for by.
        let name = if name == "C.UTF-8" { "C.utf8" } else { name };
        table().by_name.get(name).map(|at| table().known[*at].collation)
    }

    /// The collation that every database has with this number.
    pub fn numbered(number: u32) -> Option<Self> {
        table().by_number.get(&number).map(|at| table().known[*at].collation)
    }

    /// A collation that a user defines.
    pub fn of_users(
        number: u32,
        provider: CollationProvider,
        locale: &str,
        equality: TextEquality,
    ) -> Self {
        shared(Rules { number, provider, locale: locale.to_owned(), equality })
    }

    /// The order of the database: what texts have that nobody gave another one.
    pub fn usual() -> Self {
        static USUAL: OnceLock<Collation> = OnceLock::new();
        *USUAL.get_or_init(|| Self::numbered(DEFAULT_NUMBER).expect("pg_collation lists it"))
    }

    /// The collation called `C`.
    pub fn c() -> Self {
        static C: OnceLock<Collation> = OnceLock::new();
        *C.get_or_init(|| Self::numbered(C_NUMBER).expect("pg_collation lists it"))
    }

    /// All those that every database has.
    pub fn all() -> impl Iterator<Item = Self> {
        table().known.iter().map(|known| known.collation)
    }

    /// The same order, in which texts that the language does not tell apart differ by their bytes.
    #[must_use]
    pub fn deterministic(self) -> Self {
        if !self.has_own_equality() {
            return self;
        }
        shared(Rules { equality: TextEquality::OfBytes, ..self.0.clone() })
    }

    /// True for the order of the database.
    pub fn is_usual(self) -> bool {
        self.0.provider == CollationProvider::Default
    }

    /// True for one that orders by bytes, as texts without a collation are ordered.
    pub fn is_of_bytes(self) -> bool {
        self.0.provider != CollationProvider::Icu
    }

    /// True when texts that differ may be equal.
    pub fn has_own_equality(self) -> bool {
        self.0.equality == TextEquality::OfLanguage
    }

    /// True for one that a user defined.
    pub fn is_of_users(self) -> bool {
        self.0.number >= FIRST_OF_USERS
    }

    /// Its number in the catalog.
    pub fn number(self) -> u32 {
        self.0.number
    }

    /// Its name, where every database has it.
    pub fn name(self) -> Option<&'static str> {
        table().by_number.get(&self.0.number).map(|at| table().known[*at].name)
    }

    /// Source of its order.
    pub fn provider(self) -> CollationProvider {
        self.0.provider
    }

    /// Meaning of equality in it.
    pub fn equality(self) -> TextEquality {
        self.0.equality
    }

    /// The locale whose order it is, as it was written.
    pub fn locale(self) -> &'static str {
        &self.0.locale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_to_each_other() {
        let swedish = Collation::named("sv-x-icu");
        assert_eq!(swedish.map(Collation::locale), Some("sv"));
        assert_eq!(swedish.and_then(|known| Collation::numbered(known.number())), swedish);
        let c = Collation::named("C").expect("a name");
        assert_eq!((c, c.name(), c.is_of_bytes()), (Collation::c(), Some("C"), true));
        assert_eq!(Collation::named("C.UTF-8"), Collation::named("C.utf8"));
        assert!(Collation::usual().is_usual() && !c.is_usual());
        assert_eq!(Collation::named("xx"), None);
        assert_eq!(Collation::all().filter(|known| !known.is_of_bytes()).count(), 806);
        assert!(
            Collation::all().all(|known| known.name().and_then(Collation::named) == Some(known))
        );
    }

    #[test]
    fn the_same_definition_is_one_collation() {
        let of = |number, locale: &str| {
            Collation::of_users(number, CollationProvider::Icu, locale, TextEquality::OfLanguage)
        };
        assert_eq!(of(20_000, "und-u-ks-level2"), of(20_000, "und-u-ks-level2"));
        assert_ne!(of(20_000, "und-u-ks-level2"), of(20_001, "und-u-ks-level2"));
        assert_ne!(of(20_000, "und-u-ks-level2"), of(20_000, "und"));
        assert!(of(20_000, "und").has_own_equality() && of(20_000, "und").is_of_users());
        assert_eq!(of(20_000, "und").name(), None);
    }
}
