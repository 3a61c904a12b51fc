//! Undo records: what a transaction is about to write, so that anybody can take it back.
//!
//! A record stands in the table `undo` under the transaction's version before its first row is
//! written. While it is there the transaction may be rolled back; it goes when all is written, or
//! when all is taken back. A large one is in parts, which are there before it and go behind it, the
//! last one first. Source: Pilman 2017, section 7.7. Departure: it goes before the manager
//! hears of the end, so that a manager that starts again rolls back nothing that was committed.

use store::Version;
use types::codec::{Input, Malformed, put_bytes, put_u64};

use crate::error::{Result, SharedError};
use crate::index::{Entry, EntryChange};

/// Table of undo records.
pub(crate) const UNDO: &str = "undo";

/// Bytes of a record, and of each part of one that is larger: they have to fit a page of a store.
const PART_BYTES: usize = 512 << 10;

/// Parts of a record.
const PARTS_MAX: usize = 64;

/// Bits of the versions of transactions, above which the key of a part has its number.
const VERSION_BITS: u32 = 48;

/// Key of a part of the record of `version`; parts count from 1.
pub(crate) fn part_key(version: Version, part: usize) -> u64 {
    version.0 | (part as u64) << VERSION_BITS
}

/// An undo record as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored<'b> {
    /// The record under the version itself.
    pub head: Vec<u8>,
    /// Parts that are there before the head is, and go behind it.
    pub parts: Vec<&'b [u8]>,
}

/// Cuts a record that is too large for one.
pub(crate) fn cut(bytes: &[u8]) -> Stored<'_> {
    if bytes.len() <= PART_BYTES {
        return Stored { head: bytes.to_vec(), parts: Vec::new() };
    }
    let parts: Vec<&[u8]> = bytes.chunks(PART_BYTES).collect();
    let mut head = vec![2];
    put_u64(&mut head, parts.len() as u64);
    Stored { head, parts }
}

/// How many parts the record with this head has; 0 when it is whole.
pub(crate) fn parts_of(head: &[u8]) -> Result<usize> {
    let count = |head: &[u8]| -> Result<usize, Malformed> {
        let mut input = Input::new(head);
        if input.u8()? != 2 {
            return Ok(0);
        }
        match input.u64()? as usize {
            parts @ 1..=PARTS_MAX => Ok(parts),
            _ => Err(input.malformed("a number of parts")),
        }
    };
    count(head).map_err(corrupt)
}

fn corrupt(malformed: Malformed) -> SharedError {
    SharedError::Corrupt(malformed.in_bytes_of("an undo record").to_string())
}

/// Changes of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableUndo {
    pub table: String,
    pub keys: Vec<u64>,
    /// Names of the indexes that `entries` count.
    pub indexes: Vec<String>,
    pub entries: Vec<EntryChange>,
}

pub(crate) fn bytes(tables: &[TableUndo]) -> Result<Vec<u8>> {
    let mut out = vec![1];
    put_u64(&mut out, tables.len() as u64);
    for undo in tables {
        put_bytes(&mut out, undo.table.as_bytes());
        put_u64(&mut out, undo.keys.len() as u64);
        undo.keys.iter().for_each(|key| put_u64(&mut out, *key));
        put_u64(&mut out, undo.indexes.len() as u64);
        undo.indexes.iter().for_each(|name| put_bytes(&mut out, name.as_bytes()));
        put_u64(&mut out, undo.entries.len() as u64);
        for change in &undo.entries {
            put_u64(&mut out, change.index as u64);
            out.push(u8::from(change.is_new));
            put_bytes(&mut out, &change.what.prefix);
            put_u64(&mut out, change.what.row);
        }
    }
    if out.len() > PART_BYTES * PARTS_MAX { Err(SharedError::TooManyChanges) } else { Ok(out) }
}

pub(crate) fn read(bytes: &[u8]) -> Result<Vec<TableUndo>> {
    parse(bytes).map_err(corrupt)
}

fn parse(bytes: &[u8]) -> Result<Vec<TableUndo>, Malformed> {
    let mut input = Input::new(bytes);
    if input.u8()? != 1 {
        return Err(input.malformed("an undo record of format 1"));
    }
    let mut tables = Vec::new();
    for _ in 0..input.count(4)? {
        let mut undo = TableUndo { table: input.text()?.to_owned(), ..TableUndo::default() };
        for _ in 0..input.count(1)? {
            undo.keys.push(input.u64()?);
        }
        for _ in 0..input.count(1)? {
            undo.indexes.push(input.text()?.to_owned());
        }
        for _ in 0..input.count(4)? {
            let index = input.u64()? as usize;
            if index >= undo.indexes.len() {
                return Err(input.malformed("the number of an index"));
            }
            let is_new = input.u8()? == 1;
            let what = Entry { prefix: input.bytes()?.to_vec(), row: input.u64()? };
            undo.entries.push(EntryChange { index, what, is_new });
        }
        tables.push(undo);
    }
    Ok(tables)
}
