//! Scans: pages by their form, keys of the delta and changed records row by row.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::DeltaMain;
use super::page::{Body, Page};
use super::state::{Seen, Spot, State};
use super::versions::{Source, Versions};
use crate::error::Result;
use crate::log::{Address, Pages};
use crate::scan::{Plan, ScanEnd, ScanRequest, Share, Worker, run_parts};
use crate::schema::Key;
use crate::snapshot::Snapshot;
use crate::tuple::TupleRef;

/// Queries that see the same.
struct Group<'a> {
    snapshot: &'a Snapshot,
    queries: Vec<usize>,
}

fn groups<'a>(plan: &Plan<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (i, query) in plan.queries.iter().enumerate() {
        let snapshot = query.request.snapshot;
        let same = |group: &&mut Group<'_>| {
            std::ptr::eq(group.snapshot, snapshot) || group.snapshot == snapshot
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.queries.push(i),
            None => groups.push(Group { snapshot, queries: vec![i] }),
        }
    }
    groups
}

/// Input of a scan.
struct Pass<'a, B: Body> {
    table: &'a DeltaMain<B>,
    state: &'a State<B>,
    groups: Vec<Group<'a>>,
}

impl<B: Body> DeltaMain<B> {
    pub(super) fn pass(
        &self,
        requests: &[ScanRequest<'_>],
        threads: usize,
    ) -> Result<Vec<ScanEnd>> {
        let _shared = self.passes.read();
        requests.iter().try_for_each(|request| self.horizon.admit(request.snapshot))?;
        let plan = Plan::new(&self.schema, requests)?;
        let state = self.state.load_full();
        let pages: Vec<&Arc<Page<B>>> = state.pages.iter().flatten().collect();
        let rows = pages.iter().map(|page| page.records.row_count() as u64).sum();
        self.coding.begin(&plan, B::FORM, rows);
        let pass = Pass { table: self, state: &state, groups: groups(&plan) };
        // The delta comes first: it is one part, and others can go on beside it.
        run_parts(&plan, pages.len() + 1, threads, |part, worker| match part.checked_sub(1) {
            None => pass.delta(worker),
            Some(number) => pass.page(pages[number], worker),
        })
    }
}

impl<B: Body> Pass<'_, B> {
    /// Reads the keys that are not merged.
    fn delta(&self, worker: &mut Worker<'_, '_>) -> Result<()> {
        let mut outcome = Ok(());
        let mut log = self.table.log.pages_held();
        self.state.delta.each(|key, word| match self.state.seen(key, word, &self.table.memory) {
            Ok(Seen::Top(0) | Seen::Outdated) => (),
            Ok(Seen::Top(top)) => {
                self.refresh(&mut log, top);
                for group in &self.groups {
                    let versions = Versions::<B>::new(&log, top, self.state.floor, None);
                    visible_row(versions, key, group, worker);
                }
            }
            Err(error) => outcome = Err(error),
        });
        outcome
    }

    /// Reads a page, and what was written to its records since it was made.
    fn page(&self, page: &Page<B>, worker: &mut Worker<'_, '_>) -> Result<()> {
        let records = &page.records;
        self.table.pages_read.fetch_add(1, Ordering::Relaxed);
        let mut log = self.table.log.pages_held();
        let mut shares = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let mut share = Share { queries: &group.queries, visible: None };
            if !records.is_plain(group.snapshot.base().0) {
                let mut visible = vec![0; records.row_count().div_ceil(64)];
                for record in 0..records.len() {
                    let (key, word) = (records.key(record), records.word(record));
                    let Seen::Top(top) = self.state.seen(key, word, &self.table.memory)? else {
                        continue;
                    };
                    self.refresh(&mut log, top);
                    let spot = Some(Spot { page, record });
                    let versions = Versions::new(&log, top, self.state.floor, spot);
                    if let Some(row) = visible_row(versions, key, group, worker) {
                        visible[row as usize / 64] |= 1 << (row % 64);
                    }
                }
                share.visible = Some(visible);
            }
            shares.push(share);
        }
        page.body.scan(records, &shares, worker);
        Ok(())
    }

    /// Reads the list of the log's pages again if the entry at `top` is on none of `log`.
    fn refresh(&self, log: &mut Arc<Pages>, top: Address) {
        if top != 0 && log.entry(top).is_none() {
            *log = self.table.log.pages_held();
        }
    }
}

/// Gives the version that a group sees to its queries if it is in the log; returns its row if that
/// is in a page.
#[inline]
fn visible_row<B: Body>(
    versions: Versions<'_, B>,
    key: Key,
    group: &Group<'_>,
    worker: &mut Worker<'_, '_>,
) -> Option<u32> {
    let mut versions = versions.map_while(Result::ok);
    match versions.find(|found| group.snapshot.sees(found.version))?.source {
        Source::Deleted => None,
        Source::Row(row) => Some(row as u32),
        Source::Entry(entry) => {
            let row = TupleRef { schema: &worker.plan().schema, words: entry.row() };
            worker.begin_row();
            group.queries.iter().for_each(|query| worker.row(*query, key, &row));
            None
        }
    }
}
