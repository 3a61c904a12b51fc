//! WITH whose queries change rows: the parts one after the other, then the statement itself.
//!
//! ```text
//! snapshot --> part 0 --returned--> part 1 --returned--> ... --> main
//!    '------------ what each of them sees of the tables ---------'
//! ```
//! Invariants: no part sees what another did but by what it returned; of several changes of one row
//! the first counts. Both as in PostgreSQL, which leaves the order open.

use std::collections::{HashMap, HashSet};

use kernels::Batch;
use sql::algebra::Plan;
use sql::catalog::TableRef;
use sql::statement::{Statement, WithChanges};
use storage::{ChangeKind, Snapshot, Tid, TxnId};
use types::{Error, Result};

use super::foreign;
use super::insert::slices;
use crate::{QueryResult, Session};

/// The parts of the statement that runs, as far as they have run.
pub(crate) struct Parts {
    /// What all of them see.
    pub(crate) at: Snapshot,
    /// What they returned.
    returned: Vec<Vec<Batch>>,
    /// Rows that they changed, by table.
    changed: HashMap<u64, HashSet<Tid>>,
}

impl Parts {
    /// The rows of `Input` operators: those of slot 0, which is the query's own, then of the parts.
    pub(crate) fn inputs(&self, own: Vec<Vec<Batch>>) -> Vec<Vec<Batch>> {
        let own = own.into_iter().next().unwrap_or_default();
        std::iter::once(own).chain(self.returned.iter().cloned()).collect()
    }

    /// The rows of table `table` that were changed.
    pub(super) fn changed(&self, table: u64) -> HashSet<Tid> {
        self.changed.get(&table).cloned().unwrap_or_default()
    }

    /// Takes note of changed rows of table `table`.
    pub(super) fn note(&mut self, table: u64, tids: impl IntoIterator<Item = Tid>) {
        self.changed.entry(table).or_default().extend(tids);
    }
}

/// Runs all of `with`; the result is that of its main statement.
///
/// # Errors
/// Those of its statements; 0A000 where the parts would have to see less than the transaction does.
pub(crate) fn run(session: &mut Session, with: &WithChanges) -> Result<QueryResult> {
    refuse_same_table(with)?;
    let at = snapshot(session, with)?;
    session.parts = Some(Parts { at, returned: Vec::new(), changed: HashMap::new() });
    let outcome = run_all(session, with);
    session.parts = None;
    outcome
}

fn run_all(session: &mut Session, with: &WithChanges) -> Result<QueryResult> {
    let not_rows = || Error::internal("the parts of WITH read or write rows");
    for part in &with.parts {
        let result = session.run_rows(part).ok_or_else(not_rows)??;
        let returned = slices(result.batches().to_vec());
        if let Some(parts) = &mut session.parts {
            parts.returned.push(returned);
        }
    }
    session.run_rows(&with.main).ok_or_else(not_rows)?
}

/// The table that a statement changes.
fn target(statement: &Statement) -> Option<&TableRef> {
    match statement {
        Statement::Insert(insert) => Some(&insert.table),
        Statement::Update(update) => Some(&update.table),
        Statement::Delete(delete) => Some(&delete.table),
        _ => None,
    }
}

fn targets(with: &WithChanges) -> impl Iterator<Item = (&Statement, &TableRef)> {
    let all = with.parts.iter().chain([&with.main]);
    all.filter_map(|statement| target(statement).map(|table| (statement, table)))
}

/// ON CONFLICT DO UPDATE may meet rows of the statement itself, which it must not change.
fn refuse_same_table(with: &WithChanges) -> Result<()> {
    for (statement, table) in targets(with) {
        let Statement::Insert(insert) = statement else { continue };
        let times = targets(with).filter(|(_, other)| other.name() == table.name()).count();
        if insert.on_conflict.is_some() && times > 1 {
            let message = "ON CONFLICT and another change of the same table in one WITH";
            return Err(Error::unsupported(message));
        }
    }
    Ok(())
}

/// What the statement sees: what was there before it. What the transaction itself did before can
/// only be seen together with what the statement does; so if it did anything, the statement must
/// not read the tables that it changes.
fn snapshot(session: &Session, with: &WithChanges) -> Result<Snapshot> {
    let txn = &session.work().txn;
    let at = txn.snapshot();
    let is_change = |kind| !matches!(kind, ChangeKind::Lock | ChangeKind::Void);
    if !txn.changes().is_some_and(|undo| undo.changes().any(|change| is_change(change.kind))) {
        return Ok(Snapshot { txn: TxnId::NONE, ..at });
    }
    let changed = changed_by_parts(session, with);
    let mut reads_changed = false;
    for query in with.parts.iter().skip(1).chain([&with.main]).flat_map(Statement::queries) {
        query.plan.each_operator(&mut |plan| {
            if let Plan::Scan { table, .. } = plan {
                reads_changed |= changed.contains(table.name());
            }
        });
    }
    if reads_changed {
        let message = "WITH that reads a table that it changes, behind other changes of the \
                       transaction,";
        return Err(Error::unsupported(message));
    }
    Ok(at)
}

/// The tables that the parts change, by the actions of foreign keys, too.
fn changed_by_parts(session: &Session, with: &WithChanges) -> HashSet<String> {
    let state = session.state();
    let mut left: Vec<String> =
        with.parts.iter().filter_map(target).map(|table| table.name().to_owned()).collect();
    let mut changed = HashSet::new();
    while let Some(name) = left.pop() {
        if let Some(entry) = state.tables.get(&name).filter(|_| changed.insert(name.clone())) {
            left.extend(foreign::referring_tables(session, entry));
        }
    }
    changed
}
