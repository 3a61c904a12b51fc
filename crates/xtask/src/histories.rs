//! `cargo xtask histories`: random transactions on lists, checked for cycles.

use std::time::Instant;

use testkit::histories::{
    Anomaly, End, Level, ListStore, Plan, RealTime, Shape, SqlLists, check, run,
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

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Histories of each level and shape.
    pub count: usize,
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
        for shape in [Shape::Text, Shape::Rows] {
            histories(backend, options, (name, level), shape)?;
        }
    }
    Ok(())
}

fn histories(
    backend: &dyn Backend,
    options: &Options,
    (name, level): (&str, Level),
    shape: Shape,
) -> Outcome {
    let start = Instant::now();
    let database = backend.create().map_err(text)?;
    let begin = format!("BEGIN ISOLATION LEVEL {name}");
    let store = SqlLists::new(database, &begin, shape).map_err(text)?;
    let open = |_| store.open().map_err(|error| format!("{error:?}"));
    let mut sessions = (0..options.sessions).map(open).collect::<Result<Vec<_>, _>>()?;
    let (mut committed, mut aborted, mut allowed) = (0, 0, Vec::<Anomaly>::new());
    for number in 0..options.count {
        let seed = options.seed.wrapping_add(number as u64);
        let keys = Plan::default().keys;
        let plan = Plan { seed, first_key: number as u32 * keys, ..Plan::default() };
        let history = run(&mut sessions, &plan)?;
        let ends = |end| history.txns.iter().filter(|txn| txn.end == end).count();
        committed += ends(End::Committed);
        aborted += ends(End::Aborted);
        let found = check(&history, level, RealTime::Kept);
        if !found.is_empty() {
            return Err(format!("{name}, {shape:?}, seed {seed}: {found:#?}\n{history:#?}"));
        }
        let all = check(&history, Level::Serializable, RealTime::Kept);
        allowed.extend(all.iter().map(|finding| finding.anomaly));
    }
    let of = |anomaly| allowed.iter().filter(|&&found| found == anomaly).count();
    println!(
        "{}: {name}, {shape:?}: {} histories, {committed} committed, {aborted} aborted, allowed: \
         {} G-single, {} G-nonadjacent, {} G2, {:.1} s",
        backend.name(),
        options.count,
        of(Anomaly::GSingle),
        of(Anomaly::GNonadjacent),
        of(Anomaly::G2),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
