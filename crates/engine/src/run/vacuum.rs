//! VACUUM: versions that nobody sees go; with FREEZE, rows become frozen ones.

use sql::catalog::TableRef;
use sql::statement::{RelationName, VacuumFreeze};
use types::{Error, Result, SqlState};

use crate::instance::freezing;
use crate::transaction::work::Begun;
use crate::{QueryResult, Session};

impl Session {
    pub(super) fn vacuum(
        &mut self,
        tables: &[TableRef],
        freezing: VacuumFreeze,
    ) -> Result<QueryResult> {
        if self.work().begun != Begun::ForOneStatement {
            let message = "VACUUM cannot run inside a transaction block";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        // Its snapshot would keep what others delete meanwhile.
        self.end_statement()?;
        self.inner().pool.reclaim();
        if freezing == VacuumFreeze::Asked {
            self.freeze(tables)?;
        }
        Ok(QueryResult::command("VACUUM"))
    }

    /// Freezes the rows of `tables`, or of all that the user owns; others are passed over.
    fn freeze(&mut self, tables: &[TableRef]) -> Result<()> {
        let state = self.state();
        let names: Vec<&str> = if tables.is_empty() {
            state.tables.keys().map(String::as_str).collect()
        } else {
            tables.iter().map(|table| table.name()).collect()
        };
        for name in names {
            let Some(entry) = state.tables.get(name) else { continue };
            if state.check_owner(self.settings.who(), "table", name).is_err() {
                if !tables.is_empty() {
                    let table = RelationName::name_of_key(name);
                    let why = "only table or database owner can vacuum it";
                    self.warn(SqlState::WARNING, format!("skipping \"{table}\" --- {why}"));
                }
                continue;
            }
            let (site, cancel) = (self.inner().site(), self.cancel.clone());
            freezing::freeze_table(&site, entry.storage(), &|| cancel.check())?;
        }
        Ok(())
    }
}
