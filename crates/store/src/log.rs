//! A log of versions in pages of words: threads append and read without locks.
//!
//! ```text
//! page   | entry | entry | ... | 0 0 0              words, zero where nothing was written yet
//! entry  | header | key | version | valid to | previous | row ... |
//! header   bits 0..32 words of the entry, 32..34 kind, 40 sealed, 41 invalid
//! ```
//! Whoever appends exchanges the header at the end of the last page from 0 to its size: the words
//! behind it are then its own, and whoever walks the page can step over them. The other words are
//! written before the entry becomes reachable (a release of the word that points to it) or sealed
//! (a release of its header); after that only `valid to`, `previous` and the header's flags change.
//! An address counts words from the first page on; pages have numbers that never come again, and
//! are held by whoever reads them, so that an address either leads to its entry or to nothing.
//! Elsewhere: what the entries of a key mean together (`log_store`, `delta_main`).
//! Source: Pilman 2017, sections 4.2.3 and 4.3.1. Departures: no sealed pointer, unsealed entries
//! are stepped over one by one; memory is plain atomic words, so that nothing here is `unsafe`.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;

use crate::error::{Result, StoreError};
use crate::snapshot::Version;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::table::{Memory, Room, Taken};
use crate::tuple::{Tuple, Words};

/// Words of an entry before its row.
pub(crate) const HEAD_WORDS: usize = 5;
/// Value of `valid to` while a version is the newest.
pub(crate) const FOR_EVER: u64 = u64::MAX >> 1;
/// Mark of a `valid to` that is the address of the entry's copy.
const FORWARD: u64 = 1 << 63;

const SEALED: u64 = 1 << 40;
const INVALID: u64 = 1 << 41;
const KIND_SHIFT: u32 = 32;

/// Place of an entry; 0 is none.
pub(crate) type Address = u64;

/// Statement of an entry about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The key has the row behind.
    Data = 1,
    /// The key was removed.
    Delete = 2,
    /// The version is no more: it hides what was merged before.
    Revert = 3,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    pub number: u64,
    words: Box<[AtomicU64]>,
    /// Words from the beginning that are surely taken.
    hint: AtomicUsize,
    /// Words of garbage that the last scan found.
    pub garbage: AtomicUsize,
    _taken: Taken,
}

/// The pages there are, by number.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    first: u64,
    pages: Vec<Option<Arc<Page>>>,
    page_words: u64,
}

/// The log of one table.
#[derive(Debug)]
pub(crate) struct Log {
    pages: ArcSwap<Pages>,
    change: Mutex<()>,
    page_words: usize,
    memory: Arc<Memory>,
}

/// An entry where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub address: Address,
    words: &'a [AtomicU64],
}

/// Content of a new entry.
#[derive(Clone, Copy)]
pub(crate) struct Draft<'a> {
    pub key: u64,
    pub version: u64,
    pub kind: Kind,
    /// The row's words; none for a deletion.
    pub row: &'a [u64],
}

impl Log {
    /// A log without pages.
    pub(crate) fn new(page_bytes: usize, memory: &Arc<Memory>) -> Self {
        let page_words = (page_bytes / 8).max(4 * HEAD_WORDS);
        let pages = Pages { first: 1, pages: Vec::new(), page_words: page_words as u64 };
        let pages = ArcSwap::from_pointee(pages);
        Self { pages, change: Mutex::new(()), page_words, memory: Arc::clone(memory) }
    }

    /// The pages of this moment; entries that are reachable later may be on others.
    #[inline]
    pub(crate) fn pages(&self) -> Guard<Arc<Pages>> {
        self.pages.load()
    }

    /// The pages of this moment, held for longer.
    pub(crate) fn pages_held(&self) -> Arc<Pages> {
        self.pages.load_full()
    }

    /// Appends an entry that is neither sealed nor reachable.
    ///
    /// # Errors
    /// [`StoreError::InvalidTuple`] when no page can hold it, [`StoreError::OutOfMemory`].
    pub(crate) fn append(&self, draft: Draft<'_>, room: Room) -> Result<Address> {
        let size = HEAD_WORDS + draft.row.len();
        if size > self.page_words {
            let message = format!("{} bytes on pages of {}", size * 8, self.page_words * 8);
            return Err(StoreError::InvalidTuple(message));
        }
        loop {
            let pages = self.pages.load();
            let last = pages.pages.last().and_then(Option::as_ref);
            if let Some(page) = last
                && let Some(offset) = page.claim(size, draft.kind)
            {
                let words = &page.words[offset..offset + size];
                words[1].store(draft.key, Ordering::Relaxed);
                words[2].store(draft.version, Ordering::Relaxed);
                words[3].store(FOR_EVER, Ordering::Relaxed);
                for (word, value) in words[HEAD_WORDS..].iter().zip(draft.row) {
                    word.store(*value, Ordering::Relaxed);
                }
                return Ok(page.number * self.page_words as u64 + offset as u64);
            }
            let seen = last.map(|page| page.number);
            self.grow(seen, room)?;
        }
    }

    /// Adds a page, unless another thread did since `seen` was the last one.
    fn grow(&self, seen: Option<u64>, room: Room) -> Result<()> {
        let _change = self.change.lock();
        let pages = self.pages.load();
        if pages.pages.last().and_then(Option::as_ref).map(|page| page.number) == seen {
            self.add_page(&pages, room)?;
        }
        Ok(())
    }

    fn add_page(&self, pages: &Pages, room: Room) -> Result<Arc<Page>> {
        let number = pages.first + pages.pages.len() as u64;
        let page = Arc::new(Page::new(
            number,
            self.page_words,
            self.memory.take(self.page_words * 8, room)?,
        ));
        let mut more = pages.pages.clone();
        more.push(Some(Arc::clone(&page)));
        self.publish(pages.first, more);
        Ok(page)
    }

    fn publish(&self, first: u64, mut pages: Vec<Option<Arc<Page>>>) {
        let gone = pages.iter().take_while(|page| page.is_none()).count();
        // The last number stays known, so that it never comes again.
        let gone = gone.min(pages.len().saturating_sub(1));
        pages.drain(..gone);
        let (first, page_words) = (first + gone as u64, self.page_words as u64);
        self.pages.store(Arc::new(Pages { first, pages, page_words }));
    }

    /// Begins a new page; entries appended from now on are at the address that is returned, or
    /// behind it.
    ///
    /// # Errors
    /// [`StoreError::OutOfMemory`].
    pub(crate) fn rotate(&self) -> Result<Address> {
        let _change = self.change.lock();
        let page = self.add_page(&self.pages.load(), Room::Beyond)?;
        Ok(page.number * self.page_words as u64)
    }

    /// Takes pages out: those for which `is_gone`. Their memory goes with the last reader.
    pub(crate) fn remove(&self, is_gone: impl Fn(&Page) -> bool) {
        let _change = self.change.lock();
        let pages = self.pages.load();
        let kept = pages.pages.iter().map(|page| page.clone().filter(|page| !is_gone(page)));
        self.publish(pages.first, kept.collect());
    }

    /// Words of a page.
    pub(crate) fn page_words(&self) -> usize {
        self.page_words
    }
}

impl Pages {
    /// The entry at `address`; `None` when its page is not among these.
    #[inline]
    pub(crate) fn entry(&self, address: Address) -> Option<Entry<'_>> {
        let (number, offset) = (address / self.page_words, address % self.page_words);
        let idx = number.checked_sub(self.first)? as usize;
        let page = self.pages.get(idx)?.as_ref()?;
        let words = &page.words[offset as usize..];
        Some(Entry { address, words })
    }

    /// The pages, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Page>> {
        self.pages.iter().flatten()
    }
}

impl Page {
    fn new(number: u64, words: usize, taken: Taken) -> Self {
        let words = (0..words).map(|_| AtomicU64::new(0)).collect();
        let (hint, garbage) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { number, words, hint, garbage, _taken: taken }
    }

    /// Takes `size` words; `None` when they do not fit.
    fn claim(&self, size: usize, kind: Kind) -> Option<usize> {
        let mut offset = self.hint.load(Ordering::Relaxed);
        let header = size as u64 | (kind as u64) << KIND_SHIFT;
        while offset + size <= self.words.len() {
            let word = &self.words[offset];
            let free = Ordering::Relaxed;
            match word.compare_exchange(0, header, free, free) {
                Ok(_) => {
                    self.hint.fetch_max(offset + size, Ordering::Relaxed);
                    return Some(offset);
                }
                Err(taken) => offset += taken as u32 as usize,
            }
        }
        None
    }

    /// Calls `f` for each entry that is sealed. Stops at the first error.
    ///
    /// # Errors
    /// Errors of `f`.
    pub(crate) fn each<'a>(&'a self, mut f: impl FnMut(Entry<'a>) -> Result<()>) -> Result<()> {
        let mut offset = 0;
        while offset < self.words.len() {
            let header = self.words[offset].load(Ordering::Acquire);
            let size = header as u32 as usize;
            if size == 0 {
                break;
            }
            if header & SEALED != 0 {
                let address = self.number * self.words.len() as u64 + offset as u64;
                f(Entry { address, words: &self.words[offset..offset + size] })?;
            }
            offset += size;
        }
        Ok(())
    }
}

impl<'a> Entry<'a> {
    fn header(&self) -> u64 {
        self.words[0].load(Ordering::Acquire)
    }

    /// Words that it takes.
    pub(crate) fn size(&self) -> usize {
        self.header() as u32 as usize
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.header() >> KIND_SHIFT & 3 {
            1 => Kind::Data,
            2 => Kind::Delete,
            _ => Kind::Revert,
        }
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.header() & SEALED != 0
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.header() & INVALID == 0
    }

    /// Ends the writing of the entry.
    pub(crate) fn seal(&self) {
        self.words[0].fetch_or(SEALED, Ordering::AcqRel);
    }

    /// Makes it garbage.
    pub(crate) fn invalidate(&self) {
        self.words[0].fetch_or(INVALID, Ordering::AcqRel);
    }

    pub(crate) fn key(&self) -> u64 {
        self.words[1].load(Ordering::Relaxed)
    }

    pub(crate) fn version(&self) -> Version {
        Version(self.words[2].load(Ordering::Relaxed))
    }

    /// `valid to`: a version, [`FOR_EVER`], or a mark that leads on; see [`forwarded`].
    pub(crate) fn valid_to(&self) -> &'a AtomicU64 {
        &self.words[3]
    }

    /// The address of the entry below it.
    pub(crate) fn previous(&self) -> &'a AtomicU64 {
        &self.words[4]
    }

    /// The row's words.
    pub(crate) fn row(&self) -> &'a [AtomicU64] {
        &self.words[HEAD_WORDS..self.size()]
    }

    /// The row; `None` for a deletion.
    pub(crate) fn tuple(&self) -> Option<Tuple> {
        (self.kind() == Kind::Data).then(|| {
            let row = self.row();
            Tuple::from_words((0..row.len()).map(|i| row.word(i)).collect())
        })
    }
}

/// The `valid to` of an entry whose copy is at `address`.
pub(crate) fn forward(address: Address) -> u64 {
    address | FORWARD
}

/// The address of the copy, if `valid_to` says that there is one.
pub(crate) fn forwarded(valid_to: u64) -> Option<Address> {
    (valid_to & FORWARD != 0).then_some(valid_to & !FORWARD)
}
