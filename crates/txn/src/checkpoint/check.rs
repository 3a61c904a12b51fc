//! Verifying every file of a database: the core of `tessera check`.

use std::path::Path;
use std::sync::Arc;

use host::Io;
use host::{Failure, Finding};
use types::{Result, SqlState};
use wal::{LogPlace, LogReader, Stamp};

use super::directory::{Files, LOCK_NAME, LOG_NAME, MARKER_NAME, read_current, read_marker};
use super::manifest::Manifest;
use crate::redo::{Redo, RedoReader, stamp_of};

/// Reads and verifies marker, CURRENT, manifest, all block files and all log records of the
/// database in `path`, which nobody may have open. A torn tail of the log is no damage, and
/// neither are files that a crashed checkpoint left. Changes nothing.
///
/// # Errors
/// 58P01 when there is no database; 55006 when it is open; 58030 when a file cannot be read.
pub fn check(io: &Arc<dyn Io>, path: &Path) -> Result<Vec<Finding>> {
    let mut check = Check { io, path, database: 0, findings: Vec::new() };
    if io.list(path)?.iter().any(|name| name == LOCK_NAME) {
        let lock = io.lock(&path.join(LOCK_NAME))?;
        check.run()?;
        drop(lock);
    } else {
        check.run()?;
    }
    Ok(check.findings)
}

struct Check<'a> {
    io: &'a Arc<dyn Io>,
    path: &'a Path,
    database: u64,
    findings: Vec<Finding>,
}

impl<'a> Check<'a> {
    fn files(&self, database: u64) -> Files<'a> {
        Files { io: &**self.io, path: self.path, database }
    }

    fn run(&mut self) -> Result<()> {
        let marker = match read_marker(&**self.io, self.path) {
            Err(Failure::Other(error)) if error.state() == SqlState::UNDEFINED_FILE => {
                let marker = self.path.join(MARKER_NAME);
                Err(Finding::new(marker, 0, "the file, which is missing").into())
            }
            outcome => outcome,
        };
        let Some(database) = self.note(marker)? else {
            return Ok(());
        };
        self.database = database;
        let current = read_current(&**self.io, self.path, database);
        let Some((_, manifest)) = self.note(current)? else {
            return Ok(());
        };
        for table in &manifest.tables {
            if let Some(failure) = self.files(database).verify_table(table) {
                self.note::<()>(Err(failure))?;
            }
            for entry in &table.blocks {
                let failures = self.files(database).verify_entry(table.id, entry);
                for failure in failures.into_iter().flatten() {
                    self.note::<()>(Err(failure))?;
                }
            }
        }
        let outcome = self.log(&manifest);
        self.note(outcome)?;
        Ok(())
    }

    /// The value, or a finding in its place.
    fn note<T>(&mut self, outcome: Result<T, Failure>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(Failure::Damage(finding)) => {
                self.findings.push(finding);
                Ok(None)
            }
            Err(Failure::Other(error)) => Err(error),
        }
    }

    fn log(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        let directory = self.path.join(LOG_NAME);
        let place = LogPlace { io: self.io, directory: &directory, database: self.database };
        let mut reader = LogReader::try_open(&place, manifest.position, Stamp(0))?;
        loop {
            let (lsn, failure) = match reader.try_next()? {
                None => return Ok(()),
                Some(record) => {
                    let needed = record.stamp > stamp_of(manifest.snapshot);
                    (record.lsn, self.redo(record.payload, needed).err())
                }
            };
            match failure {
                None => {}
                Some(Failure::Other(error)) if error.state() == SqlState::DATA_CORRUPTED => {
                    let (path, offset) = reader.place_of(lsn);
                    self.findings.push(Finding::new(path, offset, error.message()));
                }
                Some(Failure::Damage(finding)) => self.findings.push(finding),
                Some(failure) => return Err(failure),
            }
        }
    }

    /// Decodes a payload; verifies the files it names, when replay would read them.
    fn redo(&self, payload: &[u8], needed: bool) -> Result<(), Failure> {
        let mut reader = RedoReader::new(payload);
        while let Some(redo) = reader.next()? {
            if let Redo::Block { table, file } = redo
                && needed
            {
                self.files(self.database).read_block(table, &file)?;
            }
        }
        Ok(())
    }
}
