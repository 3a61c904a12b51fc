//! `cargo xtask`: the command line of the development commands.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use xtask::bench_args::{
    AdaptArgs, AheadArgs, ChArgs, CheckpointArgs, JoinOrderArgs, LimitsArgs, OltpArgs,
    RecoveryArgs, RecoveryChildArgs, SharedBenchArgs, SharedPart, StorageArgs, SwitchesArgs,
    VersionsArgs, WaterfallArgs, Which,
};
use xtask::bus::BusCommand;
use xtask::clients::ClientsArgs;
use xtask::fuzz_wire::FuzzWireArgs;
use xtask::python::Extension;
use xtask::regress::RegressArgs;
use xtask::shared::SharedCommand;
use xtask::torture::{ChildArgs, TortureArgs};
use xtask::wire::WireArgs;
use xtask::{
    Outcome, bus, check, clients, fuzz_wire, histories, python, regress, shared, slt, test,
    torture, wire,
};

/// The allocator of the binary `tessera`: what is measured here is what users run.
#[cfg(feature = "tessera")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tessera's development commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks layers, ceilings, lints; with --full also formatting and clippy
    Check {
        /// Run `cargo fmt --check` and `cargo clippy`, too
        #[arg(long)]
        full: bool,
    },
    /// Lists imports that point up inside crates, and files that import each other in a circle
    Floors,
    /// Runs tests/slt: against Tessera, or against PostgreSQL to check the expected results
    Slt(SltArgs),
    /// Runs random transactions on lists and searches their histories for anomalies
    Histories(HistoriesArgs),
    /// Runs random queries on Tessera and on another database system
    FuzzQueries(FuzzArgs),
    /// Sends a server what no client would, and watches it
    FuzzWire(FuzzWireArgs),
    /// Runs files of statements on a server and on PostgreSQL, in lock-step
    Regress(RegressArgs),
    /// Kills a database at random points and audits what it recovers
    Torture(TortureArgs),
    /// Child that `torture` starts and kills
    #[command(hide = true)]
    TortureChild(ChildArgs),
    /// Child that `bench recovery` starts and kills
    #[command(hide = true)]
    RecoveryChild(RecoveryChildArgs),
    /// Runs psql, pgbench and drivers of five languages on a server
    Clients(ClientsArgs),
    /// Tests the message bus for long
    #[command(subcommand)]
    Bus(BusCommand),
    /// Tests shared data for long
    #[command(subcommand)]
    Shared(SharedCommand),
    /// Builds the Python packages with pip and tests them with pytest
    Python {
        /// Take the extension that `cargo build --workspace --lib --tests` built, as `test` does
        #[arg(long)]
        built: bool,
    },
    /// Everything CI runs
    Test,
    /// Compares Tessera's results with a peer's on the same data
    Verify(SuiteArgs),
    /// Measures Tessera beside a peer
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Subcommand)]
enum Bench {
    /// Queries of TPC-H, in alternating runs
    Tpch(QueryArgs),
    /// Queries of the star schema benchmark, in alternating runs
    Ssb(QueryArgs),
    /// Joins of many tables with skewed and dependent columns, in alternating runs
    Job(QueryArgs),
    /// Queries on one wide table of page views, in alternating runs
    Clickbench(QueryArgs),
    /// Queries of TPC-DS, in alternating runs
    Tpcds(QueryArgs),
    /// Transactions of TPC-C, and its consistency conditions afterwards
    Tpcc(TpccArgs),
    /// Rows that came by INSERT: scans, reads and updates while they are hot, and frozen in place
    Adapt(AdaptArgs),
    /// Scans of a table larger than memory, with blocks asked for ahead and without
    Ahead(AheadArgs),
    /// TPC-C's transactions and the queries of CH-benCHmark at once
    Ch(ChArgs),
    /// Opening a database that was killed: replay of its log, and loading its checkpoint
    Recovery(RecoveryArgs),
    /// TPC-C before, during and after checkpoints
    Checkpoint(CheckpointArgs),
    /// The message bus: in memory, with a log, over gRPC; synchronous and asynchronous
    Bus,
    /// Shared data: YCSB#, wide rows, the commit manager; TPC-C by nodes, and AIM; Redis and Kudu
    Shared(SharedBenchArgs),
    /// Tessera's server beside PostgreSQL's: pgbench, COPY, rows
    Wire(WireArgs),
    /// TATP, SmallBank, YCSB and others on Tessera's server and PostgreSQL's
    Oltp(OltpArgs),
    /// Scans of rows that have versions
    Versions(VersionsArgs),
    /// Measures layouts, late columns and filters on TPC-H and SSB, each alone and together
    Waterfall(WaterfallArgs),
    /// Measures each technique on TPC-H and SSB, by switching it off alone
    Switches(SwitchesArgs),
    /// SSB with joins in the best, the text's and the worst order, with and without LIP
    JoinOrder(JoinOrderArgs),
    /// Compares the queries of TPC-H and SSB with the limits of memory
    Limits(LimitsArgs),
    /// The storage explorer: layouts, sizes of blocks, indexes, compression, and twelve rules
    Storage(StorageArgs),
}

#[derive(Args)]
struct QueryArgs {
    #[command(flatten)]
    scale: ScaleArgs,
    /// System to compare with
    #[arg(long, value_enum, default_value_t = Which::Duckdb)]
    peer: Which,
    /// Timed runs of each query, after one to warm up
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

#[derive(Args)]
struct TpccArgs {
    /// Warehouses of the population
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
    /// Worker threads; worker i is at home in warehouse 1 + i % warehouses
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Measured seconds, after a fifth of them to warm up
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Run this system instead of Tessera
    #[arg(long, value_enum)]
    peer: Option<TpccPeer>,
    /// Commits wait for the disk, or do not
    #[arg(long, value_enum, default_value_t = Sync::On)]
    sync: Sync,
    /// Through prepared statements, or by procedures inside the system
    #[arg(long, value_enum, default_value_t = Interface::Sql)]
    interface: Interface,
}

#[derive(Clone, Copy, ValueEnum)]
enum TpccPeer {
    Sqlite,
    Postgres,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sync {
    On,
    Off,
}

#[derive(Clone, Copy, ValueEnum)]
enum Interface {
    Native,
    Sql,
}

#[derive(Args)]
struct SltArgs {
    /// Run PostgreSQL instead of Tessera
    #[arg(long)]
    postgres: bool,
    /// Write PostgreSQL's answers into the files
    #[arg(long, requires = "postgres")]
    rewrite: bool,
    /// Run files of tests/shared.txt, or those named, on shared tables with so many stores
    #[arg(long, conflicts_with = "postgres")]
    shared: Option<usize>,
    /// Program of the processes of --shared; what cargo built last without
    #[arg(long, requires = "shared")]
    program: Option<PathBuf>,
    /// Layout of Tessera's tables
    #[arg(long, default_value = "auto")]
    layout: String,
    /// Tessera's worker threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Use of indexes by Tessera's queries: off, on or prefer
    #[arg(long, default_value = "on")]
    index_paths: String,
    /// Let operators hold next to nothing in memory, so that they spill
    #[arg(long)]
    spilling: bool,
    /// Freeze blocks as soon as nobody writes them
    #[arg(long)]
    freezing: bool,
    /// Keep databases in files, with so many MiB of memory
    #[arg(long)]
    memory_mib: Option<u64>,
    /// How work orders reach Tessera's workers: monitor or bus
    #[arg(long, default_value = "monitor", value_parser = ["monitor", "bus"])]
    dispatch: String,
    /// How many failures of each file to show
    #[arg(long, default_value_t = 10)]
    show: usize,
    /// Files or directories; all of tests/slt without
    paths: Vec<PathBuf>,
}

#[derive(Args)]
struct HistoriesArgs {
    /// Whose transactions
    #[arg(long, value_enum, default_value_t = HistoriesStore::Tessera)]
    store: HistoriesStore,
    /// Histories in all, shared among isolation levels and shapes of tables
    #[arg(long, default_value_t = 1200)]
    histories: usize,
    /// Sessions side by side
    #[arg(long, default_value_t = 8)]
    sessions: usize,
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Freeze Tessera's blocks as soon as nobody writes them
    #[arg(long)]
    freezing: bool,
    /// Keep Tessera's databases in files, with so many MiB of memory
    #[arg(long)]
    memory_mib: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HistoriesStore {
    /// In process
    Tessera,
    /// To check the checker
    Postgres,
}

impl HistoriesArgs {
    fn options(&self) -> histories::Options {
        let &Self { histories, sessions, seed, .. } = self;
        histories::Options { histories, sessions, seed }
    }
}

#[derive(Args)]
struct FuzzArgs {
    /// Queries in all
    #[arg(long, default_value_t = 1000)]
    queries: u64,
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// System that Tessera is compared with
    #[arg(long, value_enum, default_value_t = FuzzOracle::Postgres)]
    oracle: FuzzOracle,
    /// Differences after which to stop
    #[arg(long, default_value_t = 10)]
    differences: usize,
    /// Run each query also with techniques switched off at random
    #[arg(long)]
    switches: bool,
    /// Compare queries with the unions of their rows for which a predicate is true, false, unknown
    #[arg(long)]
    partitions: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum FuzzOracle {
    /// Its own answers under other settings
    Settings,
    Postgres,
    Duckdb,
}

#[derive(Args)]
struct SuiteArgs {
    /// The benchmark
    #[arg(value_enum)]
    suite: Suite,
    #[command(flatten)]
    scale: ScaleArgs,
    /// Whose results are right
    #[arg(long, value_enum, default_value_t = Which::Duckdb)]
    oracle: Which,
    /// Run each query with all techniques, with none, without each, and in other orders of joins
    #[arg(long)]
    switches: bool,
}

#[derive(Args)]
struct ScaleArgs {
    /// Scale factor
    #[arg(long, default_value_t = 0.01)]
    sf: f64,
    /// Rows, the scale of clickbench; 1 M without
    #[arg(long)]
    rows: Option<u64>,
    /// Warehouses, the scale of ch
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
    /// Worker threads of both; all cores without
    #[arg(long)]
    threads: Option<usize>,
    /// Only these queries: `--queries 1,6` or `--queries 1.1,2.3`
    #[arg(long, value_delimiter = ',')]
    queries: Vec<String>,
    /// Directory of Tessera's database: loaded where it is not there, and kept
    #[arg(long)]
    directory: Option<PathBuf>,
    /// MiB of memory of that database once it is loaded
    #[arg(long, default_value_t = 2560, requires = "directory")]
    memory_mib: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Suite {
    Tpch,
    Ssb,
    Job,
    Clickbench,
    Ch,
    /// Data and queries of DuckDB's extension
    Tpcds,
}

fn main() -> ExitCode {
    #[cfg(feature = "tessera")]
    storage::return_freed_memory(engine::Config::default().memory_bytes);
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Check { full } => check::run(full),
        Command::Floors => check::floors(),
        Command::Clients(args) => clients::run(&args),
        Command::FuzzWire(args) => fuzz_wire::run(&args),
        Command::Regress(args) => regress::run(&args),
        Command::Bus(command) => bus::run(command),
        Command::Shared(command) => shared::run(command),
        Command::Bench(Bench::Bus) => bus::bench(),
        Command::Bench(Bench::Shared(args)) => run_shared(&args),
        Command::Python { built: true } => python::run(Extension::Built),
        Command::Python { built: false } => python::run(Extension::Pip),
        Command::Test => test::run(),
        Command::Slt(args) if args.postgres => slt::postgres(&args.paths, args.rewrite, args.show),
        Command::Slt(SltArgs { shared: Some(stores), paths, program, show, .. }) => {
            let place = slt::SharedPlace { program: program.as_deref(), stores };
            slt::on_shared(&paths, place, show)
        }
        Command::Histories(args) if args.store == HistoriesStore::Postgres => {
            histories::postgres(&args.options())
        }
        Command::Torture(args) if !args.store.needs_product() => torture::run(&args),
        Command::TortureChild(args) if !args.store.needs_product() => torture::child(&args),
        Command::Bench(Bench::Tpcc(args)) => run_tpcc(args),
        Command::Bench(Bench::Wire(args)) => wire::run(&args),
        Command::Bench(Bench::Oltp(args)) => run_oltp(&args),
        product => run_product(product),
    }
}

/// Runs this program again, with `features` compiled in.
#[cfg(not(feature = "peers"))]
fn run_again(features: &str) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = std::process::Command::new(cargo)
        .args(["run", "--quiet", "--release", "--package", "xtask", "--features", features, "--"])
        .args(std::env::args_os().skip(1))
        .status()
        .map_err(xtask::text)?;
    if status.success() { Ok(()) } else { Err(format!("it ended with {status}")) }
}

/// Runs a command that needs Tessera itself.
#[cfg(not(feature = "tessera"))]
fn run_product(_: Command) -> Outcome {
    run_again("tessera")
}

#[cfg(feature = "tessera")]
fn run_product(command: Command) -> Outcome {
    use xtask::bench;
    let (suite, args) = match command {
        Command::Slt(args) => {
            let backend =
                xtask::tessera::Tessera::new(&args.layout, args.threads, &args.index_paths)?;
            let backend = if args.spilling { backend.spilling() } else { backend };
            let backend = if args.freezing { backend.freezing() } else { backend };
            let backend = if args.dispatch == "bus" { backend.on_bus() } else { backend };
            let backend = with_memory(backend, args.memory_mib);
            return slt::run(&args.paths, &backend, args.show);
        }
        Command::Histories(args) => {
            let backend = xtask::tessera::Tessera::new("auto", 2, "on")?;
            let backend = if args.freezing { backend.freezing() } else { backend };
            let backend = with_memory(backend, args.memory_mib);
            return histories::on(&backend, &args.options());
        }
        Command::FuzzQueries(args) => return fuzz_queries(&args),
        Command::Torture(args) => return torture::run(&args),
        Command::TortureChild(args) => return torture::child(&args),
        Command::RecoveryChild(args) => return bench::recovery::child(&args),
        Command::Bench(Bench::Adapt(args)) => return bench::adapt::run(&args),
        Command::Bench(Bench::Ahead(args)) => return bench::ahead::run(&args),
        Command::Bench(Bench::Ch(args)) => return bench::ch::run(&args),
        Command::Bench(Bench::Recovery(args)) => return bench::recovery::run(&args),
        Command::Bench(Bench::Checkpoint(args)) => return bench::checkpoint::run(&args),
        Command::Bench(Bench::Versions(args)) => return bench::versions::run(&args),
        Command::Bench(Bench::Waterfall(args)) => return bench::waterfall::run(&args),
        Command::Bench(Bench::Switches(args)) => return bench::switches::run(&args),
        Command::Bench(Bench::JoinOrder(args)) => return bench::join_order::run(&args),
        Command::Bench(Bench::Limits(args)) => return bench::limits::run(&args),
        Command::Bench(Bench::Storage(args)) => return bench::storage::run(&args),
        Command::Verify(args) => {
            use xtask::variants::Variant;
            let usual = || vec![Variant::without("all on", &[])];
            let variants = if args.switches { Variant::all() } else { usual() };
            let options = options(args.suite, &args.scale)?;
            return xtask::verify::run(&options, args.oracle, &variants);
        }
        Command::Bench(Bench::Tpch(args)) => (Suite::Tpch, args),
        Command::Bench(Bench::Ssb(args)) => (Suite::Ssb, args),
        Command::Bench(Bench::Job(args)) => (Suite::Job, args),
        Command::Bench(Bench::Clickbench(args)) => (Suite::Clickbench, args),
        Command::Bench(Bench::Tpcds(args)) => (Suite::Tpcds, args),
        Command::Check { .. }
        | Command::Floors
        | Command::Clients(_)
        | Command::FuzzWire(_)
        | Command::Regress(_)
        | Command::Bus(_)
        | Command::Shared(_)
        | Command::Python { .. }
        | Command::Test
        | Command::Bench(
            Bench::Bus | Bench::Shared(_) | Bench::Tpcc(_) | Bench::Wire(_) | Bench::Oltp(_),
        ) => {
            unreachable!("these do not come here")
        }
    };
    let options = options(suite, &args.scale)?;
    bench::run(&bench::Plan { options, runs: args.runs, peer: args.peer })
}

#[cfg(feature = "tessera")]
fn fuzz_queries(args: &FuzzArgs) -> Outcome {
    use xtask::fuzz_queries::{Options, Oracle, Subject, Toggling, run};
    run(&Options {
        queries: args.queries,
        seed: args.seed,
        oracle: match args.oracle {
            FuzzOracle::Settings => Oracle::Settings,
            FuzzOracle::Postgres => Oracle::Postgres,
            FuzzOracle::Duckdb => Oracle::Duckdb,
        },
        differences_max: args.differences,
        toggling: if args.switches { Toggling::Random } else { Toggling::No },
        subject: if args.partitions { Subject::Partitions } else { Subject::Queries },
    })
}

/// Runs transactions on two servers, which needs a driver.
#[cfg(not(feature = "oltp"))]
fn run_oltp(_: &OltpArgs) -> Outcome {
    run_again("oltp")
}

#[cfg(feature = "oltp")]
fn run_oltp(args: &OltpArgs) -> Outcome {
    xtask::oltp::run(args)
}

/// Measures shared data; through SQL, that needs a driver.
fn run_shared(args: &SharedBenchArgs) -> Outcome {
    if args.parts == [SharedPart::Library] {
        return shared::bench();
    }
    run_shared_sql(args)
}

#[cfg(not(feature = "peers"))]
fn run_shared_sql(_: &SharedBenchArgs) -> Outcome {
    run_again("peers")
}

#[cfg(feature = "peers")]
fn run_shared_sql(args: &SharedBenchArgs) -> Outcome {
    xtask::shared_bench::run(args)
}

/// Runs TPC-C, which needs the peers' drivers.
#[cfg(not(feature = "peers"))]
fn run_tpcc(_: TpccArgs) -> Outcome {
    run_again("peers")
}

#[cfg(feature = "peers")]
fn run_tpcc(args: TpccArgs) -> Outcome {
    use xtask::tpcc;
    tpcc::run(&tpcc::Options {
        warehouses: args.warehouses,
        workers: args.workers,
        seconds: args.seconds,
        target: match args.peer {
            None => tpcc::Target::Tessera,
            Some(TpccPeer::Sqlite) => tpcc::Target::Sqlite,
            Some(TpccPeer::Postgres) => tpcc::Target::Postgres,
        },
        durability: match args.sync {
            Sync::On => tpcc::Durability::Sync,
            Sync::Off => tpcc::Durability::Async,
        },
        interface: match args.interface {
            Interface::Native => tpcc::Interface::Native,
            Interface::Sql => tpcc::Interface::Sql,
        },
    })
}

/// The same in files with so many MiB of memory, if that is asked for.
#[cfg(feature = "tessera")]
fn with_memory(
    backend: xtask::tessera::Tessera,
    memory_mib: Option<u64>,
) -> xtask::tessera::Tessera {
    match memory_mib {
        Some(mib) => backend.with_memory(mib << 20),
        None => backend,
    }
}

#[cfg(feature = "tessera")]
fn options(suite: Suite, args: &ScaleArgs) -> Result<xtask::suite::Options, String> {
    let (suite, scale) = match suite {
        Suite::Tpch => (xtask::suite::Suite::tpch(), args.sf),
        Suite::Ssb => (xtask::suite::Suite::ssb(), args.sf),
        Suite::Job => (xtask::suite::Suite::job(), args.sf),
        Suite::Clickbench => {
            let rows = args.rows.map_or(workloads::clickbench::ROWS, |rows| rows as f64);
            (xtask::suite::Suite::clickbench(), rows)
        }
        Suite::Ch => (xtask::suite::Suite::ch(), args.warehouses.into()),
        Suite::Tpcds => (xtask::suite::Suite::tpcds(args.sf)?, args.sf),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(xtask::suite::Options {
        suite,
        scale,
        threads: args.threads.unwrap_or(cores),
        queries: args.queries.clone(),
        files: args.directory.clone().map(|directory| xtask::suite::Files {
            directory,
            memory_bytes: args.memory_mib << 20,
        }),
    })
}
