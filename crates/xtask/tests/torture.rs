//! Tessera survives a few kills. The harness passes the right toy, and catches each wrong one.

use std::process::{Command, Output};

fn torture(store: &str, kills: &str) -> Output {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("torture-{store}"));
    let _ = std::fs::remove_dir_all(&path);
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["torture", "--store", store, "--kills", kills, "--path"]).arg(&path);
    command.output().expect("it starts")
}

fn assert_caught(store: &str, by: &str) {
    let output = torture(store, "30");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{store} passed");
    assert!(message.contains(by), "{store}: {message}");
}

#[test]
fn the_right_toy_passes() {
    let output = torture("toy", "5");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_toy_that_acknowledges_too_early_is_caught() {
    assert_caught("toy-lost", "lost");
}

#[test]
fn a_toy_that_replays_halves_is_caught() {
    assert_caught("toy-partial", "accounts and journal differ");
}

#[test]
fn a_toy_with_a_wrong_index_is_caught() {
    assert_caught("toy-index", "journal differ");
}

/// Three kills of each case: `cargo xtask torture --kills 500` is the long one.
#[cfg(feature = "tessera")]
#[test]
fn tessera_loses_nothing() {
    let output = torture("tessera", "12");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
