//! pg_proc: the functions, procedures and aggregates that users made, and their definitions as SQL;
//! pg_aggregate.

use std::sync::Arc;

use catalog::State;
use catalog::numbers as catalog_numbers;
use catalog::rights::Object;
use sql::catalog::{
    AggregateDef, BodyForm, LastTakes, NullInput, ParameterDef, ParameterMode, Polymorphic,
    RoutineDef, RoutineKind, RoutineType, RowCount, Security, StepFunction, Volatility,
};
use sql::deparse::Typed;
use sql::statement::RelationName;
use types::{DataType, ElementType, RegKind, Value, array};

use super::objects::Seen;
use super::written::quoted;
use super::{Row, Subject, builtin, numbers, rights};

/// Rows that a function of many rows is expected to give, unless it says otherwise.
const USUAL_ROWS: i64 = 1000;

/// Cost of a call, unless the function says otherwise.
const USUAL_COST: i64 = 100;

/// The rows of pg_proc beside those of the system.
pub(super) fn rows(subject: &Subject<'_>) -> Vec<Row> {
    let routines = subject.state.routines.iter();
    routines.map(|(key, def)| row(subject, key, def)).collect()
}

fn row(subject: &Subject<'_>, key: &str, def: &RoutineDef) -> Row {
    let owner = subject.owner_of(&Object::Routine(key.to_owned()));
    let inputs: Vec<i64> = def.inputs().map(|input| number(subject.state, &input.ty)).collect();
    let usual_rows = if def.rows == RowCount::Many { USUAL_ROWS } else { 0 };
    let count =
        |hint: &str, usual| hint_of(def, hint).and_then(|n| n.parse().ok()).unwrap_or(usual);
    let defaults = def.inputs().filter(|input| input.default.is_some());
    let defaults: Vec<String> = defaults.map(|input| default_shown(subject, input)).collect();
    let row = Row::default()
        .number("oid", i64::from(def.number))
        .text("proname", def.bare_name())
        .number("pronamespace", numbers::schema(RelationName::schema_of_key(&def.name)))
        .number("proowner", numbers::role(&owner))
        .number("prolang", numbers::language(def.language))
        .number("procost", count("cost", USUAL_COST))
        .number("prorows", count("rows", usual_rows))
        .text("prokind", kind(def.kind))
        .flag("prosecdef", def.security == Security::Definer)
        .flag("proleakproof", hint_of(def, "leakproof").is_some())
        .flag("proisstrict", def.nulls == NullInput::Strict)
        .flag("proretset", def.rows == RowCount::Many)
        .text("provolatile", letter(def.volatility))
        .text("proparallel", hint_of(def, "parallel").map_or("u", |word| &word[..1]))
        .number("pronargs", inputs.len() as i64)
        .number("pronargdefaults", defaults.len() as i64)
        .number("provariadic", variadic(subject.state, def))
        .number("prorettype", number(subject.state, &def.result))
        .vector("proargtypes", ElementType::Oid, &inputs)
        .set("proacl", rights::list(subject, &Object::Routine(key.to_owned())))
        .text("arguments", &arguments(subject, def, Parts::All))
        .text("identity", &arguments(subject, def, Parts::Identity))
        .text("definition", &definition(subject, def));
    let row = body(row, def);
    let row = match result(subject, def) {
        Some(result) => row.text("result", &result),
        None => row,
    };
    let row =
        if defaults.is_empty() { row } else { row.text("proargdefaults", &defaults.join(", ")) };
    let settings = def.settings.iter().map(|(name, value)| format!("{name}={value}"));
    let settings: Vec<String> = settings.collect();
    let row = if settings.is_empty() { row } else { row.texts("proconfig", &settings) };
    parameters(subject, row, def)
}

fn kind(kind: RoutineKind) -> &'static str {
    match kind {
        RoutineKind::Function => "f",
        RoutineKind::Procedure => "p",
        RoutineKind::Aggregate => "a",
    }
}

/// Treatment of NULL by a function of the system, found by its name and number of arguments.
pub(crate) fn null_input(name: &str, count: usize) -> NullInput {
    match builtin::function_of(name, count) {
        Some(function) if function.is_strict => NullInput::Strict,
        _ => NullInput::Called,
    }
}

/// The rows of pg_aggregate beside those of the system.
pub(super) fn aggregates(subject: &Subject<'_>) -> Vec<Row> {
    let all = subject.state.routines.values();
    all.filter_map(|def| Some(aggregate(subject, def, def.aggregate.as_deref()?))).collect()
}

fn aggregate(subject: &Subject<'_>, def: &RoutineDef, aggregate: &AggregateDef) -> Row {
    let seen = subject.seen();
    let count = 1 + def.inputs().count();
    let function = |row: Row, column, function: Option<&StepFunction>| match function {
        None => row.function(column, 0, "-"),
        Some(StepFunction::Routine(number)) => {
            let shown = shown(seen, *number, RegKind::Proc);
            row.function(column, *number, &shown.unwrap_or_default())
        }
        Some(StepFunction::System(name, _)) => {
            let number = builtin::function_of(name, count).map_or(0, |known| known.number);
            let shown = builtin::function_shown(number);
            row.function(column, number, &shown.unwrap_or_else(|| name.clone()))
        }
    };
    let own = StepFunction::Routine(def.number);
    let mut row = Row::default();
    for (column, called) in [
        ("aggfnoid", Some(&own)),
        ("aggtransfn", Some(&aggregate.transition)),
        ("aggfinalfn", aggregate.last.as_ref()),
        ("aggcombinefn", aggregate.combine.as_ref()),
        ("aggserialfn", None),
        ("aggdeserialfn", None),
        ("aggmtransfn", None),
        ("aggminvtransfn", None),
        ("aggmfinalfn", None),
    ] {
        row = function(row, column, called);
    }
    let modify = match aggregate.option("finalfunc_modify") {
        Some("shareable") => "s",
        Some("read_write") => "w",
        _ => "r",
    };
    let space = aggregate.option("sspace").and_then(|space| space.parse().ok()).unwrap_or(0);
    let row = row
        .text("aggkind", "n")
        .number("aggnumdirectargs", 0)
        .flag("aggfinalextra", aggregate.last_takes == LastTakes::Nulls)
        .flag("aggmfinalextra", false)
        .text("aggfinalmodify", modify)
        .text("aggmfinalmodify", "r")
        .number("aggsortop", 0)
        .number("aggtranstype", number(subject.state, &aggregate.state))
        .number("aggtransspace", space)
        .number("aggmtranstype", 0)
        .number("aggmtransspace", 0);
    match &aggregate.initial {
        Some(initial) => row.text("agginitval", initial),
        None => row,
    }
}

fn body(row: Row, def: &RoutineDef) -> Row {
    match def.form {
        BodyForm::Text => row.text("prosrc", &def.body),
        BodyForm::Return => row.text("prosrc", "").text("prosqlbody", &returned(def)),
        BodyForm::Atomic => row.text("prosrc", "").text("prosqlbody", &atomic(def)),
    }
}

/// The body of a function that was made with RETURN.
fn returned(def: &RoutineDef) -> String {
    let body = def.body.trim();
    let select = body.get(..6).filter(|word| word.eq_ignore_ascii_case("select"));
    format!("RETURN {}", select.map_or(body, |_| body[6..].trim_start()))
}

/// The body of a function that was made with BEGIN ATOMIC.
fn atomic(def: &RoutineDef) -> String {
    let lines = def.body.lines().map(|line| format!(" {line}\n"));
    format!("BEGIN ATOMIC\n{}END", lines.collect::<String>())
}

/// Columns about parameters, which are NULL where all go in, or none has a name.
fn parameters(subject: &Subject<'_>, row: Row, def: &RoutineDef) -> Row {
    let mode = |parameter: &ParameterDef| match parameter.mode {
        ParameterMode::In => "i",
        ParameterMode::Out => "o",
        ParameterMode::InOut => "b",
        ParameterMode::Table => "t",
        ParameterMode::Variadic => "v",
    };
    let row = if def.parameters.iter().all(|parameter| parameter.mode == ParameterMode::In) {
        row
    } else {
        let all: Vec<i64> = def.parameters.iter().map(|p| number(subject.state, &p.ty)).collect();
        let modes: Vec<Value> = def.parameters.iter().map(|p| Value::text(mode(p))).collect();
        let modes = array::from_values(&modes, ElementType::InternalChar).unwrap_or(Value::Null);
        row.list("proallargtypes", ElementType::Oid, &all).set("proargmodes", modes)
    };
    if def.parameters.iter().all(|parameter| parameter.name.is_empty()) {
        return row;
    }
    let names: Vec<String> = def.parameters.iter().map(|p| p.name.clone()).collect();
    row.texts("proargnames", &names)
}

fn hint_of<'d>(def: &'d RoutineDef, hint: &str) -> Option<&'d str> {
    let found = def.hints.iter().find(|(known, _)| known == hint);
    found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

fn letter(volatility: Volatility) -> &'static str {
    match volatility {
        Volatility::Volatile => "v",
        Volatility::Stable => "s",
        Volatility::Immutable => "i",
    }
}

/// The number of the type of further arguments; 0 where there are none.
pub(super) fn variadic(state: &State, def: &RoutineDef) -> i64 {
    match def.variadic().map(|parameter| &parameter.ty) {
        Some(RoutineType::Value(DataType::Array(element), None)) => {
            numbers::of_type(element.data_type()).0
        }
        Some(RoutineType::Polymorphic(Polymorphic::CompatibleArray)) => {
            Polymorphic::Compatible.number()
        }
        Some(RoutineType::Polymorphic(_)) => Polymorphic::Element.number(),
        Some(ty) => number(state, ty),
        None => 0,
    }
}

/// The number of the type of a parameter or result.
pub(super) fn number(state: &State, ty: &RoutineType) -> i64 {
    match ty {
        RoutineType::Value(_, Some(used)) => i64::from(used.number()),
        RoutineType::Value(ty, None) => numbers::of_type(*ty).0,
        RoutineType::Row(key) if state.relation_number(key).is_some() => {
            i64::from(catalog_numbers::row_type(key))
        }
        RoutineType::Row(_) | RoutineType::Record => 2249,
        RoutineType::Void => 2278,
        RoutineType::Trigger => 2279,
        RoutineType::Polymorphic(ty) => ty.number(),
    }
}

/// The name of a type, with its schema where the search path does not find it.
fn shown_type(seen: Seen<'_>, ty: &RoutineType) -> String {
    if let RoutineType::Row(key) = ty {
        return seen.shown(key);
    }
    let number = number(seen.state, ty);
    for (key, own) in &seen.state.types {
        if i64::from(own.number()) == number {
            return seen.shown_type(key);
        }
        if i64::from(own.array_number()) == number {
            return format!("{}[]", seen.shown_type(key));
        }
    }
    ty.shown()
}

/// True when the search path has the schema of a routine.
fn is_in_path(seen: Seen<'_>, def: &RoutineDef) -> bool {
    let schema = RelationName::schema_of_key(&def.name);
    seen.settings.schemas().any(|known| known == schema)
}

/// The name of a routine as expressions call it: with its schema where the search path does not
/// have that.
pub(super) fn name_shown(seen: Seen<'_>, def: &RoutineDef) -> String {
    let bare = quoted(def.bare_name());
    if is_in_path(seen, def) {
        return bare.into_owned();
    }
    format!("{}.{bare}", quoted(RelationName::schema_of_key(&def.name)))
}

/// The numbers of the routines that `name` means, of those with such types of arguments where
/// some are given.
pub(super) fn meant(seen: Seen<'_>, name: &RelationName, arguments: Option<&[u32]>) -> Vec<u32> {
    let is_meant = |def: &&Arc<RoutineDef>| match &name.schema {
        Some(schema) => RelationName::schema_of_key(&def.name) == schema,
        None => is_in_path(seen, def),
    };
    let fits = |def: &&Arc<RoutineDef>| {
        let types = def.inputs().map(|input| number(seen.state, &input.ty));
        arguments.is_none_or(|given| types.eq(given.iter().map(|number| i64::from(*number))))
    };
    let all = seen.state.routines.values().filter(|def| def.bare_name() == name.name);
    all.filter(is_meant).filter(fits).map(|def| def.number).collect()
}

/// A routine as `regproc` and `regprocedure` show it.
pub(super) fn shown(seen: Seen<'_>, number: u32, kind: RegKind) -> Option<String> {
    let def = seen.state.routine_numbered(number)?;
    let bare = quoted(def.bare_name());
    let schema = RelationName::schema_of_key(&def.name);
    let path = RelationName { schema: None, name: def.bare_name().to_owned() };
    let is_clear = is_in_path(seen, def)
        && (kind == RegKind::Procedure || meant(seen, &path, None).len() == 1);
    let name = if is_clear { bare.into_owned() } else { format!("{}.{bare}", quoted(schema)) };
    if kind != RegKind::Procedure {
        return Some(name);
    }
    let types: Vec<String> = def.inputs().map(|input| shown_type(seen, &input.ty)).collect();
    Some(format!("{name}({})", types.join(",")))
}

/// The schemas of routines that the search path does not find, by their names; those that the
/// system has, too, are left out.
pub(super) fn hidden(seen: Seen<'_>) -> impl Iterator<Item = (&str, String)> {
    let all = seen.state.routines.values();
    let hidden = all.filter(move |def| !is_in_path(seen, def));
    let own = hidden.filter(|def| builtin::functions().named(def.bare_name()).next().is_none());
    own.map(|def| (def.bare_name(), quoted(RelationName::schema_of_key(&def.name)).into_owned()))
}

/// Parameters that a list shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// With their defaults.
    All,
    /// By which a routine is found.
    Identity,
}

/// Source: `pg_get_function_arguments` and `pg_get_function_identity_arguments` of PostgreSQL 15.
fn arguments(subject: &Subject<'_>, def: &RoutineDef, parts: Parts) -> String {
    let shown = |parameter: &ParameterDef| {
        let mode = match (parameter.mode, def.kind) {
            (ParameterMode::In, RoutineKind::Procedure) => "IN ",
            (ParameterMode::In | ParameterMode::Table, _) => "",
            (ParameterMode::Variadic, _) => "VARIADIC ",
            (ParameterMode::Out, _) => "OUT ",
            (ParameterMode::InOut, _) => "INOUT ",
        };
        let name = named(parameter);
        let ty = shown_type(subject.seen(), &parameter.ty);
        let default = parameter.default.as_ref().filter(|_| parts == Parts::All);
        let default = default.map(|_| format!(" DEFAULT {}", default_shown(subject, parameter)));
        format!("{mode}{name}{ty}{}", default.unwrap_or_default())
    };
    let listed = def.parameters.iter().filter(|p| p.mode != ParameterMode::Table);
    listed.map(shown).collect::<Vec<_>>().join(", ")
}

/// The default of a parameter, on one line.
pub(super) fn default_shown(subject: &Subject<'_>, parameter: &ParameterDef) -> String {
    let ty = Typed::plain(u32::try_from(number(subject.state, &parameter.ty)).unwrap_or(0));
    let text = parameter.default.as_deref().unwrap_or_default();
    subject.flat_text(text, ty)
}

/// The name of a parameter and a blank; nothing where it has none.
fn named(parameter: &ParameterDef) -> String {
    if parameter.name.is_empty() { String::new() } else { format!("{} ", quoted(&parameter.name)) }
}

/// RETURNS without the word; none of procedures.
fn result(subject: &Subject<'_>, def: &RoutineDef) -> Option<String> {
    if def.kind == RoutineKind::Procedure {
        return None;
    }
    let columns = def.parameters.iter().filter(|p| p.mode == ParameterMode::Table);
    let columns: Vec<String> = columns
        .map(|column| format!("{}{}", named(column), shown_type(subject.seen(), &column.ty)))
        .collect();
    if !columns.is_empty() {
        return Some(format!("TABLE({})", columns.join(", ")));
    }
    let many = if def.rows == RowCount::Many { "SETOF " } else { "" };
    Some(format!("{many}{}", shown_type(subject.seen(), &def.result)))
}

/// CREATE OR REPLACE, as `pg_get_functiondef` of PostgreSQL 15 writes it.
fn definition(subject: &Subject<'_>, def: &RoutineDef) -> String {
    let word = match def.kind {
        RoutineKind::Function => "FUNCTION",
        RoutineKind::Procedure => "PROCEDURE",
        RoutineKind::Aggregate => "AGGREGATE",
    };
    let schema = RelationName::schema_of_key(&def.name);
    let name = format!("{}.{}", quoted(schema), quoted(def.bare_name()));
    let arguments = arguments(subject, def, Parts::All);
    let mut text = format!("CREATE OR REPLACE {word} {name}({arguments})\n");
    if let Some(result) = result(subject, def) {
        text.push_str(&format!(" RETURNS {result}\n"));
    }
    text.push_str(&format!(" LANGUAGE {}\n", def.language.name()));
    let options = options(def);
    if !options.is_empty() {
        text.push_str(&format!("{options}\n"));
    }
    for (name, value) in &def.settings {
        text.push_str(&format!(" SET {name} TO '{}'\n", value.replace('\'', "''")));
    }
    match def.form {
        BodyForm::Return => text.push_str(&returned(def)),
        BodyForm::Atomic => text.push_str(&atomic(def)),
        BodyForm::Text => {
            let mut tag = format!("${}", word.to_lowercase());
            while def.body.contains(&tag) {
                tag.push('x');
            }
            text.push_str(&format!("AS {tag}${}{tag}$", def.body));
        }
    }
    text.push('\n');
    text
}

/// Options that differ from the usual ones, each behind a blank.
fn options(def: &RoutineDef) -> String {
    let mut text = String::new();
    text.push_str(match def.volatility {
        Volatility::Immutable => " IMMUTABLE",
        Volatility::Stable => " STABLE",
        Volatility::Volatile => "",
    });
    match hint_of(def, "parallel") {
        Some("safe") => text.push_str(" PARALLEL SAFE"),
        Some("restricted") => text.push_str(" PARALLEL RESTRICTED"),
        _ => {}
    }
    if def.nulls == NullInput::Strict {
        text.push_str(" STRICT");
    }
    if def.security == Security::Definer {
        text.push_str(" SECURITY DEFINER");
    }
    if hint_of(def, "leakproof").is_some() {
        text.push_str(" LEAKPROOF");
    }
    let usual = [("cost", USUAL_COST), ("rows", USUAL_ROWS)];
    for (hint, usual) in usual {
        if let Some(value) = hint_of(def, hint).filter(|value| *value != usual.to_string()) {
            text.push_str(&format!(" {} {value}", hint.to_uppercase()));
        }
    }
    text
}
