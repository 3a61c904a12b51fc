//! Planned queries give the rows of naive evaluation.

use sql::algebra::Query;
use testkit::Random;
use types::Value;

use super::data::{Exact, random_table};
use super::{eval, generate, logical, physical};
use crate::{AggregatePlace, IndexPaths, PlanOptions, Technique, explain, plan};

/// Queries tried by one test run.
const QUERIES: u64 = 4000;

fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let by = |a: &Vec<Value>, b: &Vec<Value>| {
        let orders = a.iter().zip(b).map(|(a, b)| match (a.is_null(), b.is_null()) {
            (true, true) => std::cmp::Ordering::Equal,
            (true, false) => std::cmp::Ordering::Greater,
            (false, true) => std::cmp::Ordering::Less,
            _ => eval::order(a, b),
        });
        orders.into_iter().find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    rows.sort_by(by);
    rows
}

/// Outcome of one query.
#[derive(PartialEq, Eq)]
enum Outcome {
    Compared,
    Raised,
}

/// How many plans have an index path of each kind.
#[derive(Debug, Default)]
struct PathsSeen {
    scans: u64,
    joins: u64,
    ranges: u64,
    /// Plans that differ from those without eager aggregation.
    eager: u64,
}

impl PathsSeen {
    fn note(&mut self, query: &Query, options: &PlanOptions) {
        let Ok(planned) = plan(query, &Exact, options) else {
            return;
        };
        let text = explain(&planned, None);
        self.scans += u64::from(text.contains("IndexScan"));
        self.joins += u64::from(text.contains("index join"));
        self.ranges += u64::from(text.contains("range "));
        let switches = options.switches.without(Technique::EagerAggregation);
        let Ok(late) = plan(query, &Exact, &PlanOptions { switches, ..*options }) else {
            return;
        };
        self.eager += u64::from(explain(&late, None) != text);
    }
}

/// Plans and runs `query` both ways; `name` tells which one failed.
fn check(query: &Query, options: &PlanOptions, name: &str) -> Outcome {
    let naive = logical::Interpreter::default().rows(&query.plan, &Default::default());
    let planned = plan(query, &Exact, options);
    let planned = match planned {
        Ok(planned) => planned,
        Err(error) if error.state() == types::SqlState::FEATURE_NOT_SUPPORTED => {
            assert!(error.message().contains("FULL JOIN"), "{name}: {error}");
            return Outcome::Raised;
        }
        Err(error) => panic!("{name}: {error}\n{:#?}", query.plan),
    };
    let Ok(naive) = naive else {
        return Outcome::Raised;
    };
    let expected: Vec<Vec<Value>> = naive
        .iter()
        .map(|row| query.columns.iter().map(|c| row[&c.id].clone()).collect())
        .collect();
    let text = explain(&planned, None);
    let found = match physical::run(&planned) {
        Ok(found) => found,
        // An uncorrelated scalar sub-query is computed before the query: its 21000 comes even
        // when no row asks for its value.
        Err(error) if error.state() == types::SqlState::CARDINALITY_VIOLATION => {
            return Outcome::Raised;
        }
        Err(error) => panic!("{name}: {error}\n{text}\n{:#?}", query.plan),
    };
    let (expected, found) = (sorted(expected), sorted(found));
    let same = expected.len() == found.len()
        && expected.iter().zip(&found).all(|(a, b)| eval::rows_equal(a, b));
    assert!(same, "{name}: expected {expected:?}\nfound {found:?}\n{text}\n{:#?}", query.plan);
    Outcome::Compared
}

#[test]
fn planned_queries_give_the_rows_of_naive_evaluation() {
    compare_queries(&PlanOptions::default());
}

#[test]
fn index_paths_give_the_rows_of_naive_evaluation() {
    compare_queries(&PlanOptions { index_paths: IndexPaths::Prefer, ..PlanOptions::default() });
}

#[test]
fn early_aggregates_give_the_rows_of_naive_evaluation() {
    let aggregate_place = AggregatePlace::Early;
    compare_queries(&PlanOptions { aggregate_place, ..PlanOptions::default() });
}

fn compare_queries(options: &PlanOptions) {
    let first: u64 = std::env::var("PLAN_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count = std::env::var("PLAN_QUERIES").ok().and_then(|s| s.parse().ok()).unwrap_or(QUERIES);
    let (mut compared, mut failed) = (0, Vec::new());
    let mut seen = PathsSeen::default();
    for seed in first..first + count {
        let mut random = Random::new(seed ^ 0x5eed);
        let tables: Vec<_> =
            ["t1", "t2", "t3"].iter().map(|name| random_table(&mut random, name)).collect();
        let query = generate::query(seed, &tables);
        let size = format!("{:?}", query.plan).len();
        let name = format!("seed {seed}");
        seen.note(&query, options);
        let checked = std::panic::AssertUnwindSafe(|| check(&query, options, &name));
        let outcome = std::panic::catch_unwind(checked);
        match outcome {
            Ok(outcome) => compared += u64::from(outcome == Outcome::Compared),
            Err(_) => failed.push((size, seed)),
        }
    }
    failed.sort_unstable();
    assert!(failed.is_empty(), "{} queries fail, the smallest first: {failed:?}", failed.len());
    if options.index_paths == IndexPaths::Prefer && count >= QUERIES {
        assert!(seen.scans > 200 && seen.joins > 400 && seen.ranges > 20, "{seen:?}");
    }
    if options.aggregate_place == AggregatePlace::Early && count >= QUERIES {
        assert!(seen.eager > 300, "{seen:?}");
    }
    assert!(compared * 2 > count, "only {compared} of {count} queries could be compared");
}
