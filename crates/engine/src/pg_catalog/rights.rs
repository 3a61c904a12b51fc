//! Rights: lists of grants as text, members of roles, what has_table_privilege and its kin look at.

use sql::statement::{Privilege, RelationName};
use types::{ElementType, Value, array};

use super::{Row, Subject, numbers};
use crate::rights::{DATABASE_NAME, Grant, Object, Who};

/// Whether privileges of everybody are among the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Public {
    /// They are.
    Shown,
    /// They are not.
    Hidden,
}

/// `ann=r*w/bob`.
fn item(subject: &Subject<'_>, grant: &Grant) -> String {
    let mut text = grant.grantee.clone().unwrap_or_default();
    text.push('=');
    for privilege in grant.privileges.iter() {
        text.push(privilege.letter());
        if grant.grantable.has(privilege) {
            text.push('*');
        }
    }
    let grantor = match grant.grantor.as_str() {
        "" => subject.superuser(),
        grantor => grantor.to_owned(),
    };
    format!("{text}/{grantor}")
}

/// The grants on an object, an array of texts; NULL when nobody changed them.
pub(super) fn list(subject: &Subject<'_>, object: &Object) -> Value {
    let rights = subject.state.rights.get(object);
    let Some(grants) = rights.and_then(|rights| rights.grants.as_ref()) else {
        return Value::Null;
    };
    let mut items: Vec<String> = Vec::new();
    if rights.is_some_and(|rights| rights.owner.is_empty()) {
        // What superusers may always do is shown as PostgreSQL shows an owner's grants.
        let all = subject.state.privileges_of(object);
        let owner = subject.superuser();
        items.push(format!(
            "{owner}={}/{owner}",
            all.iter().map(Privilege::letter).collect::<String>()
        ));
    }
    items.extend(grants.iter().map(|grant| item(subject, grant)));
    let items: Vec<Value> = items.iter().map(|item| Value::text(item)).collect();
    array::from_values(&items, ElementType::Text).unwrap_or(Value::Null)
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
    rows
}

fn who_of(subject: &Subject<'_>, role: &str) -> Who {
    match subject.state.roles.contains_key(role) {
        true => Who::Role(role.into()),
        // Whoever was let in unasked.
        false => Who::All,
    }
}

/// Each role, and PUBLIC, with what it may do with each object.
pub(super) fn privileges(subject: &Subject<'_>) -> Vec<Row> {
    let state = subject.state;
    let numbers = numbers::relations(state);
    let relations = state.tables.keys().chain(state.views.keys()).chain(state.sequences.keys());
    let relation = |name: &String| {
        let number = numbers.get(name).copied().unwrap_or(0);
        ("relation", number, name.clone(), Object::Relation(name.clone()))
    };
    let mut objects: Vec<_> = relations.map(relation).collect();
    objects.extend(subject.schemas().map(|(number, name)| {
        ("schema", number, name.to_owned(), Object::Schema(name.to_owned()))
    }));
    objects.push(("database", numbers::DATABASE, DATABASE_NAME.to_owned(), Object::Database));
    let mut rows = Vec::new();
    let public = ("public".to_owned(), Who::Role("".into()));
    let roles = subject.roles().into_iter().map(|(name, _)| {
        let who = who_of(subject, &name);
        (name, who)
    });
    for (role, who) in roles.chain([public]) {
        for (kind, number, name, object) in &objects {
            let mut held = Vec::new();
            let grantable = match role.as_str() {
                "public" => sql::statement::Privileges::NONE,
                _ => state.grantable(&who, object),
            };
            for privilege in state.allowed(&who, object).iter() {
                held.push(privilege.name().to_owned());
                if privilege == Privilege::Temporary {
                    held.push("TEMP".to_owned());
                }
                if grantable.has(privilege) {
                    held.push(format!("{} WITH GRANT OPTION", privilege.name()));
                }
            }
            let row = Row::default().text("rolname", &role).text("kind", kind);
            let row = row.number("oid", *number).text("name", name);
            let row = match object {
                Object::Relation(key) => row.text("shown", &subject.shown(key)),
                _ => row,
            };
            rows.push(row.text("held", &held.join(",")));
        }
    }
    rows
}

/// Each role with all that it is in, itself included.
pub(super) fn closures(subject: &Subject<'_>) -> Vec<Row> {
    let roles: Vec<String> = subject.roles().into_iter().map(|(name, _)| name).collect();
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

fn is_enabled(subject: &Subject<'_>, role: &str) -> bool {
    subject.state.has_rights_of(subject.settings.who(), role)
}

/// information_schema.table_privileges and role_table_grants: of roles that the session has.
pub(super) fn granted(subject: &Subject<'_>, public: Public) -> Vec<Row> {
    let state = subject.state;
    let mut rows = Vec::new();
    for name in state.tables.keys().chain(state.views.keys()) {
        let object = Object::Relation(name.clone());
        for grant in state.grants_of(&object) {
            let is_shown = match (&grant.grantee, public) {
                (None, Public::Shown) => true,
                (None, Public::Hidden) => is_enabled(subject, &grant.grantor),
                (Some(to), _) => is_enabled(subject, to) || is_enabled(subject, &grant.grantor),
            };
            if !is_shown || (grant.grantee.is_none() && public == Public::Hidden) {
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
                        .text("table_catalog", DATABASE_NAME)
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
