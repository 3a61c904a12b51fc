//! Files that appear when they are whole.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use types::{Error, Result, SqlState};

/// What the system said about `path`, as SQLSTATE.
pub(crate) fn io_error(path: &str, action: &str, error: &std::io::Error) -> Error {
    use std::io::ErrorKind as K;
    let state = match error.kind() {
        K::NotFound => SqlState::UNDEFINED_FILE,
        K::StorageFull | K::QuotaExceeded => SqlState::DISK_FULL,
        K::PermissionDenied => SqlState(*b"42501"),
        _ => SqlState::IO_ERROR,
    };
    Error::new(state, format!("could not {action} file \"{path}\": {error}"))
}

/// A file written under a temporary name; dropped before [`Output::finish`] it is removed.
pub(crate) struct Output {
    path: String,
    temporary: PathBuf,
    file: Option<BufWriter<File>>,
}

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

impl Output {
    pub(crate) fn create(path: &str) -> Result<Self> {
        let temporary = PathBuf::from(format!("{path}.{}.partial", std::process::id()));
        let file = File::create(&temporary).map_err(|e| io_error(path, "create", &e))?;
        let file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(Self { path: path.to_owned(), temporary, file })
    }

    /// The error as the user hears it.
    pub(crate) fn error(&self, error: &std::io::Error) -> Error {
        io_error(&self.path, "write", error)
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush().map_err(|e| self.error(&e))?;
        self.file = None;
        std::fs::rename(&self.temporary, &self.path).map_err(|e| self.error(&e))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(std::io::Error::other("the file is finished")),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // After `finish` there is nothing under this name any more.
        let _ = std::fs::remove_file(&self.temporary);
    }
}
