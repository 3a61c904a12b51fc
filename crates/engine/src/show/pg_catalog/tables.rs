//! Rows of each table of the catalog.
use catalog::State;
use catalog::comments::Commented;
use catalog::databases::DatabaseDef;
use catalog::numbers as catalog_numbers;
use catalog::predefined;
use catalog::rights::Object;
use sql::catalog::UserType;
use sql::statement::{ALWAYS_THERE, Privilege, Privileges, RelationName};
use types::Value;

use super::index_texts::IndexTexts;
use super::{
    Row, SYSTEM_SCHEMAS, Subject, activity, catalogs, collations, columns, counts, depends,
    domains, extensions, index_classes, numbers, partitions, policies, programs, ranges, relations,
    rights, routines, stats, triggers, two_phase,
};
use crate::Database;
use crate::words::settings::{Settings, shown_name};

/// The rows of the table `name`, which is written with its schema.
pub(super) fn rows(name: &str, subject: &Subject<'_>) -> Vec<Row> {
    match name {
        "pg_catalog.pg_namespace" => namespaces(subject),
        "pg_catalog.tessera_search_path" => search_path(subject),
        "pg_catalog.pg_class" => relations::classes(subject),
        "pg_catalog.pg_attribute" => relations::attributes(subject),
        "pg_catalog.pg_attrdef" => relations::defaults(subject),
        "pg_catalog.pg_index" => relations::index_rows(subject),
        "pg_catalog.pg_partitioned_table" => partitions::partitioned(subject),
        "pg_catalog.pg_inherits" => partitions::inherits(subject),
        "pg_catalog.pg_constraint" => relations::constraints(subject)
            .into_iter()
            .chain(domains::constraints(subject))
            .chain(triggers::constraints(subject))
            .collect(),
        "pg_catalog.pg_sequence" => relations::sequences(subject),
        "pg_catalog.pg_type" => {
            let own = own_types(subject).into_iter().chain(extensions::types(subject));
            row_types(subject).into_iter().chain(own).collect()
        }
        "pg_catalog.pg_collation" => collations::rows(subject),
        "pg_catalog.pg_proc" => routines::rows(subject),
        "pg_catalog.pg_aggregate" => routines::aggregates(subject),
        "pg_catalog.pg_enum" => labels(subject),
        "pg_catalog.pg_range" => ranges::rows(subject),
        "pg_catalog.pg_roles" => roles(subject),
        "pg_catalog.pg_user" => users(subject),
        "pg_catalog.pg_database" => databases(subject),
        "pg_catalog.pg_am" => methods(subject),
        "pg_catalog.pg_opclass" => {
            index_classes::rows(subject).into_iter().chain(extensions::classes(subject)).collect()
        }
        "pg_catalog.pg_opfamily" => extensions::families(subject),
        "pg_catalog.pg_tablespace" => tablespaces(subject),
        "pg_catalog.pg_description" => comments(subject),
        "pg_catalog.pg_shdescription" => shared_comments(subject),
        "pg_catalog.pg_settings" => settings(subject),
        "pg_catalog.pg_tables" => tables(subject),
        "pg_catalog.pg_views" => views(subject),
        "pg_catalog.pg_matviews" => materialized(subject),
        "pg_catalog.pg_policy" => policies::policies(subject),
        "pg_catalog.pg_policies" => policies::shown(subject),
        "pg_catalog.pg_trigger" => triggers::rows(subject),
        "pg_catalog.pg_indexes" => indexes(subject),
        "pg_catalog.pg_stats" => stats::rows(subject),
        "pg_catalog.pg_stat_activity" => activity::sessions(subject),
        "pg_catalog.pg_locks" => activity::locks(subject),
        "pg_catalog.pg_prepared_xacts" => two_phase::prepared(subject),
        "pg_catalog.tessera_queries" => activity::queries(subject),
        "pg_catalog.tessera_work_orders" => activity::work_orders(subject),
        "pg_catalog.tessera_operators" => activity::operators(subject),
        "pg_catalog.pg_auth_members" => rights::members(subject),
        "pg_catalog.tessera_privileges" => rights::privileges(subject),
        "pg_catalog.tessera_members" => rights::closures(subject),
        "pg_catalog.pg_cursors" => cursors(subject),
        "pg_catalog.pg_authid" => authid(subject),
        "pg_catalog.pg_db_role_setting" => role_settings(subject),
        "pg_catalog.pg_depend" => depends::rows(subject),
        "pg_catalog.pg_rewrite" => depends::rules(subject),
        "pg_catalog.pg_default_acl" => rights::defaults(subject),
        "pg_catalog.tessera_column_privileges" => rights::column_privileges(subject),
        "pg_catalog.tessera_usual_rights" => rights::usual(subject),
        name => rows_of_information(name, subject),
    }
}

/// As [`rows`]: tables about rights and programs in `information_schema`, and the others.
fn rows_of_information(name: &str, subject: &Subject<'_>) -> Vec<Row> {
    match name {
        "pg_catalog.tessera_catalogs" => {
            let row = |(name, number, _): &(&str, i64, &str)| {
                Row::default().text("name", name).number("oid", *number)
            };
            catalogs::CATALOGS.iter().map(row).collect()
        }
        "information_schema.table_privileges" => rights::granted(subject, rights::Public::Shown),
        "information_schema.role_table_grants" => rights::granted(subject, rights::Public::Hidden),
        "information_schema.column_privileges" => {
            rights::granted_columns(subject, rights::Public::Shown)
        }
        "information_schema.role_column_grants" => {
            rights::granted_columns(subject, rights::Public::Hidden)
        }
        "information_schema.collations" => collations::shown(subject),
        "information_schema.collation_character_set_applicability" => {
            collations::applicable(subject)
        }
        "information_schema.enabled_roles" => rights::enabled(subject),
        "information_schema.applicable_roles" => rights::applicable(subject),
        "information_schema.triggers" => triggers::shown(subject),
        "information_schema.routines" => programs::routines(subject),
        "information_schema.parameters" => programs::parameters(subject),
        name => counts::rows(name, subject).unwrap_or_else(|| columns::rows(name, subject)),
    }
}

/// pg_description.
fn comments(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let row = |class: &str, object: i64, part: usize, text: &str| {
        Row::default()
            .number("objoid", object)
            .number("classoid", catalogs::number(class))
            .number("objsubid", part as i64)
            .text("description", text)
            .text("class", class)
    };
    let of = |(on, text): (&Commented, &String)| match on {
        Commented::Relation(name) => Some(row("pg_class", *numbers.get(name)?, 0, text)),
        Commented::Column(relation, column) => {
            let place = subject.state.column_place(relation, column)?;
            Some(row("pg_class", *numbers.get(relation)?, place + 1, text))
        }
        Commented::Constraint(table, name) => {
            Some(row("pg_constraint", numbers::constraint(table, name), 0, text))
        }
        Commented::Schema(name) => Some(row("pg_namespace", numbers::schema(name), 0, text)),
        Commented::Type(key) => {
            let number = i64::from(subject.state.types.get(key)?.number());
            Some(row("pg_type", number, 0, text))
        }
        Commented::Extension(name) => Some(row("pg_extension", numbers::extension(name), 0, text)),
        Commented::Collation(key) => {
            let number = i64::from(subject.state.collations.get(key)?.collation.number());
            Some(row("pg_collation", number, 0, text))
        }
        Commented::Trigger(table, name) => {
            Some(row("pg_trigger", numbers::trigger(table, name), 0, text))
        }
        Commented::Routine(key) => {
            let number = i64::from(subject.state.routines.get(key)?.number);
            Some(row("pg_proc", number, 0, text))
        }
        Commented::LargeObject(number) => Some(row("pg_largeobject", i64::from(*number), 0, text)),
        Commented::Database | Commented::Role(_) => None,
    };
    let comments = &subject.state.comments;
    // The one that every database has says what it is, unless somebody says otherwise.
    let usual = (Commented::Extension(ALWAYS_THERE.to_owned()), extensions::usual_comment());
    let own = (!comments.contains_key(&usual.0)).then_some((&usual.0, &usual.1));
    comments.iter().chain(own).filter_map(of).collect()
}

/// pg_shdescription.
fn shared_comments(subject: &Subject<'_>) -> Vec<Row> {
    let row = |class: &str, object: i64, text: &str| {
        Row::default()
            .number("objoid", object)
            .number("classoid", catalogs::number(class))
            .text("description", text)
            .text("class", class)
    };
    let of = |(on, text): (&Commented, &String)| match on {
        Commented::Database => Some(row("pg_database", subject.database_number(), text)),
        Commented::Role(name) => Some(row("pg_authid", numbers::role(name), text)),
        _ => None,
    };
    subject.state.comments.iter().filter_map(of).collect()
}

fn namespaces(subject: &Subject<'_>) -> Vec<Row> {
    let row =
        |(number, name): (i64, &str)| Row::default().number("oid", number).text("nspname", name);
    let system = SYSTEM_SCHEMAS.into_iter().map(row);
    let own = subject.schemas().map(|(number, name)| {
        let object = Object::Schema(name.to_owned());
        row((number, name))
            .number("nspowner", numbers::role(&subject.owner_of(&object)))
            .set("nspacl", rights::list(subject, &object))
    });
    let temporary = subject
        .state
        .has_temporary()
        .then(|| row((numbers::schema("pg_temp"), "pg_temp")).number("nspowner", subject.owner()));
    let system = system.map(|row| row.number("nspowner", subject.owner()));
    system.chain(own).chain(temporary).collect()
}

/// The types of rows of tables and views.
fn row_types(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let row = |key: &String| {
        Row::default()
            .number("oid", i64::from(catalog_numbers::row_type(key)))
            .text("typname", RelationName::name_of_key(key))
            .number("typnamespace", numbers::schema(RelationName::schema_of_key(key)))
            .number("typowner", subject.owner_of_relation(key))
            .number("typlen", -1)
            .text("typtype", "c")
            .text("typcategory", "C")
            .flag("typisdefined", true)
            .text("typdelim", ",")
            .number("typrelid", numbers.get(key).copied().unwrap_or(0))
            .text("typinput", "record_in")
            .text("typoutput", "record_out")
            .text("typreceive", "record_recv")
            .text("typsend", "record_send")
            .number("typtypmod", -1)
            .text("typalign", "d")
            .text("typstorage", "x")
            .text("formatted", &subject.shown(key))
    };
    subject.state.tables.keys().chain(subject.state.views.keys()).map(row).collect()
}

/// The types that users made, and those of arrays of them.
fn own_types(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, ty) in &subject.state.types {
        let (name, object) = (RelationName::name_of_key(key), Object::Type(key.clone()));
        let (shown, array) = (subject.seen().shown_type(key), ty.array_number());
        let is_visible = subject.seen().is_visible_type(key);
        let row = |number: u32, name: &str| {
            Row::default()
                .number("oid", i64::from(number))
                .text("typname", name)
                .number("typnamespace", numbers::schema(RelationName::schema_of_key(key)))
                .number("typowner", numbers::role(&subject.owner_of(&object)))
                .flag("typisdefined", true)
                .flag("hidden", !is_visible)
                .text("typdelim", ",")
                .number("typtypmod", -1)
                .text("typalign", "i")
        };
        let of_type = row(ty.number(), name)
            .number("typarray", i64::from(array))
            .set("typacl", rights::list(subject, &object))
            .text("formatted", &shown);
        let of_type = match ty {
            UserType::Enum(_) => of_type
                .number("typlen", 4)
                .flag("typbyval", true)
                .text("typtype", "e")
                .text("typcategory", "E")
                .text("typinput", "enum_in")
                .text("typoutput", "enum_out")
                .text("typreceive", "enum_recv")
                .text("typsend", "enum_send")
                .text("typstorage", "p"),
            UserType::Domain(domain) => domains::type_row(subject, of_type, *domain),
            UserType::Composite(_) => of_type
                .number("typlen", -1)
                .text("typtype", "c")
                .text("typcategory", "C")
                .number("typrelid", numbers::composite(key))
                .text("typinput", "record_in")
                .text("typoutput", "record_out")
                .text("typreceive", "record_recv")
                .text("typsend", "record_send")
                .text("typalign", "d")
                .text("typstorage", "x"),
            UserType::Range(_) | UserType::Multirange(_) => ranges::type_row(of_type, ty),
        };
        let of_array = row(array, &format!("_{name}"))
            .number("typlen", -1)
            .text("typtype", "b")
            .text("typcategory", "A")
            .text("typsubscript", "array_subscript_handler")
            .number("typelem", i64::from(ty.number()))
            .text("typinput", "array_in")
            .text("typoutput", "array_out")
            .text("typreceive", "array_recv")
            .text("typsend", "array_send")
            .text("typanalyze", "array_typanalyze")
            .text("typstorage", "x")
            .text("formatted", &format!("{shown}[]"));
        rows.extend([of_type, of_array]);
    }
    rows
}

/// pg_enum.
fn labels(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, ty) in &subject.state.types {
        let UserType::Enum(ty) = ty else { continue };
        for (at, label) in ty.labels().iter().enumerate() {
            let row = Row::default()
                .number("oid", numbers::label(key, label.position))
                .number("enumtypid", i64::from(ty.number()))
                .number("enumsortorder", at as i64 + 1)
                .text("enumlabel", &label.text);
            rows.push(row);
        }
    }
    rows
}

fn role_row(name: &str, role: &crate::Role) -> Row {
    Row::default()
        .number("oid", numbers::role(name))
        .text("rolname", name)
        .flag("rolsuper", role.is_superuser)
        .flag("rolinherit", role.inherits)
        .flag("rolcreaterole", role.can_create_roles)
        .flag("rolcanlogin", role.can_login)
        .flag("rolcreatedb", role.can_create_databases)
        .flag("rolreplication", role.can_replicate)
        .flag("rolbypassrls", role.bypasses_policies)
        .number("rolconnlimit", role.connections_max.unwrap_or(-1))
        .set("rolvaliduntil", role.valid_until.map_or(Value::Null, Value::I64))
}

/// Settings that sessions of the role start with, `name=value`; NULL when there are none.
fn with_settings(row: Row, column: &'static str, role: &crate::Role) -> Row {
    let setting = |(name, value): &(String, String)| format!("{name}={value}");
    let settings: Vec<String> = role.settings.iter().map(setting).collect();
    if settings.is_empty() { row } else { row.texts(column, &settings) }
}

/// pg_db_role_setting.
fn role_settings(subject: &Subject<'_>) -> Vec<Row> {
    let roles = subject.roles().into_iter().filter(|(_, role)| !role.settings.is_empty());
    let row = |(name, role): (String, crate::Role)| {
        with_settings(Row::default().number("setrole", numbers::role(&name)), "setconfig", &role)
    };
    roles.map(row).collect()
}

/// All roles, those that every database has too.
fn all_roles(subject: &Subject<'_>) -> Vec<(String, crate::Role)> {
    let mut roles = subject.roles();
    let own = predefined::ROLES.iter().map(|role| role.name.to_owned());
    roles.extend(own.map(|name| (name, crate::Role::default())));
    roles
}

/// pg_roles.
fn roles(subject: &Subject<'_>) -> Vec<Row> {
    let roles = all_roles(subject);
    let row = |(name, role): &(String, crate::Role)| {
        with_settings(role_row(name, role), "rolconfig", role).text("rolpassword", "********")
    };
    roles.iter().map(row).collect()
}

/// pg_authid, with what is kept of passwords.
fn authid(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(name, role): &(String, crate::Role)| match &role.password {
        Some(kept) => role_row(name, role).text("rolpassword", kept),
        None => role_row(name, role),
    };
    all_roles(subject).iter().map(row).collect()
}

fn users(subject: &Subject<'_>) -> Vec<Row> {
    let logins = subject.roles().into_iter().filter(|(_, role)| role.can_login);
    let row = |(name, role): (String, crate::Role)| {
        let row = Row::default().text("usename", &name).number("usesysid", numbers::role(&name));
        let row = row.flag("usesuper", role.is_superuser).text("passwd", "********");
        let row = row.flag("usecreatedb", role.can_create_databases);
        let row = row.flag("userepl", role.can_replicate);
        let row = row.flag("usebypassrls", role.bypasses_policies);
        let row = row.set("valuntil", role.valid_until.map_or(Value::Null, Value::I64));
        with_settings(row, "useconfig", &role)
    };
    logins.map(row).collect()
}

/// pg_shadow: who may log in, with what is kept of passwords.
pub(super) fn shadows(subject: &Subject<'_>) -> Vec<Row> {
    let logins = subject.roles().into_iter().filter(|(_, role)| role.can_login);
    let row = |(name, role): (String, crate::Role)| {
        let row = Row::default().text("usename", &name).number("usesysid", numbers::role(&name));
        let row = row.flag("usesuper", role.is_superuser);
        let row = row.flag("usecreatedb", role.can_create_databases);
        let row = row.set("passwd", role.password.as_deref().map_or(Value::Null, Value::text));
        row.set("valuntil", role.valid_until.map_or(Value::Null, Value::I64))
    };
    logins.map(row).collect()
}

fn databases(subject: &Subject<'_>) -> Vec<Row> {
    let cluster = subject.database.inner().cluster();
    let all = cluster.map(|cluster| cluster.all()).unwrap_or_default();
    let row = |(def, database): (DatabaseDef, Database)| {
        let is_own = *def.name == *subject.state.database.0;
        let committed = database.inner().stores.relations.snapshot();
        let others: &State = &committed;
        let state = if is_own { subject.state } else { others };
        let owner = state.owner_of(&Object::Database);
        let owner = subject.shown_role(&Object::Database, owner);
        let row = Row::default()
            .number("oid", def.number())
            .text("datname", &def.name)
            .number("datdba", numbers::role(&owner))
            .number("encoding", 6)
            .text("datlocprovider", "c")
            .flag("datallowconn", def.allows_connections)
            .flag("datistemplate", def.is_template)
            .number("datconnlimit", i64::from(def.connections_max))
            .number("dattablespace", 1663)
            .text("datcollate", "C")
            .text("datctype", "C.UTF-8");
        if is_own { row.set("datacl", rights::list(subject, &Object::Database)) } else { row }
    };
    all.into_iter().map(row).collect()
}

fn methods(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(number, name): &(i64, &str), kind: &str| {
        let handler = match (*number, kind) {
            (_, "t") => "heap_tableam_handler",
            (405, _) => "hashhandler",
            (783, _) => "gisthandler",
            (2742, _) => "ginhandler",
            (3580, _) => "brinhandler",
            (4000, _) => "spghandler",
            (numbers::NEAR_METHOD, _) => "hnswhandler",
            _ => "bthandler",
        };
        let row = Row::default().number("oid", *number).text("amname", name);
        row.text("amtype", kind).text("amhandler", handler)
    };
    let has_near = extensions::has_near(subject);
    let is_there = |method: &&(i64, &str)| has_near || method.0 != numbers::NEAR_METHOD;
    let indexes = numbers::METHODS.iter().filter(is_there).map(|method| row(method, "i"));
    std::iter::once(row(&(2, "heap"), "t")).chain(indexes).collect()
}

fn tablespaces(subject: &Subject<'_>) -> Vec<Row> {
    let row = Row::default().number("oid", 1663).text("spcname", "pg_default");
    vec![row.number("spcowner", subject.owner())]
}

fn settings(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(name, value, reset): (String, String, String)| {
        let source = if value == reset { "default" } else { "session" };
        let domain = Settings::domain(&name);
        let mut row = Row::default().text("vartype", domain.vartype);
        if let Some(unit) = Settings::unit(&name) {
            row = row.text("unit", unit);
        }
        if let Some([min, max]) = &domain.limits {
            row = row.text("min_val", min).text("max_val", max);
        }
        row.text("name", shown_name(&name))
            .text("setting", &value)
            .text("category", "Tessera")
            .text("context", "user")
            .text("source", source)
            .flag("pending_restart", false)
            .text("boot_val", &reset)
            .text("reset_val", &reset)
    };
    subject.settings.all().into_iter().map(row).collect()
}

/// A relation's schema, and its name as `column`.
fn placed(key: &str, column: &'static str) -> Row {
    let row = Row::default().text("schemaname", RelationName::schema_of_key(key));
    row.text(column, RelationName::name_of_key(key))
}

/// The schemas of the search path that there are, pg_catalog first where it is not named.
fn search_path(subject: &Subject<'_>) -> Vec<Row> {
    let is_system = |name: &&str| SYSTEM_SCHEMAS.iter().any(|(_, known)| known == name);
    let usage = Privileges::of(&[Privilege::Usage]);
    let may = |name: &str| {
        let object = Object::Schema(name.to_owned());
        subject.state.check(subject.settings.who(), &object, usage).is_ok()
    };
    let is_there = |name: &&str| is_system(name) || subject.state.has_schema(name) && may(name);
    let named: Vec<&str> = subject.settings.schemas().filter(is_there).collect();
    let implied = (!named.contains(&"pg_catalog")).then_some(("pg_catalog", true));
    let all = implied.into_iter().chain(named.iter().map(|name| (*name, false)));
    let row = |(place, (name, implied)): (usize, (&str, bool))| {
        Row::default().number("place", place as i64).text("name", name).flag("implied", implied)
    };
    all.enumerate().map(row).collect()
}

/// The name of a relation's owner.
fn owner_name(subject: &Subject<'_>, relation: &str) -> String {
    subject.owner_of(&Object::Relation(relation.to_owned()))
}

fn tables(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(name, entry): (&String, &std::sync::Arc<crate::TableEntry>)| {
        let row = placed(name, "tablename");
        let row = row.text("tableowner", &owner_name(subject, name));
        row.flag("hasindexes", entry.def.all_indexes().next().is_some())
    };
    subject.state.plain_tables().map(row).collect()
}

/// pg_matviews.
fn materialized(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, entry) in &subject.state.tables {
        let Some(of) = &entry.def.materialized else { continue };
        let definition = relations::view_texts(subject, name, &of.view).exact;
        let row = placed(name, "matviewname")
            .text("matviewowner", &owner_name(subject, name))
            .flag("hasindexes", entry.def.all_indexes().next().is_some())
            .flag("ispopulated", of.is_filled);
        rows.push(row.text("definition", &definition));
    }
    rows
}

fn views(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(name, view): (&String, &catalog::View)| {
        let row = placed(name, "viewname");
        let owner = owner_name(subject, name);
        let definition = relations::view_texts(subject, name, view).exact;
        row.text("viewowner", &owner).text("definition", &definition)
    };
    subject.state.views.iter().map(row).collect()
}

fn indexes(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, entry) in &subject.state.tables {
        for index in entry.def.visible_indexes() {
            let row = placed(name, "tablename");
            let definition = IndexTexts::new(subject, &entry.def, index).definition();
            rows.push(row.text("indexname", &index.name).text("indexdef", &definition.exact));
        }
    }
    rows
}

fn cursors(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(name, text, [held, binary, scrolls]): (String, String, [bool; 3])| {
        let row = Row::default().text("name", &name).text("statement", &text);
        row.flag("is_holdable", held).flag("is_binary", binary).flag("is_scrollable", scrolls)
    };
    subject.cursors.all().into_iter().map(row).collect()
}
