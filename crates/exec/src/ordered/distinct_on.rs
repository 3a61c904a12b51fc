//! DISTINCT ON: the first row of each group in input order.

use std::sync::Arc;

use kernels::Column;
use plan::physical::{Expr, ExprKind, Node, Operator};
use storage::{MemoryCategory, Reservation};
use types::{Error, Result};

use crate::aggregate::{GroupKeys, Grouper, keyed};
use crate::expr::Evaluator;
use crate::opener::Opener;
use crate::pipeline::Stream;
use crate::pushed::PushedFilter;
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
        let source = BatchesSource::new(first.into_iter().collect());
        return Ok(Stream::new(Arc::new(source), Some(node.id)));
    }
    let physical: Vec<_> = on.iter().map(|e| e.physical).collect();
    let keys = GroupKeys::new(&physical, node.rows, &opener.context);
    let mut grouper = Grouper::new(&Arc::new(keys));
    // First rows of the groups, counted with the groups' keys.
    let mut memory = Reservation::empty(&opener.context.pool, MemoryCategory::Temporary);
    let (mut kept, mut bytes) = (Vec::new(), 0);
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
            let first = batch.gather(&first);
            bytes += batch_bytes(&first);
            kept.push(first);
        }
        memory.resize(bytes + grouper.bytes() as u64)?;
    }
    memory.resize(bytes)?;
    Ok(Stream::new(Arc::new(BatchesSource::counted(kept, memory)), Some(node.id)))
}
