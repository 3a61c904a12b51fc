//! Kills a database at random and looks what is left.
//!
//! ```text
//! parent: start child -> read acknowledgements -> SIGKILL -> verify -> again, same directory
//! child:  open, run the workload, write a line for each commit that has been acknowledged
//! ```
//! Each second round verifies a copy, so that the next child opens what the kill left, and not
//! what a well closed database left. In any case a state as it was after the kill remains.
//! Invariant: a line is written after its commit came back, so every whole line is a promise.
//! Elsewhere: power loss, for a killed process keeps what it gave to the system; that needs a
//! simulated disk.

pub mod ledger;
pub mod toy;
#[cfg(feature = "slt")]
pub mod sql;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::Random;

/// Work of a child, and the check of what it left.
pub trait Workload: Sync {
    /// Runs on the database in `directory`, which it makes when there is none, until it is
    /// killed. `acknowledge` gets one line for each commit.
    ///
    /// # Errors
    /// When the database cannot be opened, or says something that must not happen.
    fn run(&self, directory: &Path, acknowledge: &Acknowledge<'_>) -> Result<(), String>;

    /// Opens the database and looks whether everything in `lines`, from all rounds so far, is
    /// there, and nothing by halves. `kills` is the number of rounds.
    ///
    /// # Errors
    /// Description of the damage.
    fn verify(&self, directory: &Path, lines: &[String], kills: usize) -> Result<(), String>;
}

/// Takes the line of a commit.
pub type Acknowledge<'a> = dyn Fn(&str) + Sync + 'a;

/// How often and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Children to kill.
    pub rounds: usize,
    /// Where chance begins.
    pub seed: u64,
    /// The longest a child lives in milliseconds.
    pub life_ms_max: u64,
}

/// Totals of all rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Children killed.
    pub rounds: usize,
    /// Commits acknowledged, all verified after each round.
    pub acknowledged: usize,
    /// Rounds whose child was killed before its first commit.
    pub early: usize,
    /// Time of opening and verifying, the longest.
    pub verify_ms_max: u128,
}

/// The child's side: runs `workload`, and writes the lines to standard output.
///
/// # Errors
/// Errors of the workload.
pub fn child(workload: &dyn Workload, directory: &Path) -> Result<(), String> {
    let acknowledge = |line: &str| {
        // One write, so that no line is torn between two threads; when the parent is gone, the
        // child is about to be.
        let _ = std::io::stdout().lock().write_all(format!("{line}\n").as_bytes());
    };
    workload.run(directory, &acknowledge)
}

/// The parent's side: `start` makes the command of the child of a round, from 1, on `directory`.
///
/// # Errors
/// The first thing that is wrong, with the round.
pub fn torture(
    workload: &dyn Workload,
    start: &dyn Fn(usize) -> Command,
    directory: &Path,
    options: &Options,
) -> Result<Summary, String> {
    let mut random = Random::new(options.seed);
    let mut lines = Vec::new();
    let mut summary = Summary::default();
    for round in 1..=options.rounds {
        let at = |message: String| format!("round {round}, seed {}: {message}", options.seed);
        let known = lines.len();
        live_and_die(start(round), &mut random, options, &mut lines).map_err(at)?;
        summary.early += usize::from(lines.len() == known);
        let copy = copy_of(directory).map_err(|error| at(error.to_string()))?;
        let verified = if round % 2 == 0 { directory } else { &copy };
        let begun = Instant::now();
        workload.verify(verified, &lines, round).map_err(at)?;
        summary.verify_ms_max = summary.verify_ms_max.max(begun.elapsed().as_millis());
        summary.rounds = round;
        summary.acknowledged = lines.len();
    }
    Ok(summary)
}

/// Copies `directory` beside itself, in the place of the last copy.
fn copy_of(directory: &Path) -> std::io::Result<PathBuf> {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push("-killed");
    let copy = directory.with_file_name(name);
    match fs::remove_dir_all(&copy) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // A child may have been killed before it made anything.
    fs::create_dir_all(directory)?;
    copy_directory(directory, &copy)?;
    Ok(copy)
}

fn copy_directory(source: &Path, target: &Path) -> std::io::Result<()> {
    fs::create_dir_all(target)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_directory(&from, &to)?
        } else {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

/// One child, from its start to its end.
fn live_and_die(
    mut command: Command,
    random: &mut Random,
    options: &Options,
    lines: &mut Vec<String>,
) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(text)?;
    let received = acknowledgements(&mut child)?;
    // One in five dies while it opens, the others at some time after their first commit.
    if !random.chance(20)
        && let Ok(line) = received.recv()
    {
        lines.push(line);
    }
    let life = Duration::from_millis(random.below(options.life_ms_max.max(1)));
    let end = Instant::now() + life;
    loop {
        match received.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait().map_err(text)?;
                return Err(format!("the child ended by itself: {status}"));
            }
        }
        if Instant::now() >= end {
            break;
        }
    }
    child.kill().map_err(text)?;
    child.wait().map_err(text)?;
    // What the child wrote before its death is still in the pipe.
    lines.extend(received);
    Ok(())
}

/// The whole lines that `child` writes; a torn last one is no promise.
fn acknowledgements(child: &mut Child) -> Result<Receiver<String>, String> {
    let output = child.stdout.take().ok_or("the child has no output")?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(output);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if line.ends_with('\n') && sender.send(line.trim_end().to_owned()).is_err() {
                break;
            }
            line.clear();
        }
    });
    Ok(receiver)
}
