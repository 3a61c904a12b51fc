//! Near indexes: vectors and the rows that have them, found by distance.
//!
//! ```text
//! row -> vector -> key: | a float 4 | ... , of length 1 where the angle counts; no key of NULL,
//!                       or of a vector without direction
//! insert   search (shared latch) -> neighbours -> links (exclusive latch)
//! search   a cursor: the nearest that the graph finds, then the next ones, ... until all are read
//! ```
//! Invariants: an entry (vector, TID) is there once; equal vectors share a node of the graph; what
//! a search finds is near, and others may be nearer. Entries carry no versions, as in all indexes.
//!
//! Elsewhere: nodes and links (`graph`), searches (`search`), which rows an entry leads to
//! (`table::near`).

mod graph;
mod rows;
mod search;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::RwLock;
use types::packed::PackedFloats;
use types::packed::distance::{Metric, NearForm};
use types::{DataType, PackedType, Result};

use super::{IndexKind, KeyBuffer, Structure, TableIndex};
use crate::datum::Datum;
use crate::memory::BufferPool;
use crate::tid::Tid;

use graph::Graph;
pub use search::NearCursor;

/// Bytes of a float in a key.
const FLOAT_BYTES: usize = 4;

/// The graph behind its latch.
pub(super) struct NearIndex {
    form: NearForm,
    graph: RwLock<Graph>,
}

impl NearIndex {
    /// # Panics
    /// If `ty` is no vector whose dimensions are known.
    pub(super) fn new(pool: &Arc<BufferPool>, form: NearForm, ty: DataType) -> Self {
        let DataType::Packed(PackedType::Vector(Some(dimensions))) = ty else {
            panic!("{ty} has no dimensions for an index")
        };
        Self { form, graph: RwLock::new(Graph::new(pool, form, dimensions.into())) }
    }

    pub(super) fn insert(&self, key: &[u8], tid: Tid) -> Result<bool> {
        let vector = floats(key);
        let known = |graph: &Graph| graph.node_of(&vector);
        if known(&self.graph.read()).is_some() {
            let mut graph = self.graph.write();
            if let Some(node) = known(&graph) {
                return graph.add_tid(node, tid);
            }
        }
        let place = self.graph.read().place_of(&vector, self.form.breadth.into());
        let mut graph = self.graph.write();
        match known(&graph) {
            Some(node) => graph.add_tid(node, tid),
            None => graph.add_node(&vector, tid, place, self.form.breadth.into()).map(|()| true),
        }
    }

    pub(super) fn remove(&self, key: &[u8], tid: Tid) -> bool {
        self.graph.write().remove(&floats(key), tid)
    }

    pub(super) fn lookup(
        &self,
        key: &[u8],
        found: impl FnMut(Tid) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let tids = self.graph.read().tids_of(&floats(key)).to_vec();
        tids.into_iter().try_for_each(found)
    }

    pub(super) fn len(&self) -> u64 {
        self.graph.read().entries()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.graph.read().bytes()
    }

    pub(super) fn check(&self) -> std::result::Result<(), String> {
        self.graph.read().check()
    }
}

/// The floats of a key.
fn floats(key: &[u8]) -> Vec<f32> {
    key.as_chunks::<FLOAT_BYTES>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Makes `key` that of these floats.
fn set_floats(key: &mut KeyBuffer, floats: impl Iterator<Item = f32>) {
    key.set(&[]);
    // Both zeros are one.
    floats.for_each(|float| key.extend(&(float + 0.0).to_le_bytes()));
}

/// Makes `key` that of a row whose vector is `value`, where `metric` measures.
fn set_vector(key: &mut KeyBuffer, value: Datum<'_>, metric: Metric) {
    let Datum::Str(bytes) = value else { return key.set_absent() };
    let vector = PackedFloats::of(bytes);
    if metric != Metric::Cosine {
        return set_floats(key, vector.iter());
    }
    if vector.iter().all(|float| float == 0.0) {
        return key.set_absent();
    }
    set_floats(key, types::packed::normalized(vector));
}

impl TableIndex {
    /// Parameters that a near index was made with; None for other indexes.
    pub fn near_form(&self) -> Option<NearForm> {
        match self.spec.kind {
            IndexKind::Near(form) => Some(form),
            _ => None,
        }
    }

    /// Makes `key` that of a row whose columns of the key are `values`.
    pub(super) fn encode_near(&self, values: &[Datum<'_>], form: NearForm, key: &mut KeyBuffer) {
        set_vector(key, values.first().copied().unwrap_or(Datum::Null), form.metric);
    }

    /// A cursor over the entries by their distance from the vector `from`, which looks for
    /// `breadth` of them at a time, and for half as many more; None for a vector that has no place
    /// in the index: one of other dimensions, or without direction.
    ///
    /// # Panics
    /// If it is no near index.
    pub fn near(&self, from: &[u8], breadth: usize) -> Option<NearCursor> {
        let form = self.near_form().expect("only near indexes know distances");
        let mut key = KeyBuffer::new();
        set_vector(&mut key, Datum::Str(from), form.metric);
        let vector = floats(&key);
        let fits = self.near_index().graph.read().dimensions() == vector.len();
        // Nodes whose links go both ways have fewer of them, so that more nodes are looked at.
        fits.then(|| NearCursor::new(vector, breadth.saturating_add(breadth / 2)))
    }

    /// Reads the next entries, nearest first, into `cursor`; false when there are none left. What
    /// is read later may be nearer.
    ///
    /// # Panics
    /// If it is no near index.
    pub fn next_near(&self, cursor: &mut NearCursor) -> bool {
        cursor.fill(&self.near_index().graph.read())
    }

    fn near_index(&self) -> &NearIndex {
        match &self.structure {
            Structure::Near(near) => near,
            _ => panic!("only near indexes know distances"),
        }
    }
}
