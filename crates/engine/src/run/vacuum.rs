//! VACUUM: versions that nobody sees go, and memory of rows that are gone; with FREEZE, rows become
//! frozen ones. ANALYZE: statistics are gathered now.

use std::sync::Arc;

use catalog::TableEntry;
use sql::catalog::{TableMeta, TableRef};
use sql::statement::{RelationName, VacuumAnalyze, VacuumFreeze};
use types::{Error, Result, SqlState};

use crate::instance::{compaction, freezing};
use crate::transaction::work::Begun;
use crate::{QueryResult, Session};

impl Session {
    pub(super) fn vacuum(
        &mut self,
        tables: &[TableRef],
        freezing: VacuumFreeze,
        analyze: VacuumAnalyze,
    ) -> Result<QueryResult> {
        if self.work().begun != Begun::ForOneStatement {
            let message = "VACUUM cannot run inside a transaction block";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        // Its snapshot would keep what others delete meanwhile.
        self.end_statement()?;
        // Nor is a table that was dropped to be kept by who was reading it.
        self.inner().gatherer.give_way();
        self.inner().pool.reclaim();
        let (site, cancel) = (self.inner().site(), self.cancel.clone());
        let check = || cancel.check();
        for entry in self.owned(tables, "vacuum") {
            if freezing == VacuumFreeze::Asked {
                freezing::freeze_table(&site, entry.storage(), &check)?;
            }
            compaction::compact_table(&site, &entry, &check)?;
        }
        // Blocks that rows have left.
        self.inner().pool.reclaim();
        if analyze == VacuumAnalyze::Asked {
            self.gather(tables)?;
        }
        Ok(QueryResult::command("VACUUM"))
    }

    /// ANALYZE of these tables; of all where none is named.
    pub(super) fn analyze(&mut self, tables: &[TableRef]) -> Result<QueryResult> {
        self.gather(tables)?;
        Ok(QueryResult::command("ANALYZE"))
    }

    fn gather(&mut self, tables: &[TableRef]) -> Result<()> {
        for entry in self.owned(tables, "analyze") {
            let cancel = self.cancel.clone();
            entry.storage().gather(&|| cancel.check())?;
        }
        Ok(())
    }

    /// The tables among `tables`, and their partitions, that the user owns, or all of the user's
    /// where none is named; others are passed over, with a warning that names what was to be done.
    fn owned(&mut self, tables: &[TableRef], verb: &str) -> Vec<Arc<TableEntry>> {
        let state = self.state();
        let mut names: Vec<&str> = Vec::new();
        if tables.is_empty() {
            names.extend(state.tables.keys().map(String::as_str));
        }
        for table in tables {
            names.push(table.name());
            let tree = state.tables.get(table.name()).and_then(|entry| entry.partitions());
            let leaves = tree.into_iter().flat_map(|tree| &tree.leaves);
            names.extend(leaves.map(|leaf| leaf.table.name()));
        }
        let mut owned = Vec::new();
        for name in names {
            let Some(entry) = state.tables.get(name) else { continue };
            if state.check_owner(self.settings.who(), "table", name).is_ok() {
                owned.push(Arc::clone(entry));
            } else if !tables.is_empty() {
                let table = RelationName::name_of_key(name);
                let why = format!("only table or database owner can {verb} it");
                self.warn(SqlState::WARNING, format!("skipping \"{table}\" --- {why}"));
            }
        }
        owned
    }
}
