//! The workspace as the commands see it: its directory, cargo in it, and how commands end.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Outcome of a command: nothing, or why it failed.
pub type Outcome = Result<(), String>;

/// The workspace's directory.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

pub use testkit::java::peers_home;

/// Turns any error into the text of an [`Outcome`].
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Cargo, in the workspace.
pub(crate) fn in_workspace() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Whether clippy is the compiler of the workspace's crates, as in `.ci/run`: what is built is
/// linted, too.
pub(crate) fn lints_while_building() -> bool {
    let wrapper = std::env::var_os("RUSTC_WORKSPACE_WRAPPER");
    wrapper.is_some_and(|wrapper| Path::new(&wrapper).ends_with("clippy-driver"))
}

/// Runs cargo in the workspace.
///
/// # Errors
/// When it fails.
pub(crate) fn cargo(arguments: &[&str]) -> Outcome {
    let status = in_workspace().args(arguments).status().map_err(text)?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", arguments.join(" "))) }
}
