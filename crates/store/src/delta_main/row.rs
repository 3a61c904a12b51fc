//! Rows of a page in their row form: one copy for a get, whole rows for a scan.
//!
//! Source: Pilman 2017, section 4.4.2.

use super::page::{Body, DraftRows, Records, Share};
use crate::scan::Worker;
use crate::schema::Schema;
use crate::tuple::{TupleRef, TupleWriter};

/// Rows one behind the other, each with its end: any version is found without the others.
#[derive(Debug)]
pub struct RowBody {
    ends: Box<[u32]>,
    words: Box<[u64]>,
}

impl RowBody {
    fn get(&self, row: usize) -> &[u64] {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.words[begin as usize..self.ends[row] as usize]
    }
}

impl Body for RowBody {
    fn build(_: &Schema, rows: &DraftRows) -> Self {
        Self { ends: rows.ends.as_slice().into(), words: rows.words.as_slice().into() }
    }

    fn row(&self, _: &Schema, row: usize, writer: &mut TupleWriter) {
        writer.words.clear();
        writer.words.extend_from_slice(self.get(row));
    }

    fn scan(&self, page: &Records, share: Share<'_>, worker: &mut Worker<'_, '_>) {
        let schema = &worker.plan().schema;
        let keys = page.row_keys();
        let mut give = |row: usize| {
            let there = TupleRef { schema, words: self.get(row) };
            worker.begin_row();
            share.queries.iter().for_each(|query| worker.row(*query, keys[row], &there));
        };
        match share.visible {
            None => (0..page.row_count()).for_each(give),
            Some(rows) => rows.iter().for_each(|row| give(*row as usize)),
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.ends) + size_of_val(&*self.words)
    }
}
