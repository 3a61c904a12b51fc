//! Images of tables: the versions of all keys as bytes, for snapshots on disk.
//!
//! ```text
//! image  | key | version | row | version | row | ... | 0 | key | ... | 0 | ...
//! row    words + 1, words; or 0 for a deletion               newest first
//! ```
//! An image is made while writers go on: each key is as it was at some moment, keys that come
//! meanwhile may be missing. What snapshots may still read is in it, and little else.
//! Elsewhere: which calls an image has, and what becomes of the others (`transport::durable`).

use types::codec::{Input, Malformed, put_u64};
use types::{Error, Result, SqlState, Value};

use crate::error::StoreError;
use crate::ranges::{HashRange, Ranges};
use crate::schema::{Field, FieldType, Key, Schema, TableKind};
use crate::snapshot::{Snapshot, Version};
use crate::table::{Horizon, Table, Write};
use crate::tuple::Tuple;

/// Bytes of an image after which they are given away.
const PIECE_BYTES: usize = 256 << 10;

/// Takes an image, piece by piece; each has whole keys.
pub type Keep<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// A table whose rows are in this process.
pub(crate) trait Imaged: Table {
    /// Gives its image to `writer`; returns the version below which snapshots may miss something
    /// in it.
    ///
    /// # Errors
    /// Errors of whoever takes the image.
    fn image(&self, writer: &mut ImageWriter<'_>) -> Result<Version>;

    /// Gives the image of one key to `writer`, as it is at some moment.
    ///
    /// # Errors
    /// Errors of whoever takes the image; 53200 without room.
    fn image_of(&self, key: Key, writer: &mut ImageWriter<'_>) -> Result<()>;

    /// As the calls of [`Table`] that write, also for versions that snapshots no longer may read.
    ///
    /// # Errors
    /// As those.
    fn redo(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<(), StoreError>;

    /// The version below which snapshots may miss something.
    fn horizon(&self) -> &Horizon;
}

/// Place of what a writer of images is given.
enum Target<'a> {
    /// Bytes, with keys that have versions.
    Image(Keep<'a>),
    /// Bytes, also with keys that have none.
    Keys(&'a mut Vec<u8>),
    /// Keys alone, of these hashes.
    List(&'a Ranges, &'a mut Vec<Key>),
}

/// More versions of a key?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Older {
    /// Nobody reads them.
    Garbage,
    /// Snapshots may read them.
    Wanted,
}

/// Makes an image.
pub(crate) struct ImageWriter<'a> {
    target: Target<'a>,
    bytes: Vec<u8>,
    key: Key,
    /// Where the key at hand begins, and where its versions do.
    key_at: usize,
    versions_at: usize,
}

impl<'a> ImageWriter<'a> {
    pub(crate) fn new(keep: Keep<'a>) -> Self {
        Self::to(Target::Image(keep))
    }

    /// A writer of images of keys, one after the other.
    pub(crate) fn of_keys(out: &'a mut Vec<u8>) -> Self {
        Self::to(Target::Keys(out))
    }

    /// A writer that notes the keys of `wanted` that have versions.
    pub(crate) fn list(wanted: &'a Ranges, out: &'a mut Vec<Key>) -> Self {
        Self::to(Target::List(wanted, out))
    }

    fn to(target: Target<'a>) -> Self {
        Self { target, bytes: Vec::new(), key: 0, key_at: 0, versions_at: 0 }
    }

    /// Begins a key; begun again, it forgets the versions so far.
    pub(crate) fn begin(&mut self, key: Key) {
        self.bytes.truncate(self.key_at);
        put_u64(&mut self.bytes, key);
        (self.key, self.versions_at) = (key, self.bytes.len());
    }

    /// Adds a version of the key at hand, newest first; one up to `needed` is enough.
    pub(crate) fn version(
        &mut self,
        version: Version,
        row: Option<impl ExactSizeIterator<Item = u64>>,
        needed: Version,
    ) -> Older {
        if let Target::List(..) = self.target {
            // One is enough to know of the key.
            put_u64(&mut self.bytes, version.0);
            return Older::Garbage;
        }
        let is_last = version <= needed;
        // A key that moves keeps the number of its removal, for conditional writes.
        let is_told = matches!(self.target, Target::Keys(_));
        if row.is_none() && is_last && !is_told {
            return Older::Garbage;
        }
        put_u64(&mut self.bytes, version.0);
        put_u64(&mut self.bytes, row.as_ref().map_or(0, |row| row.len() as u64 + 1));
        self.bytes.extend(row.into_iter().flatten().flat_map(u64::to_le_bytes));
        if is_last { Older::Garbage } else { Older::Wanted }
    }

    /// Ends the key at hand, which is none without versions.
    ///
    /// # Errors
    /// Errors of whoever takes the image.
    pub(crate) fn end(&mut self) -> Result<()> {
        let is_none = self.bytes.len() == self.versions_at;
        match &mut self.target {
            Target::List(wanted, keys) => {
                if !is_none && wanted.holds(self.key) {
                    keys.push(self.key);
                }
                self.bytes.clear();
                self.rest()
            }
            Target::Keys(out) => {
                put_u64(&mut self.bytes, 0);
                out.append(&mut self.bytes);
                self.rest()
            }
            Target::Image(_) => {
                if is_none {
                    self.bytes.truncate(self.key_at);
                } else {
                    put_u64(&mut self.bytes, 0);
                }
                if self.bytes.len() >= PIECE_BYTES { self.finish() } else { self.rest() }
            }
        }
    }

    /// Gives the rest away.
    ///
    /// # Errors
    /// Errors of whoever takes the image.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if let Target::Image(keep) = &mut self.target
            && !self.bytes.is_empty()
        {
            keep(&self.bytes)?;
        }
        self.bytes.clear();
        self.rest()
    }

    fn rest(&mut self) -> Result<()> {
        self.key_at = self.bytes.len();
        self.versions_at = self.key_at;
        Ok(())
    }
}

/// Puts the keys of a piece into a table that has none of them.
///
/// # Errors
/// XX001 when the bytes are no image of such a table; 53200 without room.
pub(crate) fn restore(table: &dyn Imaged, image: &[u8]) -> Result<()> {
    each_key(table, image, |key, versions| put_back(table, key, versions))
}

/// Puts the keys of a piece in the place of what `table` has of them; all are of `range`.
///
/// # Errors
/// As [`restore`]; XX001 for keys of other hashes.
pub(crate) fn replace(table: &dyn Imaged, image: &[u8], range: &HashRange) -> Result<()> {
    let range = Ranges::of(vec![*range]);
    each_key(table, image, |key, versions| {
        if !range.holds(key) {
            let message = format!("key {key} is none of those that move");
            return Err(Error::new(SqlState::DATA_CORRUPTED, message));
        }
        take_back(table, key)?;
        put_back(table, key, versions)
    })
}

/// Takes all versions of a key away.
///
/// # Errors
/// Errors of [`Table::revert`].
pub(crate) fn take_back(table: &dyn Imaged, key: Key) -> Result<()> {
    loop {
        match table.newest_version(key) {
            Version(0) => return Ok(()),
            newest => table.revert(newest, key)?,
        }
    }
}

fn each_key(
    table: &dyn Imaged,
    image: &[u8],
    mut take: impl FnMut(Key, &[(Version, Option<Tuple>)]) -> Result<()>,
) -> Result<()> {
    let damaged = |malformed: Malformed| malformed.in_bytes_of("the image of a table");
    let mut input = Input::new(image);
    let mut versions = Vec::new();
    while !input.is_empty() {
        let key = input.u64().map_err(damaged)?;
        versions.clear();
        while let Some(found) = version(&mut input, table).map_err(damaged)? {
            versions.push(found);
        }
        take(key, &versions)?;
    }
    Ok(())
}

/// Version and row of one key; `None` behind the last.
fn version(
    input: &mut Input<'_>,
    table: &dyn Imaged,
) -> Result<Option<(Version, Option<Tuple>)>, Malformed> {
    let version = Version(input.u64()?);
    if version == Version(0) {
        return Ok(None);
    }
    let words = usize::try_from(input.u64()?).unwrap_or(usize::MAX);
    let Some(words) = words.checked_sub(1) else { return Ok(Some((version, None))) };
    let bytes = input.take(words.saturating_mul(8))?;
    let words = bytes.chunks(8).map(crate::tuple::word_of).collect();
    let tuple = Tuple::of_schema(table.schema(), words);
    let tuple = tuple.map_err(|_| input.malformed("a row of the table"))?;
    Ok(Some((version, Some(tuple))))
}

fn put_back(table: &dyn Imaged, key: Key, versions: &[(Version, Option<Tuple>)]) -> Result<()> {
    let mut is_live = false;
    if let [(removal @ Version(2..), None)] = versions
        && table.schema().kind() == TableKind::NonTransactional
    {
        // Only what is there can be removed.
        let before = redo_snapshot(Version(removal.0 - 1))?;
        table.redo(&before, key, Write::Insert(&blank(table.schema())?))?;
        is_live = true;
    }
    for (version, row) in versions.iter().rev() {
        let snapshot = redo_snapshot(*version).map_err(|_| {
            let message = format!("the image of a table is damaged: version {}", version.0);
            Error::new(SqlState::DATA_CORRUPTED, message)
        })?;
        match row {
            Some(row) if is_live => table.redo(&snapshot, key, Write::Update(row))?,
            Some(row) => table.redo(&snapshot, key, Write::Insert(row))?,
            None if is_live => table.redo(&snapshot, key, Write::Remove)?,
            None => (),
        }
        is_live = row.is_some();
    }
    Ok(())
}

/// Any row of a table.
fn blank(schema: &Schema) -> Result<Tuple> {
    let value = |field: &Field| match field.field_type {
        FieldType::I16 | FieldType::I32 => Value::I32(0),
        FieldType::I64 => Value::I64(0),
        FieldType::F32 | FieldType::F64 => Value::F64(0.0),
        FieldType::Bytes => Value::text(""),
    };
    Ok(Tuple::encode(schema, &schema.fields().iter().map(value).collect::<Vec<_>>())?)
}

/// Snapshot under which a write of `version` that succeeded once succeeds again: it sees whatever
/// was written before.
///
/// # Errors
/// [`crate::StoreError::InvalidSnapshot`] for numbers that no version has.
pub fn redo_snapshot(version: Version) -> crate::error::Result<Snapshot> {
    Snapshot::read_write(Version(0), Version(version.0.saturating_sub(1)), version, &[])
}
