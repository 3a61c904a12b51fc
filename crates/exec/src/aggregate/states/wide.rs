//! Sums and moments of wide decimals.

use std::any::Any;

use kernels::{StrBuilder, Vector, VectorData};
use types::wide::{Total, Wide};
use types::{Error, Result};

use super::{Mapping, States, Update, downcast, present, unexpected};

/// Totals of each group.
pub(crate) struct WideStates {
    totals: Vec<Total>,
    squares: bool,
    /// Bytes of totals beside themselves.
    heap: usize,
}

impl WideStates {
    /// No groups yet; with `squares`, variances are possible.
    pub(crate) fn new(squares: bool) -> Self {
        Self { totals: Vec::new(), squares, heap: 0 }
    }

    /// `f` of the totals of `groups`, NULL where it gives none.
    ///
    /// # Errors
    /// Errors of `f`.
    pub(crate) fn results(
        &self,
        groups: &[u32],
        f: impl Fn(&Total) -> Result<Option<Wide>>,
    ) -> Result<Vector> {
        results(groups.len(), |i| f(&self.totals[groups[i] as usize]))
    }
}

/// A column of wide decimals: row `i` is what `f` gives for it.
///
/// # Errors
/// Errors of `f`.
pub(crate) fn results(rows: usize, f: impl Fn(usize) -> Result<Option<Wide>>) -> Result<Vector> {
    let mut out = StrBuilder::with_capacity(rows);
    let mut valid = kernels::Bitmap::filled(rows, true);
    let mut bytes = Vec::new();
    for i in 0..rows {
        bytes.clear();
        match f(i)? {
            Some(value) => value.encode(&mut bytes),
            None => valid.set(i, false),
        }
        out.push(&bytes);
    }
    Ok(Vector::with_validity(VectorData::Str(out.finish()), Some(valid)))
}

impl States for WideStates {
    fn resize(&mut self, groups: usize) {
        self.totals.resize_with(groups, Total::default);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        let VectorData::Str(values) = &present.vectors[0].data else {
            return Err(unexpected("a sum of wide decimals", &present.vectors[0].data));
        };
        for (&group, value) in present.groups.iter().zip(values.iter()) {
            let total = &mut self.totals[group as usize];
            let before = total.heap_bytes();
            total.add(&Wide::read(value)?, self.squares);
            self.heap = (self.heap + total.heap_bytes()).saturating_sub(before);
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        for (&from, &to) in mapping.source.iter().zip(mapping.target) {
            let total = &mut self.totals[to as usize];
            let before = total.heap_bytes();
            total.merge(&other.totals[from as usize]);
            self.heap = (self.heap + total.heap_bytes()).saturating_sub(before);
        }
        Ok(())
    }

    fn finish(&self, _: &[u32]) -> Result<Vector> {
        Err(Error::internal("totals are not a result"))
    }

    fn bytes(&self) -> usize {
        self.totals.capacity() * size_of::<Total>() + self.heap
    }

    fn clear(&mut self) {
        self.totals.clear();
        self.heap = 0;
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
