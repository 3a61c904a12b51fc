//! Nanoseconds per value of the main kernels on 2,048 rows that stay in cache, at the best
//! instruction set of the machine. `cargo bench -p kernels`; the fastest of many runs is printed.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use kernels::aggregate::{self, Rows};
use kernels::arithmetic::{self, Arithmetic, scaled};
use kernels::compare::compare;
use kernels::join_table::KeySet;
use kernels::keys::{KeyField, KeyLayout, Nulls};
use kernels::{Bitmap, Column, StrVector, Vector, VectorData, hash, select, unpack};
use types::{CompareOp, DataType, PhysicalType};

const ROWS: usize = 2048;

/// A fixed stream of pseudo-random numbers.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn measure(name: &str, mut f: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        for _ in 0..20 {
            f();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (20 * ROWS) as f64);
    }
    println!("{name:<44} {best:>7.3} ns");
}

fn selections(stream: &mut Stream) {
    let bytes: Vec<u8> = (0..ROWS).map(|_| stream.below(256) as u8).collect();
    let shorts: Vec<u16> = (0..ROWS).map(|_| stream.below(2560) as u16).collect();
    let ints: Vec<i32> = (0..ROWS).map(|_| stream.below(256) as i32).collect();
    let longs: Vec<i64> = (0..ROWS).map(|_| stream.below(256) as i64).collect();
    let bits = Bitmap::from_fn(256, |i| i % 3 == 0);
    let wide = Bitmap::from_fn(2560, |i| i % 3 == 0);
    let half: Vec<u32> = (0..ROWS as u32).filter(|i| i % 2 == 0).collect();
    let mut out = Vec::with_capacity(ROWS + 64);
    for percent in [2u8, 50, 98] {
        let hi = (u32::from(percent) * 255 / 100) as u8;
        measure(&format!("range_u8, {percent} % selected"), || {
            out.clear();
            select::range_u8(black_box(&bytes), 0, hi, 0, &mut out);
        });
        measure(&format!("range_i32, {percent} % selected"), || {
            out.clear();
            select::range_i32(black_box(&ints), 0, i32::from(hi), 0, &mut out);
        });
    }
    measure("range_u16", || {
        out.clear();
        select::range_u16(black_box(&shorts), 0, 1280, 0, &mut out);
    });
    measure("range_i64", || {
        out.clear();
        select::range_i64(black_box(&longs), 0, 127, 0, &mut out);
    });
    measure("bitset_u8", || {
        out.clear();
        select::bitset_u8(black_box(&bytes), &bits, 0, &mut out);
    });
    measure("bitset_u16", || {
        out.clear();
        select::bitset_u16(black_box(&shorts), &wide, 0, &mut out);
    });
    measure("refine_u8 of half the rows", || {
        out.clear();
        out.extend_from_slice(&half);
        select::refine_u8(black_box(&bytes), 0, 127, &mut out);
    });
    measure("refine_i32 of half the rows", || {
        out.clear();
        out.extend_from_slice(&half);
        select::refine_i32(black_box(&ints), 0, 127, &mut out);
    });
}

fn unpacking(stream: &mut Stream) {
    let bytes: Vec<u8> = (0..ROWS).map(|_| stream.below(256) as u8).collect();
    let shorts: Vec<u16> = (0..ROWS).map(|_| stream.below(256) as u16).collect();
    let dictionary: Vec<i64> = (0..256).collect();
    let half: Vec<u32> = (0..ROWS as u32).filter(|i| i % 2 == 0).collect();
    let (mut ints, mut longs) = (Vec::with_capacity(ROWS), Vec::with_capacity(ROWS));
    measure("add_base u8 -> i32", || {
        ints.clear();
        unpack::add_base(black_box(&bytes), 1000i32, &mut ints);
    });
    measure("add_base u16 -> i64", || {
        longs.clear();
        unpack::add_base(black_box(&shorts), 1000i64, &mut longs);
    });
    measure("add_base_at u16 -> i64, half the rows", || {
        longs.clear();
        unpack::add_base_at(black_box(&shorts), &half, 1000i64, &mut longs);
    });
    measure("lookup u8 -> i64", || {
        longs.clear();
        unpack::lookup(black_box(&bytes), &dictionary, &mut longs);
    });
    measure("lookup_at u16 -> i64, half the rows", || {
        longs.clear();
        unpack::lookup_at(black_box(&shorts), &half, &dictionary, &mut longs);
    });
}

fn values(stream: &mut Stream) {
    let ints: Vec<i32> = (0..ROWS).map(|_| stream.below(1000) as i32).collect();
    let longs: Vec<i64> = (0..ROWS).map(|_| stream.below(100_000) as i64).collect();
    let texts: Vec<String> = (0..ROWS).map(|_| format!("Brand#{}", stream.below(55))).collect();
    let texts: StrVector = texts.iter().map(String::as_bytes).collect();
    let groups: Vec<u32> = (0..ROWS).map(|_| stream.below(6) as u32).collect();
    let int = Vector::new(VectorData::I32(ints));
    let long = Vector::new(VectorData::I64(longs.clone()));
    let text = Vector::new(VectorData::Str(texts));
    let (int_one, long_one) = (int.slice(0, 1), long.slice(0, 1));
    let text_one = text.slice(0, 1);
    measure("compare i32 < constant", || {
        black_box(compare(CompareOp::Less, black_box(&int), &int_one));
    });
    measure("compare i64 = i64", || {
        black_box(compare(CompareOp::Equal, black_box(&long), &long));
    });
    measure("compare text = constant", || {
        black_box(compare(CompareOp::Equal, black_box(&text), &text_one));
    });
    measure("integer i32 + i32, checked", || {
        black_box(arithmetic::integer(Arithmetic::Add, black_box(&int), &int, DataType::Integer))
            .ok();
    });
    measure("integer i64 * i64, checked", || {
        black_box(arithmetic::integer(
            Arithmetic::Multiply,
            black_box(&long),
            &long,
            DataType::BigInt,
        ))
        .ok();
    });
    measure("integer i32 / constant", || {
        black_box(arithmetic::integer(
            Arithmetic::Divide,
            black_box(&int),
            &int_one,
            DataType::Integer,
        ))
        .ok();
    });
    measure("scaled i64 * i64", || {
        let (a, b) = (black_box(&long), &long);
        black_box(scaled(Arithmetic::Multiply, a, b, (1, 1), PhysicalType::I64));
    });
    measure("scaled constant - i64", || {
        let (a, b) = (&long_one, black_box(&long));
        black_box(scaled(Arithmetic::Subtract, a, b, (100, 1), PhysicalType::I64));
    });
    let mut hashes = Vec::with_capacity(ROWS);
    measure("hash i64", || hash::hash_vector(black_box(&long), &mut hashes));
    measure("hash text", || hash::hash_vector(black_box(&text), &mut hashes));
    let columns = [Column::Plain(Arc::new(int.clone())), Column::Plain(Arc::new(long.clone()))];
    let columns: Vec<&Column> = columns.iter().collect();
    measure("hash i32, i64", || hash::hash_columns(black_box(&columns), ROWS, &mut hashes));
    let field = KeyField::new(DataType::Integer, PhysicalType::I32, Nulls::Absent);
    if let Some(layout) = field.and_then(|f| KeyLayout::new(vec![f, f])) {
        measure("pack i32, i32", || {
            black_box(layout.pack_u64(black_box(&[&int, &int])));
        });
    }
    let (mut wide, mut narrow) = ([0i128; 6], [0i64; 6]);
    measure("sum_i64 by group", || {
        aggregate::sum_i64(black_box(&longs), Rows::all(None), &groups, &mut wide);
    });
    measure("sum_i64_narrow by group", || {
        aggregate::sum_i64_narrow(black_box(&longs), Rows::all(None), &groups, &mut narrow);
    });
    measure("total_i64", || {
        black_box(aggregate::total_i64(black_box(&longs), Rows::all(None)));
    });
}

/// The test whether keys occur, which a fifth do: by the key set, and one after the other.
fn keys(stream: &mut Stream) {
    let all: Vec<u32> = (0..ROWS as u32).collect();
    let mut rows = Vec::with_capacity(ROWS);
    for range in [2_556u64, 30_000, 200_000, 1_500_000] {
        let occurs: Vec<bool> = (0..range).map(|_| stream.below(5) == 0).collect();
        let present = (0..range).filter(|&key| occurs[key as usize]);
        let list: Vec<i64> = present.map(|key| key as i64).collect();
        let set = KeySet::new(list.iter().copied()).expect("there are keys");
        let mut words = vec![0u64; range.div_ceil(64) as usize];
        list.iter().for_each(|key| words[*key as usize / 64] |= 1 << (key % 64));
        // Each run has other keys, as in a scan: one window would be learned by heart.
        let windows: Vec<Vec<i32>> =
            (0..64).map(|_| (0..ROWS).map(|_| stream.below(range) as i32).collect()).collect();
        let wide: Vec<Vec<i64>> =
            windows.iter().map(|keys| keys.iter().map(|&key| i64::from(key)).collect()).collect();
        let mut next = (0..windows.len()).cycle();
        measure(&format!("one by one, {range} keys"), || {
            let keys = black_box(&windows[next.next().unwrap_or(0)]);
            rows.clear();
            rows.extend_from_slice(&all);
            let mut kept = 0;
            for (i, &key) in keys.iter().enumerate() {
                rows[kept] = all[i];
                let key = key as u64;
                let inside = key < range;
                let word = words[if inside { (key / 64) as usize } else { 0 }];
                kept += usize::from(inside & (word >> (key % 64) & 1 == 1));
            }
            rows.truncate(kept);
            black_box(&rows);
        });
        measure(&format!("key_set of INTEGER, {range} keys"), || {
            rows.clear();
            rows.extend_from_slice(&all);
            set.retain(black_box(&windows[next.next().unwrap_or(0)]), &mut rows);
            black_box(&rows);
        });
        measure(&format!("key_set of BIGINT, {range} keys"), || {
            rows.clear();
            rows.extend_from_slice(&all);
            set.retain(black_box(&wide[next.next().unwrap_or(0)]), &mut rows);
            black_box(&rows);
        });
    }
}

fn main() {
    println!("{ROWS} rows, {:?}", kernels::level());
    let mut stream = Stream(42);
    selections(&mut stream);
    unpacking(&mut stream);
    values(&mut stream);
    keys(&mut stream);
}
