//! YCSB: records by key, in six mixes.
//!
//! Source: Cooper et al. 2010, "Benchmarking Cloud Serving Systems with YCSB", section 4: keys
//! `user` and a number that is hashed, ten fields of 100 bytes, workloads A to F. Keys are chosen
//! by Gray et al. 1994, "Quickly Generating Billion-Record Synthetic Databases" (zipfian, 0.99).

use std::sync::atomic::{AtomicI64, Ordering};

use testkit::Random;

use super::client::{Client, Failure, Prepared};
use super::{Effect, Workload};

/// Shares of operations, in percent.
#[derive(Clone, Copy)]
pub(super) struct Mix {
    letter: char,
    read: u64,
    update: u64,
    scan: u64,
    insert: u64,
    /// Where reads go.
    chosen: Chosen,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    Zipfian,
    /// The record inserted last most often.
    Latest,
}

const fn mix(letter: char, [read, update, scan, insert]: [u64; 4]) -> Mix {
    Mix { letter, read, update, scan, insert, chosen: Chosen::Zipfian }
}

/// The six workloads; what remains to 100 reads, changes and writes.
pub(super) const MIXES: [Mix; 6] = [
    mix('a', [50, 50, 0, 0]),
    mix('b', [95, 5, 0, 0]),
    mix('c', [100, 0, 0, 0]),
    Mix { chosen: Chosen::Latest, ..mix('d', [95, 0, 0, 5]) },
    mix('e', [0, 0, 95, 5]),
    mix('f', [50, 0, 0, 0]),
];

const FIELDS: usize = 10;
const THETA: f64 = 0.99;
const SCAN_MAX: i64 = 100;

/// The workload.
pub(super) struct Ycsb {
    mix: Mix,
    filled: i64,
    /// The number that the next record gets.
    next: AtomicI64,
    zipf: Zipf,
}

impl Ycsb {
    /// `records` records to begin with.
    pub(super) fn new(mix: Mix, records: i64) -> Self {
        Self { mix, filled: records, next: AtomicI64::new(records), zipf: Zipf::new(records) }
    }

    fn key(&self, random: &mut Random) -> String {
        let rank = self.zipf.draw(random);
        match self.mix.chosen {
            Chosen::Zipfian => key_of(hashed(rank) % self.filled),
            // Numbers beyond those filled may be of inserts that are not committed.
            Chosen::Latest => key_of(self.next.load(Ordering::Relaxed) - 1 - rank),
        }
    }
}

/// The key of record `number`: not in the order of numbers.
fn key_of(number: i64) -> String {
    format!("user{:019}", hashed(number))
}

/// A number above 0, another one for another one: also what SQL below says.
fn hashed(number: i64) -> i64 {
    (number + 1) * 2_654_435_761 % 9_007_199_254_740_881
}

/// Ranks from 0, the lower the likelier.
struct Zipf {
    items: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    fn new(items: i64) -> Self {
        let zeta = |n: i64| (1..=n).map(|i| (i as f64).powf(-THETA)).sum::<f64>();
        let (all, items) = (zeta(items), items as f64);
        let eta = (1.0 - (2.0 / items).powf(1.0 - THETA)) / (1.0 - zeta(2) / all);
        Self { items, zeta: all, eta }
    }

    fn draw(&self, random: &mut Random) -> i64 {
        let u = random.unit();
        let scaled = u * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5f64.powf(THETA) {
            return 1;
        }
        let rank = self.items * (self.eta * u - self.eta + 1.0).powf(1.0 / (1.0 - THETA));
        (rank as i64).min(self.items as i64 - 1)
    }
}

fn field(random: &mut Random) -> String {
    (0..100).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}

impl Workload for Ycsb {
    fn name(&self) -> String {
        format!("ycsb-{}", self.mix.letter)
    }

    fn fill(&self) -> Vec<String> {
        self.next.store(self.filled, Ordering::Relaxed);
        let fields: Vec<String> = (0..FIELDS).map(|i| format!("field{i} varchar(100)")).collect();
        let value = |i: usize| format!("repeat(chr(97 + ((n + {i}) % 26)::int), 100)");
        let values: Vec<String> = (0..FIELDS).map(value).collect();
        vec![
            "DROP TABLE IF EXISTS usertable".into(),
            format!(
                "CREATE TABLE usertable (ycsb_key varchar(32) PRIMARY KEY, {})",
                fields.join(", ")
            ),
            format!(
                "INSERT INTO usertable SELECT 'user' ||
                 lpad(((n + 1) * 2654435761 % 9007199254740881)::text, 19, '0'), {}
                 FROM generate_series(0::bigint, {} - 1) AS g(n)",
                values.join(", "),
                self.filled
            ),
        ]
    }

    fn statements(&self) -> Vec<Prepared> {
        let new = Prepared::new;
        let marks: Vec<String> = (0..=FIELDS).map(|i| format!("${}", i + 1)).collect();
        let mut all = vec![
            new("SELECT * FROM usertable WHERE ycsb_key = $1", "s"),
            new("SELECT * FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2", "sl"),
            new(
                &format!("INSERT INTO usertable VALUES ({})", marks.join(", ")),
                &"s".repeat(FIELDS + 1),
            ),
        ];
        let update = |i: usize| format!("UPDATE usertable SET field{i} = $1 WHERE ycsb_key = $2");
        all.extend((0..FIELDS).map(|i| new(&update(i), "ss")));
        all
    }

    fn transact(&self, client: &mut Client, random: &mut Random) -> Result<Effect, Failure> {
        let Mix { read, update, scan, insert, .. } = self.mix;
        let drawn = random.below(100);
        let key = self.key(random);
        let (value, at) = (field(random), 3 + random.below(FIELDS as u64) as usize);
        if drawn < read {
            let found = client.query(0, &[&key])?.len() as i64;
            return Ok(Effect::second(i64::from(found == 0 && self.mix.insert == 0)));
        }
        if drawn < read + update {
            client.execute(at, &[&value, &key])?;
            return Ok(Effect::default());
        }
        if drawn < read + update + scan {
            client.query(1, &[&key, &random.within(1..SCAN_MAX + 1)])?;
            return Ok(Effect::default());
        }
        if drawn < read + update + scan + insert {
            let key = key_of(self.next.fetch_add(1, Ordering::Relaxed));
            let fields: Vec<String> = (0..FIELDS).map(|_| field(random)).collect();
            let mut values: Vec<&(dyn postgres::types::ToSql + Sync)> = vec![&key];
            values.extend(fields.iter().map(|field| field as &(dyn postgres::types::ToSql + Sync)));
            client.execute(2, &values)?;
            return Ok(Effect::first(1));
        }
        client.transaction(|client| {
            client.one(0, &[&key])?;
            client.execute(at, &[&value, &key])
        })?;
        Ok(Effect::default())
    }

    fn invariants(&self, effects: Effect) -> Vec<(String, i64)> {
        vec![
            ("SELECT count(*) FROM usertable".into(), self.filled + effects.first),
            // No read of a record that was there from the start found nothing.
            (format!("SELECT {}::bigint", effects.second), 0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use testkit::Random;

    use super::{MIXES, Ycsb, Zipf, hashed, key_of};

    #[test]
    fn keys_are_distinct_and_low_ranks_are_likely() {
        let keys: HashSet<String> = (0..10_000).map(key_of).collect();
        assert_eq!(keys.len(), 10_000);
        assert!((0..10_000).all(|n| hashed(n) > 0));
        let (zipf, mut random) = (Zipf::new(1000), Random::new(1));
        let mut counts = [0; 1000];
        (0..100_000).for_each(|_| counts[zipf.draw(&mut random) as usize] += 1);
        // One over the sum of i^-0.99 for i up to 1,000: 0.129.
        assert!((12_000..13_800).contains(&counts[0]), "{}", counts[0]);
        assert!(counts[0] > counts[1] && counts[1] > counts[10] && counts[10] > counts[300]);
        assert!(counts[500..].iter().sum::<i32>() > 5_000);
    }

    #[test]
    fn shares_of_operations_are_at_most_all() {
        for mix in MIXES {
            assert!(mix.read + mix.update + mix.scan + mix.insert <= 100, "{}", mix.letter);
            let workload = Ycsb::new(mix, 100);
            let mut random = Random::new(2);
            let filled: HashSet<String> = (0..100).map(key_of).collect();
            assert!((0..1000).all(|_| filled.contains(&workload.key(&mut random))));
        }
    }
}
