//! Conditions that joins prove about the rows below them, on their way down to a scan.
//!
//! ```text
//! build side -> Filter    a set of integers or strings
//!            -> Values    the few keys that there are: a restriction like one of the query's,
//!                         but for its end where it does not pay
//!            -> Part      of a filter over several keys; parts go down one by one, each by its own
//!                         column, and count where all of them come to one scan
//! ```
//! Invariant: a row that fails one reaches no result, so whoever cannot use it drops it.
//! Source: Funke 2015, sections 5.6 and 5.7. Departure: what was found in the scan is looked up
//! again by the join, which may be any number of operators above.

use std::sync::Arc;

use plan::physical::{Expr, ExprKind};
use storage::{KeyFilter, Restriction, RestrictionKind, TID_COLUMN};
use types::{PhysicalType, Value};

/// A condition on one column.
#[derive(Clone)]
pub struct PushedFilter {
    /// Output ordinal of the node that it is pushed into.
    pub column: usize,
    /// The form of the keys: other integers may be compared with integers, else only the same.
    pub physical: PhysicalType,
    /// The condition.
    pub test: KeyTest,
}

/// Question of a [`PushedFilter`] about its column.
#[derive(Clone)]
pub enum KeyTest {
    /// Membership in a set.
    Filter(Arc<dyn KeyFilter>),
    /// One of these values.
    Values(Arc<[Value]>),
    /// Membership in a set of keys of several columns, of which this is the one of this number.
    Part(Arc<Joint>, usize),
}

/// A filter over keys of several columns.
pub struct Joint {
    /// How many columns.
    pub columns: usize,
    /// The filter, by [`KeyFilter::retain_columns`].
    pub filter: Arc<dyn KeyFilter>,
}

impl PushedFilter {
    /// The same below `exprs`, if the one that it is about is a column.
    #[must_use]
    pub fn through(self, exprs: &[Expr]) -> Option<Self> {
        match exprs.get(self.column)?.kind {
            ExprKind::Column(column) => Some(Self { column, ..self }),
            _ => None,
        }
    }
}

/// True when keys of one form can be compared with a column of the other.
fn is_comparable(a: PhysicalType, b: PhysicalType) -> bool {
    use PhysicalType as P;
    let is_integer = |ty| matches!(ty, P::I32 | P::I64 | P::I128);
    a == b || is_integer(a) && is_integer(b)
}

/// The restrictions that `filters` are for a table whose columns `columns` are read, in the forms
/// that `physical` tells.
pub(crate) fn restrictions(
    filters: Vec<PushedFilter>,
    columns: &[usize],
    physical: impl Fn(usize) -> PhysicalType,
) -> Vec<Restriction> {
    let mut all = Vec::new();
    let mut joints: Vec<(Arc<Joint>, Vec<Option<usize>>)> = Vec::new();
    for PushedFilter { column: at, physical: form, test } in filters {
        let column = columns[at];
        if column == TID_COLUMN || !is_comparable(form, physical(at)) {
            continue;
        }
        match test {
            KeyTest::Filter(filter) => {
                all.push(Restriction { column, kind: RestrictionKind::KeyFilter(filter) });
            }
            KeyTest::Values(values) => {
                let kind = RestrictionKind::BuildKeys(values.to_vec());
                all.push(Restriction { column, kind });
            }
            KeyTest::Part(joint, part) => {
                let known = joints.iter().position(|(other, _)| Arc::ptr_eq(other, &joint));
                let known = known.unwrap_or_else(|| {
                    let parts = vec![None; joint.columns];
                    joints.push((joint, parts));
                    joints.len() - 1
                });
                joints[known].1[part].get_or_insert(column);
            }
        }
    }
    all.extend(joints.into_iter().filter_map(|(joint, parts)| {
        let parts = parts.into_iter().collect::<Option<Arc<[usize]>>>()?;
        let (column, filter) = (*parts.first()?, Arc::clone(&joint.filter));
        Some(Restriction { column, kind: RestrictionKind::Joint(parts, filter) })
    }));
    all
}
