//! Python environments under `target/peers`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, text};

/// The `python` of the environment in `folder`, which holds `packages` and is made when it does
/// not: that needs `python3` with `venv`, and the package index.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn environment(folder: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    // Other versions are another environment.
    let ready = folder.join("ready");
    if std::fs::read_to_string(&ready).is_ok_and(|made| made == packages.join(" ")) {
        return Ok(python);
    }
    must(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    must(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
    std::fs::write(ready, packages.join(" ")).map_err(text)?;
    Ok(python)
}

/// Runs `command` until it ends.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub(crate) fn must(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
