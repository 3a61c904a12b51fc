//! pg_trigger, definitions of triggers, and information_schema.triggers.
//!
//! A row-level trigger of a partitioned table has rows for its partitions, too, as PostgreSQL makes
//! copies of it there.

use std::sync::Arc;

use catalog::numbers as catalog_numbers;
use sql::catalog::{Deferral, TableMeta, TriggerDef, TriggerEvent, TriggerLevel, TriggerTiming};
use sql::deparse::{Form, Named, Row as DeparseRow};
use sql::statement::RelationName;
use types::{ElementType, RegKind, Value};

use super::columns::DATABASE;
use super::deparsed::{Texts, row_of, type_number};
use super::written::quoted;
use super::{Row, Subject, builtin, full_name, numbers, routines};

/// A trigger, where it fires, and the table that has it.
struct Placed<'s> {
    table: &'s str,
    of: String,
    def: Arc<TriggerDef>,
}

/// All triggers, where they fire.
fn all<'s>(subject: &'s Subject<'_>) -> Vec<Placed<'s>> {
    let state = subject.state;
    let mut found = Vec::new();
    for (table, own) in &state.triggers {
        let placed = |def: &Arc<TriggerDef>| Placed { table, of: table.clone(), def: def.clone() };
        found.extend(own.iter().map(placed));
    }
    if found.is_empty() {
        return found;
    }
    for (table, entry) in &state.tables {
        if entry.def.partition_of.is_none() {
            continue;
        }
        let copies = state.row_triggers(table).into_iter().filter(|(of, _)| of != table);
        found.extend(copies.map(|(of, def)| Placed { table, of, def }));
    }
    found
}

/// `pg_trigger.tgtype`.
fn bits(def: &TriggerDef) -> i64 {
    let event = |event: &TriggerEvent| match event {
        TriggerEvent::Insert => 4,
        TriggerEvent::Delete => 8,
        TriggerEvent::Update => 16,
        TriggerEvent::Truncate => 32,
    };
    let timing = match def.timing {
        TriggerTiming::Before => 2,
        TriggerTiming::After => 0,
        TriggerTiming::InsteadOf => 64,
    };
    let level = i64::from(def.level == TriggerLevel::Row);
    level + timing + def.events.iter().map(event).sum::<i64>()
}

/// The number of the constraint that a constraint trigger is; 0 for others.
fn constraint_number(placed: &Placed<'_>) -> i64 {
    match placed.def.constraint {
        Some(_) => numbers::constraint(placed.table, &placed.def.name),
        None => 0,
    }
}

/// The rows of pg_constraint for constraint triggers.
pub(super) fn constraints(subject: &Subject<'_>) -> Vec<Row> {
    let known = catalog_numbers::relations(subject.state);
    let row = |placed: &Placed<'_>| {
        let Placed { table, of, def } = placed;
        let deferral = def.constraint?;
        let is_copy = *table != of.as_str();
        let row = super::relations::without_actions()
            .number("oid", constraint_number(placed))
            .text("conname", &def.name)
            .number("connamespace", numbers::schema(RelationName::schema_of_key(table)))
            .text("contype", "t")
            .text("condef", &format!("TRIGGER{}", deferral.sql()))
            .flag("condeferrable", deferral.is_deferrable())
            .flag("condeferred", deferral == Deferral::Deferred)
            .flag("convalidated", true)
            .number("conrelid", known.get(*table).copied().unwrap_or(0))
            .number("conparentid", if is_copy { numbers::constraint(of, &def.name) } else { 0 })
            .flag("conislocal", !is_copy)
            .number("coninhcount", i64::from(is_copy))
            .flag("connoinherit", true);
        Some(row)
    };
    all(subject).iter().filter_map(row).collect()
}

/// The rows of pg_trigger.
pub(super) fn rows(subject: &Subject<'_>) -> Vec<Row> {
    let known = catalog_numbers::relations(subject.state);
    let row = |placed: &Placed<'_>| {
        let Placed { table, of, def } = placed;
        let is_copy = *table != of.as_str();
        let routine = subject.state.routines.get(&def.routine);
        let columns = subject.state.tables.get(*table).map_or(&[][..], |entry| entry.columns());
        let place = |name: &String| columns.iter().position(|column| column.name == *name);
        let ordinals: Vec<i64> =
            def.columns.iter().filter_map(place).map(|at| at as i64 + 1).collect();
        let arguments: Vec<u8> =
            def.arguments.iter().flat_map(|text| text.bytes().chain([0])).collect();
        let condition = condition(subject, placed).map(|texts| texts.in_one());
        let text = |text: Option<&String>| text.map_or(Value::Null, |text| Value::text(text));
        Row::default()
            .number("oid", numbers::trigger(table, &def.name))
            .number("tgrelid", known.get(*table).copied().unwrap_or(0))
            .number("tgparentid", if is_copy { numbers::trigger(of, &def.name) } else { 0 })
            .text("tgname", &def.name)
            .number("tgfoid", routine.map_or(built_in(def), |routine| i64::from(routine.number)))
            .number("tgtype", bits(def))
            .text("tgenabled", def.firing.letter())
            .flag("tgisinternal", false)
            .number("tgconstrrelid", 0)
            .number("tgconstrindid", 0)
            .number("tgconstraint", constraint_number(placed))
            .flag("tgdeferrable", def.constraint.is_some_and(Deferral::is_deferrable))
            .flag("tginitdeferred", def.constraint == Some(Deferral::Deferred))
            .number("tgnargs", def.arguments.len() as i64)
            .vector("tgattr", ElementType::SmallInt, &ordinals)
            .set("tgargs", Value::Str(arguments.into()))
            .set("tgqual", text(condition.as_ref()))
            .set("tgoldtable", text(def.old_table.as_ref()))
            .set("tgnewtable", text(def.new_table.as_ref()))
            .text("definition", &definition(subject, placed, Form::Exact))
            .text("shown", &definition(subject, placed, Form::Pretty))
    };
    all(subject).iter().map(row).collect()
}

/// The texts of WHEN.
fn condition(subject: &Subject<'_>, placed: &Placed<'_>) -> Option<Texts> {
    let sql = placed.def.condition.as_ref()?;
    let state = subject.state;
    let columns = match (state.tables.get(placed.table), state.views.get(placed.table)) {
        (Some(entry), _) => row_of(placed.table, entry.columns()).columns,
        (None, Some(view)) => {
            let output = view.output.iter();
            output.map(|(name, ty)| (name.as_str(), type_number(*ty))).collect()
        }
        (None, None) => Vec::new(),
    };
    let row = |name| DeparseRow { named: Named::Behind, name, columns: columns.clone() };
    Some(subject.condition_texts(sql, &[row("old"), row("new")]))
}

/// CREATE TRIGGER, as `pg_get_triggerdef` of PostgreSQL 15 writes it.
fn definition(subject: &Subject<'_>, placed: &Placed<'_>, form: Form) -> String {
    let def = &placed.def;
    let relation = match form {
        Form::Exact | Form::Flat => full_name(placed.table),
        Form::Pretty => subject.shown(placed.table),
    };
    let event = |event: &TriggerEvent| {
        if *event != TriggerEvent::Update || def.columns.is_empty() {
            return event.name().to_owned();
        }
        let columns: Vec<_> = def.columns.iter().map(|column| quoted(column)).collect();
        format!("UPDATE OF {}", columns.join(", "))
    };
    let events: Vec<String> = def.events.iter().map(event).collect();
    let mut text = format!(
        "CREATE {}TRIGGER {} {} {} ON {relation} ",
        if def.constraint.is_some() { "CONSTRAINT " } else { "" },
        quoted(&def.name),
        def.timing.name(),
        events.join(" OR "),
    );
    text.push_str(match def.constraint {
        None => "",
        Some(Deferral::Never) => "NOT DEFERRABLE INITIALLY IMMEDIATE ",
        Some(Deferral::Immediate) => "DEFERRABLE INITIALLY IMMEDIATE ",
        Some(Deferral::Deferred) => "DEFERRABLE INITIALLY DEFERRED ",
    });
    if def.has_tables() {
        text.push_str("REFERENCING ");
        for (word, name) in [("OLD", &def.old_table), ("NEW", &def.new_table)] {
            if let Some(name) = name {
                text.push_str(&format!("{word} TABLE AS {} ", quoted(name)));
            }
        }
    }
    text.push_str(&format!("FOR EACH {} ", def.level.name()));
    if let Some(condition) = condition(subject, placed) {
        text.push_str(&format!("WHEN ({}) ", condition.text(form)));
    }
    text.push_str("EXECUTE ");
    text.push_str(&call(subject, def));
    text
}

/// The number of the function of the database that a trigger calls, or 0.
fn built_in(def: &TriggerDef) -> i64 {
    let name = sql::catalog::built_in_trigger_function(&def.routine);
    let found = name.and_then(|name| builtin::function_of(name, 0));
    found.map_or(0, |function| i64::from(function.number))
}

/// `FUNCTION name(arguments)`.
fn call(subject: &Subject<'_>, def: &TriggerDef) -> String {
    let routine = subject.state.routines.get(&def.routine);
    let name =
        routine.and_then(|known| routines::shown(subject.seen(), known.number, RegKind::Proc));
    let built_in = sql::catalog::built_in_trigger_function(&def.routine);
    let name = name.unwrap_or_else(|| built_in.unwrap_or(&def.routine).to_owned());
    let argument = |text: &String| {
        let escaped = text.replace('\'', "''");
        if text.contains('\\') {
            format!("E'{}'", escaped.replace('\\', "\\\\"))
        } else {
            format!("'{escaped}'")
        }
    };
    let arguments: Vec<String> = def.arguments.iter().map(argument).collect();
    format!("FUNCTION {name}({})", arguments.join(", "))
}

/// The rows of information_schema.triggers: one for each event.
pub(super) fn shown(subject: &Subject<'_>) -> Vec<Row> {
    let all = all(subject);
    let mut rows = Vec::new();
    for placed in &all {
        let Placed { table, def, .. } = placed;
        let condition = condition(subject, placed).map(|texts| texts.exact);
        for event in def.events.iter().filter(|event| **event != TriggerEvent::Truncate) {
            let before = |other: &&Placed<'_>| {
                other.table == *table
                    && other.def.events.contains(event)
                    && other.def.timing == def.timing
                    && other.def.level == def.level
                    && other.def.name <= def.name
            };
            let order = all.iter().filter(before).count();
            let text = |text: Option<&String>| text.map_or(Value::Null, |text| Value::text(text));
            let row = Row::default()
                .text("trigger_catalog", DATABASE)
                .text("event_object_catalog", DATABASE)
                .text("trigger_schema", RelationName::schema_of_key(table))
                .text("trigger_name", &def.name)
                .text("event_manipulation", event.name())
                .text("event_object_schema", RelationName::schema_of_key(table))
                .text("event_object_table", RelationName::name_of_key(table))
                .number("action_order", order as i64)
                .set("action_condition", text(condition.as_ref()))
                .text("action_statement", &format!("EXECUTE {}", call(subject, def)))
                .text("action_orientation", def.level.name())
                .text("action_timing", def.timing.name())
                .set("action_reference_old_table", text(def.old_table.as_ref()))
                .set("action_reference_new_table", text(def.new_table.as_ref()));
            rows.push(row);
        }
    }
    rows
}
