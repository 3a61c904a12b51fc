//! 64-bit hashes of rows.
//!
//! ```text
//! value -> image (64 bits)          NULL -> one constant
//! hash of the first column = mix(image); of each further one = mix(image ^ hash * odd)
//! ```
//! Equal values have equal hashes whatever their physical integer type, and whether a column is
//! plain, constant or a dictionary. All 64 bits of a hash are usable.
//! Source: mixing after Stafford 2011 (Mix13, as in SplitMix64); strings by folded multiplication
//! as wyhash (Wang 2019).

use types::Interval;

use crate::level::flavours;
use crate::loops::map_into;
use crate::{Bitmap, Column, StrVector, Vector, VectorData, unpack};

/// Image of NULL for hashing.
const NULL_IMAGE: u64 = 0x9ae1_6a3b_2f90_404f;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const FOLD: u64 = 0xe703_7ed1_a0b4_28db;

/// Spreads every input bit over all output bits; a bijection.
#[inline(always)]
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 32)
}

/// The hash of a key of several columns from that of the earlier ones and the next image.
#[inline(always)]
fn join(hash: u64, image: u64) -> u64 {
    mix(image ^ hash.wrapping_mul(SEED))
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Hash of one 64-bit integer: equals [`hash_columns`] of a column that holds it.
#[inline(always)]
pub fn hash_i64(value: i64) -> u64 {
    mix(value as u64)
}

/// The image of a 128-bit integer; that of the 64-bit one when it fits.
#[inline(always)]
fn image_i128(value: i128) -> u64 {
    let low = value as i64;
    let excess = ((value >> 64) as i64) ^ (low >> 63);
    low as u64 ^ (excess as u64).wrapping_mul(FOLD)
}

/// Zeros of both signs are equal, so are NaNs.
#[inline(always)]
fn image_f64(value: f64) -> u64 {
    let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
    canonical.to_bits()
}

fn read(bytes: &[u8]) -> u64 {
    let mut buffer = [0u8; 8];
    buffer[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    u64::from_le_bytes(buffer)
}

/// The image of a string longer than a view.
fn image_long(bytes: &[u8]) -> u64 {
    let mut state = SEED ^ bytes.len() as u64;
    let (chunks, rest) = bytes.as_chunks::<16>();
    for chunk in chunks {
        let (a, b) = (read(&chunk[..8]), read(&chunk[8..]));
        state = fold(a ^ FOLD, b ^ state);
    }
    if rest.is_empty() {
        return state;
    }
    // The last 16 bytes, which overlap the chunk before when there is one.
    let last = &bytes[bytes.len().saturating_sub(16)..];
    let half = last.len().min(8);
    fold(read(&last[..half]) ^ FOLD, read(&last[half..]) ^ state)
}

fn images_str(strings: &StrVector, out: &mut Vec<u64>) {
    out.extend(strings.views().iter().enumerate().map(|(i, view)| {
        if view.is_inline() {
            fold(view.head() ^ FOLD, view.tail() ^ SEED)
        } else {
            image_long(strings.get(i))
        }
    }));
}

/// Hash of a string: equals [`hash_columns`] of a column that holds it.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let view = crate::StrView::new(bytes);
    mix(if view.is_inline() {
        fold(view.head() ^ FOLD, view.tail() ^ SEED)
    } else {
        image_long(bytes)
    })
}

fn patch_nulls(validity: Option<&Bitmap>, images: &mut [u64]) {
    if let Some(validity) = validity {
        for row in validity.not().ones() {
            images[row as usize] = NULL_IMAGE;
        }
    }
}

/// Appends the image of every row.
fn images(vector: &Vector, out: &mut Vec<u64>) {
    let old = out.len();
    match &vector.data {
        VectorData::Bool(v) => map_into(v, out, u64::from),
        VectorData::I32(v) => map_into(v, out, |x| i64::from(x) as u64),
        VectorData::I64(v) => map_into(v, out, |x| x as u64),
        VectorData::I128(v) => map_into(v, out, image_i128),
        VectorData::F64(v) => map_into(v, out, image_f64),
        VectorData::Interval(v) => map_into(v, out, |x: Interval| image_i128(x.comparable())),
        VectorData::Str(v) => images_str(v, out),
    }
    patch_nulls(vector.validity.as_ref(), &mut out[old..]);
}

/// Appends the image of every row; a dictionary no longer than the rows is hashed once per entry.
fn column_images(column: &Column, out: &mut Vec<u64>) {
    match column {
        Column::Plain(v) => images(v, out),
        Column::Constant(v, rows) => {
            let mut one = Vec::with_capacity(1);
            images(v, &mut one);
            out.resize(out.len() + rows, one[0]);
        }
        Column::Dictionary(codes, v) if v.len() <= codes.len() => {
            let mut entries = Vec::with_capacity(v.len());
            images(v, &mut entries);
            unpack::take(&entries, codes, out);
        }
        Column::Dictionary(..) => images(&column.to_vector(), out),
    }
}

flavours! {
    fn mix_all[](values: &mut [u64]) {
        for value in values {
            *value = mix(*value);
        }
    }

    fn join_all[](hashes: &mut [u64], images: &[u64]) {
        for (hash, &image) in hashes.iter_mut().zip(images) {
            *hash = join(*hash, image);
        }
    }
}

/// Replaces `hashes` by the hash of each row of `vector`.
pub fn hash_vector(vector: &Vector, hashes: &mut Vec<u64>) {
    hashes.clear();
    images(vector, hashes);
    mix_all(hashes);
}

/// Replaces `hashes` by the hash of each of `rows` rows over `columns`, which is not empty.
///
/// # Panics
/// If there is no column, or one has another number of rows.
pub fn hash_columns(columns: &[&Column], rows: usize, hashes: &mut Vec<u64>) {
    hashes.clear();
    let (first, further) = columns.split_first().expect("a key has a column");
    column_images(first, hashes);
    assert_eq!(hashes.len(), rows, "columns have the batch's rows");
    mix_all(hashes);
    let mut more = Vec::new();
    for column in further {
        more.clear();
        column_images(column, &mut more);
        assert_eq!(more.len(), rows, "columns have the batch's rows");
        join_all(hashes, &more);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use testkit::values;

    use super::*;
    use crate::level::at_every_level;

    fn hashes(column: &Column) -> Vec<u64> {
        let mut out = Vec::new();
        hash_columns(&[column], column.len(), &mut out);
        out
    }

    proptest! {
        #[test]
        fn equal_integers_hash_equal_in_every_width(rows in vec(values::<i32>(), 1..50)) {
            at_every_level(|_| {
                let narrow = hashes(&VectorData::I32(rows.clone()).into());
                let wide = rows.iter().map(|&v| i64::from(v)).collect();
                let widest = rows.iter().map(|&v| i128::from(v)).collect();
                assert_eq!(narrow, hashes(&VectorData::I64(wide).into()));
                assert_eq!(narrow, hashes(&VectorData::I128(widest).into()));
                assert_eq!(narrow[0], hash_i64(i64::from(rows[0])));
            });
        }

        #[test]
        fn forms_of_a_column_hash_equal(
            words in vec(vec(0u8..4, 0..40), 1..20),
            codes in vec(0usize..20, 1..50),
        ) {
            let dictionary: StrVector = words.iter().map(Vec::as_slice).collect();
            let valid = Bitmap::from_fn(words.len(), |i| i != 0);
            let dictionary = Vector::with_validity(VectorData::Str(dictionary), Some(valid));
            let codes: Vec<u32> = codes.iter().map(|c| (c % words.len()) as u32).collect();
            let column = Column::Dictionary(Arc::new(codes.clone()), Arc::new(dictionary.clone()));
            let plain = Column::Plain(column.to_plain());
            prop_assert_eq!(hashes(&column), hashes(&plain));
            for (&code, &hash) in codes.iter().zip(&hashes(&column)) {
                if code != 0 {
                    prop_assert_eq!(hash, hash_bytes(&words[code as usize]));
                }
            }
            let constant = Column::Constant(Arc::new(dictionary.slice(0, 1)), 3);
            prop_assert_eq!(hashes(&constant), [hashes(&Column::plain(dictionary))[0]; 3]);
        }
    }

    #[test]
    fn hashes_differ_where_values_do() {
        let mut seen: HashMap<u64, i64> = HashMap::new();
        for value in (0..20_000).flat_map(|i| [i, i << 32, -i * 4096 - 7]) {
            let old = seen.insert(hash_i64(value), value);
            assert!(old.is_none_or(|old| old == value));
        }
        let strings: Vec<String> = (0..3000).map(|i| format!("customer number {i}")).collect();
        let distinct: std::collections::HashSet<u64> =
            strings.iter().map(|s| hash_bytes(s.as_bytes())).collect();
        assert_eq!(distinct.len(), strings.len());
        let floats = hashes(&VectorData::F64(vec![0.0, -0.0, f64::NAN, -f64::NAN, 1.0]).into());
        assert_eq!(floats[0], floats[1]);
        assert_eq!(floats[2], floats[3]);
        assert_ne!(floats[0], floats[4]);
    }

    #[test]
    fn order_of_columns_counts() {
        let a: Column = VectorData::I32(vec![1, 2]).into();
        let b: Column = VectorData::I32(vec![2, 1]).into();
        let mut out = Vec::new();
        hash_columns(&[&a, &b], 2, &mut out);
        assert_ne!(out[0], out[1]);
        hash_vector(&Vector::new(VectorData::I32(vec![1, 2])), &mut out);
        assert_eq!(out, hashes(&a));
    }
}
