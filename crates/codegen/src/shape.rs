//! Shapes of code: pieces of one shape are the same machine code.
//!
//! ```text
//! conjunct   predicates: type, NULLs, kind of test      literals are arguments
//! fold       aggregates: type, NULLs, kind
//! gather     fields: type, NULLs, places in the rows that are made
//! ```
//! A shape of columns knows neither number nor table, so that queries of one kind share their
//! code; one of rows knows the places of fields. What no value decides (bounds outside of a type,
//! NULLs in a field that has none) is decided here.

use store::code::{Check, FieldCheck, Form, Sense};
use store::{Aggregate, FieldType, Nulls, Place, Schema};
use types::CompareOp;

/// A field that code reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FieldShape {
    pub field_type: FieldType,
    pub nulls: Nulls,
    /// Its place in rows; of columns, that of no row.
    pub place: Place,
}

impl FieldShape {
    pub(crate) fn new(schema: &Schema, form: Form, field: usize) -> Self {
        let known = &schema.fields()[field];
        let place = match form {
            Form::Columns => Place { null_bit: None, at: 0, shift: 0 },
            Form::Rows => schema.place(field),
        };
        Self { field_type: known.field_type, nulls: known.nulls, place }
    }
}

/// Ends of a range of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Range {
    /// From a literal on.
    Low,
    /// Up to a literal.
    High,
    /// Between two.
    Both,
    /// One alone.
    Single,
}

/// Comparison of floats, as processors know it: NaN satisfies none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Compare {
    Equal,
    Less,
    LessEqual,
}

/// Test of a value; all but `Null` refuse NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    Integer(Range, Sense),
    Float(Compare, Sense),
    NotANumber(Sense),
    /// Every value passes.
    Present,
    Null,
    /// Bytes, which a Rust function looks at.
    Bytes,
}

/// One test of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Predicate {
    pub field: FieldShape,
    pub test: Test,
}

/// How an aggregate of a field grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Growth {
    Count,
    Sum,
    Min,
    Max,
}

/// An aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Item {
    pub field: FieldShape,
    pub growth: Growth,
}

/// A field of rows that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Copied {
    pub field: FieldShape,
    pub target: Place,
}

/// All that decides machine code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// 16 rows at a time: a bit for each that satisfies one of the predicates.
    Conjunct(Form, Vec<Predicate>),
    /// 64 rows at a time: those whose bit is set are added.
    Fold(Form, Vec<Item>),
    /// Rows of so many words, made of those at some positions.
    Gather(Form, usize, Vec<Copied>),
}

/// Literals of a predicate.
pub(crate) const LITERALS: usize = 2;

/// A conjunct whose rows code finds.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub predicates: Vec<Predicate>,
    /// [`LITERALS`] for each predicate, whether it needs them or not.
    pub literals: Vec<u64>,
    /// Field and test of each predicate, as the store has them.
    pub checks: Vec<FieldCheck>,
}

/// An OR of checks.
#[derive(Clone, Debug)]
pub(crate) enum Conjunct {
    All,
    Nothing,
    Judged(Judged),
}

impl Conjunct {
    /// The conjunct of checks that fit the schema.
    pub(crate) fn new(schema: &Schema, form: Form, checks: &[FieldCheck]) -> Self {
        let mut judged =
            Judged { predicates: Vec::new(), literals: Vec::new(), checks: Vec::new() };
        // Bytes come last: a function is called for rows alone that nothing else accepted.
        let is_bytes = |check: &&FieldCheck| {
            matches!(check.check, Check::Bytes { .. } | Check::Prefix { .. } | Check::Suffix { .. })
        };
        let fixed = checks.iter().filter(|check| !is_bytes(check));
        for check in fixed.chain(checks.iter().filter(is_bytes)) {
            let field = FieldShape::new(schema, form, check.field);
            let Some((test, literals)) = test_of(&check.check, field) else { continue };
            if test == Test::Present && field.nulls == Nulls::Never {
                return Self::All;
            }
            judged.predicates.push(Predicate { field, test });
            judged.literals.extend(literals);
            judged.checks.push(check.clone());
        }
        if judged.predicates.is_empty() { Self::Nothing } else { Self::Judged(judged) }
    }
}

/// The test, and its literals; `None` when nothing passes it.
fn test_of(check: &Check, field: FieldShape) -> Option<(Test, [u64; LITERALS])> {
    match check {
        Check::Null(Sense::Plain) => {
            (field.nulls == Nulls::Allowed).then_some((Test::Null, [0; 2]))
        }
        Check::Null(Sense::Inverse) => Some((Test::Present, [0; 2])),
        Check::Integer { low, high, sense } => integer(*low, *high, *sense, field.field_type),
        Check::Float { op, literal } if field.field_type == FieldType::F32 => {
            float(*op, *literal, narrow)
        }
        Check::Float { op, literal } => float(*op, *literal, |_, literal| Some(literal.to_bits())),
        Check::Bytes { .. } | Check::Prefix { .. } | Check::Suffix { .. } => {
            Some((Test::Bytes, [0; 2]))
        }
    }
}

fn integer(
    low: i64,
    high: i64,
    sense: Sense,
    field_type: FieldType,
) -> Option<(Test, [u64; LITERALS])> {
    let (smallest, largest) = match field_type {
        FieldType::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        FieldType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let (low, high) = (low.max(smallest), high.min(largest));
    let all = |is_all: bool| is_all.then_some((Test::Present, [0; 2]));
    let range = match (low == smallest, high == largest) {
        _ if low > high => return all(sense == Sense::Inverse),
        (true, true) => return all(sense == Sense::Plain),
        (false, true) => Range::Low,
        (true, false) => Range::High,
        _ if low == high => Range::Single,
        _ => Range::Both,
    };
    Some((Test::Integer(range, sense), [low as u64, high as u64]))
}

/// `narrowed` gives the bits of a literal that is no NaN, in the field's type; `None` when no value
/// equals it.
fn float(
    op: CompareOp,
    literal: f64,
    narrowed: impl Fn(Compare, f64) -> Option<u64>,
) -> Option<(Test, [u64; LITERALS])> {
    let (compare, sense) = match op {
        CompareOp::Equal | CompareOp::NotDistinct => (Compare::Equal, Sense::Plain),
        CompareOp::NotEqual | CompareOp::Distinct => (Compare::Equal, Sense::Inverse),
        CompareOp::Less => (Compare::Less, Sense::Plain),
        CompareOp::LessEqual => (Compare::LessEqual, Sense::Plain),
        CompareOp::Greater => (Compare::LessEqual, Sense::Inverse),
        CompareOp::GreaterEqual => (Compare::Less, Sense::Inverse),
    };
    let present = Some((Test::Present, [0; 2]));
    if literal.is_nan() {
        // NaN equals itself and is above all others.
        return match (compare, sense) {
            (Compare::Equal, sense) => Some((Test::NotANumber(sense), [0; 2])),
            (Compare::Less, Sense::Plain) => Some((Test::NotANumber(Sense::Inverse), [0; 2])),
            (Compare::Less, Sense::Inverse) => Some((Test::NotANumber(Sense::Plain), [0; 2])),
            (Compare::LessEqual, Sense::Plain) => present,
            (Compare::LessEqual, Sense::Inverse) => None,
        };
    }
    match narrowed(compare, literal) {
        Some(bits) => Some((Test::Float(compare, sense), [bits, 0])),
        None if sense == Sense::Inverse => present,
        None => None,
    }
}

/// The literal for floats of 32 bits that compare so with one of 64: below `y` is what is below
/// the smallest one from `y` on, up to `y` is what is up to the largest one up to `y`.
fn narrow(compare: Compare, literal: f64) -> Option<u64> {
    let near = literal as f32;
    let narrowed = match compare {
        Compare::Equal if f64::from(near) != literal => return None,
        Compare::Less if f64::from(near) < literal => near.next_up(),
        Compare::LessEqual if f64::from(near) > literal => near.next_down(),
        _ => near,
    };
    Some(u64::from(narrowed.to_bits()))
}

/// The item of an aggregate; `None` for those that the number of rows answers.
pub(crate) fn item_of(schema: &Schema, form: Form, aggregate: Aggregate) -> Option<Item> {
    let growth = match aggregate {
        Aggregate::Rows => return None,
        Aggregate::Count(_) => Growth::Count,
        Aggregate::Sum(_) => Growth::Sum,
        Aggregate::Min(_) => Growth::Min,
        Aggregate::Max(_) => Growth::Max,
    };
    let field = FieldShape::new(schema, form, usize::from(aggregate.field()?.0));
    (growth != Growth::Count || field.nulls == Nulls::Allowed).then_some(Item { field, growth })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test] // Literals at, next to and far from floats of 32 bits.
        fn narrow_literals_give_the_same_answers(
            value in testkit::values::<f32>(),
            near in testkit::values::<f32>(),
            far in testkit::values::<f64>(),
        ) {
            let wide = [value, near].map(f64::from);
            let around = wide.iter().flat_map(|v| [v.next_down(), *v, v.next_up()]);
            for literal in around.chain([far]).filter(|literal| !literal.is_nan()) {
                for compare in [Compare::Equal, Compare::Less, Compare::LessEqual] {
                    let holds = |a: f64, b: f64| match compare {
                        Compare::Equal => a == b,
                        Compare::Less => a < b,
                        Compare::LessEqual => a <= b,
                    };
                    let narrowed = narrow(compare, literal).map(|bits| f32::from_bits(bits as u32));
                    let found = narrowed.is_some_and(|n| holds(value.into(), n.into()));
                    let wanted = holds(value.into(), literal);
                    prop_assert_eq!(found, wanted, "{:?} {}", compare, literal);
                }
            }
        }
    }
}
