//! Opening a database of twice its memory, and the first row by its key.
//!
//! ```text
//! loads, CHECKPOINT, close -> open -> one row by key    keys lost -> the same, keys made of rows
//! ```
//! The files are in the system's cache. Beside the seconds: the bytes that were read, which a cold
//! disk would have to give.

use std::path::Path;
use std::time::Instant;

use engine::{Config, Database};

use super::super::durable::{Scratch, bytes_below};
use super::super::readings::{bytes_read, load};
use crate::{Outcome, text};

/// Keys of the table.
const KEYS: [&str; 2] =
    ["ALTER TABLE readings ADD PRIMARY KEY (id)", "CREATE INDEX ON readings (sensor, at)"];

/// Loads, opens and prints.
///
/// # Errors
/// Errors of the database; another row than the one of the key.
pub(super) fn run(blocks_mib: u64, threads: usize) -> Outcome {
    let scratch = Scratch::new("opening")?;
    let path = &scratch.0;
    let memory_bytes = (blocks_mib << 20) / 2;
    let config = || Config { threads, memory_bytes, ..Config::default() };
    // Only what is opened has little memory.
    let loading = Config { threads, ..Config::default() };
    let rows = load(path, loading, blocks_mib << 20, &KEYS)?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let stored = bytes_below(&path.join("blocks"))?;
    println!(
        "opening  {:.0} MB in blocks/, {rows} rows, {:.0} MB of memory, {threads} threads",
        megabytes(stored),
        megabytes(memory_bytes)
    );
    println!(
        "{:>10} {:>8} {:>10} {:>8} {:>12} {:>8}",
        "keys", "open s", "indexes s", "read MB", "first row s", "read MB"
    );
    for keys in ["kept", "lost"] {
        if keys == "lost" {
            lose_keys(&path.join("blocks"))?;
        }
        let (begun, before) = (Instant::now(), bytes_read("rchar"));
        let database = Database::open(path, config()).map_err(text)?;
        let (opened, read) = (begun.elapsed().as_secs_f64(), bytes_read("rchar") - before);
        let (begun, before) = (Instant::now(), bytes_read("rchar"));
        let wanted = rows / 3;
        let sql = format!("SELECT note FROM readings WHERE id = {wanted}");
        let found = database.session().execute(&sql).map_err(text)?.text_rows();
        let (first, more) = (begun.elapsed().as_secs_f64(), bytes_read("rchar") - before);
        if found != [[Some(format!("reading number {wanted}"))]] {
            return Err(format!("row {wanted} is {found:?}"));
        }
        let indexes = database.recovery().indexes.as_secs_f64();
        println!(
            "{keys:>10} {opened:>8.3} {indexes:>10.3} {:>8.1} {first:>12.4} {:>8.1}",
            megabytes(read),
            megabytes(more)
        );
        database.close().map_err(text)?;
    }
    Ok(())
}

/// Removes the files of keys.
fn lose_keys(blocks: &Path) -> Outcome {
    for entry in std::fs::read_dir(blocks).map_err(text)? {
        let path = entry.map_err(text)?.path();
        if path.extension().is_some_and(|extension| extension == "keys") {
            std::fs::remove_file(path).map_err(text)?;
        }
    }
    Ok(())
}
