//! Opens the database and does what the command line says.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;

use engine::{Config, Database, Files, Session};
use types::Result;

use crate::arguments::{Arguments, Command, Format, Limits, similar_command};
use crate::{demo, interrupt, progress, render, report, serve, shell};

const SQL_ERROR: u8 = 1;
const USAGE_ERROR: u8 = 2;

/// Runs the program.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let outcome = match &arguments.command {
        Some(Command::Demo { sf }) => {
            open(None, &arguments.limits).and_then(|db| demo::run(&db, *sf, arguments.format))
        }
        Some(Command::Serve(options)) => serve::run(options, &arguments.limits),
        Some(Command::Check { path }) => check(path, &arguments.limits),
        None => match mistyped(arguments.path.as_deref()) {
            Some(message) => {
                eprintln!("tessera: {message}");
                return ExitCode::from(USAGE_ERROR);
            }
            None => statements(arguments),
        },
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            report::print("", &error);
            ExitCode::from(SQL_ERROR)
        }
    }
}

/// What to say when the path of a new database looks like a command with a slip of the finger: no
/// directory should come of it.
fn mistyped(path: Option<&Path>) -> Option<String> {
    let path = path.filter(|path| !path.exists())?;
    let word = path.to_str()?;
    let command = similar_command(word)?;
    Some(format!(
        "no command and no database is called \"{word}\"; did you mean \"{command}\"? \
         (./{word} would be a new database)"
    ))
}

fn config_of(limits: &Limits) -> Config {
    let mut config = Config::default();
    if let Some(threads) = limits.threads {
        config.threads = threads.into();
    }
    if let Some(memory) = limits.memory {
        config.memory_bytes = memory;
    }
    config
}

/// The path that means a database in memory, as for SQLite and DuckDB.
const IN_MEMORY: &str = ":memory:";

/// A database with formats and workloads registered: that in `path`, or one in memory.
pub(crate) fn open(path: Option<&Path>, limits: &Limits) -> Result<Database> {
    let config = config_of(limits);
    let database = match path.filter(|path| *path != Path::new(IN_MEMORY)) {
        Some(path) => Database::open(path, config)?,
        None => Database::open_in_memory(config)?,
    };
    formats::register(&database);
    workloads::register(&database);
    wire::register(&database);
    Ok(database)
}

fn statements(arguments: &Arguments) -> Result<ExitCode> {
    let database = open(arguments.path.as_deref(), &arguments.limits)?;
    let status = run_session(arguments, database.session());
    database.close()?;
    Ok(status)
}

/// Prints what is wrong with the database in `path`.
fn check(path: &Path, limits: &Limits) -> Result<ExitCode> {
    let report = Database::check(path, &config_of(limits), &Files::default())?;
    report.findings.iter().for_each(|finding| println!("{finding}"));
    report.problems.iter().for_each(|finding| println!("{finding}"));
    if report.is_sound() {
        println!("sound: {} tables, {} rows", report.tables, report.rows);
    }
    Ok(status(report.is_sound()))
}

fn run_session(arguments: &Arguments, mut session: Session) -> ExitCode {
    interrupt::watch(&session.cancel_handle());
    for sql in &arguments.commands {
        if !run_text(&mut session, sql, arguments.format) {
            return ExitCode::from(SQL_ERROR);
        }
    }
    if let Some(path) = &arguments.file {
        let text = if path.as_os_str() == "-" {
            read_standard_input()
        } else {
            std::fs::read_to_string(path)
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                eprintln!("tessera: {}: {error}", path.display());
                return ExitCode::from(USAGE_ERROR);
            }
        };
        return status(shell::run_script(&mut session, &text, arguments.format));
    }
    if !arguments.commands.is_empty() {
        return ExitCode::SUCCESS;
    }
    if std::io::stdin().is_terminal() {
        shell::run(&mut session, arguments.format);
        return ExitCode::SUCCESS;
    }
    match read_standard_input() {
        Ok(text) => status(shell::run_script(&mut session, &text, arguments.format)),
        Err(error) => {
            eprintln!("tessera: standard input: {error}");
            ExitCode::from(USAGE_ERROR)
        }
    }
}

fn status(fine: bool) -> ExitCode {
    if fine { ExitCode::SUCCESS } else { ExitCode::from(SQL_ERROR) }
}

fn read_standard_input() -> std::io::Result<String> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

/// Runs all statements of `text` and prints their results; false after an error, which is reported.
pub(crate) fn run_text(session: &mut Session, text: &str, format: Format) -> bool {
    let bar = progress::Watch::start(session);
    let outcome = session.execute_each(text, |result| {
        bar.pause();
        render::print(&result, format)
    });
    bar.stop();
    if let Err(error) = outcome {
        report::print(text, &error);
        return false;
    }
    true
}
