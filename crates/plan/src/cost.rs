//! Costs of joins and groups, in units of one row passing through a pipeline.

use sql::algebra::{ColumnId, Expr, JoinKind};

use crate::physical::LookUps;
use crate::properties::Properties;
use crate::{cardinality, tree};

/// Bytes of one row in a hash table, roughly.
const ROW_BYTES: f64 = 24.0;

/// How much slower a random access is when the table is as large as this.
fn miss_factor(rows: f64) -> f64 {
    match rows * ROW_BYTES {
        bytes if bytes < 1e6 => 1.0,
        bytes if bytes < 3e7 => 1.7,
        _ => 2.6,
    }
}

/// Possible keys per row up to which a direct array is no larger than a hash table: it takes 2 bits
/// a key, the other at least 128 a row.
const DENSE_PER_ROW: f64 = 64.0;

/// True when a direct array over `slots` possible keys is worth it for `build` rows of a table that
/// had `base_rows`.
pub(crate) fn is_dense(slots: f64, build: f64, base_rows: f64) -> bool {
    let by_base = (8.0 * base_rows).min(f64::from(1 << 18));
    slots <= 1024f64.max(DENSE_PER_ROW * build).max(by_base)
}

/// Building a table of `build` rows, whose columns are copied, and probing it with `probe` rows,
/// of which those without a match are mostly dropped by their scan.
pub(crate) fn hash_join(build: f64, probe: f64, dense: bool) -> f64 {
    let (per_build, per_probe) = if dense { (2.0, 0.5) } else { (4.0, 1.0) };
    (build * per_build + probe * per_probe) * miss_factor(build)
}

/// Starting one more pipeline with its breaker: some 20 microseconds.
pub(crate) const START: f64 = 10_000.0;

/// Grouping a row when there are few groups, in an array over the range of a key, in a hash table.
const GROUP_FEW: f64 = 0.8;
const GROUP_DENSE: f64 = 0.8;
const GROUP_HASH: f64 = 2.0;
/// Groups whose table and states stay in the first-level cache.
const FEW_GROUPS: f64 = 1024.0;
/// Updating the state of one aggregate.
const UPDATE: f64 = 0.3;
/// Bringing one more key to its group.
const KEY: f64 = 0.5;

/// Grouping the rows of `input` by `keys` with so many aggregates.
pub(crate) fn group(input: &Properties, keys: &[(ColumnId, Expr)], calls: usize) -> f64 {
    let groups = cardinality::group_count(keys, input);
    let table = match keys {
        [] => GroupTable::None,
        [(_, key)] if is_dense_key(input, key) => GroupTable::Dense,
        _ => GroupTable::Hash,
    };
    grouped(input.rows, groups, Grouping { table, keys: keys.len(), calls })
}

/// How groups are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupTable {
    /// There is one.
    None,
    /// In an array.
    Dense,
    /// A table by hash.
    Hash,
}

/// Form of a grouping.
#[derive(Clone, Copy)]
pub(crate) struct Grouping {
    pub(crate) table: GroupTable,
    /// Number of the keys.
    pub(crate) keys: usize,
    /// Number of the aggregates.
    pub(crate) calls: usize,
}

/// Grouping `rows` rows into `groups`.
pub(crate) fn grouped(rows: f64, groups: f64, Grouping { table, keys, calls }: Grouping) -> f64 {
    let row = match table {
        GroupTable::None => 0.0,
        _ if groups <= FEW_GROUPS => GROUP_FEW,
        GroupTable::Dense => GROUP_DENSE * miss_factor(groups / 2.0),
        GroupTable::Hash => GROUP_HASH * miss_factor(groups * 2.0),
    };
    let updates = UPDATE * calls.max(1) as f64;
    rows * (row + updates + KEY * keys.saturating_sub(1) as f64)
}

/// True when groups of `key` are in an array.
fn is_dense_key(input: &Properties, key: &Expr) -> bool {
    let column = tree::as_column(key).and_then(|id| input.column(id));
    let range = column.and_then(|column| column.range);
    range.is_some_and(|range| range.width() as f64 <= 4.0 * input.rows)
}

/// Descending an index once.
const LOOKUP: f64 = 150.0;

/// Fetching one row by TID and putting its values into columns: a few cache misses.
const FETCH: f64 = 50.0;

/// Looking at one row in a scan that restricts on stored values.
const SCAN_ROW: f64 = 0.25;

/// `lookups` descents that find `rows` rows in all.
pub(crate) fn index(lookups: f64, rows: f64) -> f64 {
    lookups * LOOKUP + rows * FETCH
}

impl LookUps {
    /// Cost of the look-ups, in units of one row passing through a pipeline.
    pub fn cost(&self) -> u64 {
        index(self.count as f64, self.rows as f64) as u64
    }
}

/// Entries of an index that are read at the cost of scanning a table of `rows` rows, with as much
/// again for what estimates do not see: counting them in vain is cheap beside either.
pub(crate) fn entries_max(rows: f64) -> u64 {
    (2.0 * scan(rows) / FETCH).max(32.0) as u64
}

/// Share of a table's rows that a condition on elements is taken to leave where nothing is known:
/// what PostgreSQL takes.
pub(crate) const ELEMENT_SHARE: f64 = 0.005;

/// Rows that elements of an inverted index may lead to before a table of `rows` rows is scanned
/// instead: the tests that such an index answers cost many times what reading a row costs.
pub(crate) fn candidates_max(rows: f64) -> u64 {
    (rows / 4.0).max(32.0) as u64
}

/// Entries of an index that are read and tested for the first rows in its order before a table of
/// `rows` rows is sorted instead: in vain they cost as much as its scan.
pub(crate) fn walked_max(rows: f64) -> u64 {
    (scan(rows) / FETCH).max(32.0) as u64
}

/// Scanning a table of `rows` rows.
pub(crate) fn scan(rows: f64) -> f64 {
    rows * SCAN_ROW
}

/// How many times the cost of a hash join's build side is spent on look-ups before it takes their
/// place: an estimate that is wrong by less changes nothing, and one that is wrong by far costs
/// this many build sides at most.
const PATIENCE: f64 = 2.0;

/// Cost of look-ups with which an index join into a table of `rows` rows, of which `build` pass its
/// restrictions, goes over to a hash join.
pub(crate) fn patience(rows: f64, build: f64) -> u64 {
    (PATIENCE * (START + scan(rows) + hash_join(build, 0.0, false))) as u64
}

/// Every probe row meets every build row.
pub(crate) fn nested_loops(build: f64, probe: f64) -> f64 {
    build + probe + build * probe * 0.3
}

/// How much more a join costs that keeps rows of its build side.
pub(crate) fn swap_factor(kind: JoinKind) -> f64 {
    match kind {
        JoinKind::Inner => 1.0,
        _ => 1.3,
    }
}
