//! Rows of table functions: what COPY reads, and functions in FROM.
//!
//! Made by `engine` and file formats as [`BatchSource`]s; read as sources of streams.

use std::sync::Arc;

use kernels::{Batch, Column, Vector};
use parking_lot::Mutex;
use plan::physical::{Node, Operator, ScanRestriction};
use sql::catalog::{FunctionIndex, SourcePart};
use storage::Restriction;
use types::{Error, Result, Value};

use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Push, Source, Stream};
use crate::scan::restriction_kind;

/// Rows of a table function, in work orders that may run in parallel.
pub trait BatchSource: Send + Sync {
    /// Work orders.
    fn orders(&self) -> usize;

    /// Gives the batches of one work order to `push` until it returns false. Columns are the
    /// function's columns `columns`, in that order.
    ///
    /// # Errors
    /// Whatever reading meets.
    fn run(
        &self,
        order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()>;

    /// One of parts that have each row once; None when there are none.
    fn part(&self, part: SourcePart) -> Option<SharedBatchSource> {
        let _ = part;
        None
    }

    /// The rows without those that nobody wants, as far as it can tell cheaply; None when it always
    /// gives all.
    fn restricted(&self, wanted: WantedRows) -> Option<SharedBatchSource> {
        let _ = wanted;
        None
    }
}

/// Rows of a table function that are wanted.
#[derive(Clone, Debug, Default)]
pub struct WantedRows {
    /// Restrictions that they meet, of columns of the function.
    pub restrictions: Vec<Restriction>,
    /// Indexes that have all of them.
    pub offers: Vec<OfferedIndex>,
}

/// An index with expressions or WHERE that has all rows that are wanted.
#[derive(Clone, Debug)]
pub struct OfferedIndex {
    /// [`sql::catalog::FunctionIndex::position`].
    pub position: usize,
    /// Restrictions that the rows meet, by number of the index's expression.
    pub restrictions: Vec<Restriction>,
}

/// Object of a [`sql::catalog::BoundTableFunction`].
pub type SharedBatchSource = Arc<dyn BatchSource>;

/// Opens [`Operator::FunctionScan`].
pub(crate) fn open_function(opener: &mut Opener, node: &Node) -> Result<Stream> {
    let Operator::FunctionScan { function, columns, restrictions, offers } = &node.operator else {
        return Err(Error::internal("not a function scan"));
    };
    let object = function.0.object();
    let source = object.downcast::<SharedBatchSource>().map_err(|_| {
        Error::internal(format!("table function {} has no rows", function.0.name()))
    })?;
    let mut source = SharedBatchSource::clone(&source);
    let mut wanted = WantedRows::default();
    for ScanRestriction { column, kind } in restrictions {
        let output = &node.output[*column];
        let kind = restriction_kind(opener, kind, output.physical, output.name.to_string())?;
        wanted.restrictions.push(Restriction { column: columns[*column], kind });
    }
    for offer in offers {
        let FunctionIndex { name, position, terms } = &function.0.indexes()[offer.index];
        let mut restrictions = Vec::with_capacity(offer.restrictions.len());
        for ScanRestriction { column, kind } in &offer.restrictions {
            let physical = terms.expressions[*column].ty.physical();
            let kind = restriction_kind(opener, kind, physical, name.clone())?;
            restrictions.push(Restriction { column: *column, kind });
        }
        wanted.offers.push(OfferedIndex { position: *position, restrictions });
    }
    if !restrictions.is_empty() || !offers.is_empty() {
        source = source.restricted(wanted).unwrap_or(source);
    }
    let source = FunctionSource { source, columns: columns.clone() };
    Ok(Stream::new(Arc::new(source), Some(node.id)))
}

struct FunctionSource {
    source: SharedBatchSource,
    columns: Vec<usize>,
}

impl Source for FunctionSource {
    fn orders(&self) -> usize {
        self.source.orders()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let demand = Mutex::new(Demand::More);
        self.source.run(order, &self.columns, &mut |batch| {
            let answer = push(Flow::from_batch(batch))?;
            *demand.lock() = answer;
            Ok(answer == Demand::More)
        })?;
        Ok(demand.into_inner())
    }
}

/// Where a column of a table row comes from.
#[derive(Clone, Debug)]
pub enum RowColumn {
    /// A column of the source.
    Source(usize),
    /// The same value in every row: a default, or NULL.
    Constant(types::DataType, Value),
}

/// The rows of `source` (its columns `columns`), laid out as `full` says.
pub fn function_source(
    source: SharedBatchSource,
    columns: Vec<usize>,
    full: Vec<RowColumn>,
) -> Arc<dyn Source> {
    Arc::new(FullRows { source: FunctionSource { source, columns }, full })
}

struct FullRows {
    source: FunctionSource,
    full: Vec<RowColumn>,
}

impl Source for FullRows {
    fn orders(&self) -> usize {
        self.source.orders()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let constant = |column: &RowColumn| match column {
            RowColumn::Source(_) => None,
            RowColumn::Constant(ty, value) => {
                Some(Arc::new(Vector::repeat(ty.physical(), value, 1)))
            }
        };
        let constants: Vec<Option<Arc<Vector>>> = self.full.iter().map(constant).collect();
        self.source.run(order, &mut |flow: Flow| {
            let batch = flow.into_batch()?;
            let column =
                |(from, constant): (&RowColumn, &Option<Arc<Vector>>)| match (from, constant) {
                    (RowColumn::Source(i), _) => Ok(batch.columns[*i].clone()),
                    (_, Some(value)) => Ok(Column::Constant(Arc::clone(value), batch.rows)),
                    (_, None) => Err(Error::internal("a constant column has a value")),
                };
            let columns =
                self.full.iter().zip(&constants).map(column).collect::<Result<Vec<_>>>()?;
            push(Flow::from_batch(Batch::new(columns, batch.rows)))
        })
    }
}
