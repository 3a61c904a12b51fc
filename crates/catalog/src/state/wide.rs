//! Wide tables: the rows of a fact table with those that its foreign keys lead to, and for which
//! snapshots they hold.
//!
//! ```text
//! CREATE, REFRESH commit: since        a row is changed that is not a new fact: until
//!       |---- inserted facts are inserted here too ----|---- read as the outer joins ----
//! ```
//! Invariants: a snapshot reads the rows only between `since` and `until`, and never in the
//! transaction that changed one of the tables; so what it reads is what the joins would give.
//! CREATE and REFRESH lock all tables behind the wide one, so that no transaction that writes them
//! runs meanwhile. Who adds facts holds the lock of all of them.
//! Elsewhere: the statements (`define::wide`), rows added (`write::wide`), queries (`plan::wide`).
//! Source: Chasseur 2015, section 2.4. Departure: rows are added in the transaction of their facts,
//! where that system keeps a wide table as it was built.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sql::catalog::ColumnDef;
use sql::catalog::ForeignKeyDef;
use sql::catalog::WideNode;
use sql::catalog::{TableMeta, TableRef, WideDef};
use sql::catalog::{Untested, Validity};
use sql::statement::Persistence;
use storage::Timestamp;
use types::Error;
use types::SqlState;

use crate::names::{quoted, quoted_relation};
use crate::state::{State, TableEntry};

/// No commit has this timestamp.
const NEVER: u64 = u64::MAX;

/// First commit for which the rows of a wide table hold, and the commit that ends them.
#[derive(Debug)]
pub struct Freshness {
    since: AtomicU64,
    /// Shared by all definitions of the same rows.
    until: Arc<AtomicU64>,
}

impl Default for Freshness {
    /// Rows that nobody sees yet.
    fn default() -> Self {
        Self { since: AtomicU64::new(NEVER), until: Arc::new(AtomicU64::new(NEVER)) }
    }
}

impl Freshness {
    /// The same rows when a table behind them gets new storage, which older snapshots see as empty:
    /// the rows hold for those from its commit on.
    pub fn again(&self) -> Self {
        Self { since: AtomicU64::new(NEVER), until: Arc::clone(&self.until) }
    }

    /// Rows that hold for no snapshot.
    pub fn ended() -> Self {
        let ended = Self::default();
        ended.end(Timestamp(0));
        ended
    }

    /// Marks the rows as committed at `ts`, unless they were before: under the commit latch.
    pub fn begin(&self, ts: Timestamp) {
        let _ = self.since.compare_exchange(NEVER, ts.0, Ordering::Release, Ordering::Relaxed);
    }

    /// Ends the rows because a table behind them changed: under the commit latch.
    pub fn end(&self, ts: Timestamp) {
        self.until.fetch_min(ts.0, Ordering::Release);
    }

    /// True when new snapshots cannot read them.
    pub fn has_ended(&self) -> bool {
        self.until.load(Ordering::Acquire) != NEVER
    }

    /// True when both are about the same rows.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.until, &other.until)
    }

    fn holds_at(&self, ts: Timestamp) -> bool {
        let (since, until) = (&self.since, &self.until);
        since.load(Ordering::Acquire) <= ts.0 && ts.0 < until.load(Ordering::Acquire)
    }
}

/// Change that a transaction made to a wide table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// The transaction added facts, and their rows here. Others may have changed rows that the
    /// facts lead to after its snapshot, so it does not read the wide table itself.
    Added,
    /// The transaction changed rows that the wide table is made of.
    Changed,
}

/// Wide tables that a transaction touched.
pub type Touched = Vec<(Arc<TableEntry>, Touch)>;

/// Which wide tables a statement may read.
#[derive(Default)]
pub struct WideReader {
    /// None: none at all.
    pub at: Option<Timestamp>,
    /// Wide tables that its transaction touched.
    pub touched: Vec<Arc<Freshness>>,
}

impl WideReader {
    /// True when the rows of the wide table are those of the snapshot.
    pub fn may_read(&self, wide: &TableEntry) -> bool {
        let is_touched = || self.touched.iter().any(|known| known.is_same(&wide.freshness));
        self.at.is_some_and(|ts| wide.freshness.holds_at(ts)) && !is_touched()
    }
}

/// The wide tables of `state` that `table` is behind.
pub fn over<'s>(
    state: &'s State,
    table: &'s str,
) -> impl Iterator<Item = (&'s Arc<TableEntry>, &'s WideDef)> {
    let wide = state.tables.values().filter_map(|e| Some((e, e.def.wide.as_ref()?)));
    wide.filter(move |(_, def)| def.nodes.iter().any(|node| node.table == table))
}

/// The tables of the definition's nodes; None when one of them is not there, or hidden by a
/// temporary one.
pub fn nodes(state: &State, def: &WideDef) -> Option<Vec<Arc<TableEntry>>> {
    let entry = |name: &String| state.tables.get(name).cloned();
    let is_permanent = |e: &Arc<TableEntry>| e.def.persistence == Persistence::Permanent;
    def.nodes.iter().map(|node| entry(&node.table).filter(is_permanent)).collect()
}

/// The wide tables over `fact` that a query may read, with the tables behind each.
pub fn readable(state: &State, reader: &WideReader, fact: &TableRef) -> Vec<plan::WideTable> {
    let table = |entry: &Arc<TableEntry>| TableRef(Arc::clone(entry) as Arc<dyn TableMeta>);
    let mut found = Vec::new();
    for (entry, def) in over(state, fact.name()) {
        let is_over = def.nodes.first().is_some_and(|node| node.table == fact.name());
        if is_over
            && reader.may_read(entry)
            && let Some(nodes) = nodes(state, def)
        {
            let nodes = nodes.iter().map(table).collect();
            found.push(plan::WideTable { table: table(entry), nodes });
        }
    }
    found
}

/// The outer joins that the rows come from, as SQL; None as for [`nodes`].
pub fn query_text(state: &State, def: &WideDef) -> Option<String> {
    let tables = nodes(state, def)?;
    let column = |node: usize, ordinal: usize| {
        let column = tables[node].def.columns.get(ordinal)?;
        Some(format!("n{node}.{}", quoted(&column.name)))
    };
    let columns = def.columns.iter().map(|&(node, ordinal)| column(node, ordinal));
    let columns: Vec<String> = columns.collect::<Option<_>>()?;
    let mut text = format!("SELECT {} FROM ", columns.join(", "));
    for (number, node) in def.nodes.iter().enumerate() {
        let name = quoted_relation(&node.table);
        let Some(link) = &node.link else {
            text.push_str(&format!("{name} AS n{number}"));
            continue;
        };
        let pairs = link.columns.iter().zip(&link.references);
        let equal = pairs.map(|(&referring, &key)| {
            Some(format!("{} = {}", column(link.from, referring)?, column(number, key)?))
        });
        let equal: Vec<String> = equal.collect::<Option<_>>()?;
        text.push_str(&format!(" LEFT JOIN {name} AS n{number} ON {}", equal.join(" AND ")));
    }
    Some(text)
}

/// Refuses a catalog in which a wide table is made of what is not there.
///
/// # Errors
/// 2BP01.
pub fn check(state: &State) -> types::Result<()> {
    match unfit(state).first() {
        None => Ok(()),
        Some(name) => {
            let message = format!("cannot do this because wide table \"{name}\" depends on it");
            Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .with_hint("Drop the wide table first, and create it again afterwards."))
        }
    }
}

/// Wide tables whose definition no longer fits the tables behind them.
pub fn unfit(state: &State) -> Vec<String> {
    let wide = state.tables.values().filter_map(|e| Some((e, e.def.wide.as_ref()?)));
    let unfit = wide.filter(|(entry, def)| !fits(state, entry, def));
    unfit.map(|(entry, _)| entry.def.name.clone()).collect()
}

/// True when the definition of a wide table still fits the tables behind it.
fn fits(state: &State, entry: &TableEntry, def: &WideDef) -> bool {
    let table = |node: usize| state.tables.get(&def.nodes[node].table).map(|entry| &entry.def);
    let is_linked = |(number, node): (usize, &WideNode)| {
        let Some(known) = table(number) else { return false };
        let Some(link) = &node.link else { return true };
        let is = |key: &ForeignKeyDef| {
            let ForeignKeyDef { columns, references, table, validity, untested, .. } = key;
            *validity == Validity::Valid
                && *untested == Untested::Nothing
                && table.name == known.name
                && *columns == link.columns
                && *references == link.references
        };
        table(link.from).is_some_and(|from| from.foreign_keys.iter().any(is))
    };
    let is_held = |(&(node, ordinal), column): (&(usize, usize), &ColumnDef)| {
        let source = table(node).and_then(|known| known.columns.get(ordinal));
        source.is_some_and(|s| s.ty == column.ty && (s.not_null || !column.not_null))
    };
    def.nodes.iter().enumerate().all(is_linked)
        && def.columns.iter().zip(&entry.def.columns).all(is_held)
}
