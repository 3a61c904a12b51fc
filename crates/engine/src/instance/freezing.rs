//! Blocks that nobody writes any more are frozen, in the background.
//!
//! ```text
//! hot --unchanged for the table's patience--> frozen in place (`storage`): a trial
//!  '-- takes new rows: not in the background
//! trial: many of its rows written soon --> patience doubles; none --> it halves
//! ```
//! A cycle looks at each hot block of each table whose layout is left to the database: whether a
//! commit has changed it since the last cycle, by counts that commits keep anyway. Whoever reads or
//! writes pays nothing, and a writer that comes while a block is copied wins.
//!
//! Source: Funke 2015, section 5.3. Departures: reads do not warm a block, since a frozen row is
//! read by its key about as fast as a hot one, and a temperature that reads keep would cost each
//! of them a store; rows do not move while their block cools, they stay where they are.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use durable::{Durable, Stores};
use parking_lot::{Condvar, Mutex};
use storage::{HotBlock, Layout, Table, TableId};
use txn::manager::Isolation;
use types::Result;

use super::compaction::{self, Quiet, Traces};

/// Cycles without a change after which a block of a table is frozen, to begin with.
const PATIENCE: u32 = 10;

/// The same at most: an hour.
const PATIENCE_MAX: u32 = 3600;

/// Cycles after which a trial has succeeded.
const TRIAL_CYCLES: u32 = 600;

/// A trial is refuted when one of so many rows was written.
const REFUTING_SHARE: u64 = 8;

/// Time from the end of a cycle to the next.
const CYCLE: Duration = Duration::from_secs(1);

/// The same when blocks are frozen as soon as nobody writes them.
const CYCLE_EAGER: Duration = Duration::from_millis(10);

/// A database as who freezes its blocks needs it. The database does not live on by it.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) stores: Arc<Stores>,
    /// Log and checkpoints; None in memory.
    pub(crate) durable: Option<Arc<Durable>>,
    /// Rows that moved.
    pub(crate) traces: Arc<Traces>,
}

impl Site {
    /// The latch that is held while a checkpoint is written; None in memory.
    pub(super) fn checkpoints(&self) -> Option<Arc<Mutex<()>>> {
        self.durable.as_ref().map(|durable| durable.checkpoints())
    }
}

/// When blocks are frozen in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Freezing {
    /// Never.
    Off,
    /// When nobody has changed them for a while.
    #[default]
    On,
    /// As soon as nobody writes them, though they take new rows: for tests.
    Eager,
}

impl Freezing {
    /// All, with their names in SET.
    pub(crate) const ALL: [(&'static str, Self); 3] =
        [("on", Self::On), ("off", Self::Off), ("eager", Self::Eager)];

    /// Its name in SET.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, other)| *other == self).map_or("", |(name, _)| name)
    }

    /// True for a block of a table of this patience that was unchanged for so many cycles.
    fn wants(self, block: &HotBlock, cycles: u32, patience: u32) -> bool {
        match self {
            Self::Off => false,
            Self::On => !block.takes_rows && cycles >= patience,
            Self::Eager => true,
        }
    }
}

/// Orders to the thread.
#[derive(Debug, Default)]
struct Wishes {
    freezing: Freezing,
    stop: bool,
}

#[derive(Debug, Default)]
struct Signal {
    wishes: Mutex<Wishes>,
    changed: Condvar,
}

/// The thread that freezes. Without [`Freezer::start`] nothing happens in the background.
#[derive(Debug, Default)]
pub(crate) struct Freezer {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Freezer {
    /// Starts the thread.
    pub(crate) fn start(&self, site: Site) {
        let signal = Arc::clone(&self.signal);
        let thread = std::thread::Builder::new().name("freezer".into());
        // Without the thread, rows stay hot until somebody says VACUUM FREEZE.
        *self.thread.lock() = thread.spawn(move || run(&signal, &site)).ok();
    }

    pub(crate) fn freezing(&self) -> Freezing {
        self.signal.wishes.lock().freezing
    }

    pub(crate) fn set(&self, freezing: Freezing) {
        self.signal.wishes.lock().freezing = freezing;
        self.signal.changed.notify_one();
    }

    /// Ends the thread, after the block that it may be freezing.
    pub(crate) fn stop(&self) {
        self.signal.wishes.lock().stop = true;
        self.signal.changed.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

fn run(signal: &Signal, site: &Site) {
    let (mut seen, mut last) = (Seen::default(), Freezing::default());
    loop {
        let freezing = {
            let mut wishes = signal.wishes.lock();
            let rest = match wishes.freezing {
                Freezing::Eager => CYCLE_EAGER,
                Freezing::On | Freezing::Off => CYCLE,
            };
            if !wishes.stop {
                signal.changed.wait_for(&mut wishes, rest);
            }
            if wishes.stop {
                return;
            }
            wishes.freezing
        };
        // What one way of freezing taught says nothing to another.
        if std::mem::replace(&mut last, freezing) != freezing {
            seen = Seen::default();
        }
        if freezing != Freezing::Off {
            cycle(site, &mut seen, &Pace { signal, freezing });
        }
    }
}

/// How fast a cycle may go.
pub(crate) struct Pace<'s> {
    signal: &'s Signal,
    freezing: Freezing,
}

impl Pace<'_> {
    /// Rests as long as the work before `took`, so that others have half of a core; false when the
    /// cycle is to end.
    fn rest(&self, took: Duration) -> bool {
        let mut wishes = self.signal.wishes.lock();
        if !wishes.stop && self.freezing == Freezing::On {
            self.signal.changed.wait_for(&mut wishes, took);
        }
        !wishes.stop && wishes.freezing == self.freezing
    }
}

/// A block that was frozen, and is watched.
#[derive(Clone, Copy, Debug)]
struct Trial {
    block: HotBlock,
    /// Cycles since.
    age: u32,
}

impl Trial {
    /// True when so much was written since that the block should have stayed hot.
    fn is_refuted(&self, table: &Table) -> bool {
        let Some(changes) = table.block_changes(self.block.id) else { return true };
        (changes - self.block.changes) * REFUTING_SHARE > self.block.rows as u64
    }
}

/// Experience with one table.
#[derive(Debug)]
struct Temper {
    /// Cycles without a change after which a block is frozen.
    patience: u32,
    trials: Vec<Trial>,
}

impl Default for Temper {
    fn default() -> Self {
        Self { patience: PATIENCE, trials: Vec::new() }
    }
}

impl Temper {
    /// Learns from the trials, which are a cycle older.
    fn learn(&mut self, table: &Table) {
        let (mut refuted, mut succeeded) = (false, false);
        self.trials.retain_mut(|trial| {
            trial.age += 1;
            let is_refuted = trial.is_refuted(table);
            let is_over = trial.age >= TRIAL_CYCLES;
            refuted |= is_refuted;
            succeeded |= is_over && !is_refuted;
            !is_refuted && !is_over
        });
        if refuted {
            self.patience = (self.patience * 2).min(PATIENCE_MAX);
        } else if succeeded {
            self.patience = (self.patience / 2).max(PATIENCE);
        }
    }
}

/// Memory of the thread from cycle to cycle.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Hot blocks as they were, by table and block, and for how many cycles they were the same.
    blocks: HashMap<(TableId, u64), (HotBlock, u32)>,
    /// By table.
    tempers: HashMap<TableId, Temper>,
    /// All blocks as they were.
    quiet: Quiet,
}

impl Seen {
    /// The blocks of `tables` that `freezing` wants.
    fn wanted(
        &mut self,
        tables: &[Arc<Table>],
        freezing: Freezing,
    ) -> Vec<(Weak<Table>, HotBlock)> {
        let (mut blocks, mut tempers) = (HashMap::new(), HashMap::new());
        let mut found = Vec::new();
        for table in tables {
            let mut temper = self.tempers.remove(&table.id()).unwrap_or_default();
            temper.learn(table);
            for block in table.hot_blocks().into_iter().filter(|_| may_freeze(table)) {
                let key = (table.id(), block.id);
                let cycles = match self.blocks.get(&key) {
                    Some((before, cycles)) if *before == block => cycles + 1,
                    _ => 0,
                };
                if freezing.wants(&block, cycles, temper.patience) {
                    found.push((Arc::downgrade(table), block));
                }
                blocks.insert(key, (block, cycles));
            }
            tempers.insert(table.id(), temper);
        }
        (self.blocks, self.tempers) = (blocks, tempers);
        found
    }

    /// Begins to count anew how long a block was unchanged.
    fn put_off(&mut self, table: &Table, block: HotBlock) {
        self.blocks.insert((table.id(), block.id), (block, 0));
    }

    /// Watches a block that was frozen.
    fn watch(&mut self, table: &Table, block: HotBlock) {
        let temper = self.tempers.entry(table.id()).or_default();
        temper.trials.push(Trial { block, age: 0 });
    }
}

/// All tables.
fn tables(stores: &Stores) -> Vec<Arc<Table>> {
    let state = stores.relations.snapshot();
    state.tables.values().map(|entry| Arc::clone(entry.storage())).collect()
}

/// False for tables whose definition says that rows stay as they are.
fn may_freeze(table: &Table) -> bool {
    match table.layout() {
        Layout::Auto | Layout::Frozen => true,
        Layout::Row | Layout::Column => false,
    }
}

/// Freezes what nobody has written for long enough, and puts together what is left of blocks.
fn cycle(site: &Site, seen: &mut Seen, pace: &Pace<'_>) {
    site.traces.forget(site);
    let tables = tables(&site.stores);
    let wanted = seen.wanted(&tables, pace.freezing);
    let cycles = if pace.freezing == Freezing::Eager { 0 } else { PATIENCE };
    let thin = seen.quiet.wanted(&tables, cycles);
    drop(tables);
    if wanted.is_empty() && thin.is_empty() {
        return;
    }
    // Versions of the last commits, which only later ones would collect.
    site.stores.transactions.collect();
    for (table, block) in wanted {
        let begun = Instant::now();
        // A table that was dropped meanwhile is not kept.
        if let Some(table) = table.upgrade() {
            try_block(site, seen, &table, block);
        }
        if !pace.rest(begun.elapsed()) {
            return;
        }
    }
    for group in thin {
        let begun = Instant::now();
        // Without memory for the copy the rows stay where they are.
        if compaction::try_group(site, &group).is_err() {
            seen.quiet.put_off(&group);
        }
        if !pace.rest(begun.elapsed()) {
            return;
        }
    }
}

/// Freezes a block as it was seen when the cycle began, and watches it.
fn try_block(site: &Site, seen: &mut Seen, table: &Table, block: HotBlock) {
    if table.block_changes(block.id) != Some(block.changes) {
        return;
    }
    // While a checkpoint is written it is tried again in the next cycle.
    let checkpoints = site.checkpoints();
    let held = checkpoints.as_ref().map(|checkpoints| checkpoints.try_lock());
    if held.as_ref().is_some_and(Option::is_none) {
        return;
    }
    match freeze(&site.stores, table, block.id) {
        Ok(true) => seen.watch(table, block),
        Ok(false) => {}
        // Without memory for the copy its rows stay as they are; others may be smaller.
        Err(_) => seen.put_off(table, block),
    }
}

/// Freezes the hot blocks of `table`, the one that takes new rows, too; for VACUUM FREEZE.
///
/// # Errors
/// 53200 without memory; what `check` says between two blocks.
pub(crate) fn freeze_table(
    site: &Site,
    table: &Table,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    if !may_freeze(table) {
        return Ok(());
    }
    for block in table.hot_blocks() {
        check()?;
        let checkpoints = site.checkpoints();
        let _held = checkpoints.as_ref().map(|checkpoints| checkpoints.lock());
        freeze(&site.stores, table, block.id)?;
    }
    Ok(())
}

fn freeze(stores: &Stores, table: &Table, block: u64) -> Result<bool> {
    let reader = stores.transactions.begin(Isolation::Snapshot)?;
    let frozen = table.freeze_block(block, reader.snapshot());
    reader.rollback();
    frozen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Database, Session};

    fn run(session: &mut Session, sql: &str) {
        session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Fills `table` with rows that are hot, in several blocks.
    fn fill(session: &mut Session, table: &str, text: &str) {
        for first in (0..3000).step_by(100) {
            let rows = format!("generate_series({first}, {}) AS g(i)", first + 99);
            run(session, &format!("INSERT INTO {table} SELECT i, 0, {text} FROM {rows}"));
        }
    }

    /// A database whose thread does nothing, and a session with a table of hot rows.
    fn with_rows(config: Config) -> (Database, Session) {
        let database = Database::open_in_memory(config).expect("it opens");
        let mut session = database.session();
        run(&mut session, "SET freezing = off");
        run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, k int, s text)");
        fill(&mut session, "t", "NULL");
        (database, session)
    }

    fn is_frozen(database: &Database, table: &str) -> bool {
        let table = database.table(table).expect("it is there");
        table.storage().hot_blocks().iter().all(|block| block.takes_rows)
    }

    /// A cycle as of the thread.
    fn turn(database: &Database, seen: &mut Seen) {
        let signal = Signal::default();
        let pace = Pace { signal: &signal, freezing: Freezing::On };
        cycle(&database.inner().site(), seen, &pace);
    }

    /// Cycles until no block of `t` but the last is hot; None when that takes more than `most`.
    fn cycles_until_frozen(database: &Database, seen: &mut Seen, most: u32) -> Option<u32> {
        (1..=most).find(|_| {
            turn(database, seen);
            is_frozen(database, "t")
        })
    }

    #[test]
    fn a_block_without_memory_for_its_copy_does_not_hold_up_others() {
        let config = Config { memory_bytes: 64 << 20, ..Config::default() };
        let (database, mut session) = with_rows(config);
        run(&mut session, "CREATE TABLE big (id int PRIMARY KEY, k int, s text)");
        fill(&mut session, "big", "repeat(md5(i::text), 100)");
        let pool = database.pool();
        let left = 1 << 20;
        let bytes = pool.limit() - pool.total() - left;
        let ballast = pool.reserve(storage::MemoryCategory::Temporary, bytes).expect("it fits");
        let mut seen = Seen::default();
        assert!(cycles_until_frozen(&database, &mut seen, 2 * PATIENCE).is_some());
        assert!(!is_frozen(&database, "big"), "there is no room for its copy");
        drop(ballast);
        (0..=2 * PATIENCE).for_each(|_| turn(&database, &mut seen));
        assert!(is_frozen(&database, "big"), "there is room again");
    }

    #[test]
    fn a_block_that_was_written_since_it_was_seen_stays_hot() {
        let (database, mut session) = with_rows(Config::default());
        let table = Arc::clone(database.table("t").expect("it is there").storage());
        let block = table.hot_blocks()[0];
        run(&mut session, "UPDATE t SET k = 1 WHERE id = 0");
        let site = database.inner().site();
        site.stores.transactions.collect();
        let mut seen = Seen::default();
        try_block(&site, &mut seen, &table, block);
        assert_eq!(table.hot_blocks()[0].id, block.id, "as it was seen it is no more");
        let now = table.hot_blocks()[0];
        try_block(&site, &mut seen, &table, now);
        assert_ne!(table.hot_blocks()[0].id, block.id, "as it is now");
    }

    #[test]
    fn a_table_that_is_written_again_and_again_is_left_alone_for_longer() {
        let (database, mut session) = with_rows(Config::default());
        let mut seen = Seen::default();
        let first = cycles_until_frozen(&database, &mut seen, 100);
        assert_eq!(first, Some(PATIENCE + 1), "the first cycle sees the blocks");
        // All rows move to hot blocks.
        run(&mut session, "UPDATE t SET k = k + 1");
        let second = cycles_until_frozen(&database, &mut seen, 100);
        assert_eq!(second, Some(2 * PATIENCE + 1), "a trial was refuted");
        let patience = |seen: &Seen| seen.tempers.values().map(|temper| temper.patience).max();
        assert_eq!(patience(&seen), Some(2 * PATIENCE));
        for _ in 0..=TRIAL_CYCLES {
            cycles_until_frozen(&database, &mut seen, 1);
        }
        assert_eq!(patience(&seen), Some(PATIENCE), "the next trial went well");
    }
}
