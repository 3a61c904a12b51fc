//! One column from several, row by row: CASE, COALESCE, GREATEST.

use crate::broadcast;
use crate::loops::{map_into, zip_into, zip3_into};
use crate::{Bitmap, StrVector, Vector, VectorData};

fn choose_fixed<T: Copy>(mask: &[u8], a: &[T], b: &[T]) -> Vec<T> {
    let mut out = Vec::new();
    match (a.len() == mask.len(), b.len() == mask.len()) {
        (true, true) => zip3_into(mask, a, b, &mut out, |m, x, y| if m != 0 { x } else { y }),
        (true, false) => {
            let y = b[0];
            zip_into(mask, a, &mut out, move |m, x| if m != 0 { x } else { y });
        }
        (false, true) => {
            let x = a[0];
            zip_into(mask, b, &mut out, move |m, y| if m != 0 { x } else { y });
        }
        (false, false) => {
            let (x, y) = (a[0], b[0]);
            map_into(mask, &mut out, move |m| if m != 0 { x } else { y });
        }
    }
    out
}

fn choose_str(mask: &[u8], a: &StrVector, b: &StrVector) -> StrVector {
    let (len_a, len_b) = (a.len(), b.len());
    let pick = |(i, &m): (usize, &u8)| match m {
        0 => b.views()[broadcast::row(len_b, i)],
        _ => a.views()[broadcast::row(len_a, i)],
    };
    let views = mask.iter().enumerate().map(pick).collect();
    let heaps = crate::strings::union_heaps(a, b);
    // SAFETY: every view is one of `a` or `b`, and the heaps of both are kept.
    unsafe { StrVector::from_views(views, heaps) }
}

fn spread(vector: &Vector, rows: usize) -> Bitmap {
    match &vector.validity {
        None => Bitmap::filled(rows, true),
        Some(v) if v.len() == rows => v.clone(),
        Some(v) => Bitmap::filled(rows, v.get(0)),
    }
}

/// Row `i` is that of `a` where `mask[i]` is not 0, else that of `b`; each has as many rows as the
/// mask, or one for all.
///
/// # Panics
/// If row counts or types do not fit.
pub fn choose(mask: &[u8], a: &Vector, b: &Vector) -> Vector {
    let rows = mask.len();
    for operand in [a, b] {
        assert!(operand.len() == rows || operand.len() == 1, "operand of {} rows", operand.len());
    }
    let data = match (&a.data, &b.data) {
        (VectorData::Bool(a), VectorData::Bool(b)) => VectorData::Bool(choose_fixed(mask, a, b)),
        (VectorData::I32(a), VectorData::I32(b)) => VectorData::I32(choose_fixed(mask, a, b)),
        (VectorData::I64(a), VectorData::I64(b)) => VectorData::I64(choose_fixed(mask, a, b)),
        (VectorData::I128(a), VectorData::I128(b)) => VectorData::I128(choose_fixed(mask, a, b)),
        (VectorData::F64(a), VectorData::F64(b)) => VectorData::F64(choose_fixed(mask, a, b)),
        (VectorData::Interval(a), VectorData::Interval(b)) => {
            VectorData::Interval(choose_fixed(mask, a, b))
        }
        (VectorData::Str(a), VectorData::Str(b)) => VectorData::Str(choose_str(mask, a, b)),
        _ => panic!("choice between {:?} and {:?}", a.physical(), b.physical()),
    };
    if a.validity.is_none() && b.validity.is_none() {
        return Vector::new(data);
    }
    let bits = crate::logic::pack_bits(mask);
    let valid = bits.and(&spread(a, rows)).or(&bits.not().and(&spread(b, rows)));
    Vector::with_validity(data, Some(valid))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use testkit::with_gaps;
    use types::{PhysicalType, Value};

    use super::*;
    use crate::VectorBuilder;
    use crate::level::at_every_level;

    fn vector(physical: PhysicalType, rows: &[Option<i64>]) -> Vector {
        let mut builder = VectorBuilder::new(physical);
        for row in rows {
            builder.push_value(&match (row, physical) {
                (None, _) => Value::Null,
                (Some(v), PhysicalType::Str) => Value::text(&format!("{v} with a long tail")),
                (Some(v), PhysicalType::F64) => Value::F64(*v as f64),
                (Some(v), _) => Value::I64(*v),
            });
        }
        builder.finish()
    }

    proptest! {
        #[test]
        fn choose_takes_each_row_from_its_side(
            rows in vec((0u8..=1, with_gaps(0i64..9), with_gaps(0i64..9)), 1..80),
        ) {
            let mask: Vec<u8> = rows.iter().map(|r| r.0).collect();
            use PhysicalType as P;
            let types = [P::I64, P::F64, P::Str, P::I128];
            for physical in types {
                let a = vector(physical, &rows.iter().map(|r| r.1).collect::<Vec<_>>());
                let b = vector(physical, &rows.iter().map(|r| r.2).collect::<Vec<_>>());
                let (one_a, one_b) = (a.slice(0, 1), b.slice(0, 1));
                at_every_level(|_| {
                    for (x, y) in [(&a, &b), (&one_a, &b), (&a, &one_b), (&one_a, &one_b)] {
                        let chosen = choose(&mask, x, y);
                        for (i, &m) in mask.iter().enumerate() {
                            let side = if m != 0 { x } else { y };
                            let row = broadcast::row(side.len(), i);
                            assert_eq!(chosen.value(i), side.value(row));
                        }
                    }
                });
            }
        }
    }
}
