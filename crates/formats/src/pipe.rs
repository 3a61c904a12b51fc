//! Named pipes that COPY writes to: who waits for their reader can be cancelled.

use std::fs::File;
use std::io::{Error, Result, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use types::budget;

/// How often a statement that waits looks whether it was cancelled.
const WAIT_SLICE: Duration = Duration::from_millis(20);

/// The end of a named pipe that is written.
pub(crate) struct Pipe(File);

impl Pipe {
    /// Opens `path` once somebody reads it.
    ///
    /// # Errors
    /// The errors of the system; 57014 inside of [`Error`] after a cancel.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut options = File::options();
        options.write(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
        loop {
            match options.open(path) {
                // Nobody reads it, and nothing tells when somebody does.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
                    budget::check().map_err(Error::other)?;
                    std::thread::sleep(WAIT_SLICE);
                }
                opened => return opened.map(Self),
            }
        }
    }

    /// Writes as much as the pipe has room for, at least one byte.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let limit = Timespec::try_from(WAIT_SLICE).map_err(Error::other)?;
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    budget::check().map_err(Error::other)?;
                    let room = PollFd::new(&self.0, PollFlags::OUT);
                    match rustix::event::poll(&mut [room], Some(&limit)) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                written => return written,
            }
        }
    }
}
