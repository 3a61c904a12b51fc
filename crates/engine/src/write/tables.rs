//! Tables of statements that write: locked, their indexes built, their constraints compiled.

use std::sync::Arc;

use catalog::TableEntry;
use catalog::locks::LockMode;
use sql::catalog::TableRef;
use types::Result;

use super::indexes;
use crate::Session;
use crate::transaction::work::{WantedTable, stale};

impl Session {
    /// The table of a statement that writes its rows: locked against changes of the table itself,
    /// its indexes built, its CHECK constraints and generated columns compiled.
    ///
    /// # Errors
    /// [`stale`] when the table changed since the statement was bound; 40P01, 57014 from waiting.
    pub(crate) fn write_table(&mut self, table: &TableRef) -> Result<Arc<TableEntry>> {
        let storage = exec::stored_table(table)?;
        self.work().check_own_change(storage.id())?;
        self.lock_table(table.name(), &storage, LockMode::RowExclusive)
    }

    /// As [`Self::write_table`], of a statement that only locks rows.
    pub(crate) fn row_share_table(&mut self, table: &TableRef) -> Result<Arc<TableEntry>> {
        let storage = exec::stored_table(table)?;
        self.lock_table(table.name(), &storage, LockMode::RowShare)
    }

    /// A table whose keys are looked for.
    pub(crate) fn referenced_table(&mut self, name: &str) -> Result<Arc<TableEntry>> {
        let entry = self.state().tables.get(name).cloned().ok_or_else(stale)?;
        self.lock_table(name, entry.storage(), LockMode::RowShare)
    }

    /// As [`Self::write_table`], for a table found through another one.
    pub(crate) fn write_table_named(&mut self, name: &str) -> Result<Arc<TableEntry>> {
        let entry = self.state().tables.get(name).cloned().ok_or_else(stale)?;
        self.lock_table(name, entry.storage(), LockMode::RowExclusive)
    }

    pub(crate) fn lock_table(
        &mut self,
        name: &str,
        storage: &Arc<storage::Table>,
        mode: LockMode,
    ) -> Result<Arc<TableEntry>> {
        let work = self.work.as_mut().expect("a statement runs in a transaction");
        let wanted = WantedTable { name, storage, mode };
        let entry = work.lock_table(self.database.inner(), &self.cancel, wanted)?;
        self.prepare_table(&entry)?;
        Ok(entry)
    }

    /// Builds the indexes of a locked table, and compiles its CHECK constraints, tests of domains
    /// and generated columns.
    pub(crate) fn prepare_table(&mut self, entry: &Arc<TableEntry>) -> Result<()> {
        indexes::ensure_built(self, entry)?;
        if !entry.checks.is_empty() {
            entry.checks.prepare(&entry.def, &self.own_catalog())?;
        }
        if !entry.generated.is_empty() {
            entry.generated.prepare(&entry.def, &self.own_catalog())?;
        }
        Ok(())
    }
}
