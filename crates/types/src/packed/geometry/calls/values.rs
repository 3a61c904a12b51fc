//! Functions and operators on shapes that give shapes and numbers.

use super::{
    BOX, CIRCLE, Computed, DOUBLE, INT, LINE, PATH, POINT, POLYGON, Polygon, SEGMENT, find, given,
    make, make_one, measure, measure_one, one,
};
use crate::packed::functions::row;
use crate::packed::geometry::meet::Nearest;
use crate::packed::geometry::{
    Circle, Line, Path, Point, Rect, Segment, diagonal, is_zero, larger, minus, over, plus,
    polygon, smaller, times,
};
use crate::packed::{Call, Given, PackedFunction};
use crate::{Error, Result, SqlState};

/// The nearest point, unless it cannot be told.
fn found(nearest: Nearest) -> Result<Option<Point>> {
    Ok((!nearest.distance.is_nan()).then_some(nearest.point))
}

/// The point of the second segment that is nearest to the first; None for parallel ones.
fn nearest_of_segments(a: Segment, b: Segment) -> Result<Option<Point>> {
    if a.slope()? == b.slope()? {
        return Ok(None);
    }
    found(b.nearest_to(a)?)
}

fn nearest_to_line(line: Line, segment: Segment) -> Result<Option<Point>> {
    if segment.slope()? == line.slope()? {
        return Ok(None);
    }
    found(segment.nearest_to_line(line)?)
}

/// A distance that is 0 for shapes that overlap.
fn apart(distance: f64) -> Result<f64> {
    Ok(if distance < 0.0 { 0.0 } else { distance })
}

fn to_circle(point: Point, circle: Circle) -> Result<f64> {
    apart(minus(point.distance(circle.center)?, circle.radius)?)
}

fn polygon_to_circle(corners: &[Point], circle: Circle) -> Result<f64> {
    apart(minus(polygon::distance(corners, circle.center)?, circle.radius)?)
}

fn paths_apart(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = super::two::<Path, Path>(call);
    Ok(a.distance(&b)?.map_or(Given::Null, Given::Double))
}

/// Between polygons that overlap there is nothing, between others the least way from side to side.
fn polygons_apart(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b): (Polygon, Polygon) = super::two(call);
    if polygon::overlaps(&a, &b)? {
        return Ok(Given::Double(0.0));
    }
    let [a, b] = [a, b].map(|points| Path { closed: true, points });
    Ok(a.distance(&b)?.map_or(Given::Null, Given::Double))
}

fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

/// # Errors
/// 22023 for points at one place.
fn line_of(a: Point, b: Point) -> Result<Line> {
    if a.is_at(b) {
        return Err(invalid("invalid line specification: must be two distinct points"));
    }
    Line::through(a, a.slope(b)?)
}

fn moved(path: Path, place: impl FnMut(Point) -> Result<Point>) -> Result<Path> {
    let points: Result<Vec<Point>> = path.points.into_iter().map(place).collect();
    Ok(Path { closed: path.closed, points: points? })
}

/// One open path behind the other; None when one is closed.
fn joined(a: Path, b: Path) -> Option<Path> {
    let is_open = !a.closed && !b.closed;
    is_open.then(|| Path { closed: false, points: [a.points, b.points].concat() })
}

/// The part that both rectangles cover.
fn common(a: Rect, b: Rect) -> Option<Rect> {
    a.overlaps(b).then(|| Rect {
        high: Point { x: smaller(a.high.x, b.high.x), y: smaller(a.high.y, b.high.y) },
        low: Point { x: larger(a.low.x, b.low.x), y: larger(a.low.y, b.low.y) },
    })
}

fn around(points: &[Point]) -> Rect {
    Rect::around(points)
}

fn circle_times(circle: Circle, by: Point) -> Result<Circle> {
    let center = circle.center.times(by)?;
    Ok(Circle { center, radius: times(circle.radius, diagonal(by.x, by.y)?)? })
}

fn circle_over(circle: Circle, by: Point) -> Result<Circle> {
    let center = circle.center.over(by)?;
    Ok(Circle { center, radius: over(circle.radius, diagonal(by.x, by.y)?)? })
}

/// # Errors
/// 22023 for an open path.
fn corners_of(path: Path) -> Result<Polygon> {
    if path.closed {
        Ok(path.points)
    } else {
        Err(invalid("open path cannot be converted to polygon"))
    }
}

fn corners(rect: Rect) -> Polygon {
    let Rect { high, low } = rect;
    vec![low, Point { x: low.x, y: high.y }, high, Point { x: high.x, y: low.y }]
}

/// The circle around a rectangle.
fn circle_of(rect: Rect) -> Result<Circle> {
    let center = rect.center()?;
    Ok(Circle { center, radius: center.distance(rect.high)? })
}

/// The square within a circle.
fn box_of(circle: Circle) -> Result<Rect> {
    let Circle { center, radius } = circle;
    let half = over(radius, 2.0_f64.sqrt())?;
    Ok(Rect {
        high: Point { x: plus(center.x, half)?, y: plus(center.y, half)? },
        low: Point { x: minus(center.x, half)?, y: minus(center.y, half)? },
    })
}

/// Corners of a polygon at most.
const CORNERS_MAX: i64 = 1 << 26;

/// # Errors
/// 0A000 for a circle that is a point, 22023 and 54000 for a wrong count.
fn polygon_of(count: i64, circle: Circle) -> Result<Polygon> {
    if is_zero(circle.radius) {
        let message = "cannot convert circle with radius zero to polygon";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    if count < 2 {
        return Err(invalid("must request at least 2 points"));
    }
    if count > CORNERS_MAX {
        return Err(Error::new(SqlState::LIMIT_EXCEEDED, "too many points requested"));
    }
    let step = over(2.0 * std::f64::consts::PI, count as f64)?;
    let corner = |at: i64| {
        let angle = times(step, at as f64)?;
        let x = minus(circle.center.x, times(circle.radius, angle.cos())?)?;
        Ok(Point { x, y: plus(circle.center.y, times(circle.radius, angle.sin())?)? })
    };
    (0..count).map(corner).collect()
}

fn point_of_numbers(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&Point { x: call.double(0), y: call.double(1) }, out)
}

fn circle_of_point(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&Circle { center: one(call), radius: call.double(1) }, out)
}

fn polygon_of_circle_with(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    use crate::packed::geometry::Shape;
    given(&polygon_of(call.int(0), Circle::read(call.bytes(1)))?, out)
}

fn path_count(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(one::<Path>(call).points.len() as i64))
}

fn polygon_count(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(one::<Polygon>(call).len() as i64))
}

fn path_area(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let path: Path = one(call);
    if !path.closed {
        return Ok(Given::Null);
    }
    path.area().map(Given::Double)
}

/// A coordinate of a point, or a number of a line; NULL beyond them.
fn number_part(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let part = usize::try_from(call.int(1)).ok();
    let number = part.and_then(|part| call.bytes(0).as_chunks::<8>().0.get(part));
    Ok(number.map_or(Given::Null, |number| Given::Double(f64::from_be_bytes(*number))))
}

/// A corner of a box, or an end of a segment; NULL beyond them.
fn point_part(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let part = usize::try_from(call.int(1)).ok();
    let Some(point) = part.and_then(|part| call.bytes(0).as_chunks::<16>().0.get(part)) else {
        return Ok(Given::Null);
    };
    out.extend_from_slice(point);
    Ok(Given::Bytes)
}

/// 2202E for a part that a shape of fixed size does not have, 22004 for [`NO_PART`].
fn part_beyond(part: i64) -> Error {
    if part == NO_PART {
        let message = "array subscript in assignment must not be null";
        return Error::new(SqlState::NULL_NOT_ALLOWED, message);
    }
    Error::new(SqlState::ARRAY_SUBSCRIPT, "array subscript out of range")
}

/// Subscript that stands for NULL.
const NO_PART: i64 = i32::MIN as i64;

/// A shape with another number or point in the place of one.
fn with_part(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (shape, part) = (call.bytes(0), call.int(1));
    let number = call.double(2).to_be_bytes();
    replace_part(out, shape, part, &number)
}

fn with_point(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    replace_part(out, call.bytes(0), call.int(1), call.bytes(2))
}

fn replace_part(out: &mut Vec<u8>, shape: &[u8], part: i64, value: &[u8]) -> Computed {
    let at = usize::try_from(part).ok().and_then(|part| part.checked_mul(value.len()));
    let at = at.filter(|at| at + value.len() <= shape.len()).ok_or_else(|| part_beyond(part))?;
    out.extend_from_slice(&shape[..at]);
    out.extend_from_slice(value);
    out.extend_from_slice(&shape[at + value.len()..]);
    Ok(Given::Bytes)
}

pub(crate) const SHAPE_VALUES: &[PackedFunction] = &[
    row("point_add", "+", &[POINT, POINT], POINT, |c, out| {
        make(c, out, |a: Point, b: Point| a.plus(b))
    }),
    row("point_sub", "-", &[POINT, POINT], POINT, |c, out| {
        make(c, out, |a: Point, b: Point| a.minus(b))
    }),
    row("point_mul", "*", &[POINT, POINT], POINT, |c, out| {
        make(c, out, |a: Point, b: Point| a.times(b))
    }),
    row("point_div", "/", &[POINT, POINT], POINT, |c, out| {
        make(c, out, |a: Point, b: Point| a.over(b))
    }),
    row("point_distance", "<->", &[POINT, POINT], DOUBLE, |c, _| {
        measure(c, |a: Point, b: Point| a.distance(b))
    }),
    row("slope", "", &[POINT, POINT], DOUBLE, |c, _| measure(c, |a: Point, b: Point| a.slope(b))),
    row("point", "", &[DOUBLE, DOUBLE], POINT, point_of_numbers),
    row("dist_ps", "<->", &[POINT, SEGMENT], DOUBLE, |c, _| {
        measure(c, |a: Point, b: Segment| Ok(b.nearest(a)?.distance))
    }),
    row("dist_sp", "<->", &[SEGMENT, POINT], DOUBLE, |c, _| {
        measure(c, |a: Segment, b: Point| Ok(a.nearest(b)?.distance))
    }),
    row("dist_ppath", "<->", &[POINT, PATH], DOUBLE, |c, _| {
        measure(c, |a: Point, b: Path| b.distance_to(a))
    }),
    row("dist_pathp", "<->", &[PATH, POINT], DOUBLE, |c, _| {
        measure(c, |a: Path, b: Point| a.distance_to(b))
    }),
    row("dist_pb", "<->", &[POINT, BOX], DOUBLE, |c, _| {
        measure(c, |a: Point, b: Rect| Ok(b.nearest(a)?.distance))
    }),
    row("dist_bp", "<->", &[BOX, POINT], DOUBLE, |c, _| {
        measure(c, |a: Rect, b: Point| Ok(a.nearest(b)?.distance))
    }),
    row("dist_pl", "<->", &[POINT, LINE], DOUBLE, |c, _| {
        measure(c, |a: Point, b: Line| Ok(b.nearest(a)?.distance))
    }),
    row("dist_lp", "<->", &[LINE, POINT], DOUBLE, |c, _| {
        measure(c, |a: Line, b: Point| Ok(a.nearest(b)?.distance))
    }),
    row("dist_ppoly", "<->", &[POINT, POLYGON], DOUBLE, |c, _| {
        measure(c, |a: Point, b: Polygon| polygon::distance(&b, a))
    }),
    row("dist_polyp", "<->", &[POLYGON, POINT], DOUBLE, |c, _| {
        measure(c, |a: Polygon, b: Point| polygon::distance(&a, b))
    }),
    row("dist_pc", "<->", &[POINT, CIRCLE], DOUBLE, |c, _| {
        measure(c, |a: Point, b: Circle| to_circle(a, b))
    }),
    row("dist_cpoint", "<->", &[CIRCLE, POINT], DOUBLE, |c, _| {
        measure(c, |a: Circle, b: Point| to_circle(b, a))
    }),
    row("lseg_distance", "<->", &[SEGMENT, SEGMENT], DOUBLE, |c, _| {
        measure(c, |a: Segment, b: Segment| Ok(a.nearest_to(b)?.distance))
    }),
    row("dist_sl", "<->", &[SEGMENT, LINE], DOUBLE, |c, _| {
        measure(c, |a: Segment, b: Line| Ok(a.nearest_to_line(b)?.distance))
    }),
    row("dist_ls", "<->", &[LINE, SEGMENT], DOUBLE, |c, _| {
        measure(c, |a: Line, b: Segment| Ok(b.nearest_to_line(a)?.distance))
    }),
    row("dist_sb", "<->", &[SEGMENT, BOX], DOUBLE, |c, _| {
        measure(c, |a: Segment, b: Rect| Ok(b.nearest_to(a)?.distance))
    }),
    row("dist_bs", "<->", &[BOX, SEGMENT], DOUBLE, |c, _| {
        measure(c, |a: Rect, b: Segment| Ok(a.nearest_to(b)?.distance))
    }),
    row("path_distance", "<->", &[PATH, PATH], DOUBLE, paths_apart),
    row("box_distance", "<->", &[BOX, BOX], DOUBLE, |c, _| {
        measure(c, |a: Rect, b: Rect| a.center()?.distance(b.center()?))
    }),
    row("poly_distance", "<->", &[POLYGON, POLYGON], DOUBLE, polygons_apart),
    row("dist_polyc", "<->", &[POLYGON, CIRCLE], DOUBLE, |c, _| {
        measure(c, |a: Polygon, b: Circle| polygon_to_circle(&a, b))
    }),
    row("dist_cpoly", "<->", &[CIRCLE, POLYGON], DOUBLE, |c, _| {
        measure(c, |a: Circle, b: Polygon| polygon_to_circle(&b, a))
    }),
    row("line_distance", "<->", &[LINE, LINE], DOUBLE, |c, _| {
        measure(c, |a: Line, b: Line| a.distance(b))
    }),
    row("circle_distance", "<->", &[CIRCLE, CIRCLE], DOUBLE, |c, _| {
        measure(c, |a: Circle, b: Circle| {
            apart(minus(a.center.distance(b.center)?, plus(a.radius, b.radius)?)?)
        })
    }),
    row("close_ps", "##", &[POINT, SEGMENT], POINT, |c, out| {
        find(c, out, |a: Point, b: Segment| found(b.nearest(a)?))
    }),
    row("close_pb", "##", &[POINT, BOX], POINT, |c, out| {
        find(c, out, |a: Point, b: Rect| found(b.nearest(a)?))
    }),
    row("close_pl", "##", &[POINT, LINE], POINT, |c, out| {
        find(c, out, |a: Point, b: Line| found(b.nearest(a)?))
    }),
    row("close_lseg", "##", &[SEGMENT, SEGMENT], POINT, |c, out| {
        find(c, out, |a: Segment, b: Segment| nearest_of_segments(a, b))
    }),
    row("close_sb", "##", &[SEGMENT, BOX], POINT, |c, out| {
        find(c, out, |a: Segment, b: Rect| found(b.nearest_to(a)?))
    }),
    row("close_ls", "##", &[LINE, SEGMENT], POINT, |c, out| {
        find(c, out, |a: Line, b: Segment| nearest_to_line(a, b))
    }),
    row("lseg_interpt", "#", &[SEGMENT, SEGMENT], POINT, |c, out| {
        find(c, out, |a: Segment, b: Segment| a.meets(b))
    }),
    row("lseg_length", "@-@", &[SEGMENT], DOUBLE, |c, _| measure_one(c, |a: Segment| a.length())),
    row("length", "", &[SEGMENT], DOUBLE, |c, _| measure_one(c, |a: Segment| a.length())),
    row("lseg_center", "@@", &[SEGMENT], POINT, |c, out| make_one(c, out, |a: Segment| a.center())),
    row("point", "", &[SEGMENT], POINT, |c, out| make_one(c, out, |a: Segment| a.center())),
    row("lseg", "", &[POINT, POINT], SEGMENT, |c, out| {
        make(c, out, |a: Point, b: Point| Ok(Segment { from: a, to: b }))
    }),
    row("line_interpt", "#", &[LINE, LINE], POINT, |c, out| {
        find(c, out, |a: Line, b: Line| a.meets(b))
    }),
    row("line", "", &[POINT, POINT], LINE, |c, out| {
        make(c, out, |a: Point, b: Point| line_of(a, b))
    }),
    row("path_add", "+", &[PATH, PATH], PATH, |c, out| {
        find(c, out, |a: Path, b: Path| Ok(joined(a, b)))
    }),
    row("path_add_pt", "+", &[PATH, POINT], PATH, |c, out| {
        make(c, out, |a: Path, b: Point| moved(a, |point| point.plus(b)))
    }),
    row("path_sub_pt", "-", &[PATH, POINT], PATH, |c, out| {
        make(c, out, |a: Path, b: Point| moved(a, |point| point.minus(b)))
    }),
    row("path_mul_pt", "*", &[PATH, POINT], PATH, |c, out| {
        make(c, out, |a: Path, b: Point| moved(a, |point| point.times(b)))
    }),
    row("path_div_pt", "/", &[PATH, POINT], PATH, |c, out| {
        make(c, out, |a: Path, b: Point| moved(a, |point| point.over(b)))
    }),
    row("path_npoints", "#", &[PATH], INT, path_count),
    row("npoints", "", &[PATH], INT, path_count),
    row("path_length", "@-@", &[PATH], DOUBLE, |c, _| measure_one(c, |a: Path| a.length())),
    row("length", "", &[PATH], DOUBLE, |c, _| measure_one(c, |a: Path| a.length())),
    row("area", "", &[PATH], DOUBLE, path_area),
    row("pclose", "", &[PATH], PATH, |c, out| {
        make_one(c, out, |a: Path| Ok(Path { closed: true, ..a }))
    }),
    row("popen", "", &[PATH], PATH, |c, out| {
        make_one(c, out, |a: Path| Ok(Path { closed: false, ..a }))
    }),
    row("path", "", &[POLYGON], PATH, |c, out| {
        make_one(c, out, |a: Polygon| Ok(Path { closed: true, points: a }))
    }),
    row("polygon", "", &[PATH], POLYGON, |c, out| make_one(c, out, |a: Path| corners_of(a))),
    row("box_intersect", "#", &[BOX, BOX], BOX, |c, out| {
        find(c, out, |a: Rect, b: Rect| Ok(common(a, b)))
    }),
    row("box_add", "+", &[BOX, POINT], BOX, |c, out| {
        make(c, out, |a: Rect, b: Point| Ok(Rect { high: a.high.plus(b)?, low: a.low.plus(b)? }))
    }),
    row("box_sub", "-", &[BOX, POINT], BOX, |c, out| {
        make(c, out, |a: Rect, b: Point| Ok(Rect { high: a.high.minus(b)?, low: a.low.minus(b)? }))
    }),
    row("box_mul", "*", &[BOX, POINT], BOX, |c, out| {
        make(c, out, |a: Rect, b: Point| Ok(Rect::of(a.high.times(b)?, a.low.times(b)?)))
    }),
    row("box_div", "/", &[BOX, POINT], BOX, |c, out| {
        make(c, out, |a: Rect, b: Point| Ok(Rect::of(a.high.over(b)?, a.low.over(b)?)))
    }),
    row("box_center", "@@", &[BOX], POINT, |c, out| make_one(c, out, |a: Rect| a.center())),
    row("center", "", &[BOX], POINT, |c, out| make_one(c, out, |a: Rect| a.center())),
    row("point", "", &[BOX], POINT, |c, out| make_one(c, out, |a: Rect| a.center())),
    row("area", "", &[BOX], DOUBLE, |c, _| measure_one(c, |a: Rect| a.area())),
    row("width", "", &[BOX], DOUBLE, |c, _| measure_one(c, |a: Rect| a.width())),
    row("height", "", &[BOX], DOUBLE, |c, _| measure_one(c, |a: Rect| a.height())),
    row("diagonal", "", &[BOX], SEGMENT, |c, out| {
        make_one(c, out, |a: Rect| Ok(Segment { from: a.high, to: a.low }))
    }),
    row("lseg", "", &[BOX], SEGMENT, |c, out| {
        make_one(c, out, |a: Rect| Ok(Segment { from: a.high, to: a.low }))
    }),
    row("box", "", &[POINT, POINT], BOX, |c, out| {
        make(c, out, |a: Point, b: Point| Ok(Rect::of(a, b)))
    }),
    row("box", "", &[POINT], BOX, |c, out| {
        make_one(c, out, |a: Point| Ok(Rect { high: a, low: a }))
    }),
    row("bound_box", "", &[BOX, BOX], BOX, |c, out| {
        make(c, out, |a: Rect, b: Rect| Ok(around(&[a.high, a.low, b.high, b.low])))
    }),
    row("polygon", "", &[BOX], POLYGON, |c, out| make_one(c, out, |a: Rect| Ok(corners(a)))),
    row("circle", "", &[BOX], CIRCLE, |c, out| make_one(c, out, |a: Rect| circle_of(a))),
    row("poly_npoints", "#", &[POLYGON], INT, polygon_count),
    row("npoints", "", &[POLYGON], INT, polygon_count),
    row("poly_center", "@@", &[POLYGON], POINT, |c, out| {
        make_one(c, out, |a: Polygon| Ok(Circle::around(&a)?.center))
    }),
    row("point", "", &[POLYGON], POINT, |c, out| {
        make_one(c, out, |a: Polygon| Ok(Circle::around(&a)?.center))
    }),
    row("box", "", &[POLYGON], BOX, |c, out| make_one(c, out, |a: Polygon| Ok(around(&a)))),
    row("circle", "", &[POLYGON], CIRCLE, |c, out| {
        make_one(c, out, |a: Polygon| Circle::around(&a))
    }),
    row("circle_add_pt", "+", &[CIRCLE, POINT], CIRCLE, |c, out| {
        make(c, out, |a: Circle, b: Point| Ok(Circle { center: a.center.plus(b)?, ..a }))
    }),
    row("circle_sub_pt", "-", &[CIRCLE, POINT], CIRCLE, |c, out| {
        make(c, out, |a: Circle, b: Point| Ok(Circle { center: a.center.minus(b)?, ..a }))
    }),
    row("circle_mul_pt", "*", &[CIRCLE, POINT], CIRCLE, |c, out| {
        make(c, out, |a: Circle, b: Point| circle_times(a, b))
    }),
    row("circle_div_pt", "/", &[CIRCLE, POINT], CIRCLE, |c, out| {
        make(c, out, |a: Circle, b: Point| circle_over(a, b))
    }),
    row("circle_center", "@@", &[CIRCLE], POINT, |c, out| {
        make_one(c, out, |a: Circle| Ok(a.center))
    }),
    row("center", "", &[CIRCLE], POINT, |c, out| make_one(c, out, |a: Circle| Ok(a.center))),
    row("point", "", &[CIRCLE], POINT, |c, out| make_one(c, out, |a: Circle| Ok(a.center))),
    row("area", "", &[CIRCLE], DOUBLE, |c, _| measure_one(c, |a: Circle| a.area())),
    row("diameter", "", &[CIRCLE], DOUBLE, |c, _| measure_one(c, |a: Circle| times(a.radius, 2.0))),
    row("radius", "", &[CIRCLE], DOUBLE, |c, _| measure_one(c, |a: Circle| Ok(a.radius))),
    row("circle", "", &[POINT, DOUBLE], CIRCLE, circle_of_point),
    row("box", "", &[CIRCLE], BOX, |c, out| make_one(c, out, |a: Circle| box_of(a))),
    row("polygon", "", &[CIRCLE], POLYGON, |c, out| {
        make_one(c, out, |a: Circle| polygon_of(12, a))
    }),
    row("polygon", "", &[INT, CIRCLE], POLYGON, polygon_of_circle_with),
    row("#part", "", &[POINT, INT], DOUBLE, number_part),
    row("#part", "", &[LINE, INT], DOUBLE, number_part),
    row("#part", "", &[BOX, INT], POINT, point_part),
    row("#part", "", &[SEGMENT, INT], POINT, point_part),
    row("#with_part", "", &[POINT, INT, DOUBLE], POINT, with_part),
    row("#with_part", "", &[LINE, INT, DOUBLE], LINE, with_part),
    row("#with_part", "", &[BOX, INT, POINT], BOX, with_point),
    row("#with_part", "", &[SEGMENT, INT, POINT], SEGMENT, with_point),
];
