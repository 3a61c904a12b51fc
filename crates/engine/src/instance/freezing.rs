//! Blocks that nobody writes any more are frozen, in the background.
//!
//! ```text
//! hot --unchanged for IDLE_CYCLES--> frozen in place (`storage`)
//!  '-- takes new rows: not in the background
//! ```
//! A cycle looks at each hot block of each table whose layout is left to the database: whether a
//! commit has changed it since the last cycle, by counts that commits keep anyway. Whoever reads or
//! writes pays nothing, and a writer that comes while a block is copied wins.
//!
//! Source: Funke 2015, section 5.3. Departures: reads do not warm a block, since a frozen row is
//! read by its key about as fast as a hot one, and a temperature that reads keep would cost each
//! of them a store; rows do not move while their block cools, they stay where they are.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use storage::{HotBlock, Layout, Table};
use txn::manager::Isolation;
use types::Result;

use crate::durable::{Durable, Stores};

/// Cycles without a change after which a block is frozen.
const IDLE_CYCLES: u32 = 10;

/// Time from the end of a cycle to the next.
const CYCLE: Duration = Duration::from_secs(1);

/// The same when blocks are frozen as soon as nobody writes them.
const CYCLE_EAGER: Duration = Duration::from_millis(10);

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

    /// True for a block that was unchanged for so many cycles.
    fn wants(self, block: &HotBlock, cycles: u32) -> bool {
        match self {
            Self::Off => false,
            Self::On => !block.takes_rows && cycles >= IDLE_CYCLES,
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
    /// Starts the thread; `cycle` is handed what was seen of hot blocks before, and what may stop
    /// it.
    pub(crate) fn start(&self, cycle: impl Fn(&mut Seen, &Pace<'_>) + Send + 'static) {
        let signal = Arc::clone(&self.signal);
        let thread = std::thread::Builder::new().name("freezer".into());
        // Without the thread, rows stay hot until somebody says VACUUM FREEZE.
        *self.thread.lock() = thread.spawn(move || run(&signal, &cycle)).ok();
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
        let thread = self.thread.lock().take();
        // The thread itself ends the database when it was the last to use it.
        if let Some(thread) = thread.filter(|t| t.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

fn run(signal: &Signal, cycle: &dyn Fn(&mut Seen, &Pace<'_>)) {
    let mut seen = Seen::default();
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
        if freezing != Freezing::Off {
            cycle(&mut seen, &Pace { signal, freezing });
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

/// Hot blocks as they were in the last cycle, by table and block.
#[derive(Debug, Default)]
pub(crate) struct Seen(HashMap<(u64, u64), (HotBlock, u32)>);

impl Seen {
    /// The blocks of `tables` that `freezing` wants.
    fn wanted(&mut self, tables: &[Arc<Table>], freezing: Freezing) -> Vec<(Arc<Table>, u64)> {
        let mut now = HashMap::new();
        let mut found = Vec::new();
        for table in tables {
            for block in table.hot_blocks() {
                let key = (table.id(), block.id);
                let cycles = match self.0.get(&key) {
                    Some((before, cycles)) if *before == block => cycles + 1,
                    _ => 0,
                };
                if freezing.wants(&block, cycles) {
                    found.push((Arc::clone(table), block.id));
                }
                now.insert(key, (block, cycles));
            }
        }
        self.0 = now;
        found
    }
}

/// The tables whose blocks may be frozen.
fn tables(stores: &Stores) -> Vec<Arc<Table>> {
    let state = stores.relations.snapshot();
    let all = state.tables.values().map(|entry| entry.storage());
    all.filter(|table| table.layout() == Layout::Auto).cloned().collect()
}

/// Freezes what nobody has written for long enough.
pub(crate) fn cycle(stores: &Stores, durable: Option<&Durable>, seen: &mut Seen, pace: &Pace<'_>) {
    let wanted = seen.wanted(&tables(stores), pace.freezing);
    if wanted.is_empty() {
        return;
    }
    // Versions of the last commits, which only later ones would collect.
    stores.transactions.collect();
    for (table, block) in wanted {
        let begun = Instant::now();
        let freeze = || freeze(stores, &table, block);
        let frozen = match durable {
            // While a checkpoint is written it is tried again in the next cycle.
            Some(durable) => durable.unless_writing(freeze).unwrap_or(Ok(false)),
            None => freeze(),
        };
        // Without memory for the copy the rows stay as they are.
        if frozen.is_err() || !pace.rest(begun.elapsed()) {
            return;
        }
    }
}

/// Freezes the hot blocks of `table`, the one that takes new rows, too; for VACUUM FREEZE. Returns
/// how many.
///
/// # Errors
/// 53200 without memory; what `check` says between two blocks.
pub(crate) fn freeze_table(
    stores: &Stores,
    durable: Option<&Durable>,
    table: &Table,
    check: &dyn Fn() -> Result<()>,
) -> Result<usize> {
    let mut count = 0;
    if matches!(table.layout(), Layout::Row | Layout::Column) {
        return Ok(count);
    }
    for block in table.hot_blocks() {
        check()?;
        let freeze = || freeze(stores, table, block.id);
        let frozen = match durable {
            Some(durable) => durable.while_not_writing(freeze)?,
            None => freeze()?,
        };
        count += usize::from(frozen);
    }
    Ok(count)
}

fn freeze(stores: &Stores, table: &Table, block: u64) -> Result<bool> {
    let reader = stores.transactions.begin(Isolation::Snapshot)?;
    let frozen = table.freeze_block(block, reader.snapshot());
    reader.rollback();
    frozen
}
