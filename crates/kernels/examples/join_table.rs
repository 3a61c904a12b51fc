//! Nanoseconds per build row and per probe row of the join tables, for tables that stay in the
//! cache and larger ones. `cargo run --release -p kernels --example join_table [PROBE_ROWS]`

use std::time::Instant;

use kernels::join_table::{
    Candidates, DenseTable, HashTable, JoinTable, KeyCoder, KeySet, NullCode, Pairs,
};
use kernels::{BATCH_ROWS, Column, Vector, VectorData};
use testkit::Random;

/// Best of 15, in nanoseconds per row.
fn time(rows: usize, mut run: impl FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as f64 / rows as f64
    };
    (0..15).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min)
}

/// Keys 0, step, 2 * step ..., in random order.
fn keys(rows: usize, step: i64) -> Vec<i64> {
    let mut random = Random::new(1);
    let mut keys: Vec<i64> = (0..rows as i64).map(|i| i * step).collect();
    for i in (1..rows).rev() {
        keys.swap(i, random.below(i as u64 + 1) as usize);
    }
    keys
}

fn measure(name: &str, build: &[i64], probe: &[i64], make: impl Fn(&[u64], u64) -> JoinTable) {
    let vector = Vector::new(VectorData::I64(build.to_vec()));
    let mut table = None;
    let build_ns = time(build.len(), || {
        let coder = KeyCoder::new(&[&vector], &[NullCode::Miss]);
        let mut codes = Vec::new();
        coder.encode_vectors(&[&vector], 0..build.len(), &mut codes);
        table = Some((make(&codes, coder.range().unwrap_or(0)), coder));
    });
    let Some((table, coder)) = table else { return };
    let batches: Vec<Column> = probe
        .chunks(BATCH_ROWS)
        .map(|keys| Column::plain(Vector::new(VectorData::I64(keys.to_vec()))))
        .collect();
    let (mut codes, mut candidates) = (Vec::new(), Candidates::default());
    let (mut pairs, mut found) = (Pairs::default(), 0);
    let probe_ns = time(probe.len(), || {
        found = 0;
        for batch in &batches {
            coder.encode(&[batch], batch.len(), &mut codes);
            table.first(&codes, &mut candidates, &mut pairs);
            found += pairs.len();
        }
    });
    println!(
        "{name:10} {:>9} rows {:>10} bytes  build {build_ns:6.2} ns  probe {probe_ns:6.2} ns \
         {:3.0} %",
        build.len(),
        table.bytes(),
        found as f64 * 100.0 / probe.len() as f64,
    );
}

fn main() {
    let probes = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(600_000);
    for rows in [10_000usize, 200_000, 1_500_000] {
        for (share, of) in [(100, 1), (10, 10)] {
            let mut random = Random::new(2);
            // A key is present in `share` of 100 cases.
            let picked =
                |random: &mut Random, step: i64| random.below(rows as u64 * of) as i64 * step;
            println!("{rows} build rows, about {share} % of probes match");
            let probe: Vec<i64> = (0..probes).map(|_| picked(&mut random, 1)).collect();
            let build = keys(rows, 1);
            measure("dense", &build, &probe, |codes, range| {
                JoinTable::Dense(DenseTable::build(codes, range))
            });
            measure("narrow", &build, &probe, |codes, _| {
                JoinTable::Narrow(HashTable::from_codes(codes))
            });
            let far: Vec<i64> = probe.iter().map(|k| k * 1_000_003).collect();
            measure("wide", &keys(rows, 1_000_003), &far, |codes, _| {
                JoinTable::Wide(HashTable::from_codes(codes))
            });
            for (name, keys, probe) in
                [("exact set", &build, &probe), ("bloom set", &keys(rows, 1_000_003), &far)]
            {
                let Some(set) = KeySet::new(keys.iter().copied()) else {
                    return;
                };
                let mut kept = 0;
                let ns = time(probe.len(), || {
                    kept = 0;
                    for batch in probe.chunks(BATCH_ROWS) {
                        let mut rows: Vec<u32> = (0..batch.len() as u32).collect();
                        set.retain(batch, &mut rows);
                        kept += rows.len();
                    }
                });
                let percent = kept as f64 * 100.0 / probe.len() as f64;
                println!(
                    "{name:10} {:>26} bytes  test {ns:24.2} ns  {percent:3.1} % pass",
                    set.bytes()
                );
            }
        }
    }
}
