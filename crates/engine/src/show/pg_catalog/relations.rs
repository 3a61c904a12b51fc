//! Relations, columns, indexes, constraints.

use catalog::numbers as catalog_numbers;
use catalog::rights::Object;
use catalog::{State, TableDef, TableEntry, View};
use sql::algebra::{Direction, NullsOrder};
use sql::catalog::{
    CheckDef, CheckScope, ColumnDef, Deferral, ForeignKeyDef, IdentityKind, IndexColumn, IndexMeta,
    KeyMatch, KeyNulls, PartitionOf, ReferentialAction, TableMeta, Uniqueness, UserType, Validity,
};
use sql::deparse::deparsed_query;
use sql::statement::RelationName;
use types::{Attribute, DataType, ElementType, Value, array};

use super::deparsed::{Texts, column_type, row_of, type_number, view_columns};
use super::index_texts::{IndexTexts, deferrable_key, included_text};
use super::written::{quoted, shown_query};
use super::{
    Row, Subject, builtin, families, full_name, index_classes, numbers, partition_tree, partitions,
    rights, updatable,
};

/// The texts of a view's query, with the semicolon behind it.
pub(super) fn view_texts(subject: &Subject<'_>, name: &str, view: &View) -> Texts {
    match deparsed_query(&view.sql, &view_columns(view), subject) {
        Some(query) => Texts::of(|form| query.text(form)),
        None => Texts::same(format!(" {};", view_query(subject, name, view))),
    }
}

/// The query of a view as its definition has it, columns under the names that it gives them.
fn view_query(subject: &Subject<'_>, name: &str, view: &View) -> String {
    let sql = shown_query(subject, &view.sql);
    if view.columns.is_empty() {
        return sql;
    }
    let given: Vec<&str> = view.output.iter().map(|(column, _)| column.as_str()).collect();
    if let Some(sql) = sql::named_columns(&sql, &given) {
        return sql;
    }
    let columns: Vec<_> = view.output.iter().map(|(column, _)| quoted(column)).collect();
    let name = quoted(RelationName::name_of_key(name));
    format!("SELECT * FROM ({sql}) AS {name} ({})", columns.join(", "))
}

fn names(def: &TableDef, columns: impl IntoIterator<Item = usize>) -> String {
    let names = columns.into_iter().map(|c| quoted(&def.columns[c].name));
    names.collect::<Vec<_>>().join(", ")
}

/// Ordinals from 1, as a list in the catalog.
fn ordinals(columns: impl IntoIterator<Item = usize>) -> Vec<i64> {
    columns.into_iter().map(|column| column as i64 + 1).collect()
}

fn relation(subject: &Subject<'_>, key: &str, kind: &str, number: i64, owner: i64) -> Row {
    let schema = RelationName::schema_of_key(key);
    let persistence = if schema == "pg_temp" { "t" } else { "p" };
    Row::default()
        .number("oid", number)
        .text("relname", RelationName::name_of_key(key))
        .number("relnamespace", numbers::schema(schema))
        .text("shown", &subject.shown(key))
        .text("fullname", &full_name(key))
        .flag("visible", subject.is_visible(key))
        .number("relowner", owner)
        .number("relfilenode", number)
        .text("relpersistence", persistence)
        .text("relkind", kind)
        .text("relreplident", if matches!(kind, "r" | "p") { "d" } else { "n" })
        .flag("relispopulated", true)
}

/// Options of WITH (...) about a table's rows: pg_dump repeats them.
fn options_of(def: &TableDef) -> Value {
    let order = def.order_by.map(|column| format!("order_by={}", def.columns[column].name));
    let options = order.map(|order| array::from_values(&[Value::text(&order)], ElementType::Text));
    options.and_then(Result::ok).unwrap_or(Value::Null)
}

/// `row` of a table with what is said of its partitions.
fn of_partitions(
    subject: &Subject<'_>,
    entry: &TableEntry,
    mut row: Row,
    number: &dyn Fn(&str) -> i64,
) -> Row {
    let (state, def) = (subject.state, &entry.def);
    let root = partition_tree::root(state, entry, None);
    row = row.set("partroot", root.map_or(Value::Null, |root| Value::I64(number(&root))));
    row = row.flag("relispartition", def.partition_of.is_some());
    if let Some(key) = partitions::key_definition(subject, def) {
        row = row.text("partkeydef", &key).flag("relhassubclass", partition_tree::has_parts(entry));
        row = row.number("relfilenode", 0);
    }
    if let Some(bound) = partitions::bound_definition(state, def) {
        row = row.text("relpartbound", &bound);
    }
    if entry.family().is_some() {
        row = row.flag("relhassubclass", true);
    }
    match partitions::constraint_definition(state, def) {
        Some(condition) => row.text("partconstraint", &condition),
        None => row,
    }
}

/// `row` of a table with the query of a materialized view.
fn of_query(subject: &Subject<'_>, name: &str, entry: &TableEntry, row: Row) -> Row {
    let Some(of) = &entry.def.materialized else { return row };
    let texts = view_texts(subject, name, &of.view);
    let row = row.text("viewdef", &texts.exact).text("viewpretty", &texts.pretty);
    let row = row.flag("relhasrules", true);
    row.flag("relispopulated", of.is_filled)
}

/// The letter of a table's kind.
fn kind_of(def: &TableDef) -> &'static str {
    match &def.materialized {
        Some(_) => "m",
        None if def.partition_by.is_some() => "p",
        None => "r",
    }
}

/// True for a table with triggers, or with those of foreign keys, on both sides.
fn has_triggers(state: &State, name: &str) -> bool {
    let mut keys = state.tables.values().flat_map(|entry| {
        entry.def.foreign_keys.iter().map(move |key| (&entry.def.name, &key.table.name))
    });
    keys.any(|(from, to)| from == name || to == name)
        || !state.triggers_of(name).is_empty()
        || !state.row_triggers(name).is_empty()
}

/// The relations that stand for composite types.
fn composites(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, ty) in &subject.state.types {
        let UserType::Composite(record) = ty else { continue };
        let owner = numbers::role(&subject.owner_of(&Object::Type(key.clone())));
        let row = relation(subject, key, "c", numbers::composite(key), owner)
            .number("relfilenode", 0)
            .number("relnatts", record.fields().len() as i64);
        rows.push(row.number("reltype", i64::from(ty.number())));
    }
    rows
}

/// pg_class.
pub(super) fn classes(subject: &Subject<'_>) -> Vec<Row> {
    let state = subject.state;
    let owner = |name: &str| subject.owner_of_relation(name);
    let acl = |row: Row, name: &str| {
        row.set("relacl", rights::list(subject, &Object::Relation(name.to_owned())))
    };
    let numbers = catalog_numbers::relations(state);
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let (usual, mut rows) = (sql::catalog::RowSecurity::default(), Vec::new());
    for (name, entry) in &state.tables {
        let bytes: u64 = entry.storage().block_infos().iter().map(|block| block.bytes).sum();
        let live = i64::try_from(entry.storage().live_rows()).unwrap_or(i64::MAX);
        let security = state.row_security.get(name).unwrap_or(&usual);
        let is_parted = entry.def.partition_by.is_some();
        let kind = kind_of(&entry.def);
        let row = acl(relation(subject, name, kind, number(name), owner(name)), name);
        let row = of_partitions(subject, entry, row, &number)
            .number("relam", if is_parted { 0 } else { 2 })
            .number("reltuples", if is_parted { -1 } else { live })
            .number("relpages", (bytes / 8192) as i64)
            .number("bytes", bytes as i64)
            .flag("relhasindex", entry.def.all_indexes().next().is_some())
            .number("relnatts", entry.def.columns.len() as i64)
            .number("relchecks", entry.def.checks.len() as i64)
            .flag("relhastriggers", has_triggers(state, name))
            .flag("relrowsecurity", security.enabled)
            .flag("relforcerowsecurity", security.forced)
            .set("reloptions", options_of(&entry.def));
        let row = row.number("reltype", i64::from(catalog_numbers::row_type(name)));
        let row = of_query(subject, name, entry, row);
        rows.push(row);
        for index in entry.def.visible_indexes() {
            let key = RelationName::key_beside(name, &index.name);
            let kind = if is_parted { "I" } else { "i" };
            let root = partition_tree::root(state, entry, Some(&index.name));
            let row = relation(subject, &key, kind, number(&key), owner(name))
                .flag("relispartition", partition_tree::is_part(&entry.def, &index.name))
                .flag("relhassubclass", is_parted && partition_tree::has_parts(entry))
                .set("partroot", root.map_or(Value::Null, |root| Value::I64(number(&root))))
                .number("relam", numbers::access_method(index))
                .number("relnatts", (index.columns.len() + index.terms.included.len()) as i64);
            let option = |(name, value): (String, String)| Value::text(&format!("{name}={value}"));
            let options: Vec<Value> = index.options().map(option).collect();
            let options = (!options.is_empty())
                .then(|| array::from_values(&options, ElementType::Text).ok())
                .flatten();
            rows.push(row.set("reloptions", options.unwrap_or(Value::Null)));
        }
    }
    for (name, view) in &state.views {
        let row = acl(relation(subject, name, "v", number(name), owner(name)), name)
            .flag("relhastriggers", !state.triggers_of(name).is_empty());
        let texts = view_texts(subject, name, view);
        let row = row.number("relnatts", view.output.len() as i64).flag("relhasrules", true);
        let row = row.number("reltype", i64::from(catalog_numbers::row_type(name)));
        let row = row.number("updatable", updatable::events(subject, name));
        let row = row.text("viewdef", &texts.exact).text("viewpretty", &texts.pretty);
        rows.push(row.set("reloptions", options(&view.options)));
    }
    rows.extend(composites(subject));
    let sequences = state.sequences.keys();
    let sequence =
        |name: &String| acl(relation(subject, name, "S", number(name), owner(name)), name);
    rows.extend(sequences.map(sequence));
    rows
}

/// The default of a column as PostgreSQL shows it.
pub(super) fn default_of(def: &TableDef, ordinal: usize) -> Option<&str> {
    let is_identity = def.identities.iter().any(|(column, _)| *column == ordinal);
    let column = &def.columns[ordinal];
    // NULL is what a column without a default has.
    let is_plain = column.domain.is_none() && numbers::of_column(column).1 < 0;
    let is_null = |text: &str| is_plain && is_null_of(text, column.ty);
    column.default.as_deref().filter(|text| !is_identity && !is_null(text))
}

/// True for NULL, also in parentheses and as a value of the type.
fn is_null_of(text: &str, ty: DataType) -> bool {
    let mut text = text.trim();
    while let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        text = inner.trim();
    }
    let (value, cast) = text.rsplit_once("::").unwrap_or((text, ""));
    let cast = cast.trim().to_ascii_lowercase();
    let number = u32::try_from(numbers::of_type(ty).0).unwrap_or_default();
    let internal = builtin::type_numbered(number).map(|entry| entry.name);
    let is_same = cast.is_empty()
        || cast == ty.name()
        || Some(cast.as_str()) == internal
        || cast == "int" && ty == DataType::Integer;
    is_same && value.trim().trim_matches(['(', ')']).eq_ignore_ascii_case("null")
}

/// The expression that the catalog keeps of a column: its default, or what generates it.
pub(super) fn expression_of(def: &TableDef, ordinal: usize) -> Option<&str> {
    def.columns[ordinal].generated.as_deref().or_else(|| default_of(def, ordinal))
}

/// The attributes of composite types; `attribute` gives the row of one.
fn composite_columns(
    subject: &Subject<'_>,
    attribute: &dyn Fn(i64, &str, types::DataType, usize) -> Row,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, ty) in &subject.state.types {
        let UserType::Composite(record) = ty else { continue };
        for (ordinal, Attribute { field, domain }) in record.attributes().iter().enumerate() {
            let row = attribute(numbers::composite(key), &field.name, field.ty, ordinal);
            let row = match domain {
                Some(number) => row.number("atttypid", i64::from(*number)).number("atttypmod", -1),
                None => row,
            };
            rows.push(plain(row));
        }
    }
    rows
}

/// pg_attribute.
pub(super) fn attributes(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let attribute = |relation: i64, name: &str, ty: types::DataType, ordinal: usize| {
        let (type_number, modifier) = numbers::of_type(ty);
        let entry = numbers::own_entry(ty);
        Row::default()
            .number("attrelid", relation)
            .text("attname", name)
            .number("atttypid", type_number)
            .number("attstattarget", -1)
            .number("attlen", if ty.is_array() { -1 } else { entry.bytes })
            .number("attnum", ordinal as i64 + 1)
            .number("attndims", i64::from(ty.is_array()))
            .number("attcacheoff", -1)
            .number("atttypmod", modifier)
            .text("attalign", entry.align)
            .text("attstorage", entry.storage)
            .flag("attbyval", entry.is_by_value)
            .number("attcollation", entry.collation)
            .text("attcompression", "")
            .flag("attislocal", true)
    };
    let mut rows = composite_columns(subject, &attribute);
    for (name, entry) in &subject.state.tables {
        let def = &entry.def;
        let inherited = families::columns(subject.state, def);
        for (ordinal, column) in def.columns.iter().enumerate() {
            let identity = def.identities.iter().find(|(column, _)| *column == ordinal);
            let identity = match identity.map(|(_, identity)| identity.kind) {
                Some(IdentityKind::Always) => "a",
                Some(IdentityKind::ByDefault) => "d",
                None => "",
            };
            let row = attribute(number(name), &column.name, column.ty, ordinal)
                .flag("attnotnull", column.not_null)
                .flag("atthasdef", expression_of(def, ordinal).is_some())
                .text("attgenerated", if column.generated.is_some() { "s" } else { "" });
            let (type_number, modifier) = numbers::of_column(column);
            let row = row.number("atttypid", type_number).number("atttypmod", modifier);
            let is_part = def.partition_of.is_some();
            let is_own = !is_part && !def.inheritance.columns.contains(&column.name);
            let count = inherited.get(column.name.as_str()).copied().unwrap_or(0);
            let row = row.flag("attislocal", is_own).number("attinhcount", count);
            let row = with_collation(row, column);
            let rights = rights::list_of_column(subject, name, &column.name);
            rows.push(row.text("attidentity", identity).set("attacl", rights));
        }
        for index in def.visible_indexes() {
            let number = number(&RelationName::key_beside(&def.name, &index.name));
            let attribute = |name: &str, ty, position| plain(attribute(number, name, ty, position));
            rows.extend(index_attributes(subject, def, index, &attribute));
        }
    }
    for (name, view) in &subject.state.views {
        for (ordinal, (column, ty)) in view.output.iter().enumerate() {
            let row = attribute(number(name), column, *ty, ordinal);
            let rights = rights::list_of_column(subject, name, column);
            let has_default = view.defaults.iter().any(|(known, _)| known == column);
            rows.push(plain(row.set("attacl", rights).flag("atthasdef", has_default)));
        }
    }
    rows
}

/// The columns of an index.
fn index_attributes(
    subject: &Subject<'_>,
    def: &TableDef,
    index: &IndexMeta,
    attribute: &dyn Fn(&str, types::DataType, usize) -> Row,
) -> Vec<Row> {
    let texts = IndexTexts::new(subject, def, index);
    let key = |(position, column): (usize, &IndexColumn)| {
        let (name, ty) = (indexed(def, index, column).0, indexed_type(def, index, column));
        let texts = texts.column(column);
        let row = attribute(name, ty, position).text("attindexdef", &texts.exact);
        row.text("attindexpretty", &texts.pretty)
    };
    let included = |(position, ordinal): (usize, &usize)| {
        let of = &def.columns[*ordinal];
        let name = quoted(&of.name);
        let row = attribute(&of.name, of.ty, position).text("attindexdef", &name);
        row.text("attindexpretty", &name)
    };
    let keys = index.columns.iter().enumerate().map(key);
    let behind = (index.columns.len()..).zip(&index.terms.included);
    keys.chain(behind.map(included)).collect()
}

/// Type of a column of an index; keys of texts stand for these.
fn indexed_type(def: &TableDef, index: &IndexMeta, column: &IndexColumn) -> types::DataType {
    let (_, ty) = indexed(def, index, column);
    let expression = column.expression().map(|number| &index.terms.expressions[number]);
    let Some(expression) = expression.filter(|_| ty == types::DataType::Bytea) else { return ty };
    match expression.keyed_column(&def.columns) {
        Some(ordinal) => def.columns[ordinal].ty,
        None if expression.collation().is_some() => types::DataType::Text,
        None => ty,
    }
}

/// The column of the table that a column of an index is, keys of its texts included.
fn indexed_column(def: &TableDef, index: &IndexMeta, column: &IndexColumn) -> Option<usize> {
    match column.expression() {
        Some(number) => index.terms.expressions[number].keyed_column(&def.columns),
        None => Some(column.ordinal),
    }
}

/// The number of the collation of a column of an index.
fn index_collation(def: &TableDef, index: &IndexMeta, column: &IndexColumn) -> i64 {
    let written = column.expression().and_then(|at| index.terms.expressions[at].collation());
    let written = written.and_then(|name| {
        let mut own = index.terms.collations.iter();
        let own = own.find(|(key, _)| *key == name.key()).map(|(_, known)| *known);
        own.or_else(|| types::Collation::named(&name.name))
    });
    let of_column = || indexed_column(def, index, column).and_then(|at| def.columns[at].collation);
    let usual = numbers::own_entry(indexed_type(def, index, column)).collation;
    written.or_else(of_column).map_or(usual, |known| i64::from(known.number()))
}

/// Name and type of a column of an index.
fn indexed<'d>(
    def: &'d TableDef,
    index: &'d IndexMeta,
    column: &IndexColumn,
) -> (&'d str, types::DataType) {
    match column.expression() {
        Some(number) => {
            let of = &index.terms.expressions[number];
            (&of.name, of.ty)
        }
        None => {
            let of = &def.columns[column.ordinal];
            (&of.name, of.ty)
        }
    }
}

/// The row of a column with the collation that it has.
fn with_collation(row: Row, column: &ColumnDef) -> Row {
    match column.collation {
        Some(collation) => row.number("attcollation", i64::from(collation.number())),
        None => row,
    }
}

/// The row of a column that is computed of nothing.
fn plain(row: Row) -> Row {
    row.text("attidentity", "").text("attgenerated", "")
}

/// A list of options; NULL when there are none.
fn options(list: &[String]) -> Value {
    let list: Vec<Value> = list.iter().map(|option| Value::text(option)).collect();
    if list.is_empty() {
        return Value::Null;
    }
    array::from_values(&list, ElementType::Text).unwrap_or(Value::Null)
}

/// The texts of a CHECK over a row.
pub(super) fn check_texts(
    subject: &Subject<'_>,
    rows: &[sql::deparse::Row<'_>],
    sql: &str,
) -> Texts {
    let texts = subject.texts(sql, rows, sql::deparse::Place::Condition);
    texts.unwrap_or_else(|| Texts::same(subject.text_shown(sql).into_owned()))
}

/// pg_attrdef.
pub(super) fn defaults(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let mut rows = Vec::new();
    for (name, entry) in &subject.state.tables {
        let rows_of = [row_of(&entry.def.name, &entry.def.columns)];
        for ordinal in 0..entry.def.columns.len() {
            let Some(text) = expression_of(&entry.def, ordinal) else { continue };
            let number = numbers::default(name, ordinal);
            let ty = column_type(&entry.def.columns[ordinal]);
            let texts = subject.default_texts(text, &rows_of, ty);
            let row = Row::default().number("oid", number).text("adbin", &texts.in_one());
            let relation = numbers.get(name).copied().unwrap_or(0);
            rows.push(row.number("adrelid", relation).number("adnum", ordinal as i64 + 1));
        }
    }
    for (name, view) in &subject.state.views {
        let relation = numbers.get(name).copied().unwrap_or(0);
        for (column, text) in &view.defaults {
            let place = view.output.iter().position(|(known, _)| known == column);
            let Some(ordinal) = place else { continue };
            let ty = type_number(view.output[ordinal].1);
            let texts = subject.default_texts(text, &[], ty);
            let number = numbers::default(name, ordinal);
            let row = Row::default().number("oid", number).text("adbin", &texts.in_one());
            rows.push(row.number("adrelid", relation).number("adnum", ordinal as i64 + 1));
        }
    }
    rows
}

/// True for the index of an exclusion constraint that is DEFERRABLE.
fn excludes_late(index: &IndexMeta) -> bool {
    index.terms.exclusion.as_ref().is_some_and(|exclusion| exclusion.deferral.is_deferrable())
}

/// The bits of `indoption` of a column.
fn order_option(column: &IndexColumn) -> i64 {
    let descending = i64::from(column.direction == Direction::Descending);
    descending | (i64::from(column.nulls == NullsOrder::First) << 1)
}

/// pg_index.
pub(super) fn index_rows(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let mut rows = Vec::new();
    for (name, entry) in &subject.state.tables {
        for index in entry.def.visible_indexes() {
            let primary = entry.def.keys.iter().any(|key| key.primary && key.name == index.name);
            let ty = |column: &IndexColumn| indexed_type(&entry.def, index, column);
            let class = |(position, column): (usize, &IndexColumn)| {
                index_classes::class_of(index, position, numbers::of_type(ty(column)).0)
            };
            let collation = |column: &IndexColumn| index_collation(&entry.def, index, column);
            let declared = index.declared().into_iter();
            let declared: Vec<_> = declared.map(|at| (at, &index.columns[at])).collect();
            let columns = || declared.iter().map(|(_, column)| *column);
            let classes: Vec<i64> = declared.iter().copied().map(class).collect();
            let collations: Vec<i64> = columns().map(collation).collect();
            let options: Vec<i64> = columns().map(order_option).collect();
            let place = |column: &IndexColumn| {
                indexed_column(&entry.def, index, column).map_or(0, |at| at as i64 + 1)
            };
            let included = index.terms.included.iter().map(|ordinal| *ordinal as i64 + 1);
            let places: Vec<i64> = columns().map(place).chain(included).collect();
            let others = columns().filter_map(|column| {
                let of_column = indexed_column(&entry.def, index, column);
                column.expression().filter(|_| of_column.is_none())
            });
            let texts = IndexTexts::new(subject, &entry.def, index);
            let others = others.map(|number| texts.expression(&index.terms.expressions[number]));
            let expressions: Vec<Texts> = others.collect();
            let definition = texts.definition();
            let is_unique = deferrable_key(&entry.def, index);
            let is_late = is_unique || excludes_late(index);
            let mut row = Row::default();
            if !expressions.is_empty() {
                row = row.text("indexprs", &Texts::joined(&expressions).in_one());
            }
            if let Some(predicate) = texts.predicate() {
                row = row.text("indpred", &predicate.in_one());
            }
            let row = row
                .number("indexrelid", number(&RelationName::key_beside(name, &index.name)))
                .number("indrelid", number(name))
                .number("indnatts", places.len() as i64)
                .number("indnkeyatts", index.columns.len() as i64)
                .flag("indisunique", index.unique != Uniqueness::No || is_unique)
                .flag("indnullsnotdistinct", index.unique == Uniqueness::NullsNotDistinct)
                .flag("indisprimary", primary)
                .flag("indisexclusion", index.excludes())
                .flag("indimmediate", !is_late)
                .flag("indisvalid", partitions::is_complete(entry, &index.name))
                .flag("indisready", true)
                .flag("indislive", true)
                .vector("indkey", ElementType::SmallInt, &places)
                .vector("indcollation", ElementType::Oid, &collations)
                .vector("indclass", ElementType::Oid, &classes)
                .vector("indoption", ElementType::SmallInt, &options)
                .text("indexdef", &definition.exact)
                .text("prettydef", &definition.pretty);
            rows.push(row);
        }
    }
    rows
}

/// Action of a foreign key: as `pg_constraint` has it, and in words; none for NO ACTION.
pub(super) fn action(action: ReferentialAction) -> (&'static str, &'static str) {
    match action {
        ReferentialAction::NoAction => ("a", ""),
        ReferentialAction::Restrict => ("r", "RESTRICT"),
        ReferentialAction::Cascade => ("c", "CASCADE"),
        ReferentialAction::SetNull => ("n", "SET NULL"),
        ReferentialAction::SetDefault => ("d", "SET DEFAULT"),
    }
}

fn foreign_key(subject: &Subject<'_>, def: &TableDef, key: &ForeignKeyDef) -> Row {
    let other = subject.state.tables.get(&key.table.name);
    let target = other.map(|other| names(&other.def, key.references.iter().copied()));
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({})",
        names(def, key.columns.iter().copied()),
        subject.shown(&key.table.name),
        target.unwrap_or_default()
    );
    text.push_str(key.matching.sql());
    for (when, what) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        if let (_, name @ ("RESTRICT" | "CASCADE" | "SET NULL" | "SET DEFAULT")) = action(what) {
            text.push_str(&format!(" ON {when} {name}"));
        }
    }
    text.push_str(key.deferral.sql());
    text.push_str(key.validity.sql());
    let list = |columns: &[usize]| ordinals(columns.iter().copied());
    Row::default()
        .text("contype", "f")
        .flag("condeferrable", key.deferral.is_deferrable())
        .flag("condeferred", key.deferral == Deferral::Deferred)
        .text("condef", &text)
        .text("conpretty", &text)
        .text("confupdtype", action(key.on_update).0)
        .text("confdeltype", action(key.on_delete).0)
        .text("confmatchtype", if key.matching == KeyMatch::Full { "f" } else { "s" })
        .list("conkey", ElementType::SmallInt, &list(&key.columns))
        .list("confkey", ElementType::SmallInt, &list(&key.references))
}

/// An exclusion constraint, but for what all constraints have.
fn exclusion(subject: &Subject<'_>, def: &TableDef, index: &IndexMeta) -> Row {
    let Some(exclusion) = &index.terms.exclusion else { return Row::default() };
    let texts = IndexTexts::new(subject, def, index).exclusion(exclusion);
    let columns = index.declared().into_iter().map(|at| index.columns[at]);
    let columns = columns.map(|column| match column.expression() {
        Some(_) => 0,
        None => column.ordinal as i64 + 1,
    });
    without_actions()
        .text("contype", "x")
        .flag("condeferrable", exclusion.deferral.is_deferrable())
        .flag("condeferred", exclusion.deferral == Deferral::Deferred)
        .text("condef", &texts.exact)
        .text("conpretty", &texts.pretty)
        .flag("connoinherit", true)
        .list("conkey", ElementType::SmallInt, &columns.collect::<Vec<_>>())
}

/// The name of the key that a foreign key refers to.
pub(super) fn referenced_key(subject: &Subject<'_>, key: &ForeignKeyDef) -> Option<String> {
    let other = subject.state.tables.get(&key.table.name)?;
    let is_meant = |columns: &[usize]| {
        columns.len() == key.references.len() && columns.iter().all(|c| key.references.contains(c))
    };
    let found = other.def.keys.iter().find(|other| is_meant(&other.columns))?;
    Some(RelationName::key_beside(&other.def.name, &found.name))
}

/// A constraint that is no foreign key.
pub(super) fn without_actions() -> Row {
    let row = Row::default().text("confupdtype", " ").text("confdeltype", " ");
    row.text("confmatchtype", " ")
}

/// The number of the key or foreign key of the table above that one of a partition is a part of.
fn above_of(subject: &Subject<'_>, place: &PartitionOf, name: &str) -> Option<i64> {
    let parent = &subject.state.tables.get(&place.parent)?.def;
    let of = match place.indexes.iter().find(|(_, own)| own == name) {
        Some((of, _)) if parent.keys.iter().any(|key| key.name == *of) => of,
        _ => &parent.foreign_keys.iter().find(|key| key.name == name)?.name,
    };
    Some(numbers::constraint(&parent.name, of))
}

/// A CHECK, but for what all constraints have.
fn check_row(def: &TableDef, check: &CheckDef, condition: &Texts) -> Row {
    let texts = Texts::of(|form| {
        let (scope, validity) = (check.scope.sql(), check.validity.sql());
        format!("CHECK ({}){scope}{validity}", condition.text(form))
    });
    let read = sql::names_in(&check.sql);
    let read = read.iter().filter_map(|name| def.columns.iter().position(|c| c.name == *name));
    without_actions()
        .list("conkey", ElementType::SmallInt, &ordinals(read))
        .text("contype", "c")
        .text("condef", &texts.exact)
        .text("conpretty", &texts.pretty)
        .text("conbin", &condition.in_one())
        .flag("connoinherit", check.scope == CheckScope::Alone)
}

/// pg_constraint.
pub(super) fn constraints(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let mut rows = Vec::new();
    for (table, entry) in &subject.state.tables {
        let def = &entry.def;
        let parent = def.partition_of.as_ref();
        let inherited = families::checks(subject.state, def);
        let mut add = |name: &str, validity: Validity, row: Row| {
            let above = parent.and_then(|place| above_of(subject, place, name));
            let of_above = i64::from(above.is_some());
            let inherited = inherited.get(name).copied().unwrap_or(of_above);
            let is_own = !(parent.is_some() && inherited > 0
                || def.inheritance.checks.iter().any(|known| known == name));
            let row = row
                .number("conparentid", above.unwrap_or(0))
                .number("oid", numbers::constraint(table, name))
                .text("conname", name)
                .number("connamespace", numbers::schema(RelationName::schema_of_key(table)))
                .number("conrelid", number(table))
                .flag("convalidated", validity == Validity::Valid)
                .flag("conislocal", is_own)
                .number("coninhcount", inherited);
            rows.push(row);
        };
        for key in &def.keys {
            let columns = names(def, key.columns.iter().copied());
            let (kind, what) = match (key.primary, key.nulls) {
                (true, _) => ("p", "PRIMARY KEY"),
                (false, KeyNulls::Distinct) => ("u", "UNIQUE"),
                (false, KeyNulls::NotDistinct) => ("u", "UNIQUE NULLS NOT DISTINCT"),
            };
            let list = ordinals(key.columns.iter().copied());
            let row = without_actions().text("contype", kind);
            let row = row.list("conkey", ElementType::SmallInt, &list);
            let index = RelationName::key_beside(table, &key.name);
            let row = row.number("conindid", number(&index));
            let included = included_text(def, &key.included);
            let text = format!("{what} ({columns}){included}{}", key.deferral.sql());
            let row = row.flag("condeferrable", key.deferral.is_deferrable());
            let row = row.flag("condeferred", key.deferral == Deferral::Deferred);
            let row = row.text("condef", &text).text("conpretty", &text);
            let row = row.flag("connoinherit", true);
            add(&key.name, Validity::Valid, row);
        }
        for index in def.indexes.iter().filter(|index| index.excludes()) {
            let row = exclusion(subject, def, index);
            let number = number(&RelationName::key_beside(table, &index.name));
            add(&index.name, Validity::Valid, row.number("conindid", number));
        }
        let rows_of = [row_of(&def.name, &def.columns)];
        for check in &def.checks {
            let row = check_row(def, check, &check_texts(subject, &rows_of, &check.sql));
            add(&check.name, check.validity, row);
        }
        for key in &def.foreign_keys {
            let row = foreign_key(subject, def, key).number("confrelid", number(&key.table.name));
            let index = referenced_key(subject, key).map_or(0, |key| number(&key));
            let row = row.number("conindid", index).flag("connoinherit", true);
            add(&key.name, key.validity, row);
        }
    }
    rows
}

/// pg_sequence.
pub(super) fn sequences(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let row = |(name, sequence): (&String, &std::sync::Arc<catalog::Sequence>)| {
        let (def, value) = (&sequence.def, *sequence.value.lock());
        let row = Row::default();
        let row = row.set("last", if value.called { Value::I64(value.last) } else { Value::Null });
        let row = match &sequence.owner {
            Some((table, column)) => {
                let row = row.text("owner_table", &full_name(table));
                row.text("owner_shown", &subject.shown(table)).text("owner_column", column)
            }
            None => row,
        };
        row.text("name", &full_name(name))
            .number("seqrelid", numbers.get(name).copied().unwrap_or(0))
            .number("seqtypid", numbers::of_type(def.ty).0)
            .number("seqstart", def.start)
            .number("seqincrement", def.increment)
            .number("seqmax", def.max)
            .number("seqmin", def.min)
            .number("seqcache", def.cache)
            .set("seqcycle", Value::Bool(def.wrap == sql::catalog::SequenceWrap::Cycle))
    };
    subject.state.sequences.iter().map(row).collect()
}
