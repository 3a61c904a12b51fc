//! Statements under WITH that change rows.
//!
//! ```text
//! WITH q AS (SELECT ...), d AS (DELETE ... RETURNING ...), ...  -> parts: [SELECT, DELETE, ...]
//! readers of q, d  -> Input slot 1, 2, ...: the rows of part 0, 1, ...
//! ```
//! Plain queries of such a WITH are parts, too: they may be read in several statements, and have
//! the same rows in all of them. So they are where RETURNING or ON CONFLICT reads one.
//! Elsewhere: in what order the parts run and what they see (`engine`).

use std::collections::{HashMap, HashSet};

use sqlparser::ast::{self, Statement as Ast};
use types::{DataType, Result, SqlState};

use super::cte::{CteEntry, Definition};
use super::name::ident_at;
use super::{Binder, BoundColumn, BoundQuery, Unknowns, fail, unsupported};
use crate::algebra::{CteId, InputColumn, Place, Plan, Query};
use crate::parse::folded;
use crate::parse::visit::names_relation;
use crate::statement::{Part, SelectForUpdate, Statement, Turn, WithChanges};

/// The changes of the statement that is bound.
#[derive(Default)]
pub(super) struct Changes {
    /// Where the WITH is that may have some: that of the statement itself.
    top: Option<usize>,
    /// Queries besides the source of the statement read its CTEs.
    rereads: bool,
    /// Changes bound so far, and the CTEs that they are.
    parts: Vec<(Statement, CteId)>,
    /// The CTEs before the change that is bound: its queries may read them.
    pub(super) before: Vec<Definition>,
    /// A change is bound, not all of the statement.
    pub(super) is_part: bool,
    /// Some of the queries inside of the statement lock rows.
    pub(super) locks_inside: bool,
    /// The CTEs that those may read: all that were bound.
    pub(super) known: HashMap<CteId, Definition>,
}

/// Where a WITH is.
fn address(with: &ast::With) -> usize {
    std::ptr::from_ref(with).addr()
}

impl Binder<'_> {
    /// Lets the CTEs of the `with` of `statement`, the whole one, change rows.
    pub(super) fn allow_changes(&mut self, with: Option<&ast::With>, statement: Option<&Ast>) {
        self.changes.top = with.map(address);
        self.changes.rereads =
            with.zip(statement).is_some_and(|(with, statement)| rereads(statement, with));
    }

    /// True when the plain queries of `with` are parts of the statement.
    pub(super) fn has_parts(&self, with: &ast::With) -> bool {
        let is_change = |cte: &ast::Cte| {
            use ast::SetExpr::{Delete, Insert, Update};
            matches!(&*cte.query.body, Insert(_) | Update(_) | Delete(_))
        };
        let is_top = self.changes.top == Some(address(with));
        let Changes { rereads, locks_inside, .. } = self.changes;
        is_top && (rereads || locks_inside || with.cte_tables.iter().any(is_change))
    }

    /// Binds the plain CTE called `name`, behind `before`, as a part.
    pub(super) fn bind_part(
        &mut self,
        cte: &ast::Cte,
        name: &str,
        before: &[Definition],
    ) -> Result<Definition> {
        self.changes.is_part = true;
        let bound = self.bind_query(&cte.query, Unknowns::Text)?;
        let (plan, columns) = self.exact(bound);
        let plan = before.iter().rev().fold(plan, |plan, before| before.clone().around(plan));
        let query = self.finish(BoundQuery { plan, columns })?;
        self.changes.is_part = false;
        self.add_part(Statement::Query(query), cte, name)
    }

    /// `main` behind the changes under its WITH, if there are any.
    pub(super) fn behind_changes(&mut self, main: Statement) -> Result<Statement> {
        let parts = std::mem::take(&mut self.changes.parts);
        match main {
            main if parts.is_empty() => Ok(main),
            Statement::SelectForUpdate(_) if parts.iter().any(|(part, _)| changes_rows(part)) => {
                unsupported("SELECT FOR UPDATE under a WITH that changes rows", None)
            }
            main => {
                // What the statement needs, through other parts, too.
                let (mut needed, mut read) = (HashSet::new(), HashSet::new());
                add_ctes(&main, &mut needed);
                // Calls are made before the statement itself, in the order in which they stand.
                let calls = parts.iter().filter(|(part, _)| is_call(part));
                needed.extend(calls.map(|(_, cte)| *cte));
                for (part, cte) in parts.iter().rev() {
                    let is_needed = needed.contains(cte);
                    if is_needed {
                        add_ctes(part, &mut needed);
                    }
                    if is_needed || read.contains(cte) || changes_rows(part) {
                        add_ctes(part, &mut read);
                    }
                }
                let turn = |statement: &Statement, cte| match statement {
                    _ if needed.contains(&cte) => Turn::First,
                    part if !changes_rows(part) && !read.contains(&cte) => Turn::Never,
                    _ if read.contains(&cte) => Turn::Behind,
                    _ => Turn::Last,
                };
                let part = |(statement, cte)| Part { turn: turn(&statement, cte), statement };
                let parts = parts.into_iter().map(part).collect();
                Ok(Statement::WithChanges(Box::new(WithChanges { parts, main })))
            }
        }
    }

    /// Binds the CTE called `name` of `with`, behind `before`, if it changes rows.
    pub(super) fn bind_change(
        &mut self,
        with: &ast::With,
        cte: &ast::Cte,
        name: &str,
        before: &[Definition],
    ) -> Result<Option<Definition>> {
        let at = ident_at(&cte.alias.name);
        let change = match &*cte.query.body {
            ast::SetExpr::Insert(change)
            | ast::SetExpr::Update(change)
            | ast::SetExpr::Delete(change) => change,
            ast::SetExpr::Merge(_) => {
                return fail(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "MERGE not supported in WITH query",
                    at,
                );
            }
            _ => return Ok(None),
        };
        if self.changes.top != Some(address(with)) {
            let message =
                "WITH clause containing a data-modifying statement must be at the top level";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        if with.recursive && super::recursion::reads(&cte.query, name) {
            let message =
                format!("recursive query \"{name}\" must not contain data-modifying statements");
            return fail(SqlState::INVALID_RECURSION, message, at);
        }
        if cte.query.with.as_ref().is_some_and(|inner| rereads(change, inner)) {
            return unsupported("RETURNING that reads a WITH query inside of WITH", at);
        }
        let (outer, ctes_before) = (self.levels.len(), self.ctes.len());
        self.changes.before = before.to_vec();
        self.changes.is_part = true;
        let statement = self.bind_write(change, cte.query.with.as_ref())?;
        self.changes.is_part = false;
        debug_assert_eq!(outer, self.levels.len(), "a statement leaves no level behind");
        self.ctes.truncate(ctes_before);
        self.add_part(statement, cte, name).map(Some)
    }

    /// The rows of `select`, a query inside of the statement, which locks them.
    pub(super) fn locked_part(&mut self, mut select: SelectForUpdate, at: Place) -> BoundQuery {
        select.query.plan = self.with_known(select.query.plan);
        let others = [&mut select.first, &mut select.limit, &mut select.offset];
        for query in others.into_iter().flatten() {
            let plan = std::mem::replace(&mut query.plan, Plan::one_row());
            query.plan = self.with_known(plan);
        }
        let columns = select.query.columns.iter().take(select.width);
        let columns: Vec<_> = columns.map(|column| (column.name.clone(), column.ty)).collect();
        self.rows_part(Statement::SelectForUpdate(Box::new(select)), &columns, "locked", at)
    }

    /// The rows with `columns` of `statement`, which runs once, as the part called `name`.
    pub(super) fn rows_part(
        &mut self,
        statement: Statement,
        columns: &[(String, DataType)],
        name: &str,
        at: Place,
    ) -> BoundQuery {
        let id = self.fresh_cte();
        let slot = self.changes.parts.len() + 1;
        let definition = self.input_part(slot, id, name, columns);
        self.changes.parts.push((statement, id));
        let columns = columns.iter().map(|(name, ty)| {
            let id = self.fresh();
            BoundColumn { name: name.clone(), ty: *ty, id, at }
        });
        let columns: Vec<BoundColumn> = columns.collect();
        let scan = columns.iter().map(|column| (column.id, column.ty)).collect();
        let scan = Plan::CteScan { cte: id, columns: scan, name: name.into() };
        BoundQuery { plan: definition.around(scan), columns }
    }

    /// `plan` under the CTEs that it reads and that are around it.
    pub(super) fn with_known(&self, mut plan: Plan) -> Plan {
        loop {
            let (mut free, mut defined) = (HashSet::new(), HashSet::new());
            ctes(&plan, &mut free);
            plan.each_operator(&mut |plan| {
                if let Plan::With { cte, .. } | Plan::RecursiveWith { cte, .. } = plan {
                    defined.insert(*cte);
                }
            });
            // What is read by a definition was bound before it.
            let last = free.difference(&defined).max();
            match last.and_then(|cte| self.changes.known.get(cte)) {
                Some(definition) => plan = definition.clone().around(plan),
                None => return plan,
            }
        }
    }

    /// Refuses calls of the message bus in a statement that has no parts.
    ///
    /// # Errors
    /// 0A000.
    pub(super) fn refuse_stray_parts(&self) -> Result<()> {
        if self.changes.parts.is_empty() {
            return Ok(());
        }
        unsupported("a call of the message bus in this statement", None)
    }

    /// The rows that part `slot` returned, as the CTE `id`.
    fn input_part(
        &mut self,
        slot: usize,
        id: CteId,
        name: &str,
        columns: &[(String, DataType)],
    ) -> Definition {
        let input = columns.iter().enumerate();
        let input =
            input.map(|(ordinal, (_, ty))| InputColumn { id: self.fresh(), ordinal, ty: *ty });
        let plan =
            Plan::Input { slot, columns: input.collect(), name: format!("rows of {name}").into() };
        Definition::plain(id, name, plan)
    }

    /// Adds `statement`, whose rows are in sight as `name`.
    fn add_part(&mut self, statement: Statement, cte: &ast::Cte, name: &str) -> Result<Definition> {
        let query: Option<&Query> = match &statement {
            Statement::Query(query) => Some(query),
            Statement::Insert(insert) => insert.returning.as_ref().map(|own| &own.query),
            Statement::Update(update) => update.returning.as_ref().map(|own| &own.query),
            Statement::Delete(delete) => delete.returning.as_ref().map(|own| &own.query),
            _ => None,
        };
        let (slot, id) = (self.changes.parts.len() + 1, self.fresh_cte());
        let Some(query) = query else {
            self.ctes.push(CteEntry::without_rows(name, id));
            self.changes.parts.push((statement, id));
            return Ok(Definition::plain(id, name, Plan::one_row()));
        };
        let columns = query.columns.iter();
        let columns: Vec<_> = columns.map(|column| (column.name.clone(), column.ty)).collect();
        let definition = self.input_part(slot, id, name, &columns);
        let sources = query.columns.iter().map(|column| column.id).collect();
        let entry = CteEntry::new(name, id, super::name::renamed(columns, &cte.alias)?);
        self.ctes.push(entry.with_sources(sources));
        self.changes.parts.push((statement, id));
        Ok(definition)
    }
}

/// True when `part` is calls of the message bus.
fn is_call(part: &Statement) -> bool {
    matches!(part, Statement::BusCalls(_))
}

/// True when `part` changes rows; others only read or lock them.
fn changes_rows(part: &Statement) -> bool {
    !matches!(part, Statement::Query(_) | Statement::SelectForUpdate(_) | Statement::BusCalls(_))
}

/// Adds the CTEs that `statement` reads.
fn add_ctes(statement: &Statement, read: &mut HashSet<CteId>) {
    statement.queries().into_iter().for_each(|query| ctes(&query.plan, read));
}

/// Adds the CTEs that `plan` reads.
fn ctes(plan: &Plan, read: &mut HashSet<CteId>) {
    plan.each_operator(&mut |plan| {
        if let Plan::CteScan { cte, .. } = plan {
            read.insert(*cte);
        }
    });
}

/// True when RETURNING or ON CONFLICT of `statement` reads a CTE of `with`.
fn rereads(statement: &Ast, with: &ast::With) -> bool {
    let names: Vec<String> = with.cte_tables.iter().map(|cte| folded(&cte.alias.name)).collect();
    let wanted = |relation: &ast::ObjectName| match relation.0.as_slice() {
        [ast::ObjectNamePart::Identifier(ident)] => names.contains(&folded(ident)),
        _ => false,
    };
    let in_items = |items: &Option<Vec<ast::SelectItem>>| {
        items.as_ref().is_some_and(|items| names_relation(items, wanted))
    };
    match statement {
        Ast::Insert(insert) => {
            in_items(&insert.returning)
                || insert.on.as_ref().is_some_and(|on| names_relation(on, wanted))
        }
        Ast::Update(update) => in_items(&update.returning),
        Ast::Delete(delete) => in_items(&delete.returning),
        Ast::Merge(merge) => match &merge.output {
            Some(ast::OutputClause::Returning { select_items, .. }) => {
                names_relation(select_items, wanted)
            }
            _ => false,
        },
        _ => false,
    }
}
