//! Tests of domains, bound: NOT NULL and conditions.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, PoisonError};

use types::{Error, RecordType, Result, SqlState};

use super::Expr;
use crate::definition::{DomainOf, DomainUse};

/// The most tests that one process keeps.
const TESTS_MAX: usize = 1 << 20;

/// A type whose values are tested, and where in a value they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tested {
    /// A domain.
    Domain(DomainUse),
    /// A composite type whose attributes are of domains.
    Composite(RecordType, DomainOf),
}

impl Tested {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Domain(used) => used.domain.name(),
            Self::Composite(ty, _) => ty.name(),
        }
    }

    /// The part of a value that is tested.
    pub fn of(self) -> DomainOf {
        match self {
            Self::Domain(DomainUse { of, .. }) | Self::Composite(_, of) => of,
        }
    }
}

/// The tests of a domain and those that it is made of, in the order in which they are made.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainTest {
    /// The type that has them.
    pub used: Tested,
    /// True when NULL is no value of it.
    pub refuses_null: bool,
    /// Conditions by the names of their constraints, BOOLEAN, over columns as
    /// [`Function::Domain`](super::Function::Domain) has arguments: the value is column 0.
    pub conditions: Vec<(String, Expr)>,
    /// Tests of the attributes, over the same columns: what they give says nothing, they fail.
    pub attributes: Vec<Expr>,
    /// True when a condition asks for the time, or goes by a time zone's clocks.
    pub reads_clock: bool,
}

/// Tests of a domain. Copies are one pointer; equal tests are one.
#[derive(Clone, Copy)]
pub struct DomainTests(&'static DomainTest);

static KNOWN: LazyLock<Mutex<HashMap<Tested, Vec<DomainTests>>>> = LazyLock::new(Mutex::default);

impl DomainTests {
    /// These tests.
    ///
    /// # Errors
    /// 54000 when the process keeps too many.
    pub fn new(test: DomainTest) -> Result<Self> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TESTS_MAX {
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, "too many domains"));
        }
        let same = known.entry(test.used).or_default();
        if let Some(found) = same.iter().find(|found| *found.0 == test) {
            return Ok(*found);
        }
        let tests = Self(Box::leak(Box::new(test)));
        same.push(tests);
        Ok(tests)
    }

    /// The conditions by the names of their constraints, as long as the process lives.
    pub fn conditions(self) -> &'static [(String, Expr)] {
        &self.0.conditions
    }

    /// The tests of attributes, as long as the process lives.
    pub fn attributes(self) -> &'static [Expr] {
        &self.0.attributes
    }
}

impl Deref for DomainTests {
    type Target = DomainTest;

    fn deref(&self) -> &DomainTest {
        self.0
    }
}

impl PartialEq for DomainTests {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for DomainTests {}

impl Hash for DomainTests {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for DomainTests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DomainTests({})", self.used.name())
    }
}
