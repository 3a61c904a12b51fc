//! A client's socket, with or without TLS, as the thread that serves it uses it: reads and
//! writes do not wait.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::RecvFlags;
use tokio_rustls::rustls::{ServerConnection, StreamOwned};

/// A connected socket. The thread that serves it reads and writes; others may look whether the
/// client is gone, or end it.
#[derive(Debug)]
pub(crate) enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A socket in the file system.
    Unix(UnixStream),
}

impl Socket {
    /// Waits until `event` is possible, at most for `limit`, less than a second.
    ///
    /// # Errors
    /// When the system cannot wait for it.
    pub(crate) fn wait(&self, event: PollFlags, limit: Duration) -> io::Result<()> {
        let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
        match rustix::event::poll(&mut [PollFd::new(self, event)], Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends it: whoever waits for it goes on with an error.
    pub(crate) fn shut(&self) {
        // It may be shut already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// True when the client has closed its end and everything it sent was read.
    pub(crate) fn is_gone(&self) -> bool {
        let mut byte = [0_u8; 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(self, &mut byte, flags) {
            Ok((0, _)) => true,
            Ok(_) => false,
            Err(error) => {
                let error = io::Error::from(error).kind();
                !matches!(error, io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// A socket that several hold.
#[derive(Clone, Debug)]
pub(crate) struct SharedSocket(pub(crate) Arc<Socket>);

impl Read for SharedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &*self.0 {
            Socket::Tcp(stream) => (&mut &*stream).read(buffer),
            Socket::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }
}

impl Write for SharedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &*self.0 {
            Socket::Tcp(stream) => (&mut &*stream).write(bytes),
            Socket::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Transport of messages.
pub(crate) enum Transport {
    /// Sends them as they are.
    Plain(SharedSocket),
    /// Encrypts them.
    Tls(Box<StreamOwned<ServerConnection, SharedSocket>>),
}

impl Transport {
    /// The socket below.
    pub(crate) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => &socket.0,
            Self::Tls(stream) => &stream.sock.0,
        }
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
