//! Frames: for each row the first and one past the last row that a function sees.

use std::ops::Range;

use kernels::{Vector, VectorData};
use sql::algebra::{Direction, FrameExclusion, FrameUnits};
use types::{DataType, Error, Interval, Result, SqlState, Value, calendar, decimal};

use super::order::Part;

/// n of n PRECEDING or FOLLOWING, and its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Offset {
    value: Value,
    ty: DataType,
}

impl Offset {
    /// # Errors
    /// 22004 for NULL, 22013 for what is negative.
    pub(super) fn new(value: Value, ty: DataType, end: &str, units: FrameUnits) -> Result<Self> {
        if value.is_null() {
            let message = format!("frame {end} offset must not be null");
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
        }
        let negative = match &value {
            Value::F64(v) => *v < 0.0 || v.is_nan(),
            Value::Interval(v) => v.comparable() < 0,
            other => other.as_integer().is_some_and(|v| v < 0),
        };
        if negative && units == FrameUnits::Range {
            let message = "invalid preceding or following size in window function";
            return Err(Error::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message));
        }
        if negative {
            let message = format!("frame {end} offset must not be negative");
            return Err(Error::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message));
        }
        Ok(Self { value, ty })
    }

    /// As a number of rows or peer groups.
    fn count(&self) -> usize {
        self.value.as_integer().map_or(0, |v| v.clamp(0, i128::from(u32::MAX)) as usize)
    }
}

/// How far away an end is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Distance {
    /// The same everywhere.
    Same(Offset),
    /// The same for all rows of a partition: that in an input.
    Input {
        /// The input's number.
        number: usize,
        /// Its type.
        ty: DataType,
        /// `starting` or `ending`.
        end: &'static str,
    },
}

impl Distance {
    fn of(&self, part: &Part, partition: &Range<usize>, units: FrameUnits) -> Result<Offset> {
        match self {
            Self::Same(offset) => Ok(offset.clone()),
            Self::Input { number, ty, end } => {
                Offset::new(part.values[*number].value(partition.start), *ty, end, units)
            }
        }
    }
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING
    Preceding(Distance),
    /// CURRENT ROW
    CurrentRow,
    /// n FOLLOWING
    Following(Distance),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
    /// The key at the end, by the number of the input that has it.
    Key(usize),
}

/// A frame clause.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FrameSpec {
    /// ROWS, RANGE or GROUPS.
    pub(super) units: FrameUnits,
    /// First row.
    pub(super) start: Bound,
    /// Last row.
    pub(super) end: Bound,
    /// Rows in between that do not count.
    pub(super) exclusion: FrameExclusion,
}

/// Parts of the frames of all rows: rows `start[i]..end[i]` are in that of row `i`.
#[derive(Clone)]
pub(super) struct Piece {
    /// First rows.
    pub(super) start: Vec<u32>,
    /// One past the last rows, not before the first.
    pub(super) end: Vec<u32>,
}

/// The frame of every row of a part, in pieces that follow each other.
pub(super) struct Frames {
    /// One, or those before and behind what is left out, with the row itself in between.
    pub(super) pieces: Vec<Piece>,
}

impl Frames {
    /// Row number `n`, from 0, of the frame of row `i`.
    pub(super) fn row(&self, i: usize, mut n: usize) -> Option<usize> {
        for piece in &self.pieces {
            let (start, end) = (piece.start[i] as usize, piece.end[i] as usize);
            if n < end - start {
                return Some(start + n);
            }
            n -= end - start;
        }
        None
    }

    /// The last row of the frame of row `i`.
    pub(super) fn last(&self, i: usize) -> Option<usize> {
        let filled = |piece: &&Piece| piece.start[i] < piece.end[i];
        let last = self.pieces.iter().rev().find(filled);
        last.map(|piece| piece.end[i] as usize - 1)
    }
}

/// Which end is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Start,
    End,
}

impl FrameSpec {
    /// True when every frame is the whole partition.
    pub(super) fn is_whole(&self) -> bool {
        self.start == Bound::UnboundedPreceding
            && self.end == Bound::UnboundedFollowing
            && self.exclusion == FrameExclusion::NoOthers
    }

    /// The frames of all rows of `part`.
    ///
    /// # Errors
    /// 22008 and the like when a bound is out of range; 0A000 for keys without offsets.
    pub(super) fn frames(&self, part: &Part) -> Result<Frames> {
        let mut start = Vec::with_capacity(part.rows);
        let mut end = Vec::with_capacity(part.rows);
        for partition in part.ranges() {
            self.side(part, &partition, Side::Start, &mut start)?;
            self.side(part, &partition, Side::End, &mut end)?;
        }
        end.iter_mut().zip(&start).for_each(|(end, &start)| *end = start.max(*end));
        let whole = Piece { start, end };
        Ok(Frames { pieces: self.without_excluded(part, whole) })
    }

    /// The pieces of `whole` that EXCLUDE leaves.
    fn without_excluded(&self, part: &Part, whole: Piece) -> Vec<Piece> {
        let mut gone = Piece { start: Vec::new(), end: Vec::new() };
        match self.exclusion {
            FrameExclusion::NoOthers => return vec![whole],
            FrameExclusion::CurrentRow => {
                gone.start.extend(0..part.rows as u32);
                gone.end.extend(1..=part.rows as u32);
            }
            FrameExclusion::Group | FrameExclusion::Ties => {
                for partition in part.ranges() {
                    groups(part, &partition, 0, Side::Start, &mut gone.start);
                    groups(part, &partition, 0, Side::End, &mut gone.end);
                }
            }
        }
        let (mut before, mut behind) = (whole.clone(), whole.clone());
        for row in 0..part.rows {
            before.end[row] = whole.end[row].min(gone.start[row]).max(whole.start[row]);
            behind.start[row] = whole.start[row].max(gone.end[row]).min(whole.end[row]);
        }
        if self.exclusion != FrameExclusion::Ties {
            return vec![before, behind];
        }
        let mut own = whole.clone();
        for row in 0..part.rows {
            let place = row as u32;
            let inside = whole.start[row] <= place && place < whole.end[row];
            own.start[row] = place;
            own.end[row] = place + u32::from(inside);
        }
        vec![before, own, behind]
    }

    /// Appends one end of the frames of a partition.
    fn side(
        &self,
        part: &Part,
        partition: &Range<usize>,
        side: Side,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let bound = match side {
            Side::Start => &self.start,
            Side::End => &self.end,
        };
        match bound {
            Bound::UnboundedPreceding => {
                out.extend(partition.clone().map(|_| partition.start as u32));
            }
            Bound::UnboundedFollowing => {
                out.extend(partition.clone().map(|_| partition.end as u32));
            }
            Bound::CurrentRow if self.units == FrameUnits::Rows => rows(partition, 0, side, out),
            Bound::CurrentRow => groups(part, partition, 0, side, out),
            Bound::Preceding(n) | Bound::Following(n) => {
                let offset = n.of(part, partition, self.units)?;
                let sign = match bound {
                    Bound::Preceding(_) => Sign::Minus,
                    _ => Sign::Plus,
                };
                let shift = match sign {
                    Sign::Minus => -(offset.count() as i64),
                    Sign::Plus => offset.count() as i64,
                };
                match self.units {
                    FrameUnits::Rows => rows(partition, shift, side, out),
                    FrameUnits::Groups => groups(part, partition, shift, side, out),
                    FrameUnits::Range => {
                        range(
                            part,
                            partition,
                            End::Far(Away { offset: &offset, sign }),
                            side,
                            out,
                        )?;
                    }
                }
            }
            Bound::Key(input) => range(part, partition, End::At(*input), side, out)?,
        }
        Ok(())
    }
}

fn rows(partition: &Range<usize>, shift: i64, side: Side, out: &mut Vec<u32>) {
    let shift = shift + i64::from(side == Side::End);
    let (low, high) = (partition.start as i64, partition.end as i64);
    out.extend(partition.clone().map(|i| (i as i64 + shift).clamp(low, high) as u32));
}

/// Ends that are `shift` peer groups away.
fn groups(part: &Part, partition: &Range<usize>, shift: i64, side: Side, out: &mut Vec<u32>) {
    let mut starts = part.peers(partition);
    let count = starts.len() as i64;
    starts.push(partition.end);
    for group in 0..count {
        let wanted = group + shift + i64::from(side == Side::End);
        let place = starts[wanted.clamp(0, count) as usize] as u32;
        let rows = starts[group as usize]..starts[group as usize + 1];
        out.extend(rows.map(|_| place));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

/// Distance from a row's key, towards larger ones or smaller ones.
#[derive(Clone, Copy)]
struct Away<'o> {
    offset: &'o Offset,
    sign: Sign,
}

/// Where the key at an end of a frame is.
enum End<'o> {
    /// At a distance from the row's.
    Far(Away<'o>),
    /// In an input.
    At(usize),
}

/// Ends at a distance in the ORDER BY key.
fn range(
    part: &Part,
    partition: &Range<usize>,
    end: End<'_>,
    side: Side,
    out: &mut Vec<u32>,
) -> Result<()> {
    let (number, ty, direction) = part
        .range_key
        .ok_or_else(|| Error::internal("RANGE with an offset has one ORDER BY key"))?;
    let column = part.values[number].to_vector();
    // A partition's NULLs are together at one end; they are each other's peers and nobody else's.
    let valid = |i: usize| !column.is_null(i);
    let first = partition.clone().find(|&i| valid(i)).unwrap_or(partition.end);
    let last = (first..partition.end).find(|&i| !valid(i)).unwrap_or(partition.end);
    let line = Line { ty, descending: direction == Direction::Descending };
    let ends = match end {
        End::At(input) => Some(part.values[input].to_vector()),
        End::Far(..) => None,
    };
    let keys = (first..last).map(|i| line.key(&column, i)).collect::<Result<Vec<i128>>>()?;
    // Descending keys are negated, so "preceding" is always towards smaller ones.
    let mut place = 0;
    for i in partition.clone() {
        if !(first..last).contains(&i) {
            let nulls = if i < first { partition.start..first } else { last..partition.end };
            out.push(if side == Side::Start { nulls.start } else { nulls.end } as u32);
            continue;
        }
        let wanted = match (&end, &ends) {
            (End::Far(distance), _) => line.shifted(&column, i, *distance, side)?,
            (End::At(_), Some(ends)) => line.key(ends, i)?,
            (End::At(_), None) => return Err(Error::internal("keys at the ends are there")),
        };
        // Bounds ascend with rows, so each search goes on where the last one ended.
        while place > 0 && beyond(keys[place - 1], wanted, side) {
            place -= 1;
        }
        while place < keys.len() && !beyond(keys[place], wanted, side) {
            place += 1;
        }
        out.push((first + place) as u32);
    }
    Ok(())
}

/// True when a key is at or after a start, after an end.
fn beyond(key: i128, wanted: i128, side: Side) -> bool {
    if side == Side::Start { key >= wanted } else { key > wanted }
}

/// Keys as integers in the order of the window.
struct Line {
    ty: DataType,
    descending: bool,
}

/// The integer by which floating point numbers order, NaN greatest.
fn ordered_bits(value: f64) -> i128 {
    if value.is_nan() {
        return i128::from(i64::MAX);
    }
    let bits = (value + 0.0).to_bits() as i64;
    i128::from(if bits < 0 { !bits ^ i64::MIN } else { bits })
}

impl Line {
    fn directed(&self, key: i128) -> i128 {
        if self.descending { -key } else { key }
    }

    fn key(&self, column: &Vector, i: usize) -> Result<i128> {
        Ok(self.directed(match &column.data {
            VectorData::F64(v) => ordered_bits(v[i]),
            VectorData::Interval(v) => v[i].comparable(),
            VectorData::I32(v) => i128::from(v[i]),
            VectorData::I64(v) => i128::from(v[i]),
            VectorData::I128(v) => v[i],
            _ => return Err(Error::unsupported("RANGE with an offset over such a key")),
        }))
    }

    /// The key that is this far from row `i`'s in the order of the window.
    fn shifted(
        &self,
        column: &Vector,
        i: usize,
        Away { offset, sign }: Away<'_>,
        side: Side,
    ) -> Result<i128> {
        let add = (sign == Sign::Plus) != self.descending;
        if let (VectorData::F64(v), Value::F64(n)) = (&column.data, &offset.value) {
            let shifted = if add { v[i] + n } else { v[i] - n };
            // From one infinity as far as to the other: all numbers are between.
            let is_lower = (side == Side::Start) != self.descending;
            let shifted = match (shifted.is_nan() && !v[i].is_nan(), is_lower) {
                (false, _) => shifted,
                (true, true) => f64::NEG_INFINITY,
                (true, false) => f64::INFINITY,
            };
            return Ok(self.directed(ordered_bits(shifted)));
        }
        let key = self.directed(self.key(column, i)?);
        let shifted = match (self.ty, &offset.value) {
            (DataType::Date, Value::Interval(n)) => {
                let from = calendar::date_to_timestamp(key as i32)?;
                let upper = (side == Side::End) != self.descending;
                return Ok(self.directed(date_bound(shift(from, *n, add)?, upper)));
            }
            (DataType::Timestamp(_) | DataType::TimestampTz(_), Value::Interval(n)) => {
                i128::from(shift(key as i64, *n, add)?)
            }
            (DataType::Time(_), Value::Interval(n)) => plus(key, i128::from(n.micros), add),
            (DataType::Interval(_), Value::Interval(n)) => plus(key, n.comparable(), add),
            (_, value) => plus(key, self.scaled(value, offset.ty)?, add),
        };
        Ok(self.directed(shifted))
    }

    /// A numeric offset at the scale of the key, rounded towards zero: keys have no finer digits.
    fn scaled(&self, value: &Value, ty: DataType) -> Result<i128> {
        let scale = |ty| {
            if let DataType::Numeric(n) = ty { n.scale } else { 0 }
        };
        let (from, to) = (scale(ty), scale(self.ty));
        let value =
            value.as_integer().ok_or_else(|| Error::unsupported("RANGE with such an offset"))?;
        Ok(if to >= from {
            value.saturating_mul(decimal::pow10(u32::from(to - from)))
        } else {
            value / decimal::pow10(u32::from(from - to))
        })
    }
}

fn plus(key: i128, offset: i128, add: bool) -> i128 {
    if add { key.saturating_add(offset) } else { key.saturating_sub(offset) }
}

fn shift(timestamp: i64, offset: Interval, add: bool) -> Result<i64> {
    if add { offset.add_to(timestamp) } else { offset.subtract_from(timestamp) }
}

/// The outermost day within a bound: the last before an upper one, the first after a lower one.
fn date_bound(timestamp: i64, upper: bool) -> i128 {
    if !calendar::is_finite_timestamp(timestamp) {
        return i128::from(timestamp);
    }
    let days = i128::from(timestamp).div_euclid(i128::from(calendar::DAY));
    let exact = i128::from(timestamp).rem_euclid(i128::from(calendar::DAY)) == 0;
    days + i128::from(!upper && !exact)
}
