//! Pages of merged rows: records with one row for each version, and what form the rows have.
//!
//! ```text
//! record   key | newest word | rows begin .. end       the word is all that changes
//! row      version | deletion? | values                rows of a record: newest first
//! ```

use std::ops::Range;
use std::sync::Arc;

use kernels::Bitmap;

use crate::error::Result;
use crate::scan::code::Form;
use crate::scan::{Share, Worker};
use crate::schema::Schema;
use crate::sync::{AtomicU64, Ordering};
use crate::table::{Memory, Room, Taken};
use crate::tuple::TupleWriter;

/// Values of the rows of a page.
pub(crate) trait Body: Send + Sync + Sized + 'static {
    /// The values of `rows`.
    fn build(schema: &Schema, rows: &DraftRows) -> Self;

    /// Makes a row in its row form.
    fn row(&self, schema: &Schema, row: usize, writer: &mut TupleWriter);

    /// Form that its rows have.
    const FORM: Form;

    /// Gives rows to the queries that see them.
    fn scan(&self, page: &Records, shares: &[Share<'_>], worker: &mut Worker<'_, '_>);

    /// Bytes it takes.
    fn bytes(&self) -> usize;
}

/// Rows in their row form, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct DraftRows {
    pub ends: Vec<u32>,
    pub words: Vec<u64>,
}

impl DraftRows {
    pub(crate) fn get(&self, row: usize) -> &[u64] {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.words[begin as usize..self.ends[row] as usize]
    }
}

/// All of a page but its values.
#[derive(Debug)]
pub(crate) struct Records {
    keys: Box<[u64]>,
    words: Box<[AtomicU64]>,
    /// Where the rows of each record begin, and where the last ends; `None` when each has one.
    starts: Option<Box<[u32]>>,
    /// Key of each row, if records have several.
    row_keys: Option<Box<[u64]>>,
    versions: Box<[u64]>,
    /// Rows that are deletions; `None` without one.
    deleted: Option<Bitmap>,
    newest: u64,
    /// At this version, if all may forget up to it, the page has garbage.
    pub garbage_at: u64,
    /// Words that were not 0, at least.
    touched: AtomicU64,
}

impl Records {
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn row_count(&self) -> usize {
        self.versions.len()
    }

    pub(crate) fn key(&self, record: usize) -> u64 {
        self.keys[record]
    }

    /// The key of each row.
    pub(crate) fn row_keys(&self) -> &[u64] {
        self.row_keys.as_deref().unwrap_or(&self.keys)
    }

    #[inline]
    pub(crate) fn word(&self, record: usize) -> &AtomicU64 {
        &self.words[record]
    }

    /// Rows of a record, newest first.
    #[inline]
    pub(crate) fn rows(&self, record: usize) -> Range<usize> {
        match &self.starts {
            None => record..record + 1,
            Some(starts) => starts[record] as usize..starts[record + 1] as usize,
        }
    }

    #[inline]
    pub(crate) fn version(&self, row: usize) -> u64 {
        self.versions[row]
    }

    #[inline]
    pub(crate) fn is_deleted(&self, row: usize) -> bool {
        self.deleted.as_ref().is_some_and(|deleted| deleted.get(row))
    }

    /// Says that a word is about to change from 0.
    pub(crate) fn touch(&self) {
        self.touched.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Acquire) != 0
    }

    /// True when whoever sees versions up to `base` sees all rows as they stand.
    pub(crate) fn is_plain(&self, base: u64) -> bool {
        self.starts.is_none() && self.deleted.is_none() && self.newest <= base && !self.is_touched()
    }

    fn bytes(&self) -> usize {
        let rows = self.row_count() * (8 + 8 * usize::from(self.row_keys.is_some()));
        rows + self.len() * (16 + 4 * usize::from(self.starts.is_some()))
    }
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page<B> {
    pub records: Records,
    pub body: B,
    pub bytes: usize,
    _taken: Taken,
}

/// Gathers records until a page is full.
pub(crate) struct Drafts<'a, B> {
    schema: &'a Schema,
    page_bytes: usize,
    memory: &'a Arc<Memory>,
    initial: u64,
    keys: Vec<u64>,
    starts: Vec<u32>,
    versions: Vec<u64>,
    deleted: Vec<bool>,
    rows: DraftRows,
    garbage_at: u64,
    blank: Vec<u64>,
    pub pages: Vec<Arc<Page<B>>>,
}

impl<'a, B: Body> Drafts<'a, B> {
    /// Pages whose words are `initial`.
    pub(crate) fn new(
        schema: &'a Schema,
        page_bytes: usize,
        memory: &'a Arc<Memory>,
        initial: u64,
    ) -> Self {
        let mut writer = TupleWriter::default();
        writer.begin(schema);
        for (i, field) in schema.fields().iter().enumerate() {
            if field.field_type.width() == 0 {
                writer.bytes(schema, i, &[]);
            }
        }
        let blank = writer.finished(schema).to_vec();
        Self {
            schema,
            page_bytes,
            memory,
            initial,
            keys: Vec::new(),
            starts: vec![0],
            versions: Vec::new(),
            deleted: Vec::new(),
            rows: DraftRows::default(),
            garbage_at: u64::MAX,
            blank,
            pages: Vec::new(),
        }
    }

    /// The schema of its rows.
    pub(crate) fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// Adds a row to the record at hand; `None` for a deletion. Rows come newest first.
    pub(crate) fn row(&mut self, version: u64, row: Option<&[u64]>) {
        self.versions.push(version);
        self.deleted.push(row.is_none());
        self.rows.words.extend_from_slice(row.unwrap_or(&self.blank));
        self.rows.ends.push(self.rows.words.len() as u32);
    }

    /// Ends the record at hand, which may have got no row: it is none then.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub(crate) fn record(&mut self, key: u64) -> Result<()> {
        let first = self.starts.last().map_or(0, |start| *start as usize);
        let rows = first..self.versions.len();
        if rows.is_empty() {
            return Ok(());
        }
        // Whatever stands behind a version is garbage when that one is enough, and so is a
        // deletion behind which nothing stands.
        let last = rows.end - 1;
        if rows.len() > 1 {
            self.garbage_at = self.garbage_at.min(self.versions[last - 1]);
        }
        if let Some(deletion) = rows.clone().rev().find(|row| self.deleted[*row]) {
            self.garbage_at = self.garbage_at.min(self.versions[deletion]);
        }
        self.keys.push(key);
        self.starts.push(rows.end as u32);
        if self.rows.words.len() * 8 + rows.end * 24 >= self.page_bytes {
            self.finish()?;
        }
        Ok(())
    }

    /// Makes a page of the records so far.
    ///
    /// # Errors
    /// [`crate::StoreError::OutOfMemory`].
    pub(crate) fn finish(&mut self) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let is_single = self.keys.len() == self.versions.len();
        let per_record = self.starts.windows(2).zip(&self.keys);
        let row_keys = (!is_single).then(|| {
            per_record
                .flat_map(|(pair, key)| std::iter::repeat_n(*key, (pair[1] - pair[0]) as usize))
                .collect()
        });
        let any_deleted = self.deleted.contains(&true);
        let records = Records {
            words: self.keys.iter().map(|_| AtomicU64::new(self.initial)).collect(),
            starts: (!is_single).then(|| self.starts.as_slice().into()),
            row_keys,
            newest: self.versions.iter().max().copied().unwrap_or(0),
            deleted: any_deleted
                .then(|| Bitmap::from_fn(self.deleted.len(), |row| self.deleted[row])),
            versions: self.versions.as_slice().into(),
            keys: self.keys.as_slice().into(),
            garbage_at: self.garbage_at,
            touched: AtomicU64::new(0),
        };
        let body = B::build(self.schema, &self.rows);
        let bytes = records.bytes() + body.bytes();
        let taken = self.memory.take(bytes, Room::Beyond)?;
        self.pages.push(Arc::new(Page { records, body, bytes, _taken: taken }));
        self.keys.clear();
        self.starts.truncate(1);
        self.versions.clear();
        self.deleted.clear();
        self.rows.ends.clear();
        self.rows.words.clear();
        self.garbage_at = u64::MAX;
        Ok(())
    }
}
