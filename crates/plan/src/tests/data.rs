//! Small tables in memory and their statistics.

use std::any::Any;
use std::sync::Arc;

use sql::algebra::{ColumnId, Direction, Expr, NullsOrder};
use sql::catalog::{
    ColumnDef, IndexColumn, IndexKind, IndexMeta, KeyDef, TableMeta, TableRef, Uniqueness,
};
use testkit::Random;
use types::{DataType, Result, Value};

use crate::{ColumnStatistics, Exactness, SampleMatch, Statistics, TableStatistics};

pub(super) struct Table {
    name: String,
    columns: Vec<ColumnDef>,
    keys: Vec<KeyDef>,
    indexes: Vec<IndexMeta>,
    pub(super) rows: Arc<Vec<Vec<Value>>>,
}

impl TableMeta for Table {
    fn name(&self) -> &str {
        &self.name
    }
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }
    fn keys(&self) -> &[KeyDef] {
        &self.keys
    }
    fn indexes(&self) -> &[IndexMeta] {
        &self.indexes
    }
    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        self.rows.clone()
    }
}

/// The rows of a table made here.
pub(super) fn rows_of(table: &TableRef) -> Arc<Vec<Vec<Value>>> {
    table.object().downcast().expect("tables of tests hold their rows")
}

pub(super) fn column(name: &str, ty: DataType, not_null: bool) -> ColumnDef {
    ColumnDef { not_null, ..ColumnDef::new(name, ty) }
}

/// A table with a primary key over these columns.
pub(super) fn keyed_table(
    name: &str,
    columns: Vec<ColumnDef>,
    key: &[usize],
    rows: Vec<Vec<Value>>,
) -> TableRef {
    let columns_of_key = key.to_vec();
    let keys = match key.len() {
        0 => Vec::new(),
        _ => vec![KeyDef {
            name: format!("{name}_pkey"),
            columns: columns_of_key,
            primary: true,
            nulls: Default::default(),
            deferral: Default::default(),
            included: Vec::new(),
        }],
    };
    let indexes = keys.iter().map(key_index).collect();
    TableRef(Arc::new(Table { name: name.into(), columns, keys, indexes, rows: Arc::new(rows) }))
}

/// The index that enforces a key.
fn key_index(key: &KeyDef) -> IndexMeta {
    let columns = key.columns.iter().map(|&ordinal| (ordinal, Direction::Ascending));
    index(&key.name, columns.collect(), Uniqueness::Distinct, IndexKind::Ordered)
}

/// An index over ordinals with their directions, NULLs where PostgreSQL puts them.
fn index(
    name: &str,
    columns: Vec<(usize, Direction)>,
    unique: Uniqueness,
    kind: IndexKind,
) -> IndexMeta {
    let column = |(ordinal, direction)| IndexColumn {
        ordinal,
        direction,
        nulls: match direction {
            Direction::Ascending => NullsOrder::Last,
            Direction::Descending => NullsOrder::First,
        },
    };
    IndexMeta {
        name: name.into(),
        columns: columns.into_iter().map(column).collect(),
        unique,
        kind,
        terms: Default::default(),
    }
}

/// NUMERIC(10, 2).
pub(super) const MONEY: DataType = DataType::numeric(10, 2);

/// `id, a, b, c, n`: key, two nullable integers, a NOT NULL integer, a decimal.
pub(super) fn random_table(random: &mut Random, name: &str) -> TableRef {
    let columns = vec![
        column("id", DataType::Integer, true),
        column("a", DataType::Integer, false),
        column("b", DataType::Integer, false),
        column("c", DataType::Integer, true),
        column("n", MONEY, false),
    ];
    let count = random.below(7) as i32;
    let rows = (0..count)
        .map(|id| {
            let mut nullable = |bound: u64| match random.below(bound + 1) {
                0 => Value::Null,
                value => Value::I32(value as i32 - 1),
            };
            let (a, b) = (nullable(3), nullable(4));
            let c = Value::I32(random.below(3) as i32);
            let n = match random.below(5) {
                0 => Value::Null,
                value => Value::I64(value as i64 * 75 - 150),
            };
            vec![Value::I32(id), a, b, c, n]
        })
        .collect();
    let key = KeyDef {
        name: format!("{name}_pkey"),
        columns: vec![0],
        primary: true,
        nulls: Default::default(),
        deferral: Default::default(),
        included: Vec::new(),
    };
    let (up, down) = (Direction::Ascending, Direction::Descending);
    let indexes = vec![
        key_index(&key),
        index("a_b", vec![(1, up), (2, down)], Uniqueness::No, IndexKind::Ordered),
        index("n", vec![(4, down)], Uniqueness::No, IndexKind::Ordered),
        index("c_a", vec![(3, up), (1, up)], Uniqueness::No, IndexKind::Hash),
        index("b", vec![(2, up)], Uniqueness::No, IndexKind::Hash),
    ];
    let (keys, rows) = (vec![key], Arc::new(rows));
    TableRef(Arc::new(Table { name: name.into(), columns, keys, indexes, rows }))
}

/// Exact statistics by looking at the rows.
pub(super) struct Exact;

impl Statistics for Exact {
    fn table(&self, table: &TableRef) -> TableStatistics {
        let rows = rows_of(table);
        let columns = (0..table.columns().len())
            .map(|i| {
                let values: Vec<&Value> =
                    rows.iter().map(|row| &row[i]).filter(|value| !value.is_null()).collect();
                let mut seen: Vec<&Value> = Vec::new();
                for value in &values {
                    if !seen.contains(value) {
                        seen.push(value);
                    }
                }
                let by = |a: &&&Value, b: &&&Value| super::eval::order(a, b);
                ColumnStatistics {
                    distinct: seen.len() as f64,
                    min: values.iter().min_by(by).map(|v| (*v).clone()),
                    max: values.iter().max_by(by).map(|v| (*v).clone()),
                    bounds: Exactness::Exact,
                    null_fraction: 1.0 - values.len() as f64 / rows.len().max(1) as f64,
                    bytes_average: 8.0,
                    frequent: Vec::new().into(),
                }
            })
            .collect();
        TableStatistics { rows: rows.len() as f64, columns, sample: None }
    }

    fn sample(
        &self,
        _table: &TableRef,
        _columns: &[(ColumnId, usize)],
        _predicate: &Expr,
    ) -> Option<SampleMatch> {
        None
    }

    fn fold(&self, expr: &Expr) -> Result<Value> {
        super::logical::Interpreter::default().expr(expr, &Default::default())
    }
}
