//! `cargo xtask shared`: long runs of the tests of shared data.

use clap::{Args, Subcommand};

use crate::Outcome;
use crate::venv::must;
use crate::workspace::in_workspace;

/// Tests that run for long.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum SharedCommand {
    /// Manager, stores and nodes on one thread, from seeds
    Simulate(SimulateArgs),
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
}

/// Runs them.
///
/// # Errors
/// When a test fails: its output names the seed.
pub fn run(command: SharedCommand) -> Outcome {
    let SharedCommand::Simulate(args) = command;
    let mut cargo = in_workspace();
    cargo.args(["test", "--release", "--package", "shared", "--test", "simulation", "--"]);
    cargo.env("SEEDS", args.seeds.to_string()).env("FIRST_SEED", args.first.to_string());
    must(cargo.args(["no_history", "--nocapture"]))
}
