//! CREATE, REFRESH and DROP MATERIALIZED VIEW.
//!
//! ```text
//! CREATE, REFRESH       query, as its owner -> a new table           in the place of the old one
//! REFRESH CONCURRENTLY  query, as its owner -> a temporary table
//!                       rows that it lacks are deleted, those that it alone has inserted
//! ```
//! Rows are the same when all of their values are, byte by byte. Two rows are compared when they
//! agree on the columns of a unique index, so that a row with NULL there is written each time.
//! Elsewhere: who may read one that was never filled (`statement::queries`).

use std::sync::Arc;

use catalog::locks::LockMode;
use catalog::materialized::{KIND, Materialized};
use catalog::names::{quoted, quoted_relation};
use catalog::{State, TableDef, TableEntry, View, undefined_table};
use sql::algebra::Query;
use sql::catalog::{ColumnDef, IndexColumn, IndexMeta, Uniqueness};
use sql::statement::{
    CreateMaterialized, DropRelations, Persistence, RefreshMaterialized, RefreshMode, RelationName,
    Statement, WithData,
};
use storage::Layout;
use types::{Error, Result, SqlState, Value};

use super::{
    drop, layout_of, may_create, names, order_of, redefined, table, tell_taken, view, wide,
};
use crate::statement::catalog::{Checking, Maintained, Names, StatementCatalog};
use crate::statement::running::{Run, Running};
use crate::{QueryResult, Session};

/// CREATE MATERIALIZED VIEW.
pub(super) fn create(running: &mut Running<'_>, create: CreateMaterialized) -> Result<QueryResult> {
    let CreateMaterialized { view, columns, query, options, data } = create;
    let session = &mut *running.session;
    let name = session.state().key_of(&view.name)?;
    if !may_create(&session.state(), &name, view.if_exists)? {
        tell_taken(&mut session.definer(), &name);
        return Ok(QueryResult::command("CREATE MATERIALIZED VIEW"));
    }
    let (depends_on, keys) = view::relations_in(session, &view.sql)?;
    let is_temporary =
        |name: &String| session.state().persistence_of(name) == Some(Persistence::Temporary);
    if RelationName::schema_of_key(&name) == "pg_temp" || depends_on.iter().any(is_temporary) {
        let message = "materialized views must not use temporary tables or views";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let layout = match layout_of(session, &options)? {
        Layout::Auto => Layout::Frozen,
        other => other,
    };
    let mut def = TableDef::new(&name, columns, layout);
    def.order_by = order_of(&def.columns, &options)?;
    let view = View {
        sql: view.sql,
        columns: view.columns,
        output: view.output,
        depends_on,
        persistence: Persistence::Permanent,
        keys,
        options: view.options,
        defaults: Vec::new(),
    };
    let is_filled = data == WithData::Fill;
    def.materialized = Some(Materialized { view, is_filled });
    let query = is_filled.then_some((&query, Run::default()));
    let (entry, rows) = table::new_filled(running, def, Arc::default(), query)?;
    put(running, entry)?;
    Ok(QueryResult::command(match data {
        WithData::Fill => format!("SELECT {rows}"),
        WithData::Empty => "CREATE MATERIALIZED VIEW".to_owned(),
    }))
}

/// Puts a table into the catalog, or in the place of the one of its name.
fn put(running: &mut Running<'_>, entry: Arc<TableEntry>) -> Result<()> {
    running.session.change_catalog(|state| {
        state.tables.insert(entry.def.name.clone(), entry);
        Ok(())
    })
}

/// The definition of the materialized view that the catalog calls `name`.
///
/// # Errors
/// 42P01; 42809 and 0A000 for another relation, as PostgreSQL has them.
fn named(state: &State, name: &str) -> Result<Arc<TableEntry>> {
    let bare = RelationName::name_of_key(name);
    match (state.tables.get(name), state.kind_of(name)) {
        (Some(entry), _) if entry.def.materialized.is_some() => Ok(Arc::clone(entry)),
        (Some(_), _) => {
            let message = format!("\"{bare}\" is not a materialized view");
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
        (None, Some(_)) => {
            let message = format!("\"{bare}\" is not a table or materialized view");
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
        }
        (None, None) => Err(undefined_table(bare)),
    }
}

/// REFRESH MATERIALIZED VIEW.
pub(super) fn refresh(
    running: &mut Running<'_>,
    refresh: &RefreshMaterialized,
) -> Result<QueryResult> {
    let session = &mut *running.session;
    let name = &session.state().key_of(&refresh.name)?;
    let known = named(&session.state(), name)?;
    let (done, is_filled) = (|| QueryResult::command("REFRESH MATERIALIZED VIEW"), refresh.data);
    if refresh.mode == RefreshMode::Concurrently {
        concurrently(running, &known)?;
        return Ok(done());
    }
    let old = redefined::named_in(session, name, LockMode::AccessExclusive)?;
    let is_filled = is_filled == WithData::Fill;
    let query = if is_filled { Some(own_query(session, name)?) } else { None };
    let mut def = old.def.clone();
    def.materialized.iter_mut().for_each(|of| of.is_filled = is_filled);
    let query = query.as_ref().map(|query| (query, Run::default()));
    let (entry, _) = table::new_filled(running, def, Arc::clone(&old.lock), query)?;
    put(running, entry)?;
    Ok(done())
}

/// DROP MATERIALIZED VIEW.
pub(super) fn drop_all(running: &mut Running<'_>, drop: &DropRelations) -> Result<QueryResult> {
    let session = &mut *running.session;
    let names = drop::existing(&mut session.definer(), drop, KIND, SqlState::UNDEFINED_TABLE)?;
    for name in &names {
        redefined::locked_named(session, name)?;
    }
    session.change_catalog(|state| {
        // First those that go anyway, so that views of each other may go together.
        state.tables.retain(|name, _| !names.contains(name.as_str()));
        names.iter().try_for_each(|name| view::drop_dependents(state, KIND, name, drop.behaviour))
    })?;
    Ok(QueryResult::command("DROP MATERIALIZED VIEW"))
}

/// The query of a materialized view with columns as its rows have them, bound with the rights of
/// its owner.
fn own_query(session: &Session, name: &str) -> Result<Query> {
    let catalog = StatementCatalog {
        checks: Checking::Rights,
        maintained: Some(Maintained::Query(name)),
        names: Names::Public,
        ..session.definition_catalog()
    };
    // The types that a table made of it would have.
    let text = format!("CREATE TABLE public.refreshed AS SELECT * FROM {}", quoted_relation(name));
    let parsed = sql::parse(&text)?.pop();
    let parsed = parsed.ok_or_else(|| Error::internal("a query of our own"))?;
    match sql::bind(&parsed, &catalog, &[])? {
        Statement::CreateTableAs(create) => Ok(create.query),
        _ => Err(Error::internal("a query of our own")),
    }
}

/// The columns by which rows are found: those of the unique indexes.
///
/// # Errors
/// 55000 when there is no unique index over columns of all rows.
fn key_columns(def: &TableDef) -> Result<Vec<usize>> {
    let is_whole = |index: &&IndexMeta| {
        index.unique != Uniqueness::No && index.terms.predicate.is_none() && !index.excludes()
    };
    // A column whose texts are not told apart by their bytes is an expression of its index.
    let ordinals_of = |index: &IndexMeta| -> Option<Vec<usize>> {
        let of = |column: &IndexColumn| match column.expression() {
            None => Some(column.ordinal),
            Some(at) => index.terms.expressions.get(at)?.keyed_column(&def.columns),
        };
        index.columns.iter().map(of).collect()
    };
    let found = def.indexes.iter().filter(is_whole).filter_map(ordinals_of);
    let mut ordinals: Vec<usize> = found.flatten().collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    if ordinals.is_empty() {
        let shown = RelationName::of_key(&def.name);
        let schema = RelationName::schema_of_key(&def.name);
        let message =
            format!("cannot refresh materialized view \"{schema}.{}\" concurrently", shown.name);
        let hint = "Create a unique index with no WHERE clause on one or more columns of the \
                    materialized view.";
        return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_hint(hint));
    }
    Ok(ordinals)
}

/// REFRESH CONCURRENTLY.
fn concurrently(running: &mut Running<'_>, known: &TableEntry) -> Result<()> {
    let name = known.def.name.as_str();
    if !known.def.materialized.as_ref().is_some_and(|of| of.is_filled) {
        let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let old = redefined::named_in(running.session, name, LockMode::Exclusive)?;
    let keys = key_columns(&old.def)?;
    let query = own_query(running.session, name)?;
    let is_taken = |key: &str| running.session.state().contains(key);
    let key = names::free("pg_temp.refreshed", is_taken);
    let mut def = TableDef::new(&key, old.def.columns.clone(), Layout::Column);
    def.persistence = Persistence::Temporary;
    let query = Some((&query, Run::default()));
    let (new, _) = table::new_filled(running, def, Arc::default(), query)?;
    put(running, new)?;
    let diff = Diff { def: &old.def, new: quoted_relation(&key), keys: &keys };
    let written = diff.write(running);
    running.session.change_catalog(|state| {
        state.tables.remove(&key);
        Ok(())
    })?;
    written
}

/// Rows that a materialized view has, and those that it is to have.
struct Diff<'a> {
    def: &'a TableDef,
    /// The table of the rows that it is to have, as SQL text.
    new: String,
    /// Columns by which rows are found.
    keys: &'a [usize],
}

impl Diff<'_> {
    fn write(&self, running: &mut Running<'_>) -> Result<()> {
        self.refuse_duplicates(running)?;
        let (new, old) = (&self.new, quoted_relation(&self.def.name));
        let same = self.same();
        self.run(
            running,
            &format!(
                "DELETE FROM {old} AS m WHERE NOT EXISTS (SELECT 1 FROM {new} AS n WHERE {same})"
            ),
        )?;
        self.run(
            running,
            &format!(
                "INSERT INTO {old} SELECT * FROM {new} AS n \
                 WHERE NOT EXISTS (SELECT 1 FROM {old} AS m WHERE {same})"
            ),
        )
    }

    /// Says that the row `n` is the row `m`.
    fn same(&self) -> String {
        let equal = |ordinal: &usize| {
            let column = quoted(&self.def.columns[*ordinal].name);
            format!("m.{column} = n.{column}")
        };
        let same = |column: &ColumnDef| {
            let [old, new] = ["m", "n"].map(|row| compared(row, column));
            format!("{old} IS NOT DISTINCT FROM {new}")
        };
        let all = self.keys.iter().map(equal).chain(self.def.columns.iter().map(same));
        all.collect::<Vec<_>>().join(" AND ")
    }

    /// # Errors
    /// 21000 when two rows without NULLs are the same.
    fn refuse_duplicates(&self, running: &mut Running<'_>) -> Result<()> {
        let columns = self.def.columns.iter();
        let present = columns.clone().map(|c| format!("n.{} IS NOT NULL", quoted(&c.name)));
        let groups = columns.map(|column| compared("n", column));
        let text = format!(
            "SELECT min(CAST(n AS text)) FROM {} AS n WHERE {} GROUP BY {} \
             HAVING count(*) > 1 LIMIT 1",
            self.new,
            present.collect::<Vec<_>>().join(" AND "),
            groups.collect::<Vec<_>>().join(", "),
        );
        let query = super::validate::bind(running.session, &text)?;
        let result = Running::own(running.session).run_query(&query, Run::default())?;
        let Some(batch) = result.batches.iter().find(|batch| batch.rows > 0) else {
            return Ok(());
        };
        let row = match batch.columns.first().map(|column| column.value(0)) {
            Some(Value::Str(text)) => String::from_utf8_lossy(&text).into_owned(),
            _ => String::new(),
        };
        let message = format!(
            "new data for materialized view \"{}\" contains duplicate rows without any null \
             columns",
            self.def.bare_name()
        );
        Err(Error::new(SqlState::CARDINALITY_VIOLATION, message).with_detail(format!("Row: {row}")))
    }

    /// Runs a statement that writes the rows of the view.
    fn run(&self, running: &mut Running<'_>, text: &str) -> Result<()> {
        let parsed = sql::parse(text)?.pop();
        let parsed = parsed.ok_or_else(|| Error::internal("a statement of our own"))?;
        let catalog = StatementCatalog {
            maintained: Some(Maintained::Rows(&self.def.name)),
            ..running.session.definition_catalog()
        };
        let bound = sql::bind(&parsed, &catalog, &[])?;
        std::mem::drop(catalog);
        Running::own(running.session).run(bound).map(std::mem::drop)
    }
}

/// A column of `row` such that values are equal when they are the same.
fn compared(row: &str, column: &ColumnDef) -> String {
    let name = quoted(&column.name);
    if column.collation.is_some() {
        // Texts that a language holds for equal are not the same.
        format!("({row}.{name} COLLATE \"C\")")
    } else if wide::has_one_form(column.ty) {
        format!("{row}.{name}")
    } else {
        format!("CAST({row}.{name} AS text)")
    }
}
