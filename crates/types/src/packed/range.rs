//! Ranges and multiranges as bytes: read, put in order, written.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::array::{ArrayBuilder, decode, element_key, split_element};
use crate::{
    DataType, ElementType, Error, PackedType, RangeKind, Result, SqlState, Value, calendar, decimal,
};

const EMPTY: u8 = 0;
const RANGE: u8 = 1;
const END: u8 = 0;
const NO_LOWER: u8 = 0;
const NO_UPPER: u8 = 2;

/// Which end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Lower,
    Upper,
}

/// One end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound<'a> {
    /// The value as an element of an array; None where the range has no end.
    pub value: Option<Cow<'a, [u8]>>,
    /// True when the value is in the range.
    pub inclusive: bool,
}

impl Bound<'_> {
    /// The value, NULL where the range has no end.
    pub fn decoded(&self, kind: RangeKind) -> Value {
        decode(self.value.as_deref(), kind.element())
    }

    /// The bound of a value; NULL is no end.
    pub fn of(value: &Value, inclusive: bool, kind: RangeKind) -> Bound<'static> {
        let mut builder = ArrayBuilder::new();
        builder.push_value(value, kind.element());
        let value = builder.single().map(|raw| Cow::Owned(raw.to_vec()));
        Bound { inclusive: inclusive && value.is_some(), value }
    }
}

/// A range that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// Its lower end.
    pub lower: Bound<'a>,
    /// Its upper end.
    pub upper: Bound<'a>,
}

fn compare_values(a: &[u8], b: &[u8], element: ElementType) -> Ordering {
    element_key(a, element).cmp(&element_key(b, element))
}

/// A bound, and which end of its range it is.
#[derive(Clone, Copy)]
struct End<'a> {
    bound: &'a Bound<'a>,
    side: Side,
}

/// Order of two ends.
///
/// Source: PostgreSQL 15, rangetypes.c: `range_cmp_bounds`.
fn compare(a: End<'_>, b: End<'_>, element: ElementType) -> Ordering {
    // An end that is not there lies beyond all, one that is not in its range beside its value.
    let far = |side| if side == Side::Lower { Ordering::Less } else { Ordering::Greater };
    let beside = |end: End<'_>| match (end.bound.inclusive, end.side) {
        (true, _) => 0,
        (false, Side::Lower) => 1,
        (false, Side::Upper) => -1,
    };
    match (&a.bound.value, &b.bound.value) {
        (None, None) if a.side == b.side => Ordering::Equal,
        (None, _) => far(a.side),
        (_, None) => far(b.side).reverse(),
        (Some(x), Some(y)) => {
            let values = compare_values(x, y, element);
            values.then_with(|| beside(a).cmp(&beside(b)))
        }
    }
}

impl<'a> Span<'a> {
    fn begin(&self) -> End<'_> {
        End { bound: &self.lower, side: Side::Lower }
    }

    fn end(&self) -> End<'_> {
        End { bound: &self.upper, side: Side::Upper }
    }

    fn compare_lower(&self, other: &Self, element: ElementType) -> Ordering {
        compare(self.begin(), other.begin(), element)
    }

    fn compare_upper(&self, other: &Self, element: ElementType) -> Ordering {
        compare(self.end(), other.end(), element)
    }

    /// The range between two ends; None when it is empty.
    pub(super) fn between(
        lower: Bound<'a>,
        upper: Bound<'a>,
        element: ElementType,
    ) -> Option<Self> {
        if let (Some(x), Some(y)) = (&lower.value, &upper.value) {
            let order = compare_values(x, y, element);
            let is_point = order.is_eq() && lower.inclusive && upper.inclusive;
            if !order.is_lt() && !is_point {
                return None;
            }
        }
        Some(Self { lower, upper })
    }

    /// True when the other one ends before this one, and nothing lies between them.
    pub(super) fn touches(upper: &Bound<'_>, lower: &Bound<'_>, element: ElementType) -> bool {
        match (&upper.value, &lower.value) {
            (Some(x), Some(y)) => {
                compare_values(x, y, element) == Ordering::Equal
                    && upper.inclusive != lower.inclusive
            }
            _ => false,
        }
    }

    pub(super) fn is_before(&self, other: &Self, element: ElementType) -> bool {
        compare(self.end(), other.begin(), element).is_lt()
    }

    pub(super) fn contains(&self, other: &Self, element: ElementType) -> bool {
        self.compare_lower(other, element).is_le() && self.compare_upper(other, element).is_ge()
    }

    /// The part that both have.
    pub(super) fn shared(&self, other: &Self, element: ElementType) -> Option<Self> {
        if self.is_before(other, element) || other.is_before(self, element) {
            return None;
        }
        let lower = if self.compare_lower(other, element).is_ge() { self } else { other };
        let upper = if self.compare_upper(other, element).is_le() { self } else { other };
        Some(Self { lower: lower.lower.clone(), upper: upper.upper.clone() })
    }

    /// From the lower one of both lower ends to the upper one of both upper ends.
    pub(super) fn hull(&self, other: &Self, element: ElementType) -> Self {
        let lower = if self.compare_lower(other, element).is_le() { self } else { other };
        let upper = if self.compare_upper(other, element).is_ge() { self } else { other };
        Self { lower: lower.lower.clone(), upper: upper.upper.clone() }
    }

    pub(super) fn ends_by(&self, other: &Self, element: ElementType) -> bool {
        self.compare_upper(other, element).is_le()
    }

    pub(super) fn begins_at(&self, other: &Self, element: ElementType) -> bool {
        self.compare_lower(other, element).is_ge()
    }

    /// The parts of this one that are not in the other.
    pub(super) fn without(&self, other: &Self, element: ElementType) -> Vec<Self> {
        if self.is_before(other, element) || other.is_before(self, element) {
            return vec![self.clone()];
        }
        let turned = |bound: &Bound<'a>| Bound { inclusive: !bound.inclusive, ..bound.clone() };
        let mut parts = Vec::new();
        if self.compare_lower(other, element).is_lt() {
            parts.extend(Self::between(self.lower.clone(), turned(&other.lower), element));
        }
        if self.compare_upper(other, element).is_gt() {
            parts.extend(Self::between(turned(&other.upper), self.upper.clone(), element));
        }
        parts
    }
}

/// The bound that begins `bytes`, and what is behind it.
fn read_bound(bytes: &[u8], element: ElementType, side: Side) -> Option<(Bound<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    if tag != RANGE {
        return Some((Bound { value: None, inclusive: false }, rest));
    }
    let (raw, rest) = split_element(bytes, element)?;
    let (&flag, rest) = rest.split_first()?;
    let inclusive = (flag == 0) == (side == Side::Lower);
    Some((Bound { value: raw.map(Cow::Borrowed), inclusive }, rest))
}

fn read_span(bytes: &[u8], element: ElementType) -> Option<(Span<'_>, &[u8])> {
    let (lower, rest) = read_bound(bytes, element, Side::Lower)?;
    let (upper, rest) = read_bound(rest, element, Side::Upper)?;
    Some((Span { lower, upper }, rest))
}

/// The parts of a range or multirange: none of what is empty.
pub fn spans(bytes: &[u8], kind: RangeKind) -> Vec<Span<'_>> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some((&RANGE, after)) = rest.split_first() {
        let Some((span, after)) = read_span(after, kind.element()) else { break };
        found.push(span);
        rest = after;
    }
    found
}

/// Appends an end; `key_of` may leave out of its value what does not count.
fn push_bound(out: &mut Vec<u8>, bound: &Bound<'_>, side: Side, only: Part, element: ElementType) {
    let Some(value) = &bound.value else {
        return out.push(if side == Side::Lower { NO_LOWER } else { NO_UPPER });
    };
    out.push(RANGE);
    match only {
        Part::Key => {
            let key = element_key(value, element);
            let mut builder = ArrayBuilder::new();
            builder.push_text(&key);
            if let Some(raw) = builder.single() {
                out.extend_from_slice(raw);
            }
        }
        Part::Whole => out.extend_from_slice(value),
    }
    out.push(u8::from(bound.inclusive != (side == Side::Lower)));
}

/// The part of a value that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    /// The bytes that equal values have in common.
    Key,
}

/// Appends a range that is not empty.
pub(crate) fn push_span(out: &mut Vec<u8>, span: &Span<'_>, kind: RangeKind) {
    write_span(out, span, Part::Whole, kind.element());
}

fn write_span(out: &mut Vec<u8>, span: &Span<'_>, part: Part, element: ElementType) {
    out.push(RANGE);
    push_bound(out, &span.lower, Side::Lower, part, element);
    push_bound(out, &span.upper, Side::Upper, part, element);
}

/// Appends a range, empty where there is none.
pub(super) fn push_range(out: &mut Vec<u8>, span: Option<&Span<'_>>, kind: RangeKind) {
    match span {
        Some(span) => push_span(out, span, kind),
        None => out.push(EMPTY),
    }
}

/// Appends a multirange of spans that are in order and apart.
pub(crate) fn push_multirange(out: &mut Vec<u8>, spans: &[Span<'_>], kind: RangeKind) {
    spans.iter().for_each(|span| push_span(out, span, kind));
    out.push(END);
}

/// Spans in order, those that overlap or touch made one.
pub(crate) fn merged<'a>(mut spans: Vec<Span<'a>>, kind: RangeKind) -> Vec<Span<'a>> {
    let element = kind.element();
    spans.sort_by(|a, b| a.compare_lower(b, element).then_with(|| a.compare_upper(b, element)));
    let mut out: Vec<Span<'a>> = Vec::with_capacity(spans.len());
    for span in spans {
        match out.last_mut() {
            Some(last)
                if !last.is_before(&span, element)
                    || Span::touches(&last.upper, &span.lower, element) =>
            {
                *last = last.hull(&span, element);
            }
            _ => out.push(span),
        }
    }
    out
}

/// The part of a range or multirange that equal ones have in common, as bytes in their order; a
/// CITEXT in lower case, a TSQUERY without weights, a VECTOR without minus zero.
pub fn key(bytes: &[u8], ty: PackedType) -> Vec<u8> {
    if ty == PackedType::CiText {
        return String::from_utf8_lossy(bytes).to_lowercase().into_bytes();
    }
    if ty == PackedType::TsQuery {
        return super::search::query_key(bytes);
    }
    if let PackedType::Vector(_) = ty {
        return super::vector::key(bytes);
    }
    let Some(kind) = ty.range() else { return bytes.to_vec() };
    let mut out = Vec::with_capacity(bytes.len());
    let found = spans(bytes, kind);
    if found.is_empty() {
        return bytes.to_vec();
    }
    found.iter().for_each(|span| write_span(&mut out, span, Part::Key, kind.element()));
    if let PackedType::Multirange(_) = ty {
        out.push(END);
    }
    out
}

/// The value after one of a discrete type.
///
/// # Errors
/// 22003, 22008.
fn next(value: &Value, kind: RangeKind) -> Result<Value> {
    let out_of_range = || decimal::integer_out_of_range(kind.bound());
    Ok(match (value, kind) {
        (Value::I32(days), RangeKind::Date) if !calendar::is_finite_date(*days) => value.clone(),
        (Value::I32(days), RangeKind::Date) => Value::I32(
            calendar::check_date(days.checked_add(1))
                .map_err(|_| Error::new(SqlState::DATETIME_OVERFLOW, "date out of range"))?,
        ),
        (Value::I32(value), _) => Value::I32(value.checked_add(1).ok_or_else(out_of_range)?),
        (Value::I64(value), _) => Value::I64(value.checked_add(1).ok_or_else(out_of_range)?),
        _ => value.clone(),
    })
}

/// Moves an end that is on the wrong side of its value: ranges of discrete types have their lower
/// value in them, and not their upper one.
fn canonical<'a>(bound: Bound<'a>, side: Side, kind: RangeKind) -> Result<Bound<'a>> {
    let usual = side == Side::Lower;
    if bound.value.is_none() || bound.inclusive == usual {
        return Ok(bound);
    }
    let value = bound.decoded(kind);
    if let (Value::I32(days), RangeKind::Date) = (&value, kind)
        && !calendar::is_finite_date(*days)
    {
        return Ok(bound);
    }
    Ok(Bound::of(&next(&value, kind)?, usual, kind))
}

/// The range between two ends; None when it is empty.
///
/// # Errors
/// 22000 when the lower end is above the upper one; 22003, 22008 where discrete values end.
pub fn range_of<'a>(
    lower: Bound<'a>,
    upper: Bound<'a>,
    kind: RangeKind,
) -> Result<Option<Span<'a>>> {
    let element = kind.element();
    if let (Some(x), Some(y)) = (&lower.value, &upper.value)
        && compare_values(x, y, element).is_gt()
    {
        let message = "range lower bound must be less than or equal to range upper bound";
        return Err(Error::new(SqlState::DATA_EXCEPTION, message));
    }
    let Some(span) = Span::between(lower, upper, element) else { return Ok(None) };
    if !kind.is_discrete() {
        return Ok(Some(span));
    }
    let lower = canonical(span.lower, Side::Lower, kind)?;
    let upper = canonical(span.upper, Side::Upper, kind)?;
    Ok(Span::between(lower, upper, element))
}

/// A range as a value, empty where there is none.
pub fn range_value(span: Option<&Span<'_>>, kind: RangeKind) -> Vec<u8> {
    let mut out = Vec::new();
    push_range(&mut out, span, kind);
    out
}

/// A multirange of spans in any order as a value.
pub fn multirange_value(spans: Vec<Span<'_>>, kind: RangeKind) -> Vec<u8> {
    let mut out = Vec::new();
    push_multirange(&mut out, &merged(spans, kind), kind);
    out
}

/// The type of the bounds of a range type.
///
/// # Errors
/// XX000 for another type.
pub(super) fn kind_of(ty: DataType) -> Result<RangeKind> {
    let kind = match ty {
        DataType::Packed(ty) => ty.range(),
        _ => None,
    };
    kind.ok_or_else(|| Error::internal(format!("{ty} is no range")))
}
