//! The file system of the machine.

use std::fmt::Display;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use types::{Error, Result, SqlState};

use super::{File, FileLock, Io, OpenMode, PAGE_BYTES};

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealIo;

/// An open file and the path it was opened by, for errors.
#[derive(Debug)]
struct RealFile {
    fd: OwnedFd,
    /// Writes go past the system's cache.
    is_uncached: AtomicBool,
    path: PathBuf,
}

impl RealFile {
    /// Makes writes go through the cache from now on.
    fn use_cache(&self) -> Result<()> {
        let failed = |errno| failure("write", &self.path, errno);
        let flags = rustix::fs::fcntl_getfl(&self.fd).map_err(failed)?;
        rustix::fs::fcntl_setfl(&self.fd, flags - OFlags::DIRECT).map_err(failed)?;
        self.is_uncached.store(false, Ordering::Relaxed);
        Ok(())
    }
}

/// True when a write can go past the cache.
fn is_whole(offset: u64, bytes: &[u8]) -> bool {
    let parts = [offset as usize, bytes.len(), bytes.as_ptr().addr()];
    parts.iter().all(|part| part.is_multiple_of(PAGE_BYTES))
}

/// Closing the file gives the lock back.
#[derive(Debug)]
struct RealLock {
    _fd: OwnedFd,
}

impl FileLock for RealLock {}

impl Io for RealIo {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let flags = match mode {
            OpenMode::Read => OFlags::RDONLY,
            OpenMode::Write => OFlags::RDWR,
            OpenMode::Create | OpenMode::CreateUncached => {
                OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC
            }
        };
        let open =
            |flags| rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600));
        let (fd, is_uncached) = match mode {
            OpenMode::CreateUncached => match open(flags | OFlags::DIRECT) {
                // Not every file system has it.
                Err(Errno::INVAL) => (open(flags), false),
                opened => (opened, true),
            },
            _ => (open(flags), false),
        };
        let fd = fd.map_err(|errno| failure("open", path, errno))?;
        let is_uncached = AtomicBool::new(is_uncached);
        Ok(Arc::new(RealFile { fd, is_uncached, path: path.to_owned() }))
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        fs::create_dir_all(path).map_err(|error| standard("create directory", path, &error))
    }

    fn sync_directory(&self, path: &Path) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty())
            .and_then(rustix::fs::fsync)
            .map_err(|errno| failure("sync directory", path, errno))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        rustix::fs::rename(from, to).map_err(|errno| failure("rename", from, errno))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let removed = match rustix::fs::unlink(path) {
            Err(Errno::ISDIR | Errno::PERM) => rustix::fs::rmdir(path),
            removed => removed,
        };
        removed.map_err(|errno| failure("remove", path, errno))
    }

    fn list(&self, path: &Path) -> Result<Vec<String>> {
        let failed = |error: std::io::Error| standard("list directory", path, &error);
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))
            .map_err(|errno| failure("open", path, errno))?;
        match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Box::new(RealLock { _fd: fd })),
            Err(Errno::WOULDBLOCK) => Err(in_use(path)),
            Err(errno) => Err(failure("lock", path, errno)),
        }
    }

    fn entropy(&self) -> u64 {
        // Keyed from the system's generator, anew in each process and counted up in each call.
        RandomState::new().build_hasher().finish()
    }
}

impl File for RealFile {
    fn bytes(&self) -> Result<u64> {
        let stat = rustix::fs::fstat(&self.fd).map_err(|e| failure("stat", &self.path, e))?;
        Ok(stat.st_size as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match rustix::io::pread(&self.fd, &mut into[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failure("read", &self.path, errno)),
            }
        }
        Ok(done)
    }

    fn expect(&self, offset: u64, bytes: u64) {
        if let Some(bytes) = NonZeroU64::new(bytes) {
            // A hint: who reads the bytes later meets what is wrong.
            let _ = rustix::fs::fadvise(&self.fd, offset, Some(bytes), Advice::WillNeed);
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let (at, rest) = (offset + done as u64, &bytes[done..]);
            let is_uncached = self.is_uncached.load(Ordering::Relaxed);
            if is_uncached && !is_whole(at, rest) {
                self.use_cache()?;
            }
            match rustix::io::pwrite(&self.fd, rest, at) {
                Ok(0) => return Err(failure("write", &self.path, Errno::IO)),
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                // A disk whose sectors are larger than pages.
                Err(Errno::INVAL) if is_uncached => self.use_cache()?,
                Err(errno) => return Err(failure("write", &self.path, errno)),
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        // Never 53100: a full disk noticed here is no better than a broken one.
        rustix::fs::fdatasync(&self.fd)
            .map_err(|errno| error(SqlState::IO_ERROR, "sync", &self.path, errno))
    }

    fn truncate(&self, bytes: u64) -> Result<()> {
        rustix::fs::ftruncate(&self.fd, bytes).map_err(|e| failure("truncate", &self.path, e))
    }
}

/// 55006 for a lock that another holds.
pub(super) fn in_use(path: &Path) -> Error {
    let directory = path.parent().unwrap_or(path).display();
    Error::new(SqlState::OBJECT_IN_USE, format!("database \"{directory}\" is in use"))
        .with_detail(format!("Another process has it open: \"{}\" is locked.", path.display()))
        .with_hint("One process can open a database at a time.")
}

fn failure(action: &str, path: &Path, errno: Errno) -> Error {
    let state = match errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => SqlState::DISK_FULL,
        Errno::NOENT => SqlState::UNDEFINED_FILE,
        _ => SqlState::IO_ERROR,
    };
    error(state, action, path, errno)
}

fn standard(action: &str, path: &Path, cause: &std::io::Error) -> Error {
    match Errno::from_io_error(cause) {
        Some(errno) => failure(action, path, errno),
        None => error(SqlState::IO_ERROR, action, path, cause),
    }
}

/// `cannot ACTION "PATH": CAUSE`.
pub(super) fn error(state: SqlState, action: &str, path: &Path, cause: impl Display) -> Error {
    Error::new(state, format!("cannot {action} \"{}\": {cause}", path.display()))
}
