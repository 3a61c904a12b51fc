//! The tables of the storage study, made by chance from a seed.
//!
//! | table | columns | values of column i, from 1 |
//! | --- | --- | --- |
//! | Narrow-U | 10 INTEGER | 1 to 100,000,000 |
//! | Narrow-E | 10 INTEGER | 1 to 2^(2.7 i) |
//! | Wide-E | 50 INTEGER, a fifth of the rows | 1 to 2^(4 + 23/50 i) |
//! | Strings | 10 TEXT of 20 bytes, a fifth of the rows | letters, digits, spaces, periods |
//! | OnePercent | Narrow-U, column 6 of 100 values | 1 to 100,000,000; 1 to 100 |
//!
//! All numbers of a range are equally likely.
//! Source: Patel 2013, section 3.1; Chasseur 2015, section 3.3. Departure: fewer rows.

use kernels::{StrVector, Vector, VectorData};
use storage::{ColumnSpec, Schema};
use testkit::Random;
use types::{DataType, Value};

/// Bytes of each string.
pub(super) const TEXT_BYTES: usize = 20;

/// The characters of strings, each of them as likely.
const CHARACTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .";

/// A value of a string column.
pub(super) type Text = [u8; TEXT_BYTES];

/// Distribution of the values of a table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values {
    /// 1 to this.
    Uniform(u32),
    /// Column `i`, from 1: 1 to 2^(first + step i).
    Exponential { first: f64, step: f64 },
    /// Strings.
    Texts,
    /// As `Uniform`, but one column, by ordinal, is 1 to 100.
    OnePercent { upper: u32, group: usize },
}

/// A table of the study. Columns are ordinals.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableSpec {
    pub(super) name: &'static str,
    pub(super) columns: usize,
    /// Divisor of its rows: one row where Narrow-U has so many.
    pub(super) share: usize,
    pub(super) values: Values,
    /// Column by which blocks are sorted, where they are.
    pub(super) sort: usize,
    /// The column of other predicates, which has the index.
    pub(super) other: usize,
    /// The third column of conjunctions.
    pub(super) third: usize,
    /// Columns of the output.
    pub(super) widths: &'static [usize],
}

const NARROW_WIDTHS: &[usize] = &[0, 1, 3, 5, 10];

pub(super) const NARROW_U: TableSpec = TableSpec {
    name: "Narrow-U",
    columns: 10,
    share: 1,
    values: Values::Uniform(100_000_000),
    sort: 0,
    other: 4,
    third: 7,
    widths: NARROW_WIDTHS,
};

pub(super) const NARROW_E: TableSpec = TableSpec {
    name: "Narrow-E",
    values: Values::Exponential { first: 0.0, step: 2.7 },
    sort: 9,
    ..NARROW_U
};

pub(super) const WIDE_E: TableSpec = TableSpec {
    name: "Wide-E",
    columns: 50,
    share: 5,
    values: Values::Exponential { first: 4.0, step: 23.0 / 50.0 },
    sort: 49,
    other: 24,
    third: 36,
    widths: &[0, 1, 15, 25, 50],
};

pub(super) const STRINGS: TableSpec =
    TableSpec { name: "Strings", share: 5, values: Values::Texts, ..NARROW_U };

pub(super) const ONE_PERCENT: TableSpec = TableSpec {
    name: "OnePercent",
    values: Values::OnePercent { upper: 100_000_000, group: 5 },
    ..NARROW_U
};

/// The rows of a table, column by column, without NULLs.
#[derive(Clone)]
pub(super) struct Data {
    pub(super) spec: TableSpec,
    pub(super) rows: usize,
    pub(super) columns: Vec<Vector>,
}

impl TableSpec {
    /// The largest number of column `column`; None for strings.
    pub(super) fn upper(&self, column: usize) -> Option<u32> {
        match self.values {
            Values::Uniform(upper) => Some(upper),
            Values::Exponential { first, step } => {
                Some((first + step * (column + 1) as f64).exp2().floor() as u32)
            }
            Values::OnePercent { group, .. } if column == group => Some(100),
            Values::OnePercent { upper, .. } => Some(upper),
            Values::Texts => None,
        }
    }

    /// Bytes of a row, as values alone.
    pub(super) fn row_bytes(&self) -> usize {
        self.columns * if matches!(self.values, Values::Texts) { TEXT_BYTES } else { 4 }
    }

    /// Its columns as storage knows them.
    pub(super) fn schema(&self) -> Schema {
        let ty = if self.upper(0).is_some() { DataType::Integer } else { DataType::Text };
        let column = |i| ColumnSpec { not_null: true, ..ColumnSpec::new(format!("c{i}"), ty) };
        (0..self.columns).map(column).collect::<Vec<_>>().into()
    }

    /// As many rows as it has where Narrow-U has `narrow_rows`. Each column has a stream of its
    /// own, so that neither threads nor the other columns change it.
    pub(super) fn generate(&self, narrow_rows: usize, seed: u64, threads: usize) -> Data {
        let rows = (narrow_rows / self.share).max(1);
        let mut columns: Vec<Option<Vector>> = vec![None; self.columns];
        let each = self.columns.div_ceil(threads.max(1));
        std::thread::scope(|scope| {
            for (part, slots) in columns.chunks_mut(each).enumerate() {
                scope.spawn(move || {
                    for (i, slot) in slots.iter_mut().enumerate() {
                        *slot = Some(self.column(part * each + i, rows, seed));
                    }
                });
            }
        });
        Data { spec: *self, rows, columns: columns.into_iter().flatten().collect() }
    }

    fn column(&self, column: usize, rows: usize, seed: u64) -> Vector {
        let mut random = Random::new(seed ^ (column as u64 + 1).wrapping_mul(0x9e37_79b9));
        Vector::new(match self.upper(column) {
            Some(upper) => {
                let number = |_| 1 + random.below(upper.into()) as i32;
                VectorData::I32((0..rows).map(number).collect())
            }
            None => {
                let mut texts: Vec<Text> = vec![[0; TEXT_BYTES]; rows];
                for byte in texts.iter_mut().flatten() {
                    *byte = CHARACTERS[random.below(64) as usize];
                }
                VectorData::Str(texts.iter().map(|text| &text[..]).collect::<StrVector>())
            }
        })
    }
}

impl Data {
    /// Its first `rows` rows, or all it has.
    pub(super) fn head(&self, rows: usize) -> Self {
        let rows = rows.min(self.rows);
        let columns = self.columns.iter().map(|column| column.slice(0, rows)).collect();
        Self { spec: self.spec, rows, columns }
    }

    /// The numbers of a column.
    ///
    /// # Panics
    /// If it has strings.
    pub(super) fn numbers(&self, column: usize) -> &[i32] {
        match &self.columns[column].data {
            VectorData::I32(values) => values,
            _ => unreachable!("a column of numbers"),
        }
    }

    /// The values of `column` in ascending order.
    pub(super) fn sorted(&self, column: usize) -> Sorted {
        match &self.columns[column].data {
            VectorData::Str(texts) => {
                let mut sorted: Vec<Text> = texts.iter().map(text_of).collect();
                sorted.sort_unstable();
                Sorted::Texts(sorted)
            }
            _ => {
                let mut sorted = self.numbers(column).to_vec();
                sorted.sort_unstable();
                Sorted::Numbers(sorted)
            }
        }
    }
}

/// A string of the tables.
pub(super) fn text_of(bytes: &[u8]) -> Text {
    bytes.try_into().expect("strings of these tables have 20 bytes")
}

/// The values of a column in ascending order: where a predicate must begin to select a share.
pub(super) enum Sorted {
    Numbers(Vec<i32>),
    Texts(Vec<Text>),
}

impl Sorted {
    /// The value of this rank, from 0; the last if there are not so many.
    pub(super) fn at(&self, rank: usize) -> Value {
        match self {
            Self::Numbers(values) => Value::I32(values[rank.min(values.len() - 1)]),
            Self::Texts(values) => Value::Str(values[rank.min(values.len() - 1)][..].into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fill_the_ranges_of_the_documents() {
        assert_eq!(
            (0..10).map(|i| NARROW_E.upper(i).expect("numbers")).collect::<Vec<_>>(),
            [6, 42, 274, 1782, 11585, 75281, 489_178, 3_178_688, 20_655_175, 134_217_728]
        );
        assert_eq!((WIDE_E.upper(0), WIDE_E.upper(49)), (Some(22), Some(1 << 27)));
        for spec in [NARROW_U, NARROW_E, WIDE_E, ONE_PERCENT] {
            let data = spec.generate(20_000, 1, 2);
            assert_eq!((data.rows, data.columns.len()), (20_000 / spec.share, spec.columns));
            for column in 0..spec.columns {
                let upper = spec.upper(column).expect("numbers");
                let numbers = data.numbers(column);
                assert!(numbers.iter().all(|&v| v >= 1 && v as u32 <= upper));
                let mean = numbers.iter().map(|&v| f64::from(v)).sum::<f64>() / data.rows as f64;
                assert!((mean / f64::from(upper) - 0.5).abs() < 0.1, "{} {column}", spec.name);
            }
        }
        let (one, two) = (NARROW_E.generate(1000, 7, 1), NARROW_E.generate(1000, 7, 3));
        assert!((0..10).all(|column| one.numbers(column) == two.numbers(column)));
        assert_ne!(one.numbers(9), NARROW_E.generate(1000, 8, 1).numbers(9));
    }

    #[test]
    fn strings_have_twenty_of_sixty_four_characters() {
        let data = STRINGS.generate(5_000, 1, 2);
        assert_eq!((data.rows, STRINGS.row_bytes()), (1000, 200));
        let mut seen = [false; 256];
        for text in data.columns[9].as_str().iter() {
            text_of(text).iter().for_each(|&byte| seen[usize::from(byte)] = true);
        }
        assert_eq!(seen.iter().filter(|seen| **seen).count(), 64);
        assert!(CHARACTERS.iter().all(|&byte| seen[usize::from(byte)]));
    }
}
