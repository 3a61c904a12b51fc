//! bit_and, bit_or, bit_xor.

use std::any::Any;

use kernels::{Vector, VectorData};
use types::{PhysicalType, Result};

use super::{Coverage, Mapping, States, Update, Valid, downcast, grow_zeroed, present, unexpected};

/// Which combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitOperation {
    /// bit_and, held complemented, so that an empty state is 0.
    And,
    /// bit_or.
    Or,
    /// bit_xor.
    Xor,
}

/// The combination of each group.
pub(crate) struct BitStates {
    operation: BitOperation,
    physical: PhysicalType,
    bits: Vec<i64>,
    valid: Valid,
}

impl BitStates {
    pub(crate) fn new(operation: BitOperation, physical: PhysicalType, coverage: Coverage) -> Self {
        Self { operation, physical, bits: Vec::new(), valid: Valid::new(coverage) }
    }

    fn add(&mut self, groups: &[u32], values: impl Iterator<Item = i64>) {
        let bits = &mut self.bits;
        let rows = groups.iter().zip(values);
        match self.operation {
            BitOperation::And => rows.for_each(|(&g, v)| bits[g as usize] |= !v),
            BitOperation::Or => rows.for_each(|(&g, v)| bits[g as usize] |= v),
            BitOperation::Xor => rows.for_each(|(&g, v)| bits[g as usize] ^= v),
        }
    }

    fn value(&self, group: u32) -> i64 {
        let bits = self.bits[group as usize];
        if self.operation == BitOperation::And { !bits } else { bits }
    }
}

impl States for BitStates {
    fn resize(&mut self, groups: usize) {
        grow_zeroed(&mut self.bits, groups);
        self.valid.resize(groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        match &present.vectors[0].data {
            VectorData::I32(v) => self.add(&present.groups, v.iter().map(|&v| i64::from(v))),
            VectorData::I64(v) => self.add(&present.groups, v.iter().copied()),
            other => return Err(unexpected("bits", other)),
        }
        self.valid.mark(&present.groups, present.all);
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        let rows = mapping.source.iter().zip(mapping.target);
        let (values, groups): (Vec<i64>, Vec<u32>) = rows
            .filter(|(from, _)| other.valid.get(**from))
            .map(|(&from, &to)| (other.value(from), to))
            .unzip();
        self.add(&groups, values.into_iter());
        self.valid.merge(&other.valid, mapping);
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        let data = if self.physical == PhysicalType::I32 {
            VectorData::I32(groups.iter().map(|&g| self.value(g) as i32).collect())
        } else {
            VectorData::I64(groups.iter().map(|&g| self.value(g)).collect())
        };
        Ok(Vector::with_validity(data, self.valid.bitmap(groups)))
    }

    fn bytes(&self) -> usize {
        self.bits.capacity() * 8 + self.valid.bytes()
    }

    fn clear(&mut self) {
        self.bits.clear();
        self.valid.clear();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
