//! Domains: their rows in pg_type and pg_constraint, and what the information schema says of them.

use sql::catalog::{ColumnDef, Domain, DomainOf, UserType, Validity};
use sql::deparse::{Named, Place, Row as DeparseRow, Typed};
use sql::statement::RelationName;
use types::Value;

use super::columns::{self, DATABASE};
use super::deparsed::{Texts, type_number};
use super::{Row, Subject, builtin, collations, numbers, relations, schema};

/// The domains of the catalog.
fn domains<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = Domain> + 's {
    subject.state.types.values().filter_map(UserType::domain)
}

/// The value that pg_type has in a column of the type with this number.
fn of_type(number: i64, column: &str) -> Option<Value> {
    let columns = schema::find("pg_catalog", "pg_type")?;
    let at = columns.iter().position(|(name, _)| *name == column)?;
    let rows = builtin::rows("pg_type");
    let row = rows.iter().find(|row| row.first() == Some(&Value::I64(number)))?;
    row.get(at).cloned()
}

/// The row of a domain in pg_type, of which `row` has what all types have.
pub(super) fn type_row(subject: &Subject<'_>, row: Row, domain: Domain) -> Row {
    let (held, modifier) = numbers::of_type(domain.ty);
    let entry = numbers::own_entry(domain.ty);
    let (below, modifier) = match domain.over {
        Some(over) => (i64::from(over.number), -1),
        None => (held, modifier),
    };
    let mut row = row
        .number("typlen", if domain.ty.is_array() { -1 } else { entry.bytes })
        .flag("typbyval", entry.is_by_value)
        .text("typtype", "d")
        .text("typcategory", "E")
        .text("typinput", "domain_in")
        .text("typoutput", "enum_out")
        .text("typreceive", "domain_recv")
        .text("typsend", "enum_send")
        .text("typalign", entry.align)
        .text("typstorage", entry.storage)
        .flag("typnotnull", domain.not_null)
        .number("typbasetype", below)
        .number("typtypmod", modifier)
        .number("typcollation", entry.collation);
    for column in ["typcategory", "typoutput", "typsend"] {
        if let Some(value) = of_type(held, column) {
            row = row.set(column, value);
        }
    }
    match &domain.default {
        Some(default) => {
            let texts = subject.default_texts(default, &[], base(domain));
            row.text("typdefault", &texts.exact).text("typdefaultbin", &texts.in_one())
        }
        None => row,
    }
}

/// The type that a domain is made of.
fn base(domain: Domain) -> Typed {
    match domain.over {
        Some(over) => Typed::plain(over.number),
        None => type_number(domain.ty),
    }
}

/// The texts of a CHECK of a domain.
fn check_texts(subject: &Subject<'_>, domain: Domain, sql: &str) -> Texts {
    let columns = vec![("value", base(domain))];
    let row = DeparseRow { named: Named::Value, name: "", columns };
    let texts = subject.texts(sql, &[row], Place::Condition);
    texts.unwrap_or_else(|| Texts::same(with_key_word(&subject.text_shown(sql))))
}

/// The conditions of domains in pg_constraint.
pub(super) fn constraints(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for domain in domains(subject) {
        for check in &domain.checks {
            let schema = RelationName::schema_of_key(&domain.key);
            let condition = check_texts(subject, domain, &check.sql);
            let texts = Texts::of(|form| {
                format!("CHECK ({}){}", condition.text(form), check.validity.sql())
            });
            let row = relations::without_actions()
                .number("oid", numbers::domain_constraint(&domain.key, &check.name))
                .text("conname", &check.name)
                .number("connamespace", numbers::schema(schema))
                .text("contype", "c")
                .number("contypid", i64::from(domain.number))
                .flag("convalidated", check.validity == Validity::Valid)
                .flag("conislocal", true)
                .text("condef", &texts.exact)
                .text("conpretty", &texts.pretty)
                .text("conbin", &condition.in_one());
            rows.push(row);
        }
    }
    rows
}

/// The text of a CHECK in which the value is the key word VALUE.
fn with_key_word(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let (mut word, mut quote) = (String::new(), None);
    for letter in sql.chars().chain([' ']) {
        if quote.is_none() && (letter.is_alphanumeric() || letter == '_') {
            word.push(letter);
            continue;
        }
        out.push_str(if word == "value" { "VALUE" } else { &word });
        word.clear();
        quote = match (quote, letter) {
            (Some(end), letter) if end == letter => None,
            (None, '\'' | '"') => Some(letter),
            (quote, _) => quote,
        };
        out.push(letter);
    }
    out.pop();
    out
}

/// A row with the name of a domain.
fn named(row: Row, domain: Domain) -> Row {
    let row = row.text("domain_catalog", DATABASE);
    let row = row.text("domain_schema", RelationName::schema_of_key(&domain.key));
    row.text("domain_name", RelationName::name_of_key(&domain.key))
}

/// The row of a column or a domain in the information schema, with the domain that it is made of.
fn made_of(row: Row, domain: Domain) -> Row {
    let Some(over) = domain.over else { return row };
    let row = row.text("data_type", "USER-DEFINED");
    row.text("udt_schema", RelationName::schema_of_key(&over.key))
        .text("udt_name", RelationName::name_of_key(&over.key))
}

/// The row of a column in the information schema, with the domain and the collation that it has.
pub(super) fn with_domain(subject: &Subject<'_>, row: Row, column: &ColumnDef) -> Row {
    let row = match column.collation {
        Some(collation) => collations::with_name(subject, row, collation),
        None => row,
    };
    match column.domain {
        None => row,
        Some(used) if used.of == DomainOf::Value => named(made_of(row, used.domain), used.domain),
        Some(used) => {
            let key = &used.domain.key;
            row.text("udt_schema", RelationName::schema_of_key(key))
                .text("udt_name", &format!("_{}", RelationName::name_of_key(key)))
        }
    }
}

/// The rows of a table of the information schema about domains; None of any other table.
pub(super) fn rows(name: &str, subject: &Subject<'_>) -> Option<Vec<Row>> {
    Some(match name {
        "information_schema.domains" => {
            let row = |domain: Domain| {
                let row = columns::column("", "", domain.ty, 0).text("dtd_identifier", "1");
                let row = named(made_of(row, domain), domain);
                match &domain.default {
                    Some(default) => {
                        let texts = subject.default_texts(default, &[], base(domain));
                        row.text("domain_default", &texts.exact)
                    }
                    None => row,
                }
            };
            domains(subject).map(row).collect()
        }
        "information_schema.domain_udt_usage" => {
            let row = |domain: Domain| {
                named(made_of(columns::column("", "", domain.ty, 0), domain), domain)
            };
            domains(subject).map(row).collect()
        }
        "information_schema.domain_constraints" => {
            let row = |(domain, name, _): (Domain, &str, &str)| {
                let row = named(constraint(domain, name), domain);
                row.text("is_deferrable", "NO").text("initially_deferred", "NO")
            };
            all_checks(subject).map(row).collect()
        }
        "information_schema.column_domain_usage" => used(subject),
        _ => return None,
    })
}

/// The conditions of all domains: domain, name, text.
fn all_checks<'s>(
    subject: &'s Subject<'_>,
) -> impl Iterator<Item = (Domain, &'static str, &'static str)> + 's {
    domains(subject).flat_map(|domain| {
        let checks = domain.content().checks.iter();
        checks.map(move |check| (domain, check.name.as_str(), check.sql.as_str()))
    })
}

fn constraint(domain: Domain, name: &str) -> Row {
    let row = Row::default().text("constraint_catalog", DATABASE);
    let row = row.text("constraint_schema", RelationName::schema_of_key(&domain.key));
    row.text("constraint_name", name)
}

/// The conditions of domains in check_constraints of the information schema.
pub(super) fn checks(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(domain, name, sql): (Domain, &str, &str)| {
        let texts = check_texts(subject, domain, sql);
        constraint(domain, name).text("check_clause", &format!("({})", texts.exact))
    };
    all_checks(subject).map(row).collect()
}

/// The columns that have a domain.
fn used(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (table, entry) in &subject.state.tables {
        for column in entry.def.columns.iter() {
            let Some(used) = column.domain else { continue };
            if used.of == DomainOf::Value {
                let row = columns::placed(table).text("column_name", &column.name);
                rows.push(named(row, used.domain));
            }
        }
    }
    rows
}
