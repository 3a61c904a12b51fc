//! `cargo xtask check`: the rules of the style guide that a program can see.
//!
//! ```text
//! crates/*/Cargo.toml -> layers, heavy dependencies, lints
//! crates/**/*.rs      -> ceilings, width, unfinished marks, unsafe policy, shapes, floors
//! *.md                -> width
//! ```

mod documents;
mod layers;
mod manifests;
mod shapes;
mod sources;
mod floors;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Outcome, root, text, workspace};

/// Checks the workspace; with `full` also its formatting and clippy's lints.
///
/// # Errors
/// How many rules are broken; each is printed.
pub fn run(full: bool) -> Outcome {
    let mut problems = Vec::new();
    let crates = crates().map_err(text)?;
    manifests::check_workspace(&mut problems)?;
    documents::check(&mut problems)?;
    for folder in &crates {
        manifests::check(folder, &mut problems)?;
        sources::check(folder, &mut problems)?;
        shapes::check(folder, &mut problems)?;
        floors::check(folder, &mut problems)?;
    }
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => println!("check: {} crates keep the rules", crates.len()),
        count => return Err(format!("{count} rules broken")),
    }
    if full {
        workspace::cargo(&["fmt", "--all", "--check"])?;
        if !workspace::lints_while_building() {
            let all = ["--workspace", "--all-targets", "--quiet"];
            workspace::cargo(&[&["clippy"], &all[..], &["--", "-D", "warnings"]].concat())?;
        }
    }
    Ok(())
}

/// Prints, crate by crate, the imports that point up and the files that import each other in a
/// circle.
///
/// # Errors
/// A file that cannot be read or parsed.
pub fn floors() -> Outcome {
    crates().map_err(text)?.iter().try_for_each(|folder| floors::report(folder))
}

/// The directories of the workspace's crates, sorted.
fn crates() -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The last part of a crate's directory: its name.
fn crate_name(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

/// `path` as seen from the workspace.
fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
