//! `cargo xtask test`: everything CI runs, in order, until something fails.

use std::process::Command;

use crate::python::Extension;
use crate::{Outcome, check, python, root, text};

/// Runs the checks, then the tests of the Python package, then every test of the workspace, the SQL
/// tests among them.
///
/// # Errors
/// What failed first.
pub fn run() -> Outcome {
    check::run(true)?;
    let all = ["--workspace", "--features", "xtask/tessera"];
    // All tests with all libraries, among them the extension module.
    cargo(&[&["build", "--lib", "--tests"], &all[..]].concat())?;
    python::run(Extension::Built)?;
    cargo(&[&["test"], &all[..]].concat())
}

/// Runs cargo in the workspace.
///
/// # Errors
/// When it fails.
pub fn cargo(arguments: &[&str]) -> Outcome {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status =
        Command::new(program).args(arguments).current_dir(root()).status().map_err(text)?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", arguments.join(" "))) }
}
