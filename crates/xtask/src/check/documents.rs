//! Rules about documents: lines that fit a screen.

use std::fs;
use std::path::{Path, PathBuf};

use super::relative;
use crate::{root, text};

/// Characters a line may have: rows of tables apart, which cannot be broken.
const WIDTH: usize = 120;

/// Checks every Markdown file of the repository's root and `docs/`.
pub(super) fn check(problems: &mut Vec<String>) -> Result<(), String> {
    let mut files = Vec::new();
    for folder in ["", "docs", "docs/decisions"] {
        in_folder(&root().join(folder), &mut files).map_err(text)?;
    }
    files.sort();
    for path in files {
        let source = fs::read_to_string(&path).map_err(text)?;
        check_lines(&relative(&path), &source, problems);
    }
    Ok(())
}

fn in_folder(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}

fn check_lines(name: &str, source: &str, problems: &mut Vec<String>) {
    for (i, line) in source.lines().enumerate() {
        let width = line.chars().count();
        if width > WIDTH && !line.starts_with('|') {
            problems.push(format!("{name}:{}: {width} characters, {WIDTH} are allowed", i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_found_and_rows_of_tables_left() {
        let source = format!("short\n{0}\n| {0} |\n{1}\n", "\u{e4}".repeat(121), "x".repeat(120));
        let mut problems = Vec::new();
        check_lines("docs/a.md", &source, &mut problems);
        assert_eq!(problems, ["docs/a.md:2: 121 characters, 120 are allowed"]);
    }
}
