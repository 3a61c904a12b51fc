//! Calls of routines that users made.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use types::Collation;

use crate::definition::{Instance, RoutineDef, Volatility};

/// A routine as expressions call it: by its number in the catalog. Who evaluates the call asks the
/// session for it ([`crate::catalog::Sequences::routine`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoutineCall {
    /// Number in the catalog.
    pub number: u32,
    /// When two calls give the same.
    pub volatility: Volatility,
    /// Its name, for plans that are shown.
    pub name: &'static str,
    /// Types that its polymorphic ones stand for.
    pub instance: Instance,
    /// The collation of its parameters; None is the usual one.
    pub collation: Option<Collation>,
}

/// Names are kept as long as the process lives: there are as many as users thought of.
static NAMES: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);

impl RoutineCall {
    /// A call of `routine` with the types of `instance`, whose parameters have the collation.
    pub fn of(routine: &RoutineDef, instance: Instance, collation: Option<Collation>) -> Self {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let bare = routine.bare_name();
        let name = match names.get(bare) {
            Some(name) => name,
            None => {
                let name: &'static str = Box::leak(bare.to_owned().into_boxed_str());
                names.insert(name);
                name
            }
        };
        let (number, volatility) = (routine.number, routine.volatility);
        Self { number, volatility, name, instance, collation }
    }
}
