//! `cargo xtask test`: everything CI runs, in order, until something fails.

use crate::python::Extension;
use crate::workspace::cargo;
use crate::{Outcome, check, python};

/// Runs the checks, then the tests of the Python package, then every test of the workspace, the SQL
/// tests among them.
///
/// # Errors
/// First failure.
pub fn run() -> Outcome {
    check::run(true)?;
    let all = ["--workspace", "--features", "xtask/tessera,bus/kv,bus/sqlite"];
    // All tests with all libraries, among them the extension module.
    cargo(&[&["build", "--lib", "--tests"], &all[..]].concat())?;
    python::run(Extension::Built)?;
    cargo(&[&["test"], &all[..]].concat())
}
