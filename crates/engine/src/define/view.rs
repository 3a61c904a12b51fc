//! CREATE and DROP VIEW.

use sql::statement::{CreateView, DropBehaviour, DropRelations, IfExists, IfMissing};
use types::{Error, Result, SqlState};

use super::table::wrong_kind;
use super::{local_name, may_create};
use crate::catalog::{State, View};
use crate::{QueryResult, Session};

pub(super) fn create(session: &mut Session, create: CreateView) -> Result<QueryResult> {
    let name = local_name(&create.name)?;
    let depends_on = relations_in(session, &create.sql)?;
    let view = View {
        sql: create.sql,
        columns: create.columns,
        output: create.output,
        depends_on,
        persistence: create.persistence,
    };
    session.change_catalog(|state| {
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

    fn sequence(&self, schema: Option<&str>, name: &str) -> Option<sql::catalog::SequenceDef> {
        self.inner.sequence(schema, name)
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
pub(super) fn drop_dependents(
    state: &mut State,
    name: &str,
    behaviour: DropBehaviour,
) -> Result<()> {
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

pub(super) fn drop_all(session: &mut Session, drop: &DropRelations) -> Result<QueryResult> {
    session.change_catalog(|state| {
        for name in &drop.names {
            let name = local_name(name)?;
            match state.kind_of(name) {
                Some("view") => {
                    drop_dependents(state, name, drop.behaviour)?;
                    state.views.remove(name);
                }
                Some(other) => return Err(wrong_kind(name, "view", other)),
                None if drop.if_missing == IfMissing::Skip => {}
                None => {
                    let message = format!("view \"{name}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
                }
            }
        }
        Ok(())
    })?;
    Ok(QueryResult::command("DROP VIEW"))
}
