//! `cargo xtask torture`: kills a database at random points, and audits what it recovers.
//!
//! ```text
//! parent (this) -> torture-child (this program again) -> Workload::run
//!       '-> SIGKILL -> Workload::verify in this process
//! ```
//! Without a choice every workload of the store runs, with commits that wait and that do not, each
//! case in a directory of its own.

mod rivals;
#[cfg(feature = "tessera")]
mod tessera;
#[cfg(feature = "tessera")]
mod tpcc;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use testkit::torture::ledger::{Durability, Ledger, LedgerStore};
use testkit::torture::toy::{Fault, Toy};
use testkit::torture::{self, Summary, Workload};

use crate::{Outcome, text};

/// Accounts of the ledger: few enough for conflicts, too many for one block of any layout.
const ACCOUNTS: u32 = 200;

/// Sessions of the child.
const SESSIONS: u32 = 4;

/// The longest life of a child in milliseconds.
const LIFE_MS: u64 = 500;

/// As often as long beside rivals.
const LIFE_FACTOR: u64 = 4;

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

/// Work of the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// Transfers between accounts, in SQL
    Ledger,
    /// TPC-C, by native transactions
    Tpcc,
}

/// Durability of acknowledged commits: those that do not wait may vanish, but only with
/// everything after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Commits {
    /// Commits wait
    Wait,
    /// Commits do not wait
    DoNotWait,
}

impl Commits {
    fn durability(self) -> Durability {
        match self {
            Self::Wait => Durability::Synchronous,
            Self::DoNotWait => Durability::Asynchronous,
        }
    }
}

/// Arguments of the parent.
#[derive(Args, Clone, Debug)]
pub struct TortureArgs {
    /// Children to kill, shared among the cases
    #[arg(long, default_value_t = 20)]
    pub kills: usize,
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Work of the children; all in turn without
    #[arg(long, value_enum)]
    pub workload: Option<Work>,
    /// Store that they work on
    #[arg(long, value_enum, default_value_t = Store::Tessera)]
    pub store: Store,
    /// Commits wait for the disk, or do not; both in turn without
    #[arg(long, value_enum)]
    pub commits: Option<Commits>,
    /// Where the databases are; a new directory without
    #[arg(long)]
    pub path: Option<PathBuf>,
    /// Threads that take the processors away from the children, which have a lower priority then:
    /// threads stop where they otherwise hardly would
    #[arg(long, default_value_t = 0)]
    pub rivals: usize,
}

/// Arguments of a child.
#[derive(Args, Clone, Debug)]
pub struct ChildArgs {
    /// Where chance begins
    #[arg(long)]
    pub seed: u64,
    /// Which child of its case it is, from 1
    #[arg(long)]
    pub round: usize,
    /// Work of the child
    #[arg(long, value_enum)]
    pub workload: Work,
    /// Store that it works on
    #[arg(long, value_enum)]
    pub store: Store,
    /// Commits wait for the disk, or do not
    #[arg(long, value_enum)]
    pub commits: Commits,
    /// Where the database is
    #[arg(long)]
    pub path: PathBuf,
}

impl Store {
    /// True when Tessera must be compiled in.
    pub fn needs_product(self) -> bool {
        self == Self::Tessera
    }

    /// Workload and durability of the cases.
    fn cases(self) -> &'static [(Work, Commits)] {
        match self {
            Self::Tessera => &[
                (Work::Ledger, Commits::Wait),
                (Work::Tpcc, Commits::Wait),
                (Work::Ledger, Commits::DoNotWait),
                (Work::Tpcc, Commits::DoNotWait),
            ],
            _ => &[(Work::Ledger, Commits::Wait)],
        }
    }
}

/// Process that works on the database: the parent looks, a child also disturbs.
#[cfg_attr(not(feature = "tessera"), allow(dead_code))] // Toys need not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Parent,
    /// With the seed of its disturbances.
    Child(u64),
}

/// One case, as parent or as child.
#[cfg_attr(not(feature = "tessera"), allow(dead_code))] // Toys need not know.
struct Case {
    store: Store,
    work: Work,
    commits: Commits,
    seed: u64,
    round: usize,
    role: Role,
}

impl Case {
    fn ledgers(&self) -> Result<Box<dyn LedgerStore>, String> {
        let fault = match self.store {
            #[cfg(feature = "tessera")]
            Store::Tessera => {
                return Ok(Box::new(tessera::ledgers(self.commits, self.role)));
            }
            #[cfg(not(feature = "tessera"))]
            Store::Tessera => return Err("Tessera is not compiled in".into()),
            Store::Toy => Fault::None,
            Store::ToyLost => Fault::Lost,
            Store::ToyPartial => Fault::Partial,
            Store::ToyIndex => Fault::StaleIndex,
        };
        Ok(Box::new(Toy(fault)))
    }

    /// Hands the workload to `run`.
    fn with_workload<T>(
        &self,
        run: impl FnOnce(&dyn Workload) -> Result<T, String>,
    ) -> Result<T, String> {
        match self.work {
            Work::Ledger => {
                let store = self.ledgers()?;
                let (accounts, sessions, seed) = (ACCOUNTS, SESSIONS, self.seed);
                let durability = self.commits.durability();
                run(&Ledger { store: &*store, durability, accounts, sessions, seed })
            }
            #[cfg(feature = "tessera")]
            Work::Tpcc if self.store == Store::Tessera => {
                run(&tpcc::Tpcc::new(self.commits, self.seed, self.round, self.role))
            }
            Work::Tpcc => Err("only Tessera runs TPC-C".into()),
        }
    }
}

/// Works until it is killed.
///
/// # Errors
/// Errors of the database.
pub fn child(args: &ChildArgs) -> Outcome {
    let &ChildArgs { store, workload: work, commits, seed, round, .. } = args;
    let role = Role::Child(seed.wrapping_mul(1_000_003).wrapping_add(round as u64));
    let case = Case { store, work, commits, seed, round, role };
    case.with_workload(|workload| torture::child(workload, &args.path))
}

/// Kills children and audits.
///
/// # Errors
/// Lost, partial or inconsistent transactions; the directory stays for a look.
pub fn run(args: &TortureArgs) -> Outcome {
    let fresh = std::env::temp_dir().join(format!("tessera-torture-{}", std::process::id()));
    let path = args.path.clone().unwrap_or(fresh);
    let wanted = |(work, commits): &&(Work, Commits)| {
        args.workload.is_none_or(|w| w == *work) && args.commits.is_none_or(|c| c == *commits)
    };
    let cases: Vec<(Work, Commits)> = args.store.cases().iter().filter(wanted).copied().collect();
    if cases.is_empty() {
        return Err("the store does not have this workload".into());
    }
    let _rivals = rivals::Rivals::start(args.rivals, args.seed);
    for (number, &(work, commits)) in cases.iter().enumerate() {
        // The first cases get what division leaves.
        let rounds = (args.kills + cases.len() - 1 - number) / cases.len();
        let directory = path.join(format!("{}-{}", name(work), name(commits)));
        let summary = torture_case(args, (work, commits), rounds, &directory)?;
        println!(
            "{:?}, {}, commits {}: {} kills, {} of them before a commit; {} commits acknowledged, \
             none {}lost, none partial; recovery and audit took {} ms at most",
            args.store,
            name(work),
            name(commits),
            summary.rounds,
            summary.early,
            summary.acknowledged,
            if commits == Commits::Wait { "" } else { "but the last " },
            summary.verify_ms_max
        );
    }
    if args.path.is_none() {
        std::fs::remove_dir_all(&path).map_err(text)?;
    }
    Ok(())
}

fn torture_case(
    args: &TortureArgs,
    (work, commits): (Work, Commits),
    rounds: usize,
    directory: &Path,
) -> Result<Summary, String> {
    let program = std::env::current_exe().map_err(text)?;
    let life_ms_max = if args.rivals == 0 { LIFE_MS } else { LIFE_FACTOR * LIFE_MS };
    let options = torture::Options { rounds, seed: args.seed, life_ms_max };
    let child = ChildArgs {
        seed: args.seed,
        round: 0,
        workload: work,
        store: args.store,
        commits,
        path: directory.to_path_buf(),
    };
    let start = |round| {
        let child = ChildArgs { round, ..child.clone() };
        child_command(&child, &program, args.rivals > 0)
    };
    let (store, seed, role) = (args.store, args.seed, Role::Parent);
    let case = Case { store, work, commits, seed, round: 0, role };
    let summary =
        case.with_workload(|workload| torture::torture(workload, &start, directory, &options));
    summary.map_err(|error| {
        let case = format!("{}, commits {}", name(work), name(commits));
        format!("{case}, {error}\nleft in {}, and beside it as it was killed", directory.display())
    })
}

/// The name of a value on the command line.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// This program as a child.
fn child_command(args: &ChildArgs, program: &Path, has_rivals: bool) -> Command {
    let mut command = if has_rivals { rivals::yielding(program) } else { Command::new(program) };
    command.arg("torture-child").args([
        format!("--seed={}", args.seed),
        format!("--round={}", args.round),
        format!("--workload={}", name(args.workload)),
        format!("--store={}", name(args.store)),
        format!("--commits={}", name(args.commits)),
        format!("--path={}", args.path.display()),
    ]);
    command
}
