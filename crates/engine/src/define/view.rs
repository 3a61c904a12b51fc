//! CREATE and DROP VIEW.

use catalog::comments::Commented;
use catalog::names::{quoted, quoted_relation};
use catalog::{State, View, undefined_table};
use sql::Followed;
use sql::statement::{
    AlterView, CreateView, DropBehaviour, DropRelations, IfExists, Persistence, RelationName,
    RenameView, Statement, ViewChange,
};
use types::calendar::TimeZone;
use types::{DataType, Error, NumericDisplay, Position, Result, SqlState};

use super::followers::{self, Change};
use super::{drop, may_create, names, needed, persistence_of, policy, wide};
use crate::session::definer::Definer;
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// CREATE VIEW.
pub(super) fn create(session: &mut Session, create: CreateView) -> Result<QueryResult> {
    let mut name = session.state().key_of(&create.name)?;
    let (depends_on, keys) = relations_in(session, &create.sql)?;
    let state = session.state();
    let is_temporary = |n: &String| state.persistence_of(n) == Some(Persistence::Temporary);
    // As in PostgreSQL, a view of temporary relations ends with them.
    let persistence = if depends_on.iter().any(is_temporary) {
        let schema = Some("pg_temp".to_owned());
        name = RelationName { schema, ..create.name.clone() }.key();
        Persistence::Temporary
    } else {
        persistence_of(&create.name, create.persistence)
    };
    let mut view = View {
        sql: create.sql,
        columns: create.columns,
        output: create.output,
        depends_on,
        persistence,
        keys,
        options: create.options,
        defaults: Vec::new(),
    };
    session.change_catalog(|state| {
        let old = state.views.get(&name).filter(|_| create.if_exists == IfExists::Replace);
        let may = match old {
            Some(old) => {
                view.defaults.clone_from(&old.defaults);
                check_replaced(&old.output, &view.output).map(|()| true)
            }
            None => may_create(state, &name, create.if_exists),
        };
        if may? {
            state.views.insert(name, view);
        }
        Ok(())
    })?;
    Ok(QueryResult::command("CREATE VIEW"))
}

/// The digits that a NUMERIC was declared with.
fn declared_digits(ty: DataType) -> Option<(u16, i16)> {
    match ty {
        DataType::Numeric(ty) if ty.display == NumericDisplay::Fixed => {
            Some((u16::from(ty.precision), i16::from(ty.scale)))
        }
        DataType::WideNumeric(Some(digits)) => Some((digits.precision, digits.scale)),
        _ => None,
    }
}

/// The columns of a view that takes the place of another are its columns, and perhaps more.
///
/// # Errors
/// 42P16.
fn check_replaced(old: &[(String, DataType)], new: &[(String, DataType)]) -> Result<()> {
    let fail = |message: String| Err(Error::new(SqlState::INVALID_DEFINITION, message));
    if new.len() < old.len() {
        return fail("cannot drop columns from view".to_owned());
    }
    for ((name, ty), (new_name, new_ty)) in old.iter().zip(new) {
        if name != new_name {
            return fail(format!("cannot change name of view column \"{name}\" to \"{new_name}\""));
        }
        // Digits of computed numbers, which PostgreSQL does not count, are no other type.
        let are_numbers = ty.is_numeric() && new_ty.is_numeric();
        let is_same = if are_numbers {
            declared_digits(*ty) == declared_digits(*new_ty)
        } else {
            ty == new_ty
        };
        if !is_same {
            return fail(format!(
                "cannot change data type of view column \"{name}\" from {ty} to {new_ty}"
            ));
        }
    }
    Ok(())
}

/// A label of an enumerated type.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) ty: types::EnumType,
    pub(super) position: i32,
}

/// The catalog, noting which relations a binder asks for.
struct Noting<'a> {
    inner: crate::statement::catalog::StatementCatalog<'a>,
    seen: std::cell::RefCell<Vec<String>>,
    /// Tables whose primary key it relies on.
    keys: std::cell::RefCell<Vec<String>>,
    /// Where it reads which relation.
    places: std::cell::RefCell<Vec<(String, Position)>>,
    /// Types that users made and it names.
    types: std::cell::RefCell<Vec<sql::catalog::UserType>>,
    /// Labels of enumerated types in its literals, and where they stand.
    labels: std::cell::RefCell<Vec<(Label, Position)>>,
}

impl sql::catalog::Catalog for Noting<'_> {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<sql::catalog::Relation> {
        let relation = self.inner.relation(schema, name);
        if relation.is_some() {
            let schema = schema.map(str::to_owned);
            let name = RelationName { schema, name: name.to_owned() };
            self.seen.borrow_mut().push(name.key());
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

    fn object(&self, kind: types::RegKind, text: &str) -> Result<types::Value> {
        self.inner.object(kind, text)
    }

    fn type_object(&self, ty: DataType) -> types::Value {
        self.inner.type_object(ty)
    }

    fn has_schema(&self, name: &str) -> bool {
        self.inner.has_schema(name)
    }

    fn routines(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Vec<std::sync::Arc<sql::catalog::RoutineDef>> {
        self.inner.routines(schema, name)
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<sql::catalog::UserType> {
        let found = self.inner.user_type(schema, name);
        self.types.borrow_mut().extend(found);
        found
    }

    fn domain_numbered(&self, number: u32) -> Option<sql::catalog::DomainUse> {
        self.inner.domain_numbered(number)
    }

    fn collation(&self, schema: Option<&str>, name: &str) -> Option<(String, types::Collation)> {
        self.inner.collation(schema, name)
    }

    fn collation_name(&self, collation: types::Collation) -> Option<String> {
        self.inner.collation_name(collation)
    }

    fn names_label(&self, ty: types::EnumType, position: i32, at: Position) {
        self.labels.borrow_mut().push((Label { ty, position }, at));
    }

    fn finds_extension(&self, name: &str, called: sql::catalog::Called<'_>) -> bool {
        self.inner.finds_extension(name, called)
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.inner.setting(name)
    }

    fn template(&self, name: &str, count: usize) -> Option<&'static str> {
        self.inner.template(name, count)
    }

    fn relies_on_key(&self, name: &str) {
        self.keys.borrow_mut().push(name.to_owned());
    }

    fn reads_at(&self, key: &str, at: Position) {
        self.places.borrow_mut().push((key.to_owned(), at));
    }

    fn database(&self) -> &str {
        self.inner.database()
    }

    fn time_zone(&self) -> TimeZone {
        self.inner.time_zone()
    }

    fn now_micros(&self) -> Option<i64> {
        self.inner.now_micros()
    }
}

impl<'a> Noting<'a> {
    fn new(session: &'a Session) -> Self {
        let (seen, keys, places) = Default::default();
        let (types, labels) = Default::default();
        Self { inner: session.definition_catalog(), seen, keys, places, types, labels }
    }
}

/// Binds the query `text` in the eyes of a catalog that notes what it is asked for.
fn noted<'a>(session: &'a Session, text: &str) -> Result<Noting<'a>> {
    let noting = Noting::new(session);
    for statement in sql::parse(text)? {
        sql::bind(&statement, &noting, &[])?;
    }
    Ok(noting)
}

/// Names of the tables and views that the query `text` reads, and of those tables whose primary key
/// it relies on.
pub(super) fn relations_in(session: &Session, text: &str) -> Result<(Vec<String>, Vec<String>)> {
    let noting = noted(session, text)?;
    let names = [noting.seen, noting.keys].map(|names| {
        let mut names = names.into_inner();
        names.sort();
        names.dedup();
        names
    });
    Ok(names.into())
}

/// Where the query `text` itself reads the relation that the catalog calls `name`.
pub(super) fn places_in(session: &Session, text: &str, name: &str) -> Result<Vec<Position>> {
    let places = noted(session, text)?.places.into_inner();
    Ok(places.into_iter().filter(|(key, _)| key == name).map(|(_, at)| at).collect())
}

/// Where literals of the query `text` stand for a label of an enumerated type.
pub(super) fn label_places(session: &Session, text: &str, label: Label) -> Result<Vec<Position>> {
    let labels = noted(session, text)?.labels.into_inner().into_iter();
    let is_it =
        |known: &Label| known.ty.is_same_object(label.ty) && known.position == label.position;
    Ok(labels.filter(|(known, _)| is_it(known)).map(|(_, at)| at).collect())
}

/// Drops views and wide tables that depend on `name`, or fails when there are any and `behaviour`
/// is RESTRICT.
pub(super) fn drop_dependents(
    state: &mut State,
    kind: &str,
    name: &str,
    behaviour: DropBehaviour,
) -> Result<()> {
    let dependent =
        |(view, v): (&String, &View)| v.depends_on.iter().any(|d| d == name).then(|| view.clone());
    let dependents: Vec<String> = state.queries().filter_map(dependent).collect();
    let over = catalog::wide::over(state, name).map(|(entry, _)| entry.def.name.clone());
    for dependent in over.collect::<Vec<_>>() {
        if behaviour == DropBehaviour::Restrict {
            return Err(needed(&format!("{kind} {name}"), &format!("wide table {dependent}")));
        }
        wide::drop_one(state, &dependent)?;
    }
    for (place, _) in policy::reading(state, name) {
        if behaviour == DropBehaviour::Restrict {
            return Err(needed(&format!("{kind} {name}"), &place.shown()));
        }
        policy::drop_one(state, &place.table, &place.name);
    }
    for view in dependents {
        if behaviour == DropBehaviour::Restrict {
            let dependent = format!("{} {view}", state.kind_of_query(&view));
            return Err(needed(&format!("{kind} {name}"), &dependent));
        }
        let kind = state.remove_query(&view);
        drop_dependents(state, kind, &view, behaviour)?;
    }
    Ok(())
}

/// DROP VIEW.
pub(super) fn drop_all(definer: &mut Definer<'_>, drop: &DropRelations) -> Result<QueryResult> {
    let names = drop::existing(definer, drop, "view", SqlState::UNDEFINED_TABLE)?;
    definer.change_catalog(|state| {
        // First those that go anyway, so that views of each other may go together.
        state.views.retain(|name, _| !names.contains(name.as_str()));
        names.iter().try_for_each(|name| drop_dependents(state, "view", name, drop.behaviour))
    })?;
    Ok(QueryResult::command("DROP VIEW"))
}

/// ALTER VIEW with options or a default.
///
/// # Errors
/// 0A000 for CHECK OPTION of a view that cannot be written.
pub(super) fn alter(running: &mut Running<'_>, alter: AlterView) -> Result<QueryResult> {
    let name = running.session.state().key_of(&alter.name)?;
    running.session.change_catalog(|state| {
        let view = state.views.get_mut(&name).ok_or_else(|| undefined_table(&name))?;
        match alter.change {
            ViewChange::Set(options) => {
                let is_new =
                    |known: &String| options.iter().any(|o| option_name(o) == option_name(known));
                view.options.retain(|known| !is_new(known));
                view.options.extend(options);
            }
            ViewChange::Reset(names) => {
                view.options.retain(|known| !names.iter().any(|name| name == option_name(known)));
            }
            ViewChange::Default(column, value) => {
                view.defaults.retain(|(known, _)| *known != column);
                view.defaults.extend(value.map(|value| (column, value)));
            }
        }
        Ok(())
    })?;
    Ok(QueryResult::command("ALTER VIEW"))
}

/// The name of an option that is kept as `name=value`.
fn option_name(option: &str) -> &str {
    option.split('=').next().unwrap_or_default()
}

/// ALTER VIEW ... RENAME.
///
/// # Errors
/// 42P07, 42703, 42701.
pub(super) fn rename(session: &mut Session, rename: &RenameView) -> Result<QueryResult> {
    let state = session.state();
    let name = state.key_of(&rename.name)?;
    let mut view = state.views.get(&name).cloned().ok_or_else(|| undefined_table(&name))?;
    let to = &rename.to;
    match &rename.column {
        None => {
            let key = RelationName::key_beside(&name, to);
            if state.contains(&key) {
                return Err(names::taken(to));
            }
            move_to(session, &name, &key)?;
        }
        Some(column) => {
            let readers = followers::readers(session, &name);
            let before: Vec<String> = view.output.iter().map(|(known, _)| quoted(known)).collect();
            let ordinal = view.output.iter().position(|(known, _)| known == column);
            rename_column(&mut view, RelationName::name_of_key(&name), column, to)?;
            session.change_catalog(|state| {
                state.move_comments(|on| match on {
                    Commented::Column(of, known) if *of == name && known == column => {
                        Some(Commented::Column(name.clone(), to.clone()))
                    }
                    _ => None,
                });
                state.rename_column_rights(&name, &[(column.clone(), to.clone())]);
                state.views.insert(name.clone(), view);
                Ok(())
            })?;
            let parts = [Followed::Column(&before[..=ordinal.unwrap_or_default()])];
            let change = Change { from: &name, to: &name, parts: &parts };
            followers::follow(session, &readers, &change)?;
        }
    }
    Ok(QueryResult::command("ALTER VIEW"))
}

/// Gives the view that the catalog calls `name` another name, in another schema perhaps.
///
/// # Errors
/// 0A000 for readers that cannot follow.
pub(super) fn move_to(session: &mut Session, name: &str, key: &str) -> Result<()> {
    let readers = followers::readers(session, name);
    session.change_catalog(|state| {
        let Some(view) = state.views.remove(name) else { return Ok(()) };
        if view.persistence == Persistence::Permanent {
            state.rename_rights(name, key);
            state.rename_comments(name, key);
        }
        state.views.insert(key.to_owned(), view);
        Ok(())
    })?;
    let shown = quoted_relation(key);
    let parts = [Followed::Name(&shown)];
    followers::follow(session, &readers, &Change { from: name, to: key, parts: &parts })
}

fn rename_column(view: &mut View, name: &str, column: &str, to: &str) -> Result<()> {
    let place = |wanted: &str| view.output.iter().position(|(known, _)| known == wanted);
    let Some(at) = place(column) else {
        let message = format!("column \"{column}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
    };
    if place(to).is_some() {
        let message = format!("column \"{to}\" of relation \"{name}\" already exists");
        return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
    }
    to.clone_into(&mut view.output[at].0);
    for (known, _) in view.defaults.iter_mut().filter(|(known, _)| known == column) {
        to.clone_into(known);
    }
    view.columns = view.output.iter().map(|(known, _)| known.clone()).collect();
    Ok(())
}

/// Views that read `name`.
pub(super) fn readers(state: &State, name: &str) -> Vec<String> {
    let reads = |(_, view): &(&String, &View)| view.depends_on.iter().any(|d| d == name);
    state.queries().filter(reads).map(|(view, _)| view.clone()).collect()
}

/// Looks whether views that read the table `name` mean the same after a change of it, which
/// `state` has; under CASCADE those that do not are dropped.
///
/// Departure from PostgreSQL: views are kept as text; new names were put into it before.
///
/// # Errors
/// 2BP01 when a dropped column was read, 0A000 for other changes.
pub(super) fn check_readers(
    session: &mut Session,
    name: &str,
    dropped: Option<(&str, DropBehaviour)>,
) -> Result<()> {
    for view in readers(&session.state(), name) {
        let state = session.state();
        let Some(known) = state.query_of(&view) else { continue };
        if output_of(session, known).is_ok_and(|output| output == known.output) {
            continue;
        }
        match dropped {
            Some((_, DropBehaviour::Cascade)) => session.change_catalog(|state| {
                let kind = state.remove_query(&view);
                drop_dependents(state, kind, &view, DropBehaviour::Cascade)
            })?,
            Some((column, DropBehaviour::Restrict)) => {
                let what = format!("column {column} of table {name}");
                let dependent = format!("{} {view}", state.kind_of_query(&view));
                return Err(needed(&what, &dependent));
            }
            None => {
                let kind = state.kind_of_query(&view);
                let message = format!(
                    "cannot alter table \"{name}\" in a way that {kind} \"{view}\" would notice"
                );
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("Drop the view first, and create it again afterwards."));
            }
        }
    }
    Ok(())
}

/// Names and types of the view's columns as its text says today.
fn output_of(session: &Session, view: &View) -> Result<Vec<(String, DataType)>> {
    let statement = sql::parse(&view.sql)?.pop();
    let statement = statement.ok_or_else(|| Error::internal("a view has a query"))?;
    match sql::bind(&statement, &session.definition_catalog(), &[])? {
        Statement::Query(query) => {
            let mut output: Vec<_> =
                query.columns.into_iter().map(|c| (c.name.to_string(), c.ty)).collect();
            for (column, given) in output.iter_mut().zip(&view.columns) {
                column.0.clone_from(given);
            }
            Ok(output)
        }
        _ => Err(Error::internal("a view has a query")),
    }
}
