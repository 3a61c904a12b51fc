//! `cargo xtask test`: everything CI runs, in order, until something fails.

use std::process::Command;

use crate::{Outcome, check, python, root, text};

/// Runs the checks, then the tests of the Python package, then every test of the workspace, the SQL
/// tests among them.
///
/// # Errors
/// What failed first.
pub fn run() -> Outcome {
    check::run(true)?;
    python::run()?;
    cargo(&["test", "--workspace", "--features", "xtask/tessera"])
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
