//! Groups that one worker gathers for one grouping set, and how they are split by hash.
//!
//! ```text
//! rows -> table of groups and states --too large--> 2^bits runs of keys and states (by hash)
//! ```
//! A table whose groups hardly repeat stops looking keys up: every row becomes a group, and equal
//! ones meet when the runs of a partition are merged.

use std::sync::Arc;

use kernels::group_table::update::dense_groups;
use kernels::{Bitmap, Column, VectorData};
use types::Result;

use super::finish::StatePlan;
use super::grouper::{Grouper, Keys, Lookup, RunKeys, TABLE_GROUPS_MAX, to_bytes};
use super::keys::{KeyForm, KeyView};
use super::states::{Coverage, Mapping, States, grow_zeroed};

/// Bytes of a table that is split, however few its groups are: what is split is there twice for a
/// moment, which nobody counts.
const TABLE_BYTES_MAX: usize = 32 << 20;
/// Rows that are split when keys are not looked up: a part of the second-level cache.
const APPENDED_ROWS_MAX: usize = 1 << 14;
/// Rows per group below which looking keys up does not pay.
const REPEATS_MIN: f64 = 1.5;

/// States of `plan` for no group.
pub(crate) fn new_states(plan: &StatePlan, coverage: Coverage) -> Vec<Box<dyn States>> {
    plan.specs.iter().map(|spec| spec.states(coverage)).collect()
}

/// Keys and states of some groups; a key may occur more than once.
pub(crate) struct Run {
    /// The keys.
    pub(crate) keys: RunKeys,
    /// The states, by row of `keys`.
    pub(crate) states: Vec<Box<dyn States>>,
}

impl Run {
    fn new(form: KeyForm, plan: &StatePlan) -> Self {
        Self { keys: RunKeys::new(form), states: new_states(plan, Coverage::Dense) }
    }

    fn append(
        &mut self,
        view: KeyView<'_>,
        states: &[Box<dyn States>],
        rows: &[u32],
    ) -> Result<()> {
        let start = self.keys.view().len() as u32;
        self.keys.append(view, rows);
        let target: Vec<u32> = (start..start + rows.len() as u32).collect();
        for (to, from) in self.states.iter_mut().zip(states) {
            to.resize(start as usize + rows.len());
            to.merge(&**from, Mapping { source: rows, target: &target })?;
        }
        Ok(())
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.bytes() + self.states.iter().map(|s| s.bytes()).sum::<usize>()
    }
}

/// How a worker numbers its groups.
pub(crate) enum Groups {
    /// One group.
    Scalar,
    /// Keys are distances from the least one.
    Dense(Dense),
    /// A table.
    Hash(Box<Grouper>),
}

/// Groups in an array: group `key - min`, then that of NULL.
pub(crate) struct Dense {
    /// The least key.
    pub(crate) min: i64,
    /// The greatest key.
    pub(crate) max: i64,
    /// 1 for groups with rows.
    pub(crate) exists: Vec<u8>,
}

impl Dense {
    /// The group of NULL.
    pub(crate) fn null(&self) -> u32 {
        (self.max - self.min + 1) as u32
    }

    /// Replaces `groups`; false when a key is outside.
    fn group(&mut self, column: &Column, groups: &mut Vec<u32>) -> bool {
        groups.clear();
        let vector = column.to_vector();
        let inside = match (&vector.validity, &vector.data) {
            (None, VectorData::I32(keys)) => dense_groups(keys, self.min, self.max, groups),
            (None, VectorData::I64(keys)) => dense_groups(keys, self.min, self.max, groups),
            (Some(valid), VectorData::I32(keys)) => {
                self.nullable(keys.iter().map(|&k| i64::from(k)), valid, groups)
            }
            (Some(valid), VectorData::I64(keys)) => {
                self.nullable(keys.iter().copied(), valid, groups)
            }
            _ => false,
        };
        if inside {
            kernels::group_table::update::mark(&mut self.exists, groups);
        }
        inside
    }

    fn nullable(
        &self,
        keys: impl Iterator<Item = i64>,
        valid: &Bitmap,
        groups: &mut Vec<u32>,
    ) -> bool {
        for (row, key) in keys.enumerate() {
            let inside = (self.min..=self.max).contains(&key);
            groups.push(match (valid.get(row), inside) {
                (false, _) => self.null(),
                (true, true) => (key - self.min) as u32,
                (true, false) => return false,
            });
        }
        true
    }

    /// Groups with rows in `range`.
    pub(crate) fn existing(&self, range: std::ops::Range<usize>) -> Vec<u32> {
        let end = range.end.min(self.exists.len());
        let flags = self.exists[range.start.min(end)..end].iter().enumerate();
        flags.filter(|(_, f)| **f != 0).map(|(i, _)| (range.start + i) as u32).collect()
    }

    /// The keys of `groups` as a column.
    pub(crate) fn keys(&self, groups: &[u32], physical: types::PhysicalType) -> Column {
        let null = self.null();
        let valid = Bitmap::from_fn(groups.len(), |i| groups[i] != null);
        let keys = groups.iter().map(|&g| self.min + i64::from(if g == null { 0 } else { g }));
        let data = match physical {
            types::PhysicalType::I32 => VectorData::I32(keys.map(|k| k as i32).collect()),
            _ => VectorData::I64(keys.collect()),
        };
        Column::plain(kernels::Vector::with_validity(data, Some(valid)))
    }
}

/// One worker's part of one grouping set.
pub(crate) struct SetLocal {
    /// How groups are numbered.
    pub(crate) groups: Groups,
    /// The states, by group.
    pub(crate) states: Vec<Box<dyn States>>,
    /// Runs that were split off, by partition; empty without.
    pub(crate) runs: Vec<Run>,
    /// True when states may be split off while rows still come.
    splits: bool,
    /// Rows since the last split.
    rows: usize,
    lookup: Lookup,
    /// Bytes of `runs`.
    run_bytes: usize,
}

impl SetLocal {
    /// One group over everything.
    pub(crate) fn scalar(plan: &StatePlan) -> Self {
        let mut states = new_states(plan, Coverage::Sparse);
        states.iter_mut().for_each(|s| s.resize(1));
        Self::new(Groups::Scalar, states, false)
    }

    /// Groups of keys in `min..=max`.
    pub(crate) fn dense(plan: &StatePlan, min: i64, max: i64) -> Self {
        let mut dense = Dense { min, max, exists: Vec::new() };
        let groups = dense.null() as usize + 1;
        grow_zeroed(&mut dense.exists, groups);
        let mut states = new_states(plan, Coverage::Sparse);
        states.iter_mut().for_each(|s| s.resize(groups));
        Self::new(Groups::Dense(dense), states, false)
    }

    /// Groups of any keys.
    pub(crate) fn hash(plan: &StatePlan, keys: &Arc<Keys>) -> Self {
        let states = new_states(plan, Coverage::Dense);
        let splits = !states.iter().any(|s| s.is_heavy());
        let groups = Groups::Hash(Box::new(Grouper::new(keys)));
        Self::new(groups, states, splits)
    }

    fn new(groups: Groups, states: Vec<Box<dyn States>>, splits: bool) -> Self {
        Self {
            groups,
            states,
            runs: Vec::new(),
            splits,
            rows: 0,
            lookup: Lookup::Find,
            run_bytes: 0,
        }
    }

    /// Replaces `groups` by the group of each row of the key columns.
    ///
    /// # Errors
    /// Errors of merging states.
    pub(crate) fn group(
        &mut self,
        context: &SetContext<'_>,
        columns: &[Column],
        rows: usize,
        groups: &mut Vec<u32>,
    ) -> Result<()> {
        if let Groups::Dense(dense) = &mut self.groups {
            if dense.group(&columns[0], groups) {
                return Ok(());
            }
            self.become_hash(context)?;
        }
        match &mut self.groups {
            Groups::Hash(grouper) => {
                grouper.group(columns, rows, groups);
                let count = grouper.len();
                self.states.iter_mut().for_each(|s| s.resize(count));
            }
            _ => {
                groups.clear();
                groups.resize(rows, 0);
            }
        }
        self.rows += rows;
        Ok(())
    }

    /// Goes over from an array to a table.
    ///
    /// # Errors
    /// Errors of merging states.
    pub(crate) fn become_hash(&mut self, context: &SetContext<'_>) -> Result<()> {
        let Groups::Dense(dense) = &self.groups else {
            return Ok(());
        };
        let source = dense.existing(0..dense.exists.len());
        let keys = dense.keys(&source, context.physical);
        let mut hash = Self::hash(context.plan, context.keys);
        let mut target = Vec::new();
        hash.group(context, &[keys], source.len(), &mut target)?;
        for (to, from) in hash.states.iter_mut().zip(&self.states) {
            to.merge(&**from, Mapping { source: &source, target: &target })?;
        }
        *self = hash;
        Ok(())
    }

    /// Splits the table when it has become too large.
    ///
    /// # Errors
    /// Errors of merging states.
    pub(crate) fn split_when_large(&mut self, context: &SetContext<'_>) -> Result<()> {
        let Groups::Hash(grouper) = &self.groups else {
            return Ok(());
        };
        let limit = match self.lookup {
            Lookup::Find => TABLE_GROUPS_MAX,
            Lookup::Append => APPENDED_ROWS_MAX,
        };
        let is_large = grouper.len() >= limit || grouper.bytes() >= TABLE_BYTES_MAX;
        if !self.splits || !is_large {
            return Ok(());
        }
        if (self.rows as f64) < grouper.len() as f64 * REPEATS_MIN {
            self.lookup = Lookup::Append;
        }
        self.split(context)
    }

    /// Moves all groups into runs by hash.
    ///
    /// # Errors
    /// Errors of merging states.
    pub(crate) fn split(&mut self, context: &SetContext<'_>) -> Result<()> {
        let Groups::Hash(grouper) = &mut self.groups else {
            return Ok(());
        };
        let form = grouper.form();
        if self.runs.is_empty() {
            self.runs = (0..1 << context.bits).map(|_| Run::new(form, context.plan)).collect();
        }
        if self.runs.iter().any(|run| form_of(&run.keys) != form) {
            self.runs = runs_as_bytes(context, std::mem::take(&mut self.runs))?;
        }
        let view = grouper.view();
        for (run, rows) in self.runs.iter_mut().zip(view.partition(context.bits)) {
            if !rows.is_empty() {
                run.append(view, &self.states, &rows)?;
            }
        }
        grouper.clear(self.lookup);
        self.states.iter_mut().for_each(|s| s.clear());
        self.run_bytes = self.runs.iter().map(Run::bytes).sum();
        self.rows = 0;
        Ok(())
    }

    /// Goes over to keys of bytes, in the table and in runs.
    ///
    /// # Errors
    /// Errors of merging states.
    pub(crate) fn become_bytes(&mut self, context: &SetContext<'_>) -> Result<()> {
        if let Groups::Hash(grouper) = &mut self.groups {
            grouper.become_bytes();
        }
        if self.runs.iter().any(|run| form_of(&run.keys) != KeyForm::Bytes) {
            self.runs = runs_as_bytes(context, std::mem::take(&mut self.runs))?;
        }
        Ok(())
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let groups = match &self.groups {
            Groups::Scalar => 0,
            Groups::Dense(dense) => dense.exists.len(),
            Groups::Hash(grouper) => grouper.bytes(),
        };
        let states: usize = self.states.iter().map(|s| s.bytes()).sum();
        groups + states + self.run_bytes
    }
}

/// State that the workers of one grouping set share.
#[derive(Clone, Copy)]
pub(crate) struct SetContext<'a> {
    /// The states.
    pub(crate) plan: &'a StatePlan,
    /// The keys.
    pub(crate) keys: &'a Arc<Keys>,
    /// How the first key is held.
    pub(crate) physical: types::PhysicalType,
    /// There are 2 to this many partitions.
    pub(crate) bits: u32,
}

fn form_of(keys: &RunKeys) -> KeyForm {
    match keys {
        RunKeys::U64(..) => KeyForm::U64,
        RunKeys::U128(..) => KeyForm::U128,
        RunKeys::Bytes(..) => KeyForm::Bytes,
    }
}

/// The same groups with keys of bytes, partitioned by their hashes.
fn runs_as_bytes(context: &SetContext<'_>, runs: Vec<Run>) -> Result<Vec<Run>> {
    let mut split: Vec<Run> =
        (0..1 << context.bits).map(|_| Run::new(KeyForm::Bytes, context.plan)).collect();
    for run in runs {
        let keys = match form_of(&run.keys) {
            KeyForm::Bytes => run.keys,
            _ => to_bytes(context.keys, run.keys.view()),
        };
        let view = keys.view();
        for (target, rows) in split.iter_mut().zip(view.partition(context.bits)) {
            if !rows.is_empty() {
                target.append(view, &run.states, &rows)?;
            }
        }
    }
    Ok(split)
}
