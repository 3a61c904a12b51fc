//! PostgreSQL's system catalog over our own: what psql and drivers read about tables.
//!
//! ```text
//! FROM pg_class -> view: SELECT * FROM pg_catalog_rows('pg_class') -> rows made when bound
//! pg_get_indexdef(x) -> (SELECT ... FROM pg_index WHERE indexrelid = x): `functions`
//! ```
//! Numbers (oid) are BIGINT and come from names, so that they stay while a client asks on. Lists
//! are arrays; those of pg_index begin at 0. Tables that would be empty here exist and are
//! (`catalogs`). PostgreSQL's own tables have columns behind the others, `tableoid` and its kin,
//! which `*` does not show, nor those for functions: their names begin with a point until they are
//! bound.

mod activity;
mod builtin;
mod catalogs;
mod collations;
mod columns;
mod counts;
mod depends;
mod deparsed;
mod domains;
mod extensions;
mod functions;
mod index_classes;
mod index_texts;
mod keywords;
pub(crate) mod numbers;
pub(crate) mod objects;
mod families;
pub(crate) mod partition_tree;
mod partitions;
mod policies;
pub(crate) mod ranges;
mod relations;
mod rights;
mod routines;
mod triggers;
mod two_phase;
mod programs;
mod schema;
mod stats;
mod system;
mod tables;
mod updatable;
mod written;

use std::borrow::Cow;
use std::collections::HashMap;

use catalog::rights::{Object, SCHEMA_NAME};
use catalog::who::{Who, denied};
use catalog::{Extension, Role, State};
use sql::catalog::{Arguments, TableFunctionRef};
use sql::statement::RelationName;
use types::array::ArrayBuilder;
use types::{DataType, ElementType, Error, PackedType, RegKind, Result, SqlState, Value};

pub(crate) use functions::template;
pub(crate) use routines::null_input;

use crate::Database;
use crate::session::cursors::Cursors;
use crate::session::prepared::kept::PreparedStatements;
use crate::show::system::counted_function;
use crate::words::settings::Settings;

/// The function behind all tables of the catalog.
pub(crate) const FUNCTION: &str = "pg_catalog_rows";

/// The number of the table that a row is of.
const TABLE_NUMBER: &str = "tableoid";

/// Columns that PostgreSQL's own tables have behind that one.
const SYSTEM_COLUMNS: [(&str, DataType); 5] = [
    (".xmin", DataType::Xid),
    (".xmax", DataType::Xid),
    (".cmin", DataType::Packed(PackedType::Cid)),
    (".cmax", DataType::Packed(PackedType::Cid)),
    (".ctid", DataType::Tid),
];

/// The transaction that made what each database has.
const BOOTSTRAP: u64 = 1;

/// Values of those columns. The catalog does not know which transaction made a row: the newest one
/// that has a number is never too old, so that clients which ask for what changed since find it.
fn system_values(place: usize, made_by: u64) -> [Value; 5] {
    let command = || Value::Str(vec![0; 4].into());
    // Numbers of transactions have 32 bits there.
    let made_by = i64::from(made_by as u32);
    let place = Value::I64(types::tid_of_row(place as i64));
    [Value::I64(made_by), Value::I64(0), command(), command(), place]
}

/// State that the rows of the catalog describe.
pub(crate) struct Subject<'a> {
    pub(crate) state: &'a State,
    pub(crate) settings: &'a Settings,
    pub(crate) cursors: &'a Cursors,
    pub(crate) prepared: &'a PreparedStatements,
    pub(crate) database: &'a Database,
}

/// Relations that the rows of a table of the catalog are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Describes {
    /// Tables, with their columns and constraints.
    Tables,
    /// Schemas alone.
    Schemas,
}

/// Relations that the rows of `name`, written with its schema, are about; None for types, roles,
/// activity and others.
pub(crate) fn describes_relations(name: &str) -> Option<Describes> {
    match name {
        "pg_catalog.pg_class"
        | "pg_catalog.pg_attribute"
        | "pg_catalog.pg_attrdef"
        | "pg_catalog.pg_index"
        | "pg_catalog.pg_constraint"
        | "pg_catalog.pg_depend"
        | "pg_catalog.pg_sequence"
        | "pg_catalog.pg_sequences"
        | "pg_catalog.pg_tables"
        | "pg_catalog.pg_indexes"
        | "pg_catalog.tessera_privileges"
        | "pg_catalog.tessera_column_privileges" => Some(Describes::Tables),
        name if name.starts_with("information_schema.") => Some(Describes::Tables),
        "pg_catalog.pg_namespace" | "pg_catalog.tessera_search_path" => Some(Describes::Schemas),
        _ => None,
    }
}

/// Which schemas there are for whom.
const SYSTEM_SCHEMAS: [(i64, &str); 2] =
    [(numbers::PG_CATALOG, "pg_catalog"), (numbers::INFORMATION_SCHEMA, "information_schema")];

impl Subject<'_> {
    /// Objects that the session sees.
    fn seen(&self) -> objects::Seen<'_> {
        objects::Seen { state: self.state, settings: self.settings }
    }

    /// Numbers and names of the schemas that are not the system's.
    fn schemas(&self) -> impl Iterator<Item = (i64, &str)> {
        self.state.schema_names().map(|name| (numbers::schema(name), name))
    }

    /// The number of the session's database.
    fn database_number(&self) -> i64 {
        let cluster = self.database.inner().cluster();
        let all = cluster.map(|cluster| cluster.all()).unwrap_or_default();
        let own = all.iter().find(|(def, _)| *def.name == *self.state.database.0);
        own.map_or(numbers::DATABASE, |(def, _)| def.number())
    }

    /// True when its name alone means the relation that the catalog calls `key`.
    fn is_visible(&self, key: &str) -> bool {
        self.seen().is_visible(key)
    }

    /// A relation as messages show it: with its schema where its name alone means another one.
    fn shown(&self, key: &str) -> String {
        self.seen().shown(key)
    }

    /// A text of a definition: functions of extensions and of users, and types in casts, have their
    /// schema where the search path does not find them.
    fn text_shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let path: Vec<&str> = self.settings.schemas().collect();
        let is_hidden = |extension: &Extension| !path.contains(&extension.schema.as_str());
        let all = self.state.extensions.iter().filter(|(_, extension)| is_hidden(extension));
        let of = |(name, extension): (&String, &Extension)| {
            let schema = written::quoted(&extension.schema).into_owned();
            let functions = sql::extension_functions(name).into_iter();
            functions.map(move |function| (function, schema.clone())).collect::<Vec<_>>()
        };
        let own = routines::hidden(self.seen()).chain(ranges::hidden(self.seen()));
        let hidden: HashMap<&str, String> = own.chain(all.flat_map(of)).collect();
        let types: HashMap<&str, &str> = self.seen().hidden_types().collect();
        let collations: HashMap<&str, &str> = self.seen().hidden_collations().collect();
        if hidden.is_empty() && types.is_empty() && collations.is_empty() {
            return Cow::Borrowed(text);
        }
        let quoted = |schema: &&str| written::quoted(schema).into_owned();
        let schema_of = |name: &str| match (name.strip_prefix("::"), name.split_once(' ')) {
            (Some(name), _) => types.get(name).map(quoted),
            (None, Some(("collate", name))) => collations.get(name).map(quoted),
            (None, _) => hidden.get(name).cloned(),
        };
        Cow::Owned(sql::with_schemas(text, &schema_of))
    }

    /// All roles; whoever was let in without being asked is one.
    fn roles(&self) -> Vec<(String, Role)> {
        let known = self.state.roles.iter();
        let mut roles: Vec<_> = known.map(|(name, role)| (name.clone(), role.clone())).collect();
        let user = self.settings.user().unwrap_or("tessera");
        let is_trusted = self.settings.authenticated_who() == Who::All;
        if is_trusted && !self.state.roles.contains_key(user) {
            // As the role that initdb makes.
            let role = Role {
                is_superuser: true,
                can_login: true,
                can_create_roles: true,
                can_create_databases: true,
                can_replicate: true,
                bypasses_policies: true,
                ..Role::default()
            };
            roles.insert(0, (user.to_owned(), role));
        }
        roles
    }

    /// Owner of the objects that belong to the superusers.
    fn superuser(&self) -> String {
        let roles = self.roles();
        let owner = roles.iter().find(|(_, role)| role.is_superuser).or(roles.first());
        owner.map_or_else(|| "tessera".to_owned(), |(name, _)| name.clone())
    }

    /// Number of that owner.
    fn owner(&self) -> i64 {
        numbers::role(&self.superuser())
    }

    /// The owner of an object.
    fn owner_of(&self, object: &Object) -> String {
        self.shown_role(object, self.state.owner_of(object))
    }

    /// The name of the role `name`, where the rights on `object` have it.
    fn shown_role(&self, object: &Object, name: &str) -> String {
        match name {
            "" if *object == Object::Schema(SCHEMA_NAME.to_owned())
                && self.state.has_first_public() =>
            {
                catalog::predefined::DATABASE_OWNER.to_owned()
            }
            "" => self.superuser(),
            owner => owner.to_owned(),
        }
    }

    /// The owner of a relation, by its number.
    fn owner_of_relation(&self, name: &str) -> i64 {
        numbers::role(&self.owner_of(&Object::Relation(name.to_owned())))
    }
}

/// Value of columns that a row does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// NULL.
    Null,
    /// 0, false, NULL of other types.
    Nothing,
}

impl Missing {
    /// In the rows of a table that is written with its schema.
    fn of(name: &str) -> Self {
        const VIEWS: [&str; 5] = [
            "pg_catalog.pg_stat_activity",
            "pg_catalog.pg_locks",
            "pg_catalog.pg_settings",
            "pg_catalog.pg_roles",
            "pg_catalog.pg_stat_ssl",
        ];
        if name.starts_with("information_schema.") || VIEWS.contains(&name) {
            Self::Null
        } else {
            Self::Nothing
        }
    }
}

/// A row being made: values by column name; missing columns get zero, false or NULL.
#[derive(Default)]
struct Row(Vec<(&'static str, Value)>);

/// First byte of a function with its number, which no name has.
const OBJECT: u8 = 0;

impl Row {
    fn set(mut self, column: &'static str, value: Value) -> Self {
        self.0.push((column, value));
        self
    }

    fn number(self, column: &'static str, number: i64) -> Self {
        self.set(column, Value::I64(number))
    }

    fn text(self, column: &'static str, text: &str) -> Self {
        self.set(column, Value::text(text))
    }

    fn flag(self, column: &'static str, flag: bool) -> Self {
        self.set(column, Value::Bool(flag))
    }

    /// An array of texts.
    fn texts(self, column: &'static str, texts: &[String]) -> Self {
        let mut array = ArrayBuilder::new();
        texts.iter().for_each(|text| array.push_text(text.as_bytes()));
        let array = array.finish_from(1).unwrap_or_default();
        self.set(column, Value::Str(array.into()))
    }

    /// An array.
    fn list(self, column: &'static str, element: ElementType, numbers: &[i64]) -> Self {
        self.numbers(column, element, numbers, 1)
    }

    /// An array of the kind of int2vector, whose first subscript is 0.
    fn vector(self, column: &'static str, element: ElementType, numbers: &[i64]) -> Self {
        self.numbers(column, element, numbers, 0)
    }

    fn numbers(
        self,
        column: &'static str,
        element: ElementType,
        numbers: &[i64],
        lower: i32,
    ) -> Self {
        let mut array = ArrayBuilder::new();
        for &number in numbers {
            match element {
                ElementType::SmallInt => array.push_i32(i32::try_from(number).unwrap_or(i32::MAX)),
                _ => array.push_i64(number),
            }
        }
        // As many as a table has columns.
        let array = array.finish_from(lower).unwrap_or_default();
        self.set(column, Value::Str(array.into()))
    }

    /// A function, by its number and as it is shown.
    fn function(self, column: &'static str, number: u32, shown: &str) -> Self {
        let mut bytes = vec![OBJECT];
        if let Value::Str(object) = types::object_value(number, shown) {
            bytes.extend_from_slice(&object);
        }
        self.set(column, Value::Str(bytes.into()))
    }

    /// Its values in the order of `columns`.
    fn finish(&self, columns: &[(&str, DataType)], missing: Missing) -> Vec<Value> {
        let value = |(name, ty): &(&str, DataType)| {
            // What was set last counts.
            let name = name.trim_start_matches('.');
            let found = self.0.iter().rfind(|(column, _)| *column == name);
            match (found.map(|(_, value)| value.clone()), ty) {
                (Some(Value::I64(n)), DataType::Integer | DataType::SmallInt) => {
                    Value::I32(i32::try_from(n).unwrap_or(i32::MAX))
                }
                (Some(Value::I64(n)), DataType::Real) => Value::F64(n as f64),
                (Some(Value::Str(name)), DataType::Reg(RegKind::Proc)) => {
                    match name.strip_prefix(&[OBJECT]) {
                        Some(object) => Value::Str(object.into()),
                        None => builtin::function_named(&String::from_utf8_lossy(&name)),
                    }
                }
                (Some(Value::I64(number)), DataType::Reg(kind)) => {
                    types::object_value(number as u32, kind.nothing())
                }
                (Some(value), _) => value,
                (None, ty) => match missing {
                    Missing::Null => Value::Null,
                    Missing::Nothing => nothing(*ty),
                },
            }
        };
        columns.iter().map(value).collect()
    }
}

/// Value of a column of type `ty` that a row does not name.
fn nothing(ty: DataType) -> Value {
    match ty {
        DataType::BigInt | DataType::Oid | DataType::Xid => Value::I64(0),
        DataType::Reg(kind) => types::object_value(0, kind.nothing()),
        DataType::Integer | DataType::SmallInt => Value::I32(0),
        DataType::Real | DataType::Double => Value::F64(0.0),
        DataType::Boolean => Value::Bool(false),
        _ => Value::Null,
    }
}

/// The type of the system that its catalog calls `name`, as format_type shows it.
pub(crate) fn type_shown(name: &str) -> Option<&'static str> {
    builtin::types().iter().find(|ty| ty.name == name).map(|ty| ty.formatted)
}

/// Rows of information_schema name the first database: here they get the name of the session's.
fn name_catalogs(columns: &[(&str, DataType)], rows: &mut [Vec<Value>], name: &str) {
    if name == self::columns::DATABASE {
        return;
    }
    let is_catalog =
        |(column, _): &(&str, DataType)| column.ends_with("_catalog") || *column == "catalog_name";
    let places: Vec<usize> = (0..columns.len()).filter(|at| is_catalog(&columns[*at])).collect();
    for row in rows {
        for &at in &places {
            if row[at] != Value::Null {
                row[at] = Value::text(name);
            }
        }
    }
}

/// A relation with its schema, as SQL writes it.
fn full_name(key: &str) -> String {
    let schema = Some(RelationName::schema_of_key(key).to_owned());
    RelationName { schema, name: RelationName::name_of_key(key).to_owned() }.quoted()
}

/// The query of a table of the catalog; None when there is none of that name.
pub(crate) fn view(schema: Option<&str>, name: &str) -> Option<String> {
    let schema = match schema {
        None | Some("pg_catalog") => "pg_catalog",
        Some("information_schema") => "information_schema",
        Some(_) => return None,
    };
    schema::find(schema, name)?;
    Some(format!("SELECT * FROM {FUNCTION}('{schema}.{name}')"))
}

/// The name in the catalog of a table that stands in FROM as a function does: Tessera's own, and
/// those that are functions in PostgreSQL.
pub(crate) fn as_function(name: &str, arguments: &Arguments) -> Option<String> {
    let is_meant = (name.starts_with("tessera_") || name == "pg_get_keywords")
        && arguments.positional.is_empty()
        && arguments.named.is_empty();
    (is_meant && schema::find("pg_catalog", name).is_some()).then(|| format!("pg_catalog.{name}"))
}

/// The rows that PostgreSQL's own catalog has in a table, with these columns.
fn builtin_rows(
    name: &str,
    subject: &Subject<'_>,
    columns: &[(&str, DataType)],
) -> impl Iterator<Item = Vec<Value>> {
    let name = name.strip_prefix("pg_catalog.").unwrap_or_default();
    let number = Value::I64(catalogs::number(name));
    let is_owner = |(column, _): &(&str, DataType)| column.ends_with("owner");
    let owner = columns.iter().position(is_owner).map(|at| (at, Value::I64(subject.owner())));
    builtin::rows(name).iter().map(move |row| {
        let mut row = row.clone();
        row.push(number.clone());
        if let Some((at, owner)) = &owner {
            row[*at].clone_from(owner);
        }
        row
    })
}

/// The rows of a table of the catalog, named with its schema.
///
/// # Errors
/// 42P01 when there is none of that name.
pub(crate) fn rows(name: &str, subject: &Subject<'_>) -> Result<TableFunctionRef> {
    let columns = name.split_once('.').and_then(|(schema, name)| schema::find(schema, name));
    let columns = columns.ok_or_else(|| {
        let message = format!("relation \"{name}\" does not exist");
        Error::new(SqlState::UNDEFINED_TABLE, message)
    })?;
    let mut columns = columns;
    let number = name.strip_prefix("pg_catalog.").map_or(0, catalogs::number);
    if number != 0 {
        columns.push((TABLE_NUMBER, DataType::Oid));
    }
    if name == "pg_catalog.pg_authid" && !subject.state.is_superuser(subject.settings.who()) {
        return Err(denied("permission denied for table pg_authid"));
    }
    let own = tables::rows(name, subject).into_iter();
    let missing = Missing::of(name);
    let own = own.map(|row| row.number(TABLE_NUMBER, number).finish(&columns, missing));
    let mut rows: Vec<Vec<Value>> = builtin_rows(name, subject, &columns).collect();
    let built_in = rows.len();
    rows.extend(own);
    if number != 0 {
        columns.extend(SYSTEM_COLUMNS);
        let newest = subject.database.inner().xids.upcoming() - 1;
        for (place, row) in rows.iter_mut().enumerate() {
            let made_by = if place < built_in { BOOTSTRAP } else { newest };
            row.extend(system_values(place, made_by));
        }
    }
    if name.starts_with("information_schema.") {
        name_catalogs(&columns, &mut rows, &subject.state.database.0);
    }
    // Joins look others up in these tables, so that rows come in the order of those: columns of a
    // table in theirs, which clients count on without asking for it.
    let is_looked_up = [
        "pg_catalog.pg_type",
        "pg_catalog.pg_namespace",
        "pg_catalog.pg_proc",
        "pg_catalog.pg_collation",
        "pg_catalog.pg_operator",
    ]
    .contains(&name);
    let count = if is_looked_up { 1 } else { rows.len() as u64 };
    Ok(counted_function(FUNCTION, &columns, &rows, count))
}
