//! CREATE TABLE, CREATE TABLE AS, CREATE VIEW, DROP.

use std::sync::Arc;

use sqlparser::ast::{self, Statement as Ast};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, Tokenizer};
use types::{DataType, Result, SqlState};

use super::constraint::Definition;
use super::inherit::Inheriting;
use super::like::TakenOver;
use super::name::{ident_at, object_at};
use super::partition::{check_keys, refuse_alone};
use super::{Binder, Unknowns, fail, unsupported};
use crate::algebra::{Expr, Place};
use crate::catalog::{CheckScope, ColumnDef, PartitionKey, Relation};
use crate::parse::{BoundTree, Renamed, ViewAction, check_option, data_clause, folded};
use crate::statement::{
    AlterView, CreateTable, CreateTableAs, CreateView, DropBehaviour, DropRelations, IfExists,
    IfMissing, OnCommit, PartitionPlace, Persistence, RelationName, RenameView, Skipped, Statement,
    ViewChange, WithData,
};

impl Binder<'_> {
    pub(super) fn bind_create_table(&mut self, create: &ast::CreateTable) -> Result<Statement> {
        let at = object_at(&create.name);
        refuse_table_extensions(create, at)?;
        let persistence = persistence(create.temporary);
        let name = self.new_name(&create.name, persistence)?;
        let if_exists = match (create.if_not_exists, create.or_replace) {
            (true, true) => {
                let message = "cannot specify both OR REPLACE and IF NOT EXISTS";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            }
            (false, true) => IfExists::Replace,
            (true, false) => IfExists::Skip,
            (false, false) => IfExists::Fail,
        };
        let on_commit = on_commit(create, &name, at)?;
        let options = table_options(&create.table_options, at)?;
        if let Some(query) = &create.query {
            if create.partition_by.is_some() || create.partition_of.is_some() {
                return unsupported("PARTITION in CREATE TABLE AS", at);
            }
            let head = TableHead { name, if_exists, options, persistence, on_commit };
            return self.bind_create_as(create, query, head);
        }
        let mut definition = Definition::new(name.clone());
        let partition_of = match &create.partition_of {
            Some(parent) => Some(self.define_partition(&mut definition, parent, create)?),
            None => None,
        };
        if let Some(parents) = &create.inherits {
            self.inherit(&mut definition, parents, persistence_of(&name, persistence))?;
        }
        let listed = if partition_of.is_none() { create.columns.as_slice() } else { &[] };
        let taken_over = self.define_columns(&mut definition, listed)?;
        for constraint in &create.constraints {
            definition.add_constraint(constraint)?;
        }
        self.finish_constraints(&mut definition)?;
        let mut indexes = self.take_over(&mut definition, &taken_over)?;
        let partition_by = self.partitioned_by(create, &definition, partition_of.as_ref())?;
        indexes.append(&mut definition.exclusions);
        let Definition { columns, keys, checks, foreign_keys, sequences, inheriting, .. } =
            definition;
        let Inheriting { parents, inheritance, merged, .. } = inheriting;
        Ok(Statement::CreateTable(Box::new(CreateTable {
            name,
            columns,
            keys,
            checks,
            foreign_keys,
            sequences,
            indexes,
            comments: taken_over.into_iter().flat_map(|like| like.comments).collect(),
            if_exists,
            options,
            persistence,
            on_commit,
            partition_by,
            partition_of,
            parents,
            inheritance,
            merged,
        })))
    }

    /// Adds the columns that the statement lists, and those of LIKE among them.
    fn define_columns(
        &mut self,
        definition: &mut Definition,
        listed: &[ast::ColumnDef],
    ) -> Result<Vec<TakenOver>> {
        let aside = Arc::clone(&self.aside);
        let mut likes = aside.likes().peekable();
        let mut taken_over = Vec::new();
        for (place_idx, column) in listed.iter().enumerate() {
            let at = ident_at(&column.name);
            while let Some((_, like)) = likes.next_if(|(like_at, _)| Some(*like_at) < at) {
                taken_over.push(self.define_like(definition, like)?);
            }
            if self.merge_column(definition, place_idx, column)? {
                continue;
            }
            refuse_repeat(&definition.columns, &folded(&column.name), ident_at(&column.name))?;
            self.define_column(definition, column)?;
        }
        for (_, like) in likes {
            taken_over.push(self.define_like(definition, like)?);
        }
        definition.check_inherited_defaults()?;
        Ok(taken_over)
    }

    /// PARTITION BY, and whether the keys of the table go with it.
    fn partitioned_by(
        &mut self,
        create: &ast::CreateTable,
        definition: &Definition,
        partition_of: Option<&PartitionPlace>,
    ) -> Result<Option<PartitionKey>> {
        let Some(expr) = &create.partition_by else { return Ok(None) };
        if create.inherits.is_some() {
            let message = "cannot create partitioned table as inheritance child";
            return fail(SqlState::INVALID_OBJECT_DEFINITION, message, None);
        }
        if definition.checks.iter().any(|check| check.scope == CheckScope::Alone) {
            return refuse_alone(&definition.name.name);
        }
        refuse_exclusions(definition, object_at(&create.name))?;
        let key = self.partition_key(expr, definition)?;
        let inherited = partition_of.into_iter().flat_map(|place| place.parent.keys());
        let keys: Vec<_> = definition.keys.iter().chain(inherited).cloned().collect();
        check_keys(&definition.name.name, &definition.columns, &keys, &key)?;
        Ok(Some(key))
    }

    /// PARTITION OF: the columns and constraints of the partitioned table.
    fn define_partition(
        &mut self,
        definition: &mut Definition,
        parent: &ast::ObjectName,
        create: &ast::CreateTable,
    ) -> Result<PartitionPlace> {
        let at = object_at(parent);
        let table = self.table_named(parent)?;
        definition.columns = table.columns().to_vec();
        definition.checks = table.checks().to_vec();
        self.define_own(definition, &create.columns)?;
        let bound = create.for_values.as_ref().map_or(BoundTree::Default, BoundTree::from);
        self.partition_place(table, &bound, at)
    }

    /// Adds the defaults and constraints that a partition has of its own, beside its table's.
    fn define_own(
        &mut self,
        definition: &mut Definition,
        columns: &[ast::ColumnDef],
    ) -> Result<()> {
        let mut known = Vec::with_capacity(columns.len());
        for column in columns {
            let (name, at) = (folded(&column.name), ident_at(&column.name));
            let found = definition.columns.iter().position(|column| column.name == name);
            let Some(ordinal) = found else {
                let message = format!("column \"{name}\" does not exist");
                return fail(SqlState::UNDEFINED_COLUMN, message, at);
            };
            if known.contains(&ordinal) {
                let message = format!("column \"{name}\" specified more than once");
                return fail(SqlState::DUPLICATE_COLUMN, message, at);
            }
            known.push(ordinal);
            for option in &column.options {
                if let ast::ColumnOption::Default(_) = option.option {
                    definition.columns[ordinal].default = None;
                }
                self.column_option(definition, ordinal, option, at)?;
            }
        }
        Ok(())
    }

    fn bind_create_as(
        &mut self,
        create: &ast::CreateTable,
        query: &ast::Query,
        head: TableHead,
    ) -> Result<Statement> {
        let query = self.stored_query(query)?;
        if create.columns.len() > query.columns.len() {
            let message = "too many column names were specified";
            return fail(SqlState::SYNTAX_ERROR, message, object_at(&create.name));
        }
        let mut columns: Vec<ColumnDef> = Vec::with_capacity(query.columns.len());
        for (ordinal, column) in query.columns.iter().enumerate() {
            let given = create.columns.get(ordinal);
            let name = given.map_or_else(|| column.name.clone(), |given| folded(&given.name));
            let at = given.and_then(|given| ident_at(&given.name));
            super::name::refuse_system(&ast::Ident::new(name.as_str()))?;
            refuse_repeat(&columns, &name, at.or_else(|| object_at(&create.name)))?;
            super::composite::refuse_record_column(&name, column.ty, object_at(&create.name))?;
            let expr = Expr::column(column.id, column.ty);
            let collation = self.collation_to_keep(&name, &expr)?;
            columns.push(ColumnDef { collation, ..ColumnDef::new(name, column.ty) });
        }
        let no_data = create.with_data.as_ref().is_some_and(|with| !with.data);
        let data = if no_data { WithData::Empty } else { WithData::Fill };
        let TableHead { name, if_exists, options, persistence, on_commit } = head;
        Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
            name,
            query,
            columns,
            if_exists,
            options,
            persistence,
            on_commit,
            data,
        })))
    }

    pub(super) fn bind_create_view(
        &mut self,
        create: &ast::CreateView,
        text: &str,
    ) -> Result<Statement> {
        let at = object_at(&create.name);
        if create.materialized {
            return self.bind_create_materialized(create, text);
        }
        let name = self.new_name(&create.name, persistence(create.temporary))?;
        self.stars = Some(Vec::new());
        self.defines_view = true;
        let bound = self.bind_query(&create.query, Unknowns::Text);
        self.defines_view = false;
        let bound = bound?;
        if std::mem::take(&mut self.has_unplaced) {
            return unsupported("TABLE without the schema in a view", at);
        }
        let query = self.finish(bound)?;
        if self.has_parameters(&query) {
            return fail(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1", at);
        }
        let columns: Vec<String> =
            create.columns.iter().map(|column| folded(&column.name)).collect();
        if columns.len() > query.columns.len() {
            let message = "CREATE VIEW specifies more column names than columns";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let mut output: Vec<(String, DataType)> = Vec::with_capacity(query.columns.len());
        for (ordinal, column) in query.columns.iter().enumerate() {
            let name = columns.get(ordinal).unwrap_or(&column.name).clone();
            if output.iter().any(|(known, _)| *known == name) {
                let message = format!("column \"{name}\" specified more than once");
                return fail(SqlState::DUPLICATE_COLUMN, message, at);
            }
            super::composite::refuse_record_column(&name, column.ty, at)?;
            output.push((name, column.ty));
        }
        let options = self.aside.view_options.clone();
        self.check_options(create, &options)?;
        let sql = self.kept_query(create, text);
        Ok(Statement::CreateView(Box::new(CreateView {
            name,
            columns,
            sql,
            output,
            if_exists: match (create.or_replace, create.if_not_exists) {
                (true, _) => IfExists::Replace,
                (false, true) => IfExists::Skip,
                (false, false) => IfExists::Fail,
            },
            persistence: persistence(create.temporary),
            options,
        })))
    }

    /// The text that is kept of the query of a view, which was bound.
    pub(super) fn kept_query(&mut self, create: &ast::CreateView, text: &str) -> String {
        let sql = self.defined_query(&create.query).or_else(|| query_text(text));
        sql.unwrap_or_else(|| create.query.to_string())
    }

    /// ALTER VIEW with options or a default.
    pub(super) fn bind_alter_view(
        &mut self,
        view: &ast::ObjectName,
        if_missing: IfMissing,
        action: &ViewAction,
    ) -> Result<Statement> {
        let name = match self.altered_view(view, if_missing)? {
            Ok(name) => name,
            Err(skipped) => return Ok(skipped),
        };
        let change = match action {
            ViewAction::Set(options) => ViewChange::Set(options.clone()),
            ViewAction::Reset(names) => ViewChange::Reset(names.clone()),
            ViewAction::Default(ident, value) => {
                let column = folded(ident);
                let scope = self.bind_relation(view, None)?.1;
                self.required.clear();
                let Some(known) = scope.columns.iter().find(|known| known.name == column) else {
                    let message =
                        format!("column \"{column}\" of relation \"{}\" does not exist", name.name);
                    return fail(SqlState::UNDEFINED_COLUMN, message, ident_at(ident));
                };
                let value = match value {
                    None => None,
                    Some(value) => {
                        self.check_default(value, known.expr.ty, &column)?;
                        Some(self.defined(value).to_string())
                    }
                };
                ViewChange::Default(column, value)
            }
        };
        Ok(Statement::AlterView(AlterView { name, change }))
    }

    /// ALTER TABLE with actions that views have, too: of a view they are ALTER VIEW.
    pub(super) fn bind_view_as_table(
        &mut self,
        alter: &ast::AlterTable,
        name: &RelationName,
    ) -> Result<Option<Statement>> {
        use ast::{AlterColumnOperation as ColumnOp, AlterTableOperation as Op};
        let (column, value) = match alter.operations.as_slice() {
            [Op::RenameTable { table_name: ast::RenameTableNameKind::To(to) }] => {
                let to = super::name::object_parts(to)?.pop().unwrap_or_default();
                let rename = RenameView { name: name.clone(), column: None, to };
                return Ok(Some(Statement::RenameView(rename)));
            }
            [Op::AlterColumn { column_name, op: ColumnOp::SetDefault { value } }] => {
                (column_name, Some(Box::new(value.clone())))
            }
            [Op::AlterColumn { column_name, op: ColumnOp::DropDefault }] => (column_name, None),
            _ => return Ok(None),
        };
        let action = ViewAction::Default(column.clone(), value);
        self.bind_alter_view(&alter.name, IfMissing::Fail, &action).map(Some)
    }

    /// The view that ALTER VIEW names, or what is to be said where it is missing.
    fn altered_view(
        &self,
        view: &ast::ObjectName,
        if_missing: IfMissing,
    ) -> Result<std::result::Result<RelationName, Statement>> {
        let name = self.relation_name(view)?;
        match self.catalog.relation(name.schema.as_deref(), &name.name) {
            Some(Relation::View { .. }) => Ok(Ok(name)),
            Some(_) => {
                let message = format!("\"{}\" is not a view", name.name);
                fail(SqlState::WRONG_OBJECT_TYPE, message, object_at(view))
            }
            None => {
                let message = format!("relation \"{}\" does not exist", view);
                if if_missing == IfMissing::Fail {
                    return fail(SqlState::UNDEFINED_TABLE, message, None);
                }
                let notices =
                    vec![(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"))];
                Ok(Err(Statement::Skipped(Skipped { command: "ALTER VIEW", notices })))
            }
        }
    }

    /// ALTER VIEW ... RENAME.
    pub(super) fn bind_rename_view(&self, renamed: &Renamed) -> Result<Statement> {
        let name = match self.altered_view(&renamed.name, renamed.if_missing)? {
            Ok(name) => name,
            Err(skipped) => return Ok(skipped),
        };
        let (column, to) = (renamed.column.as_ref().map(folded), folded(&renamed.to));
        Ok(Statement::RenameView(RenameView { name, column, to }))
    }

    pub(super) fn bind_drop(&mut self, statement: &Ast) -> Result<Statement> {
        let Ast::Drop { object_type, if_exists, names, cascade, .. } = statement else {
            return Err(types::Error::internal("DROP expected"));
        };
        let names: Result<Vec<RelationName>> =
            names.iter().map(|name| self.relation_name(name)).collect();
        let drop = DropRelations {
            names: names?,
            if_missing: if *if_exists { IfMissing::Skip } else { IfMissing::Fail },
            behaviour: if *cascade { DropBehaviour::Cascade } else { DropBehaviour::Restrict },
        };
        match object_type {
            ast::ObjectType::Table => Ok(Statement::DropTable(drop)),
            ast::ObjectType::View => Ok(Statement::DropView(drop)),
            ast::ObjectType::Index => Ok(Statement::DropIndex(drop)),
            ast::ObjectType::Sequence => Ok(Statement::DropSequence(drop)),
            other => unsupported(format!("DROP {other}"), None),
        }
    }
}

/// Persistence of a table of this name.
fn persistence_of(name: &RelationName, asked: Persistence) -> Persistence {
    let is_temporary = name.schema.as_deref() == Some("pg_temp");
    if is_temporary { Persistence::Temporary } else { asked }
}

fn persistence(temporary: bool) -> Persistence {
    if temporary { Persistence::Temporary } else { Persistence::Permanent }
}

/// Common parts of CREATE TABLE and CREATE TABLE AS.
struct TableHead {
    name: RelationName,
    if_exists: IfExists,
    options: Vec<(String, String)>,
    persistence: Persistence,
    on_commit: OnCommit,
}

/// ON COMMIT, which only temporary tables have.
fn on_commit(create: &ast::CreateTable, name: &RelationName, at: Place) -> Result<OnCommit> {
    let is_temporary = create.temporary || name.schema.as_deref() == Some("pg_temp");
    if create.on_commit.is_some() && !is_temporary {
        let message = "ON COMMIT can only be used on temporary tables";
        return fail(SqlState::INVALID_DEFINITION, message, at);
    }
    Ok(match create.on_commit {
        None | Some(ast::OnCommit::PreserveRows) => OnCommit::Keep,
        Some(ast::OnCommit::DeleteRows) => OnCommit::DeleteRows,
        Some(ast::OnCommit::Drop) => OnCommit::Drop,
    })
}

pub(super) fn refuse_repeat(columns: &[ColumnDef], name: &str, at: Place) -> Result<()> {
    if columns.iter().any(|column| column.name == name) {
        let message = format!("column \"{name}\" specified more than once");
        return fail(SqlState::DUPLICATE_COLUMN, message, at);
    }
    Ok(())
}

pub(super) fn table_options(
    options: &ast::CreateTableOptions,
    at: Place,
) -> Result<Vec<(String, String)>> {
    let list = match options {
        ast::CreateTableOptions::None => return Ok(Vec::new()),
        ast::CreateTableOptions::With(list) => list,
        _ => return unsupported("this form of table options", at),
    };
    let mut named: Vec<(String, String)> = Vec::with_capacity(list.len());
    for option in list {
        let (name, value, at) = match option {
            ast::SqlOption::KeyValue { key, value } => {
                let word = crate::parse::option_word(value).unwrap_or_else(|| value.to_string());
                (folded(key), word, ident_at(key))
            }
            ast::SqlOption::Ident(ident) => (folded(ident), "true".to_owned(), ident_at(ident)),
            other => return unsupported(format!("table option {other}"), at),
        };
        if named.iter().any(|(known, _)| *known == name) {
            let message = format!("parameter \"{name}\" specified more than once");
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        if super::effectless::is_storage_parameter(&name) {
            let ident = ast::Ident { value: name, ..ast::Ident::new("") };
            super::effectless::check_parameter(&ident, Some(&value))?;
            continue;
        }
        // Tables of old dumps.
        if name == "oids" && value.eq_ignore_ascii_case("false") {
            continue;
        }
        named.push((name, value));
    }
    Ok(named)
}

fn refuse_table_extensions(create: &ast::CreateTable, at: Place) -> Result<()> {
    let what = [
        (create.external, "CREATE EXTERNAL TABLE"),
        (create.like.is_some(), "LIKE in CREATE TABLE"),
        (create.clone.is_some(), "CLONE"),
    ];
    match what.iter().find(|(present, _)| *present) {
        Some((_, what)) => unsupported(what, at),
        None => Ok(()),
    }
}

/// # Errors
/// 0A000 when the table has EXCLUDE.
fn refuse_exclusions(definition: &Definition, at: Place) -> Result<()> {
    if definition.exclusions.is_empty() {
        return Ok(());
    }
    let message = "exclusion constraints are not supported on partitioned tables";
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
}

/// The place in `text` of a position.
fn offset_of(text: &str, at: Location) -> Option<usize> {
    let line = usize::try_from(at.line.checked_sub(1)?).ok()?;
    let column = usize::try_from(at.column.checked_sub(1)?).ok()?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..)?;
    rest.char_indices().nth(column).map(|(at, _)| start + at)
}

/// The query of a CREATE VIEW as the user wrote it: what follows the first AS outside parentheses.
/// None for a RECURSIVE view, whose query is a part of the view's.
fn query_text(text: &str) -> Option<String> {
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, text).tokenize_with_location().ok()?;
    let mut depth = 0i32;
    for token in &tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Word(word) if word.keyword == Keyword::RECURSIVE => return None,
            Token::Word(word) if word.keyword == Keyword::AS && depth == 0 => {
                let line = usize::try_from(token.span.end.line.checked_sub(1)?).ok()?;
                let column = usize::try_from(token.span.end.column.checked_sub(1)?).ok()?;
                let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                let rest = text.get(start..)?;
                let skip = rest.char_indices().nth(column).map(|(at, _)| at)?;
                let check = check_option(&tokens).map(|(at, _)| at);
                let end = check.or_else(|| data_clause(&tokens).map(|(at, _)| at));
                let end = end.map(|at| tokens[at].span.start);
                let end = end.and_then(|end| offset_of(text, end)).unwrap_or(text.len());
                return Some(text.get(start + skip..end)?.trim().to_owned());
            }
            _ => {}
        }
    }
    None
}
