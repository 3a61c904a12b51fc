//! CREATE, ALTER and DROP TRIGGER: names, conditions, what makes no sense.
//!
//! Source of the rules: PostgreSQL 15.

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::name::{expr_at, ident_at, object_at, object_parts};
use super::scope::{Clause, Scope, ScopeColumn, ScopeRelation};
use super::{Binder, fail, place, unsupported};
use crate::algebra::{Expr, ExprKind};
use crate::catalog::{
    Relation, TableRef, TriggerDef, TriggerEvent, TriggerFiring, TriggerLevel, TriggerTiming,
};
use crate::parse::visit::rewrite_expressions;
use crate::parse::{CreateTriggerTree, Switched, TransitionTree, TriggerTree, folded};
use crate::statement::{
    IfExists, IfMissing, RelationName, Skipped, Statement, SwitchedTriggers, TriggerChange,
    TriggerStatement,
};

/// Relation that has triggers.
enum Target {
    Table(TableRef),
    /// Key of a view.
    View(String),
}

impl Target {
    fn key(&self) -> &str {
        match self {
            Self::Table(table) => table.name(),
            Self::View(key) => key,
        }
    }
}

fn statement(table: &Target, change: TriggerChange) -> Statement {
    let table = table.key().to_owned();
    Statement::Trigger(Box::new(TriggerStatement { table, change }))
}

/// 0A000 in the words of PostgreSQL.
fn refused<T>(message: &str) -> Result<T> {
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, None)
}

/// 42P17.
fn invalid<T>(message: &str) -> Result<T> {
    fail(SqlState::INVALID_OBJECT_DEFINITION, message, None)
}

impl Binder<'_> {
    /// A statement about triggers.
    pub(super) fn bind_trigger_statement(&mut self, tree: &TriggerTree) -> Result<Statement> {
        match tree {
            TriggerTree::Create(create) => self.bind_create_trigger(create),
            TriggerTree::Rename { name, table, to } => {
                let target = self.trigger_target(table)?;
                let (name, to) = (name.clone(), to.clone());
                Ok(statement(&target, TriggerChange::Rename { name, to }))
            }
            TriggerTree::Drop { name, table, if_missing, behaviour } => {
                let full = self.relation_name(table)?;
                let found = self.catalog.relation(full.schema.as_deref(), &full.name);
                if found.is_none() && *if_missing == IfMissing::Skip {
                    let message = format!("relation \"{full}\" does not exist, skipping");
                    let notices = vec![(SqlState::SUCCESSFUL_COMPLETION, message)];
                    return Ok(Statement::Skipped(Skipped { command: "DROP TRIGGER", notices }));
                }
                let target = self.trigger_target(table)?;
                let (name, if_missing, behaviour) = (name.clone(), *if_missing, *behaviour);
                Ok(statement(&target, TriggerChange::Drop { name, if_missing, behaviour }))
            }
        }
    }

    /// ENABLE and DISABLE TRIGGER of a table.
    pub(super) fn bind_switches(
        &mut self,
        name: &ast::ObjectName,
        switches: &[(Switched, TriggerFiring)],
    ) -> Result<Statement> {
        let target = self.trigger_target(name)?;
        let switch = |(which, firing): &(Switched, TriggerFiring)| match which {
            Switched::Named(ident) => (SwitchedTriggers::Named(folded(ident)), *firing),
            Switched::User => (SwitchedTriggers::Users, *firing),
            Switched::All => (SwitchedTriggers::All, *firing),
        };
        let switches = switches.iter().map(switch).collect();
        Ok(statement(&target, TriggerChange::Switch(switches)))
    }

    /// Key of the table or view that a statement about triggers names.
    pub(super) fn trigger_table(&self, name: &ast::ObjectName) -> Result<String> {
        Ok(self.trigger_target(name)?.key().to_owned())
    }

    /// The table or view that a statement about triggers names.
    fn trigger_target(&self, name: &ast::ObjectName) -> Result<Target> {
        let (full, at) = (self.relation_name(name)?, object_at(name));
        match self.catalog.relation(full.schema.as_deref(), &full.name) {
            Some(Relation::Table(table)) if table.materialized().is_some() => {
                let message = format!("relation \"{}\" cannot have triggers", full.name);
                let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .with_detail("This operation is not supported for materialized views.");
                Err(place(error, at))
            }
            Some(Relation::Table(table)) if table.rows_elsewhere().is_some() => {
                unsupported("a trigger on a shared table", at)
            }
            Some(Relation::Failed(error)) => Err(place(error, at)),
            Some(Relation::Table(table)) if table.wide().is_none() => {
                if RelationName::schema_of_key(table.name()) == "bus" {
                    return unsupported("a trigger on a table of the message bus", at);
                }
                Ok(Target::Table(table))
            }
            Some(Relation::Table(_) | Relation::StaleWide { .. }) => {
                unsupported("a trigger on a wide table", at)
            }
            Some(Relation::View { .. }) if self.catalog.view_writes(&full.key()).is_some() => {
                Ok(Target::View(full.key()))
            }
            Some(Relation::View { .. }) => {
                let message = format!("permission denied: \"{}\" is a system catalog", full.name);
                fail(SqlState::INSUFFICIENT_PRIVILEGE, message, at)
            }
            None => {
                fail(SqlState::UNDEFINED_TABLE, format!("relation \"{full}\" does not exist"), at)
            }
        }
    }

    fn bind_create_trigger(&mut self, create: &CreateTriggerTree) -> Result<Statement> {
        let target = self.trigger_target(&create.table)?;
        refuse_place(&target, create)?;
        let constraint = match &create.constraint {
            Some(_) if create.if_exists == IfExists::Replace => {
                return refused("CREATE OR REPLACE CONSTRAINT TRIGGER is not supported");
            }
            Some(said) => Some(super::constraint::deferral_of(said.as_ref())?),
            None => None,
        };
        let mut events: Vec<TriggerEvent> = create.events.iter().map(|(event, _)| *event).collect();
        let count = events.len();
        events.sort_unstable();
        events.dedup();
        if events.len() != count {
            return fail(SqlState::SYNTAX_ERROR, "duplicate trigger events specified", None);
        }
        let columns = trigger_columns(&target, create)?;
        let [old_table, new_table] = transition_names(&target, create)?;
        let condition = match &create.condition {
            Some(condition) => Some(self.trigger_condition(&target, create, condition)?),
            None => None,
        };
        let routine = self.trigger_function(&create.function)?;
        let def = TriggerDef {
            name: create.name.clone(),
            timing: create.timing,
            level: create.level,
            events,
            columns,
            condition,
            routine,
            arguments: create.arguments.clone(),
            old_table,
            new_table,
            firing: TriggerFiring::default(),
            constraint,
        };
        let if_exists = create.if_exists;
        Ok(statement(&target, TriggerChange::Create { def, if_exists }))
    }

    /// The key of the function that a trigger calls.
    fn trigger_function(&self, name: &ast::ObjectName) -> Result<String> {
        let parts = object_parts(name)?;
        let (schema, bare) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
            _ => return fail(SqlState::SYNTAX_ERROR, "improper qualified name", object_at(name)),
        };
        let found = self.catalog.routines(schema, bare);
        if found.is_empty()
            && schema.is_none_or(|schema| schema == "pg_catalog")
            && let Some(key) = crate::definition::built_in_trigger_key(bare)
        {
            return Ok(key);
        }
        let written = parts.join(".");
        let Some(routine) = found.iter().find(|routine| routine.inputs().next().is_none()) else {
            let message = format!("function {written}() does not exist");
            return fail(SqlState::UNDEFINED_FUNCTION, message, None);
        };
        if !routine.is_trigger() {
            return invalid(&format!("function {written} must return type trigger"));
        }
        self.catalog.check_execute(routine)?;
        Ok(routine.key())
    }

    /// WHEN as it is kept, after a look at it.
    fn trigger_condition(
        &mut self,
        target: &Target,
        create: &CreateTriggerTree,
        condition: &ast::Expr,
    ) -> Result<String> {
        let needed = self.required.len();
        let mut sides = Vec::new();
        let mut scope = Scope::default();
        if let Target::Table(table) = target {
            for name in ["old", "new"] {
                let side = self.side(table, name)?;
                let columns = side.columns.iter().map(|column| column.expr.clone());
                sides.push(columns.collect::<Vec<Expr>>());
                scope.extend(Scope::of(side))?;
            }
        }
        let bound = self.in_level(Clause::When, |binder| {
            binder.level()?.scope = scope;
            let bound = binder.bind_expr(condition)?;
            binder.coerce_clause(bound, DataType::Boolean, "WHEN")
        })?;
        self.required.truncate(needed);
        if super::insert::contains_subquery(&bound) {
            let message = "cannot use subquery in trigger WHEN condition";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, expr_at(condition));
        }
        refuse_sides(target, create, &bound, &sides)?;
        // A query has the schemas of relations put in.
        let mut query = crate::parse::parse_query("SELECT 1")?;
        if let ast::SetExpr::Select(select) = &mut *query.body {
            let condition = with_plain_rows(condition);
            select.projection = vec![ast::SelectItem::UnnamedExpr(condition)];
        }
        let text = self.defined_query(&query).unwrap_or_else(|| query.to_string());
        Ok(text.strip_prefix("SELECT ").unwrap_or(&text).to_owned())
    }

    /// Rows of `table` under the name `name`.
    fn side(&mut self, table: &TableRef, name: &str) -> Result<ScopeRelation> {
        let own = ast::ObjectName::from(vec![ast::Ident::new(table.bare_name())]);
        let (_, mut scope) = self.bind_table(table.clone(), &own, None, None)?;
        let Some(relation) = scope.relations.pop() else {
            return Err(Error::internal("a table is one relation"));
        };
        let column = |column: &ScopeColumn| ScopeColumn {
            relation: name.to_owned(),
            source: None,
            ..column.clone()
        };
        let columns = relation.columns.iter().map(column).collect();
        Ok(ScopeRelation { columns, name: name.to_owned(), schema: None, ..relation })
    }
}

/// A condition in which the rows are called `old` and `new`.
fn with_plain_rows(condition: &ast::Expr) -> ast::Expr {
    let mut condition = condition.clone();
    let lower = |ident: &mut ast::Ident| {
        let name = folded(ident);
        if matches!(name.as_str(), "old" | "new") {
            *ident = ast::Ident { value: name, quote_style: None, ..ident.clone() };
        }
    };
    rewrite_expressions(&mut condition, &mut |inner| match inner {
        ast::Expr::CompoundIdentifier(parts) => parts.iter_mut().take(1).for_each(lower),
        ast::Expr::Identifier(ident) => lower(ident),
        ast::Expr::QualifiedWildcard(name, _) => {
            for part in &mut name.0 {
                if let ast::ObjectNamePart::Identifier(ident) = part {
                    lower(ident);
                }
            }
        }
        _ => {}
    });
    condition
}

/// A name as SQL text has it, in quotes where it needs them.
fn written(name: &str) -> ast::Ident {
    let plain = RelationName { schema: None, name: name.to_owned() };
    if plain.quoted() == name { ast::Ident::new(name) } else { ast::Ident::with_quote('"', name) }
}

/// The SQL text of WHEN of a trigger in which the column `from` of both rows is called `to`; None
/// where it names no such column.
///
/// # Errors
/// 42601.
pub fn with_row_column(sql: &str, from: &str, to: &str) -> Result<Option<String>> {
    let mut expr = crate::parse::parse_expr(sql)?;
    let mut is_named = false;
    rewrite_expressions(&mut expr, &mut |inner| {
        let ast::Expr::CompoundIdentifier(parts) = inner else { return };
        let [row, column] = parts.as_mut_slice() else { return };
        if matches!(folded(row).as_str(), "old" | "new") && folded(column) == from {
            is_named = true;
            *column = written(to);
        }
    });
    Ok(is_named.then(|| expr.to_string()))
}

/// # Errors
/// 42809, 0A000 for triggers that such a relation cannot have.
fn refuse_place(target: &Target, create: &CreateTriggerTree) -> Result<()> {
    let is_row = create.level == TriggerLevel::Row;
    let is_for = |event| create.events.iter().any(|(known, _)| *known == event);
    let wrong = |kind: &str, detail: &str| {
        let name = RelationName::name_of_key(target.key());
        let error = Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is a {kind}"));
        Err(place(error.with_detail(detail), object_at(&create.table)))
    };
    match target {
        Target::Table(_) if create.timing == TriggerTiming::InsteadOf => {
            return wrong("table", "Tables cannot have INSTEAD OF triggers.");
        }
        Target::View(_) if create.timing != TriggerTiming::InsteadOf && is_row => {
            return wrong("view", "Views cannot have row-level BEFORE or AFTER triggers.");
        }
        Target::View(_) if is_for(TriggerEvent::Truncate) => {
            return wrong("view", "Views cannot have TRUNCATE triggers.");
        }
        _ => {}
    }
    if is_row && is_for(TriggerEvent::Truncate) {
        return refused("TRUNCATE FOR EACH ROW triggers are not supported");
    }
    if create.timing == TriggerTiming::InsteadOf {
        if !is_row {
            return refused("INSTEAD OF triggers must be FOR EACH ROW");
        }
        if create.condition.is_some() {
            return refused("INSTEAD OF triggers cannot have WHEN conditions");
        }
        if create.events.iter().any(|(_, columns)| !columns.is_empty()) {
            return refused("INSTEAD OF triggers cannot have column lists");
        }
    }
    Ok(())
}

/// The columns of UPDATE OF.
///
/// # Errors
/// 42703, 42701.
fn trigger_columns(target: &Target, create: &CreateTriggerTree) -> Result<Vec<String>> {
    let mut columns: Vec<String> = Vec::new();
    for ident in create.events.iter().flat_map(|(_, columns)| columns) {
        let name = folded(ident);
        let is_there = match target {
            Target::Table(table) => table.columns().iter().any(|column| column.name == name),
            Target::View(_) => true,
        };
        if !is_there {
            let of = RelationName::name_of_key(target.key());
            let message = format!("column \"{name}\" of relation \"{of}\" does not exist");
            return fail(SqlState::UNDEFINED_COLUMN, message, ident_at(ident));
        }
        if columns.contains(&name) {
            let message = format!("column \"{name}\" specified more than once");
            return fail(SqlState::DUPLICATE_COLUMN, message, ident_at(ident));
        }
        columns.push(name);
    }
    Ok(columns)
}

/// The names of the transition tables OLD and NEW.
///
/// # Errors
/// 0A000, 42P17 where they make no sense.
fn transition_names(target: &Target, create: &CreateTriggerTree) -> Result<[Option<String>; 2]> {
    let mut names: [Option<String>; 2] = [None, None];
    for TransitionTree { is_new, is_table, name } in &create.transitions {
        let word = if *is_new { "NEW" } else { "OLD" };
        if !is_table {
            let error = "ROW variable naming in the REFERENCING clause is not supported";
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, error);
            return Err(error.with_hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
        }
        refuse_transition(target, create, *is_new)?;
        let slot = &mut names[usize::from(*is_new)];
        if slot.is_some() {
            return invalid(&format!("{word} TABLE cannot be specified multiple times"));
        }
        *slot = Some(name.clone());
    }
    if names[0].is_some() && names[0] == names[1] {
        return invalid("OLD TABLE name and NEW TABLE name cannot be the same");
    }
    Ok(names)
}

fn refuse_transition(target: &Target, create: &CreateTriggerTree, is_new: bool) -> Result<()> {
    let name = RelationName::name_of_key(target.key());
    let wrong = |kind: &str, detail: &str| {
        let error = Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is a {kind}"));
        Err(error.with_detail(detail))
    };
    let is_row = create.level == TriggerLevel::Row;
    match target {
        Target::View(_) => {
            return wrong("view", "Triggers on views cannot have transition tables.");
        }
        Target::Table(table) if is_row && table.partitions().is_some() => {
            let detail =
                "ROW triggers with transition tables are not supported on partitioned tables.";
            let message = format!("\"{name}\" is a partitioned table");
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            return Err(error.with_detail(detail));
        }
        Target::Table(table) if is_row && table.partition_of().is_some() => {
            return refused("ROW triggers with transition tables are not supported on partitions");
        }
        Target::Table(_) => {}
    }
    if create.timing != TriggerTiming::After {
        return invalid("transition table name can only be specified for an AFTER trigger");
    }
    let is_for = |event| create.events.iter().any(|(known, _)| *known == event);
    if is_for(TriggerEvent::Truncate) {
        return refused("TRUNCATE triggers with transition tables are not supported");
    }
    if create.events.len() > 1 {
        return refused(
            "transition tables cannot be specified for triggers with more than one event",
        );
    }
    if create.events.iter().any(|(_, columns)| !columns.is_empty()) {
        return refused("transition tables cannot be specified for triggers with column lists");
    }
    if is_new && is_for(TriggerEvent::Delete) {
        return invalid("NEW TABLE can only be specified for an INSERT or UPDATE trigger");
    }
    if !is_new && is_for(TriggerEvent::Insert) {
        return invalid("OLD TABLE can only be specified for a DELETE or UPDATE trigger");
    }
    Ok(())
}

/// # Errors
/// 42P17 for a condition over rows that the trigger does not have; `sides` are the columns of OLD
/// and of NEW.
fn refuse_sides(
    target: &Target,
    create: &CreateTriggerTree,
    condition: &Expr,
    sides: &[Vec<Expr>],
) -> Result<()> {
    let mut used = [Vec::new(), Vec::new()];
    condition.each_column(&mut |id| {
        for (side, used) in sides.iter().zip(&mut used) {
            let is_it = |own: &Expr| matches!(own.kind, ExprKind::Column(own) if own == id);
            used.extend(side.iter().position(is_it));
        }
    });
    let [old, new] = used;
    let is_for = |event| create.events.iter().any(|(known, _)| *known == event);
    if create.level == TriggerLevel::Statement && !(old.is_empty() && new.is_empty()) {
        return invalid("statement trigger's WHEN condition cannot reference column values");
    }
    if !old.is_empty() && is_for(TriggerEvent::Insert) {
        return invalid("INSERT trigger's WHEN condition cannot reference OLD values");
    }
    if !new.is_empty() && is_for(TriggerEvent::Delete) {
        return invalid("DELETE trigger's WHEN condition cannot reference NEW values");
    }
    let Target::Table(table) = target else { return Ok(()) };
    let columns = table.columns();
    if create.timing != TriggerTiming::Before {
        return Ok(());
    }
    match new.into_iter().find(|at| columns[*at].generated.is_some()) {
        None => Ok(()),
        Some(at) => {
            let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
            let detail = format!("Column \"{}\" is a generated column.", columns[at].name);
            let error = Error::new(SqlState::INVALID_OBJECT_DEFINITION, message);
            Err(error.with_detail(detail))
        }
    }
}
