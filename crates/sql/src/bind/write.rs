//! UPDATE and DELETE, and what all statements that change rows have in common: their target,
//! assignments, RETURNING.
//!
//! ```text
//! Scan target (with TID) -> Join FROM/USING -> Filter WHERE -> Project tid, values, extras
//! Input 0 (columns of the target, extras) -> Project RETURNING
//! ```
//! RETURNING is bound in the scope of the source, so both plans use the same column ids.

use std::collections::BTreeSet;

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::array_targets::{PartTarget, Step};
use super::clauses::Target as Item;
use super::cte::Definition;
use super::from::join;
use super::name::{expr_at, ident_at, is_only, object_at};
use super::policy::{GuardedRow, RowCondition};
use super::scope::{Clause, Scope, ScopeRelation};
use super::select::filter;
use super::view_target::{ViewTarget, Write, WriteKind, WrittenView};
use super::{Binder, Bound, BoundColumn, BoundQuery, fail, place, unsupported};
use crate::algebra::{ColumnId, Expr, InputColumn, JoinKind, Place, Plan, Query};
use crate::catalog::{ColumnDef, IdentityKind, PolicyCommand, Relation, TID_COLUMN, TableRef};
use crate::parse::folded;
use crate::statement::{Delete, Extent, Matches, Privilege, Returning, RowPlace, Update};

/// The table that a statement changes, in its scope.
pub(super) struct Target {
    pub(super) table: TableRef,
    pub(super) relation: ScopeRelation,
    /// Ids of the columns, by ordinal.
    pub(super) ids: Vec<ColumnId>,
    pub(super) tid: ColumnId,
    /// Reads of the table: a position among what the statement needs.
    pub(super) access: Option<usize>,
    /// The view that the statement names, in the place of its table.
    pub(super) view: Option<Box<ViewTarget>>,
    /// Conditions by which policies and views test rows, in order.
    pub(super) tests: Vec<RowCondition>,
    /// Its policies, where they count.
    pub(super) row: Option<Box<GuardedRow>>,
}

impl Target {
    /// The name that the statement calls it by, without the schema.
    fn shown(&self) -> &str {
        self.view.as_ref().map_or_else(|| self.table.name(), |view| &view.name)
    }
}

/// RETURNING, bound, and the columns of other tables that it reads.
pub(super) struct BoundReturning {
    query: BoundQuery,
    place: RowPlace,
    pub(super) extras: Vec<(ColumnId, DataType)>,
}

/// An assignment of SET: the ordinal and its value.
pub(super) type Assigned = (usize, Expr);

/// The columns in `SET (a, b) = ...`, by ordinal.
#[derive(Clone, Copy)]
struct RowTargets<'q> {
    target: &'q Target,
    ordinals: &'q [usize],
}

impl Binder<'_> {
    /// UPDATE under the CTEs of `with`.
    pub(super) fn bind_update(
        &mut self,
        update: &ast::Update,
        with: Option<&ast::With>,
    ) -> Result<Update> {
        let at = super::at_span(update.update_token.0.span);
        if update.or.is_some() || update.output.is_some() || !update.order_by.is_empty() {
            return unsupported("this form of UPDATE", at);
        }
        if update.limit.is_some() {
            return fail(SqlState::SYNTAX_ERROR, "syntax error at or near \"LIMIT\"", at);
        }
        let from: &[ast::TableWithJoins] = match &update.from {
            None => &[],
            Some(ast::UpdateTableFromKind::AfterSet(from)) => from,
            Some(ast::UpdateTableFromKind::BeforeSet(_)) => {
                return fail(SqlState::SYNTAX_ERROR, "syntax error at or near \"FROM\"", at);
            }
        };
        let definitions = self.definitions(with)?;
        let (source, columns, target, returning) = self.in_level(Clause::From, |binder| {
            let (mut target, plan) =
                binder.joined_target(&update.table, from, WriteKind::Update)?;
            let plan = binder.selected_rows(plan, update.selection.as_ref())?;
            let (mut plan, assigned) = binder.in_clause(Clause::Update, |binder| {
                binder.bind_assignments(&target, &update.assignments, plan)
            })?;
            let changed: Vec<usize> = assigned.iter().map(|(ordinal, _)| *ordinal).collect();
            binder.require_written(&target, Privilege::Update, Some(&changed));
            let returning = binder.bind_returning(update.returning.as_deref(), &target)?;
            binder.guard_reads(&mut plan, &mut target)?;
            let (columns, values): (Vec<usize>, Vec<Expr>) = assigned.into_iter().unzip();
            let extras = returning.as_ref().map_or(&[][..], |returning| &returning.extras);
            let (extras, old) = Self::with_old(&target, values.len(), extras);
            let source = binder.write_source(plan, &target, values, &extras);
            Ok((source, (columns, old), target, returning))
        })?;
        let (columns, old) = columns;
        let matches = if from.is_empty() { Matches::Once } else { Matches::Repeated };
        let (source, returning) = self.finish_write(source, returning, definitions)?;
        let tests = self.row_tests(&target, &target.tests)?;
        Ok(Update { table: target.table, columns, source, matches, returning, tests, old })
    }

    /// DELETE under the CTEs of `with`.
    pub(super) fn bind_delete(
        &mut self,
        delete: &ast::Delete,
        with: Option<&ast::With>,
    ) -> Result<Delete> {
        let at = super::at_span(delete.delete_token.0.span);
        if delete.output.is_some() || !delete.order_by.is_empty() || delete.limit.is_some() {
            return unsupported("this form of DELETE", at);
        }
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
            &delete.from;
        let [table] = from.as_slice() else {
            return fail(SqlState::SYNTAX_ERROR, "syntax error: DELETE takes one table", at);
        };
        if !delete.tables.is_empty() {
            return fail(SqlState::SYNTAX_ERROR, "syntax error in DELETE", at);
        }
        let using = delete.using.as_deref().unwrap_or_default();
        let definitions = self.definitions(with)?;
        let (source, target, returning) = self.in_level(Clause::From, |binder| {
            let (mut target, plan) = binder.joined_target(table, using, WriteKind::Delete)?;
            let mut plan = binder.selected_rows(plan, delete.selection.as_ref())?;
            binder.require_written(&target, Privilege::Delete, None);
            let returning = binder.bind_returning(delete.returning.as_deref(), &target)?;
            binder.guard_reads(&mut plan, &mut target)?;
            let extras = returning.as_ref().map_or(&[][..], |returning| &returning.extras);
            let (extras, old) = Self::with_old(&target, 0, extras);
            let source = binder.write_source(plan, &target, Vec::new(), &extras);
            Ok((source, (target, old), returning))
        })?;
        let (target, old) = target;
        let matches = if using.is_empty() { Matches::Once } else { Matches::Repeated };
        let (source, returning) = self.finish_write(source, returning, definitions)?;
        Ok(Delete { table: target.table, source, matches, returning, old })
    }

    /// The CTEs of `with`, in sight from now on, behind those around the statement.
    pub(super) fn definitions(&mut self, with: Option<&ast::With>) -> Result<Vec<Definition>> {
        let mut definitions = std::mem::take(&mut self.changes.before);
        if let Some(with) = with {
            definitions.extend(self.bind_with(with)?);
        }
        Ok(definitions)
    }

    /// Target, and FROM or USING; the level's scope is all of them.
    fn joined_target(
        &mut self,
        table: &ast::TableWithJoins,
        from: &[ast::TableWithJoins],
        kind: WriteKind,
    ) -> Result<(Target, Plan)> {
        if !table.joins.is_empty() {
            let at = super::at_span(sqlparser::ast::Spanned::span(table));
            return fail(SqlState::SYNTAX_ERROR, "syntax error: the target is one table", at);
        }
        let (target, mut plan) = self.bind_target(&table.relation, kind)?;
        // The target is not in sight of FROM.
        let right = self.bind_from(from)?;
        let mut scope = Scope::of(target.relation.clone());
        scope.extend(std::mem::take(&mut self.level()?.scope))?;
        self.level()?.scope = scope;
        if !from.is_empty() {
            plan = join(plan, right, JoinKind::Inner, Expr::boolean(true));
        }
        Ok((target, plan))
    }

    /// WHERE.
    pub(super) fn selected_rows(
        &mut self,
        plan: Plan,
        selection: Option<&ast::Expr>,
    ) -> Result<Plan> {
        match selection {
            Some(expr) => Ok(filter(plan, self.bind_condition(expr, Clause::Where)?)),
            None => Ok(plan),
        }
    }

    /// A scan of the table to change, with its TID; of a view, its rows of the table below.
    pub(super) fn bind_target(
        &mut self,
        factor: &ast::TableFactor,
        kind: WriteKind,
    ) -> Result<(Target, Plan)> {
        let ast::TableFactor::Table { name, alias, args: None, .. } = factor else {
            return unsupported("a target that is no table", None);
        };
        self.target_named(name, alias.as_ref(), Write::of(kind))
    }

    /// As [`Self::bind_target`], by name.
    pub(super) fn target_named(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        write: Write,
    ) -> Result<(Target, Plan)> {
        let full = self.relation_name(name)?;
        match self.catalog.relation(full.schema.as_deref(), &full.name) {
            Some(Relation::View { .. }) if write.kind == WriteKind::Merge => {
                let message = format!("cannot execute MERGE on relation \"{}\"", full.name);
                let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_detail("This operation is not supported for views.");
                return Err(place(error, object_at(name)));
            }
            Some(Relation::View { sql, columns, rights }) => {
                if let Some(says) = self.catalog.view_writes(&full.key()) {
                    let (key, event) = (full.key(), super::instead::event_of(write));
                    if event.is_some_and(|event| self.catalog.has_instead(&key, event)) {
                        return self.instead_target(name, alias, key, &says);
                    }
                    let view = WrittenView { full, sql, names: columns, rights, says, write };
                    return self.view_target(view, alias);
                }
            }
            _ => {}
        }
        if write.kind == WriteKind::Merge {
            self.refuse_merge(&self.table_named(name)?, object_at(name))?;
        }
        let table = self.writable_table(name)?;
        let table = if is_only(name) { table.alone() } else { table };
        let read = Extent::Read(BTreeSet::new());
        let (mut plan, mut scope) = self.bind_table(table.clone(), name, alias, Some(read))?;
        let tid = self.fresh();
        let mut ids = Vec::new();
        if let Plan::Scan { columns, .. } = &mut plan {
            ids = columns.iter().map(|(id, _)| *id).collect();
            if let Some(first) = ids.first() {
                self.row_places.note(*first, tid);
            }
            columns.insert(0, (tid, TID_COLUMN));
        }
        if let Plan::FunctionScan { columns, .. } = &mut plan {
            ids = columns.iter().map(|(id, _)| *id).collect();
            columns.insert(0, (tid, ids.len()));
        }
        let relation = match scope.relations.pop() {
            Some(relation) => relation,
            None => return Err(Error::internal("a table is a relation")),
        };
        let source = relation.columns.first().and_then(|column| column.source);
        let access = source.map(|source| source.access);
        let (view, tests, row) = (None, Vec::new(), None);
        let mut target = Target { table, relation, ids, tid, access, view, tests, row };
        let command = match write.kind {
            WriteKind::Insert => PolicyCommand::Insert,
            WriteKind::Update => PolicyCommand::Update,
            WriteKind::Delete => PolicyCommand::Delete,
            WriteKind::Merge => PolicyCommand::Select,
        };
        let plan = self.guarded_target(&mut target, plan, command)?;
        Ok((target, plan))
    }

    /// SET: ordinals and values of their columns' types, over `plan`, which a sub-query with
    /// several columns is joined to.
    pub(super) fn bind_assignments(
        &mut self,
        target: &Target,
        assignments: &[ast::Assignment],
        mut plan: Plan,
    ) -> Result<(Plan, Vec<Assigned>)> {
        let table = &target.table;
        let mut assigned: Vec<Assigned> = Vec::new();
        // Columns of which parts are assigned, perhaps several.
        let mut in_parts: Vec<usize> = Vec::new();
        for assignment in assignments {
            let names: &[ast::ObjectName] = match &assignment.target {
                ast::AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                ast::AssignmentTarget::Tuple(names) => names,
            };
            let mut ordinals = Vec::with_capacity(names.len());
            if let Some((name, steps)) = self.part_target(&assignment.target)? {
                let ordinal = assigned_column(target, name)?;
                let known = assigned.iter().position(|(known, _)| *known == ordinal);
                if known.is_none() || in_parts.contains(&ordinal) {
                    self.refuse_generated(table, ordinal)?;
                    let before = known.map(|at| assigned.remove(at).1);
                    let part = PartTarget { ordinal, steps: &steps };
                    let value = self.assigned_part(target, part, &assignment.value, before)?;
                    assigned.push((ordinal, value));
                    in_parts.push(ordinal);
                    continue;
                }
            }
            for name in names {
                let ordinal = assigned_column(target, name)?;
                let known = assigned.iter().map(|(known, _)| known).chain(&ordinals);
                if known.into_iter().any(|known| *known == ordinal) {
                    let column = match &target.view {
                        Some(_) => column_at(table, ordinal)?.name.clone(),
                        None => folded_last(name),
                    };
                    let message = format!("multiple assignments to same column \"{column}\"");
                    return fail(SqlState::SYNTAX_ERROR, message, object_at(name));
                }
                ordinals.push(ordinal);
            }
            match &assignment.target {
                ast::AssignmentTarget::ColumnName(_) => {
                    for ordinal in ordinals {
                        let value = self.assigned_value(target, ordinal, &assignment.value)?;
                        assigned.push((ordinal, value));
                    }
                }
                ast::AssignmentTarget::Tuple(_) => {
                    let targets = RowTargets { target, ordinals: &ordinals };
                    plan = self.assign_row(targets, assignment, plan, &mut assigned)?;
                }
            }
        }
        Ok((plan, assigned))
    }

    /// The column of which a part is assigned to, and the steps to it.
    fn part_target<'t>(
        &self,
        target: &'t ast::AssignmentTarget,
    ) -> Result<Option<(&'t ast::ObjectName, Vec<Step>)>> {
        let names = match target {
            ast::AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
            ast::AssignmentTarget::Tuple(names) => names.as_slice(),
        };
        for name in names {
            let Some(steps) = self.steps_of(name) else { continue };
            return match target {
                ast::AssignmentTarget::ColumnName(_) => Ok(Some((name, steps))),
                ast::AssignmentTarget::Tuple(_) => {
                    unsupported("a part of a column in an assignment of rows", object_at(name))
                }
            };
        }
        Ok(None)
    }

    /// `SET (a, b) = ...`.
    fn assign_row(
        &mut self,
        targets: RowTargets<'_>,
        assignment: &ast::Assignment,
        plan: Plan,
        assigned: &mut Vec<Assigned>,
    ) -> Result<Plan> {
        let RowTargets { target, ordinals } = targets;
        let table = &target.table;
        let at = expr_at(&assignment.value);
        let mut value = &assignment.value;
        while let ast::Expr::Nested(inner) = value {
            value = inner;
        }
        let count = |found: usize| {
            if found == ordinals.len() {
                Ok(())
            } else {
                let message = "number of columns does not match number of values";
                fail(SqlState::SYNTAX_ERROR, message, at)
            }
        };
        if let Some(fields) = super::row::plain_fields(value) {
            count(fields.len())?;
            for (ordinal, field) in ordinals.iter().zip(fields) {
                assigned.push((*ordinal, self.assigned_value(target, *ordinal, field)?));
            }
            return Ok(plan);
        }
        if let Some(fields) = super::row::row_fields(value) {
            let values = self.bind_fields(&fields)?;
            count(values.len())?;
            for (ordinal, value) in ordinals.iter().zip(values) {
                self.refuse_generated(table, *ordinal)?;
                let column = column_at(table, *ordinal)?;
                assigned.push((*ordinal, self.assign(value, column)?));
            }
            return Ok(plan);
        }
        let ast::Expr::Subquery(query) = value else {
            let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() \
                           expression";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        };
        let bound = self.bind_query(query, super::Unknowns::Keep)?;
        count(bound.columns.len())?;
        let (right, columns) = self.exact(bound);
        for (ordinal, column) in ordinals.iter().zip(&columns) {
            let def = column_at(table, *ordinal)?;
            self.refuse_generated(table, *ordinal)?;
            let value = Bound::new(Expr::column(column.id, column.ty), column.at.or(at));
            assigned.push((*ordinal, self.assign(value, def)?));
        }
        Ok(join(plan, right, JoinKind::Single, Expr::boolean(true)))
    }

    fn assigned_value(
        &mut self,
        target: &Target,
        ordinal: usize,
        value: &ast::Expr,
    ) -> Result<Expr> {
        let column = column_at(&target.table, ordinal)?;
        if super::insert::is_default(value) {
            return match &target.view {
                None => self.column_default(target, ordinal),
                Some(view) => match view.own_default(ordinal).map(str::to_owned) {
                    None => Ok(Expr::null(column.ty)),
                    Some(text) => self.default_text(&text, column),
                },
            };
        }
        self.refuse_generated(&target.table, ordinal)?;
        let bound = self.bind_expr(value)?;
        self.assign(bound, column)
    }

    /// 428C9 for a GENERATED ALWAYS column that gets a value.
    fn refuse_generated(&self, table: &TableRef, ordinal: usize) -> Result<()> {
        let ColumnDef { name, generated, .. } = column_at(table, ordinal)?;
        let detail = match (generated, table.identity(ordinal)) {
            (Some(_), _) => format!("Column \"{name}\" is a generated column."),
            (_, Some(identity)) if identity.kind == IdentityKind::Always => {
                format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS.")
            }
            _ => return Ok(()),
        };
        let message = format!("column \"{name}\" can only be updated to DEFAULT");
        Err(Error::new(SqlState::GENERATED_ALWAYS, message).with_detail(detail))
    }

    /// RETURNING over a row of `target` and whatever else is in the level's scope.
    pub(super) fn bind_returning(
        &mut self,
        items: Option<&[ast::SelectItem]>,
        target: &Target,
    ) -> Result<Option<BoundReturning>> {
        let Some(items) = items else {
            return Ok(None);
        };
        self.level()?.references.clear();
        let mut items = self.in_clause(Clause::Returning, |binder| binder.bind_items(items))?;
        for item in &mut items {
            self.settle(&mut item.bound)?;
        }
        let extras = self.extras(target)?;
        let width = target.ids.len();
        let own = target.ids.iter().zip(target.table.columns()).enumerate();
        let own = own.map(|(ordinal, (id, def))| InputColumn { id: *id, ordinal, ty: def.ty });
        let other = extras.iter().enumerate();
        let other =
            other.map(|(at, (id, ty))| InputColumn { id: *id, ordinal: width + at, ty: *ty });
        let mut columns: Vec<InputColumn> = own.chain(other).collect();
        let mut place = RowPlace::Unused;
        if let Some(id) = self.row_places.take_returned(target.ids.first().copied())? {
            columns.push(InputColumn { id, ordinal: columns.len(), ty: DataType::BigInt });
            place = RowPlace::Last;
        }
        let name = format!("rows of {}", target.table.name()).into();
        let query = self.projected_items(Plan::Input { slot: 0, columns, name }, items)?;
        Ok(Some(BoundReturning { query, place, extras }))
    }

    /// Columns of other relations than the target that the level's expressions refer to.
    fn extras(&mut self, target: &Target) -> Result<Vec<(ColumnId, DataType)>> {
        let level = self.level()?;
        let mut types = std::collections::HashMap::new();
        for column in level.scope.relations.iter().flat_map(|relation| &relation.columns) {
            note_types(&column.expr, &mut types);
        }
        let mut extras: Vec<(ColumnId, DataType)> = Vec::new();
        for (id, _) in &level.references {
            let known = target.ids.contains(id) || extras.iter().any(|(extra, _)| extra == id);
            if let (false, Some(ty)) = (known, types.get(id)) {
                extras.push((*id, *ty));
            }
        }
        Ok(extras)
    }

    /// `items` over `input`, each in a column of its own.
    pub(super) fn projected_items(&mut self, input: Plan, items: Vec<Item>) -> Result<BoundQuery> {
        let mut columns = Vec::with_capacity(items.len());
        let mut project = Vec::with_capacity(items.len());
        for item in items {
            let (ty, at, id) = (item.bound.ty(), item.bound.at, self.fresh());
            if let Some(from) = item.bound.expr.as_column() {
                self.copy_origin(from, id);
            }
            self.note_collation(id, &item.bound.expr)?;
            project.push((id, item.bound.expr));
            columns.push(BoundColumn { name: item.name, ty, id, at });
        }
        let plan = Plan::Project { input: Box::new(input), columns: project };
        Ok(BoundQuery { plan, columns })
    }

    /// TID, values, extras over `plan`.
    fn write_source(
        &mut self,
        plan: Plan,
        target: &Target,
        values: Vec<Expr>,
        extras: &[(ColumnId, DataType)],
    ) -> BoundQuery {
        let tid = Expr::column(target.tid, DataType::BigInt);
        let extras = extras.iter().map(|(id, ty)| Expr::column(*id, *ty));
        let exprs = std::iter::once(tid).chain(values).chain(extras).collect();
        self.projected_exprs(plan, exprs)
    }

    /// `exprs` over `input`; those that are columns keep their ids.
    pub(super) fn projected_exprs(&mut self, mut input: Plan, exprs: Vec<Expr>) -> BoundQuery {
        self.place_rows(&mut input);
        let mut project: Vec<(ColumnId, Expr)> = Vec::with_capacity(exprs.len());
        let mut columns = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let ty = expr.ty;
            let kept = expr.as_column().filter(|id| project.iter().all(|(known, _)| known != id));
            let id = kept.unwrap_or_else(|| self.fresh());
            project.push((id, expr));
            columns.push(BoundColumn { name: String::new(), ty, id, at: None });
        }
        let plan = Plan::Project { input: Box::new(input), columns: project };
        BoundQuery { plan, columns }
    }

    /// Source and RETURNING as the caller of the binder gets them, under their CTEs.
    pub(super) fn finish_write(
        &mut self,
        mut source: BoundQuery,
        returning: Option<BoundReturning>,
        definitions: Vec<Definition>,
    ) -> Result<(Query, Option<Returning>)> {
        let mut returning = returning.map(|returning| (returning.query, returning.place));
        for definition in definitions.into_iter().rev() {
            if let Some((query, _)) = &mut returning
                && query.plan.reads_cte()
            {
                let plan = std::mem::replace(&mut query.plan, Plan::one_row());
                query.plan = definition.clone().around(plan);
            }
            source.plan = definition.around(source.plan);
        }
        let source = self.finish(source)?;
        let returning = match returning {
            Some((query, place)) => Some(Returning { query: self.finish(query)?, place }),
            None => None,
        };
        Ok((source, returning))
    }
}

/// The column `ordinal` of `table`.
pub(super) fn column_at(table: &TableRef, ordinal: usize) -> Result<&ColumnDef> {
    table.columns().get(ordinal).ok_or_else(|| Error::internal("column out of range"))
}

fn folded_last(name: &ast::ObjectName) -> String {
    let parts = super::name::object_parts(name).unwrap_or_default();
    parts.last().cloned().unwrap_or_default()
}

/// The ordinal of a column named in SET.
fn assigned_column(target: &Target, name: &ast::ObjectName) -> Result<usize> {
    let [ast::ObjectNamePart::Identifier(ident), rest @ ..] = name.0.as_slice() else {
        return unsupported("this form of column name", object_at(name));
    };
    let (column, at): (String, Place) = (folded(ident), ident_at(ident));
    let found = match &target.view {
        Some(view) => view.ordinal(&column, WriteKind::Update, at)?,
        None => target.table.columns().iter().position(|known| known.name == column),
    };
    if let Some(ordinal) = found {
        return Ok(ordinal);
    }
    let message = format!("column \"{column}\" of relation \"{}\" does not exist", target.shown());
    let error = Error::new(SqlState::UNDEFINED_COLUMN, message);
    let error = match rest {
        [] => error,
        _ => error.with_hint("SET target columns cannot be qualified with the relation name."),
    };
    Err(place(error, at))
}

/// The types of the columns that `expr` mentions.
fn note_types(expr: &Expr, types: &mut std::collections::HashMap<ColumnId, DataType>) {
    if let Some(id) = expr.as_column() {
        types.insert(id, expr.ty);
    }
    expr.each_child(&mut |child| note_types(child, types));
}
