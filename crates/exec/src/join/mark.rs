//! Marks that are NULL: whether a probe row without a match might have had one, NULLs being
//! unknown.
//!
//! A pair is possible when its `IS NOT DISTINCT FROM` keys are equal and none of its `=` keys
//! differ for certain; a row without a match whose pairs are not all impossible is unknown.

use std::sync::{Arc, OnceLock};

use kernels::join_table::verify::keep_possible;
use kernels::join_table::{Candidates, NullCode, Pairs};
use kernels::{Column, Vector};
use plan::physical::{JoinKey, NullKeys};
use storage::{MemoryCategory, Reservation};
use types::Result;

use crate::context::QueryContext;
use crate::flow::Flow;

use super::build::BuildRows;
use super::probe::PAIRS;
use super::residual::Residual;
use super::table::KeyTable;

/// Facts that decide which marks are NULL.
pub(super) struct Unknown {
    /// Keys compared by `=`, by number.
    differ: Vec<usize>,
    /// Keys compared by IS NOT DISTINCT FROM.
    same: Vec<usize>,
    /// A build row has NULL in a `=` key.
    null_in_build: bool,
    /// There is a build row.
    any_build: bool,
    /// The table over `same`, made when first needed.
    groups: OnceLock<Result<(KeyTable, Reservation)>>,
}

/// Facts about a whole build side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    /// True when it has a row.
    pub(super) any_row: bool,
    /// True when a row of it has NULL in a key.
    pub(super) null_in_key: bool,
}

/// A probe flow's keys and what else is needed to look at pairs.
pub(super) struct Suspects<'a> {
    pub(super) context: &'a Arc<QueryContext>,
    pub(super) keys: &'a [Column],
    pub(super) rows: usize,
    pub(super) build: &'a BuildRows,
    pub(super) residual: Option<(&'a Residual, &'a Flow)>,
}

impl Unknown {
    /// For these keys of a complete build side.
    pub(super) fn new(keys: &[JoinKey], build: &BuildRows) -> Self {
        let all = |nulls| (0..keys.len()).filter(|&k| keys[k].nulls == nulls).collect();
        let (differ, same): (Vec<usize>, Vec<usize>) =
            (all(NullKeys::Differ), all(NullKeys::Match));
        let null_in_build = differ.iter().any(|&k| build.keys()[k].validity.is_some());
        let any_build = build.rows() > 0;
        Self { differ, same, null_in_build, any_build, groups: OnceLock::new() }
    }

    /// The same, when the build side is a part of one of which `whole` is known and whose other
    /// parts decide marks, too: there is a single key, and that by `=`.
    pub(super) fn of_part(mut self, whole: Whole) -> Self {
        if self.same.is_empty() {
            self.null_in_build = whole.null_in_key;
            self.any_build = whole.any_row;
        }
        self
    }

    /// The rows of `unmatched`, ascending, whose mark is NULL.
    pub(super) fn of(&self, suspects: &Suspects<'_>, unmatched: &[u32]) -> Result<Vec<u32>> {
        if !self.any_build {
            return Ok(Vec::new());
        }
        let columns: Vec<_> = self.differ.iter().map(|&k| suspects.keys[k].to_vector()).collect();
        let has_null = |&row: &u32| columns.iter().any(|c| c.is_null(row as usize));
        let rows: Vec<u32> = if self.null_in_build {
            unmatched.to_vec()
        } else {
            unmatched.iter().copied().filter(has_null).collect()
        };
        let decided = self.same.is_empty() && self.differ.len() == 1 && suspects.residual.is_none();
        if decided || rows.is_empty() {
            return Ok(rows);
        }
        self.with_possible_pair(suspects, &rows)
    }

    fn groups(&self, suspects: &Suspects<'_>) -> Result<Option<&KeyTable>> {
        if self.same.is_empty() {
            return Ok(None);
        }
        let made = self.groups.get_or_init(|| {
            let pool = &suspects.context.pool;
            let mut memory = Reservation::empty(pool, MemoryCategory::HashTables);
            let keys: Vec<Arc<Vector>> =
                self.same.iter().map(|&k| Arc::clone(&suspects.build.keys()[k])).collect();
            let nulls = vec![NullCode::Value; keys.len()];
            let table = KeyTable::build_alone(suspects.context, keys, nulls, &mut memory)?;
            Ok((table, memory))
        });
        match made {
            Ok((table, _)) => Ok(Some(table)),
            Err(error) => Err(error.clone()),
        }
    }

    fn with_possible_pair(&self, suspects: &Suspects<'_>, rows: &[u32]) -> Result<Vec<u32>> {
        let groups = self.groups(suspects)?;
        let same: Vec<&Column> = self.same.iter().map(|&k| &suspects.keys[k]).collect();
        let mut codes = Vec::new();
        if let Some(groups) = groups {
            groups.encode(&same, suspects.rows, &mut codes);
        }
        let mut unknown = Vec::new();
        let (mut candidates, mut pairs) = (Candidates::default(), Pairs::default());
        for &row in rows {
            let mut next = 0;
            let code = [codes.get(row as usize).copied().unwrap_or_default()];
            if let Some(groups) = groups {
                groups.table().locate(&code, &mut candidates);
            }
            loop {
                suspects.context.check()?;
                pairs.clear();
                let done = match groups {
                    Some(groups) => {
                        groups.table().expand(&code, &mut candidates, PAIRS, &mut pairs);
                        candidates.is_done()
                    }
                    None => {
                        let end = (next + PAIRS).min(suspects.build.rows());
                        pairs.build.extend(next as u32..end as u32);
                        next = end;
                        end == suspects.build.rows()
                    }
                };
                pairs.probe.clear();
                pairs.probe.resize(pairs.build.len(), row);
                if let Some(groups) = groups {
                    groups.verify(&same, &mut pairs);
                }
                self.keep_possible(suspects, &mut pairs)?;
                if !pairs.is_empty() {
                    unknown.push(row);
                }
                if done || !pairs.is_empty() {
                    break;
                }
            }
        }
        Ok(unknown)
    }

    fn keep_possible(&self, suspects: &Suspects<'_>, pairs: &mut Pairs) -> Result<()> {
        for &k in &self.differ {
            keep_possible(&suspects.keys[k], &suspects.build.keys()[k], pairs);
        }
        match suspects.residual {
            Some((residual, flow)) if !pairs.is_empty() => {
                residual.keep(flow, suspects.build, pairs)
            }
            _ => Ok(()),
        }
    }
}
