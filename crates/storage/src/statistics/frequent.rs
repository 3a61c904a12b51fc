//! Values that many rows have, found in a sample: by them joins of skewed columns are estimated.

use std::sync::Arc;

use kernels::{Vector, VectorData};

use super::{hash_bytes, hash_number};

/// Rows of the sample that a frequent value has at least.
const ROWS_MIN: usize = 5;
/// Most frequent values kept.
const VALUES_MAX: usize = 64;

/// Hashes of values, ascending, and the share of rows that have each, NULL apart. Equal values of
/// two columns have equal hashes where both are integers (of any width, scaled alike) or strings.
pub type FrequentValues = Arc<[(u64, f64)]>;

/// The frequent values of a column of the sample; none for types that are not integers or strings.
pub(crate) fn frequent(column: &Vector) -> FrequentValues {
    let valid = (0..column.len()).filter(|&row| !column.is_null(row));
    let integer = |value: i128| hash_number(value as u128);
    let mut hashes: Vec<u64> = match &column.data {
        VectorData::I32(values) => valid.map(|row| integer(values[row].into())).collect(),
        VectorData::I64(values) => valid.map(|row| integer(values[row].into())).collect(),
        VectorData::I128(values) => valid.map(|row| integer(values[row])).collect(),
        VectorData::Str(values) => valid.map(|row| hash_bytes(values.get(row))).collect(),
        _ => Vec::new(),
    };
    hashes.sort_unstable();
    let runs = hashes.chunk_by(|a, b| a == b).filter(|run| run.len() >= ROWS_MIN);
    let mut found: Vec<(u64, usize)> = runs.map(|run| (run[0], run.len())).collect();
    found.sort_unstable_by_key(|&(hash, rows)| (std::cmp::Reverse(rows), hash));
    found.truncate(VALUES_MAX);
    found.sort_unstable();
    let share = |rows: usize| rows as f64 / hashes.len() as f64;
    found.into_iter().map(|(hash, rows)| (hash, share(rows))).collect()
}

#[cfg(test)]
mod tests {
    use kernels::{Bitmap, Vector, VectorData};

    use super::frequent;

    #[test]
    fn shares_are_of_values_and_hashes_alike_for_all_widths() {
        let values: Vec<i32> = (0..1000).map(|i| if i % 4 == 0 { 7 } else { i }).collect();
        let valid = Bitmap::from_fn(1000, |i| i % 2 == 0);
        let narrow = Vector::with_validity(VectorData::I32(values.clone()), Some(valid));
        let found = frequent(&narrow);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, 0.5, "half of the rows that are there");
        let wide = Vector::new(VectorData::I64(values.iter().map(|&v| v.into()).collect()));
        assert_eq!(frequent(&wide)[0].0, found[0].0);
        assert!(frequent(&Vector::new(VectorData::F64(vec![1.0; 100]))).is_empty());
    }

    #[test]
    fn the_most_frequent_are_kept() {
        let values = (0..100i64).flat_map(|v| std::iter::repeat_n(v, 5 + v as usize)).collect();
        let found = frequent(&Vector::new(VectorData::I64(values)));
        assert_eq!(found.len(), 64);
        assert!(found.is_sorted_by_key(|(hash, _)| *hash));
        let least = found.iter().map(|(_, share)| *share).fold(1.0, f64::min);
        assert_eq!(least, f64::from(5 + 36) / f64::from(100 * 5 + 99 * 50));
    }
}
