//! SELECT ... FOR UPDATE and its kin: TIDs of the tables locked travel behind the result columns.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::name::{folded, ident_at};
use super::scope::Scope;
use super::select::Target;
use super::{Binder, Bound, BoundQuery, Unknowns, fail, unsupported};
use crate::algebra::{ColumnId, Expr, JoinKind, Place, Plan, Query};
use crate::catalog::{TID_COLUMN, TableRef};
use crate::parse::LockTree;
use crate::statement::{LockWait, Privilege, RowLock, RowLockStrength, SelectForUpdate};

/// What the outermost SELECT locks, while it is being bound.
#[derive(Debug, Default)]
pub(super) struct Locking {
    clauses: Vec<LockTree>,
    /// Tables scanned with their TIDs.
    scans: Vec<LockedScan>,
    /// The scans that are locked, in the order of the TID columns.
    locks: Vec<RowLock>,
}

#[derive(Debug)]
struct LockedScan {
    relation: String,
    table: TableRef,
    tid: ColumnId,
}

impl Binder<'_> {
    /// A query with FOR UPDATE or its kin.
    pub(super) fn bind_locking(
        &mut self,
        query: &ast::Query,
        clauses: Vec<LockTree>,
    ) -> Result<SelectForUpdate> {
        let clause = clause_name(&clauses);
        let at = clauses.first().and_then(|lock| lock.at);
        let select = match &*query.body {
            ast::SetExpr::Select(select) => select,
            ast::SetExpr::Values(_) => {
                let message = format!("{clause} cannot be applied to VALUES");
                return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
            }
            _ => return not_allowed(&clause, "UNION/INTERSECT/EXCEPT", at),
        };
        refuse_clauses(select, &clause, at)?;
        let definitions = self.definitions(query.with.as_ref())?;
        self.locking = Some(Locking { clauses, ..Locking::default() });
        let order_by = super::query::order_list(query)?;
        let bound = self.bind_select(select, order_by, Unknowns::Text);
        let locking = self.locking.take().unwrap_or_default();
        let mut bound = bound?;
        let (limit, offset) = self.count_clauses(query)?;
        if query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties) {
            return not_allowed(&clause, "WITH TIES", at);
        }
        for tid in bound.columns.iter().rev().take(locking.locks.len()) {
            if nullable_side(&bound.plan, tid.id) {
                let message =
                    format!("{clause} cannot be applied to the nullable side of an outer join");
                return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
            }
        }
        for definition in definitions.into_iter().rev() {
            bound.plan = definition.around(bound.plan);
        }
        let width = bound.columns.len() - locking.locks.len();
        Ok(SelectForUpdate {
            limit: self.count_query(limit)?,
            offset: self.count_query(offset)?,
            query: self.finish(bound)?,
            width,
            locks: locking.locks,
        })
    }

    /// A count as a query of its own.
    fn count_query(&mut self, count: Option<Expr>) -> Result<Option<Box<Query>>> {
        let Some(count) = count else {
            return Ok(None);
        };
        let query: BoundQuery = self.projected_exprs(Plan::one_row(), vec![count]);
        Ok(Some(Box::new(self.finish(query)?)))
    }

    /// Refuses to lock rows of a wide table, which has none of its own.
    ///
    /// # Errors
    /// 42809.
    pub(super) fn refuse_wide_lock(&self, scope: &Scope) -> Result<()> {
        let (Some(locking), [relation]) = (&self.locking, scope.relations.as_slice()) else {
            return Ok(());
        };
        let is_named = |lock: &LockTree| {
            lock.of.is_empty() || lock.of.iter().any(|ident| folded(ident) == relation.name)
        };
        let is_here = self.levels.len() == 1 && self.view_depth == 0;
        if !is_here || !locking.clauses.iter().any(is_named) {
            return Ok(());
        }
        let message = format!("cannot lock rows in wide table \"{}\"", relation.name);
        fail(SqlState::WRONG_OBJECT_TYPE, message, relation.at)
    }

    /// Gives the scan of a table its TID, when it stands in the FROM of the query that locks.
    pub(super) fn lock_scan(&mut self, plan: &mut Plan, scope: &Scope) {
        if self.levels.len() != 1 || self.view_depth > 0 || self.locking.is_none() {
            return;
        }
        let tid = self.fresh();
        let (Some(locking), Plan::Scan { table, columns, .. }, [relation]) =
            (&mut self.locking, plan, scope.relations.as_slice())
        else {
            return;
        };
        columns.insert(0, (tid, TID_COLUMN));
        let (relation, table) = (relation.name.clone(), table.clone());
        let is_named = |lock: &LockTree| {
            lock.of.is_empty() || lock.of.iter().any(|ident| folded(ident) == relation)
        };
        let is_locked = locking.clauses.iter().any(is_named);
        let name = table.name().to_owned();
        locking.scans.push(LockedScan { relation, table, tid });
        if is_locked {
            self.require_columns(&name, Privilege::Update, []);
        }
    }

    /// The TID columns of the query that locks, behind its select list.
    pub(super) fn lock_targets(&mut self) -> Result<Vec<Target>> {
        if self.levels.len() != 1 || self.view_depth > 0 {
            return Ok(Vec::new());
        }
        let level = self.level()?;
        let scope: Vec<String> =
            level.scope.relations.iter().map(|relation| relation.name.clone()).collect();
        let called = [
            (!level.aggregates.is_empty(), "aggregate functions"),
            (!level.windows.is_empty(), "window functions"),
            (!level.series.is_empty(), "set-returning functions in the target list"),
        ];
        let Some(locking) = &mut self.locking else {
            return Ok(Vec::new());
        };
        let clause = clause_name(&locking.clauses);
        if let Some((_, what)) = called.iter().find(|(called, _)| *called) {
            return not_allowed(&clause, what, locking.clauses.first().and_then(|lock| lock.at));
        }
        check_names(&locking.clauses, &scope)?;
        let mut targets = Vec::new();
        for scan in &locking.scans {
            let names = |lock: &&LockTree| {
                lock.of.is_empty() || lock.of.iter().any(|ident| folded(ident) == scan.relation)
            };
            let mut strongest: Option<(RowLockStrength, LockWait)> = None;
            for lock in locking.clauses.iter().filter(names) {
                strongest = Some(match strongest {
                    None => (lock.strength, lock.wait),
                    Some((strength, wait)) => {
                        (strength.max(lock.strength), impatient(wait, lock.wait))
                    }
                });
            }
            let Some((strength, wait)) = strongest else {
                continue;
            };
            locking.locks.push(RowLock { table: scan.table.clone(), strength, wait });
            let bound = Bound::new(Expr::column(scan.tid, DataType::BigInt), None);
            targets.push(Target { name: "tid".to_owned(), bound });
        }
        if targets.len() < scope.len() && locking.clauses.iter().any(|lock| lock.of.is_empty()) {
            let at = locking.clauses.first().and_then(|lock| lock.at);
            return unsupported(format!("{clause} of a sub-query or view"), at);
        }
        Ok(targets)
    }
}

/// As PostgreSQL names the first of the clauses.
fn clause_name(clauses: &[LockTree]) -> String {
    let name = match clauses.first().map(|lock| lock.strength) {
        Some(RowLockStrength::KeyShare) => "FOR KEY SHARE",
        Some(RowLockStrength::Share) => "FOR SHARE",
        Some(RowLockStrength::NoKeyUpdate) => "FOR NO KEY UPDATE",
        Some(RowLockStrength::Update) | None => "FOR UPDATE",
    };
    name.to_owned()
}

/// The policy that waits least: PostgreSQL prefers NOWAIT, then SKIP LOCKED.
fn impatient(a: LockWait, b: LockWait) -> LockWait {
    match (a, b) {
        (LockWait::Fail, _) | (_, LockWait::Fail) => LockWait::Fail,
        (LockWait::Skip, _) | (_, LockWait::Skip) => LockWait::Skip,
        _ => LockWait::Wait,
    }
}

fn not_allowed<T>(clause: &str, what: &str, at: Place) -> Result<T> {
    let message = format!("{clause} is not allowed with {what}");
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
}

fn refuse_clauses(select: &ast::Select, clause: &str, at: Place) -> Result<()> {
    let grouped = match &select.group_by {
        ast::GroupByExpr::Expressions(list, modifiers) => !list.is_empty() || !modifiers.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    let distinct = !matches!(select.distinct, None | Some(ast::Distinct::All));
    if distinct {
        return not_allowed(clause, "DISTINCT clause", at);
    }
    if grouped {
        return not_allowed(clause, "GROUP BY clause", at);
    }
    if select.having.is_some() {
        return not_allowed(clause, "HAVING clause", at);
    }
    Ok(())
}

/// 42P01 for a name after OF that is not in FROM.
fn check_names(clauses: &[LockTree], scope: &[String]) -> Result<()> {
    for lock in clauses {
        for ident in &lock.of {
            if !scope.contains(&folded(ident)) {
                let name = folded(ident);
                let clause = clause_name(std::slice::from_ref(lock));
                let message =
                    format!("relation \"{name}\" in {clause} clause not found in FROM clause");
                return fail(SqlState::UNDEFINED_TABLE, message, ident_at(ident));
            }
        }
    }
    Ok(())
}

/// True when an outer join may make column `id` NULL.
fn nullable_side(plan: &Plan, id: ColumnId) -> bool {
    if let Plan::Join { left, right, kind, .. } = plan {
        let (in_left, in_right) = (left.output().contains(&id), right.output().contains(&id));
        let nullable = match kind {
            JoinKind::Left => in_right,
            JoinKind::Right => in_left,
            JoinKind::Full => in_left || in_right,
            _ => false,
        };
        if nullable {
            return true;
        }
    }
    plan.inputs().iter().any(|input| input.output().contains(&id) && nullable_side(input, id))
}

/// 0A000 for a lock clause where none may stand.
pub(super) fn refuse_locks(clauses: &[LockTree], what: &str) -> Result<()> {
    match clauses.first() {
        Some(lock) => {
            unsupported(format!("{} in {what}", clause_name(std::slice::from_ref(lock))), lock.at)
        }
        None => Ok(()),
    }
}
