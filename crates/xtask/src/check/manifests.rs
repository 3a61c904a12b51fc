//! Rules about Cargo.toml files.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::{crate_name, layers, relative};
use crate::{root, text};

/// Lints that the workspace turns on, by tool.
const LINTS: &[(&str, &[&str])] = &[
    ("rust", &["missing_docs", "unreachable_pub"]),
    ("clippy", &["undocumented_unsafe_blocks", "unwrap_used"]),
];

/// Checks the workspace's own manifest and its formatting rules.
pub(super) fn check_workspace(problems: &mut Vec<String>) -> Result<(), String> {
    let manifest = read(&root().join("Cargo.toml"))?;
    for (tool, lints) in LINTS {
        for lint in *lints {
            let set = at(&manifest, &["workspace", "lints", tool, lint]);
            if set.is_none_or(|level| level.as_str() == Some("allow")) {
                problems.push(format!("Cargo.toml: [workspace.lints.{tool}] lacks {lint}"));
            }
        }
    }
    let format = read(&root().join("rustfmt.toml"))?;
    if format.get("max_width").and_then(Value::as_integer) != Some(100) {
        problems.push("rustfmt.toml: max_width is not 100".into());
    }
    if format.get("reorder_modules").and_then(Value::as_bool) != Some(false) {
        problems.push("rustfmt.toml: reorder_modules is not false".into());
    }
    Ok(())
}

/// Checks one crate's manifest.
pub(super) fn check(folder: &Path, problems: &mut Vec<String>) -> Result<(), String> {
    let path = folder.join("Cargo.toml");
    let manifest = read(&path)?;
    let name = crate_name(folder);
    let mut object = |message: String| problems.push(format!("{}: {message}", relative(&path)));
    if at(&manifest, &["package", "name"]).and_then(Value::as_str) != Some(name) {
        object(format!("the package is not called {name}, as its directory"));
    }
    if at(&manifest, &["lints", "workspace"]).and_then(Value::as_bool) != Some(true) {
        object("[lints] workspace = true is missing".into());
    }
    for section in ["dependencies", "build-dependencies"] {
        let used = manifest.get(section).and_then(Value::as_table);
        for dependency in used.into_iter().flat_map(Table::keys) {
            let refused = if root().join("crates").join(dependency).is_dir() {
                layers::objection(name, dependency)
            } else {
                layers::heavy(name, dependency)
            };
            refused.into_iter().for_each(&mut object);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Table, String> {
    let content =
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    content.parse().map_err(text)
}

fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (last, parents) = path.split_last()?;
    let mut table = table;
    for part in parents {
        table = table.get(*part)?.as_table()?;
    }
    table.get(*last)
}
