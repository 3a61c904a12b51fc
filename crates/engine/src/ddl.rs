//! CREATE and DROP of tables and views, TRUNCATE.

use std::sync::Arc;

use sql::catalog::{ColumnDef, TableRef};
use sql::statement::{
    CreateTable, CreateView, DropBehaviour, DropRelations, IfExists, IfMissing, RelationName,
};
use storage::{ColumnSpec, Layout, Schema};
use types::{Error, Result, SqlState};

use crate::catalog::{State, TableEntry, View};
use crate::{QueryResult, Session};

/// The name without schema; only `public` (and `main`, as DuckDB calls it) exists.
pub(crate) fn local_name(name: &RelationName) -> Result<&str> {
    match name.schema.as_deref() {
        None | Some("public" | "main" | "pg_temp") => Ok(&name.name),
        Some(schema) => {
            let message = format!("schema \"{schema}\" does not exist");
            Err(Error::new(SqlState(*b"3F000"), message))
        }
    }
}

/// The layout that WITH (...) asks for, else the database's.
pub(crate) fn layout_of(session: &Session, options: &[(String, String)]) -> Result<Layout> {
    let mut layout = session.database().inner().layout;
    for (name, value) in options {
        if name != "layout" {
            let message = format!("unrecognized parameter \"{name}\"");
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        layout = Layout::from_name(&value.to_ascii_lowercase()).ok_or_else(|| {
            let message = format!("invalid value for option \"layout\": \"{value}\"");
            Error::new(SqlState::INVALID_PARAMETER, message)
                .with_hint("Valid values are \"row\", \"column\", \"frozen\" and \"auto\".")
        })?;
    }
    Ok(layout)
}

/// An entry for a new table.
pub(crate) fn new_entry(
    session: &Session,
    name: &str,
    columns: Vec<ColumnDef>,
    keys: Vec<sql::catalog::KeyDef>,
    options: &[(String, String)],
) -> Result<Arc<TableEntry>> {
    let spec = |column: &ColumnDef| {
        let mut spec = ColumnSpec::new(column.name.clone(), column.ty);
        spec.not_null = column.not_null;
        spec
    };
    let schema = Schema::new(columns.iter().map(spec).collect());
    let layout = layout_of(session, options)?;
    let storage = session.database().new_table(name, schema, layout);
    Ok(Arc::new(TableEntry::new(name.to_owned(), columns, keys, storage)))
}

/// Whether a relation of this name may be created: `Ok(false)` when IF NOT EXISTS skips it.
pub(crate) fn may_create(state: &State, name: &str, if_exists: IfExists) -> Result<bool> {
    match if_exists {
        _ if !state.contains(name) => Ok(true),
        IfExists::Skip => Ok(false),
        IfExists::Fail | IfExists::Replace => {
            let message = format!("relation \"{name}\" already exists");
            Err(Error::new(SqlState::DUPLICATE_TABLE, message))
        }
    }
}

pub(crate) fn create_table(session: &mut Session, create: CreateTable) -> Result<QueryResult> {
    let CreateTable { name, columns, keys, if_exists, options, .. } = create;
    let name = local_name(&name)?;
    let entry = new_entry(session, name, columns, keys, &options)?;
    session.database().inner().relations.update(|state| {
        if may_create(state, name, if_exists)? {
            state.tables.insert(name.to_owned(), entry);
        }
        Ok(())
    })?;
    Ok(QueryResult::command("CREATE TABLE"))
}

pub(crate) fn create_view(session: &mut Session, create: CreateView) -> Result<QueryResult> {
    let name = local_name(&create.name)?;
    let depends_on = relations_in(session, &create.sql)?;
    let view = View { sql: create.sql, columns: create.columns, output: create.output, depends_on };
    session.database().inner().relations.update(|state| {
        let replaces = create.if_exists == IfExists::Replace && state.views.contains_key(name);
        if replaces || may_create(state, name, create.if_exists)? {
            state.views.insert(name.to_owned(), view);
        }
        Ok(())
    })?;
    Ok(QueryResult::command("CREATE VIEW"))
}

/// The catalog, noting which relations a binder asks for.
struct Noting<'a> {
    inner: crate::catalog::StatementCatalog<'a>,
    seen: std::cell::RefCell<Vec<String>>,
}

impl sql::catalog::Catalog for Noting<'_> {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<sql::catalog::Relation> {
        let relation = self.inner.relation(schema, name);
        if relation.is_some() {
            self.seen.borrow_mut().push(name.to_owned());
        }
        relation
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &sql::catalog::Arguments,
    ) -> Option<Result<sql::catalog::TableFunctionRef>> {
        self.inner.table_function(name, arguments)
    }

    fn now_micros(&self) -> i64 {
        self.inner.now_micros()
    }
}

/// Names of the tables and views that the query `text` reads.
fn relations_in(session: &Session, text: &str) -> Result<Vec<String>> {
    let noting = Noting { inner: session.catalog(), seen: std::cell::RefCell::default() };
    for statement in sql::parse(text)? {
        sql::bind(&statement, &noting, &[])?;
    }
    let mut seen = noting.seen.into_inner();
    seen.sort();
    seen.dedup();
    Ok(seen)
}

/// Drops views that depend on `name`, or fails when there are any and `behaviour` is RESTRICT.
fn drop_dependents(state: &mut State, name: &str, behaviour: DropBehaviour) -> Result<()> {
    let dependent =
        |(view, v): (&String, &View)| v.depends_on.iter().any(|d| d == name).then(|| view.clone());
    let dependents: Vec<String> = state.views.iter().filter_map(dependent).collect();
    for view in dependents {
        if behaviour == DropBehaviour::Restrict {
            let message = format!("cannot drop {name} because other objects depend on it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .with_detail(format!("view {view} depends on {name}"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        state.views.remove(&view);
        drop_dependents(state, &view, behaviour)?;
    }
    Ok(())
}

/// The kinds of relation that DROP names.
#[derive(Clone, Copy)]
enum Kind {
    Table,
    View,
}

fn drop_relations(session: &Session, drop: &DropRelations, kind: Kind) -> Result<()> {
    let (noun, other) = match kind {
        Kind::Table => ("table", "view"),
        Kind::View => ("view", "table"),
    };
    session.database().inner().relations.update(|state| {
        for name in &drop.names {
            let name = local_name(name)?;
            let (here, there) = match kind {
                Kind::Table => (state.tables.contains_key(name), state.views.contains_key(name)),
                Kind::View => (state.views.contains_key(name), state.tables.contains_key(name)),
            };
            if there {
                let message = format!("\"{name}\" is not a {noun}");
                let hint = format!("Use DROP {} to remove it.", other.to_uppercase());
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(hint));
            }
            if !here {
                match drop.if_missing {
                    IfMissing::Skip => continue,
                    IfMissing::Fail => {
                        let message = format!("{noun} \"{name}\" does not exist");
                        return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
                    }
                }
            }
            drop_dependents(state, name, drop.behaviour)?;
            state.tables.remove(name);
            state.views.remove(name);
        }
        Ok(())
    })
}

pub(crate) fn drop_tables(session: &mut Session, drop: &DropRelations) -> Result<QueryResult> {
    drop_relations(session, drop, Kind::Table)?;
    Ok(QueryResult::command("DROP TABLE"))
}

pub(crate) fn drop_views(session: &mut Session, drop: &DropRelations) -> Result<QueryResult> {
    drop_relations(session, drop, Kind::View)?;
    Ok(QueryResult::command("DROP VIEW"))
}

pub(crate) fn truncate(tables: &[TableRef]) -> Result<QueryResult> {
    for table in tables {
        let storage = table.object().downcast::<storage::Table>();
        storage.map_err(|_| Error::internal("a table has storage"))?.truncate();
    }
    Ok(QueryResult::command("TRUNCATE TABLE"))
}
