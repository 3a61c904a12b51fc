//! Finds the module that defines what a path names, through `use` lines and re-exports.
//!
//! Read by the rules of the parent and by `circles`.

use std::collections::BTreeMap;

use super::modules::{Crate, ModuleIdx};
use super::references::{How, Named};

/// How many re-exports a name is followed through.
const STEPS_MAX: usize = 16;

/// A name of one module that the code of another uses.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) from: ModuleIdx,
    pub(super) to: ModuleIdx,
    /// The path of the name below the crate: `rows::Row`.
    pub(super) target: String,
    /// The first line that names it, from 1.
    pub(super) line: usize,
}

/// Meaning of a path: a module, or a name in it.
struct Meaning {
    module: ModuleIdx,
    item: Option<String>,
}

impl Crate {
    /// The imports of all modules, one for each module and name, in the order of their lines.
    pub(super) fn imports(&self) -> Vec<Import> {
        let mut imports = Vec::new();
        for (from, module) in self.modules() {
            let mut found = BTreeMap::new();
            for named in &module.names.named {
                let Some(meaning) = self.meaning(from, named) else { continue };
                if meaning.module == from {
                    continue;
                }
                let mut target = self.module(meaning.module).path.clone();
                target.extend(meaning.item);
                let import = Import {
                    from,
                    to: meaning.module,
                    target: target.join("::"),
                    line: named.line,
                };
                found.entry(import.target.clone()).or_insert(import);
            }
            let mut found: Vec<Import> = found.into_values().collect();
            found.sort_by_key(|import| import.line);
            imports.append(&mut found);
        }
        imports
    }

    fn meaning(&self, from: ModuleIdx, named: &Named) -> Option<Meaning> {
        let meaning = self.follow(from, &named.segments, STEPS_MAX)?;
        match named.how {
            How::Code if meaning.item.is_none() => None,
            How::Code | How::Use => Some(meaning),
        }
    }

    /// Follows a path that stands in `from`.
    fn follow(&self, from: ModuleIdx, segments: &[String], steps: usize) -> Option<Meaning> {
        let steps = steps.checked_sub(1)?;
        let (mut at, mut rest) = (from, segments);
        while let [first, others @ ..] = rest {
            at = match first.as_str() {
                "crate" => ModuleIdx(0),
                "self" => at,
                "super" => self.module(at).parent?,
                _ => break,
            };
            rest = others;
        }
        let is_relative = rest.len() == segments.len();
        while let [first, others @ ..] = rest {
            match self.child(at, first) {
                Some(child) if !others.is_empty() => (at, rest) = (child, others),
                _ => break,
            }
        }
        let entered = !is_relative || rest.len() < segments.len();
        let [first, others @ ..] = rest else { return Some(Meaning { module: at, item: None }) };
        if let Some(known) = self.look_up(at, &Rest { first, others }, steps) {
            return known;
        }
        entered.then(|| Meaning { module: at, item: Some(first.clone()) })
    }

    /// Looks a name up in a module; `Some(None)` is a name of another crate.
    fn look_up(&self, at: ModuleIdx, rest: &Rest, steps: usize) -> Option<Option<Meaning>> {
        let names = &self.module(at).names;
        if let Some(alias) = names.aliases.get(rest.first) {
            let whole: Vec<String> = alias.iter().chain(rest.others).cloned().collect();
            return Some(self.follow(at, &whole, steps));
        }
        if names.items.contains(rest.first) {
            return Some(Some(Meaning { module: at, item: Some(rest.first.clone()) }));
        }
        if let Some(child) = self.child(at, rest.first) {
            return Some(Some(Meaning { module: child, item: None }));
        }
        names.globs.iter().find_map(|glob| {
            let behind = self.follow(at, glob, steps)?;
            let inner = behind.item.is_none() && behind.module != at;
            if inner { self.look_up(behind.module, rest, steps.checked_sub(1)?) } else { None }
        })
    }
}

/// The part of a path that is not yet followed.
struct Rest<'a> {
    first: &'a String,
    others: &'a [String],
}
