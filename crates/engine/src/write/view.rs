//! What the queries of a statement that writes see: the tables as they were before it.
//!
//! ```text
//! source -> writes -> assignments of ON CONFLICT, RETURNING, the next part of a WITH
//!    '---------------------- one snapshot ------------------------'
//! ```
//! A snapshot has all changes of a transaction or none. So what was there before the statement is
//! seen without the transaction's own changes, as long as there are none but those of the
//! statement; behind other changes it is seen with all of them, and reading what the statement
//! itself changed is refused.

use std::collections::HashSet;

use sql::algebra::{Plan, Query};
use sql::catalog::TableRef;
use sql::statement::Statement;
use storage::{ChangeKind, Snapshot, TxnId, UndoBuffer};
use types::{Error, Result};

use super::foreign;
use crate::Session;

/// Changes looked through for one that is not a lock.
const LOCKS_MAX: usize = 64;

/// What all queries of `statement` see; None: what the transaction does.
///
/// # Errors
/// 0A000 where it would have to see some of the transaction's changes only.
pub(crate) fn of_statement(session: &Session, statement: &Statement) -> Result<Option<Snapshot>> {
    let txn = &session.work().txn;
    if !txn.changes().is_some_and(has_changes) {
        return Ok(Some(Snapshot { txn: TxnId::NONE, ..txn.snapshot() }));
    }
    let mut changed = HashSet::new();
    let parts = match statement {
        Statement::WithChanges(with) => {
            with.parts.iter().map(|part| &part.statement).chain([&with.main]).collect()
        }
        one => vec![one],
    };
    for part in parts {
        let queries = part.queries();
        let (source, later) = queries.split_at(queries.len().min(1));
        refuse_reading(source, &changed)?;
        if later.iter().any(|query| has_scan(query))
            || matches!(statement, Statement::WithChanges(_))
        {
            add_changed(session, part, &mut changed);
            refuse_reading(later, &changed)?;
        }
    }
    Ok(None)
}

fn has_changes(undo: &UndoBuffer) -> bool {
    let is_change = |kind| !matches!(kind, ChangeKind::Lock | ChangeKind::Void);
    undo.len() > LOCKS_MAX || undo.changes().any(|change| is_change(change.kind))
}

fn has_scan(query: &Query) -> bool {
    let mut found = false;
    query.plan.each_operator(&mut |plan| found |= matches!(plan, Plan::Scan { .. }));
    found
}

fn refuse_reading(queries: &[&Query], changed: &HashSet<String>) -> Result<()> {
    let mut found = None;
    for query in queries.iter().filter(|_| !changed.is_empty()) {
        query.plan.each_operator(&mut |plan| {
            if let Plan::Scan { table, .. } = plan
                && changed.contains(table.name())
            {
                found = Some(table.name().to_owned());
            }
        });
    }
    match found {
        Some(name) => Err(Error::unsupported(format!(
            "reading table \"{name}\" in a statement that changes it, after other changes in the \
             transaction,"
        ))),
        None => Ok(()),
    }
}

/// The table that a statement changes.
pub(super) fn target(statement: &Statement) -> Option<&TableRef> {
    match statement {
        Statement::Insert(insert) => Some(&insert.table),
        Statement::Update(update) => Some(&update.table),
        Statement::Delete(delete) => Some(&delete.table),
        Statement::Merge(merge) => Some(&merge.table),
        _ => None,
    }
}

/// Adds the tables that `statement` changes, by the actions of foreign keys, too.
fn add_changed(session: &Session, statement: &Statement, changed: &mut HashSet<String>) {
    let state = session.state();
    let mut left: Vec<String> =
        target(statement).into_iter().map(|table| table.name().to_owned()).collect();
    while let Some(name) = left.pop() {
        if let Some(entry) = state.tables.get(&name).filter(|_| changed.insert(name.clone())) {
            left.extend(foreign::referring_tables(session, entry));
        }
    }
}
