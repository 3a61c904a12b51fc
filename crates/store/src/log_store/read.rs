//! Reads of one key: along its versions.

use std::sync::atomic::Ordering;

use super::LogStore;
use crate::error::Result;
use crate::log::{Entry, Pages};
use crate::schema::Key;
use crate::snapshot::{Snapshot, Version};
use crate::table::{Fetched, answer};

/// An entry's page is gone: the key's word leads elsewhere by now.
pub(super) struct Moved;

/// The entries of a key, newest first.
pub(super) struct Chain<'a> {
    pages: &'a Pages,
    next: u64,
}

impl<'a> Chain<'a> {
    pub(super) fn new(pages: &'a Pages, word: u64) -> Self {
        Self { pages, next: word }
    }
}

impl<'a> Iterator for Chain<'a> {
    type Item = Result<Entry<'a>, Moved>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == 0 {
            return None;
        }
        match self.pages.entry(self.next) {
            None => {
                self.next = 0;
                Some(Err(Moved))
            }
            Some(entry) => {
                self.next = entry.previous().load(Ordering::Acquire);
                Some(Ok(entry))
            }
        }
    }
}

impl LogStore {
    pub(super) fn read(&self, snapshot: &Snapshot, key: Key) -> Result<Fetched> {
        self.horizon.admit(snapshot)?;
        let Some(word) = self.index.find(key) else { return answer(None, None) };
        loop {
            let head = word.load(Ordering::Acquire);
            let pages = self.log.pages();
            if let Ok((newest, visible)) = find(&pages, head, snapshot) {
                return answer(newest, visible.map(|entry| (entry.version(), entry.tuple())));
            }
        }
    }

    pub(super) fn newest(&self, key: Key) -> Version {
        let Some(word) = self.index.find(key) else { return Version(0) };
        loop {
            let head = word.load(Ordering::Acquire);
            let pages = self.log.pages();
            match Chain::new(&pages, head).next() {
                None => return Version(0),
                Some(Ok(entry)) => return entry.version(),
                Some(Err(Moved)) => (),
            }
        }
    }
}

/// The newest version, and the newest entry that the snapshot sees.
fn find<'a>(
    pages: &'a Pages,
    head: u64,
    snapshot: &Snapshot,
) -> Result<(Option<Version>, Option<Entry<'a>>), Moved> {
    let mut newest = None;
    for entry in Chain::new(pages, head) {
        let entry = entry?;
        let version = entry.version();
        newest.get_or_insert(version);
        if snapshot.sees(version) {
            return Ok((newest, Some(entry)));
        }
    }
    Ok((newest, None))
}
