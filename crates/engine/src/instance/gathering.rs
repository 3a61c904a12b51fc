//! Statistics that somebody planned without are gathered in the background.
//!
//! ```text
//! planned with old estimates, or with a few rows -> wanted (`storage::Table::wants_statistics`)
//! each cycle: tables that want them              -> gathered, for the next plan
//! ```
//! Tables that nobody asks about are never read. After each block the thread rests for longer than
//! the block took, so that it has a tenth of a core at most.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use durable::Stores;
use parking_lot::{Condvar, Mutex};
use storage::Table;
use types::{Error, SqlState};

/// Time from the end of a cycle to the next.
const CYCLE: Duration = Duration::from_secs(1);

/// Rest, in times of the work before it.
const REST: u32 = 9;

#[derive(Debug, Default)]
struct Told {
    /// The thread is to end.
    stop: bool,
    /// The thread is to let go of the table that it reads.
    give_way: bool,
}

#[derive(Debug, Default)]
struct Signal {
    told: Mutex<Told>,
    changed: Condvar,
    /// Held during a cycle.
    cycle: Mutex<()>,
}

impl Signal {
    /// Waits for so long at most; false when the thread is to end.
    fn rest(&self, at_most: Duration) -> bool {
        let mut told = self.told.lock();
        if !told.stop && !told.give_way {
            self.changed.wait_for(&mut told, at_most);
        }
        !told.stop
    }

    /// As [`Self::rest`], within a cycle; false also when that is to end.
    fn rest_in_cycle(&self, at_most: Duration) -> bool {
        self.rest(at_most) && !self.told.lock().give_way
    }
}

/// The thread that gathers statistics. Without [`Gatherer::start`], planners gather those of small
/// tables and ANALYZE those of others.
#[derive(Debug, Default)]
pub(crate) struct Gatherer {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Gatherer {
    /// Starts the thread. The database does not live on by it.
    pub(crate) fn start(&self, stores: Arc<Stores>) {
        let signal = Arc::clone(&self.signal);
        let thread = std::thread::Builder::new().name("statistics".into());
        let run = move || {
            while signal.rest(CYCLE) {
                let _cycle = signal.cycle.lock();
                cycle(&stores, &|took| signal.rest_in_cycle(took * REST));
            }
        };
        // Without the thread, estimates stay as old as they are.
        *self.thread.lock() = thread.spawn(run).ok();
    }

    /// Waits until the thread holds no table, which it takes up again later: the time of a block.
    pub(crate) fn give_way(&self) {
        self.signal.told.lock().give_way = true;
        self.signal.changed.notify_one();
        drop(self.signal.cycle.lock());
        self.signal.told.lock().give_way = false;
    }

    /// Ends the thread, after the block that it may be reading.
    pub(crate) fn stop(&self) {
        self.signal.told.lock().stop = true;
        self.signal.changed.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

/// Gathers the statistics that are wanted; `rest` is called with the time since the last rest, and
/// ends the cycle when it is false.
fn cycle(stores: &Stores, rest: &dyn Fn(Duration) -> bool) {
    let state = stores.relations.snapshot();
    let tables = state.tables.values().map(|entry| entry.storage());
    let wanted: Vec<Weak<Table>> =
        tables.filter(|table| table.wants_statistics()).map(Arc::downgrade).collect();
    drop(state);
    for table in wanted {
        // A table that was dropped meanwhile is not kept.
        let Some(table) = table.upgrade() else { continue };
        let begun = Mutex::new(Instant::now());
        let go_on = || {
            let goes_on = rest(begun.lock().elapsed()) && Arc::strong_count(&table) > 1;
            *begun.lock() = Instant::now();
            let over = || Error::new(SqlState::QUERY_CANCELED, "nobody wants these statistics");
            if goes_on { Ok(()) } else { Err(over()) }
        };
        if table.gather(&go_on).is_err() && Arc::strong_count(&table) > 1 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use types::SqlState;

    use super::cycle;
    use crate::{Config, Database, Session};

    fn run(session: &mut Session, sql: &str) {
        session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Loads of whole blocks bring statistics along; hot rows do not.
    const HOT: &str = "WITH (layout = row)";

    /// A database without the thread.
    fn database() -> (Database, Session) {
        let database = Database::open_in_memory(Config::default()).expect("it opens");
        database.inner().gatherer.stop();
        let session = database.session();
        (database, session)
    }

    #[test]
    fn only_tables_that_somebody_planned_with_are_gathered() {
        let (database, mut session) = database();
        for name in ["asked", "silent"] {
            run(&mut session, &format!("CREATE TABLE {name} (k int, g int) {HOT}"));
            let rows = "SELECT i, i % 7000 FROM generate_series(1, 15000) AS s(i)";
            run(&mut session, &format!("INSERT INTO {name} {rows}"));
        }
        run(&mut session, "SELECT count(*) FROM asked WHERE g = 1");
        let table = |name: &str| {
            let entry = database.table(name).expect("it is there");
            std::sync::Arc::clone(entry.storage())
        };
        assert!(table("asked").wants_statistics() && table("asked").has_peeked_statistics());
        assert!(!table("silent").wants_statistics());
        cycle(&database.inner().stores, &|_: Duration| true);
        assert!(!table("asked").wants_statistics() && !table("asked").has_peeked_statistics());
        let distinct = table("asked").statistics().columns[1].estimates.distinct;
        assert!((distinct / 7000.0 - 1.0).abs() < 0.1, "{distinct}");
    }

    #[test]
    fn a_cycle_that_is_stopped_is_taken_up_by_the_next() {
        let (database, mut session) = database();
        run(&mut session, &format!("CREATE TABLE t (k int) {HOT}"));
        run(&mut session, "INSERT INTO t SELECT i FROM generate_series(1, 15000) AS s(i)");
        run(&mut session, "SELECT count(*) FROM t WHERE k = 1");
        let stores = &database.inner().stores;
        cycle(stores, &|_: Duration| false);
        let table = std::sync::Arc::clone(database.table("t").expect("it is there").storage());
        assert!(table.wants_statistics() && table.has_peeked_statistics());
        cycle(stores, &|_: Duration| true);
        assert!(!table.wants_statistics() && !table.has_peeked_statistics());
    }

    #[test]
    fn analyze_gathers_at_once_and_a_kept_plan_is_made_anew() {
        let (database, mut session) = database();
        run(&mut session, &format!("CREATE TABLE t (k int, g int) {HOT}"));
        let rows = "SELECT i, i % 7000 FROM generate_series(1, 15000) AS s(i)";
        run(&mut session, &format!("INSERT INTO t {rows}"));
        let table = std::sync::Arc::clone(database.table("t").expect("it is there").storage());
        run(&mut session, "PREPARE p AS SELECT count(*) FROM t AS a, t AS b WHERE a.g = b.k");
        run(&mut session, "EXECUTE p");
        assert!(table.has_peeked_statistics());
        let reliance = crate::session::compiled::Reliance::on(std::sync::Arc::clone(&table));
        assert!(reliance.holds());
        for analyze in ["ANALYZE t", "ANALYZE", "VACUUM ANALYZE t", "VACUUM (ANALYZE)"] {
            run(&mut session, "INSERT INTO t SELECT k, g FROM t LIMIT 6000");
            run(&mut session, "SELECT count(*) FROM t WHERE g = 1");
            assert!(table.wants_statistics(), "{analyze}");
            run(&mut session, analyze);
            assert!(!table.wants_statistics(), "{analyze}");
        }
        assert!(!reliance.holds(), "a plan made with a peek is made again");
    }

    #[test]
    fn bounds_are_those_of_now_however_old_the_estimates() {
        let (database, mut session) = database();
        run(&mut session, &format!("CREATE TABLE t (k bigint) {HOT}"));
        run(&mut session, "INSERT INTO t SELECT i FROM generate_series(1, 15000) AS s(i)");
        run(&mut session, "ANALYZE t");
        let sum = |session: &mut Session| {
            let found = session.execute("SELECT sum(k * k) FROM t").expect("it fits");
            found.text_rows()[0][0].clone()
        };
        let first = sum(&mut session);
        // Far beyond what the estimates saw: the square needs 128 bits, or fails as PostgreSQL's.
        run(&mut session, "INSERT INTO t VALUES (3037000499)");
        let table = std::sync::Arc::clone(database.table("t").expect("it is there").storage());
        let max = table.statistics().columns[0].max.clone().and_then(|v| v.as_integer());
        assert!(max >= Some(3_037_000_499), "{max:?}");
        assert_ne!(sum(&mut session), first);
        run(&mut session, "INSERT INTO t VALUES (3037000500)");
        let error = session.execute("SELECT sum(k * k) FROM t").err().expect("it does not fit");
        assert_eq!(error.state(), SqlState::NUMERIC_OUT_OF_RANGE);
    }
}
