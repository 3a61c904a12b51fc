//! States over distinct arguments.
//!
//! Used where one aggregation has several DISTINCT aggregates or mixes them with others; a lone one
//! is two aggregations (see [`super::super`]).

use std::any::Any;

use kernels::group_table::RowBytes;
use kernels::{BATCH_ROWS, Column, Vector, VectorBuilder, VectorData};
use types::{PhysicalType, Result};

use super::super::grouper::table_view;
use super::super::keys::{KeyColumn, KeyForm, KeyLayout, KeyTable, encode_rows, pack};
use super::{Completeness, Mapping, States, Update, downcast, present};

/// Arguments met, each once per group.
struct Chunk {
    groups: Vec<u32>,
    columns: Vec<Column>,
}

/// Passes each distinct argument of a group on to another state once.
pub(crate) struct DistinctStates {
    inner: Box<dyn States>,
    /// Group and arguments in one key.
    layout: KeyLayout,
    table: KeyTable,
    /// Values met so far, when keys are bytes: an interval does not come back from its key. From
    /// words all values do.
    chunks: Vec<Chunk>,
    groups: usize,
    bytes: usize,
}

impl DistinctStates {
    /// States over distinct arguments held as `physical`.
    pub(crate) fn new(inner: Box<dyn States>, physical: &[PhysicalType]) -> Self {
        let columns = [&[PhysicalType::I32], physical].concat();
        let layout = KeyLayout::new(&columns);
        // Strings are not numbered here.
        let text = physical.contains(&PhysicalType::Str);
        let layout = if text { layout.as_bytes() } else { layout };
        let table = KeyTable::new(layout.form(), 0);
        Self { inner, layout, table, chunks: Vec::new(), groups: 0, bytes: 0 }
    }

    /// The state behind.
    pub(crate) fn inner(&self) -> &dyn States {
        &*self.inner
    }

    /// The number of each row's pair of group and arguments.
    fn pairs(&mut self, groups: &[u32], columns: &[Column]) -> Vec<u32> {
        let numbers = VectorData::I32(groups.iter().map(|&g| g as i32).collect());
        let mut keys = vec![Column::from(numbers)];
        keys.extend_from_slice(columns);
        let values =
            || keys.iter().map(|key| KeyColumn::Values(key.to_vector())).collect::<Vec<_>>();
        let mut pairs = Vec::with_capacity(groups.len());
        match &mut self.table {
            KeyTable::U64(table) => {
                let mut words = Vec::new();
                let valid = pack(&self.layout, &values(), groups.len(), &mut words);
                table.find_or_insert_nullable(&words, valid.as_ref(), &mut pairs);
            }
            KeyTable::U128(table) => {
                let mut words = Vec::new();
                let valid = pack(&self.layout, &values(), groups.len(), &mut words);
                table.find_or_insert_nullable(&words, valid.as_ref(), &mut pairs);
            }
            KeyTable::Bytes(table) => {
                let mut rows = RowBytes::default();
                encode_rows(&keys, groups.len(), &mut rows);
                let mut hashes = Vec::with_capacity(groups.len());
                rows.hash_rows(&mut hashes);
                table.find_or_insert(&rows, &hashes, &mut pairs);
            }
        }
        pairs
    }

    /// Adds arguments without NULL.
    fn add(&mut self, groups: &[u32], columns: &[Column]) -> Result<()> {
        let mut next = self.table.len() as u32;
        let pairs = self.pairs(groups, columns);
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
        if self.layout.form() == KeyForm::Bytes {
            self.bytes += groups.len() * (4 + 16 * columns.len());
            self.chunks.push(Chunk { groups, columns });
        }
        Ok(())
    }

    /// Adds what `other` met, its groups as `targets` says.
    fn add_chunks(&mut self, other: &Self, targets: &[u32]) -> Result<()> {
        for chunk in &other.chunks {
            let (rows, groups) = mapped(&chunk.groups, targets);
            if !rows.is_empty() {
                let columns: Vec<Column> = chunk.columns.iter().map(|c| c.gather(&rows)).collect();
                self.add(&groups, &columns)?;
            }
        }
        Ok(())
    }

    /// Adds the keys of `other`, which are words.
    fn add_keys(&mut self, other: &Self, targets: &[u32]) -> Result<()> {
        let view = table_view(&other.table);
        let all: Vec<u32> = (0..view.len() as u32).collect();
        for rows in all.chunks(BATCH_ROWS) {
            let mut columns = view.columns(&other.layout, &other.layout.no_dictionaries(), rows);
            let numbers = columns.remove(0).to_vector().into_owned();
            let VectorData::I32(numbers) = numbers.data else {
                return Err(types::Error::internal("a pair's group is an integer"));
            };
            let groups: Vec<u32> = numbers.into_iter().map(|group| group as u32).collect();
            let (rows, groups) = mapped(&groups, targets);
            if !rows.is_empty() {
                let columns: Vec<Column> = columns.iter().map(|c| c.gather(&rows)).collect();
                self.add(&groups, &columns)?;
            }
        }
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
        match other.layout.form() {
            KeyForm::Bytes => self.add_chunks(other, &targets),
            _ => self.add_keys(other, &targets),
        }
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
