//! Rows that the caller of a plan supplies, as a source.

use std::sync::Arc;

use kernels::{Batch, Column};
use plan::physical::{Node, Operator, OutputColumn};
use types::{Error, Result};

use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Push, Source, Stream};

/// Opens [`Operator::Input`].
pub(crate) fn open(opener: &mut Opener, node: &Node) -> Result<Stream> {
    let Operator::Input { slot, columns, .. } = &node.operator else {
        return Err(Error::internal("not an input"));
    };
    let batches = opener.context.inputs.get(*slot).cloned();
    let batches = batches.ok_or_else(|| Error::internal(format!("no rows for input {slot}")))?;
    let source = InputSource { batches, columns: columns.clone(), output: node.output.clone() };
    Ok(Stream::new(Arc::new(source), Some(node.id)))
}

/// Some columns of batches supplied, one work order each.
struct InputSource {
    batches: Vec<Batch>,
    columns: Vec<usize>,
    output: Vec<OutputColumn>,
}

impl Source for InputSource {
    fn orders(&self) -> usize {
        self.batches.len()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let batch = &self.batches[order];
        let column =
            |(&ordinal, output): (&usize, &OutputColumn)| held_as(&batch.columns[ordinal], output);
        let columns = self.columns.iter().zip(&self.output).map(column);
        push(Flow::from_batch(Batch::new(columns.collect::<Result<_>>()?, batch.rows)))
    }
}

/// `column` in the physical form of `output`: a query may have held a NUMERIC in 64 bits.
fn held_as(column: &Column, output: &OutputColumn) -> Result<Column> {
    if column.physical() == output.physical {
        return Ok(column.clone());
    }
    let vector =
        kernels::cast::cast_as(&column.to_vector(), output.ty, output.ty, output.physical)?;
    Ok(Column::plain(vector))
}
