//! Names in the code of one module: its `use` lines, and paths in expressions, types, patterns
//! and the arguments of macros.
//!
//! Called for each module by `modules`; `resolve` finds out what the names mean.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};

/// Names that one module defines and uses.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Functions, types, constants and macros.
    pub(super) items: BTreeSet<String>,
    /// Names that `use` gives, with the paths behind them.
    pub(super) aliases: BTreeMap<String, Vec<String>>,
    /// Paths before `::*`.
    pub(super) globs: Vec<Vec<String>>,
    /// Names that the code uses, in the order of its lines.
    pub(super) named: Vec<Named>,
}

/// A path that the code of a module names.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) segments: Vec<String>,
    /// Line from 1.
    pub(super) line: usize,
    pub(super) how: How,
}

/// Where a path stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// In a `use` line: its last name may be a module.
    Use,
    /// In code: its last name is a type, a function, a macro or a value.
    Code,
}

impl Names {
    /// Names that the items of a module define and use, code for tests left out.
    pub(super) fn of(items: &[syn::Item]) -> Self {
        let mut names = Self::default();
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            names.define(item);
        }
        let mut visitor = Visitor { named: Vec::new() };
        for item in items {
            visitor.visit_item(item);
        }
        names.named = visitor.named;
        names
    }

    /// Adds the names that an item gives its module.
    fn define(&mut self, item: &syn::Item) {
        let name = match item {
            syn::Item::Use(item) => return self.define_used(&item.tree),
            syn::Item::Fn(item) => &item.sig.ident,
            syn::Item::Struct(item) => &item.ident,
            syn::Item::Enum(item) => &item.ident,
            syn::Item::Union(item) => &item.ident,
            syn::Item::Trait(item) => &item.ident,
            syn::Item::Type(item) => &item.ident,
            syn::Item::Const(item) => &item.ident,
            syn::Item::Static(item) => &item.ident,
            syn::Item::Macro(syn::ItemMacro { ident: Some(ident), .. }) => ident,
            _ => return,
        };
        self.items.insert(name.to_string());
    }

    /// Adds the names that a `use` line gives.
    fn define_used(&mut self, tree: &syn::UseTree) {
        for leaf in leaves(tree) {
            match leaf.alias {
                Alias::Name(name) => {
                    self.aliases.entry(name).or_insert(leaf.segments);
                }
                Alias::All => self.globs.push(leaf.segments),
                Alias::Nothing => {}
            }
        }
    }
}

/// One path of a `use` line, which may have many in braces.
struct Leaf {
    segments: Vec<String>,
    alias: Alias,
    line: usize,
}

/// Name of a path of a `use` line in its module.
enum Alias {
    Name(String),
    /// `*`: everything behind the path keeps its name.
    All,
    /// `as _`
    Nothing,
}

fn leaves(tree: &syn::UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    add_leaves(tree, &mut Vec::new(), &mut found);
    found
}

fn add_leaves(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut Vec<Leaf>) {
    let line = |ident: &syn::Ident| ident.span().start().line;
    let whole = |before: &[String], ident: &syn::Ident| {
        let mut segments = before.to_vec();
        if ident != "self" || segments.is_empty() {
            segments.push(ident.to_string());
        }
        segments
    };
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            add_leaves(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Name(name) => {
            let segments = whole(before, &name.ident);
            let alias = segments.last().cloned().map_or(Alias::Nothing, Alias::Name);
            found.push(Leaf { segments, alias, line: line(&name.ident) });
        }
        syn::UseTree::Rename(rename) => {
            let segments = whole(before, &rename.ident);
            let alias = match rename.rename.to_string() {
                nothing if nothing == "_" => Alias::Nothing,
                name => Alias::Name(name),
            };
            found.push(Leaf { segments, alias, line: line(&rename.ident) });
        }
        syn::UseTree::Glob(glob) => {
            let line = glob.star_token.spans[0].start().line;
            found.push(Leaf { segments: before.clone(), alias: Alias::All, line });
        }
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| add_leaves(tree, before, found));
        }
    }
}

/// Collects the paths of a module, without those of modules inside of it.
struct Visitor {
    named: Vec<Named>,
}

impl Visitor {
    fn name(&mut self, path: &syn::Path) {
        let Some(first) = path.segments.first() else { return };
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string());
            let line = first.ident.span().start().line;
            self.named.push(Named { segments: segments.collect(), line, how: How::Code });
        }
    }

    /// Finds `a::b` among the tokens of a macro.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path = Named { segments: Vec::new(), line: 0, how: How::Code };
        let mut colons = 0;
        for token in tokens {
            let goes_on = colons == 2 && !path.segments.is_empty();
            match token {
                TokenTree::Ident(ident) => {
                    if !goes_on {
                        self.end(&mut path);
                        path.line = ident.span().start().line;
                    }
                    path.segments.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end(&mut path);
                    self.scan(group.stream());
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.end(&mut path);
                    colons = 0;
                }
            }
        }
        self.end(&mut path);
    }

    /// Keeps a path of two names or more; a single one may be anything.
    fn end(&mut self, path: &mut Named) {
        let segments = std::mem::take(&mut path.segments);
        if segments.len() > 1 {
            self.named.push(Named { segments, line: path.line, how: How::Code });
        }
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            for Leaf { segments, line, .. } in leaves(&item.tree) {
                self.named.push(Named { segments, line, how: How::Use });
            }
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.name(path);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.name(&item.path);
        let parsed =
            item.parse_body_with(Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated);
        match parsed {
            // The expressions live as long as this call, not as long as the file.
            Ok(arguments) => {
                let mut inner = Visitor { named: Vec::new() };
                arguments.iter().for_each(|argument| inner.visit_expr(argument));
                self.named.append(&mut inner.named);
            }
            Err(_) => self.scan(item.tokens.clone()),
        }
    }
}

/// True for `#[test]`, `#[cfg(test)]` and `#[cfg(all(test, ...))]`.
pub(super) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Meta>().is_ok_and(|meta| needs_test(&meta))
    })
}

fn needs_test(meta: &syn::Meta) -> bool {
    match meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated)
            .is_ok_and(|parts| parts.iter().any(needs_test)),
        syn::Meta::List(_) | syn::Meta::NameValue(_) => false,
    }
}

/// True for a macro that is named as if the crate's root defined it.
pub(super) fn is_exported(item: &syn::ItemMacro) -> bool {
    item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"))
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
