//! `cargo xtask python`: the Python packages, built by pip and tested by pytest.
//!
//! ```text
//! target/peers/python (venv: maturin, pytest, pandas ...) <- pip install . <- crates/python/tests
//!                                                         <- target/debug/lib_tessera.so
//! ```
//! `cargo xtask test` takes the second way.

use std::path::Path;
use std::process::Command;

use crate::venv::{environment, must};
use crate::workspace::cargo;
use crate::{Outcome, peers_home, root, text};

const PACKAGES: [&str; 10] = [
    "maturin==1.16.0",
    "pytest==9.2.0",
    "numpy==2.4.6",
    "pandas==3.1.1",
    "polars==2.1.0",
    "pyarrow==26.0.1",
    "duckdb==2.0.0",
    "grpcio==1.85.1",
    "grpcio-reflection==1.85.1",
    "grpcio-health-checking==1.85.1",
];

/// The client of the message bus, whose tests start `target/debug/tessera`.
const BUS_CLIENT: &str = "clients/python";

/// Where the extension module comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// pip has it compiled.
    Pip,
    /// Cargo compiled it with everything else. pip would compile the workspace's libraries once
    /// more: alone, `python` has other features of its dependencies than among all crates.
    Built,
}

/// Installs and tests the packages; without `python3` it only says so.
///
/// # Errors
/// When the package cannot be built, or a test fails.
pub fn run(extension: Extension) -> Outcome {
    let asked = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    if !asked.is_ok_and(|output| output.status.success()) {
        println!("python: skipped, there is no python3 with venv on this machine");
        return Ok(());
    }
    let folder = peers_home().join("python");
    let python = environment(&folder, &PACKAGES)?;
    let mut pip = command(&folder, &python)?;
    let how = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index"];
    pip.args(["-m", "pip", "install"]).args(how).arg(root());
    match extension {
        Extension::Pip => {
            must(pip.arg("--config-settings=build-args=--profile dev"))?;
            cargo(&["build", "--package", "server"])?;
        }
        Extension::Built => {
            // The package's metadata, at least, is read as pip does.
            must(pip.arg("--dry-run"))?;
            install_built(&folder)?;
        }
    }
    let mut pytest = command(&folder, &python)?;
    pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]);
    must(&mut pytest)?;
    // As it is used where it lies: pip would fetch setuptools to build it.
    let mut pytest = command(&folder, &python)?;
    pytest.env("PYTHONPATH", root().join(BUS_CLIENT)).args(["-m", "pytest", "--quiet"]);
    pytest.args(["-p", "no:cacheprovider", "--rootdir", BUS_CLIENT, "-c"]);
    must(pytest.arg(format!("{BUS_CLIENT}/pyproject.toml")).arg(BUS_CLIENT))
}

/// Puts the package and the extension that cargo built where Python finds them.
fn install_built(folder: &Path) -> Outcome {
    let libraries = std::fs::read_dir(folder.join("lib")).map_err(text)?;
    let library = libraries.filter_map(Result::ok).map(|entry| entry.path());
    let packages = library.map(|path| path.join("site-packages")).find(|path| path.is_dir());
    let package = packages.ok_or("the environment has no site-packages")?.join("tessera");
    let sources = root().join("crates/python/python/tessera");
    std::fs::create_dir_all(&package).map_err(text)?;
    for entry in std::fs::read_dir(sources).map_err(text)? {
        let path = entry.map_err(text)?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            std::fs::copy(&path, package.join(name)).map_err(text)?;
        }
    }
    let built = peers_home().with_file_name("debug").join("lib_tessera.so");
    std::fs::copy(built, package.join("_tessera.abi3.so")).map(drop).map_err(text)
}

/// `python` in the workspace, with the environment's programs.
fn command(folder: &Path, python: &Path) -> Result<Command, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.join("bin")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).map_err(text)?;
    let mut command = Command::new(python);
    command.env("PATH", path).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(root());
    Ok(command)
}
