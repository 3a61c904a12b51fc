//! The duties of rows that are written, in their order. Every statement, COPY and the actions of
//! foreign keys go through here.
//!
//! ```text
//! insert  generated columns -> domains, CHECK -> storage | foreign keys, wide tables follow
//! update  generated columns -> storage -> domains, CHECK | wide tables end, foreign keys, keys
//! delete  storage                                        | wide tables end, keys gone
//!         '------- for each row or batch -------'          '-- when all rows are written --'
//! ```
//! Invariant: nobody else calls `foreign` or `wide` for rows that a statement wrote, so a duty that
//! is added here is kept everywhere.
//! Elsewhere: what is put off (`at_end`, `deferred`), how rows of an update are found (`change`).

use std::sync::Arc;

use catalog::checks::{Clocks, Written};
use catalog::rows::Rows;
use catalog::{TableEntry, keys};
use kernels::Batch;
use sql::catalog::{TableMeta, TriggerEvent};
use storage::{Datum, Tid, WriteError};
use types::{Result, budget};

use super::partitioned::{in_order, pick};
use super::rows::{attempt, one_row, read_rows};
use super::triggers::RowTriggers;
use super::{foreign, wide};
use crate::Session;
use crate::statement::at_end::After;
use crate::statement::running::Running;
use crate::transaction::work::newest;

/// Writes the rows of one table for one statement.
pub(crate) struct TableWriter<'a> {
    entry: &'a Arc<TableEntry>,
    kind: Kind,
    /// Triggers of new rows, if some fire.
    triggers: Option<RowTriggers>,
}

/// How rows change.
enum Kind {
    Insert,
    /// These columns change, generated ones among them.
    Update {
        columns: Vec<usize>,
        keys: Keys,
    },
    Delete {
        keys: Keys,
    },
}

/// State of the keys that change: foreign keys refer to them, or none do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    Referenced,
    Free,
}

/// Rows of one batch that were updated or deleted.
pub(crate) struct Changed {
    /// All columns as they were, if [`TableWriter::needs_before`].
    pub(crate) before: Option<Batch>,
    /// Where the rows are now; where they were, of deleted ones.
    pub(crate) tids: Vec<Tid>,
    /// The rows as they are now in another partition, all columns in the order of the table.
    pub(crate) elsewhere: Option<Batch>,
}

impl Keys {
    fn of(session: &Session, entry: &TableEntry, columns: Option<&[usize]>) -> Self {
        if keys::is_referenced(&session.state(), entry, columns) {
            Self::Referenced
        } else {
            Self::Free
        }
    }
}

impl<'a> TableWriter<'a> {
    /// A writer of new rows for which no triggers fire.
    pub(crate) fn inserting(entry: &'a Arc<TableEntry>) -> Self {
        Self { entry, kind: Kind::Insert, triggers: None }
    }

    /// A writer of new rows, with the triggers of the table.
    ///
    /// # Errors
    /// 54000 for too many types of rows.
    pub(crate) fn firing(session: &Session, entry: &'a Arc<TableEntry>) -> Result<Self> {
        let triggers = RowTriggers::of(session, entry, TriggerEvent::Insert, &[])?;
        Ok(Self { triggers, ..Self::inserting(entry) })
    }

    /// True when triggers may change or skip new rows.
    pub(crate) fn has_before(&self) -> bool {
        self.triggers.as_ref().is_some_and(RowTriggers::has_before)
    }

    /// Runs the triggers before a new row, the only one of `batch`; None when it is skipped.
    ///
    /// # Errors
    /// Errors of the functions.
    pub(crate) fn before(&self, running: &mut Running<'_>, batch: Batch) -> Result<Option<Batch>> {
        match self.triggers.as_ref().filter(|triggers| triggers.has_before()) {
            Some(triggers) => triggers.before_insert(running, &batch),
            None => Ok(Some(batch)),
        }
    }

    /// Writes new rows: triggers before each of them, then [`Self::complete`] and [`Self::store`].
    /// What is left in `batch` are the rows as they were written.
    ///
    /// # Errors
    /// Errors of INSERT.
    pub(crate) fn write(&self, running: &mut Running<'_>, batch: &mut Batch) -> Result<Vec<Tid>> {
        if !self.has_before() {
            self.complete(batch, running.session.clocks())?;
            return self.store(running, batch);
        }
        let (mut written, mut tids) = (Vec::new(), Vec::new());
        for row in 0..batch.rows as u32 {
            let Some(mut one) = self.before(running, pick(batch, &[row]))? else { continue };
            self.complete(&mut one, running.session.clocks())?;
            tids.extend(self.store(running, &one)?);
            written.push(one);
        }
        *batch = if written.is_empty() {
            pick(batch, &[])
        } else {
            in_order(&written, &(0..written.len() as u32).collect::<Vec<_>>())
        };
        Ok(tids)
    }

    /// A writer that changes these columns.
    pub(crate) fn updating(
        session: &Session,
        entry: &'a Arc<TableEntry>,
        columns: Vec<usize>,
    ) -> Self {
        let keys = Keys::of(session, entry, Some(&columns));
        Self { entry, kind: Kind::Update { columns, keys }, triggers: None }
    }

    /// A writer that deletes rows.
    pub(crate) fn deleting(session: &Session, entry: &'a Arc<TableEntry>) -> Self {
        let kind = Kind::Delete { keys: Keys::of(session, entry, None) };
        Self { entry, kind, triggers: None }
    }

    /// True when [`Changed::before`] has to be known, because foreign keys refer to the rows.
    pub(crate) fn needs_before(&self) -> bool {
        let (Kind::Update { keys, .. } | Kind::Delete { keys }) = &self.kind else { return false };
        *keys == Keys::Referenced
    }

    /// Computes the generated columns of new rows (all columns of the table), and tests domains and
    /// CHECK constraints.
    ///
    /// # Errors
    /// 23514, 23502; what an expression raises.
    pub(crate) fn complete(&self, batch: &mut Batch, clocks: Clocks<'_>) -> Result<()> {
        self.entry.generated.fill(batch)?;
        self.entry.checks.verify(&self.entry.def, batch, Written::All, clocks)
    }

    /// Stores rows that are complete.
    ///
    /// # Errors
    /// 23502, 23505, 40001, 40P01, 57014, 53200: nothing of the batch is stored then.
    pub(crate) fn store(&self, running: &mut Running<'_>, batch: &Batch) -> Result<Vec<Tid>> {
        let entry = self.entry;
        let mut tids = Vec::with_capacity(batch.rows);
        let cancel = running.session.cancel_handle();
        cancel.check()?;
        let work = running.session.work_mut();
        let mark = work.txn.mark();
        let written = attempt(work, &cancel, |undo| {
            tids.clear();
            entry.storage().insert_batch(undo, batch, &mut tids).inspect_err(|error| {
                // The row that has the key may be one of the batch: it goes when it was told.
                if !matches!(error, WriteError::Duplicate { .. }) {
                    undo.rollback_to(mark);
                }
            })
        });
        if let Err(error) = written {
            let error = error.into_error(work, entry);
            work.txn.rollback_to(mark);
            return Err(error);
        }
        if let Some(parts) = running.parts.as_mut().filter(|parts| parts.notes_new) {
            parts.note(entry.storage().id(), tids.iter().copied());
        }
        Ok(tids)
    }

    /// Notes new rows for the triggers behind them; [`Self::inserted`] does so, too.
    pub(crate) fn note(&self, running: &mut Running<'_>, batch: &Batch) {
        if let Some(triggers) = &self.triggers {
            triggers.note(running, None, Some(batch.clone()));
        }
    }

    /// Looks after new rows (all columns) when the statement has stored all of them.
    ///
    /// # Errors
    /// 23503; 40001, 40P01, 57014 from waiting for others.
    pub(crate) fn inserted(&self, running: &mut Running<'_>, batch: &Batch) -> Result<()> {
        self.note(running, batch);
        foreign::check_present(running, self.entry, batch, None)?;
        wide::inserted(running, self.entry, batch)
    }

    /// Inserts rows with all that is to be done for them; how many.
    ///
    /// # Errors
    /// Errors of INSERT.
    pub(crate) fn insert(
        &self,
        running: &mut Running<'_>,
        batches: &mut [Batch],
    ) -> Result<Vec<Vec<Tid>>> {
        let mut tids = Vec::with_capacity(batches.len());
        for batch in batches.iter_mut() {
            tids.push(self.write(running, batch)?);
        }
        for batch in &*batches {
            self.inserted(running, batch)?;
        }
        Ok(tids)
    }

    /// Inserts one row, all columns of the table in their physical forms; what it has for generated
    /// columns does not count. A row that owes nothing but its storage is not made a batch.
    ///
    /// # Errors
    /// Errors of INSERT; what was written of the row is taken back with the statement.
    pub(crate) fn insert_row(&self, running: &mut Running<'_>, row: &[Datum<'_>]) -> Result<Tid> {
        let (entry, storage) = (self.entry, self.entry.storage());
        let is_constrained =
            !entry.checks.is_empty() || entry.looks_at_keys() || !entry.generated.is_empty();
        let mut batch = is_constrained.then(|| one_row(storage, row));
        if let Some(batch) = &mut batch {
            self.complete(batch, running.session.clocks())?;
        }
        let filled = batch.as_ref().filter(|_| !entry.generated.is_empty()).map(Rows::new);
        let filled: Option<Vec<Datum<'_>>> =
            filled.as_ref().map(|rows| (0..rows.width()).map(|c| rows.get(c, 0)).collect());
        let row = filled.as_deref().unwrap_or(row);
        let cancel = running.session.cancel_handle();
        let work = running.session.work_mut();
        let mark = work.txn.mark();
        let written = attempt(work, &cancel, |undo| {
            storage.insert(undo, row).inspect_err(|_| undo.rollback_to(mark))
        });
        let tid = written.map_err(|error| error.into_error(running.session.work(), entry))?;
        if let Some(batch) = &batch {
            self.inserted(running, batch)?;
        }
        Ok(tid)
    }

    /// Tests the CHECK constraints of rows that were updated; all their columns as they are now,
    /// read only when a constraint or `read` asks for them.
    ///
    /// # Errors
    /// 23514; what a condition raises.
    pub(crate) fn updated(
        &self,
        session: &Session,
        tids: &[Tid],
        read: ReadBack,
    ) -> Result<Option<Batch>> {
        if self.entry.checks.is_empty() && read == ReadBack::No {
            return Ok(None);
        }
        let columns = read_rows(self.entry.storage(), newest(session.work()), tids)?;
        let batch = Batch::new(columns, tids.len());
        let written = match &self.kind {
            Kind::Update { columns, .. } => Written::Only(columns),
            Kind::Insert | Kind::Delete { .. } => Written::All,
        };
        self.entry.checks.verify(&self.entry.def, &batch, written, session.clocks())?;
        Ok(Some(batch))
    }

    /// Looks after updated or deleted rows when the statement has written all of them.
    ///
    /// # Errors
    /// 23503; whatever the actions of foreign keys meet.
    pub(crate) fn changed(&self, running: &mut Running<'_>, changes: Vec<Changed>) -> Result<()> {
        let entry = self.entry;
        if changes.iter().any(|change| !change.tids.is_empty()) {
            wide::changed(running, entry);
        }
        if let Kind::Update { columns, .. } = &self.kind
            && keys::is_looked_at(entry, columns)
        {
            for Changed { tids, .. } in &changes {
                budget::check()?;
                let now = newest(running.session.work());
                let batch = Batch::new(read_rows(entry.storage(), now, tids)?, tids.len());
                foreign::check_present(running, entry, &batch, Some(columns))?;
            }
        }
        if !self.needs_before() {
            return Ok(());
        }
        for Changed { before, tids, elsewhere } in changes {
            budget::check()?;
            let after = match (&self.kind, elsewhere) {
                (Kind::Update { .. }, _) => After::At(tids),
                (_, Some(rows)) => After::Elsewhere(rows),
                _ => After::Nowhere,
            };
            if let Some(before) = before {
                foreign::keys_gone(running, entry, &before, after)?;
            }
        }
        Ok(())
    }
}

/// Choice to read updated rows back for RETURNING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadBack {
    Yes,
    No,
}
