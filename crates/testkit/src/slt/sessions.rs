//! Runs session files: each session on a thread of its own, steps one after the other.
//!
//! ```text
//! step -> thread of its session -> finished within the poll?  outcome
//!                              '-> Database::waiting has it?  blocks; asked again after each step
//! ```
//! Invariant: a step starts when every other session is idle or known to wait, so the order of
//! steps is the order in which the database sees them.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::script::{Failing, Line, Outcome, Record, Serializable, Step};
use super::{Answer, Backend, Database, Failure, Report, SqlError, serial};

/// Time between two looks at who waits.
const POLL: Duration = Duration::from_millis(5);

/// Time after which a session that neither answers nor waits is a failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// One statement and what came back, for the search of a serial order.
pub(super) struct Done {
    pub(super) sql: String,
    pub(super) outcome: Outcome,
}

/// A session on its thread.
struct Session {
    id: String,
    statements: Option<Sender<String>>,
    results: Receiver<Result<Answer, SqlError>>,
    thread: Option<JoinHandle<()>>,
    /// The statement that waits.
    pending: Option<String>,
    history: Vec<Done>,
}

impl Session {
    fn start(database: &dyn Database) -> Result<Self, SqlError> {
        let mut connection = database.connect()?;
        let id = match connection.run("SELECT pg_backend_pid()")? {
            Answer::Rows { rows, .. } => rows.into_iter().flatten().flatten().next(),
            Answer::Done(_) => None,
        };
        let (statements, todo) = channel::<String>();
        let (done, results) = channel();
        let thread = std::thread::spawn(move || {
            for sql in todo {
                if done.send(connection.run(&sql)).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            id: id.ok_or_else(|| SqlError::internal("a session has no id"))?,
            statements: Some(statements),
            results,
            thread: Some(thread),
            pending: None,
            history: Vec::new(),
        })
    }

    fn send(&mut self, sql: &str) {
        self.pending = Some(sql.to_owned());
        if let Some(statements) = &self.statements {
            // A thread that is gone shows when its result is asked for.
            let _ = statements.send(sql.to_owned());
        }
    }

    /// Waits until the statement has ended, or waits itself: `Blocks`.
    fn settle(&mut self, database: &dyn Database) -> Result<Outcome, SqlError> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Ok(result) = self.results.recv_timeout(POLL) {
                return Ok(self.finish(&result));
            }
            if database.waiting()?.contains(&self.id) {
                return Ok(match self.results.try_recv() {
                    Ok(result) => self.finish(&result),
                    Err(_) => Outcome::Blocks,
                });
            }
        }
        Err(SqlError::internal("a session neither answers nor waits"))
    }

    fn finish(&mut self, result: &Result<Answer, SqlError>) -> Outcome {
        let sql = self.pending.take().unwrap_or_default();
        let outcome = Outcome::of(&sql, result);
        self.history.push(Done { sql, outcome: outcome.clone() });
        outcome
    }
}

/// One scenario while it runs.
struct Stage<'a> {
    database: Box<dyn Database>,
    backend: &'a dyn Backend,
    sessions: BTreeMap<String, Session>,
    /// Sessions whose wait has ended, and how, until the file is asked about it.
    released: BTreeMap<String, Outcome>,
    /// True when expectations no longer apply: a session failed earlier or later than in the file.
    diverged: bool,
    tolerant: bool,
}

impl<'a> Stage<'a> {
    fn new(backend: &'a dyn Backend, setup: &[String]) -> Result<Self, SqlError> {
        let database = backend.create()?;
        serial::run_all(&*database, setup)?;
        Ok(Self {
            database,
            backend,
            sessions: BTreeMap::new(),
            released: BTreeMap::new(),
            diverged: false,
            tolerant: false,
        })
    }

    /// Sends one statement and waits until it is done or waits.
    fn step(&mut self, step: &Step) -> Result<Outcome, SqlError> {
        if !self.sessions.contains_key(&step.session) {
            let session = Session::start(&*self.database)?;
            self.sessions.insert(step.session.clone(), session);
        }
        let Some(session) = self.sessions.get_mut(&step.session) else {
            return Err(SqlError::internal("no session"));
        };
        if session.pending.is_some() {
            return Err(SqlError::internal(format!("{} still waits", step.session)));
        }
        session.send(&step.sql);
        let outcome = session.settle(&*self.database)?;
        self.settle_others(&step.session)?;
        Ok(outcome)
    }

    /// Looks at every session that waited before the last step.
    fn settle_others(&mut self, except: &str) -> Result<(), SqlError> {
        for (name, session) in &mut self.sessions {
            if name == except || session.pending.is_none() {
                continue;
            }
            match session.settle(&*self.database)? {
                Outcome::Blocks => {}
                outcome => drop(self.released.insert(name.clone(), outcome)),
            }
        }
        Ok(())
    }

    /// How the wait of `session` ended.
    fn released(&mut self, session: &str) -> Result<Outcome, SqlError> {
        if let Some(outcome) = self.released.remove(session) {
            return Ok(outcome);
        }
        match self.sessions.get_mut(session) {
            Some(waiter) if waiter.pending.is_some() => waiter.settle(&*self.database),
            _ => Err(SqlError::internal(format!("{session} does not wait"))),
        }
    }

    /// Compares, and notices when a tolerant scenario takes another course.
    fn judge(&mut self, expected: &Outcome, seen: &Outcome) -> Result<(), String> {
        if self.diverged || expected.accepts(seen) {
            return Ok(());
        }
        let retry = expected.is_serialization_failure() || seen.is_serialization_failure();
        if self.tolerant && retry {
            self.diverged = true;
            return Ok(());
        }
        Err(format!("expected {expected}\ncame {seen}"))
    }

    fn check(&mut self, record: &Record, setup: &[String]) -> Result<(), String> {
        match record {
            Record::Step(step) => {
                let left: Vec<String> = std::mem::take(&mut self.released).into_keys().collect();
                if !left.is_empty() && !self.diverged {
                    return Err(format!("{} no longer waits", left.join(", ")));
                }
                let seen = self.step(step).map_err(|error| said(&step.sql, &error.message))?;
                self.judge(&step.expected, &seen).map_err(|message| said(&step.sql, &message))
            }
            Record::Unblocks { session, expected } => match self.released(session) {
                Ok(seen) => self.judge(expected, &seen).map_err(|message| said(session, &message)),
                Err(_) if self.diverged => Ok(()),
                Err(error) => Err(error.message),
            },
            Record::Serializable(serializable) => self.check_serializable(serializable, setup),
            _ => Ok(()),
        }
    }

    fn failed(&self, sessions: &[String]) -> usize {
        let retried = |name: &&String| {
            let history = self.sessions.get(*name).map_or(&[][..], |session| &session.history);
            history.iter().any(|done| done.outcome.is_serialization_failure())
        };
        sessions.iter().filter(retried).count()
    }

    fn check_serializable(
        &mut self,
        wanted: &Serializable,
        setup: &[String],
    ) -> Result<(), String> {
        let failed = self.failed(&wanted.sessions);
        let right = match wanted.failing {
            Failing::Exactly(count) => failed == count,
            Failing::AtMost(count) => failed <= count,
        };
        if !right {
            return Err(format!("{failed} sessions failed with 40001"));
        }
        let histories: Vec<&[Done]> =
            self.sessions.values().map(|session| &session.history[..]).collect();
        let text = |error: SqlError| error.message;
        let state = serial::state(&*self.database, &wanted.state).map_err(text)?;
        match serial::explains(self.backend, setup, &histories, &wanted.state, &state) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("no serial order of the committed comes to {state:?}")),
            Err(error) => Err(error.message),
        }
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // Idle sessions end first: that is what releases those that wait.
        for session in self.sessions.values_mut() {
            session.statements = None;
        }
        for session in self.sessions.values_mut() {
            let _ = session.thread.take().map(JoinHandle::join);
        }
    }
}

fn said(about: &str, message: &str) -> String {
    format!("{about}\n{message}")
}

/// The records of each scenario; those in front of the first are left out.
fn scenarios(lines: &[Line]) -> impl Iterator<Item = &[Line]> {
    let starts = |line: &Line| matches!(line.record, Record::Scenario(_));
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| starts(&lines[at])).collect();
    let ends = starts.clone().into_iter().skip(1).chain([lines.len()]);
    starts.into_iter().zip(ends).map(|(start, end)| &lines[start..end])
}

fn setup_of(lines: &[Line]) -> Vec<String> {
    let setups = lines.iter().filter_map(|line| match &line.record {
        Record::Setup(statements) => Some(statements.clone()),
        _ => None,
    });
    setups.flatten().collect()
}

/// The records of `scenario`, and whether `system` runs them.
fn applicable<'a>(scenario: &'a [Line], system: &str) -> Vec<(&'a Line, bool)> {
    let mut skip = false;
    let applies = |line: &Line| match &line.record {
        Record::Condition { only, system: named } => {
            skip |= (named == system) != *only;
            false
        }
        Record::Comment(_) => false,
        _ => !std::mem::take(&mut skip),
    };
    let applies: Vec<bool> = scenario.iter().map(applies).collect();
    scenario.iter().zip(applies).collect()
}

/// Runs all scenarios; a failure ends its scenario.
///
/// # Errors
/// When a database cannot be made or set up.
pub(super) fn run(lines: &[Line], backend: &dyn Backend) -> Result<Report, SqlError> {
    let setup = setup_of(lines);
    let mut report = Report::default();
    for scenario in scenarios(lines) {
        let records = applicable(scenario, backend.name()).into_iter();
        let records: Vec<&Line> = records.filter(|line| line.1).map(|line| line.0).collect();
        let mut stage = Stage::new(backend, &setup)?;
        let any_order = records.iter().any(|l| matches!(l.record, Record::Serializable(_)));
        stage.tolerant = any_order && !backend.is_oracle();
        for line in records {
            match &line.record {
                Record::Step(step) if step.query => report.queries += 1,
                Record::Step(_) | Record::Serializable(_) => report.statements += 1,
                _ => {}
            }
            if let Err(message) = stage.check(&line.record, &setup) {
                report.failures.push(Failure { line: line.number, message });
                break;
            }
        }
    }
    Ok(report)
}

/// The records with what came as their expectation.
///
/// # Errors
/// When a database cannot be made, or a step is sent to a session that waits.
pub(super) fn renew(lines: &[Line], backend: &dyn Backend) -> Result<Vec<Record>, SqlError> {
    let setup = setup_of(lines);
    let mut stage = Stage::new(backend, &setup)?;
    let mut renewed = Vec::new();
    for (line, applies) in applicable(lines, backend.name()) {
        let record = line.record.clone();
        match record {
            record if !applies => renewed.push(record),
            Record::Scenario(_) => {
                stage = Stage::new(backend, &setup)?;
                renewed.push(record);
            }
            Record::Unblocks { .. } => {}
            Record::Step(mut step) => {
                let at = |error: SqlError| {
                    SqlError::internal(format!("line {}: {}", line.number, error.message))
                };
                step.expected = stage.step(&step).map_err(at)?;
                step.query = match step.expected {
                    Outcome::Rows(_) => true,
                    Outcome::Ok | Outcome::Count(_) => false,
                    _ => step.query,
                };
                renewed.push(Record::Step(step));
                for (session, expected) in std::mem::take(&mut stage.released) {
                    renewed.push(Record::Unblocks { session, expected });
                }
            }
            Record::Serializable(mut wanted) => {
                let failed = stage.failed(&wanted.sessions);
                wanted.failing = match wanted.failing {
                    Failing::AtMost(count) if failed <= count => Failing::AtMost(count),
                    _ => Failing::Exactly(failed),
                };
                renewed.push(Record::Serializable(wanted));
            }
            _ => renewed.push(record),
        }
    }
    Ok(renewed)
}
