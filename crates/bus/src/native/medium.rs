//! Means by which changes last: none, a log, or a database.

use types::Result;
use wal::{Lsn, RecordBuffer, Space};

use super::journal::Journal;
use super::stored::Stored;
use crate::record::{Drawn, NextIds, Record, fill_send};

/// Where changes go.
#[derive(Debug)]
pub(super) enum Medium {
    /// Nowhere: they end with the process.
    Memory,
    /// Into a log.
    Log(Box<Journal>),
    /// Into a database.
    Store(Stored),
}

/// A change with room for it, to be appended when the mailboxes are held that it is about.
pub(super) enum Prepared<'a> {
    Nothing,
    Logged {
        journal: &'a Journal,
        space: Space<'a>,
        record: RecordBuffer,
        /// Where the payload begins.
        start: usize,
    },
    Stored {
        stored: &'a Stored,
        call: Vec<Record>,
    },
}

impl Medium {
    /// Makes a change ready that `write` writes.
    ///
    /// # Errors
    /// The errors of [`wal::Log::reserve`] and [`crate::Store::check`]; nothing has happened then.
    pub(super) fn prepare(&self, write: impl FnOnce(&mut Vec<u8>)) -> Result<Prepared<'_>> {
        match self {
            Self::Memory => Ok(Prepared::Nothing),
            Self::Log(journal) => {
                let mut record = RecordBuffer::default();
                let start = record.output().len();
                write(record.output());
                let space = journal.reserve(&record)?;
                Ok(Prepared::Logged { journal, space, record, start })
            }
            Self::Store(stored) => {
                let mut payload = Vec::new();
                write(&mut payload);
                Ok(Prepared::Stored { stored, call: stored.prepare(&payload)? })
            }
        }
    }

    /// Appends a small change at once.
    ///
    /// # Errors
    /// As [`Self::prepare`] and [`Prepared::append`].
    pub(super) fn write(&self, record: &Record) -> Result<Lsn> {
        self.prepare(|out| record.write(out))?.append()
    }

    /// Waits until what is in front of `lsn` is durable, whatever the settings.
    ///
    /// # Errors
    /// Whether it is durable is not known then.
    pub(super) fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        match self {
            Self::Memory => Ok(()),
            Self::Log(journal) => journal.wait_durable(lsn),
            Self::Store(stored) => stored.wait_durable(lsn),
        }
    }

    /// Waits until what is in front of `lsn` may be acknowledged.
    ///
    /// # Errors
    /// As [`Self::wait_durable`].
    pub(super) fn acknowledge(&self, lsn: Lsn) -> Result<()> {
        match self {
            Self::Log(journal) => journal.acknowledge(lsn),
            other => other.wait_durable(lsn),
        }
    }

    /// Waits until what is in front of `lsn` may be shown to others.
    ///
    /// # Errors
    /// As [`Self::wait_durable`].
    pub(super) fn show(&self, lsn: Lsn) -> Result<()> {
        match self {
            Self::Log(journal) => journal.show(lsn),
            other => other.wait_durable(lsn),
        }
    }

    /// See [`Journal::reserve_ids`].
    ///
    /// # Errors
    /// As there.
    pub(super) fn reserve_ids(&self, next: impl FnOnce() -> NextIds) -> Result<()> {
        self.log().map_or(Ok(()), |journal| journal.reserve_ids(next()))
    }

    /// The log, if there is one.
    pub(super) fn log(&self) -> Option<&Journal> {
        match self {
            Self::Log(journal) => Some(journal),
            Self::Memory | Self::Store(_) => None,
        }
    }

    /// # Errors
    /// Why nothing is durable any more.
    pub(super) fn health(&self) -> Result<()> {
        match self {
            Self::Memory => Ok(()),
            Self::Log(journal) => journal.health(),
            Self::Store(stored) => stored.health(),
        }
    }
}

impl Prepared<'_> {
    /// Fills in what was drawn, into the change of a send.
    pub(super) fn fill(&mut self, drawn: Drawn) {
        match self {
            Self::Nothing => {}
            Self::Logged { record, start, .. } => fill_send(&mut record.output()[*start..], drawn),
            Self::Stored { call, .. } => call.iter_mut().for_each(|record| record.fill(drawn)),
        }
    }

    /// Appends the change, in memory; returns the position behind it.
    ///
    /// # Errors
    /// Why nothing is durable any more; nothing has happened then.
    pub(super) fn append(self) -> Result<Lsn> {
        match self {
            Self::Nothing => Ok(Lsn(0)),
            Self::Logged { journal, space, record, .. } => journal.append(space, record),
            Self::Stored { stored, call } => stored.append(call),
        }
    }
}
