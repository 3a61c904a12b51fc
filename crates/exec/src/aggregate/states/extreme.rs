//! Least and greatest values.

use std::any::Any;

use kernels::compare::Ordered;
use kernels::group_table::update::keep_best;
use kernels::{Bitmap, Vector, VectorBuilder, VectorData};
use types::{Interval, PhysicalType, Result};

use super::{Mapping, States, Update, downcast, grow_zeroed, present, unexpected};

/// Which end is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// min, bool_and.
    Least,
    /// max, bool_or.
    Greatest,
}

/// A physical type of fixed width.
pub(crate) trait Fixed: Ordered + Default {
    fn of(data: &VectorData) -> Option<&[Self]>;
    fn into_data(values: Vec<Self>) -> VectorData;
}

macro_rules! fixed {
    ($($ty:ty => $variant:ident),*) => {$(
        impl Fixed for $ty {
            fn of(data: &VectorData) -> Option<&[Self]> {
                match data {
                    VectorData::$variant(values) => Some(values),
                    _ => None,
                }
            }
            fn into_data(values: Vec<Self>) -> VectorData {
                VectorData::$variant(values)
            }
        }
    )*};
}

fixed!(u8 => Bool, i32 => I32, i64 => I64, i128 => I128, f64 => F64, Interval => Interval);

/// States for values of type `physical`.
pub(super) fn make(end: End, physical: PhysicalType) -> Box<dyn States> {
    match physical {
        PhysicalType::Bool => Box::new(ExtremeStates::<u8>::new(end)),
        PhysicalType::I32 => Box::new(ExtremeStates::<i32>::new(end)),
        PhysicalType::I64 => Box::new(ExtremeStates::<i64>::new(end)),
        PhysicalType::I128 => Box::new(ExtremeStates::<i128>::new(end)),
        PhysicalType::F64 => Box::new(ExtremeStates::<f64>::new(end)),
        PhysicalType::Interval => Box::new(ExtremeStates::<Interval>::new(end)),
        PhysicalType::Str => Box::new(TextStates::new(end)),
    }
}

/// The extreme value of each group, of fixed width.
pub(crate) struct ExtremeStates<T> {
    end: End,
    best: Vec<T>,
    seen: Vec<u8>,
}

impl<T: Fixed> ExtremeStates<T> {
    fn new(end: End) -> Self {
        Self { end, best: Vec::new(), seen: Vec::new() }
    }

    fn add(&mut self, groups: &[u32], values: &[T]) {
        let (best, seen) = (&mut self.best, &mut self.seen);
        match self.end {
            End::Least => keep_best(best, seen, groups, values, |a: T, b: T| a.less(b)),
            End::Greatest => keep_best(best, seen, groups, values, |a: T, b: T| b.less(a)),
        }
    }
}

impl<T: Fixed> States for ExtremeStates<T> {
    fn resize(&mut self, groups: usize) {
        grow_zeroed(&mut self.best, groups);
        grow_zeroed(&mut self.seen, groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        let data = &present.vectors[0].data;
        let values = T::of(data).ok_or_else(|| unexpected("an extreme", data))?;
        self.add(&present.groups, values);
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        let rows = mapping.source.iter().zip(mapping.target);
        let (values, groups): (Vec<T>, Vec<u32>) = rows
            .filter(|(from, _)| other.seen[**from as usize] != 0)
            .map(|(&from, &to)| (other.best[from as usize], to))
            .unzip();
        self.add(&groups, &values);
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        let values = groups.iter().map(|&g| self.best[g as usize]).collect();
        let valid = Bitmap::from_fn(groups.len(), |i| self.seen[groups[i] as usize] != 0);
        Ok(Vector::with_validity(T::into_data(values), Some(valid)))
    }

    fn bytes(&self) -> usize {
        self.best.capacity() * size_of::<T>() + self.seen.capacity()
    }

    fn clear(&mut self) {
        self.best.clear();
        self.seen.clear();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The extreme string of each group. Memory is taken only when a value is better than the group's
/// best and longer than every earlier best.
pub(crate) struct TextStates {
    end: End,
    best: Vec<Option<Vec<u8>>>,
    heap_bytes: usize,
}

impl TextStates {
    fn new(end: End) -> Self {
        Self { end, best: Vec::new(), heap_bytes: 0 }
    }

    fn add(&mut self, group: u32, value: &[u8]) {
        let best = &mut self.best[group as usize];
        match best {
            None => {
                self.heap_bytes += value.len() + 16;
                *best = Some(value.to_vec());
            }
            Some(old) => {
                let better = match self.end {
                    End::Least => value < old.as_slice(),
                    End::Greatest => value > old.as_slice(),
                };
                if better {
                    self.heap_bytes += value.len().saturating_sub(old.capacity());
                    old.clear();
                    old.extend_from_slice(value);
                }
            }
        }
    }
}

impl States for TextStates {
    fn resize(&mut self, groups: usize) {
        if self.best.len() < groups {
            self.best.resize(groups, None);
        }
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let present = present(&update);
        let VectorData::Str(values) = &present.vectors[0].data else {
            return Err(unexpected("an extreme string", &present.vectors[0].data));
        };
        for (&group, value) in present.groups.iter().zip(values.iter()) {
            self.add(group, value);
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        for (&from, &to) in mapping.source.iter().zip(mapping.target) {
            if let Some(value) = &other.best[from as usize] {
                self.add(to, value);
            }
        }
        Ok(())
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        let mut builder = VectorBuilder::with_capacity(PhysicalType::Str, groups.len());
        for &group in groups {
            match &self.best[group as usize] {
                Some(value) => builder.push_str(value),
                None => builder.push_null(),
            }
        }
        Ok(builder.finish())
    }

    fn bytes(&self) -> usize {
        self.best.capacity() * size_of::<Option<Vec<u8>>>() + self.heap_bytes
    }

    fn clear(&mut self) {
        self.best.clear();
        self.heap_bytes = 0;
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
