//! Domains: types that users make of others, with a default and conditions on their values.
//!
//! Invariants: a content is one pointer and stays as long as the process lives; a domain that is
//! changed is another content with the same number. Values are held as those of the type below.
//! Elsewhere: how a value is tested ([`crate::algebra::DomainTests`]).

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, PoisonError};

use types::{DataType, Error, Result, SqlState};

use super::CheckDef;
use crate::words::RelationName;

/// The most contents of domains that one process knows.
const DOMAINS_MAX: usize = 1 << 20;

/// Content of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainDef {
    /// Number in the catalog; the next one is that of its arrays.
    pub number: u32,
    /// Key in the catalog ([`RelationName::key`]).
    pub key: String,
    /// The type below all domains.
    pub ty: DataType,
    /// The domain that it is made of, if it is made of one.
    pub over: Option<Domain>,
    /// DEFAULT, as SQL text.
    pub default: Option<String>,
    /// NOT NULL was declared for this domain.
    pub not_null: bool,
    /// Its own conditions, in which VALUE is a value of it.
    pub checks: Vec<CheckDef>,
}

struct Kept {
    def: DomainDef,
    name: String,
}

/// A domain. Copies are one pointer; equal contents are equal domains.
#[derive(Clone, Copy)]
pub struct Domain(&'static Kept);

static KNOWN: LazyLock<Mutex<(usize, HashMap<u32, Vec<Domain>>)>> = LazyLock::new(Mutex::default);

impl Domain {
    /// The domain of this content.
    ///
    /// # Errors
    /// 54000 when the process knows too many.
    pub fn new(def: DomainDef) -> Result<Self> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, known) = &mut *known;
        let same = known.entry(def.number).or_default();
        if let Some(found) = same.iter().find(|found| found.0.def == def) {
            return Ok(*found);
        }
        if *count >= DOMAINS_MAX {
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, "too many domains"));
        }
        *count += 1;
        let name = RelationName::of_key(&def.key).quoted();
        let domain = Self(Box::leak(Box::new(Kept { def, name })));
        same.push(domain);
        Ok(domain)
    }

    /// Its content, as long as the process lives.
    pub fn content(self) -> &'static DomainDef {
        &self.0.def
    }

    /// Its name as messages show it.
    pub fn name(&self) -> &'static str {
        &self.0.name
    }

    /// The domain and those that it is made of, the innermost last.
    pub fn levels(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |domain| domain.over)
    }

    /// True when not every value of the type below is one of the domain.
    pub fn has_tests(self) -> bool {
        self.levels().any(|level| level.not_null || !level.checks.is_empty())
    }

    /// True for contents of one domain, of different times perhaps.
    pub fn is_same_object(self, other: Self) -> bool {
        self.number == other.number
    }

    /// Its number in the catalog for arrays of it.
    pub fn array_number(self) -> u32 {
        self.number + 1
    }
}

impl Deref for Domain {
    type Target = DomainDef;

    fn deref(&self) -> &DomainDef {
        &self.0.def
    }
}

impl PartialEq for Domain {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Domain {}

impl Hash for Domain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Domain({})", self.name())
    }
}

/// The part of a value that is of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DomainOf {
    /// The value.
    Value,
    /// Each element of the value, an array.
    Elements,
}

/// A domain as the type of a column or of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DomainUse {
    /// The domain.
    pub domain: Domain,
    /// The part that has it.
    pub of: DomainOf,
}

impl DomainUse {
    /// Its name as messages show it.
    pub fn name(self) -> String {
        match self.of {
            DomainOf::Value => self.domain.name().to_owned(),
            DomainOf::Elements => format!("{}[]", self.domain.name()),
        }
    }

    /// Its number in the catalog.
    pub fn number(self) -> u32 {
        match self.of {
            DomainOf::Value => self.domain.number,
            DomainOf::Elements => self.domain.array_number(),
        }
    }

    /// The default of what has no other.
    pub fn default(self) -> Option<&'static str> {
        match self.of {
            DomainOf::Value => self.domain.content().default.as_deref(),
            DomainOf::Elements => None,
        }
    }
}
