//! `cargo xtask python`: the Python package, built by pip and tested by pytest.
//!
//! ```text
//! target/peers/python (venv: maturin, pytest, pandas ...) <- pip install . <- crates/python/tests
//! ```
//! The extension module is compiled with the profile of the other tests, into the same directory,
//! so that what they compiled is used again.

use std::path::Path;
use std::process::Command;

use crate::venv::{environment, must};
use crate::{Outcome, peers_home, root};

const PACKAGES: [&str; 7] = [
    "maturin==1.16.0",
    "pytest==9.2.0",
    "numpy==2.4.6",
    "pandas==3.1.1",
    "polars==2.1.0",
    "pyarrow==26.0.1",
    "duckdb==2.0.0",
];

/// Builds, installs and tests the package; without `python3` it only says so.
///
/// # Errors
/// When the package cannot be built, or a test fails.
pub fn run() -> Outcome {
    if Command::new("python3").args(["-c", "import ensurepip, venv"]).output().is_err() {
        println!("python: skipped, there is no python3");
        return Ok(());
    }
    let folder = peers_home().join("python");
    let python = environment(&folder, &PACKAGES)?;
    let mut pip = command(&folder, &python)?;
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
    ])
    .arg("--config-settings=build-args=--profile dev")
    .arg(root());
    must(&mut pip)?;
    let mut pytest = command(&folder, &python)?;
    pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]);
    must(&mut pytest)
}

/// `python` in the workspace, with the environment's programs.
fn command(folder: &Path, python: &Path) -> Result<Command, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.join("bin")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).map_err(crate::text)?;
    let mut command = Command::new(python);
    command.env("PATH", path).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(root());
    Ok(command)
}
