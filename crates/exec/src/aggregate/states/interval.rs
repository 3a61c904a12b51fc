//! Sums of intervals.

use std::any::Any;

use kernels::{Bitmap, Vector, VectorData};
use types::{Interval, Result, calendar};

use super::{Mapping, States, Update, downcast, grow_zeroed, present, unexpected};

#[derive(Clone, Copy, Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i128,
    count: i64,
}

/// Sum and count of intervals per group.
#[derive(Default)]
pub(crate) struct IntervalStates {
    sums: Vec<Sum>,
}

impl IntervalStates {
    /// Sum and count of a group; None without values.
    ///
    /// # Errors
    /// 22008 on overflow.
    pub(crate) fn get(&self, group: u32) -> Result<Option<(Interval, i64)>> {
        let sum = self.sums[group as usize];
        if sum.count == 0 {
            return Ok(None);
        }
        let overflow = |_| calendar::interval_out_of_range();
        let interval = Interval {
            months: i32::try_from(sum.months).map_err(overflow)?,
            days: i32::try_from(sum.days).map_err(overflow)?,
            micros: i64::try_from(sum.micros).map_err(overflow)?,
        };
        Ok(Some((interval, sum.count)))
    }
}

impl States for IntervalStates {
    fn resize(&mut self, groups: usize) {
        grow_zeroed(&mut self.sums, groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        let VectorData::Interval(values) = &present.vectors[0].data else {
            return Err(unexpected("an interval sum", &present.vectors[0].data));
        };
        for (&group, value) in present.groups.iter().zip(values) {
            let sum = &mut self.sums[group as usize];
            sum.months += i64::from(value.months);
            sum.days += i64::from(value.days);
            sum.micros += i128::from(value.micros);
            sum.count += 1;
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        for (&from, &to) in mapping.source.iter().zip(mapping.target) {
            let (sum, more) = (&mut self.sums[to as usize], other.sums[from as usize]);
            sum.months += more.months;
            sum.days += more.days;
            sum.micros += more.micros;
            sum.count += more.count;
        }
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        let values = groups.iter().map(|&g| self.get(g)).collect::<Result<Vec<_>>>()?;
        let valid = Bitmap::from_fn(values.len(), |i| values[i].is_some());
        let data = values.iter().map(|v| v.map_or(Interval::default(), |v| v.0)).collect();
        Ok(Vector::with_validity(VectorData::Interval(data), Some(valid)))
    }

    fn bytes(&self) -> usize {
        self.sums.capacity() * size_of::<Sum>()
    }

    fn clear(&mut self) {
        self.sums.clear();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
