//! `cargo xtask bench adapt`: what freezing in place is worth, and what it costs.
//!
//! ```text
//! INSERT, few rows at a time -> hot: scans, reads and updates by key
//! VACUUM FREEZE              -> frozen in place: the same
//! INSERT of all rows         -> loaded: the same; all answers must agree
//! changes all over, VACUUM   -> round by round: memory against that of its rows (`rounds`)
//! ```
//! Scans: least of the runs. Reads and updates: prepared statements in process, each with another
//! key; an update of a frozen row moves it. Updates write what is there.
//!
//! Source: Funke 2015, sections 3.6 and 5.7 (experiments with cold and frozen chunks).

mod rounds;

use std::time::Instant;

use engine::{Config, Database, Session};
use testkit::Random;
use types::{DataType, Value};

use super::circumstances;
use crate::bench_args::{AdaptArgs, threads_or_cores};
use crate::{Outcome, text};

/// Rows of an INSERT: too few for a load, which makes frozen blocks.
const INSERT_ROWS: u64 = 2000;

const COLUMNS: &str = "id int PRIMARY KEY, k int, amount numeric(12,2), d timestamp, s text";

/// Values of row number i.
const VALUES: &str = "i, i % 100, (i % 1000) / 4.0, \
                      TIMESTAMP '2025-01-01' + i * INTERVAL '1 second', 'district ' || i % 500";

/// Scans with their names; `{}` is the table.
const SCANS: [(&str, &str); 3] = [
    (
        "groups of k, range of d, prefix of s",
        "SELECT k, sum(amount), count(*), max(d) FROM {} WHERE d > TIMESTAMP '2025-01-10' \
         AND s LIKE 'district 1%' GROUP BY k ORDER BY k",
    ),
    ("sum where k < 50", "SELECT sum(amount) FROM {} WHERE k < 50"),
    ("groups of s", "SELECT s, count(*) FROM {} GROUP BY s ORDER BY s"),
];

/// Measures and prints.
///
/// # Errors
/// Errors of the database; answers that freezing changed.
pub fn run(args: &AdaptArgs) -> Outcome {
    println!("{}", circumstances());
    let threads = threads_or_cores(args.threads);
    let config = Config { threads, ..Config::default() };
    let database = Database::open_in_memory(config).map_err(text)?;
    let mut bench = Bench { session: database.session(), args };
    bench.fill()?;
    println!("run      adapt, {} rows, {threads} threads, least of {} runs", args.rows, args.runs);
    bench.print_memory("hot")?;
    let hot = bench.measure("t")?;
    let begun = Instant::now();
    bench.execute("VACUUM FREEZE t")?;
    let seconds = begun.elapsed().as_secs_f64();
    println!("frozen   in {seconds:.3} s, {:.1} M rows/s", args.rows as f64 / seconds / 1e6);
    bench.print_memory("frozen")?;
    let frozen = bench.measure("t")?;
    let loaded = bench.measure("loaded")?;
    println!(
        "{:<38} {:>9} {:>9} {:>9} {:>12}",
        "ms; us by key", "hot", "frozen", "loaded", "frozen/hot"
    );
    for ((hot, frozen), loaded) in hot.iter().zip(&frozen).zip(&loaded) {
        if hot.answer != frozen.answer || hot.answer != loaded.answer {
            return Err(format!("{}: freezing changed the answer", hot.name));
        }
        let Measured { name, time, .. } = hot;
        let (other, ratio) = (frozen.time, frozen.time / time);
        println!("{name:<38} {time:>9.2} {other:>9.2} {:>9.2} {ratio:>12.2}", loaded.time);
    }
    let Bench { session, .. } = &mut bench;
    rounds::Rounds { session, rows: args.rows, columns: COLUMNS, values: VALUES }.run()
}

/// A figure and what the statement said.
struct Measured {
    name: &'static str,
    time: f64,
    answer: String,
}

struct Bench<'a> {
    session: Session,
    args: &'a AdaptArgs,
}

impl Bench<'_> {
    fn execute(&mut self, sql: &str) -> Outcome {
        self.session.execute(sql).map(drop).map_err(text)
    }

    /// Makes the table `t` of hot rows and its twin `loaded`.
    fn fill(&mut self) -> Outcome {
        self.execute("SET freezing = off")?;
        for table in ["t", "loaded"] {
            self.execute(&format!("CREATE TABLE {table} ({COLUMNS})"))?;
        }
        for first in (0..self.args.rows).step_by(INSERT_ROWS as usize) {
            let last = (first + INSERT_ROWS).min(self.args.rows) - 1;
            let rows = format!("generate_series({first}, {last}) AS g(i)");
            self.execute(&format!("INSERT INTO t SELECT {VALUES} FROM {rows}"))?;
        }
        self.execute("INSERT INTO loaded SELECT * FROM t")?;
        self.execute("VACUUM")
    }

    fn print_memory(&mut self, state: &str) -> Outcome {
        let sql = "SELECT hot_rows, hot_bytes, frozen_rows, frozen_bytes \
                   FROM tessera_temperatures() WHERE table_name = 't'";
        let result = self.session.execute(sql).map_err(text)?;
        let cells: Vec<String> = result.text_rows().into_iter().flatten().flatten().collect();
        println!("{state:<8} hot rows, bytes, frozen rows, bytes: {}", cells.join(", "));
        Ok(())
    }

    fn measure(&mut self, table: &str) -> Result<Vec<Measured>, String> {
        let mut all = Vec::new();
        for (name, sql) in SCANS {
            all.push(self.scan(name, &sql.replace("{}", table))?);
        }
        let read = format!("SELECT amount FROM {table} WHERE id = $1");
        all.push(self.by_key("read by key", &read, |id| vec![Value::I32(id)])?);
        let update = format!("UPDATE {table} SET k = $2 WHERE id = $1");
        let same = |id: i32| vec![Value::I32(id), Value::I32(id % 100)];
        all.push(self.by_key("update by key", &update, same)?);
        Ok(all)
    }

    fn scan(&mut self, name: &'static str, sql: &str) -> Result<Measured, String> {
        let (mut least, mut answer) = (f64::MAX, String::new());
        for _ in 0..self.args.runs {
            let begun = Instant::now();
            let result = self.session.execute(sql).map_err(text)?;
            least = least.min(begun.elapsed().as_secs_f64() * 1e3);
            answer = format!("{:?}", result.text_rows());
        }
        Ok(Measured { name, time: least, answer })
    }

    /// Mean microseconds of a statement, each time with another key.
    fn by_key(
        &mut self,
        name: &'static str,
        sql: &str,
        values: impl Fn(i32) -> Vec<Value>,
    ) -> Result<Measured, String> {
        let types = vec![DataType::Integer; values(0).len()];
        let mut prepared = self.session.prepare(sql, &types).map_err(text)?;
        let mut random = Random::new(1);
        let keys = self.args.keys.min(self.args.rows);
        let mut answers = Vec::new();
        let begun = Instant::now();
        for _ in 0..keys {
            let id = random.below(self.args.rows) as i32;
            let result = self.session.execute_prepared(&mut prepared, &values(id)).map_err(text)?;
            answers.push(result);
        }
        let time = begun.elapsed().as_secs_f64() * 1e6 / keys as f64;
        let answers = answers.iter().map(|answer| format!("{:?}", answer.text_rows()));
        Ok(Measured { name, time, answer: answers.collect() })
    }
}
