//! `cargo xtask bench shared`: shared data of real processes, through SQL.
//!
//! ```text
//! library -> the bench `cluster` of the crate `shared`
//! tpcc    -> for each number of nodes: processes, population, run, the twelve conditions
//! aim     -> processes, population; queries alone and beside calls; the same answers elsewhere
//! ```
//! Timings are printed, never asserted; answers are checked.

mod aim;

use std::path::PathBuf;

use workloads::tpcc::Scale;

use crate::bench_args::{SharedBenchArgs, SharedPart};
use crate::cluster::{Sizes, built};
use crate::tpcc::{Run, on_shared};
use crate::{Outcome, bench, shared, workspace};

/// Measures the parts that are asked for.
///
/// # Errors
/// When processes do not start, or an answer is not what it has to be.
pub fn run(args: &SharedBenchArgs) -> Outcome {
    if args.stores == 0 || args.nodes.is_empty() || args.nodes.contains(&0) {
        return Err("there must be a store and a node".into());
    }
    println!("{}", bench::circumstances());
    if args.has(SharedPart::Library) {
        shared::bench()?;
    }
    if !args.has(SharedPart::Tpcc) && !args.has(SharedPart::Aim) {
        return Ok(());
    }
    let program = program(args)?;
    if args.has(SharedPart::Tpcc) {
        tpcc(args, &program)?;
    }
    if args.has(SharedPart::Aim) {
        aim::run(args, &program)?;
    }
    Ok(())
}

fn program(args: &SharedBenchArgs) -> Result<PathBuf, String> {
    match &args.program {
        // Processes run in directories of their own.
        Some(program) => program.canonicalize().map_err(|e| format!("{}: {e}", program.display())),
        None => {
            workspace::cargo(&["build", "--release", "-p", "server"])?;
            Ok(built())
        }
    }
}

/// TPC-C by the number of nodes, and a line for each at the end.
fn tpcc(args: &SharedBenchArgs, program: &std::path::Path) -> Outcome {
    let scale = Scale::part(args.warehouses, args.scale.clamp(0.01, 1.0));
    let run = Run { scale, workers: args.workers, seconds: args.seconds };
    if run.workers == 0 || args.warehouses == 0 {
        return Err("there must be a worker and a warehouse".into());
    }
    let mut lines = Vec::new();
    for nodes in &args.nodes {
        let sizes = Sizes { stores: args.stores, nodes: *nodes };
        let report = on_shared(program, sizes, &run)?;
        lines.push(format!(
            "{nodes:>5} {:>13.1} {:>15.1}",
            report.new_orders_per_second(),
            report.transactions_per_second()
        ));
    }
    println!("nodes New-Orders/s  transactions/s");
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}
