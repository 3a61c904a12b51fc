//! Undo records: what a transaction is about to write, so that anybody can take it back.
//!
//! A record stands in the table `undo` under the transaction's version before its first row is
//! written. While it is there the transaction may be rolled back; it goes when all is written, or
//! when all is taken back. Source: Pilman 2017, section 7.7. Departure: it goes before the manager
//! hears of the end, so that a manager that starts again rolls back nothing that was committed.

use types::codec::{Input, Malformed, put_bytes, put_u64};

use crate::error::{Result, SharedError};
use crate::index::{Entry, EntryChange};

/// Table of undo records.
pub(crate) const UNDO: &str = "undo";

/// Bytes that a record may have: it has to fit a page of its store.
const BYTES_MAX: usize = 512 << 10;

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
    if out.len() > BYTES_MAX { Err(SharedError::TooManyChanges) } else { Ok(out) }
}

pub(crate) fn read(bytes: &[u8]) -> Result<Vec<TableUndo>> {
    parse(bytes).map_err(|m| SharedError::Corrupt(m.in_bytes_of("an undo record").to_string()))
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
