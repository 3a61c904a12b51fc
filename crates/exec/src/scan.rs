//! Scans of tables.

mod ahead;
mod flavours;
mod places;

use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use kernels::{BATCH_ROWS, Batch, Bitmap, Column, Vector, VectorBuilder};
use plan::Technique;
use plan::physical::{
    BoundKind, Expr, ExprKind, Node, Operator, OperatorId, ScanRestrictionKind, ScanRows,
};
use storage::{
    AccessPath, BlockCursor, ColumnPredicate, Positions, Restriction, RestrictionKind, ScanPlan,
    ScanTechniques, TID_COLUMN, TableSnapshot, Tid,
};
use types::{Error, PhysicalType, Result, Value};

use crate::context::{Profile, QueryContext};
use crate::expr::{Evaluator, array_values};
use crate::flow::{Flow, RowSource};
use crate::opener::Opener;
use crate::pipeline::{Demand, Push, Source, Stream};
use crate::pushed::{self, PushedFilter};
use crate::simple::FilterOperator;
use crate::stored::stored_table;
use ahead::Ahead;
use flavours::{Flavour, Flavours, SCAN_ROWS_MIN};

/// True when a condition has a part without columns that is not true: no row passes.
///
/// # Errors
/// Errors that the part raises.
fn is_never(condition: &Expr) -> Result<bool> {
    let parts = match &condition.kind {
        ExprKind::And(parts) => parts.as_slice(),
        _ => std::slice::from_ref(condition),
    };
    for part in parts.iter().filter(|part| is_plain(part)) {
        let found = Evaluator::new(part)?.evaluate(&Batch::new(Vec::new(), 1))?;
        if !matches!(found.value(0), Value::Bool(true)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True for a comparison of constants and the like.
fn is_plain(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) => true,
        ExprKind::Compare(_, left, right) => is_plain(left) && is_plain(right),
        ExprKind::InList(operand, list) => is_plain(operand) && list.iter().all(is_plain),
        ExprKind::And(parts) => parts.iter().all(is_plain),
        _ => false,
    }
}

/// Opens [`Operator::Scan`].
pub(crate) fn open(opener: &mut Opener, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
    let Operator::Scan { table, columns, restrictions, residual, rows, .. } = &node.operator else {
        return Err(Error::internal("not a scan"));
    };
    let table = stored_table(table)?;
    let snapshot = opener.context.snapshot(&table);
    let mut all = Vec::with_capacity(restrictions.len() + filters.len());
    for restriction in restrictions {
        let name = node.output[restriction.column].name.to_string();
        let physical = node.output[restriction.column].physical;
        let kind = restriction_kind(opener, &restriction.kind, physical, name)?;
        all.push(Restriction { column: columns[restriction.column], kind });
    }
    if let Some(reads) = &opener.context.reads {
        reads.lock().push((Arc::clone(&table), all.clone()));
    }
    // Filters only leave out rows that a join above leaves out, too.
    all.extend(pushed::restrictions(filters, columns, |at| node.output[at].physical));
    let paths = opener.context.block_paths;
    let plan = ScanPlan::new(table.schema(), all)?.with(techniques(&opener.context));
    let plan = plan.with_paths(paths);
    let columns: Arc<[usize]> = Arc::from(columns.as_slice());
    let (context, id) = (Arc::clone(&opener.context), node.id);
    let residual = residual.as_ref().map(|residual| opener.resolve(residual)).transpose()?;
    let places = residual.as_ref().map(|residual| places::blocks_left(residual, &columns));
    let source: Arc<dyn Source> = match &opener.context.recheck {
        // Only the target of a statement hands out TIDs.
        Some(recheck) if columns.contains(&TID_COLUMN) => {
            let snapshot = table.snapshot(recheck.at);
            let tids = recheck.tids_of(&table);
            Arc::new(RecheckSource { context, snapshot, plan, columns, tids })
        }
        _ => {
            let tries = context.has(Technique::MicroAdaptive)
                && plan.has_free_filters()
                && snapshot.rows() >= SCAN_ROWS_MIN;
            let flavours = tries.then(Flavours::default);
            let types = node.output.iter().map(|column| column.physical).collect();
            let ends = (*rows == ScanRows::Ends && residual.is_none()).then_some(types);
            let places = places.unwrap_or(0..=u64::MAX);
            // Counting rows, and looking at ends, needs no payload.
            let has_values = columns.iter().any(|&column| column != TID_COLUMN);
            let reads = ends.is_none() && (has_values || !plan.is_empty());
            let ahead = (reads && context.has(Technique::ReadAhead)).then(Ahead::default);
            Arc::new(ScanSource {
                context,
                snapshot,
                plan,
                columns,
                id,
                places,
                flavours,
                ends,
                ahead,
            })
        }
    };
    let mut stream = Stream::new(source, Some(node.id));
    if let Some(residual) = residual {
        if is_never(&residual)? {
            return Ok(Stream::default());
        }
        stream.push_operator(Arc::new(FilterOperator::new(&residual, None)?));
    }
    Ok(stream)
}

/// Techniques that scans of this query may use.
fn techniques(context: &QueryContext) -> ScanTechniques {
    ScanTechniques {
        adaptive: context.has(Technique::LipAdaptive),
        codes: context.has(Technique::CodeScans),
        dictionaries: context.has(Technique::DictionaryPredicates),
        skipping: context.has(Technique::Skipping),
    }
}

/// The condition with its constants on a column held as `physical`; `name` is the column's, for
/// EXPLAIN.
pub(crate) fn restriction_kind(
    opener: &Opener,
    kind: &ScanRestrictionKind,
    physical: PhysicalType,
    name: String,
) -> Result<RestrictionKind> {
    let constant = |expr: &Expr| opener.constant(expr);
    Ok(match kind {
        ScanRestrictionKind::IsNull => RestrictionKind::IsNull,
        ScanRestrictionKind::IsNotNull => RestrictionKind::IsNotNull,
        ScanRestrictionKind::Compare(op, expr) => match constant(expr)? {
            Value::Null => RestrictionKind::Never,
            value => RestrictionKind::Compare(*op, value),
        },
        ScanRestrictionKind::Between { low, high } => {
            let (low_value, high_value) = (constant(&low.0)?, constant(&high.0)?);
            if low_value.is_null() || high_value.is_null() {
                return Ok(RestrictionKind::Never);
            }
            RestrictionKind::Between {
                low: bound(low_value, low.1),
                high: bound(high_value, high.1),
            }
        }
        ScanRestrictionKind::InList(list) => {
            let values: Vec<Value> = list.iter().map(constant).collect::<Result<_>>()?;
            RestrictionKind::InList(values.into_iter().filter(|v| !v.is_null()).collect())
        }
        ScanRestrictionKind::InArray(array) => {
            let values = array_values(&constant(array)?, array.ty, physical);
            let values = values.unwrap_or_default().into_iter();
            RestrictionKind::InList(values.filter(|v| !v.is_null()).collect())
        }
        ScanRestrictionKind::Predicate(expr) => {
            let evaluator = Evaluator::new(&opener.resolve(expr)?)?;
            RestrictionKind::Predicate(Arc::new(OneColumn { evaluator, name }))
        }
    })
}

fn bound(value: Value, kind: BoundKind) -> Bound<Value> {
    match kind {
        BoundKind::Inclusive => Bound::Included(value),
        BoundKind::Exclusive => Bound::Excluded(value),
    }
}

/// A predicate over one column, decided on its values.
struct OneColumn {
    evaluator: Evaluator,
    name: String,
}

impl ColumnPredicate for OneColumn {
    fn select(&self, values: &Vector) -> Result<Bitmap> {
        let rows = values.len();
        let batch = Batch::new(vec![Column::plain(values.clone())], rows);
        let mut positions = (0..rows as u32).collect();
        self.evaluator.select(&batch, &mut positions)?;
        let mut bits = Bitmap::filled(rows, false);
        positions.iter().for_each(|&p| bits.set(p as usize, true));
        Ok(bits)
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// The blocks of a snapshot.
struct ScanSource {
    context: Arc<QueryContext>,
    snapshot: Arc<TableSnapshot>,
    plan: ScanPlan,
    columns: Arc<[usize]>,
    id: OperatorId,
    /// Ids of the blocks that count.
    places: RangeInclusive<u64>,
    /// None where one way is left, or too little to try both.
    flavours: Option<Flavours>,
    /// The forms of the columns, where two rows with the smallest and largest values may stand for
    /// those of a block.
    ends: Option<Vec<PhysicalType>>,
    /// None where no payload is needed.
    ahead: Option<Ahead>,
}

impl ScanSource {
    /// The ends of the cursor's block as a flow of two rows, where they may stand for all of its
    /// rows.
    fn ends(&self, cursor: &BlockCursor<'_>) -> Option<Flow> {
        let types = self.ends.as_ref()?;
        let ends = cursor.ends(&self.columns)?;
        let column = |(&physical, values): (&PhysicalType, &[Value; 2])| {
            let mut builder = VectorBuilder::new(physical);
            values.iter().for_each(|value| builder.push_value(value));
            Column::plain(builder.finish())
        };
        Some(Flow::from_batch(Batch::new(types.iter().zip(&ends).map(column).collect(), 2)))
    }

    /// The next rows of the cursor through the rest of the pipeline; None at the end of the block.
    fn step(
        &self,
        cursor: &mut BlockCursor<'_>,
        rows: &Arc<dyn RowSource>,
        push: &mut Push<'_>,
    ) -> Result<Option<Demand>> {
        let mut positions = Positions::List(Vec::new());
        if !cursor.next(BATCH_ROWS, &mut positions)? {
            return Ok(None);
        }
        if positions.is_empty() {
            return Ok(Some(Demand::More));
        }
        push(Flow::from_source(Arc::clone(rows), self.columns.len(), positions)).map(Some)
    }
}

/// The rows of one block.
struct BlockRows {
    snapshot: Arc<TableSnapshot>,
    block: usize,
    columns: Arc<[usize]>,
    /// Query and operator that count the bytes read, if anybody does.
    reader: Option<(Arc<QueryContext>, OperatorId)>,
}

impl RowSource for BlockRows {
    fn fetch(&self, column: usize, positions: &Positions) -> Result<Column> {
        if let Some((context, id)) = &self.reader
            && self.columns[column] != TID_COLUMN
        {
            let block = self.snapshot.block(self.block);
            let bytes = block.bytes_of(self.columns[column], positions.len());
            context.counters(*id).bytes_read.fetch_add(bytes, Ordering::Relaxed);
        }
        self.snapshot.unpack(self.block, self.columns[column], positions)
    }
}

impl Source for ScanSource {
    fn orders(&self) -> usize {
        self.snapshot.block_count()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let counters = self.context.counters(self.id);
        if let Some(ahead) = &self.ahead {
            ahead.look(self, order);
        }
        if !self.places.contains(&self.snapshot.block(order).id()) {
            counters.blocks_skipped.fetch_add(1, Ordering::Relaxed);
            return Ok(Demand::More);
        }
        let (mut path, cursor) = self.plan.open_by(&self.snapshot, order)?;
        let ends = cursor.as_ref().and_then(|cursor| self.ends(cursor));
        if ends.is_some() {
            path = AccessPath::Ends;
        }
        counters.paths[path as usize].fetch_add(1, Ordering::Relaxed);
        let Some(mut cursor) = cursor else {
            counters.blocks_skipped.fetch_add(1, Ordering::Relaxed);
            return Ok(Demand::More);
        };
        if let Some(ends) = ends {
            counters.blocks_skipped.fetch_add(1, Ordering::Relaxed);
            return push(ends);
        }
        counters.blocks_scanned.fetch_add(1, Ordering::Relaxed);
        let measures = self.context.profile == Profile::On;
        if measures {
            let (block, rows) = (self.snapshot.block(order), cursor.rows_left());
            let bytes = self.plan.restricted().map(|column| block.bytes_of(column, rows)).sum();
            counters.bytes_read.fetch_add(bytes, Ordering::Relaxed);
        }
        let rows: Arc<dyn RowSource> = Arc::new(BlockRows {
            snapshot: Arc::clone(&self.snapshot),
            block: order,
            columns: Arc::clone(&self.columns),
            reader: measures.then(|| (Arc::clone(&self.context), self.id)),
        });
        loop {
            let (flavour, counts) =
                self.flavours.as_ref().map_or((Flavour::Filters, false), Flavours::next);
            cursor.use_filters(flavour == Flavour::Filters);
            let start = counts.then(|| (Instant::now(), cursor.rows_left()));
            match self.step(&mut cursor, &rows, push)? {
                None => return Ok(Demand::More),
                Some(Demand::Enough) => return Ok(Demand::Enough),
                Some(Demand::More) => {}
            }
            if let (Some((start, left)), Some(flavours)) = (start, &self.flavours) {
                let rows = left - cursor.rows_left();
                flavours.report(flavour, rows, start.elapsed().as_nanos());
            }
        }
    }
}

/// Some rows of a snapshot, by TID, that satisfy the scan's restrictions.
struct RecheckSource {
    context: Arc<QueryContext>,
    snapshot: Arc<TableSnapshot>,
    plan: ScanPlan,
    columns: Arc<[usize]>,
    /// Ascending.
    tids: Vec<Tid>,
}

impl RecheckSource {
    /// The wanted rows of block number `block`.
    fn wanted(&self, block: usize) -> Vec<u32> {
        let id = self.snapshot.block(block).id();
        self.tids.iter().filter(|tid| tid.block() == id).map(|tid| tid.row()).collect()
    }
}

impl Source for RecheckSource {
    fn orders(&self) -> usize {
        self.snapshot.block_count()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let wanted = self.wanted(order);
        if wanted.is_empty() {
            return Ok(Demand::More);
        }
        let Some(mut cursor) = self.plan.open(&self.snapshot, order)? else {
            return Ok(Demand::More);
        };
        let rows: Arc<dyn RowSource> = Arc::new(BlockRows {
            snapshot: Arc::clone(&self.snapshot),
            block: order,
            columns: Arc::clone(&self.columns),
            reader: None,
        });
        let mut positions = Positions::List(Vec::new());
        while cursor.next(BATCH_ROWS, &mut positions)? {
            self.context.check()?;
            let mut found = positions.to_list();
            found.retain(|row| wanted.binary_search(row).is_ok());
            if found.is_empty() {
                continue;
            }
            let found = Positions::List(found);
            let flow = Flow::from_source(Arc::clone(&rows), self.columns.len(), found);
            if push(flow)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }
}

/// All rows of one block that the snapshot sees, these columns.
///
/// # Errors
/// Whatever unpacking meets.
pub fn read_block(
    snapshot: &Arc<TableSnapshot>,
    block: usize,
    columns: &[usize],
) -> Result<Vec<Batch>> {
    let plan = ScanPlan::new(snapshot.schema(), Vec::new())?;
    let mut batches = Vec::new();
    let Some(mut cursor) = plan.open(snapshot, block)? else { return Ok(batches) };
    let mut positions = Positions::List(Vec::new());
    while cursor.next(storage::BLOCK_ROWS_MAX, &mut positions)? {
        let unpack = |&column: &usize| snapshot.unpack(block, column, &positions);
        let columns = columns.iter().map(unpack).collect::<Result<_>>()?;
        batches.push(Batch::new(columns, positions.len()));
    }
    Ok(batches)
}
