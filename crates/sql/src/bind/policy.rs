//! Row-level security: statements about policies, and what policies make of others.
//!
//! ```text
//! SELECT           Scan -> Filter (one permissive USING, each restrictive one)
//! UPDATE, DELETE   likewise, and by the USING of what is read when the statement reads rows
//! INSERT, UPDATE   rows as written are tested by WITH CHECK (`RowTest`)
//! ```
//! A filter stands directly on its scan, so that no condition of the statement that may fail is
//! tested before it.
//!
//! Source of the rules: PostgreSQL 15.

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::name::{expr_at, object_at};
use super::scope::{Clause, Scope, ScopeColumn, ScopeRelation};
use super::select::filter;
use super::write::Target;
use super::{Binder, fail, place};
use crate::algebra::{Expr, Plan, Query};
use crate::catalog::{PolicyCommand, PolicyDef, PolicyKind, TID_COLUMN, TableRef};
use crate::parse::folded;
use crate::statement::{
    Extent, IfMissing, PolicyChange, PolicyStatement, RowRule, RowSecuritySwitch, RowVersion,
    Statement,
};

/// Rows that the conditions of policies are asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Rows that are there: USING.
    There,
    /// Rows that are written: WITH CHECK, or USING without one.
    Written,
}

/// A condition over the columns of a target, and the rule that it stands for.
pub(super) struct RowCondition {
    pub(super) rule: RowRule,
    pub(super) condition: Expr,
}

/// Conditions of policies for rows of one side.
struct Conditions {
    /// One of the permissive ones.
    permissive: Expr,
    restrictive: Vec<(String, Expr)>,
}

impl Binder<'_> {
    /// The policies that count for rows of `table`; None where all rows do.
    fn policies_of(&self, table: &TableRef) -> Result<Option<Vec<PolicyDef>>> {
        if self.defines_view {
            return Ok(None);
        }
        self.catalog.policies(table.name(), self.on_behalf.as_deref())
    }

    /// The scan `plan` of `table`, whose columns are those of `relation`, with the rows that may be
    /// read.
    pub(super) fn guarded(
        &mut self,
        plan: Plan,
        table: &TableRef,
        relation: &ScopeRelation,
    ) -> Result<Plan> {
        match self.policies_of(table)? {
            None => Ok(plan),
            Some(policies) => self.under(plan, &policies, PolicyCommand::Select, relation),
        }
    }

    /// `plan` with the rows that policies of `command` let through.
    fn under(
        &mut self,
        plan: Plan,
        policies: &[PolicyDef],
        command: PolicyCommand,
        relation: &ScopeRelation,
    ) -> Result<Plan> {
        let found = self.conditions(policies, Asked { command, side: Side::There }, relation)?;
        let restrictive = found.restrictive.into_iter().map(|(_, condition)| condition);
        let all = std::iter::once(found.permissive).chain(restrictive).collect();
        Ok(filter(plan, Expr::and(all)))
    }

    fn conditions(
        &mut self,
        policies: &[PolicyDef],
        asked: Asked,
        relation: &ScopeRelation,
    ) -> Result<Conditions> {
        let mut permissive = Vec::new();
        let mut restrictive = Vec::new();
        for policy in policies {
            if policy.command != PolicyCommand::All && policy.command != asked.command {
                continue;
            }
            let text = match asked.side {
                Side::There => policy.using.as_ref(),
                Side::Written => policy.check.as_ref().or(policy.using.as_ref()),
            };
            let Some(text) = text else { continue };
            let condition = self.policy_condition(text, relation)?;
            match policy.kind {
                PolicyKind::Permissive => permissive.push(condition),
                PolicyKind::Restrictive => restrictive.push((policy.name.clone(), condition)),
            }
        }
        Ok(Conditions { permissive: Expr::or(permissive), restrictive })
    }

    /// A kept condition over the columns of `relation`, which is a table.
    fn policy_condition(&mut self, text: &str, relation: &ScopeRelation) -> Result<Expr> {
        let Some(table) = &relation.table else {
            return Err(Error::internal("policies are those of a table"));
        };
        if self.policies_open.iter().any(|open| open == table.name()) {
            let message = format!(
                "infinite recursion detected in policy for relation \"{}\"",
                table.bare_name()
            );
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        let tree = crate::parse::parse_expr(text)?;
        let name = table.bare_name().to_owned();
        // What a policy reads of its row is not asked of the role.
        let column = |(column, def): (&ScopeColumn, &crate::catalog::ColumnDef)| ScopeColumn {
            name: def.name.clone(),
            relation: name.clone(),
            source: None,
            ..column.clone()
        };
        let columns = relation.columns.iter().zip(table.columns()).map(column).collect();
        let schema = crate::statement::RelationName::schema_of_key(table.name()).to_owned();
        let row =
            ScopeRelation { columns, name: name.clone(), schema: Some(schema), ..relation.clone() };
        self.policies_open.push(table.name().to_owned());
        let levels = std::mem::take(&mut self.levels);
        let ctes = std::mem::take(&mut self.ctes);
        self.view_depth += 1;
        let bound = self.in_definition(|binder| {
            binder.in_level(Clause::Policy, |binder| {
                binder.level()?.scope = Scope::of(row);
                let bound = binder.bind_expr(&tree)?;
                binder.coerce_clause(bound, DataType::Boolean, "POLICY")
            })
        });
        self.view_depth -= 1;
        (self.levels, self.ctes) = (levels, ctes);
        self.policies_open.pop();
        bound
    }

    /// The scan of a target under the policies of UPDATE or DELETE.
    pub(super) fn guarded_target(
        &mut self,
        target: &mut Target,
        plan: Plan,
        command: PolicyCommand,
    ) -> Result<Plan> {
        let Some(policies) = self.policies_of(&target.table)? else { return Ok(plan) };
        let relation = target.relation.clone();
        let plan = match command {
            PolicyCommand::Update | PolicyCommand::Delete | PolicyCommand::Select => {
                self.under(plan, &policies, command, &relation)?
            }
            _ => plan,
        };
        target.row = Some(Box::new(GuardedRow { relation, policies }));
        let tests = match command {
            PolicyCommand::Update | PolicyCommand::Insert => self.written(target, command)?,
            _ => Vec::new(),
        };
        target.tests.extend(tests);
        Ok(plan)
    }

    /// Tests of rows that `command` writes to the target.
    pub(super) fn written(
        &mut self,
        target: &Target,
        command: PolicyCommand,
    ) -> Result<Vec<RowCondition>> {
        let version = RowVersion::New;
        self.policy_tests(target, Asked { command, side: Side::Written }, version)
    }

    /// Tests of rows that are there and which `command` is to change.
    pub(super) fn there(
        &mut self,
        target: &Target,
        command: PolicyCommand,
        version: RowVersion,
    ) -> Result<Vec<RowCondition>> {
        self.policy_tests(target, Asked { command, side: Side::There }, version)
    }

    fn policy_tests(
        &mut self,
        target: &Target,
        asked: Asked,
        version: RowVersion,
    ) -> Result<Vec<RowCondition>> {
        let Some(row) = &target.row else { return Ok(Vec::new()) };
        let on_behalf = target.view.as_ref().map(|view| view.asker.clone());
        let outside = self.on_behalf.clone();
        if let Some(asker) = on_behalf {
            self.on_behalf = asker;
        }
        let found = self.conditions(&row.policies, asked, &row.relation);
        self.on_behalf = outside;
        let Conditions { permissive, restrictive } = found?;
        let table = target.table.bare_name();
        let rule =
            |policy: Option<String>| RowRule::Policy { table: table.to_owned(), policy, version };
        let mut tests = vec![RowCondition { rule: rule(None), condition: permissive }];
        let each = |(name, condition)| RowCondition { rule: rule(Some(name)), condition };
        tests.extend(restrictive.into_iter().map(each));
        Ok(tests)
    }

    /// True when the statement reads rows of the target.
    pub(super) fn reads_target(&self, target: &Target) -> bool {
        let extent = target.access.and_then(|at| self.required.get(at));
        matches!(extent.map(|a| &a.extent), Some(Extent::Read(columns)) if !columns.is_empty())
    }

    /// Puts the policies of what is read below a statement that reads rows of its target.
    pub(super) fn guard_reads(&mut self, plan: &mut Plan, target: &mut Target) -> Result<()> {
        self.settle_reads(target);
        if target.row.is_none() || !self.reads_target(target) {
            return Ok(());
        }
        let tests = self.there(target, PolicyCommand::Select, RowVersion::New)?;
        let conditions = tests.iter().map(|test| test.condition.clone()).collect();
        let predicate = Expr::and(conditions);
        if put_filter(plan, target, &predicate) == Put::Nowhere {
            let below = std::mem::replace(plan, Plan::one_row());
            *plan = filter(below, predicate);
        }
        // What is written has to be seen, too.
        let mut copies = Vec::with_capacity(tests.len());
        for RowCondition { rule, condition } in tests {
            let condition = self.refreshed(&super::Bound::new(condition, None)).expr;
            copies.push(RowCondition { rule, condition });
        }
        target.tests.extend(copies);
        Ok(())
    }

    /// The columns of COPY TO from the rows of a table that may be read.
    pub(super) fn guarded_copy(
        &mut self,
        name: &ast::ObjectName,
        columns: &[usize],
    ) -> Result<Query> {
        let (plan, scope) = self.bind_relation(name, None)?;
        let relation = scope.relations.first();
        let of = |at: &usize| relation.and_then(|relation| relation.columns.get(*at));
        let found: Vec<ScopeColumn> = columns.iter().filter_map(of).cloned().collect();
        let exprs = found.iter().map(|column| column.expr.clone()).collect();
        let mut query = self.projected_exprs(plan, exprs);
        for (column, found) in query.columns.iter_mut().zip(found) {
            column.name = found.name;
        }
        self.finish(query)
    }

    /// CREATE POLICY.
    pub(super) fn bind_create_policy(&mut self, create: &ast::CreatePolicy) -> Result<Statement> {
        let table = self.policy_table(&create.table_name)?;
        let command = match create.command {
            None | Some(ast::CreatePolicyCommand::All) => PolicyCommand::All,
            Some(ast::CreatePolicyCommand::Select) => PolicyCommand::Select,
            Some(ast::CreatePolicyCommand::Insert) => PolicyCommand::Insert,
            Some(ast::CreatePolicyCommand::Update) => PolicyCommand::Update,
            Some(ast::CreatePolicyCommand::Delete) => PolicyCommand::Delete,
        };
        let (using, check) = (create.using.as_ref(), create.with_check.as_ref());
        let reads_only = matches!(command, PolicyCommand::Select | PolicyCommand::Delete);
        if let (true, Some(check)) = (reads_only, check) {
            let message = "WITH CHECK cannot be applied to SELECT or DELETE";
            return fail(SqlState::SYNTAX_ERROR, message, expr_at(check));
        }
        if let (PolicyCommand::Insert, Some(using)) = (command, using) {
            let message = "only WITH CHECK expression allowed for INSERT";
            return fail(SqlState::SYNTAX_ERROR, message, expr_at(using));
        }
        let policy = PolicyDef {
            name: folded(&create.name),
            kind: match create.policy_type {
                Some(ast::CreatePolicyType::Restrictive) => PolicyKind::Restrictive,
                _ => PolicyKind::Permissive,
            },
            command,
            roles: self.policy_roles(create.to.as_deref().unwrap_or_default()),
            using: self.policy_text(&table, using)?,
            check: self.policy_text(&table, check)?,
        };
        let (table, change) = (table.name().to_owned(), PolicyChange::Create(policy));
        Ok(Statement::Policy(Box::new(PolicyStatement { table, change })))
    }

    /// ALTER POLICY.
    pub(super) fn bind_alter_policy(&mut self, alter: &ast::AlterPolicy) -> Result<Statement> {
        let table = self.policy_table(&alter.table_name)?;
        let name = folded(&alter.name);
        let change = match &alter.operation {
            ast::AlterPolicyOperation::Rename { new_name } => {
                PolicyChange::Rename { name, to: folded(new_name) }
            }
            ast::AlterPolicyOperation::Apply { to, using, with_check } => PolicyChange::Alter {
                name,
                roles: to.as_ref().map(|to| self.policy_roles(to)),
                using: self.policy_text(&table, using.as_ref())?,
                check: self.policy_text(&table, with_check.as_ref())?,
            },
        };
        let table = table.name().to_owned();
        Ok(Statement::Policy(Box::new(PolicyStatement { table, change })))
    }

    /// DROP POLICY.
    pub(super) fn bind_drop_policy(&mut self, drop: &ast::DropPolicy) -> Result<Statement> {
        let if_missing = if drop.if_exists { IfMissing::Skip } else { IfMissing::Fail };
        let name = folded(&drop.name);
        let full = self.relation_name(&drop.table_name)?;
        let found = self.catalog.relation(full.schema.as_deref(), &full.name);
        if found.is_none() && if_missing == IfMissing::Skip {
            let message = format!("relation \"{full}\" does not exist, skipping");
            let notices = vec![(SqlState::SUCCESSFUL_COMPLETION, message)];
            let command = "DROP POLICY";
            return Ok(Statement::Skipped(crate::statement::Skipped { command, notices }));
        }
        let table = self.policy_table(&drop.table_name)?.name().to_owned();
        let change = PolicyChange::Drop { name, if_missing };
        Ok(Statement::Policy(Box::new(PolicyStatement { table, change })))
    }

    /// ALTER TABLE whose actions are about row-level security; None for others.
    pub(super) fn bind_row_security(
        &mut self,
        alter: &ast::AlterTable,
    ) -> Result<Option<Statement>> {
        use ast::AlterTableOperation as Op;
        let mut switches = Vec::with_capacity(alter.operations.len());
        for operation in &alter.operations {
            switches.push(match operation {
                Op::EnableRowLevelSecurity => RowSecuritySwitch::Enable,
                Op::DisableRowLevelSecurity => RowSecuritySwitch::Disable,
                Op::ForceRowLevelSecurity => RowSecuritySwitch::Force,
                Op::NoForceRowLevelSecurity => RowSecuritySwitch::NoForce,
                _ => return Ok(None),
            });
        }
        if switches.is_empty() {
            return Ok(None);
        }
        let table = self.policy_table(&alter.name)?.name().to_owned();
        let change = PolicyChange::Switch(switches);
        Ok(Some(Statement::Policy(Box::new(PolicyStatement { table, change }))))
    }

    /// A table that may have policies.
    fn policy_table(&self, name: &ast::ObjectName) -> Result<TableRef> {
        let table = self.plain_table(name)?;
        if crate::statement::RelationName::schema_of_key(table.name()) == "pg_temp" {
            let message = "row-level security of a temporary table is not supported yet";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, object_at(name));
        }
        Ok(table)
    }

    /// The roles of TO; none when PUBLIC is among them.
    fn policy_roles(&self, to: &[ast::Owner]) -> Vec<String> {
        let mut roles = Vec::with_capacity(to.len());
        for owner in to {
            let role = match owner {
                ast::Owner::Ident(ident) => folded(ident),
                ast::Owner::CurrentRole | ast::Owner::CurrentUser => self.catalog.user().to_owned(),
                ast::Owner::SessionUser => self.catalog.session_user().to_owned(),
            };
            match role.as_str() {
                "public" => return Vec::new(),
                "current_user" | "current_role" => roles.push(self.catalog.user().to_owned()),
                "session_user" => roles.push(self.catalog.session_user().to_owned()),
                _ => roles.push(role),
            }
        }
        roles
    }

    /// A condition as it is kept, after a look at it.
    fn policy_text(
        &mut self,
        table: &TableRef,
        condition: Option<&ast::Expr>,
    ) -> Result<Option<String>> {
        let Some(condition) = condition else { return Ok(None) };
        let name = ast::ObjectName::from(vec![ast::Ident::new(table.bare_name())]);
        let needed = self.required.len();
        let (_, scope) = self.bind_table(table.clone(), &name, None, None)?;
        let bound = self.in_level(Clause::Policy, |binder| {
            binder.level()?.scope = scope;
            let bound = binder.bind_expr(condition)?;
            binder.coerce_clause(bound, DataType::Boolean, "POLICY")
        });
        bound?;
        self.required.truncate(needed);
        // A query has the schemas of relations put in.
        let mut query = crate::parse::parse_query("SELECT 1")?;
        if let ast::SetExpr::Select(select) = &mut *query.body {
            select.projection = vec![ast::SelectItem::UnnamedExpr(condition.clone())];
        }
        let text = self.defined_query(&query).unwrap_or_else(|| query.to_string());
        Ok(Some(text.strip_prefix("SELECT ").unwrap_or(&text).to_owned()))
    }
}

/// Command whose policies are asked for, and the side.
#[derive(Clone, Copy)]
struct Asked {
    command: PolicyCommand,
    side: Side,
}

/// The row of a target's table, and its policies.
pub(super) struct GuardedRow {
    relation: ScopeRelation,
    policies: Vec<PolicyDef>,
}

/// Where a filter was put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    OnScan,
    Nowhere,
}

/// Puts a filter on the scan of the target in `plan`.
fn put_filter(plan: &mut Plan, target: &Target, predicate: &Expr) -> Put {
    if let Plan::Scan { columns, .. } = plan
        && columns.contains(&(target.tid, TID_COLUMN))
    {
        let scan = std::mem::replace(plan, Plan::one_row());
        *plan = filter(scan, predicate.clone());
        return Put::OnScan;
    }
    for input in plan.inputs_mut() {
        if put_filter(input, target, predicate) == Put::OnScan {
            return Put::OnScan;
        }
    }
    Put::Nowhere
}

/// 42501 for COPY into a table whose rows are tested by policies.
pub(super) fn refuse_copy<T>(at: crate::algebra::Place) -> Result<T> {
    let message = "COPY FROM not supported with row-level security";
    let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_hint("Use INSERT statements instead.");
    Err(place(error, at))
}
