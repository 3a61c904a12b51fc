//! `cargo xtask`: the project's development commands.
#![forbid(unsafe_code)]

mod slt;

use std::process::ExitCode;

fn main() -> ExitCode {
    slt::main_probe()
}
