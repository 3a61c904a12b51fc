//! The modules of a crate: their files, their order, what they define and what they name.
//!
//! Built by [`Crate::read`] from `lib.rs` on along the `mod` lines; read by `resolve`, `circles`
//! and the rules of the parent.

use std::path::{Path, PathBuf};

use syn::spanned::Spanned as _;

use super::COMMENT;
use super::references::{Names, is_exported, is_for_tests};

/// Place of a module in its crate, from 0, the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleIdx(pub(super) usize);

/// One module: a file, or braces in one.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Names from the crate's root on; empty for the root.
    pub(super) path: Vec<String>,
    pub(super) parent: Option<ModuleIdx>,
    /// The file as messages show it.
    pub(super) file: String,
    /// The modules inside, without those for tests, in the order of their `mod` lines.
    pub(super) children: Vec<ModuleIdx>,
    /// True when the comment stands before the first `mod` line.
    pub(super) is_ordered: bool,
    /// True when the comment stands anywhere.
    has_comment: bool,
    pub(super) names: Names,
}

/// The modules of a crate; the root is the first.
#[derive(Debug, Default)]
pub(super) struct Crate {
    modules: Vec<Module>,
}

/// Where the modules' texts come from, and how their files are shown.
struct Source<'a> {
    read: &'a dyn Fn(&Path) -> Option<String>,
    shown: &'a dyn Fn(&Path) -> String,
}

/// A file and the folder that its child modules are in.
struct Place {
    file: PathBuf,
    folder: PathBuf,
}

impl Crate {
    /// Reads the crate whose root is the file `root`; `shown` names files in messages.
    ///
    /// # Errors
    /// A file that is missing or no Rust.
    pub(super) fn read(
        root: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
        shown: &dyn Fn(&Path) -> String,
    ) -> Result<Self, String> {
        let mut found = Self::default();
        let folder = root.parent().unwrap_or(Path::new("")).to_path_buf();
        let place = Place { file: root.to_path_buf(), folder };
        found.add_file(Module::default(), &place, &Source { read, shown })?;
        Ok(found)
    }

    pub(super) fn module(&self, idx: ModuleIdx) -> &Module {
        &self.modules[idx.0]
    }

    pub(super) fn root(&self) -> &Module {
        self.module(ModuleIdx(0))
    }

    /// All modules with their places, parents before children.
    pub(super) fn modules(&self) -> impl Iterator<Item = (ModuleIdx, &Module)> {
        self.modules.iter().enumerate().map(|(idx, module)| (ModuleIdx(idx), module))
    }

    /// The modules that have the comment where it means nothing.
    pub(super) fn misplaced(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter().filter(|module| module.has_comment && !module.is_ordered)
    }

    /// The child called `name` of a module.
    pub(super) fn child(&self, parent: ModuleIdx, name: &str) -> Option<ModuleIdx> {
        let children = &self.module(parent).children;
        children.iter().copied().find(|child| self.name(*child) == name)
    }

    /// True for `outer` itself and what is inside of it.
    pub(super) fn is_inside(&self, inner: ModuleIdx, outer: ModuleIdx) -> bool {
        self.module(inner).path.starts_with(&self.module(outer).path)
    }

    /// The innermost module that holds both, or is one of them and holds the other.
    pub(super) fn common_ancestor(&self, one: ModuleIdx, other: ModuleIdx) -> ModuleIdx {
        let mut at = one;
        while !self.is_inside(other, at) {
            at = self.module(at).parent.unwrap_or(ModuleIdx(0));
        }
        at
    }

    fn name(&self, idx: ModuleIdx) -> &str {
        self.module(idx).path.last().map_or("", String::as_str)
    }

    /// Reads the file of `module`, which knows its path and parent.
    fn add_file(
        &mut self,
        mut module: Module,
        place: &Place,
        source: &Source,
    ) -> Result<ModuleIdx, String> {
        module.file = (source.shown)(&place.file);
        let content =
            (source.read)(&place.file).ok_or_else(|| format!("{}: cannot be read", module.file))?;
        let parsed =
            syn::parse_file(&content).map_err(|error| format!("{}: {error}", module.file))?;
        let comment = content.lines().position(|line| line.trim() == COMMENT);
        let first = parsed.items.iter().find_map(|item| match item {
            syn::Item::Mod(item) => Some(item.span().start().line),
            _ => None,
        });
        module.has_comment = comment.is_some();
        module.is_ordered =
            matches!((comment, first), (Some(comment), Some(first)) if comment + 1 < first);
        self.add_items(module, &parsed.items, place, source)
    }

    /// Adds `module`, which consists of `items`, and what is inside of it.
    fn add_items(
        &mut self,
        mut module: Module,
        items: &[syn::Item],
        place: &Place,
        source: &Source,
    ) -> Result<ModuleIdx, String> {
        module.names = Names::of(items);
        let idx = ModuleIdx(self.modules.len());
        let path = module.path.clone();
        self.modules.push(module);
        for item in items {
            let exported = match item {
                syn::Item::Macro(item) if is_exported(item) => item.ident.as_ref(),
                _ => None,
            };
            if let Some(name) = exported {
                let whole = ["crate".to_owned()].into_iter().chain(path.iter().cloned());
                let whole = whole.chain([name.to_string()]).collect();
                self.modules[0].names.aliases.entry(name.to_string()).or_insert(whole);
            }
            let syn::Item::Mod(item) = item else { continue };
            if is_for_tests(&item.attrs) {
                continue;
            }
            let name = item.ident.to_string();
            let path = path.iter().cloned().chain([name.clone()]).collect();
            let child = Module { path, parent: Some(idx), ..Module::default() };
            let child = match &item.content {
                Some((_, items)) => {
                    let child = Module { file: self.modules[idx.0].file.clone(), ..child };
                    let folder = place.folder.join(&name);
                    let place = Place { file: place.file.clone(), folder };
                    self.add_items(child, items, &place, source)?
                }
                None => {
                    let file = place.folder.join(format!("{name}.rs"));
                    let place = Place { file, folder: place.folder.join(&name) };
                    self.add_file(child, &place, source)?
                }
            };
            self.modules[idx.0].children.push(child);
        }
        Ok(idx)
    }
}
