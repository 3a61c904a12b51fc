//! When a pass gets its code: before it, from another thread while it runs, or never.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use super::code::{Code, Compile, Form, Pass, PassQuery, Start, Wish};
use super::plan::{Give, Plan, Planned};
use crate::query::Aggregate;
use crate::schema::FieldType;

/// Code of a pass, when there is some.
pub(crate) type Ready = Arc<OnceLock<Arc<dyn Code>>>;

/// The maker of code for one table; at most one thread of it makes some.
#[derive(Debug, Default)]
pub(crate) struct Coding {
    compiler: Option<Arc<dyn Compile>>,
    is_busy: Arc<AtomicBool>,
}

impl Coding {
    /// A table whose passes have code if there is a compiler.
    pub(crate) fn new(compiler: Option<Arc<dyn Compile>>) -> Self {
        Self { compiler, is_busy: Arc::default() }
    }

    /// Sees to the code of a pass over `rows` rows in pages of this form.
    pub(crate) fn begin(&self, plan: &Plan<'_>, form: Form, rows: u64) {
        let Some(compiler) = &self.compiler else { return };
        let pass = pass_of(plan, form, rows);
        match compiler.start(&pass) {
            Start::Never => (),
            Start::Now => put(&plan.code, compiler.compile(&pass)),
            Start::Aside => {
                if self.is_busy.swap(true, Ordering::AcqRel) {
                    return;
                }
                let (compiler, busy) = (Arc::clone(compiler), Arc::clone(&self.is_busy));
                let ready = Arc::clone(&plan.code);
                let work = move || {
                    put(&ready, compiler.compile(&pass));
                    busy.store(false, Ordering::Release);
                };
                // Without a thread the pass goes on as it began.
                if thread::Builder::new().name("store-compile".into()).spawn(work).is_err() {
                    self.is_busy.store(false, Ordering::Release);
                }
            }
        }
    }
}

fn put(ready: &Ready, code: Option<Arc<dyn Code>>) {
    if let Some(code) = code {
        // Nobody else puts code there.
        drop(ready.set(code));
    }
}

fn pass_of(plan: &Plan<'_>, form: Form, rows: u64) -> Pass {
    let queries = plan
        .queries
        .iter()
        .map(|query| PassQuery { conjuncts: query.conjuncts.clone(), wish: wish_of(query) });
    Pass {
        schema: Arc::clone(&plan.schema),
        form,
        rows,
        conjuncts: plan.conjuncts.clone(),
        queries: queries.collect(),
    }
}

fn wish_of(query: &Planned<'_>) -> Wish {
    match &query.give {
        Give::Fields { schema, fields } => {
            Wish::Fields { schema: schema.clone(), fields: fields.clone() }
        }
        Give::Totals(totals) if folds(query) => {
            Wish::Totals(totals.iter().map(|total| total.aggregate).collect())
        }
        Give::Totals(_) => Wish::Positions,
    }
}

/// True when code adds the rows of a query to its totals by itself.
pub(crate) fn folds(query: &Planned<'_>) -> bool {
    let Give::Totals(totals) = &query.give else { return false };
    let is_text = |total: &super::total::Total| {
        matches!(total.aggregate, Aggregate::Min(_) | Aggregate::Max(_))
            && total.field_type == Some(FieldType::Bytes)
    };
    !query.request.query.limits_keys() && !totals.iter().any(is_text)
}
