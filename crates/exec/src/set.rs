//! UNION ALL, INTERSECT, EXCEPT and recursive queries. NULLs are equal here.
//!
//! ```text
//! INTERSECT, EXCEPT: left rows, numbered among their equals, against how often right has them
//! recursive:         base -> round 0 -> step -> round 1 -> step -> ... until a round is empty
//! ```

mod recursive;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kernels::hash::hash_columns;
use kernels::join_table::{Candidates, NullCode, Pairs};
use kernels::{BATCH_ROWS, Batch, Column, Vector};
use parking_lot::Mutex;
use plan::physical::{JoinMethod, Node, Operator, OutputColumn};
use sql::algebra::{Duplicates, SetOperator};
use storage::{MemoryCategory, Positions, Reservation};
use types::{DataType, Error, Result};

use crate::context::QueryContext;
use crate::flow::{Flow, RowSource};
use crate::join::KeyTable;
use crate::opener::Opener;
use crate::pipeline::{Demand, Push, Source, Stream};
use crate::pushed::PushedFilter;
use crate::result::StoredRows;
use crate::spill::{Gathered, Hashes, PARTITION_BITS, Results, gather, load, on_disk};

pub(crate) use recursive::open_recursive;

/// Opens [`Operator::UnionAll`]: the streams of the inputs, one after the other. What has to run
/// before the stream of an input begins, runs when the inputs before it have ended: so its tables
/// are in memory while it runs only, and nothing runs of which nobody wants a row.
///
/// # Errors
/// Whatever opening an input meets.
pub(crate) fn open_union_all(
    opener: &mut Opener,
    node: &Node,
    filters: &[PushedFilter],
) -> Result<Stream> {
    let Operator::UnionAll { inputs } = &node.operator else {
        return Err(Error::internal("not a union"));
    };
    let mut union = Stream::default();
    for (number, input) in inputs.iter().enumerate() {
        if number > 0 && has_breaker(input) {
            let (node, filters) = (Arc::new(input.clone()), filters.to_vec());
            let opener = Mutex::new(opener.clone());
            union.push_source(Arc::new(Later { opener, node, filters }), None);
        } else {
            union.segments.extend(opener.open(input, filters.to_vec())?.segments);
        }
    }
    Ok(union)
}

/// True when something below `node` runs to its end before the stream of `node` begins.
fn has_breaker(node: &Node) -> bool {
    match &node.operator {
        Operator::Scan { .. }
        | Operator::IndexScan { .. }
        | Operator::FunctionScan { .. }
        | Operator::Series { .. }
        | Operator::Values { .. }
        | Operator::Input { .. } => false,
        Operator::Filter { input, .. } | Operator::Project { input, .. } => has_breaker(input),
        Operator::UnionAll { inputs } => inputs.iter().any(has_breaker),
        _ => true,
    }
}

/// An input that is opened when its turn comes.
struct Later {
    opener: Mutex<Opener>,
    node: Arc<Node>,
    filters: Vec<PushedFilter>,
}

impl Source for Later {
    fn orders(&self) -> usize {
        0
    }

    fn later(&self) -> Result<Option<Stream>> {
        self.opener.lock().open(&self.node, self.filters.clone()).map(Some)
    }

    fn run(&self, _: usize, _: &mut Push<'_>) -> Result<Demand> {
        Ok(Demand::More)
    }
}

/// Opens [`Operator::SetOperation`]: stores both inputs and gives the chosen left rows. Inputs that
/// do not fit in memory are on disk by partition, for which it is done one after the other.
///
/// # Errors
/// Whatever running the inputs meets; 53200 when a partition does not fit in memory.
pub(crate) fn open_set_operation(
    opener: &mut Opener,
    node: &Node,
    filters: &[PushedFilter],
) -> Result<Stream> {
    let Operator::SetOperation { operator, duplicates, left, right } = &node.operator else {
        return Err(Error::internal("not a set operation"));
    };
    let context = Arc::clone(&opener.context);
    let mut store = |input: &Node| -> Result<Gathered> {
        // Equal rows pass or fail together, on both sides.
        let stream = opener.open(input, filters.to_vec())?;
        // Rows without columns have no hash.
        let types = types_of(&node.output);
        let hashes = move |batch: &Batch| row_hashes(batch, &types);
        let hashes = (!input.output.is_empty()).then(|| Arc::new(hashes) as Hashes);
        gather(&context, &stream, (&input.output, node.id), hashes)
    };
    let types = types_of(&node.output);
    let (left_rows, right_rows) = (store(left)?, store(right)?);
    let operation = (*operator, *duplicates);
    let (left_rows, right_rows) = match (left_rows, right_rows) {
        (Gathered::Memory(left), Gathered::Memory(right)) => {
            let chosen = choose(&context, &left, &right, operation, &types)?;
            let rows = Arc::new(left);
            return Ok(Stream::new(Arc::new(Chosen { rows, chosen, context }), Some(node.id)));
        }
        sides => sides,
    };
    let hashes = |batch: &Batch| row_hashes(batch, &types);
    let left_disk = on_disk(&context, node.id, left_rows, &hashes)?;
    let right_disk = on_disk(&context, node.id, right_rows, &hashes)?;
    let mut results = Results::new(&context, node.id)?;
    for partition in 0..1 << PARTITION_BITS {
        let left = load(&context, &left_disk, partition, &left.output)?;
        let right = load(&context, &right_disk, partition, &right.output)?;
        let chosen = choose(&context, &left, &right, operation, &types)?;
        for rows in chosen.chunks(BATCH_ROWS) {
            results.write(&left.batch().gather(rows))?;
        }
    }
    Ok(Stream::new(results.source(), Some(node.id)))
}

fn types_of(output: &[OutputColumn]) -> Vec<DataType> {
    output.iter().map(|column| column.ty).collect()
}

/// The parts of the columns that equal values share.
fn keyed(columns: &[Column], types: &[DataType]) -> Result<Vec<Column>> {
    let key = |(column, ty): (&Column, &DataType)| {
        if ty.has_wide() {
            Ok(Column::plain(kernels::wide::key(&column.to_vector(), *ty)?))
        } else {
            Ok(column.clone())
        }
    };
    columns.iter().zip(types).map(key).collect()
}

/// The hash of each row over all columns.
fn row_hashes(batch: &Batch, types: &[DataType]) -> Result<Vec<u64>> {
    let mut hashes = Vec::new();
    let columns = keyed(&batch.columns, types)?;
    hash_columns(&columns.iter().collect::<Vec<_>>(), batch.rows, &mut hashes);
    Ok(hashes)
}

/// A table over all columns of stored rows, and the rows themselves.
struct Rows {
    columns: Vec<Column>,
    count: usize,
    table: KeyTable,
    _memory: Reservation,
}

/// Rows looked up together.
const LOOKUP_ROWS: usize = 1 << 14;

impl Rows {
    fn new(context: &Arc<QueryContext>, rows: &StoredRows, types: &[DataType]) -> Result<Self> {
        let mut columns = keyed(&rows.batch().columns, types)?;
        if columns.is_empty() {
            // Rows without columns are all equal: one column makes them so.
            let zero = Vector::new(kernels::VectorData::I32(vec![0; rows.rows()]));
            columns.push(Column::plain(zero));
        }
        let keys: Vec<_> = columns.iter().map(Column::to_plain).collect();
        let nulls = vec![NullCode::Value; keys.len()];
        let mut memory = Reservation::empty(&context.pool, MemoryCategory::HashTables);
        let table = KeyTable::build(context, keys, nulls, JoinMethod::Hash, &mut memory)?;
        Ok(Self { columns, count: rows.rows(), table, _memory: memory })
    }

    /// Calls `found` with each part of `self`, in order, and for it the rows of `other` that are
    /// equal:
    /// the first of them, or none.
    fn look_up(
        &self,
        context: &QueryContext,
        other: &Rows,
        mut found: impl FnMut(usize, &Pairs),
    ) -> Result<()> {
        let (mut codes, mut candidates) = (Vec::new(), Candidates::default());
        let mut pairs = Pairs::default();
        let mut start = 0;
        while start < self.count {
            context.check()?;
            let len = (self.count - start).min(LOOKUP_ROWS);
            let slice = |c: &Column| Column::plain(c.to_vector().slice(start, len));
            let columns: Vec<Column> = self.columns.iter().map(slice).collect();
            let columns: Vec<&Column> = columns.iter().collect();
            other.table.encode(&columns, len, &mut codes);
            other.table.first_of(&columns, &codes, &mut candidates, &mut pairs);
            found(start, &pairs);
            start += len;
        }
        Ok(())
    }

    /// For each row the first row equal to it.
    fn firsts(&self, context: &QueryContext) -> Result<Vec<u32>> {
        let mut firsts = vec![0u32; self.count];
        self.look_up(context, self, |start, pairs| {
            for (&row, &first) in pairs.probe.iter().zip(&pairs.build) {
                firsts[start + row as usize] = first;
            }
        })?;
        Ok(firsts)
    }
}

/// The left rows that the operation gives, ascending.
fn choose(
    context: &Arc<QueryContext>,
    left: &StoredRows,
    right: &StoredRows,
    (operator, duplicates): (SetOperator, Duplicates),
    types: &[DataType],
) -> Result<Vec<u32>> {
    let (left, right) = (Rows::new(context, left, types)?, Rows::new(context, right, types)?);
    // How often the right side has each left row, counted at the first of its equals.
    let mut counts = vec![0u32; left.count];
    right.look_up(context, &left, |_, pairs| {
        pairs.build.iter().for_each(|&row| counts[row as usize] += 1);
    })?;
    let firsts = left.firsts(context)?;
    let mut seen = vec![0u32; left.count];
    let mut chosen = Vec::new();
    for (row, &first) in firsts.iter().enumerate() {
        let before = seen[first as usize];
        seen[first as usize] += 1;
        let count = counts[first as usize];
        let take = match (operator, duplicates) {
            (SetOperator::Intersect, Duplicates::Keep) => before < count,
            (SetOperator::Intersect, Duplicates::Remove) => before == 0 && count > 0,
            (_, Duplicates::Keep) => before >= count,
            (_, Duplicates::Remove) => before == 0 && count == 0,
        };
        if take {
            chosen.push(row as u32);
        }
    }
    Ok(chosen)
}

/// Some rows of stored rows.
struct Chosen {
    rows: Arc<StoredRows>,
    chosen: Vec<u32>,
    context: Arc<QueryContext>,
}

/// The columns of stored rows.
struct Stored(Arc<StoredRows>);

impl RowSource for Stored {
    fn fetch(&self, column: usize, positions: &Positions) -> Result<Column> {
        let column = &self.0.batch().columns[column];
        Ok(match positions {
            Positions::List(list) => column.gather(list),
            range => column.gather(&range.to_list()),
        })
    }
}

/// Chosen rows per work order.
const ORDER_ROWS: usize = 1 << 16;

impl Source for Chosen {
    fn orders(&self) -> usize {
        self.chosen.len().div_ceil(ORDER_ROWS)
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let end = ((order + 1) * ORDER_ROWS).min(self.chosen.len());
        let width = self.rows.batch().columns.len();
        for part in self.chosen[order * ORDER_ROWS..end].chunks(BATCH_ROWS) {
            self.context.check()?;
            let source = Arc::new(Stored(Arc::clone(&self.rows)));
            let flow = Flow::from_source(source, width, Positions::List(part.to_vec()));
            if push(flow)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }
}
