//! Chunks hold what was written, files what partitions got, and memory stays free.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use host::{Io, SimIo, Tear};
use kernels::{Batch, Bitmap, Column, StrVector, Vector, VectorData};
use plan::physical::OperatorId;
use proptest::collection::vec;
use proptest::prelude::*;
use sched::{Priority, Scheduler, Ticket};
use storage::BufferPool;
use testkit::values;
use types::{Interval, SqlState};

use super::*;
use crate::context::{QueryContext, SpillSpace};

/// All types, NULLs at random, and a column in each form.
fn batches() -> impl Strategy<Value = Batch> {
    let strings = vec(vec(any::<u8>(), 0..40), 1..150);
    (strings, any::<u64>(), any::<bool>())
        .prop_flat_map(|(strings, bits, nulls)| {
            let rows = strings.len();
            let integers = vec(values::<i64>(), rows);
            (integers, vec(any::<f64>(), rows), Just((strings, bits, nulls)))
        })
        .prop_map(|(integers, floats, (strings, bits, nulls))| {
            let rows = strings.len();
            let wide = integers.iter().map(|&v| i128::from(v) << 40);
            let interval = |&v: &i64| Interval { months: v as i32, days: -(v as i32), micros: v };
            let strings: StrVector = strings.iter().map(Vec::as_slice).collect();
            let data = [
                VectorData::Bool(integers.iter().map(|v| (v & 1) as u8).collect()),
                VectorData::I32(integers.iter().map(|&v| v as i32).collect()),
                VectorData::I128(wide.collect()),
                VectorData::Interval(integers.iter().map(interval).collect()),
                VectorData::I64(integers),
                VectorData::F64(floats),
                VectorData::Str(strings),
            ];
            let validity = nulls.then(|| Bitmap::from_fn(rows, |i| bits >> (i % 64) & 1 == 1));
            let column = |d| Column::plain(Vector::with_validity(d, validity.clone()));
            let mut columns: Vec<Column> = data.into_iter().map(column).collect();
            let codes = (0..rows as u32).rev().collect();
            columns.push(Column::Dictionary(Arc::new(codes), columns[6].to_plain()));
            columns.push(Column::Constant(columns[4].to_plain(), rows));
            Batch::new(columns, rows)
        })
}

fn rows(batch: &Batch) -> Vec<String> {
    let row = |i| batch.columns.iter().map(|c| format!("{:?};", c.value(i))).collect();
    (0..batch.rows).map(row).collect()
}

proptest! {
    #[test]
    fn chunks_hold_what_was_written(batch in batches(), damage in any::<usize>()) {
        let mut bytes = Vec::new();
        chunk::encode(&batch, &mut bytes);
        let read = chunk::decode(&bytes).expect("what was written");
        prop_assert_eq!(rows(&read), rows(&batch));
        let damaged = damage % bytes.len();
        bytes[damaged] ^= 1;
        prop_assert!(chunk::decode(&bytes).is_err());
        bytes.truncate(damaged);
        prop_assert!(chunk::decode(&bytes).is_err());
    }

    #[test]
    fn every_row_is_in_its_partition(batch in batches(), level in 0u32..5) {
        let context = context(Arc::new(SimIo::new(1, Tear::Bytes)));
        let file = SpillFile::new(&context, OperatorId(0)).expect("a file");
        let mut partitions = Partitions::new(file, 1 << PARTITION_BITS);
        let mut hashes = Vec::new();
        kernels::hash::hash_columns(&[&batch.columns[4]], batch.rows, &mut hashes);
        let places = split(&hashes, level, PARTITION_BITS);
        for _ in 0..3 {
            partitions.append(&batch, &places).expect("room");
        }
        let written = partitions.finish().expect("room");
        for (partition, rows_of) in places.iter().enumerate() {
            let mut read = Vec::new();
            written.for_each(partition, |batch| {
                read.extend(rows(&batch));
                Ok(())
            }).expect("readable");
            let once = rows(&batch.gather(rows_of));
            let mut expected = [once.clone(), once.clone(), once].concat();
            read.sort();
            expected.sort();
            prop_assert_eq!(read, expected);
            prop_assert_eq!(written.rows(partition), 3 * rows_of.len() as u64);
        }
        prop_assert!(context.counters(OperatorId(0)).spilled_bytes.load(Ordering::Relaxed) > 0);
    }
}

fn context(io: Arc<SimIo>) -> Arc<QueryContext> {
    let pool = BufferPool::new(64 << 20);
    let mut context =
        QueryContext::new(pool, Scheduler::new(1), Ticket::new(Priority::default()), 1);
    let directory = PathBuf::from("/temporary");
    context.spill = Some(SpillSpace { io, directory, work_bytes: None });
    Arc::new(context)
}

fn numbers() -> Batch {
    Batch::new(vec![VectorData::I64((0..1000).collect()).into()], 1000)
}

#[test]
fn files_have_no_names() {
    let io = Arc::new(SimIo::new(1, Tear::Bytes));
    let context = context(Arc::clone(&io));
    let file = SpillFile::new(&context, OperatorId(0)).expect("a file");
    let mut list = ChunkList::default();
    file.write(&numbers(), &mut list).expect("room");
    assert_eq!(io.list(&PathBuf::from("/temporary")).expect("a directory"), Vec::<String>::new());
    assert_eq!(file.read(&list, 0).expect("readable").rows, 1000);
}

#[test]
fn a_cancel_and_a_full_disk_end_writing() {
    let io = Arc::new(SimIo::new(1, Tear::Bytes));
    let context = context(Arc::clone(&io));
    let file = SpillFile::new(&context, OperatorId(0)).expect("a file");
    let mut list = ChunkList::default();
    io.set_capacity(Some(100));
    let error = file.write(&numbers(), &mut list).expect_err("a full disk");
    assert_eq!(error.state(), SqlState::DISK_FULL);
    context.cancel.store(true, Ordering::Relaxed);
    let error = file.write(&numbers(), &mut list).expect_err("a cancel");
    assert_eq!(error.state(), SqlState::QUERY_CANCELED);
    assert_eq!((list.len(), list.rows()), (0, 0));
}
