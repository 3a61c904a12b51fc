//! Dependencies: pg_depend, and pg_rewrite for the rules that views are to PostgreSQL.
//!
//! ```text
//! table -n-> schema          default -a-> its column     constraint -a-> columns
//! index -i-> constraint, or -a-> columns                 foreign key -n-> key columns, their index
//! table -n-> tables that it inherits from, -a-> the one that it is a partition of
//! sequence -a-> serial column, -i-> identity column      default -n-> sequence
//! rule -i-> its view         rule -n-> what the query reads, keys that its grouping relies on
//! ```
//! pg_dump orders what it writes by these rows.

use std::collections::BTreeMap;

use catalog::numbers as catalog_numbers;
use catalog::user_types::{enum_in, is_of_users};
use catalog::{State, TableDef};
use sql::catalog::{Domain, RoutineDef, RoutineType, StepFunction, UserType};
use sql::statement::RelationName;
use types::Attribute;

use super::{Row, Subject, catalogs, numbers, ranges, relations, routines};

/// An object, or a column of a table: table of the catalog, number, column from 1 or 0.
type Place = (&'static str, i64, i64);

/// Rows being made.
struct Depends {
    rows: Vec<Row>,
    numbers: BTreeMap<String, i64>,
}

impl Depends {
    fn relation(&self, name: &str) -> Place {
        ("pg_class", self.numbers.get(name).copied().unwrap_or(0), 0)
    }

    fn column(&self, table: &str, ordinal: usize) -> Place {
        let (catalog, number, _) = self.relation(table);
        (catalog, number, ordinal as i64 + 1)
    }

    fn add(&mut self, (class, object, part): Place, kind: &str, on: Place) {
        let row = Row::default()
            .number("classid", catalogs::number(class))
            .number("objid", object)
            .number("objsubid", part)
            .number("refclassid", catalogs::number(on.0))
            .number("refobjid", on.1)
            .number("refobjsubid", on.2);
        self.rows.push(row.text("deptype", kind));
    }

    fn columns(&mut self, from: Place, kind: &str, table: &str, ordinals: &[usize]) {
        for &ordinal in ordinals {
            let column = self.column(table, ordinal);
            self.add(from, kind, column);
        }
    }
}

/// pg_depend.
pub(super) fn rows(subject: &Subject<'_>) -> Vec<Row> {
    let state = subject.state;
    let numbers = catalog_numbers::relations(state);
    let mut depends = Depends { rows: Vec::new(), numbers };
    let names = state.tables.keys().chain(state.views.keys()).chain(state.sequences.keys());
    for name in names {
        let relation = depends.relation(name);
        let schema = numbers::schema(RelationName::schema_of_key(name));
        depends.add(relation, "n", ("pg_namespace", schema, 0));
    }
    for (key, ty) in &state.types {
        of_type(subject, key, ty, &mut depends);
    }
    for (key, known) in &state.collations {
        let own = ("pg_collation", i64::from(known.collation.number()), 0);
        let schema = numbers::schema(RelationName::schema_of_key(key));
        depends.add(own, "n", ("pg_namespace", schema, 0));
    }
    for (name, extension) in &state.extensions {
        let schema = ("pg_namespace", numbers::schema(&extension.schema), 0);
        depends.add(("pg_extension", numbers::extension(name), 0), "n", schema);
    }
    for def in state.routines.values() {
        of_routine(state, def, &mut depends);
    }
    for entry in state.tables.values() {
        of_table(subject, &entry.def, &mut depends);
        of_parents(&entry.def, &mut depends);
    }
    for (name, sequence) in &state.sequences {
        let Some((table, column)) = &sequence.owner else { continue };
        let Some(place) = state.column_place(table, column) else { continue };
        let identity = state.tables.get(table).is_some_and(|entry| {
            let identities = &mut entry.def.identities.iter();
            identities
                .any(|(column, identity)| *column == place && identity.sequence.key() == *name)
        });
        let (from, on) = (depends.relation(name), depends.column(table, place));
        depends.add(from, if identity { "i" } else { "a" }, on);
    }
    of_triggers(state, &mut depends);
    for (name, view) in state.queries() {
        let rule = ("pg_rewrite", numbers::rule(name), 0);
        let own = depends.relation(name);
        depends.add(rule, "i", own);
        for (_, ty) in view.output.iter().filter(|(_, ty)| enum_in(*ty).is_some()) {
            depends.add(rule, "n", ("pg_type", numbers::of_type(*ty).0, 0));
        }
        for other in &view.depends_on {
            let on = depends.relation(other);
            if on.1 != 0 && other != name {
                depends.add(rule, "n", on);
            }
        }
        for table in &view.keys {
            let def = state.tables.get(table).map(|entry| &entry.def);
            let key = def.and_then(|def| def.keys.iter().find(|key| key.primary));
            if let Some(key) = key {
                let constraint = numbers::constraint(table, &key.name);
                depends.add(rule, "n", ("pg_constraint", constraint, 0));
            }
        }
    }
    depends.rows
}

/// A table needs those above it.
fn of_parents(def: &TableDef, depends: &mut Depends) {
    let own = depends.relation(&def.name);
    for parent in &def.inheritance.parents {
        let parent = depends.relation(parent);
        depends.add(own, "n", parent);
    }
    if let Some(place) = &def.partition_of {
        let parent = depends.relation(&place.parent);
        depends.add(own, "a", parent);
    }
}

/// A routine needs its schema and the types of its parameters and result that users made; the type
/// of a table's rows needs the table.
fn of_routine(state: &State, def: &RoutineDef, depends: &mut Depends) {
    let routine = ("pg_proc", i64::from(def.number), 0);
    let schema = numbers::schema(RelationName::schema_of_key(&def.name));
    depends.add(routine, "n", ("pg_namespace", schema, 0));
    let types = def.parameters.iter().map(|parameter| &parameter.ty).chain([&def.result]);
    let aggregate = def.aggregate.as_ref();
    for function in aggregate.into_iter().flat_map(|aggregate| aggregate.functions()) {
        if let StepFunction::Routine(number) = function {
            depends.add(routine, "n", ("pg_proc", i64::from(*number), 0));
        }
    }
    for ty in types {
        let number = ("pg_type", routines::number(state, ty), 0);
        match ty {
            RoutineType::Row(key) => {
                let relation = depends.relation(key);
                depends.add(routine, "n", number);
                depends.add(number, "i", relation);
            }
            RoutineType::Value(_, Some(_)) => depends.add(routine, "n", number),
            RoutineType::Value(ty, None) if is_of_users(*ty) => {
                depends.add(routine, "n", number);
            }
            _ => {}
        }
    }
}

/// A type of users needs its schema and what it is made of; its arrays need it.
fn of_type(subject: &Subject<'_>, key: &str, ty: &UserType, depends: &mut Depends) {
    let schema = numbers::schema(RelationName::schema_of_key(key));
    let number = i64::from(ty.number());
    depends.add(("pg_type", number, 0), "n", ("pg_namespace", schema, 0));
    depends.add(("pg_type", number + 1, 0), "i", ("pg_type", number, 0));
    if let Some(domain) = ty.domain() {
        of_domain(domain, depends);
    }
    if let UserType::Range(range) = ty
        && let Some(function) = ranges::difference_of_users(subject.seen(), range.content())
    {
        depends.add(("pg_type", number, 0), "n", ("pg_proc", function, 0));
    }
    if let UserType::Multirange(range) = ty {
        let range = i64::from(range.range().number);
        depends.add(("pg_type", number, 0), "i", ("pg_type", range, 0));
    }
    if let UserType::Composite(record) = ty {
        let class = ("pg_class", numbers::composite(key), 0);
        depends.add(class, "i", ("pg_type", number, 0));
        for (at, Attribute { field, domain }) in record.attributes().iter().enumerate() {
            let of = match domain {
                Some(number) => i64::from(*number),
                None if is_of_users(field.ty) => numbers::of_type(field.ty).0,
                None => continue,
            };
            let of = ("pg_type", of, 0);
            depends.add(("pg_class", numbers::composite(key), at as i64 + 1), "n", of);
        }
    }
}

/// A domain needs the type that it is made of; its conditions need it.
fn of_domain(domain: Domain, depends: &mut Depends) {
    let number = i64::from(domain.number);
    let below = match domain.over {
        Some(over) => Some(i64::from(over.number)),
        None => is_of_users(domain.ty).then(|| numbers::of_type(domain.ty).0),
    };
    if let Some(below) = below {
        depends.add(("pg_type", number, 0), "n", ("pg_type", below, 0));
    }
    for check in &domain.checks {
        let constraint = numbers::domain_constraint(&domain.key, &check.name);
        depends.add(("pg_constraint", constraint, 0), "a", ("pg_type", number, 0));
    }
}

fn of_table(subject: &Subject<'_>, def: &TableDef, depends: &mut Depends) {
    let table = def.name.as_str();
    let beside = |name: &str| RelationName::key_beside(table, name);
    for (ordinal, column) in def.columns.iter().enumerate() {
        let own = match column.domain {
            Some(used) => Some(i64::from(used.number())),
            None => is_of_users(column.ty).then(|| numbers::of_type(column.ty).0),
        };
        if let Some(number) = own {
            let column = depends.column(table, ordinal);
            depends.add(column, "n", ("pg_type", number, 0));
        }
        if let Some(collation) = column.collation.filter(|known| known.is_of_users()) {
            let column = depends.column(table, ordinal);
            depends.add(column, "n", ("pg_collation", i64::from(collation.number()), 0));
        }
    }
    for ordinal in 0..def.columns.len() {
        let Some(text) = relations::expression_of(def, ordinal) else { continue };
        let default = ("pg_attrdef", numbers::default(table, ordinal), 0);
        depends.columns(default, "a", table, &[ordinal]);
        for sequence in sql::sequences_in(text) {
            let on = depends.relation(&sequence.key());
            if on.1 != 0 {
                depends.add(default, "n", on);
            }
        }
    }
    let constraint = |name: &str| ("pg_constraint", numbers::constraint(table, name), 0);
    for key in &def.keys {
        depends.columns(constraint(&key.name), "a", table, &key.columns);
        let index = depends.relation(&beside(&key.name));
        depends.add(index, "i", constraint(&key.name));
    }
    for index in def.visible_indexes() {
        if def.keys.iter().any(|key| key.name == index.name) {
            continue;
        }
        let from = depends.relation(&beside(&index.name));
        if index.excludes() {
            let on = depends.relation(table);
            depends.add(constraint(&index.name), "a", on);
            depends.add(from, "i", constraint(&index.name));
            continue;
        }
        let on = depends.relation(table);
        depends.add(from, "a", on);
    }
    for check in &def.checks {
        let on = depends.relation(table);
        depends.add(constraint(&check.name), "a", on);
    }
    for key in &def.foreign_keys {
        let from = constraint(&key.name);
        depends.columns(from, "a", table, &key.columns);
        depends.columns(from, "n", &key.table.name, &key.references);
        if let Some(index) = relations::referenced_key(subject, key) {
            let on = depends.relation(&index);
            depends.add(from, "n", on);
        }
    }
}

/// Triggers.
fn of_triggers(state: &State, depends: &mut Depends) {
    for (table, own) in &state.triggers {
        for def in own {
            let from = ("pg_trigger", numbers::trigger(table, &def.name), 0);
            let on = depends.relation(table);
            depends.add(from, "a", on);
            if let Some(routine) = state.routines.get(&def.routine) {
                depends.add(from, "n", ("pg_proc", i64::from(routine.number), 0));
            }
        }
    }
}

/// pg_rewrite: the rule of each view.
pub(super) fn rules(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let row = |(name, view): (&String, &catalog::View)| {
        Row::default()
            .text("ev_qual", "<>")
            .text("ev_action", &query_tree(view.output.len()))
            .number("oid", numbers::rule(name))
            .text("rulename", "_RETURN")
            .number("ev_class", numbers.get(name).copied().unwrap_or(0))
            .text("ev_type", "1")
            .text("ev_enabled", "O")
            .flag("is_instead", true)
    };
    subject.state.queries().map(row).collect()
}

/// A query of so many columns as PostgreSQL keeps it, as far as clients take it apart: none of them
/// says which column of a table it is.
fn query_tree(columns: usize) -> String {
    let entry = |number| format!("{{TARGETENTRY :resno {number} :resorigtbl 0 :resorigcol 0}}");
    let entries: Vec<String> = (1..=columns).map(entry).collect();
    format!("({{QUERY :commandType 1 :targetList ({}) :stmt_len 0}})", entries.join(" "))
}
