//! Bounds of columns that are never too narrow: the planner proves with them that arithmetic fits.
//!
//! ```text
//! value in low..=high, or between the texts     -> nothing to do (two relaxed compares)
//! outside -> latch, epoch + 1, wider bounds      with a quarter of their width to spare
//! ```
//! Invariants: a write admits its values before it publishes its row, so who sees a row finds its
//! values inside; the epoch rises before bounds do, so who reads both under the latch, and later
//! finds the same epoch, still has bounds that hold. They become narrower never.
//! Only whole numbers and NULLs raise the epoch: nothing is proved from other types.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use crossbeam_epoch::{Atomic, Guard, Owned};
use kernels::Vector;
use parking_lot::Mutex;
use types::{PhysicalType, Value};

use crate::datum::Datum;
use crate::fixed::{Fixed, float_key, value_of_key, with_fixed};
use crate::statistics::ColumnSummary;

/// Room kept beside the share of the width, in values.
const MARGIN_MIN: i128 = 64;

/// Rows from which on a load is unlikely to come again at once.
const LOAD_ROWS_MIN: u64 = 4096;

/// Bounds of the columns of one table.
#[derive(Debug)]
pub(crate) struct Bounds {
    columns: Box<[Column]>,
    epoch: AtomicU64,
    /// Smallest and largest key by column, where numbers of 64 bits may not hold them.
    wide: Mutex<Box<[Option<(i128, i128)>]>>,
}

#[derive(Debug)]
struct Column {
    physical: PhysicalType,
    /// Keys from `low` to `high` are inside; none at first.
    low: AtomicI64,
    high: AtomicI64,
    has_null: AtomicBool,
    texts: Atomic<Texts>,
}

#[derive(Clone, Debug)]
struct Texts {
    least: Box<[u8]>,
    most: Box<[u8]>,
}

impl Drop for Column {
    fn drop(&mut self) {
        let texts = std::mem::take(&mut self.texts);
        // SAFETY: nobody else has the column.
        drop(unsafe { texts.try_into_owned() });
    }
}

/// The key by which values of fixed width are ordered; intervals have no bounds.
fn key_of(datum: Datum<'_>) -> Option<i128> {
    match datum {
        Datum::Bool(v) => Some(v.into()),
        Datum::I32(v) => Some(v.into()),
        Datum::I64(v) => Some(v.into()),
        Datum::I128(v) => Some(v),
        Datum::F64(v) => Some(float_key(v)),
        Datum::Null | Datum::Str(_) | Datum::Interval(_) => None,
    }
}

fn is_whole(physical: PhysicalType) -> bool {
    matches!(physical, PhysicalType::I32 | PhysicalType::I64 | PhysicalType::I128)
}

fn clamp(key: i128) -> i64 {
    key.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl Bounds {
    /// Bounds of no rows.
    pub(crate) fn new(types: &[PhysicalType]) -> Self {
        let column = |&physical: &PhysicalType| Column {
            physical,
            low: AtomicI64::new(i64::MAX),
            high: AtomicI64::new(i64::MIN),
            has_null: AtomicBool::new(false),
            texts: Atomic::null(),
        };
        let wide = Mutex::new(vec![None; types.len()].into());
        Self { columns: types.iter().map(column).collect(), epoch: AtomicU64::new(0), wide }
    }

    /// Changes whenever bounds become wider.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Makes the bounds of `column` hold `datum`, which may be a narrower integer.
    #[inline]
    pub(crate) fn admit(&self, column: usize, datum: Datum<'_>, guard: &Guard) {
        let bounds = &self.columns[column];
        let key = match datum {
            Datum::I32(v) => i64::from(v),
            Datum::I64(v) => v,
            Datum::Str(text) => return self.admit_text(column, text, guard),
            Datum::Null => {
                if !bounds.has_null.load(Ordering::Acquire) {
                    self.admit_null(column);
                }
                return;
            }
            Datum::Interval(_) => return,
            other => match i64::try_from(key_of(other).expect("a fixed-width value")) {
                Ok(key) => key,
                Err(_) => return self.widen(column, key_of(other).expect("as before"), true),
            },
        };
        let (low, high) = (&bounds.low, &bounds.high);
        if low.load(Ordering::Acquire) > key || high.load(Ordering::Acquire) < key {
            self.widen(column, key.into(), is_whole(bounds.physical));
        }
    }

    /// Makes bounds hold the rows of `vector`.
    pub(crate) fn admit_vector(&self, column: usize, vector: &Vector, guard: &Guard) {
        if vector.validity.is_some() {
            self.admit(column, Datum::Null, guard);
        }
        let valid = || (0..vector.len()).filter(|&i| !vector.is_null(i));
        with_fixed!(vector.physical(), T => {
            if vector.physical() == PhysicalType::Interval {
                return;
            }
            let values = <T as Fixed>::slice(&vector.data);
            let keys = valid().map(|i| values[i].key());
            let ends = keys.fold(None, |ends: Option<(i128, i128)>, key| {
                Some(ends.map_or((key, key), |(lo, hi)| (lo.min(key), hi.max(key))))
            });
            if let Some((least, most)) = ends {
                self.admit_keys(column, least, most, is_whole(vector.physical()));
            }
        }, {
            let strings = vector.as_str();
            valid().for_each(|i| self.admit_text(column, strings.get(i), guard));
        });
    }

    /// Makes bounds hold what a load summarised: exactly, unless it was as small as an INSERT.
    pub(crate) fn admit_summary(&self, column: usize, summary: &ColumnSummary, guard: &Guard) {
        if summary.nulls > 0 {
            self.admit(column, Datum::Null, guard);
        }
        let (Some(min), Some(max)) = (&summary.min, &summary.max) else { return };
        match (key_of(min.into()), key_of(max.into())) {
            (Some(least), Some(most)) => {
                let spare = is_whole(self.columns[column].physical) && summary.rows < LOAD_ROWS_MIN;
                self.admit_keys(column, least, most, spare);
            }
            _ => {
                for text in [min, max] {
                    self.admit(column, text.into(), guard);
                }
            }
        }
    }

    /// Makes bounds hold `least..=most`, with a margin where a value is outside and `spare` says
    /// so.
    pub(crate) fn admit_keys(&self, column: usize, least: i128, most: i128, spare: bool) {
        let bounds = &self.columns[column];
        for key in [least, most] {
            let inside = i64::try_from(key).is_ok_and(|key| {
                bounds.low.load(Ordering::Acquire) <= key
                    && key <= bounds.high.load(Ordering::Acquire)
            });
            if !inside {
                self.widen(column, key, spare);
            }
        }
    }

    /// Makes bounds hold what those of `other`, of as many columns, hold.
    pub(crate) fn admit_bounds(&self, other: &Self, guard: &Guard) {
        let wide = other.wide.lock();
        for (column, theirs) in other.columns.iter().enumerate() {
            if theirs.has_null.load(Ordering::Acquire) {
                self.admit(column, Datum::Null, guard);
            }
            if let Some((least, most)) = wide[column] {
                self.admit_keys(column, least, most, false);
            }
            // SAFETY: as in `admit_text`.
            if let Some(texts) = unsafe { theirs.texts.load(Ordering::Acquire, guard).as_ref() } {
                self.admit_text(column, &texts.least, guard);
                self.admit_text(column, &texts.most, guard);
            }
        }
    }

    #[cold]
    fn admit_null(&self, column: usize) {
        let _latch = self.wide.lock();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.columns[column].has_null.store(true, Ordering::Release);
    }

    /// Widens to hold `key`; with `spare` farther, so that growing keys rarely come here.
    #[cold]
    fn widen(&self, column: usize, key: i128, spare: bool) {
        let mut wide = self.wide.lock();
        let bounds = &self.columns[column];
        let (least, most) = match bounds.physical {
            PhysicalType::I32 => (i32::MIN.into(), i32::MAX.into()),
            PhysicalType::I128 => (i128::MIN, i128::MAX),
            _ => (i64::MIN.into(), i64::MAX.into()),
        };
        let (low, high) = match wide[column] {
            None => (key, key),
            Some((low, high)) if low <= key && key <= high => return,
            Some((low, high)) => {
                let width = high.max(key).saturating_sub(low.min(key));
                let margin = if spare { width / 4 + MARGIN_MIN } else { 0 };
                if key < low {
                    (key.saturating_sub(margin).max(least), high)
                } else {
                    (low, key.saturating_add(margin).min(most))
                }
            }
        };
        wide[column] = Some((low, high));
        if is_whole(bounds.physical) {
            self.epoch.fetch_add(1, Ordering::AcqRel);
        }
        // What is beyond 64 bits is tested here each time.
        if low <= i64::MAX.into() && high >= i64::MIN.into() {
            bounds.low.store(clamp(low), Ordering::Release);
            bounds.high.store(clamp(high), Ordering::Release);
        }
    }

    fn admit_text(&self, column: usize, text: &[u8], guard: &Guard) {
        let texts = &self.columns[column].texts;
        // SAFETY: replaced texts are dropped after the guard.
        let inside = unsafe { texts.load(Ordering::Acquire, guard).as_ref() }
            .is_some_and(|t| &t.least[..] <= text && text <= &t.most[..]);
        if !inside {
            self.widen_text(column, text, guard);
        }
    }

    #[cold]
    fn widen_text(&self, column: usize, text: &[u8], guard: &Guard) {
        let _latch = self.wide.lock();
        let texts = &self.columns[column].texts;
        // SAFETY: as in `admit_text`.
        let new = match unsafe { texts.load(Ordering::Acquire, guard).as_ref() } {
            None => Texts { least: text.into(), most: text.into() },
            Some(old) => Texts {
                least: if text < &old.least[..] { text.into() } else { old.least.clone() },
                most: if text > &old.most[..] { text.into() } else { old.most.clone() },
            },
        };
        let old = texts.swap(Owned::new(new), Ordering::AcqRel, guard);
        if !old.is_null() {
            // SAFETY: out of reach now; who loaded it before is pinned.
            unsafe { guard.defer_destroy(old) };
        }
    }

    /// The epoch, and by column smallest and largest value and whether there are NULLs, that held
    /// together.
    pub(crate) fn read(&self, guard: &Guard) -> (u64, Vec<ColumnBounds>) {
        let wide = self.wide.lock();
        let columns = self.columns.iter().zip(wide.iter()).map(|(column, keys)| {
            // SAFETY: as in `admit_text`.
            let texts = unsafe { column.texts.load(Ordering::Acquire, guard).as_ref() };
            let value = |key| value_of_key(column.physical, key);
            let text = |bytes: &[u8]| Value::Str(bytes.into());
            let (min, max) = match (column.physical, keys, texts) {
                (PhysicalType::Str, _, Some(t)) => (Some(text(&t.least)), Some(text(&t.most))),
                (_, Some((low, high)), _) => (value(*low), value(*high)),
                _ => (None, None),
            };
            let is_exact = is_whole(column.physical) || column.physical == PhysicalType::Bool;
            ColumnBounds { min, max, is_exact, has_null: column.has_null.load(Ordering::Acquire) }
        });
        (self.epoch(), columns.collect())
    }
}

/// Bounds of one column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnBounds {
    pub(crate) min: Option<Value>,
    pub(crate) max: Option<Value>,
    /// True when the bounds are those of all values, as long as the epoch stays.
    pub(crate) is_exact: bool,
    pub(crate) has_null: bool,
}
