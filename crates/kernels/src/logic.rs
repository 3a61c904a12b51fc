//! Three-valued logic on Bool columns.
//!
//! Values are bytes, validity bits. A NULL's byte is arbitrary (0 or 1): `a & b` is right wherever
//! the result is valid, because a valid false decides AND and a valid true decides OR.

use crate::broadcast::zip;
use crate::loops::map_into;
use crate::{Bitmap, Vector, VectorData};

/// Bit `i` is 1 when byte `i` is not 0; bytes are 0 or 1.
pub fn pack_bits(values: &[u8]) -> Bitmap {
    let mut words = Vec::with_capacity(values.len().div_ceil(64));
    for chunk in values.chunks(64) {
        let mut word = 0u64;
        let (eights, rest) = chunk.as_chunks::<8>();
        for (i, eight) in eights.iter().enumerate() {
            // Byte k's lowest bit moves to bit 56 + k of the product; no two terms meet.
            let bits = u64::from_le_bytes(*eight) & 0x0101_0101_0101_0101;
            word |= (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (i * 8);
        }
        for (i, &value) in rest.iter().enumerate() {
            word |= u64::from(value & 1) << (eights.len() * 8 + i);
        }
        words.push(word);
    }
    Bitmap::from_words(words, values.len())
}

/// Byte `i` is bit `i`.
pub fn unpack_bits(bits: &Bitmap) -> Vec<u8> {
    let mut values = Vec::with_capacity(bits.words().len() * 64);
    for &word in bits.words() {
        for eight in word.to_le_bytes() {
            // The reverse of `pack_bits`: bit k of the byte becomes byte k.
            let spread = u64::from(eight).wrapping_mul(0x0101_0101_0101_0101);
            let picked = spread & 0x8040_2010_0804_0201;
            let ones = picked.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) >> 7;
            values.extend_from_slice(&(ones & 0x0101_0101_0101_0101).to_le_bytes());
        }
    }
    values.truncate(bits.len());
    values
}

/// Rows of `vector`, which may be one row for all `rows`: values as bits, and validity.
fn bits_of(vector: &Vector, rows: usize) -> (Bitmap, Bitmap) {
    if vector.len() == rows {
        let valid = vector.validity.clone().unwrap_or_else(|| Bitmap::filled(rows, true));
        return (pack_bits(vector.as_bool()), valid);
    }
    let value = vector.as_bool()[0] != 0;
    (Bitmap::filled(rows, value), Bitmap::filled(rows, !vector.is_null(0)))
}

/// The operand value that decides the result alone.
#[derive(Clone, Copy, PartialEq)]
enum Decisive {
    False,
    True,
}

fn combine(a: &Vector, b: &Vector, decisive: Decisive) -> Vector {
    let values = match decisive {
        Decisive::True => zip(a.as_bool(), b.as_bool(), |x, y| x | y),
        Decisive::False => zip(a.as_bool(), b.as_bool(), |x, y| x & y),
    };
    if a.validity.is_none() && b.validity.is_none() {
        return Vector::new(VectorData::Bool(values));
    }
    let rows = values.len();
    let ((bits_a, valid_a), (bits_b, valid_b)) = (bits_of(a, rows), bits_of(b, rows));
    let decides = |bits: Bitmap, valid: &Bitmap| {
        let bits = if decisive == Decisive::True { bits } else { bits.not() };
        bits.and(valid)
    };
    let (decides_a, decides_b) = (decides(bits_a, &valid_a), decides(bits_b, &valid_b));
    let valid = valid_a.and(&valid_b).or(&decides_a).or(&decides_b);
    Vector::with_validity(VectorData::Bool(values), Some(valid))
}

/// `a AND b`: false when one is false, else NULL when one is NULL.
pub fn and(a: &Vector, b: &Vector) -> Vector {
    combine(a, b, Decisive::False)
}

/// `a OR b`: true when one is true, else NULL when one is NULL.
pub fn or(a: &Vector, b: &Vector) -> Vector {
    combine(a, b, Decisive::True)
}

/// `NOT a`.
pub fn not(a: &Vector) -> Vector {
    let mut values = Vec::new();
    map_into(a.as_bool(), &mut values, |x| x ^ 1);
    Vector::with_validity(VectorData::Bool(values), a.validity.clone())
}

/// `a IS NULL`.
pub fn is_null(a: &Vector) -> Vector {
    let values = match &a.validity {
        None => vec![0; a.len()],
        Some(validity) => unpack_bits(&validity.not()),
    };
    Vector::new(VectorData::Bool(values))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Ternary = Option<bool>;

    fn vector(rows: &[(bool, bool)]) -> Vector {
        let values = rows.iter().map(|r| u8::from(r.0)).collect();
        let valid = Bitmap::from_fn(rows.len(), |i| rows[i].1);
        Vector::with_validity(VectorData::Bool(values), Some(valid))
    }

    fn ternary(v: &Vector, i: usize) -> Ternary {
        (!v.is_null(i)).then(|| v.as_bool()[i] != 0)
    }

    fn and_model(a: Ternary, b: Ternary) -> Ternary {
        match (a, b) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    proptest! {
        #[test]
        fn logic_is_three_valued(
            rows in vec(((any::<bool>(), any::<bool>()), (any::<bool>(), any::<bool>())), 1..200),
        ) {
            let a = vector(&rows.iter().map(|r| r.0).collect::<Vec<_>>());
            let b = vector(&rows.iter().map(|r| r.1).collect::<Vec<_>>());
            let one = b.slice(0, 1);
            let (both, either, inverse) = (and(&a, &b), or(&a, &b), not(&a));
            let (with_one, from_one) = (and(&a, &one), or(&one, &a));
            let nulls = is_null(&a);
            let negate = |t: Ternary| t.map(|t| !t);
            for i in 0..rows.len() {
                let (x, y, z) = (ternary(&a, i), ternary(&b, i), ternary(&one, 0));
                prop_assert_eq!(ternary(&both, i), and_model(x, y));
                let or_model = |x, y| negate(and_model(negate(x), negate(y)));
                prop_assert_eq!(ternary(&either, i), or_model(x, y));
                prop_assert_eq!(ternary(&inverse, i), negate(x));
                prop_assert_eq!(ternary(&with_one, i), and_model(x, z));
                prop_assert_eq!(ternary(&from_one, i), or_model(z, x));
                prop_assert_eq!(nulls.as_bool()[i] != 0, x.is_none());
            }
        }

        #[test]
        fn bits_pack_and_unpack(bytes in vec(0u8..=1, 0..300)) {
            let bits = pack_bits(&bytes);
            prop_assert_eq!(&bits, &Bitmap::from_fn(bytes.len(), |i| bytes[i] != 0));
            prop_assert_eq!(unpack_bits(&bits), bytes);
        }
    }
}
