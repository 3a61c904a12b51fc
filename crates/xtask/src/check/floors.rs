//! Floors inside a crate: its modules stand in an order, and imports point down.
//!
//! ```text
//! lib.rs, after `// Floors: lowest first.`      mod words; mod rows; mod tables;
//! tables.rs:  use crate::rows::Row;             down: fine
//! rows.rs:    use crate::tables::Table;         up: check fails
//! lib.rs:     pub use tables::Table;
//! words.rs:   use crate::Table;                 resolved to tables::Table: up
//! ```
//! Invariants: no more than [`CIRCLE_MAX`] files import each other in a circle, parents and
//! children apart; a crate or a room (a file `x.rs` with its folder `x/`) that has the comment has
//! no import that points up; arrows between a module and one inside of it are free, apart from what
//! `lib.rs` itself defines, which lies above all floors. Code for tests alone is left out.
//! Imports only: a method that a higher floor adds to a type of a lower one is not seen.
//! Called by `cargo xtask check`, which fails, and by `cargo xtask floors`, which lists.

// Floors: lowest first.
mod references;
mod modules;
mod resolve;
mod circles;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use modules::{Crate, Module, ModuleIdx};
use resolve::Import;

use super::{crate_name, relative};
use crate::Outcome;

/// The line before the `mod` lines of a file that promises floors.
const COMMENT: &str = "// Floors: lowest first.";

/// Files that may import each other in a circle.
const CIRCLE_MAX: usize = 6;

/// Adds the upward imports of a crate, and of its rooms, that promise to have none, and circles of
/// too many files.
///
/// # Errors
/// A file that cannot be read or parsed.
pub(super) fn check(folder: &Path, problems: &mut Vec<String>) -> Outcome {
    let Some(found) = read(folder)? else { return Ok(()) };
    for module in found.misplaced() {
        problems.push(format!(
            "{}: `{COMMENT}` stands before the first `mod` line or nowhere",
            module.file
        ));
    }
    let imports = found.imports();
    for circle in circles::circles(&found, &imports) {
        if circle.len() > CIRCLE_MAX {
            problems.push(format!(
                "{} files import each other in a circle, {CIRCLE_MAX} may: {}",
                circle.len(),
                circle.join(", ")
            ));
        }
    }
    for upward in upward_imports(&found, imports) {
        if upward.promised == Promise::Given {
            problems.push(upward.to_string());
        }
    }
    Ok(())
}

/// Prints the upward imports of a crate and its circles of files.
///
/// # Errors
/// A file that cannot be read or parsed.
pub(super) fn report(folder: &Path) -> Outcome {
    let Some(found) = read(folder)? else { return Ok(()) };
    let imports = found.imports();
    let circles = circles::circles(&found, &imports);
    let upward = upward_imports(&found, imports);
    let promise = if found.root().is_ordered { "floors" } else { "no floors" };
    let (name, in_circles) = (crate_name(folder), circles.iter().map(Vec::len).sum::<usize>());
    println!(
        "{name}: {promise}, {} upward imports, {} circles with {in_circles} files",
        upward.len(),
        circles.len()
    );
    for import in upward {
        println!("  {import}");
    }
    for circle in circles {
        println!("  circle of {}: {}", circle.len(), circle.join(", "));
    }
    Ok(())
}

/// The modules of a crate, if it has a library or a program.
fn read(folder: &Path) -> Result<Option<Crate>, String> {
    let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
    let Some(root) = roots.into_iter().find(|root| root.is_file()) else { return Ok(None) };
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    Crate::read(&root, &read, &relative).map(Some)
}

/// Comment about floors at the parent of two, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    Given,
    Missing,
}

/// An import of what lies higher.
#[derive(Debug)]
struct Upward {
    file: String,
    line: usize,
    /// The room that imports, and its floor.
    from: Floor,
    /// Module that it imports, as a path below the crate.
    target: String,
    /// The room of `target`.
    to: Floor,
    promised: Promise,
}

/// A room among its siblings.
#[derive(Debug)]
struct Floor {
    name: String,
    /// Number from 1, the lowest.
    number: usize,
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (floor {})", self.name, self.number)
    }
}

impl fmt::Display for Upward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, from, target, to, .. } = self;
        write!(f, "{file}:{line}: {from} imports {target} of {to}")
    }
}

/// The imports of a crate that point up: between its top-level modules in any case, inside of rooms
/// where the room has the comment. One for each file and name, in the order of files and lines.
fn upward_imports(found: &Crate, imports: Vec<Import>) -> Vec<Upward> {
    let mut upward = Vec::new();
    for import in imports {
        let ancestor = found.common_ancestor(import.from, import.to);
        let parent = found.module(ancestor);
        if ancestor == import.from || ancestor == import.to && parent.parent.is_some() {
            continue;
        }
        let promised = if parent.is_ordered { Promise::Given } else { Promise::Missing };
        if promised == Promise::Missing && parent.parent.is_some() {
            continue;
        }
        let from = floor(found, parent, import.from);
        let to = floor(found, parent, import.to);
        if from.number < to.number {
            let file = found.module(import.from).file.clone();
            upward.push(Upward {
                file,
                line: import.line,
                from,
                target: import.target,
                to,
                promised,
            });
        }
    }
    upward
}

/// The child of `parent` that holds `idx`; the parent itself lies above its children.
fn floor(found: &Crate, parent: &Module, idx: ModuleIdx) -> Floor {
    let place = parent.children.iter().position(|child| found.is_inside(idx, *child));
    match place {
        Some(place) => {
            let name = found.module(parent.children[place]).path.join("::");
            Floor { name, number: place + 1 }
        }
        None => Floor { name: parent.file.clone(), number: parent.children.len() + 1 },
    }
}
