//! `cargo xtask test`: everything CI runs, in order, until something fails; tests run to their end.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::python::Extension;
use crate::workspace::{cargo, in_workspace, lints_while_building, root, text};
use crate::{Outcome, check, python};

/// Runs the checks, then the tests of the Python package, then every test of the workspace, the SQL
/// tests among them.
///
/// # Errors
/// First failure; of tests, the programs that failed twice.
pub fn run() -> Outcome {
    check::run(true)?;
    let features = "xtask/tessera,bus/kv,bus/sqlite,bus/postgres,bus/zookeeper";
    let all = ["--workspace", "--features", features];
    // All tests with all libraries, among them the extension module.
    let built: &[&str] =
        if lints_while_building() { &["--all-targets"] } else { &["--lib", "--tests"] };
    cargo(&[&["build"], built, &all[..]].concat())?;
    python::run(Extension::Built)?;
    let failed = test_programs(&all)?;
    again(&failed)
}

/// A test program that failed.
struct Failed {
    /// Words by which cargo names it: `-p engine --test bus`.
    name: String,
    /// The program; none for tests of documentation.
    program: Option<PathBuf>,
}

/// Runs all test programs and returns those that failed.
fn test_programs(all: &[&str]) -> Result<Vec<Failed>, String> {
    let mut command = in_workspace();
    command.args(["test", "--no-fail-fast"]).args(all).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(text)?;
    let Some(errors) = child.stderr.take() else { return Err("no standard error".into()) };
    let (mut failed, mut running) = (Vec::new(), None);
    for line in BufReader::new(errors).lines() {
        let line = line.map_err(text)?;
        eprintln!("{line}");
        if let Some(program) = program_of(&line) {
            running = program;
        } else if let Some(name) = failure_of(&line) {
            failed.push(Failed { name, program: running.take() });
        }
    }
    let status = child.wait().map_err(text)?;
    let unknown = failed.is_empty() && !status.success();
    if unknown { Err("cargo test failed".into()) } else { Ok(failed) }
}

/// Runs what failed a second time, alone: other programs keep the machine busy in a run of all.
/// What passes then is named, for somebody to mend; what fails twice fails the run.
fn again(failed: &[Failed]) -> Outcome {
    let mut twice = Vec::new();
    for Failed { name, program } in failed {
        println!("once more: {name}");
        let passed = match program {
            Some(program) => Command::new(program)
                .current_dir(directory_of(name))
                .env("CARGO_MANIFEST_DIR", directory_of(name))
                .status()
                .is_ok_and(|status| status.success()),
            None => false,
        };
        if passed {
            println!("UNSTABLE: {name} failed among all and passed alone");
        } else {
            twice.push(name.as_str());
        }
    }
    if twice.is_empty() { Ok(()) } else { Err(format!("tests failed: {}", twice.join(", "))) }
}

/// The program of cargo's line `Running tests/x.rs (target/debug/deps/x-1)`, and that there is
/// none of `Doc-tests x`.
fn program_of(line: &str) -> Option<Option<PathBuf>> {
    let line = line.trim_start();
    if line.starts_with("Doc-tests ") {
        return Some(None);
    }
    let path = line.strip_prefix("Running ")?.rsplit_once(" (")?.1.strip_suffix(')')?;
    Some(Some(root().join(path)))
}

/// The words of cargo's line that names a failed program.
fn failure_of(line: &str) -> Option<String> {
    let words = line.strip_prefix("error: test failed, to rerun pass `")?;
    Some(words.strip_suffix('`')?.to_owned())
}

/// Directory of the crate whose test has the name.
fn directory_of(name: &str) -> PathBuf {
    let package = name.strip_prefix("-p ").and_then(|rest| rest.split(' ').next());
    root().join("crates").join(package.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_name_programs_and_failures() {
        let line = "     Running tests/bus.rs (target/debug/deps/bus-7f)";
        assert_eq!(program_of(line), Some(Some(root().join("target/debug/deps/bus-7f"))));
        let line = "     Running unittests src/lib.rs (/t/debug/deps/bus-7f)";
        assert_eq!(program_of(line), Some(Some(PathBuf::from("/t/debug/deps/bus-7f"))));
        assert_eq!(program_of("   Doc-tests types"), Some(None));
        assert_eq!(program_of("running 3 tests"), None);
        let line = "error: test failed, to rerun pass `-p engine --test bus`";
        let name = failure_of(line).expect("a failure");
        assert_eq!(name, "-p engine --test bus");
        assert_eq!(directory_of(&name), root().join("crates/engine"));
        assert_eq!(failure_of("error: 1 target failed:"), None);
    }
}
