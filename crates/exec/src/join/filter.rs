//! Key filters: what the build side knows about keys, tested in the probe side's scan.
//!
//! Source: Patel 2018, sections 5.2 and 5.3. Departure: no order of filters is learnt here, scans order
//! restrictions; a filter that passes nearly everything takes itself out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernels::join_table::{JoinTable, KeySet, NullCode};
use kernels::{Vector, VectorData};
use plan::physical::{ExprKind, JoinKey, JoinKind};
use storage::KeyFilter;

use crate::open::PushedFilter;

use super::table::KeyTable;

/// Keys of a build side.
enum Keys {
    /// The join's own table, and its smallest key.
    Table(Arc<KeyTable>, i64),
    Set(KeySet),
}

/// A filter over the keys of a build side that stops testing when nearly all rows pass.
struct BuildFilter {
    keys: Keys,
    tested: AtomicU64,
    passed: AtomicU64,
    off: AtomicBool,
}

/// Rows tested before a filter judges itself, and the share of passing rows in 16ths that ends it: a
/// test costs about a tenth of a probe.
const TRIAL_ROWS: u64 = 1 << 15;
const PASSING_16THS_MAX: u64 = 14;

impl BuildFilter {
    fn new(keys: Keys) -> Arc<dyn KeyFilter> {
        let (tested, passed) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { keys, tested, passed, off: AtomicBool::new(false) })
    }

    fn retain<T: Copy + Into<i64>>(&self, values: &[T], positions: &mut Vec<u32>) {
        if self.off.load(Ordering::Relaxed) {
            return;
        }
        match &self.keys {
            Keys::Set(set) => set.retain(values, positions),
            Keys::Table(table, min) => {
                if let JoinTable::Dense(dense) = table.table() {
                    dense.retain(*min, values, positions);
                }
            }
        }
        self.judge(values.len() as u64, positions.len() as u64);
    }

    fn judge(&self, tested: u64, passed: u64) {
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

impl KeyFilter for BuildFilter {
    fn retain_i64(&self, values: &[i64], positions: &mut Vec<u32>) {
        self.retain(values, positions);
    }

    fn retain_i32(&self, values: &[i32], positions: &mut Vec<u32>) {
        self.retain(values, positions);
    }

    fn overlaps(&self, min: i64, max: i64) -> bool {
        match &self.keys {
            Keys::Set(set) => set.overlaps(min, max),
            Keys::Table(table, low) => match table.table() {
                JoinTable::Dense(dense) => {
                    let code = |v: i64| v.max(*low).wrapping_sub(*low) as u64;
                    max >= *low && dense.overlaps(code(min), code(max))
                }
                _ => true,
            },
        }
    }

    fn selectivity(&self) -> Option<f64> {
        match &self.keys {
            Keys::Table(table, _) => match table.table() {
                JoinTable::Dense(dense) if dense.is_unique() => {
                    Some(dense.len() as f64 / dense.range().max(1) as f64)
                }
                _ => None,
            },
            Keys::Set(_) => None,
        }
    }
}

/// The set of the values of `vector` that are not NULL.
fn key_set(vector: &Vector) -> Option<KeySet> {
    if let Some(validity) = &vector.validity {
        return key_set(&vector.gather(&validity.ones()));
    }
    match &vector.data {
        VectorData::I32(keys) => KeySet::new(keys.iter().map(|&k| i64::from(k))),
        VectorData::I64(keys) => KeySet::new(keys.iter().copied()),
        _ => None,
    }
}

/// Build rows up to which a set is made beside the table.
const SET_ROWS_MAX: usize = 4 << 20;

/// Filters for the probe side, by what was built, for kinds that drop probe rows without a match.
/// `probe_rows` is the estimate: a set that costs more than it can save is not made.
pub(super) fn of_build(
    kind: JoinKind,
    keys: &[JoinKey],
    table: &Arc<KeyTable>,
    probe_rows: f64,
) -> Vec<PushedFilter> {
    use JoinKind as K;
    if !matches!(kind, K::Inner | K::ProbeSemi | K::BuildSemi | K::BuildAnti | K::BuildOuter) {
        return Vec::new();
    }
    let mut filters = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        let ExprKind::Column(column) = key.probe.kind else {
            continue;
        };
        let vector = &table.keys()[i];
        let integer = matches!(vector.data, VectorData::I32(_) | VectorData::I64(_));
        if table.nulls()[i] != NullCode::Miss || !integer {
            continue;
        }
        let dense = matches!(table.table(), JoinTable::Dense(_));
        let filter = match table.single_min() {
            Some(min) if dense => Some(Keys::Table(Arc::clone(table), min)),
            _ if vector.len() > SET_ROWS_MAX || vector.len() as f64 > probe_rows => None,
            _ => key_set(vector).map(Keys::Set),
        };
        if let Some(keys) = filter {
            filters.push(PushedFilter { column, filter: BuildFilter::new(keys) });
        }
    }
    filters
}

/// The filters from above as filters of the probe and of the build child. `full` gives for each output
/// column its ordinal in probe columns followed by build columns.
pub(super) fn split(
    filters: Vec<PushedFilter>,
    kind: JoinKind,
    keys: &[JoinKey],
    full: &[usize],
    probe_width: usize,
) -> (Vec<PushedFilter>, Vec<PushedFilter>) {
    use JoinKind as K;
    let to_probe =
        matches!(kind, K::Inner | K::ProbeOuter | K::ProbeSemi | K::ProbeAnti | K::ProbeMark | K::ProbeSingle);
    let to_build = matches!(kind, K::Inner | K::BuildOuter | K::BuildSemi | K::BuildAnti);
    let both = matches!(kind, K::Inner | K::ProbeSemi | K::BuildSemi);
    let (mut probe, mut build) = (Vec::new(), Vec::new());
    for pushed in filters {
        let ordinal = full[pushed.column];
        let at = |column| PushedFilter { column, filter: Arc::clone(&pushed.filter) };
        let is_probe = ordinal < probe_width;
        let column = if is_probe { ordinal } else { ordinal - probe_width };
        if kind == K::ProbeMark && !is_probe {
            continue;
        }
        // Equal keys: what holds for one side's key holds for the other's.
        let partner = keys.iter().find_map(|key| {
            let (own, other) = if is_probe { (&key.probe, &key.build) } else { (&key.build, &key.probe) };
            match (&own.kind, &other.kind) {
                (ExprKind::Column(a), ExprKind::Column(b)) if *a == column => Some(*b),
                _ => None,
            }
        });
        let partner = partner.filter(|_| both);
        let (own, other, allowed) = if is_probe {
            (&mut probe, &mut build, to_probe)
        } else {
            (&mut build, &mut probe, to_build)
        };
        if allowed {
            own.push(at(column));
        }
        if let Some(partner) = partner {
            other.push(at(partner));
        }
    }
    (probe, build)
}
