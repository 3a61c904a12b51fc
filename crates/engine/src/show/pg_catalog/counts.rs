//! PostgreSQL's tables of statistics, and others about the whole server: which tables and indexes
//! there are, and how many rows. What nobody counts here is 0.

use std::sync::Arc;

use catalog::numbers as catalog_numbers;
use sql::statement::RelationName;
use types::calendar::TimeZone;
use types::{ElementType, Interval, RegKind, Value, array};

use super::{Row, Subject, keywords};
use crate::KeptStatement;
use crate::session::prepared::kept::PreparedBy;

/// The rows of a table of this module, of keywords, the server or extensions; None for others.
pub(super) fn rows(name: &str, subject: &Subject<'_>) -> Option<Vec<Row>> {
    Some(match name {
        "pg_catalog.pg_stat_all_tables"
        | "pg_catalog.pg_stat_user_tables"
        | "pg_catalog.pg_statio_all_tables"
        | "pg_catalog.pg_statio_user_tables" => tables(subject),
        "pg_catalog.pg_stat_all_indexes"
        | "pg_catalog.pg_stat_user_indexes"
        | "pg_catalog.pg_statio_all_indexes"
        | "pg_catalog.pg_statio_user_indexes" => indexes(subject),
        "pg_catalog.pg_statio_all_sequences" | "pg_catalog.pg_statio_user_sequences" => {
            sequences(subject)
        }
        "pg_catalog.pg_sequences" => sequence_values(subject),
        "pg_catalog.pg_prepared_statements" => prepared(subject),
        "pg_catalog.pg_timezone_names" => zones(subject),
        "pg_catalog.pg_get_keywords" => keywords::rows(),
        "pg_catalog.tessera_server" => {
            let started = subject.database.inner().opened_micros;
            vec![Row::default().set("started", Value::I64(started))]
        }
        "pg_catalog.pg_stat_database" => {
            let sessions = subject.database.sessions().len() as i64;
            let row = Row::default().number("datid", subject.database_number());
            let row = row.text("datname", &subject.state.database.0);
            vec![row.number("numbackends", sessions).number("sessions", sessions)]
        }
        "pg_catalog.pg_stat_bgwriter"
        | "pg_catalog.pg_stat_archiver"
        | "pg_catalog.pg_stat_wal" => {
            vec![Row::default()]
        }
        "pg_catalog.pg_shadow" => super::tables::shadows(subject),
        name => return super::extensions::rows(name, subject),
    })
}

fn named(key: &str) -> Row {
    let row = Row::default().text("schemaname", RelationName::schema_of_key(key));
    row.text("relname", RelationName::name_of_key(key))
}

/// pg_stat_all_tables and its kin.
fn tables(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let row = |(name, entry): (&String, &std::sync::Arc<crate::TableEntry>)| {
        let live = i64::try_from(entry.storage().live_rows()).unwrap_or(i64::MAX);
        let number = numbers.get(name).copied().unwrap_or(0);
        named(name).number("relid", number).number("n_live_tup", live)
    };
    subject.state.tables.iter().map(row).collect()
}

/// pg_stat_all_indexes and its kin.
fn indexes(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let mut rows = Vec::new();
    for (name, entry) in &subject.state.tables {
        for index in entry.def.visible_indexes() {
            let key = RelationName::key_beside(name, &index.name);
            let row = named(name).number("relid", number(name)).text("indexrelname", &index.name);
            rows.push(row.number("indexrelid", number(&key)));
        }
    }
    rows
}

/// pg_statio_all_sequences and its kin.
fn sequences(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let row = |name: &String| named(name).number("relid", numbers.get(name).copied().unwrap_or(0));
    subject.state.sequences.keys().map(row).collect()
}

/// pg_sequences.
fn sequence_values(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(name, sequence): (&String, &std::sync::Arc<catalog::Sequence>)| {
        let (def, value) = (&sequence.def, *sequence.value.lock());
        let object = catalog::rights::Object::Relation(name.clone());
        Row::default()
            .text("schemaname", RelationName::schema_of_key(name))
            .text("sequencename", RelationName::name_of_key(name))
            .text("sequenceowner", &subject.owner_of(&object))
            .set("data_type", subject.seen().type_value(def.ty))
            .number("start_value", def.start)
            .number("min_value", def.min)
            .number("max_value", def.max)
            .number("increment_by", def.increment)
            .flag("cycle", def.wrap == sql::catalog::SequenceWrap::Cycle)
            .number("cache_size", def.cache)
            .set("last_value", if value.called { Value::I64(value.last) } else { Value::Null })
    };
    subject.state.sequences.iter().map(row).collect()
}

/// pg_prepared_statements: those of PREPARE and of the protocol.
fn prepared(subject: &Subject<'_>) -> Vec<Row> {
    let mut all: Vec<_> = subject.prepared.all().collect();
    all.sort_by_key(|(name, _)| name.as_str());
    let row = |(name, kept): (&String, &Arc<KeptStatement>)| {
        let types = kept.parameters().iter().map(|ty| subject.seen().type_value(*ty));
        let types: Vec<Value> = types.collect();
        let types = array::from_values(&types, ElementType::Reg(RegKind::Type));
        Row::default()
            .text("name", name)
            .text("statement", kept.text())
            .set("prepare_time", Value::I64(kept.prepared_micros))
            .set("parameter_types", types.unwrap_or(Value::Null))
            .flag("from_sql", kept.by == PreparedBy::Sql)
            .number("generic_plans", 0)
            .number("custom_plans", 0)
    };
    all.into_iter().map(row).collect()
}

/// pg_timezone_names.
fn zones(subject: &Subject<'_>) -> Vec<Row> {
    let now = subject.database.inner().clock.micros();
    let row = |name: String| {
        let zone = TimeZone::setting(&name).ok()?;
        let micros = zone.offset_at(now) * 1_000_000;
        let offset = Interval { months: 0, days: 0, micros };
        let row = Row::default().text("name", &name).text("abbrev", &zone.abbreviation_at(now));
        let row = row.set("utc_offset", Value::Interval(offset));
        Some(row.flag("is_dst", zone.is_summer_at(now)))
    };
    TimeZone::names().into_iter().filter_map(row).collect()
}
