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
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Place, Push, Source, Stream, Turns, run_here};
use crate::result::{LastRound, ResultSet, StoredRows, batch_bytes};
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
        let mut repeated = None;
        let last = Arc::new(LastRound::default());
        let mut next = base;
        loop {
            context.check()?;
            let stream = match repeated.take() {
                Some(stream) => stream,
                None => opener.open(next, Vec::new())?,
            };
            let is_piped = opener.runs_recursion(next);
            let given = if is_piped {
                self.pipe(&stream, &mut seen, push)?
            } else {
                self.give(&stream, &mut seen, push)?
            };
            let Some(round) = given else { return Ok(Demand::Enough) };
            if round.rows() == 0 {
                return Ok(Demand::More);
            }
            last.replace(round);
            if std::ptr::eq(next, base) {
                opener.recursive.push((*number, Arc::clone(&last)));
                next = step;
            } else if is_pipeline(&opener, step) && stream.segments.len() == 1 {
                repeated = Some(stream);
            }
        }
    }
}

impl Rounds {
    /// Runs a round, `stream`, to its end and gives its rows on: those that are new where `seen`
    /// tells. None when nobody wants more.
    fn give(
        &self,
        stream: &Stream,
        seen: &mut Option<Seen>,
        push: &mut Push<'_>,
    ) -> Result<Option<Arc<StoredRows>>> {
        let context = &self.opener.context;
        let mut rows = StoredRows::collect(context, stream, &self.node.output)?;
        if let Some(seen) = seen {
            rows = seen.keep_new(context, rows, &types_of(&self.node.output))?;
        }
        let round = Arc::new(rows);
        let columns: Vec<usize> = (0..self.node.output.len()).collect();
        let source = round.source(&columns);
        for order in 0..source.orders() {
            if source.run(order, push)? == Demand::Enough {
                return Ok(None);
            }
        }
        Ok(Some(round))
    }

    /// As [`Self::give`], row by row as they come, on this thread alone: a round may end only
    /// because its reader has enough.
    fn pipe(
        &self,
        stream: &Stream,
        seen: &mut Option<Seen>,
        push: &mut Push<'_>,
    ) -> Result<Option<Arc<StoredRows>>> {
        let (context, output) = (&self.opener.context, &self.node.output);
        let types = types_of(output);
        let mut memory = Reservation::empty(&context.pool, MemoryCategory::Temporary);
        let (mut batches, mut bytes, mut wanted) = (Vec::new(), 0, Demand::More);
        let mut turns = Turns::of(stream);
        'segments: for segment_idx in 0.. {
            let Some(segment) = turns.next()? else { break };
            for order in 0..segment.source.orders() {
                let place = Place { segment: segment_idx, order };
                let demand = run_here(context, &segment, order, &mut |flow| {
                    let mut rows = StoredRows::from_batch(flow.into_batch()?, Vec::new());
                    if let Some(seen) = seen {
                        rows = seen.keep_new(context, rows, &types)?;
                    }
                    let batch = rows.batch().clone();
                    if batch.rows == 0 {
                        return Ok(Demand::More);
                    }
                    bytes += batch_bytes(&batch);
                    memory.resize(bytes)?;
                    batches.push((place, batch.clone()));
                    wanted = push(Flow::from_batch(batch))?;
                    Ok(wanted)
                })?;
                match (wanted, demand) {
                    (Demand::Enough, _) => return Ok(None),
                    (_, Demand::Enough) => break 'segments,
                    _ => {}
                }
            }
        }
        let rows = ResultSet::of_parts(batches, vec![memory], output);
        StoredRows::of(rows, output).map(|rows| Some(Arc::new(rows)))
    }
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
