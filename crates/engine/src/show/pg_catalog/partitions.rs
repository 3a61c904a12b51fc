//! Partitioned tables and partitions: pg_partitioned_table, pg_inherits, and texts of their
//! definitions.

use catalog::numbers as catalog_numbers;
use catalog::partitions::{key_exprs, key_names};
use catalog::{State, TableDef, TableEntry};
use sql::catalog::{PartitionBound, PartitionStrategy, RangeEnd, TableMeta};
use sql::deparse::{Form, Place, deparsed};
use sql::statement::RelationName;
use types::{DataType, ElementType};

use super::deparsed::{Texts, row_of};
use super::written::quoted;
use super::{Row, Subject, builtin, numbers};

/// How a table is partitioned, as SQL text.
pub(super) fn key_definition(subject: &Subject<'_>, def: &TableDef) -> Option<String> {
    let key = def.partition_by.as_ref()?;
    let rows = [row_of(&def.name, &def.columns)];
    let column = |column: &sql::catalog::IndexColumn| match column.expression() {
        Some(number) => {
            let expression = &key.terms.expressions[number];
            match deparsed(&expression.sql, &rows, Place::Key, subject) {
                Some(found) => found.key_text(Form::Exact),
                None => expression.full_definition(),
            }
        }
        None => quoted(&def.columns[column.ordinal].name).into_owned(),
    };
    let columns: Vec<String> = key.columns.iter().map(column).collect();
    Some(format!("{} ({})", key.strategy.name(), columns.join(", ")))
}

/// The types of the key of a partitioned table.
fn key_types(def: &TableDef) -> Vec<DataType> {
    let key = def.partition_by.as_ref();
    let keys = key.and_then(|key| key_exprs(def, key).ok()).unwrap_or_default();
    keys.into_iter().map(|key| key.ty).collect()
}

/// A value of a bound as PostgreSQL writes it.
fn literal(text: &str, ty: DataType) -> String {
    let is_number = ty.is_integer()
        || ty.is_numeric()
        || matches!(ty, DataType::Real | DataType::Double | DataType::Oid);
    let is_plain = is_number && text.chars().all(|c| "0123456789+eE.".contains(c));
    if ty == DataType::Boolean {
        return if text.starts_with('t') { "true" } else { "false" }.to_owned();
    }
    if is_plain {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// FOR VALUES of a partition, as SQL text.
pub(super) fn bound_definition(state: &State, def: &TableDef) -> Option<String> {
    let place = def.partition_of.as_ref()?;
    let types = key_types(&state.tables.get(&place.parent)?.def);
    let first = types.first().copied().unwrap_or(DataType::Text);
    let ends = |ends: &[RangeEnd<String>]| -> String {
        let end = |(end, ty): (&RangeEnd<String>, &DataType)| match end {
            RangeEnd::Min => "MINVALUE".to_owned(),
            RangeEnd::Max => "MAXVALUE".to_owned(),
            RangeEnd::Value(text) => literal(text, *ty),
        };
        ends.iter().zip(&types).map(end).collect::<Vec<_>>().join(", ")
    };
    Some(match &place.bound {
        PartitionBound::Default => "DEFAULT".to_owned(),
        PartitionBound::List(values) => {
            let value = |text: &Option<String>| match text {
                Some(text) => literal(text, first),
                None => "NULL".to_owned(),
            };
            let values: Vec<String> = values.iter().map(value).collect();
            format!("FOR VALUES IN ({})", values.join(", "))
        }
        PartitionBound::Range { from, to } => {
            format!("FOR VALUES FROM ({}) TO ({})", ends(from), ends(to))
        }
        PartitionBound::Hash { modulus, remainder } => {
            format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
        }
    })
}

/// The condition that the rows of a partition satisfy, those of the tables above included; None
/// where it is that of a default partition, or there is none.
pub(super) fn constraint_definition(state: &State, def: &TableDef) -> Option<String> {
    let mut conditions = Vec::new();
    let mut child = def;
    while let Some(place) = &child.partition_of {
        let parent = &state.tables.get(&place.parent)?.def;
        conditions.push(terms_of(parent, &place.bound)?);
        child = parent;
    }
    let mut terms: Vec<String> = conditions.into_iter().rev().flatten().collect();
    match terms.len() {
        0 => None,
        1 => terms.pop(),
        _ => Some(format!("({})", terms.join(" AND "))),
    }
}

/// The conditions of one bound.
fn terms_of(parent: &TableDef, bound: &PartitionBound) -> Option<Vec<String>> {
    let key = parent.partition_by.as_ref()?;
    let names = key_names(parent, key);
    let types = key_types(parent);
    let typed = |text: &str, ty: DataType| {
        let is_bare = matches!(ty, DataType::Integer | DataType::Boolean) || ty.is_numeric();
        match literal(text, ty) {
            bare if is_bare && !bare.starts_with('\'') => bare,
            _ => format!("'{}'::{}", text.replace('\'', "''"), ty.name()),
        }
    };
    let (name, ty) = (names.first()?, *types.first()?);
    Some(match bound {
        PartitionBound::Default => return None,
        PartitionBound::Hash { modulus, remainder } => {
            let table = RelationName::of_key(&parent.name).quoted_in_schema();
            vec![format!(
                "satisfies_hash_partition('{table}'::regclass, {modulus}, {remainder}, {})",
                names.join(", ")
            )]
        }
        PartitionBound::List(values) => {
            let some: Vec<String> = values.iter().flatten().map(|text| typed(text, ty)).collect();
            let among = match some.as_slice() {
                [] => None,
                [one] => Some(format!("({name} = {one})")),
                many => Some(format!("({name} = ANY (ARRAY[{}]))", many.join(", "))),
            };
            match (values.contains(&None), among) {
                (true, None) => vec![format!("({name} IS NULL)")],
                (true, Some(among)) => vec![format!("(({name} IS NULL) OR {among})")],
                (false, among) => {
                    let present = format!("({name} IS NOT NULL)");
                    std::iter::once(present).chain(among).collect()
                }
            }
        }
        PartitionBound::Range { from, to } => {
            let mut terms: Vec<String> =
                names.iter().map(|name| format!("({name} IS NOT NULL)")).collect();
            terms.extend(above(&names, &types, from, ">=", &typed));
            terms.extend(above(&names, &types, to, "<", &typed));
            terms
        }
    })
}

/// The condition of one end of a range: lexicographic, for the last column by `last`.
fn above(
    names: &[String],
    types: &[DataType],
    ends: &[RangeEnd<String>],
    last: &str,
    typed: &dyn Fn(&str, DataType) -> String,
) -> Option<String> {
    let strict = last.trim_end_matches('=');
    let values: Vec<(&String, String)> = names
        .iter()
        .zip(types)
        .zip(ends)
        .map_while(|((name, ty), end)| match end {
            RangeEnd::Value(text) => Some((name, typed(text, *ty))),
            RangeEnd::Min | RangeEnd::Max => None,
        })
        .collect();
    // Behind the values everything or nothing follows.
    let is_closed = match ends.get(values.len()) {
        Some(RangeEnd::Min) => last == ">=",
        Some(RangeEnd::Max) => last == "<",
        _ => false,
    };
    let count = values.len();
    let mut terms = Vec::with_capacity(count);
    for (at, (name, value)) in values.iter().enumerate() {
        let is_last = at + 1 == count;
        let op = match (is_last, is_closed) {
            (true, true) => format!("{strict}="),
            (true, false) if count == ends.len() => last.to_owned(),
            _ => strict.to_owned(),
        };
        let own = format!("({name} {op} {value})");
        let mut before: Vec<String> =
            values[..at].iter().map(|(name, value)| format!("({name} = {value})")).collect();
        before.push(own);
        terms.push(match before.len() {
            1 => before.remove(0),
            _ => format!("({})", before.join(" AND ")),
        });
    }
    match terms.len() {
        0 => None,
        1 => terms.pop(),
        _ => Some(format!("({})", terms.join(" OR "))),
    }
}

/// pg_partitioned_table.
pub(super) fn partitioned(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let row = |entry: &std::sync::Arc<TableEntry>| {
        let def = &entry.def;
        let key = def.partition_by.as_ref()?;
        let types = key_types(def);
        let place = |column: &sql::catalog::IndexColumn| match column.expression() {
            Some(_) => 0,
            None => column.ordinal as i64 + 1,
        };
        let places: Vec<i64> = key.columns.iter().map(place).collect();
        let method = if key.strategy == PartitionStrategy::Hash { 405 } else { 403 };
        let class = |ty: &DataType| {
            let (number, _) = numbers::of_type(*ty);
            builtin::operator_class(method, u32::try_from(number).unwrap_or_default())
        };
        let classes: Vec<i64> = types.iter().map(class).collect();
        let collations: Vec<i64> =
            types.iter().map(|ty| numbers::own_entry(*ty).collation).collect();
        let default = entry.partitions().and_then(|tree| {
            let part = &tree.root.parts[tree.root.default?];
            Some(number(&part.table))
        });
        let rows = [row_of(&def.name, &def.columns)];
        let texts = |expression: &sql::catalog::IndexExpression| {
            let texts = subject.texts(&expression.sql, &rows, Place::Key);
            texts.unwrap_or_else(|| Texts::same(expression.full_text()))
        };
        let expressions: Vec<Texts> = key.terms.expressions.iter().map(texts).collect();
        let strategy = match key.strategy {
            PartitionStrategy::Range => "r",
            PartitionStrategy::List => "l",
            PartitionStrategy::Hash => "h",
        };
        let mut row = Row::default();
        if !expressions.is_empty() {
            row = row.text("partexprs", &Texts::joined(&expressions).in_one());
        }
        Some(
            row.number("partrelid", number(&def.name))
                .text("partstrat", strategy)
                .number("partnatts", places.len() as i64)
                .number("partdefid", default.unwrap_or(0))
                .vector("partattrs", ElementType::SmallInt, &places)
                .vector("partclass", ElementType::Oid, &classes)
                .vector("partcollation", ElementType::Oid, &collations),
        )
    };
    subject.state.tables.values().filter_map(row).collect()
}

/// pg_inherits: tables and their parents, partitions, and their indexes.
pub(super) fn inherits(subject: &Subject<'_>) -> Vec<Row> {
    let numbers = catalog_numbers::relations(subject.state);
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let row_at = |child: &str, parent: &str, place: i64| {
        Row::default()
            .number("inhrelid", number(child))
            .number("inhparent", number(parent))
            .number("inhseqno", place)
    };
    let row = |child: &str, parent: &str| row_at(child, parent, 1);
    let mut rows = Vec::new();
    for (name, entry) in &subject.state.tables {
        let parents = (1..).zip(&entry.def.inheritance.parents);
        rows.extend(parents.map(|(place, parent)| row_at(name, parent, place)));
        let Some(place) = &entry.def.partition_of else { continue };
        rows.push(row(name, &place.parent));
        for (of, own) in &place.indexes {
            let child = RelationName::key_beside(name, own);
            rows.push(row(&child, &RelationName::key_beside(&place.parent, of)));
        }
    }
    rows
}

/// True when all partitions have a part of the index.
pub(super) fn is_complete(entry: &TableEntry, index: &str) -> bool {
    entry.partitions().is_none_or(|tree| {
        let tables = || tree.below();
        tree.root.parts.iter().all(|part| {
            let table = tables().find(|table| table.name() == part.table);
            let place = table.and_then(|table| table.partition_of());
            place.is_some_and(|place| place.indexes.iter().any(|(of, _)| of == index))
        })
    })
}
