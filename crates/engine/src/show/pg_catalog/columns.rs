//! The information schema.

use catalog::TableDef;
use catalog::user_types::{composite_in, enum_in};
use sql::catalog::{Deferral, Identity, IdentityKind};
use sql::statement::{Persistence, RelationName};
use types::{DataType, EnumType, IntervalForm, NumericDisplay, PackedType, RangeKind, Value};

use super::deparsed::{column_type, row_of, type_number};
use super::{Row, SYSTEM_SCHEMAS, Subject, domains, numbers, relations, updatable};

pub(super) const DATABASE: &str = "tessera";

/// The rows of a table of the information schema; none of any other table.
pub(super) fn rows(name: &str, subject: &Subject<'_>) -> Vec<Row> {
    match name {
        "information_schema.schemata" => {
            let row =
                |(_, name)| Row::default().text("catalog_name", DATABASE).text("schema_name", name);
            SYSTEM_SCHEMAS.into_iter().chain(subject.schemas()).map(row).collect()
        }
        "information_schema.tables" => tables(subject),
        "information_schema.columns" => columns(subject),
        "information_schema.views" => views(subject),
        "information_schema.table_constraints" => constraints(subject),
        "information_schema.key_column_usage" => key_columns(subject),
        "information_schema.constraint_column_usage" => used_columns(subject),
        "information_schema.referential_constraints" => references(subject),
        "information_schema.check_constraints" => checks(subject),
        "information_schema.sequences" => sequences(subject),
        "information_schema.character_sets" => vec![
            Row::default()
                .text("character_set_name", "UTF8")
                .text("character_repertoire", "UCS")
                .text("form_of_use", "UTF8")
                .text("default_collate_catalog", DATABASE)
                .text("default_collate_schema", "pg_catalog")
                .text("default_collate_name", "C"),
        ],
        "information_schema.information_schema_catalog_name" => {
            vec![Row::default().text("catalog_name", DATABASE)]
        }
        "information_schema.constraint_table_usage" => used_tables(subject),
        "information_schema.view_table_usage" => tables_of_views(subject),
        name => domains::rows(name, subject).unwrap_or_default(),
    }
}

/// A row with the name of a relation.
pub(super) fn placed(name: &str) -> Row {
    let row = Row::default().text("table_catalog", DATABASE);
    let row = row.text("table_schema", RelationName::schema_of_key(name));
    row.text("table_name", RelationName::name_of_key(name))
}

fn tables(subject: &Subject<'_>) -> Vec<Row> {
    let table = |name: &String| {
        let is_temporary = subject.state.persistence_of(name) == Some(Persistence::Temporary);
        let kind = if is_temporary { "LOCAL TEMPORARY" } else { "BASE TABLE" };
        let row = placed(name).text("table_type", kind).text("is_typed", "NO");
        row.text("is_insertable_into", "YES")
    };
    let view = |name: &String| {
        let row = placed(name).text("table_type", "VIEW").text("is_typed", "NO");
        row.text("is_insertable_into", yes(updatable::events(subject, name) & 8 != 0))
    };
    let tables = subject.state.plain_tables().map(|(name, _)| name).map(table);
    tables.chain(subject.state.views.keys().map(view)).collect()
}

/// The key in the catalog of a type that users made, domains apart.
fn key_of_users(ty: DataType) -> Option<&'static str> {
    match ty {
        DataType::Packed(PackedType::Multirange(RangeKind::User(ty))) => Some(&ty.multirange().key),
        DataType::Packed(PackedType::Range(RangeKind::User(ty))) => Some(&ty.range().key),
        ty => enum_in(ty).map(EnumType::key).or_else(|| composite_in(ty)?.key()),
    }
}

/// The row of a column of type `ty` of a relation.
pub(super) fn column(table: &str, name: &str, ty: DataType, ordinal: usize) -> Row {
    let entry = numbers::own_entry(ty);
    let (udt_schema, udt_name) = match key_of_users(ty.element().unwrap_or(ty)) {
        None => ("pg_catalog", entry.name.into()),
        Some(key) => {
            let name = RelationName::name_of_key(key);
            let name = if ty.is_array() { format!("_{name}").into() } else { name.into() };
            (RelationName::schema_of_key(key), name)
        }
    };
    let udt_name: std::borrow::Cow<'_, str> = udt_name;
    let row = placed(table)
        .text("column_name", name)
        .number("ordinal_position", ordinal as i64 + 1)
        .text("dtd_identifier", &(ordinal + 1).to_string())
        .text("data_type", if ty.is_array() { "ARRAY" } else { entry.formatted })
        .text("udt_catalog", DATABASE)
        .text("udt_schema", udt_schema)
        .text("udt_name", &udt_name)
        .text("is_self_referencing", "NO")
        .text("is_identity", "NO")
        .text("identity_cycle", "NO");
    // A name is compared by its bytes.
    let row = match ty {
        DataType::Name => row
            .text("collation_catalog", DATABASE)
            .text("collation_schema", "pg_catalog")
            .text("collation_name", "C"),
        _ => row,
    };
    let precision = |bits: i64, radix: i64, row: Row| {
        row.number("numeric_precision", bits).number("numeric_precision_radix", radix)
    };
    let whole = |bits: i64, row: Row| precision(bits, 2, row).number("numeric_scale", 0);
    match ty {
        DataType::SmallInt => whole(16, row),
        DataType::Integer => whole(32, row),
        DataType::BigInt => whole(64, row),
        DataType::Real => precision(24, 2, row),
        DataType::Double => precision(53, 2, row),
        ty if ty.is_numeric() => match numeric_digits(ty) {
            Some((digits, scale)) => precision(digits, 10, row).number("numeric_scale", scale),
            None => row.number("numeric_precision_radix", 10),
        },
        DataType::Char(n @ 1..) | DataType::Varchar(Some(n)) => {
            let row = row.number("character_maximum_length", n.into());
            row.number("character_octet_length", (i64::from(n) * 4).min(OCTETS_MAX))
        }
        DataType::Text | DataType::Varchar(None) => {
            row.number("character_octet_length", OCTETS_MAX)
        }
        DataType::Date => row.number("datetime_precision", 0),
        DataType::Time(digits) | DataType::Timestamp(digits) | DataType::TimestampTz(digits) => {
            row.number("datetime_precision", digits.unwrap_or(6).into())
        }
        DataType::Packed(PackedType::TimeTz(digits)) => {
            row.number("datetime_precision", digits.unwrap_or(6).into())
        }
        DataType::Packed(PackedType::Bit(Some(bits)) | PackedType::VarBit(Some(bits))) => {
            row.number("character_maximum_length", bits.into())
        }
        DataType::Interval(form) => with_interval(row, form),
        _ => row,
    }
}

/// The row of a column of type INTERVAL, with its fields and digits.
fn with_interval(row: Row, form: Option<IntervalForm>) -> Row {
    let digits = form.and_then(|form| form.digits);
    let row = row.number("datetime_precision", digits.unwrap_or(6).into());
    match form.filter(|form| form.fields.is_some()) {
        Some(form) => {
            let fields = form.to_string().to_ascii_uppercase();
            row.text("interval_type", fields.trim_start())
        }
        None => row,
    }
}

/// The most bytes of a text, as PostgreSQL says it.
const OCTETS_MAX: i64 = 1 << 30;

/// The precision and the scale of a NUMERIC that has them.
fn numeric_digits(ty: DataType) -> Option<(i64, i64)> {
    match ty {
        DataType::Numeric(n) if n.display == NumericDisplay::Fixed => {
            Some((n.precision.into(), n.scale.into()))
        }
        DataType::WideNumeric(Some(digits)) => Some((digits.precision.into(), digits.scale.into())),
        _ => None,
    }
}

/// How the sequence of an identity column counts.
fn with_identity(row: Row, subject: &Subject<'_>, identity: &Identity) -> Row {
    let row = row.text("is_identity", "YES").text(
        "identity_generation",
        match identity.kind {
            IdentityKind::Always => "ALWAYS",
            IdentityKind::ByDefault => "BY DEFAULT",
        },
    );
    let Some(sequence) = subject.state.sequences.get(&identity.sequence.key()) else { return row };
    let def = &sequence.def;
    row.text("identity_start", &def.start.to_string())
        .text("identity_increment", &def.increment.to_string())
        .text("identity_maximum", &def.max.to_string())
        .text("identity_minimum", &def.min.to_string())
        .text("identity_cycle", yes(def.wrap == sql::catalog::SequenceWrap::Cycle))
}

fn yes(is: bool) -> &'static str {
    if is { "YES" } else { "NO" }
}

fn columns(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, entry) in subject.state.plain_tables() {
        let def = &entry.def;
        let rows_of = [row_of(name, &def.columns)];
        for (ordinal, of) in def.columns.iter().enumerate() {
            let identity = def.identities.iter().find(|(column, _)| *column == ordinal);
            let row = column(name, &of.name, of.ty, ordinal);
            let mut row = domains::with_domain(subject, row, of);
            if let Some((_, identity)) = identity {
                row = with_identity(row, subject, identity);
            }
            let row = row.text("is_nullable", yes(!of.not_null)).text("is_updatable", "YES");
            let row = match &of.generated {
                Some(expr) => {
                    let ty = column_type(of);
                    let texts = subject.default_texts(expr, &rows_of, ty);
                    row.text("is_generated", "ALWAYS").text("generation_expression", &texts.exact)
                }
                None => row.text("is_generated", "NEVER"),
            };
            rows.push(match relations::default_of(def, ordinal) {
                Some(default) => {
                    let ty = column_type(of);
                    let texts = subject.default_texts(default, &rows_of, ty);
                    row.text("column_default", &texts.exact)
                }
                None => row,
            });
        }
    }
    for (name, view) in &subject.state.views {
        let written = updatable::columns(subject, name).unwrap_or_default();
        for (ordinal, (of, ty)) in view.output.iter().enumerate() {
            let mut row = column(name, of, *ty, ordinal).text("is_nullable", "YES");
            if let Some((_, default)) = view.defaults.iter().find(|(known, _)| known == of) {
                let ty = type_number(*ty);
                row = row.text("column_default", &subject.default_texts(default, &[], ty).exact);
            }
            let is_written = written.get(ordinal) == Some(&true);
            rows.push(row.text("is_updatable", yes(is_written)).text("is_generated", "NEVER"));
        }
    }
    rows
}

fn views(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(name, view): (&String, &catalog::View)| {
        let query = relations::view_texts(subject, name, view).exact;
        let events = updatable::events(subject, name);
        let check = view.option("check_option").map(str::to_uppercase);
        let row = placed(name).text("view_definition", &query);
        let row = row.text("is_updatable", yes(events & 20 == 20));
        let row = row.text("check_option", check.as_deref().unwrap_or("NONE"));
        let row = row.text("is_insertable_into", yes(events & 8 != 0));
        let row = row.text("is_trigger_updatable", "NO").text("is_trigger_deletable", "NO");
        row.text("is_trigger_insertable_into", "NO")
    };
    subject.state.views.iter().map(row).collect()
}

/// `row` with the name of a constraint of the table that the catalog calls `table`.
fn with_constraint(row: Row, table: &str, name: &str) -> Row {
    let row = row.text("constraint_catalog", DATABASE);
    let row = row.text("constraint_schema", RelationName::schema_of_key(table));
    row.text("constraint_name", name)
}

fn constrained(def: &TableDef, name: &str) -> Row {
    with_constraint(placed(&def.name), &def.name, name)
}

fn constraints(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in subject.state.tables.values() {
        let def = &entry.def;
        let mut add = |name: &str, kind: &str, deferral: Deferral| {
            let row = constrained(def, name).text("constraint_type", kind);
            rows.push(
                row.text("is_deferrable", yes(deferral.is_deferrable()))
                    .text("initially_deferred", yes(deferral == Deferral::Deferred))
                    .text("enforced", "YES"),
            );
        };
        for key in &def.keys {
            let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
            add(&key.name, kind, key.deferral);
        }
        def.checks.iter().for_each(|check| add(&check.name, "CHECK", Deferral::Never));
        def.foreign_keys.iter().for_each(|key| add(&key.name, "FOREIGN KEY", key.deferral));
    }
    rows
}

fn key_columns(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in subject.state.tables.values() {
        let def = &entry.def;
        let keys = def.keys.iter().map(|key| (&key.name, &key.columns, false));
        let foreign = def.foreign_keys.iter().map(|key| (&key.name, &key.columns, true));
        for (name, columns, is_foreign) in keys.chain(foreign) {
            for (position, ordinal) in columns.iter().enumerate() {
                let place = position as i64 + 1;
                let row = constrained(def, name)
                    .text("column_name", &def.columns[*ordinal].name)
                    .number("ordinal_position", place);
                rows.push(if is_foreign {
                    row.number("position_in_unique_constraint", place)
                } else {
                    row.set("position_in_unique_constraint", Value::Null)
                });
            }
        }
    }
    rows
}

/// The columns of a table's keys, and those that foreign keys refer to.
fn used_columns(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in subject.state.tables.values() {
        let def = &entry.def;
        let mut add = |of: &TableDef, columns: &[usize], constraint: &str| {
            for ordinal in columns {
                let row = placed(&of.name).text("column_name", &of.columns[*ordinal].name);
                rows.push(with_constraint(row, &def.name, constraint));
            }
        };
        for key in &def.keys {
            add(def, &key.columns, &key.name);
        }
        for key in &def.foreign_keys {
            if let Some(other) = subject.state.tables.get(&key.table.key()) {
                add(&other.def, &key.references, &key.name);
            }
        }
    }
    rows
}

/// The tables of keys, and those that foreign keys refer to.
fn used_tables(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in subject.state.tables.values() {
        let def = &entry.def;
        let keys = def.keys.iter().map(|key| (def.name.clone(), &key.name));
        let foreign = def.foreign_keys.iter().map(|key| (key.table.key(), &key.name));
        for (table, name) in keys.chain(foreign) {
            rows.push(with_constraint(placed(&table), &def.name, name));
        }
    }
    rows
}

/// The relations that views read.
fn tables_of_views(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, view) in &subject.state.views {
        for read in view.depends_on.iter().filter(|read| subject.state.contains(read)) {
            let row = placed(read).text("view_catalog", DATABASE);
            let row = row.text("view_schema", RelationName::schema_of_key(name));
            rows.push(row.text("view_name", RelationName::name_of_key(name)));
        }
    }
    rows
}

fn references(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in subject.state.tables.values() {
        for key in &entry.def.foreign_keys {
            let rule = |action| match relations::action(action).1 {
                "" => "NO ACTION",
                rule => rule,
            };
            let row = with_constraint(Row::default(), &entry.def.name, &key.name)
                .text("match_option", "NONE")
                .text("update_rule", rule(key.on_update))
                .text("delete_rule", rule(key.on_delete));
            rows.push(match relations::referenced_key(subject, key) {
                Some(unique) => row
                    .text("unique_constraint_catalog", DATABASE)
                    .text("unique_constraint_schema", RelationName::schema_of_key(&unique))
                    .text("unique_constraint_name", RelationName::name_of_key(&unique)),
                None => row,
            });
        }
    }
    rows
}

fn checks(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in subject.state.tables.values() {
        let rows_of = [row_of(&entry.def.name, &entry.def.columns)];
        for check in &entry.def.checks {
            let row = with_constraint(Row::default(), &entry.def.name, &check.name);
            let texts = relations::check_texts(subject, &rows_of, &check.sql);
            rows.push(row.text("check_clause", &format!("({})", texts.exact)));
        }
    }
    rows.extend(domains::checks(subject));
    rows
}

fn sequences(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(name, sequence): (&String, &std::sync::Arc<catalog::Sequence>)| {
        let def = &sequence.def;
        let cycles = def.wrap == sql::catalog::SequenceWrap::Cycle;
        Row::default()
            .text("sequence_catalog", DATABASE)
            .text("sequence_schema", RelationName::schema_of_key(name))
            .text("sequence_name", RelationName::name_of_key(name))
            .text("data_type", def.ty.name().as_ref())
            .number("numeric_precision", numbers::own_entry(def.ty).bytes * 8)
            .number("numeric_precision_radix", 2)
            .number("numeric_scale", 0)
            .text("start_value", &def.start.to_string())
            .text("minimum_value", &def.min.to_string())
            .text("maximum_value", &def.max.to_string())
            .text("increment", &def.increment.to_string())
            .text("cycle_option", if cycles { "YES" } else { "NO" })
    };
    let tables = subject.state.tables.values();
    let identities = tables.flat_map(|table| &table.def.identities);
    let identities: Vec<String> = identities.map(|(_, identity)| identity.sequence.key()).collect();
    let own = subject.state.sequences.iter().filter(|(name, _)| !identities.contains(name));
    own.map(row).collect()
}
