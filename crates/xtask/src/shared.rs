//! `cargo xtask shared`: long runs of the tests of shared data, and `bench shared`.

use std::process::Command;

use clap::{Args, Subcommand};

use crate::Outcome;
use crate::bench_args::threads_or_cores;
use crate::venv::must;
use crate::workspace::{cargo, in_workspace};

/// Tests that run for long.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum SharedCommand {
    /// Manager, stores and nodes on one thread, from seeds
    Simulate(SimulateArgs),
    /// Kills stores, the manager and nodes while nodes work, and audits what is left
    Torture(TortureArgs),
}

/// Arguments of `shared torture`.
#[derive(Args, Clone, Copy, Debug)]
pub struct TortureArgs {
    /// How many kills
    #[arg(long, default_value_t = 200)]
    pub kills: u64,
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Arguments of `shared simulate`.
#[derive(Args, Clone, Copy, Debug)]
pub struct SimulateArgs {
    /// How many seeds
    #[arg(long, default_value_t = 100_000)]
    pub seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    pub first: u64,
    /// How many at once; as many as there are cores without
    #[arg(long)]
    pub threads: Option<usize>,
}

/// Runs them.
///
/// # Errors
/// When a test fails: its output names the seeds.
pub fn run(command: SharedCommand) -> Outcome {
    match command {
        SharedCommand::Simulate(args) => {
            let mut test = test("shared", "simulation");
            test.env("SEEDS", args.seeds.to_string()).env("FIRST_SEED", args.first.to_string());
            test.env("THREADS", threads_or_cores(args.threads).to_string());
            must(test.args(["no_history", "--nocapture"]))
        }
        SharedCommand::Torture(args) => {
            let mut test = test("server", "shared");
            test.env("KILLS", args.kills.to_string()).env("SEED", args.seed.to_string());
            must(test.args(["killed_processes", "--nocapture"]))
        }
    }
}

/// The manager alone, gets, puts, scans and transactions on one and three stores, and Redis where
/// it is installed.
///
/// # Errors
/// When the bench cannot be built or fails.
pub fn bench() -> Outcome {
    cargo(&["bench", "--package", "shared", "--bench", "cluster"])
}

/// `cargo test` for one file of tests, optimised.
fn test(package: &str, file: &str) -> Command {
    let mut cargo = in_workspace();
    cargo.args(["test", "--release", "--package", package, "--test", file, "--"]);
    cargo
}
