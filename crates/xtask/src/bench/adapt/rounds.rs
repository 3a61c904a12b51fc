//! Memory of a table whose rows are changed all over, round by round, against its rows loaded anew.

use std::time::Instant;

use engine::Session;
use testkit::Random;

use crate::{Outcome, text};

/// Rounds of changes.
const ROUNDS: u64 = 20;

/// A table and how its rows are changed.
pub(super) struct Rounds<'a> {
    /// Session of a database in which nothing happens by itself.
    pub(super) session: &'a mut Session,
    /// Rows of the table, at the end of each round, too.
    pub(super) rows: u64,
    /// Definitions of its columns, the first of them `id int`, `k` another.
    pub(super) columns: &'a str,
    /// The values of row number i.
    pub(super) values: &'a str,
}

impl Rounds<'_> {
    /// Each round updates a fifth of the rows, deletes a tenth, inserts as many and says VACUUM
    /// FREEZE; prints the table's bytes.
    ///
    /// # Errors
    /// Errors of the database.
    pub(super) fn run(&mut self) -> Outcome {
        let Self { rows, columns, values, .. } = *self;
        self.execute(&format!("CREATE TABLE r ({columns}); CREATE INDEX ON r (k, id)"))?;
        self.execute(&self.insert(0, rows, values))?;
        let (mut random, mut next, mut worst) = (Random::new(28), rows, 0.0f64);
        println!(
            "round    bytes, of its rows loaded anew, ratio; bytes of all indexes; ms of VACUUM"
        );
        for round in 0..ROUNDS {
            // Rows all over the table, others in each round.
            let chosen = format!("(id::bigint * 7919 + {}) % 10", random.below(1 << 20));
            self.execute(&format!("UPDATE r SET k = (k + 1) % 100 WHERE {chosen} < 2"))?;
            self.execute(&format!("DELETE FROM r WHERE {chosen} = 9"))?;
            let more = rows - self.number("SELECT count(*) FROM r")?;
            self.execute(&self.insert(next, next + more, values))?;
            next += more;
            let begun = Instant::now();
            self.execute("VACUUM FREEZE r")?;
            let ms = begun.elapsed().as_secs_f64() * 1e3;
            self.execute("CREATE TABLE anew AS SELECT * FROM r")?;
            let [held, anew] = [self.bytes("r")?, self.bytes("anew")?];
            self.execute("DROP TABLE anew")?;
            let indexes = "SELECT sum(bytes) FROM tessera_memory() WHERE category = 'indexes'";
            let indexes = self.number(indexes)?;
            let ratio = held as f64 / anew as f64;
            worst = worst.max(ratio);
            println!("{round:>5} {held:>12} {anew:>12} {ratio:>8.2} {indexes:>12} {ms:>8.0}");
        }
        println!("worst    {worst:.2} times its rows; the aim is 1.5");
        self.execute("DROP TABLE r")
    }

    fn insert(&self, from: u64, to: u64, values: &str) -> String {
        format!("INSERT INTO r SELECT {values} FROM generate_series({from}, {to} - 1) AS g(i)")
    }

    fn bytes(&mut self, table: &str) -> Result<u64, String> {
        let of = format!("tessera_blocks() WHERE table_name = '{table}'");
        self.number(&format!("SELECT sum(bytes) FROM {of}"))
    }

    fn number(&mut self, sql: &str) -> Result<u64, String> {
        let result = self.session.execute(sql).map_err(text)?;
        let cell = result.text_rows().into_iter().flatten().flatten().next();
        cell.and_then(|cell| cell.parse().ok()).ok_or_else(|| format!("{sql}: no number"))
    }

    fn execute(&mut self, sql: &str) -> Outcome {
        self.session.execute(sql).map(drop).map_err(text)
    }
}
