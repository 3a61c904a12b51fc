//! SELECT ... FOR UPDATE and its kin: TIDs of the tables locked travel behind the result columns.

use sqlparser::ast;
use types::{DataType, Result, SqlState, Value};

use super::clauses::Target;
use super::locks_below::LocksBelow;
use super::name::ident_at;
use super::scope::Scope;
use super::{Binder, Bound, BoundQuery, Unknowns, fail, unsupported};
use crate::algebra::{ColumnId, Expr, Function, JoinKind, Place, Plan, Query};
use crate::catalog::{TID_COLUMN, TableRef, ViewRights};
use crate::parse::{LockTree, folded};
use crate::statement::{
    LockWait, Privilege, RelationName, RowLock, RowLockStrength, SelectForUpdate, Statement,
};

/// Rows in front of a queue that others are likely to have locked, at most. With the one that is
/// wanted most often they are as many as an index scan reads first.
const LIKELY_LOCKED: i64 = 31;

/// Locks of a SELECT, while it is being bound.
#[derive(Debug, Default)]
pub(super) struct Locking {
    clauses: Vec<LockTree>,
    /// How many levels there are where its FROM is bound.
    level: usize,
    /// How many views there are around it.
    view_depth: usize,
    /// Tables scanned with their TIDs.
    scans: Vec<LockedScan>,
    /// Relations in FROM that have no rows to lock, and what they are.
    others: Vec<(String, &'static str)>,
    /// The scans that are locked, in the order of the TID columns.
    locks: Vec<RowLock>,
}

impl Locking {
    /// The clauses of a query whose FROM is bound next by `binder`.
    fn of(clauses: Vec<LockTree>, binder: &Binder<'_>) -> Self {
        let (level, view_depth) = (binder.levels.len() + 1, binder.view_depth);
        Self { clauses, level, view_depth, ..Self::default() }
    }
}

#[derive(Debug)]
struct LockedScan {
    relation: String,
    table: TableRef,
    tid: ColumnId,
}

impl Binder<'_> {
    /// The outermost query, whose rows `locks` lock.
    pub(super) fn top_locking(
        &mut self,
        query: &ast::Query,
        locks: Vec<LockTree>,
    ) -> Result<Statement> {
        Ok(if locks.is_empty() {
            Statement::Query(self.top_query(query)?)
        } else {
            Statement::SelectForUpdate(Box::new(self.bind_locking(query, locks)?))
        })
    }

    /// The clauses that lock the rows of `query`, taken out of those of the statement.
    pub(super) fn locks_of(&mut self, query: &ast::Query) -> Vec<LockTree> {
        let ast::SetExpr::Select(select) = &*query.body else { return Vec::new() };
        if self.locks.is_empty() || self.view_depth > 0 || self.definition_depth > 0 {
            return Vec::new();
        }
        let at = super::at_span(select.select_token.0.span);
        self.locks.extract_if(.., |lock| lock.select == at).collect()
    }

    /// A query inside of the statement whose rows are locked: a part of it, which runs once. So it
    /// cannot refer to the queries around it.
    pub(super) fn bind_locked(
        &mut self,
        query: &ast::Query,
        clauses: Vec<LockTree>,
    ) -> Result<BoundQuery> {
        let (clause, at) = (clause_name(&clauses), clauses.first().and_then(|lock| lock.at));
        let (first, is_part) = (self.next_column, self.changes.is_part);
        let locking = self.locking.take();
        self.changes.is_part = true;
        let select = self.bind_locking(query, clauses);
        self.changes.is_part = is_part;
        self.locking = locking;
        let select = select?;
        let mut is_correlated = false;
        let others = [&select.first, &select.limit, &select.offset].into_iter().flatten();
        for query in others.map(|query| &**query).chain([&select.query]) {
            query.plan.each_column(&mut |id| is_correlated |= id.0 < first);
        }
        if is_correlated {
            return unsupported(format!("{clause} of a correlated sub-query"), at);
        }
        Ok(self.locked_part(select, at))
    }

    /// A query with FOR UPDATE or its kin.
    fn bind_locking(
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
        let ctes_before = self.ctes.len();
        let definitions = self.definitions(query.with.as_ref())?;
        self.locking = Some(Locking::of(clauses, self));
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
        self.ctes.truncate(ctes_before);
        let around = |plan: Plan| -> Plan {
            definitions.iter().rev().fold(plan, |plan, definition| definition.clone().around(plan))
        };
        let width = bound.columns.len() - locking.locks.len();
        let likely = limit.as_ref().map(|limit| likely_count(limit, offset.as_ref()));
        let first = likely.map(|count| {
            let input = Box::new(bound.plan.clone());
            let plan = around(Plan::Limit { input, limit: Some(count), offset: None });
            BoundQuery { plan, columns: bound.columns.clone() }
        });
        bound.plan = around(bound.plan);
        let mut count_of = |count: Option<Expr>| -> Result<Option<Box<Query>>> {
            let Some(count) = count else { return Ok(None) };
            let mut query: BoundQuery = self.projected_exprs(Plan::one_row(), vec![count]);
            if query.plan.reads_cte() {
                query.plan = around(query.plan);
                if query.plan.is_volatile() {
                    let what = format!("{clause} with a count of rows that a volatile WITH gives");
                    return unsupported(what, at);
                }
            }
            Ok(Some(Box::new(self.finish(query)?)))
        };
        let (limit, offset) = (count_of(limit)?, count_of(offset)?);
        Ok(SelectForUpdate {
            first: first.map(|first| self.finish(first).map(Box::new)).transpose()?,
            limit,
            offset,
            query: self.finish(bound)?,
            width,
            locks: locking.locks,
        })
    }

    /// Refuses to lock rows of a wide table, which has none of its own.
    ///
    /// # Errors
    /// 42809.
    pub(super) fn refuse_kept_lock(&self, scope: &Scope, kind: &str) -> Result<()> {
        let (Some(locking), [relation]) = (&self.locking, scope.relations.as_slice()) else {
            return Ok(());
        };
        let is_named = locking.clauses.iter().any(|lock| lock.names(&relation.name));
        if !self.is_locked_level() || !is_named {
            return Ok(());
        }
        let message = format!("cannot lock rows in {kind} \"{}\"", relation.name);
        fail(SqlState::WRONG_OBJECT_TYPE, message, relation.at)
    }

    /// True when what is bound is of the query itself that locks.
    fn is_locked_level(&self) -> bool {
        self.locking.as_ref().is_some_and(|locking| {
            (locking.level, locking.view_depth) == (self.levels.len(), self.view_depth)
        })
    }

    /// Gives the scan of a table its TID, when it stands in the FROM of the query that locks.
    pub(super) fn lock_scan(&mut self, plan: &mut Plan, scope: &Scope) {
        if !self.is_locked_level() {
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
        let is_locked = locking.clauses.iter().any(|lock| lock.names(&relation));
        let name = table.name().to_owned();
        locking.scans.push(LockedScan { relation, table, tid });
        if is_locked {
            self.require_columns(&name, Privilege::Update, []);
        }
    }

    /// Notes that `scope`, in the FROM of the query that locks, is `what`, which has no rows of its
    /// own.
    pub(super) fn note_unlockable(&mut self, scope: &Scope, what: &'static str) {
        if self.is_locked_level()
            && let (Some(locking), Some(relation)) = (&mut self.locking, scope.relations.first())
        {
            locking.others.push((relation.name.clone(), what));
        }
    }

    /// The clauses that lock the rows of `relation`, a sub-query or view in FROM.
    pub(super) fn locks_below(&self, relation: &str) -> LocksBelow {
        let here = self.locking.iter().filter(|_| self.is_locked_level());
        let named = here.flat_map(|locking| &locking.clauses).filter(|lock| lock.names(relation));
        let clauses = named.map(|lock| LockTree { of: Vec::new(), ..lock.clone() }).collect();
        LocksBelow { clauses, relation: relation.to_owned() }
    }

    /// The clauses that lock the rows of the view `full` in FROM; none those of the system's.
    pub(super) fn locks_of_view(
        &self,
        full: &RelationName,
        alias: Option<&ast::TableAlias>,
        rights: &ViewRights,
    ) -> LocksBelow {
        if *rights == ViewRights::System {
            return LocksBelow::default();
        }
        let name = alias.map_or_else(|| full.name.clone(), |alias| folded(&alias.name));
        self.locks_below(&name)
    }

    /// A query in FROM, or that of a view there. `locks`, which stand around it, lock its rows as
    /// if they stood in it.
    pub(super) fn bind_locked_below(
        &mut self,
        query: &ast::Query,
        locks: LocksBelow,
    ) -> Result<BoundQuery> {
        if locks.is_empty() {
            return self.bind_query(query, Unknowns::Text);
        }
        self.nested(|binder| binder.bind_below(query, locks))
    }

    fn bind_below(&mut self, query: &ast::Query, locks: LocksBelow) -> Result<BoundQuery> {
        let LocksBelow { mut clauses, relation } = locks;
        let select = match &*query.body {
            ast::SetExpr::Select(select) => select,
            ast::SetExpr::SetOperation { .. } if self.view_depth == 0 => {
                let at = clauses.first().and_then(|lock| lock.at);
                return not_allowed(&clause_name(&clauses), "UNION/INTERSECT/EXCEPT", at);
            }
            // Nothing there has rows of its own.
            _ => return self.bind_query(query, Unknowns::Text),
        };
        let own = self.locks_of(query);
        let counts = query.limit_clause.is_some() || query.fetch.is_some();
        if counts || !own.is_empty() {
            clauses.extend(own);
            return self.bind_locked(query, clauses);
        }
        let at = clauses.first().and_then(|lock| lock.at);
        refuse_clauses(select, &clause_name(&clauses), at)?;
        let ctes_before = self.ctes.len();
        let definitions = match &query.with {
            Some(with) => self.bind_with(with)?,
            None => Vec::new(),
        };
        let order_by = super::query::order_list(query)?;
        let inner = Locking::of(clauses, self);
        let outer = self.locking.replace(inner);
        let bound = self.bind_select(select, order_by, Unknowns::Text);
        let inner = std::mem::replace(&mut self.locking, outer).unwrap_or_default();
        let mut bound = bound?;
        self.ctes.truncate(ctes_before);
        for definition in definitions.into_iter().rev() {
            bound.plan = definition.around(bound.plan);
        }
        let hidden = bound.columns.split_off(bound.columns.len() - inner.locks.len());
        if let Some(locking) = &mut self.locking {
            locking.scans.extend(inner.locks.into_iter().zip(hidden).map(|(lock, column)| {
                LockedScan { relation: relation.clone(), table: lock.table, tid: column.id }
            }));
        }
        Ok(bound)
    }

    /// The TID columns of the query that locks, behind its select list.
    pub(super) fn lock_targets(&mut self) -> Result<Vec<Target>> {
        if !self.is_locked_level() {
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
        check_kinds(&locking.clauses, &locking.others)?;
        let mut targets = Vec::new();
        for scan in &locking.scans {
            let names = |lock: &&LockTree| lock.names(&scan.relation);
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
        Ok(targets)
    }
}

/// Rows among which enough are likely to be free: some more than those that are wanted.
fn likely_count(limit: &Expr, offset: Option<&Expr>) -> Expr {
    let big = |n: i64| Expr::literal(Value::I64(n), DataType::BigInt);
    let least = |count: &Expr| {
        Expr::call(Function::Least, vec![count.clone(), big(1 << 61)], DataType::BigInt)
    };
    let add = |a, b| Expr::call(Function::Add, vec![a, b], DataType::BigInt);
    let wanted = offset.map_or_else(|| least(limit), |offset| add(least(limit), least(offset)));
    add(wanted, big(LIKELY_LOCKED))
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

/// 0A000 for a name after OF that is one of `others`.
fn check_kinds(clauses: &[LockTree], others: &[(String, &'static str)]) -> Result<()> {
    for lock in clauses {
        for ident in &lock.of {
            let name = folded(ident);
            if let Some((_, what)) = others.iter().find(|(other, _)| *other == name) {
                let clause = clause_name(std::slice::from_ref(lock));
                let message = format!("{clause} cannot be applied to {what}");
                return fail(SqlState::FEATURE_NOT_SUPPORTED, message, ident_at(ident));
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
