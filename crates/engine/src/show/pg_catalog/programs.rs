//! information_schema.routines and parameters: the functions and procedures that users made.
//!
//! Departure from PostgreSQL: those of the system are left out.

use std::borrow::Cow;

use catalog::rights::Object;
use catalog::user_types::enum_in;
use sql::catalog::{
    DomainOf, Language, NullInput, ParameterMode, RoutineDef, RoutineKind, RoutineType, Security,
    Volatility,
};
use sql::statement::{Privilege, Privileges, RelationName};
use types::EnumType;

use super::columns::DATABASE;
use super::{Row, Subject, numbers, routines};

/// Routines that the session owns or may call, by their keys.
fn seen<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = (&'s String, &'s RoutineDef)> {
    let (state, who) = (subject.state, subject.settings.who());
    let all = state.routines.iter().map(|(key, def)| (key, &**def));
    all.filter(move |(key, _)| {
        let object = Object::Routine((*key).clone());
        let execute = Privileges::of(&[Privilege::Execute]);
        state.owns(who, &object) || state.check(who, &object, execute).is_ok()
    })
}

fn owns(subject: &Subject<'_>, key: &str) -> bool {
    subject.state.owns(subject.settings.who(), &Object::Routine(key.to_owned()))
}

/// Columns that name a routine.
fn placed(def: &RoutineDef) -> Row {
    Row::default()
        .text("specific_catalog", DATABASE)
        .text("specific_schema", RelationName::schema_of_key(&def.name))
        .text("specific_name", &format!("{}_{}", def.bare_name(), def.number))
}

/// A type as these views show it.
struct Shown<'t> {
    data_type: &'static str,
    schema: &'t str,
    name: Cow<'t, str>,
}

/// Choice between a type and arrays of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elements {
    Yes,
    No,
}

/// A type that users made, by its key.
fn of_users(key: &str, elements: Elements) -> Shown<'_> {
    let (schema, name) = (RelationName::schema_of_key(key), RelationName::name_of_key(key));
    match elements {
        Elements::Yes => Shown { data_type: "ARRAY", schema, name: format!("_{name}").into() },
        Elements::No => Shown { data_type: "USER-DEFINED", schema, name: name.into() },
    }
}

fn shown(ty: &RoutineType) -> Shown<'_> {
    let system = |name: &'static str| Shown {
        data_type: name,
        schema: "pg_catalog",
        name: Cow::Borrowed(name),
    };
    match ty {
        RoutineType::Void => system("void"),
        RoutineType::Record => system("record"),
        RoutineType::Trigger => system("trigger"),
        RoutineType::Polymorphic(ty) => system(ty.name()),
        RoutineType::Row(key) => of_users(key, Elements::No),
        RoutineType::Value(_, Some(used)) => {
            let is_array = used.of == DomainOf::Elements;
            of_users(&used.domain.key, if is_array { Elements::Yes } else { Elements::No })
        }
        RoutineType::Value(ty, None) => match enum_in(*ty).map(EnumType::key) {
            Some(key) => of_users(key, if ty.is_array() { Elements::Yes } else { Elements::No }),
            None => {
                let entry = numbers::own_entry(*ty);
                let data_type = if ty.is_array() { "ARRAY" } else { entry.formatted };
                Shown { data_type, schema: "pg_catalog", name: entry.name.into() }
            }
        },
    }
}

/// The rows of information_schema.routines.
pub(super) fn routines(subject: &Subject<'_>) -> Vec<Row> {
    seen(subject).map(|(key, def)| routine(subject, key, def)).collect()
}

fn routine(subject: &Subject<'_>, key: &str, def: &RoutineDef) -> Row {
    let yes = |flag: bool| if flag { "YES" } else { "NO" };
    let is_sql = def.language == Language::Sql;
    let row = placed(def)
        .text("routine_catalog", DATABASE)
        .text("routine_schema", RelationName::schema_of_key(&def.name))
        .text("routine_name", def.bare_name())
        .text("routine_body", if is_sql { "SQL" } else { "EXTERNAL" })
        .text("external_language", if is_sql { "SQL" } else { "PLPGSQL" })
        .text("parameter_style", "GENERAL")
        .text("is_deterministic", yes(def.volatility == Volatility::Immutable))
        .text("sql_data_access", "MODIFIES")
        .text("schema_level_routine", "YES")
        .number("max_dynamic_result_sets", 0)
        .text(
            "security_type",
            match def.security {
                Security::Definer => "DEFINER",
                Security::Invoker => "INVOKER",
            },
        )
        .text("as_locator", "NO")
        .text("is_udt_dependent", "NO");
    let row = if owns(subject, key) { row.text("routine_definition", &def.body) } else { row };
    if def.kind == RoutineKind::Procedure {
        return row.text("routine_type", "PROCEDURE");
    }
    let Shown { data_type, schema, name } = shown(&def.result);
    let row = match def.kind {
        RoutineKind::Aggregate => row,
        _ => row.text("routine_type", "FUNCTION"),
    };
    row.text("data_type", data_type)
        .text("type_udt_catalog", DATABASE)
        .text("type_udt_schema", schema)
        .text("type_udt_name", &name)
        .text("dtd_identifier", "0")
        .text("is_null_call", yes(def.nulls == NullInput::Strict))
}

/// The rows of information_schema.parameters.
pub(super) fn parameters(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, def) in seen(subject) {
        let is_owner = owns(subject, key);
        for (at, parameter) in def.parameters.iter().enumerate() {
            let Shown { data_type, schema, name } = shown(&parameter.ty);
            let mode = match parameter.mode {
                ParameterMode::In | ParameterMode::Variadic => "IN",
                ParameterMode::InOut => "INOUT",
                ParameterMode::Out | ParameterMode::Table => "OUT",
            };
            let row = placed(def)
                .number("ordinal_position", at as i64 + 1)
                .text("parameter_mode", mode)
                .text("is_result", "NO")
                .text("as_locator", "NO")
                .text("data_type", data_type)
                .text("udt_catalog", DATABASE)
                .text("udt_schema", schema)
                .text("udt_name", &name)
                .text("dtd_identifier", &(at + 1).to_string());
            let named = !parameter.name.is_empty();
            let row = if named { row.text("parameter_name", &parameter.name) } else { row };
            let default = parameter.default.as_ref().filter(|_| is_owner);
            rows.push(match default {
                Some(_) => {
                    row.text("parameter_default", &routines::default_shown(subject, parameter))
                }
                None => row,
            });
        }
    }
    rows
}
