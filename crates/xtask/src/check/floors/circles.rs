//! Groups of files that import each other in a circle: strongly connected components, arrows
//! between a module and one inside of it left out.
//!
//! Read by `cargo xtask check`, which allows few files, and by `cargo xtask floors`.
//! Source: Tarjan 1972, "Depth-first search and linear graph algorithms", section 4.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::Crate;
use super::resolve::Import;

/// The circles of a crate that has these imports, the largest first; each is the sorted names of
/// its files.
pub(super) fn circles(found: &Crate, imports: &[Import]) -> Vec<Vec<String>> {
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports {
        let ancestor = found.common_ancestor(import.from, import.to);
        let (from, to) = (&found.module(import.from).file, &found.module(import.to).file);
        if ancestor != import.from && ancestor != import.to && from != to {
            arrows.entry(from).or_default().insert(to);
        }
    }
    let mut search =
        Search { arrows: &arrows, numbers: BTreeMap::new(), open: Vec::new(), found: Vec::new() };
    for file in arrows.keys() {
        if !search.numbers.contains_key(file) {
            search.visit(file);
        }
    }
    let mut circles = search.found;
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// A walk over the files along their arrows.
struct Search<'a> {
    arrows: &'a BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// The order in which files were met.
    numbers: BTreeMap<&'a str, usize>,
    /// Files whose circle is not complete.
    open: Vec<&'a str>,
    found: Vec<Vec<String>>,
}

impl<'a> Search<'a> {
    /// Visits a file and what it reaches; returns the lowest number of an open file reached.
    fn visit(&mut self, file: &'a str) -> usize {
        let number = self.numbers.len();
        let place = self.open.len();
        self.numbers.insert(file, number);
        self.open.push(file);
        let mut lowest = number;
        for next in self.arrows.get(file).into_iter().flatten() {
            match self.numbers.get(next) {
                None => lowest = lowest.min(self.visit(next)),
                Some(met) if self.open.contains(next) => lowest = lowest.min(*met),
                Some(_) => {}
            }
        }
        if lowest == number {
            let circle = self.open.split_off(place);
            if circle.len() > 1 {
                let mut files: Vec<String> = circle.into_iter().map(str::to_owned).collect();
                files.sort();
                self.found.push(files);
            }
        }
        lowest
    }
}
