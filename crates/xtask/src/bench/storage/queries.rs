//! The queries of the grid, and what each must answer by a scalar model of the generated rows.
//!
//! ```text
//! SELECT columns FROM t WHERE c >= x [AND d >= y AND e >= z]   0 columns: only rows are counted
//! SELECT c6, min(c1) FROM t GROUP BY c6 HAVING min(c1) < x
//! ```
//! A conjunct of three selects the cube root of the share of all three, since columns are
//! independent. Answers are compared by their rows and a checksum that no order of rows changes.
//! Source: Patel 2013, sections 3.1 and 4.6. Departure: the columns of the output are drawn once a
//! query from the seed, not once a run, so that all organisations give the same ones.

use storage::{Restriction, RestrictionKind, ScanPlan, Schema};
use testkit::Random;
use types::{CompareOp, Value};

use super::tables::{Data, Sorted, Text, text_of};
use crate::text;

/// Percent of the rows that are selected.
pub(super) const PERCENTS: [f64; 5] = [0.1, 1.0, 10.0, 50.0, 100.0];

/// Percent of the rows that conjunctions select.
pub(super) const CONJUNCTION_PERCENTS: [f64; 3] = [0.1, 1.0, 10.0];

/// Column that a query asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// The column by which blocks may be sorted.
    Sort,
    /// A column by which they are not.
    Other,
    /// Both of these and a third.
    Three,
    /// The least of each group.
    Groups,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sort => "sort column",
            Self::Other => "other column",
            Self::Three => "three columns",
            Self::Groups => "minima of groups",
        }
    }
}

/// A value of a row of the output.
pub(super) trait Cell: Copy + Default + Send + Sync {
    /// The checksum of the cells so far and this one.
    fn mix(self, state: u64) -> u64;
}

/// Where the checksum of a row begins.
const ROW: u64 = 0x5851_f42d_4c95_7f2d;

fn mix_bits(state: u64, bits: u64) -> u64 {
    (state ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

impl Cell for i32 {
    fn mix(self, state: u64) -> u64 {
        mix_bits(state, self as u64)
    }
}

impl Cell for Text {
    fn mix(self, state: u64) -> u64 {
        let (words, _) = self.as_chunks::<4>();
        words.iter().fold(state, |s, word| mix_bits(s, u32::from_le_bytes(*word).into()))
    }
}

/// Rows, and the sum of their checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) rows: u64,
    pub(super) checksum: u64,
}

impl Answer {
    /// Counts one more row.
    pub(super) fn add<C: Cell>(&mut self, cells: impl Iterator<Item = C>) {
        let row = cells.fold(ROW, |state, cell| cell.mix(state));
        self.rows += 1;
        self.checksum = self.checksum.wrapping_add(row);
    }
}

/// One query.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) role: Role,
    /// Percentage of the rows; 100 for groups.
    pub(super) percent: f64,
    /// Columns that must be at least a value.
    pub(super) conjuncts: Vec<(usize, Value)>,
    /// Columns of the output, by ordinal; for groups the group and the value.
    pub(super) projection: Vec<usize>,
    /// Values of the first conjunct's column at which as many ranges begin, of as many rows each,
    /// that are all the rows it selects: one for each worker.
    pub(super) starts: Vec<Value>,
    /// Bound of groups: their least value is below this.
    pub(super) below: i32,
    pub(super) expected: Answer,
}

impl Query {
    /// Its conditions for a scan.
    ///
    /// # Errors
    /// When they do not fit the schema.
    pub(super) fn plan(&self, schema: &Schema) -> Result<ScanPlan, String> {
        let restrictions = self.conjuncts.iter().map(|(column, value)| Restriction {
            column: *column,
            kind: RestrictionKind::Compare(CompareOp::GreaterEqual, value.clone()),
        });
        ScanPlan::new(schema, restrictions.collect()).map_err(text)
    }
}

/// The values of the columns that queries ask about, in order: made once a table.
pub(super) struct Columns<'d> {
    data: &'d Data,
    sorted: [Sorted; 3],
    threads: usize,
    seed: u64,
}

impl<'d> Columns<'d> {
    /// Sorts three columns of `data`; ranges are made for `threads` workers.
    pub(super) fn new(data: &'d Data, threads: usize, seed: u64) -> Self {
        let spec = data.spec;
        let sorted = [spec.sort, spec.other, spec.third].map(|column| data.sorted(column));
        Self { data, sorted, threads, seed }
    }

    /// The queries of all `percents` and `widths`, the former outside.
    pub(super) fn queries(&self, role: Role, percents: &[f64], widths: &[usize]) -> Vec<Query> {
        let spec = self.data.spec;
        let all = [(spec.sort, 0), (spec.other, 1), (spec.third, 2)];
        let columns = match role {
            Role::Sort => &all[..1],
            Role::Other => &all[1..2],
            _ => &all[..],
        };
        let mut queries = Vec::new();
        for &percent in percents {
            let share = (percent / 100.0).powf(1.0 / columns.len() as f64);
            let selected = (self.data.rows as f64 * share).round() as usize;
            let first = self.data.rows - selected.clamp(1, self.data.rows);
            let conjuncts: Vec<(usize, Value)> =
                columns.iter().map(|&(column, at)| (column, self.sorted[at].at(first))).collect();
            let part = |i: usize| first + (self.data.rows - first) * i / self.threads;
            let starts = (0..self.threads).map(|i| self.sorted[columns[0].1].at(part(i))).collect();
            let rows = matching(self.data, &conjuncts);
            for &width in widths {
                let projection = self.draw(role, percent, width);
                let expected = model(self.data, &rows, &projection);
                queries.push(Query {
                    role,
                    percent,
                    conjuncts: conjuncts.clone(),
                    projection,
                    starts: Vec::clone(&starts),
                    below: 0,
                    expected,
                });
            }
        }
        queries
    }

    /// `width` columns of the table, ascending.
    fn draw(&self, role: Role, percent: f64, width: usize) -> Vec<usize> {
        let place = (role as u64) << 32 | (percent * 10.0) as u64 | (width as u64) << 16;
        let mut random = Random::new(self.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut left: Vec<usize> = (0..self.data.spec.columns).collect();
        let mut drawn: Vec<usize> = (0..width)
            .map(|_| left.swap_remove(random.below(left.len() as u64) as usize))
            .collect();
        drawn.sort_unstable();
        drawn
    }
}

/// The least value of column `value` in each group of column `group`, of 1 to 100, where it is
/// below what a group's least value should be on average.
pub(super) fn minima(data: &Data, group: usize, value: usize) -> Query {
    let upper = data.spec.upper(value).unwrap_or(u32::MAX);
    let below = (f64::from(upper) / (data.rows as f64 / 100.0 + 1.0)) as i32 + 1;
    let mut least = [i32::MAX; 101];
    for (&group, &value) in data.numbers(group).iter().zip(data.numbers(value)) {
        least[group as usize] = least[group as usize].min(value);
    }
    let mut expected = Answer::default();
    for (group, &value) in least.iter().enumerate().filter(|(_, value)| **value < below) {
        expected.add([group as i32, value].into_iter());
    }
    Query {
        role: Role::Groups,
        percent: 100.0,
        conjuncts: Vec::new(),
        projection: vec![group, value],
        starts: Vec::new(),
        below,
        expected,
    }
}

/// The rows that pass all conjuncts.
fn matching(data: &Data, conjuncts: &[(usize, Value)]) -> Vec<u32> {
    let passes = |row: usize| {
        conjuncts.iter().all(|(column, value)| match value {
            Value::I32(value) => data.numbers(*column)[row] >= *value,
            Value::Str(value) => data.columns[*column].as_str().get(row) >= &value[..],
            _ => unreachable!("columns are numbers or strings"),
        })
    };
    (0..data.rows).filter(|&row| passes(row)).map(|row| row as u32).collect()
}

/// The answer of those rows.
fn model(data: &Data, rows: &[u32], projection: &[usize]) -> Answer {
    let mut answer = Answer::default();
    if projection.is_empty() {
        return Answer { rows: rows.len() as u64, checksum: 0 };
    }
    if data.spec.upper(0).is_some() {
        let columns: Vec<&[i32]> = projection.iter().map(|&c| data.numbers(c)).collect();
        rows.iter().for_each(|&row| answer.add(columns.iter().map(|c| c[row as usize])));
    } else {
        let columns: Vec<_> = projection.iter().map(|&c| data.columns[c].as_str()).collect();
        let cell = |row: u32| columns.iter().map(move |c| text_of(c.get(row as usize)));
        rows.iter().for_each(|&row| answer.add(cell(row)));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::super::tables::{NARROW_U, ONE_PERCENT, STRINGS};
    use super::*;

    #[test]
    fn shares_are_what_they_are_called() {
        for spec in [NARROW_U, STRINGS] {
            let data = spec.generate(20_000 * spec.share, 3, 2);
            let columns = Columns::new(&data, 2, 3);
            for role in [Role::Sort, Role::Other] {
                let queries = columns.queries(role, &PERCENTS, &[0, 3]);
                let rows: Vec<u64> = queries.iter().map(|q| q.expected.rows).collect();
                let expected = [20, 20, 200, 200, 2000, 2000, 10_000, 10_000, 20_000, 20_000];
                assert!(rows.iter().zip(expected).all(|(&a, b)| a.abs_diff(b) <= 2), "{rows:?}");
                assert!(queries.iter().all(|q| q.starts.len() == 2));
                assert!(queries.iter().all(|q| q.starts[0] == q.conjuncts[0].1));
            }
            let three = columns.queries(Role::Three, &[10.0], &[1]);
            let rows = three[0].expected.rows;
            assert!((1700..2300).contains(&rows), "{rows}");
        }
    }

    #[test]
    fn checksums_see_cells_and_not_the_order_of_rows() {
        let sum = |rows: &[[i32; 2]]| {
            let mut answer = Answer::default();
            rows.iter().for_each(|row| answer.add(row.iter().copied()));
            answer
        };
        assert_eq!(sum(&[[1, 2], [3, 4]]), sum(&[[3, 4], [1, 2]]));
        assert_ne!(sum(&[[1, 2], [3, 4]]), sum(&[[1, 4], [3, 2]]));
        assert_ne!(sum(&[[1, 2]]), sum(&[[2, 1]]));
    }

    #[test]
    fn some_groups_are_selected_and_some_are_not() {
        let data = ONE_PERCENT.generate(50_000, 3, 2);
        let rows = minima(&data, 5, 0).expected.rows;
        assert!((20..95).contains(&rows), "{rows}");
    }
}
