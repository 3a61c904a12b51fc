//! What joins cost, in units of one row passing through a pipeline.

use sql::algebra::JoinKind;

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

/// Whether a direct array over `slots` possible keys is worth it for `build` rows of a table that
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

/// Scanning a table of `rows` rows.
pub(crate) fn scan(rows: f64) -> f64 {
    rows * SCAN_ROW
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
