//! The record of what is known and estimated about rows.

use std::sync::Arc;

use hashbrown::HashMap;
use sql::algebra::ColumnId;
use types::DataType;

use crate::SampledRows;
use crate::column_set::ColumnSet;
use crate::range::{self, Range};

/// One column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnProperty {
    /// Estimated distinct values among these rows.
    pub(crate) distinct: f64,
    /// Estimated distinct values of the set that it is drawn from: shrinks only by predicates on
    /// the column itself, so that the share of matches in a join is rows over domain.
    pub(crate) domain: f64,
    /// Proved bounds of the scaled integers, NULL apart.
    pub(crate) range: Option<Range>,
    /// Estimated bounds of the set that it is drawn from, on the number line.
    pub(crate) spread: Option<(f64, f64)>,
    /// Estimated bounds among these rows, where predicates on other columns made them narrower.
    pub(crate) reach: Option<(f64, f64)>,
    /// Estimated mean, for sums and counts.
    pub(crate) mean: Option<f64>,
    /// False when proved never NULL.
    pub(crate) nullable: bool,
    /// Estimated share of NULLs.
    pub(crate) null_fraction: f64,
    /// Rows of the table it comes from, 0 when computed.
    pub(crate) base_rows: f64,
    /// Average bytes of a string.
    pub(crate) bytes: f64,
    /// Where it stands in sampled rows of the base table.
    pub(crate) sample: Option<Sampled>,
    /// Frequent values of the base table's column, as [`crate::ColumnStatistics`] has them; None
    /// behind what changes their shares.
    pub(crate) frequent: Option<Arc<[(u64, f64)]>>,
}

impl ColumnProperty {
    /// Facts that follow from the type alone.
    pub(crate) fn unknown(rows: f64, ty: DataType) -> Self {
        let distinct = if ty == DataType::Boolean { 2.0 } else { rows.max(1.0) };
        Self {
            distinct,
            domain: distinct,
            range: range::of_type(ty),
            spread: None,
            reach: None,
            mean: None,
            nullable: true,
            null_fraction: 0.0,
            base_rows: 0.0,
            bytes: 16.0,
            sample: None,
            frequent: None,
        }
    }
}

/// A column of sampled rows.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    /// First column of the scan: rows of two scans of a table are others.
    pub(crate) scan: ColumnId,
    /// Ordinal in the table.
    pub(crate) ordinal: usize,
    /// The rows.
    pub(crate) rows: Arc<dyn SampledRows>,
}

/// Columns no two rows agree in.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The columns; none when there is at most one row.
    pub(crate) columns: ColumnSet,
    /// Rows of the whole set of keys these are drawn from.
    pub(crate) domain: f64,
    /// True when rows with NULLs may repeat.
    pub(crate) nullable: bool,
}

/// Rows that agree (NULLs alike) in the determinant agree in the dependents.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// Columns that decide.
    pub(crate) determinant: ColumnSet,
    /// Columns that are decided.
    pub(crate) dependents: ColumnSet,
}

/// Rows of one plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    /// Estimated rows, at least 1.
    pub(crate) rows: f64,
    /// Proved most rows.
    pub(crate) rows_max: Option<f64>,
    /// Properties by column.
    pub(crate) columns: HashMap<ColumnId, ColumnProperty>,
    /// Keys.
    pub(crate) keys: Vec<Key>,
    /// Functional dependencies.
    pub(crate) dependencies: Vec<Dependency>,
}

impl Properties {
    /// The property of `id`.
    pub(crate) fn column(&self, id: ColumnId) -> Option<&ColumnProperty> {
        self.columns.get(&id)
    }

    /// True when no two rows agree in `columns` (or `=`, when `columns` may be NULL).
    pub(crate) fn is_unique(&self, columns: &ColumnSet) -> bool {
        self.keys.iter().any(|key| key.columns.is_subset(columns))
    }

    /// True when no two rows agree in `columns` even if NULLs count as equal.
    pub(crate) fn is_unique_with_nulls(&self, columns: &ColumnSet) -> bool {
        self.keys.iter().any(|key| !key.nullable && key.columns.is_subset(columns))
    }

    /// All columns that `columns` decide.
    pub(crate) fn closure(&self, columns: &ColumnSet) -> ColumnSet {
        let mut closed = columns.clone();
        loop {
            let before = closed.clone();
            for dependency in &self.dependencies {
                if dependency.determinant.is_subset(&closed) {
                    closed.union(&dependency.dependents);
                }
            }
            if closed == before {
                return closed;
            }
        }
    }

    /// The same columns with `rows` rows (estimated), fewer or more.
    #[must_use]
    pub(crate) fn scaled(mut self, rows: f64) -> Self {
        let rows = rows.max(1.0);
        let share = rows / self.rows.max(1.0);
        if share < 1.0 {
            let lost = (1.0 - share).ln();
            for column in self.columns.values_mut() {
                let per_value = self.rows / column.distinct;
                // A value goes when all its rows do.
                let gone = if per_value > 1.0 { (lost * per_value).exp() } else { 1.0 - share };
                column.distinct = (column.distinct * (1.0 - gone)).min(rows).max(1.0);
            }
        }
        self.rows = rows;
        self
    }

    /// These properties under new names; columns without one are dropped.
    pub(crate) fn renamed(&self, names: &[(ColumnId, ColumnId)]) -> Self {
        let mut out = Self { rows: self.rows, rows_max: self.rows_max, ..Self::default() };
        let new = |id: ColumnId| names.iter().find(|(old, _)| *old == id).map(|(_, new)| *new);
        for (old, id) in names {
            if let Some(column) = self.columns.get(old) {
                out.columns.insert(*id, column.clone());
            }
        }
        for key in &self.keys {
            if let Some(columns) = key.columns.iter().map(new).collect() {
                out.keys.push(Key { columns, domain: key.domain, nullable: key.nullable });
            }
        }
        for dependency in &self.dependencies {
            let determinant = dependency.determinant.iter().map(new).collect();
            let dependents: ColumnSet = dependency.dependents.iter().filter_map(new).collect();
            if let Some(determinant) = determinant {
                out.dependencies.push(Dependency { determinant, dependents });
            }
        }
        out.settle();
        out
    }

    /// Removes facts that say nothing new, so that rows joined with themselves again and again do
    /// not double them each time.
    pub(crate) fn settle(&mut self) {
        let mut keys: Vec<Key> = Vec::with_capacity(self.keys.len().min(FACTS_MAX));
        for key in std::mem::take(&mut self.keys) {
            let same = |k: &Key| k.columns == key.columns && (key.nullable || !k.nullable);
            if keys.len() < FACTS_MAX && !keys.iter().any(same) {
                keys.push(key);
            }
        }
        self.keys = keys;
        let mut facts: Vec<Dependency> = Vec::with_capacity(self.dependencies.len().min(FACTS_MAX));
        for mut fact in std::mem::take(&mut self.dependencies) {
            fact.dependents.subtract(&fact.determinant);
            if fact.dependents.is_empty() {
                continue;
            }
            match facts.iter().position(|known| known.determinant == fact.determinant) {
                Some(known) => facts[known].dependents.union(&fact.dependents),
                None if facts.len() < FACTS_MAX => facts.push(fact),
                None => {}
            }
        }
        self.dependencies = facts;
    }
}

/// Keys and dependencies kept of one plan.
const FACTS_MAX: usize = 256;
