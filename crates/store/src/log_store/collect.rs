//! Passes over the log: queries are answered, garbage is counted, and pages full of it are emptied.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use foldhash::fast::FixedState;
use parking_lot::{Mutex, MutexGuard};

use super::LogStore;
use crate::error::Result;
use crate::log::{Draft, Entry, FOR_EVER, Kind, Page, forward, forwarded};
use crate::scan::{Plan, ScanEnd, ScanRequest, Worker, run_parts};
use crate::snapshot::Version;
use crate::table::{Room, TableStats};
use crate::tuple::TupleRef;

/// Worth of an entry that is sealed, to a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Snapshots may read it.
    Kept,
    /// Nothing leads to it.
    Loose,
    /// Nobody reads it or what is below, though it may be reachable.
    Garbage,
}

fn fate(entry: Entry<'_>, needed: Version) -> Fate {
    let valid_to = entry.valid_to().load(Ordering::Acquire);
    if !entry.is_valid() || forwarded(valid_to).is_some() {
        Fate::Loose
    } else if valid_to != FOR_EVER && valid_to <= needed.0
        || entry.kind() == Kind::Delete && entry.version() <= needed
    {
        Fate::Garbage
    } else {
        Fate::Kept
    }
}

/// One pass.
struct Pass<'a> {
    store: &'a LogStore,
    needed: Version,
    /// Pages to be emptied, by number.
    sparse: HashSet<u64, FixedState>,
    /// Pages that are empty now; held by the thread that collects.
    emptied: Mutex<HashSet<u64, FixedState>>,
}

impl LogStore {
    pub(super) fn collect_once(&self, lowest_active: Version) -> Result<()> {
        let pass = self.pass.lock();
        self.horizon.raise(self.schema.kind(), lowest_active);
        self.run(&[], 1, &pass).map(drop)
    }

    pub(super) fn pass(
        &self,
        requests: &[ScanRequest<'_>],
        threads: usize,
    ) -> Result<Vec<ScanEnd>> {
        let pass = self.pass.lock();
        requests.iter().try_for_each(|request| self.horizon.admit(request.snapshot))?;
        self.run(requests, threads, &pass)
    }

    /// One pass; `_alone` is the right to make one.
    fn run(
        &self,
        requests: &[ScanRequest<'_>],
        threads: usize,
        _alone: &MutexGuard<'_, ()>,
    ) -> Result<Vec<ScanEnd>> {
        let plan = Plan::new(&self.schema, requests)?;
        let pages = self.log.pages_held();
        let last = pages.iter().last().map(|page| page.number);
        let is_sparse = |page: &&Arc<Page>| {
            Some(page.number) != last
                && page.garbage.load(Ordering::Relaxed) * 2 > self.log.page_words()
        };
        let sparse: HashSet<u64, FixedState> =
            pages.iter().filter(is_sparse).map(|page| page.number).collect();
        drop(pages);
        if !sparse.is_empty() {
            // Copies go to pages that this pass does not read, and no call appends to the others.
            self.log.rotate()?;
            self.gate.drain();
        }
        let fresh = self.log.pages_held();
        let pages: Vec<&Arc<Page>> = fresh.iter().collect();
        let is_open = |page: &Page| Some(page.number) == pages.last().map(|page| page.number);
        let pages = if sparse.is_empty() { &pages[..] } else { &pages[..pages.len() - 1] };
        let needed = self.horizon.needed(self.schema.kind());
        let pass = Pass { store: self, needed, sparse, emptied: Mutex::default() };
        let ends = run_parts(&plan, pages.len(), threads, |part, worker| {
            pass.page(pages[part], is_open(pages[part]), worker)
        });
        let emptied = pass.emptied.into_inner();
        if !emptied.is_empty() {
            // Writers in flight may still hold links into them that they are about to mend.
            self.gate.drain();
            self.log.remove(|page| emptied.contains(&page.number));
            self.pages_rewritten.fetch_add(emptied.len() as u64, Ordering::Relaxed);
        }
        ends
    }

    pub(super) fn counted(&self) -> TableStats {
        let needed = self.horizon.needed(self.schema.kind());
        let pages = self.log.pages_held();
        let mut stats = TableStats {
            bytes: self.memory.used(),
            pages_read: self.pages_read.load(Ordering::Relaxed),
            pages_rewritten: self.pages_rewritten.load(Ordering::Relaxed),
            ..TableStats::default()
        };
        for page in pages.iter() {
            stats.pages += 1;
            let counted = page.each(|entry| {
                stats.versions += u64::from(fate(entry, needed) == Fate::Kept);
                Ok(())
            });
            counted.expect("counting does not fail");
        }
        stats
    }
}

impl Pass<'_> {
    /// Reads a page for all queries, and empties it if its turn has come.
    fn page(&self, page: &Page, is_open: bool, worker: &mut Worker<'_, '_>) -> Result<()> {
        let store = self.store;
        if !worker.plan().queries.is_empty() {
            store.pages_read.fetch_add(1, Ordering::Relaxed);
        }
        let is_sparse = self.sparse.contains(&page.number);
        let mut emptied = if is_sparse { self.emptied.try_lock() } else { None };
        let (mut live, mut row) = (0, Vec::new());
        page.each(|entry| {
            let fate = fate(entry, self.needed);
            if fate == Fate::Kept {
                live += entry.size();
                judge(entry, worker);
            }
            if emptied.is_some() {
                match fate {
                    Fate::Kept => self.copy(entry, &mut row)?,
                    Fate::Garbage => self.cut(entry),
                    Fate::Loose => (),
                }
            }
            Ok(())
        })?;
        if let Some(emptied) = &mut emptied {
            emptied.insert(page.number);
        } else if !is_open {
            page.garbage.store(store.log.page_words() - live, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Ends a chain above an entry that nobody reads any more.
    fn cut(&self, entry: Entry<'_>) {
        if let Some(word) = self.store.index.find(entry.key()) {
            self.store.relink(word, entry.address, 0);
        }
    }

    /// Puts a copy in the place of an entry; `row` is memory for its row.
    fn copy(&self, entry: Entry<'_>, row: &mut Vec<u64>) -> Result<()> {
        let store = self.store;
        row.clear();
        row.extend(entry.row().iter().map(|word| word.load(Ordering::Relaxed)));
        let (key, version, kind) = (entry.key(), entry.version().0, entry.kind());
        let address = store.log.append(Draft { key, version, kind, row }, Room::Beyond)?;
        let pages = store.log.pages();
        let copy = pages.entry(address).expect("it was just appended");
        let below = entry.previous().load(Ordering::Acquire);
        copy.previous().store(below, Ordering::Relaxed);
        let mut seen = entry.valid_to().load(Ordering::Acquire);
        loop {
            copy.valid_to().store(seen, Ordering::Relaxed);
            let release = Ordering::AcqRel;
            let cell = entry.valid_to();
            match cell.compare_exchange(seen, forward(address), release, Ordering::Acquire) {
                Ok(_) => break,
                Err(other) => seen = other,
            }
        }
        copy.seal();
        let word = store.index.find(key).expect("a key with an entry keeps its word");
        if store.relink(word, entry.address, address) {
            let now = entry.previous().load(Ordering::Acquire);
            if now != below {
                store.relink(word, below, now);
            }
        } else {
            // The entry was taken out of its chain meanwhile.
            copy.invalidate();
        }
        Ok(())
    }
}

/// Gives an entry to the queries whose snapshots see it.
fn judge(entry: Entry<'_>, worker: &mut Worker<'_, '_>) {
    if entry.kind() != Kind::Data || worker.plan().queries.is_empty() {
        return;
    }
    let (key, from) = (entry.key(), entry.version());
    let valid_to = entry.valid_to().load(Ordering::Acquire);
    let row = entry.row();
    let row = TupleRef { schema: &worker.plan().schema, words: row };
    worker.begin_row();
    for query in 0..worker.plan().queries.len() {
        let snapshot = worker.plan().queries[query].request.snapshot;
        let is_replaced = valid_to != FOR_EVER && snapshot.sees(Version(valid_to));
        if snapshot.sees(from) && !is_replaced {
            worker.row(query, key, &row);
        }
    }
}
