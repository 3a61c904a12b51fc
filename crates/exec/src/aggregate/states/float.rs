//! Sums of floating point numbers.

use std::any::Any;

use kernels::group_table::update::add_float;
use kernels::{Vector, VectorData};
use types::{Error, Result, SqlState};

use super::{Coverage, Mapping, States, Update, Valid, downcast, grow_zeroed, present, unexpected};

/// A sum per group.
pub(crate) struct FloatSumStates {
    sums: Vec<f64>,
    valid: Valid,
    /// Some value was an infinity, so that an infinite sum is no overflow.
    infinite: bool,
}

/// 22003 for a floating point overflow.
pub(crate) fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow")
}

impl FloatSumStates {
    pub(crate) fn new(coverage: Coverage) -> Self {
        Self { sums: Vec::new(), valid: Valid::new(coverage), infinite: false }
    }

    /// The sum of a group that has a value, else 0.
    ///
    /// # Errors
    /// 22003 when finite values have an infinite sum.
    pub(crate) fn total(&self, group: u32) -> Result<f64> {
        let sum = self.sums[group as usize];
        if sum.is_infinite() && !self.infinite { Err(overflow()) } else { Ok(sum) }
    }
}

impl States for FloatSumStates {
    fn resize(&mut self, groups: usize) {
        grow_zeroed(&mut self.sums, groups);
        self.valid.resize(groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        let VectorData::F64(values) = &present.vectors[0].data else {
            return Err(unexpected("a floating point sum", &present.vectors[0].data));
        };
        self.infinite |= values.iter().any(|v| v.is_infinite());
        add_float(&mut self.sums, &present.groups, values);
        self.valid.mark(&present.groups, present.all);
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        let values: Vec<f64> = mapping.source.iter().map(|&g| other.sums[g as usize]).collect();
        add_float(&mut self.sums, mapping.target, &values);
        self.infinite |= other.infinite;
        self.valid.merge(&other.valid, mapping);
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        let sums = groups.iter().map(|&g| self.total(g)).collect::<Result<_>>()?;
        Ok(Vector::with_validity(VectorData::F64(sums), self.valid.bitmap(groups)))
    }

    fn bytes(&self) -> usize {
        self.sums.capacity() * 8 + self.valid.bytes()
    }

    fn clear(&mut self) {
        self.sums.clear();
        self.valid.clear();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
