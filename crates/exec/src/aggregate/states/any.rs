//! Some value of each group.

use std::any::Any;

use kernels::{Column, Vector, VectorBuilder};
use types::{PhysicalType, Result};

use super::{Mapping, States, Update, downcast};
use crate::opener::more_than_one_row;

/// How many rows a group may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// any_value: the first that is not NULL.
    Many,
    /// A scalar sub-query: 21000 at the second, NULL or not.
    One,
}

/// The first value of each group. Values stay in the batches they came in until there are too many.
pub(crate) struct AnyStates {
    rows: Rows,
    physical: PhysicalType,
    values: VectorColumn,
    /// 0 no row; 1 a row, all NULL; else 2 + the place of the value in `values`.
    place: Vec<u32>,
}

/// Values appended batch by batch and readable at once.
struct VectorColumn {
    chunks: Vec<Vector>,
    starts: Vec<u32>,
    len: u32,
    bytes: usize,
}

impl VectorColumn {
    fn push(&mut self, chunk: Vector) {
        if chunk.is_empty() {
            return;
        }
        self.starts.push(self.len);
        self.len += chunk.len() as u32;
        self.bytes += chunk.len() * 16;
        self.chunks.push(chunk);
    }

    /// The chunk and row of a place.
    fn locate(&self, place: u32) -> (usize, usize) {
        let chunk = self.starts.partition_point(|&s| s <= place) - 1;
        (chunk, (place - self.starts[chunk]) as usize)
    }

    /// The values at `places`; None is NULL.
    fn gather(&self, physical: PhysicalType, places: &[Option<u32>]) -> Vector {
        let mut builder = VectorBuilder::with_capacity(physical, places.len());
        // Neighbours are mostly in one chunk: they are appended together.
        let (mut open, mut rows) = (0, Vec::new());
        for place in places {
            let found = place.map(|place| self.locate(place));
            if found.is_none_or(|(chunk, _)| chunk != open) && !rows.is_empty() {
                builder.append(&self.chunks[open], Some(&rows));
                rows.clear();
            }
            match found {
                Some((chunk, row)) => {
                    open = chunk;
                    rows.push(row as u32);
                }
                None => builder.push_null(),
            }
        }
        if !rows.is_empty() {
            builder.append(&self.chunks[open], Some(&rows));
        }
        builder.finish()
    }
}

impl AnyStates {
    pub(crate) fn new(rows: Rows, physical: PhysicalType) -> Self {
        let values = VectorColumn { chunks: Vec::new(), starts: Vec::new(), len: 0, bytes: 0 };
        Self { rows, physical, values, place: Vec::new() }
    }

    /// Copies `vector`'s rows at `kept`: memory of the batch is not held.
    fn keep(&mut self, vector: &Vector, kept: &[u32]) {
        if kept.is_empty() {
            return;
        }
        let mut builder = VectorBuilder::with_capacity(self.physical, kept.len());
        builder.append(vector, Some(kept));
        self.values.push(builder.finish_pinned());
    }
}

impl States for AnyStates {
    fn resize(&mut self, groups: usize) {
        super::grow_zeroed(&mut self.place, groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let column: &Column = &update.columns[0];
        let vector = column.to_vector();
        let mut kept = Vec::new();
        for (row, &group) in update.groups.iter().enumerate() {
            let place = &mut self.place[group as usize];
            if *place != 0 && self.rows == Rows::One {
                return Err(more_than_one_row());
            }
            if *place > 1 {
                continue;
            }
            *place = 1;
            if !vector.is_null(row) {
                *place = self.values.len + kept.len() as u32 + 2;
                kept.push(row as u32);
            }
        }
        self.keep(&vector, &kept);
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        let mut places = Vec::new();
        for (&from, &to) in mapping.source.iter().zip(mapping.target) {
            let source = other.place[from as usize];
            let place = &mut self.place[to as usize];
            if source == 0 || *place > 1 && self.rows == Rows::Many {
                continue;
            }
            if *place != 0 && self.rows == Rows::One {
                return Err(more_than_one_row());
            }
            *place = 1;
            if source > 1 {
                *place = self.values.len + places.len() as u32 + 2;
                places.push(Some(source - 2));
            }
        }
        if !places.is_empty() {
            let vector = other.values.gather(self.physical, &places);
            let all: Vec<u32> = (0..places.len() as u32).collect();
            self.keep(&vector, &all);
        }
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        let places: Vec<Option<u32>> =
            groups.iter().map(|&g| self.place[g as usize].checked_sub(2)).collect();
        Ok(self.values.gather(self.physical, &places))
    }

    fn bytes(&self) -> usize {
        self.place.capacity() * 4 + self.values.bytes
    }

    fn clear(&mut self) {
        self.place.clear();
        self.values = VectorColumn { chunks: Vec::new(), starts: Vec::new(), len: 0, bytes: 0 };
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
