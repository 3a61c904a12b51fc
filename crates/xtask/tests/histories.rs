//! A few random histories at every isolation level: `cargo xtask histories` runs many.
#![cfg(feature = "tessera")]

use xtask::histories::{Options, on};
use xtask::tessera::Tessera;

#[test]
fn no_level_shows_what_it_forbids() {
    let backend = Tessera::new("auto", 2, "on").expect("the layout exists");
    on(&backend, &Options { histories: 180, sessions: 8, seed: 1 }).expect("no anomaly");
}

#[test]
fn no_level_shows_what_it_forbids_while_rows_are_frozen() {
    let backend = Tessera::new("auto", 2, "on").expect("the layout exists").freezing();
    on(&backend, &Options { histories: 180, sessions: 8, seed: 2 }).expect("no anomaly");
}
