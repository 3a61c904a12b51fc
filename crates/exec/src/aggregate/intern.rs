//! Strings of key columns to small numbers, the same for all workers.
//!
//! A dictionary's entry is looked up once for all its rows and batches; a plain string once per row
//! in the worker's own table; the shared table is asked for strings new to the worker only.

use std::sync::{Arc, LazyLock};

use kernels::group_table::BytesTable;
use kernels::loops::{gather_into, max_u32};
use kernels::{Column, Vector, VectorBuilder};
use parking_lot::Mutex;
use types::PhysicalType;

/// Strings up to which they are numbered: beyond, keys become bytes.
pub(super) const STRINGS_MAX: usize = 1 << 16;
/// Bytes of one table of strings up to which they are numbered: nobody reserves the shared one.
const TABLE_BYTES_MAX: usize = 8 << 20;
/// A dictionary with more entries per row of a batch is read as plain strings.
const ENTRIES_PER_ROW: usize = 16;
const UNKNOWN: u32 = u32::MAX;

/// The strings of one key column of all workers: id - 1 is the number in the table.
#[derive(Default)]
pub(crate) struct SharedInterner {
    table: Mutex<BytesTable>,
}

impl SharedInterner {
    /// The id of `text`; None when there are too many.
    fn id(&self, text: &[u8]) -> Option<u32> {
        let mut table = self.table.lock();
        let id = table.find_or_insert_one(text) + 1;
        (table.len() <= STRINGS_MAX && table.bytes() <= TABLE_BYTES_MAX).then_some(id)
    }

    /// The strings by id.
    pub(crate) fn dictionary(&self) -> Dictionary {
        let table = self.table.lock();
        let mut builder = VectorBuilder::with_capacity(PhysicalType::Str, table.len() + 1);
        builder.push_null();
        (0..table.len()).for_each(|i| builder.push_str(table.keys().get(i)));
        Dictionary(Arc::new(builder.finish_pinned()))
    }
}

/// Strings by id; NULL is id 0.
#[derive(Clone)]
pub(crate) struct Dictionary(Arc<Vector>);

static NONE: LazyLock<Arc<Vector>> = LazyLock::new(|| {
    let mut builder = VectorBuilder::new(PhysicalType::Str);
    builder.push_null();
    Arc::new(builder.finish())
});

impl Dictionary {
    /// The entries.
    pub(crate) fn entries(&self) -> Arc<Vector> {
        Arc::clone(&self.0)
    }

    /// NULL alone.
    pub(crate) fn none() -> Arc<Vector> {
        Arc::clone(&NONE)
    }
}

/// One worker's view of a [`SharedInterner`].
pub(crate) struct Interner {
    shared: Arc<SharedInterner>,
    /// Strings this worker has met, and their ids by number.
    met: BytesTable,
    ids: Vec<u32>,
    /// The last dictionary, and the ids of its entries as far as they occurred.
    dictionary: Option<Arc<Vector>>,
    entries: Vec<u32>,
}

impl Interner {
    pub(crate) fn new(shared: Arc<SharedInterner>) -> Self {
        let met = BytesTable::default();
        Self { shared, met, ids: Vec::new(), dictionary: None, entries: Vec::new() }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.met.bytes() + (self.ids.capacity() + self.entries.capacity()) * 4
    }

    /// Replaces `ids` by the id of each row; None when there are too many strings.
    pub(crate) fn column(&mut self, column: &Column, ids: &mut Vec<u32>) -> Option<()> {
        ids.clear();
        match column {
            Column::Constant(vector, rows) => ids.resize(*rows, self.row(vector, 0)?),
            Column::Dictionary(codes, entries)
                if entries.len() <= codes.len().saturating_mul(ENTRIES_PER_ROW) =>
            {
                self.codes(codes, entries, ids)?;
            }
            _ => {
                let vector = column.to_vector();
                for row in 0..vector.len() {
                    ids.push(self.row(&vector, row)?);
                }
            }
        }
        Some(())
    }

    fn row(&mut self, vector: &Vector, row: usize) -> Option<u32> {
        if vector.is_null(row) {
            return Some(0);
        }
        let text = vector.as_str().get(row);
        let met = self.met.find_or_insert_one(text) as usize;
        if met == self.ids.len() {
            self.ids.push(self.shared.id(text)?);
        }
        Some(self.ids[met])
    }

    fn codes(&mut self, codes: &[u32], entries: &Arc<Vector>, ids: &mut Vec<u32>) -> Option<()> {
        if !self.dictionary.as_ref().is_some_and(|d| Arc::ptr_eq(d, entries)) {
            self.dictionary = Some(Arc::clone(entries));
            self.entries.clear();
            self.entries.resize(entries.len(), UNKNOWN);
        }
        gather_into(&self.entries, codes, ids, |id| id);
        if max_u32(ids) == UNKNOWN {
            for (id, &code) in ids.iter_mut().zip(codes) {
                if self.entries[code as usize] == UNKNOWN {
                    self.entries[code as usize] = self.row(entries, code as usize)?;
                }
                *id = self.entries[code as usize];
            }
        }
        Some(())
    }
}
