//! `cargo xtask`: the project's development commands.

fn main() {}
