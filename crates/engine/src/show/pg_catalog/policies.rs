//! pg_policy and pg_policies.

use catalog::numbers as catalog_numbers;
use sql::catalog::{PolicyCommand, PolicyDef, PolicyKind, TableMeta};
use sql::statement::RelationName;
use types::{ElementType, Value, array};

use super::deparsed::{Texts, row_of};
use super::{Row, Subject, numbers};

/// A policy and its table.
fn all<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = (&'s String, &'s PolicyDef)> {
    let security = subject.state.row_security.iter();
    security
        .flat_map(|(table, security)| security.policies.iter().map(move |policy| (table, policy)))
}

/// The texts of the conditions of a policy: USING, WITH CHECK.
fn conditions(subject: &Subject<'_>, table: &str, policy: &PolicyDef) -> [Option<Texts>; 2] {
    let columns = subject.state.tables.get(table).map_or(&[][..], |entry| entry.columns());
    let rows = [row_of(table, columns)];
    [&policy.using, &policy.check]
        .map(|condition| condition.as_ref().map(|text| subject.condition_texts(text, &rows)))
}

fn shown_or_null(text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| Value::text(&text))
}

/// The rows of pg_policy.
pub(super) fn policies(subject: &Subject<'_>) -> Vec<Row> {
    let known = catalog_numbers::relations(subject.state);
    let row = |(table, policy): (&String, &PolicyDef)| {
        let command = match policy.command {
            PolicyCommand::All => "*",
            PolicyCommand::Select => "r",
            PolicyCommand::Insert => "a",
            PolicyCommand::Update => "w",
            PolicyCommand::Delete => "d",
        };
        let role = |name: &String| Value::I64(numbers::role(name));
        let mut roles: Vec<Value> = policy.roles.iter().map(role).collect();
        if roles.is_empty() {
            roles.push(Value::I64(0));
        }
        let roles = array::from_values(&roles, ElementType::Oid).unwrap_or(Value::Null);
        let [using, check] = conditions(subject, table, policy);
        Row::default()
            .number("oid", numbers::constraint(table, &format!("policy {}", policy.name)))
            .text("polname", &policy.name)
            .number("polrelid", known.get(table.as_str()).copied().unwrap_or(0))
            .text("polcmd", command)
            .flag("polpermissive", policy.kind == PolicyKind::Permissive)
            .set("polroles", roles)
            .set("polqual", shown_or_null(using.map(|texts| texts.in_one())))
            .set("polwithcheck", shown_or_null(check.map(|texts| texts.in_one())))
    };
    all(subject).map(row).collect()
}

/// The rows of pg_policies.
pub(super) fn shown(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(table, policy): (&String, &PolicyDef)| {
        let mut roles: Vec<Value> = policy.roles.iter().map(|name| Value::text(name)).collect();
        if roles.is_empty() {
            roles.push(Value::text("public"));
        }
        let roles = array::from_values(&roles, ElementType::Name).unwrap_or(Value::Null);
        let kind = match policy.kind {
            PolicyKind::Permissive => "PERMISSIVE",
            PolicyKind::Restrictive => "RESTRICTIVE",
        };
        let [using, check] = conditions(subject, table, policy);
        Row::default()
            .text("schemaname", RelationName::schema_of_key(table))
            .text("tablename", RelationName::name_of_key(table))
            .text("policyname", &policy.name)
            .text("permissive", kind)
            .set("roles", roles)
            .text("cmd", policy.command.name())
            .set("qual", shown_or_null(using.map(|texts| texts.exact)))
            .set("with_check", shown_or_null(check.map(|texts| texts.exact)))
    };
    all(subject).map(row).collect()
}
