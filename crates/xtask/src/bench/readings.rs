//! A table of so many bytes, for benchmarks of databases larger than memory.

use std::path::Path;

use engine::{Config, Database};

use super::durable::bytes_below;
use crate::text;

/// Rows of one load.
const LOAD_ROWS: u64 = 200_000;

/// Makes the table `readings` with what the statements `keys` define, and loads rows until their
/// blocks have so many bytes; returns how many rows.
///
/// # Errors
/// Errors of the database.
pub fn load(path: &Path, config: Config, bytes: u64, keys: &[&str]) -> Result<u64, String> {
    let database = Database::open(path, config).map_err(text)?;
    let mut session = database.session();
    let table = "CREATE TABLE readings (id bigint, sensor integer, at timestamp, \
                 value double precision, unit varchar(12), note text)";
    for sql in [&[table], keys].concat() {
        session.execute(sql).map_err(text)?;
    }
    let mut rows = 0;
    while bytes_below(&path.join("blocks"))? < bytes {
        let sql = format!(
            "INSERT INTO readings SELECT i, i::bigint * 7919 % 1000, TIMESTAMP '2026-01-01' + \
             i * INTERVAL '1 second', i * 0.37, 'kelvin', 'reading number ' || i \
             FROM generate_series({}, {}) AS g(i)",
            rows + 1,
            rows + LOAD_ROWS
        );
        session.execute(&sql).map_err(text)?;
        rows += LOAD_ROWS;
    }
    session.execute("CHECKPOINT").map_err(text)?;
    drop(session);
    database.close().map_err(text)?;
    Ok(rows)
}

/// Bytes that this process read so far: `rchar` of files, `read_bytes` of the disk.
pub fn bytes_read(counter: &str) -> u64 {
    let counts = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let mut counts = counts.lines().filter_map(|line| line.split_once(": "));
    let found = counts.find(|(name, _)| *name == counter);
    found.and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}
