//! Statements about transactions, locks and prepared statements.

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::name::{expr_at, ident_at, object_at};
use super::scope::Clause;
use super::types::{Context, can_cast};
use super::{Binder, fail, place, unsupported};
use crate::algebra::{Expr, Plan, Query};
use crate::catalog::{Relation, TableRef};
use crate::parse::{DeclareTree, GatheredTable, LockTree, PrepareTree, SessionTree, Tree, folded};
use crate::statement::Privilege as P;
use crate::statement::{
    AtCursor, ConstraintMode, CreateExecuted, CreateWideTable, CursorRows, Declare, DropRelations,
    Execute, Extent, LockTable, LockWait, Persistence, Prepare, Privileges, RowLockStrength,
    SchemaElements, SelectForUpdate, SetConstraints, SetValue, Statement, TableLockMode,
    VacuumAnalyze,
};

impl Binder<'_> {
    pub(super) fn bind_session(&mut self, tree: &SessionTree) -> Result<Statement> {
        Ok(match tree {
            SessionTree::Begin(modes) => Statement::Begin(*modes),
            SessionTree::Commit(chain) => Statement::Commit(*chain),
            SessionTree::Rollback(chain) => Statement::Rollback(*chain),
            SessionTree::PrepareTransaction(gid) => Statement::PrepareTransaction(gid.clone()),
            SessionTree::EndPrepared(end, gid) => Statement::EndPrepared(*end, gid.clone()),
            SessionTree::Savepoint(name) => Statement::Savepoint(name.clone()),
            SessionTree::Release(name) => Statement::Release(name.clone()),
            SessionTree::RollbackTo(name) => Statement::RollbackTo(name.clone()),
            SessionTree::SetTransaction(modes) => Statement::SetTransaction(*modes),
            SessionTree::SetSessionTransaction(modes) => Statement::SetSessionTransaction(*modes),
            SessionTree::LockTable { tables, mode, wait } => {
                self.bind_lock_table(tables, *mode, *wait)?
            }
            SessionTree::SetConstraints { names, mode } => {
                self.bind_set_constraints(names.as_deref(), *mode)?
            }
            SessionTree::AlterTable { table, if_missing, changes } => {
                self.bind_table_changes(table, *if_missing, changes)?
            }
            SessionTree::Described(tree) => self.bind_described(tree)?,
            SessionTree::Execute { name, arguments } => self.bind_execute(name, arguments)?,
            SessionTree::Deallocate(name) => Statement::Deallocate(name.clone()),
            SessionTree::Discard(what) => Statement::Discard(*what),
            SessionTree::Checkpoint => Statement::Checkpoint,
            SessionTree::Role(statement) => Statement::Role(Box::new(statement.clone())),
            SessionTree::Privilege(statement) => self.privileges_found(statement)?,
            SessionTree::PrivilegeOnRoutines { statement, word, routines } => {
                self.privileges_on_routines(statement, *word, routines)?
            }
            SessionTree::Schema(statement) => self.relations_found(statement),
            SessionTree::Database(statement) => Statement::Database(statement.clone()),
            SessionTree::Extension(statement) => Statement::Extension(Box::new(statement.clone())),
            SessionTree::CreateCollation(tree) => self.bind_create_collation(tree)?,
            SessionTree::Collation(statement) => self.bind_collation_statement(statement),
            SessionTree::Type(statement) => self.bind_type_statement(statement)?,
            SessionTree::Domain(tree) => self.bind_domain(tree)?,
            SessionTree::Routine(tree) => self.bind_routine_statement(tree)?,
            SessionTree::Trigger(tree) => self.bind_trigger_statement(tree)?,
            SessionTree::Listen(channel) => Statement::Listen(channel.clone()),
            SessionTree::Unlisten(channel) => Statement::Unlisten(channel.clone()),
            SessionTree::Notify(channel, payload) => {
                let (channel, payload) = (channel.clone(), payload.clone());
                Statement::Notify { channel, payload }
            }
            SessionTree::Fetch(fetch) => Statement::Fetch(fetch.clone()),
            SessionTree::CloseCursor(name) => Statement::CloseCursor(name.clone()),
            SessionTree::Backup(directory) => Statement::Backup(directory.clone()),
            SessionTree::SetRole { name, value, scope } => {
                let value = value.clone().map_or(SetValue::Default, SetValue::Text);
                Statement::Set { name: name.clone(), value, scope: *scope }
            }
            SessionTree::Analyze(_) | SessionTree::Vacuum { .. } => self.bind_gathering(tree)?,
            SessionTree::CreateSequence { name, if_exists, persistence, options } => {
                self.bind_create_sequence(name, *if_exists, *persistence, options)?
            }
            SessionTree::AlterSequence { .. } | SessionTree::RenameSequence { .. } => {
                self.bind_changed_sequence(tree)?
            }
            _ => self.bind_definition(tree)?,
        })
    }

    /// Definitions, comments, and what changes nothing.
    fn bind_definition(&mut self, tree: &SessionTree) -> Result<Statement> {
        match tree {
            SessionTree::CreateComposite(name, attributes) => {
                self.bind_create_composite(name, attributes)
            }
            SessionTree::AlterComposite(name, changes) => self.bind_alter_composite(name, changes),
            SessionTree::CreateRange(name, attributes) => self.bind_create_range(name, attributes),
            SessionTree::Comment(comment) => self.bind_comment(comment),
            SessionTree::SchemaElements(schema, elements) => {
                let (schema, elements) = (schema.clone(), elements.clone());
                Ok(Statement::SchemaElements(Box::new(SchemaElements { schema, elements })))
            }
            SessionTree::AtCursor { name, tree } => {
                let (cursor, statement) = (name.clone(), self.bind_tree(tree, "")?);
                Ok(Statement::AtCursor(Box::new(AtCursor { cursor, statement })))
            }
            SessionTree::CreateExecuted { head, name, arguments, tail } => {
                let Statement::Execute(execute) = self.bind_execute(name, arguments)? else {
                    return Err(Error::internal("EXECUTE is bound to itself"));
                };
                let (head, tail) = (head.clone(), tail.clone());
                Ok(Statement::CreateExecuted(Box::new(CreateExecuted { head, execute, tail })))
            }
            SessionTree::Effectless(tree) => self.bind_effectless(tree),
            SessionTree::Absent(absent) => self.bind_absent(absent),
            SessionTree::AlterView { name, if_missing, action } => {
                self.bind_alter_view(name, *if_missing, action)
            }
            SessionTree::Partition(tree) => self.bind_partition(tree),
            SessionTree::CreateWideTable { .. }
            | SessionTree::RefreshWideTable(_)
            | SessionTree::DropWideTable { .. } => self.bind_wide(tree),
            SessionTree::RefreshMaterialized { .. }
            | SessionTree::DropMaterialized { .. }
            | SessionTree::RenameMaterialized(_) => self.bind_materialized(tree),
            SessionTree::RenameView(renamed) => self.bind_rename_view(renamed),
            _ => unsupported("this statement", None),
        }
    }

    /// ALTER SEQUENCE.
    fn bind_changed_sequence(&mut self, tree: &SessionTree) -> Result<Statement> {
        match tree {
            SessionTree::AlterSequence { name, if_missing, options } => {
                self.bind_alter_sequence(name, *if_missing, options)
            }
            SessionTree::RenameSequence { name, if_missing, to } => {
                self.bind_rename_sequence(name, *if_missing, to)
            }
            _ => unsupported("this statement", None),
        }
    }

    fn bind_set_constraints(
        &self,
        names: Option<&[ast::ObjectName]>,
        mode: ConstraintMode,
    ) -> Result<Statement> {
        let of = |names: &[ast::ObjectName]| {
            names.iter().map(|name| self.written_name(name)).collect::<Result<_>>()
        };
        let names = names.map(of).transpose()?;
        Ok(Statement::SetConstraints(SetConstraints { names, mode }))
    }

    /// A statement about wide tables.
    fn bind_wide(&self, tree: &SessionTree) -> Result<Statement> {
        Ok(match tree {
            SessionTree::CreateWideTable { name, fact, if_exists } => {
                Statement::CreateWideTable(CreateWideTable {
                    name: self.new_name(name, Persistence::Permanent)?,
                    fact: self.relation_name(fact)?,
                    if_exists: *if_exists,
                })
            }
            SessionTree::RefreshWideTable(name) => {
                Statement::RefreshWideTable(self.relation_name(name)?)
            }
            SessionTree::DropWideTable { names, if_missing, behaviour } => {
                let names: Result<_> = names.iter().map(|name| self.relation_name(name)).collect();
                let (if_missing, behaviour) = (*if_missing, *behaviour);
                Statement::DropWideTable(DropRelations { names: names?, if_missing, behaviour })
            }
            _ => return unsupported("this statement", None),
        })
    }

    fn bind_lock_table(
        &mut self,
        tables: &[ast::ObjectName],
        mode: TableLockMode,
        wait: LockWait,
    ) -> Result<Statement> {
        let mut found = Vec::new();
        for name in tables {
            found.extend(self.locked_by(name)?);
        }
        let tables = found;
        let is_refused = |(table, reached): &&(TableRef, Reached)| {
            *reached == Reached::ByName && table.materialized().is_some()
        };
        if let Some((table, _)) = tables.iter().find(is_refused) {
            return self.refuse_lock(table);
        }
        let any_of = match mode {
            TableLockMode::AccessShare => &[P::Select, P::Update, P::Delete, P::Truncate][..],
            TableLockMode::RowExclusive => &[P::Insert, P::Update, P::Delete, P::Truncate],
            _ => &[P::Update, P::Delete, P::Truncate],
        };
        for (table, _) in tables.iter().filter(|(_, reached)| *reached == Reached::ByName) {
            self.require_any(table.name(), Privileges::of(any_of), Extent::Whole);
        }
        let tables = tables.into_iter().map(|(table, _)| table).collect();
        Ok(Statement::LockTable(LockTable { tables, mode, wait }))
    }

    /// VACUUM and ANALYZE.
    fn bind_gathering(&self, tree: &SessionTree) -> Result<Statement> {
        Ok(match tree {
            SessionTree::Analyze(of) => Statement::Analyze { tables: self.gathered_tables(of)? },
            SessionTree::Vacuum { tables: of, freezing, analyze } => {
                let is_of_columns = of.iter().any(|of| !of.columns.is_empty());
                if is_of_columns && *analyze == VacuumAnalyze::NotAsked {
                    let what = "ANALYZE option must be specified when a column list is provided";
                    return fail(SqlState::FEATURE_NOT_SUPPORTED, what, None);
                }
                let tables = self.gathered_tables(of)?;
                Statement::Vacuum { tables, freezing: *freezing, analyze: *analyze }
            }
            _ => return unsupported("this statement", None),
        })
    }

    /// The tables that LOCK TABLE of a name locks: of a view those that it reads, whose rights are
    /// those of its owner.
    fn locked_by(&mut self, name: &ast::ObjectName) -> Result<Vec<(TableRef, Reached)>> {
        let full = self.relation_name(name)?;
        let is_view = matches!(
            self.catalog.relation(full.schema.as_deref(), &full.name),
            Some(Relation::View { .. })
        );
        if !is_view {
            return Ok(vec![(self.table_named(name)?, Reached::ByName)]);
        }
        let (plan, _) = self.in_level(Clause::From, |binder| binder.bind_relation(name, None))?;
        let mut tables = Vec::new();
        scanned(&plan, &mut tables);
        Ok(tables.into_iter().map(|table| (table, Reached::ByView)).collect())
    }

    /// The tables of VACUUM and ANALYZE, whose columns exist.
    fn gathered_tables(&self, of: &[GatheredTable]) -> Result<Vec<TableRef>> {
        let mut tables = Vec::with_capacity(of.len());
        for GatheredTable { table, columns } in of {
            let table = self.table_named(table)?;
            self.column_ordinals(&table, columns)?;
            tables.push(table);
        }
        Ok(tables)
    }

    /// DECLARE of a cursor.
    pub(super) fn bind_declare(&mut self, tree: &DeclareTree, text: &str) -> Result<Statement> {
        let at = Some(tree.statement.start);
        match self.bind_tree(&tree.statement.tree, &tree.statement.text)? {
            Statement::Query(query) => {
                let rows = match self.placed(tree) {
                    Some(select) => CursorRows::Placed(select),
                    None => CursorRows::Plain(query),
                };
                Ok(declared(tree, rows, text))
            }
            Statement::SelectForUpdate(select) => {
                Ok(declared(tree, CursorRows::Locked(select), text))
            }
            Statement::WithChanges(_) => {
                let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
                fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
            }
            _ => fail(SqlState::SYNTAX_ERROR, "a cursor needs a query", at),
        }
    }

    /// The cursor's query with the places of the rows of tables that it reads, as a query has them
    /// that locks these; None for what has no such rows.
    fn placed(&self, tree: &DeclareTree) -> Option<Box<SelectForUpdate>> {
        let mut statement = tree.statement.clone();
        let Tree::Sql(sql) = &mut *statement.tree else { return None };
        if !reads_one_table(&sql.statement) {
            return None;
        }
        sql.locks.push(LockTree {
            strength: RowLockStrength::KeyShare,
            of: Vec::new(),
            wait: LockWait::Wait,
            at: None,
            select: None,
            is_inner: false,
        });
        match super::bind(&statement, self.catalog, &[]) {
            Ok(Statement::SelectForUpdate(select))
                if select.limit.is_none() && select.offset.is_none() =>
            {
                Some(select)
            }
            _ => None,
        }
    }

    /// PREPARE: the statement is bound for its errors and the types of its parameters.
    pub(super) fn bind_prepare(&mut self, tree: &PrepareTree) -> Result<Statement> {
        let mut types = Vec::with_capacity(tree.types.len());
        for ty in &tree.types {
            types.push(match ty {
                ast::DataType::Custom(name, _)
                    if name.to_string().eq_ignore_ascii_case("unknown") =>
                {
                    DataType::Unknown
                }
                ty => self.data_type(ty, None)?,
            });
        }
        let preparable = match &*tree.statement.tree {
            Tree::Sql(tree) => matches!(
                tree.statement,
                ast::Statement::Query(_)
                    | ast::Statement::Insert(_)
                    | ast::Statement::Update(_)
                    | ast::Statement::Delete(_)
                    | ast::Statement::Merge(_)
            ),
            _ => false,
        };
        if !preparable {
            let word = tree.statement.text.split_whitespace().next().unwrap_or_default();
            let message = format!("syntax error at or near \"{word}\"");
            return fail(SqlState::SYNTAX_ERROR, message, Some(tree.statement.start));
        }
        let statement = super::bind(&tree.statement, self.catalog, &types)?;
        let inferred = statement.parameters();
        let parameters = if inferred.is_empty() { types } else { inferred.to_vec() };
        let (name, statement) = (tree.name.clone(), tree.statement.clone());
        Ok(Statement::Prepare(Box::new(Prepare { name, parameters, statement })))
    }

    fn bind_execute(&mut self, ident: &ast::Ident, arguments: &[ast::Expr]) -> Result<Statement> {
        let (name, at) = (folded(ident), ident_at(ident));
        let Some(types) = self.catalog.prepared(&name) else {
            let message = format!("prepared statement \"{name}\" does not exist");
            return fail(SqlState::INVALID_SQL_STATEMENT_NAME, message, at);
        };
        if types.len() != arguments.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail =
                format!("Expected {} parameters but got {}.", types.len(), arguments.len());
            return Err(place(Error::new(SqlState::SYNTAX_ERROR, message).with_detail(detail), at));
        }
        let arguments = match arguments {
            [] => None,
            list => Some(Box::new(self.execute_arguments(list, &types)?)),
        };
        Ok(Statement::Execute(Execute { name, arguments }))
    }

    /// EXECUTE under EXPLAIN.
    pub(super) fn bind_explained(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[ast::Expr],
    ) -> Result<Statement> {
        match name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(ident)] => self.bind_execute(ident, arguments),
            _ => unsupported("EXPLAIN of this statement", object_at(name)),
        }
    }

    fn execute_arguments(&mut self, list: &[ast::Expr], types: &[DataType]) -> Result<Query> {
        let exprs = self.in_level(Clause::Execute, |binder| {
            let mut exprs: Vec<Expr> = Vec::with_capacity(list.len());
            for (number, (expr, ty)) in list.iter().zip(types).enumerate() {
                let bound = binder.bind_expr(expr)?;
                let bound = binder.retyped(bound);
                let at = expr_at(expr);
                if super::insert::contains_subquery(&bound.expr) {
                    return unsupported("a sub-query in EXECUTE", at);
                }
                if !can_cast(bound.ty(), *ty, Context::Assignment) {
                    let message = format!(
                        "parameter ${} of type {} cannot be coerced to the expected type {}",
                        number + 1,
                        bound.ty().name(),
                        ty.name()
                    );
                    let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
                        .with_hint("You will need to rewrite or cast the expression.");
                    return Err(place(error, at));
                }
                exprs.push(binder.coerce(bound, *ty, Context::Assignment)?);
            }
            Ok(exprs)
        })?;
        let query = self.projected_exprs(Plan::one_row(), exprs);
        self.finish(query)
    }
}

/// True when a query is one of a single relation, in no order: only such cursors are on rows of
/// tables unless they lock them.
fn reads_one_table(statement: &ast::Statement) -> bool {
    let ast::Statement::Query(query) = statement else { return false };
    let ast::SetExpr::Select(select) = &*query.body else { return false };
    let is_table = |item: &ast::TableWithJoins| {
        item.joins.is_empty() && matches!(item.relation, ast::TableFactor::Table { .. })
    };
    query.order_by.is_none() && matches!(select.from.as_slice(), [item] if is_table(item))
}

fn declared(tree: &DeclareTree, rows: CursorRows, text: &str) -> Statement {
    let (name, options) = (tree.name.clone(), tree.options);
    Statement::Declare(Box::new(Declare { name, options, rows, text: text.to_owned() }))
}

/// How LOCK TABLE comes to a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    ByName,
    ByView,
}

/// Adds the tables that `plan` reads, each once; what sub-queries of expressions read is not among
/// them.
fn scanned(plan: &Plan, tables: &mut Vec<TableRef>) {
    if let Plan::Scan { table, .. } = plan
        && !tables.contains(table)
    {
        tables.push(table.clone());
    }
    for input in plan.inputs() {
        scanned(input, tables);
    }
}
