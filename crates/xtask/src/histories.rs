//! `cargo xtask histories`: random transactions on lists, checked for cycles.
//!
//! Each level may show the anomalies that it permits; they are counted, for where there are none
//! nothing ran side by side.

use std::time::Instant;

use testkit::histories::{
    Anomaly, End, Level, ListSession, ListStore, Plan, RealTime, Shape, SqlLists, check, run,
};
use testkit::postgres::Postgres;
use testkit::slt::Backend;

use crate::{Outcome, text};

/// Each level with how its transactions begin.
const LEVELS: [(&str, Level); 3] = [
    ("READ COMMITTED", Level::ReadCommitted),
    ("REPEATABLE READ", Level::Snapshot),
    ("SERIALIZABLE", Level::Serializable),
];

/// How lists are tables.
const SHAPES: [Shape; 2] = [Shape::Text, Shape::Rows];

/// Histories on one database: whatever reads a whole table does not get slower for ever.
const PER_DATABASE: usize = 50;

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Histories in all, shared among levels and shapes.
    pub histories: usize,
    /// Sessions side by side.
    pub sessions: usize,
    /// Where chance begins.
    pub seed: u64,
}

/// Runs PostgreSQL, to check the checker.
///
/// # Errors
/// When PostgreSQL cannot be started, or a history is not as it should be.
pub fn postgres(options: &Options) -> Outcome {
    let server = Postgres::start().map_err(|error| error.message)?;
    on(&server, options)
}

/// Runs `backend` at every level and in every shape.
///
/// # Errors
/// The anomalies of the first history that has some, with its seed.
pub fn on(backend: &dyn Backend, options: &Options) -> Outcome {
    for (name, level) in LEVELS {
        for shape in SHAPES {
            histories(backend, options, (name, level), shape)?;
        }
    }
    Ok(())
}

/// Counts of the histories of a level and shape.
#[derive(Default)]
struct Tally {
    committed: usize,
    aborted: usize,
    /// Anomalies that the level permits.
    permitted: Vec<Anomaly>,
}

fn histories(
    backend: &dyn Backend,
    options: &Options,
    (name, level): (&str, Level),
    shape: Shape,
) -> Outcome {
    let start = Instant::now();
    let count = options.histories.div_ceil(LEVELS.len() * SHAPES.len());
    let mut tally = Tally::default();
    for first in (0..count).step_by(PER_DATABASE) {
        let begin = format!("BEGIN ISOLATION LEVEL {name}");
        let database = backend.create().map_err(text)?;
        let store = SqlLists::new(database, &begin, shape).map_err(text)?;
        let open = |_| store.open().map_err(|error| format!("{error:?}"));
        let mut sessions = (0..options.sessions).map(open).collect::<Result<Vec<_>, _>>()?;
        for number in first..count.min(first + PER_DATABASE) {
            let seed = options.seed.wrapping_add(number as u64);
            one(&mut sessions, (seed, number), level, &mut tally)
                .map_err(|error| format!("{name}, {shape:?}, seed {seed}: {error}"))?;
        }
    }
    let of = |anomaly| tally.permitted.iter().filter(|&&found| found == anomaly).count();
    println!(
        "{}: {name}, {shape:?}: {count} histories, {} committed, {} aborted, permitted: \
         {} G-single, {} G-nonadjacent, {} G2, {:.1} s",
        backend.name(),
        tally.committed,
        tally.aborted,
        of(Anomaly::GSingle),
        of(Anomaly::GNonadjacent),
        of(Anomaly::G2),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn one<S: ListSession + Send>(
    sessions: &mut [S],
    (seed, number): (u64, usize),
    level: Level,
    tally: &mut Tally,
) -> Outcome {
    let keys = Plan::default().keys;
    let plan = Plan { seed, first_key: number as u32 * keys, ..Plan::default() };
    let history = run(sessions, &plan)?;
    let ends = |end| history.txns.iter().filter(|txn| txn.end == end).count();
    tally.committed += ends(End::Committed);
    tally.aborted += ends(End::Aborted);
    let found = check(&history, level, RealTime::Kept);
    if !found.is_empty() {
        return Err(format!("{found:#?}\n{history:#?}"));
    }
    let all = check(&history, Level::Serializable, RealTime::Kept);
    tally.permitted.extend(all.iter().map(|finding| finding.anomaly));
    Ok(())
}
