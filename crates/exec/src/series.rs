//! Rows that a function of a few values makes: generate_series and unnest, constant or per row.
//!
//! ```text
//! arguments -> Series -- each(out) --> vectors of BATCH_ROWS, made while they are asked for
//! ```
//! Invariant: no series is ever in memory as a whole, however many rows it has.

use std::any::Any;
use std::sync::Arc;

use kernels::array_fn::Unnest;
use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorBuilder, VectorData};
use plan::physical::{Node, Operator as PlanOperator, OperatorId};
use sql::algebra::SeriesFunction;
use types::calendar::TimeZone;
use types::wide::Wide;
use types::{
    DataType, ElementType, Error, Interval, PhysicalType, Result, SqlState, Value, budget,
};

use crate::expr::{Evaluator, columns_of};
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Operator, Push, Source, Stream};

/// Consumer of each vector of values.
type Out<'o> = dyn FnMut(Vector) -> Result<Demand> + 'o;

/// Source of the rows of one call.
enum Series {
    Integer { start: i128, step: i128, count: u64, physical: PhysicalType },
    Time { start: i64, stop: i64, step: Interval, zone: TimeZone },
    Wide { start: Wide, stop: Wide, step: Wide },
    Array { arrays: Arc<Vector>, row: usize, element: ElementType },
    Empty,
}

impl Series {
    /// Rows of `function`, of type `ty`, for row `row` of its arguments.
    fn of(
        function: SeriesFunction,
        arguments: &[Column],
        row: usize,
        ty: DataType,
    ) -> Result<Self> {
        match function {
            SeriesFunction::Generate => {
                Self::new(&arguments.iter().map(|a| a.value(row)).collect::<Vec<_>>(), ty)
            }
            SeriesFunction::Unnest => {
                let not_array = || Error::internal("unnest of something that is no array");
                let (arrays, row) = match arguments.first().ok_or_else(not_array)? {
                    Column::Constant(vector, _) => (Arc::clone(vector), 0),
                    column => (column.to_plain(), row),
                };
                if arrays.is_null(row) {
                    return Ok(Self::Empty);
                }
                let element = ElementType::new(ty).ok_or_else(not_array)?;
                Ok(Self::Array { arrays, row, element })
            }
        }
    }

    /// Series from a start, a stop, a step and, where it goes by clocks, the name of a time zone.
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
            (Some(start), Some(stop), Some(step)) => {
                let span = (stop - start) / step;
                let is_empty = (step > 0) != (stop >= start) && start != stop;
                let count = if is_empty { 0 } else { span as u64 + 1 };
                Ok(Self::Integer { start, step, count, physical: ty.physical() })
            }
            _ => Err(Error::unsupported(format!("generate_series over {ty:?}"))),
        }
    }

    /// Hands the values over in vectors of at most [`BATCH_ROWS`].
    fn each(&self, out: &mut Out<'_>) -> Result<Demand> {
        match self {
            Self::Empty => Ok(Demand::More),
            Self::Integer { count, .. } => self.integers(0, *count, out),
            Self::Time { start, stop, step, zone } => {
                let ascending = step.comparable() > 0;
                let mut next = Some(*start);
                each_vector(out, || {
                    let mut values = Vec::with_capacity(BATCH_ROWS);
                    while let Some(at) = next
                        && values.len() < BATCH_ROWS
                    {
                        let is_in = if ascending { at <= *stop } else { at >= *stop };
                        if is_in {
                            values.push(at);
                        }
                        next = if is_in { Some(step.add_in(at, zone)?) } else { None };
                    }
                    Ok(Vector::new(VectorData::I64(values)))
                })
            }
            Self::Wide { start, stop, step } => {
                let ascending = step.signum() == Some(1);
                let mut next = Some(start.clone());
                each_vector(out, || {
                    let mut values = VectorBuilder::new(PhysicalType::Str);
                    while let Some(at) = next.take()
                        && if ascending { at <= *stop } else { at >= *stop }
                    {
                        values.push_value(&at.value());
                        next = Some(at.add(step)?);
                        if values.len() == BATCH_ROWS {
                            break;
                        }
                    }
                    Ok(values.finish())
                })
            }
            Self::Array { arrays, row, element } => {
                let mut elements = Unnest::new(arrays.as_str().get(*row), *element);
                each_vector(out, || Ok(elements.next_vector(BATCH_ROWS)))
            }
        }
    }

    /// The values number `from..to` of a series of integers.
    fn integers(&self, mut from: u64, to: u64, out: &mut Out<'_>) -> Result<Demand> {
        let Self::Integer { start, step, physical, .. } = *self else {
            return Err(Error::internal("a series of integers"));
        };
        each_vector(out, || {
            let end = (from + BATCH_ROWS as u64).min(to);
            let vector = integers(start, step, from, end, physical)?;
            from = end;
            Ok(vector)
        })
    }
}

/// Hands over what `next` makes until it makes no rows.
fn each_vector(out: &mut Out<'_>, mut next: impl FnMut() -> Result<Vector>) -> Result<Demand> {
    loop {
        budget::check()?;
        let vector = next()?;
        if vector.is_empty() {
            return Ok(Demand::More);
        }
        if out(vector)? == Demand::Enough {
            return Ok(Demand::Enough);
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

/// Rows of a constant series of integers per work order.
const SERIES_ORDER_ROWS: u64 = 1 << 16;

/// A constant series: integers in many work orders, others in one.
struct SeriesSource(Series);

impl Source for SeriesSource {
    fn orders(&self) -> usize {
        match self.0 {
            Series::Integer { count, .. } => count.div_ceil(SERIES_ORDER_ROWS) as usize,
            _ => 1,
        }
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let mut out = |vector: Vector| {
            let rows = vector.len();
            push(Flow::from_batch(Batch::new(vec![Column::plain(vector)], rows)))
        };
        match self.0 {
            Series::Integer { count, .. } => {
                let from = order as u64 * SERIES_ORDER_ROWS;
                self.0.integers(from, (from + SERIES_ORDER_ROWS).min(count), &mut out)
            }
            _ => self.0.each(&mut out),
        }
    }
}

/// Opens [`PlanOperator::Series`].
pub(crate) fn open_series(opener: &mut Opener, node: &Node) -> Result<Stream> {
    let PlanOperator::Series { input, function, arguments } = &node.operator else {
        return Err(Error::internal("not a series"));
    };
    let output = node.output.last().ok_or_else(|| Error::internal("a series has a column"))?;
    let ty = output.ty;
    if let Some(input) = input {
        let mut stream = opener.open(input, Vec::new())?;
        let resolved = arguments.iter().map(|a| opener.resolve(a)).collect::<Result<Vec<_>>>()?;
        let mut used: Vec<usize> = resolved.iter().flat_map(columns_of).collect();
        used.sort_unstable();
        used.dedup();
        let evaluators = resolved.iter().map(Evaluator::new).collect::<Result<Vec<_>>>()?;
        let (function, id) = (*function, node.id);
        let operator = LateralSeries { function, evaluators, used, ty, id };
        stream.push_operator(Arc::new(operator));
        return Ok(stream);
    }
    let constant = |a| opener.constant_column(a);
    let arguments = arguments.iter().map(constant).collect::<Result<Vec<_>>>()?;
    let series = Series::of(*function, &arguments, 0, ty)?;
    Ok(Stream::new(Arc::new(SeriesSource(series)), Some(node.id)))
}

/// For each row of the input the rows of a series.
struct LateralSeries {
    function: SeriesFunction,
    evaluators: Vec<Evaluator>,
    used: Vec<usize>,
    ty: DataType,
    id: OperatorId,
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
            let series = Series::of(self.function, &arguments, row, self.ty)?;
            let demand = series.each(&mut |vector| {
                let mut part = flow.select(&vec![row as u32; vector.len()]);
                part.append_column(Column::plain(vector));
                push(part)
            })?;
            if demand == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}
