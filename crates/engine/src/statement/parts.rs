//! Rows that the parts of WITH returned and changed, for those that run after them.
//!
//! Elsewhere: the order in which they run (`write::parts`).

use std::collections::{HashMap, HashSet};

use kernels::Batch;
use storage::{TableId, Tid};

/// The parts of the statement that runs, as far as they have run.
#[derive(Default)]
pub(crate) struct Parts {
    /// Rows that the parts returned, by number; empty before they ran.
    pub(crate) returned: Vec<Vec<Batch>>,
    /// Rows that they changed, by table; new ones, too, where [`Self::notes_new`].
    pub(crate) changed: HashMap<TableId, HashSet<Tid>>,
    /// New rows count as changed: ON CONFLICT of a part may meet them.
    pub(crate) notes_new: bool,
}

impl Parts {
    /// The rows of `Input` operators: those of slot 0, which is the query's own, then of the parts.
    pub(crate) fn inputs(&self, own: Vec<Vec<Batch>>) -> Vec<Vec<Batch>> {
        let own = own.into_iter().next().unwrap_or_default();
        std::iter::once(own).chain(self.returned.iter().cloned()).collect()
    }

    /// The rows of table `table` that were changed.
    pub(crate) fn changed(&self, table: TableId) -> HashSet<Tid> {
        self.changed.get(&table).cloned().unwrap_or_default()
    }

    /// Takes note of changed rows of table `table`.
    pub(crate) fn note(&mut self, table: TableId, tids: impl IntoIterator<Item = Tid>) {
        self.changed.entry(table).or_default().extend(tids);
    }
}
