//! Key filters: what the build side knows about keys, tested in the probe side's scan.
//!
//! Source: Patel 2018, sections 5.2 and 5.3. Departure: a filter that passes nearly everything
//! takes itself out. Elsewhere: the order in which a scan tests several (`storage`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernels::join_table::{JoinTable, KeySet, NullCode};
use kernels::{Vector, VectorData};
use plan::physical::{ExprKind, JoinKey, JoinKind};
use plan::{Switches, Technique};
use storage::KeyFilter;

use crate::opener::PushedFilter;

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

/// Rows tested before a filter judges itself, and the share of passing rows in 16ths that ends it:
/// a test costs about a tenth of a probe.
const TRIAL_ROWS: u64 = 1 << 15;
const PASSING_16THS_MAX: u64 = 14;

impl BuildFilter {
    fn shared(keys: Keys) -> Arc<dyn KeyFilter> {
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

    fn is_active(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
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
/// `probe_rows` is the estimate: a set that costs more than it can save is not made. A semi-join's
/// array of keys is an exact filter, everything else is LIP.
pub(super) fn of_build(
    kind: JoinKind,
    keys: &[JoinKey],
    table: &Arc<KeyTable>,
    probe_rows: f64,
    switches: Switches,
) -> Vec<PushedFilter> {
    use JoinKind as K;
    if !matches!(kind, K::Inner | K::ProbeSemi | K::BuildSemi | K::BuildAnti | K::BuildOuter) {
        return Vec::new();
    }
    let lip = switches.has(Technique::Lip);
    let exact = kind == K::ProbeSemi && switches.has(Technique::ExactFilters);
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
            Some(min) if dense && (lip || exact) => Some(Keys::Table(Arc::clone(table), min)),
            _ if !lip => None,
            _ if vector.len() > SET_ROWS_MAX || vector.len() as f64 > probe_rows => None,
            _ => key_set(vector).map(Keys::Set),
        };
        if let Some(keys) = filter {
            filters.push(PushedFilter { column, filter: BuildFilter::shared(keys) });
        }
    }
    filters
}

/// The filters from above as filters of the probe and of the build child. `full` gives for each
/// output column its ordinal in probe columns followed by build columns.
pub(super) fn split(
    filters: Vec<PushedFilter>,
    kind: JoinKind,
    keys: &[JoinKey],
    full: &[usize],
    probe_width: usize,
) -> (Vec<PushedFilter>, Vec<PushedFilter>) {
    use JoinKind as K;
    let to_probe = matches!(
        kind,
        K::Inner | K::ProbeOuter | K::ProbeSemi | K::ProbeAnti | K::ProbeMark | K::ProbeSingle
    );
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
            let (own, other) =
                if is_probe { (&key.probe, &key.build) } else { (&key.build, &key.probe) };
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

#[cfg(test)]
mod tests {
    use plan::physical::{Expr, JoinMethod, NullKeys};
    use sched::{Priority, Scheduler, Ticket};
    use storage::{BufferPool, MemoryCategory, Reservation};
    use types::DataType;

    use super::*;
    use crate::context::QueryContext;
    use crate::expr::column;

    fn int(ordinal: usize) -> Expr {
        column(ordinal, DataType::BigInt, DataType::BigInt.physical())
    }

    fn key(probe: usize, build: usize) -> JoinKey {
        JoinKey { probe: int(probe), build: int(build), nulls: NullKeys::Differ }
    }

    fn filters(keys: Vec<i64>, kind: JoinKind) -> Vec<PushedFilter> {
        filters_under(keys, kind, Switches::default())
    }

    fn filters_under(keys: Vec<i64>, kind: JoinKind, switches: Switches) -> Vec<PushedFilter> {
        let pool = BufferPool::new(1 << 30);
        let (scheduler, ticket) = (Scheduler::new(2), Ticket::new(Priority(1)));
        let mut context = QueryContext::new(Arc::clone(&pool), scheduler, ticket, 1);
        context.switches = switches;
        let context = Arc::new(context);
        let mut memory = Reservation::empty(&pool, MemoryCategory::HashTables);
        let vectors = vec![Arc::new(Vector::new(VectorData::I64(keys)))];
        let nulls = vec![NullCode::Miss];
        let table = KeyTable::build(&context, vectors, nulls, JoinMethod::Hash, &mut memory);
        of_build(kind, &[key(3, 0)], &Arc::new(table.expect("fits")), 1e9, switches)
    }

    #[test]
    fn filters_pass_every_key_and_few_others() {
        for step in [3i64, 1_000_000_007] {
            let keys: Vec<i64> = (0..5000).map(|i| (i - 700) * step).collect();
            let made = filters(keys.clone(), JoinKind::Inner);
            assert!(made.len() == 1 && made[0].column == 3);
            let values: Vec<i64> = (-3000..21_000).map(|i| i * step / 3).collect();
            let mut positions: Vec<u32> = (0..values.len() as u32).collect();
            made[0].filter.retain_i64(&values, &mut positions);
            let wanted = |p: &u32| keys.binary_search(&values[*p as usize]).is_ok();
            let hits = positions.iter().filter(|p| wanted(p)).count();
            assert_eq!(hits, keys.iter().filter(|k| values.contains(k)).count());
            assert!(positions.len() < hits + values.len() / 20, "{} pass", positions.len());
            assert!(
                made[0].filter.overlaps(0, 0) && !made[0].filter.overlaps(i64::MIN, -800 * step)
            );
            assert!(!made[0].filter.overlaps(5000 * step, i64::MAX));
        }
        assert!(filters(vec![1, 2], JoinKind::ProbeOuter).is_empty());
        assert!(filters(vec![1, 2], JoinKind::ProbeAnti).is_empty());
    }

    #[test]
    fn switches_say_which_filters_there_are() {
        let count = |step: i64, kind, switches| {
            let keys: Vec<i64> = (0..5000).map(|i| i * step).collect();
            filters_under(keys, kind, switches).len()
        };
        let lip = Switches::NONE.with(Technique::Lip).with(Technique::DenseJoins);
        let exact = Switches::NONE.with(Technique::ExactFilters).with(Technique::DenseJoins);
        for kind in [JoinKind::Inner, JoinKind::ProbeSemi] {
            assert_eq!((count(1, kind, lip), count(1 << 33, kind, lip)), (1, 1));
            assert_eq!(count(1, kind, Switches::NONE), 0);
            assert_eq!(count(1 << 33, kind, exact), 0);
        }
        assert_eq!(count(1, JoinKind::Inner, exact), 0);
        assert_eq!(count(1, JoinKind::ProbeSemi, exact), 1);
        assert_eq!(count(1, JoinKind::ProbeSemi, exact.without(Technique::DenseJoins)), 0);
    }

    #[test]
    fn a_filter_that_passes_everything_stops() {
        let made = filters((0..100_000).collect(), JoinKind::ProbeSemi);
        let values: Vec<i64> = (0..50_000).collect();
        let mut positions: Vec<u32> = (0..50_000).collect();
        made[0].filter.retain_i64(&values, &mut positions);
        assert_eq!(positions.len(), 50_000);
        // Off from here on: even keys that are not in the set pass.
        let mut positions = vec![0];
        made[0].filter.retain_i64(&[-1], &mut positions);
        assert_eq!(positions, [0]);
    }

    #[test]
    fn filters_from_above_reach_both_sides_of_an_inner_join() {
        let from_above = |columns: &[usize]| {
            let filter = filters(vec![1, 2], JoinKind::Inner)[0].filter.clone();
            let pushed = |&column| PushedFilter { column, filter: Arc::clone(&filter) };
            columns.iter().map(pushed).collect::<Vec<_>>()
        };
        let columns = |list: &[PushedFilter]| list.iter().map(|f| f.column).collect::<Vec<_>>();
        // Probe columns 0 to 4, build columns from 5; the key is probe 3 = build 1.
        let full = [3, 0, 7, 6];
        let (probe, build) =
            split(from_above(&[0, 1, 2, 3]), JoinKind::Inner, &[key(3, 1)], &full, 5);
        assert_eq!((columns(&probe), columns(&build)), (vec![3, 0, 3], vec![1, 2, 1]));
        let (probe, build) =
            split(from_above(&[0, 1, 2]), JoinKind::ProbeOuter, &[key(3, 1)], &full, 5);
        assert_eq!((columns(&probe), columns(&build)), (vec![3, 0], vec![]));
        let (probe, build) =
            split(from_above(&[0, 3]), JoinKind::FullOuter, &[key(3, 1)], &full, 5);
        assert!(probe.is_empty() && build.is_empty());
    }
}
