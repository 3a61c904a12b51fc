//! Rows, and NULLs among arguments.

use std::any::Any;

use kernels::group_table::update::count;
use kernels::{Vector, VectorData};
use types::Result;

use super::{Mapping, States, Update, downcast, grow_zeroed};

fn add(target: &mut [i64], source: &[i64], mapping: Mapping<'_>) {
    for (&from, &to) in mapping.source.iter().zip(mapping.target) {
        target[to as usize] += source[from as usize];
    }
}

/// How many rows each group has.
#[derive(Default)]
pub(crate) struct RowStates {
    counts: Vec<i64>,
}

impl RowStates {
    /// States with these counts.
    pub(crate) fn from_counts(counts: Vec<i64>) -> Self {
        Self { counts }
    }

    /// Rows of a group.
    pub(crate) fn get(&self, group: u32) -> i64 {
        self.counts[group as usize]
    }
}

impl States for RowStates {
    fn resize(&mut self, groups: usize) {
        grow_zeroed(&mut self.counts, groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        count(&mut self.counts, update.groups);
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        add(&mut self.counts, &downcast::<Self>(other)?.counts, mapping);
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        Ok(Vector::new(VectorData::I64(groups.iter().map(|&g| self.get(g)).collect())))
    }

    fn bytes(&self) -> usize {
        self.counts.capacity() * 8
    }

    fn clear(&mut self) {
        self.counts.clear();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// How many NULLs each group met; no memory until the first.
#[derive(Default)]
pub(crate) struct NullStates {
    counts: Vec<i64>,
    groups: usize,
}

impl NullStates {
    /// States with these counts.
    pub(crate) fn from_counts(counts: Vec<i64>) -> Self {
        Self { groups: counts.len(), counts }
    }

    /// NULLs of a group.
    pub(crate) fn get(&self, group: u32) -> i64 {
        self.counts.get(group as usize).copied().unwrap_or(0)
    }

    /// True when no group met one.
    pub(crate) fn none(&self) -> bool {
        self.counts.is_empty()
    }
}

impl States for NullStates {
    fn resize(&mut self, groups: usize) {
        self.groups = groups.max(self.groups);
        if !self.counts.is_empty() {
            grow_zeroed(&mut self.counts, groups);
        }
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let vector = update.columns[0].to_vector();
        if let Some(valid) = &vector.validity {
            grow_zeroed(&mut self.counts, self.groups);
            for row in valid.not().ones() {
                self.counts[update.groups[row as usize] as usize] += 1;
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        if !other.none() {
            grow_zeroed(&mut self.counts, self.groups);
            for (&from, &to) in mapping.source.iter().zip(mapping.target) {
                self.counts[to as usize] += other.get(from);
            }
        }
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        Ok(Vector::new(VectorData::I64(groups.iter().map(|&g| self.get(g)).collect())))
    }

    fn bytes(&self) -> usize {
        self.counts.capacity() * 8
    }

    fn clear(&mut self) {
        self.counts.clear();
        self.groups = 0;
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
