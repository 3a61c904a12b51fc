//! The maker of code: shapes that it made once it keeps.
//!
//! A pass's code is some functions of the cache, with the literals and fields of its queries. So
//! queries of kinds that came before are ready at once, and code is made for new kinds alone.

use std::fmt;
use std::sync::Arc;

use cranelift_codegen::isa::OwnedTargetIsa;
use foldhash::{HashMap, HashMapExt as _};
use parking_lot::{Mutex, RwLock};
use store::code::{Code, Compile, Pass, Start};

use crate::machine::{self, Unit};
use crate::program::{Program, Sketch, When};
use crate::shape::Shape;

/// Functions that are kept; above it all are forgotten.
const UNITS_MAX: usize = 4096;
/// Rows times queries from which code pays: see `docs/decisions/085-generated-code.md`.
const PAYING: u64 = 1 << 18;

/// Makes code for scans; for [`store::server::StoreOptions::compiler`].
pub struct Compiler {
    isa: OwnedTargetIsa,
    when: When,
    units: RwLock<HashMap<Shape, Arc<Unit>>>,
    /// Held while code is made: who wants the same waits for it.
    making: Mutex<()>,
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = self.units.read().len();
        f.debug_struct("Compiler").field("when", &self.when).field("units", &units).finish()
    }
}

impl Compiler {
    /// A maker for this machine's processor, without functions.
    ///
    /// # Errors
    /// A sentence, when there is no code for this processor.
    pub fn new(when: When) -> Result<Arc<Self>, String> {
        let isa = machine::processor()?;
        let (units, making) = (RwLock::new(HashMap::new()), Mutex::new(()));
        Ok(Arc::new(Self { isa, when, units, making }))
    }

    /// Functions that it keeps.
    pub fn units(&self) -> usize {
        self.units.read().len()
    }

    /// Forgets all functions; code that is in use stays.
    pub fn forget(&self) {
        self.units.write().clear();
    }

    fn missing<'s>(&self, sketch: &'s Sketch) -> Vec<&'s Shape> {
        let units = self.units.read();
        let mut missing: Vec<&Shape> = Vec::new();
        for shape in sketch.shapes() {
            if !units.contains_key(shape) && !missing.contains(&shape) {
                missing.push(shape);
            }
        }
        missing
    }
}

impl Compile for Compiler {
    fn start(&self, pass: &Pass) -> Start {
        if self.when == When::Always {
            return Start::Now;
        }
        if pass.rows.saturating_mul(pass.queries.len() as u64) < PAYING {
            return Start::Never;
        }
        let sketch = Sketch::new(pass, self.when);
        if !sketch.serves() {
            return Start::Never;
        }
        let is_known = self.missing(&sketch).is_empty();
        if is_known { Start::Now } else { Start::Aside }
    }

    fn compile(&self, pass: &Pass) -> Option<Arc<dyn Code>> {
        let sketch = Sketch::new(pass, self.when);
        if !self.missing(&sketch).is_empty() {
            let _making = self.making.lock();
            let missing = self.missing(&sketch);
            // Cranelift refuses what this crate writes in no case that is known; the pass goes on
            // without code then.
            let made = machine::make(&self.isa, &missing).ok()?;
            let mut units = self.units.write();
            if units.len() + made.len() > UNITS_MAX {
                units.clear();
            }
            units.extend(missing.into_iter().cloned().zip(made));
        }
        let units = self.units.read();
        let program = Program::new(sketch, |shape| units.get(shape).cloned())?;
        Some(Arc::new(program))
    }
}
