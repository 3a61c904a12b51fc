//! Rules about Rust files: ceilings, width, unfinished marks, unsafe policy.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{crate_name, relative};
use crate::text;

/// Lines a file may have, tests apart.
const FILE_LINES: usize = 800;
/// Lines a function may have, from its signature to its brace.
const FUNCTION_LINES: usize = 70;
/// Characters a line may have.
const WIDTH: usize = 100;
/// Crates that may contain `unsafe`.
const UNSAFE_CRATES: &[&str] = &["kernels", "storage", "bus", "codegen", "python"];
/// A mark of unfinished work; only with the number of an issue: `TODO(#12)`.
const UNFINISHED: &str = concat!("TO", "DO");

/// Checks every Rust file of one crate.
pub(super) fn check(folder: &Path, problems: &mut Vec<String>) -> Result<(), String> {
    for path in files(folder)? {
        let source = fs::read_to_string(&path).map_err(text)?;
        let name = relative(&path);
        check_lines(&name, &source, problems);
        check_unsafe_policy(folder, &path, &source, problems);
        if !is_test_file(folder, &path) {
            check_ceilings(&name, &source, problems);
        }
    }
    Ok(())
}

/// The Rust files of one crate, sorted.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    rust_files(folder, &mut files).map_err(text)?;
    files.sort();
    Ok(files)
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Files that hold nothing but tests and benches.
fn is_test_file(folder: &Path, path: &Path) -> bool {
    let inside = path.strip_prefix(folder).unwrap_or(path);
    let part = |name: &str| inside.iter().any(|part| part.to_str() == Some(name));
    part("tests") || part("benches") || inside.ends_with("tests.rs")
}

fn check_lines(name: &str, source: &str, problems: &mut Vec<String>) {
    for (index, line) in source.lines().enumerate() {
        let number = index + 1;
        let width = line.chars().count();
        if width > WIDTH {
            problems.push(format!("{name}:{number}: {width} characters, {WIDTH} are allowed"));
        }
        if let Some((_, after)) = line.split_once(UNFINISHED)
            && !after.trim_start_matches(['(', ' ']).starts_with('#')
        {
            problems.push(format!("{name}:{number}: {UNFINISHED} without the number of an issue"));
        }
    }
}

/// The roots of crates without `unsafe` say so.
fn check_unsafe_policy(folder: &Path, path: &Path, source: &str, problems: &mut Vec<String>) {
    let is_root = ["src/lib.rs", "src/main.rs"].iter().any(|root| path == folder.join(root));
    let allowed = UNSAFE_CRATES.contains(&crate_name(folder));
    if is_root && !allowed && !source.contains("#![forbid(unsafe_code)]") {
        problems.push(format!("{}: #![forbid(unsafe_code)] is missing", relative(path)));
    }
}

fn check_ceilings(name: &str, source: &str, problems: &mut Vec<String>) {
    let file = match syn::parse_file(source) {
        Ok(file) => file,
        Err(error) => return problems.push(format!("{name}: {error}")),
    };
    let mut visitor = Ceilings { name, test_lines: 0, problems };
    visitor.visit_file(&file);
    let lines = source.lines().count() - visitor.test_lines.min(source.lines().count());
    if lines > FILE_LINES {
        problems.push(format!("{name}: {lines} lines without tests, {FILE_LINES} are allowed"));
    }
}

/// Walks the items of a file, tests left out.
struct Ceilings<'a> {
    name: &'a str,
    test_lines: usize,
    problems: &'a mut Vec<String>,
}

impl Ceilings<'_> {
    fn function(&mut self, signature: &syn::Signature, end: Span) {
        let first = signature.span().start().line;
        let lines = end.end().line + 1 - first;
        if lines > FUNCTION_LINES {
            let function = &signature.ident;
            self.problems.push(format!(
                "{}:{first}: {function} has {lines} lines, {FUNCTION_LINES} are allowed",
                self.name
            ));
        }
    }

    /// Notes the lines of a test item; true when it is one.
    fn skip(&mut self, attributes: &[syn::Attribute], lines: RangeInclusive<usize>) -> bool {
        let test = attributes.iter().any(is_test);
        if test {
            self.test_lines += lines.count();
        }
        test
    }
}

impl<'ast> Visit<'ast> for Ceilings<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !self.skip(&item.attrs, lines_of(item.span())) {
            self.function(&item.sig, item.block.span());
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !self.skip(&item.attrs, lines_of(item.span())) {
            self.function(&item.sig, item.block.span());
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body.span());
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !self.skip(&item.attrs, lines_of(item.span())) {
            visit::visit_item_mod(self, item);
        }
    }
}

fn lines_of(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

/// `#[test]` or `#[cfg(test)]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("test")
        || attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(source: &str) -> Vec<String> {
        let mut problems = Vec::new();
        check_lines("f.rs", source, &mut problems);
        check_ceilings("f.rs", source, &mut problems);
        problems
    }

    #[test]
    fn long_functions_are_found_and_tests_are_not() {
        let body = "    let _ = 1;\n".repeat(FUNCTION_LINES);
        let long = format!("fn long() {{\n{body}}}\n");
        assert_eq!(problems_of(&long).len(), 1);
        assert_eq!(problems_of(&format!("#[cfg(test)]\nmod tests {{\n{long}}}\n")).len(), 0);
    }

    #[test]
    fn long_files_are_counted_without_their_tests() {
        let items = "const _: u8 = 1;\n".repeat(FILE_LINES - 10);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "const _: u8 = 1;\n".repeat(50));
        assert_eq!(problems_of(&format!("{items}{tests}")).len(), 0);
        assert_eq!(problems_of(&items.repeat(2)).len(), 1);
    }

    #[test]
    fn wide_lines_and_marks_without_an_issue_are_found() {
        let wide = format!("// {}\n", "x".repeat(WIDTH));
        assert_eq!(problems_of(&wide).len(), 1);
        assert_eq!(problems_of(&format!("// {UNFINISHED}: later\n")).len(), 1);
        assert_eq!(problems_of(&format!("// {UNFINISHED}(#12): later\n")).len(), 0);
    }
}
