//! Pages that code judges: who gets which rows.
//!
//! Queries that a page's bounds decide are left to `vectors`, as there is nothing to judge, and so
//! are those that the code does not serve. Parts of
//! keys and extremes of texts are looked at behind the code, on positions.

use std::cell::OnceCell;

use super::aside::folds;
use super::code::{Columns, Page, PageRun, RowsPage};
use super::plan::Give;
use super::vectors;
use super::worker::{Worker, emit};
use crate::schema::FieldType;
use crate::tuple::TupleRef;

/// Rows that are gathered at a time.
const ROWS_AT_ONCE: usize = 1024;

/// Queries that see the same rows of a page.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    pub queries: &'a [usize],
    /// A bit for each row; `None` for all.
    pub visible: Option<Vec<u64>>,
}

impl Share<'_> {
    /// Positions of the visible rows, ascending; `None` for all.
    pub(crate) fn positions(&self) -> Option<Vec<u32>> {
        let mut positions = Vec::new();
        for (number, bits) in self.visible.as_ref()?.iter().enumerate() {
            let mut left = *bits;
            while left != 0 {
                positions.push(number as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        Some(positions)
    }
}

/// A page, and what it is read by.
struct Desk<'r, 'p> {
    run: &'r mut dyn PageRun,
    page: Page<'p>,
    keys: &'p [u64],
}

impl Worker<'_, '_> {
    /// Gives the rows of a page to the queries that see them, if they are selected.
    pub(crate) fn columns_page<C: Columns>(&mut self, columns: &C, shares: &[Share<'_>]) {
        self.begin_columns();
        let mut runner = self.take_runner();
        let page = Page::Columns(columns);
        let mut run = runner.as_mut().and_then(|runner| runner.begin(page));
        for share in shares {
            let positions = OnceCell::new();
            for query in share.queries {
                let planned = &self.plan().queries[*query];
                match &mut run {
                    Some(run)
                        if run.serves(*query)
                            && !vectors::by_bounds_alone(self.plan(), planned, columns) =>
                    {
                        let mut desk = Desk { run: &mut **run, page, keys: columns.keys() };
                        self.give(*query, &mut desk, share.visible.as_deref());
                    }
                    _ => {
                        let positions = positions.get_or_init(|| share.positions());
                        self.columns(*query, columns, positions.as_deref());
                    }
                }
            }
        }
        drop(run);
        self.put_runner(runner);
    }

    /// Gives the rows of a page by code; false when there is none that serves all queries.
    pub(crate) fn rows_page(
        &mut self,
        page: RowsPage<'_>,
        keys: &[u64],
        shares: &[Share<'_>],
    ) -> bool {
        let mut runner = self.take_runner();
        let page = Page::Rows(page);
        let run = runner.as_mut().and_then(|runner| runner.begin(page));
        let mut queries = shares.iter().flat_map(|share| share.queries);
        let mut run = run.filter(|run| queries.all(|query| run.serves(*query)));
        if let Some(run) = &mut run {
            for share in shares {
                for query in share.queries {
                    let mut desk = Desk { run: &mut **run, page, keys };
                    self.give(*query, &mut desk, share.visible.as_deref());
                }
            }
        }
        let is_done = run.is_some();
        drop(run);
        self.put_runner(runner);
        is_done
    }

    fn give(&mut self, query: usize, desk: &mut Desk<'_, '_>, visible: Option<&[u64]>) {
        let planned = &self.plan().queries[query];
        if planned.is_over() {
            return;
        }
        if folds(planned) {
            let found = &mut self.found[query];
            found.rows += desk.run.fold(query, visible, &mut found.totals);
            return;
        }
        let mut rows = std::mem::take(&mut self.positions);
        rows.clear();
        rows.extend_from_slice(desk.run.select(query, visible));
        let asked = planned.request.query;
        if asked.limits_keys() {
            rows.retain(|row| asked.counts(desk.keys[*row as usize]));
        }
        self.found[query].rows += rows.len() as u64;
        match &planned.give {
            Give::Totals(_) => self.add(query, desk.page, &rows),
            Give::Fields { .. } => {
                rows.chunks(ROWS_AT_ONCE).for_each(|rows| self.gather(query, desk, rows));
            }
        }
        self.positions = rows;
    }

    /// Gives the fields of rows to their query.
    fn gather(&mut self, query: usize, desk: &mut Desk<'_, '_>, rows: &[u32]) {
        let planned = &self.plan().queries[query];
        let Give::Fields { schema, fields } = &planned.give else { return };
        self.gathered.clear();
        desk.run.gather(query, rows, &mut self.gathered);
        let stride = schema.heap_at() / 8;
        for (i, row) in rows.iter().enumerate() {
            let row = *row as usize;
            let fixed = &self.gathered[i * stride..(i + 1) * stride];
            if schema.variable_count() == 0 {
                emit(planned, &mut self.found[query], desk.keys[row], fixed);
                continue;
            }
            self.writer.begin_with(fixed);
            for (target, field) in fields.iter().enumerate() {
                if schema.fields()[target].field_type != FieldType::Bytes {
                    continue;
                }
                match desk.page {
                    Page::Columns(columns) => {
                        let bytes = columns.text(*field).map_or(&[][..], |text| text.bytes(row));
                        self.writer.bytes(schema, target, bytes);
                    }
                    Page::Rows(page) => {
                        let there = TupleRef { schema: &self.plan.schema, words: page.row(row) };
                        self.scratch.clear();
                        there.bytes_into(*field, &mut self.scratch);
                        self.writer.bytes(schema, target, &self.scratch);
                    }
                }
            }
            let words = self.writer.finished(schema);
            emit(planned, &mut self.found[query], desk.keys[row], words);
        }
    }

    /// Adds rows to the totals of a query.
    fn add(&mut self, query: usize, page: Page<'_>, rows: &[u32]) {
        let schema = &self.plan().schema;
        for total in &mut self.found[query].totals {
            match page {
                Page::Columns(columns) => vectors::add(total, columns, Some(rows)),
                Page::Rows(page) => rows.iter().for_each(|row| {
                    total.add_row(&TupleRef { schema, words: page.row(*row as usize) });
                }),
            }
        }
    }
}
