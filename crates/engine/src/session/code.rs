//! Bodies of routines as a session keeps them: parsed once, their statements prepared when they run
//! first.
//!
//! Invariant: a statement is in one run at a time; who finds it taken, a routine that calls itself
//! say, prepares another.
//! Elsewhere: how they run (`run::program`).

use std::collections::HashMap;
use std::sync::Arc;

use catalog::checks::Checks;
use exec::expr::Evaluator;
use parking_lot::Mutex;
use sql::algebra::Derived;
use sql::catalog::{
    Instance, NameConflict, RoutineDef, RoutineKind, RoutineType, RowCount, TriggerDef, Variables,
};
use sql::program::{Program, Signature};
use types::{Collation, DataType, RecordType, Result, SqlState, Value};

use super::prepared::PreparedStatement;

/// Variables of a function that a trigger calls, besides its parameters: the rows come first.
pub(crate) const TRIGGER: [&str; 12] = [
    "new",
    "old",
    "tg_name",
    "tg_when",
    "tg_level",
    "tg_op",
    "tg_relid",
    "tg_relname",
    "tg_table_name",
    "tg_table_schema",
    "tg_nargs",
    "tg_argv",
];

/// A part of a variable that a statement reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The variable in this slot.
    Slot(usize),
    /// A field of the record in this slot, by its ordinal.
    Field(usize, usize),
}

/// Collations of the fields of a record, or the one of another value; None: the usual ones.
pub(crate) type Collations = Option<Arc<[Derived]>>;

/// Meaning of a name, and its type.
pub(crate) type Meaning = (Use, DataType);

/// Finds the meaning of a name.
pub(crate) type Find = Box<dyn Fn(&[&str]) -> Option<Meaning> + Send + Sync>;

/// Names of one statement of a program.
pub(crate) struct Names {
    find: Find,
    conflict: NameConflict,
    /// Collations of the variables, by slot.
    collations: Arc<[Collations]>,
    /// Variables that the statement reads, in the order of its parameters.
    uses: Mutex<Vec<Meaning>>,
}

impl Names {
    pub(crate) fn new(find: Find, conflict: NameConflict, collations: Arc<[Collations]>) -> Self {
        Self { find, conflict, collations, uses: Mutex::default() }
    }

    /// The collations of a variable, and which of them is meant, if it is one.
    fn collations_of(&self, number: u32) -> Option<(&[Derived], Option<usize>)> {
        let read = self.uses.lock().get(number as usize).map(|(read, _)| *read)?;
        let (slot, field) = match read {
            Use::Slot(slot) => (slot, None),
            Use::Field(slot, field) => (slot, Some(field)),
        };
        Some((self.collations.get(slot)?.as_deref()?, field))
    }

    /// Variables that the statement reads, in the order of its parameters.
    pub(crate) fn uses(&self) -> Vec<Meaning> {
        self.uses.lock().clone()
    }
}

impl Variables for Names {
    fn find(&self, parts: &[&str]) -> Option<(u32, DataType)> {
        let (wanted, ty) = (self.find)(parts)?;
        let mut uses = self.uses.lock();
        let at = uses.iter().position(|(known, _)| *known == wanted).unwrap_or_else(|| {
            uses.push((wanted, ty));
            uses.len() - 1
        });
        Some((u32::try_from(at).ok()?, ty))
    }

    fn collation(&self, number: u32) -> Derived {
        match self.collations_of(number) {
            Some((all, Some(field))) => all.get(field).copied().unwrap_or_default(),
            Some((all, None)) => {
                all.iter().copied().max_by_key(|own| own.weight()).unwrap_or_default()
            }
            None => Derived::Usual,
        }
    }

    fn field_collation(&self, number: u32, field: usize) -> Derived {
        match self.collations_of(number) {
            Some((all, None)) => all.get(field).copied().unwrap_or_default(),
            _ => Derived::Usual,
        }
    }

    fn conflict(&self) -> NameConflict {
        self.conflict
    }
}

/// A statement of a program, ready to run.
pub(crate) struct Fragment {
    pub(crate) prepared: PreparedStatement,
    /// Variables that are its parameters, and their types when it was prepared.
    pub(crate) uses: Vec<Meaning>,
    /// Types and collations of the variables that `uses` are, or are fields of.
    pub(crate) slots: Vec<(DataType, Collations)>,
    /// Collations of the columns of its rows.
    pub(crate) collations: Collations,
    /// Set when it is an expression that reads nothing but variables.
    pub(crate) simple: Option<Simple>,
    /// The cursor that its variable after CURRENT OF named.
    pub(crate) cursor: Option<String>,
}

/// An expression over variables alone, which needs no query: column `i` is parameter `i`.
pub(crate) struct Simple {
    pub(crate) evaluator: Evaluator,
    pub(crate) ty: DataType,
    /// Version of the settings that it was bound with.
    pub(crate) settings: u64,
    /// Version of the catalog that it was bound with.
    pub(crate) catalog: u64,
    /// True when it names routines, whose bodies may stand in their places.
    pub(crate) names_routines: bool,
}

/// The statements of a body.
pub(crate) enum Body {
    /// Statements of SQL.
    Sql(Vec<Arc<sql::ParsedStatement>>),
    /// PL/pgSQL.
    Program(Arc<Program>),
}

/// A variable as it is declared.
pub(crate) struct Variable {
    /// The type that values get; None for records of any shape.
    pub(crate) ty: Option<DataType>,
    /// Collations of such values.
    pub(crate) collations: Collations,
    /// Tests of its domain.
    pub(crate) domain: Option<Checks>,
    /// Tests of the domains of its attributes.
    pub(crate) attributes: Option<Checks>,
}

/// The variables of a routine by slot, the parameters first.
#[derive(Clone)]
pub(crate) struct Declarations {
    /// Version of the catalog that has their types.
    pub(crate) catalog: u64,
    pub(crate) list: Arc<[Variable]>,
}

/// A routine, or the block of DO.
pub(crate) struct Code {
    /// The routine; None for DO.
    pub(crate) def: Option<Arc<RoutineDef>>,
    pub(crate) body: Body,
    /// The collation of its parameters, and of variables that say none; None is the usual one.
    pub(crate) collation: Option<Collation>,
    /// Its variables as declared, once they were looked up.
    pub(crate) declared: Mutex<Option<Declarations>>,
    /// Fragments by number, those that are not in a run.
    kept: Vec<Mutex<Option<Box<Fragment>>>>,
}

impl Code {
    /// The code of a routine; `others` are variables besides its parameters.
    ///
    /// # Errors
    /// 42601.
    pub(crate) fn of(def: &Arc<RoutineDef>, others: &[&str]) -> Result<Self> {
        let body = match def.language {
            sql::catalog::Language::Sql => {
                Body::Sql(sql::parse(&def.body)?.into_iter().map(Arc::new).collect())
            }
            // An aggregate has no body.
            sql::catalog::Language::Internal => Body::Sql(Vec::new()),
            sql::catalog::Language::PlPgSql => {
                let parameters: Vec<String> =
                    def.parameters.iter().map(|parameter| parameter.name.clone()).collect();
                let (name, parameters) = (def.bare_name(), parameters.as_slice());
                let signature = Signature { name, parameters, others, checked: None };
                Body::Program(Arc::new(sql::program::parse(&def.body, signature)?))
            }
        };
        Ok(Self::new(Some(Arc::clone(def)), body))
    }

    /// The same, for calls with this collation.
    pub(crate) fn under(self, collation: Option<Collation>) -> Self {
        Self { collation, ..self }
    }

    /// Reads the body of a routine in PL/pgSQL as its definition is checked.
    ///
    /// # Errors
    /// 42601, also for fragments that are no SQL; 42804 for RETURN of what it does not give.
    pub(crate) fn check_program(def: &RoutineDef, others: &[&str]) -> Result<()> {
        use sql::program::Returns;
        let parameters: Vec<String> =
            def.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let returns = match (def.rows, def.kind, &def.result) {
            (RowCount::Many, ..) => Returns::Rows,
            _ if def.outputs().next().is_some() => Returns::Outputs,
            (_, RoutineKind::Procedure, _) => Returns::NothingOfProcedure,
            (_, _, RoutineType::Void) => Returns::Nothing,
            _ => Returns::Value,
        };
        let (name, checked) = (def.bare_name(), Some(returns));
        let signature = Signature { name, parameters: &parameters, others, checked };
        let program = sql::program::parse(&def.body, signature)?;
        // What the grammar lacks is refused when it runs.
        let mut errors = program.texts.iter().filter_map(|text| sql::parse(text).err());
        match errors.find(|error| error.state() == SqlState::SYNTAX_ERROR) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The block of DO.
    ///
    /// # Errors
    /// 42601.
    pub(crate) fn of_block(text: &str) -> Result<Self> {
        let (name, checked) = ("inline_code_block", None);
        let signature = Signature { name, parameters: &[], others: &[], checked };
        let program = sql::program::parse(text, signature)?;
        Ok(Self::new(None, Body::Program(Arc::new(program))))
    }

    fn new(def: Option<Arc<RoutineDef>>, body: Body) -> Self {
        let count = match &body {
            Body::Sql(statements) => statements.len(),
            Body::Program(program) => program.fragments,
        };
        let kept = (0..count).map(|_| Mutex::default()).collect();
        Self { def, body, collation: None, declared: Mutex::default(), kept }
    }

    /// Takes a fragment for a run.
    pub(crate) fn take(&self, number: usize) -> Option<Box<Fragment>> {
        self.kept.get(number)?.lock().take()
    }

    /// Forgets a fragment that does not serve.
    pub(crate) fn forget_unless(&self, number: usize, serves: impl FnOnce(&Fragment) -> bool) {
        if let Some(place) = self.kept.get(number) {
            place.lock().take_if(|fragment| !serves(fragment));
        }
    }

    /// Keeps a fragment that ran.
    pub(crate) fn keep(&self, number: usize, fragment: Box<Fragment>) {
        if let Some(place) = self.kept.get(number) {
            *place.lock() = Some(fragment);
        }
    }
}

/// Code of a trigger, for the table that it fires for.
pub(crate) struct TriggerCode {
    pub(crate) def: Arc<TriggerDef>,
    pub(crate) routine: Arc<RoutineDef>,
    pub(crate) function: Arc<Code>,
    /// WHEN.
    pub(crate) condition: Option<Arc<Code>>,
}

/// A routine or aggregate with the types and the collation of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Called {
    number: u32,
    pub(crate) instance: Instance,
    pub(crate) collation: Option<Collation>,
}

impl Called {
    /// A call of `def` with these types and collation.
    pub(crate) fn of(def: &RoutineDef, instance: Instance, collation: Option<Collation>) -> Self {
        Self { number: def.number, instance, collation }
    }
}

/// A function that an aggregate calls, with the types of a call of the aggregate.
pub(crate) struct Step {
    /// The definition that it was made of; None for a function of the system.
    pub(crate) source: Option<Arc<RoutineDef>>,
    pub(crate) def: Arc<RoutineDef>,
    pub(crate) code: Arc<Code>,
    /// Type of its result.
    pub(crate) ty: DataType,
}

/// The functions of an aggregate, with the types of a call of it.
pub(crate) struct Folding {
    pub(crate) transition: Step,
    pub(crate) last: Option<Step>,
    /// Arguments that the last function has besides the state, all NULL.
    pub(crate) nulls: usize,
    /// The record that a row of arguments is.
    pub(crate) row: RecordType,
    /// How many fields of it are arguments.
    pub(crate) arguments: usize,
    /// INITCOND.
    pub(crate) initial: Value,
}

/// Code of the routines that the session called, each beside the definition that it was made of.
#[derive(Default)]
pub(crate) struct CodeCache {
    routines: HashMap<Called, (Arc<RoutineDef>, Arc<Code>)>,
    aggregates: HashMap<Called, (Arc<RoutineDef>, Arc<Folding>)>,
    /// By table and name.
    triggers: HashMap<String, HashMap<String, Arc<TriggerCode>>>,
}

impl CodeCache {
    /// The code of a routine of this definition for such calls, if it is kept.
    pub(crate) fn get(&self, def: &Arc<RoutineDef>, called: Called) -> Option<&Arc<Code>> {
        let (known, code) = self.routines.get(&called)?;
        Arc::ptr_eq(known, def).then_some(code)
    }

    /// Keeps code.
    pub(crate) fn keep(&mut self, def: &Arc<RoutineDef>, called: Called, code: &Arc<Code>) {
        self.routines.insert(called, (Arc::clone(def), Arc::clone(code)));
    }

    /// The functions of an aggregate of this definition, if they are kept.
    pub(crate) fn folding(&self, def: &Arc<RoutineDef>, called: Called) -> Option<&Arc<Folding>> {
        let (known, folding) = self.aggregates.get(&called)?;
        Arc::ptr_eq(known, def).then_some(folding)
    }

    /// Keeps the functions of an aggregate.
    pub(crate) fn keep_folding(
        &mut self,
        def: &Arc<RoutineDef>,
        called: Called,
        folding: &Arc<Folding>,
    ) {
        let kept = (Arc::clone(def), Arc::clone(folding));
        self.aggregates.insert(called, kept);
    }

    /// The code of a trigger of this definition that fires for `table`, if it is kept.
    pub(crate) fn of_trigger(
        &self,
        table: &str,
        def: &Arc<TriggerDef>,
        routine: &Arc<RoutineDef>,
    ) -> Option<&Arc<TriggerCode>> {
        let code = self.triggers.get(table)?.get(&def.name)?;
        let is_it = Arc::ptr_eq(&code.def, def) && Arc::ptr_eq(&code.routine, routine);
        is_it.then_some(code)
    }

    /// Keeps the code of a trigger that fires for `table`.
    pub(crate) fn keep_trigger(&mut self, table: &str, code: TriggerCode) -> Arc<TriggerCode> {
        let (name, code) = (code.def.name.clone(), Arc::new(code));
        self.triggers.entry(table.to_owned()).or_default().insert(name, Arc::clone(&code));
        code
    }
}
