//! Points, segments and polygons in polygons.
//!
//! A ray goes from a point to the right; how often sides cross it, and in which direction, tells
//! whether the point is inside.

use super::{
    Point, Rect, Segment, is_above, is_at_least, is_at_most, is_below, is_zero, less, minus, over,
    plus, times,
};
use crate::Result;

/// How a side of a polygon stands to the ray.
enum Crossing {
    /// The beginning of the ray is on it.
    Touches,
    /// Crosses it upwards (positive) or downwards: by 2, or by 1 where it only ends on it.
    By(i32),
}

/// The side to `next` from `before`, both seen from the beginning of the ray.
fn crossing(next: Point, before: Point) -> Result<Crossing> {
    use Crossing::{By, Touches};
    if is_zero(next.y) {
        if is_zero(next.x) {
            return Ok(Touches);
        }
        if is_above(next.x, 0.0) {
            return Ok(if is_zero(before.y) {
                if is_above(before.x, 0.0) { By(0) } else { Touches }
            } else if is_below(before.y, 0.0) {
                By(1)
            } else {
                By(-1)
            });
        }
        let stays_left = !is_zero(before.y) || is_below(before.x, 0.0);
        return Ok(if stays_left { By(0) } else { Touches });
    }
    let direction = if is_above(next.y, 0.0) { 1 } else { -1 };
    if is_zero(before.y) {
        return Ok(if is_below(before.x, 0.0) { By(0) } else { By(direction) });
    }
    let same_side =
        direction < 0 && is_below(before.y, 0.0) || direction > 0 && is_above(before.y, 0.0);
    if same_side {
        return Ok(By(0));
    }
    if is_at_least(next.x, 0.0) && is_above(before.x, 0.0) {
        return Ok(By(2 * direction));
    }
    if is_below(next.x, 0.0) && is_at_most(before.x, 0.0) {
        return Ok(By(0));
    }
    let across = times(minus(next.x, before.x)?, next.y)?;
    let turn = minus(across, times(minus(next.y, before.y)?, next.x)?)?;
    if is_zero(turn) {
        return Ok(Touches);
    }
    let is_left = direction < 0 && is_below(turn, 0.0) || direction > 0 && is_above(turn, 0.0);
    Ok(if is_left { By(0) } else { By(2 * direction) })
}

/// True for a point in the polygon or on its sides.
pub(super) fn has(polygon: &[Point], point: Point) -> Result<bool> {
    let Some(first) = polygon.first() else { return Ok(false) };
    let first = first.minus(point)?;
    let mut before = first;
    let mut total = 0;
    for corner in &polygon[1..] {
        let next = corner.minus(point)?;
        match crossing(next, before)? {
            Crossing::Touches => return Ok(true),
            Crossing::By(count) => total += count,
        }
        before = next;
    }
    match crossing(first, before)? {
        Crossing::Touches => Ok(true),
        Crossing::By(count) => Ok(total + count != 0),
    }
}

/// The sides of a polygon, that which closes it first.
fn sides(polygon: &[Point]) -> impl Iterator<Item = Segment> {
    let before = polygon.last().copied().into_iter().chain(polygon.iter().copied());
    before.zip(polygon).map(|(from, to)| Segment { from, to: *to })
}

pub(super) fn overlaps(a: &[Point], b: &[Point]) -> Result<bool> {
    if !Rect::around(a).overlaps(Rect::around(b)) {
        return Ok(false);
    }
    for ours in sides(a) {
        for theirs in sides(b) {
            if ours.meets(theirs)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(has(b, a[0])? || has(a, b[0])?)
}

/// True when the first polygon contains the second.
pub(super) fn contains(outer: &[Point], inner: &[Point]) -> Result<bool> {
    if !Rect::around(outer).contains(Rect::around(inner)) {
        return Ok(false);
    }
    for side in sides(inner) {
        if !contains_segment(outer, side, 0)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True when a segment is in the polygon; the sides before `start` are known not to cross it.
fn contains_segment(polygon: &[Point], segment: Segment, start: usize) -> Result<bool> {
    crate::stack::deep(|| contains_segment_here(polygon, segment, start))
}

fn contains_segment_here(polygon: &[Point], segment: Segment, start: usize) -> Result<bool> {
    let Segment { from, to } = segment;
    let mut is_cut = false;
    for at in start..polygon.len() {
        let before = if at == 0 { polygon.len() - 1 } else { at - 1 };
        let side = Segment { from: polygon[before], to: polygon[at] };
        let inside = if side.has(from)? {
            if side.has(to)? {
                return Ok(true);
            }
            contains_touching(polygon, segment, side, at + 1)?
        } else if side.has(to)? {
            contains_touching(polygon, Segment { from: to, to: from }, side, at + 1)?
        } else if let Some(cut) = segment.meets(side)? {
            is_cut = true;
            contains_segment(polygon, Segment { from, to: cut }, at + 1)?
                && contains_segment(polygon, Segment { from: to, to: cut }, at + 1)?
        } else {
            true
        };
        if !inside {
            return Ok(false);
        }
    }
    if is_cut {
        return Ok(true);
    }
    let x = over(plus(from.x, to.x)?, 2.0)?;
    has(polygon, Point { x, y: over(plus(from.y, to.y)?, 2.0)? })
}

/// Likewise for a segment that begins on a side and ends beside it, as far as the side tells.
fn contains_touching(
    polygon: &[Point],
    segment: Segment,
    side: Segment,
    start: usize,
) -> Result<bool> {
    let end = |end: Point| contains_segment(polygon, Segment { from: segment.to, to: end }, start);
    if segment.from.is_at(side.from) {
        return if segment.has(side.to)? { end(side.to) } else { Ok(true) };
    }
    if segment.from.is_at(side.to) {
        return if segment.has(side.from)? { end(side.from) } else { Ok(true) };
    }
    if segment.has(side.from)? {
        return end(side.from);
    }
    if segment.has(side.to)? { end(side.to) } else { Ok(true) }
}

/// True for the same corners in the same or the opposite direction.
pub(super) fn is_same(a: &[Point], b: &[Point]) -> bool {
    let count = a.len();
    if count != b.len() {
        return false;
    }
    (0..count).filter(|at| b[*at].is_at(a[0])).any(|at| {
        let forwards = (1..count).all(|step| b[(at + step) % count].is_at(a[step]));
        forwards || (1..count).all(|step| b[(at + count - step) % count].is_at(a[step]))
    })
}

/// The distance of a point from a polygon; 0 inside.
pub(super) fn distance(polygon: &[Point], point: Point) -> Result<f64> {
    if has(polygon, point)? {
        return Ok(0.0);
    }
    let (Some(first), Some(last)) = (polygon.first(), polygon.last()) else { return Ok(0.0) };
    let mut least = Segment { from: *first, to: *last }.nearest(point)?.distance;
    for side in sides(polygon).skip(1) {
        let found = side.nearest(point)?.distance;
        least = if less(found, least) { found } else { least };
    }
    Ok(least)
}
