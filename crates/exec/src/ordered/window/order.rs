//! Rows in the order of a window: partitions and peers.

use std::ops::Range;
use std::sync::Arc;

use kernels::keys::{SortDirection, SortField, SortKeys, SortNulls};
use kernels::sort_rows::{self, entries, sort, sort_by};
use kernels::{Column, Vector};
use plan::physical::{Expr, SortKey};
use sql::algebra::Direction;
use types::{DataType, Result};

use crate::aggregate::{Inputs, sort_field};
use crate::context::QueryContext;
use crate::opener::Opener;

/// PARTITION BY and ORDER BY, as input numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OrderSpec {
    partition: Vec<(usize, SortField)>,
    order: Vec<(usize, SortField)>,
    /// Type and direction of the first ORDER BY key, for RANGE with offsets.
    range_key: Option<(DataType, Direction)>,
}

impl OrderSpec {
    pub(super) fn new(
        opener: &Opener,
        inputs: &mut Inputs,
        partition_by: &[Expr],
        order_by: &[SortKey],
    ) -> Result<Self> {
        let mut partition = Vec::new();
        for expr in partition_by {
            let (direction, nulls) = (SortDirection::Ascending, SortNulls::Last);
            let field = SortField { physical: expr.physical, direction, nulls };
            partition.push((inputs.add(opener, expr)?, field));
        }
        let mut order = Vec::new();
        for key in order_by {
            order.push((inputs.add(opener, &key.expr)?, sort_field(key)));
        }
        let range_key = order_by.first().map(|k| (k.expr.ty, k.direction));
        Ok(Self { partition, order, range_key })
    }
}

impl OrderSpec {
    /// True unless all rows are one partition without an order.
    pub(super) fn sorts(&self) -> bool {
        !self.partition.is_empty() || !self.order.is_empty()
    }
}

/// All rows in the order of one window.
pub(super) struct Ordered {
    /// Row numbers in order.
    rows: Vec<u32>,
    /// Where partitions start, and the end.
    partitions: Vec<u32>,
    /// 1 where a row differs from the one before in an ORDER BY key, or starts a partition.
    differs: Vec<u8>,
    range_key: Option<(usize, DataType, Direction)>,
}

/// The keys of `fields` for all rows.
fn sort_keys(fields: &[(usize, SortField)], values: &[Column]) -> SortKeys {
    let mut keys = SortKeys::new(fields.iter().map(|f| f.1).collect());
    let vectors: Vec<_> = fields.iter().map(|f| values[f.0].to_vector()).collect();
    keys.append(&vectors.iter().map(|v| &**v).collect::<Vec<&Vector>>());
    keys
}

impl Ordered {
    /// Sorts `count` rows whose inputs are `values`.
    pub(super) fn new(
        context: &Arc<QueryContext>,
        spec: &OrderSpec,
        values: &[Column],
        count: usize,
    ) -> Result<Self> {
        let all: Vec<_> = spec.partition.iter().chain(&spec.order).copied().collect();
        let mut rows: Vec<u32> = (0..count as u32).collect();
        let mut differs = vec![0u8; count];
        let mut partitions = Vec::new();
        if !all.is_empty() && count > 0 {
            let keys = Arc::new(sort_keys(&all, values));
            rows = permutation(context, &keys)?;
            for i in 1..count {
                if i.is_multiple_of(SORT_ROWS) {
                    context.check()?;
                }
                let (a, b) = (rows[i - 1] as usize, rows[i] as usize);
                differs[i] = u8::from(keys.get(a) != keys.get(b));
            }
        }
        if !spec.partition.is_empty() && count > 0 {
            let keys = sort_keys(&spec.partition, values);
            for i in 1..count {
                if i.is_multiple_of(SORT_ROWS) {
                    context.check()?;
                }
                if differs[i] != 0 && keys.get(rows[i - 1] as usize) != keys.get(rows[i] as usize) {
                    partitions.push(i as u32);
                }
            }
        }
        if count > 0 {
            partitions.insert(0, 0);
            differs[0] = 1;
        }
        partitions.push(count as u32);
        let key = spec.order.first().map(|(number, _)| *number);
        let range_key = key.zip(spec.range_key).map(|(n, (ty, direction))| (n, ty, direction));
        Ok(Self { rows, partitions, differs, range_key })
    }

    /// Row numbers in order.
    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Ranges of whole partitions of about `rows` rows.
    pub(super) fn parts(&self, rows: usize) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = 0;
        for (i, &end) in self.partitions.iter().enumerate().skip(1) {
            if (end - self.partitions[start]) as usize >= rows || i + 1 == self.partitions.len() {
                parts.push(start..i);
                start = i;
            }
        }
        parts
    }

    /// The place of each input row in the order.
    pub(super) fn inverse(&self) -> Vec<u32> {
        let mut inverse = vec![0; self.rows.len()];
        for (place, &row) in self.rows.iter().enumerate() {
            inverse[row as usize] = place as u32;
        }
        inverse
    }

    /// The partitions `range`, with their inputs.
    pub(super) fn part(&self, range: Range<usize>, values: &[Column]) -> Part {
        let start = self.partitions[range.start];
        let end = self.partitions[range.end];
        let rows = &self.rows[start as usize..end as usize];
        let bounds = &self.partitions[range.start..=range.end];
        Part {
            rows: rows.len(),
            partitions: bounds.iter().map(|p| (p - start) as usize).collect(),
            differs: self.differs[start as usize..end as usize].to_vec(),
            values: values.iter().map(|v| v.gather(rows)).collect(),
            range_key: self.range_key,
        }
    }
}

/// Some partitions, in order.
pub(super) struct Part {
    /// Rows.
    pub(super) rows: usize,
    /// Where partitions start, and the end.
    pub(super) partitions: Vec<usize>,
    /// 1 where a row is no peer of the one before.
    pub(super) differs: Vec<u8>,
    /// The inputs, in order.
    pub(super) values: Vec<Column>,
    /// The first ORDER BY key: its input number, type, direction.
    pub(super) range_key: Option<(usize, DataType, Direction)>,
}

impl Part {
    /// The partitions.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.partitions.windows(2).map(|w| w[0]..w[1])
    }

    /// Where the peer groups of a partition start.
    pub(super) fn peers(&self, partition: &Range<usize>) -> Vec<usize> {
        partition.clone().filter(|&i| i == partition.start || self.differs[i] != 0).collect()
    }
}

/// Rows per part of a parallel sort.
const SORT_ROWS: usize = 1 << 16;

/// The rows in the order of `keys`; equal ones as they were.
fn permutation(context: &Arc<QueryContext>, keys: &Arc<SortKeys>) -> Result<Vec<u32>> {
    let all = Arc::new(entries(keys));
    let count = all.len().div_ceil(SORT_ROWS);
    let (shared, source) = (Arc::clone(keys), Arc::clone(&all));
    let mut runs = super::super::parallel::compute_all(context, count, move |i| {
        let end = ((i + 1) * SORT_ROWS).min(source.len());
        let mut run = source[i * SORT_ROWS..end].to_vec();
        sort(&shared, &mut run);
        Ok(run)
    })?;
    // Neighbours are merged in rounds: sorting finds the two sorted halves.
    while runs.len() > 1 {
        let odd = (runs.len() % 2 == 1).then(|| runs.pop()).flatten();
        let pairs: Vec<_> = runs
            .chunks_mut(2)
            .map(|pair| {
                let second = std::mem::take(&mut pair[1]);
                parking_lot::Mutex::new((std::mem::take(&mut pair[0]), second))
            })
            .collect();
        let (shared, pairs) = (Arc::clone(keys), Arc::new(pairs));
        runs = super::super::parallel::compute_all(context, pairs.len(), move |i| {
            let (mut first, second) = std::mem::take(&mut *pairs[i].lock());
            first.extend(second);
            sort_by(&mut first, |a, b| sort_rows::order(&shared, a, b))?;
            Ok(first)
        })?;
        runs.extend(odd);
    }
    Ok(runs.pop().unwrap_or_default().into_iter().map(|e| e.row).collect())
}
