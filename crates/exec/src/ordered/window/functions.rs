//! Functions of a row's place, and values of other rows.

use kernels::{Vector, VectorBuilder, VectorData};
use sql::algebra::WindowFunction as F;
use types::{Error, PhysicalType, Result, SqlState, Value};

use super::frames::FrameSpec;
use super::order::Part;

/// The results of `function` for all rows of `part`.
///
/// # Errors
/// 22014 and 22016 for arguments that are not positive.
pub(super) fn compute(
    function: F,
    arguments: &[usize],
    part: &Part,
    frame: &FrameSpec,
    physical: PhysicalType,
) -> Result<Vector> {
    match function {
        F::RowNumber | F::Rank | F::DenseRank => Ok(integers(ranks(function, part), physical)),
        F::PercentRank | F::CumeDist => Ok(Vector::new(VectorData::F64(shares(function, part)))),
        F::Ntile => ntile(arguments, part, physical),
        F::Lag => shifted(arguments, part, -1),
        F::Lead => shifted(arguments, part, 1),
        F::FirstValue | F::LastValue | F::NthValue => framed(function, arguments, part, frame),
        F::Aggregate(_) => Err(Error::internal("aggregates are elsewhere")),
    }
}

fn integers(values: Vec<i64>, physical: PhysicalType) -> Vector {
    Vector::new(if physical == PhysicalType::I32 {
        VectorData::I32(values.into_iter().map(|v| v as i32).collect())
    } else {
        VectorData::I64(values)
    })
}

fn ranks(function: F, part: &Part) -> Vec<i64> {
    let mut ranks = Vec::with_capacity(part.rows);
    for partition in part.ranges() {
        let (mut rank, mut dense) = (0, 0);
        for i in partition.clone() {
            let number = (i - partition.start) as i64 + 1;
            if i == partition.start || part.differs[i] != 0 {
                rank = number;
                dense += 1;
            }
            ranks.push(match function {
                F::RowNumber => number,
                F::Rank => rank,
                _ => dense,
            });
        }
    }
    ranks
}

fn shares(function: F, part: &Part) -> Vec<f64> {
    let mut shares = Vec::with_capacity(part.rows);
    for partition in part.ranges() {
        let rows = partition.len();
        let mut starts = part.peers(&partition);
        starts.push(partition.end);
        for peers in starts.windows(2) {
            let share = match function {
                F::CumeDist => (peers[1] - partition.start) as f64 / rows as f64,
                _ if rows == 1 => 0.0,
                _ => (peers[0] - partition.start) as f64 / (rows - 1) as f64,
            };
            shares.extend((peers[0]..peers[1]).map(|_| share));
        }
    }
    shares
}

/// A positive integer argument at row `i`; None for NULL.
fn positive(column: &Vector, i: usize, name: &str, state: SqlState) -> Result<Option<usize>> {
    match column.value(i).as_integer() {
        None => Ok(None),
        Some(n) if n > 0 => Ok(Some(n.min(i128::from(u32::MAX)) as usize)),
        Some(_) => {
            let message = format!("argument of {name} must be greater than zero");
            Err(Error::new(state, message))
        }
    }
}

fn ntile(arguments: &[usize], part: &Part, physical: PhysicalType) -> Result<Vector> {
    let column = argument(arguments, 0, part)?;
    let mut builder = VectorBuilder::with_capacity(physical, part.rows);
    for partition in part.ranges() {
        let Some(tiles) =
            positive(&column, partition.start, "ntile", SqlState::INVALID_ARGUMENT_FOR_NTILE)?
        else {
            partition.for_each(|_| builder.push_null());
            continue;
        };
        let (size, larger) = (partition.len() / tiles, partition.len() % tiles);
        for row in 0..partition.len() {
            let boundary = larger * (size + 1);
            let tile = if row < boundary {
                row / (size + 1)
            } else {
                larger + (row - boundary) / size.max(1)
            };
            let tile = tile as i32 + 1;
            builder.push_value(&match physical {
                PhysicalType::I32 => Value::I32(tile),
                _ => Value::I64(i64::from(tile)),
            });
        }
    }
    Ok(builder.finish())
}

fn argument(arguments: &[usize], i: usize, part: &Part) -> Result<Vector> {
    let number = arguments.get(i).ok_or_else(|| Error::internal("an argument is missing"))?;
    Ok(part.values[*number].to_vector().into_owned())
}

/// Where a result is: row of the argument, row of the default, NULL.
#[derive(Clone, Copy)]
enum Origin {
    Row(usize),
    Default(usize),
    Null,
}

/// The values at `places` of `values` and `defaults`.
fn pick(values: &Vector, defaults: Option<&Vector>, places: &[Origin]) -> Vector {
    let mut builder = VectorBuilder::with_capacity(values.physical(), values.len() + 1);
    builder.append(values, None);
    if let Some(defaults) = defaults {
        builder.append(defaults, None);
    }
    let null = builder.len() as u32;
    builder.push_null();
    let place = |origin: &Origin| match origin {
        Origin::Row(row) => *row as u32,
        Origin::Default(row) => (values.len() + row) as u32,
        Origin::Null => null,
    };
    let places: Vec<u32> = places.iter().map(place).collect();
    builder.finish_pinned().gather(&places)
}

/// lag and lead.
fn shifted(arguments: &[usize], part: &Part, direction: i64) -> Result<Vector> {
    let values = argument(arguments, 0, part)?;
    let offsets = (arguments.len() > 1).then(|| argument(arguments, 1, part)).transpose()?;
    let defaults = (arguments.len() > 2).then(|| argument(arguments, 2, part)).transpose()?;
    let mut places = Vec::with_capacity(part.rows);
    for partition in part.ranges() {
        for i in partition.clone() {
            let offset = match &offsets {
                None => Some(1),
                Some(column) => column.value(i).as_integer(),
            };
            let Some(offset) = offset else {
                places.push(Origin::Null);
                continue;
            };
            let place = i as i128 + i128::from(direction) * offset;
            let inside = place >= partition.start as i128 && place < partition.end as i128;
            places.push(match (inside, &defaults) {
                (true, _) => Origin::Row(place as usize),
                (false, Some(_)) => Origin::Default(i),
                (false, None) => Origin::Null,
            });
        }
    }
    Ok(pick(&values, defaults.as_ref(), &places))
}

/// first_value, last_value, nth_value.
fn framed(function: F, arguments: &[usize], part: &Part, frame: &FrameSpec) -> Result<Vector> {
    let values = argument(arguments, 0, part)?;
    let numbers = (function == F::NthValue).then(|| argument(arguments, 1, part)).transpose()?;
    let frames = frame.frames(part)?;
    let mut places = Vec::with_capacity(part.rows);
    for i in 0..part.rows {
        let row = match (function, &numbers) {
            (F::FirstValue, _) => frames.row(i, 0),
            (F::LastValue, _) => frames.last(i),
            (_, Some(numbers)) => {
                match positive(numbers, i, "nth_value", SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE)? {
                    Some(n) => frames.row(i, n - 1),
                    None => None,
                }
            }
            _ => None,
        };
        places.push(row.map_or(Origin::Null, Origin::Row));
    }
    Ok(pick(&values, None, &places))
}
