//! Every loop against a model that goes row by row.

use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Extremes, values};
use types::Interval;

use super::*;
use crate::StrVector;
use crate::level::at_every_level;

const GROUPS: usize = 5;

/// Values, validity, selection and the group of each selected row.
#[derive(Clone, Debug)]
struct Input<T> {
    values: Vec<T>,
    validity: Option<Bitmap>,
    selection: Option<Vec<u32>>,
    groups: Vec<u32>,
}

impl<T: Copy> Input<T> {
    fn rows(&self) -> Rows<'_> {
        Rows { validity: self.validity.as_ref(), selection: self.selection.as_deref() }
    }

    /// Group and value of each row that counts.
    fn model(&self) -> Vec<(usize, T)> {
        let all: Vec<u32> = (0..self.values.len() as u32).collect();
        let selection = self.selection.as_ref().unwrap_or(&all);
        selection
            .iter()
            .zip(&self.groups)
            .filter(|(i, _)| self.validity.as_ref().is_none_or(|v| v.get(**i as usize)))
            .map(|(&i, &group)| (group as usize, self.values[i as usize]))
            .collect()
    }
}

fn input<T: Extremes>() -> impl Strategy<Value = Input<T>> {
    let rows = vec((values::<T>(), any::<bool>(), any::<bool>(), 0..GROUPS as u32), 0..200);
    (rows, any::<bool>(), any::<bool>()).prop_map(|(rows, nulls, selected)| {
        let selection: Option<Vec<u32>> =
            selected.then(|| (0..rows.len() as u32).filter(|&i| rows[i as usize].2).collect());
        let count = selection.as_ref().map_or(rows.len(), Vec::len);
        Input {
            values: rows.iter().map(|r| r.0).collect(),
            validity: nulls.then(|| Bitmap::from_fn(rows.len(), |i| rows[i].1)),
            groups: rows.iter().take(count).map(|r| r.3).collect(),
            selection,
        }
    })
}

fn check_extremes<T: Extremes + crate::compare::Ordered>(input: &Input<T>) {
    for which in [Extreme::Min, Extreme::Max] {
        let better = |new: T, old: T| match which {
            Extreme::Min => new.less(old),
            Extreme::Max => old.less(new),
        };
        let (mut state, mut seen) = ([input.values.first().copied(); GROUPS], [0u8; GROUPS]);
        let mut expected: [Option<T>; GROUPS] = [None; GROUPS];
        let mut total: Option<T> = None;
        for (group, v) in input.model() {
            if expected[group].is_none_or(|old| better(v, old)) {
                expected[group] = Some(v);
            }
            if total.is_none_or(|old| better(v, old)) {
                total = Some(v);
            }
        }
        let got = extreme_total(which, &input.values, input.rows(), None);
        assert_eq!(got.is_some(), total.is_some());
        assert!(got.zip(total).is_none_or(|(a, b)| a.equal(b)));
        let Some(first) = input.values.first() else {
            continue;
        };
        let mut values = state.each_mut().map(|v| v.unwrap_or(*first));
        extreme(which, &input.values, input.rows(), &input.groups, (&mut values, &mut seen));
        for group in 0..GROUPS {
            assert_eq!(seen[group] == 1, expected[group].is_some());
            assert!(expected[group].is_none_or(|v| v.equal(values[group])));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn sums_of_i64_are_exact(input in input::<i64>()) {
        let mut expected = [0i128; GROUPS];
        let mut counts = [0i64; GROUPS];
        let mut bits = [(-1i64, 0i64, 0i64); GROUPS];
        for (group, v) in input.model() {
            expected[group] += i128::from(v);
            counts[group] += 1;
            bits[group] = (bits[group].0 & v, bits[group].1 | v, bits[group].2 ^ v);
        }
        let (values, rows, groups) = (&input.values, input.rows(), &input.groups);
        let mut sums = [0i128; GROUPS];
        sum_i64(values, rows, groups, &mut sums);
        prop_assert_eq!(sums, expected);
        let mut narrow = [0i64; GROUPS];
        sum_i64_narrow(values, rows, groups, &mut narrow);
        prop_assert_eq!(narrow, expected.map(|v| v as i64));
        let mut counted = [0i64; GROUPS];
        count(values.len(), rows, groups, &mut counted);
        prop_assert_eq!(counted, counts);
        let mut seen = [0u8; GROUPS];
        mark(values.len(), rows, groups, &mut seen);
        prop_assert_eq!(seen, counts.map(|c| u8::from(c > 0)));
        let (mut and, mut or, mut xor) = ([-1i64; GROUPS], [0i64; GROUPS], [0i64; GROUPS]);
        bit_and(values, rows, groups, &mut and);
        bit_or(values, rows, groups, &mut or);
        bit_xor(values, rows, groups, &mut xor);
        for group in 0..GROUPS {
            prop_assert_eq!(bits[group], (and[group], or[group], xor[group]));
        }
        at_every_level(|_| {
            assert_eq!(total_i64(values, rows), expected.iter().sum::<i128>());
            assert_eq!(count_total(values.len(), rows), counts.iter().sum::<i64>());
            check_extremes(&input);
        });
    }

    #[test]
    fn sums_of_i32_are_exact(input in input::<i32>()) {
        let (mut expected, mut squares) = ([0i64; GROUPS], [0i128; GROUPS]);
        for (group, v) in input.model() {
            expected[group] += i64::from(v);
            squares[group] += i128::from(v) * i128::from(v);
        }
        let mut sums = [0i64; GROUPS];
        sum_i32(&input.values, input.rows(), &input.groups, &mut sums);
        prop_assert_eq!(sums, expected);
        let mut got = [0i128; GROUPS];
        let result = sum_squares(&input.values, input.rows(), &input.groups, &mut got);
        prop_assert!(result.is_ok());
        prop_assert_eq!(got, squares);
        at_every_level(|_| {
            assert_eq!(total_i32(&input.values, input.rows()), expected.iter().sum::<i64>());
            check_extremes(&input);
        });
    }

    #[test]
    fn sums_of_i128_are_exact_or_refused(input in input::<i128>()) {
        let mut expected = [Some(0i128); GROUPS];
        let mut total = Some(0i128);
        for (group, v) in input.model() {
            expected[group] = expected[group].and_then(|sum| sum.checked_add(v));
            total = total.and_then(|sum| sum.checked_add(v));
        }
        let mut sums = [0i128; GROUPS];
        let result = sum_i128(&input.values, input.rows(), &input.groups, &mut sums);
        prop_assert_eq!(result.is_ok(), expected.iter().all(Option::is_some));
        if result.is_ok() {
            prop_assert_eq!(sums.map(Some), expected);
        }
        prop_assert_eq!(total_i128(0, &input.values, input.rows()).ok(), total);
        check_extremes(&input);
    }

    #[test]
    fn float_aggregates_agree_with_two_passes(input in input::<i32>()) {
        let input = Input {
            values: input.values.iter().map(|&v| f64::from(v % 1000)).collect::<Vec<f64>>(),
            validity: input.validity,
            selection: input.selection,
            groups: input.groups,
        };
        let (mut sums, mut state) = ([0f64; GROUPS], [Moments::default(); GROUPS]);
        sum_f64(&input.values, input.rows(), &input.groups, &mut sums);
        moments(&input.values, input.rows(), &input.groups, &mut state);
        let mut pairs = [PairMoments::default(); GROUPS];
        pair_moments(&input.values, &input.values, input.rows(), &input.groups, &mut pairs);
        for group in 0..GROUPS {
            let rows: Vec<f64> =
                input.model().iter().filter(|r| r.0 == group).map(|r| r.1).collect();
            let sum: f64 = rows.iter().sum();
            prop_assert_eq!(sums[group], sum);
            prop_assert_eq!((state[group].sum, pairs[group].sum_x), (sum, sum));
            prop_assert_eq!(state[group].count, rows.len() as f64);
            let mean = sum / rows.len().max(1) as f64;
            let squares: f64 = rows.iter().map(|v| (v - mean) * (v - mean)).sum();
            let near = |v: f64| (v - squares).abs() <= squares * 1e-9 + 1e-6;
            prop_assert!(near(state[group].squares) && near(pairs[group].products));
        }
        let (head, tail) = state.split_at(2);
        let mut merged = head[0];
        head[1..].iter().chain(tail).for_each(|m| merged.merge(m));
        let mut whole = Moments::default();
        input.model().iter().for_each(|r| whole.add(r.1));
        prop_assert!((merged.squares - whole.squares).abs() <= whole.squares * 1e-9 + 1e-6);
        at_every_level(|_| {
            let total = total_f64(&input.values, input.rows());
            assert_eq!(total, input.model().iter().map(|r| r.1).sum::<f64>());
        });
    }

    #[test]
    fn string_extremes_own_the_best(input in input::<u8>()) {
        let texts: Vec<String> =
            input.values.iter().map(|v| format!("{v:03} and some more")).collect();
        let strings: StrVector = texts.iter().map(String::as_bytes).collect();
        for which in [Extreme::Min, Extreme::Max] {
            let mut state = StrExtremes::default();
            state.resize(GROUPS);
            state.update(which, &strings, input.rows(), &input.groups);
            let result = state.finish();
            for group in 0..GROUPS {
                let rows = input.model().into_iter().filter(|r| r.0 == group).map(|r| r.1);
                let best = if which == Extreme::Min { rows.min() } else { rows.max() };
                let best = best.map(|v| format!("{v:03} and some more"));
                prop_assert_eq!(state.get(group), best.as_ref().map(|b| b.as_bytes()));
                prop_assert_eq!(result.is_null(group), best.is_none());
            }
        }
    }
}

#[test]
fn booleans_intervals_and_first() {
    let (groups, rows) = ([0u32, 0, 1], Rows::all(None));
    let (mut all, mut any) = ([1u8; 2], [0u8; 2]);
    bool_and(&[1, 0, 1], rows, &groups, &mut all);
    bool_or(&[1, 0, 0], rows, &groups, &mut any);
    assert_eq!((all, any), ([0, 1], [1, 0]));
    let day = Interval { months: 1, days: 2, micros: 3 };
    let mut sums = [Interval::default(); 2];
    assert!(sum_interval(&[day; 3], rows, &groups, &mut sums).is_ok());
    assert_eq!((sums[0].months, sums[0].days, sums[0].micros), (2, 4, 6));
    let far = Interval { months: i32::MAX, days: 0, micros: 0 };
    assert!(sum_interval(&[far; 3], rows, &groups, &mut sums).is_err());
    let mut found = [None; 2];
    first(&[7, 8, 9], rows, &groups, &mut found);
    assert_eq!(found, [Some(7), Some(9)]);
}
