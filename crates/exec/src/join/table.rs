//! Finds rows of the build side by their keys.

use std::ops::Range;
use std::sync::Arc;

use kernels::join_table::unchained::EntryKey;
use kernels::join_table::verify::keep_equal;
use kernels::join_table::{
    Candidates, DenseTable, HashBuilder, HashPlan, HashTable, JoinTable, KeyCoder, NullCode, Pairs,
};
use kernels::{Column, Vector};
use parking_lot::Mutex;
use plan::Technique;
use plan::physical::JoinMethod;
use storage::Reservation;
use types::{Error, Result};

use crate::context::QueryContext;

use super::parallel::compute_all;

/// Rows per part of a parallel build: their codes (512 KB) stay in the cache.
const PART_ROWS: usize = 1 << 16;
/// A dense table takes 2 bits per possible key, a hash table 128 to 200 bits per row.
const DENSE_PER_ROW: u64 = 64;
/// As [`DENSE_PER_ROW`] when statistics made the planner ask for it.
const DENSE_PER_ROW_ASKED: u64 = 256;
/// Up to this range a dense table stays in the cache (512 KB), however few the rows.
const DENSE_ALWAYS: u64 = 1 << 21;

/// An index over the key columns of stored rows.
pub(crate) struct KeyTable {
    coder: KeyCoder,
    table: JoinTable,
    keys: Vec<Arc<Vector>>,
    nulls: Vec<NullCode>,
}

impl KeyTable {
    /// The table over `keys`, built by the workers; its memory is in `memory` then.
    ///
    /// # Errors
    /// 53200 when it does not fit in memory; 57014 after a cancel.
    pub(crate) fn build(
        context: &Arc<QueryContext>,
        keys: Vec<Arc<Vector>>,
        nulls: Vec<NullCode>,
        method: JoinMethod,
        memory: &mut Reservation,
    ) -> Result<Self> {
        Self::build_by((context, Some(context)), keys, nulls, method, memory)
    }

    /// As [`Self::build`], on the calling thread.
    ///
    /// # Errors
    /// 53200 when it does not fit in memory.
    pub(crate) fn build_alone(
        context: &QueryContext,
        keys: Vec<Arc<Vector>>,
        nulls: Vec<NullCode>,
        memory: &mut Reservation,
    ) -> Result<Self> {
        Self::build_by((context, None), keys, nulls, JoinMethod::Hash, memory)
    }

    /// Built by the workers of a query, or on the calling thread when there are none.
    fn build_by(
        (context, workers): (&QueryContext, Option<&Arc<QueryContext>>),
        keys: Vec<Arc<Vector>>,
        nulls: Vec<NullCode>,
        method: JoinMethod,
        memory: &mut Reservation,
    ) -> Result<Self> {
        let rows = keys.first().map_or(0, |key| key.len());
        let coder = {
            let vectors: Vec<&Vector> = keys.iter().map(|key| &**key).collect();
            KeyCoder::new(&vectors, &nulls)
        };
        let input = Arc::new(Input { coder, keys });
        let per_row = match method {
            JoinMethod::Dense { .. } => DENSE_PER_ROW_ASKED,
            JoinMethod::Hash => DENSE_PER_ROW,
        };
        let allowed = context.has(Technique::DenseJoins);
        let dense = |range: u64| {
            allowed && range <= (rows as u64).saturating_mul(per_row).max(DENSE_ALWAYS)
        };
        let codes_bytes = rows as u64 * 8;
        let table = match input.coder.range() {
            Some(range) if dense(range) => {
                memory.resize(DenseTable::bytes_needed(range, rows) + codes_bytes)?;
                let codes = input.codes(0..rows);
                JoinTable::Dense(DenseTable::build(&codes, range))
            }
            Some(range) if range <= 1 << 32 => {
                memory.resize(HashPlan::new(rows).bytes_needed::<u32>(rows))?;
                JoinTable::Narrow(hash_table(workers, &input, rows)?)
            }
            _ => {
                memory.resize(HashPlan::new(rows).bytes_needed::<u64>(rows))?;
                JoinTable::Wide(hash_table(workers, &input, rows)?)
            }
        };
        memory.resize(table.bytes() as u64)?;
        Ok(Self { coder: input.coder.clone(), table, keys: input.keys.clone(), nulls })
    }

    /// True when equal codes mean equal keys, so that pairs need no [`Self::verify`].
    pub(crate) fn is_exact(&self) -> bool {
        self.coder.is_exact()
    }

    /// The memory structure.
    pub(crate) fn table(&self) -> &JoinTable {
        &self.table
    }

    /// The stored key columns.
    pub(crate) fn keys(&self) -> &[Arc<Vector>] {
        &self.keys
    }

    /// How NULLs count, per key.
    pub(crate) fn nulls(&self) -> &[NullCode] {
        &self.nulls
    }

    /// Smallest key of a single integer key that is coded by its distance from it.
    pub(super) fn single_min(&self) -> Option<i64> {
        let min = self.coder.single_min()?;
        let plain = self.nulls == [NullCode::Miss];
        i64::try_from(min).ok().filter(|_| plain)
    }

    /// Replaces `codes` by those of `rows` probe rows with these key columns.
    pub(crate) fn encode(&self, columns: &[&Column], rows: usize, codes: &mut Vec<u64>) {
        self.coder.encode(columns, rows, codes);
    }

    /// Keeps the pairs whose keys are equal, where codes do not say so.
    pub(crate) fn verify(&self, columns: &[&Column], pairs: &mut Pairs) {
        if self.is_exact() {
            return;
        }
        for ((column, key), &nulls) in columns.iter().zip(&self.keys).zip(&self.nulls) {
            keep_equal(column, key, nulls, pairs);
        }
    }

    /// Replaces `pairs` by one pair, with the smallest build row, for each probe row that has a
    /// match.
    pub(crate) fn first_of(
        &self,
        columns: &[&Column],
        codes: &[u64],
        candidates: &mut Candidates,
        pairs: &mut Pairs,
    ) {
        self.table.first(codes, candidates, pairs);
        if self.is_exact() {
            return;
        }
        let found = pairs.clone();
        self.verify(columns, pairs);
        if pairs.len() == found.len() || self.table.is_unique() {
            return;
        }
        // Two keys of one hash: the first row may be of the other key, so all are looked at.
        self.table.locate(codes, candidates);
        pairs.clear();
        self.table.expand(codes, candidates, usize::MAX, pairs);
        self.verify(columns, pairs);
        let mut last = None;
        let mut firsts = Vec::new();
        for (i, &probe) in pairs.probe.iter().enumerate() {
            if last != Some(probe) {
                firsts.push(i as u32);
                last = Some(probe);
            }
        }
        pairs.keep(&firsts);
    }
}

/// Keys that codes are made of.
struct Input {
    coder: KeyCoder,
    keys: Vec<Arc<Vector>>,
}

impl Input {
    fn codes(&self, rows: Range<usize>) -> Vec<u64> {
        let vectors: Vec<&Vector> = self.keys.iter().map(|key| &**key).collect();
        let mut codes = Vec::new();
        self.coder.encode_vectors(&vectors, rows, &mut codes);
        codes
    }
}

/// A hash table over `rows` rows: parts of the rows are sorted by partition, then partitions are
/// built; by the workers of a query, or on the calling thread.
fn hash_table<K: EntryKey>(
    workers: Option<&Arc<QueryContext>>,
    input: &Arc<Input>,
    rows: usize,
) -> Result<HashTable<K>> {
    let Some(context) = workers.filter(|_| rows > PART_ROWS) else {
        return Ok(HashTable::from_codes(&input.codes(0..rows)));
    };
    let plan = HashPlan::new(rows);
    let input = Arc::clone(input);
    let parts = compute_all(context, rows.div_ceil(PART_ROWS), move |part| {
        let start = part * PART_ROWS;
        let codes = input.codes(start..(start + PART_ROWS).min(rows));
        plan.partition::<K>(&codes, start as u32)
    })?;
    let shared = Arc::new(Mutex::new(Some(Arc::new(HashBuilder::new(plan, parts)))));
    let lent = Arc::clone(&shared);
    compute_all(context, plan.partitions(), move |partition| {
        // Given back when the part ends: below, nobody else has the builder.
        let builder = lent.lock().clone();
        if let Some(builder) = builder {
            builder.build(partition);
        }
    })?;
    let builder = shared.lock().take().and_then(Arc::into_inner);
    let builder = builder.ok_or_else(|| Error::internal("a hash table is still being built"))?;
    Ok(builder.finish())
}
