//! Rows of a page in their row form: one copy for a get, whole rows for a scan.
//!
//! Source: Pilman 2017, section 4.4.2.

use super::page::{Body, DraftRows, Records};
use crate::scan::code::{Form, RowsPage};
use crate::scan::{Share, Worker};
use crate::schema::Schema;
use crate::tuple::{TupleRef, TupleWriter};

/// Rows one behind the other, each with its begin: any version is found without the others.
#[derive(Debug)]
pub struct RowBody {
    /// One more than rows.
    starts: Box<[u32]>,
    words: Box<[u64]>,
}

impl RowBody {
    fn page(&self) -> RowsPage<'_> {
        RowsPage { starts: &self.starts, words: &self.words }
    }
}

impl Body for RowBody {
    fn build(_: &Schema, rows: &DraftRows) -> Self {
        let starts = std::iter::once(0).chain(rows.ends.iter().copied()).collect();
        Self { starts, words: rows.words.as_slice().into() }
    }

    fn row(&self, _: &Schema, row: usize, writer: &mut TupleWriter) {
        writer.words.clear();
        writer.words.extend_from_slice(self.page().row(row));
    }

    const FORM: Form = Form::Rows;

    fn scan(&self, page: &Records, shares: &[Share<'_>], worker: &mut Worker<'_, '_>) {
        let schema = &worker.plan().schema;
        let keys = page.row_keys();
        if worker.rows_page(self.page(), keys, shares) {
            return;
        }
        for share in shares {
            let mut give = |row: usize| {
                let there = TupleRef { schema, words: self.page().row(row) };
                worker.begin_row();
                share.queries.iter().for_each(|query| worker.row(*query, keys[row], &there));
            };
            match share.positions() {
                None => (0..page.row_count()).for_each(give),
                Some(rows) => rows.iter().for_each(|row| give(*row as usize)),
            }
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.words)
    }
}
