//! WITH RECURSIVE: rounds of the step over the last round's rows.

use std::sync::Arc;

use hashbrown::HashMap;
use kernels::hash::hash_columns;
use kernels::join_table::verify::equal_rows;
use kernels::{Column, Vector};
use plan::physical::{CteSource, Node, Operator};
use sql::algebra::Duplicates;
use storage::{MemoryCategory, Reservation};
use types::{DataType, Error, Result};

use crate::context::QueryContext;
use crate::opener::Opener;
use crate::pipeline::{Demand, Push, Source, Stream};
use crate::result::{LastRound, StoredRows};
use crate::set::{keyed, types_of};

/// Opens [`Operator::Recursive`]: a source that runs one round after the other while rows are
/// wanted, so that a LIMIT above ends a recursion that would not end itself.
///
/// # Errors
/// XX000 for another operator.
pub(crate) fn open_recursive(opener: &Opener, node: &Node) -> Result<Stream> {
    let Operator::Recursive { .. } = &node.operator else {
        return Err(Error::internal("not a recursive query"));
    };
    let rounds = Rounds { opener: opener.clone(), node: node.clone() };
    Ok(Stream::new(Arc::new(rounds), Some(node.id)))
}

/// The rounds of a recursive query. Its one work order runs on the session's thread and drives the
/// pipelines of each round from there.
struct Rounds {
    opener: Opener,
    node: Node,
}

impl Source for Rounds {
    fn orders(&self) -> usize {
        1
    }

    fn run(&self, _: usize, push: &mut Push<'_>) -> Result<Demand> {
        let Operator::Recursive { number, duplicates, base, step } = &self.node.operator else {
            return Err(Error::internal("not a recursive query"));
        };
        let mut opener = self.opener.clone();
        let context = Arc::clone(&opener.context);
        let mut seen = (*duplicates == Duplicates::Remove).then(|| Seen::new(&context));
        let types = types_of(&self.node.output);
        let columns: Vec<usize> = (0..self.node.output.len()).collect();
        let stream = opener.open(base, Vec::new())?;
        let mut rows = StoredRows::collect(&context, &stream, &base.output)?;
        let mut repeated = None;
        let last = Arc::new(LastRound::default());
        opener.recursive.push((*number, Arc::clone(&last)));
        loop {
            context.check()?;
            if let Some(seen) = &mut seen {
                rows = seen.keep_new(&context, rows, &types)?;
            }
            if rows.rows() == 0 {
                return Ok(Demand::More);
            }
            let round = Arc::new(rows);
            let source = round.source(&columns);
            for order in 0..source.orders() {
                if source.run(order, push)? == Demand::Enough {
                    return Ok(Demand::Enough);
                }
            }
            last.replace(round);
            rows = run_step(&mut opener, step, &mut repeated)?;
        }
    }
}

/// Runs one round. A stream that can be run again is kept in `repeated`.
fn run_step(opener: &mut Opener, step: &Node, repeated: &mut Option<Stream>) -> Result<StoredRows> {
    let context = Arc::clone(&opener.context);
    if let Some(stream) = repeated {
        return StoredRows::collect(&context, stream, &step.output);
    }
    let stream = opener.open(step, Vec::new())?;
    let rows = StoredRows::collect(&context, &stream, &step.output)?;
    if is_pipeline(opener, step) && stream.segments.len() == 1 {
        *repeated = Some(stream);
    }
    Ok(rows)
}

/// True when rows pass from the last round to the end of `node` without a breaker that reads the
/// round, so that a stream of `node` can be run again on the next round: what it stored, the build
/// sides of its joins, does not depend on the round.
fn is_pipeline(opener: &Opener, node: &Node) -> bool {
    match &node.operator {
        Operator::CteScan { source: CteSource::Recursive(_), .. } => true,
        Operator::Filter { input, .. } | Operator::Project { input, .. } => {
            is_pipeline(opener, input)
        }
        Operator::IndexJoin { outer, .. } => is_pipeline(opener, outer),
        Operator::HashJoin { probe, build, kind, .. } => {
            kind.gives_probe_rows() && !opener.reads_a_round(build) && is_pipeline(opener, probe)
        }
        _ => false,
    }
}

/// A row of an earlier round, and the next one of the same hash.
struct SeenRow {
    round: u32,
    row: u32,
    next: u32,
}

/// No further row of the hash.
const LAST: u32 = u32::MAX;
/// Bytes per row: the entry and its share of the map.
const SEEN_BYTES: u64 = 36;

/// All rows of the rounds so far, for UNION without ALL.
struct Seen {
    rounds: Vec<Vec<Arc<Vector>>>,
    first: HashMap<u64, u32>,
    rows: Vec<SeenRow>,
    memory: Reservation,
}

impl Seen {
    fn new(context: &QueryContext) -> Self {
        let memory = Reservation::empty(&context.pool, MemoryCategory::HashTables);
        Self { rounds: Vec::new(), first: HashMap::new(), rows: Vec::new(), memory }
    }

    /// The rows of `round` that no earlier round has, each once.
    fn keep_new(
        &mut self,
        context: &QueryContext,
        round: StoredRows,
        types: &[DataType],
    ) -> Result<StoredRows> {
        let batch = round.batch();
        let count = batch.rows;
        self.memory.resize((self.rows.len() + count) as u64 * SEEN_BYTES)?;
        let mut hashes = vec![0; count];
        let keys = keyed(&batch.columns, types)?;
        if !keys.is_empty() {
            let columns: Vec<&Column> = keys.iter().collect();
            hash_columns(&columns, count, &mut hashes);
        }
        self.rounds.push(keys.iter().map(Column::to_plain).collect());
        let number = self.rounds.len() as u32 - 1;
        let mut new = Vec::new();
        let mut renumbered = Vec::new();
        for (row, &hash) in hashes.iter().enumerate() {
            if row % (1 << 14) == 0 {
                context.check()?;
            }
            if self.has(hash, number, row as u32) {
                continue;
            }
            let next = self.first.insert(hash, self.rows.len() as u32).unwrap_or(LAST);
            renumbered.push(self.rows.len());
            self.rows.push(SeenRow { round: number, row: row as u32, next });
            new.push(row as u32);
        }
        let batch = batch.gather(&new);
        let mut memory = Reservation::empty(&context.pool, MemoryCategory::Temporary);
        memory.resize((new.len() * batch.columns.len() * 16) as u64)?;
        // Only the kept rows stay, so entries number them from now on.
        let keys = keyed(&batch.columns, types)?;
        self.rounds[number as usize] = keys.iter().map(Column::to_plain).collect();
        for (kept, entry) in renumbered.into_iter().enumerate() {
            self.rows[entry].row = kept as u32;
        }
        Ok(StoredRows::from_batch(batch, vec![memory]))
    }

    fn has(&self, hash: u64, round: u32, row: u32) -> bool {
        let own = &self.rounds[round as usize];
        let mut entry = self.first.get(&hash).copied().unwrap_or(LAST);
        while entry != LAST {
            let seen = &self.rows[entry as usize];
            let other = &self.rounds[seen.round as usize];
            let columns = own.iter().zip(other);
            if columns.into_iter().all(|(a, b)| equal_rows(a, row as usize, b, seen.row as usize)) {
                return true;
            }
            entry = seen.next;
        }
        false
    }
}
