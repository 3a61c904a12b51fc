//! Estimates as bytes, for files that checkpoints keep.
//!
//! ```text
//! | 247 | types | rows | distinct, NULLs, bytes, frequent, clustered of each column | sample |
//! | 248 | blocks | rows, NULLs, string bytes, sketch of each column |
//!       | threshold, priorities, sample |
//! sample: rows, then of each column: has NULLs, a byte for each row if so, values
//! ```
//! Numbers are varints, shares eight bytes. The second part is what loads brought: by it, later
//! gathering need not read these blocks. Invariant: what is read back fits the types of the table.
//! Elsewhere: who writes and reads (`table::stored_statistics`), files (`txn::checkpoint`).

use std::collections::HashSet;
use std::sync::Arc;

use kernels::{Bitmap, StrBuilder, Vector, VectorData};
use types::PhysicalType;
use types::codec::{Input, Malformed, put_bytes, put_u64, read_u64};

use super::known::Loaded;
use super::sketch::Sketch;
use super::{ColumnEstimates, ColumnSummary, Estimates, Sample};
use crate::fixed::{Fixed, value_bytes, with_fixed};

const ESTIMATES: u8 = 247;
const LOADED: u8 = 248;

/// Bytes of strings in a sample beyond which nothing is kept: reading them back would take longer
/// than looking at a few rows.
const STRING_BYTES_MAX: usize = 8 << 20;

/// Estimates and what loads brought as bytes, for [`read`]; None when samples are too long.
pub(crate) fn write(
    estimates: &Estimates,
    types: &[PhysicalType],
    mut loaded: Loaded,
) -> Option<Vec<u8>> {
    let sample: Vec<Vector> =
        estimates.sample.columns.iter().map(|column| column.to_vector().into_owned()).collect();
    let of_loads = loaded.sample.columns().to_vec();
    if string_bytes(&sample) + string_bytes(&of_loads) > STRING_BYTES_MAX {
        return None;
    }
    let mut out = vec![ESTIMATES];
    put_u64(&mut out, types.len() as u64);
    out.extend(types.iter().map(|ty| ty.number()));
    put_u64(&mut out, estimates.rows);
    estimates.columns.iter().for_each(|column| put_estimates(&mut out, column));
    put_sample(&mut out, &sample, estimates.sample.rows);
    out.push(LOADED);
    put_u64(&mut out, loaded.blocks.len() as u64);
    loaded.blocks.iter().for_each(|block| put_u64(&mut out, *block));
    for summary in &loaded.summaries {
        put_u64(&mut out, summary.rows);
        put_u64(&mut out, summary.nulls);
        put_u64(&mut out, summary.string_bytes);
        out.extend_from_slice(summary.sketch.registers());
    }
    put_f64(&mut out, loaded.sample.threshold());
    put_u64(&mut out, loaded.sample.priorities().len() as u64);
    loaded.sample.priorities().iter().for_each(|priority| put_f64(&mut out, *priority));
    put_sample(&mut out, &of_loads, loaded.sample.rows());
    Some(out)
}

/// Reads what [`write`] wrote of a table with columns of `types`.
///
/// # Errors
/// Where the bytes are none of such a table.
pub(crate) fn read(bytes: &[u8], types: &[PhysicalType]) -> Result<(Estimates, Loaded), Malformed> {
    let mut input = Input::new(bytes);
    expect(&mut input, ESTIMATES)?;
    let found = input.bytes()?;
    if !found.iter().copied().eq(types.iter().map(|ty| ty.number())) {
        return Err(input.malformed("the types of the table before"));
    }
    let rows = input.u64()?;
    let columns = types.iter().map(|_| take_estimates(&mut input));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let (sample, _) = take_sample(&mut input, types)?;
    let estimates = Estimates::new(rows, columns, &sample);
    expect(&mut input, LOADED)?;
    let mut blocks = HashSet::new();
    for _ in 0..input.count(1)? {
        blocks.insert(input.u64()?);
    }
    let summaries = types.iter().map(|_| take_summary(&mut input));
    let summaries = summaries.collect::<Result<Vec<_>, _>>()?;
    let threshold = take_f64(&mut input)?;
    let priorities = input.count(8)?;
    let priorities = (0..priorities).map(|_| take_f64(&mut input));
    let priorities = priorities.collect::<Result<Vec<_>, _>>()?;
    let (columns, rows) = take_sample(&mut input, types)?;
    if rows != priorities.len() || !input.is_empty() {
        return Err(input.malformed("the end, behind as many rows as priorities"));
    }
    let sample = Sample::of(types, threshold, priorities, columns);
    Ok((estimates, Loaded { summaries, sample, blocks }))
}

fn string_bytes(columns: &[Vector]) -> usize {
    let bytes = |column: &Vector| match &column.data {
        VectorData::Str(strings) => strings.iter().map(<[u8]>::len).sum(),
        _ => 0,
    };
    columns.iter().map(bytes).sum()
}

fn expect(input: &mut Input<'_>, tag: u8) -> Result<(), Malformed> {
    if input.u8()? == tag { Ok(()) } else { Err(input.malformed(format!("{tag} before"))) }
}

fn put_f64(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn take_f64(input: &mut Input<'_>) -> Result<f64, Malformed> {
    let value = f64::from_bits(read_u64(input.take(8)?, 0));
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(input.malformed("a share or a count before"))
    }
}

fn put_estimates(out: &mut Vec<u8>, column: &ColumnEstimates) {
    put_f64(out, column.distinct);
    put_f64(out, column.null_fraction);
    put_f64(out, column.bytes_average);
    put_u64(out, column.frequent.len() as u64);
    for (hash, share) in column.frequent.iter() {
        out.extend_from_slice(&hash.to_le_bytes());
        put_f64(out, *share);
    }
    out.push(u8::from(column.clustered));
}

fn take_estimates(input: &mut Input<'_>) -> Result<ColumnEstimates, Malformed> {
    let (distinct, null_fraction) = (take_f64(input)?, take_f64(input)?);
    let bytes_average = take_f64(input)?;
    let frequent = (0..input.count(16)?).map(|_| {
        let hash = read_u64(input.take(8)?, 0);
        Ok((hash, take_f64(input)?))
    });
    let frequent = frequent.collect::<Result<Arc<[_]>, Malformed>>()?;
    let clustered = input.u8()? != 0;
    Ok(ColumnEstimates { distinct, null_fraction, bytes_average, frequent, clustered })
}

fn take_summary(input: &mut Input<'_>) -> Result<ColumnSummary, Malformed> {
    let (rows, nulls, string_bytes) = (input.u64()?, input.u64()?, input.u64()?);
    if nulls > rows {
        return Err(input.malformed("fewer NULLs than rows before"));
    }
    let sketch = Sketch::of(input.take(Sketch::BYTES)?);
    let sketch = sketch.ok_or_else(|| input.malformed("registers before"))?;
    // Bounds are those of the table, not of what loads brought.
    Ok(ColumnSummary { rows, nulls, string_bytes, sketch, ..ColumnSummary::nulls(0) })
}

fn put_sample(out: &mut Vec<u8>, columns: &[Vector], rows: usize) {
    put_u64(out, rows as u64);
    columns.iter().for_each(|column| put_column(out, column));
}

fn put_column(out: &mut Vec<u8>, column: &Vector) {
    let rows = 0..column.len();
    out.push(u8::from(column.validity.is_some()));
    if column.validity.is_some() {
        out.extend(rows.clone().map(|row| u8::from(column.is_null(row))));
    }
    with_fixed!(column.physical(), T => {
        let width = value_bytes(column.physical());
        for value in <T as Fixed>::slice(&column.data) {
            let words = value.to_words();
            let bytes = words.map(u64::to_le_bytes);
            out.extend_from_slice(&bytes.as_flattened()[..width]);
        }
    }, {
        let strings = column.as_str();
        rows.for_each(|row| {
            let text = if column.is_null(row) { b"" } else { strings.get(row) };
            put_bytes(out, text);
        });
    });
}

fn take_sample(
    input: &mut Input<'_>,
    types: &[PhysicalType],
) -> Result<(Vec<Vector>, usize), Malformed> {
    let rows = input.count(types.len())?;
    let columns = types.iter().map(|ty| take_column(input, *ty, rows));
    Ok((columns.collect::<Result<Vec<_>, _>>()?, rows))
}

fn take_column(input: &mut Input<'_>, ty: PhysicalType, rows: usize) -> Result<Vector, Malformed> {
    let validity = match input.u8()? {
        0 => None,
        _ => {
            let nulls = input.take(rows)?;
            Some(Bitmap::from_fn(rows, |row| nulls[row] == 0))
        }
    };
    let data = with_fixed!(ty, T => {
        let width = value_bytes(ty);
        let bytes = input.take(rows.saturating_mul(width))?;
        let value = |bytes: &[u8]| {
            let mut words = [0; 16];
            words[..width].copy_from_slice(bytes);
            <T as Fixed>::from_words([read_u64(&words, 0), read_u64(&words, 8)])
        };
        <T as Fixed>::data(bytes.chunks_exact(width).map(value).collect())
    }, {
        let mut builder = StrBuilder::with_capacity(rows);
        for _ in 0..rows {
            // Text was valid when it was sampled; a checksum stands for it.
            builder.push(input.bytes()?);
        }
        VectorData::Str(builder.finish())
    });
    Ok(Vector::with_validity(data, validity))
}

#[cfg(test)]
mod tests {
    use kernels::{Bitmap, StrBuilder, Vector, VectorData};
    use testkit::Random;
    use types::{Interval, PhysicalType};

    use super::{read, write};
    use crate::statistics::known::Loaded;
    use crate::statistics::{ColumnSummary, Estimates, Sample};

    const TYPES: [PhysicalType; 7] = PhysicalType::ALL;

    fn column(ty: PhysicalType, rows: usize, random: &mut Random) -> Vector {
        let mut bits = || random.bits() >> random.below(64);
        let data = match ty {
            PhysicalType::Bool => VectorData::Bool((0..rows).map(|_| (bits() & 1) as u8).collect()),
            PhysicalType::I32 => VectorData::I32((0..rows).map(|_| bits() as i32).collect()),
            PhysicalType::I64 => VectorData::I64((0..rows).map(|_| bits() as i64).collect()),
            PhysicalType::I128 => {
                let mut wide = || i128::from(bits() as i64) << 60 ^ i128::from(bits());
                VectorData::I128((0..rows).map(|_| wide()).collect())
            }
            PhysicalType::F64 => {
                let ends = [f64::NAN, f64::NEG_INFINITY, -0.0, 0.25];
                VectorData::F64((0..rows).map(|_| ends[bits() as usize % 4]).collect())
            }
            PhysicalType::Interval => {
                let mut interval = || Interval {
                    months: bits() as i32,
                    days: bits() as i32,
                    micros: bits() as i64,
                };
                VectorData::Interval((0..rows).map(|_| interval()).collect())
            }
            PhysicalType::Str => {
                let mut builder = StrBuilder::with_capacity(rows);
                (0..rows).for_each(|_| builder.push("ä€x".repeat(bits() as usize % 9).as_bytes()));
                VectorData::Str(builder.finish())
            }
        };
        let validity = random.chance(50).then(|| Bitmap::from_fn(rows, |row| row % 3 != 1));
        Vector::with_validity(data, validity)
    }

    fn some(seed: u64) -> (Estimates, Loaded) {
        let mut random = Random::new(seed);
        let rows = random.below(200) as usize;
        let columns: Vec<_> = TYPES.iter().map(|ty| column(*ty, rows, &mut random)).collect();
        let summaries: Vec<_> = columns.iter().map(ColumnSummary::of).collect();
        let mut sample = Sample::new(&TYPES, 1.0);
        sample.add(&columns.iter().collect::<Vec<_>>(), rows, seed);
        let made = Estimates::gathered(rows as u64, &[], &summaries, &mut sample.clone());
        (made, Loaded { summaries, sample, blocks: [0, 7, seed].into() })
    }

    #[test]
    fn estimates_come_back() {
        for seed in 0..100 {
            let (estimates, loaded) = some(seed);
            let bytes = write(&estimates, &TYPES, loaded.clone()).expect("short strings");
            let (again, loads) = read(&bytes, &TYPES).expect("what was written");
            // Each value, NaN and negative zero included, as it was.
            assert_eq!(format!("{:?}", again.columns), format!("{:?}", estimates.columns));
            let rows = |estimates: &Estimates| {
                let columns = estimates.sample.columns.iter();
                let values = columns.map(|c| {
                    let vector = c.to_vector();
                    format!("{:?}", (0..vector.len()).map(|i| vector.value(i)).collect::<Vec<_>>())
                });
                values.collect::<Vec<_>>()
            };
            assert_eq!(rows(&again), rows(&estimates));
            assert_eq!((again.rows, &loads.blocks), (estimates.rows, &loaded.blocks));
            for (a, b) in loads.summaries.iter().zip(&loaded.summaries) {
                assert_eq!((a.rows, a.nulls, a.string_bytes), (b.rows, b.nulls, b.string_bytes));
                assert_eq!(a.sketch, b.sketch);
            }
            assert_eq!(loads.sample.priorities(), loaded.sample.priorities());
            // Written once more they are the same bytes but for the order of blocks.
            let more = write(&again, &TYPES, loads).expect("short strings");
            assert_eq!(more.len(), bytes.len());
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let (estimates, loaded) = some(5);
        let bytes = write(&estimates, &TYPES, loaded).expect("short strings");
        let mut other = TYPES;
        other.swap(0, 1);
        assert!(read(&bytes, &other).is_err());
        let mut random = Random::new(9);
        for _ in 0..2000 {
            let mut bytes = bytes.clone();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.bits() as u8;
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
            // Whatever they say, reading ends.
            let _ = read(&bytes, &TYPES);
        }
    }
}
