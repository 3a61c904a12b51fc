//! The order of a block's rows by one of its columns.

use kernels::{Vector, VectorData};

use crate::fixed::float_key;

/// The rows of `vector`, its values ascending, NULLs last, rows of one value as they were.
pub(super) fn sorted_rows(vector: &Vector) -> Vec<u32> {
    let mut rows = match &vector.data {
        VectorData::Bool(values) => by_key(vector, |row| values[row]),
        VectorData::I32(values) => by_key(vector, |row| values[row]),
        VectorData::I64(values) => by_key(vector, |row| values[row]),
        VectorData::I128(values) => by_key(vector, |row| values[row]),
        VectorData::F64(values) => by_key(vector, |row| float_key(values[row])),
        VectorData::Interval(values) => by_key(vector, |row| values[row].comparable()),
        VectorData::Str(values) => {
            let mut rows = valid_rows(vector);
            rows.sort_by(|&a, &b| values.get(a as usize).cmp(values.get(b as usize)));
            rows
        }
    };
    rows.extend((0..vector.len() as u32).filter(|&row| vector.is_null(row as usize)));
    rows
}

fn valid_rows(vector: &Vector) -> Vec<u32> {
    (0..vector.len() as u32).filter(|&row| !vector.is_null(row as usize)).collect()
}

/// The rows that are not NULL by `key`; keys are copied, so that sorting stays in one array.
fn by_key<K: Ord + Copy>(vector: &Vector, key: impl Fn(usize) -> K) -> Vec<u32> {
    let rows = valid_rows(vector).into_iter();
    let mut keyed: Vec<(K, u32)> = rows.map(|row| (key(row as usize), row)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use kernels::VectorBuilder;
    use testkit::Random;
    use types::{PhysicalType, Value};

    use super::*;

    #[test]
    fn rows_are_sorted_as_single_values_are() {
        let random = &mut Random::new(18);
        for physical in [PhysicalType::I32, PhysicalType::I64, PhysicalType::F64, PhysicalType::Str]
        {
            let mut builder = VectorBuilder::new(physical);
            let mut numbers = Vec::new();
            for _ in 0..500 {
                let number = random.within(-50..50);
                let value = match physical {
                    _ if random.chance(10) => Value::Null,
                    PhysicalType::I32 => Value::I32(number as i32),
                    PhysicalType::I64 => Value::I64(number << 40),
                    PhysicalType::F64 => Value::F64(number as f64 / 8.0),
                    _ => Value::text(&format!("{:03}", number + 50)),
                };
                numbers.push(if value.is_null() { i64::MAX } else { number });
                builder.push_value(&value);
            }
            let mut expected: Vec<u32> = (0..500).collect();
            expected.sort_by_key(|&row| numbers[row as usize]);
            assert_eq!(sorted_rows(&builder.finish()), expected, "{physical:?}");
        }
    }
}
