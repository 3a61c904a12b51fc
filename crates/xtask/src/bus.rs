//! `cargo xtask bus`: long runs of the message bus's own tests, and `bench bus`.

use std::process::Command;

use clap::{Args, Subcommand};

use crate::Outcome;
use crate::venv::must;
use crate::workspace::{cargo, in_workspace, root};

/// Tests that run for long.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum BusCommand {
    /// Server, clients, disk and network on one thread, from seeds
    Simulate(SimulateArgs),
    /// Kills the server `tessera bus` while clients send, clients, too, and audits its queues
    Kill(KillArgs),
}

/// Arguments of `bus simulate`.
#[derive(Args, Clone, Copy, Debug)]
pub struct SimulateArgs {
    /// How many seeds
    #[arg(long, default_value_t = 100_000)]
    pub seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    pub first: u64,
}

/// Arguments of `bus kill`.
#[derive(Args, Clone, Copy, Debug)]
pub struct KillArgs {
    /// How many kills
    #[arg(long, default_value_t = 500)]
    pub kills: u64,
}

/// Runs them.
///
/// # Errors
/// When a test fails: its output names the seed or the loss.
pub fn run(command: BusCommand) -> Outcome {
    match command {
        BusCommand::Simulate(args) => {
            let mut test = test("bus_server", "simulation");
            test.env("SEEDS", args.seeds.to_string()).env("FIRST_SEED", args.first.to_string());
            must(test.args(["nothing_acknowledged", "--nocapture"]))
        }
        BusCommand::Kill(args) => {
            let mut test = test("server", "bus");
            test.env("KILLS", args.kills.to_string());
            must(test.args(["what_was_acknowledged", "--nocapture"]))
        }
    }
}

/// Messages a second, times of waits and of opening, in the process, in stores with and without the
/// native bus in front of them, over the network, and beside NATS JetStream and ActiveMQ where
/// their packages can be had.
///
/// # Errors
/// When a bench cannot be built or fails.
pub fn bench() -> Outcome {
    cargo(&["bench", "--package", "bus", "--bench", "messages"])?;
    cargo(&["bench", "--package", "bus", "--bench", "recovery"])?;
    cargo(&["build", "--release", "--package", "server"])?;
    let mut stores = in_workspace();
    stores.args(["bench", "--package", "bus", "--all-features", "--bench", "stores"]);
    must(stores.env("TESSERA", root().join("target/release/tessera")))?;
    cargo(&["bench", "--package", "bus_embedded", "--bench", "embedded"])?;
    cargo(&["bench", "--package", "bus_server", "--bench", "network"])?;
    cargo(&["bench", "--package", "bus_server", "--bench", "peers"])
}

/// `cargo test` for one file of tests, optimised.
fn test(package: &str, file: &str) -> Command {
    let mut cargo = in_workspace();
    cargo.args(["test", "--release", "--package", package, "--test", file, "--"]);
    cargo
}
