//! Calls of a store as payloads, and their answers.
//!
//! ```text
//! call    tag | table | key or name | snapshot | row, query ...
//! answer  outcome (status, text) | value where it is fine
//! ```

use std::sync::Arc;

use store::codec;
use store::server::{Definition, Layout, TableId};
use store::{Fetched, HashRange, Key, Newest, Query, Ranges, Result, Schema, Snapshot};
use store::{Status, StoreError, TableStats, Tuple, Version};
use types::codec::{Input, Malformed, put_bytes, put_u64};

use crate::placement::{Attempt, Step, Whole};

/// Change of a key, by its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// A row where none is.
    Insert,
    /// A row where one is.
    Update,
    /// No row where one is.
    Remove,
}

/// A call, as a server reads it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call<'a> {
    /// [`store::Table::get`].
    Get { table: TableId, key: Key, snapshot: Snapshot },
    /// Insert, update or removal; `row` are the bytes of a row of the table, or none.
    Write { kind: WriteKind, table: TableId, key: Key, snapshot: Snapshot, row: &'a [u8] },
    /// [`store::Table::newest_version`].
    NewestVersion { table: TableId, key: Key },
    /// [`store::Table::revert`].
    Revert { table: TableId, key: Key, version: Version },
    /// One query; `grant` are the bytes of rows that the caller has room for.
    Scan { table: TableId, snapshot: Snapshot, query: Query, whole: Whole, grant: u64 },
    /// [`store::Table::collect`].
    Collect { table: TableId, lowest: Version },
    /// [`store::Table::stats`].
    Stats { table: TableId },
    /// A new table.
    Create { name: &'a str, schema: Schema, layout: Layout },
    /// The table of a name.
    Find { name: &'a str },
    /// Refuses another client from now on.
    Fence { client: u64 },
    /// Takes a table away, if there is one of the name.
    Drop { name: &'a str },
    /// Changes what the store answers for.
    Place { attempt: Attempt, step: Step },
    /// Begins to note keys of a range: those that there are, and those that are changed.
    Track { attempt: Attempt, range: HashRange },
    /// Images of noted keys, from one of them on.
    Copy { attempt: Attempt, from: u64 },
    /// Puts images in the place of what the store has of their keys.
    Replace { attempt: Attempt, pieces: &'a [u8] },
    /// Names and forms of all tables.
    Tables,
}

/// A table of a store.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableInfo {
    /// Its number there.
    pub(crate) id: TableId,
    /// Its columns.
    pub(crate) schema: Schema,
    /// How the store keeps it.
    pub(crate) layout: Layout,
}

/// Images of keys of one table, on their way to another store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// Name of the table.
    pub(crate) table: &'a str,
    /// Version below which snapshots may miss something.
    pub(crate) horizon: Version,
    /// Images, as [`store::server::Store::image_of`] makes them.
    pub(crate) images: &'a [u8],
}

const GET: u8 = 0;
const INSERT: u8 = 1;
const UPDATE: u8 = 2;
const REMOVE: u8 = 3;
const NEWEST: u8 = 4;
const REVERT: u8 = 5;
const SCAN: u8 = 6;
const COLLECT: u8 = 7;
const STATS: u8 = 8;
const CREATE: u8 = 9;
const FIND: u8 = 10;
const FENCE: u8 = 11;
const DROP: u8 = 12;
const PLACE: u8 = 13;
const TRACK: u8 = 14;
const COPY: u8 = 15;
const REPLACE: u8 = 16;
const TABLES: u8 = 17;

const OWN: u8 = 0;
const IMPORT: u8 = 1;
const FREEZE: u8 = 2;
const CLEAR: u8 = 3;

/// True for calls that change something.
pub(crate) fn changes(payload: &[u8]) -> bool {
    let tag = payload.first();
    is_move(payload)
        || matches!(tag, Some(&(INSERT | UPDATE | REMOVE | REVERT | CREATE | FENCE | DROP)))
}

/// True for calls that change where keys are: one at a time, on no key.
pub(crate) fn is_move(payload: &[u8]) -> bool {
    matches!(payload.first(), Some(&(PLACE | TRACK | REPLACE)))
}

/// A call on a key, whichever store has it.
#[derive(Clone, Debug)]
pub(crate) enum KeyCall {
    /// [`Call::Get`].
    Get(Snapshot),
    /// [`Call::Write`].
    Write { kind: WriteKind, snapshot: Snapshot, row: Vec<u8> },
    /// [`Call::NewestVersion`].
    NewestVersion,
    /// [`Call::Revert`].
    Revert(Version),
}

impl KeyCall {
    /// The payload of the call of a key, in a table of this number.
    pub(crate) fn bytes(&self, table: TableId, key: Key) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Get(snapshot) => {
                put_key(&mut out, GET, table, key);
                codec::put_snapshot(&mut out, snapshot);
            }
            Self::Write { kind, snapshot, row } => {
                let tag = match kind {
                    WriteKind::Insert => INSERT,
                    WriteKind::Update => UPDATE,
                    WriteKind::Remove => REMOVE,
                };
                put_key(&mut out, tag, table, key);
                codec::put_snapshot(&mut out, snapshot);
                out.extend_from_slice(row);
            }
            Self::NewestVersion => put_key(&mut out, NEWEST, table, key),
            Self::Revert(version) => {
                put_key(&mut out, REVERT, table, key);
                put_u64(&mut out, version.0);
            }
        }
        out
    }
}

impl<'a> Call<'a> {
    /// The payload of the call.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Get { table, key, snapshot } => {
                return KeyCall::Get(snapshot.clone()).bytes(*table, *key);
            }
            Self::Write { kind, table, key, snapshot, row } => {
                let (kind, snapshot) = (*kind, snapshot.clone());
                let call = KeyCall::Write { kind, snapshot, row: row.to_vec() };
                return call.bytes(*table, *key);
            }
            Self::NewestVersion { table, key } => {
                return KeyCall::NewestVersion.bytes(*table, *key);
            }
            Self::Revert { table, key, version } => {
                return KeyCall::Revert(*version).bytes(*table, *key);
            }
            Self::Scan { table, snapshot, query, whole, grant } => {
                put_table(&mut out, SCAN, *table);
                codec::put_snapshot(&mut out, snapshot);
                codec::put_query(&mut out, query);
                out.push(u8::from(*whole == Whole::Yes));
                put_u64(&mut out, *grant);
            }
            Self::Collect { table, lowest } => {
                put_table(&mut out, COLLECT, *table);
                put_u64(&mut out, lowest.0);
            }
            Self::Stats { table } => put_table(&mut out, STATS, *table),
            Self::Create { name, schema, layout } => {
                out.push(CREATE);
                put_bytes(&mut out, name.as_bytes());
                codec::put_schema(&mut out, schema);
                put_layout(&mut out, *layout);
            }
            Self::Find { name } => {
                out.push(FIND);
                put_bytes(&mut out, name.as_bytes());
            }
            Self::Fence { client } => {
                out.push(FENCE);
                put_u64(&mut out, *client);
            }
            Self::Drop { name } => {
                out.push(DROP);
                put_bytes(&mut out, name.as_bytes());
            }
            Self::Place { .. }
            | Self::Track { .. }
            | Self::Copy { .. }
            | Self::Replace { .. }
            | Self::Tables => self.put_move(&mut out),
        }
        out
    }

    /// Appends a call that is about where keys are.
    fn put_move(&self, out: &mut Vec<u8>) {
        let mut begin = |tag: u8, attempt: &Attempt| {
            out.push(tag);
            put_u64(out, attempt.0);
        };
        match self {
            Self::Place { attempt, step } => {
                begin(PLACE, attempt);
                put_step(out, step);
            }
            Self::Track { attempt, range } => {
                begin(TRACK, attempt);
                range.put(out);
            }
            Self::Copy { attempt, from } => {
                begin(COPY, attempt);
                put_u64(out, *from);
            }
            Self::Replace { attempt, pieces } => {
                begin(REPLACE, attempt);
                out.extend_from_slice(pieces);
            }
            _ => out.push(TABLES),
        }
    }

    /// The call that a payload is.
    ///
    /// # Errors
    /// Where it is none.
    pub(crate) fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut input = Input::new(payload);
        let input = &mut input;
        let call = match input.u8()? {
            GET => {
                let (table, key) = (table(input)?, input.u64()?);
                Self::Get { table, key, snapshot: codec::snapshot(input)? }
            }
            tag @ (INSERT | UPDATE | REMOVE) => {
                let kind = match tag {
                    INSERT => WriteKind::Insert,
                    UPDATE => WriteKind::Update,
                    _ => WriteKind::Remove,
                };
                let (table, key) = (table(input)?, input.u64()?);
                let snapshot = codec::snapshot(input)?;
                // The row waits for a schema.
                let row = input.take(input.remaining())?;
                Self::Write { kind, table, key, snapshot, row }
            }
            NEWEST => Self::NewestVersion { table: table(input)?, key: input.u64()? },
            REVERT => {
                let (table, key) = (table(input)?, input.u64()?);
                Self::Revert { table, key, version: Version(input.u64()?) }
            }
            SCAN => {
                let (table, snapshot) = (table(input)?, codec::snapshot(input)?);
                let query = codec::query(input)?;
                let whole = if input.u8()? == 1 { Whole::Yes } else { Whole::No };
                Self::Scan { table, snapshot, query, whole, grant: input.u64()? }
            }
            COLLECT => Self::Collect { table: table(input)?, lowest: Version(input.u64()?) },
            STATS => Self::Stats { table: table(input)? },
            CREATE => {
                let (name, schema) = (input.text()?, codec::schema(input)?);
                Self::Create { name, schema, layout: layout(input)? }
            }
            FIND => Self::Find { name: input.text()? },
            FENCE => Self::Fence { client: input.u64()? },
            DROP => Self::Drop { name: input.text()? },
            tag @ (PLACE | TRACK | COPY | REPLACE) => Self::read_move(tag, input)?,
            TABLES => Self::Tables,
            _ => return Err(input.malformed("a call of a store")),
        };
        if input.is_empty() { Ok(call) } else { Err(input.malformed("the end of the call")) }
    }

    fn read_move(tag: u8, input: &mut Input<'a>) -> Result<Self, Malformed> {
        let attempt = Attempt(input.u64()?);
        Ok(match tag {
            PLACE => Self::Place { attempt, step: step(input)? },
            TRACK => Self::Track { attempt, range: HashRange::read(input)? },
            COPY => Self::Copy { attempt, from: input.u64()? },
            _ => Self::Replace { attempt, pieces: input.take(input.remaining())? },
        })
    }
}

fn put_step(out: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Own(owned) => {
            out.push(OWN);
            owned.put(out);
        }
        Step::Import { owned, range } => {
            out.push(IMPORT);
            owned.put(out);
            range.put(out);
        }
        Step::Freeze(range) => {
            out.push(FREEZE);
            range.put(out);
        }
        Step::Clear => out.push(CLEAR),
    }
}

fn step(input: &mut Input<'_>) -> Result<Step, Malformed> {
    Ok(match input.u8()? {
        OWN => Step::Own(Ranges::read(input)?),
        IMPORT => {
            let owned = Ranges::read(input)?;
            Step::Import { owned, range: HashRange::read(input)? }
        }
        FREEZE => Step::Freeze(HashRange::read(input)?),
        CLEAR => Step::Clear,
        _ => return Err(input.malformed("a step of a move")),
    })
}

impl<'a> Piece<'a> {
    /// Appends it.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.table.as_bytes());
        put_u64(out, self.horizon.0);
        put_bytes(out, self.images);
    }

    /// Reads one of several.
    ///
    /// # Errors
    /// Where the bytes are none.
    pub(crate) fn read(input: &mut Input<'a>) -> Result<Self, Malformed> {
        let (table, horizon) = (input.text()?, Version(input.u64()?));
        Ok(Self { table, horizon, images: input.bytes()? })
    }
}

/// Images of noted keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Notes behind these, from which on the next call goes on.
    pub(crate) next: u64,
    /// Notes so far.
    pub(crate) noted: u64,
    /// Pieces, one after the other.
    pub(crate) pieces: Vec<u8>,
}

pub(crate) fn put_copied(out: &mut Vec<u8>, copied: &Copied) {
    put_u64(out, copied.next);
    put_u64(out, copied.noted);
    put_bytes(out, &copied.pieces);
}

pub(crate) fn copied(input: &mut Input<'_>) -> Result<Copied, Malformed> {
    let (next, noted) = (input.u64()?, input.u64()?);
    Ok(Copied { next, noted, pieces: input.bytes()?.to_vec() })
}

/// Tables of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TableList {
    /// True when it has rows, and never took part in a database whose stores change.
    pub(crate) has_own_rows: bool,
    /// The tables, in the order of their making.
    pub(crate) tables: Vec<Definition>,
}

pub(crate) fn put_tables(out: &mut Vec<u8>, list: &TableList) {
    out.push(u8::from(list.has_own_rows));
    put_u64(out, list.tables.len() as u64);
    for table in &list.tables {
        put_bytes(out, table.name.as_bytes());
        codec::put_schema(out, &table.schema);
        put_layout(out, table.layout);
    }
}

pub(crate) fn tables(input: &mut Input<'_>) -> Result<TableList, Malformed> {
    let has_own_rows = input.u8()? == 1;
    let count = input.count(3)?;
    let mut tables = Vec::with_capacity(count);
    for number in 1..=count as u64 {
        let (name, schema) = (input.text()?.to_owned(), Arc::new(codec::schema(input)?));
        tables.push(Definition { id: TableId(number), name, schema, layout: layout(input)? });
    }
    Ok(TableList { has_own_rows, tables })
}

/// Bytes of a row, for [`Call::Write`].
pub(crate) fn row_bytes(tuple: Option<&Tuple>) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(tuple) = tuple {
        codec::put_tuple(&mut out, tuple);
    }
    out
}

fn put_table(out: &mut Vec<u8>, tag: u8, table: TableId) {
    out.push(tag);
    put_u64(out, table.0);
}

fn put_key(out: &mut Vec<u8>, tag: u8, table: TableId, key: Key) {
    put_table(out, tag, table);
    put_u64(out, key);
}

fn table(input: &mut Input<'_>) -> Result<TableId, Malformed> {
    Ok(TableId(input.u64()?))
}

/// Appends a layout.
pub fn put_layout(out: &mut Vec<u8>, layout: Layout) {
    out.push(match layout {
        Layout::Columns => 0,
        Layout::Rows => 1,
        Layout::Log => 2,
    });
}

/// Reads a layout.
///
/// # Errors
/// Where the bytes are none.
pub fn layout(input: &mut Input<'_>) -> Result<Layout, Malformed> {
    match input.u8()? {
        0 => Ok(Layout::Columns),
        1 => Ok(Layout::Rows),
        2 => Ok(Layout::Log),
        _ => Err(input.malformed("a layout")),
    }
}

/// The answer of a call, with what `put` appends where it is fine.
pub(crate) fn answer<T>(outcome: Result<T>, put: impl FnOnce(&mut Vec<u8>, &T)) -> Vec<u8> {
    let mut out = Vec::new();
    match outcome {
        Ok(value) => {
            codec::put_outcome(&mut out, &Ok(()));
            put(&mut out, &value);
        }
        Err(error) => codec::put_outcome(&mut out, &Err(error)),
    }
    out
}

/// True for the answer of a store that does not have the key.
pub(crate) fn is_moved(payload: &[u8]) -> bool {
    payload.first() == Some(&(Status::Moved as u8))
}

/// Reads an answer; `read` reads the value.
pub(crate) fn read_answer<T>(
    payload: &[u8],
    read: impl FnOnce(&mut Input<'_>) -> Result<T, Malformed>,
) -> Result<T> {
    let mut input = Input::new(payload);
    let broken = |malformed: Malformed| {
        StoreError::Unreachable(malformed.in_bytes_of("its answer").to_string())
    };
    codec::outcome(&mut input).map_err(broken)??;
    read(&mut input).map_err(broken)
}

pub(crate) fn put_fetched(out: &mut Vec<u8>, fetched: &Fetched) {
    put_u64(out, fetched.version.0);
    out.push(u8::from(fetched.newest == Newest::Yes));
    codec::put_tuple(out, &fetched.tuple);
}

pub(crate) fn fetched(input: &mut Input<'_>, schema: &Schema) -> Result<Fetched, Malformed> {
    let version = Version(input.u64()?);
    let newest = if input.u8()? == 1 { Newest::Yes } else { Newest::No };
    Ok(Fetched { version, newest, tuple: codec::tuple(input, schema)? })
}

pub(crate) fn put_stats(out: &mut Vec<u8>, stats: &TableStats) {
    let TableStats { bytes, pages, pages_read, pages_rewritten, versions } = *stats;
    [bytes, pages, pages_read, pages_rewritten, versions].iter().for_each(|n| put_u64(out, *n));
}

pub(crate) fn stats(input: &mut Input<'_>) -> Result<TableStats, Malformed> {
    Ok(TableStats {
        bytes: input.u64()?,
        pages: input.u64()?,
        pages_read: input.u64()?,
        pages_rewritten: input.u64()?,
        versions: input.u64()?,
    })
}

pub(crate) fn put_info(out: &mut Vec<u8>, info: &TableInfo) {
    put_u64(out, info.id.0);
    codec::put_schema(out, &info.schema);
    put_layout(out, info.layout);
}

pub(crate) fn info(input: &mut Input<'_>) -> Result<TableInfo, Malformed> {
    let (id, schema) = (TableId(input.u64()?), codec::schema(input)?);
    Ok(TableInfo { id, schema, layout: layout(input)? })
}
