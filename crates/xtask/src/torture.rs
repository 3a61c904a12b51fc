//! `cargo xtask torture`: kills a database at random points, and audits what it recovers.
//!
//! ```text
//! parent (this) -> torture-child (this program again) -> Workload::run
//!       '-> SIGKILL -> Workload::verify in this process
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use testkit::torture::ledger::{Durability, Ledger, LedgerStore};
use testkit::torture::toy::{Fault, Toy};
use testkit::torture::{self, Workload};

use crate::{Outcome, text};

/// Accounts of the ledger: few enough for conflicts, too many for one block of any layout.
const ACCOUNTS: u32 = 200;

/// Sessions of the child.
const SESSIONS: u32 = 4;

/// The longest life of a child in milliseconds.
const LIFE_MS: u64 = 500;

/// A database to kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Store {
    /// Tessera
    Tessera,
    /// A file of transfers, to try the harness itself
    Toy,
    /// A toy that acknowledges too early
    ToyLost,
    /// A toy that replays halves of transactions
    ToyPartial,
    /// A toy whose index differs from its table
    ToyIndex,
}

/// What the child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// Transfers between accounts
    Ledger,
}

/// Arguments of the parent; the child gets the same.
#[derive(Args, Clone, Debug)]
pub struct TortureArgs {
    /// Children to kill
    #[arg(long, default_value_t = 20)]
    pub rounds: usize,
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What the children do
    #[arg(long, value_enum, default_value_t = Work::Ledger)]
    pub workload: Work,
    /// What they do it to
    #[arg(long, value_enum, default_value_t = Store::Tessera)]
    pub store: Store,
    /// Commits are acknowledged before they are durable, and may vanish from the end
    #[arg(long)]
    pub asynchronous: bool,
    /// Where the database is; a new directory without
    #[arg(long)]
    pub path: Option<PathBuf>,
}

impl Store {
    /// Whether Tessera must be compiled in.
    pub fn needs_product(self) -> bool {
        self == Self::Tessera
    }

    fn ledgers(self, _durability: Durability) -> Result<Box<dyn LedgerStore>, String> {
        let fault = match self {
            Self::Tessera => return Err("Tessera keeps nothing on disk yet".into()),
            Self::Toy => Fault::None,
            Self::ToyLost => Fault::Lost,
            Self::ToyPartial => Fault::Partial,
            Self::ToyIndex => Fault::StaleIndex,
        };
        Ok(Box::new(Toy(fault)))
    }
}

/// Hands the workload of `args` to `run`.
fn with_workload<T>(
    args: &TortureArgs,
    run: impl FnOnce(&dyn Workload) -> Result<T, String>,
) -> Result<T, String> {
    let durability = match args.asynchronous {
        true => Durability::Asynchronous,
        false => Durability::Synchronous,
    };
    match args.workload {
        Work::Ledger => {
            let store = args.store.ledgers(durability)?;
            let (accounts, sessions, seed) = (ACCOUNTS, SESSIONS, args.seed);
            run(&Ledger { store: &*store, durability, accounts, sessions, seed })
        }
    }
}

/// Works until it is killed.
///
/// # Errors
/// What the database says.
pub fn child(args: &TortureArgs) -> Outcome {
    let path = args.path.as_deref().ok_or("a child needs a path")?;
    with_workload(args, |workload| torture::child(workload, path))
}

/// Kills children and audits.
///
/// # Errors
/// What is lost, partial or inconsistent; the directory stays for a look.
pub fn run(args: &TortureArgs) -> Outcome {
    let fresh = std::env::temp_dir().join(format!("tessera-torture-{}", std::process::id()));
    let path = args.path.clone().unwrap_or(fresh);
    let options = torture::Options { rounds: args.rounds, seed: args.seed, life_ms_max: LIFE_MS };
    let program = std::env::current_exe().map_err(text)?;
    let start = || child_command(args, &program, &path);
    let summary =
        with_workload(args, |workload| torture::torture(workload, &start, &path, &options));
    let summary = summary.map_err(|error| format!("{error}\nleft in {}", path.display()))?;
    println!(
        "{} kills, {} of them before a commit; {} commits acknowledged, none lost, none partial; \
         recovery and audit took {} ms at most",
        summary.rounds, summary.early, summary.acknowledged, summary.verify_ms_max
    );
    if args.path.is_none() {
        std::fs::remove_dir_all(&path).map_err(text)?;
    }
    Ok(())
}

/// This program as a child.
fn child_command(args: &TortureArgs, program: &Path, path: &Path) -> Command {
    let value = |value: Option<clap::builder::PossibleValue>| {
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    };
    let mut command = Command::new(program);
    command.arg("torture-child").args([
        format!("--seed={}", args.seed),
        format!("--workload={}", value(args.workload.to_possible_value())),
        format!("--store={}", value(args.store.to_possible_value())),
        format!("--path={}", path.display()),
    ]);
    command.args(args.asynchronous.then_some("--asynchronous"));
    command
}
