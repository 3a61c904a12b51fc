//! A log to write to.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::{Error, Result, SqlState};

use crate::flush::{BackgroundThread, Shared, Tail};
use crate::format::{MARK_BYTES, RECORD_ALIGN, RECORD_HEADER_BYTES};
use crate::place::{Background, LogOptions, LogPlace, Lsn, Position, Stamp};
use crate::reader::LogReader;
use crate::segments::Segments;

/// A payload with room for the header in front, reused from commit to commit.
#[derive(Debug)]
pub struct RecordBuffer {
    bytes: Vec<u8>,
}

impl Default for RecordBuffer {
    fn default() -> Self {
        Self { bytes: vec![0; RECORD_HEADER_BYTES] }
    }
}

impl RecordBuffer {
    /// The bytes to append the payload to. What is in front of the payload must stay.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The payload so far.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[RECORD_HEADER_BYTES..]
    }

    /// Empties the payload and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.resize(RECORD_HEADER_BYTES, 0);
    }
}

/// Room in the log for one record; given back when dropped unused.
#[derive(Debug)]
pub struct Space<'a> {
    log: &'a Log,
    bytes: u64,
}

impl Drop for Space<'_> {
    fn drop(&mut self) {
        self.log.shared.reserved.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// The log, open for writing. Shared by all sessions.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    background: Option<BackgroundThread>,
}

impl Log {
    /// Makes the log of a new database in an empty directory.
    ///
    /// # Errors
    /// Errors of `io`.
    pub fn create(place: &LogPlace<'_>, options: LogOptions) -> Result<Self> {
        assert!(options.segment_bytes.is_multiple_of(RECORD_ALIGN as u64));
        let segments = Segments::create(place, options.segment_bytes)?;
        Ok(Self::start(segments, Lsn(0), place.io.entropy(), options))
    }

    /// Goes on where `reader` ends, which reads the rest if it did not; what follows is cut.
    ///
    /// # Errors
    /// Errors of [`LogReader::next`] and `io`.
    pub fn resume(mut reader: LogReader, options: LogOptions) -> Result<Self> {
        while reader.next()?.is_some() {}
        let end = reader.position();
        let (place, segments) = reader.into_segments()?;
        Ok(Self::start(segments, end, place.entropy(), options))
    }

    fn start(segments: Segments, end: Lsn, incarnation: u64, options: LogOptions) -> Self {
        let shared = Arc::new(Shared::new(segments, end, incarnation, options));
        let background = match options.background {
            Background::Thread => Some(BackgroundThread::start(&shared)),
            Background::None => None,
        };
        Self { shared, background }
    }

    /// Makes room for `record`: waits while too much waits for the disk, and allocates disk space.
    /// To be called before the commit latch is taken; costs nothing but an atomic addition most
    /// of the time.
    ///
    /// # Errors
    /// 53100 when the disk is full: nothing has happened, the transaction can still be aborted or
    /// tried again. 54000 for a record of 4 GiB. 58030 once the log has failed.
    pub fn reserve(&self, record: &RecordBuffer) -> Result<Space<'_>> {
        let shared = &*self.shared;
        let record_bytes = record.bytes.len().next_multiple_of(RECORD_ALIGN) as u64;
        if record_bytes > u64::from(u32::MAX) {
            let message = "the changes of one transaction exceed 4 GiB";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        shared.refuse_if_failed()?;
        while shared.waiting_bytes() > shared.options.waiting_bytes_max {
            shared.wait_durable(Lsn(shared.appended.load(Ordering::Acquire)))?;
        }
        // Each record may turn out to be the first of a batch and bring a mark.
        let space = Space { log: self, bytes: record_bytes + MARK_BYTES as u64 };
        shared.reserved.fetch_add(space.bytes, Ordering::AcqRel);
        shared.ensure_allocated()?;
        Ok(space)
    }

    /// Appends a record in memory and returns the lsn behind it, up to which the log must be
    /// durable before the commit is acknowledged. A record of 1 MiB and more is taken out of
    /// `record`, a smaller one copied; `record` is empty afterwards. No I/O.
    ///
    /// # Errors
    /// 58030 once the log has failed.
    ///
    /// # Panics
    /// If the record grew since it was reserved, or if `stamp` is `u64::MAX`.
    pub fn append(&self, space: Space<'_>, stamp: Stamp, record: &mut RecordBuffer) -> Result<Lsn> {
        assert!(stamp.0 != u64::MAX, "the last stamp is that of marks");
        let padded = record.bytes.len().next_multiple_of(RECORD_ALIGN);
        assert!((padded + MARK_BYTES) as u64 <= space.bytes, "more than was reserved");
        self.shared.refuse_if_failed()?;
        let bytes = record.bytes.len() as u32;
        record.bytes[..4].copy_from_slice(&bytes.to_le_bytes());
        record.bytes[8..16].copy_from_slice(&stamp.0.to_le_bytes());
        record.bytes.resize(padded, 0);
        let end = {
            let mut tail = self.shared.tail.lock();
            Tail::append(&mut tail, &mut record.bytes, self.shared.incarnation);
            self.shared.appended.store(tail.end, Ordering::Release);
            tail.end
        };
        record.clear();
        drop(space);
        Ok(Lsn(end))
    }

    /// Waits until everything below `lsn` is durable. One of the waiting threads writes for all.
    ///
    /// # Errors
    /// 58030 when the log failed: whether the commit survives is unknown. 53100 when the disk is
    /// full in spite of the reservation: the records stay and are written with the next call.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        self.shared.wait_durable(lsn)
    }

    /// Makes everything appended so far be written within [`LogOptions::flush_interval`].
    pub fn flush_later(&self) {
        if let Some(background) = &self.background {
            background.flush_later();
        }
    }

    /// The position behind the last record appended: where the next one goes, and where replay
    /// starts when a checkpoint holds all that is in front.
    pub fn position(&self) -> Position {
        let lsn = Lsn(self.shared.appended.load(Ordering::Acquire));
        Position { lsn, incarnation: self.shared.incarnation }
    }

    /// Everything below is durable.
    pub fn durable(&self) -> Lsn {
        Lsn(self.shared.durable.load(Ordering::Acquire))
    }

    /// Gives up segments that hold nothing at or above `lsn`, once a durable manifest starts
    /// there. Some are kept to be written again. Returns how many were given up.
    ///
    /// # Errors
    /// Errors of `io`; segments that stay are given up when the log is next opened.
    pub fn remove_below(&self, lsn: Lsn) -> Result<usize> {
        // What waits is still to be written there.
        self.shared.segments.remove_below(lsn.min(self.durable()).0)
    }

    /// # Errors
    /// 58030 once the log has failed.
    pub fn health(&self) -> Result<()> {
        self.shared.refuse_if_failed()
    }

    /// Bytes of disk held by segments.
    pub fn disk_bytes(&self) -> u64 {
        self.shared.segments.disk_bytes()
    }
}

impl Drop for Log {
    /// Writes what waits, and a mark behind it, so that damage of the last batch is noticed. Errors
    /// have no receiver: who needs to know calls [`Log::wait_durable`] before.
    fn drop(&mut self) {
        drop(self.background.take());
        let _ = self.shared.close();
    }
}
