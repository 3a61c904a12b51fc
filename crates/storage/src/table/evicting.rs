//! Tables whose frozen blocks leave memory: who reads them again, and who need not.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use types::{CompareOp, DataType, SqlState, Value};

use super::*;
use crate::manager::Manager;
use crate::memory::Evictable;
use crate::positions::Positions;
use crate::{
    ColumnSpec, Datum, EvictedBlock, IndexColumn, IndexKind, IndexSpec, KeyBuffer, KeySource, Lru2,
    Restriction, RestrictionKind, ScanPlan, SubBlockKind, SubBlockSpec, Uniqueness, batch_of,
};

/// Bytes of a block that can be read, or are damaged.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: Vec<u8>,
    reads: AtomicU64,
    expected: AtomicU64,
    is_damaged: AtomicBool,
}

impl Kept {
    pub(super) fn new(bytes: Vec<u8>) -> Arc<Self> {
        let [reads, expected] = [0, 0].map(AtomicU64::new);
        Arc::new(Self { bytes, reads, expected, is_damaged: AtomicBool::new(false) })
    }
}

impl PayloadSource for Kept {
    fn read(&self, into: &mut [u8]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.is_damaged.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState::DATA_CORRUPTED, "damaged"));
        }
        into.copy_from_slice(&self.bytes);
        Ok(())
    }

    fn expect(&self) {
        self.expected.fetch_add(1, Ordering::Relaxed);
    }
}

/// Keys of blocks in one index.
struct Keys(Vec<Option<Vec<u8>>>);

impl KeySource for Keys {
    fn run(&self, block: u64, _: &[u8]) -> Option<Vec<u8>> {
        self.0[block as usize].clone()
    }
}

const BLOCKS: i64 = 8;
const ROWS: i64 = 20_000;

fn text_of(i: i64) -> String {
    format!("the text of row number {i}")
}

/// A table of frozen blocks of `ROWS` rows each, keys ascending, in a pool of `limit` bytes, with a
/// unique index; where each block is kept.
fn table(limit: u64) -> (Arc<Table>, Vec<Arc<Kept>>) {
    let schema = vec![ColumnSpec::new("k", DataType::BigInt), ColumnSpec::new("t", DataType::Text)];
    let pool = BufferPool::evicting(limit, Box::new(Lru2));
    let table = Table::new(TableId(1), "t", Schema::new(schema), Layout::Frozen, pool);
    let mut kept = Vec::new();
    for block in 0..BLOCKS {
        let keys = block * ROWS..(block + 1) * ROWS;
        let texts: Vec<String> = keys.clone().map(text_of).collect();
        let mut writer = table.bulk_writer();
        let vectors = vec![
            Vector::new(VectorData::I64(keys.collect())),
            Vector::new(VectorData::Str(texts.iter().map(|t| t.as_bytes()).collect())),
        ];
        writer.push(&batch_of(vectors)).expect("fits");
        writer.finish().expect("fits");
        let made = table.blocks.lock().all.last().cloned().expect("a block");
        let home = Kept::new(made.to_bytes().expect("in memory"));
        kept.push(Arc::clone(&home));
        table.set_home(made.id(), home);
    }
    (table, kept)
}

fn new_index(table: &Arc<Table>, kind: IndexKind) -> TableIndex {
    let spec = IndexSpec {
        id: IndexId(9),
        name: "i".to_owned(),
        columns: vec![IndexColumn::new(0)],
        unique: Uniqueness::Distinct,
        kind,
    };
    TableIndex::new(spec, table.schema(), table.pool()).expect("fits")
}

fn with_index(table: &Arc<Table>, kind: IndexKind) {
    table.add_index(new_index(table, kind), 2, TxnId::NONE).expect("keys are different");
}

/// The table as a database that is opened has it; row 5 of each block is deleted.
fn opened(table: &Arc<Table>, kept: &[Arc<Kept>]) -> Arc<Table> {
    let pool = BufferPool::evicting(1 << 30, Box::new(Lru2));
    let again = Table::new(TableId(1), "t", table.schema().clone(), Layout::Frozen, pool);
    for (image, home) in table.blocks_at(Snapshot::ALL).iter().zip(kept) {
        let identity = image.identity();
        let home: Arc<dyn PayloadSource> = Arc::<Kept>::clone(home);
        let evicted = EvictedBlock { identity: &identity, home };
        let mut dead = vec![0; (ROWS as usize).div_ceil(64)];
        dead[0] = 1 << 5;
        again.restore_evicted(image.id(), evicted, &dead, Timestamp(1)).expect("whole");
    }
    again.end_recovery(Timestamp(1));
    again
}

#[test]
fn a_table_that_is_opened_reads_rows_when_they_are_wanted() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        let (table, kept) = table(1 << 30);
        with_index(&table, kind);
        let images = table.blocks_at(Snapshot::ALL);
        let keys = |image: &BlockImage| {
            let kept = image.keys(&table.indexes()).expect("readable").pop();
            kept.map(|kept| kept.run)
        };
        let mut keys = Keys(images.iter().map(keys).collect());
        // The keys of one block are lost, those of another are not keys of this index.
        keys.0[6] = None;
        keys.0[7].as_mut().expect("keys").truncate(100);
        let again = opened(&table, &kept);
        again.recover_index(new_index(&again, kind), 2, &keys).expect("keys are different");
        let bloom = SubBlockKind::Bloom { bits_per_key: 20 };
        let spec = SubBlockSpec { id: IndexId(1), name: "b".to_owned(), column: 1, kind: bloom };
        again.recover_sub_blocks(spec, 2).expect("fits");
        let reads = || kept.iter().map(|home| home.reads.load(Ordering::Relaxed)).sum::<u64>();
        assert_eq!(reads(), 2, "blocks without keys");
        assert_eq!(again.live_rows() as i64, BLOCKS * (ROWS - 1));
        assert_eq!(again.indexes()[0].len(), again.live_rows());
        let (mut row, mut buffer) = (crate::RowBuffer::new(), KeyBuffer::new());
        let mut get = |key: i64| {
            let key = [Datum::I64(key)];
            let found = again.get(0, Snapshot::ALL, &key, &mut buffer, &[1], &mut row);
            found.expect("readable").map(|_| row.get(0).to_value())
        };
        assert_eq!(get(3 * ROWS + 1), Some(Value::text(&text_of(3 * ROWS + 1))));
        assert_eq!(get(4 * ROWS + 5), None);
        assert_eq!(reads(), 3, "and the block of the key");
        assert_eq!(again.sub_block_info(IndexId(1)).blocks, 3, "filters come with the rows");
        let rows = scan(&again, vec![]).expect("readable");
        let wanted = all_rows().into_iter().filter(|(key, _)| key % ROWS != 5);
        assert!(rows.into_iter().eq(wanted));
        assert_eq!(
            (reads(), again.sub_block_info(IndexId(1)).blocks),
            (BLOCKS as u64, BLOCKS as u64)
        );
    }
}

#[test]
fn rows_that_are_not_those_of_the_identity_are_damage() {
    let (pool, ints) = (BufferPool::evicting(1 << 30, Box::new(Lru2)), 0..1000);
    let block = |from: i64| {
        let vector = Vector::new(VectorData::I64(ints.clone().map(|i| from + i % 90).collect()));
        crate::freeze::freeze(1, &[&vector], 1000, &pool).expect("fits").0
    };
    let (block, other) = (block(7), block(8));
    let schema: Schema = vec![ColumnSpec::new("k", DataType::BigInt)].into();
    let table = Table::new(TableId(1), "t", schema, Layout::Frozen, Arc::clone(&pool));
    let whole = block.to_bytes().expect("in memory");
    let mut beyond = whole.clone();
    let codes = block.segment(0).data as usize;
    beyond[codes + 3] = 200;
    let cases = [other.to_bytes().expect("in memory"), beyond, whole];
    for (id, bytes) in cases.into_iter().enumerate() {
        let evicted = EvictedBlock { identity: &block.identity(), home: Kept::new(bytes) };
        table.restore_evicted(id as u64, evicted, &[], Timestamp(1)).expect("an identity");
    }
    let unreadable: Vec<_> = table.unreadable_blocks();
    let states = unreadable.iter().map(|(id, error)| (*id, error.state()));
    let damaged = SqlState::DATA_CORRUPTED;
    assert_eq!(states.collect::<Vec<_>>(), [(0, damaged), (1, damaged)]);
    assert_eq!(table.live_rows(), 3000, "how many there are is known of all");
}
fn scan(table: &Arc<Table>, restrictions: Vec<Restriction>) -> Result<Vec<(i64, String)>> {
    let snapshot = table.snapshot(Snapshot::ALL);
    let plan = ScanPlan::new(table.schema(), restrictions)?;
    let (mut rows, mut positions) = (Vec::new(), Positions::default());
    for block in 0..snapshot.block_count() {
        let Some(mut cursor) = plan.open(&snapshot, block)? else { continue };
        while cursor.next(1000, &mut positions)? {
            let keys = snapshot.unpack(block, 0, &positions)?.to_plain();
            let texts = snapshot.unpack(block, 1, &positions)?.to_plain();
            let text = |i: usize| String::from_utf8_lossy(texts.as_str().get(i)).into_owned();
            rows.extend(keys.as_i64().iter().enumerate().map(|(i, &key)| (key, text(i))));
        }
    }
    Ok(rows)
}

fn compare(column: usize, op: CompareOp, value: Value) -> Restriction {
    Restriction { column, kind: RestrictionKind::Compare(op, value) }
}

fn all_rows() -> Vec<(i64, String)> {
    (0..BLOCKS * ROWS).map(|i| (i, text_of(i))).collect()
}

fn payload_bytes(table: &Table) -> u64 {
    table.blocks.lock().all.iter().map(|block| block.whole_bytes()).sum()
}

#[test]
fn a_table_larger_than_its_pool_is_loaded_indexed_and_read() {
    // By one thread: how much two of them hold at once is not the same from run to run.
    let index = |table: &Arc<Table>| {
        let index = new_index(table, IndexKind::Ordered);
        table.add_index(index, 1, TxnId::NONE).expect("keys are different");
    };
    let (whole, _) = table(1 << 30);
    index(&whole);
    let limit = whole.pool().peak() - payload_bytes(&whole) / 2;
    drop(whole);
    let (table, kept) = table(limit);
    index(&table);
    assert!(table.block_infos().iter().any(|block| !block.is_resident));
    for _ in 0..2 {
        assert!(scan(&table, vec![]).expect("readable") == all_rows());
    }
    let mut row = crate::RowBuffer::new();
    for i in (0..BLOCKS * ROWS).step_by(7919) {
        let key = [Datum::I64(i)];
        let found = table.get(0, Snapshot::ALL, &key, &mut KeyBuffer::new(), &[1], &mut row);
        assert!(found.expect("readable").is_some());
        assert_eq!(row.get(0).to_value(), Value::text(&text_of(i)));
    }
    let reads: u64 = kept.iter().map(|home| home.reads.load(Ordering::Relaxed)).sum();
    let counts = table.pool().evictions();
    assert_eq!(counts.loads, reads);
    assert!(counts.evictions >= reads, "{counts:?}");
    assert!(table.pool().peak() <= limit);
}

#[test]
fn what_smallest_and_largest_values_decide_is_not_loaded() {
    let (table, kept) = table(1 << 30);
    let bloom = SubBlockKind::Bloom { bits_per_key: 20 };
    let spec = SubBlockSpec { id: IndexId(1), name: "b".to_owned(), column: 1, kind: bloom };
    table.add_sub_blocks(spec, 1).expect("fits");
    let reads = || kept.iter().map(|home| home.reads.load(Ordering::Relaxed)).collect::<Vec<_>>();
    assert!(table.pool().evict_to(0) || table.pool().cached() == 0);
    assert!(table.block_infos().iter().all(|block| !block.is_resident));
    let wanted = 3 * ROWS + 17;
    let found = scan(&table, vec![compare(0, CompareOp::Equal, Value::I64(wanted))]);
    assert_eq!(found.expect("readable"), [(wanted, text_of(wanted))]);
    assert_eq!(reads(), [0, 0, 0, 1, 0, 0, 0, 0], "only the block of the key is read");
    let above = vec![compare(0, CompareOp::GreaterEqual, Value::I64(BLOCKS * ROWS))];
    assert!(scan(&table, above).expect("readable").is_empty());
    // The text would be between smallest and largest in most blocks; the filter knows better.
    let absent = Value::text("the text of row number 5x");
    let found = scan(&table, vec![compare(1, CompareOp::Equal, absent)]);
    assert!(found.expect("readable").is_empty());
    // How many rows there are, and which exist, is known without their values.
    let snapshot = table.snapshot(Snapshot::ALL);
    let plan = ScanPlan::new(table.schema(), vec![]).expect("nothing");
    let (mut rows, mut positions) = (0, Positions::default());
    for block in 0..snapshot.block_count() {
        let mut cursor = plan.open(&snapshot, block).expect("readable").expect("rows");
        while cursor.next(1 << 16, &mut positions).expect("readable") {
            rows += positions.len();
        }
    }
    assert_eq!(rows as i64, BLOCKS * ROWS);
    assert_eq!(reads(), [0, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn blocks_that_will_be_read_are_expected() {
    let (table, kept) = table(1 << 30);
    let snapshot = table.snapshot(Snapshot::ALL);
    let expected = |restrictions: Vec<Restriction>| {
        let plan = ScanPlan::new(table.schema(), restrictions).expect("well typed");
        let told = || kept.iter().map(|home| home.expected.load(Ordering::Relaxed));
        let before: Vec<u64> = told().collect();
        let bytes: Vec<u64> =
            (0..snapshot.block_count()).map(|block| plan.expect(&snapshot, block)).collect();
        let told: Vec<bool> = told().zip(before).map(|(now, before)| now > before).collect();
        assert_eq!(told, bytes.iter().map(|&bytes| bytes > 0).collect::<Vec<_>>());
        told
    };
    let key = || vec![compare(0, CompareOp::Equal, Value::I64(3 * ROWS + 17))];
    assert_eq!(expected(vec![]), [false; 8], "all are in memory");
    table.pool().evict_to(0);
    assert_eq!(expected(vec![]), [true; 8]);
    let one = [false, false, false, true, false, false, false, false];
    assert_eq!(expected(key()), one, "others have no such key");
    let never = Restriction { column: 0, kind: RestrictionKind::Never };
    assert_eq!(expected(vec![never]), [false; 8]);
    assert_eq!(scan(&table, key()).expect("readable").len(), 1);
    assert_eq!(expected(vec![]), one.map(|read| !read), "that one is in memory now");
}

#[test]
fn a_damaged_file_is_an_error_of_who_reads_it_and_of_nobody_else() {
    let (table, kept) = table(1 << 30);
    with_index(&table, IndexKind::Hash);
    table.pool().evict_to(0);
    kept[2].is_damaged.store(true, Ordering::Relaxed);
    let state = |error: Error| error.state();
    assert_eq!(scan(&table, vec![]).map_err(state), Err(SqlState::DATA_CORRUPTED));
    let mut row = crate::RowBuffer::new();
    let get = |key: i64, row: &mut crate::RowBuffer| {
        let key = [Datum::I64(key)];
        table.get(0, Snapshot::ALL, &key, &mut KeyBuffer::new(), &[1], row).map_err(state)
    };
    assert_eq!(get(2 * ROWS, &mut row), Err(SqlState::DATA_CORRUPTED));
    assert!(get(3 * ROWS, &mut row).expect("readable").is_some());
    // A write of the damaged block changes nothing.
    let manager = Manager::default();
    let mut txn = manager.begin();
    let tid = Tid::new(table.block_infos()[2].id, 0);
    let deleted = table.delete(&mut txn.undo, txn.at, tid);
    assert!(matches!(deleted, Err(WriteError::Failed(_))), "{deleted:?}");
    manager.commit(txn);
    // Nothing is lost: once the file can be read everything is there.
    kept[2].is_damaged.store(false, Ordering::Relaxed);
    assert!(scan(&table, vec![]).expect("readable") == all_rows());
    // Bytes of another block are not taken for those of this one.
    table.pool().evict_to(0);
    let mut bytes = kept[0].bytes.clone();
    bytes[12] ^= 1;
    crate::block::seal(&mut bytes);
    let other = Kept::new(bytes);
    let swapped = Block::from_bytes(77, &kept[0].bytes, table.pool()).expect("whole");
    let swapped = Arc::new(swapped);
    swapped.set_home(other);
    assert!(Evictable::evict(&*swapped));
    assert_eq!(swapped.pin().map(|_| ()).map_err(state), Err(SqlState::DATA_CORRUPTED));
}

#[test]
fn what_is_in_use_or_written_stays() {
    let (table, _) = table(1 << 30);
    let block = table.blocks.lock().all[0].clone();
    let pinned = block.pin().expect("in memory");
    table.pool().evict_to(0);
    let residents = || table.block_infos().iter().filter(|b| b.is_resident).count();
    assert_eq!(residents(), 1);
    drop(pinned);
    table.pool().evict_to(0);
    assert_eq!(residents(), 0);
    let manager = Manager::default();
    let mut txn = manager.begin();
    table.delete(&mut txn.undo, txn.at, Tid::new(block.id(), 3)).expect("nobody else");
    table.pool().evict_to(0);
    assert_eq!(residents(), 1, "its versions may need the keys");
    let before = manager.enter(TxnId::NONE);
    manager.commit(txn);
    table.pool().evict_to(0);
    assert_eq!(residents(), 1);
    manager.leave(before);
    manager.collect(|_| ());
    table.pool().evict_to(0);
    assert_eq!(residents(), 0);
    let rows = scan(&table, vec![]).expect("readable");
    assert_eq!(rows.len() as i64, BLOCKS * ROWS - 1);
    assert!(rows.iter().all(|(key, _)| *key != 3));
}

#[test]
#[cfg_attr(miri, ignore)]
fn many_threads_read_and_write_what_leaves_and_comes() {
    let (whole, _) = table(1 << 30);
    with_index(&whole, IndexKind::Ordered);
    let limit = whole.pool().peak() - payload_bytes(&whole) / 3;
    drop(whole);
    let (table, _) = table(limit);
    with_index(&table, IndexKind::Ordered);
    let (manager, deleted) = (Manager::default(), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..4u64 {
            let (table, manager, deleted) = (&table, &manager, &deleted);
            scope.spawn(move || {
                let random = &mut testkit::Random::new(seed);
                let mut row = crate::RowBuffer::new();
                for round in 0..30 {
                    if random.chance(20) {
                        table.pool().evict_to(0);
                    }
                    let key = random.below((BLOCKS * ROWS) as u64) as i64;
                    let at = manager.enter(TxnId::NONE);
                    let values = [Datum::I64(key)];
                    let mut buffer = KeyBuffer::new();
                    let found = table.get(0, at, &values, &mut buffer, &[1], &mut row);
                    let tid = found.expect("readable");
                    if tid.is_some() {
                        assert_eq!(row.get(0).to_value(), Value::text(&text_of(key)));
                    }
                    manager.leave(at);
                    if let Some(tid) = tid.filter(|_| round % 3 == 0) {
                        let mut txn = manager.begin();
                        match table.delete(&mut txn.undo, txn.at, tid) {
                            Ok(()) => {
                                deleted.fetch_add(1, Ordering::Relaxed);
                                manager.commit(txn);
                            }
                            Err(_) => manager.abort(txn),
                        }
                    }
                    if round % 20 == 0 {
                        let low = vec![compare(0, CompareOp::Less, Value::I64(2 * ROWS))];
                        let rows = scan(table, low).expect("readable");
                        assert!(rows.iter().all(|(key, text)| *text == text_of(*key)));
                    }
                }
            });
        }
    });
    manager.collect(|_| ());
    let left = scan(&table, vec![]).expect("readable").len() as u64;
    assert_eq!(left, (BLOCKS * ROWS) as u64 - deleted.load(Ordering::Relaxed));
    assert!(table.pool().evictions().loads > 0);
    assert!(table.pool().peak() <= limit);
}
