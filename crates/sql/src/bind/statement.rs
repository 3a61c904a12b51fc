//! Which statement goes where; EXPLAIN, COPY, CALL, TRUNCATE, SET.

use std::sync::Arc;

use sqlparser::ast::{self, Statement as Ast};
use types::{DataType, Error, Result, SqlState};

use super::constraint::unqualified;
use super::lock::refuse_locks;
use super::name::{expr_at, ident_at, object_at, object_parts};
use super::partition::partitions_of;
use super::scope::Clause;
use super::types::{Context, stored_type};
use super::{Binder, BoundQuery, Unknowns, fail, place, unsupported};
use crate::catalog::{Relation, TableRef};
use crate::parse::{
    CopySource, CopyTree, Tree, folded, into_of, option_word, path_value, set_value,
};
use crate::statement::{
    Copy, CopyDirection, CopyItem, CopyPlace, DropBehaviour, ExplainDetail, ExplainFormat,
    ExplainMode, ExplainOptions, Privilege, SetScope, SetValue, Statement, Truncate,
    TruncateIdentity,
};

impl Binder<'_> {
    /// Binds a whole statement; `text` is its source.
    pub(super) fn bind_tree(&mut self, tree: &Tree, text: &str) -> Result<Statement> {
        match tree {
            Tree::Sql(tree) => {
                self.aside = Arc::clone(&tree.aside);
                self.locks.clone_from(&tree.locks);
                self.changes.locks_inside =
                    tree.calls_bus || tree.locks.iter().any(|lock| lock.is_inner);
                self.calls_bus = tree.calls_bus;
                let bound = self.bind_statement(&tree.statement, text)?;
                // Those whose queries are none of the statement's own.
                refuse_locks(&self.locks, "this place")?;
                Ok(bound)
            }
            Tree::Copy(copy) => Ok(Statement::Copy(Box::new(self.bind_copy(copy)?))),
            Tree::Session(tree) => self.bind_session(tree),
            Tree::Prepare(tree) => self.bind_prepare(tree),
            Tree::Declare(tree) => self.bind_declare(tree, text),
        }
    }

    fn bind_statement(&mut self, statement: &Ast, text: &str) -> Result<Statement> {
        match statement {
            Ast::Query(query) => match &*query.body {
                ast::SetExpr::Insert(inner)
                | ast::SetExpr::Update(inner)
                | ast::SetExpr::Delete(inner)
                | ast::SetExpr::Merge(inner) => {
                    self.allow_changes(query.with.as_ref(), Some(inner));
                    let main = self.bind_write(inner, query.with.as_ref())?;
                    self.behind_changes(main)
                }
                body if into_of(body).is_some() => {
                    refuse_locks(&self.locks, "SELECT INTO")?;
                    self.bind_into(query)
                }
                _ => {
                    self.allow_changes(query.with.as_ref(), None);
                    let outer = self.locks.extract_if(.., |lock| !lock.is_inner).collect();
                    let main = self.top_locking(query, outer)?;
                    self.behind_changes(main)
                }
            },
            Ast::Explain { analyze, verbose, statement, options, format, .. } => {
                let given = options.as_deref().unwrap_or_default();
                let begun = ExplainOptions {
                    mode: if *analyze { ExplainMode::Analyze } else { ExplainMode::Plan },
                    format: ExplainFormat::Text,
                    detail: detail_of(*verbose),
                };
                let options = explain_options(begun, given, format.as_ref())?;
                let statement = Box::new(match &**statement {
                    Ast::Execute { name: Some(name), parameters, .. } => {
                        self.bind_explained(name, parameters)?
                    }
                    statement => self.bind_statement(statement, text)?,
                });
                Ok(Statement::Explain { options, statement })
            }
            Ast::Insert(_) | Ast::Update(_) | Ast::Delete(_) | Ast::Merge(_) => {
                let main = self.bind_write(statement, None)?;
                self.behind_changes(main)
            }
            other => {
                refuse_locks(&self.locks, "this statement")?;
                self.bind_unlocked(other, text)
            }
        }
    }

    /// Binds a statement in which no rows are locked.
    fn bind_unlocked(&mut self, statement: &Ast, text: &str) -> Result<Statement> {
        match statement {
            Ast::CreateTable(create) => self.bind_create_table(create),
            Ast::CreateView(create) => self.bind_create_view(create, text),
            Ast::CreateIndex(create) => self.bind_create_index(create),
            Ast::AlterTable(alter) => self.bind_alter_tables(alter),
            Ast::CreatePolicy(create) => self.bind_create_policy(create),
            Ast::AlterPolicy(alter) => self.bind_alter_policy(alter),
            Ast::DropPolicy(drop) => self.bind_drop_policy(drop),
            Ast::AlterIndex { name, operation } => {
                let ast::AlterIndexOperation::RenameIndex { index_name } = operation;
                let to = object_parts(index_name)?.pop().unwrap_or_default();
                Ok(Statement::RenameIndex { name: self.relation_name(name)?, to })
            }
            Ast::Drop { .. } => self.bind_drop(statement),
            Ast::Truncate(truncate) => self.bind_truncate(truncate),
            Ast::Call(function) => self.bind_call(function),
            _ => bind_setting(statement),
        }
    }

    /// Binds a statement that changes rows, under the CTEs of `with`.
    pub(super) fn bind_write(
        &mut self,
        statement: &Ast,
        with: Option<&ast::With>,
    ) -> Result<Statement> {
        Ok(match statement {
            Ast::Insert(insert) => Statement::Insert(Box::new(self.bind_insert(insert, with)?)),
            Ast::Update(update) => match self.bind_hints(update)? {
                Some(statement) => statement,
                None => Statement::Update(Box::new(self.bind_update(update, with)?)),
            },
            Ast::Delete(delete) => Statement::Delete(Box::new(self.bind_delete(delete, with)?)),
            Ast::Merge(merge) => Statement::Merge(Box::new(self.bind_merge(merge, with)?)),
            other => return unsupported(feature(other), None),
        })
    }

    /// A query that is a statement or the source of one.
    pub(super) fn top_query(&mut self, query: &ast::Query) -> Result<crate::algebra::Query> {
        let bound = self.bind_query(query, Unknowns::Text)?;
        self.finish(bound)
    }

    /// As [`Self::top_query`], with columns as a table has them.
    pub(super) fn stored_query(&mut self, query: &ast::Query) -> Result<crate::algebra::Query> {
        let bound = self.bind_query(query, Unknowns::Text)?;
        let bound = self.stored(bound)?;
        self.finish(bound)
    }

    /// The query with columns as a table has them: a NUMERIC that was computed has no precision.
    pub(super) fn stored(&mut self, query: BoundQuery) -> Result<BoundQuery> {
        let types: Vec<DataType> = query.columns.iter().map(|c| stored_type(c.ty)).collect();
        self.coerce_columns(query, &types, Context::Assignment)
    }

    /// A table (no view) by name, for statements that need one.
    pub(super) fn table_named(&self, name: &ast::ObjectName) -> Result<TableRef> {
        let full = self.relation_name(name)?;
        let at = object_at(name);
        match self.catalog.relation(full.schema.as_deref(), &full.name) {
            Some(Relation::Table(table) | Relation::StaleWide { table, .. }) => Ok(table),
            Some(Relation::View { .. }) => {
                fail(SqlState::WRONG_OBJECT_TYPE, format!("\"{full}\" is not a table"), at)
            }
            Some(Relation::Failed(error)) => Err(super::place(error, at)),
            None => {
                fail(SqlState::UNDEFINED_TABLE, format!("relation \"{full}\" does not exist"), at)
            }
        }
    }

    /// A table by name whose rows a statement writes.
    pub(super) fn writable_table(&self, name: &ast::ObjectName) -> Result<TableRef> {
        let table = self.table_named(name)?;
        let kind = if table.wide().is_some() {
            "wide table"
        } else if table.materialized().is_some() && !self.catalog.maintains(table.name()) {
            "materialized view"
        } else {
            return Ok(table);
        };
        let message = format!("cannot change {kind} \"{}\"", table.bare_name());
        fail(SqlState::WRONG_OBJECT_TYPE, message, object_at(name))
    }

    /// Ordinals of the named columns; all of them when none is named.
    pub(super) fn column_ordinals(
        &self,
        table: &TableRef,
        names: &[ast::Ident],
    ) -> Result<Vec<usize>> {
        if names.is_empty() {
            return Ok((0..table.columns().len()).collect());
        }
        let mut ordinals = Vec::with_capacity(names.len());
        for ident in names {
            let (name, at) = (folded(ident), ident_at(ident));
            let Some(ordinal) = table.columns().iter().position(|column| column.name == name)
            else {
                let message = format!(
                    "column \"{name}\" of relation \"{}\" does not exist",
                    table.bare_name()
                );
                return fail(SqlState::UNDEFINED_COLUMN, message, at);
            };
            if ordinals.contains(&ordinal) {
                let message = format!("column \"{name}\" specified more than once");
                return fail(SqlState::DUPLICATE_COLUMN, message, at);
            }
            ordinals.push(ordinal);
        }
        Ok(ordinals)
    }

    fn bind_copy(&mut self, copy: &CopyTree) -> Result<Copy> {
        let item = match &copy.source {
            CopySource::Table(name, columns) => {
                self.refuse_copied_view(name, copy)?;
                let table = self.table_named(name)?;
                self.refuse_copy(&table, copy, object_at(name))?;
                let columns = self.copied_columns(&table, columns)?;
                let is_guarded = self.catalog.policies(table.name(), None)?.is_some();
                if is_guarded && copy.from {
                    return super::policy::refuse_copy(object_at(name));
                }
                let needed = if copy.from { Privilege::Insert } else { Privilege::Select };
                self.require_columns(table.name(), needed, columns.iter().copied());
                if is_guarded {
                    CopyItem::Query(self.guarded_copy(name, &columns)?)
                } else {
                    CopyItem::Table { table, columns }
                }
            }
            CopySource::Query(_) if copy.from => {
                return fail(SqlState::SYNTAX_ERROR, "COPY FROM needs a table, not a query", None);
            }
            CopySource::Query(query) => self.copied_query(query)?,
        };
        let mut format = None;
        let mut options: Vec<(String, String)> = Vec::new();
        for (name, value) in &copy.options {
            let key = folded(name);
            if options.iter().any(|(known, _)| *known == key)
                || (key == "format" && format.is_some())
            {
                let message = format!("option \"{key}\" specified more than once");
                return fail(SqlState::SYNTAX_ERROR, message, ident_at(name));
            }
            match key.as_str() {
                "format" => format = Some(value.to_lowercase()),
                _ => options.push((key, value.clone())),
            }
        }
        Ok(Copy {
            direction: if copy.from { CopyDirection::From } else { CopyDirection::To },
            condition: match (&copy.condition, &item) {
                (Some(condition), CopyItem::Table { table, .. }) if copy.from => {
                    Some(self.copied_rows(table, condition)?)
                }
                (Some(condition), _) => {
                    let message = "WHERE clause not allowed with COPY TO";
                    return fail(SqlState::SYNTAX_ERROR, message, expr_at(condition));
                }
                (None, _) => None,
            },
            item,
            place: match &copy.path {
                Some(path) => CopyPlace::File(path.clone()),
                None => CopyPlace::Standard,
            },
            format,
            options,
        })
    }

    /// # Errors
    /// 42809 for COPY of a view, which takes a query, and into one.
    fn refuse_copied_view(&self, name: &ast::ObjectName, copy: &CopyTree) -> Result<()> {
        let full = self.relation_name(name)?;
        if self.catalog.view_writes(&full.key()).is_none() {
            return Ok(());
        }
        let (preposition, hint) = if copy.from {
            ("to", "To enable copying to a view, provide an INSTEAD OF INSERT trigger.")
        } else {
            ("from", "Try the COPY (SELECT ...) TO variant.")
        };
        let message = format!("cannot copy {preposition} view \"{}\"", full.name);
        let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(hint);
        Err(place(error, object_at(name)))
    }

    /// Rows that COPY (...) TO moves: of a query, or of RETURNING.
    fn copied_query(&mut self, query: &ast::Query) -> Result<CopyItem> {
        use ast::SetExpr::{Delete, Insert, Update};
        if !matches!(&*query.body, Insert(_) | Update(_) | Delete(_)) {
            return Ok(CopyItem::Query(self.top_query(query)?));
        }
        let statement = self.bind_statement(&Ast::Query(Box::new(query.clone())), "")?;
        let returns = |statement: &Statement| match statement {
            Statement::Insert(insert) => insert.returning.is_some(),
            Statement::Update(update) => update.returning.is_some(),
            Statement::Delete(delete) => delete.returning.is_some(),
            _ => false,
        };
        let has_rows = match &statement {
            Statement::WithChanges(with) => returns(&with.main),
            statement => returns(statement),
        };
        if !has_rows {
            let message = "COPY query must have a RETURNING clause";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, None);
        }
        Ok(CopyItem::Statement(Box::new(statement)))
    }

    /// WHERE of COPY FROM as text; it reads columns of the row that are not generated.
    fn copied_rows(&mut self, table: &TableRef, condition: &ast::Expr) -> Result<String> {
        let bound = self.check_condition(condition, table.bare_name(), table.columns())?;
        let mut generated = false;
        bound.each_column(&mut |id| {
            let column = table.columns().get(id.0 as usize);
            generated |= column.is_some_and(|column| column.generated.is_some());
        });
        if generated {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            return fail(SqlState::INVALID_COLUMN_REFERENCE, message, expr_at(condition));
        }
        Ok(unqualified(&self.defined(condition)).to_string())
    }

    /// The columns of COPY: those named, or all but generated ones.
    fn copied_columns(&self, table: &TableRef, names: &[ast::Ident]) -> Result<Vec<usize>> {
        let mut ordinals = self.column_ordinals(table, names)?;
        let is_generated = |ordinal: &usize| {
            table.columns().get(*ordinal).is_some_and(|column| column.generated.is_some())
        };
        if names.is_empty() {
            ordinals.retain(|ordinal| !is_generated(ordinal));
        } else if let Some(place_idx) = ordinals.iter().position(is_generated) {
            let ident = names.get(place_idx);
            let name = ident.map(folded).unwrap_or_default();
            let message = format!("column \"{name}\" is a generated column");
            let error = Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                .with_detail("Generated columns cannot be used in COPY.");
            return Err(place(error, ident.and_then(ident_at)));
        }
        Ok(ordinals)
    }

    fn bind_call(&mut self, function: &ast::Function) -> Result<Statement> {
        if let Some(call) = self.call_routine(function)? {
            return Ok(call);
        }
        let name = object_parts(&function.name)?.pop().unwrap_or_default();
        let args: &[ast::FunctionArg] = match &function.args {
            ast::FunctionArguments::List(list) => &list.args,
            ast::FunctionArguments::None => &[],
            ast::FunctionArguments::Subquery(_) => {
                return unsupported("CALL with a query", object_at(&function.name));
            }
        };
        let arguments = self.in_level(Clause::From, |binder| binder.constant_arguments(args))?;
        Ok(Statement::Call { name, arguments })
    }

    fn bind_truncate(&mut self, truncate: &ast::Truncate) -> Result<Statement> {
        let mut tables = Vec::with_capacity(truncate.table_names.len());
        for target in &truncate.table_names {
            let table = self.plain_table(&target.name)?;
            self.require(table.name(), Privilege::Truncate);
            if target.only && table.partitions().is_some() {
                let message = "cannot truncate only a partitioned table";
                let hint = "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the \
                            partitions directly.";
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(hint));
            }
            let mut below = partitions_of(&table, &target.name);
            if let (Some(family), false) = (table.family(), target.only) {
                below.extend(family.heirs.iter().map(|heir| heir.table.clone()));
            }
            tables.push(table);
            tables.extend(below);
        }
        Ok(Statement::Truncate(Truncate {
            tables,
            identity: match truncate.identity {
                Some(ast::TruncateIdentityOption::Restart) => TruncateIdentity::Restart,
                _ => TruncateIdentity::Continue,
            },
            behaviour: match truncate.cascade {
                Some(ast::CascadeOption::Cascade) => DropBehaviour::Cascade,
                _ => DropBehaviour::Restrict,
            },
        }))
    }
}

fn detail_of(verbose: bool) -> ExplainDetail {
    if verbose { ExplainDetail::Considered } else { ExplainDetail::Chosen }
}

/// EXPLAIN's options: `begun` is what stands without parentheses.
fn explain_options(
    begun: ExplainOptions,
    options: &[ast::UtilityOption],
    format: Option<&ast::AnalyzeFormatKind>,
) -> Result<ExplainOptions> {
    if let Some(format) = format {
        return unsupported(format!("EXPLAIN {format}"), None);
    }
    let ExplainOptions { mut mode, mut format, mut detail } = begun;
    for option in options {
        let word = option.arg.as_ref().and_then(option_word).map(|word| word.to_lowercase());
        let on = !matches!(word.as_deref(), Some("off" | "false" | "0"));
        match (folded(&option.name).as_str(), on) {
            ("analyze", true) => mode = ExplainMode::Analyze,
            ("analyze", false) => mode = ExplainMode::Plan,
            ("verbose", on) => detail = detail_of(on),
            // What these switch is always shown or costs nothing.
            ("costs" | "timing" | "buffers" | "summary" | "settings" | "wal", _) => {}
            ("format", _) => {
                format = match word.as_deref() {
                    Some("text") => ExplainFormat::Text,
                    Some("json") => ExplainFormat::Json,
                    Some("xml") => ExplainFormat::Xml,
                    Some("yaml") => ExplainFormat::Yaml,
                    other => {
                        let other = other.unwrap_or_default();
                        let message = format!(
                            "unrecognized value for EXPLAIN option \"format\": \"{other}\""
                        );
                        let at = ident_at(&option.name);
                        return fail(SqlState::INVALID_PARAMETER, message, at);
                    }
                }
            }
            (name, _) => {
                let message = format!("unrecognized EXPLAIN option \"{name}\"");
                return fail(SqlState::SYNTAX_ERROR, message, ident_at(&option.name));
            }
        }
    }
    Ok(ExplainOptions { mode, format, detail })
}

/// Statements about the settings of the session, which need no catalog.
fn bind_setting(statement: &Ast) -> Result<Statement> {
    match statement {
        Ast::Set(set) => bind_set(set),
        Ast::ShowVariable { variable } => Ok(Statement::Show { name: dotted(variable) }),
        Ast::ShowVariables { .. } => Ok(Statement::Show { name: "all".to_owned() }),
        Ast::Reset(reset) => Ok(Statement::Reset {
            name: match &reset.reset {
                ast::Reset::ALL => None,
                ast::Reset::SessionAuthorization => {
                    return unsupported("RESET SESSION AUTHORIZATION", None);
                }
                ast::Reset::ConfigurationParameter(name) => {
                    Some(object_parts(name)?.join(".").to_lowercase())
                }
            },
        }),
        other => unsupported(feature(other), None),
    }
}

/// How a statement is named that is not supported: its first words.
fn feature(statement: &Ast) -> String {
    let text = statement.to_string();
    let long = text.starts_with("CREATE OR REPLACE ") || text.starts_with("CREATE TEXT SEARCH ");
    let words: Vec<&str> = text
        .split_whitespace()
        .take(if long { 4 } else { 2 })
        .take_while(|word| word.bytes().all(|b| b.is_ascii_uppercase()))
        .collect();
    if words.is_empty() { "this statement".to_owned() } else { words.join(" ") }
}

fn bind_set(set: &ast::Set) -> Result<Statement> {
    match set {
        ast::Set::SingleAssignment { scope, variable, values, .. } => {
            let name = object_parts(variable)?.join(".").to_lowercase();
            let value = match name.as_str() {
                "search_path" => path_value(values)?,
                _ => set_value(values)?,
            };
            Ok(Statement::Set { name, value, scope: set_scope(scope) })
        }
        ast::Set::SetTimeZone { local, value } => Ok(Statement::Set {
            name: "timezone".to_owned(),
            value: zone_value(value)?,
            scope: if *local { SetScope::Transaction } else { SetScope::Session },
        }),
        ast::Set::SetNamesDefault {} => Ok(Statement::Set {
            name: "client_encoding".to_owned(),
            value: SetValue::Default,
            scope: SetScope::Session,
        }),
        ast::Set::SetNames { charset_name, .. } => Ok(Statement::Set {
            name: "client_encoding".to_owned(),
            value: SetValue::Text(charset_name.value.clone()),
            scope: SetScope::Session,
        }),
        other => unsupported(format!("{other}"), None),
    }
}

fn set_scope(scope: &Option<ast::ContextModifier>) -> SetScope {
    match scope {
        Some(ast::ContextModifier::Local) => SetScope::Transaction,
        _ => SetScope::Session,
    }
}

/// The value of SET TIME ZONE.
fn zone_value(value: &ast::Expr) -> Result<SetValue> {
    match value {
        ast::Expr::Identifier(word) if folded(word) == "local" => Ok(SetValue::Default),
        ast::Expr::Interval(interval) => {
            let text = match &*interval.value {
                ast::Expr::Value(value) => value.value.clone().into_string().unwrap_or_default(),
                other => return unsupported(format!("time zone {other}"), None),
            };
            // The field of a number; of other texts it says nothing.
            let is_number = text.trim().parse::<f64>().is_ok();
            let unit = interval.leading_field.as_ref().filter(|_| is_number);
            let unit = unit.map_or_else(String::new, |field| format!(" {field}"));
            Ok(SetValue::Text(format!("INTERVAL '{}{unit}'", text.trim())))
        }
        value => set_value(std::slice::from_ref(value)),
    }
}

fn dotted(parts: &[ast::Ident]) -> String {
    let parts: Vec<String> = parts.iter().map(folded).collect();
    match parts.as_slice() {
        [a, b] if a == "time" && b == "zone" => "timezone".to_owned(),
        [a, b, c] if a == "transaction" && b == "isolation" && c == "level" => {
            "transaction_isolation".to_owned()
        }
        // In quotes, too, a setting's name has no case.
        parts => parts.join(".").to_lowercase(),
    }
}
