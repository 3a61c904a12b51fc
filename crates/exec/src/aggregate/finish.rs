//! Turns aggregates into states, and states into result columns.

use kernels::{Bitmap, Vector, VectorBuilder, VectorData};
use plan::physical::{Aggregate, Expr};
use sql::algebra::{AggregateFunction as F, Duplicates};
use types::wide::{Total, Wide};
use types::{DataType, Error, PhysicalType, Result, SqlState, Value, decimal};

use super::input::Inputs;
use super::states::moments::Exact;
use super::states::wide::results;
use super::states::{
    BitOperation, Collected, Collector, DistinctStates, End, ExactMoments, FloatMoments,
    FloatSumStates, IntervalStates, NullStates, RowStates, Rows, StateKind, StateSpec, States,
    SumStates, WideStates, downcast, sort_field,
};
use super::variance::float_moment;
use crate::opener::Opener;

/// How a result column comes from states, given by number.
#[derive(Clone, Debug)]
pub(crate) enum Finisher {
    /// The state's own result.
    State(usize),
    /// Rows less NULLs.
    Count { rows: usize, nulls: usize },
    /// An exact sum.
    Sum { sum: usize },
    /// An exact sum divided by a count.
    Avg { sum: usize, rows: usize, nulls: Option<usize>, scale: u8 },
    /// A floating point sum.
    FloatSum { sum: usize },
    /// A floating point sum divided by a count.
    FloatAvg { sum: usize, rows: usize, nulls: Option<usize> },
    /// A sum of intervals divided by their count.
    IntervalAvg { sum: usize },
    /// Variance or deviation of exact numbers.
    ExactVariance { moments: usize, function: F, scale: u8 },
    /// Sum, average, variance or deviation of wide decimals.
    Wide { total: usize, function: F },
    /// Variance, covariance, correlation of floating point numbers.
    FloatMoment { moments: usize, function: F },
}

/// A result column.
#[derive(Clone, Debug)]
pub(crate) struct ResultColumn {
    /// How it comes from states.
    pub(crate) finisher: Finisher,
    /// Its type.
    pub(crate) ty: DataType,
    /// How it is held.
    pub(crate) physical: PhysicalType,
}

/// The states that aggregates need, shared where equal, and their results.
#[derive(Default)]
pub(crate) struct StatePlan {
    /// The states.
    pub(crate) specs: Vec<StateSpec>,
    /// One per aggregate.
    pub(crate) results: Vec<ResultColumn>,
}

/// The arguments of one aggregate being planned.
struct Call<'a> {
    arguments: Vec<usize>,
    physical: Vec<PhysicalType>,
    filter: Option<usize>,
    distinct: bool,
    aggregate: &'a Aggregate,
}

impl Call<'_> {
    fn first(&self) -> Result<&Expr> {
        self.aggregate.arguments.first().ok_or_else(|| Error::internal("an aggregate's argument"))
    }
}

impl StatePlan {
    /// The number of a state.
    pub(crate) fn state(&mut self, spec: StateSpec) -> usize {
        if let Some(number) = self.specs.iter().position(|s| *s == spec) {
            return number;
        }
        self.specs.push(spec);
        self.specs.len() - 1
    }

    fn over(&mut self, call: &Call<'_>, kind: StateKind) -> usize {
        let kind = if call.distinct { StateKind::Distinct(Box::new(kind)) } else { kind };
        self.state(StateSpec {
            kind,
            arguments: call.arguments.clone(),
            physical: call.physical.clone(),
            filter: call.filter,
        })
    }

    /// Rows that count for the call and NULLs among them; of distinct arguments NULL is none.
    fn counts(&mut self, call: &Call<'_>) -> (usize, Option<usize>) {
        if call.distinct {
            return (self.over(call, StateKind::Rows), None);
        }
        let rows = self.rows(call.filter);
        (rows, Some(self.over(call, StateKind::Nulls)))
    }

    /// Rows of the group that pass `filter`.
    pub(crate) fn rows(&mut self, filter: Option<usize>) -> usize {
        let (arguments, physical) = (Vec::new(), Vec::new());
        self.state(StateSpec { kind: StateKind::Rows, arguments, physical, filter })
    }

    /// Adds `aggregate`.
    ///
    /// # Errors
    /// As [`Inputs::add`].
    pub(crate) fn add(
        &mut self,
        inputs: &mut Inputs,
        opener: &Opener,
        aggregate: &Aggregate,
    ) -> Result<()> {
        let add = |e: &Expr| inputs.add(opener, e);
        let arguments = aggregate.arguments.iter().map(add).collect::<Result<Vec<_>>>()?;
        let filter = aggregate.filter.as_ref().map(|f| inputs.add(opener, f)).transpose()?;
        let idempotent = matches!(
            aggregate.function,
            F::CountRows
                | F::Min
                | F::Max
                | F::BoolAnd
                | F::BoolOr
                | F::BitAnd
                | F::BitOr
                | F::AnyValue
                | F::Single
                | F::StringAgg
                | F::ArrayAgg
                | F::PercentileCont
                | F::PercentileDisc
                | F::Mode
        );
        let mut call = Call {
            arguments,
            physical: aggregate.arguments.iter().map(|a| a.physical).collect(),
            filter,
            distinct: aggregate.duplicates == Duplicates::Remove && !idempotent,
            aggregate,
        };
        let finisher = match collected(aggregate) {
            Some(result) => {
                for key in &aggregate.order_by {
                    call.arguments.push(inputs.add(opener, &key.expr)?);
                    call.physical.push(key.expr.physical);
                }
                let collector = Collector {
                    result,
                    arguments: aggregate.arguments.len(),
                    keys: aggregate.order_by.iter().map(sort_field).collect(),
                    duplicates: aggregate.duplicates,
                    physical: aggregate.physical,
                };
                Finisher::State(self.over(&call, StateKind::Collect(collector)))
            }
            None => self.finisher(&call)?,
        };
        let (ty, physical) = (aggregate.ty, aggregate.physical);
        self.results.push(ResultColumn { finisher, ty, physical });
        Ok(())
    }

    fn finisher(&mut self, call: &Call<'_>) -> Result<Finisher> {
        let state = |plan: &mut Self, kind| Ok(Finisher::State(plan.over(call, kind)));
        match call.aggregate.function {
            F::CountRows => Ok(Finisher::State(self.rows(call.filter))),
            F::Count => Ok(match self.counts(call) {
                (rows, Some(nulls)) => Finisher::Count { rows, nulls },
                (rows, None) => Finisher::State(rows),
            }),
            F::Sum => self.sum(call),
            F::Avg => self.avg(call),
            F::Min | F::BoolAnd => state(self, StateKind::Extreme(End::Least)),
            F::Max | F::BoolOr => state(self, StateKind::Extreme(End::Greatest)),
            F::BitAnd => state(self, StateKind::Bits(BitOperation::And)),
            F::BitOr => state(self, StateKind::Bits(BitOperation::Or)),
            F::BitXor => state(self, StateKind::Bits(BitOperation::Xor)),
            F::AnyValue => state(self, StateKind::Any(Rows::Many)),
            F::Single => state(self, StateKind::Any(Rows::One)),
            function @ (F::StddevPop | F::StddevSamp | F::VarPop | F::VarSamp) => {
                if call.first()?.physical == PhysicalType::F64 {
                    let moments = self.over(call, StateKind::FloatMoments);
                    return Ok(Finisher::FloatMoment { moments, function });
                }
                if call.first()?.physical == PhysicalType::Str {
                    return Ok(self.wide(call));
                }
                let scale = scale_of(call.first()?.ty);
                let moments = self.over(call, StateKind::ExactMoments);
                Ok(Finisher::ExactVariance { moments, function, scale })
            }
            function @ (F::CovarPop
            | F::CovarSamp
            | F::Corr
            | F::RegrSlope
            | F::RegrIntercept
            | F::RegrR2
            | F::RegrAvgX
            | F::RegrAvgY
            | F::RegrSxx
            | F::RegrSyy
            | F::RegrSxy) => {
                let moments = self.over(call, StateKind::FloatMoments);
                Ok(Finisher::FloatMoment { moments, function })
            }
            other => Err(Error::internal(format!("{other:?} collects rows"))),
        }
    }

    fn sum(&mut self, call: &Call<'_>) -> Result<Finisher> {
        Ok(match call.first()?.physical {
            PhysicalType::F64 => Finisher::FloatSum { sum: self.over(call, StateKind::FloatSum) },
            PhysicalType::Interval => Finisher::State(self.over(call, StateKind::IntervalSum)),
            PhysicalType::Str => self.wide(call),
            _ => Finisher::Sum { sum: self.over(call, StateKind::Sum) },
        })
    }

    fn wide(&mut self, call: &Call<'_>) -> Finisher {
        let function = call.aggregate.function;
        let squares = !matches!(function, F::Sum | F::Avg);
        Finisher::Wide { total: self.over(call, StateKind::WideTotal(squares)), function }
    }

    fn avg(&mut self, call: &Call<'_>) -> Result<Finisher> {
        let argument = call.first()?;
        Ok(match argument.physical {
            PhysicalType::F64 => {
                let (rows, nulls) = self.counts(call);
                Finisher::FloatAvg { sum: self.over(call, StateKind::FloatSum), rows, nulls }
            }
            PhysicalType::Interval => {
                Finisher::IntervalAvg { sum: self.over(call, StateKind::IntervalSum) }
            }
            PhysicalType::Str => self.wide(call),
            _ => {
                let (rows, nulls) = self.counts(call);
                let sum = self.over(call, StateKind::Sum);
                Finisher::Avg { sum, rows, nulls, scale: scale_of(argument.ty) }
            }
        })
    }
}

fn collected(aggregate: &Aggregate) -> Option<Collected> {
    let of_arrays = aggregate.arguments.first().is_some_and(|argument| argument.ty.is_array());
    match (aggregate.function, aggregate.ty) {
        (F::ArrayAgg, DataType::Array(element)) if of_arrays => Some(Collected::NestedAgg(element)),
        (F::ArrayAgg, DataType::Array(element)) => Some(Collected::ArrayAgg(element)),
        (function, _) => collected_plain(function),
    }
}

fn collected_plain(function: F) -> Option<Collected> {
    match function {
        F::StringAgg => Some(Collected::StringAgg),
        F::PercentileCont => Some(Collected::PercentileCont),
        F::PercentileDisc => Some(Collected::PercentileDisc),
        F::Mode => Some(Collected::Mode),
        _ => None,
    }
}

/// The digits after the point of exact numbers of type `ty`.
fn scale_of(ty: DataType) -> u8 {
    match ty {
        DataType::Numeric(ty) => ty.scale,
        _ => 0,
    }
}

/// Behind a DISTINCT, the state that it feeds.
fn inner<T: 'static>(states: &dyn States) -> Result<&T> {
    match states.as_any().downcast_ref::<DistinctStates>() {
        Some(distinct) => downcast(distinct.inner()),
        None => downcast(states),
    }
}

fn out_of_range(ty: DataType) -> Error {
    let message = match ty {
        DataType::SmallInt => "smallint out of range",
        DataType::Integer => "integer out of range",
        DataType::BigInt => "bigint out of range",
        _ => return decimal::overflow(),
    };
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
}

/// Exact values as `physical`, checked to fit `ty`.
pub(crate) fn exact(
    values: Vec<i128>,
    validity: Option<Bitmap>,
    ty: DataType,
    physical: PhysicalType,
) -> Result<Vector> {
    if let DataType::Numeric(numeric) = ty
        && let Some(&bad) = values.iter().find(|&&v| !decimal::fits(v, numeric.precision))
    {
        decimal::check(Some(bad), numeric)?;
    }
    let overflow = |_| out_of_range(ty);
    let data = match physical {
        PhysicalType::I32 => {
            let values = values.iter().map(|&v| i32::try_from(v).map_err(overflow));
            VectorData::I32(values.collect::<Result<_>>()?)
        }
        PhysicalType::I64 => {
            let values = values.iter().map(|&v| i64::try_from(v).map_err(overflow));
            VectorData::I64(values.collect::<Result<_>>()?)
        }
        PhysicalType::I128 => VectorData::I128(values),
        PhysicalType::F64 => VectorData::F64(values.iter().map(|&v| v as f64).collect()),
        other => return Err(Error::internal(format!("an exact result as {other:?}"))),
    };
    Ok(Vector::with_validity(data, validity))
}

/// REAL results have 32 bits.
fn round_real(mut vector: Vector, ty: DataType) -> Vector {
    if let (DataType::Real, VectorData::F64(values)) = (ty, &mut vector.data) {
        values.iter_mut().for_each(|v| *v = f64::from(*v as f32));
    }
    vector
}

impl ResultColumn {
    /// The results of `groups`.
    ///
    /// # Errors
    /// 22003 and the like.
    pub(crate) fn finish(&self, states: &[Box<dyn States>], groups: &[u32]) -> Result<Vector> {
        let vector = match &self.finisher {
            Finisher::State(state) => states[*state].finish(groups)?,
            Finisher::Count { rows, nulls } => {
                let rows: &RowStates = downcast(&*states[*rows])?;
                let nulls: &NullStates = downcast(&*states[*nulls])?;
                let counts = groups.iter().map(|&g| rows.get(g) - nulls.get(g)).collect();
                Vector::new(VectorData::I64(counts))
            }
            Finisher::Sum { sum } => self.sum(inner(&*states[*sum])?, groups)?,
            Finisher::Avg { sum, rows, nulls, scale } => {
                let counts = Counts::new(states, *rows, *nulls)?;
                exact_avg(inner(&*states[*sum])?, &counts, *scale, groups)?
            }
            Finisher::Wide { total, function } => {
                let totals: &WideStates = inner(&*states[*total])?;
                totals.results(groups, |total| wide_result(total, *function))?
            }
            Finisher::FloatSum { sum } => states[*sum].finish(groups)?,
            Finisher::FloatAvg { sum, rows, nulls } => {
                let counts = Counts::new(states, *rows, *nulls)?;
                float_avg(inner(&*states[*sum])?, &counts, groups)?
            }
            Finisher::IntervalAvg { sum } => interval_avg(inner(&*states[*sum])?, groups)?,
            Finisher::ExactVariance { moments, function, scale } => {
                exact_variance(inner(&*states[*moments])?, *function, *scale, groups)?
            }
            Finisher::FloatMoment { moments, function } => {
                let moments: &FloatMoments = inner(&*states[*moments])?;
                let mut builder = VectorBuilder::with_capacity(PhysicalType::F64, groups.len());
                for &group in groups {
                    let value = float_moment(moments.get(group), *function);
                    builder.push_value(&value.map_or(Value::Null, Value::F64));
                }
                builder.finish()
            }
        };
        Ok(round_real(vector, self.ty))
    }

    fn sum(&self, sums: &SumStates, groups: &[u32]) -> Result<Vector> {
        let wide_enough = match self.ty {
            DataType::Numeric(ty) => ty.precision > 18,
            _ => true,
        };
        let validity = sums.valid().bitmap(groups);
        if let (Some(narrow), PhysicalType::I64, true) = (sums.narrow(), self.physical, wide_enough)
        {
            let sums = groups.iter().map(|&g| narrow[g as usize]).collect();
            return Ok(Vector::with_validity(VectorData::I64(sums), validity));
        }
        let values = groups.iter().map(|&g| sums.get(g).unwrap_or(0)).collect();
        exact(values, validity, self.ty, self.physical)
    }
}

/// Averages of exact numbers of scale `scale`, as wide decimals.
fn exact_avg(sums: &SumStates, counts: &Counts<'_>, scale: u8, groups: &[u32]) -> Result<Vector> {
    results(groups.len(), |i| {
        let (group, sum) = (groups[i], Wide::new(sums.total(groups[i]), scale.into()));
        match counts.get(group) {
            0 => Ok(None),
            count => sum.divide(&Wide::new(count.into(), 0)).map(Some),
        }
    })
}

/// Variances or deviations of exact numbers of scale `scale`, as wide decimals.
fn exact_variance(
    moments: &ExactMoments,
    function: F,
    scale: u8,
    groups: &[u32],
) -> Result<Vector> {
    results(groups.len(), |i| {
        let Exact { count, sum, squares } = moments.get(groups[i]);
        let squares = (squares.high, squares.low);
        wide_result(&Total::of_scaled(count, sum, squares, scale.into()), function)
    })
}

fn wide_result(total: &Total, function: F) -> Result<Option<Wide>> {
    match function {
        F::Sum => total.sum(),
        F::Avg => total.average(),
        _ => {
            let sample = matches!(function, F::StddevSamp | F::VarSamp);
            total.deviation(sample, matches!(function, F::StddevPop | F::StddevSamp))
        }
    }
}

fn float_avg(sums: &FloatSumStates, counts: &Counts<'_>, groups: &[u32]) -> Result<Vector> {
    let mut builder = VectorBuilder::with_capacity(PhysicalType::F64, groups.len());
    for &group in groups {
        match counts.get(group) {
            0 => builder.push_null(),
            n => builder.push_value(&Value::F64(sums.total(group)? / n as f64)),
        }
    }
    Ok(builder.finish())
}

fn interval_avg(sums: &IntervalStates, groups: &[u32]) -> Result<Vector> {
    let mut builder = VectorBuilder::with_capacity(PhysicalType::Interval, groups.len());
    for &group in groups {
        match sums.get(group)? {
            None => builder.push_null(),
            Some((sum, n)) => builder.push_value(&Value::Interval(sum.divide(n as f64)?)),
        }
    }
    Ok(builder.finish())
}

/// How many values each group has.
struct Counts<'a> {
    rows: &'a RowStates,
    nulls: Option<&'a NullStates>,
}

impl<'a> Counts<'a> {
    fn new(states: &'a [Box<dyn States>], rows: usize, nulls: Option<usize>) -> Result<Self> {
        let nulls = nulls.map(|n| downcast(&*states[n])).transpose()?;
        Ok(Self { rows: inner(&*states[rows])?, nulls })
    }

    fn get(&self, group: u32) -> i64 {
        self.rows.get(group) - self.nulls.map_or(0, |n| n.get(group))
    }
}
