//! Where shapes meet, and the nearest points of those that do not.

use super::{
    Line, Path, Point, Rect, Segment, diagonal, is_near, is_zero, larger, less, minus, over, plus,
    smaller, times,
};
use crate::Result;

/// A distance, and the point of the one shape that is nearest to the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nearest {
    pub(super) distance: f64,
    pub(super) point: Point,
}

impl Nearest {
    /// The nearer one of both; this one where they are equally near.
    fn or(self, other: Self) -> Self {
        if less(other.distance, self.distance) { other } else { self }
    }
}

impl Line {
    /// The point where both lines meet; None for parallel ones, which equal ones are.
    pub(super) fn meets(self, other: Self) -> Result<Option<Point>> {
        let (steep, flat) = if !is_zero(self.b) {
            (self, other)
        } else if !is_zero(other.b) {
            (other, self)
        } else {
            return Ok(None);
        };
        // Of both, `steep` may be divided by its `b`.
        if is_near(flat.a, times(steep.a, over(flat.b, steep.b)?)?) {
            return Ok(None);
        }
        let numerator = minus(times(steep.b, flat.c)?, times(flat.b, steep.c)?)?;
        let x = over(numerator, minus(times(steep.a, flat.b)?, times(flat.a, steep.b)?)?)?;
        let y = over(-plus(times(steep.a, x)?, steep.c)?, steep.b)?;
        let positive = |value: f64| if value == 0.0 { 0.0 } else { value };
        Ok(Some(Point { x: positive(x), y: positive(y) }))
    }

    pub(super) fn has(self, point: Point) -> Result<bool> {
        let sum = plus(times(self.a, point.x)?, times(self.b, point.y)?)?;
        Ok(is_zero(plus(sum, self.c)?))
    }

    pub(super) fn is_perpendicular(self, other: Self) -> Result<bool> {
        if is_zero(self.a) {
            return Ok(is_zero(other.b));
        }
        if is_zero(other.a) {
            return Ok(is_zero(self.b));
        }
        if is_zero(self.b) {
            return Ok(is_zero(other.a));
        }
        if is_zero(other.b) {
            return Ok(is_zero(self.a));
        }
        let ratio = over(times(self.a, other.a)?, times(self.b, other.b)?)?;
        Ok(is_near(ratio, -1.0))
    }

    /// True for the same line, however its equation is scaled.
    pub(super) fn is_same(self, other: Self) -> Result<bool> {
        let counts = |number: f64| !is_zero(number) && !number.is_nan();
        let pairs = [(self.a, other.a), (self.b, other.b), (self.c, other.c)];
        let ratio = match pairs.iter().find(|(_, theirs)| counts(*theirs)) {
            Some((ours, theirs)) => over(*ours, *theirs)?,
            None => 1.0,
        };
        let mut scaled = true;
        for (ours, theirs) in pairs {
            if !is_near(ours, times(ratio, theirs)?) {
                scaled = false;
                break;
            }
        }
        Ok(scaled || pairs.iter().all(|(ours, theirs)| super::same(*ours, *theirs)))
    }

    pub(super) fn distance(self, other: Self) -> Result<f64> {
        if self.meets(other)?.is_some() {
            return Ok(0.0);
        }
        let counts =
            |a: f64, b: f64| [a, b].iter().all(|number| !is_zero(*number) && !number.is_nan());
        let ratio = if counts(self.a, other.a) {
            over(self.a, other.a)?
        } else if counts(self.b, other.b) {
            over(self.b, other.b)?
        } else {
            1.0
        };
        let apart = minus(self.c, times(ratio, other.c)?)?.abs();
        over(apart, diagonal(self.a, self.b)?)
    }

    /// The point of the line that is nearest to `point`.
    pub(super) fn nearest(self, point: Point) -> Result<Nearest> {
        let upright = Self::through(point, self.cross_slope()?)?;
        match upright.meets(self)? {
            Some(foot) => Ok(Nearest { distance: foot.distance(point)?, point: foot }),
            None => Ok(Nearest { distance: f64::NAN, point }),
        }
    }
}

impl Segment {
    /// True for a point that makes the way between both ends no longer.
    pub(super) fn has(self, point: Point) -> Result<bool> {
        Ok(is_near(point.distance(self.from)? + point.distance(self.to)?, self.length()?))
    }

    pub(super) fn meets_line(self, line: Line) -> Result<Option<Point>> {
        let Some(point) = self.line()?.meets(line)? else { return Ok(None) };
        if !self.has(point)? {
            return Ok(None);
        }
        // An end as it is, not as it was computed.
        let end = [self.from, self.to].into_iter().find(|end| end.is_at(point));
        Ok(Some(end.unwrap_or(point)))
    }

    pub(super) fn meets(self, other: Self) -> Result<Option<Point>> {
        let Some(point) = self.meets_line(other.line()?)? else { return Ok(None) };
        Ok(if other.has(point)? { Some(point) } else { None })
    }

    /// The point of the segment that is nearest to a line.
    pub(super) fn nearest_to_line(self, line: Line) -> Result<Nearest> {
        if let Some(point) = self.meets_line(line)? {
            return Ok(Nearest { distance: 0.0, point });
        }
        let from = line.nearest(self.from)?.distance;
        let to = line.nearest(self.to)?.distance;
        Ok(if from < to {
            Nearest { distance: from, point: self.from }
        } else {
            Nearest { distance: to, point: self.to }
        })
    }

    /// The point of the segment that is nearest to `point`.
    pub(super) fn nearest(self, point: Point) -> Result<Nearest> {
        let upright = Line::through(point, self.from.cross_slope(self.to)?)?;
        let found = self.nearest_to_line(upright)?.point;
        Ok(Nearest { distance: found.distance(point)?, point: found })
    }

    /// The point of the segment that is nearest to another one.
    pub(super) fn nearest_to(self, other: Self) -> Result<Nearest> {
        if let Some(point) = self.meets(other)? {
            return Ok(Nearest { distance: 0.0, point });
        }
        let mut best = self.nearest(other.from)?.or(self.nearest(other.to)?);
        for end in [self.from, self.to] {
            let distance = other.nearest(end)?.distance;
            best = best.or(Nearest { distance, point: end });
        }
        Ok(best)
    }
}

impl Rect {
    /// The point of the rectangle that is nearest to `point`.
    pub(super) fn nearest(self, point: Point) -> Result<Nearest> {
        if self.has(point) {
            return Ok(Nearest { distance: 0.0, point });
        }
        nearest_of(self.sides(), |side| side.nearest(point))
    }

    /// Where a segment meets the rectangle: the point of it that is nearest to the center.
    pub(super) fn meets(self, segment: Segment) -> Result<Option<Point>> {
        let Segment { from, to } = segment;
        let around = Self {
            high: Point { x: larger(from.x, to.x), y: larger(from.y, to.y) },
            low: Point { x: smaller(from.x, to.x), y: smaller(from.y, to.y) },
        };
        if !around.overlaps(self) {
            return Ok(None);
        }
        let mut meets = self.has(from) || self.has(to);
        for side in self.sides() {
            meets = meets || side.meets(segment)?.is_some();
        }
        if !meets {
            return Ok(None);
        }
        Ok(Some(segment.nearest(self.center()?)?.point))
    }

    /// The point of the rectangle that is nearest to a segment.
    pub(super) fn nearest_to(self, segment: Segment) -> Result<Nearest> {
        if let Some(point) = self.meets(segment)? {
            return Ok(Nearest { distance: 0.0, point });
        }
        nearest_of(self.sides(), |side| side.nearest_to(segment))
    }

    pub(super) fn meets_line(self, line: Line) -> Result<bool> {
        for side in self.sides() {
            if side.meets_line(line)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn nearest_of(
    sides: [Segment; 4],
    mut nearest: impl FnMut(Segment) -> Result<Nearest>,
) -> Result<Nearest> {
    let [first, others @ ..] = sides;
    let mut best = nearest(first)?;
    for side in others {
        best = best.or(nearest(side)?);
    }
    Ok(best)
}

impl Path {
    /// True for a point on an open path, or in or on a closed one.
    pub(super) fn has(&self, point: Point) -> Result<bool> {
        if self.closed {
            return super::polygon::has(&self.points, point);
        }
        for segment in self.segments() {
            let way = plus(point.distance(segment.from)?, point.distance(segment.to)?)?;
            if is_near(way, segment.length()?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn meets(&self, other: &Self) -> Result<bool> {
        if !Rect::around(&self.points).overlaps(Rect::around(&other.points)) {
            return Ok(false);
        }
        for ours in self.segments() {
            for theirs in other.segments() {
                if ours.meets(theirs)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The smallest distance between segments; None where a path has none.
    pub(super) fn distance(&self, other: &Self) -> Result<Option<f64>> {
        let mut least = None;
        for ours in self.segments() {
            for theirs in other.segments() {
                let found = ours.nearest_to(theirs)?.distance;
                if least.is_none_or(|least| less(found, least)) {
                    least = Some(found);
                }
            }
        }
        Ok(least)
    }

    pub(super) fn distance_to(&self, point: Point) -> Result<f64> {
        let mut least = None;
        for segment in self.segments() {
            let found = segment.nearest(point)?.distance;
            if least.is_none_or(|least| less(found, least)) {
                least = Some(found);
            }
        }
        Ok(least.unwrap_or(0.0))
    }

    pub(super) fn length(&self) -> Result<f64> {
        self.segments().try_fold(0.0, |sum, segment| plus(sum, segment.length()?))
    }

    /// The area within a closed path.
    pub(super) fn area(&self) -> Result<f64> {
        let mut area = 0.0;
        for (at, point) in self.points.iter().enumerate() {
            let next = self.points[(at + 1) % self.points.len()];
            area = plus(area, times(point.x, next.y)?)?;
            area = minus(area, times(point.y, next.x)?)?;
        }
        over(area.abs(), 2.0)
    }
}
