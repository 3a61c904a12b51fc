//! The binary `tessera`: shell, scripts, server, bus, processes of shared data, demo.
//!
//! Exit status: 0 fine, 1 an SQL error, 2 a wrong call.
#![forbid(unsafe_code)]

// Floors: lowest first.
mod arguments;
mod display;
mod config;
mod interrupt;
mod progress;
mod render;
mod report;
mod token;
mod node;
mod database;
mod execute;
mod scan;
mod variables;
mod lists;
mod meta;
mod complete;
mod serve;
mod bus;
mod processes;
mod stores;
mod bus_demo;
mod shared_demo;
mod shell;
mod demo;
mod run;

use std::process::ExitCode;

use clap::Parser as _;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let words = match config::expanded(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(message) => {
            eprintln!("tessera: {message}");
            return ExitCode::from(2);
        }
    };
    // clap prints usage errors itself and ends with status 2.
    let arguments = arguments::Arguments::parse_from(words);
    storage::return_freed_memory(database::config_of(&arguments.limits).memory_bytes);
    run::run(&arguments)
}
