//! min and max.

use super::Rows;
use super::grouped::update;
use crate::compare::Ordered;
use crate::level::flavours;
use crate::{StrVector, Vector, VectorBuilder};

/// min or max.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// min
    Min,
    /// max
    Max,
}

/// min or max of fixed-width values: `state[g]` counts once `seen[g]` is 1.
pub fn extreme<T: Ordered>(
    which: Extreme,
    values: &[T],
    rows: Rows,
    groups: &[u32],
    (state, seen): (&mut [T], &mut [u8]),
) {
    assert_eq!(state.len(), seen.len(), "one mark per group");
    assert_eq!(rows.len(values.len()), groups.len(), "one group per row");
    let mut apply = |better: fn(T, T) -> bool| {
        rows.each(values.len(), |j, i| {
            let (group, value) = (groups[j] as usize, values[i]);
            if seen[group] == 0 || better(value, state[group]) {
                state[group] = value;
                seen[group] = 1;
            }
        });
    };
    match which {
        Extreme::Min => apply(|new, old| new.less(old)),
        Extreme::Max => apply(|new, old| old.less(new)),
    }
}

flavours! {
    fn smallest[T: Ordered](values: &[T], start: T) -> T {
        let mut best = start;
        for &v in values {
            best = if v.less(best) { v } else { best };
        }
        best
    }

    fn largest[T: Ordered](values: &[T], start: T) -> T {
        let mut best = start;
        for &v in values {
            best = if best.less(v) { v } else { best };
        }
        best
    }
}

/// min or max of all rows that are not NULL, and of `start` when given.
pub fn extreme_total<T: Ordered>(
    which: Extreme,
    values: &[T],
    rows: Rows,
    start: Option<T>,
) -> Option<T> {
    let pick = |values: &[T], start| match which {
        Extreme::Min => smallest(values, start),
        Extreme::Max => largest(values, start),
    };
    if rows.validity.is_none() && rows.selection.is_none() {
        let start = start.or_else(|| values.first().copied())?;
        return Some(pick(values, start));
    }
    let mut best = start;
    rows.each(values.len(), |_, i| {
        best = Some(best.map_or(values[i], |best| pick(&values[i..=i], best)));
    });
    best
}

/// min or max of strings: owns the best string of each group.
#[derive(Clone, Debug, Default)]
pub struct StrExtremes {
    best: Vec<Option<Box<[u8]>>>,
    bytes: usize,
}

impl StrExtremes {
    /// Groups from 0 to `groups` - 1; those added have no string yet.
    pub fn resize(&mut self, groups: usize) {
        self.best.resize(groups, None);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes + self.best.capacity() * size_of::<Option<Box<[u8]>>>()
    }

    /// The best string of `group`.
    pub fn get(&self, group: usize) -> Option<&[u8]> {
        self.best[group].as_deref()
    }

    /// Offers `text` to `group`.
    #[inline]
    pub fn offer(&mut self, which: Extreme, group: usize, text: &[u8]) {
        let best = &mut self.best[group];
        let better = match (&*best, which) {
            (None, _) => true,
            (Some(old), Extreme::Min) => text < &**old,
            (Some(old), Extreme::Max) => text > &**old,
        };
        if better {
            self.bytes += text.len();
            self.bytes -= best.as_ref().map_or(0, |old| old.len());
            *best = Some(text.into());
        }
    }

    /// Offers every row that is not NULL to its group.
    pub fn update(&mut self, which: Extreme, values: &StrVector, rows: Rows, groups: &[u32]) {
        assert_eq!(rows.len(values.len()), groups.len(), "one group per row");
        rows.each(values.len(), |j, i| self.offer(which, groups[j] as usize, values.get(i)));
    }

    /// One row per group, NULL where there was none.
    pub fn finish(&self) -> Vector {
        let mut builder = VectorBuilder::with_capacity(types::PhysicalType::Str, self.best.len());
        for best in &self.best {
            match best {
                Some(text) => builder.push_str(text),
                None => builder.push_null(),
            }
        }
        builder.finish_pinned()
    }
}

/// Keeps the first value of each group: any_value, keys.
pub fn first<T: Copy>(values: &[T], rows: Rows, groups: &[u32], state: &mut [Option<T>]) {
    update(values, rows, groups, state, |first, v| {
        first.get_or_insert(v);
    });
}
