//! Versions of one key: entries of the log, newest first, on top of the rows of its record.
//!
//! Versions descend. An entry hides what lies below it with its own number or a larger one: that
//! was written again by the same transaction, or reverted.

use std::sync::atomic::Ordering;

use super::page::Body;
use super::state::Spot;
use crate::error::Result;
use crate::log::{Address, Entry, Kind, Pages};
use crate::schema::Schema;
use crate::snapshot::Version;
use crate::table::Head;
use crate::tuple::{Tuple, TupleWriter};

/// A page of the log is gone: there is a newer state.
pub(super) struct Outdated;

/// A version, and where its row is.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub version: Version,
    pub source: Source<'a>,
}

/// Place of a row.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Deleted,
    Entry(Entry<'a>),
    /// Number of the row in its page.
    Row(usize),
}

impl Found<'_> {
    pub(super) fn is_deleted(&self) -> bool {
        matches!(self.source, Source::Deleted)
    }

    pub(super) fn head(found: Option<Self>) -> Head {
        match found {
            None => Head::Absent,
            Some(found) if found.is_deleted() => Head::Deleted(found.version),
            Some(found) => Head::Live(found.version),
        }
    }
}

/// Goes along the versions of one key.
pub(super) struct Versions<'a, B> {
    pages: &'a Pages,
    next: Address,
    floor: Address,
    spot: Option<Spot<'a, B>>,
    rows: std::ops::Range<usize>,
    /// Versions from here on are hidden.
    hidden: u64,
}

impl<'a, B: Body> Versions<'a, B> {
    /// From the entry at `top` down; entries below `floor` are merged.
    pub(super) fn new(
        pages: &'a Pages,
        top: Address,
        floor: Address,
        spot: Option<Spot<'a, B>>,
    ) -> Self {
        let rows = spot.map_or(0..0, |spot| spot.page.records.rows(spot.record));
        Self { pages, next: top, floor, spot, rows, hidden: u64::MAX }
    }
}

impl<'a, B: Body> Iterator for Versions<'a, B> {
    type Item = Result<Found<'a>, Outdated>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.next != 0 && self.next >= self.floor {
            let Some(entry) = self.pages.entry(self.next) else {
                self.next = 0;
                return Some(Err(Outdated));
            };
            self.next = entry.previous().load(Ordering::Acquire);
            let (version, kind) = (entry.version(), entry.kind());
            if version.0 >= self.hidden {
                continue;
            }
            self.hidden = version.0;
            match kind {
                Kind::Data => return Some(Ok(Found { version, source: Source::Entry(entry) })),
                Kind::Delete => return Some(Ok(Found { version, source: Source::Deleted })),
                Kind::Revert => (),
            }
        }
        let records = &self.spot?.page.records;
        let hidden = self.hidden;
        let row = self.rows.find(|row| records.version(*row) < hidden)?;
        let version = Version(records.version(row));
        let is_deleted = records.is_deleted(row);
        let source = if is_deleted { Source::Deleted } else { Source::Row(row) };
        Some(Ok(Found { version, source }))
    }
}

/// The row of a version; `None` for a deletion.
pub(super) fn tuple<B: Body>(
    found: Found<'_>,
    spot: Option<Spot<'_, B>>,
    schema: &Schema,
) -> Option<Tuple> {
    match (found.source, spot) {
        (Source::Entry(entry), _) => entry.tuple(),
        (Source::Row(row), Some(spot)) => {
            let mut writer = TupleWriter::default();
            spot.page.body.row(schema, row, &mut writer);
            Some(Tuple::from_words(writer.words.into()))
        }
        _ => None,
    }
}
