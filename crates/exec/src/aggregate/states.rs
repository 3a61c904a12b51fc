//! States of aggregates, one per group, in columns.
//!
//! ```text
//! StateSpec (function, arguments, filter) --new--> States: arrays indexed by group number
//! batch -> update;   states of another worker or partition -> merge;   groups -> finish -> Vector
//! ```
//! An aggregate is made of one state or several, which aggregates share: AVG(x) is SUM(x), the rows
//! of the group, and the NULLs among them, which most columns do not have ([`super::finish`]).
//!
//! Invariants: a zeroed state is an empty one, so that large arrays come from the system zeroed;
//! NULL arguments and filtered rows never reach an inner loop.

mod any;
mod bits;
mod collect;
mod count;
mod distinct;
mod extreme;
mod float;
mod interval;
pub(crate) mod moments;
mod sum;
pub(crate) mod wide;

use std::any::Any;

use kernels::{Bitmap, Column, Vector, VectorData};
use plan::physical::SortKey;
use sql::algebra::{Direction, NullsOrder};
use types::{Error, PhysicalType, Result};

pub(crate) use any::{AnyStates, Rows};
pub(crate) use bits::{BitOperation, BitStates};
pub(crate) use collect::{CollectStates, Collected, Collector};
pub(crate) use count::{NullStates, RowStates};
pub(crate) use distinct::DistinctStates;
pub(crate) use extreme::End;
pub(crate) use float::FloatSumStates;
pub(crate) use interval::IntervalStates;
pub(crate) use moments::{ExactMoments, FloatMoments};
pub(crate) use sum::SumStates;
pub(crate) use wide::WideStates;

/// Groups that may exist: with those no update has touched, flags must be kept from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// A group is made by the row that first updates it.
    Dense,
    /// States may be made for groups without rows.
    Sparse,
}

/// Which rows of a batch an update brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// Every row that made a group.
    All,
    /// The rows that a FILTER left.
    Filtered,
}

/// One batch for one state.
#[derive(Clone, Copy)]
pub(crate) struct Update<'a> {
    /// The arguments.
    pub(crate) columns: &'a [Column],
    /// The group of each row.
    pub(crate) groups: &'a [u32],
    /// A number per row that ascends in the order of the input.
    pub(crate) sequence: &'a [u64],
    /// Completeness of the rows.
    pub(crate) completeness: Completeness,
}

/// Rows of another state column and the groups they belong to here.
#[derive(Clone, Copy)]
pub(crate) struct Mapping<'a> {
    /// Groups there, each at most once.
    pub(crate) source: &'a [u32],
    /// Groups here; several may be equal.
    pub(crate) target: &'a [u32],
}

/// The states of all groups.
pub(crate) trait States: Send + Sync {
    /// Makes states for groups up to `groups`.
    fn resize(&mut self, groups: usize);

    /// Adds a batch.
    ///
    /// # Errors
    /// 22003 and the like.
    fn update(&mut self, update: Update<'_>) -> Result<()>;

    /// Adds states of another column of the same kind.
    ///
    /// # Errors
    /// As [`Self::update`].
    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()>;

    /// Called once after the last update and before the first [`Self::finish`].
    fn seal(&mut self) {}

    /// The results of `groups`, as `physical` where the state allows a choice.
    ///
    /// # Errors
    /// 22003 and the like.
    fn finish(&self, groups: &[u32]) -> Result<Vector>;

    /// Bytes held.
    fn bytes(&self) -> usize;

    /// Forgets all groups.
    fn clear(&mut self);

    /// Itself, for those that know its type.
    fn as_any(&self) -> &dyn Any;

    /// True when states hold rows: such are not moved between partitions early.
    fn is_heavy(&self) -> bool {
        false
    }
}

/// Computation of a state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StateKind {
    /// Rows of the group.
    Rows,
    /// NULL arguments.
    Nulls,
    /// Sum of integers, exact.
    Sum,
    /// Sum of floating point numbers.
    FloatSum,
    /// Sum of intervals and their count.
    IntervalSum,
    /// Sum and count of wide decimals; of their squares, too, when true.
    WideTotal(bool),
    /// Least or greatest.
    Extreme(End),
    /// Bitwise combination.
    Bits(BitOperation),
    /// Count, sum and sum of squares of integers, exact.
    ExactMoments,
    /// The same of one or two floating point columns.
    FloatMoments,
    /// Some value.
    Any(Rows),
    /// All rows, for what needs them together.
    Collect(Collector),
    /// Another state over distinct arguments.
    Distinct(Box<StateKind>),
}

/// A state: its kind, its arguments and filter as numbers of [`super::input::Inputs`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StateSpec {
    /// Computation of the state.
    pub(crate) kind: StateKind,
    /// Arguments.
    pub(crate) arguments: Vec<usize>,
    /// How the arguments are held.
    pub(crate) physical: Vec<PhysicalType>,
    /// FILTER.
    pub(crate) filter: Option<usize>,
}

impl StateSpec {
    /// States of no group.
    pub(crate) fn states(&self, coverage: Coverage) -> Box<dyn States> {
        make(&self.kind, &self.physical, coverage)
    }
}

fn make(kind: &StateKind, physical: &[PhysicalType], coverage: Coverage) -> Box<dyn States> {
    let first = physical.first().copied().unwrap_or(PhysicalType::Bool);
    match kind {
        StateKind::Rows => Box::new(RowStates::default()),
        StateKind::Nulls => Box::new(NullStates::default()),
        StateKind::Sum => Box::new(SumStates::new(coverage)),
        StateKind::FloatSum => Box::new(FloatSumStates::new(coverage)),
        StateKind::IntervalSum => Box::new(IntervalStates::default()),
        StateKind::WideTotal(squares) => Box::new(WideStates::new(*squares)),
        StateKind::Extreme(end) => extreme::make(*end, first),
        StateKind::Bits(operation) => Box::new(BitStates::new(*operation, first, coverage)),
        StateKind::ExactMoments => Box::new(ExactMoments::default()),
        StateKind::FloatMoments => Box::new(FloatMoments::default()),
        StateKind::Any(rows) => Box::new(AnyStates::new(*rows, first)),
        StateKind::Collect(collector) => Box::new(CollectStates::new(collector.clone())),
        StateKind::Distinct(inner) => {
            Box::new(DistinctStates::new(make(inner, physical, Coverage::Sparse), physical))
        }
    }
}

/// The concrete type behind `states`.
pub(crate) fn downcast<T: 'static>(states: &dyn States) -> Result<&T> {
    states.as_any().downcast_ref().ok_or_else(|| Error::internal("states of another kind"))
}

/// Makes `values` at least `len` long with zeros, which cost nothing when it was empty.
pub(crate) fn grow_zeroed<T: Copy + Default>(values: &mut Vec<T>, len: usize) {
    if values.is_empty() {
        *values = vec![T::default(); len];
    } else if values.len() < len {
        values.resize(len, T::default());
    }
}

/// Which groups have a value. No flags are kept while every group has one.
#[derive(Clone, Debug)]
pub(crate) struct Valid {
    flags: Option<Vec<u8>>,
    covered: usize,
    len: usize,
}

impl Valid {
    pub(crate) fn new(coverage: Coverage) -> Self {
        let flags = (coverage == Coverage::Sparse).then(Vec::new);
        Self { flags, covered: 0, len: 0 }
    }

    pub(crate) fn resize(&mut self, groups: usize) {
        self.len = self.len.max(groups);
        if let Some(flags) = &mut self.flags {
            grow_zeroed(flags, groups);
        }
    }

    fn flags(&mut self) -> &mut Vec<u8> {
        let (covered, len) = (self.covered, self.len);
        self.flags.get_or_insert_with(|| {
            let mut flags = vec![1; covered];
            flags.resize(len, 0);
            flags
        })
    }

    /// Rows of `groups` brought values; `all` when every new group is among them.
    pub(crate) fn mark(&mut self, groups: &[u32], all: bool) {
        if all && self.flags.is_none() {
            self.covered = self.len;
        } else {
            kernels::group_table::update::mark(self.flags(), groups);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self, mapping: Mapping<'_>) {
        match &other.flags {
            None if other.covered == other.len => self.mark(mapping.target, true),
            None => {
                let covered = other.covered as u32;
                self.mark_where(mapping, |group| group < covered);
            }
            Some(flags) => self.mark_where(mapping, |group| flags[group as usize] != 0),
        }
    }

    fn mark_where(&mut self, mapping: Mapping<'_>, valid: impl Fn(u32) -> bool) {
        let flags = self.flags();
        for (&source, &target) in mapping.source.iter().zip(mapping.target) {
            flags[target as usize] |= u8::from(valid(source));
        }
    }

    pub(crate) fn get(&self, group: u32) -> bool {
        match &self.flags {
            None => (group as usize) < self.covered,
            Some(flags) => flags[group as usize] != 0,
        }
    }

    /// The validity of `groups`.
    pub(crate) fn bitmap(&self, groups: &[u32]) -> Option<Bitmap> {
        match &self.flags {
            None if self.covered == self.len => None,
            _ => Some(Bitmap::from_fn(groups.len(), |i| self.get(groups[i]))),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.flags.as_ref().map_or(0, Vec::capacity)
    }

    pub(crate) fn clear(&mut self) {
        if let Some(flags) = &mut self.flags {
            flags.clear();
        }
        self.covered = 0;
        self.len = 0;
    }
}

/// The rows of an update whose arguments are all present.
pub(crate) struct Present<'a> {
    /// The arguments, without NULLs.
    pub(crate) vectors: Vec<std::borrow::Cow<'a, Vector>>,
    /// The group of each row.
    pub(crate) groups: std::borrow::Cow<'a, [u32]>,
    /// True when no row was left out.
    pub(crate) all: bool,
}

/// The rows whose arguments are all present.
pub(crate) fn present<'a>(update: &Update<'a>) -> Present<'a> {
    use std::borrow::Cow;
    let vectors: Vec<Cow<'a, Vector>> = update.columns.iter().map(Column::to_vector).collect();
    let validity = vectors.iter().filter_map(|v| v.validity.as_ref());
    let valid = validity.fold(None, |valid: Option<Bitmap>, bits| {
        Some(valid.map_or_else(|| bits.clone(), |valid| valid.and(bits)))
    });
    let complete = update.completeness == Completeness::All;
    let Some(valid) = valid else {
        return Present { vectors, groups: Cow::Borrowed(update.groups), all: complete };
    };
    let rows = valid.ones();
    let groups = rows.iter().map(|&row| update.groups[row as usize]).collect();
    let vectors = vectors.iter().map(|v| Cow::Owned(v.gather(&rows))).collect();
    Present {
        vectors,
        groups: Cow::Owned(groups),
        all: complete && rows.len() == update.groups.len(),
    }
}

/// Error for an argument of a physical type that the plan should not have chosen.
pub(crate) fn unexpected(what: &str, data: &VectorData) -> Error {
    let physical = Vector::new(data.clone()).physical();
    Error::internal(format!("{what} of {physical:?}"))
}

/// The kernels' form of a plan's sort key.
pub(crate) fn sort_field(key: &SortKey) -> kernels::keys::SortField {
    use kernels::keys::{SortDirection, SortField, SortNulls};
    SortField {
        physical: key.expr.physical,
        direction: match key.direction {
            Direction::Ascending => SortDirection::Ascending,
            Direction::Descending => SortDirection::Descending,
        },
        nulls: match key.nulls {
            NullsOrder::First => SortNulls::First,
            NullsOrder::Last => SortNulls::Last,
        },
    }
}
