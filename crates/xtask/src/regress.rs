//! `cargo xtask regress DIRECTORY`: files of statements on Tessera's server and on PostgreSQL, in
//! lock-step. Meant for PostgreSQL's own regression tests, whose files are not in this repository.
//!
//! ```text
//! FILE.sql -> script: steps -> each on PostgreSQL, then on Tessera -> compare: verdict -> a table
//!                                '-- a database and a server of their own for each file
//! ```
//! `test_setup.sql` of the directory, when it is there, runs before each file and is not counted.
//! Elsewhere: how a statement is found (`script`), when two answers are the same (`compare`).

mod compare;
mod script;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use testkit::postgres::{Postgres, Wire};

use crate::server::Server;
use crate::{Outcome, text, workspace};
use compare::{Verdict, line, verdict};
use script::{Step, steps};

/// Options of `cargo xtask regress`.
#[derive(Args)]
pub struct RegressArgs {
    /// Directory of the files
    directory: PathBuf,
    /// Only these, by name without `.sql`
    #[arg(long, value_delimiter = ',')]
    files: Vec<String>,
    /// Server that is built already, instead of building one
    #[arg(long)]
    program: Option<PathBuf>,
    /// Seconds that a statement may take
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Percentage of equal statements below which the command fails
    #[arg(long, default_value_t = 0.0)]
    least: f64,
    /// File for the statements that differ, with both answers
    #[arg(long)]
    differences: Option<PathBuf>,
}

/// Name of the file that makes what the others expect.
const SETUP: &str = "test_setup";

/// Memory of Tessera's server.
const MEMORY: &str = "2GB";

/// Seconds a server may be silent beyond the time of a statement.
const SILENT_SECONDS: u64 = 30;

/// How many statements came to which verdict.
type Tally = BTreeMap<Verdict, usize>;

/// Runs the files and prints a line for each.
///
/// # Errors
/// When a statement ended in an error of class XX, a lost connection or out of time, or fewer
/// are equal than wanted.
pub fn run(args: &RegressArgs) -> Outcome {
    if args.program.is_none() {
        workspace::cargo(&["build", "--release", "--package", "server"])?;
    }
    let postgres = Postgres::start().map_err(text)?;
    let mut differences = match &args.differences {
        Some(path) => Some(fs::File::create(path).map_err(text)?),
        None => None,
    };
    let setup = match fs::read(args.directory.join(format!("{SETUP}.sql"))) {
        Ok(bytes) => steps(&String::from_utf8_lossy(&bytes)),
        Err(_) => Vec::new(),
    };
    let mut total = Tally::new();
    for name in names(args)? {
        let bytes = fs::read(args.directory.join(format!("{name}.sql"))).map_err(text)?;
        let mut pair = Pair::open(args, &postgres, &name)?;
        for step in &setup {
            pair.run(step)?;
        }
        let mut tally = Tally::new();
        for step in steps(&String::from_utf8_lossy(&bytes)) {
            let (verdict, replies) = pair.run(&step)?;
            *tally.entry(verdict).or_default() += 1;
            if let Some(file) = differences.as_mut().filter(|_| verdict != Verdict::Equal) {
                let sql = step.sql.replace('\n', " ");
                let verdict = verdict.name();
                writeln!(file, "{name}: {verdict}: {sql}\n{replies}").map_err(text)?;
            }
        }
        println!("{}", row(&name, &tally));
        tally.into_iter().for_each(|(verdict, count)| *total.entry(verdict).or_default() += count);
    }
    println!("{}", row("all", &total));
    judge(&total, args.least)
}

/// The files to run, without the one that prepares.
fn names(args: &RegressArgs) -> Result<Vec<String>, String> {
    if !args.files.is_empty() {
        return Ok(args.files.clone());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&args.directory).map_err(text)? {
        let path = entry.map_err(text)?.path();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        if path.extension().is_some_and(|end| end == "sql") {
            names.extend(stem.filter(|stem| stem != SETUP));
        }
    }
    names.sort();
    Ok(names)
}

/// `name: 7 of 10 equal; value 1, refused 2`.
fn row(name: &str, tally: &Tally) -> String {
    let count = |verdict| tally.get(&verdict).copied().unwrap_or(0);
    let different: Vec<String> = Verdict::DIFFERENT
        .into_iter()
        .filter(|&verdict| count(verdict) > 0)
        .map(|verdict| format!("{} {}", verdict.name(), count(verdict)))
        .collect();
    let all: usize = tally.values().sum();
    format!("{name}: {} of {all} equal; {}", count(Verdict::Equal), different.join(", "))
}

fn judge(total: &Tally, least: f64) -> Outcome {
    let all: usize = total.values().sum();
    let equal = total.get(&Verdict::Equal).copied().unwrap_or(0);
    let percent = 100.0 * equal as f64 / all.max(1) as f64;
    println!("{percent:.1} % equal");
    let fatal: usize = total.iter().filter(|(v, _)| v.is_fatal()).map(|(_, count)| count).sum();
    match fatal {
        0 if percent >= least => Ok(()),
        0 => Err(format!("fewer than {least} % are equal")),
        _ => Err(format!("{fatal} statements ended in what none may end in")),
    }
}

/// A database of PostgreSQL and one of Tessera, both new.
struct Pair {
    oracle: Wire,
    tessera: Wire,
    socket: PathBuf,
    settings: Vec<String>,
    patience: Duration,
    /// The last field: sessions end before it does.
    _server: Server,
}

impl Pair {
    fn open(args: &RegressArgs, postgres: &Postgres, name: &str) -> Result<Self, String> {
        let database = format!("\"regress_{name}\"");
        let mut admin = postgres.connect("postgres").map_err(text)?;
        admin.copy_in(&format!("CREATE DATABASE {database}"), "").map_err(text)?;
        let folder = postgres.folder().to_path_buf();
        let server = Server::start(args.program.as_deref(), options(&folder))?;
        let socket = folder.join(format!(".s.PGSQL.{}", server.port));
        let patience = Duration::from_secs(args.seconds + SILENT_SECONDS);
        let mut pair = Self {
            oracle: postgres.connect(database.trim_matches('"')).map_err(text)?,
            tessera: connect(&socket, patience)?,
            socket,
            settings: vec![format!("SET statement_timeout = '{}s'", args.seconds)],
            patience,
            _server: server,
        };
        for setting in &pair.settings {
            pair.oracle.copy_in(setting, "").map_err(text)?;
            pair.tessera.copy_in(setting, "").map_err(text)?;
        }
        Ok(pair)
    }

    /// Runs one statement on both; the verdict, and the answers for people.
    fn run(&mut self, step: &Step) -> Result<(Verdict, String), String> {
        let expected = self.oracle.copy_in(&step.sql, &step.input);
        let found = self.tessera.copy_in(&step.sql, &step.input);
        let mut verdict = verdict(&step.sql, &expected, &found);
        if verdict == Verdict::Internal && !self.is_alive() {
            verdict = Verdict::Lost;
            self.tessera = connect(&self.socket, self.patience)?;
        }
        let replies = format!("  PostgreSQL: {}\n  Tessera:    {}", line(&expected), line(&found));
        Ok((verdict, replies))
    }

    /// True while the session of Tessera answers; one that ended a transaction block with an error
    /// answers with that.
    fn is_alive(&mut self) -> bool {
        match self.tessera.copy_in("SELECT 1", "") {
            Ok(_) => true,
            Err(error) => !error.sqlstate.starts_with("XX"),
        }
    }
}

fn connect(socket: &Path, patience: Duration) -> Result<Wire, String> {
    Wire::connect_within(socket, "postgres", "postgres", Some(patience)).map_err(text)
}

/// Options of the server: no passwords, a socket beside PostgreSQL's.
fn options(folder: &Path) -> Vec<OsString> {
    let options = ["--auth", "trust", "--user", "postgres", "--memory", MEMORY, "--unix-socket"];
    let mut options: Vec<OsString> = options.iter().map(OsString::from).collect();
    options.push(folder.into());
    options
}
