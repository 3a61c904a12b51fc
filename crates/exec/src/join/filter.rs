//! Key filters: what the build side knows about keys, tested in the probe side's scan.
//!
//! ```text
//! few rows, one key, or few strings       the keys themselves: a restriction
//! one integer                             the join's array, or a set
//! one string, several keys of any types   the join's table: codes, then tags of its directory
//! ```
//! Source: Patel 2018, sections 5.2 and 5.3; Funke 2015, sections 5.6 and 5.7. Departure: a filter
//! or restriction that passes nearly everything is taken out. Elsewhere: the order in which a scan
//! tests several (`storage`), and whether it tests them (`scan::flavours`).

use std::cell::RefCell;
use std::sync::Arc;

use kernels::join_table::{IntegerKey, JoinTable, KeySet, NullCode};
use kernels::{Column, Vector, VectorData};
use plan::physical::{ExprKind, JoinKey, JoinKind};
use plan::{Switches, Technique};
use storage::{KeyFilter, Trial};
use types::{PhysicalType, Value};

use crate::pushed::{Joint, KeyTest, PushedFilter};

use super::table::KeyTable;

/// Keys of a build side.
enum Keys {
    /// The join's own table, and its smallest key.
    Table(Arc<KeyTable>, i64),
    Set(KeySet),
    /// The join's own table, by codes; smallest and largest key of a single string.
    Codes(Arc<KeyTable>, Option<[Arc<[u8]>; 2]>),
}

/// A filter over the keys of a build side that stops testing when nearly all rows pass.
struct BuildFilter {
    keys: Keys,
    trial: Trial,
}

impl BuildFilter {
    fn shared(keys: Keys) -> Arc<dyn KeyFilter> {
        Arc::new(Self { keys, trial: Trial::default() })
    }

    fn retain<T: IntegerKey>(&self, values: &[T], positions: &mut Vec<u32>) {
        if !self.trial.is_on() {
            return;
        }
        match &self.keys {
            Keys::Set(set) => set.retain(values, positions),
            Keys::Table(table, min) => {
                if let JoinTable::Dense(dense) = table.table() {
                    dense.retain(*min, values, positions);
                }
            }
            // Asked about columns.
            Keys::Codes(..) => {}
        }
        self.trial.judge(values.len(), positions.len());
    }
}

impl KeyFilter for BuildFilter {
    fn retain_i64(&self, values: &[i64], positions: &mut Vec<u32>) {
        self.retain(values, positions);
    }

    fn retain_i32(&self, values: &[i32], positions: &mut Vec<u32>) {
        self.retain(values, positions);
    }

    fn retain_columns(&self, columns: &[&Column], positions: &mut Vec<u32>) {
        let Keys::Codes(table, _) = &self.keys else { return };
        if positions.is_empty() || !self.trial.is_on() {
            return;
        }
        thread_local! {
            static CODES: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
        }
        let tested = positions.len();
        CODES.with_borrow_mut(|codes| {
            table.encode(columns, tested, codes);
            table.table().retain(codes, positions);
        });
        self.trial.judge(tested, positions.len());
    }

    fn overlaps_strings(&self, min: &[u8], max: &[u8]) -> bool {
        match &self.keys {
            Keys::Codes(_, Some([least, most])) => &least[..] <= max && min <= &most[..],
            _ => true,
        }
    }

    fn is_active(&self) -> bool {
        self.trial.is_on()
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
            Keys::Codes(..) => true,
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
            Keys::Set(_) | Keys::Codes(..) => None,
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

/// Build rows up to which the keys that there are may be a restriction of the probe side's scan.
const RESTRICTION_ROWS_MAX: usize = 64;

/// Bytes of a string up to which a filter has a copy of it.
const STRING_BYTES_MAX: usize = 1 << 12;

/// The keys of `vector` that are not NULL, each once, where a scan decides about them faster, or
/// can skip more, than by a set: one of any type, or a few strings.
fn few_keys(vector: &Vector) -> Option<Arc<[Value]>> {
    let is_long = |text: &[u8]| text.len() > STRING_BYTES_MAX;
    let has_long = match &vector.data {
        VectorData::Str(strings) => strings.iter().take(RESTRICTION_ROWS_MAX).any(is_long),
        _ => false,
    };
    if vector.len() > RESTRICTION_ROWS_MAX || has_long {
        return None;
    }
    let mut keys: Vec<Value> = Vec::new();
    for key in (0..vector.len()).filter(|&row| !vector.is_null(row)).map(|row| vector.value(row)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    (keys.len() <= 1 || vector.physical() == PhysicalType::Str).then(|| keys.into())
}

/// Smallest and largest of the strings of `vector`; None for other types, and for long ones.
fn string_ends(vector: &Vector) -> Option<[Arc<[u8]>; 2]> {
    let VectorData::Str(strings) = &vector.data else { return None };
    let valid = || (0..vector.len()).filter(|&row| !vector.is_null(row)).map(|i| strings.get(i));
    let ends = [valid().min()?, valid().max()?];
    ends.iter().all(|end| end.len() <= STRING_BYTES_MAX).then(|| ends.map(Arc::from))
}

/// Filters for the probe side, by what was built, for kinds that drop probe rows without a match.
/// `probe_rows` is the estimate: a set that costs more than it can save is not made. A semi-join's
/// array of keys is an exact filter, the table by codes is early probing, everything else is LIP.
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
    let made = Made { table, probe_rows, switches, is_semi_join: kind == K::ProbeSemi };
    // Where NULL is a key like others, rows with NULL may match.
    let is_plain = |i: usize| table.nulls()[i] == NullCode::Miss;
    let column = |i: usize| match keys[i].probe.kind {
        ExprKind::Column(column) if is_plain(i) => Some(column),
        _ => None,
    };
    let mut filters = Vec::new();
    let mut all_decided = true;
    for i in 0..keys.len() {
        let test = column(i).and_then(|column| Some((column, made.single(i)?)));
        let Some((column, test)) = test else {
            all_decided = false;
            continue;
        };
        all_decided &= matches!(test, KeyTest::Values(_));
        filters.push(PushedFilter { column, physical: table.keys()[i].physical(), test });
    }
    let columns: Option<Vec<usize>> = (0..keys.len()).map(column).collect();
    if let Some(columns) = columns
        && columns.len() > 1
        && !all_decided
        && made.probes_early()
    {
        let filter = BuildFilter::shared(Keys::Codes(Arc::clone(table), None));
        let joint = Arc::new(Joint { columns: columns.len(), filter });
        filters.extend(columns.into_iter().enumerate().map(|(part, column)| PushedFilter {
            column,
            physical: table.keys()[part].physical(),
            test: KeyTest::Part(Arc::clone(&joint), part),
        }));
    }
    filters
}

/// A build side, and which filters may be made of it.
struct Made<'a> {
    table: &'a Arc<KeyTable>,
    probe_rows: f64,
    switches: Switches,
    is_semi_join: bool,
}

impl Made<'_> {
    /// True when testing codes in the scan may pay.
    fn probes_early(&self) -> bool {
        let rows = self.table.keys().first().map_or(0, |key| key.len());
        self.switches.has(Technique::EarlyProbing) && rows as f64 <= self.probe_rows
    }

    /// The test of key `i` by itself.
    fn single(&self, i: usize) -> Option<KeyTest> {
        let (table, vector) = (self.table, &*self.table.keys()[i]);
        if self.switches.has(Technique::BuildRestrictions)
            && let Some(values) = few_keys(vector)
        {
            return Some(KeyTest::Values(values));
        }
        let filter = match &vector.data {
            VectorData::I32(_) | VectorData::I64(_) => self.of_integers(vector)?,
            VectorData::Str(_) if table.keys().len() == 1 && self.probes_early() => {
                Keys::Codes(Arc::clone(table), string_ends(vector))
            }
            _ => return None,
        };
        Some(KeyTest::Filter(BuildFilter::shared(filter)))
    }

    fn of_integers(&self, vector: &Vector) -> Option<Keys> {
        let lip = self.switches.has(Technique::Lip);
        let exact = self.is_semi_join && self.switches.has(Technique::ExactFilters);
        let dense = matches!(self.table.table(), JoinTable::Dense(_));
        match self.table.single_min() {
            Some(min) if dense && (lip || exact) => Some(Keys::Table(Arc::clone(self.table), min)),
            _ if !lip => None,
            _ if vector.len() > SET_ROWS_MAX || vector.len() as f64 > self.probe_rows => None,
            _ => key_set(vector).map(Keys::Set),
        }
    }
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
        let at = |column| PushedFilter { column, ..pushed.clone() };
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
    use kernels::{Bitmap, VectorBuilder};
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

    fn filters_of(keys: Vec<Vector>, kind: JoinKind, switches: Switches) -> Vec<PushedFilter> {
        let pool = BufferPool::new(1 << 30);
        let (scheduler, ticket) = (Scheduler::new(2), Ticket::new(Priority(1)));
        let mut context = QueryContext::new(Arc::clone(&pool), scheduler, ticket, 1);
        context.switches = switches;
        let context = Arc::new(context);
        let mut memory = Reservation::empty(&pool, MemoryCategory::HashTables);
        let nulls = vec![NullCode::Miss; keys.len()];
        let joined: Vec<JoinKey> = (0..keys.len()).map(|i| key(3 + i, i)).collect();
        let vectors = keys.into_iter().map(Arc::new).collect();
        let table = KeyTable::build(&context, vectors, nulls, JoinMethod::Hash, &mut memory);
        of_build(kind, &joined, &Arc::new(table.expect("fits")), 1e9, switches)
    }

    fn filters_under(keys: Vec<i64>, kind: JoinKind, switches: Switches) -> Vec<PushedFilter> {
        filters_of(vec![Vector::new(VectorData::I64(keys))], kind, switches)
    }

    fn filter_of(pushed: &PushedFilter) -> &Arc<dyn KeyFilter> {
        match &pushed.test {
            KeyTest::Filter(filter) => filter,
            KeyTest::Part(joint, _) => &joint.filter,
            KeyTest::Values(values) => panic!("{values:?} are no filter"),
        }
    }

    fn strings(texts: impl Iterator<Item = String>) -> Vector {
        let mut builder = VectorBuilder::new(PhysicalType::Str);
        texts.for_each(|text| builder.push_value(&Value::Str(text.as_bytes().into())));
        builder.finish()
    }

    #[test]
    fn filters_pass_every_key_and_few_others() {
        for step in [3i64, 1_000_000_007] {
            let keys: Vec<i64> = (0..5000).map(|i| (i - 700) * step).collect();
            let made = filters(keys.clone(), JoinKind::Inner);
            assert!(made.len() == 1 && made[0].column == 3);
            let values: Vec<i64> = (-3000..21_000).map(|i| i * step / 3).collect();
            let mut positions: Vec<u32> = (0..values.len() as u32).collect();
            let filter = filter_of(&made[0]);
            filter.retain_i64(&values, &mut positions);
            let wanted = |p: &u32| keys.binary_search(&values[*p as usize]).is_ok();
            let hits = positions.iter().filter(|p| wanted(p)).count();
            assert_eq!(hits, keys.iter().filter(|k| values.contains(k)).count());
            assert!(positions.len() < hits + values.len() / 20, "{} pass", positions.len());
            assert!(filter.overlaps(0, 0) && !filter.overlaps(i64::MIN, -800 * step));
            assert!(!filter.overlaps(5000 * step, i64::MAX));
        }
        assert!(filters(vec![1, 2], JoinKind::ProbeOuter).is_empty());
        assert!(filters(vec![1, 2], JoinKind::ProbeAnti).is_empty());
    }

    #[test]
    fn strings_and_several_keys_are_tested_by_codes() {
        let early = Switches::NONE.with(Technique::EarlyProbing);
        let text = |i: i64| format!("key number {i}");
        let made = filters_of(vec![strings((0..3000).map(text))], JoinKind::Inner, early);
        assert!(made.len() == 1 && made[0].physical == PhysicalType::Str);
        let probe: Column = Column::plain(strings((1000..9000).map(text)));
        let mut kept: Vec<u32> = (0..8000).collect();
        filter_of(&made[0]).retain_columns(&[&probe], &mut kept);
        assert!(kept.iter().take(2000).copied().eq(0..2000), "those that are there");
        assert!(kept.len() < 2000 + 6000 / 20, "{} pass", kept.len());
        let overlaps = |min: &str, max: &str| {
            filter_of(&made[0]).overlaps_strings(min.as_bytes(), max.as_bytes())
        };
        assert!(overlaps("a", "z") && overlaps("key number 5", "key number 5"));
        assert!(!overlaps("a", "b") && !overlaps("key number A", "z"));

        let pairs = |range: std::ops::Range<i64>| {
            let first = VectorData::I64(range.clone().map(|i| i % 100).collect());
            vec![Vector::new(first), strings(range.map(|i| text(i / 100)))]
        };
        let made = filters_of(pairs(0..3000), JoinKind::ProbeSemi, early);
        let columns: Vec<usize> = made.iter().map(|pushed| pushed.column).collect();
        assert_eq!(columns, [3, 4], "a part for each key, none by itself");
        let restrictions = |made: Vec<PushedFilter>| {
            let physical = |at: usize| [PhysicalType::I32, PhysicalType::Str][at - 3];
            crate::pushed::restrictions(made, &[0, 1, 2, 70, 80], physical)
        };
        assert!(restrictions(made[..1].to_vec()).is_empty(), "a part alone says nothing");
        let whole = restrictions(made.clone());
        assert!(matches!(&whole[..], [one] if one.column == 70), "{whole:?}");
        let probe: Vec<Column> = pairs(2000..8000).into_iter().map(Column::plain).collect();
        let mut kept: Vec<u32> = (0..6000).collect();
        filter_of(&made[1]).retain_columns(&probe.iter().collect::<Vec<_>>(), &mut kept);
        assert!(kept.iter().take(1000).copied().eq(0..1000) && kept.len() < 1000 + 5000 / 20);
        assert!(filters_of(pairs(0..3000), JoinKind::ProbeAnti, early).is_empty());
        assert!(filters_of(pairs(0..3000), JoinKind::Inner, Switches::NONE).is_empty());
    }

    #[test]
    fn few_keys_are_restrictions() {
        let few = Switches::NONE.with(Technique::BuildRestrictions);
        let values_of = |made: &[PushedFilter]| -> Vec<Vec<Value>> {
            let values = |pushed: &PushedFilter| match &pushed.test {
                KeyTest::Values(values) => values.to_vec(),
                _ => panic!("these are few"),
            };
            made.iter().map(values).collect()
        };
        let made = filters_under(vec![7, 7, 7], JoinKind::Inner, few);
        assert_eq!(values_of(&made), [[Value::I64(7)]]);
        assert!(filters_under(vec![7, 8], JoinKind::Inner, few).is_empty());
        assert!(filters_under(vec![7], JoinKind::ProbeOuter, few).is_empty());
        let text = |i: i64| Value::Str(i.to_string().as_bytes().into());
        let two = strings([1, 2, 1].iter().map(|i: &i64| i.to_string()));
        let made = filters_of(vec![two], JoinKind::Inner, few);
        assert_eq!(values_of(&made), [[text(1), text(2)]]);
        // Both keys have one value: nothing is left for a filter over both.
        let all = Switches::default();
        let one = || Vector::new(VectorData::F64(vec![0.5, 0.5]));
        let made = filters_of(
            vec![one(), strings(["x".into(), "x".into()].into_iter())],
            JoinKind::Inner,
            all,
        );
        assert_eq!(values_of(&made).len(), 2);
        let made =
            filters_of(vec![one(), Vector::new(VectorData::I64(vec![1, 2]))], JoinKind::Inner, all);
        assert_eq!(made.len(), 4, "a value, a set, and a filter over both");
        // A key that is NULL everywhere meets nobody.
        let null =
            Vector::with_validity(VectorData::I32(vec![0; 3]), Some(Bitmap::filled(3, false)));
        let made = filters_of(vec![null], JoinKind::Inner, few);
        assert_eq!(values_of(&made), [[]]);
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
        let filter = filter_of(&made[0]);
        filter.retain_i64(&values, &mut positions);
        assert_eq!(positions.len(), 50_000);
        // Off from here on: even keys that are not in the set pass.
        let mut positions = vec![0];
        filter.retain_i64(&[-1], &mut positions);
        assert_eq!(positions, [0]);
    }

    #[test]
    fn filters_from_above_reach_both_sides_of_an_inner_join() {
        let from_above = |columns: &[usize]| {
            let filter = filters(vec![1, 2], JoinKind::Inner)[0].clone();
            let pushed = |&column| PushedFilter { column, ..filter.clone() };
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
