//! `cargo xtask fuzz-queries`: random queries on Tessera and on a peer.
//!
//! ```text
//! seed -> tables -> Tessera, each in some layout      the oracle
//!           '-----> query -> once per setting   ----> rows equal?
//!                              '-- no -> shrunk while it still differs -> printed
//! ```
//! Without an oracle the settings are compared with each other. Errors on both sides are equal;
//! an error of a value on one side only is not counted as a difference, because which rows an
//! expression sees is up to the plan.

mod partitions;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use testkit::Random;
use testkit::peer::{Options as PeerOptions, Peer, System};
use testkit::postgres::Postgres;
use testkit::queries::{
    Dialect, Generator, Kind, Node, Query, RowOrder, Schema, difference, rounded, setup, shrunk,
};
use testkit::slt::{Answer, Backend, Connection, Database, SqlError};

use crate::tessera::Tessera;
use crate::variants::Variant;
use crate::{Outcome, peers_home, text};

/// Queries over the tables of one seed.
const PER_SCHEMA: u64 = 40;

/// Queries between two lines about progress.
const PROGRESS_QUERIES: u64 = 25 * PER_SCHEMA;

/// Layouts that tables have, one each.
const LAYOUTS: [&str; 4] = ["row", "column", "frozen", "auto"];

/// Settings that each query runs under.
const SETTINGS: [&[&str]; 4] = [
    &["SET threads = 2", "SET index_paths = on", "SET index_join_cost = -1"],
    &["SET threads = 1", "SET index_paths = off"],
    &["SET threads = 2", "SET index_paths = prefer", "SET index_join_cost = 700"],
    &["SET work_mem = '1kB'", "SET index_paths = off"],
];

/// Milliseconds after which the oracle gives up: such a query says nothing.
const ORACLE_MS: u32 = 1000;

/// Memory of DuckDB: a query that takes more says nothing.
const DUCKDB_MEMORY: &str = "2GB";

/// The same for Tessera, which may have been built without optimisation.
const STATEMENT_TIME: Duration = Duration::from_secs(4);

/// System whose answers count as right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// Tessera itself, under its first setting.
    Settings,
    /// PostgreSQL.
    Postgres,
    /// DuckDB, for queries that mean the same there.
    Duckdb,
}

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Queries in all.
    pub queries: u64,
    /// Where chance begins.
    pub seed: u64,
    /// System that Tessera is compared with.
    pub oracle: Oracle,
    /// Differences to find before giving up.
    pub differences_max: usize,
    /// Further runs of queries without some techniques.
    pub toggling: Toggling,
    /// Texts whose rows are compared.
    pub subject: Subject,
}

/// Texts whose rows are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Queries with themselves elsewhere.
    Queries,
    /// Queries with the unions of their rows for which a predicate is true, false and unknown.
    Partitions,
}

/// Further runs of a query with techniques switched off at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toggling {
    /// There are none.
    No,
    /// There are some, in [`DRAWN`] ways.
    Random,
}

/// Ways drawn for each query.
const DRAWN: usize = 2;

/// Runs queries until there are enough of them, or of differences.
///
/// # Errors
/// How many queries differ; what could not be started.
pub fn run(options: &Options) -> Outcome {
    let start = Instant::now();
    let backend = Tessera::new("auto", 2, "on")?.with_statement_time(STATEMENT_TIME);
    let postgres = match options.oracle {
        Oracle::Postgres => Some(Postgres::start().map_err(text)?),
        _ => None,
    };
    let mut tally = Tally::default();
    let schemas = options.queries.div_ceil(PER_SCHEMA);
    for seed in options.seed..options.seed + schemas {
        let mut pair = Pair::open(seed, options.oracle, &backend, postgres.as_ref())?;
        match options.subject {
            Subject::Queries => pair.queries((seed, options.toggling), &mut tally),
            Subject::Partitions => pair.partitions(seed, options.toggling, &mut tally),
        }
        if tally.queries % PROGRESS_QUERIES == 0 {
            let seconds = start.elapsed().as_secs();
            eprintln!("{} queries to seed {seed}, {seconds} s", tally.queries);
        }
        if tally.different >= options.differences_max {
            break;
        }
    }
    println!(
        "{} queries: {} equal with rows, {} without, {} failed on both sides, {} unclear, \
         {} different, {:.1} s",
        tally.queries,
        tally.with_rows,
        tally.empty,
        tally.failed,
        tally.unclear.values().sum::<usize>(),
        tally.different,
        start.elapsed().as_secs_f64()
    );
    for (reason, count) in &tally.unclear {
        println!("  unclear {count:>6}: {reason}");
    }
    match tally.different {
        0 => Ok(()),
        count => Err(format!("{count} queries differ")),
    }
}

/// Counts of the queries' outcomes.
#[derive(Default)]
struct Tally {
    queries: u64,
    with_rows: u64,
    empty: u64,
    failed: u64,
    different: usize,
    /// Queries that say nothing, by the reason.
    unclear: BTreeMap<String, usize>,
}

impl Tally {
    /// Counts a query; what differs, if something does.
    fn add(&mut self, outcome: Outcomes) -> Option<String> {
        self.queries += 1;
        match outcome {
            Outcomes::Equal { rows: 0 } => self.empty += 1,
            Outcomes::Equal { .. } => self.with_rows += 1,
            Outcomes::BothFailed => self.failed += 1,
            Outcomes::Unclear(reason) => *self.unclear.entry(reason).or_default() += 1,
            Outcomes::Different(message) => {
                self.different += 1;
                return Some(message);
            }
        }
        None
    }
}

/// Outcomes of one query.
enum Outcomes {
    Equal { rows: usize },
    BothFailed,
    Unclear(String),
    Different(String),
}

/// Tessera and its oracle with the same tables.
struct Pair {
    tessera: Box<dyn Connection>,
    oracle: Option<Box<dyn Connection>>,
    schema: Schema,
    dialect: Dialect,
    /// Further ways in which the present query is run.
    drawn: Vec<Variant>,
    _databases: Vec<Box<dyn Database>>,
}

impl Pair {
    fn open(
        seed: u64,
        oracle: Oracle,
        backend: &dyn Backend,
        postgres: Option<&Postgres>,
    ) -> Result<Self, String> {
        let schema = Schema::new(seed);
        let database = backend.create().map_err(text)?;
        let mut tessera = database.connect().map_err(text)?;
        fill(tessera.as_mut(), &setup(&schema, seed, &LAYOUTS))?;
        let mut databases = vec![database];
        let mut connection: Option<Box<dyn Connection>> = None;
        if let Some(postgres) = postgres {
            let database = postgres.create().map_err(text)?;
            let mut session = database.connect().map_err(text)?;
            session.run(&format!("SET statement_timeout = {ORACLE_MS}")).map_err(text)?;
            databases.push(database);
            connection = Some(session);
        }
        if oracle == Oracle::Duckdb {
            connection = Some(Box::new(Duck::start()?));
        }
        if let Some(connection) = &mut connection {
            fill(connection.as_mut(), &setup(&schema, seed, &[]))?;
        }
        let dialect = if oracle == Oracle::Duckdb { Dialect::Shared } else { Dialect::Postgres };
        let drawn = Vec::new();
        Ok(Self { tessera, oracle: connection, schema, dialect, drawn, _databases: databases })
    }

    fn queries(&mut self, (seed, toggling): (u64, Toggling), tally: &mut Tally) {
        let mut generator = Generator::new(&self.schema, seed, self.dialect);
        let mut random = Random::new(seed);
        for number in 0..PER_SCHEMA {
            let query = generator.draw();
            if toggling == Toggling::Random {
                self.drawn = (0..DRAWN).map(|_| Variant::drawn(&mut random)).collect();
            }
            if let Some(message) = tally.add(self.compare(&query.tree, &query)) {
                self.report(&query, (seed, number), &message);
            }
        }
    }

    fn report(&mut self, query: &Query, (seed, number): (u64, u64), message: &str) {
        // A smaller query must differ in the same way, or a refusal hides the difference.
        let wanted = class(message);
        let small = shrunk(&query.tree, |tree| {
            let found = self.compare(tree, query);
            matches!(found, Outcomes::Different(message) if class(&message) == wanted)
        });
        println!("seed {seed}, query {number}: {message}\n  {}\n  shrunk: {small}", query.tree);
        if let Outcomes::Different(message) = self.compare(&small, query) {
            println!("  {message}\n");
        }
    }

    /// The settings of each run of a query: those of all queries, then what was drawn for this one.
    fn ways(&self) -> Vec<Vec<String>> {
        let fixed = SETTINGS.iter().map(|way| way.iter().map(|s| (*s).to_owned()).collect());
        let mut ways: Vec<Vec<String>> = fixed.collect();
        if let (Some(first), false) = (ways.first_mut(), self.drawn.is_empty()) {
            first.extend(Variant::without("all on", &[]).settings());
        }
        ways.extend(self.drawn.iter().map(Variant::settings));
        ways
    }

    /// Runs `tree`, a form of `query`, everywhere. Rows that differ only where the order of a
    /// floating-point sum decides say nothing.
    fn compare(&mut self, tree: &Node, query: &Query) -> Outcomes {
        let outcome = self.compare_exactly(tree, query);
        let (Outcomes::Different(message), Some(form)) = (&outcome, rounded(tree)) else {
            return outcome;
        };
        match (class(message), self.compare_exactly(&form, query)) {
            ("rows", Outcomes::Equal { .. }) => {
                Outcomes::Unclear("last digits of floating-point sums".into())
            }
            _ => outcome,
        }
    }

    /// Runs `tree`, a form of `query`, everywhere.
    fn compare_exactly(&mut self, tree: &Node, query: &Query) -> Outcomes {
        let sql = tree.to_string();
        let kinds = match &tree.kind {
            Kind::Query(kinds) => kinds,
            _ => &query.kinds,
        };
        // A smaller form may have lost its order.
        let order = if tree == &query.tree { query.order } else { RowOrder::Any };
        let mut expected = self.oracle.as_mut().map(|oracle| oracle.run(&sql));
        if let Some(Err(error)) = &expected
            && let Some(reason) = refusal(error)
        {
            return Outcomes::Unclear(reason);
        }
        let mut outcome = Outcomes::BothFailed;
        for settings in self.ways() {
            let actual = match self.run_under(&settings, &sql) {
                Ok(actual) => actual,
                Err(message) => return Outcomes::Different(message),
            };
            let expected = expected.get_or_insert_with(|| actual.clone());
            outcome = judge(expected, &actual, kinds, order);
            match outcome {
                Outcomes::Different(message) => {
                    return Outcomes::Different(format!("{message} ({})", settings.join("; ")));
                }
                Outcomes::Unclear(_) => return outcome,
                _ => {}
            }
        }
        outcome
    }

    /// Result of `sql` on Tessera under `settings`.
    ///
    /// # Errors
    /// Which setting was refused.
    fn run_under(&mut self, settings: &[String], sql: &str) -> Result<Run, String> {
        for setting in settings {
            self.tessera.run(setting).map_err(|error| format!("{setting}: {error}"))?;
        }
        let actual = caught(|| self.tessera.run(sql));
        self.tessera.run("SET work_mem = 0").map_err(|error| format!("SET: {error}"))?;
        Ok(actual)
    }
}

type Run = Result<Answer, SqlError>;

/// Result of `run`; a panic is an error.
fn caught(run: impl FnOnce() -> Run) -> Run {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    result.unwrap_or_else(|_| Err(SqlError::internal("a panic")))
}

fn judge(expected: &Run, actual: &Run, kinds: &[Kind], order: RowOrder) -> Outcomes {
    match (expected, actual) {
        (_, Err(error)) if error.sqlstate == "XX000" => {
            Outcomes::Different(format!("it fails: {error}"))
        }
        // A mistake of theirs, such as PostgreSQL's "failed to build any 4-way joins".
        (Err(error), Ok(_)) if error.sqlstate == "XX000" => {
            Outcomes::Unclear(format!("only one side has {error}"))
        }
        (Err(_), Err(_)) => Outcomes::BothFailed,
        (Ok(_), Err(error)) | (Err(error), Ok(_)) if of_a_value(error) => {
            Outcomes::Unclear(format!("only one side has {error}"))
        }
        (Ok(_), Err(error)) => Outcomes::Different(format!("it fails: {error}")),
        (Err(error), Ok(_)) => Outcomes::Different(format!("it should fail: {error}")),
        (Ok(expected), Ok(actual)) => {
            let (expected, actual) = (rows(expected), rows(actual));
            match difference(expected, actual, kinds, order) {
                Some(message) => Outcomes::Different(message),
                None => Outcomes::Equal { rows: actual.len() },
            }
        }
    }
}

fn rows(answer: &Answer) -> &[Vec<Option<String>>] {
    match answer {
        Answer::Rows { rows, .. } => rows,
        Answer::Done(_) => &[],
    }
}

/// An error of a value: it depends on which rows an expression sees.
fn of_a_value(error: &SqlError) -> bool {
    error.sqlstate.starts_with("22") || error.sqlstate == "57014"
}

/// Why the oracle cannot judge this query: it took too long, or PostgreSQL has no such plan.
fn refusal(error: &SqlError) -> Option<String> {
    let unable = matches!(error.sqlstate.as_str(), "57014" | "0A000" | "53200" | "53100");
    unable.then(|| format!("the oracle has {error}"))
}

/// The sort of a difference.
fn class(message: &str) -> &str {
    if message.starts_with("it ") {
        message.split_at_checked(30).map_or(message, |(start, _)| start)
    } else {
        "rows"
    }
}

fn fill(connection: &mut dyn Connection, statements: &[String]) -> Outcome {
    for statement in statements {
        connection.run(statement).map_err(|error| {
            let start: String = statement.chars().take(300).collect();
            format!("{start}: {error}")
        })?;
    }
    Ok(())
}

/// DuckDB as a connection.
struct Duck(Peer);

impl Duck {
    fn start() -> Result<Self, String> {
        let options = PeerOptions { threads: 1, file: None };
        let mut peer = Peer::start(&peers_home(), System::DuckDb, &options).map_err(text)?;
        peer.run(&format!("SET memory_limit = '{DUCKDB_MEMORY}'")).map_err(text)?;
        Ok(Self(peer))
    }
}

/// Its error: it has no SQLSTATE.
fn duckdb_error(error: &std::io::Error) -> SqlError {
    let message = error.to_string();
    let known = [("INTERRUPT", "57014"), ("Out of Memory", "53200")];
    let sqlstate = known.iter().find(|(text, _)| message.contains(text)).map_or("22000", |k| k.1);
    SqlError { sqlstate: sqlstate.to_owned(), message }
}

impl Connection for Duck {
    fn run(&mut self, sql: &str) -> Run {
        if !sql.starts_with("SELECT") && !sql.starts_with("WITH") && !sql.starts_with('(') {
            let done = self.0.run(sql).map(|_| Answer::Done(0));
            return done.map_err(|error| duckdb_error(&error));
        }
        let limit = Duration::from_millis(ORACLE_MS.into());
        let result = self.0.rows_within(sql, limit).map_err(|error| duckdb_error(&error))?;
        Ok(Answer::Rows { columns: result.types.len(), rows: result.rows })
    }
}
