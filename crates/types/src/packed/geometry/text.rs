//! Shapes from and to text.
//!
//! ```text
//! (1,2)   [(1,2),(3,4)]   (3,4),(1,2)   ((1,2),(3,4))   {1,-1,0}   <(1,2),3>
//! ```
//! Parentheses around pairs, and around all of them, may be left out.

use super::{Circle, Line, Path, Point, Rect, Segment, Shape, is_zero};
use crate::characters::{is_space, syntax_error};
use crate::{Error, PackedType, Result, SqlState};

/// Reader of a number.
pub(crate) type ReadNumber = fn(&str) -> Result<f64>;

/// The value of a shape that `text` denotes, its numbers read by `read`.
///
/// # Errors
/// 22P02, 22003.
pub(crate) fn parse_shape(text: &str, ty: PackedType, read: ReadNumber) -> Result<Vec<u8>> {
    let mut reader = Reader { rest: text, text, ty, read };
    let mut out = Vec::new();
    match ty {
        PackedType::Point => reader.pair()?.write(&mut out),
        PackedType::LSeg => {
            let (points, _) = reader.points(2, Opening::Allowed)?;
            Segment { from: points[0], to: points[1] }.write(&mut out);
        }
        PackedType::Box => {
            let (points, _) = reader.points(2, Opening::Refused)?;
            Rect::of(points[0], points[1]).write(&mut out);
        }
        PackedType::Line => reader.line()?.write(&mut out),
        PackedType::Circle => reader.circle()?.write(&mut out),
        PackedType::Path => reader.path()?.write(&mut out),
        _ => {
            let count = reader.pair_count()?;
            reader.points(count, Opening::Refused)?.0.write(&mut out);
        }
    }
    reader.end()?;
    Ok(out)
}

/// Whether `[` may begin the points of a shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Allowed,
    Refused,
}

struct Reader<'t> {
    rest: &'t str,
    text: &'t str,
    ty: PackedType,
    read: ReadNumber,
}

impl Reader<'_> {
    #[cold]
    fn wrong(&self) -> Error {
        syntax_error(self.ty.name(), self.text)
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    }

    /// Takes `symbol` and the blanks behind it, when it is next.
    fn take(&mut self, symbol: char) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.take(symbol) { Ok(()) } else { Err(self.wrong()) }
    }

    fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.wrong()) }
    }

    /// A number, and the blanks around it.
    fn number(&mut self) -> Result<f64> {
        self.blanks();
        let length = number_length(self.rest.as_bytes());
        if length == 0 {
            return Err(self.wrong());
        }
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.blanks();
        (self.read)(word)
    }

    /// `(x,y)` or `x,y`, and the blanks behind it.
    fn pair(&mut self) -> Result<Point> {
        self.blanks();
        let is_closed = self.take('(');
        let x = self.number()?;
        self.expect(',')?;
        let y = self.number()?;
        if is_closed {
            self.expect(')')?;
            self.blanks();
        }
        Ok(Point { x, y })
    }

    /// True when `(` is next and no other one follows.
    fn is_last_parenthesis(&self) -> bool {
        self.rest.starts_with('(') && self.rest.rfind('(') == Some(0)
    }

    /// `count` pairs, and whether they were in brackets.
    fn points(&mut self, count: usize, opening: Opening) -> Result<(Vec<Point>, bool)> {
        self.blanks();
        let mut depth = 0;
        let is_open = self.take('[');
        if is_open {
            if opening == Opening::Refused {
                return Err(self.wrong());
            }
            depth += 1;
        } else if let Some(inner) = self.rest.strip_prefix('(') {
            let inner = inner.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
            if inner.starts_with('(') || self.is_last_parenthesis() {
                depth += 1;
                self.rest = inner;
            }
        }
        let mut points = Vec::with_capacity(count);
        for _ in 0..count {
            points.push(self.pair()?);
            self.take(',');
        }
        while depth > 0 {
            if !(self.take(')') || is_open && depth == 1 && self.take(']')) {
                return Err(self.wrong());
            }
            depth -= 1;
            self.blanks();
        }
        Ok((points, is_open))
    }

    /// How many pairs there are, by the commas.
    fn pair_count(&self) -> Result<usize> {
        let commas = self.text.bytes().filter(|byte| *byte == b',').count();
        if commas % 2 == 1 { Ok(commas.div_ceil(2)) } else { Err(self.wrong()) }
    }

    fn path(&mut self) -> Result<Path> {
        let count = self.pair_count()?;
        self.blanks();
        let is_wrapped = self.is_last_parenthesis();
        if is_wrapped {
            self.take('(');
        }
        let (points, is_open) = self.points(count, Opening::Allowed)?;
        if is_wrapped {
            self.expect(')')?;
            self.blanks();
        }
        Ok(Path { closed: !is_open, points })
    }

    fn line(&mut self) -> Result<Line> {
        let invalid = |what: &str| {
            let message = format!("invalid line specification: {what}");
            Error::new(SqlState::INVALID_TEXT, message)
        };
        self.blanks();
        if !self.take('{') {
            let (points, _) = self.points(2, Opening::Allowed)?;
            self.end()?;
            let segment = Segment { from: points[0], to: points[1] };
            if segment.from.is_at(segment.to) {
                return Err(invalid("must be two distinct points"));
            }
            return segment.line();
        }
        let a = self.number()?;
        self.expect(',')?;
        let b = self.number()?;
        self.expect(',')?;
        let c = self.number()?;
        self.expect('}')?;
        self.blanks();
        self.end()?;
        if is_zero(a) && is_zero(b) {
            return Err(invalid("A and B cannot both be zero"));
        }
        Ok(Line { a, b, c })
    }

    fn circle(&mut self) -> Result<Circle> {
        self.blanks();
        let mut depth = 0;
        if self.take('<') {
            depth += 1;
        } else if let Some(inner) = self.rest.strip_prefix('(') {
            let inner = inner.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
            if inner.starts_with('(') {
                depth += 1;
                self.rest = inner;
            }
        }
        let center = self.pair()?;
        self.take(',');
        let radius = self.number()?;
        if radius < 0.0 {
            return Err(self.wrong());
        }
        if depth > 0 {
            if !self.take(')') && !self.take('>') {
                return Err(self.wrong());
            }
            self.blanks();
        }
        Ok(Circle { center, radius })
    }
}

/// Bytes of the number that `bytes` begin with.
fn number_length(bytes: &[u8]) -> usize {
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let unsigned = &bytes[sign..];
    for word in ["infinity", "inf", "nan"] {
        let begins = unsigned.get(..word.len());
        if begins.is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes())) {
            return sign + word.len();
        }
    }
    let digits = |from: usize| unsigned[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(0);
    let mut length = whole;
    if unsigned.get(length) == Some(&b'.') {
        let fraction = digits(length + 1);
        if whole + fraction > 0 {
            length += 1 + fraction;
        }
    }
    if length == 0 {
        return 0;
    }
    if matches!(unsigned.get(length), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(unsigned.get(length + 1), Some(b'+' | b'-')));
        let exponent = unsigned.get(length + 1 + signed).is_some_and(u8::is_ascii_digit);
        if exponent {
            length += 1 + signed + digits(length + 1 + signed);
        }
    }
    sign + length
}

/// Appends a shape as PostgreSQL prints it, its numbers by `print`.
pub(crate) fn format_shape(
    out: &mut Vec<u8>,
    bytes: &[u8],
    ty: PackedType,
    print: &dyn Fn(&mut Vec<u8>, f64),
) {
    let points = |out: &mut Vec<u8>, points: &[Point]| {
        for (at, point) in points.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b",(" } else { b"(" });
            print(out, point.x);
            out.push(b',');
            print(out, point.y);
            out.push(b')');
        }
    };
    let mut wrapped = |open: u8, list: &[Point], close: u8| {
        out.push(open);
        points(out, list);
        out.push(close);
    };
    match ty {
        PackedType::Point => points(out, &[Point::read(bytes)]),
        PackedType::LSeg => {
            let Segment { from, to } = Segment::read(bytes);
            wrapped(b'[', &[from, to], b']');
        }
        PackedType::Box => {
            let Rect { high, low } = Rect::read(bytes);
            points(out, &[high, low]);
        }
        PackedType::Path => {
            let path = Path::read(bytes);
            let [open, close] = if path.closed { *b"()" } else { *b"[]" };
            wrapped(open, &path.points, close);
        }
        PackedType::Line => {
            let Line { a, b, c } = Line::read(bytes);
            for (before, number) in [(b'{', a), (b',', b), (b',', c)] {
                out.push(before);
                print(out, number);
            }
            out.push(b'}');
        }
        PackedType::Circle => {
            let Circle { center, radius } = Circle::read(bytes);
            out.push(b'<');
            points(out, &[center]);
            out.push(b',');
            print(out, radius);
            out.push(b'>');
        }
        _ => wrapped(b'(', &Vec::read(bytes), b')'),
    }
}
