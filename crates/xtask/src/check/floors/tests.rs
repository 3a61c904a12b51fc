//! The rules on small made-up crates.

use std::collections::BTreeMap;
use std::path::Path;

use super::modules::Crate;
use super::{COMMENT, Promise, Upward, circles, upward_imports};

/// A crate of files, each a path below `src` and its content.
fn made(files: &[(&str, &str)]) -> Crate {
    let files: BTreeMap<&Path, &str> =
        files.iter().map(|(path, content)| (Path::new(*path), *content)).collect();
    let read = |path: &Path| files.get(path).map(|content| (*content).to_owned());
    let shown = |path: &Path| path.display().to_string();
    Crate::read(Path::new("lib.rs"), &read, &shown).expect("made-up sources are Rust")
}

/// Upward imports of a crate.
fn upward_of(found: &Crate) -> Vec<Upward> {
    upward_imports(found, found.imports())
}

/// Upward imports of a crate whose root has floors, as `file:line target`.
fn upward(root: &str, files: &[(&str, &str)]) -> Vec<String> {
    let root = format!("{COMMENT}\n{root}");
    let files = [&[("lib.rs", root.as_str())], files].concat();
    let found = upward_of(&made(&files));
    found.iter().map(|it| format!("{}:{} {}", it.file, it.line, it.target)).collect()
}

#[test]
fn imports_point_down() {
    let low = ("low.rs", "use crate::high::High;\npub struct Low;");
    let high = ("high.rs", "use crate::low::Low;\npub struct High;");
    assert_eq!(upward("mod low; mod high;", &[low, high]), ["low.rs:1 high::High"]);
    assert_eq!(upward("mod high; mod low;", &[low, high]), ["high.rs:1 low::Low"]);
}

#[test]
fn the_message_names_place_and_floors() {
    let low = ("low.rs", "\nuse crate::high::High;");
    let root = format!("{COMMENT}\nmod low; mod high;");
    let found = made(&[("lib.rs", &root), low, ("high.rs", "pub struct High;")]);
    assert_eq!(
        upward_of(&found)[0].to_string(),
        "low.rs:2: low (floor 1) imports high::High of high (floor 2)"
    );
}

#[test]
fn paths_in_code_are_imports() {
    let code = [
        "fn f() { crate::high::call(1); }",
        "fn f(high: crate::high::High) {}",
        "fn f() { let crate::high::High { .. } = x; }",
        "fn f() { assert!(x == crate::high::LIMIT, \"{}\", 1); }",
        "fn f() { matches!(x, crate::high::Kind::A | crate::high::Kind::B); }",
        "use super::high; fn f() { high::call(1); }",
        "use super::high as h; fn f() { use h::Kind; }",
        "macro_rules! m { () => { $crate::high::call(1) } }",
        "impl crate::high::Trait for Low {}",
    ];
    for content in code {
        let high = ("high.rs", "");
        let found = upward("mod low; mod high;", &[("low.rs", content), high]);
        assert!(!found.is_empty(), "{content}");
    }
}

#[test]
fn re_exports_lead_to_the_room_that_defines() {
    let root = "mod low; mod high; mod top; pub use high::Name; pub use top::*;";
    let high = ("high.rs", "pub use self::part::Name; mod part;");
    let part = ("high/part.rs", "pub struct Name;");
    let top = ("top.rs", "pub struct Other;");
    let low = ("low.rs", "use crate::Name;\nuse crate::Other;");
    assert_eq!(
        upward(root, &[low, high, part, top]),
        ["low.rs:1 high::part::Name", "low.rs:2 top::Other"]
    );
}

#[test]
fn names_behind_a_star_lead_to_the_room_that_defines() {
    let low = ("low.rs", "mod part; use crate::high::call;");
    let part = ("low/part.rs", "use super::*;\nfn f() { call(1); }");
    let high = ("high.rs", "pub fn call() {}");
    let found = upward("mod low; mod high;", &[low, part, high]);
    assert_eq!(found, ["low.rs:1 high::call", "low/part.rs:2 high::call"]);
}

#[test]
fn super_is_resolved_to_a_full_path() {
    let low = ("low.rs", "mod part;");
    let part = ("low/part.rs", "use super::super::high::High;");
    let high = ("high.rs", "pub struct High;");
    let found = upward("mod low; mod high;", &[low, part, high]);
    assert_eq!(found, ["low/part.rs:1 high::High"]);
}

#[test]
fn what_the_root_defines_lies_above_all() {
    let found = upward("mod low; pub fn register() {}", &[("low.rs", "use crate::register;")]);
    assert_eq!(found, ["low.rs:1 register"]);
}

#[test]
fn code_for_tests_is_free() {
    let low = (
        "low.rs",
        "#[cfg(test)] use crate::high::High;\n#[cfg(test)] mod tests { use crate::high::High; }\n\
         #[cfg(all(test, unix))] mod missing;\n#[test] fn f() { crate::high::call(1); }",
    );
    assert_eq!(upward("mod low; mod high;", &[low, ("high.rs", "")]), Vec::<String>::new());
}

#[test]
fn other_crates_and_local_names_are_no_imports() {
    let low = ("low.rs", "use high::Thing; fn f() { let high = 1; high; std::high::call(1); }");
    let root = "mod low; mod high; pub use std::fmt; pub(crate) use low::f;";
    let high = ("high.rs", "use crate::fmt;");
    assert_eq!(upward(root, &[low, high]), Vec::<String>::new());
}

#[test]
fn parents_and_children_are_free_and_siblings_where_they_promise() {
    let children = [
        ("room/one.rs", "use super::Shared; use super::two::Two;"),
        ("room/two.rs", "pub struct Two;"),
    ];
    let room = "mod one; mod two; use one::One; pub struct Shared;";
    let free = ("room.rs", room);
    assert_eq!(upward("mod room;", &[free, children[0], children[1]]), Vec::<String>::new());
    let ordered = format!("{COMMENT}\n{room}");
    let bound = ("room.rs", ordered.as_str());
    assert_eq!(
        upward("mod room;", &[bound, children[0], children[1]]),
        ["room/one.rs:1 room::two::Two"]
    );
}

#[test]
fn without_the_comment_imports_are_listed_only() {
    let low = ("low.rs", "use crate::high::High;");
    let found = made(&[("lib.rs", "mod low; mod high;"), low, ("high.rs", "")]);
    assert_eq!(upward_of(&found)[0].promised, Promise::Missing);
}

#[test]
fn a_comment_behind_a_mod_line_is_misplaced() {
    let root = format!("mod low;\n{COMMENT}\nmod high;");
    let found = made(&[("lib.rs", &root), ("low.rs", ""), ("high.rs", "")]);
    assert_eq!(found.misplaced().count(), 1);
}

#[test]
fn exported_macros_belong_to_their_module() {
    let high = ("high.rs", "#[macro_export] macro_rules! made { () => {} }");
    let found = upward("mod low; mod high;", &[("low.rs", "fn f() { crate::made!(); }"), high]);
    assert_eq!(found, ["low.rs:1 high::made"]);
}

#[test]
fn circles_leave_out_parents() {
    let found = made(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "mod part; use part::Part; use crate::b::B;"),
        ("a/part.rs", "use super::A;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::a::A;"),
    ]);
    assert_eq!(circles::circles(&found, &found.imports()), [["a.rs", "b.rs", "c.rs"]]);
}
