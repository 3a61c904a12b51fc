//! Rows that entries of an inverted index lead to.
//!
//! ```text
//! all of {a: 10 entries, b: 12, c: 100,000}   those of a that b has, too; c is not read
//! one of {a, b}                               both, each row once
//! ```
//! The rows are candidates: who asked tests them. Entries are counted before they are read, as far
//! as the count matters.

use std::ops::Bound;

use plan::physical::ElementCondition;
use storage::{Direction, KeyRange, MemoryCategory, RangeState, Reservation, TableIndex, Tid};
use types::Result;
use types::elements::{Constant, ElementQuery};

use crate::context::QueryContext;
use crate::opener::Opener;

/// Entries of a further condition that are read, in candidates that are there already: to read one
/// costs a fraction of reading a row.
const WORTH: u64 = 8;

/// Entries up to which all of several conditions are counted first.
const COUNTED_FIRST: u64 = 64;

/// The query of a way by an inverted index, with its constants.
///
/// # Errors
/// Errors of the constants.
pub(super) fn asked(opener: &Opener, conditions: &[ElementCondition]) -> Result<ElementQuery> {
    let mut parts = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let value = opener.constant(&condition.operand)?;
        let constant = Constant { ty: condition.operand.ty, value: &value };
        let query = condition.class.asked(condition.test, condition.of, constant)?;
        // An index has 32 columns at most.
        parts.push(of_column(query, condition.column as u8));
    }
    Ok(ElementQuery::all_of(parts))
}

/// The query with the number of its column before each element.
fn of_column(query: ElementQuery, column: u8) -> ElementQuery {
    let behind = |mut key: Vec<u8>| {
        key.insert(0, column);
        key
    };
    match query {
        ElementQuery::Key(key) => ElementQuery::Key(behind(key)),
        ElementQuery::Range(low, high) => {
            let high = high.map_or_else(|| vec![column.saturating_add(1)], behind);
            ElementQuery::Range(behind(low), Some(high))
        }
        ElementQuery::AtLeast(least, parts) => {
            let parts = parts.into_iter().map(|part| of_column(part, column)).collect();
            ElementQuery::AtLeast(least, parts)
        }
        other => other,
    }
}

/// Rows that an index leads to, ascending, and the memory that they take.
pub(super) struct Candidates {
    pub(super) tids: Vec<Tid>,
    _memory: Reservation,
}

/// Reads the entries of an index.
pub(super) struct Finder<'a> {
    context: &'a QueryContext,
    index: &'a TableIndex,
    range: RangeState,
}

impl<'a> Finder<'a> {
    pub(super) fn new(context: &'a QueryContext, index: &'a TableIndex) -> Self {
        Self { context, index, range: RangeState::new() }
    }

    /// The rows that `query` asks for.
    ///
    /// # Errors
    /// 53200 where they have no room, or the query was cancelled.
    pub(super) fn candidates(&mut self, query: &ElementQuery) -> Result<Candidates> {
        let tids = self.find(query)?;
        let mut memory = Reservation::empty(&self.context.pool, MemoryCategory::Temporary);
        memory.resize((tids.capacity() * size_of::<Tid>()) as u64)?;
        Ok(Candidates { tids, _memory: memory })
    }

    /// Rows that `query` leads to, no fewer than there are, counted up to `most`.
    ///
    /// # Errors
    /// When the query was cancelled.
    pub(super) fn count(&mut self, query: &ElementQuery, most: u64) -> Result<u64> {
        Ok(match query {
            ElementQuery::All => most,
            ElementQuery::Nothing => 0,
            ElementQuery::Key(key) => self.entries(&key_range(key), most)?,
            ElementQuery::Range(low, high) => self.entries(&range(low, high.as_deref()), most)?,
            ElementQuery::AtLeast(least, parts) if *least == parts.len() => {
                self.counts(parts, most)?.into_iter().min().unwrap_or(most)
            }
            ElementQuery::AtLeast(least, parts) => {
                // Each row was counted as often at least.
                let enough = most.saturating_mul(*least as u64);
                let mut sum = 0;
                for part in parts {
                    sum += self.count(part, enough - sum)?;
                }
                sum / *least as u64
            }
        })
    }

    /// Rows that each part leads to, counted up to `most`, and not much further than the fewest.
    fn counts(&mut self, parts: &[ElementQuery], most: u64) -> Result<Vec<u64>> {
        let mut enough = COUNTED_FIRST.min(most);
        loop {
            let counts = parts.iter().map(|part| self.count(part, enough));
            let counts = counts.collect::<Result<Vec<u64>>>()?;
            if enough == most || counts.iter().any(|count| *count < enough) {
                return Ok(counts);
            }
            enough = enough.saturating_mul(WORTH).min(most);
        }
    }

    fn entries(&mut self, range: &KeyRange<'_>, most: u64) -> Result<u64> {
        self.context.check()?;
        self.index.start(*range, Direction::Forward, &mut self.range);
        let mut count = 0;
        while count < most && self.index.next(&mut self.range).is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Ascending, each once.
    fn find(&mut self, query: &ElementQuery) -> Result<Vec<Tid>> {
        match query {
            // Whoever asks for all reads no index.
            ElementQuery::All | ElementQuery::Nothing => Ok(Vec::new()),
            ElementQuery::Key(key) => self.read(&key_range(key)),
            ElementQuery::Range(low, high) => self.read(&range(low, high.as_deref())),
            ElementQuery::AtLeast(least, parts) if *least == parts.len() => self.in_all(parts),
            ElementQuery::AtLeast(least, parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.append(&mut self.find(part)?);
                }
                all.sort_unstable();
                let runs = all.chunk_by(|a, b| a == b).filter(|run| run.len() >= *least);
                Ok(runs.map(|run| run[0]).collect())
            }
        }
    }

    /// The candidates of the part that has the fewest, less those that others deny cheaply.
    fn in_all(&mut self, parts: &[ElementQuery]) -> Result<Vec<Tid>> {
        let counts = self.counts(parts, u64::MAX)?;
        let mut counted: Vec<_> = counts.into_iter().zip(parts).collect();
        counted.sort_by_key(|(count, _)| *count);
        let mut found: Option<Vec<Tid>> = None;
        for (_, part) in counted {
            let Some(known) = &mut found else {
                found = Some(self.find(part)?);
                continue;
            };
            let worth = (known.len() as u64).saturating_mul(WORTH);
            if self.count(part, worth)? < worth {
                let others = self.find(part)?;
                keep_common(known, &others);
            }
        }
        Ok(found.unwrap_or_default())
    }

    fn read(&mut self, range: &KeyRange<'_>) -> Result<Vec<Tid>> {
        self.context.check()?;
        self.index.start(*range, Direction::Forward, &mut self.range);
        let mut tids = Vec::new();
        while let Some((_, tid)) = self.index.next(&mut self.range) {
            tids.push(tid);
        }
        tids.sort_unstable();
        tids.dedup();
        Ok(tids)
    }
}

/// Leaves in `known` what is in `others`; both ascend.
fn keep_common(known: &mut Vec<Tid>, others: &[Tid]) {
    let mut others = others.iter().peekable();
    known.retain(|tid| {
        while others.next_if(|other| *other < tid).is_some() {}
        others.peek() == Some(&tid)
    });
}

fn key_range(key: &[u8]) -> KeyRange<'_> {
    KeyRange { low: Bound::Included(key), high: Bound::Included(key) }
}

fn range<'k>(low: &'k [u8], high: Option<&'k [u8]>) -> KeyRange<'k> {
    let high = high.map_or(Bound::Unbounded, Bound::Excluded);
    KeyRange { low: Bound::Included(low), high }
}
