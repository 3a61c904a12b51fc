//! Files that appear when they are whole.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use types::charset::{self, Charset};
use types::{Error, Result, SqlState};

use crate::pipe::Pipe;

/// Error of the system about `path`, as SQLSTATE.
pub(crate) fn io_error(path: &str, action: &str, error: &std::io::Error) -> Error {
    use std::io::ErrorKind as K;
    if let Some(cancelled) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        return cancelled.clone();
    }
    let state = match error.kind() {
        K::NotFound => SqlState::UNDEFINED_FILE,
        K::StorageFull | K::QuotaExceeded => SqlState::DISK_FULL,
        K::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
        _ => SqlState::IO_ERROR,
    };
    Error::new(state, format!("could not {action} file \"{path}\": {error}"))
}

/// The file `path`, to be read at any place: no pipe, whose end may never come.
pub(crate) fn open_to_read(path: &str) -> Result<File> {
    let failed = |error| io_error(path, "open", &error);
    if std::fs::metadata(path).map_err(failed)?.file_type().is_fifo() {
        return Err(Error::unsupported(format!("reading from a pipe, as \"{path}\" is one")));
    }
    File::open(path).map_err(failed)
}

/// A file written under a temporary name; dropped before [`Output::finish`] it is removed.
///
/// A symbolic link stays, and the file that it names is replaced. What is no regular file (a
/// device such as `/dev/null`, a pipe) is opened and written as it stands: a rename would put a
/// regular file in its place.
pub(crate) struct Output {
    path: String,
    /// The temporary name and the name that the file gets; none for what is written in place.
    names: Option<(PathBuf, PathBuf)>,
    file: Option<BufWriter<Target>>,
    /// The encoding of its texts.
    charset: Charset,
}

/// Where bytes go.
enum Target {
    File(File),
    Pipe(Pipe),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Pipe(pipe) => pipe.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

impl Output {
    pub(crate) fn create(path: &str) -> Result<Self> {
        let (names, file) = open(Path::new(path)).map_err(|e| io_error(path, "create", &e))?;
        let file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(Self { path: path.to_owned(), names, file, charset: Charset::UTF8 })
    }

    /// As [`Self::create`]; [`Self::take`] writes in this encoding.
    pub(crate) fn create_text(path: &str, charset: Charset) -> Result<Self> {
        let mut output = Self::create(path)?;
        output.charset = charset;
        Ok(output)
    }

    /// The error as the user hears it.
    pub(crate) fn error(&self, error: &std::io::Error) -> Error {
        io_error(&self.path, "write", error)
    }

    /// Writes `bytes`, which are empty then: whole characters of UTF-8 where the file is to have
    /// another encoding.
    ///
    /// # Errors
    /// Errors of writing, as the user hears them; 22P05 for a character that the encoding lacks.
    pub(crate) fn take(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        if !self.charset.is_plain() {
            let mut recoded = Vec::with_capacity(bytes.len());
            self.charset.encode(charset::text_of(bytes)?, &mut recoded)?;
            *bytes = recoded;
        }
        let written = self.write_all(bytes);
        bytes.clear();
        written.map_err(|error| self.error(&error))
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush().map_err(|e| self.error(&e))?;
        self.file = None;
        match &self.names {
            Some((temporary, name)) => std::fs::rename(temporary, name).map_err(|e| self.error(&e)),
            None => Ok(()),
        }
    }
}

/// Opens what is written for `path`, with its names when it appears by a rename.
fn open(path: &Path) -> std::io::Result<(Option<(PathBuf, PathBuf)>, Target)> {
    let stands = std::fs::metadata(path).ok();
    if stands.as_ref().is_some_and(|found| found.file_type().is_fifo()) {
        return Ok((None, Target::Pipe(Pipe::open(path)?)));
    }
    if stands.as_ref().is_some_and(|found| !found.is_file()) {
        return Ok((None, Target::File(File::options().write(true).open(path)?)));
    }
    // Only a file that is there has its links followed to the end.
    let name = match stands {
        Some(_) => std::fs::canonicalize(path)?,
        None => path.to_owned(),
    };
    let mut temporary = name.clone().into_os_string();
    temporary.push(format!(".{}.partial", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let file = File::create(&temporary)?;
    Ok((Some((temporary, name)), Target::File(file)))
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
        if let Some((temporary, _)) = &self.names {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    use std::path::Path;

    use testkit::Scratch;

    use super::Output;

    fn write(path: &Path) {
        let mut output = Output::create(path.to_str().expect("a name")).expect("it opens");
        output.write_all(b"new").expect("it takes bytes");
        output.finish().expect("it ends");
    }

    #[test]
    fn a_device_stays_a_device() {
        write(Path::new("/dev/null"));
        assert!(fs::metadata("/dev/null").expect("it is there").file_type().is_char_device());
    }

    #[test]
    fn a_pipe_gets_the_bytes() {
        let folder = Scratch::new("output-pipe");
        let pipe = folder.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read(pipe).expect("it is read"))
        };
        write(&pipe);
        assert_eq!(reader.join().expect("it ends"), b"new");
        assert!(fs::metadata(&pipe).expect("it is there").file_type().is_fifo());
    }

    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let folder = Scratch::new("output-link");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, b"old").expect("a file");
        symlink(&file, &link).expect("a link");
        write(&link);
        assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
        assert_eq!(fs::read(&file).expect("it is there"), b"new");
        assert_eq!(
            fs::read_dir(folder.path()).expect("a folder").count(),
            2,
            "nothing else is left"
        );
    }
}
