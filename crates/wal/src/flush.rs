//! Group commit: of the threads that wait, one writes and syncs for all.
//!
//! ```text
//! append -> tail (chunks of whole records) --leader takes all--> seal -> write -> sync -> durable
//! ```
//! Invariants: one leader at a time; lsns become durable in order; a batch that met a full disk
//! stays in front and is written again, whole, before anything behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use types::codec::{read_u32, read_u64};
use types::waiting::waiting;
use types::{Error, Result, SqlState};

use crate::format::{self, Checksums, MARK_BYTES, MARK_STAMP, RECORD_ALIGN};
use crate::place::{LogOptions, Lsn};
use crate::segments::Segments;

/// Bytes of a chunk. Records of this size and more are chunks of their own and never copied.
const CHUNK_BYTES: usize = 1 << 20;
/// Empty chunks kept.
const CHUNKS_FREE_MAX: usize = 16;
/// Space that the background thread keeps allocated ahead of what is reserved.
const AHEAD_BYTES_MAX: u64 = 16 << 20;

/// Records that no leader has taken yet.
#[derive(Debug)]
pub(super) struct Tail {
    /// Position of the stream behind the last record.
    pub(super) end: u64,
    /// Whole records, the first of them a mark.
    chunks: Vec<Vec<u8>>,
    free: Vec<Vec<u8>>,
}

impl Tail {
    /// Appends a padded record; takes it out of `record` if it is large.
    pub(super) fn append(&mut self, record: &mut Vec<u8>, incarnation: u64) {
        if self.chunks.is_empty() {
            self.append_mark(incarnation);
        }
        let bytes = record.len();
        if bytes >= CHUNK_BYTES {
            self.chunks.push(std::mem::take(record));
        } else {
            match self.chunks.last_mut() {
                Some(last) if last.len() + bytes <= CHUNK_BYTES => last.extend_from_slice(record),
                _ => {
                    let mut chunk = self.empty_chunk();
                    chunk.extend_from_slice(record);
                    self.chunks.push(chunk);
                }
            }
        }
        self.end += bytes as u64;
    }

    fn append_mark(&mut self, incarnation: u64) {
        let mut chunk = self.empty_chunk();
        chunk.extend_from_slice(&format::mark(incarnation));
        self.chunks.push(chunk);
        self.end += MARK_BYTES as u64;
    }

    fn empty_chunk(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES))
    }

    /// Keeps the memory of chunks that were written.
    fn give_back(&mut self, chunks: Vec<Vec<u8>>) {
        for mut chunk in chunks {
            if chunk.capacity() == CHUNK_BYTES && self.free.len() < CHUNKS_FREE_MAX {
                chunk.clear();
                self.free.push(chunk);
            }
        }
    }
}

/// Bytes that one leader writes and syncs at once.
#[derive(Debug)]
struct Batch {
    start: u64,
    end: u64,
    chunks: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Flush {
    /// A thread writes right now.
    led: bool,
    /// Why the log failed.
    failure: Option<Error>,
    /// A batch that met a full disk.
    stuck: Option<Batch>,
}

/// State that a log's users and its background thread share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) segments: Segments,
    pub(super) options: LogOptions,
    pub(super) incarnation: u64,
    pub(super) tail: Mutex<Tail>,
    /// Position of the stream behind the last record in the tail.
    pub(super) appended: AtomicU64,
    /// Bytes promised to records that are not appended yet.
    pub(super) reserved: AtomicU64,
    pub(super) durable: AtomicU64,
    opened_at: u64,
    failed: AtomicBool,
    flush: Mutex<Flush>,
    flushed: Condvar,
    wishes: Wishes,
}

impl Shared {
    pub(super) fn new(segments: Segments, end: Lsn, incarnation: u64, options: LogOptions) -> Self {
        let tail = Tail { end: end.0, chunks: Vec::new(), free: Vec::new() };
        Self {
            segments,
            options,
            incarnation,
            tail: Mutex::new(tail),
            appended: AtomicU64::new(end.0),
            reserved: AtomicU64::new(0),
            durable: AtomicU64::new(end.0),
            opened_at: end.0,
            failed: AtomicBool::new(false),
            flush: Mutex::default(),
            flushed: Condvar::new(),
            wishes: Wishes::default(),
        }
    }

    /// Bytes appended and not durable.
    pub(super) fn waiting_bytes(&self) -> u64 {
        let durable = self.durable.load(Ordering::Acquire);
        self.appended.load(Ordering::Acquire).saturating_sub(durable)
    }

    pub(super) fn refuse_if_failed(&self) -> Result<()> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        match &self.flush.lock().failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Space on disk for all that is appended and reserved, and for the mark of [`Self::close`].
    pub(super) fn ensure_allocated(&self) -> Result<()> {
        let needed = self.needed();
        let allocated = self.segments.allocated();
        if needed <= allocated {
            if allocated - needed < self.ahead_bytes() {
                self.wishes.allocate();
            }
            return Ok(());
        }
        self.segments.allocate_to(needed).map_err(|error| self.note(error))
    }

    fn needed(&self) -> u64 {
        // Appended last: a record on its way from one to the other counts twice rather than never.
        let reserved = self.reserved.load(Ordering::Acquire);
        self.appended.load(Ordering::Acquire) + reserved + MARK_BYTES as u64
    }

    fn ahead_bytes(&self) -> u64 {
        (self.options.segment_bytes / 4).min(AHEAD_BYTES_MAX)
    }

    /// Turns `error` into the log's failure, unless the disk is only full.
    fn note(&self, error: Error) -> Error {
        if error.state() == SqlState::DISK_FULL {
            return error;
        }
        let mut flush = self.flush.lock();
        let failure = flush.failure.get_or_insert_with(|| {
            Error::new(SqlState::IO_ERROR, format!("the log failed: {}", error.message()))
                .with_detail("Whether commits that were not acknowledged survive is unknown.")
                .with_hint("Open the database again.")
        });
        let failure = failure.clone();
        self.failed.store(true, Ordering::Release);
        failure
    }

    /// See [`super::Log::wait_durable`].
    pub(super) fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        let reached = || self.durable.load(Ordering::Acquire) >= lsn.0;
        if reached() {
            return Ok(());
        }
        assert!(lsn.0 <= self.appended.load(Ordering::Acquire), "nothing was appended there");
        waiting(|| self.wait_flushed(reached))
    }

    fn wait_flushed(&self, reached: impl Fn() -> bool) -> Result<()> {
        let mut flush = self.flush.lock();
        loop {
            if reached() {
                return Ok(());
            }
            if let Some(failure) = &flush.failure {
                return Err(failure.clone());
            }
            if flush.led {
                self.flushed.wait(&mut flush);
                continue;
            }
            flush.led = true;
            let stuck = flush.stuck.take();
            drop(flush);
            let leader = Leader(self);
            let outcome = self.lead(stuck);
            drop(leader);
            flush = self.flush.lock();
            flush.led = false;
            let failed = match outcome {
                Ok(()) => None,
                Err((error, batch)) => {
                    flush.stuck = Some(batch);
                    drop(flush);
                    let error = self.note(error);
                    flush = self.flush.lock();
                    Some(error)
                }
            };
            self.flushed.notify_all();
            match failed {
                Some(error) if !reached() => return Err(error),
                _ => {}
            }
        }
    }

    /// Writes and syncs a batch: the one that is stuck, or all of the tail.
    fn lead(&self, stuck: Option<Batch>) -> Result<(), (Error, Batch)> {
        let batch = match stuck {
            Some(batch) => batch,
            None => {
                let mut batch = self.take_tail();
                self.seal(&mut batch);
                batch
            }
        };
        match self.write(&batch) {
            Ok(()) => {
                self.durable.store(batch.end, Ordering::Release);
                self.tail.lock().give_back(batch.chunks);
                Ok(())
            }
            Err(error) => Err((error, batch)),
        }
    }

    fn take_tail(&self) -> Batch {
        let mut tail = self.tail.lock();
        let chunks = std::mem::take(&mut tail.chunks);
        let bytes: usize = chunks.iter().map(Vec::len).sum();
        Batch { start: tail.end - bytes as u64, end: tail.end, chunks }
    }

    /// Checksums are made here and not in the commit latch.
    fn seal(&self, batch: &mut Batch) {
        let checksums = Checksums::new(self.segments.database);
        let mut lsn = batch.start;
        for chunk in &mut batch.chunks {
            let mut rest = &mut chunk[..];
            while !rest.is_empty() {
                let bytes = (read_u32(rest, 0) as usize).next_multiple_of(RECORD_ALIGN);
                let (record, later) = rest.split_at_mut(bytes);
                let is_mark = read_u64(record, 8) == MARK_STAMP;
                checksums.seal(record, if is_mark { 0 } else { self.incarnation }, lsn);
                lsn += bytes as u64;
                rest = later;
            }
        }
    }

    fn write(&self, batch: &Batch) -> Result<()> {
        let mut lsn = batch.start;
        for chunk in &batch.chunks {
            self.segments.write(lsn, chunk)?;
            lsn += chunk.len() as u64;
        }
        self.segments.sync(batch.start, batch.end)
    }

    /// Writes what waits, then a mark, which tells that the last batch was synced.
    pub(super) fn close(&self) -> Result<()> {
        let end = self.appended.load(Ordering::Acquire);
        self.wait_durable(Lsn(end))?;
        if end == self.opened_at {
            return Ok(());
        }
        let end = {
            let mut tail = self.tail.lock();
            tail.append_mark(self.incarnation);
            self.appended.store(tail.end, Ordering::Release);
            tail.end
        };
        self.wait_durable(Lsn(end))
    }
}

/// A leader at work. Should it panic, the log has failed, and nobody waits for it for ever.
struct Leader<'a>(&'a Shared);

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.note(Error::internal("the leader of a group commit panicked"));
            self.0.flush.lock().led = false;
            self.0.flushed.notify_all();
        }
    }
}

/// Requests to the background thread. The flags spare askers the lock.
#[derive(Debug, Default)]
struct Wishes {
    flush_asked: AtomicBool,
    allocate_asked: AtomicBool,
    asked: Mutex<Asked>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    flush_at: Option<Instant>,
    allocate: bool,
    stop: bool,
}

impl Wishes {
    fn ask(&self, flag: &AtomicBool, change: impl FnOnce(&mut Asked)) {
        if !flag.swap(true, Ordering::AcqRel) {
            change(&mut self.asked.lock());
            self.changed.notify_one();
        }
    }

    fn allocate(&self) {
        self.ask(&self.allocate_asked, |asked| asked.allocate = true);
    }
}

/// The thread for what nobody waits for; ends when dropped.
#[derive(Debug)]
pub(super) struct BackgroundThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundThread {
    pub(super) fn start(shared: &Arc<Shared>) -> Self {
        let shared = Arc::clone(shared);
        let mine = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("log".into()).spawn(move || run(&mine)).ok();
        Self { shared, thread }
    }

    pub(super) fn flush_later(&self) {
        let wishes = &self.shared.wishes;
        let at = Instant::now() + self.shared.options.flush_interval;
        wishes.ask(&wishes.flush_asked, |asked| asked.flush_at = Some(at));
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.shared.wishes.asked.lock().stop = true;
        self.shared.wishes.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared) {
    let wishes = &shared.wishes;
    let mut asked = wishes.asked.lock();
    while !asked.stop {
        if asked.allocate {
            asked.allocate = false;
            drop(asked);
            // A full disk is met again, and reported, by who reserves.
            let ahead = shared.needed() + shared.ahead_bytes();
            let _ = shared.segments.allocate_to(ahead).map_err(|error| shared.note(error));
            wishes.allocate_asked.store(false, Ordering::Release);
            asked = wishes.asked.lock();
            continue;
        }
        match asked.flush_at {
            Some(at) if Instant::now() >= at => {
                asked.flush_at = None;
                drop(asked);
                // Reads the flag, too: who found it set has appended before.
                wishes.flush_asked.swap(false, Ordering::AcqRel);
                // Failures stay with the log: the next commit reports them.
                let _ = shared.wait_durable(Lsn(shared.appended.load(Ordering::Acquire)));
                asked = wishes.asked.lock();
            }
            Some(at) => {
                wishes.changed.wait_until(&mut asked, at);
            }
            None => wishes.changed.wait(&mut asked),
        }
    }
}
