//! DISTINCT ON: the first row of each group in input order.

use std::sync::Arc;

use kernels::{Batch, Column};
use plan::physical::{Expr, ExprKind, Node, Operator};
use storage::{MemoryCategory, Reservation};
use types::{Error, Result};

use crate::aggregate::{GroupKeys, Grouper, keyed};
use crate::context::QueryContext;
use crate::expr::Evaluator;
use crate::flow::Flow;
use crate::opener::{Opener, PushedFilter};
use crate::pipeline::{Demand, Push, Source, Stream};
use crate::result::{ResultSet, batch_bytes};
use crate::simple::BatchesSource;

/// Opens [`Operator::DistinctOn`].
///
/// # Errors
/// Whatever the input meets; 53200 when it does not fit in memory.
pub(crate) fn open_distinct_on(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let Operator::DistinctOn { input, on } = &node.operator else {
        return Err(Error::internal("not DISTINCT ON"));
    };
    // A filter on a column of `on` drops groups as a whole.
    let is_key = |f: &PushedFilter| on.iter().any(|e| e.kind == ExprKind::Column(f.column));
    let stream = opener.open(input, filters.into_iter().filter(is_key).collect())?;
    let mut rows = ResultSet::collect(&opener.context, &stream, &input.output)?;
    let evaluators = on
        .iter()
        .map(|e: &Expr| Evaluator::new(&opener.resolve(&keyed(e))?))
        .collect::<Result<Vec<_>>>()?;
    if on.is_empty() {
        let first = rows.batches.iter().find(|b| b.rows > 0).map(|b| b.gather(&[0]));
        let source = BatchesSource(first.into_iter().collect());
        return Ok(Stream::new(Arc::new(source), Some(node.id)));
    }
    let physical: Vec<_> = on.iter().map(|e| e.physical).collect();
    let keys = GroupKeys::new(&physical, node.rows, &opener.context);
    let mut grouper = Grouper::new(&Arc::new(keys));
    let mut kept = KeptRows::new(&opener.context);
    let mut groups = Vec::new();
    // A batch goes as soon as its first rows are kept.
    for batch in std::mem::take(&mut rows.batches) {
        opener.context.check()?;
        let columns =
            evaluators.iter().map(|e| e.evaluate(&batch)).collect::<Result<Vec<Column>>>()?;
        let mut next = grouper.len() as u32;
        grouper.group(&columns, batch.rows, &mut groups);
        let mut first = Vec::new();
        for (row, &group) in groups.iter().enumerate() {
            if group == next {
                next += 1;
                first.push(row as u32);
            }
        }
        if !first.is_empty() {
            kept.push(batch.gather(&first));
        }
        kept.count(grouper.bytes())?;
    }
    kept.count(0)?;
    Ok(Stream::new(Arc::new(kept), Some(node.id)))
}

/// The first rows of the groups, with the memory that they and the groups' keys take.
struct KeptRows {
    batches: Vec<Batch>,
    bytes: u64,
    memory: Reservation,
}

impl KeptRows {
    fn new(context: &QueryContext) -> Self {
        let memory = Reservation::empty(&context.pool, MemoryCategory::Temporary);
        Self { batches: Vec::new(), bytes: 0, memory }
    }

    fn push(&mut self, batch: Batch) {
        self.bytes += batch_bytes(&batch);
        self.batches.push(batch);
    }

    /// Reserves what is kept and `keys` bytes of the groups' keys.
    ///
    /// # Errors
    /// 53200 when there is no room.
    fn count(&mut self, keys: usize) -> Result<()> {
        self.memory.resize(self.bytes + keys as u64)
    }
}

impl Source for KeptRows {
    fn orders(&self) -> usize {
        self.batches.len()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        push(Flow::from_batch(self.batches[order].clone()))
    }
}
