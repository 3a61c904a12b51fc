//! The end of a transaction's work by a commit: to the log, under the commit latch, to everybody.
//!
//! Elsewhere: what is looked at before (`run::transaction`), work that is prepared first
//! (`prepared`).

use std::collections::HashMap;
use std::sync::Arc;

use catalog::locks::TableLock;
use catalog::wide::{Touch, Touched};
use catalog::{Sequence, State, TableEntry};
use durable::{Effects, Lsn, Marks, Redo};
use storage::{Timestamp, UndoBuffer};
use txn::manager::{CommitWork, Isolation, Transaction};
use types::Result;

use super::{IndexChange, Reads, UsedSequences, Work, undo_index_changes};
use crate::Commits;
use crate::instance::database::Inner;

/// Durability that COMMIT waits for.
#[derive(Clone, Copy)]
pub(crate) enum Durability<'a> {
    /// `synchronous_commit = on`.
    Wait,
    /// The same, but who acknowledges it waits.
    Noted(&'a Commits),
    /// `synchronous_commit = off`: the last moments may be lost with the power.
    Later,
}

impl Durability<'_> {
    /// Waits for the record at `lsn`, or notes it.
    pub(crate) fn of(self, inner: &Inner, lsn: Option<Lsn>) -> Result<()> {
        let (Some(durable), Some(lsn)) = (&inner.durable, lsn) else { return Ok(()) };
        match self {
            Durability::Wait => durable.wait(lsn),
            Durability::Noted(commits) => {
                durable.note(lsn);
                commits.note(lsn);
                Ok(())
            }
            Durability::Later => {
                durable.wait_not(lsn);
                Ok(())
            }
        }
    }
}

impl Work {
    /// Ends the transaction; its changes are visible and, unless `durability` says otherwise,
    /// durable.
    ///
    /// # Errors
    /// 40001 from validation or the attached part, or why the log cannot take it: everything is
    /// then rolled back.
    pub(crate) fn commit(mut self, inner: &Inner, durability: Durability<'_>) -> Result<()> {
        if let Err(error) = self.commit_attached() {
            self.rollback();
            return Err(error);
        }
        self.note_reads();
        let marks = Marks { committed: self.number.get(), ..Marks::default() };
        let Self { reading, txn, catalog, index_changes, locks, sequences, reads, wide, .. } = self;
        let ended = ended(&wide);
        let changes = Changes { catalog, sequences: taken(&sequences), ended, marks };
        drop(reading);
        let result = commit(inner, txn, changes, &reads, durability);
        match &result {
            Ok(()) => drop_indexes(index_changes),
            Err(_) => undo_index_changes(index_changes),
        }
        drop(locks);
        result
    }

    /// Moves what its queries read to where it is validated.
    pub(super) fn note_reads(&mut self) {
        if let Some(read_log) = self.read_log.get() {
            for (table, restrictions) in read_log.lock().drain(..) {
                self.reads.add(&table, &restrictions);
            }
        }
    }
}

/// The sequences that a transaction took values of, which it forgets.
pub(super) fn taken(sequences: &std::sync::OnceLock<UsedSequences>) -> Vec<Arc<Sequence>> {
    let taken = sequences.get().map(|used| std::mem::take(&mut *used.lock()));
    taken.unwrap_or_default()
}

/// Wide tables that end with a transaction which touched these.
pub(super) fn ended(wide: &Touched) -> Vec<Arc<TableEntry>> {
    let is_ended = |(wide, touch): &&(Arc<TableEntry>, Touch)| {
        *touch == Touch::Changed && !wide.freshness.has_ended()
    };
    wide.iter().filter(is_ended).map(|(wide, _)| Arc::clone(wide)).collect()
}

/// Takes away the indexes that were dropped. Queries that still run with an older plan keep the
/// index; it has all rows of their snapshots, because writers were locked out until now.
fn drop_indexes(changes: Vec<IndexChange>) {
    for change in changes {
        if let IndexChange::Dropped(table, id) = change {
            table.remove_index(id);
        }
    }
}

/// Changes of a transaction besides rows.
struct Changes {
    catalog: Option<Arc<State>>,
    /// Sequences that it took values of.
    sequences: Vec<Arc<Sequence>>,
    /// Wide tables that end with it.
    ended: Vec<Arc<TableEntry>>,
    /// Transactions that its record names.
    marks: Marks,
}

fn commit(
    inner: &Inner,
    txn: Transaction,
    changes: Changes,
    reads: &Reads,
    durability: Durability<'_>,
) -> Result<()> {
    let Changes { catalog, sequences, ended, marks } = changes;
    let is_nothing = txn.changes().is_none() && catalog.is_none() && sequences.is_empty();
    if is_nothing && marks.is_empty() {
        txn.rollback();
        return Ok(());
    }
    let redo = match &inner.durable {
        Some(durable) => {
            let old = catalog.as_ref().map(|_| inner.stores.relations.snapshot());
            let state = old.as_deref().zip(catalog.as_deref());
            let (sequences, ended) = (sequences.as_slice(), ended.as_slice());
            let effects = Effects { marks: Some(&marks), catalog: state, sequences, ended };
            durable.encode(txn.changes(), effects)?
        }
        None => None,
    };
    let isolation = txn.isolation();
    let mut ending = Ending { inner, catalog, ended, marks, redo, reads, isolation, lsn: None };
    txn.commit(&mut ending)?;
    durability.of(inner, ending.lsn)
}

/// Notes that the rows of tables that are stored anew are those of `ts`: older snapshots see none.
fn date_new_storage(old: &State, new: &State, ts: Timestamp) {
    let before: HashMap<*const TableLock, &Arc<TableEntry>> =
        old.tables.values().map(|entry| (Arc::as_ptr(&entry.lock), entry)).collect();
    for entry in new.tables.values() {
        let known = before.get(&Arc::as_ptr(&entry.lock));
        if known.is_some_and(|known| !Arc::ptr_eq(known.storage(), entry.storage())) {
            entry.storage().set_replaced_at(ts);
        }
    }
}

/// Steps of a commit under the commit latch.
pub(super) struct Ending<'a> {
    pub(super) inner: &'a Inner,
    pub(super) catalog: Option<Arc<State>>,
    pub(super) ended: Vec<Arc<TableEntry>>,
    pub(super) marks: Marks,
    pub(super) redo: Option<Redo<'a>>,
    pub(super) reads: &'a Reads,
    pub(super) isolation: Isolation,
    pub(super) lsn: Option<Lsn>,
}

impl CommitWork for Ending<'_> {
    fn validate(&mut self, newer: &mut dyn Iterator<Item = &UndoBuffer>) -> Result<()> {
        self.reads.validate(newer)
    }

    fn publish(&mut self, ts: Timestamp, undo: &UndoBuffer) -> Result<()> {
        let inner = self.inner;
        if self.isolation == Isolation::Serializable {
            inner.prepared.validate(undo)?;
        }
        if let (Some(durable), Some(redo)) = (&inner.durable, &mut self.redo) {
            self.lsn = Some(durable.append(ts, redo, self.catalog.as_deref())?);
        }
        inner.note_marks(&self.marks, ts);
        self.ended.iter().for_each(|wide| wide.freshness.end(ts));
        match self.catalog.take() {
            Some(state) => {
                // Others know those that are not new.
                let wide = state.tables.values().filter(|entry| entry.def.wide.is_some());
                wide.for_each(|entry| entry.freshness.begin(ts));
                date_new_storage(&inner.stores.relations.snapshot(), &state, ts);
                inner.stores.relations.publish(state);
            }
            None if !self.ended.is_empty() => inner.stores.relations.outdate(),
            None => {}
        }
        Ok(())
    }
}
