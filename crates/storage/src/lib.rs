//! Tables as mosaics of blocks: memory, layouts, freezing, scans, statistics.
//!
//! ```text
//! BufferPool <- Memory <- Block (row | column | frozen) <- Table -- snapshot --> TableSnapshot
//! Restriction -> ScanPlan -> BlockCursor -> Positions -> TableSnapshot::unpack -> kernels::Column
//! ```
//! Invariants: all block memory comes from the pool; a snapshot never changes; whatever is unsafe
//! here stays here.
//! Elsewhere: loops over codes (`kernels`), operators and work orders (`exec`), transactions and
//! logs (`txn`).

// Floors: lowest first.
mod sync;
mod memory;
mod ids;
mod tid;
mod version;
mod sharers;
mod datum;
mod schema;
mod positions;
mod versions;
mod index;
mod fixed;
mod restriction;
mod heap;
mod block;
mod hot;
mod record;
mod frozen;
mod row;
mod unpack;
mod snapshot;
mod statistics;
mod freeze;
mod scan;
mod image;
mod table;
mod load;
#[cfg(test)]
mod manager;

pub use block::sub_block::{SubBlockKind, SubBlockSpec, WeaveForm};
pub use block::{BLOCK_ROWS_MAX, Block, BlockLayout, PayloadSource, Scheme};
pub use datum::{Datum, RowBuffer};
pub use ids::{IndexId, TableId};
pub use index::{
    BuiltKeys, Derivation, Direction, INDEX_EXPRESSION, IndexColumn, IndexKeys, IndexKind,
    IndexSpec, KeyBuffer, KeyRange, KeyRun, Membership, NearCursor, RangeCursor, RangeState,
    TableIndex, Uniqueness,
};
pub use load::{BlockShape, BulkWriter, TableLoad, batch_of};
#[cfg(feature = "mimalloc")]
pub use memory::return_freed_memory;
pub use memory::{
    AtomicMemory, BufferPool, EvictionCounts, EvictionPolicy, Lru, Lru2, Memory, MemoryCategory,
    RandomEviction, Reservation, Usage, settle,
};
pub use positions::Positions;
pub use restriction::{ColumnPredicate, KeyFilter, Restriction, RestrictionKind, Trial};
pub use scan::{AccessPath, BlockCursor, BlockPaths, ScanPlan, ScanTechniques};
pub use schema::{ColumnSpec, Layout, Schema};
pub use sharers::LockStrength;
pub use snapshot::{BlockView, TableSnapshot};
pub use statistics::{ColumnStatistics, FrequentValues, StatisticsSource, TableStatistics};
pub use table::{
    BlockCopy, BlockImage, BlockInfo, BlockUse, Change, ChangeKind, EvictedBlock, HotBlock,
    KeptStatistics, KeyBatch, KeyRead, KeySearch, KeySource, Moving, RowChange, RowChangeKind,
    RowChanges, Seeker, SegmentInfo, SubBlockInfo, Table, TableReplay, UndoBuffer, UndoMark,
    replay_rows,
};
pub use tid::{TID_COLUMN, Tid};
pub use version::{Snapshot, StatementNumber, Timestamp, TxnId, WriteError};
