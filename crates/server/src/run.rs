//! Carries out the command line.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;

use engine::{Database, Files, Session};
use types::Result;

use crate::arguments::{Arguments, Command, Limits, similar_command};
use crate::database::{config_of, open, open_node};
use crate::display::Display;
use crate::execute::run_text;
use crate::{bus, bus_demo, demo, interrupt, processes, report, serve, shared_demo, shell, stores};

const SQL_ERROR: u8 = 1;
const USAGE_ERROR: u8 = 2;

/// Runs the program.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let outcome = match &arguments.command {
        Some(Command::Demo { sf }) => {
            open(None, &arguments.limits).and_then(|db| demo::run(&db, *sf, arguments.format))
        }
        Some(Command::Serve(options)) => serve::run(options, &arguments.limits),
        Some(Command::Bus(options)) => bus::run(options, &arguments.limits),
        Some(Command::Store(options)) => processes::store(options, &arguments.limits),
        Some(Command::CommitManager(options)) => processes::commit_manager(options),
        Some(Command::Stores(options)) => stores::run(options),
        Some(Command::BusDemo { read_ms }) => bus_demo::run(*read_ms),
        Some(Command::SharedDemo(options)) => shared_demo::run(options),
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

/// Message when the path of a new database looks like a command with a slip of the finger: no
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

fn statements(arguments: &Arguments) -> Result<ExitCode> {
    let database = open_node(arguments.path.as_deref(), &arguments.limits, &arguments.shared)?;
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
    let display = Display::new(arguments.format);
    for sql in &arguments.commands {
        if !run_text(&mut session, sql, &display) {
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
