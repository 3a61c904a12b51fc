//! MERGE: a join of source and target, and for each of its rows the number of the action to take
//! with the values for it.
//!
//! ```text
//! Join source, target ON -> Project ..., action = CASE WHEN conditions, in order
//!   -> Filter action -> Project tid, action, values of all actions, extras
//! ```

use sqlparser::ast;
use types::{DataType, Result, SqlState, Value};

use super::from::join;
use super::insert::is_default;
use super::name::expr_at;
use super::scope::{Clause, Scope};
use super::select::filter;
use super::view_target::WriteKind;
use super::write::{Target, column_at};
use super::{Binder, BoundQuery, at_span, fail, unsupported};
use crate::algebra::{ColumnId, Expr, ExprKind, JoinKind, Plan};
use crate::catalog::PolicyCommand;
use crate::statement::{Merge, MergeAction, MergeTests, Privilege, RowVersion};

/// A WHEN clause, bound.
struct When {
    /// When it applies, given that none before does.
    condition: Expr,
    action: MergeAction,
    values: Vec<Expr>,
}

impl Binder<'_> {
    /// MERGE under the CTEs of `with`.
    pub(super) fn bind_merge(
        &mut self,
        merge: &ast::Merge,
        with: Option<&ast::With>,
    ) -> Result<Merge> {
        let items = match &merge.output {
            None => None,
            Some(ast::OutputClause::Returning { select_items, .. }) => Some(&select_items[..]),
            Some(_) => return unsupported("OUTPUT", at_span(merge.merge_token.0.span)),
        };
        if with.is_some_and(|with| with.recursive) {
            let message = "WITH RECURSIVE is not supported for MERGE statement";
            return fail(SqlState::SYNTAX_ERROR, message, at_span(merge.merge_token.0.span));
        }
        let definitions = self.definitions(with)?;
        let bound = self.in_level(Clause::From, |binder| {
            let (target, scan) = binder.bind_target(&merge.table, WriteKind::Merge)?;
            let source = ast::TableWithJoins { relation: merge.source.clone(), joins: Vec::new() };
            let source = binder.bind_from(&[source])?;
            let source_scope = std::mem::take(&mut binder.level()?.scope);
            let mut both = Scope::of(target.relation.clone());
            both.extend(source_scope.clone())?;
            binder.level()?.scope = both.clone();
            let condition = binder.in_clause(Clause::JoinOn, |binder| {
                let bound = binder.bind_expr(&merge.on)?;
                binder.coerce_clause(bound, DataType::Boolean, "JOIN/ON")
            })?;
            let inserts = merge.clauses.iter().any(|clause| !is_matched(clause));
            let kind = if inserts { JoinKind::Left } else { JoinKind::Inner };
            let plan = join(source, scan, kind, condition);
            binder.require_merge(merge, &target);
            let whens = binder.bind_whens(merge, &target, &both, &source_scope)?;
            binder.level()?.scope = both;
            let returning = binder.bind_returning(items, &target)?;
            let extras = returning.as_ref().map_or(&[][..], |returning| &returning.extras);
            let (source, actions, extras_from) = binder.merge_source(plan, &target, whens, extras);
            Ok((target, source, actions, extras_from, returning))
        });
        let (target, source, actions, extras_from, returning) = bound?;
        let (source, returning) = self.finish_write(source, returning, definitions)?;
        let tests = self.merge_tests(&target)?;
        Ok(Merge { table: target.table, source, actions, returning, extras_from, tests })
    }

    /// Tests by policies of the rows that MERGE changes.
    fn merge_tests(&mut self, target: &Target) -> Result<MergeTests> {
        use PolicyCommand as C;
        let to_update = self.there(target, C::Update, RowVersion::Target)?;
        let to_delete = self.there(target, C::Delete, RowVersion::Target)?;
        let mut updated = self.written(target, C::Update)?;
        updated.extend(self.there(target, C::Select, RowVersion::New)?);
        let inserted = self.written(target, C::Insert)?;
        Ok(MergeTests {
            to_update: self.row_tests(target, &to_update)?,
            to_delete: self.row_tests(target, &to_delete)?,
            updated: self.row_tests(target, &updated)?,
            inserted: self.row_tests(target, &inserted)?,
        })
    }

    /// Requires the privileges that MERGE needs on its target as a whole.
    fn require_merge(&mut self, merge: &ast::Merge, target: &Target) {
        let name = target.table.name();
        let deletes =
            |clause: &ast::MergeClause| matches!(clause.action, ast::MergeAction::Delete { .. });
        if merge.clauses.iter().any(deletes) {
            self.require(name, Privilege::Delete);
        }
    }

    fn bind_whens(
        &mut self,
        merge: &ast::Merge,
        target: &Target,
        both: &Scope,
        source: &Scope,
    ) -> Result<Vec<When>> {
        let mut whens = Vec::with_capacity(merge.clauses.len());
        let (mut matched_done, mut unmatched_done) = (false, false);
        for clause in &merge.clauses {
            let at = at_span(clause.when_token.0.span);
            if clause.clause_kind == ast::MergeClauseKind::NotMatchedBySource {
                return unsupported("WHEN NOT MATCHED BY SOURCE", at);
            }
            let matched = is_matched(clause);
            let done = if matched { &mut matched_done } else { &mut unmatched_done };
            if *done {
                let message = "unreachable WHEN clause specified after unconditional WHEN clause";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            }
            *done = clause.predicate.is_none();
            let scope = if matched { both } else { source };
            self.level()?.scope = scope.clone();
            let missing = Expr::column(target.tid, DataType::BigInt).is_null();
            let mut terms = vec![if matched { missing.negated() } else { missing }];
            if let Some(predicate) = &clause.predicate {
                terms.push(self.bind_condition(predicate, Clause::Merge)?);
            }
            let (action, values) = self
                .in_clause(Clause::Update, |binder| binder.bind_action(clause, target, matched))?;
            whens.push(When { condition: Expr::and(terms), action, values });
        }
        Ok(whens)
    }

    /// An action with positions yet to be given, and its values.
    fn bind_action(
        &mut self,
        clause: &ast::MergeClause,
        target: &Target,
        matched: bool,
    ) -> Result<(MergeAction, Vec<Expr>)> {
        let at = at_span(clause.when_token.0.span);
        let misplaced = |what: &str| {
            let message = format!("syntax error at or near \"{what}\"");
            fail(SqlState::SYNTAX_ERROR, message, at)
        };
        match &clause.action {
            ast::MergeAction::DoNothing { .. } => Ok((MergeAction::Nothing, Vec::new())),
            ast::MergeAction::Delete { .. } if matched => Ok((MergeAction::Delete, Vec::new())),
            ast::MergeAction::Delete { .. } => misplaced("DELETE"),
            ast::MergeAction::Update(update) if matched => {
                if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                    return unsupported("WHERE in MERGE", at);
                }
                let ast::MergeUpdateKind::Set(assignments) = &update.kind else {
                    return unsupported("this form of UPDATE in MERGE", at);
                };
                let before = Plan::one_row();
                let (after, assigned) =
                    self.bind_assignments(target, assignments, before.clone())?;
                if after != before {
                    return unsupported("a sub-query of several columns in MERGE", at);
                }
                let (columns, values): (Vec<usize>, _) = assigned.into_iter().unzip();
                let changed = columns.iter().copied();
                self.require_columns(target.table.name(), Privilege::Update, changed);
                Ok((MergeAction::Update { columns, values_from: 0 }, values))
            }
            ast::MergeAction::Update(_) => misplaced("UPDATE"),
            ast::MergeAction::Insert(_) if matched => misplaced("INSERT"),
            ast::MergeAction::Insert(insert) => {
                let values = self.bind_merge_insert(insert, target)?;
                Ok((MergeAction::Insert { values_from: 0 }, values))
            }
        }
    }

    /// The values of all columns of a row to insert.
    fn bind_merge_insert(
        &mut self,
        insert: &ast::MergeInsertExpr,
        target: &Target,
    ) -> Result<Vec<Expr>> {
        let table = &target.table;
        let at = at_span(insert.insert_token.0.span);
        let ast::MergeInsertKind::Values(values) = &insert.kind else {
            return unsupported("this form of INSERT in MERGE", at);
        };
        let [row] = values.rows.as_slice() else {
            return fail(SqlState::SYNTAX_ERROR, "syntax error: MERGE inserts one row", at);
        };
        if insert.insert_predicate.is_some() {
            return unsupported("WHERE in MERGE", at);
        }
        let ordinals = self.target_ordinals(target, &insert.columns)?;
        let count = row.content.len();
        if count > ordinals.len() {
            let message = "INSERT has more expressions than target columns";
            let at = row.content.get(ordinals.len()).and_then(expr_at).or(at);
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        if count < ordinals.len() && !insert.columns.is_empty() {
            let message = "INSERT has more target columns than expressions";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let named: Vec<usize> = ordinals.into_iter().take(count).collect();
        self.require_columns(table.name(), Privilege::Insert, named.iter().copied());
        let defaults: Vec<bool> = row.content.iter().map(is_default).collect();
        let overriding = self.aside.overriding(at);
        let given = self.identities_given(table, named, &defaults, overriding)?;
        let mut list = Vec::with_capacity(table.columns().len());
        for ordinal in 0..table.columns().len() {
            let expr = given.iter().position(|known| *known == Some(ordinal));
            let expr = expr.and_then(|position| row.content.get(position));
            list.push(match expr {
                Some(expr) if !is_default(expr) => {
                    let bound = self.bind_expr(expr)?;
                    self.assign(bound, column_at(table, ordinal)?)?
                }
                _ => self.column_default(target, ordinal)?,
            });
        }
        Ok(list)
    }

    /// The source over the joined rows, the actions, and where extras begin.
    fn merge_source(
        &mut self,
        plan: Plan,
        target: &Target,
        whens: Vec<When>,
        extras: &[(ColumnId, DataType)],
    ) -> (BoundQuery, Vec<MergeAction>, usize) {
        let action = self.fresh();
        let number = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
        let branches = whens.iter().enumerate().map(|(at, when)| {
            let result = match when.action {
                MergeAction::Nothing => Expr::null(DataType::Integer),
                _ => Expr::integer(number(at)),
            };
            (when.condition.clone(), result)
        });
        let otherwise = Box::new(Expr::null(DataType::Integer));
        let kind = ExprKind::Case { branches: branches.collect(), otherwise };
        let choice = Expr { kind, ty: DataType::Integer };
        let pass = plan.output_types().into_iter().map(|(id, ty)| (id, Expr::column(id, ty)));
        let columns = pass.chain([(action, choice)]).collect();
        let plan = Plan::Project { input: Box::new(plan), columns };
        let chosen = Expr::column(action, DataType::Integer);
        let plan = filter(plan, chosen.clone().is_null().negated());
        let mut exprs = vec![Expr::column(target.tid, DataType::BigInt), chosen.clone()];
        let mut actions = Vec::with_capacity(whens.len());
        for (at, when) in whens.into_iter().enumerate() {
            let from = exprs.len();
            actions.push(match when.action {
                MergeAction::Update { columns, .. } => {
                    MergeAction::Update { columns, values_from: from }
                }
                MergeAction::Insert { .. } => MergeAction::Insert { values_from: from },
                other => other,
            });
            exprs.extend(when.values.into_iter().map(|value| {
                let ty = value.ty;
                let equal = Expr::compare(
                    types::CompareOp::Equal,
                    chosen.clone(),
                    Expr::literal(Value::I32(number(at)), DataType::Integer),
                );
                let otherwise = Box::new(Expr::null(ty));
                Expr { kind: ExprKind::Case { branches: vec![(equal, value)], otherwise }, ty }
            }));
        }
        let extras_from = exprs.len();
        exprs.extend(extras.iter().map(|(id, ty)| Expr::column(*id, *ty)));
        (self.projected_exprs(plan, exprs), actions, extras_from)
    }
}

fn is_matched(clause: &ast::MergeClause) -> bool {
    clause.clause_kind == ast::MergeClauseKind::Matched
}
