//! Reading the log from a position on: at recovery and when files are verified.

use std::path::PathBuf;
use std::sync::Arc;

use host::Io;
use host::{Failure, Finding};
use types::codec::{read_u32, read_u64};
use types::{Error, Result, SqlState};

use crate::format::{
    Checksums, MARK_BYTES, MARK_STAMP, RECORD_ALIGN, RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES,
};
use crate::place::{LogPlace, Lsn, Position, Stamp};
use crate::segments::{self, Segment, Segments, segment_name};

/// Bytes read at once.
const READ_BYTES: usize = 4 << 20;

/// A record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where it starts.
    pub lsn: Lsn,
    /// Its stamp.
    pub stamp: Stamp,
    /// Bytes that [`super::RecordBuffer`] held.
    pub payload: &'a [u8],
}

/// Reads records in order. Holds one buffer, as large as the largest record but 4 MiB at least.
#[derive(Debug)]
pub struct LogReader {
    io: Arc<dyn Io>,
    directory: PathBuf,
    database: u64,
    checksums: Checksums,
    segment_bytes: u64,
    files: Vec<Segment>,
    after: Stamp,
    /// End of the stream's space on disk.
    limit: u64,
    /// Bytes of the stream from position `lsn` on are `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    lsn: u64,
    /// Incarnation of the mark before.
    incarnation: u64,
    /// Where the batch of `lsn` starts, or reading did.
    batch: u64,
    ended: bool,
    /// The newest stamp read.
    newest: Stamp,
    torn: Option<Finding>,
    failure: Option<Failure>,
}

/// Bytes at a position of the stream.
enum Found {
    Mark(u64),
    Record { padded: usize },
    Nothing(&'static str),
}

impl LogReader {
    /// Starts at `from`, which a manifest names or is 0; passes over records up to `after`.
    ///
    /// # Errors
    /// XX001 when the log has no such position, or a segment's header is damaged; those of `io`.
    pub fn open(place: &LogPlace<'_>, from: Position, after: Stamp) -> Result<Self> {
        Ok(Self::try_open(place, from, after)?)
    }

    /// As [`Self::open`], with damage told apart from other errors.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn try_open(place: &LogPlace<'_>, from: Position, after: Stamp) -> Result<Self, Failure> {
        let found = segments::open(place, from.lsn.0)?;
        let limit = found.files.last().map_or(0, |last| last.first + last.room);
        if from.lsn.0 > limit {
            let path = found.files.last().map(|last| segment_name(last.first)).unwrap_or_default();
            let expectation = format!("the log up to lsn {:#x} at least", from.lsn.0);
            return Err(Finding::new(place.directory.join(path), 0, expectation).into());
        }
        Ok(Self {
            io: Arc::clone(place.io),
            directory: place.directory.to_owned(),
            database: place.database,
            checksums: Checksums::new(place.database),
            segment_bytes: found.segment_bytes,
            files: found.files,
            after,
            limit,
            buffer: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            lsn: from.lsn.0,
            incarnation: from.incarnation,
            batch: from.lsn.0,
            ended: false,
            newest: after,
            torn: None,
            failure: None,
        })
    }

    /// The next record, or nothing at the end of the log.
    ///
    /// # Errors
    /// XX001 with file, offset and expectation for damage of what was durable; those of `io`.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        Ok(self.try_next()?)
    }

    /// As [`Self::next`], with damage told apart from other errors.
    ///
    /// # Errors
    /// See [`Self::next`].
    pub fn try_next(&mut self) -> Result<Option<Record<'_>>, Failure> {
        while !self.ended {
            if let Some(failure) = &self.failure {
                return Err(failure.clone());
            }
            match self.look()? {
                Found::Mark(incarnation) => {
                    self.incarnation = incarnation;
                    self.batch = self.lsn;
                    self.advance(MARK_BYTES);
                }
                Found::Record { padded } => {
                    let (lsn, at) = (Lsn(self.lsn), self.start);
                    self.advance(padded);
                    let stamp = Stamp(read_u64(&self.buffer, at + 8));
                    self.newest = self.newest.max(stamp);
                    if stamp > self.after {
                        let bytes = read_u32(&self.buffer, at) as usize;
                        let payload = &self.buffer[at + RECORD_HEADER_BYTES..at + bytes];
                        return Ok(Some(Record { lsn, stamp, payload }));
                    }
                }
                Found::Nothing(expectation) => self.finish(expectation)?,
            }
        }
        Ok(None)
    }

    /// The position behind the last record read.
    pub fn position(&self) -> Lsn {
        Lsn(self.lsn)
    }

    /// Where the log breaks off inside of a record, if it does: commits that nobody was told of. To
    /// be asked at the end.
    pub fn torn_tail(&self) -> Option<&Finding> {
        self.torn.as_ref()
    }

    /// File and offset of a position.
    pub fn place_of(&self, lsn: Lsn) -> (PathBuf, u64) {
        let first = lsn.0 - lsn.0 % self.segment_bytes;
        (self.directory.join(segment_name(first)), SEGMENT_HEADER_BYTES + lsn.0 - first)
    }

    fn advance(&mut self, bytes: usize) {
        self.start += bytes;
        self.lsn += bytes as u64;
    }

    fn look(&mut self) -> Result<Found, Failure> {
        if !self.fill(RECORD_HEADER_BYTES)? {
            return Ok(Found::Nothing("a record"));
        }
        let bytes = read_u32(&self.buffer, self.start) as usize;
        if read_u64(&self.buffer, self.start + 8) == MARK_STAMP {
            if bytes != MARK_BYTES || !self.fill(MARK_BYTES)? {
                return Ok(Found::Nothing("a mark of 24 bytes"));
            }
            let mark = self.checksums.mark(&self.buffer[self.start..self.end], self.lsn);
            return Ok(mark.map_or(Found::Nothing("a mark with its checksum"), Found::Mark));
        }
        let padded = bytes.next_multiple_of(RECORD_ALIGN);
        if bytes < RECORD_HEADER_BYTES {
            return Ok(Found::Nothing("a record of 16 bytes at least"));
        }
        if !self.fill(padded)? {
            return Ok(Found::Nothing("a record that ends before the log"));
        }
        let record = &self.buffer[self.start..self.start + padded];
        if self.checksums.of(record, self.incarnation, self.lsn) != read_u32(record, 4) {
            return Ok(Found::Nothing("a record with its checksum"));
        }
        Ok(Found::Record { padded })
    }

    /// Reads `bytes` bytes into the buffer; false when the space on disk ends before.
    fn fill(&mut self, bytes: usize) -> Result<bool, Failure> {
        if self.end - self.start >= bytes {
            return Ok(true);
        }
        if self.lsn + bytes as u64 > self.limit {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < bytes {
            let more = bytes - self.buffer.len();
            self.buffer.try_reserve_exact(more).map_err(|_| {
                let message = format!("no memory for a log record of {bytes} bytes");
                Error::new(SqlState::OUT_OF_MEMORY, message)
            })?;
            self.buffer.resize(bytes, 0);
        }
        while self.end < bytes {
            self.read_more()?;
        }
        Ok(true)
    }

    /// Reads behind the buffer's end what one segment and the buffer's memory allow.
    fn read_more(&mut self) -> Result<(), Failure> {
        let at = self.lsn + (self.end - self.start) as u64;
        let segment = &self.files[((at - self.files[0].first) / self.segment_bytes) as usize];
        let inside = at - segment.first;
        let room = self.buffer.len() - self.end;
        let count = room.min((segment.room - inside) as usize);
        let into = &mut self.buffer[self.end..self.end + count];
        let read = segment.file.read_at(SEGMENT_HEADER_BYTES + inside, into)?;
        if read < count {
            let path = self.directory.join(segment_name(segment.first));
            let offset = SEGMENT_HEADER_BYTES + inside + read as u64;
            let expectation = "more bytes, as its length promised";
            return Err(Finding::new(path, offset, expectation).into());
        }
        self.end += count;
        Ok(())
    }

    /// True when the bytes here look like the next record. Those of recycled segments do not:
    /// their stamps are old.
    fn is_record_begun(&mut self) -> Result<bool, Failure> {
        if !self.fill(RECORD_HEADER_BYTES)? {
            return Ok(false);
        }
        let bytes = read_u32(&self.buffer, self.start) as usize;
        let stamp = read_u64(&self.buffer, self.start + 8);
        let is_next = stamp > self.newest.0 && stamp - self.newest.0 <= u64::from(u32::MAX);
        Ok(bytes >= RECORD_HEADER_BYTES && is_next)
    }

    /// Decides whether the log ends here, or was damaged: a mark further on says so.
    fn finish(&mut self, expectation: &str) -> Result<(), Failure> {
        let at = self.lsn;
        let torn = self.is_record_begun()?;
        let mut found = None;
        while found.is_none() && self.fill(MARK_BYTES)? {
            let whole = (self.end - self.start) / RECORD_ALIGN * RECORD_ALIGN;
            let window = &self.buffer[self.start..self.start + whole];
            let places = (0..=whole - MARK_BYTES).step_by(RECORD_ALIGN);
            found = places
                .map(|place| (place, self.lsn + place as u64))
                .find(|(place, lsn)| self.checksums.mark(&window[*place..], *lsn).is_some())
                .map(|(_, lsn)| lsn);
            // The last bytes may be the beginning of a mark.
            self.advance(whole - MARK_BYTES + RECORD_ALIGN);
        }
        if let Some(mark) = found {
            let (path, offset) = self.place_of(Lsn(at));
            let expectation =
                format!("{expectation} at lsn {at:#x}, because the log goes on at {mark:#x}");
            let failure = Failure::from(Finding::new(path, offset, expectation));
            self.failure = Some(failure.clone());
            return Err(failure);
        }
        self.lsn = at;
        self.ended = true;
        if torn {
            let (path, offset) = self.place_of(Lsn(at));
            self.torn = Some(Finding::new(path, offset, expectation));
        }
        Ok(())
    }

    /// The segments to go on with, once all was read.
    pub(super) fn into_segments(self) -> Result<(Arc<dyn Io>, Segments)> {
        let place = LogPlace { io: &self.io, directory: &self.directory, database: self.database };
        let segments =
            Segments::resume(&place, self.segment_bytes, self.files, self.batch..self.lsn)?;
        Ok((self.io, segments))
    }
}
