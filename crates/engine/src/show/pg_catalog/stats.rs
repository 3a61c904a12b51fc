//! pg_stats: what is known of the values of each column, from the statistics that plans are made
//! by. They are there without ANALYZE, for the columns that the reader may select.
//!
//! Departure from PostgreSQL: frequent values and bounds come from a sample of up to 4,096 rows;
//! nobody looks at correlation or at elements of arrays.

use std::collections::HashMap;

use catalog::rights::{Object, Spot};
use sql::catalog::ColumnDef;
use sql::statement::{Privilege, Privileges, RelationName};
use storage::TableStatistics;
use types::{DataType, ElementType, PhysicalType, Value, array, text};

use super::{Row, Subject};

/// Most frequent values shown.
const FREQUENT_MAX: usize = 100;
/// A value is frequent when this many times as many rows have it as have one on average.
const FREQUENT_TIMES: f64 = 1.25;
/// With more distinct values than this share of the rows, their number is told as a share.
const GROWING_SHARE: f64 = 0.1;

/// The rows of pg_stats.
pub(super) fn rows(subject: &Subject<'_>) -> Vec<Row> {
    let (state, who) = (subject.state, subject.settings.who());
    let mut rows = Vec::new();
    for (name, entry) in &state.tables {
        let object = Object::Relation(name.clone());
        let may_read = |column: &ColumnDef| {
            let spot = Spot { object: &object, column: Some(&column.name) };
            let needed = Privileges::of(&[Privilege::Select]);
            state.is_superuser(who) || state.allowed_on(who, spot).meets(needed)
        };
        if entry.storage().live_rows() == 0 {
            continue;
        }
        let columns = &entry.def.columns;
        let statistics = entry.storage().statistics();
        for (at, column) in columns.iter().enumerate().filter(|(_, column)| may_read(column)) {
            let row = Row::default().text("schemaname", RelationName::schema_of_key(name));
            let row = row.text("tablename", RelationName::name_of_key(name));
            let row = row.text("attname", &column.name).flag("inherited", false);
            rows.push(told(row, &statistics, at, column.ty));
        }
    }
    rows
}

/// `row` with what is known of the column at `at`, of type `ty`.
fn told(row: Row, statistics: &TableStatistics, at: usize, ty: DataType) -> Row {
    let known = &statistics.columns[at].estimates;
    let vector = statistics.sample().columns[at].to_vector();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut values = 0;
    for number in (0..vector.len()).filter(|&number| !vector.is_null(number)) {
        *counts.entry(text::format(&vector.value(number), ty)).or_default() += 1;
        values += 1;
    }
    let is_whole = vector.len() as u64 >= statistics.rows;
    let distinct = if is_whole { counts.len() as f64 } else { known.distinct.round() };
    let share = distinct / statistics.rows.max(1) as f64;
    let is_growing = share > GROWING_SHARE;
    let row = row.set("null_frac", Value::F64(known.null_fraction));
    let row = row.number("avg_width", width(ty, known.bytes_average));
    let row =
        row.set("n_distinct", Value::F64(if is_growing { -share.min(1.0) } else { distinct }));
    let are_all = counts.len() <= FREQUENT_MAX && !is_growing && counts.values().all(|n| *n > 1);
    let least = if are_all { 0.0 } else { FREQUENT_TIMES * values as f64 / counts.len() as f64 };
    let mut frequent: Vec<(String, usize)> = counts.into_iter().collect();
    frequent.retain(|(_, count)| *count > 1 && *count as f64 > least);
    frequent.sort_unstable_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    frequent.truncate(FREQUENT_MAX);
    let mut bounds: Vec<String> =
        statistics.histogram(at).iter().map(|value| text::format(value, ty)).collect();
    bounds.dedup();
    bounds.retain(|bound| frequent.iter().all(|(value, _)| value != bound));
    let shares = frequent.iter().map(|(_, count)| *count as f64 / vector.len() as f64);
    let shares: Vec<Value> = shares.map(|share| Value::F64(f64::from(share as f32))).collect();
    let row = match list(&frequent.into_iter().map(|(value, _)| value).collect::<Vec<_>>()) {
        Some(values) => {
            let shares = array::from_values(&shares, ElementType::Real).unwrap_or(Value::Null);
            row.text("most_common_vals", &values).set("most_common_freqs", shares)
        }
        None => row,
    };
    match list(&bounds) {
        Some(shown) if bounds.len() > 1 => row.text("histogram_bounds", &shown),
        _ => row,
    }
}

/// The texts as an array; None for none.
fn list(texts: &[String]) -> Option<String> {
    let texts: Vec<Value> = texts.iter().map(|text| Value::text(text)).collect();
    let array = array::from_values(&texts, ElementType::Text).ok()?;
    let shown = text::format(&array, DataType::Array(ElementType::Text));
    (!texts.is_empty()).then_some(shown)
}

/// Bytes of a value in PostgreSQL's rows; of a text of `average` bytes, with the length before it.
fn width(ty: DataType, average: f64) -> i64 {
    match (ty, ty.physical()) {
        (DataType::SmallInt, _) => 2,
        (_, PhysicalType::Bool) => 1,
        (DataType::Real, _) | (_, PhysicalType::I32) => 4,
        (_, PhysicalType::I64 | PhysicalType::F64) => 8,
        (_, PhysicalType::I128 | PhysicalType::Interval) => 16,
        (_, PhysicalType::Str) => average.round() as i64 + if average < 127.0 { 1 } else { 4 },
    }
}
