//! FROM: tables, views, CTEs, sub-queries, joins.

use std::collections::BTreeSet;
use std::sync::Arc;

use sqlparser::ast;
use types::{CompareOp, DataType, Result, SqlState, stack};

use super::comparable::refuse_json;
use super::file::file_path;
use super::locks_below::LocksBelow;
use super::name::{ident_at, is_bare_call, is_only, object_at, refuse_reserved, renamed};
use super::scope::{Clause, Level, Scope, ScopeColumn, ScopeRelation, Source, Whole, find_column};
use super::shape::is_shape;
use super::types::{Context, comparison_type, unmodified};
use super::{Binder, Bound, BoundQuery, fail, place, unsupported};
use crate::algebra::{ColumnId, Expr, ExprKind, Function, JoinKind, Origin, Place, Plan};
use crate::catalog::{Relation, TableRef, ViewRights};
use crate::parse::{JOIN_NAME, folded};
use crate::statement::{Extent, Privilege, Privileges, RelationName};

/// How two join sides are matched.
enum Matching<'q> {
    On(&'q ast::Expr),
    /// Column names and places.
    Using(Vec<(String, Place)>),
    Everything,
}

/// The query of a view or of a wide table that is not up to date.
struct StoredQuery<'q> {
    /// Name of the relation.
    full: RelationName,
    sql: &'q str,
    /// Names of the columns.
    columns: Vec<String>,
    rights: ViewRights,
    /// Clauses that lock its rows.
    locks: LocksBelow,
}

/// Clauses around a function in FROM.
#[derive(Clone, Copy)]
pub(super) struct FunctionItem<'q> {
    pub(super) alias: Option<&'q ast::TableAlias>,
    /// WITH ORDINALITY.
    pub(super) ordinality: bool,
    pub(super) at: Place,
}

/// # Errors
/// 42P10 when one of `references` is to a column of `left`, whose rows may be absent.
fn refuse_lateral(left: &Scope, references: &[(ColumnId, Place)]) -> Result<()> {
    for (id, at) in references {
        let is_read = |column: &&ScopeColumn| column.expr.kind == ExprKind::Column(*id);
        let Some(column) = left.columns.iter().find(is_read) else { continue };
        let relation = &column.relation;
        let message = format!("invalid reference to FROM-clause entry for table \"{relation}\"");
        let detail = "The combining JOIN type must be INNER or LEFT for a LATERAL reference.";
        let error = types::Error::new(SqlState::INVALID_COLUMN_REFERENCE, message);
        return Err(place(error.with_detail(detail), *at));
    }
    Ok(())
}

impl Binder<'_> {
    /// The FROM list: comma-separated items are inner joins in their order. Afterwards the level's
    /// scope is what they bring in sight.
    pub(super) fn bind_from(&mut self, from: &[ast::TableWithJoins]) -> Result<Plan> {
        let mut plan: Option<Plan> = None;
        for item in from {
            let (right, scope) = self.nested(|binder| binder.bind_joins(item))?;
            plan = Some(match plan {
                None => right,
                Some(left) => join(left, right, JoinKind::Inner, Expr::boolean(true)),
            });
            self.level()?.scope.extend(scope)?;
        }
        Ok(plan.unwrap_or_else(Plan::one_row))
    }

    fn bind_joins(&mut self, item: &ast::TableWithJoins) -> Result<(Plan, Scope)> {
        let (mut plan, mut scope) = self.bind_factor(&item.relation)?;
        self.chained(item.joins.len(), |binder| {
            for step in &item.joins {
                (plan, scope) = binder.bind_join(plan, scope, step)?;
            }
            Ok((plan, scope))
        })
    }

    fn bind_join(
        &mut self,
        left: Plan,
        left_scope: Scope,
        step: &ast::Join,
    ) -> Result<(Plan, Scope)> {
        let (kind, constraint) = join_kind(&step.join_operator)?;
        // A lateral item on the right sees what stands left of it.
        let mut seen = self.level()?.scope.clone();
        seen.relations.extend(left_scope.relations.iter().cloned());
        seen.columns.extend(left_scope.columns.iter().cloned());
        let met = self.level()?.references.len();
        let ((right, right_scope), _) =
            self.in_scope(seen, |binder| binder.bind_factor(&step.relation))?;
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            refuse_lateral(&left_scope, &self.level()?.references[met..])?;
        }
        let (mut left_scope, mut right_scope) = (left_scope, right_scope);
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            right_scope.make_optional();
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            left_scope.make_optional();
        }
        let kept = matches!(kind, JoinKind::Semi | JoinKind::Anti).then(|| left_scope.clone());
        let mut join_name = None;
        refuse_missing(step, constraint)?;
        let matching = match constraint {
            Some(ast::JoinConstraint::On(expr)) => Matching::On(expr),
            Some(ast::JoinConstraint::Using(names)) => {
                let (names, alias) = join_alias(names);
                join_name = alias;
                Matching::Using(using_names(names)?)
            }
            Some(ast::JoinConstraint::Natural) => {
                Matching::Using(natural_names(&left_scope, &right_scope))
            }
            Some(ast::JoinConstraint::None) | None => Matching::Everything,
        };
        let (condition, scope) = match matching {
            Matching::Everything => {
                let mut scope = left_scope;
                scope.extend(right_scope)?;
                (Expr::boolean(true), scope)
            }
            Matching::On(expr) => {
                let mut scope = left_scope;
                scope.extend(right_scope)?;
                let (condition, scope) = self.in_scope(scope, |binder| {
                    binder.in_clause(Clause::JoinOn, |binder| {
                        let bound = binder.bind_expr(expr)?;
                        binder.coerce_clause(bound, DataType::Boolean, "JOIN/ON")
                    })
                })?;
                (condition, scope)
            }
            Matching::Using(names) => {
                let merged = self.merge_columns(left_scope, right_scope, &names, kind)?;
                let (condition, mut scope) = merged;
                if let Some(name) = join_name {
                    scope.extend(named_join(&scope, name, names.len()))?;
                }
                (condition, scope)
            }
        };
        // The rows are those of the left side alone.
        let scope = kept.unwrap_or(scope);
        Ok((join(left, right, kind, condition), scope))
    }

    /// USING and NATURAL: the equalities, and a scope in which each named column stands once,
    /// first.
    fn merge_columns(
        &mut self,
        left: Scope,
        right: Scope,
        names: &[(String, Place)],
        kind: JoinKind,
    ) -> Result<(Expr, Scope)> {
        let mut terms = Vec::new();
        let mut merged = Vec::new();
        for (name, at) in names {
            let a = using_column(&left.columns, name, "left", *at)?.clone();
            let b = using_column(&right.columns, name, "right", *at)?.clone();
            self.note_read(a.source);
            self.note_read(b.source);
            let (a, b) = (a.expr, b.expr);
            let (x, y) = (Bound::new(a.clone(), *at), Bound::new(b.clone(), *at));
            let Some((x, y)) = self.unite_operands(x, y)? else {
                let message = format!(
                    "JOIN/USING types {} and {} cannot be matched",
                    a.ty.name(),
                    b.ty.name()
                );
                return fail(SqlState::DATATYPE_MISMATCH, message, *at);
            };
            terms.push(if is_shape(x.ty) {
                self.compare(CompareOp::Equal, Bound::new(x, *at), Bound::new(y, *at))?
            } else {
                refuse_json("=", x.ty, y.ty, *at)?;
                let (x, y) = self.compared_pair(CompareOp::Equal, x, y, *at)?;
                Expr::compare(CompareOp::Equal, x, y)
            });
            let expr = self.merged_column(a, b, kind, *at)?;
            let (name, relation) = (name.clone(), String::new());
            merged.push(ScopeColumn { name, expr, relation, source: None });
        }
        let mut scope = left;
        scope.extend(right)?;
        let is_merged = |column: &ScopeColumn| names.iter().any(|(name, _)| *name == column.name);
        let others = scope.columns.into_iter().filter(|column| !is_merged(column));
        scope.columns = merged.into_iter().chain(others).collect();
        Ok((Expr::and(terms), scope))
    }

    fn merged_column(&mut self, a: Expr, b: Expr, kind: JoinKind, at: Place) -> Result<Expr> {
        let ty = match comparison_type(self.digits, a.ty, b.ty) {
            Some(ty) if a.ty != b.ty => unmodified(ty),
            _ => a.ty,
        };
        let a = self.coerce(Bound::new(a, at), ty, Context::Implicit)?;
        let b = self.coerce(Bound::new(b, at), ty, Context::Implicit)?;
        Ok(match kind {
            JoinKind::Right => b,
            JoinKind::Full => Expr::call(Function::Coalesce, vec![a, b], ty),
            _ => a,
        })
    }

    fn bind_factor(&mut self, factor: &ast::TableFactor) -> Result<(Plan, Scope)> {
        use ast::TableFactor as F;
        match factor {
            F::Table { name, alias, args: None, sample: Some(sample), .. } => {
                let (plan, scope) = self.bind_relation(name, alias.as_ref())?;
                let plan = self.sampled(plan, &scope, sample, object_at(name))?;
                Ok((plan, scope))
            }
            F::Table { sample: Some(_), .. } | F::Derived { sample: Some(_), .. } => {
                fail(SqlState::SYNTAX_ERROR, "syntax error at or near \"TABLESAMPLE\"", None)
            }
            F::Table { name, version: Some(_), .. } => {
                unsupported("FOR SYSTEM_TIME", object_at(name))
            }
            F::Table { name, alias, args: None, with_ordinality, .. } if is_bare_call(name) => {
                let (alias, at) = (alias.as_ref(), object_at(name));
                let item = FunctionItem { alias, ordinality: *with_ordinality, at };
                self.bind_function_item(name, &[], item)
            }
            F::Table { name, alias, args: None, .. } => self.bind_relation(name, alias.as_ref()),
            F::Table { name, alias, args: Some(args), with_ordinality, .. } => {
                let (alias, at) = (alias.as_ref(), object_at(name));
                let item = FunctionItem { alias, ordinality: *with_ordinality, at };
                self.bind_function_item(name, &args.args, item)
            }
            F::Function { name, args, alias, with_ordinality, .. } => {
                let (alias, at) = (alias.as_ref(), object_at(name));
                let item = FunctionItem { alias, ordinality: *with_ordinality, at };
                self.bind_function_item(name, args, item)
            }
            F::Derived { lateral, subquery, alias, .. } => {
                self.bind_derived(*lateral, subquery, alias.as_ref())
            }
            F::NestedJoin { table_with_joins, alias } => {
                let (plan, scope) = self.nested(|binder| binder.bind_joins(table_with_joins))?;
                match alias {
                    None => Ok((plan, scope)),
                    Some(alias) => {
                        let scope = Scope::of(aliased(scope.columns, None, alias)?);
                        self.note_unlockable(&scope, "a join");
                        Ok((plan, scope))
                    }
                }
            }
            F::UNNEST { with_offset: true, .. } => unsupported("WITH OFFSET", None),
            F::UNNEST { alias, array_exprs, with_ordinality, .. } => {
                let arrays: Vec<_> = array_exprs.iter().collect();
                let (alias, ordinality) = (alias.as_ref(), *with_ordinality);
                let item = FunctionItem { alias, ordinality, at: None };
                let bound = self.bind_series_scan("unnest", &arrays, item)?;
                self.note_unlockable(&bound.1, "a function");
                Ok(bound)
            }
            _ => unsupported("this form of table expression", None),
        }
    }

    /// A function in FROM, whose rows nobody can lock.
    fn bind_function_item(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
        item: FunctionItem<'_>,
    ) -> Result<(Plan, Scope)> {
        let bound = self.bind_table_function(name, args, item)?;
        self.note_unlockable(&bound.1, "a function");
        Ok(bound)
    }

    pub(super) fn bind_derived(
        &mut self,
        lateral: bool,
        query: &ast::Query,
        alias: Option<&ast::TableAlias>,
    ) -> Result<(Plan, Scope)> {
        let locks = self.locks_below(&alias.map_or_else(String::new, |alias| folded(&alias.name)));
        let bound = if lateral {
            self.bind_locked_below(query, locks)?
        } else {
            self.in_scope(Scope::default(), |binder| binder.bind_locked_below(query, locks))?.0
        };
        let columns = scope_columns(&bound, "");
        // Without an alias, as PostgreSQL has it from version 16 on, no name leads to the relation.
        let relation = named_relation(String::new(), columns, alias, None)?;
        Ok((bound.plan, Scope::of(relation)))
    }

    /// A table, view or CTE by name.
    pub(super) fn bind_relation(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
    ) -> Result<(Plan, Scope)> {
        let at = object_at(name);
        if let Some(path) = file_path(name) {
            return self.bind_file(path, alias, at);
        }
        let written = self.written_name(name)?;
        if written.schema.is_none()
            && let Some((plan, relation)) = self.cte_scan(&written.name, at)?
        {
            let scope = Scope::of(with_alias(relation, alias)?);
            self.note_unlockable(&scope, "a WITH query");
            return Ok((plan, scope));
        }
        let is_written = written.schema.is_some();
        let full = self.found_at(written, at);
        let relation = self.catalog.relation(full.schema.as_deref(), &full.name);
        if let (Some(_), Some(at), 0) = (&relation, at, self.view_depth) {
            self.catalog.reads_at(&full.key(), at);
        }
        match relation {
            Some(Relation::Table(table)) => {
                let table = if is_only(name) { table.alone() } else { table };
                let kept = if table.wide().is_some() {
                    Some("wide table")
                } else if table.rows_elsewhere().is_some() {
                    Some("shared table")
                } else {
                    table.materialized().map(|_| "materialized view")
                };
                let read = Extent::Columns(BTreeSet::new());
                let bound = self.bind_table(table.clone(), name, alias, Some(read))?;
                let (mut plan, scope) = bound;
                match kept {
                    Some(kind) => self.refuse_kept_lock(&scope, kind)?,
                    None => self.lock_scan(&mut plan, &scope),
                }
                if let Some(relation) = scope.relations.first() {
                    plan = self.guarded(plan, &table, relation)?;
                }
                Ok((plan, scope))
            }
            Some(Relation::View { sql, columns, rights }) => {
                let locks = self.locks_of_view(&full, alias, &rights);
                let stored = StoredQuery { full, sql: &sql, columns, rights, locks };
                self.bind_stored_query(stored, alias, at)
            }
            Some(Relation::StaleWide { table, sql, rights }) => {
                let columns = table.columns().iter().map(|c| c.name.clone()).collect();
                let locks = LocksBelow::default();
                let stored = StoredQuery { full, sql: &sql, columns, rights, locks };
                let bound = self.bind_stored_query(stored, alias, at)?;
                self.refuse_kept_lock(&bound.1, "wide table")?;
                Ok(bound)
            }
            Some(Relation::Failed(error)) => Err(place(error, at)),
            None => {
                if !is_written && let Some(outside) = self.bind_outside(&full.name, alias, at)? {
                    return Ok(outside);
                }
                let message = format!("relation \"{full}\" does not exist");
                fail(SqlState::UNDEFINED_TABLE, message, at)
            }
        }
    }

    /// Binds the query of the view `full` by `work`.
    ///
    /// # Errors
    /// 42P17 when the view is being bound already: it reads itself.
    pub(super) fn in_view<T>(
        &mut self,
        full: &RelationName,
        at: Place,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let key = full.key();
        if self.views.contains(&key) {
            let message =
                format!("infinite recursion detected in rules for relation \"{}\"", full.name);
            return fail(SqlState::INVALID_OBJECT_DEFINITION, message, at);
        }
        self.views.push(key);
        let bound = work(self);
        self.views.pop();
        bound
    }

    /// The rows of a view or wide table, which is used at `at`.
    fn bind_stored_query(
        &mut self,
        stored: StoredQuery<'_>,
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<(Plan, Scope)> {
        let StoredQuery { full, sql, columns, rights, locks } = stored;
        let is_system = rights == ViewRights::System;
        let select = Privileges::of(&[Privilege::Select]);
        let access = (!is_system)
            .then(|| self.require_any(&full.key(), select, Extent::Columns(BTreeSet::new())));
        if !locks.is_empty() {
            self.require_columns(&full.key(), Privilege::Update, []);
        }
        let outer = self.on_behalf.clone();
        match rights {
            ViewRights::Owner(owner) => self.on_behalf = Some(owner),
            ViewRights::Asker => self.on_behalf = None,
            ViewRights::System => {}
        }
        let bound = self.in_view(&full, at, |binder| binder.bind_view(sql, locks, at));
        self.on_behalf = outer;
        let mut bound = bound?;
        for (column, name) in bound.columns.iter_mut().zip(columns) {
            column.name = name;
        }
        let mut columns = scope_columns(&bound, &full.name);
        let mut system = Vec::new();
        if is_system {
            let is_hidden = |column: &mut ScopeColumn| {
                column.name == "tableoid" || column.name.starts_with('.')
            };
            system = columns.extract_if(.., is_hidden).collect();
            for column in &mut system {
                column.name = column.name.trim_start_matches('.').to_owned();
            }
        }
        for (ordinal, column) in columns.iter_mut().enumerate() {
            column.source = access.map(|access| Source { access, ordinal });
        }
        if !is_system {
            self.note_origins(&full.key(), &columns);
        }
        let schema = match (is_system, &full.schema) {
            (true, None) => "pg_catalog".to_owned(),
            _ => full.schema_name().to_owned(),
        };
        let (name, schema, whole) = (full.name, Some(schema), Whole::Row);
        let relation = ScopeRelation { name, schema, columns, system, table: None, whole, at };
        Ok((bound.plan, Scope::of(with_alias(relation, alias)?)))
    }

    /// Columns of `relation` are read, unless a view reads them.
    fn note_origins(&mut self, relation: &str, columns: &[ScopeColumn]) {
        if self.view_depth > 0 || self.definition_depth > 0 {
            return;
        }
        let relation: Arc<str> = relation.into();
        for (ordinal, column) in columns.iter().enumerate() {
            if let ExprKind::Column(id) = column.expr.kind {
                self.origins.insert(id, Origin { relation: Arc::clone(&relation), ordinal });
            }
        }
    }

    /// Column `to` has the values of column `from`.
    pub(super) fn copy_origin(&mut self, from: ColumnId, to: ColumnId) {
        if let Some(origin) = self.origins.get(&from) {
            self.origins.insert(to, origin.clone());
        }
        if let Some(collation) = self.collations.get(&from) {
            self.collations.insert(to, *collation);
        }
    }

    /// A scan of `table`, called `name`; SELECT is needed on `read` and what the statement reads,
    /// unless that is None.
    pub(super) fn bind_table(
        &mut self,
        table: TableRef,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        read: Option<Extent>,
    ) -> Result<(Plan, Scope)> {
        let full = self.relation_name(name)?;
        let select = Privileges::of(&[Privilege::Select]);
        let access = read.map(|read| self.require_any(table.name(), select, read));
        let key = table.name().to_owned();
        let (plan, mut relation) = self.scan(table, &full.name, alias);
        for (ordinal, column) in relation.columns.iter_mut().enumerate() {
            column.source = access.map(|access| Source { access, ordinal });
        }
        self.note_origins(&key, &relation.columns);
        relation.at = object_at(name);
        relation.schema = Some(full.schema_name().to_owned());
        Ok((plan, Scope::of(with_alias(relation, alias)?)))
    }

    /// A scan of all columns of a table.
    fn scan(
        &mut self,
        table: TableRef,
        name: &str,
        alias: Option<&ast::TableAlias>,
    ) -> (Plan, ScopeRelation) {
        let mut columns = Vec::new();
        let mut scope_columns = Vec::new();
        for (ordinal, column) in table.columns().iter().enumerate() {
            let id = self.fresh();
            self.note_column(id, column);
            columns.push((id, ordinal));
            scope_columns.push(ScopeColumn {
                name: column.name.clone(),
                expr: Expr::column(id, column.ty),
                relation: name.to_owned(),
                source: None,
            });
        }
        let shown = alias.map_or_else(|| name.to_owned(), |alias| folded(&alias.name));
        let relation = ScopeRelation {
            name: name.to_owned(),
            schema: None,
            columns: scope_columns,
            system: Vec::new(),
            table: Some(table.clone()),
            whole: Whole::Row,
            at: None,
        };
        match table.rows_elsewhere() {
            Some(function) => (Plan::FunctionScan { function, columns }, relation),
            None => (Plan::Scan { table, columns, alias: shown.into() }, relation),
        }
    }

    /// The query of a view, bound apart from everything around it. Its positions are those of the
    /// view's own text, so errors get the place of the reference instead.
    fn bind_view(&mut self, sql: &str, locks: LocksBelow, at: Place) -> Result<BoundQuery> {
        let levels = stack::levels_in(sql);
        self.definition_levels += levels;
        let bound = stack::require(self.definition_levels);
        let bound = bound.and_then(|()| stack::deep(|| self.bind_view_here(sql, locks, at)));
        self.definition_levels -= levels;
        bound
    }

    fn bind_view_here(&mut self, sql: &str, locks: LocksBelow, at: Place) -> Result<BoundQuery> {
        let is_nested = self.view_depth > 0;
        let outside = |error: types::Error| {
            // In a view of a view, the outer one says it.
            if is_nested || stack::is_again(&error) {
                return error;
            }
            let message = format!("in a view: {}", error.message());
            place(types::Error::new(error.state(), message), at)
        };
        let query = crate::parse::parse_query(sql).map_err(outside)?;
        let levels = std::mem::take(&mut self.levels);
        let ctes = std::mem::take(&mut self.ctes);
        self.view_depth += 1;
        let bound = self.in_definition(|binder| binder.bind_locked_below(&query, locks));
        self.view_depth -= 1;
        self.levels = levels;
        self.ctes = ctes;
        bound.map_err(outside)
    }

    /// Binds `work` in a level of its own.
    pub(super) fn in_level<T>(
        &mut self,
        clause: Clause,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.levels.push(Level::new(clause));
        let result = work(self);
        self.levels.pop();
        result
    }
}

pub(super) fn join(left: Plan, right: Plan, kind: JoinKind, condition: Expr) -> Plan {
    Plan::Join { left: Box::new(left), right: Box::new(right), kind, condition }
}

pub(super) fn scope_columns(query: &BoundQuery, relation: &str) -> Vec<ScopeColumn> {
    let column = |column: &super::BoundColumn| ScopeColumn {
        name: column.name.clone(),
        expr: Expr::column(column.id, column.ty),
        relation: relation.to_owned(),
        source: None,
    };
    query.columns.iter().map(column).collect()
}

/// The columns under an alias, with the names it gives them.
pub(super) fn aliased(
    columns: Vec<ScopeColumn>,
    table: Option<TableRef>,
    alias: &ast::TableAlias,
) -> Result<ScopeRelation> {
    refuse_reserved(&alias.name)?;
    let name = folded(&alias.name);
    let names = columns.iter().map(|column| (column.name.clone(), column.expr.ty)).collect();
    let names = renamed(names, alias)?;
    let columns = columns
        .into_iter()
        .zip(names)
        .map(|(column, (given, _))| ScopeColumn { name: given, relation: name.clone(), ..column })
        .collect();
    let (whole, at) = (Whole::Row, ident_at(&alias.name));
    Ok(ScopeRelation { name, schema: None, columns, system: Vec::new(), table, whole, at })
}

/// The columns of a function called `name`, under its alias if it has one.
pub(super) fn named_relation(
    name: String,
    columns: Vec<ScopeColumn>,
    alias: Option<&ast::TableAlias>,
    at: Place,
) -> Result<ScopeRelation> {
    match alias {
        Some(alias) => aliased(columns, None, alias),
        None => {
            let (schema, system, table, whole) = (None, Vec::new(), None, Whole::Row);
            Ok(ScopeRelation { name, schema, columns, system, table, whole, at })
        }
    }
}

pub(super) fn with_alias(
    relation: ScopeRelation,
    alias: Option<&ast::TableAlias>,
) -> Result<ScopeRelation> {
    match alias {
        Some(alias) => {
            let system = relation.system;
            let aliased = aliased(relation.columns, relation.table, alias)?;
            Ok(ScopeRelation { system, ..aliased })
        }
        None => Ok(relation),
    }
}

fn join_kind(operator: &ast::JoinOperator) -> Result<(JoinKind, Option<&ast::JoinConstraint>)> {
    use ast::JoinOperator as J;
    Ok(match operator {
        J::Join(constraint) | J::Inner(constraint) => (JoinKind::Inner, Some(constraint)),
        J::Left(constraint) | J::LeftOuter(constraint) => (JoinKind::Left, Some(constraint)),
        J::Right(constraint) | J::RightOuter(constraint) => (JoinKind::Right, Some(constraint)),
        J::FullOuter(constraint) => (JoinKind::Full, Some(constraint)),
        J::CrossJoin(constraint) => (JoinKind::Inner, Some(constraint)),
        J::Semi(constraint) | J::LeftSemi(constraint) => (JoinKind::Semi, Some(constraint)),
        J::Anti(constraint) | J::LeftAnti(constraint) => (JoinKind::Anti, Some(constraint)),
        _ => return unsupported("this kind of join", None),
    })
}

/// # Errors
/// 42601 when ON and USING are missing where they are needed.
fn refuse_missing(step: &ast::Join, constraint: Option<&ast::JoinConstraint>) -> Result<()> {
    let is_missing = matches!(constraint, Some(ast::JoinConstraint::None) | None);
    if is_missing && !matches!(step.join_operator, ast::JoinOperator::CrossJoin(_)) {
        let message = "JOIN without ON or USING";
        return fail(SqlState::SYNTAX_ERROR, message, factor_at(&step.relation));
    }
    Ok(())
}

/// Where a relation by name stands; None for others.
fn factor_at(factor: &ast::TableFactor) -> Place {
    match factor {
        ast::TableFactor::Table { name, .. } => object_at(name),
        _ => None,
    }
}

/// The columns of USING, and its alias, which is a name of two parts behind them.
fn join_alias(names: &[ast::ObjectName]) -> (&[ast::ObjectName], Option<&ast::Ident>) {
    if let [columns @ .., last] = names
        && let [alias, mark] = last.0.as_slice()
        && let (Some(alias), Some(mark)) = (alias.as_ident(), mark.as_ident())
        && mark.value == JOIN_NAME
    {
        return (columns, Some(alias));
    }
    (names, None)
}

/// The relation that an alias of USING names: the merged columns, which are the first `count` of
/// `scope`. Only qualified names find them there.
fn named_join(scope: &Scope, alias: &ast::Ident, count: usize) -> Scope {
    let (name, at) = (folded(alias), ident_at(alias));
    let merged = scope.columns.iter().take(count).cloned();
    let columns = merged.map(|column| ScopeColumn { relation: name.clone(), ..column }).collect();
    let (whole, table) = (Whole::Row, None);
    let relation =
        ScopeRelation { name, schema: None, columns, system: Vec::new(), table, whole, at };
    Scope { relations: vec![relation], columns: Vec::new() }
}

fn using_names(names: &[ast::ObjectName]) -> Result<Vec<(String, Place)>> {
    let mut list: Vec<(String, Place)> = Vec::with_capacity(names.len());
    for name in names {
        let mut parts = super::name::object_parts(name)?;
        let at = object_at(name);
        let Some(last) = parts.pop() else { continue };
        if list.iter().any(|(known, _)| *known == last) {
            let message = format!("column name \"{last}\" appears more than once in USING clause");
            return fail(SqlState::DUPLICATE_COLUMN, message, at);
        }
        list.push((last, at));
    }
    Ok(list)
}

fn natural_names(left: &Scope, right: &Scope) -> Vec<(String, Place)> {
    let on_right = |name: &str| right.columns.iter().any(|column| column.name == name);
    let mut names: Vec<(String, Place)> = Vec::new();
    for column in &left.columns {
        if on_right(&column.name) && !names.iter().any(|(name, _)| *name == column.name) {
            names.push((column.name.clone(), None));
        }
    }
    names
}

fn using_column<'s>(
    columns: &'s [ScopeColumn],
    name: &str,
    side: &str,
    at: Place,
) -> Result<&'s ScopeColumn> {
    if columns.iter().filter(|column| column.name == name).count() > 1 {
        let message =
            format!("common column name \"{name}\" appears more than once in {side} table");
        return fail(SqlState::AMBIGUOUS_COLUMN, message, at);
    }
    match find_column(columns, name, at)? {
        Some(column) => Ok(column),
        None => {
            let message = format!(
                "column \"{name}\" specified in USING clause does not exist in {side} table"
            );
            fail(SqlState::UNDEFINED_COLUMN, message, at)
        }
    }
}
