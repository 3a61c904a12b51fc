//! `cargo xtask bench versions`: what versions of rows cost those who scan.
//!
//! ```text
//! scan | reader begins, UPDATE of p % -> scan, scan of the reader | reader ends -> scan
//! ```
//! Every (100 / p)th row is updated, so that all blocks have versions: the worst case. Ratios are
//! those of the least times, which a disturbed machine disturbs least.

use std::time::Instant;

use engine::{Config, Database, Session};
use storage::Layout;

use super::{circumstances, median};
use crate::bench_args::{VersionsArgs, threads_or_cores};
use crate::{Outcome, text};

/// Percentages of rows updated.
const PERCENTS: [u64; 2] = [1, 10];

/// A filter, an expression, no keys: what a version costs shows.
const SCAN: &str = "SELECT count(*), sum(v), sum(k) FROM t WHERE k < 500";

/// Bytes of version words and undo records.
const VERSION_BYTES: &str = "SELECT bytes FROM tessera_memory() WHERE category = 'versions'";

/// Measures and prints.
///
/// # Errors
/// Errors of the database, or a reader that does not see its snapshot.
pub fn run(args: &VersionsArgs) -> Outcome {
    println!("{}", circumstances());
    let threads = threads_or_cores(args.threads);
    println!(
        "run      versions, {} rows, {threads} threads, medians of {} runs; {SCAN}",
        args.rows, args.runs
    );
    println!(
        "{:>7} {:>9} {:>40} {:>9} {:>9} {:>7} {:>12}",
        "layout", "updated", "scan", "ms", "least ms", "ratio", "versions KiB"
    );
    for name in &args.layouts {
        let layout = Layout::from_name(name).ok_or(format!("there is no layout {name}"))?;
        let database = Database::open_in_memory(Config { threads, layout, ..Config::default() })
            .map_err(text)?;
        Bench { args, layout: name, session: database.session(), base: None }.run(&database)?;
    }
    Ok(())
}

struct Bench<'a> {
    args: &'a VersionsArgs,
    layout: &'a str,
    session: Session,
    /// Least milliseconds without versions.
    base: Option<f64>,
}

/// Collects garbage now.
fn vacuum(session: &mut Session) -> Outcome {
    session.execute("VACUUM").map(drop).map_err(text)
}

impl Bench<'_> {
    fn run(&mut self, database: &Database) -> Outcome {
        let sql = format!(
            "CREATE TABLE t AS SELECT i AS id, (i % 1000)::integer AS k, i AS v \
             FROM generate_series(0, {}) AS g(i)",
            self.args.rows - 1
        );
        self.session.execute(&sql).map_err(text)?;
        self.scan("0 %", "nothing updated", None)?;
        for percent in PERCENTS {
            let updated = format!("{percent} %");
            let update = format!("UPDATE t SET v = v + 1 WHERE id % {} = 0", 100 / percent);
            self.session.execute(&update).map_err(text)?;
            self.scan(&updated, "no reader, at once", None)?;
            vacuum(&mut self.session)?;
            self.scan(&updated, "no reader, after VACUUM", None)?;

            let mut reader = database.session();
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").map_err(text)?;
            let before = answer(&mut reader)?;
            self.session.execute(&update).map_err(text)?;
            vacuum(&mut self.session)?;
            self.scan(&updated, "a reader open: a new snapshot", None)?;
            self.scan(&updated, "a reader open: its snapshot", Some(&mut reader))?;
            if answer(&mut reader)? != before {
                return Err("the reader's snapshot changed".into());
            }
            reader.execute("COMMIT").map_err(text)?;
            self.scan(&updated, "the reader ended: at once", None)?;
            vacuum(&mut self.session)?;
            self.scan(&updated, "the reader ended: after VACUUM", None)?;
        }
        Ok(())
    }

    fn scan(&mut self, updated: &str, what: &str, reader: Option<&mut Session>) -> Outcome {
        let session = match reader {
            Some(reader) => reader,
            None => &mut self.session,
        };
        session.execute(SCAN).map_err(text)?;
        let mut times = Vec::new();
        for _ in 0..self.args.runs.max(1) {
            let begun = Instant::now();
            session.execute(SCAN).map_err(text)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let time = median(&mut times);
        let least = times[0];
        let base = *self.base.get_or_insert(least);
        let rows = session.execute(VERSION_BYTES).map_err(text)?.text_rows();
        let bytes = rows.into_iter().flatten().flatten().next().unwrap_or_default();
        println!(
            "{:>7} {updated:>9} {what:>40} {time:>9.2} {least:>9.2} {:>7.2} {:>12}",
            self.layout,
            least / base,
            bytes.parse::<u64>().unwrap_or(0) >> 10
        );
        Ok(())
    }
}

fn answer(session: &mut Session) -> Result<Vec<Vec<Option<String>>>, String> {
    Ok(session.execute(SCAN).map_err(text)?.text_rows())
}
