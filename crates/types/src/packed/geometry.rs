//! Shapes of the plane: POINT, LINE, LSEG, BOX, PATH, POLYGON, CIRCLE.
//!
//! ```text
//! POINT    x y            LSEG  x y x y          BOX  x y x y: upper right, lower left
//! LINE     A B C          CIRCLE x y radius      POLYGON { x y }*
//! PATH     1 (closed) or 0 (open), { x y }*
//! ```
//! Numbers are DOUBLE, 8 bytes, big-endian. Shapes have no order, and are equal where an operator
//! of theirs says so, which takes numbers as equal that lie near each other ([`is_near`]).
//!
//! Elsewhere: text (`text`), where shapes meet and how far they are from each other (`meet`), what
//! lies in polygons (`polygon`), what SQL calls (`calls`).
//! Source: PostgreSQL 15, manual, sections 8.8 and 9.11.

mod calls;
mod meet;
mod polygon;
mod text;

use crate::{Error, PackedType, Result, SqlState};

pub(super) use calls::{SHAPE_TESTS, SHAPE_VALUES};
pub(crate) use text::{format_shape, parse_shape};

/// A point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    x: f64,
    y: f64,
}

/// A part of a line between two points.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    from: Point,
    to: Point,
}

/// `a x + b y + c = 0`.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    a: f64,
    b: f64,
    c: f64,
}

/// A rectangle: its corner with the largest coordinates, and that with the smallest.
#[derive(Clone, Copy, Debug, Default)]
struct Rect {
    high: Point,
    low: Point,
}

#[derive(Clone, Copy, Debug, Default)]
struct Circle {
    center: Point,
    radius: f64,
}

#[derive(Clone, Debug, Default)]
struct Path {
    closed: bool,
    points: Vec<Point>,
}

/// A shape, in the form that is held.
trait Shape: Sized {
    /// The shape that `bytes` are.
    fn read(bytes: &[u8]) -> Self;

    /// Appends the bytes.
    fn write(&self, out: &mut Vec<u8>);
}

/// The numbers that `bytes` hold; 0 for those that are missing.
fn numbers<const N: usize>(bytes: &[u8]) -> [f64; N] {
    let mut found = [0.0; N];
    for (number, eight) in found.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *number = f64::from_be_bytes(*eight);
    }
    found
}

fn push(out: &mut Vec<u8>, numbers: &[f64]) {
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
}

impl Shape for Point {
    fn read(bytes: &[u8]) -> Self {
        let [x, y] = numbers(bytes);
        Self { x, y }
    }

    fn write(&self, out: &mut Vec<u8>) {
        push(out, &[self.x, self.y]);
    }
}

impl Shape for Segment {
    fn read(bytes: &[u8]) -> Self {
        let [a, b, c, d] = numbers(bytes);
        Self { from: Point { x: a, y: b }, to: Point { x: c, y: d } }
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.from.write(out);
        self.to.write(out);
    }
}

impl Shape for Line {
    fn read(bytes: &[u8]) -> Self {
        let [a, b, c] = numbers(bytes);
        Self { a, b, c }
    }

    fn write(&self, out: &mut Vec<u8>) {
        push(out, &[self.a, self.b, self.c]);
    }
}

impl Shape for Rect {
    fn read(bytes: &[u8]) -> Self {
        let Segment { from, to } = Segment::read(bytes);
        Self { high: from, low: to }
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.high.write(out);
        self.low.write(out);
    }
}

impl Shape for Circle {
    fn read(bytes: &[u8]) -> Self {
        let [x, y, radius] = numbers(bytes);
        Self { center: Point { x, y }, radius }
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.center.write(out);
        push(out, &[self.radius]);
    }
}

impl Shape for Path {
    fn read(bytes: &[u8]) -> Self {
        let (closed, rest) = bytes.split_first().unwrap_or((&0, &[]));
        Self { closed: *closed == 1, points: Vec::read(rest) }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.closed));
        self.points.write(out);
    }
}

/// The corners of a polygon.
impl Shape for Vec<Point> {
    fn read(bytes: &[u8]) -> Self {
        bytes.as_chunks::<16>().0.iter().map(|point| Point::read(point)).collect()
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|point| point.write(out));
    }
}

/// The value of a shape of fixed length that `bytes` of a client are; None when they are none.
pub(super) fn checked(bytes: &[u8], ty: PackedType) -> Option<Vec<u8>> {
    if i16::try_from(bytes.len()) != Ok(ty.postgres_bytes()) {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len());
    match ty {
        PackedType::Box => {
            // Its corners come in any order.
            let Segment { from, to } = Segment::read(bytes);
            Rect::of(from, to).write(&mut out);
        }
        PackedType::Line => {
            let line = Line::read(bytes);
            let is_line = !is_zero(line.a) || !is_zero(line.b);
            is_line.then(|| line.write(&mut out))?;
        }
        PackedType::Circle => {
            let circle = Circle::read(bytes);
            let is_circle = circle.radius.is_nan() || circle.radius >= 0.0;
            is_circle.then(|| circle.write(&mut out))?;
        }
        _ => out.extend_from_slice(bytes),
    }
    Some(out)
}

/// Distance within which numbers are taken as equal.
const NEAR: f64 = 1.0e-6;

fn is_zero(a: f64) -> bool {
    a.abs() <= NEAR
}

fn is_near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= NEAR
}

fn is_below(a: f64, b: f64) -> bool {
    a + NEAR < b
}

fn is_at_most(a: f64, b: f64) -> bool {
    a <= b + NEAR
}

fn is_above(a: f64, b: f64) -> bool {
    a > b + NEAR
}

fn is_at_least(a: f64, b: f64) -> bool {
    a + NEAR >= b
}

/// Equality of DOUBLE: NaN equals itself.
fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// Order of DOUBLE: NaN is the largest.
fn less(a: f64, b: f64) -> bool {
    a < b || !a.is_nan() && b.is_nan()
}

fn larger(a: f64, b: f64) -> f64 {
    if less(a, b) { b } else { a }
}

fn smaller(a: f64, b: f64) -> f64 {
    if less(b, a) { b } else { a }
}

#[cold]
fn out_of_range(how: &str) -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("value out of range: {how}"))
}

/// `value`, which is infinite of finite operands when it is too large.
fn finite(value: f64, operands: [f64; 2]) -> Result<f64> {
    let overflows = value.is_infinite() && operands.iter().all(|operand| !operand.is_infinite());
    if overflows { Err(out_of_range("overflow")) } else { Ok(value) }
}

fn plus(a: f64, b: f64) -> Result<f64> {
    finite(a + b, [a, b])
}

fn minus(a: f64, b: f64) -> Result<f64> {
    finite(a - b, [a, b])
}

fn times(a: f64, b: f64) -> Result<f64> {
    let value = finite(a * b, [a, b])?;
    let underflows = value == 0.0 && a != 0.0 && b != 0.0;
    if underflows { Err(out_of_range("underflow")) } else { Ok(value) }
}

fn over(a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(crate::decimal::division_by_zero());
    }
    let value = finite(a / b, [a, 0.0])?;
    let underflows = value == 0.0 && a != 0.0 && !b.is_infinite();
    if underflows { Err(out_of_range("underflow")) } else { Ok(value) }
}

/// The length of the diagonal of a rectangle, as PostgreSQL rounds it.
fn diagonal(x: f64, y: f64) -> Result<f64> {
    if x.is_infinite() || y.is_infinite() {
        return Ok(f64::INFINITY);
    }
    if x.is_nan() || y.is_nan() {
        return Ok(f64::NAN);
    }
    let (x, y) = (x.abs(), y.abs());
    let (long, short) = if x < y { (y, x) } else { (x, y) };
    if short == 0.0 {
        return Ok(long);
    }
    let ratio = short / long;
    match long * (1.0 + ratio * ratio).sqrt() {
        value if value.is_infinite() => Err(out_of_range("overflow")),
        0.0 => Err(out_of_range("underflow")),
        value => Ok(value),
    }
}

impl Point {
    /// True for points that lie at one place, NaN being one.
    fn is_at(self, other: Self) -> bool {
        is_near(self.x, other.x) && is_near(self.y, other.y)
            || same(self.x, other.x) && same(self.y, other.y)
    }

    fn distance(self, other: Self) -> Result<f64> {
        diagonal(minus(self.x, other.x)?, minus(self.y, other.y)?)
    }

    fn plus(self, other: Self) -> Result<Self> {
        Ok(Self { x: plus(self.x, other.x)?, y: plus(self.y, other.y)? })
    }

    fn minus(self, other: Self) -> Result<Self> {
        Ok(Self { x: minus(self.x, other.x)?, y: minus(self.y, other.y)? })
    }

    /// The product of complex numbers: turned and scaled.
    fn times(self, other: Self) -> Result<Self> {
        let x = minus(times(self.x, other.x)?, times(self.y, other.y)?)?;
        Ok(Self { x, y: plus(times(self.x, other.y)?, times(self.y, other.x)?)? })
    }

    fn over(self, other: Self) -> Result<Self> {
        let square = plus(times(other.x, other.x)?, times(other.y, other.y)?)?;
        let x = plus(times(self.x, other.x)?, times(self.y, other.y)?)?;
        let y = minus(times(self.y, other.x)?, times(self.x, other.y)?)?;
        Ok(Self { x: over(x, square)?, y: over(y, square)? })
    }

    fn between(self, other: Self) -> Result<Self> {
        let x = over(plus(self.x, other.x)?, 2.0)?;
        Ok(Self { x, y: over(plus(self.y, other.y)?, 2.0)? })
    }

    /// The slope of the line through both; infinite where it is vertical.
    fn slope(self, other: Self) -> Result<f64> {
        if is_near(self.x, other.x) {
            return Ok(f64::INFINITY);
        }
        if is_near(self.y, other.y) {
            return Ok(0.0);
        }
        over(minus(self.y, other.y)?, minus(self.x, other.x)?)
    }

    /// The slope of what is perpendicular to that line.
    fn cross_slope(self, other: Self) -> Result<f64> {
        if is_near(self.x, other.x) {
            return Ok(0.0);
        }
        if is_near(self.y, other.y) {
            return Ok(f64::INFINITY);
        }
        over(minus(self.x, other.x)?, minus(other.y, self.y)?)
    }
}

impl Segment {
    fn slope(self) -> Result<f64> {
        self.from.slope(self.to)
    }

    fn length(self) -> Result<f64> {
        self.from.distance(self.to)
    }

    fn center(self) -> Result<Point> {
        self.from.between(self.to)
    }

    fn line(self) -> Result<Line> {
        Line::through(self.from, self.slope()?)
    }
}

impl Line {
    /// The line through a point with a slope.
    fn through(point: Point, slope: f64) -> Result<Self> {
        if slope.is_infinite() {
            return Ok(Self { a: -1.0, b: 0.0, c: point.x });
        }
        if slope == 0.0 {
            return Ok(Self { a: 0.0, b: -1.0, c: point.y });
        }
        let c = minus(point.y, times(slope, point.x)?)?;
        // No negative zero.
        Ok(Self { a: slope, b: -1.0, c: if c == 0.0 { 0.0 } else { c } })
    }

    fn slope(self) -> Result<f64> {
        if is_zero(self.a) {
            return Ok(0.0);
        }
        if is_zero(self.b) { Ok(f64::INFINITY) } else { over(self.a, -self.b) }
    }

    /// The slope of lines that are perpendicular to it.
    fn cross_slope(self) -> Result<f64> {
        if is_zero(self.a) {
            return Ok(f64::INFINITY);
        }
        if is_zero(self.b) { Ok(0.0) } else { over(self.b, self.a) }
    }
}

impl Rect {
    /// The rectangle with these corners.
    fn of(a: Point, b: Point) -> Self {
        let (high_x, low_x) = if less(b.x, a.x) { (a.x, b.x) } else { (b.x, a.x) };
        let (high_y, low_y) = if less(b.y, a.y) { (a.y, b.y) } else { (b.y, a.y) };
        Self { high: Point { x: high_x, y: high_y }, low: Point { x: low_x, y: low_y } }
    }

    /// The smallest rectangle around all points.
    fn around(points: &[Point]) -> Self {
        let first = points.first().copied().unwrap_or_default();
        points.iter().fold(Self { high: first, low: first }, |rect, point| Self {
            high: Point { x: larger(rect.high.x, point.x), y: larger(rect.high.y, point.y) },
            low: Point { x: smaller(rect.low.x, point.x), y: smaller(rect.low.y, point.y) },
        })
    }

    fn overlaps(self, other: Self) -> bool {
        is_at_most(self.low.x, other.high.x)
            && is_at_most(other.low.x, self.high.x)
            && is_at_most(self.low.y, other.high.y)
            && is_at_most(other.low.y, self.high.y)
    }

    fn contains(self, other: Self) -> bool {
        is_at_least(self.high.x, other.high.x)
            && is_at_most(self.low.x, other.low.x)
            && is_at_least(self.high.y, other.high.y)
            && is_at_most(self.low.y, other.low.y)
    }

    fn has(self, point: Point) -> bool {
        self.high.x >= point.x
            && self.low.x <= point.x
            && self.high.y >= point.y
            && self.low.y <= point.y
    }

    fn width(self) -> Result<f64> {
        minus(self.high.x, self.low.x)
    }

    fn height(self) -> Result<f64> {
        minus(self.high.y, self.low.y)
    }

    fn area(self) -> Result<f64> {
        times(self.width()?, self.height()?)
    }

    fn center(self) -> Result<Point> {
        self.high.between(self.low)
    }

    /// The sides: left, upper, lower, right.
    fn sides(self) -> [Segment; 4] {
        let upper_left = Point { x: self.low.x, y: self.high.y };
        let lower_right = Point { x: self.high.x, y: self.low.y };
        [
            Segment { from: self.low, to: upper_left },
            Segment { from: self.high, to: upper_left },
            Segment { from: self.low, to: lower_right },
            Segment { from: self.high, to: lower_right },
        ]
    }
}

impl Path {
    /// The segments, that which closes it first.
    fn segments(&self) -> impl Iterator<Item = Segment> {
        let closing = match (self.closed, self.points.as_slice()) {
            (true, [first, .., last]) => Some(Segment { from: *last, to: *first }),
            (true, [only]) => Some(Segment { from: *only, to: *only }),
            _ => None,
        };
        let pairs = self.points.windows(2).map(|two| Segment { from: two[0], to: two[1] });
        closing.into_iter().chain(pairs)
    }
}

impl Circle {
    fn area(self) -> Result<f64> {
        times(times(self.radius, self.radius)?, std::f64::consts::PI)
    }

    /// The circle around the middle of the points, with their mean distance from it.
    fn around(points: &[Point]) -> Result<Self> {
        let count = points.len() as f64;
        let mut sum = Point::default();
        for point in points {
            sum = sum.plus(*point)?;
        }
        let center = Point { x: over(sum.x, count)?, y: over(sum.y, count)? };
        let mut radius = 0.0;
        for point in points {
            radius = plus(radius, point.distance(center)?)?;
        }
        Ok(Self { center, radius: over(radius, count)? })
    }
}
