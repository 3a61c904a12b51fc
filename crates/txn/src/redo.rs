//! Changes of a committed transaction as bytes: the payload of a log record.
//!
//! ```text
//! payload: entry, entry, ...           in order of writing
//! entry:   | kind and flags u8 | table, unless the same | tid, as difference | rest |  varints
//! Insert:  count of columns, values            Update: bytes of bitmap, bitmap, values
//! Delete:  nothing, or the tid it moved to     Block:  block id, file version, bytes, crc32c
//! Catalog: kind u8, name, bytes                Sequence: id, value
//! value:   | tag u8 | bytes |   tags hold short strings' lengths and integers of 0 to 63
//! ```
//! Invariants: [`RedoReader`] reads exactly what [`RedoWriter`] wrote and refuses everything else
//! with XX001, never with a panic; nothing is allocated per entry on either side.
//! Elsewhere: checksums (`wal`); applying entries (`storage`, `engine`).

mod value;
#[cfg(test)]
mod tests;

use storage::{
    Change, ChangeKind, Datum, RowBuffer, RowChange, RowChangeKind, RowChanges, TableId, Tid,
    Timestamp,
};
use types::Result;
use types::codec::{Input, Malformed, put_bytes, put_i64, put_u64, read_u32};
use wal::Stamp;

use value::{pass_value, put_value, take_value};

/// Kinds of entries: the low bits of their first byte.
mod kind {
    pub(super) const INSERT: u8 = 1;
    pub(super) const UPDATE: u8 = 2;
    pub(super) const DELETE: u8 = 3;
    pub(super) const MOVE: u8 = 4;
    pub(super) const BLOCK: u8 = 5;
    pub(super) const CATALOG: u8 = 6;
    pub(super) const SEQUENCE: u8 = 7;
    /// Flag: the table is that of the entry before.
    pub(super) const SAME_TABLE: u8 = 0x80;
}

/// The stamp of the record of the transaction that committed at `ts`.
pub fn stamp_of(ts: Timestamp) -> Stamp {
    Stamp(ts.0)
}

/// When the transaction committed whose record has this stamp.
pub fn time_of(stamp: Stamp) -> Timestamp {
    Timestamp(stamp.0)
}

/// Name of the bytes in errors.
const REDO: &str = "the redo of a transaction";

/// The most columns of a table that an entry may name.
const COLUMNS_MAX: usize = 1 << 16;

/// A block file that a bulk load wrote before its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockReference {
    /// Block id in its table.
    pub block: u64,
    /// Version of the file: its name is `<table>-<block>-<version>.blk`.
    pub version: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// CRC-32C of its header, which holds that of its content.
    pub crc: u32,
}

impl BlockReference {
    /// Block, version and bytes as varints, 4 bytes of checksum.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.block);
        put_u64(out, self.version);
        put_u64(out, self.bytes);
        out.extend_from_slice(&self.crc.to_le_bytes());
    }

    pub(crate) fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let (block, version) = (input.u64()?, input.u64()?);
        let bytes = input.u64()?;
        let crc = read_u32(input.take(4)?, 0);
        Ok(Self { block, version, bytes, crc })
    }
}

/// One change, as read back.
#[derive(Clone, Copy, Debug)]
pub enum Redo<'r> {
    /// A new row: a value per column.
    Insert {
        /// Table.
        table: TableId,
        /// Its place.
        tid: Tid,
        /// All columns in order.
        values: &'r [Datum<'r>],
    },
    /// New values in some columns of a row.
    Update {
        /// Table.
        table: TableId,
        /// Its place.
        tid: Tid,
        /// Ordinals, ascending.
        columns: &'r [usize],
        /// A value per changed column.
        values: &'r [Datum<'r>],
    },
    /// A row that went, or moved.
    Delete {
        /// Table.
        table: TableId,
        /// Its place.
        tid: Tid,
        /// Its new place, where an Insert of the same transaction puts it.
        moved_to: Option<Tid>,
    },
    /// A whole new block in a file.
    Block {
        /// Table.
        table: TableId,
        /// The file.
        file: BlockReference,
    },
    /// A change of the catalog, in the engine's own encoding.
    Catalog {
        /// Kind of the change.
        kind: u8,
        /// Name of the object.
        name: &'r str,
        /// The definition.
        bytes: &'r [u8],
    },
    /// A sequence must go on behind this value.
    Sequence {
        /// Sequence.
        sequence: u64,
        /// Last value given out.
        value: i64,
    },
}

/// Reason for which [`RedoReader::read_rows`] ended.
#[derive(Clone, Copy, Debug)]
pub enum RowsEnd<'r> {
    /// As many changes as wanted.
    Full,
    /// An entry of another kind: Block, Catalog, or Sequence.
    Other(Redo<'r>),
    /// The end of the payload.
    Payload,
}

/// Appends entries to a payload.
#[derive(Debug)]
pub struct RedoWriter<'a> {
    out: &'a mut Vec<u8>,
    table: TableId,
    tid: u64,
    /// Columns of the update at hand.
    columns: Vec<usize>,
}

impl<'a> RedoWriter<'a> {
    /// Writes behind what `out` holds, which must be the start of a payload.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, table: TableId::default(), tid: 0, columns: Vec::new() }
    }

    /// A change of rows as a transaction left it; locks and what was undone leave no trace.
    /// `buffer` is overwritten.
    ///
    /// # Panics
    /// For a Block or Target: its file is named with [`Self::block`].
    pub fn change(&mut self, change: &Change<'_>, buffer: &mut RowBuffer) {
        let (table, tid) = (change.table.id(), change.tid);
        match change.kind {
            ChangeKind::Lock | ChangeKind::Void => {}
            ChangeKind::Delete => self.delete(table, tid, change.moved_to),
            ChangeKind::Insert => {
                self.place(kind::INSERT, table, tid);
                let columns = change.table.schema().len();
                put_u64(self.out, columns as u64);
                change.each_after(0..columns, buffer, |value| put_value(self.out, value));
            }
            ChangeKind::Update => {
                self.columns.clear();
                self.columns.extend(change.columns());
                self.columns.sort_unstable();
                self.place(kind::UPDATE, table, tid);
                put_bitmap(self.out, &self.columns);
                let columns = self.columns.iter().copied();
                change.each_after(columns, buffer, |value| put_value(self.out, value));
            }
            ChangeKind::Source => {
                change.source_rows().into_iter().for_each(|tid| self.delete(table, tid, None));
            }
            ChangeKind::Block | ChangeKind::Target => panic!("a block is logged by its file"),
        }
    }

    /// A new row with a value per column.
    pub fn insert<'v>(
        &mut self,
        table: TableId,
        tid: Tid,
        values: impl ExactSizeIterator<Item = Datum<'v>>,
    ) {
        self.place(kind::INSERT, table, tid);
        put_u64(self.out, values.len() as u64);
        for value in values {
            put_value(self.out, value);
        }
    }

    /// New values in `columns`, which ascend.
    ///
    /// # Panics
    /// If there are fewer or more values than columns.
    pub fn update<'v>(
        &mut self,
        table: TableId,
        tid: Tid,
        columns: &[usize],
        values: impl IntoIterator<Item = Datum<'v>>,
    ) {
        debug_assert!(columns.is_sorted_by(|a, b| a < b));
        self.place(kind::UPDATE, table, tid);
        put_bitmap(self.out, columns);
        let mut count = 0;
        for value in values {
            put_value(self.out, value);
            count += 1;
        }
        assert_eq!(count, columns.len(), "a value per changed column");
    }

    /// A row that went; `moved_to` is its new place, if it only moved.
    pub fn delete(&mut self, table: TableId, tid: Tid, moved_to: Option<Tid>) {
        match moved_to {
            None => self.place(kind::DELETE, table, tid),
            Some(target) => {
                self.place(kind::MOVE, table, tid);
                put_i64(self.out, target.0.wrapping_sub(tid.0) as i64);
            }
        }
    }

    /// A whole new block in a file.
    pub fn block(&mut self, table: TableId, file: &BlockReference) {
        self.table(kind::BLOCK, table);
        file.put(self.out);
    }

    /// A change of the catalog.
    pub fn catalog(&mut self, kind: u8, name: &str, bytes: &[u8]) {
        self.out.extend_from_slice(&[kind::CATALOG, kind]);
        put_bytes(self.out, name.as_bytes());
        put_bytes(self.out, bytes);
    }

    /// The last value that a sequence gave out.
    pub fn sequence(&mut self, sequence: u64, value: i64) {
        self.out.push(kind::SEQUENCE);
        put_u64(self.out, sequence);
        put_i64(self.out, value);
    }

    fn table(&mut self, kind: u8, table: TableId) {
        if table == self.table {
            self.out.push(kind | kind::SAME_TABLE);
        } else {
            self.out.push(kind);
            put_u64(self.out, table.0);
            self.table = table;
        }
    }

    fn place(&mut self, kind: u8, table: TableId, tid: Tid) {
        self.table(kind, table);
        put_i64(self.out, tid.0.wrapping_sub(self.tid) as i64);
        self.tid = tid.0;
    }
}

/// Appends a bitmap of `columns`, which ascend, behind its length in bytes.
fn put_bitmap(out: &mut Vec<u8>, columns: &[usize]) {
    let bitmap_bytes = columns.last().map_or(0, |last| last / 8 + 1);
    put_u64(out, bitmap_bytes as u64);
    let bitmap = out.len();
    out.resize(bitmap + bitmap_bytes, 0);
    for column in columns {
        out[bitmap + column / 8] |= 1 << (column % 8);
    }
}

/// The kind of the change of the catalog that `payload` begins with, if it does.
pub fn first_catalog_kind(payload: &[u8]) -> Option<u8> {
    match payload {
        [kind::CATALOG, kind, ..] => Some(*kind),
        _ => None,
    }
}

/// Reads the entries of a payload; its memory serves all of them.
#[derive(Debug)]
pub struct RedoReader<'a> {
    input: Input<'a>,
    table: TableId,
    tid: u64,
    columns: Vec<usize>,
    values: Vec<Datum<'a>>,
}

impl<'a> RedoReader<'a> {
    /// Reads `payload` from its start.
    pub fn new(payload: &'a [u8]) -> Self {
        let input = Input::new(payload);
        Self { input, table: TableId::default(), tid: 0, columns: Vec::new(), values: Vec::new() }
    }

    /// The next change, or nothing at the end.
    ///
    /// # Errors
    /// XX001 for bytes that no [`RedoWriter`] wrote.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Redo<'_>>> {
        if self.input.is_empty() {
            return Ok(None);
        }
        match self.entry() {
            Ok(entry) => Ok(Some(entry)),
            Err(malformed) => Err(malformed.in_bytes_of(REDO)),
        }
    }

    /// The bytes behind the last entry. When all before were of the catalog, they are a payload.
    pub fn rest(&self) -> &'a [u8] {
        self.input.rest()
    }

    /// Reads changes of rows to `out` until it has `count_max`, as far as `position` gives the
    /// table of a row a position; passes over those of other rows.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn read_rows(
        &mut self,
        mut position: impl FnMut(TableId, Tid) -> Option<usize>,
        out: &mut RowChanges<'a>,
        count_max: usize,
    ) -> Result<RowsEnd<'_>> {
        let malformed = loop {
            if self.input.is_empty() {
                return Ok(RowsEnd::Payload);
            }
            if out.changes.len() >= count_max {
                return Ok(RowsEnd::Full);
            }
            let (kind, same_table) = match self.head() {
                Ok(head) => head,
                Err(malformed) => break malformed,
            };
            if kind > kind::MOVE {
                return match self.body(kind, same_table) {
                    Ok(entry) => Ok(RowsEnd::Other(entry)),
                    Err(malformed) => Err(malformed.in_bytes_of(REDO)),
                };
            }
            if let Err(malformed) = self.read_row(kind, &mut position, out) {
                break malformed;
            }
        };
        Err(malformed.in_bytes_of(REDO))
    }

    #[inline]
    fn read_row(
        &mut self,
        kind: u8,
        position: &mut impl FnMut(TableId, Tid) -> Option<usize>,
        out: &mut RowChanges<'a>,
    ) -> Result<(), Malformed> {
        let tid = self.tid()?;
        let table = position(self.table, tid);
        let (columns, values) = (out.columns.len(), out.values.len());
        let (kind, count) = match kind {
            kind::INSERT => (RowChangeKind::Insert, self.input.count(1)?),
            kind::UPDATE => {
                self.columns.clear();
                let columns = if table.is_some() { &mut out.columns } else { &mut self.columns };
                (RowChangeKind::Update, read_columns(&mut self.input, columns)?)
            }
            kind::DELETE => (RowChangeKind::Delete, 0),
            kind::MOVE => {
                self.input.i64()?;
                (RowChangeKind::Delete, 0)
            }
            _ => return Err(self.input.malformed("a kind of change, found 0 before")),
        };
        let Some(table) = table else {
            return (0..count).try_for_each(|_| pass_value(&mut self.input));
        };
        out.values.reserve(count);
        for _ in 0..count {
            out.values.push(take_value(&mut self.input)?);
        }
        let columns = columns as u32..out.columns.len() as u32;
        let values = values as u32..out.values.len() as u32;
        out.changes.push(RowChange { table, tid, kind, columns, values });
        Ok(())
    }

    /// The kind of the next entry, and whether its table is that of the one before.
    #[inline]
    fn head(&mut self) -> Result<(u8, bool), Malformed> {
        let first = self.input.u8()?;
        let kind = first & !kind::SAME_TABLE;
        let same_table = first & kind::SAME_TABLE != 0;
        if !same_table && kind <= kind::BLOCK {
            self.table = TableId(self.input.u64()?);
        }
        Ok((kind, same_table))
    }

    fn entry(&mut self) -> Result<Redo<'_>, Malformed> {
        let (kind, same_table) = self.head()?;
        self.body(kind, same_table)
    }

    fn body(&mut self, kind: u8, same_table: bool) -> Result<Redo<'_>, Malformed> {
        let table = self.table;
        match (kind, same_table) {
            (kind::INSERT, _) => {
                let tid = self.tid()?;
                let count = self.input.count(1)?;
                self.read_values(count)?;
                Ok(Redo::Insert { table, tid, values: &self.values })
            }
            (kind::UPDATE, _) => {
                let tid = self.tid()?;
                self.columns.clear();
                let count = read_columns(&mut self.input, &mut self.columns)?;
                self.read_values(count)?;
                Ok(Redo::Update { table, tid, columns: &self.columns, values: &self.values })
            }
            (kind::DELETE, _) => Ok(Redo::Delete { table, tid: self.tid()?, moved_to: None }),
            (kind::MOVE, _) => {
                let tid = self.tid()?;
                let target = tid.0.wrapping_add(self.input.i64()? as u64);
                Ok(Redo::Delete { table, tid, moved_to: Some(Tid(target)) })
            }
            (kind::BLOCK, _) => {
                Ok(Redo::Block { table, file: BlockReference::take(&mut self.input)? })
            }
            (kind::CATALOG, false) => {
                let kind = self.input.u8()?;
                Ok(Redo::Catalog { kind, name: self.input.text()?, bytes: self.input.bytes()? })
            }
            (kind::SEQUENCE, false) => {
                Ok(Redo::Sequence { sequence: self.input.u64()?, value: self.input.i64()? })
            }
            _ => Err(self.input.malformed(format!("a kind of change, found {kind} before"))),
        }
    }

    fn tid(&mut self) -> Result<Tid, Malformed> {
        self.tid = self.tid.wrapping_add(self.input.i64()? as u64);
        Ok(Tid(self.tid))
    }

    fn read_values(&mut self, count: usize) -> Result<(), Malformed> {
        self.values.clear();
        for _ in 0..count {
            self.values.push(take_value(&mut self.input)?);
        }
        Ok(())
    }
}

/// Appends the columns of a bitmap; returns how many.
#[inline]
fn read_columns(input: &mut Input<'_>, columns: &mut Vec<usize>) -> Result<usize, Malformed> {
    let bitmap_bytes = input.count(1)?;
    if bitmap_bytes > COLUMNS_MAX / 8 {
        return Err(input.malformed("a bitmap of columns"));
    }
    let before = columns.len();
    for (i, &byte) in input.take(bitmap_bytes)?.iter().enumerate() {
        let mut bits = byte;
        while bits != 0 {
            columns.push(i * 8 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
    Ok(columns.len() - before)
}
