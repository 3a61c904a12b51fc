//! Conditions on one column that a scan decides by itself, and their prepared form (step 1 of a
//! scan).
//!
//! ```text
//! Restriction (values as the planner has them) -> Test (integers in column order, or bytes)
//! ```
//! Fixed-width values compare through their order key, an integer: every comparison becomes a
//! closed range of keys, an exception, or a set. NULL satisfies none but IS NULL.
//! Source: Funke 2015, section 5.5, Table 5.1. Departure: any predicate of one column may come
//! along.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernels::{Bitmap, Column, Vector};
use types::{CompareOp, Error, PhysicalType, Result, Value};

use crate::fixed::float_key;
use crate::schema::Schema;

/// A condition on column `column`.
#[derive(Clone, Debug)]
pub struct Restriction {
    /// Ordinal of the column.
    pub column: usize,
    /// The condition.
    pub kind: RestrictionKind,
}

/// Condition on the column. Values are of the column's type, or another number type.
#[derive(Clone)]
pub enum RestrictionKind {
    /// IS NULL.
    IsNull,
    /// IS NOT NULL.
    IsNotNull,
    /// No row.
    Never,
    /// `column OP value`, never IS [NOT] DISTINCT FROM; with NULL no row.
    Compare(CompareOp, Value),
    /// Between two bounds; a NULL bound lets no row pass.
    Between {
        /// The lower bound.
        low: Bound<Value>,
        /// The upper bound.
        high: Bound<Value>,
    },
    /// Equal to one of these; NULLs among them are ignored.
    InList(Vec<Value>),
    /// As [`Self::InList`], of the keys of a join above: a row that fails reaches no result anyway,
    /// so a scan may leave the test out where it costs more than it saves.
    BuildKeys(Vec<Value>),
    /// Any predicate of this column alone: decided once per dictionary entry, or on values.
    Predicate(Arc<dyn ColumnPredicate>),
    /// A filter over integer keys or strings: LIP, exact, early probing. NULL does not pass.
    KeyFilter(Arc<dyn KeyFilter>),
    /// A filter over keys of several columns, of which the restriction's is the first. A row with a
    /// NULL in one does not pass.
    Joint(Arc<[usize]>, Arc<dyn KeyFilter>),
}

impl std::fmt::Debug for RestrictionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::IsNull => f.write_str("IsNull"),
            Self::IsNotNull => f.write_str("IsNotNull"),
            Self::Never => f.write_str("Never"),
            Self::Compare(kind, value) => write!(f, "Compare({kind:?}, {value:?})"),
            Self::Between { low, high } => write!(f, "Between({low:?}, {high:?})"),
            Self::InList(values) => f.debug_tuple("InList").field(values).finish(),
            Self::BuildKeys(values) => f.debug_tuple("BuildKeys").field(values).finish(),
            Self::Predicate(predicate) => write!(f, "Predicate({})", predicate.name()),
            Self::KeyFilter(_) => f.write_str("KeyFilter"),
            Self::Joint(columns, _) => write!(f, "Joint({columns:?})"),
        }
    }
}

/// A predicate of one column, without side effects.
pub trait ColumnPredicate: Send + Sync {
    /// Bit `i` is 1 when the predicate is true for row `i`; unknown is 0. Rows may be entries of a
    /// dictionary, NULL among them.
    ///
    /// # Errors
    /// Errors of evaluation. An error over a dictionary is not final: the predicate is then asked
    /// about the rows that other restrictions left.
    fn select(&self, values: &Vector) -> Result<Bitmap>;

    /// As SQL, for EXPLAIN.
    fn name(&self) -> String;
}

/// A set of keys, exact or with false positives.
pub trait KeyFilter: Send + Sync {
    /// `values[i]` is the key of `positions[i]`: keeps the positions whose key may be in the set,
    /// in order.
    fn retain_i64(&self, values: &[i64], positions: &mut Vec<u32>);

    /// As [`Self::retain_i64`].
    fn retain_i32(&self, values: &[i32], positions: &mut Vec<u32>) {
        let wide: Vec<i64> = values.iter().map(|&v| i64::from(v)).collect();
        self.retain_i64(&wide, positions);
    }

    /// Keeps the positions, in order, whose key may be in the set: `columns` have the key of each
    /// position, strings or several columns of any types. Keys with NULL are in no set.
    fn retain_columns(&self, columns: &[&Column], positions: &mut Vec<u32>) {
        let _ = (columns, positions);
    }

    /// False when no key of `min..=max` is in the set: such blocks are skipped.
    fn overlaps(&self, min: i64, max: i64) -> bool {
        let _ = (min, max);
        true
    }

    /// As [`Self::overlaps`], of strings.
    fn overlaps_strings(&self, min: &[u8], max: &[u8]) -> bool {
        let _ = (min, max);
        true
    }

    /// False once the filter has given up: all keys pass from then on.
    fn is_active(&self) -> bool {
        true
    }

    /// Share of rows expected to pass, 0 to 1, to order restrictions by; None when unknown.
    fn selectivity(&self) -> Option<f64> {
        None
    }
}

/// A restriction fitted to its column.
#[derive(Clone)]
pub(crate) enum Test {
    Never,
    IsNull,
    IsNotNull,
    Keys(KeyTest),
    Texts(TextTest),
    Predicate(Arc<dyn ColumnPredicate>),
    Filter(Arc<dyn KeyFilter>),
    /// A filter over these columns together.
    Joint(Arc<[usize]>, Arc<dyn KeyFilter>),
}

impl Test {
    /// The filter of a join, if it is one.
    pub(crate) fn filter(&self) -> Option<&dyn KeyFilter> {
        match self {
            Self::Filter(filter) | Self::Joint(_, filter) => Some(&**filter),
            _ => None,
        }
    }

    /// False for a filter that has given up.
    pub(crate) fn is_active(&self) -> bool {
        self.filter().is_none_or(KeyFilter::is_active)
    }
}

/// Rows that a test was asked about, and what they say of its worth: a test that nearly all rows
/// pass ends.
#[derive(Debug, Default)]
pub struct Trial {
    tested: AtomicU64,
    passed: AtomicU64,
    off: AtomicBool,
}

/// Rows tested before a test is judged, and the share of passing rows in 16ths that ends it: it
/// costs about a tenth of a probe.
const TRIAL_ROWS: u64 = 1 << 15;
const PASSING_16THS_MAX: u64 = 14;

impl Trial {
    /// True until nearly all rows were seen to pass.
    #[inline]
    pub fn is_on(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    /// Counts `tested` rows, of which `passed` were left.
    pub fn judge(&self, tested: usize, passed: usize) {
        let (tested, passed) = (tested as u64, passed as u64);
        let tested = self.tested.fetch_add(tested, Ordering::Relaxed) + tested;
        let passed = self.passed.fetch_add(passed, Ordering::Relaxed) + passed;
        if tested >= TRIAL_ROWS {
            if passed * 16 > tested * PASSING_16THS_MAX {
                self.off.store(true, Ordering::Relaxed);
            }
            // Judged anew from here on: rows of one kind may lie together.
            self.tested.store(0, Ordering::Relaxed);
            self.passed.store(0, Ordering::Relaxed);
        }
    }
}

/// Test of order keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyTest {
    /// Closed, not empty.
    Range(i128, i128),
    Not(i128),
    /// Sorted, two or more.
    Set(Vec<i128>),
}

/// Test of strings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TextTest {
    Range(Bound<Arc<[u8]>>, Bound<Arc<[u8]>>),
    Not(Arc<[u8]>),
    /// Sorted, two or more.
    Set(Vec<Arc<[u8]>>),
}

impl KeyTest {
    #[inline]
    pub(crate) fn accepts(&self, key: i128) -> bool {
        match self {
            Self::Range(lo, hi) => *lo <= key && key <= *hi,
            Self::Not(other) => key != *other,
            Self::Set(keys) => keys.binary_search(&key).is_ok(),
        }
    }
}

impl TextTest {
    /// The texts that pass, sorted, where they are listed.
    pub(crate) fn listed(&self) -> Option<&[Arc<[u8]>]> {
        match self {
            Self::Range(Bound::Included(low), Bound::Included(high)) if low == high => {
                Some(std::slice::from_ref(low))
            }
            Self::Set(texts) => Some(texts),
            Self::Range(..) | Self::Not(_) => None,
        }
    }

    pub(crate) fn accepts(&self, text: &[u8]) -> bool {
        match self {
            Self::Range(low, high) => {
                let above = match low {
                    Bound::Unbounded => true,
                    Bound::Included(low) => text >= &low[..],
                    Bound::Excluded(low) => text > &low[..],
                };
                above
                    && match high {
                        Bound::Unbounded => true,
                        Bound::Included(high) => text <= &high[..],
                        Bound::Excluded(high) => text < &high[..],
                    }
            }
            Self::Not(other) => text != &other[..],
            Self::Set(texts) => texts.binary_search_by(|t| t[..].cmp(text)).is_ok(),
        }
    }
}

/// Fits `restriction` to its column.
///
/// # Errors
/// XX000 when the planner pushed down what the column cannot answer.
pub(crate) fn prepare(schema: &Schema, restriction: &Restriction) -> Result<Test> {
    let column = schema
        .columns()
        .get(restriction.column)
        .ok_or_else(|| Error::internal(format!("restriction on column {}", restriction.column)))?;
    let physical = column.physical();
    let fit = |low, high| match physical {
        PhysicalType::Str => text_range(low, high),
        _ => key_range(physical, low, high),
    };
    match &restriction.kind {
        RestrictionKind::IsNull if column.not_null => Ok(Test::Never),
        RestrictionKind::IsNull => Ok(Test::IsNull),
        RestrictionKind::IsNotNull => Ok(Test::IsNotNull),
        RestrictionKind::Never => Ok(Test::Never),
        RestrictionKind::Compare(op, value) => match op {
            CompareOp::Equal => fit(Bound::Included(value), Bound::Included(value)),
            CompareOp::NotEqual => not_equal(physical, value),
            CompareOp::Less => fit(Bound::Unbounded, Bound::Excluded(value)),
            CompareOp::LessEqual => fit(Bound::Unbounded, Bound::Included(value)),
            CompareOp::Greater => fit(Bound::Excluded(value), Bound::Unbounded),
            CompareOp::GreaterEqual => fit(Bound::Included(value), Bound::Unbounded),
            CompareOp::Distinct | CompareOp::NotDistinct => {
                Err(Error::internal("IS DISTINCT FROM is no scan restriction"))
            }
        },
        RestrictionKind::Between { low, high } => fit(low.as_ref(), high.as_ref()),
        RestrictionKind::InList(values) | RestrictionKind::BuildKeys(values) => {
            in_list(physical, values)
        }
        RestrictionKind::Predicate(predicate) => Ok(Test::Predicate(Arc::clone(predicate))),
        RestrictionKind::KeyFilter(filter) => match physical {
            PhysicalType::I32 | PhysicalType::I64 | PhysicalType::I128 | PhysicalType::Str => {
                Ok(Test::Filter(Arc::clone(filter)))
            }
            other => Err(Error::internal(format!("a key filter on {other:?}"))),
        },
        RestrictionKind::Joint(columns, filter) => {
            let exists = |column: &usize| *column < schema.columns().len();
            if !columns.starts_with(&[restriction.column]) || !columns.iter().all(exists) {
                return Err(Error::internal(format!("a filter on columns {columns:?}")));
            }
            Ok(Test::Joint(Arc::clone(columns), Arc::clone(filter)))
        }
    }
}

fn is_null_bound(bound: &Bound<&Value>) -> bool {
    matches!(bound, Bound::Included(Value::Null) | Bound::Excluded(Value::Null))
}

fn mismatch(physical: PhysicalType, value: &Value) -> Error {
    Error::internal(format!("{value:?} compared with a column of {physical:?}"))
}

fn text_of(value: &Value) -> Result<Arc<[u8]>> {
    match value {
        Value::Str(text) => Ok(Arc::clone(text)),
        other => Err(mismatch(PhysicalType::Str, other)),
    }
}

fn text_range(low: Bound<&Value>, high: Bound<&Value>) -> Result<Test> {
    if is_null_bound(&low) || is_null_bound(&high) {
        return Ok(Test::Never);
    }
    let own = |bound: Bound<&Value>| {
        Ok::<_, Error>(match bound {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(value) => Bound::Included(text_of(value)?),
            Bound::Excluded(value) => Bound::Excluded(text_of(value)?),
        })
    };
    let test = TextTest::Range(own(low)?, own(high)?);
    Ok(match &test {
        TextTest::Range(Bound::Unbounded, Bound::Unbounded) => Test::IsNotNull,
        TextTest::Range(
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) if low > high => Test::Never,
        _ => Test::Texts(test),
    })
}

/// Where a value stands among the keys of a column.
enum Place {
    /// The value is this key.
    At(i128),
    /// The value lies between this key and the next.
    After(i128),
}

fn place(physical: PhysicalType, value: &Value) -> Result<Place> {
    match (physical, value) {
        (PhysicalType::Bool, Value::Bool(v)) => Ok(Place::At(i128::from(*v))),
        (PhysicalType::Interval, Value::Interval(v)) => Ok(Place::At(v.comparable())),
        (PhysicalType::F64, Value::F64(v)) => Ok(Place::At(float_key(*v))),
        (PhysicalType::F64, _) => {
            let whole = value.as_integer().ok_or_else(|| mismatch(physical, value))?;
            Ok(Place::At(float_key(whole as f64)))
        }
        (PhysicalType::I32 | PhysicalType::I64 | PhysicalType::I128, Value::F64(v)) => {
            Ok(match v {
                v if v.is_nan() => Place::After(i128::MAX),
                v if v.floor() == *v => Place::At(*v as i128),
                v => Place::After(v.floor() as i128),
            })
        }
        (PhysicalType::I32 | PhysicalType::I64 | PhysicalType::I128, _) => {
            let key = value.as_integer().ok_or_else(|| mismatch(physical, value))?;
            Ok(Place::At(key))
        }
        _ => Err(mismatch(physical, value)),
    }
}

/// Smallest and largest key of a type.
fn domain(physical: PhysicalType) -> (i128, i128) {
    match physical {
        PhysicalType::Bool => (0, 1),
        PhysicalType::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        PhysicalType::I64 | PhysicalType::F64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        _ => (i128::MIN, i128::MAX),
    }
}

fn key_range(physical: PhysicalType, low: Bound<&Value>, high: Bound<&Value>) -> Result<Test> {
    if is_null_bound(&low) || is_null_bound(&high) {
        return Ok(Test::Never);
    }
    let (least, most) = domain(physical);
    let lo = match low {
        Bound::Unbounded => Some(least),
        Bound::Included(value) => match place(physical, value)? {
            Place::At(key) => Some(key),
            Place::After(key) => key.checked_add(1),
        },
        Bound::Excluded(value) => match place(physical, value)? {
            Place::At(key) | Place::After(key) => key.checked_add(1),
        },
    };
    let hi = match high {
        Bound::Unbounded => Some(most),
        Bound::Included(value) => match place(physical, value)? {
            Place::At(key) | Place::After(key) => Some(key),
        },
        Bound::Excluded(value) => match place(physical, value)? {
            Place::At(key) => key.checked_sub(1),
            Place::After(key) => Some(key),
        },
    };
    Ok(match (lo.map(|l| l.max(least)), hi.map(|h| h.min(most))) {
        (Some(lo), Some(hi)) if lo > hi => Test::Never,
        (Some(lo), Some(hi)) if (lo, hi) == (least, most) => Test::IsNotNull,
        (Some(lo), Some(hi)) => Test::Keys(KeyTest::Range(lo, hi)),
        _ => Test::Never,
    })
}

fn not_equal(physical: PhysicalType, value: &Value) -> Result<Test> {
    if value.is_null() {
        return Ok(Test::Never);
    }
    if physical == PhysicalType::Str {
        return Ok(Test::Texts(TextTest::Not(text_of(value)?)));
    }
    let (least, most) = domain(physical);
    Ok(match place(physical, value)? {
        Place::At(key) if (least..=most).contains(&key) => Test::Keys(KeyTest::Not(key)),
        _ => Test::IsNotNull,
    })
}

fn in_list(physical: PhysicalType, values: &[Value]) -> Result<Test> {
    let values = values.iter().filter(|v| !v.is_null());
    if physical == PhysicalType::Str {
        let mut texts = values.map(text_of).collect::<Result<Vec<_>>>()?;
        texts.sort_unstable();
        texts.dedup();
        return Ok(match &texts[..] {
            [] => Test::Never,
            [one] => Test::Texts(TextTest::Range(
                Bound::Included(Arc::clone(one)),
                Bound::Included(Arc::clone(one)),
            )),
            _ => Test::Texts(TextTest::Set(texts)),
        });
    }
    let (least, most) = domain(physical);
    let mut keys = Vec::new();
    for value in values {
        if let Place::At(key) = place(physical, value)? {
            keys.push(key);
        }
    }
    keys.retain(|k| (least..=most).contains(k));
    keys.sort_unstable();
    keys.dedup();
    Ok(match keys[..] {
        [] => Test::Never,
        [first, .., last] if last.abs_diff(first) == keys.len() as u128 - 1 => {
            Test::Keys(KeyTest::Range(first, last))
        }
        [one] => Test::Keys(KeyTest::Range(one, one)),
        _ => Test::Keys(KeyTest::Set(keys)),
    })
}
