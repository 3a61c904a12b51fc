//! Estimates of a column of many rows from a few: for tables that nobody has gathered yet.

use kernels::{Vector, VectorData};

use super::{hash_bytes, hash_number};
use crate::fixed::{Fixed, with_fixed};

/// One column of a few rows.
#[derive(Debug)]
pub(crate) struct Few {
    rows: usize,
    values: usize,
    /// Different values.
    different: usize,
    /// Values that one row has.
    single: usize,
    string_bytes: usize,
}

impl Few {
    /// The column `vector` of some rows.
    pub(crate) fn of(vector: &Vector) -> Self {
        let valid = (0..vector.len()).filter(|&i| !vector.is_null(i));
        let mut string_bytes = 0;
        let mut hashes: Vec<u64> = match &vector.data {
            VectorData::Str(strings) => valid
                .map(|i| {
                    string_bytes += strings.get(i).len();
                    hash_bytes(strings.get(i))
                })
                .collect(),
            data => with_fixed!(vector.physical(), T => {
                let values = <T as Fixed>::slice(data);
                valid.map(|i| hash_number(values[i].key() as u128)).collect()
            }, unreachable!("strings have their own arm")),
        };
        hashes.sort_unstable();
        let runs = || hashes.chunk_by(|a, b| a == b);
        Self {
            rows: vector.len(),
            values: hashes.len(),
            different: runs().count(),
            single: runs().filter(|run| run.len() == 1).count(),
            string_bytes,
        }
    }

    /// Estimated different values in `rows` rows.
    ///
    /// Source: Haas and Stokes 1998, the estimator Duj1, which PostgreSQL uses too.
    pub(crate) fn distinct(&self, rows: u64) -> f64 {
        if self.values == 0 {
            return 0.0;
        }
        let (n, d, f1) = (self.values as f64, self.different as f64, self.single as f64);
        let all = (rows as f64 * (1.0 - self.null_fraction())).max(n);
        (n * d / (n - f1 + f1 * n / all)).clamp(d, all)
    }

    /// Share of NULLs.
    pub(crate) fn null_fraction(&self) -> f64 {
        (self.rows - self.values) as f64 / self.rows.max(1) as f64
    }

    /// Average bytes of strings.
    pub(crate) fn bytes_average(&self) -> f64 {
        self.string_bytes as f64 / self.values.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use kernels::{Bitmap, Vector, VectorData};

    use super::{Few, hash_number};

    #[test]
    fn keys_are_as_many_as_rows_and_few_values_stay_few() {
        let keys = Few::of(&Vector::new(VectorData::I64((0..1000).map(|i| i * 7).collect())));
        assert_eq!(keys.distinct(1_000_000), 1_000_000.0);
        let few = Few::of(&Vector::new(VectorData::I64((0..1000).map(|i| i % 10).collect())));
        assert_eq!(few.distinct(1_000_000), 10.0);
        // Each of 2,000 values has 500 rows; a sample of 1,000 meets about 787 of them.
        let some = (0..1000u64).map(|i| hash_number(i.into()) % 2000);
        let some = Few::of(&Vector::new(VectorData::I64(some.map(|v| v as i64).collect())));
        let found = some.distinct(1_000_000);
        assert!((700.0..3000.0).contains(&found), "{found}");
    }

    #[test]
    fn nulls_are_no_values_and_strings_have_bytes() {
        let texts = ["a", "bcd", "a", ""].into_iter().map(str::as_bytes).collect();
        let valid = Some(Bitmap::from_fn(4, |i| i != 3));
        let few = Few::of(&Vector::with_validity(VectorData::Str(texts), valid));
        assert_eq!((few.null_fraction(), few.bytes_average()), (0.25, 5.0 / 3.0));
        assert_eq!(Few::of(&Vector::new(VectorData::I64(Vec::new()))).distinct(10), 0.0);
    }
}
