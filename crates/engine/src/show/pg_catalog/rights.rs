//! Rights: lists of grants as text, members of roles, what has_table_privilege and its kin look at.

use catalog::numbers as catalog_numbers;
use catalog::predefined;
use catalog::rights::{
    COLUMN, DefaultsOf, Grant, Object, ROUTINE, SCHEMA, SCHEMA_NAME, SEQUENCE, Spot, TABLE,
};
use catalog::who::Who;
use sql::statement::{DefaultKind, Privilege, Privileges, RelationName};
use types::{ElementType, Value, array};

use super::{Row, Subject, catalogs, numbers, schema};

/// Place of everybody's privileges among the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Public {
    /// The rows include them.
    Shown,
    /// The rows leave them out.
    Hidden,
}

/// A role's name as lists of grants have it.
fn listed(role: &str) -> String {
    if role.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        role.to_owned()
    } else {
        format!("\"{}\"", role.replace('"', "\"\""))
    }
}

/// `ann=r*w/bob`; the superusers are shown as `superusers`.
fn item(superusers: &str, grant: &Grant) -> String {
    let mut text = grant.grantee.as_deref().map(listed).unwrap_or_default();
    text.push('=');
    for privilege in grant.privileges.iter() {
        text.push(privilege.letter());
        if grant.grantable.has(privilege) {
            text.push('*');
        }
    }
    let grantor = match grant.grantor.as_str() {
        "" => superusers,
        grantor => grantor,
    };
    format!("{text}/{}", listed(grantor))
}

/// `ann=arwdDxt/ann`.
fn everything(owner: &str, all: Privileges) -> String {
    let owner = listed(owner);
    format!("{owner}={}/{owner}", all.iter().map(Privilege::letter).collect::<String>())
}

fn texts(items: &[String]) -> Value {
    let items: Vec<Value> = items.iter().map(|item| Value::text(item)).collect();
    array::from_values(&items, ElementType::Text).unwrap_or(Value::Null)
}

/// The grants on an object, an array of texts; NULL when nobody changed them.
pub(super) fn list(subject: &Subject<'_>, object: &Object) -> Value {
    let rights = subject.state.rights.get(object);
    let grants = rights.and_then(|rights| rights.grants.as_ref());
    let owner = subject.owner_of(object);
    let (Some(grants), is_owned) = (grants, rights.is_some_and(|r| !r.owner.is_empty())) else {
        return match object {
            // As a new database has it.
            Object::Schema(name)
                if name == SCHEMA_NAME
                    && subject.state.has_first_public()
                    && subject.state.owner_of(object).is_empty() =>
            {
                texts(&[everything(&owner, SCHEMA), format!("=U/{}", listed(&owner))])
            }
            _ => Value::Null,
        };
    };
    let mut items: Vec<String> = Vec::new();
    if !is_owned {
        // What superusers may always do is shown as PostgreSQL shows an owner's grants.
        items.push(everything(&owner, subject.state.privileges_of(object)));
    }
    items.extend(grants.iter().map(|grant| item(&owner, grant)));
    texts(&items)
}

/// The grants on a column, an array of texts; NULL when there are none.
pub(super) fn list_of_column(subject: &Subject<'_>, relation: &str, column: &str) -> Value {
    let object = Object::Relation(relation.to_owned());
    let grants = subject.state.grants_on(Spot { object: &object, column: Some(column) });
    if grants.is_empty() {
        return Value::Null;
    }
    let owner = subject.superuser();
    let items: Vec<String> = grants.iter().map(|grant| item(&owner, grant)).collect();
    texts(&items)
}

/// pg_default_acl.
pub(super) fn defaults(subject: &Subject<'_>) -> Vec<Row> {
    let superusers = subject.superuser();
    let row = |(of, grants): (&DefaultsOf, &Vec<Grant>)| {
        let role = if of.role.is_empty() { superusers.as_str() } else { &of.role };
        let (letter, all) = match of.kind {
            DefaultKind::Tables => ("r", TABLE),
            DefaultKind::Sequences => ("S", SEQUENCE),
            DefaultKind::Schemas => ("n", SCHEMA),
            DefaultKind::Routines => ("f", ROUTINE),
        };
        let mut items = Vec::new();
        if of.role.is_empty() && of.schema.is_none() {
            items.push(everything(role, all));
        }
        items.extend(grants.iter().map(|grant| item(&superusers, grant)));
        // As it was when there was one schema.
        let about = match of.schema.as_deref() {
            None => format!("{letter} false"),
            Some(SCHEMA_NAME) => format!("{letter} true"),
            Some(schema) => format!("{letter} {schema}"),
        };
        Row::default()
            .number("oid", numbers::default_privileges(role, &about))
            .number("defaclrole", numbers::role(role))
            .number("defaclnamespace", of.schema.as_deref().map_or(0, numbers::schema))
            .text("defaclobjtype", letter)
            .set("defaclacl", texts(&items))
    };
    subject.state.default_privileges.iter().map(row).collect()
}

/// Usual rights (acldefault) of each role: by the letter of a kind of objects and its number.
pub(super) fn usual(subject: &Subject<'_>) -> Vec<Row> {
    let mut roles: Vec<String> = subject.roles().into_iter().map(|(name, _)| name).collect();
    roles.push(predefined::DATABASE_OWNER.to_owned());
    // Letter, what everybody may, what the owner may.
    let kinds = [
        ("c", "", ""),
        ("r", "", "arwdDxt"),
        ("s", "", "rwU"),
        ("d", "Tc", "CTc"),
        ("f", "X", "X"),
        ("l", "U", "U"),
        ("L", "", "rw"),
        ("n", "", "UC"),
        ("t", "", "C"),
        ("F", "", "U"),
        ("S", "", "U"),
        ("T", "U", "U"),
        ("p", "", "sA"),
    ];
    let mut rows = Vec::new();
    for role in roles {
        let (number, name) = (numbers::role(&role), listed(&role));
        for (kind, all, own) in kinds {
            let all = (!all.is_empty()).then(|| format!("={all}/{name}"));
            let own = (!own.is_empty()).then(|| format!("{name}={own}/{name}"));
            let items: Vec<String> = all.into_iter().chain(own).collect();
            let row = Row::default().text("key", &format!("{kind}{number}"));
            rows.push(row.set("acl", texts(&items)));
        }
    }
    rows
}

/// pg_auth_members.
pub(super) fn members(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, role) in &subject.state.roles {
        for membership in &role.member_of {
            let row = Row::default()
                .number("roleid", numbers::role(&membership.role))
                .number("member", numbers::role(name))
                .number("grantor", subject.owner());
            rows.push(row.flag("admin_option", membership.admin));
        }
    }
    for known in &predefined::ROLES {
        for role in known.member_of {
            let row = Row::default()
                .number("roleid", numbers::role(role))
                .number("member", known.number)
                .number("grantor", subject.owner());
            rows.push(row.flag("admin_option", false));
        }
    }
    rows
}

fn who_of(subject: &Subject<'_>, role: &str) -> Who {
    if subject.state.has_role(role) {
        Who::Role(role.into())
    } else {
        // Whoever was let in unasked.
        Who::All
    }
}

/// Each role, and PUBLIC, with what it may do with each object.
pub(super) fn privileges(subject: &Subject<'_>) -> Vec<Row> {
    let state = subject.state;
    let numbers = catalog_numbers::relations(state);
    let relations = state.tables.keys().chain(state.views.keys()).chain(state.sequences.keys());
    let relation = |name: &String| {
        let number = numbers.get(name).copied().unwrap_or(0);
        ("relation", number, name.clone(), Object::Relation(name.clone()))
    };
    let mut objects: Vec<_> = relations.map(relation).collect();
    objects.extend(subject.schemas().map(|(number, name)| {
        ("schema", number, name.to_owned(), Object::Schema(name.to_owned()))
    }));
    let database = subject.state.database.0.to_string();
    objects.extend(state.routines.iter().map(|(key, def)| {
        ("function", i64::from(def.number), key.clone(), Object::Routine(key.clone()))
    }));
    objects.push(("database", subject.database_number(), database, Object::Database));
    let mut rows = Vec::new();
    let public = ("public".to_owned(), Who::Role("".into()));
    let roles = subject.roles().into_iter().map(|(name, _)| {
        let who = who_of(subject, &name);
        (name, who)
    });
    for (role, who) in roles.chain([public]) {
        rows.extend(system_privileges(&role, state.is_superuser(&who)));
        for (kind, number, name, object) in &objects {
            let held = held(subject, &role, &who, Spot { object, column: None });
            let row = Row::default().text("rolname", &role).text("kind", kind);
            let row = row.number("oid", *number).text("name", name);
            let row = match object {
                Object::Relation(key) => row.text("shown", &subject.shown(key)),
                _ => row,
            };
            rows.push(row.text("held", &held));
        }
    }
    rows
}

/// Relations of the system that not everybody reads.
const SECRET: &[&str] = &[
    "pg_authid",
    "pg_backend_memory_contexts",
    "pg_config",
    "pg_file_settings",
    "pg_hba_file_rules",
    "pg_ident_file_mappings",
    "pg_largeobject",
    "pg_replication_origin_status",
    "pg_shadow",
    "pg_shmem_allocations",
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_subscription",
    "pg_user_mapping",
];

/// Privileges of a role on the relations of the system.
fn system_privileges(role: &str, is_superuser: bool) -> impl Iterator<Item = Row> {
    let all: Vec<&str> = TABLE.iter().map(Privilege::name).collect();
    let own = catalogs::CATALOGS.iter().map(|(name, ..)| ("pg_catalog", *name));
    own.chain(schema::names()).map(move |(schema, name)| {
        let held = if is_superuser {
            all.join(",")
        } else if SECRET.contains(&name) {
            String::new()
        } else {
            Privilege::Select.name().to_owned()
        };
        let full = format!("{schema}.{name}");
        let near = if schema == "pg_catalog" { name } else { &full };
        let row = Row::default().text("rolname", role).text("kind", "relation");
        let row = row.number("oid", catalogs::number_in(schema, name)).text("name", near);
        row.text("shown", &full).text("held", &held)
    })
}

/// The privileges that a role has there, as has_table_privilege takes them.
fn held(subject: &Subject<'_>, role: &str, who: &Who, spot: Spot<'_>) -> String {
    let state = subject.state;
    let mut held = Vec::new();
    let grantable = match role {
        "public" => Privileges::NONE,
        _ => state.grantable_on(who, spot),
    };
    for privilege in state.allowed_on(who, spot).iter() {
        held.push(privilege.name().to_owned());
        if privilege == Privilege::Temporary {
            held.push("TEMP".to_owned());
        }
        if grantable.has(privilege) {
            held.push(format!("{} WITH GRANT OPTION", privilege.name()));
        }
    }
    held.join(",")
}

/// Each role, and PUBLIC, with what it may do with each column; a column is there by its name and
/// by its number.
pub(super) fn column_privileges(subject: &Subject<'_>) -> Vec<Row> {
    let state = subject.state;
    let numbers = catalog_numbers::relations(state);
    let roles = subject.roles().into_iter().map(|(name, _)| {
        let who = who_of(subject, &name);
        (name, who)
    });
    let public = ("public".to_owned(), Who::Role("".into()));
    let mut rows = Vec::new();
    for (role, who) in roles.chain([public]) {
        for name in state.tables.keys().chain(state.views.keys()) {
            let object = Object::Relation(name.clone());
            for (at, column) in state.column_names(name).into_iter().enumerate() {
                let spot = Spot { object: &object, column: Some(column) };
                let held = held(subject, &role, &who, spot);
                let mut add = |part: &str| {
                    let number = numbers.get(name).copied().unwrap_or(0);
                    let row = Row::default().text("rolname", &role).text("part", part);
                    let row = row.number("oid", number).text("name", name);
                    rows.push(row.text("shown", &subject.shown(name)).text("held", &held));
                };
                add(column);
                add(&(at + 1).to_string());
            }
        }
    }
    rows
}

/// Each role with all that it is in, itself included.
pub(super) fn closures(subject: &Subject<'_>) -> Vec<Row> {
    let mut roles: Vec<String> = subject.roles().into_iter().map(|(name, _)| name).collect();
    roles.extend(predefined::ROLES.iter().map(|role| role.name.to_owned()));
    let mut rows = Vec::new();
    for member in &roles {
        let who = who_of(subject, member);
        let is_superuser = subject.state.is_superuser(&who);
        for role in &roles {
            let is_in = is_superuser || subject.state.is_member(member, role);
            if is_in {
                let inherited = subject.state.has_rights_of(&who, role);
                let row = Row::default().text("member", member).text("rolname", role);
                rows.push(row.number("oid", numbers::role(role)).flag("inherited", inherited));
            }
        }
    }
    rows
}

/// True when a grant is among those that the session is shown.
fn is_shown(subject: &Subject<'_>, grant: &Grant, public: Public) -> bool {
    match (&grant.grantee, public) {
        (None, Public::Shown) => true,
        (None, Public::Hidden) => false,
        (Some(to), _) => is_enabled(subject, to) || is_enabled(subject, &grant.grantor),
    }
}

/// information_schema.column_privileges and role_column_grants: grants on the columns themselves
/// and on their tables.
pub(super) fn granted_columns(subject: &Subject<'_>, public: Public) -> Vec<Row> {
    let state = subject.state;
    let mut rows = Vec::new();
    let tables = state.plain_tables().map(|(name, _)| name);
    for name in tables.chain(state.views.keys()) {
        let object = Object::Relation(name.clone());
        let owner = state.owner_of(&object);
        for column in state.column_names(name) {
            let spot = Spot { object: &object, column: Some(column) };
            let all = state.grants_of(&object).into_iter().chain(state.grants_on(spot));
            // What was granted twice is there once.
            let mut seen = Vec::new();
            for grant in all.filter(|grant| is_shown(subject, grant, public)) {
                let grantor = match grant.grantor.as_str() {
                    "" => subject.superuser(),
                    grantor => grantor.to_owned(),
                };
                let grantee = grant.grantee.as_deref().unwrap_or("PUBLIC");
                for privilege in grant.privileges.common(COLUMN).iter() {
                    let grantable = grantee == owner || grant.grantable.has(privilege);
                    let key = (grantor.clone(), grantee.to_owned(), privilege, grantable);
                    if seen.contains(&key) {
                        continue;
                    }
                    seen.push(key);
                    rows.push(
                        Row::default()
                            .text("grantor", &grantor)
                            .text("grantee", grantee)
                            .text("table_catalog", &subject.state.database.0)
                            .text("table_schema", RelationName::schema_of_key(name))
                            .text("table_name", RelationName::name_of_key(name))
                            .text("column_name", column)
                            .text("privilege_type", privilege.name())
                            .text("is_grantable", if grantable { "YES" } else { "NO" }),
                    );
                }
            }
        }
    }
    rows
}

fn is_enabled(subject: &Subject<'_>, role: &str) -> bool {
    subject.state.has_rights_of(subject.settings.who(), role)
}

/// information_schema.table_privileges and role_table_grants: of roles that the session has.
pub(super) fn granted(subject: &Subject<'_>, public: Public) -> Vec<Row> {
    let state = subject.state;
    let mut rows = Vec::new();
    let tables = state.plain_tables().map(|(name, _)| name);
    for name in tables.chain(state.views.keys()) {
        let object = Object::Relation(name.clone());
        for grant in state.grants_of(&object) {
            if !is_shown(subject, &grant, public) {
                continue;
            }
            let grantor = match grant.grantor.as_str() {
                "" => subject.superuser(),
                grantor => grantor.to_owned(),
            };
            for privilege in grant.privileges.iter() {
                let is_owner = grant.grantee.as_deref() == Some(state.owner_of(&object));
                let grantable = is_owner || grant.grantable.has(privilege);
                let reads = privilege == Privilege::Select;
                rows.push(
                    Row::default()
                        .text("grantor", &grantor)
                        .text("grantee", grant.grantee.as_deref().unwrap_or("PUBLIC"))
                        .text("table_catalog", &subject.state.database.0)
                        .text("table_schema", RelationName::schema_of_key(name))
                        .text("table_name", RelationName::name_of_key(name))
                        .text("privilege_type", privilege.name())
                        .text("is_grantable", if grantable { "YES" } else { "NO" })
                        .text("with_hierarchy", if reads { "YES" } else { "NO" }),
                );
            }
        }
    }
    rows
}

/// information_schema.enabled_roles.
pub(super) fn enabled(subject: &Subject<'_>) -> Vec<Row> {
    let roles = subject.roles().into_iter().map(|(name, _)| name);
    let enabled = roles.filter(|name| is_enabled(subject, name));
    enabled.map(|name| Row::default().text("role_name", &name)).collect()
}

/// information_schema.applicable_roles.
pub(super) fn applicable(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, role) in &subject.state.roles {
        if !is_enabled(subject, name) {
            continue;
        }
        for membership in &role.member_of {
            let row = Row::default().text("grantee", name).text("role_name", &membership.role);
            rows.push(row.text("is_grantable", if membership.admin { "YES" } else { "NO" }));
        }
    }
    rows
}
