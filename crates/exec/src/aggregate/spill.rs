//! Rows of groups that have no room in memory.
//!
//! ```text
//! inputs of a row [| sequence] --hash of the keys as bytes--> partition on disk
//! partition: merged runs of all workers + its rows from disk -> groups
//! ```
//! The hash is that of keys of bytes, which all groups have once rows are on disk, so that the
//! partitions of rows are those of runs.

use std::sync::Arc;

use kernels::group_table::RowBytes;
use kernels::{Batch, Column, Vector, VectorData};
use storage::Reservation;
use types::Result;

use super::keys::{KeyTable, KeyView, encode_rows};
use super::local::Groups;
use super::sink::{AggregateSink, Local, SetPlan};
use super::states::States;
use crate::spill::{Partitions, SpillFile, Written};

/// Result of an attempt to spill more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// Some more rows go to disk from now on.
    Now,
    /// Nothing more can: all sets that can spill do so already.
    Before,
}

/// Sends all further rows of sets with tables to disk.
///
/// # Errors
/// As [`SpillFile::new`].
pub(super) fn begin(sink: &AggregateSink, local: &mut Local) -> Result<Begun> {
    let mut begun = Begun::Before;
    let parts = local.sets.iter().zip(&mut local.spilled);
    for (set, (part, spilled)) in sink.sets.iter().zip(parts) {
        if !matches!(part.groups, Groups::Hash(_)) || spilled.is_some() {
            continue;
        }
        let file = SpillFile::new(&sink.context, sink.id)?;
        *spilled = Some(Partitions::new(file, 1 << set.spill_bits()));
        begun = Begun::Now;
    }
    Ok(begun)
}

/// Writes rows to their partitions.
///
/// # Errors
/// As [`SpillFile::write`].
pub(super) fn write(
    partitions: &mut Partitions,
    set: &SetPlan,
    (keys, values): (&[Column], &[Column]),
    sequence: &[u64],
    rows: usize,
) -> Result<()> {
    let (bytes, hashes) = key_bytes(keys, rows);
    let partition = KeyView::Bytes(&bytes, &hashes).partition(set.spill_bits());
    let mut columns = values.to_vec();
    if !sequence.is_empty() {
        let numbers = sequence.iter().map(|&number| number as i64).collect();
        columns.push(Column::plain(Vector::new(VectorData::I64(numbers))));
    }
    partitions.append(&Batch::new(columns, rows), &partition)
}

fn key_bytes(keys: &[Column], rows: usize) -> (RowBytes, Vec<u64>) {
    let (mut bytes, mut hashes) = (RowBytes::default(), Vec::new());
    encode_rows(keys, rows, &mut bytes);
    bytes.hash_rows(&mut hashes);
    (bytes, hashes)
}

/// Adds the rows of a partition that are on disk to `table` and `states`.
///
/// # Errors
/// As [`SpillFile::read`]; 53200 when the groups of the partition do not fit in memory.
pub(super) fn read(
    sink: &Arc<AggregateSink>,
    set: &SetPlan,
    (spilled, partition): (&[Written], usize),
    (table, states): (&mut KeyTable, &mut [Box<dyn States>]),
    memory: &mut Reservation,
) -> Result<()> {
    let (mut groups, mut sequence) = (Vec::new(), Vec::new());
    for written in spilled {
        written.for_each(partition, |batch| {
            let mut columns = batch.columns;
            sequence.clear();
            if sink.is_ordered()
                && let Some(numbers) = columns.pop()
            {
                let numbers = numbers.to_vector();
                sequence.extend(numbers.as_i64().iter().map(|&number| number as u64));
            }
            let keys: Vec<Column> = set.keys.iter().map(|&k| columns[k].clone()).collect();
            let (bytes, hashes) = key_bytes(&keys, batch.rows);
            table.insert(KeyView::Bytes(&bytes, &hashes), &mut groups);
            states.iter_mut().for_each(|s| s.resize(table.len()));
            sink.update(states, &columns, &groups, &sequence)?;
            let bytes = table.bytes() + states.iter().map(|s| s.bytes()).sum::<usize>();
            memory.resize(bytes as u64)
        })?;
    }
    Ok(())
}
