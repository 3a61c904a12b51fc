//! One thread of a scan: judges rows and columns for all queries, and gives away what passed.

use super::check::FieldCheck;
use super::code::Runner;
use super::columns::Columns;
use super::plan::{Give, Plan, Planned};
use super::rows::Rows;
use super::total::Total;
use super::vectors::{self, Cell};
use crate::schema::Key;
use crate::tuple::{TupleRef, TupleWriter, Words};

/// Findings of a worker for one query.
pub(crate) struct Found {
    pub totals: Vec<Total>,
    pub rows: u64,
    pub chunk: Rows,
}

/// Answers of a conjunct that was not looked at yet.
const UNKNOWN: u8 = 2;

/// The state of one thread.
pub(crate) struct Worker<'p, 'a> {
    pub(super) plan: &'p Plan<'a>,
    pub(super) found: Vec<Found>,
    pub(super) writer: TupleWriter,
    pub(super) scratch: Vec<u8>,
    /// By conjunct: 0 or 1 for the row at hand.
    answers: Vec<u8>,
    masks: vectors::Masks,
    /// Runs the pass's code, once there is some.
    runner: Option<Box<dyn Runner>>,
    pub(super) positions: Vec<u32>,
    pub(super) gathered: Vec<u64>,
}

impl<'p, 'a> Worker<'p, 'a> {
    pub(crate) fn new(plan: &'p Plan<'a>) -> Self {
        let found = plan.queries.iter().map(|query| Found {
            totals: match &query.give {
                Give::Totals(totals) => totals.clone(),
                Give::Fields { .. } => Vec::new(),
            },
            rows: 0,
            chunk: Rows::default(),
        });
        Self {
            plan,
            found: found.collect(),
            writer: TupleWriter::default(),
            scratch: Vec::new(),
            answers: vec![UNKNOWN; plan.conjuncts.len()],
            masks: vectors::Masks::default(),
            runner: None,
            positions: Vec::new(),
            gathered: Vec::new(),
        }
    }

    /// Takes what runs the pass's code, if there is some by now.
    pub(super) fn take_runner(&mut self) -> Option<Box<dyn Runner>> {
        self.runner.take().or_else(|| self.plan.code.get().map(|code| code.clone().runner()))
    }

    /// Gives back what was taken.
    pub(super) fn put_runner(&mut self, runner: Option<Box<dyn Runner>>) {
        self.runner = runner;
    }

    pub(crate) fn plan(&self) -> &'p Plan<'a> {
        self.plan
    }

    /// False when there are queries, and none wants more rows.
    pub(crate) fn is_wanted(&self) -> bool {
        for query in &self.plan.queries {
            query.obey(query.request.sink.flow());
        }
        let mut queries = self.plan.queries.iter();
        self.plan.queries.is_empty() || queries.any(|query| !query.is_over())
    }

    /// Begins a row: answers of the last one are forgotten.
    pub(crate) fn begin_row(&mut self) {
        self.answers.fill(UNKNOWN);
    }

    /// Gives a row to query `query` if it is selected; its version is visible to that query.
    /// Conjuncts are judged once for all queries since [`Self::begin_row`], so all of them have to
    /// see the same version.
    pub(crate) fn row<W: Words + ?Sized>(&mut self, query: usize, key: Key, row: &TupleRef<'_, W>) {
        let plan = self.plan;
        let planned = &plan.queries[query];
        if planned.is_over() || !planned.request.query.counts(key) {
            return;
        }
        for number in &planned.conjuncts {
            if self.answers[*number] == UNKNOWN {
                let is_met = any(&plan.conjuncts[*number], row, &mut self.scratch);
                self.answers[*number] = u8::from(is_met);
            }
            if self.answers[*number] == 0 {
                return;
            }
        }
        let found = &mut self.found[query];
        found.rows += 1;
        match &planned.give {
            Give::Totals(_) => found.totals.iter_mut().for_each(|total| total.add_row(row)),
            Give::Fields { schema, fields } => {
                self.writer.begin(schema);
                for (target, field) in fields.iter().enumerate() {
                    let width = schema.fields()[target].field_type.width();
                    if row.is_null(*field) {
                        self.writer.null(schema, target);
                    } else if width > 0 {
                        self.writer.fixed(schema, target, row.bits(*field) & low_bytes(width));
                    } else {
                        self.scratch.clear();
                        row.bytes_into(*field, &mut self.scratch);
                        self.writer.bytes(schema, target, &self.scratch);
                    }
                }
                emit(planned, found, key, self.writer.finished(schema));
            }
        }
    }

    /// Gives the rows of `columns` that query `query` sees to it, if they are selected: those at
    /// `visible` positions, which ascend, or all. The conjuncts are judged once for all queries
    /// since [`Self::begin_columns`].
    pub(super) fn columns<C: Columns>(
        &mut self,
        query: usize,
        columns: &C,
        visible: Option<&[u32]>,
    ) {
        let plan = self.plan;
        let planned = &plan.queries[query];
        if planned.is_over() {
            return;
        }
        let selected = self.masks.select(plan, planned, columns, visible);
        let found = &mut self.found[query];
        found.rows += selected.map_or(columns.len(), <[u32]>::len) as u64;
        match &planned.give {
            Give::Totals(_) => {
                for total in &mut found.totals {
                    vectors::add(total, columns, selected);
                }
            }
            Give::Fields { schema, fields } => {
                let mut give = |row: usize| {
                    self.writer.begin(schema);
                    for (target, field) in fields.iter().enumerate() {
                        let cell = Cell { field: *field, row, target };
                        vectors::copy_cell(columns, cell, schema, &mut self.writer);
                    }
                    emit(planned, found, columns.keys()[row], self.writer.finished(schema));
                };
                match selected {
                    None => (0..columns.len()).for_each(give),
                    Some(rows) => rows.iter().for_each(|row| give(*row as usize)),
                }
            }
        }
    }

    /// Begins a page: masks of the last one are forgotten.
    pub(super) fn begin_columns(&mut self) {
        self.masks.clear(self.plan.conjuncts.len());
    }

    /// Gives away all rows that are left.
    pub(crate) fn flush(&mut self) {
        for (query, found) in self.plan.queries.iter().zip(&mut self.found) {
            if !found.chunk.is_empty() && !query.is_over() {
                query.obey(query.request.sink.rows(&found.chunk));
            }
            found.chunk.clear();
        }
    }

    pub(crate) fn into_found(self) -> Vec<Found> {
        self.found
    }
}

/// True when the row satisfies one of `checks`.
fn any<W: Words + ?Sized>(
    checks: &[FieldCheck],
    row: &TupleRef<'_, W>,
    scratch: &mut Vec<u8>,
) -> bool {
    checks.iter().any(|check| check.accepts(row, scratch))
}

/// A word whose lowest `width` bytes are all ones; `width` is from 1 to 8.
fn low_bytes(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width)
}

/// Adds a row to the chunk of its query, which is given away when it is full.
pub(super) fn emit(planned: &Planned<'_>, found: &mut Found, key: Key, words: &[u64]) {
    if planned.is_over() {
        return;
    }
    found.chunk.push(key, words);
    if found.chunk.is_full() {
        planned.obey(planned.request.sink.rows(&found.chunk));
        found.chunk.clear();
    }
}
