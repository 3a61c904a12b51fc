//! Wide tables follow the tables behind them.
//!
//! A new fact gets its row there at once, with the newest state of the rows that it leads to, as
//! its foreign keys are tested with: of two transactions that meet, one sees the other, or the
//! other ends the wide table. Any other change ends it, until REFRESH.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::locks::LockMode;
use catalog::rows::{Rows, push};
use catalog::wide::Touch;
use catalog::{TableEntry, keys, wide};
use kernels::{Batch, Column, VectorBuilder};
use sql::catalog::{WideDef, WideLink};
use sql::statement::Persistence;
use storage::{Datum, KeyBuffer, RowBuffer};
use types::{DataType, Error, Result};

use super::fitted::fit;
use super::rows::find;
use super::writer::TableWriter;
use crate::statement::running::Running;
use crate::transaction::work::{newest, stale};
use crate::write::indexes::ensure_built;

/// Rows of the table changed, other than by new ones: wide tables over it hold no longer.
pub(crate) fn changed(running: &mut Running<'_>, entry: &TableEntry) {
    if entry.def.persistence == Persistence::Temporary {
        return;
    }
    let state = running.session.work().shared_catalog(running.session.inner());
    for (wide, _) in wide::over(&state, &entry.def.name) {
        running.session.work_mut().touch(wide, Touch::Changed);
    }
}

/// Adds the new rows `batch` (all columns) of the table to the wide tables over it. The keys that
/// they refer to are there; where one is to be looked for later, the wide tables end.
///
/// # Errors
/// [`stale`] when a wide table changed meanwhile; 40P01, 57014 from waiting; 53200.
pub(crate) fn inserted(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    batch: &Batch,
) -> Result<()> {
    // New rows of other tables have no facts that lead to them.
    if batch.rows == 0
        || entry.def.foreign_keys.is_empty()
        || entry.def.persistence == Persistence::Temporary
    {
        return Ok(());
    }
    let state = running.session.work().shared_catalog(running.session.inner());
    for (wide, def) in wide::over(&state, &entry.def.name) {
        if def.nodes.first().is_some_and(|node| node.table == entry.def.name) {
            add(running, wide, def, batch)?;
        }
    }
    Ok(())
}

fn add(
    running: &mut Running<'_>,
    wide: &Arc<TableEntry>,
    def: &WideDef,
    batch: &Batch,
) -> Result<()> {
    running.session.work_mut().touch(wide, Touch::Added);
    let ends = running.session.work().has_touched(wide, Touch::Changed);
    if ends || wide.freshness.has_ended() {
        return Ok(());
    }
    let state = running.session.work().shared_catalog(running.session.inner());
    let tables = wide::nodes(&state, def).ok_or_else(stale)?;
    for table in tables.iter().skip(1).chain([wide]) {
        lock(running, table)?;
    }
    let facts = Rows::new(batch);
    let mut nodes: Vec<Node> = Vec::with_capacity(tables.len());
    for (table, node) in tables.iter().zip(&def.nodes) {
        nodes.push(match &node.link {
            None => Node::default(),
            Some(link) => {
                let from = tables[link.from].def.columns.iter();
                let types: Vec<DataType> = from.map(|column| column.ty).collect();
                let step = Step { table, link, types: &types };
                match Node::follow(running, step, &facts, &nodes)? {
                    Some(node) => node,
                    None => {
                        running.session.work_mut().touch(wide, Touch::Changed);
                        return Ok(());
                    }
                }
            }
        });
    }
    let column = |(&(node, ordinal), spec): (&(usize, usize), &storage::ColumnSpec)| {
        if node == 0 {
            return batch.columns[ordinal].clone();
        }
        let mut builder = VectorBuilder::with_capacity(spec.physical(), facts.count);
        for row in 0..facts.count {
            push(&mut builder, nodes[node].get(row, ordinal));
        }
        Column::plain(builder.finish())
    };
    let schema = wide.storage().schema().columns();
    let columns = def.columns.iter().zip(schema).map(column).collect();
    TableWriter::inserting(wide).store(running, &Batch::new(columns, facts.count))?;
    Ok(())
}

/// Makes sure that the table stays as it is until the transaction ends.
fn lock(running: &mut Running<'_>, entry: &Arc<TableEntry>) -> Result<()> {
    let cancel = running.session.cancel_handle();
    let held = running.session.work().holds(&entry.lock);
    if !held {
        running.session.work_mut().lock(&entry.lock, LockMode::RowExclusive, &cancel)?;
        let state = running.session.work().shared_catalog(running.session.inner());
        let now = state.tables.get(&entry.def.name);
        if !now.is_some_and(|now| Arc::ptr_eq(now, entry)) {
            return Err(stale());
        }
    }
    ensure_built(running.session, entry)
}

/// The rows of one table that facts lead to.
#[derive(Default)]
struct Node {
    /// All columns of each.
    rows: Vec<RowBuffer>,
    /// By fact: its row, if it leads to one.
    of_fact: Vec<Option<usize>>,
}

/// Step along a foreign key to one table.
struct Step<'a> {
    table: &'a Arc<TableEntry>,
    link: &'a WideLink,
    /// Types of the columns of the table that refers.
    types: &'a [DataType],
}

impl Node {
    /// The rows that the facts lead to by a step from the tables `before`. None when one of them is
    /// not there, as a deferred foreign key has it.
    fn follow(
        running: &mut Running<'_>,
        Step { table, link, types }: Step<'_>,
        facts: &Rows,
        before: &[Self],
    ) -> Result<Option<Self>> {
        let (index, positions) = keys::unique_index(table, &link.references)?;
        let encoder = table.indexes_built().get(index).map(Arc::clone);
        let encoder = encoder.ok_or_else(|| Error::internal("a key has an index"))?;
        let ordinals: Vec<usize> = (0..table.def.columns.len()).collect();
        let mut node = Self { rows: Vec::new(), of_fact: Vec::with_capacity(facts.count) };
        let mut known: HashMap<Box<[u8]>, usize> = HashMap::new();
        let (mut key, mut encoded) = (Vec::with_capacity(positions.len()), KeyBuffer::new());
        let mut fitted = RowBuffer::new();
        for fact in 0..facts.count {
            key.clear();
            key.extend(positions.iter().map(|&p| match link.from {
                0 => facts.get(link.columns[p], fact),
                from => before[from].get(fact, link.columns[p]),
            }));
            if key.iter().any(Datum::is_null) {
                node.of_fact.push(None);
                continue;
            }
            let from = positions.iter().map(|&p| types[link.columns[p]]);
            let Some(values) = fit(table, index, from, &key, &mut fitted) else {
                return Ok(None);
            };
            encoder.encode(&values, &mut encoded);
            if let Some(&row) = known.get(&encoded[..]) {
                node.of_fact.push(Some(row));
                continue;
            }
            let found = find(running, table, index, &values, 1)?;
            let mut row = RowBuffer::new();
            let at = newest(running.session.work());
            let mut is_there = false;
            for &tid in &found {
                is_there = table.storage().read(at, tid, &ordinals, &mut row)?;
                if is_there {
                    break;
                }
            }
            if !is_there {
                return Ok(None);
            }
            known.insert(Box::from(&encoded[..]), node.rows.len());
            node.of_fact.push(Some(node.rows.len()));
            node.rows.push(row);
        }
        Ok(Some(node))
    }

    /// A column of the row that the fact leads to; NULL when there is none.
    fn get(&self, fact: usize, ordinal: usize) -> Datum<'_> {
        self.of_fact[fact].map_or(Datum::Null, |row| self.rows[row].get(ordinal))
    }
}
