//! Calls of a store as payloads, and their answers.
//!
//! ```text
//! call    tag | table | key or name | snapshot | row, query ...
//! answer  outcome (status, text) | value where it is fine
//! ```

use store::codec;
use store::server::{Layout, TableId};
use store::{Fetched, Key, Newest, Query, Result, Schema, Snapshot, StoreError, TableStats};
use store::{Tuple, Version};
use types::codec::{Input, Malformed, put_bytes, put_u64};

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
    Scan { table: TableId, snapshot: Snapshot, query: Query, grant: u64 },
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
}

/// A table of a store.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableInfo {
    /// Its number there.
    pub(crate) id: TableId,
    /// Its columns.
    pub(crate) schema: Schema,
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

/// True for calls that change something.
pub(crate) fn changes(payload: &[u8]) -> bool {
    matches!(payload.first(), Some(&(INSERT | UPDATE | REMOVE | REVERT | CREATE | FENCE | DROP)))
}

impl<'a> Call<'a> {
    /// The payload of the call.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Get { table, key, snapshot } => {
                put_key(&mut out, GET, *table, *key);
                codec::put_snapshot(&mut out, snapshot);
            }
            Self::Write { kind, table, key, snapshot, row } => {
                let tag = match kind {
                    WriteKind::Insert => INSERT,
                    WriteKind::Update => UPDATE,
                    WriteKind::Remove => REMOVE,
                };
                put_key(&mut out, tag, *table, *key);
                codec::put_snapshot(&mut out, snapshot);
                out.extend_from_slice(row);
            }
            Self::NewestVersion { table, key } => put_key(&mut out, NEWEST, *table, *key),
            Self::Revert { table, key, version } => {
                put_key(&mut out, REVERT, *table, *key);
                put_u64(&mut out, version.0);
            }
            Self::Scan { table, snapshot, query, grant } => {
                put_table(&mut out, SCAN, *table);
                codec::put_snapshot(&mut out, snapshot);
                codec::put_query(&mut out, query);
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
        }
        out
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
                Self::Scan { table, snapshot, query: codec::query(input)?, grant: input.u64()? }
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
            _ => return Err(input.malformed("a call of a store")),
        };
        if input.is_empty() { Ok(call) } else { Err(input.malformed("the end of the call")) }
    }
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
}

pub(crate) fn info(input: &mut Input<'_>) -> Result<TableInfo, Malformed> {
    Ok(TableInfo { id: TableId(input.u64()?), schema: codec::schema(input)? })
}
