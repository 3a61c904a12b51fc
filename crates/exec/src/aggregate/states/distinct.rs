//! States over distinct arguments.
//!
//! Used where one aggregation has several DISTINCT aggregates or mixes them with others; a lone one
//! is two aggregations (see [`super::super`]).

use std::any::Any;

use kernels::group_table::{BytesTable, RowBytes};
use kernels::{Column, Vector, VectorBuilder};
use types::Result;

use super::super::keys::encode_rows;
use super::{Completeness, Mapping, States, Update, downcast, present};

/// Arguments met, each once per group.
struct Chunk {
    groups: Vec<u32>,
    columns: Vec<Column>,
}

/// Passes each distinct argument of a group on to another state once.
pub(crate) struct DistinctStates {
    inner: Box<dyn States>,
    table: BytesTable,
    chunks: Vec<Chunk>,
    groups: usize,
    bytes: usize,
}

impl DistinctStates {
    pub(crate) fn new(inner: Box<dyn States>) -> Self {
        let table = BytesTable::default();
        Self { inner, table, chunks: Vec::new(), groups: 0, bytes: 0 }
    }

    /// The state behind.
    pub(crate) fn inner(&self) -> &dyn States {
        &*self.inner
    }

    /// Adds arguments without NULL.
    fn add(&mut self, groups: &[u32], columns: &[Column]) -> Result<()> {
        let group_column =
            Column::from(kernels::VectorData::I32(groups.iter().map(|&g| g as i32).collect()));
        let mut key_columns = vec![group_column];
        key_columns.extend_from_slice(columns);
        let mut rows = RowBytes::default();
        encode_rows(&key_columns, groups.len(), &mut rows);
        let mut hashes = Vec::with_capacity(groups.len());
        rows.hash_rows(&mut hashes);
        let mut next = self.table.len() as u32;
        let mut pairs = Vec::with_capacity(groups.len());
        self.table.find_or_insert(&rows, &hashes, &mut pairs);
        let mut new = Vec::new();
        for (row, &pair) in pairs.iter().enumerate() {
            if pair == next {
                next += 1;
                new.push(row as u32);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let copy = |column: &Column| {
            let vector: std::borrow::Cow<'_, Vector> = column.to_vector();
            let mut builder = VectorBuilder::with_capacity(vector.physical(), new.len());
            builder.append(&vector, Some(&new));
            Column::plain(builder.finish_pinned())
        };
        let columns: Vec<Column> = columns.iter().map(copy).collect();
        let groups: Vec<u32> = new.iter().map(|&row| groups[row as usize]).collect();
        let sequence = vec![0; groups.len()];
        self.inner.update(Update {
            columns: &columns,
            groups: &groups,
            sequence: &sequence,
            completeness: Completeness::Filtered,
        })?;
        self.bytes += groups.len() * (4 + 16 * columns.len());
        self.chunks.push(Chunk { groups, columns });
        Ok(())
    }
}

impl States for DistinctStates {
    fn resize(&mut self, groups: usize) {
        self.groups = self.groups.max(groups);
        self.inner.resize(groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        let columns: Vec<Column> =
            present.vectors.into_iter().map(|v| Column::plain(v.into_owned())).collect();
        self.add(&present.groups, &columns)
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        let targets = targets(other.groups, mapping);
        for chunk in &other.chunks {
            let (rows, groups) = mapped(&chunk.groups, &targets);
            if !rows.is_empty() {
                let columns: Vec<Column> = chunk.columns.iter().map(|c| c.gather(&rows)).collect();
                self.add(&groups, &columns)?;
            }
        }
        Ok(())
    }

    fn seal(&mut self) {
        self.inner.seal();
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        self.inner.finish(groups)
    }

    fn bytes(&self) -> usize {
        self.inner.bytes() + self.table.bytes() + self.bytes
    }

    fn clear(&mut self) {
        self.inner.clear();
        self.table.clear();
        self.chunks.clear();
        self.groups = 0;
        self.bytes = 0;
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_heavy(&self) -> bool {
        true
    }
}

/// The target of each group of a source, `u32::MAX` without one.
pub(super) fn targets(groups: usize, mapping: Mapping<'_>) -> Vec<u32> {
    let mut targets = vec![u32::MAX; groups];
    for (&from, &to) in mapping.source.iter().zip(mapping.target) {
        targets[from as usize] = to;
    }
    targets
}

/// The rows of `groups` that have a target, and those targets.
pub(super) fn mapped(groups: &[u32], targets: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let rows = groups.iter().enumerate();
    rows.map(|(row, &group)| (row as u32, targets[group as usize]))
        .filter(|&(_, target)| target != u32::MAX)
        .unzip()
}
