//! Operators without state: filter, project, literal rows, generate_series.

use std::any::Any;
use std::sync::Arc;

use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorBuilder, VectorData, array_fn};
use plan::physical::{Expr, ExprKind, Node, Operator as PlanOperator, OperatorId};
use sql::algebra::SeriesFunction;
use types::calendar::TimeZone;
use types::wide::Wide;
use types::{DataType, ElementType, Error, Interval, PhysicalType, Result, SqlState, Value};

use crate::expr::Evaluator;
use crate::flow::{Flow, Output};
use crate::open::{Opener, PushedFilter, columns_of, is_volatile};
use crate::pipeline::{Demand, Operator, Push, Source, Stream};

/// One conjunct and the columns it uses.
struct Conjunct {
    evaluator: Evaluator,
    columns: Vec<usize>,
}

/// Keeps rows whose predicate is true. Conjuncts are evaluated in order, each on the survivors of
/// those before, so that columns of later ones are unpacked for survivors only.
pub(crate) struct FilterOperator {
    conjuncts: Vec<Conjunct>,
    id: Option<OperatorId>,
}

impl FilterOperator {
    /// A filter by `predicate`, which has no parameters left.
    pub(crate) fn new(predicate: &Expr, id: Option<OperatorId>) -> Result<Self> {
        let parts = match &predicate.kind {
            ExprKind::And(parts) => parts.as_slice(),
            _ => std::slice::from_ref(predicate),
        };
        let conjunct = |part: &Expr| -> Result<Conjunct> {
            Ok(Conjunct { evaluator: Evaluator::new(part)?, columns: columns_of(part) })
        };
        Ok(Self { conjuncts: parts.iter().map(conjunct).collect::<Result<_>>()?, id })
    }
}

impl Operator for FilterOperator {
    fn process(&self, _: &mut dyn Any, mut flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        for conjunct in &self.conjuncts {
            flow.load(&conjunct.columns)?;
            let mut positions: Vec<u32> = (0..flow.rows() as u32).collect();
            conjunct.evaluator.select(flow.batch(), &mut positions)?;
            if positions.is_empty() {
                return Ok(Demand::More);
            }
            if positions.len() < flow.rows() {
                flow = flow.select(&positions);
            }
        }
        push(flow)
    }

    fn id(&self) -> Option<OperatorId> {
        self.id
    }
}

/// Opens [`PlanOperator::Filter`].
pub(crate) fn open_filter(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let PlanOperator::Filter { input, predicate } = &node.operator else {
        return Err(Error::internal("not a filter"));
    };
    let filters = if is_volatile(predicate) { Vec::new() } else { filters };
    let mut stream = opener.open(input, filters)?;
    let predicate = opener.resolve(predicate)?;
    stream.push_operator(Arc::new(FilterOperator::new(&predicate, Some(node.id))?));
    Ok(stream)
}

/// What one output column of a projection is.
enum Projected {
    Kept(usize),
    Computed(Evaluator),
}

/// Computes expressions; plain columns pass through, loaded or not.
struct ProjectOperator {
    outputs: Vec<Projected>,
    used: Vec<usize>,
    id: OperatorId,
}

impl Operator for ProjectOperator {
    fn process(&self, _: &mut dyn Any, mut flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        flow.load(&self.used)?;
        let output = |projected: &Projected| -> Result<Output> {
            Ok(match projected {
                Projected::Kept(column) => Output::Kept(*column),
                Projected::Computed(evaluator) => {
                    Output::Computed(evaluator.evaluate(flow.batch())?)
                }
            })
        };
        let outputs = self.outputs.iter().map(output).collect::<Result<Vec<_>>>()?;
        push(flow.replace(outputs))
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// Opens [`PlanOperator::Project`].
pub(crate) fn open_project(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let PlanOperator::Project { input, exprs } = &node.operator else {
        return Err(Error::internal("not a projection"));
    };
    let below = match exprs.iter().any(is_volatile) {
        true => Vec::new(),
        false => filters.into_iter().filter_map(|pushed| pushed.through(exprs)).collect(),
    };
    let mut stream = opener.open(input, below)?;
    push_project(opener, node, None, &mut stream)?;
    Ok(stream)
}

/// Lets `stream` pass the projection `node`, and its column `passed` behind the projection's.
///
/// # Errors
/// As [`Opener::resolve`] and [`Evaluator::new`].
pub(crate) fn push_project(
    opener: &Opener,
    node: &Node,
    passed: Option<usize>,
    stream: &mut Stream,
) -> Result<()> {
    let PlanOperator::Project { exprs, .. } = &node.operator else {
        return Err(Error::internal("not a projection"));
    };
    let mut used = Vec::new();
    let mut outputs = Vec::with_capacity(exprs.len());
    for expr in exprs {
        if let ExprKind::Column(column) = expr.kind {
            outputs.push(Projected::Kept(column));
            continue;
        }
        let expr = opener.resolve(expr)?;
        used.extend(columns_of(&expr));
        outputs.push(Projected::Computed(Evaluator::new(&expr)?));
    }
    outputs.extend(passed.map(Projected::Kept));
    used.sort_unstable();
    used.dedup();
    stream.push_operator(Arc::new(ProjectOperator { outputs, used, id: node.id }));
    Ok(())
}

/// Some columns of the input, in another order perhaps.
pub(crate) struct Picked {
    columns: Vec<usize>,
    id: OperatorId,
}

impl Picked {
    pub(crate) fn new(columns: &[usize], id: OperatorId) -> Self {
        Self { columns: columns.to_vec(), id }
    }
}

impl Operator for Picked {
    fn process(&self, _: &mut dyn Any, flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        push(flow.project(&self.columns))
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// Batches made beforehand, one work order each.
pub(crate) struct BatchesSource(pub(crate) Vec<Batch>);

impl Source for BatchesSource {
    fn orders(&self) -> usize {
        self.0.len()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        push(Flow::from_batch(self.0[order].clone()))
    }
}

/// Opens [`PlanOperator::Values`].
pub(crate) fn open_values(opener: &mut Opener, node: &Node) -> Result<Stream> {
    let PlanOperator::Values { rows } = &node.operator else {
        return Err(Error::internal("not literal rows"));
    };
    let mut batches = Vec::new();
    for part in rows.chunks(BATCH_ROWS) {
        let mut builders: Vec<VectorBuilder> =
            node.output.iter().map(|c| VectorBuilder::new(c.physical)).collect();
        for row in part {
            opener.context.check()?;
            for (builder, expr) in builders.iter_mut().zip(row) {
                builder.push_value(&opener.constant(expr)?);
            }
        }
        let columns = builders.into_iter().map(|b| Column::plain(b.finish())).collect();
        batches.push(Batch::new(columns, part.len()));
    }
    Ok(Stream::new(Arc::new(BatchesSource(batches)), Some(node.id)))
}

/// start, stop and step of one series.
enum Series {
    Integer { start: i128, stop: i128, step: i128 },
    Time { start: i64, stop: i64, step: Interval, zone: TimeZone },
    Wide { start: Wide, stop: Wide, step: Wide },
    Empty,
}

impl Series {
    /// Of a start, a stop, a step and, where it goes by its clocks, the name of a time zone.
    fn new(values: &[Value], ty: DataType) -> Result<Self> {
        let [start, stop, step, zone @ ..] = values else {
            return Err(Error::internal("a series has three arguments"));
        };
        if start.is_null() || stop.is_null() || step.is_null() {
            return Ok(Self::Empty);
        }
        if let (Value::I64(start), Value::I64(stop), Value::Interval(interval)) =
            (start, stop, step)
        {
            let zone = match zone {
                [Value::Str(name)] => TimeZone::setting(&String::from_utf8_lossy(name))?,
                _ => TimeZone::UTC,
            };
            if interval.comparable() == 0 {
                return Err(zero_step());
            }
            return Ok(Self::Time { start: *start, stop: *stop, step: *interval, zone });
        }
        if let (Value::Str(start), Value::Str(stop), Value::Str(step)) = (start, stop, step) {
            let decode = |bytes: &[u8], what| finite(Wide::decode(bytes), what);
            let (start, stop) = (decode(start, "start value")?, decode(stop, "stop value")?);
            let step = decode(step, "step size")?;
            if step.signum() == Some(0) {
                return Err(zero_step());
            }
            return Ok(Self::Wide { start, stop, step });
        }
        match (start.as_integer(), stop.as_integer(), step.as_integer()) {
            (Some(_), Some(_), Some(0)) => Err(zero_step()),
            (Some(start), Some(stop), Some(step)) => Ok(Self::Integer { start, stop, step }),
            _ => Err(Error::unsupported(format!("generate_series over {ty:?}"))),
        }
    }

    /// Rows of an integer series.
    fn count(&self) -> Option<u64> {
        match self {
            Self::Integer { start, stop, step } => {
                let span = (stop - start) / step;
                let none = (*step > 0) != (stop >= start) && start != stop;
                Some(if none { 0 } else { span as u64 + 1 })
            }
            Self::Empty => Some(0),
            Self::Time { .. } | Self::Wide { .. } => None,
        }
    }

    /// All values of a series of times or wide decimals.
    fn values(&self) -> Result<Vector> {
        match self {
            Self::Time { start, stop, step, zone } => {
                let ascending = step.comparable() > 0;
                let mut values = Vec::new();
                let mut at = *start;
                while if ascending { at <= *stop } else { at >= *stop } {
                    values.push(at);
                    at = step.add_in(at, zone)?;
                }
                Ok(Vector::new(VectorData::I64(values)))
            }
            Self::Wide { start, stop, step } => {
                let ascending = step.signum() == Some(1);
                let mut values = VectorBuilder::new(PhysicalType::Str);
                let mut at = start.clone();
                while if ascending { at <= *stop } else { at >= *stop } {
                    values.push_value(&at.value());
                    at = at.add(step)?;
                }
                Ok(values.finish())
            }
            Self::Integer { .. } | Self::Empty => Err(Error::internal("a series of numbers")),
        }
    }
}

/// 22023 for NaN and the infinities.
fn finite(value: Wide, what: &str) -> Result<Wide> {
    let is = match &value {
        Wide::Finite(_) => return Ok(value),
        Wide::NaN => "NaN",
        _ => "infinity",
    };
    Err(Error::new(SqlState::INVALID_PARAMETER, format!("{what} cannot be {is}")))
}

fn zero_step() -> Error {
    Error::new(SqlState::INVALID_PARAMETER, "step size cannot equal zero")
}

/// Values `start + step * i` for `i` in `from..to`, in the physical type of the series.
fn integers(start: i128, step: i128, from: u64, to: u64, physical: PhysicalType) -> Result<Vector> {
    let values = (from..to).map(|i| start + step * i128::from(i));
    let data = match physical {
        PhysicalType::I32 => VectorData::I32(values.map(|v| v as i32).collect()),
        PhysicalType::I64 => VectorData::I64(values.map(|v| v as i64).collect()),
        PhysicalType::I128 => VectorData::I128(values.collect()),
        other => return Err(Error::internal(format!("a series of {other:?}"))),
    };
    Ok(Vector::new(data))
}

/// Rows of a constant series per work order.
const SERIES_ORDER_ROWS: u64 = 1 << 16;

struct SeriesSource {
    series: Series,
    count: u64,
    physical: PhysicalType,
}

impl Source for SeriesSource {
    fn orders(&self) -> usize {
        self.count.div_ceil(SERIES_ORDER_ROWS) as usize
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let Series::Integer { start, step, .. } = self.series else {
            return Ok(Demand::More);
        };
        let mut from = order as u64 * SERIES_ORDER_ROWS;
        let end = (from + SERIES_ORDER_ROWS).min(self.count);
        while from < end {
            let to = (from + BATCH_ROWS as u64).min(end);
            let column = Column::plain(integers(start, step, from, to, self.physical)?);
            let flow = Flow::from_batch(Batch::new(vec![column], (to - from) as usize));
            if push(flow)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
            from = to;
        }
        Ok(Demand::More)
    }
}

/// Opens [`PlanOperator::Series`].
pub(crate) fn open_series(opener: &mut Opener, node: &Node) -> Result<Stream> {
    let PlanOperator::Series { input, function, arguments } = &node.operator else {
        return Err(Error::internal("not a series"));
    };
    let output = node.output.last().ok_or_else(|| Error::internal("a series has a column"))?;
    let (ty, physical) = (output.ty, output.physical);
    if let Some(input) = input {
        let mut stream = opener.open(input, Vec::new())?;
        let resolved = arguments.iter().map(|a| opener.resolve(a)).collect::<Result<Vec<_>>>()?;
        let mut used: Vec<usize> = resolved.iter().flat_map(columns_of).collect();
        used.sort_unstable();
        used.dedup();
        let evaluators = resolved.iter().map(Evaluator::new).collect::<Result<Vec<_>>>()?;
        let (function, id) = (*function, node.id);
        let operator = LateralSeries { function, evaluators, used, ty, physical, id };
        stream.push_operator(Arc::new(operator));
        return Ok(stream);
    }
    let values = arguments.iter().map(|a| opener.constant(a)).collect::<Result<Vec<_>>>()?;
    if *function == SeriesFunction::Unnest {
        let elements = unnest(&values, ty)?;
        let starts = (0..elements.len()).step_by(BATCH_ROWS);
        let batches = starts.map(|start| {
            let rows = (elements.len() - start).min(BATCH_ROWS);
            Batch::new(vec![Column::plain(elements.slice(start, rows))], rows)
        });
        return Ok(Stream::new(Arc::new(BatchesSource(batches.collect())), Some(node.id)));
    }
    let series = Series::new(&values, ty)?;
    let source: Arc<dyn Source> = match series.count() {
        Some(count) => Arc::new(SeriesSource { series, count, physical }),
        None => {
            let values = series.values()?;
            let batch = |start: usize| {
                let rows = BATCH_ROWS.min(values.len() - start);
                Batch::new(vec![Column::plain(values.slice(start, rows))], rows)
            };
            let starts = (0..values.len()).step_by(BATCH_ROWS);
            Arc::new(BatchesSource(starts.map(batch).collect()))
        }
    };
    Ok(Stream::new(source, Some(node.id)))
}

/// The elements, of type `ty`, of the only value, an array.
fn unnest(values: &[Value], ty: DataType) -> Result<Vector> {
    match (values, ElementType::new(ty)) {
        ([Value::Str(array)], Some(element)) => Ok(array_fn::unnest(array, element)),
        ([Value::Null], _) => Ok(Vector::empty(ty.physical())),
        _ => Err(Error::internal("unnest of something that is no array")),
    }
}

/// For each row of the input the rows of a series.
struct LateralSeries {
    function: SeriesFunction,
    evaluators: Vec<Evaluator>,
    used: Vec<usize>,
    ty: DataType,
    physical: PhysicalType,
    id: OperatorId,
}

impl LateralSeries {
    fn values(&self, series: &Series) -> Result<Vector> {
        match series {
            Series::Empty => Ok(Vector::empty(self.physical)),
            Series::Time { .. } | Series::Wide { .. } => series.values(),
            Series::Integer { start, step, .. } => {
                integers(*start, *step, 0, series.count().unwrap_or(0), self.physical)
            }
        }
    }
}

impl Operator for LateralSeries {
    fn process(&self, _: &mut dyn Any, mut flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        flow.load(&self.used)?;
        let arguments = self
            .evaluators
            .iter()
            .map(|e| e.evaluate(flow.batch()))
            .collect::<Result<Vec<Column>>>()?;
        for row in 0..flow.rows() {
            let values: Vec<Value> = arguments.iter().map(|a| a.value(row)).collect();
            let vector = match self.function {
                SeriesFunction::Generate => self.values(&Series::new(&values, self.ty)?)?,
                SeriesFunction::Unnest => unnest(&values, self.ty)?,
            };
            let mut start = 0;
            while start < vector.len() {
                let len = (vector.len() - start).min(BATCH_ROWS);
                let mut part = flow.select(&vec![row as u32; len]);
                part.append_column(Column::plain(vector.slice(start, len)));
                if push(part)? == Demand::Enough {
                    return Ok(Demand::Enough);
                }
                start += len;
            }
        }
        Ok(Demand::More)
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}
