//! Materialized views: CREATE, REFRESH, DROP, RENAME, and what may not be done to one.
//!
//! A materialized view is a table whose rows are those of a query: where it is read, the binder
//! knows it as a table.

use sqlparser::ast::{self, AlterColumnOperation as ColumnOp, AlterTableOperation as Op, SetExpr};
use types::{DataType, Error, Result, SqlState};

use super::ddl::{refuse_repeat, table_options};
use super::name::{ident_at, object_at};
use super::{Binder, Unknowns, fail, place, unsupported};
use crate::algebra::{Expr, Place};
use crate::catalog::{ColumnDef, Relation, TableRef};
use crate::parse::{CopyTree, Renamed, SessionTree, folded};
use crate::statement::{
    CreateMaterialized, CreateView, DropRelations, IfExists, IfMissing, Persistence,
    RefreshMaterialized, RefreshMode, Skipped, Statement, WithData,
};

/// Why a statement that tables know is refused.
const NOT_FOR: &str = "This operation is not supported for materialized views.";

impl Binder<'_> {
    pub(super) fn bind_create_materialized(
        &mut self,
        create: &ast::CreateView,
        text: &str,
    ) -> Result<Statement> {
        let at = object_at(&create.name);
        if create.or_replace || create.temporary {
            let what = if create.or_replace { "OR REPLACE" } else { "TEMPORARY" };
            let message = format!("materialized views cannot be {what}");
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        refuse_changes(&create.query, at)?;
        let name = self.new_name(&create.name, Persistence::Permanent)?;
        self.stars = Some(Vec::new());
        let bound = self.bind_query(&create.query, Unknowns::Text)?;
        if std::mem::take(&mut self.has_unplaced) {
            return unsupported("TABLE without the schema in a view", at);
        }
        let types: Vec<DataType> = bound.columns.iter().map(|column| column.ty).collect();
        let bound = self.stored(bound)?;
        let query = self.finish(bound)?;
        if self.has_parameters(&query) {
            let message = "materialized views may not be defined using bound parameters";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        if create.columns.len() > query.columns.len() {
            let message = "too many column names were specified";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let mut columns: Vec<ColumnDef> = Vec::with_capacity(query.columns.len());
        for (ordinal, column) in query.columns.iter().enumerate() {
            let given = create.columns.get(ordinal).map(|column| &column.name);
            let name = given.map_or_else(|| column.name.to_string(), folded);
            super::name::refuse_system(&ast::Ident::new(name.as_str()))?;
            refuse_repeat(&columns, &name, given.and_then(ident_at).or(at))?;
            super::composite::refuse_record_column(&name, column.ty, at)?;
            let expr = Expr::column(column.id, column.ty);
            let collation = self.collation_to_keep(&name, &expr)?;
            columns.push(ColumnDef { collation, ..ColumnDef::new(name, column.ty) });
        }
        let output = columns.iter().map(|column| column.name.clone()).zip(types).collect();
        let (if_exists, sql) = (if_exists(create), self.kept_query(create, text));
        let is_empty = self.aside.without_data;
        let given = create.columns.iter().map(|column| folded(&column.name)).collect();
        let persistence = Persistence::Permanent;
        let options = Vec::new();
        let view =
            CreateView { name, columns: given, sql, output, if_exists, persistence, options };
        Ok(Statement::CreateMaterialized(Box::new(CreateMaterialized {
            view,
            columns,
            query,
            options: table_options(&create.options, at)?,
            data: if is_empty { WithData::Empty } else { WithData::Fill },
        })))
    }

    /// REFRESH, DROP and ALTER ... RENAME.
    pub(super) fn bind_materialized(&mut self, tree: &SessionTree) -> Result<Statement> {
        Ok(match tree {
            SessionTree::RefreshMaterialized { name, concurrently, without_data } => {
                if *concurrently && *without_data {
                    let message =
                        "REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together";
                    return fail(SqlState::SYNTAX_ERROR, message, None);
                }
                Statement::RefreshMaterialized(RefreshMaterialized {
                    name: self.relation_name(name)?,
                    mode: if *concurrently { RefreshMode::Concurrently } else { RefreshMode::Anew },
                    data: if *without_data { WithData::Empty } else { WithData::Fill },
                })
            }
            SessionTree::DropMaterialized { names, if_missing, behaviour } => {
                let names: Result<_> = names.iter().map(|name| self.relation_name(name)).collect();
                let (if_missing, behaviour) = (*if_missing, *behaviour);
                Statement::DropMaterialized(DropRelations { names: names?, if_missing, behaviour })
            }
            SessionTree::RenameMaterialized(renamed) => self.rename_materialized(renamed)?,
            _ => return unsupported("this statement", None),
        })
    }

    fn rename_materialized(
        &mut self,
        Renamed { name, if_missing, column, to }: &Renamed,
    ) -> Result<Statement> {
        let full = self.relation_name(name)?;
        let is_there = self.catalog.relation(full.schema.as_deref(), &full.name).is_some();
        if !is_there && *if_missing == IfMissing::Skip {
            let message = format!("relation \"{}\" does not exist, skipping", full.name);
            let notices = vec![(SqlState::SUCCESSFUL_COMPLETION, message)];
            return Ok(Statement::Skipped(Skipped { command: "ALTER MATERIALIZED VIEW", notices }));
        }
        let table = self.materialized_named(name)?;
        let operation = match column {
            Some(column) => {
                Op::RenameColumn { old_column_name: column.clone(), new_column_name: to.clone() }
            }
            None => {
                let to = ast::ObjectName::from(vec![to.clone()]);
                Op::RenameTable { table_name: ast::RenameTableNameKind::To(to) }
            }
        };
        match self.altered(table, name, &[operation])? {
            Statement::AlterTable(Some(alter)) => Ok(Statement::AlterMaterialized(alter)),
            other => Ok(other),
        }
    }

    /// A materialized view by name.
    ///
    /// # Errors
    /// 42P01, 42809.
    pub(super) fn materialized_named(&self, name: &ast::ObjectName) -> Result<TableRef> {
        let full = self.relation_name(name)?;
        match self.catalog.relation(full.schema.as_deref(), &full.name) {
            Some(Relation::Table(table)) if table.materialized().is_some() => Ok(table),
            Some(_) => {
                let message = format!("\"{}\" is not a materialized view", full.name);
                fail(SqlState::WRONG_OBJECT_TYPE, message, object_at(name))
            }
            None => self.table_named(name),
        }
    }

    /// A table by name, for statements that know no materialized views.
    pub(super) fn plain_table(&self, name: &ast::ObjectName) -> Result<TableRef> {
        let table = self.table_named(name)?;
        if table.materialized().is_some() {
            let message = format!("\"{}\" is not a table", table.bare_name());
            return fail(SqlState::WRONG_OBJECT_TYPE, message, object_at(name));
        }
        self.writable_table(name)
    }
}

fn if_exists(create: &ast::CreateView) -> IfExists {
    if create.if_not_exists { IfExists::Skip } else { IfExists::Fail }
}

/// Refuses queries under WITH that change rows.
fn refuse_changes(query: &ast::Query, at: Place) -> Result<()> {
    let changes = |cte: &ast::Cte| {
        use SetExpr::{Delete, Insert, Merge, Update};
        matches!(&*cte.query.body, Insert(_) | Update(_) | Delete(_) | Merge(_))
    };
    if query.with.as_ref().is_some_and(|with| with.cte_tables.iter().any(changes)) {
        let message = "materialized views must not use data-modifying statements in WITH";
        return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
    }
    Ok(())
}

impl Binder<'_> {
    /// Refuses COPY of tables whose rows the database alone writes, and from them.
    pub(super) fn refuse_copy(&self, table: &TableRef, copy: &CopyTree, at: Place) -> Result<()> {
        let kind = if table.wide().is_some() {
            "wide table"
        } else if table.materialized().is_some() {
            "materialized view"
        } else {
            return Ok(());
        };
        let name = table.bare_name();
        if copy.from {
            let message = format!("cannot copy to {kind} \"{name}\"");
            return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
        }
        let message = format!("cannot copy from {kind} \"{name}\"");
        let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            .with_hint("Try the COPY (SELECT ...) TO variant.");
        Err(place(error, at))
    }

    /// Refuses MERGE into a materialized view.
    pub(super) fn refuse_merge(&self, table: &TableRef, at: Place) -> Result<()> {
        if table.materialized().is_none() {
            return Ok(());
        }
        let message = format!("cannot execute MERGE on relation \"{}\"", table.bare_name());
        let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(NOT_FOR);
        Err(place(error, at))
    }

    /// Refuses LOCK of a materialized view.
    #[cold]
    pub(super) fn refuse_lock(&self, table: &TableRef) -> Result<Statement> {
        let message = format!("cannot lock relation \"{}\"", table.bare_name());
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(NOT_FOR))
    }

    /// Refuses actions of ALTER TABLE that would change what the query says.
    pub(super) fn check_kept_actions(
        &self,
        table: &TableRef,
        operations: &[Op],
        at: Place,
    ) -> Result<()> {
        let refused = |operation: &Op| match operation {
            Op::RenameTable { .. } | Op::RenameColumn { .. } => None,
            Op::AddColumn { .. } => Some("ADD COLUMN"),
            Op::DropColumn { .. } => Some("DROP COLUMN"),
            Op::AddConstraint { .. } => Some("ADD CONSTRAINT"),
            Op::DropConstraint { .. } => Some("DROP CONSTRAINT"),
            Op::ValidateConstraint { .. } => Some("VALIDATE CONSTRAINT"),
            Op::AlterColumn { op, .. } => Some(match op {
                ColumnOp::SetNotNull => "ALTER COLUMN ... SET NOT NULL",
                ColumnOp::DropNotNull => "ALTER COLUMN ... DROP NOT NULL",
                ColumnOp::SetDataType { .. } => "ALTER COLUMN ... SET DATA TYPE",
                ColumnOp::SetDefault { .. } | ColumnOp::DropDefault => {
                    "ALTER COLUMN ... SET DEFAULT"
                }
                ColumnOp::AddGenerated { .. } => "ALTER COLUMN ... ADD IDENTITY",
            }),
            _ => Some("of this kind"),
        };
        let Some(action) = operations.iter().find_map(refused) else { return Ok(()) };
        let message = format!(
            "ALTER action {action} cannot be performed on relation \"{}\"",
            table.bare_name()
        );
        let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(NOT_FOR);
        Err(place(error, at))
    }
}
