//! Arguments of benches: known also where Tessera is not compiled in, for then this program is run
//! again with it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The threads asked for; all cores without.
pub fn threads_or_cores(threads: Option<usize>) -> usize {
    threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// A system to compare with, and where it keeps its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// DuckDB in memory
    Duckdb,
    /// DuckDB with a database file
    DuckdbFile,
    /// DataFusion in memory
    Datafusion,
    /// PostgreSQL, with memory for all tables and indexes of integer columns
    Postgres,
}

/// Work that fills the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Log {
    /// Inserts of many rows in one transaction, into a table with a primary key
    Rows,
    /// TPC-C, one warehouse a worker
    Tpcc,
}

/// Arguments of `bench recovery`.
#[derive(Args, Clone, Debug)]
pub struct RecoveryArgs {
    /// MiB of log, about
    #[arg(long, default_value_t = 512)]
    pub mib: u64,
    /// Threads of writing and of opening; all cores without
    #[arg(long)]
    pub threads: Option<usize>,
    /// Work that fills the log; both in turn without
    #[arg(long, value_enum)]
    pub log: Option<Log>,
    /// MiB of blocks of a database that is opened with half as much memory; 0 for none
    #[arg(long, default_value_t = 512)]
    pub blocks_mib: u64,
    /// Opens that database only
    #[arg(long)]
    pub opening: bool,
}

/// Arguments of what `bench recovery` kills.
#[derive(Args, Clone, Debug)]
pub struct RecoveryChildArgs {
    /// MiB of log
    #[arg(long)]
    pub mib: u64,
    /// Threads
    #[arg(long)]
    pub threads: usize,
    /// Work that fills the log
    #[arg(long, value_enum)]
    pub log: Log,
    /// Where the database is
    #[arg(long)]
    pub path: PathBuf,
}

/// Arguments of `bench checkpoint`.
#[derive(Args, Clone, Debug)]
pub struct CheckpointArgs {
    /// Warehouses, and workers
    #[arg(long, default_value_t = 1)]
    pub warehouses: u32,
    /// Seconds before and after each checkpoint
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Checkpoints
    #[arg(long, default_value_t = 3)]
    pub checkpoints: usize,
    /// Commits do not wait for the disk
    #[arg(long)]
    pub asynchronous: bool,
}

/// Arguments of `bench waterfall`.
#[derive(Args, Clone, Debug)]
pub struct WaterfallArgs {
    /// Scale factor
    #[arg(long, default_value_t = 1.0)]
    pub sf: f64,
    /// Worker threads; all cores without
    #[arg(long)]
    pub threads: Option<usize>,
    /// Timed runs of each query in each way, after one to warm up
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Benchmarks
    #[arg(long, value_delimiter = ',', default_value = "ssb,tpch")]
    pub suites: Vec<String>,
    /// Where the charts go; none are drawn without
    #[arg(long)]
    pub charts: Option<PathBuf>,
}

/// Arguments of `bench join-order`.
#[derive(Args, Clone, Debug)]
pub struct JoinOrderArgs {
    /// Scale factor
    #[arg(long, default_value_t = 1.0)]
    pub sf: f64,
    /// Worker threads; all cores without
    #[arg(long)]
    pub threads: Option<usize>,
    /// Timed runs of each query in each way, after one to warm up
    #[arg(long, default_value_t = 7)]
    pub runs: usize,
}

/// Arguments of `bench switches`.
#[derive(Args, Clone, Debug)]
pub struct SwitchesArgs {
    /// As of `bench join-order`.
    #[command(flatten)]
    pub ways: JoinOrderArgs,
    /// Benchmarks: ssb, tpch, partitions
    #[arg(long, value_delimiter = ',', default_value = "ssb,tpch")]
    pub suites: Vec<String>,
}

/// Arguments of `bench limits`.
#[derive(Args, Clone, Debug)]
pub struct LimitsArgs {
    /// Scale factor
    #[arg(long, default_value_t = 1.0)]
    pub sf: f64,
    /// Worker threads; all cores without
    #[arg(long)]
    pub threads: Option<usize>,
    /// Timed runs of each query, after one to warm up
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
}

/// Arguments of `bench versions`.
#[derive(Args, Clone, Debug)]
pub struct VersionsArgs {
    /// Rows of the table
    #[arg(long, default_value_t = 10_000_000)]
    pub rows: u64,
    /// Timed runs of each scan, after one to warm up
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Threads of scans; all cores without
    #[arg(long)]
    pub threads: Option<usize>,
    /// Layouts, each on a table of its own
    #[arg(long, value_delimiter = ',', default_value = "row,column,frozen")]
    pub layouts: Vec<String>,
}

/// Arguments of `bench storage`.
#[derive(Args, Clone, Debug)]
pub struct StorageArgs {
    /// Rows of tables of ten numbers; those of wide rows and of strings have a fifth
    #[arg(long, default_value_t = 5_000_000)]
    pub rows: usize,
    /// Timed runs of each point, after one that is checked
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Worker threads; all cores without
    #[arg(long)]
    pub threads: Option<usize>,
    /// Where chance begins
    #[arg(long, default_value_t = 18)]
    pub seed: u64,
    /// Milliseconds that a run takes at least: shorter queries are repeated within it
    #[arg(long, default_value_t = 5.0)]
    pub run_ms: f64,
    /// Parts of the grid; all of them without
    #[arg(long, value_enum, value_delimiter = ',')]
    pub only: Vec<StoragePart>,
    /// Where the tables and charts go; they are printed and not drawn without
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// Parts of the grid of `bench storage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoragePart {
    /// Ten numbers of one range; also conjunctions
    NarrowU,
    /// Ten numbers of growing ranges: compression
    NarrowE,
    /// Fifty numbers
    WideE,
    /// Ten strings of 20 bytes
    Strings,
    /// The smallest number of each of 100 groups
    Aggregate,
    /// Sizes of blocks, and threads
    Sizes,
    /// One block a worker beside many
    Files,
}

/// Arguments of `bench ch`.
#[derive(Args, Clone, Debug)]
pub struct ChArgs {
    /// Warehouses of the population
    #[arg(long, default_value_t = 1)]
    pub warehouses: u32,
    /// Sessions that run TPC-C's transactions, by prepared statements
    #[arg(long, default_value_t = 1)]
    pub transactions: usize,
    /// Sessions that run the queries
    #[arg(long, default_value_t = 1)]
    pub analytics: usize,
    /// Measured seconds
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// Worker threads of queries
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// When blocks are frozen: on, off or eager
    #[arg(long, default_value = "on")]
    pub freezing: String,
    /// Commits do not wait for the disk
    #[arg(long)]
    pub async_commits: bool,
}

/// Arguments of `bench adapt`.
#[derive(Args, Clone, Debug)]
pub struct AdaptArgs {
    /// Rows of the table
    #[arg(long, default_value_t = 2_000_000)]
    pub rows: u64,
    /// Timed runs of each scan
    #[arg(long, default_value_t = 7)]
    pub runs: usize,
    /// Reads and updates by key
    #[arg(long, default_value_t = 50_000)]
    pub keys: u64,
    /// Worker threads; all cores without
    #[arg(long)]
    pub threads: Option<usize>,
}

/// Arguments of `bench ahead`.
#[derive(Args, Clone, Debug)]
pub struct AheadArgs {
    /// MiB of blocks, of which half fit in memory
    #[arg(long, default_value_t = 512)]
    pub blocks_mib: u64,
    /// Timed runs of each scan and way
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Worker threads; all cores without
    #[arg(long)]
    pub threads: Option<usize>,
}

/// Arguments of `bench oltp`.
#[derive(Args, Clone, Debug)]
pub struct OltpArgs {
    /// Seconds of each run, after a fifth of them to warm up
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16])]
    pub clients: Vec<usize>,
    /// Size of the tables, against those of the papers at their smallest scale
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Workloads, by name; all of them without
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// The server to measure; without, one is built
    #[arg(long)]
    pub program: Option<PathBuf>,
    /// Where chance begins
    #[arg(long, default_value_t = 27)]
    pub seed: u64,
}

/// A part of `bench shared`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SharedPart {
    /// Stores and the manager through the library: YCSB#, wide rows, transactions; Redis and Kudu
    Library,
    /// TPC-C through SQL, by the number of nodes
    Tpcc,
    /// Huawei-AIM through SQL: seven queries beside calls
    Aim,
}

/// Arguments of `bench shared`.
#[derive(Args, Clone, Debug)]
pub struct SharedBenchArgs {
    /// Parts; all of them without
    #[arg(value_enum)]
    pub parts: Vec<SharedPart>,
    /// Seconds of each run through SQL, after a fifth of them to warm up
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3])]
    pub nodes: Vec<usize>,
    /// Stores
    #[arg(long, default_value_t = 1)]
    pub stores: usize,
    /// TPC-C: warehouses
    #[arg(long, default_value_t = 2)]
    pub warehouses: u32,
    /// TPC-C: rows of a warehouse, as a share of the specification's, 0.01 to 1
    #[arg(long, default_value_t = 0.1)]
    pub scale: f64,
    /// TPC-C: terminals
    #[arg(long, default_value_t = 6)]
    pub workers: usize,
    /// AIM: rows
    #[arg(long, default_value_t = 10_000)]
    pub subscribers: u64,
    /// AIM: attributes of a row, from 41
    #[arg(long, default_value_t = 546, value_parser = clap::value_parser!(u32).range(41..=1500))]
    pub attributes: u32,
    /// AIM: calls in a second beside the queries, as far as the nodes take them
    #[arg(long, default_value_t = 500)]
    pub calls: u64,
    /// The program to measure; without, one is built
    #[arg(long)]
    pub program: Option<PathBuf>,
}

impl SharedBenchArgs {
    /// True when the part is asked for.
    pub fn has(&self, part: SharedPart) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }
}
