//! Checks that indexes and tables agree.

use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::locks::{LockMode, LockUser};
use catalog::{State, TableEntry};
use host::Finding;
use storage::{
    Direction, IndexKind, KeyBuffer, KeyRange, RowBuffer, Snapshot, Table, TableIndex, Tid,
    Timestamp,
};
use txn::manager::{Isolation, TransactionManager};
use types::budget;

/// Findings of a check.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Damage of files.
    pub findings: Vec<Finding>,
    /// Other damage: indexes that do not agree with their tables, commits of the log that
    /// cannot be replayed.
    pub problems: Vec<String>,
    /// Tables looked at.
    pub tables: u64,
    /// Rows of them.
    pub rows: u64,
}

impl CheckReport {
    /// True when everything is as it should be.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.problems.is_empty()
    }
}

/// Compares all indexes with their tables, which nobody writes meanwhile and which have no garbage.
pub fn tables(state: &State) -> CheckReport {
    let mut report = CheckReport::default();
    for (name, entry) in &state.tables {
        let table = entry.storage();
        report.tables += 1;
        report.rows += count_rows(table);
        for index in table.indexes().iter() {
            let index_name = index.spec().name.clone();
            if let Err(what) = agrees(table, index) {
                report.problems.push(format!("index {index_name} of table {name}: {what}"));
            }
        }
        let wanted = (entry.def.indexes.len(), entry.def.block_indexes.len());
        if entry.is_indexed() && (table.indexes().len(), table.sub_blocks().len()) != wanted {
            report.problems.push(format!("table {name} does not have the indexes it should"));
        }
    }
    report
}

/// Reads the rows of all blocks, which have to fit what opening was told of them.
pub(super) fn blocks(state: &State, report: &mut CheckReport) {
    for (name, entry) in &state.tables {
        let damaged = entry.storage().unreadable_blocks().into_iter();
        let problem = |(block, error): (u64, types::Error)| {
            format!("block {block} of table {name}: {}", error.message())
        };
        report.problems.extend(damaged.map(problem));
    }
}

/// As [`tables`], beside transactions that run: of a table that somebody writes, or whose older
/// versions somebody may see, only that each row of a snapshot has its entries.
///
/// # Errors
/// 57014 and other ends of the statement that checks; 53300 when too many transactions run.
pub fn tables_beside_others(
    state: &State,
    manager: &Arc<TransactionManager>,
) -> types::Result<CheckReport> {
    let mut report = CheckReport::default();
    for (name, entry) in &state.tables {
        let table = entry.storage();
        report.tables += 1;
        report.rows += count_rows(table);
        for index in table.indexes().iter() {
            let before = quiet(entry, manager);
            let found = match agrees(table, index) {
                Err(what) if before.is_some() && quiet(entry, manager) == before => Err(what),
                Err(_) => has_entries(table, index, manager.begin(Isolation::Snapshot)?.snapshot()),
                Ok(()) => Ok(()),
            };
            budget::check()?;
            if let Err(what) = found {
                let index_name = &index.spec().name;
                report.problems.push(format!("index {index_name} of table {name}: {what}"));
            }
        }
    }
    Ok(report)
}

/// The newest commit, while nobody writes the table and nobody sees older versions.
fn quiet(entry: &TableEntry, manager: &TransactionManager) -> Option<Timestamp> {
    manager.collect();
    let writes = |user: &LockUser| user.is_granted && user.mode != LockMode::AccessShare;
    let is_written = entry.lock.users(manager).iter().any(writes);
    (!is_written && manager.garbage().0 == 0).then(|| manager.newest())
}

/// Each row that `at` sees has its entry.
fn has_entries(table: &Table, index: &TableIndex, at: Snapshot) -> Result<(), String> {
    let snapshot = table.snapshot(at);
    let (mut row, mut key) = (RowBuffer::new(), KeyBuffer::new());
    for block in 0..snapshot.block_count() {
        for number in snapshot.visible(block) {
            look(number)?;
            let tid = Tid::new(snapshot.block(block).id(), number);
            row.clear();
            if !read(table, at, tid, index, &mut row)? {
                continue;
            }
            encode(index, &row, &mut key)?;
            has_its_entries(index, &key, tid)?;
        }
    }
    Ok(())
}

/// A row with `key` has its entry, or, in an inverted index, all of them.
fn has_its_entries(index: &TableIndex, key: &KeyBuffer, tid: Tid) -> Result<(), String> {
    for key in index.entry_keys(key) {
        let found = index.lookup(key, |other| {
            if other == tid { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if found.is_continue() {
            return Err(format!("row {} of block {} has no entry", tid.row(), tid.block()));
        }
    }
    Ok(())
}

/// Every now and then whether to go on; the error only ends the loop over `rows`.
fn look(rows: u32) -> Result<(), String> {
    if rows.is_multiple_of(1 << 12) {
        budget::check().map_err(|error| error.to_string())
    } else {
        Ok(())
    }
}

/// The columns of the key of a row into `row`; false when `at` does not see the row.
fn read(
    table: &Table,
    at: Snapshot,
    tid: Tid,
    index: &TableIndex,
    row: &mut RowBuffer,
) -> Result<bool, String> {
    table.read(at, tid, index.ordinals(), row).map_err(|error| error.to_string())
}

fn count_rows(table: &Table) -> u64 {
    let snapshot = table.snapshot(Snapshot::ALL);
    (0..snapshot.block_count()).map(|block| snapshot.visible(block).len() as u64).sum()
}

/// Calls `visit` with each row that is there: its number, and its key.
fn each_key(
    table: &Table,
    index: &TableIndex,
    mut visit: impl FnMut(Tid, &KeyBuffer) -> Result<(), String>,
) -> Result<(), String> {
    let snapshot = table.snapshot(Snapshot::ALL);
    let (mut row, mut key) = (RowBuffer::new(), KeyBuffer::new());
    for block in 0..snapshot.block_count() {
        for number in snapshot.visible(block) {
            look(number)?;
            let tid = Tid::new(snapshot.block(block).id(), number);
            read(table, Snapshot::ALL, tid, index, &mut row)?;
            encode(index, &row, &mut key)?;
            visit(tid, &key)?;
        }
    }
    Ok(())
}

fn encode(index: &TableIndex, row: &RowBuffer, key: &mut KeyBuffer) -> Result<(), String> {
    let values: Vec<_> = row.iter().collect();
    index.encode_row(&values, key).map_err(|error| format!("a key cannot be computed: {error}"))
}

/// Each row has its entries in a hash or an inverted index, and there are no others.
fn agrees_by_row(table: &Table, index: &TableIndex) -> Result<(), String> {
    let mut entries = 0;
    each_key(table, index, |tid, key| {
        entries += index.entry_keys(key).len() as u64;
        has_its_entries(index, key, tid)
    })?;
    if index.len() == entries {
        Ok(())
    } else {
        Err(format!("{} entries where rows have {entries}", index.len()))
    }
}

/// Rows that have an entry.
fn count_entries(table: &Table, index: &TableIndex) -> Result<u64, String> {
    if index.derivation().is_none() {
        return Ok(count_rows(table));
    }
    let mut rows = 0;
    each_key(table, index, |_, key| {
        rows += u64::from(!key.is_absent());
        Ok(())
    })?;
    Ok(rows)
}

fn agrees(table: &Table, index: &TableIndex) -> Result<(), String> {
    index.check()?;
    if index.spec().kind != IndexKind::Ordered {
        return agrees_by_row(table, index);
    }
    let (mut row, mut wanted) = (RowBuffer::new(), KeyBuffer::new());
    // Every entry leads to a row of its key; there are as many entries as rows; so each row has
    // its entry, because no entry is there twice.
    let mut entries = 0;
    let all = KeyRange { low: std::ops::Bound::Unbounded, high: std::ops::Bound::Unbounded };
    let mut check = |key: &[u8], tid: Tid| {
        look(entries as u32)?;
        entries += 1;
        if !read(table, Snapshot::ALL, tid, index, &mut row)? {
            return Err(format!(
                "an entry leads to row {} of block {}, which is none",
                tid.row(),
                tid.block()
            ));
        }
        encode(index, &row, &mut wanted)?;
        if wanted[..] == *key {
            Ok(())
        } else {
            Err(format!("row {} of block {} has another key", tid.row(), tid.block()))
        }
    };
    let mut cursor = index.range(all, Direction::Forward);
    while let Some((key, tid)) = cursor.next() {
        check(key, tid)?;
    }
    let rows = count_entries(table, index)?;
    if entries == rows { Ok(()) } else { Err(format!("{entries} entries for {rows} rows")) }
}
