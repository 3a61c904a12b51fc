//! Exact sums of integers and scaled decimals.
//!
//! Sums are 64 bits wide as long as the magnitudes of all values added cannot exceed that; then
//! they move to 128 bits: with few groups from time to time, with many for good.

use std::any::Any;

use kernels::group_table::update::{add, add_wide, add_words, magnitude};
use kernels::{Vector, VectorData};
use types::{Result, decimal};

use super::{Coverage, Mapping, States, Update, Valid, downcast, grow_zeroed, present, unexpected};

/// Groups up to which emptying all 64-bit sums is cheaper than adding 128 bits per row.
const FLUSHED_GROUPS: usize = 4096;
/// 64-bit sums whose magnitudes are bounded by this cannot overflow.
const BOUND: u64 = i64::MAX as u64;

/// A sum per group.
pub(crate) struct SumStates {
    narrow: Vec<i64>,
    wide: Vec<i128>,
    groups: usize,
    /// No narrow sum exceeds this.
    bound: u64,
    /// Values are added to `wide` at once.
    direct: bool,
    valid: Valid,
}

impl SumStates {
    pub(crate) fn new(coverage: Coverage) -> Self {
        Self {
            narrow: Vec::new(),
            wide: Vec::new(),
            groups: 0,
            bound: 0,
            direct: false,
            valid: Valid::new(coverage),
        }
    }

    /// States with these sums, where `present` says which have a value.
    pub(crate) fn from_totals(totals: Vec<i128>, present: impl Iterator<Item = bool>) -> Self {
        let mut states = Self::new(Coverage::Sparse);
        states.resize(totals.len());
        let groups: Vec<u32> =
            present.enumerate().filter(|(_, p)| *p).map(|(group, _)| group as u32).collect();
        states.valid.mark(&groups, false);
        states.wide = totals;
        states.direct = true;
        states
    }

    /// The sum of a group; None when it has no value.
    pub(crate) fn get(&self, group: u32) -> Option<i128> {
        self.valid.get(group).then(|| self.total(group))
    }

    /// The sum of a group that has a value, else 0.
    pub(crate) fn total(&self, group: u32) -> i128 {
        let narrow = i128::from(self.narrow[group as usize]);
        narrow + self.wide.get(group as usize).copied().unwrap_or(0)
    }

    /// The sums when all are held in 64 bits.
    pub(crate) fn narrow(&self) -> Option<&[i64]> {
        self.wide.is_empty().then_some(&self.narrow)
    }

    /// The validity of sums.
    pub(crate) fn valid(&self) -> &Valid {
        &self.valid
    }

    fn flush(&mut self) -> Result<()> {
        grow_zeroed(&mut self.wide, self.groups);
        let mut failed = false;
        for (wide, narrow) in self.wide.iter_mut().zip(&mut self.narrow) {
            let (sum, overflow) = wide.overflowing_add(i128::from(std::mem::take(narrow)));
            *wide = sum;
            failed |= overflow;
        }
        self.bound = 0;
        self.direct = self.groups > FLUSHED_GROUPS;
        if failed { Err(decimal::overflow()) } else { Ok(()) }
    }

    /// Makes room for values of magnitudes up to `more` in all; false when they must be added wide.
    fn admit(&mut self, more: u128) -> Result<bool> {
        if !self.direct && u128::from(self.bound) + more > u128::from(BOUND) {
            self.flush()?;
        }
        if self.direct || more > u128::from(BOUND) {
            grow_zeroed(&mut self.wide, self.groups);
            return Ok(false);
        }
        self.bound += more as u64;
        Ok(true)
    }

    fn add_i64(&mut self, groups: &[u32], values: &[i64]) -> Result<()> {
        let more = u128::from(magnitude(values)) * values.len() as u128;
        if self.admit(more)? {
            add(&mut self.narrow, groups, values);
        } else if add_words(&mut self.wide, groups, values) {
            return Err(decimal::overflow());
        }
        Ok(())
    }

    fn add_i128(&mut self, groups: &[u32], values: &[i128]) -> Result<()> {
        if values.iter().all(|&v| v == i128::from(v as i64)) {
            let narrow: Vec<i64> = values.iter().map(|&v| v as i64).collect();
            return self.add_i64(groups, &narrow);
        }
        grow_zeroed(&mut self.wide, self.groups);
        if add_wide(&mut self.wide, groups, values) { Err(decimal::overflow()) } else { Ok(()) }
    }
}

impl States for SumStates {
    fn resize(&mut self, groups: usize) {
        self.groups = self.groups.max(groups);
        grow_zeroed(&mut self.narrow, groups);
        if !self.wide.is_empty() {
            grow_zeroed(&mut self.wide, groups);
        }
        self.valid.resize(groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        match &present.vectors[0].data {
            VectorData::I32(values) => {
                if self.admit((1u128 << 31) * values.len() as u128)? {
                    add(&mut self.narrow, &present.groups, values);
                } else if add_wide(&mut self.wide, &present.groups, values) {
                    return Err(decimal::overflow());
                }
            }
            VectorData::I64(values) => self.add_i64(&present.groups, values)?,
            VectorData::I128(values) => self.add_i128(&present.groups, values)?,
            other => return Err(unexpected("a sum", other)),
        }
        self.valid.mark(&present.groups, present.all);
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        if let Some(narrow) = other.narrow() {
            let values: Vec<i64> = mapping.source.iter().map(|&g| narrow[g as usize]).collect();
            self.add_i64(mapping.target, &values)?;
        } else {
            let values: Vec<i128> = mapping.source.iter().map(|&g| other.total(g)).collect();
            self.add_i128(mapping.target, &values)?;
        }
        self.valid.merge(&other.valid, mapping);
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        let sums = groups.iter().map(|&g| self.total(g)).collect();
        Ok(Vector::with_validity(VectorData::I128(sums), self.valid.bitmap(groups)))
    }

    fn bytes(&self) -> usize {
        self.narrow.capacity() * 8 + self.wide.capacity() * 16 + self.valid.bytes()
    }

    fn clear(&mut self) {
        self.narrow.clear();
        self.wide.clear();
        self.groups = 0;
        self.bound = 0;
        self.direct = false;
        self.valid.clear();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
